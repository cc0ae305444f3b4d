/*
 * test_cache_meanwhile.c - watched values that change, and change back, while lower() runs: no entry disagrees with its
 * key.
 */
#include "classes_support.h"

#include <sched.h>

/* ---- one step at a time --------------------------------------------------------------------------------------- */

static int setting;
static kiln_var *setting_var;

static void set_to(int value)
{
    setting = value;
    kiln_var_set(setting_var, &setting, sizeof setting);
}

/* As another thread might: 1 becomes 2 before the value is read, and 1 again afterwards. */
static kiln_status there_and_back(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    int *disturbances = payload;
    int before = setting;
    bool disturbs = *disturbances > 0 && (*disturbances)--;
    if (disturbs) set_to(2);
    kiln_status status = kiln_text_printf(text, "%d", setting);
    if (disturbs) set_to(before);
    return status;
}

/* The set in between counts, though the value is the same again. */
static void test_variable_returns(void **state)
{
    struct world *world = *state;
    int disturbances = 1;
    setting = 1;
    CHECK_STATUS(kiln_var_new("setting", &setting, sizeof setting, &setting_var, NULL), KILN_OK);
    kiln_function *f = lowered(world, "f", there_and_back, &disturbances);
    CHECK_STATUS(kiln_watch_var(f, setting_var, NULL), KILN_OK);
    gives(f, NO_ARGS, "1");
    CHECK_COUNTERS(world->cache, .calls = 1, .traces = 2, .compiles = 1, .links = 1);
    set_to(1); /* an equal value changes nothing */
    gives(f, NO_ARGS, "1");
    CHECK_EQ(counters_of(world).traces, 2);
    disturbances = 1000;
    set_to(3);
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: what it watches changed in each of 64 tries");
    disturbances = 0;
    gives(f, NO_ARGS, "3");
    set_to(1);
    gives(f, NO_ARGS, "1");
    kiln_function_free(f);
    kiln_var_free(setting_var);
}

/* ---- what lower() takes from the request ---------------------------------------------------------------------- */

static int number_of(kiln_bytes bytes)
{
    int number;
    CHECK_EQ(bytes.size, sizeof number);
    memcpy(&number, bytes.data, sizeof number);
    return number;
}

/* Everything changes between the key and lower(), and stays changed; the copies of the key do not. */
static kiln_status take_all(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    int *memory = payload;
    *memory += 100;
    setenv("KILN_TEST_A", "another", 1);
    set_to(setting + 100);
    const char *variable = kiln_request_env(request, "KILN_TEST_A");
    return kiln_text_printf(text, "%d %d %s", number_of(kiln_request_watched(request, "m", "memory")),
                            number_of(kiln_request_watched(request, "", "setting")), variable);
}

static void test_values_of_the_request(void **state)
{
    struct world *world = *state;
    int memory = 1;
    setting = 2;
    setenv("KILN_TEST_A", "three", 1);
    CHECK_STATUS(kiln_var_new("setting", &setting, sizeof setting, &setting_var, NULL), KILN_OK);
    kiln_function *f = lowered(world, "f", take_all, &memory);
    WATCHES_INT(f, "memory", memory);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_var(f, setting_var, NULL), KILN_OK);
    gives(f, NO_ARGS, "1 2 three");
    CHECK_COUNTERS(world->cache, .calls = 1, .traces = 1, .compiles = 1, .links = 1);
    memory = 1, setenv("KILN_TEST_A", "three", 1), set_to(2);
    gives(f, NO_ARGS, "1 2 three"); /* a hit */
    CHECK_EQ(counters_of(world).traces, 1);
    kiln_function_free(f);
    kiln_var_free(setting_var);
}

static kiln_status take_by_name(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    CHECK_NULL(kiln_request_watched(request, "m", "other").data);
    CHECK_NULL(kiln_request_watched(request, "other", "a").data);
    CHECK_NULL(kiln_request_watched(request, NULL, "a").data);
    CHECK_NULL(kiln_request_watched(request, "m", "v").data);
    CHECK_NULL(kiln_request_watched(request, "m", NULL).data);
    CHECK_NULL(kiln_request_watched(NULL, "m", "a").data);
    CHECK_NULL(kiln_request_watched(request, "", "KILN_TEST_A").data); /* of the environment: kiln_request_env() */
    kiln_bytes empty = kiln_request_watched(request, NULL, "empty");
    CHECK_NOT_NULL(empty.data);
    CHECK_EQ(empty.size, 0);
    return kiln_text_printf(text, "%d %d %.*s", number_of(kiln_request_watched(request, "m", "a")),
                            number_of(kiln_request_watched(request, "m", "of callee")),
                            (int)kiln_request_watched(request, NULL, "v").size,
                            (const char *)kiln_request_watched(request, NULL, "v").data);
}

