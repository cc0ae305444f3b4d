/*
 * test_cache_watch.c - what a function reads besides its arguments, through kiln_get: drift followed or refused, per
 * owner.
 */
#include "cache_support.h"

#include "cache/function.h"

struct world {
    kiln_cache *cache;
    struct fake fake;
    struct program program;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    fake_init(&world->fake);
    world->program.text = "add";
    world->cache = open_cache("");
    unsetenv("KILN_DRIFT");
    unsetenv("KILN_TEST_A");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_cache_close(world->cache);
    CHECK_EQ(world->fake.unlinks, world->fake.links);
    free(world);
    return 0;
}

static kiln_function *make(struct world *world, const char *name, unsigned flags)
{
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = name,
                                           .compiler = &world->fake.compiler,
                                           .lower = program_lower,
                                           .payload = &world->program,
                                           .flags = flags};
    kiln_function *function = NULL;
    CHECK_STATUS(kiln_function_new(world->cache, &options, &function, NULL), KILN_OK);
    return function;
}

static void test_refused(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", 0);
    int x = 0, y = 0;
    kiln_error err = {0};
    CHECK_STATUS(kiln_watch(NULL, "m", "x", &x, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch(f, NULL, "x", &x, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch(f, "m", NULL, &x, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch(f, "m", "", &x, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch(f, "m", "x", NULL, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch(f, "m", "x", &x, 0, &err), KILN_INVALID, &err);
    CHECK_OK(kiln_watch(f, "m", "x", &x, 4, &err), &err);
    CHECK_STATUS(kiln_watch(f, "m", "x", &y, 4, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_env(NULL, "A", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_env(f, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_env(f, "", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_env(f, "A=B", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_var(f, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_var(NULL, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_depends(f, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_depends(NULL, f, &err), KILN_INVALID, &err);
    kiln_function_free(f);
}

/* With KILN_KEY_REQUEST values are content, whatever the text: */
/* A, B, A: two lowerings, two compiles, and back for nothing. */
static void test_memory_is_followed(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_KEY_REQUEST);
    int scale = 1;
    CHECK_STATUS(KILN_WATCH(f, scale), KILN_OK);
    struct image *a = get(f, NO_ARGS);
    scale = 2;
    struct image *b = get(f, NO_ARGS);
    CHECK_NE(a, b); /* values are content: (module, name) with its value */
    CHECK_CONTAINS(kiln_why(), "test_cache_watch.c: scale was 1, is 2");
    scale = 1;
    CHECK_EQ(get(f, NO_ARGS), a);
    scale = 2;
    CHECK_EQ(get(f, NO_ARGS), b);
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 2, .traces = 2, .compiles = 2, .links = 2, .drifts = 1);
    kiln_function_free(f);
}

static void test_environment_is_followed(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_KEY_REQUEST);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    struct image *unset = get(f, NO_ARGS);
    setenv("KILN_TEST_A", "", 1);
    struct image *empty = get(f, NO_ARGS);
    static char in_place[] = "KILN_TEST_A=1";
    putenv(in_place);
    struct image *one = get(f, NO_ARGS);
    in_place[12] = '2';
    struct image *two = get(f, NO_ARGS);
    CHECK_TRUE(unset != empty && empty != one && one != two);
    in_place[12] = '1';
    CHECK_EQ(get(f, NO_ARGS), one);
    unsetenv("KILN_TEST_A");
    CHECK_EQ(get(f, NO_ARGS), unset);
    CHECK_COUNTERS(world->cache, .calls = 6, .front_hits = 2, .traces = 4, .compiles = 4, .links = 4, .drifts = 3);
    kiln_function_free(f);
}

static kiln_status print_environment(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    const char *value = kiln_request_env(request, "KILN_TEST_A");
    setenv("KILN_TEST_A", "changed while lowering", 1);
    const char *again = kiln_request_env(request, "KILN_TEST_A"); /* as the key saw it */
    CHECK_TRUE(value ? !strcmp(value, again) : !again);
    return kiln_text_printf(text, "%s", value ? value : "(unset)");
}

static void test_request_env(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", print_environment, NULL);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STR(get(f, NO_ARGS)->text, "(unset)");
    setenv("KILN_TEST_A", "x", 1);
    CHECK_STR(get(f, NO_ARGS)->text, "x");
    setenv("KILN_TEST_A", "", 1);
    CHECK_STR(get(f, NO_ARGS)->text, "");
    kiln_function_free(f);
}

static void test_variable_is_followed(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_KEY_REQUEST);
    kiln_var *var = NULL;
    CHECK_STATUS(kiln_var_new("tile", "8", 1, &var, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_var(f, var, NULL), KILN_OK);
    struct image *eight = get(f, NO_ARGS);
    kiln_var_set(var, "8", 1); /* an equal value changes nothing */
    CHECK_EQ(get(f, NO_ARGS), eight);
    kiln_var_set(var, "16", 2);
    CHECK_NE(get(f, NO_ARGS), eight);
    kiln_var_set(var, "8", 1);
    CHECK_EQ(get(f, NO_ARGS), eight);
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 2, .traces = 2, .compiles = 2, .links = 2, .drifts = 1);
    kiln_function_free(f);
    kiln_var_free(var);
}

/* Saying it again costs nothing: also on every call, as a careful program does. */
static void test_known_watch_drops_nothing(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_STRICT), *g = make(world, "g", 0);
    int scale = 1;
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(KILN_WATCH(f, scale), KILN_OK);
        CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
        CHECK_STATUS(kiln_depends(f, g, NULL), KILN_OK);
        get(f, NO_ARGS);
    }
    CHECK_COUNTERS(world->cache, .calls = 10, .front_hits = 9, .traces = 1, .compiles = 1, .links = 1);
    scale = 2;
    CHECK_STATUS(KILN_WATCH(f, scale), KILN_OK); /* and does not hide a drift */
    get_fails(f, NO_ARGS, KILN_DRIFTED, "scale was 1, is 2");
    kiln_function_free(f);
    kiln_function_free(g);
}

/* ---- strict --------------------------------------------------------------------------------------------------- */

static void test_strict(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_STRICT);
    int scale = 1;
    int64_t wide = 5;
    char odd[3] = "ab";
    CHECK_STATUS(kiln_watch(f, "numbers.c", "scale", &scale, sizeof scale, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(f, "numbers.c", "wide", &wide, sizeof wide, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(f, "numbers.c", "odd", odd, sizeof odd, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    struct image *image = get(f, NO_ARGS);
    scale = 2;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: numbers.c: scale was 1, is 2");
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: numbers.c: scale was 1, is 2"); /* the baseline stays */
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 1, .compiles = 1, .links = 1, .drifts = 2);
    setenv("KILN_TEST_A", "on", 1);
    get_fails(f, NO_ARGS, KILN_DRIFTED, "numbers.c: scale was 1, is 2; KILN_TEST_A was unset, is on");
    scale = 1;
    unsetenv("KILN_TEST_A");
    CHECK_EQ(get(f, NO_ARGS), image);
    wide = -1;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "numbers.c: wide was 5, is -1");
    wide = 5;
    odd[0] = 'c';
    get_fails(f, NO_ARGS, KILN_DRIFTED, "numbers.c: odd was 616200, is 636200");
    get_fails(f, ARGS(I64(1)), KILN_DRIFTED, "odd"); /* whatever the arguments */
    CHECK_EQ(world->program.lowers, 1);
    kiln_function_free(f);
}

static void test_strict_by_environment(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_KEY_REQUEST);
    int scale = 1;
    CHECK_STATUS(kiln_watch(f, "m", "scale", &scale, sizeof scale, NULL), KILN_OK);
    get(f, NO_ARGS);
    setenv("KILN_DRIFT", "error", 1);
    scale = 2;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "m: scale was 1, is 2");
    setenv("KILN_DRIFT", "follow", 1);
    get(f, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 3, .traces = 2, .compiles = 2, .links = 2, .drifts = 2);
    unsetenv("KILN_DRIFT");
    kiln_function_free(f);
}

/* Each owner has its own watches and baseline: a second owner's extra global is checked. */
static void test_drift_per_owner(void **state)
{
    struct world *world = *state;
    kiln_function *base = make(world, "f", KILN_STRICT), *owner = NULL;
    int shared = 1, extra = 1, late = 1;
    CHECK_STATUS(kiln_watch(base, "m", "shared", &shared, sizeof shared, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_bind(base, &world->program, NULL, &owner, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(owner, "m", "extra", &extra, sizeof extra, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(base, "m", "late", &late, sizeof late, NULL),
                 KILN_OK); /* after the bind: not the owner's */
    get(base, NO_ARGS);
    get(owner, NO_ARGS);
    extra = 2;
    get_fails(owner, NO_ARGS, KILN_DRIFTED, "m: extra was 1, is 2");
    get(base, NO_ARGS);
    extra = 1, shared = 2;
    get_fails(owner, NO_ARGS, KILN_DRIFTED, "m: shared was 1, is 2");
    get_fails(base, NO_ARGS, KILN_DRIFTED, "m: shared was 1, is 2");
    shared = 1, late = 2;
    get(owner, NO_ARGS);
    get_fails(base, NO_ARGS, KILN_DRIFTED, "m: late was 1, is 2");
    kiln_function_free(base);
    get(owner, NO_ARGS);
    kiln_function_free(owner);
}

/* ---- dependencies --------------------------------------------------------------------------------------------- */

static void test_watches_of_a_callee(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_STRICT | KILN_KEY_REQUEST), *g = make(world, "g", 0),
                  *h = make(world, "h", 0);
    int x = 1, y = 1;
    CHECK_STATUS(kiln_depends(f, g, NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(g, h, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(h, "m", "x", &x, sizeof x, NULL), KILN_OK);
    struct image *image = get(f, NO_ARGS);
    x = 2;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: m: x was 1, is 2");
    x = 1;
    CHECK_EQ(get(f, NO_ARGS), image);
    /* another watch of the callee's: f misses, with a new baseline, which is no drift */
    CHECK_STATUS(kiln_watch(h, "m", "y", &y, sizeof y, NULL), KILN_OK);
    get(f, NO_ARGS);
    y = 2;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: m: y was 1, is 2");
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 1, .traces = 2, .compiles = 2, .links = 2, .drifts = 2);
    kiln_function_free(h); /* in any order */
    kiln_function_free(g);
    y = 1;
    get(f, NO_ARGS);
    kiln_function_free(f);
}

/* A redefined callee is a reason to lower again, not a drift; a value that changed meanwhile is still one. */
static void test_redefined_callee_is_no_drift(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_STRICT), *g = make(world, "g", 0);
    int x = 1;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "g",
                                           .compiler = &world->fake.compiler,
                                           .lower = program_lower,
                                           .payload = &world->program};
    CHECK_STATUS(kiln_watch(f, "m", "x", &x, sizeof x, NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(f, g, NULL), KILN_OK);
    get(f, NO_ARGS);
    CHECK_STATUS(kiln_function_redefine(g, &options, NULL), KILN_OK);
    get(f, NO_ARGS);
    CHECK_COUNTERS(world->cache, .calls = 2, .traces = 2, .kernel_hits = 1, .compiles = 1, .links = 1);
    CHECK_STATUS(kiln_function_redefine(g, &options, NULL), KILN_OK);
    x = 2;
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: m: x was 1, is 2");
    const kiln_function_options strict = {.struct_size = sizeof strict,
                                          .name = "f",
                                          .compiler = &world->fake.compiler,
                                          .lower = program_lower,
                                          .payload = &world->program,
                                          .flags = KILN_STRICT};
    CHECK_STATUS(kiln_function_redefine(f, &strict, NULL), KILN_OK); /* a new definition, a new baseline */
    get(f, NO_ARGS);
    kiln_function_free(f);
    kiln_function_free(g);
}

static void redefine(struct world *world, kiln_function *function, const char *name)
{
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = name,
                                           .compiler = &world->fake.compiler,
                                           .lower = program_lower,
                                           .payload = &world->program,
                                           .free_payload = program_free};
    CHECK_STATUS(kiln_function_redefine(function, &options, NULL), KILN_OK);
}
#define redefine(...) CHECK_CALL(redefine, __VA_ARGS__)

static unsigned lowers(struct world *world, kiln_function *function)
{
    unsigned before = world->program.lowers;
    get(function, NO_ARGS);
    return world->program.lowers - before;
}

/* f -> g -> h -> f: whoever is changed, all follow; a fourth one that nobody depends on concerns nobody. */
static void test_cycles(void **state)
{
    struct world *world = *state;
    kiln_function *ring[] = {make(world, "f", 0), make(world, "g", 0), make(world, "h", 0)},
                  *alone = make(world, "alone", 0);
    int x = 1, y = 1;
    CHECK_STATUS(kiln_depends(ring[0], ring[0], NULL), KILN_OK);
    for (int i = 0; i < 3; i++) CHECK_STATUS(kiln_depends(ring[i], ring[(i + 1) % 3], NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(alone, ring[0], NULL), KILN_OK);
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    CHECK_EQ(lowers(world, alone), 1);
    for (int changed = 0; changed < 3; changed++) {
        redefine(world, ring[changed], "again");
        for (int i = 0; i < 3; i++)
            CHECK_EQ(lowers(world, ring[(changed + i * 2) % 3]), 1); /* in another order each time */
        for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 0);
        CHECK_EQ(lowers(world, alone), 1);
    }
    redefine(world, alone, "alone");
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 0);
    CHECK_STATUS(kiln_watch(ring[2], "m", "x", &x, sizeof x, NULL), KILN_OK); /* later: joins all the same */
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    x = 2;
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    kiln_function *late = make(world, "late", 0);
    CHECK_STATUS(kiln_watch(late, "m", "y", &y, sizeof y, NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(ring[1], late, NULL), KILN_OK); /* an edge behind others */
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    y = 2;
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    kiln_function_free(late); /* it goes on inside */
    y = 3;
    for (int i = 0; i < 3; i++) CHECK_EQ(lowers(world, ring[i]), 1);
    unsigned frees = world->program.frees;
    kiln_function_free(ring[0]);
    kiln_function_free(ring[2]);
    CHECK_EQ(world->program.frees, frees); /* alone and ring[1] reach them */
    CHECK_EQ(lowers(world, ring[1]), 1);
    kiln_function_free(ring[1]);
    CHECK_EQ(world->program.frees, frees);
    CHECK_EQ(lowers(world, alone), 1);
    kiln_function_free(alone);
    CHECK_EQ(world->program.frees, frees + 4); /* each payload once; late and the firsts have no free_payload */
}

/* More functions than a walk that calls itself would survive. */
static void test_long_chain(void **state)
{
    struct world *world = *state;
    enum { LENGTH = 2000 };
    kiln_function **chain = calloc(LENGTH, sizeof *chain);
    for (int i = 0; i < LENGTH; i++) chain[i] = make(world, "f", 0);
    for (int i = 0; i + 1 < LENGTH; i++) CHECK_STATUS(kiln_depends(chain[i], chain[i + 1], NULL), KILN_OK);
    CHECK_EQ(lowers(world, chain[0]), 1);
    CHECK_EQ(lowers(world, chain[0]), 0);
    redefine(world, chain[LENGTH - 1], "f");
    CHECK_EQ(lowers(world, chain[0]), 1);
    for (int i = 0; i < LENGTH; i++) kiln_function_free(chain[i]);
    free(chain);
}

/* ---- reads ---------------------------------------------------------------------------------------------------- */

static int a_global = 1, another_global = 1;

static kiln_status read_globals(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int value, other = 0;
    kiln_status status = kiln_read(request, "m", "a_global", &a_global, sizeof a_global, &value);
    if (!status && value > 1)
        status = kiln_read(request, "m", "another_global", &another_global, sizeof another_global, &other);
    return status ? status : kiln_text_printf(text, "%d %d", value, other);
}

static void test_read(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", read_globals, NULL);
    a_global = 1, another_global = 1;
    struct image *one = get(f, NO_ARGS);
    CHECK_STR(one->text, "1 0");
    CHECK_EQ(get(f, NO_ARGS), one);
    CHECK_COUNTERS(world->cache, .calls = 2, .process_hits = 1, .traces = 1, .compiles = 1, .links = 1);
    another_global = 2; /* this entry did not read it */
    CHECK_EQ(get(f, NO_ARGS), one);
    a_global = 2;
    struct image *two = get(f, NO_ARGS);
    CHECK_STR(two->text, "2 2");
    CHECK_STR(kiln_why(), "f: m: a_global, which lower() read, was 1, is 2");
    another_global = 3;
    CHECK_STR(get(f, NO_ARGS)->text, "2 3");
    CHECK_STR(one->text, "1 0"); /* handed out: valid until the function is freed */
    CHECK_STR(two->text, "2 2");
    CHECK_COUNTERS(world->cache, .calls = 5, .process_hits = 2, .traces = 3, .compiles = 3, .links = 3);
    for (int i = 0; i < 100; i++) { /* to and fro: lowered again, compiled no more, nothing piles up */
        another_global = 2 + i % 2;
        get(f, NO_ARGS);
    }
    CHECK_COUNTERS(world->cache, .calls = 105, .process_hits = 2, .traces = 103, .kernel_hits = 100, .compiles = 3,
                   .links = 3);
    size_t limbo = 0;
    const struct kiln_limbo {
        struct kiln_limbo *next;
    } *first = (const void *)f->memo.limbo;
    for (; first; first = first->next) limbo++;
    CHECK_LE(limbo, 3);
    kiln_function_free(f);
    CHECK_EQ(world->fake.unlinks, 3);
}

/* A value is said as what it is, and no key knows what that was. */
static void test_values_in_words(void **state)
{
    struct world *world = *state;
    kiln_function *f = make(world, "f", KILN_KEY_REQUEST);
    static double scale = 0.1;
    static const float one = 1, *third = &one;
    static bool is_on;
    static signed char small = -3;
    static unsigned large = 4000000000u;
    static int plain = -5;
    CHECK_STATUS(KILN_WATCH_IN(f, "m", scale), KILN_OK);
    CHECK_STATUS(kiln_watch_as(f, "m", "third", third, sizeof *third, KILN_WATCHED_FLOAT, NULL), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "m", is_on), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "m", small), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "m", large), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "m", plain), KILN_OK);
    CHECK_STATUS(kiln_watch_as(f, "m", "plain", &plain, 4, (kiln_watched_kind)5, NULL), KILN_INVALID);
    get(f, NO_ARGS);
    scale = 1e-300, is_on = true, small = 4, large = 1, plain = 7;
    get(f, NO_ARGS);
    CHECK_CONTAINS(kiln_why(), "m: scale was 0.1, is 1e-300");
    CHECK_CONTAINS(kiln_why(), "m: is_on was false, is true");
    CHECK_CONTAINS(kiln_why(), "m: small was -3, is 4");
    CHECK_CONTAINS(kiln_why(), "m: large was 4000000000, is 1");
    CHECK_CONTAINS(kiln_why(), "m: plain was -5, is 7");
    kiln_function_free(f);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_refused),
        WITH_WORLD(test_memory_is_followed),
        WITH_WORLD(test_environment_is_followed),
        WITH_WORLD(test_request_env),
        WITH_WORLD(test_variable_is_followed),
        WITH_WORLD(test_known_watch_drops_nothing),
        WITH_WORLD(test_strict),
        WITH_WORLD(test_strict_by_environment),
        WITH_WORLD(test_drift_per_owner),
        WITH_WORLD(test_watches_of_a_callee),
        WITH_WORLD(test_redefined_callee_is_no_drift),
        WITH_WORLD(test_cycles),
        WITH_WORLD(test_long_chain),
        WITH_WORLD(test_read),
        WITH_WORLD(test_values_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
