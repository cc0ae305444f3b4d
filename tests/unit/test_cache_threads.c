/*
 * test_cache_threads.c - many threads: one makes and the others wait, nothing deadlocks, nothing old is served.
 */
#include "cache_support.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "cache/function.h"
#include "cache/memo/thread_cache.h"

enum { THREADS = 8, GET_REGISTRATIONS = 1 << 9 };

static long early_registrations; /* of barriers, before the first test */

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

static kiln_counters counters_of(const struct world *world)
{
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    return counters;
}

struct caller {
    pthread_t thread;
    kiln_function *function;
    int64_t argument;
    pthread_barrier_t *start;
    kiln_status status;
    kiln_error err;
    void *executable;
};

static void *call(void *context)
{
    struct caller *caller = context;
    const kiln_arg arg = {&kiln_const_i64, &caller->argument};
    if (caller->start) pthread_barrier_wait(caller->start);
    caller->status = kiln_get(caller->function, &arg, 1, NULL, &caller->executable, &caller->err);
    return NULL;
}

/* All at once. */
static void call_together(struct caller *callers, size_t count)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        callers[i].start = &start;
        pthread_create(&callers[i].thread, NULL, call, &callers[i]);
    }
    for (size_t i = 0; i < count; i++) pthread_join(callers[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

static void test_one_key(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
    struct caller callers[THREADS] = {0};
    world->program.sleep_us = 20000;
    for (int i = 0; i < THREADS; i++) callers[i].function = f;
    call_together(callers, THREADS);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(callers[i].status, KILN_OK);
        CHECK_EQ(callers[i].executable, callers[0].executable);
    }
    CHECK_EQ(world->program.lowers, 1);
    CHECK_COUNTERS(world->cache, .calls = THREADS, .process_hits = THREADS - 1, .traces = 1, .compiles = 1, .links = 1);
    kiln_function_free(f);
}

/* Other functions with the same text: lowered each, compiled and linked once. */
static void test_one_content(void **state)
{
    struct world *world = *state;
    struct caller callers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        callers[i].function = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
    call_together(callers, THREADS);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(callers[i].executable, callers[0].executable);
    CHECK_COUNTERS(world->cache, .calls = THREADS, .traces = THREADS, .kernel_hits = THREADS - 1, .compiles = 1,
                   .links = 1);
    for (int i = 0; i < THREADS; i++) kiln_function_free(callers[i].function);
}

/* Four keys are lowered and compiled at the same time, or the barriers would not open. */
static void test_other_keys_in_parallel(void **state)
{
    struct world *world = *state;
    pthread_barrier_t four;
    pthread_barrier_init(&four, NULL, 4);
    world->fake.at_compile = &four;
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "x");
    struct caller callers[4] = {0};
    for (int i = 0; i < 4; i++) callers[i].function = f, callers[i].argument = i;
    call_together(callers, 4);
    CHECK_COUNTERS(world->cache, .calls = 4, .compiles = 4, .links = 4);
    world->fake.at_compile = NULL;
    pthread_barrier_destroy(&four);
    kiln_function_free(f);
}

/* While a key is being made, hits of others are hits. */
static void test_hits_during_a_compile(void **state)
{
    struct world *world = *state;
    pthread_barrier_t two;
    pthread_barrier_init(&two, NULL, 2);
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "x");
    get(f, ARGS(I64(1)));
    world->fake.at_compile = &two;
    struct caller slow = {.function = f, .argument = 2};
    pthread_create(&slow.thread, NULL, call, &slow);
    while (world->fake.compiles < 2) sched_yield();
    struct caller other = {.function = f, .argument = 1};
    pthread_create(&other.thread, NULL, call, &other);
    pthread_join(other.thread, NULL); /* not delayed */
    get(f, ARGS(I64(1)));
    pthread_barrier_wait(&two);
    pthread_join(slow.thread, NULL);
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 1, .process_hits = 1, .compiles = 2, .links = 2);
    world->fake.at_compile = NULL;
    pthread_barrier_destroy(&two);
    kiln_function_free(f);
}