static void test_names(void **state)
{
    struct world *world = *state;
    int a = 1, a_of_callee = 2, of_callee = 3;
    kiln_var *v = NULL, *empty = NULL;
    CHECK_STATUS(kiln_var_new("v", "eleven char", 11, &v, NULL), KILN_OK);
    CHECK_STATUS(kiln_var_new("empty", NULL, 0, &empty, NULL), KILN_OK);
    kiln_function *f = lowered(world, "f", take_by_name, NULL), *callee = lowered(world, "callee", print_int, &a);
    WATCHES_INT(callee, "a", a_of_callee);
    WATCHES_INT(callee, "of callee", of_callee);
    WATCHES_INT(f, "a", a);
    CHECK_STATUS(kiln_watch_var(f, v, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_var(f, empty, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(f, callee, NULL), KILN_OK);
    gives(f, NO_ARGS, "1 3 eleven char");
    kiln_function_free(f), kiln_function_free(callee);
    kiln_var_free(v), kiln_var_free(empty);
}

/* What lower() reads itself is looked at afterwards: of the environment too. */
static kiln_status read_environment(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    bool *disturbs = payload;
    if (*disturbs) setenv("KILN_TEST_A", "2", 1);
    *disturbs = false;
    return kiln_text_printf(text, "%s", getenv("KILN_TEST_A"));
}

static void test_environment_changes(void **state)
{
    struct world *world = *state;
    bool disturbs = true;
    kiln_function *f = lowered(world, "f", read_environment, &disturbs);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    setenv("KILN_TEST_A", "1", 1);
    gives(f, NO_ARGS, "2");
    setenv("KILN_TEST_A", "1", 1);
    gives(f, NO_ARGS, "1"); /* no entry for 1 was made from 2 */
    kiln_function_free(f);
}

/* ---- kiln_read ------------------------------------------------------------------------------------------------ */

static int read_by_lower = 1;

static kiln_status read_twice(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int first = 0, second = 0;
    kiln_read(request, "m", "read_by_lower", &read_by_lower, sizeof read_by_lower, &first);
    read_by_lower = 2;
    kiln_read(request, "m", "read_by_lower", &read_by_lower, sizeof read_by_lower, &second);
    return kiln_text_printf(text, "%d %d", first, second);
}

/* An entry depends on one value of a variable, so its code is made from one. */
static void test_read_twice(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", read_twice, NULL);
    read_by_lower = 1;
    gives(f, NO_ARGS, "1 1");
    read_by_lower = 1;
    gives(f, NO_ARGS, "1 1");
    CHECK_EQ(counters_of(world).traces, 1);
    kiln_function_free(f);
}

struct slow_reader {
    kiln_function *function;
    pthread_barrier_t *barrier; /* lower() waits here, twice; NULL: it does not */
    char text[16];
};

static kiln_status read_slowly(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    struct slow_reader *reader = payload;
    pthread_barrier_t *barrier = reader->barrier;
    int value = 0;
    kiln_status status = kiln_read(request, "m", "read_by_lower", &read_by_lower, sizeof read_by_lower, &value);
    if (barrier) pthread_barrier_wait(barrier), pthread_barrier_wait(barrier);
    return status ? status : kiln_text_printf(text, "%d", value);
}

static void *get_text(void *context)
{
    struct slow_reader *reader = context;
    void *executable = NULL;
    if (!kiln_get(reader->function, NO_ARGS, NULL, &executable, NULL))
        snprintf(reader->text, sizeof reader->text, "%s", ((struct image *)executable)->text);
    return NULL;
}

/* Whoever waits for an entry that another thread makes looks at what that one has read. */
static void test_waiting_for_an_old_read(void **state)
{
    struct world *world = *state;
    struct slow_reader first = {.barrier = NULL};
    pthread_barrier_t barrier;
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    first.function = lowered(world, "f", read_slowly, &first);
    first.barrier = &barrier;
    struct slow_reader second = {.function = first.function};
    read_by_lower = 1;
    pthread_create(&threads[0], NULL, get_text, &first);
    pthread_barrier_wait(&barrier); /* it has read 1 */
    first.barrier = NULL;
    __atomic_store_n(&read_by_lower, 2, __ATOMIC_RELAXED);
    pthread_create(&threads[1], NULL, get_text, &second);
    usleep(20000); /* the second one waits by now, or comes later and looks at the entry: both ways it is told 2 */
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_STR(first.text, "1");
    CHECK_STR(second.text, "2");
    pthread_barrier_destroy(&barrier);
    kiln_function_free(first.function);
}

/* ---- a thread that changes everything all the time ------------------------------------------------------------ */

enum { VALUES = 3, FUNCTIONS = 60, BUSY = -1 };

struct flipper {
    kiln_var *var, *guard; /* `guard` is BUSY while `own` is not what it says */
    _Atomic int memory, own;
    _Atomic bool done;
};

static void *flip(void *context)
{
    struct flipper *flipper = context;
    unsigned state = 1;
    while (!flipper->done) {
        int value = (int)(rand_r(&state) % VALUES), busy = BUSY;
        kiln_var_set(flipper->var, &value, sizeof value);
        atomic_store(&flipper->memory, value);
        kiln_var_set(flipper->guard, &busy, sizeof busy);
        atomic_store(&flipper->own, value);
        kiln_var_set(flipper->guard, &value, sizeof value);
        if (value == 0) sched_yield();
    }
    return NULL;
}

static kiln_status print_taken(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    sched_yield(); /* so that much changes meanwhile */
    return kiln_text_printf(text, "%d %d", number_of(kiln_request_watched(request, NULL, "var")),
                            number_of(kiln_request_watched(request, "m", "memory")));
}

static kiln_status print_own(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    struct flipper *flipper = payload;
    sched_yield();
    int value = atomic_load(&flipper->own);
    sched_yield();
    return kiln_text_printf(text, "%d", value);
}

/* With everything at rest, each value in turn: what the entries made meanwhile say is what their keys say. */
static void check_entries(struct flipper *flipper, kiln_function *takes, kiln_function *reads)
{
    char expected[32];
    for (int value = 0; value < VALUES; value++)
        for (int memory = 0; memory < VALUES; memory++) {
            kiln_var_set(flipper->var, &value, sizeof value);
            atomic_store(&flipper->memory, memory);
            snprintf(expected, sizeof expected, "%d %d", value, memory);
            gives(takes, NO_ARGS, expected);
        }
    for (int value = 0; value < VALUES; value++) {
        kiln_var_set(flipper->guard, &value, sizeof value);
        atomic_store(&flipper->own, value);
        snprintf(expected, sizeof expected, "%d", value);
        gives(reads, NO_ARGS, expected);
    }
}

static void test_flipping(void **state)
{
    struct world *world = *state;
    int zero = 0;
    for (int round = 0; round < FUNCTIONS; round++) {
        struct flipper flipper = {.done = false};
        CHECK_STATUS(kiln_var_new("var", &zero, sizeof zero, &flipper.var, NULL), KILN_OK);
        CHECK_STATUS(kiln_var_new("guard", &zero, sizeof zero, &flipper.guard, NULL), KILN_OK);
        kiln_function *takes = lowered(world, "takes", print_taken, &flipper),
                      *reads = lowered(world, "reads", print_own, &flipper);
        CHECK_STATUS(kiln_watch_var(takes, flipper.var, NULL), KILN_OK);
        WATCHES_INT(takes, "memory", flipper.memory);
        CHECK_STATUS(kiln_watch_var(reads, flipper.guard, NULL), KILN_OK);
        pthread_t thread;
        pthread_create(&thread, NULL, flip, &flipper);
        for (int i = 0; i < 10; i++) {
            void *executable = NULL;
            kiln_error err = {0};
            if (kiln_get(takes, NO_ARGS, NULL, &executable, &err)) CHECK_FAIL("takes: %s", err.text);
            kiln_status status = kiln_get(reads, NO_ARGS, NULL, &executable, &err);
            if (status && status != KILN_DRIFTED) CHECK_FAIL("reads: %s", err.text);
        }
        flipper.done = true;
        pthread_join(thread, NULL);
        check_entries(&flipper, takes, reads);
        kiln_function_free(takes), kiln_function_free(reads);
        kiln_var_free(flipper.var), kiln_var_free(flipper.guard);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_variable_returns),
        WITH_WORLD(test_values_of_the_request),
        WITH_WORLD(test_names),
        WITH_WORLD(test_environment_changes),
        WITH_WORLD(test_read_twice),
        WITH_WORLD(test_waiting_for_an_old_read),
        WITH_WORLD(test_flipping),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
