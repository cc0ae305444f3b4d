/*
 * test_cache_hit.c - a hit is a branch: no lowering, no compile, no allocation, no lock, no system call.
 *
 * The linker wraps the functions below (tests.cmake), so every call from the library's archive is counted.
 */
#include "cache_support.h"

#include "key/dlpack.h"

static _Thread_local bool counting;
static _Atomic unsigned long allocations, locks, system_calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
long __wrap_syscall(long number, long a, long b, long c);
long __real_syscall(long number, long a, long b, long c);

void *__wrap_malloc(size_t size)
{
    allocations += counting;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations += counting;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *data, size_t size)
{
    allocations += counting;
    return __real_realloc(data, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocations += counting;
    return __real_aligned_alloc(alignment, size);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    locks += counting;
    return __real_pthread_mutex_lock(mutex);
}

long __wrap_syscall(long number, long a, long b, long c)
{
    system_calls += counting;
    return __real_syscall(number, a, b, c);
}

enum { HITS = 100000 };

struct world {
    kiln_cache *cache;
    struct fake fake;
    struct program program;
    kiln_function *plain, *watching;
    kiln_var *var;
    int global;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    fake_init(&world->fake);
    world->program.text = "add";
    world->cache = open_cache("");
    world->plain = new_function(world->cache, &world->fake.compiler, "f", program_lower, &world->program);
    world->watching = new_function(world->cache, &world->fake.compiler, "g", program_lower, &world->program);
    kiln_var_new("v", "1", 1, &world->var, NULL);
    kiln_watch(world->watching, "m", "global", &world->global, sizeof world->global, NULL);
    kiln_watch_env(world->watching, "KILN_TEST_A", NULL);
    kiln_watch_env(world->watching, "HOME", NULL);
    kiln_watch_var(world->watching, world->var, NULL);
    kiln_depends(world->watching, world->plain, NULL);
    allocations = locks = system_calls = 0;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_function_free(world->watching);
    kiln_function_free(world->plain);
    kiln_var_free(world->var);
    kiln_cache_close(world->cache);
    free(world);
    return 0;
}

/* Three matrices, then a scalar and a stream. */
struct arguments {
    int64_t shape[3][2];
    struct kiln_dltensor tensors[3];
    double factor;
    kiln_arg args[5];
};

static void fill(struct arguments *arguments)
{
    *arguments = (struct arguments){.shape = {{64, 32}, {64, 32}, {64, 32}}, .factor = 0.5};
    for (int i = 0; i < 3; i++) {
        arguments->tensors[i] =
            (struct kiln_dltensor){.data = (void *)4096, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}};
        arguments->tensors[i].shape = arguments->shape[i];
        arguments->args[i] = (kiln_arg){&kiln_tensor, &arguments->tensors[i]};
    }
    arguments->args[3] = (kiln_arg){&kiln_scalar_f64, &arguments->factor};
    arguments->args[4] = (kiln_arg){&kiln_stream, NULL};
}

static unsigned hit(kiln_function *function, const kiln_arg *args, size_t count, unsigned times)
{
    unsigned failures = 0;
    void *executable;
    counting = true;
    for (unsigned i = 0; i < times; i++)
        failures += kiln_get(function, args, count, NULL, &executable, NULL) != KILN_OK;
    counting = false;
    return failures;
}

static void nothing_was_needed(void)
{
    CHECK_EQ(allocations, 0);
    CHECK_EQ(locks, 0);
    CHECK_EQ(system_calls, 0);
}
#define nothing_was_needed(...) CHECK_CALL(nothing_was_needed, __VA_ARGS__)

static void test_counting_counts(void **state)
{
    struct world *world = *state;
    CHECK_EQ(hit(world->plain, NULL, 0, 1), 0); /* a miss allocates and locks: the wrapping works */
    CHECK_GT(allocations, 0);
    CHECK_GT(locks, 0);
}

static void test_front_hits(void **state)
{
    struct world *world = *state;
    struct arguments arguments;
    fill(&arguments);
    get(world->plain, arguments.args, 3);
    CHECK_EQ(hit(world->plain, arguments.args, 3, HITS), 0);
    nothing_was_needed();
    CHECK_EQ(world->program.lowers, 1);
    CHECK_COUNTERS(world->cache, .calls = HITS + 1, .front_hits = HITS, .traces = 1, .compiles = 1, .links = 1);
}

/* A key as long as the stack's room, longer than a slot of the thread cache. */
static void test_hits_of_long_keys(void **state)
{
    struct world *world = *state;
    struct arguments arguments;
    fill(&arguments);
    kiln_arg args[8];
    for (int i = 0; i < 8; i++) args[i] = arguments.args[i < 5 ? i : i - 5];
    get(world->plain, args, 8);
    CHECK_EQ(hit(world->plain, args, 8, HITS), 0);
    nothing_was_needed();
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_EQ(counters.calls, HITS + 1);
    CHECK_EQ(counters.front_hits + counters.process_hits, HITS);
    CHECK_EQ(counters.traces, 1);
}

static void test_hits_with_watches(void **state)
{
    struct world *world = *state;
    struct arguments arguments;
    fill(&arguments);
    get(world->watching, arguments.args, 2);
    CHECK_EQ(hit(world->watching, arguments.args, 2, HITS), 0);
    nothing_was_needed();
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_EQ(counters.calls, HITS + 1);
    CHECK_EQ(counters.front_hits + counters.process_hits, HITS);
    CHECK_EQ(counters.traces, 1);
    CHECK_EQ(counters.compiles, 1);
}

static void test_hits_with_pushed_options(void **state)
{
    struct world *world = *state;
    kiln_option_push("unroll", "4");
    get(world->plain, NO_ARGS);
    CHECK_EQ(hit(world->plain, NULL, 0, HITS), 0);
    kiln_option_pop();
    nothing_was_needed();
}

/* Beyond the thread cache's slots: the table of the process, still for nothing. */
struct second {
    struct world *world;
    unsigned failures;
};

static void *hit_the_process(void *context)
{
    struct second *second = context;
    void *executable;
    kiln_get(second->world->plain, ARGS(I64(0)), NULL, &executable, NULL); /* the first makes this thread's record */
    counting = true;
    for (int64_t i = 1; i < 1000; i++) {
        const kiln_arg arg = {&kiln_const_i64, &i};
        second->failures += kiln_get(second->world->plain, &arg, 1, NULL, &executable, NULL) != KILN_OK;
    }
    counting = false;
    return NULL;
}

static void test_process_hits_of_a_second_thread(void **state)
{
    struct world *world = *state;
    struct second second = {.world = world};
    for (int64_t i = 0; i < 1000; i++) get_i64(world->plain, i);
    pthread_t thread;
    pthread_create(&thread, NULL, hit_the_process, &second);
    pthread_join(thread, NULL);
    CHECK_EQ(second.failures, 0);
    nothing_was_needed();
    CHECK_COUNTERS(world->cache, .calls = 2000, .process_hits = 1000, .traces = 1000, .kernel_hits = 999, .compiles = 1,
                   .links = 1);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_counting_counts),          WITH_WORLD(test_front_hits),
        WITH_WORLD(test_hits_with_watches),        WITH_WORLD(test_hits_of_long_keys),
        WITH_WORLD(test_hits_with_pushed_options), WITH_WORLD(test_process_hits_of_a_second_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