static void test_failing_maker(void **state)
{
    struct world *world = *state;
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
    struct caller callers[THREADS] = {0};
    for (int round = 0; round < 20; round++) {
        world->program.fails = true;
        world->program.sleep_us = 2000;
        for (int i = 0; i < THREADS; i++) callers[i] = (struct caller){.function = f};
        call_together(callers, THREADS);
        for (int i = 0; i < THREADS; i++) {
            CHECK_EQ(callers[i].status, KILN_LOWER_FAILED);
            CHECK_EQ(callers[i].err.status, KILN_LOWER_FAILED);
            CHECK_STR(callers[i].err.text, "f: cannot lower that");
            CHECK_NULL(callers[i].executable);
        }
    }
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.calls, 20 * THREADS);
    CHECK_EQ(counters.traces, world->program.lowers);
    CHECK_GE(world->program.lowers, 20);
    CHECK_EQ(counters.front_hits + counters.process_hits + counters.compiles, 0);
    world->program.fails = false;
    get(f, ARGS(I64(0)));
    kiln_function_free(f);
}

/* ---- functions that ask for one another ----------------------------------------------------------------------- */

struct asker {
    kiln_function *other;
    pthread_barrier_t *both;
    _Atomic unsigned lowers;
    _Atomic int errors;
};

static kiln_status ask_for_other(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    struct asker *asker = payload;
    void *executable;
    if (asker->lowers++ == 0) pthread_barrier_wait(asker->both); /* each is being made when the other is asked for */
    int64_t argument = 0;
    const kiln_arg arg = {&kiln_const_i64, &argument};
    if (kiln_get(asker->other, &arg, 1, NULL, &executable, err)) asker->errors++;
    return kiln_text_printf(text, "asker");
}

static void test_asking_for_one_another(void **state)
{
    struct world *world = *state;
    pthread_barrier_t both;
    pthread_barrier_init(&both, NULL, 2);
    for (int round = 0; round < 50; round++) {
        struct asker f = {.both = &both}, g = {.both = &both};
        g.other = new_function(world->cache, &world->fake.compiler, "f", ask_for_other, &f);
        f.other = new_function(world->cache, &world->fake.compiler, "g", ask_for_other, &g);
        struct caller callers[2] = {{.function = g.other}, {.function = f.other}};
        call_together(callers, 2); /* no deadlock */
        CHECK_EQ(callers[0].status, KILN_OK);
        CHECK_EQ(callers[1].status, KILN_OK);
        CHECK_GE(f.errors + g.errors, 1); /* it is a cycle, and somebody is told */
        kiln_function_free(g.other);
        kiln_function_free(f.other);
    }
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.compiles, 1);
    pthread_barrier_destroy(&both);
}

/* g asks for itself; one thread makes it while another, making f, is sent to make g on its own: both end. */
struct selfish {
    kiln_function *self;
    pthread_barrier_t *meet;
    _Atomic unsigned lowers, errors;
};

static kiln_status ask_for_self(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    struct selfish *selfish = payload;
    void *executable;
    if (selfish->lowers++ < 2)
        pthread_barrier_wait(selfish->meet); /* the in-flight compile does not land before both are inside */
    int64_t argument = 0;
    const kiln_arg arg = {&kiln_const_i64, &argument};
    if (kiln_get(selfish->self, &arg, 1, NULL, &executable, err)) selfish->errors++;
    for (unsigned ms = 0; ms < 10000 && selfish->errors < 2; ms++) usleep(1000); /* nothing is published before */
    return kiln_text_printf(text, "selfish");
}

static kiln_status ask_for_selfish(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    struct selfish *selfish = payload;
    void *executable;
    while (!selfish->lowers) sched_yield(); /* the other thread is making it */
    int64_t argument = 0;
    const kiln_arg arg = {&kiln_const_i64, &argument};
    kiln_status status = kiln_get(selfish->self, &arg, 1, NULL, &executable, err);
    return status ? status : kiln_text_printf(text, "f");
}

static void test_private_recursion_ends(void **state)
{
    struct world *world = *state;
    pthread_barrier_t meet;
    pthread_barrier_init(&meet, NULL, 2);
    struct selfish selfish = {.meet = &meet};
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", ask_for_selfish, &selfish);
    selfish.self = new_function(world->cache, &world->fake.compiler, "g", ask_for_self, &selfish);
    struct caller callers[2] = {{.function = f}, {.function = selfish.self}};
    call_together(callers, 2);
    CHECK_EQ(callers[0].status, KILN_OK);
    CHECK_EQ(callers[1].status, KILN_OK);
    CHECK_EQ(selfish.lowers, 2);
    CHECK_EQ(selfish.errors, 2);
    kiln_function_free(f);
    kiln_function_free(selfish.self);
    pthread_barrier_destroy(&meet);
}

/* ---- lifetimes ------------------------------------------------------------------------------------------------ */

