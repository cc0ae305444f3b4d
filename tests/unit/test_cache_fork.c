/*
 * test_cache_fork.c - fork of a process that uses a cache: the child hits what its parent has, compiles what it lacks,
 * and finds no lock taken, whatever other threads of the parent were doing.
 *
 * The thread sanitizer can't follow a child of several threads that starts threads itself, which a compile does; under
 * it only the parents without other threads are tested.
 */
#include "process_support.h"

#include <sched.h>

struct world {
    struct shared *shared;
    kiln_compiler compiler;
    kiln_cache *cache;
    char folder[64];
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->shared = share();
    world->compiler = compiler_of(world->shared);
    world->cache = open_cache(world->folder);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_cache_close(world->cache);
    remove_folder(world->folder);
    unshare_memory(world->shared);
    free(world);
    return 0;
}

static kiln_status call(kiln_function *function, int64_t value, void **executable)
{
    const kiln_arg arg = {&kiln_const_i64, &value};
    return kiln_get(function, &arg, 1, NULL, executable, NULL);
}

static uint64_t hits_of(kiln_cache *cache)
{
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    return counters.front_hits + counters.process_hits;
}

/* In a child of a parent that has value 1: hits it, compiles another, and frees what it made. */
static void check_in_child(struct world *world, kiln_function *function, void *known, int64_t other)
{
    void *executable = NULL;
    uint64_t hits = hits_of(world->cache);
    require(call(function, 1, &executable) == KILN_OK && executable == known);
    require(hits_of(world->cache) == hits + 1);
    require(call(function, other, &executable) == KILN_OK && executable != known);
    require(call(function, other, &executable) == KILN_OK);
    kiln_function *own = NULL;
    const kiln_function_options of = {
        .struct_size = sizeof of, .name = "own", .compiler = &world->compiler, .text = {"own", 3}};
    require(kiln_function_new(world->cache, &of, &own, NULL) == KILN_OK);
    require(kiln_get(own, NULL, 0, NULL, &executable, NULL) == KILN_OK && !strcmp(executable, "own"));
    kiln_function_free(own);
    kiln_function_trim(function);
    require(call(function, 1, &executable) == KILN_OK);
}

static void test_warm_parent(void **state)
{
    struct world *world = *state;
    kiln_function *function = new_text(world->cache, &world->compiler, "f", "text");
    void *known = NULL, *executable = NULL;
    CHECK_STATUS(call(function, 1, &known), KILN_OK);
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            alarm(60);
            check_in_child(world, function, known, 2 + i);
            _exit(0);
        }
    }
    end_all_well(children, 4);
    CHECK_STATUS(call(function, 1, &executable), KILN_OK);
    CHECK_EQ(executable, known);
    CHECK_STATUS(call(function, 2, &executable), KILN_OK); /* the child left it in the folder */
    kiln_counters counters;
    kiln_cache_counters(world->cache, &counters);
    CHECK_EQ(counters.compiles, 1);
    CHECK_EQ(counters.disk_hits, 1);
    kiln_function_free(function);
}

/* ---- other threads at work --------------------------------------------------------------------------------------- */

struct busy {
    struct world *world;
    kiln_function *function;
    _Atomic bool stop;
    _Atomic unsigned rounds;
    unsigned index;
};

/* Everything that takes a lock, over and over. */
static void *hammer(void *context)
{
    struct busy *busy = context;
    struct world *world = busy->world;
    for (int64_t i = 0; !busy->stop; i++) {
        void *executable = NULL;
        kiln_function *own = NULL;
        const kiln_function_options of = {
            .struct_size = sizeof of, .name = "own", .compiler = &world->compiler, .text = {"hammer", 6}};
        if (kiln_function_new(world->cache, &of, &own, NULL)) continue;
        kiln_watch_env(own, "KILN_TEST_NOT_THERE", NULL);
        call(own, i % 4, &executable);
        call(busy->function, 100 + i % 8, &executable);
        kiln_function_trim(own);
        kiln_function_free(own);
        atomic_fetch_add(&busy->rounds, 1);
    }
    return NULL;
}

static void test_parent_with_busy_threads(void **state)
{
    enum { THREADS = 3, FORKS = 100 };
    struct world *world = *state;
    if (UNDER_TSAN) CHECK_SKIP();
    kiln_function *function = new_text(world->cache, &world->compiler, "f", "text");
    void *known = NULL;
    CHECK_STATUS(call(function, 1, &known), KILN_OK);
    pthread_t threads[THREADS];
    struct busy busy = {.world = world, .function = function};
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, hammer, &busy);
    CHECK_TRUE(wait_for(&busy.rounds, THREADS));
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            check_in_child(world, function, known, 1000 + i);
            _exit(0);
        }
        end_well(child);
    }
    busy.stop = true;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    kiln_function_free(function);
}

static void *compile_slowly(void *context)
{
    struct busy *busy = context;
    void *executable = NULL;
    call(busy->function, 0, &executable);
    return NULL;
}

static void *finish_soon(void *context)
{
    struct shared *shared = context;
    sleep_ms(200);
    atomic_store(&shared->may_finish, 1);
    return NULL;
}

