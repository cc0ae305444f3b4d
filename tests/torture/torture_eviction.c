/*
 * torture_eviction.c - executables that run while their results are evicted, and while unrelated functions come and go.
 */
#include "torture/torture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/seccomp.h"
#include "torture/text_compiler.h"

/* ---- machine code that runs while its result is evicted ------------------------------------------------------- */

enum { SIGNATURES = 3000, SWEEPS = 20 };

typedef int64_t kernel(void);

struct world {
    kiln_cache *cache;
    kiln_function *function;
    uint64_t seed;
    _Atomic bool running, evicted, stop;
    _Atomic unsigned sweeps;
};

/* Argument 0 has code of its own, all others share one kernel: eviction leaves the first one with nobody else. */
static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_bytes argument = kiln_request_arg(request, 0);
    int64_t words[2] = {0, 0};
    memcpy(words, argument.data, argument.size < sizeof words ? argument.size : sizeof words);
    return kiln_text_printf(text, "define i64 @kernel() {\n  ret i64 %d\n}\n", words[1] ? 2 : 1);
}

static kernel *get(kiln_function *function, int64_t value)
{
    kiln_error error = {KILN_OK, ""};
    kiln_arg argument = {&kiln_const_i64, &value};
    void *executable = NULL;
    kernel *result;
    TORTURE_REQUIRE(kiln_get(function, &argument, 1, NULL, &executable, &error) == KILN_OK, "%s", error.text);
    memcpy(&result, &executable, sizeof result);
    return result;
}

static void *run_one(void *context)
{
    struct world *world = context;
    kernel *one = get(world->function, 0);
    while (!world->stop) {
        for (unsigned i = 0; i < 1000; i++) {
            int64_t result = one();
            TORTURE_REQUIRE(result == 1, "it gave %lld", (long long)result);
        }
        world->running = true;
    }
    return NULL;
}

static void *ask_for_others(void *context)
{
    struct world *world = context;
    uint64_t state = world->seed;
    while (!world->running) {
    }
    for (unsigned i = 0; i < SIGNATURES; i++) get(world->function, (int64_t)(torture_next(&state) | 1));
    world->evicted = true;
    return NULL;
}

static void *come_and_go(void *context)
{
    struct world *world = context;
    while (!world->evicted || world->sweeps < SWEEPS) {
        const kiln_function_options options = {.struct_size = sizeof options,
                                               .name = "unrelated",
                                               .text = {"define void @kernel() {\n  ret void\n}\n", 37}};
        kiln_function *function = NULL;
        TORTURE_REQUIRE(kiln_function_new(world->cache, &options, &function, NULL) == KILN_OK, "new");
        if (world->sweeps % 8 == 0) {
            void *executable;
            TORTURE_REQUIRE(kiln_get(function, NULL, 0, NULL, &executable, NULL) == KILN_OK, "get");
        }
        kiln_function_free(function);
        if (world->evicted) world->sweeps++;
    }
    world->stop = true;
    return NULL;
}

static int run_while_evicted(uint64_t seed)
{
    struct world world = {.seed = seed};
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = ""};
    const kiln_function_options options = {.struct_size = sizeof options, .name = "f", .lower = lower};
    TORTURE_REQUIRE(kiln_cache_open(&in_memory, &world.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.function, NULL) == KILN_OK, "new");
    static void *(*const parts[])(void *) = {run_one, ask_for_others, come_and_go};
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) pthread_create(&threads[i], NULL, parts[i], &world);
    for (unsigned i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    kiln_counters counters;
    kiln_cache_counters(world.cache, &counters);
    TORTURE_REQUIRE(counters.evictions > 1024, "%llu evictions", (unsigned long long)counters.evictions);
    kiln_function_free(world.function);
    kiln_cache_close(world.cache);
    return 0;
}

/* ---- endless signatures, reclaimed ----------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 1500, RESULTS = 32, LINKED_BYTES = 40000, TEXT = 64 };

static kiln_status lower_number(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int64_t words[2];
    memcpy(words, kiln_request_arg(request, 0).data, sizeof words);
    return kiln_text_printf(text, "number %lld", (long long)words[1]);
}

static void check(const char *executable, int64_t number)
{
    char expected[TEXT];
    snprintf(expected, sizeof expected, "number %lld", (long long)number);
    TORTURE_REQUIRE(!strcmp(executable, expected), "%s instead of %s", executable, expected);
}

struct reclaiming {
    kiln_cache *cache;
    kiln_function *function;
    uint64_t seed;
    _Atomic unsigned number;
    _Atomic uint64_t most_bytes;
};

static const char *get_text(kiln_function *function, int64_t number)
{
    kiln_error error = {KILN_OK, ""};
    kiln_arg argument = {&kiln_const_i64, &number};
    void *executable = NULL;
    TORTURE_REQUIRE(kiln_get(function, &argument, 1, NULL, &executable, &error) == KILN_OK, "%s", error.text);
    return executable;
}

static void note_bytes(struct reclaiming *world)
{
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    uint64_t most = world->most_bytes;
    while (counters.linked_bytes > most &&
           !atomic_compare_exchange_weak(&world->most_bytes, &most, counters.linked_bytes)) {
    }
}

/* Mostly new numbers, some that others use as well; what was got first is looked at again before leaving. */
static void *enter_and_leave(void *context)
{
    struct reclaiming *world = context;
    unsigned self = atomic_fetch_add(&world->number, 1);
    uint64_t state = world->seed + self * 1000003;
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t numbers[3];
        const char *executables[3];
        unsigned depth = 1 + (unsigned)torture_below(&state, 3);
        for (unsigned j = 0; j < depth; j++) {
            numbers[j] = (int64_t)(torture_below(&state, 4) ? torture_next(&state) >> 20 : torture_below(&state, 50));
            kiln_enter();
            executables[j] = get_text(world->function, numbers[j]);
            for (unsigned k = 0; k <= j; k++) check(executables[k], numbers[k]);
        }
        while (depth-- > 0) {
            check(executables[0], numbers[0]);
            kiln_leave();
        }
        if (i % 16 == 0) note_bytes(world);
    }
    return NULL;
}