/* A thread that takes one job after the other. */
struct worker {
    pthread_t thread;
    pthread_barrier_t *start, *end;
    kiln_function **function;
    bool *stop;
    const char *expected;
    unsigned wrong;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (;;) {
        pthread_barrier_wait(worker->start);
        if (*worker->stop) return NULL;
        void *executable = NULL;
        for (int i = 0; i < 3; i++)
            if (kiln_get(*worker->function, NULL, 0, NULL, &executable, NULL) ||
                strcmp(((struct image *)executable)->text, worker->expected))
                worker->wrong++;
        pthread_barrier_wait(worker->end);
    }
}

/* Made here, used on other threads, freed here; each has its own text, so a result of an old one would show. */
static void test_make_use_free(void **state)
{
    struct world *world = *state;
    enum { ROUNDS = 2000, WORKERS = 3 };
    static char text[32];
    pthread_barrier_t start, end;
    kiln_function *function = NULL;
    bool stop = false;
    struct worker workers[WORKERS];
    pthread_barrier_init(&start, NULL, WORKERS + 1);
    pthread_barrier_init(&end, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] =
            (struct worker){.start = &start, .end = &end, .function = &function, .stop = &stop, .expected = text};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(text, sizeof text, "round %d", round);
        function = new_text(world->cache, &world->fake.compiler, "f", text);
        pthread_barrier_wait(&start);
        pthread_barrier_wait(&end);
        kiln_function_free(function);
    }
    stop = true;
    pthread_barrier_wait(&start);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_EQ(workers[i].wrong, 0);
    }
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.calls, ROUNDS * WORKERS * 3);
    CHECK_EQ(counters.front_hits + counters.process_hits, ROUNDS * (WORKERS * 3 - 1));
    CHECK_EQ(counters.compiles, ROUNDS);
    CHECK_EQ(counters.links, ROUNDS);
    CHECK_EQ(world->fake.unlinks, ROUNDS);
    pthread_barrier_destroy(&start);
    pthread_barrier_destroy(&end);
}

static void *free_function(void *function)
{
    kiln_function_free(function);
    return NULL;
}

static void test_freed_elsewhere(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
        get(f, NO_ARGS);
        get(f, NO_ARGS);
        pthread_create(&thread, NULL, free_function, f);
        pthread_join(thread, NULL);
        CHECK_EQ(world->fake.unlinks, i + 1);
    }
    CHECK_COUNTERS(world->cache, .calls = 200, .front_hits = 100, .traces = 100, .compiles = 1, .links = 100);
}

static size_t registry_length(void)
{
    size_t length = 0;
    for (const struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next) length++;
    return length;
}

/* Records of ended threads are used again, and their hits are not forgotten. */
static void test_short_threads(void **state)
{
    struct world *world = *state;
    enum { SHORT = 10000, AT_ONCE = 4 };
    kiln_function *f = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
    int64_t zero = 0;
    const kiln_arg arg = {&kiln_const_i64, &zero};
    get(f, &arg, 1);
    size_t before = registry_length();
    struct caller callers[AT_ONCE] = {0};
    for (int i = 0; i < SHORT / AT_ONCE; i++) {
        for (int j = 0; j < AT_ONCE; j++) {
            callers[j] = (struct caller){.function = f};
            pthread_create(&callers[j].thread, NULL, call, &callers[j]);
        }
        for (int j = 0; j < AT_ONCE; j++) pthread_join(callers[j].thread, NULL);
    }
    CHECK_LE(registry_length(), before + AT_ONCE);
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.calls, SHORT + 1);
    CHECK_EQ(counters.front_hits + counters.process_hits, SHORT);
    CHECK_EQ(counters.traces, 1);
    kiln_function_free(f);
}

/* ---- changes while others call -------------------------------------------------------------------------------- */

struct churn {
    kiln_function *function;
    _Atomic bool stop;
    _Atomic unsigned calls, errors;
};

static void *call_and_call(void *context)
{
    struct churn *churn = context;
    for (int64_t i = 0; !churn->stop; i++) {
        int64_t argument = i % 5;
        void *executable;
        const kiln_arg arg = {&kiln_const_i64, &argument};
        churn->errors += kiln_get(churn->function, &arg, 1, NULL, &executable, NULL) != KILN_OK;
        churn->calls++;
    }
    return NULL;
}

/* Watches, dependencies and definitions come while other threads call: nothing is read behind a key, all calls succeed.
 */