/* fork waits for the compile that is running, so the child finds it done. */
static void test_fork_waits_for_a_compile(void **state)
{
    struct world *world = *state;
    if (UNDER_TSAN) CHECK_SKIP();
    struct busy busy = {.world = world, .function = new_text(world->cache, &world->compiler, "f", "slow")};
    pthread_t compiling, finishing;
    pthread_create(&compiling, NULL, compile_slowly, &busy);
    CHECK_TRUE(wait_for(&world->shared->compiling, 1));
    pthread_create(&finishing, NULL, finish_soon, world->shared);
    pid_t child = fork();
    if (child == 0) {
        void *executable = NULL;
        alarm(60);
        require(atomic_load(&world->shared->may_finish) == 1); /* not before */
        require(call(busy.function, 0, &executable) == KILN_OK && !strcmp(executable, "slow"));
        _exit(0);
    }
    end_well(child);
    pthread_join(compiling, NULL);
    pthread_join(finishing, NULL);
    kiln_function_free(busy.function);
}

/* A lower() that another thread is in is not waited for; the child makes the value on its own. */
static kiln_status lower_slowly(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    struct shared *shared = payload;
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->go)) sched_yield();
    return kiln_text_printf(text, "lowered");
}

static void test_child_of_an_unfinished_lowering(void **state)
{
    struct world *world = *state;
    if (UNDER_TSAN) CHECK_SKIP();
    struct busy busy = {.world = world,
                        .function = new_function(world->cache, &world->compiler, "f", lower_slowly, world->shared)};
    pthread_t makers[2]; /* one makes, the other waits for it */
    for (int i = 0; i < 2; i++) pthread_create(&makers[i], NULL, compile_slowly, &busy);
    CHECK_TRUE(wait_for(&world->shared->ready, 1));
    sleep_ms(20);
    pid_t child = fork();
    if (child == 0) {
        void *executable = NULL;
        alarm(60);
        atomic_store(&world->shared->go, 1);
        require(call(busy.function, 0, &executable) == KILN_OK && !strcmp(executable, "lowered"));
        require(atomic_load(&world->shared->ready) == 2);
        _exit(0);
    }
    end_well(child);
    for (int i = 0; i < 2; i++) pthread_join(makers[i], NULL);
    kiln_function_free(busy.function);
}

/* ---- a compiler that forks ------------------------------------------------------------------------------------------
 */

static kiln_status compile_by_child(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                    kiln_error *err)
{
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = status_of(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) return KILN_COMPILE_FAILED;
    return shared_compile(self, request, text, out, err);
}

static void *compile_own(void *context)
{
    struct busy *busy = context;
    void *executable = NULL;
    for (int64_t i = 0; i < 20; i++)
        if (call(busy->function, busy->index * 1000 + i, &executable) == KILN_OK) atomic_fetch_add(&busy->rounds, 1);
    return NULL;
}

/* Two compiles that fork at the same time do not wait for one another. */
static void test_compilers_that_fork(void **state)
{
    struct world *world = *state;
    if (UNDER_TSAN) CHECK_SKIP();
    kiln_compiler compiler = world->compiler;
    compiler.compile = compile_by_child;
    struct busy busy[2];
    pthread_t threads[2];
    kiln_function *function = new_text(world->cache, &compiler, "f", "text");
    time_t start = time(NULL);
    for (unsigned i = 0; i < 2; i++) {
        busy[i] = (struct busy){.world = world, .function = function, .index = i};
        pthread_create(&threads[i], NULL, compile_own, &busy[i]);
    }
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(busy[0].rounds + busy[1].rounds, 40);
    CHECK_LT(time(NULL) - start, 9); /* a fork that waits for the other would take ten seconds */
    kiln_function_free(function);
}

/* A child forked inside of a compile goes on with it; the lock stays its parent's. */
static kiln_status compile_in_both(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                   kiln_error *err)
{
    struct shared *shared = self;
    pid_t child = fork();
    if (child == 0)
        alarm(60);
    else
        end_well(child);
    if (child) atomic_fetch_add(&shared->done, 1);
    return shared_compile(self, request, text, out, err);
}

static void test_fork_inside_a_compile(void **state)
{
    struct world *world = *state;
    if (UNDER_TSAN) CHECK_SKIP();
    kiln_compiler compiler = world->compiler;
    compiler.compile = compile_in_both;
    kiln_function *function = new_text(world->cache, &compiler, "f", "text");
    void *executable = NULL;
    pid_t self = getpid();
    kiln_status status = call(function, 1, &executable);
    if (getpid() != self) {
        require(status == KILN_OK && !strcmp(executable, "text"));
        char lock[PATH_MAX];
        require(count_files(world->folder, ".lock", lock) == 1); /* its parent's */
        _exit(0);
    }
    CHECK_EQ(status, KILN_OK);
    CHECK_EQ(world->shared->done, 1);
    CHECK_EQ(count_files(world->folder, ".lock", NULL), 0);
    kiln_function_free(function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_warm_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parent_with_busy_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork_waits_for_a_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_child_of_an_unfinished_lowering, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compilers_that_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork_inside_a_compile, set_up, tear_down),
    };
    unsetenv("KILN_MODE");
    unsetenv("KILN_CACHE_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
