/*
 * torture_watch.c - threads that change what functions watch while others lower them.
 *
 * A compiled function is its text, and the text names the values that lower() met. Afterwards, with everything at rest,
 * each value is set in turn, and every function must give the text of just that value: no entry disagrees with its key.
 */
#include "torture/torture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "torture/text_compiler.h"

enum { FUNCTIONS = 6, CALLERS = 2, CALLS = 300, VALUES = 4, BUSY = -1, WIDE = 5 };

/* ---- what is watched ------------------------------------------------------------------------------------------ */

struct world {
    kiln_cache *cache;
    kiln_function *functions[FUNCTIONS];
    kiln_var *var, *guard; /* `guard` is BUSY while `own` is being changed */
    _Atomic int32_t narrow, own;
    _Atomic int64_t wide;
    char many[WIDE]; /* not read at once: a key may hold half of two values, and the code then fits that */
    uint64_t seed;
    _Atomic unsigned number;
    _Atomic bool done;
    bool may_drift; /* lower() reads variables itself, so a call may be told that they never rest */
};

typedef kiln_status lower_function(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err);

static void world_open(struct world *world, uint64_t seed, lower_function *lower)
{
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = ""};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "f", .compiler = &text_compiler, .lower = lower, .payload = world};
    int32_t zero = 0;
    world->seed = seed;
    TORTURE_REQUIRE(!kiln_cache_open(&in_memory, &world->cache, NULL), "open");
    TORTURE_REQUIRE(!kiln_var_new("var", &zero, sizeof zero, &world->var, NULL), "var");
    TORTURE_REQUIRE(!kiln_var_new("guard", &zero, sizeof zero, &world->guard, NULL), "guard");
    for (int i = 0; i < FUNCTIONS; i++)
        TORTURE_REQUIRE(!kiln_function_new(world->cache, &options, &world->functions[i], NULL), "function %d", i);
}

static void world_close(struct world *world)
{
    for (int i = 0; i < FUNCTIONS; i++) kiln_function_free(world->functions[i]);
    kiln_var_free(world->var);
    kiln_var_free(world->guard);
    kiln_cache_close(world->cache);
}

static void set_var(kiln_var *var, int32_t value)
{
    kiln_var_set(var, &value, sizeof value);
}

static void set_own(struct world *world, int32_t value)
{
    set_var(world->guard, BUSY);
    atomic_store(&world->own, value);
    set_var(world->guard, value);
}

static void *change(void *context)
{
    struct world *world = context;
    uint64_t state = world->seed;
    while (!atomic_load(&world->done)) {
        int32_t value = (int32_t)torture_below(&state, VALUES);
        switch (torture_below(&state, 6)) {
        case 0:
            set_var(world->var, value);
            break;
        case 1:
            atomic_store(&world->narrow, value);
            break;
        case 2:
            atomic_store(&world->wide, value);
            break;
        case 3:
            set_own(world, value);
            break;
#ifndef __SANITIZE_THREAD__
        case 4:
            memset(world->many, 'a' + value, sizeof world->many);
            break;
#endif
        default:
            sched_yield();
        }
    }
    return NULL;
}

/* ---- threads that call ---------------------------------------------------------------------------------------- */

static void *call(void *context)
{
    struct world *world = context;
    uint64_t state = world->seed + 1000003 * (1 + atomic_fetch_add(&world->number, 1));
    for (unsigned i = 0; i < CALLS; i++) {
        kiln_error error = {KILN_OK, ""};
        void *executable = NULL;
        kiln_status status =
            kiln_get(world->functions[torture_below(&state, FUNCTIONS)], NULL, 0, NULL, &executable, &error);
        TORTURE_REQUIRE(!status || (world->may_drift && status == KILN_DRIFTED), "call %u: %s", i, error.text);
    }
    return NULL;
}

static void run_all(struct world *world)
{
    pthread_t changer, callers[CALLERS];
    pthread_create(&changer, NULL, change, world);
    for (int i = 0; i < CALLERS; i++) pthread_create(&callers[i], NULL, call, world);
    for (int i = 0; i < CALLERS; i++) pthread_join(callers[i], NULL);
    atomic_store(&world->done, true);
    pthread_join(changer, NULL);
}

static void require_text(struct world *world, const char *expected)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        kiln_error error = {KILN_OK, ""};
        void *executable = NULL;
        kiln_status status = kiln_get(world->functions[i], NULL, 0, NULL, &executable, &error);
        TORTURE_REQUIRE(!status, "function %d: %s", i, error.text);
        TORTURE_REQUIRE(!strcmp(executable, expected), "function %d gives \"%s\" where its key says \"%s\"", i,
                        (const char *)executable, expected);
    }
}

/* ---- values taken from the request ---------------------------------------------------------------------------- */

static int32_t number_of(kiln_bytes bytes)
{
    int32_t number; /* of a wide one too: its low bytes stand first */
    TORTURE_REQUIRE(bytes.data && bytes.size >= sizeof number, "%zu bytes", bytes.size);
    memcpy(&number, bytes.data, sizeof number);
    return number;
}

static kiln_status print_taken(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int32_t var = number_of(kiln_request_watched(request, NULL, "var"));
    sched_yield();
    kiln_bytes many = kiln_request_watched(request, "m", "many");
    return kiln_text_printf(text, "%d %d %d %.*s", var, number_of(kiln_request_watched(request, "m", "narrow")),
                            number_of(kiln_request_watched(request, "m", "wide")), (int)many.size,
                            (const char *)many.data);
}