static void test_changes_during_calls(void **state)
{
    struct world *world = *state;
    enum { ROUNDS = 300, CALLERS = 3 };
    static int values[8];
    kiln_function *callee = new_function(world->cache, &world->fake.compiler, "callee", program_lower, &world->program);
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &world->fake.compiler,
                                           .lower = program_lower,
                                           .payload = &world->program};
    unsigned calls = 0;
    for (int round = 0; round < ROUNDS / 10; round++) {
        struct churn churn = {
            .function = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program)};
        pthread_t threads[CALLERS];
        for (int i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, call_and_call, &churn);
        for (int i = 0; i < 8; i++) {
            char name[8];
            snprintf(name, sizeof name, "v%d", i);
            CHECK_STATUS(kiln_watch(i % 2 ? callee : churn.function, "m", name, &values[i], sizeof *values, NULL),
                         KILN_OK);
            if (i == 3) CHECK_STATUS(kiln_depends(churn.function, callee, NULL), KILN_OK);
            if (i == 5) CHECK_STATUS(kiln_function_redefine(churn.function, &options, NULL), KILN_OK);
            unsigned now = churn.calls;
            while (churn.calls < now + 2) sched_yield();
        }
        churn.stop = true;
        for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
        CHECK_EQ(churn.errors, 0);
        calls += churn.calls;
        kiln_function_free(churn.function);
    }
    kiln_counters counters = counters_of(world);
    CHECK_EQ(counters.calls, calls);
    CHECK_EQ(counters.calls, counters.front_hits + counters.process_hits + counters.traces);
    CHECK_EQ(counters.drifts, 0);
    kiln_function_free(callee);
}

/* Two threads add the two halves of a cycle: both stand, and both functions go when they are freed. */
struct half {
    kiln_function *from, *to;
    pthread_barrier_t *start;
    kiln_status status;
};

static void *depend(void *context)
{
    struct half *half = context;
    pthread_barrier_wait(half->start);
    void *executable;
    half->status = kiln_depends(half->from, half->to, NULL);
    if (!half->status) half->status = kiln_get(half->from, NO_ARGS, NULL, &executable, NULL);
    return NULL;
}

static void test_two_halves_of_a_cycle(void **state)
{
    struct world *world = *state;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    for (int round = 0; round < 200; round++) {
        kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "f"),
                      *g = new_text(world->cache, &world->fake.compiler, "g", "g");
        struct half halves[2] = {{f, g, &start, KILN_OK}, {g, f, &start, KILN_OK}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, depend, &halves[i]);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        CHECK_EQ(halves[0].status, KILN_OK);
        CHECK_EQ(halves[1].status, KILN_OK);
        kiln_function_free(f);
        kiln_function_free(g);
    }
    pthread_barrier_destroy(&start);
}

/* Caches come and go while a device is reset. */
static void *reset_and_reset(void *stop)
{
    kiln_device *device = NULL;
    kiln_device_find("cpu:native#7", &device, NULL);
    while (!*(_Atomic bool *)stop) kiln_device_reset(device);
    return NULL;
}

static void test_reset_during_open(void **state)
{
    struct world *world = *state;
    _Atomic bool stop = false;
    pthread_t thread;
    pthread_create(&thread, NULL, reset_and_reset, &stop);
    for (int i = 0; i < 300; i++) {
        kiln_cache *cache = open_cache("");
        kiln_function *f = new_text(cache, &world->fake.compiler, "f", "f");
        get(f, NO_ARGS);
        kiln_function_free(f);
        kiln_cache_close(cache);
    }
    stop = true;
    pthread_join(thread, NULL);
}

/* Later a program may have threads, and then it takes milliseconds of somebody's first call. */
static void barriers_are_registered_before_there_are_threads(void **state)
{
    (void)state;
    if (early_registrations < 0) CHECK_SKIP(); /* Linux before 6.3 does not tell */
    CHECK_TRUE(early_registrations & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    early_registrations = syscall(SYS_membarrier, GET_REGISTRATIONS, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_are_registered_before_there_are_threads),
        WITH_WORLD(test_one_key),
        WITH_WORLD(test_one_content),
        WITH_WORLD(test_other_keys_in_parallel),
        WITH_WORLD(test_hits_during_a_compile),
        WITH_WORLD(test_failing_maker),
        WITH_WORLD(test_asking_for_one_another),
        WITH_WORLD(test_private_recursion_ends),
        WITH_WORLD(test_make_use_free),
        WITH_WORLD(test_freed_elsewhere),
        WITH_WORLD(test_short_threads),
        WITH_WORLD(test_changes_during_calls),
        WITH_WORLD(test_two_halves_of_a_cycle),
        WITH_WORLD(test_reset_during_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