static void *make_and_free(void *context)
{
    struct reclaiming *world = context;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "unrelated", .compiler = &text_compiler, .lower = lower_number};
    for (unsigned i = 0; i < 300; i++) {
        kiln_function *function = NULL;
        TORTURE_REQUIRE(kiln_function_new(world->cache, &options, &function, NULL) == KILN_OK, "new");
        check(get_text(function, i % 50), i % 50);
        kiln_function_free(function);
    }
    return NULL;
}

static int reclaim_with_enter(uint64_t seed)
{
    struct reclaiming world = {.seed = seed};
    const kiln_cache_options in_memory = {
        .struct_size = sizeof in_memory, .folder = "", .max_results = RESULTS, .max_linked_bytes = LINKED_BYTES};
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &text_compiler,
                                           .lower = lower_number,
                                           .flags = KILN_RECLAIM};
    TORTURE_REQUIRE(kiln_cache_open(&in_memory, &world.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.function, NULL) == KILN_OK, "new");
    pthread_t threads[THREADS + 1];
    for (unsigned i = 0; i <= THREADS; i++)
        pthread_create(&threads[i], NULL, i < THREADS ? enter_and_leave : make_and_free, &world);
    for (unsigned i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
    kiln_counters counters;
    kiln_cache_counters(world.cache, &counters);
    TORTURE_REQUIRE(counters.links > ROUNDS * THREADS, "%llu links", (unsigned long long)counters.links);
    /* A thread that is not scheduled inside holds back what is dropped meanwhile: generous, and far below all of it. */
    TORTURE_REQUIRE(world.most_bytes < counters.links * TEXT, "%llu bytes were linked at once, of %llu executables",
                    (unsigned long long)world.most_bytes, (unsigned long long)counters.links);
    for (unsigned i = 0; i < 2 * RESULTS; i++) { /* now that nobody is inside, what is linked is what the bounds say */
        kiln_enter();
        check(get_text(world.function, -1 - (int64_t)i), -1 - (int64_t)i);
        kiln_leave();
    }
    kiln_cache_counters(world.cache, &counters);
    TORTURE_REQUIRE(counters.linked_bytes < LINKED_BYTES + 3 * RESULTS * 1000, "%llu bytes are linked",
                    (unsigned long long)counters.linked_bytes);
    kiln_function_free(world.function);
    kiln_cache_counters(world.cache, &counters);
    TORTURE_REQUIRE(counters.linked_images == 0, "%llu stay linked", (unsigned long long)counters.linked_images);
    kiln_cache_close(world.cache);
    return 0;
}

/* ---- without membarrier() -------------------------------------------------------------------------------------- */

/* Refused before the library is loaded: the program starts itself again behind the filter. */
static int no_membarrier(uint64_t seed)
{
    if (getenv("TORTURE_FILTERED")) return run_while_evicted(seed) || reclaim_with_enter(seed);
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    setenv("TORTURE_FILTERED", "1", 1);
    TORTURE_REQUIRE(refuse_membarrier(), "%s", strerror(errno));
    execl("/proc/self/exe", "torture_eviction", "--attack", "no_membarrier", "--seed", number, "--here", (char *)NULL);
    TORTURE_REQUIRE(false, "%s", strerror(errno));
    return 1;
}

/* Refused once the library has registered: as a program does that gives up what it no longer needs. */
static int membarrier_refused_later(uint64_t seed)
{
    TORTURE_REQUIRE(refuse_membarrier(), "%s", strerror(errno)); /* threads that are started from here on inherit it */
    return run_while_evicted(seed) || reclaim_with_enter(seed);
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "run_while_evicted", .round = run_while_evicted},
        {.name = "reclaim_with_enter", .round = reclaim_with_enter},
        {.name = "no_membarrier", .round = no_membarrier},
        {.name = "membarrier_refused_later", .round = membarrier_refused_later},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