static int taken(uint64_t seed)
{
    struct world world = {.done = false};
    world_open(&world, seed, print_taken);
    memset(world.many, 'a', sizeof world.many);
    for (int i = 0; i < FUNCTIONS; i++) {
        kiln_function *function = world.functions[i];
        TORTURE_REQUIRE(!kiln_watch_var(function, world.var, NULL), "watch");
        TORTURE_REQUIRE(!kiln_watch(function, "m", "narrow", &world.narrow, sizeof world.narrow, NULL), "watch");
        TORTURE_REQUIRE(!kiln_watch(function, "m", "wide", &world.wide, sizeof world.wide, NULL), "watch");
        TORTURE_REQUIRE(!kiln_watch(function, "m", "many", world.many, sizeof world.many, NULL), "watch");
    }
    run_all(&world);
    for (int value = 0; value < VALUES * VALUES * VALUES; value++) {
        char expected[64], letter = (char)('a' + value % VALUES);
        set_var(world.var, value % VALUES);
        atomic_store(&world.narrow, value / VALUES % VALUES);
        atomic_store(&world.wide, value / VALUES / VALUES);
        memset(world.many, letter, sizeof world.many);
        snprintf(expected, sizeof expected, "%d %d %d %c%c%c%c%c", value % VALUES, value / VALUES % VALUES,
                 value / VALUES / VALUES, letter, letter, letter, letter, letter);
        require_text(&world, expected);
    }
    world_close(&world);
    return 0;
}

/* ---- the program's own memory, guarded by a kiln_var ---------------------------------------------------------- */

static kiln_status print_own(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    struct world *world = payload;
    sched_yield();
    int32_t own = atomic_load(&world->own);
    sched_yield();
    return kiln_text_printf(text, "%d", own);
}

static int guarded(uint64_t seed)
{
    struct world world = {.may_drift = true};
    world_open(&world, seed, print_own);
    for (int i = 0; i < FUNCTIONS; i++)
        TORTURE_REQUIRE(!kiln_watch_var(world.functions[i], world.guard, NULL), "watch");
    run_all(&world);
    for (int value = 0; value < VALUES; value++) {
        char expected[16];
        set_own(&world, value);
        snprintf(expected, sizeof expected, "%d", value);
        require_text(&world, expected);
    }
    world_close(&world);
    return 0;
}

/* ---- variables that lower() reads for one entry --------------------------------------------------------------- */

static kiln_status print_read(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    struct world *world = payload;
    int64_t first = 0, again = 0;
    kiln_status status = kiln_read(request, "m", "wide", &world->wide, sizeof first, &first);
    sched_yield();
    if (!status) status = kiln_read(request, "m", "wide", &world->wide, sizeof again, &again);
    TORTURE_REQUIRE(first == again, "an entry is made from %lld and %lld", (long long)first, (long long)again);
    return status ? status : kiln_text_printf(text, "%lld", (long long)first);
}

static int read_once(uint64_t seed)
{
    struct world world = {.done = false};
    world_open(&world, seed, print_read);
    run_all(&world);
    for (int round = 0; round < 4 * VALUES; round++) {
        char expected[64];
        int64_t value = atomic_load(&world.wide); /* what the last entry may have been made from */
        snprintf(expected, sizeof expected, "%lld", (long long)value);
        require_text(&world, expected);
        atomic_store(&world.wide, round % VALUES);
    }
    world_close(&world);
    return 0;
}

/* ---- the environment ------------------------------------------------------------------------------------------ */

static const char *const settings[VALUES] = {NULL, "", "one", "a value of several words"};

static void set_environment(unsigned value)
{
    if (settings[value])
        setenv("TORTURE_SETTING", settings[value], 1);
    else
        unsetenv("TORTURE_SETTING");
}

/* By the rule of the environment no other thread may change it: lower() itself does. */
static kiln_status print_setting(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    struct world *world = payload;
    for (unsigned i = 0; i < 3; i++) set_environment((unsigned)torture_below(&world->seed, VALUES));
    const char *setting = kiln_request_env(request, "TORTURE_SETTING");
    for (unsigned i = 0; i < 3; i++) set_environment((unsigned)torture_below(&world->seed, VALUES));
    return kiln_text_printf(text, "%s", setting ? setting : "unset");
}

static int environment(uint64_t seed)
{
    struct world world = {.done = false};
    world_open(&world, seed, print_setting);
    uint64_t state = seed;
    for (int i = 0; i < FUNCTIONS; i++)
        TORTURE_REQUIRE(!kiln_watch_env(world.functions[i], "TORTURE_SETTING", NULL), "watch");
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned value = (unsigned)torture_below(&state, VALUES);
        void *executable = NULL;
        set_environment(value);
        TORTURE_REQUIRE(!kiln_get(world.functions[i % FUNCTIONS], NULL, 0, NULL, &executable, NULL), "call %u", i);
        TORTURE_REQUIRE(!strcmp(executable, settings[value] ? settings[value] : "unset"), "\"%s\" for setting %u",
                        (const char *)executable, value);
    }
    world_close(&world);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {{.name = "taken", .round = taken},
                                                    {.name = "guarded", .round = guarded},
                                                    {.name = "read_once", .round = read_once},
                                                    {.name = "environment", .round = environment}};
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
