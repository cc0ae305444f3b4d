/*
 * test_cache_reclaim.c - functions with KILN_RECLAIM: executables of dropped results are unlinked, but not under a
 * thread that is between kiln_enter() and kiln_leave(); and unlink() runs with no lock held, before its compiler may
 * go.
 */
#include "cache_support.h"

#include <signal.h>
#include <sys/wait.h>

#include "cache/function.h"
#include "cache/memo/epoch.h"

enum { LIMIT = 8, EIGHTH = 1 };

struct world {
    struct fake fake;
    kiln_cache *cache;
    kiln_function *function;
};

/* The text is the argument, so that each signature has an executable of its own. */
static kiln_status lower_argument(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int64_t words[2];
    memcpy(words, kiln_request_arg(request, 0).data, sizeof words);
    return kiln_text_printf(text, "%lld", (long long)words[1]);
}

static kiln_function *new_reclaiming(struct world *world, const struct fake *fake, unsigned flags)
{
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &fake->compiler,
                                           .lower = lower_argument,
                                           .flags = flags};
    kiln_function *function = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_function_new(world->cache, &options, &function, &err), &err);
    return function;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    const kiln_cache_options options = {
        .struct_size = sizeof options, .folder = "", .max_results = LIMIT, .max_linked_bytes = 1};
    fake_init(&world->fake);
    CHECK_STATUS(kiln_cache_open(&options, &world->cache, NULL), KILN_OK);
    world->function = new_reclaiming(world, &world->fake, KILN_RECLAIM);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln_function_free(world->function);
    CHECK_EQ(world->fake.links, world->fake.unlinks);
    kiln_cache_close(world->cache);
    free(world);
    return 0;
}

static struct image *ask(kiln_function *function, int64_t value)
{
    char text[32];
    struct image *image = get_i64(function, value);
    snprintf(text, sizeof text, "%lld", (long long)value);
    CHECK_STR(image->text, text);
    return image;
}

static kiln_counters counters_of(const kiln_cache *cache)
{
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    return counters;
}

static void ask_outside(kiln_function *function, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        kiln_enter();
        ask(function, i);
        kiln_leave();
    }
}
#define ask_outside(...) CHECK_CALL(ask_outside, __VA_ARGS__)

/* What is linked: the results, what was dropped by the last eviction, and what the bound (1 byte) has not swept yet. */
static void endless_signatures_are_bounded(void **state)
{
    struct world *world = *state;
    for (int64_t i = 0; i < 1000; i++) {
        ask_outside(world->function, i, i + 1);
        CHECK_LE(counters_of(world->cache).linked_images, LIMIT + 2 * EIGHTH + 1);
    }
    kiln_counters counters = counters_of(world->cache);
    CHECK_EQ(counters.evictions, 1000 - LIMIT);
    CHECK_EQ(counters.links, 1000);
    CHECK_EQ(counters.linked_images, world->fake.links - world->fake.unlinks);
}

static void a_thread_inside_keeps_what_it_has(void **state)
{
    struct world *world = *state;
    kiln_enter();
    const struct image *first = ask(world->function, 0);
    kiln_enter(); /* pairs nest */
    for (int64_t i = 1; i < 100; i++) ask(world->function, i);
    kiln_leave();
    CHECK_EQ(world->fake.unlinks, 0);
    CHECK_STR(first->text, "0");
    kiln_leave();
    ask_outside(world->function, 100, 103);
    CHECK_EQ(counters_of(world->cache).linked_images, world->fake.links - world->fake.unlinks);
    CHECK_LE(counters_of(world->cache).linked_images, LIMIT + 2 * EIGHTH + 1);
}

/* A dropped signature that comes back finds its code, as long as that is linked. */
static void dropped_code_is_found_again(void **state)
{
    struct world *world = *state;
    kiln_enter();
    const struct image *first = ask(world->function, 0);
    for (int64_t i = 1; i < 20; i++) ask(world->function, i);
    CHECK_EQ(ask(world->function, 0), first);
    CHECK_EQ(world->fake.links, 20);
    kiln_leave();
}

static void *stay_inside(void *context)
{
    pthread_barrier_t *barrier = context;
    kiln_enter();
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL; /* without leaving: a thread that ends has left */
}

static void another_thread_inside_counts(void **state)
{
    struct world *world = *state;
    pthread_barrier_t barrier;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, stay_inside, &barrier);
    pthread_barrier_wait(&barrier);
    ask_outside(world->function, 0, 50);
    CHECK_EQ(world->fake.unlinks, 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    ask_outside(world->function, 50, 53);
    CHECK_GE(world->fake.unlinks, 40);
    pthread_barrier_destroy(&barrier);
}

/* The program says what goes, also while somebody is inside. */
static void trim_redefine_and_reset_drop_at_once(void **state)
{
    struct world *world = *state;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "f", .compiler = &world->fake.compiler, .lower = lower_argument};
    kiln_enter();
    for (int64_t i = 0; i < 20; i++) ask(world->function, i);
    kiln_function_trim(world->function);
    CHECK_EQ(counters_of(world->cache).linked_images, 0);
    for (int64_t i = 0; i < 20; i++) ask(world->function, i);
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu", &device, NULL), KILN_OK);
    kiln_device_reset(device);
    CHECK_EQ(counters_of(world->cache).linked_images, 0);
    for (int64_t i = 0; i < 20; i++) ask(world->function, i);
    kiln_leave();
    CHECK_STATUS(kiln_function_redefine(world->function, &options, NULL), KILN_OK); /* and no longer reclaims */
    CHECK_EQ(counters_of(world->cache).linked_images, 0);
    for (int64_t i = 0; i < 20; i++) ask(world->function, i);
    CHECK_EQ(counters_of(world->cache).linked_images, 20);
}

static void a_bound_function_reclaims_too(void **state)
{
    struct world *world = *state;
    kiln_function *bound = NULL;
    CHECK_STATUS(kiln_function_bind(world->function, NULL, NULL, &bound, NULL), KILN_OK);
    ask_outside(bound, 0, 100);
    CHECK_LE(counters_of(world->cache).linked_images, LIMIT + 2 * EIGHTH + 1);
    kiln_function_free(bound);
}

/* ---- a variable that lower() reads ----------------------------------------------------------------------------- */

static int read_by_lower;

static kiln_status lower_read(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int value;
    kiln_status status = kiln_read(request, "here", "read_by_lower", &read_by_lower, sizeof value, &value);
    return status ? status : kiln_text_printf(text, "%d", value);
}

/* An entry that is made anew forgets its value: held once however often it comes, or retired and reclaimed. */
static void values_made_anew(struct world *world, unsigned flags, size_t most)
{
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "reads",
                                           .compiler = &world->fake.compiler,
                                           .lower = lower_read,
                                           .flags = flags};
    kiln_function *function = NULL;
    CHECK_STATUS(kiln_function_new(world->cache, &options, &function, NULL), KILN_OK);
    for (int i = 0; i < 300; i++) {
        char text[16];
        read_by_lower = i % 3;
        snprintf(text, sizeof text, "%d", read_by_lower);
        kiln_enter();
        CHECK_STR(get(function, NO_ARGS)->text, text);
        kiln_leave();
        CHECK_LE(counters_of(world->cache).linked_images, most);
        CHECK_LE(function->memo.held.count, 3);
    }
    kiln_function_free(function);
    CHECK_EQ(counters_of(world->cache).linked_images, 0);
}
#define values_made_anew(...) CHECK_CALL(values_made_anew, __VA_ARGS__)

static void values_made_anew_are_held_or_retired(void **state)
{
    values_made_anew(*state, 0, 3);
    values_made_anew(*state, KILN_RECLAIM, 3);
}

/* ---- linking fails --------------------------------------------------------------------------------------------- */

static _Atomic int room; /* for so many executables */

static kiln_status link_if_room(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                                kiln_error *err)
{
    if (room <= 0) {
        snprintf(err->text, sizeof err->text, "no room");
        return KILN_NO_MEMORY;
    }
    room--;
    return fake_link(self, artifact, device, executable, err);
}

static void unlink_gives_room(void *self, void *executable)
{
    room++;
    fake_unlink(self, executable);
}

static void a_failed_link_sweeps_and_tries_again(void **state)
{
    (void)state;
    struct world world = {0};
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = "", .max_results = LIMIT};
    fake_init(&world.fake);
    world.fake.compiler.link = link_if_room;
    world.fake.compiler.unlink = unlink_gives_room;
    CHECK_STATUS(kiln_cache_open(&options, &world.cache, NULL), KILN_OK);
    kiln_function *function = new_reclaiming(&world, &world.fake, KILN_RECLAIM);
    room = LIMIT + 8;
    ask_outside(function, 0, 200);
    CHECK_EQ(room, LIMIT + 8 - (int)counters_of(world.cache).linked_images);
    kiln_function *keeps = new_reclaiming(&world, &world.fake, 0);
    room = -1000;
    kiln_enter();
    get_fails(keeps, ARGS(I64(-1)), KILN_LINK_FAILED, "no room"); /* nothing is left to sweep */
    kiln_leave();
    kiln_function_free(keeps);
    kiln_function_free(function);
    kiln_cache_close(world.cache);
    CHECK_EQ(world.fake.links, world.fake.unlinks);
}

/* ---- unlink() -------------------------------------------------------------------------------------------------- */

static struct world *asking;

/* Everything that takes the lock of a list: of caches, of functions. */
static void unlink_and_do_much(void *self, void *executable)
{
    struct world *world = asking;
    fake_unlink(self, executable);
    if (!world) return;
    asking = NULL;
    kiln_cache *cache = open_cache("");
    kiln_function *function = new_text(cache, &world->fake.compiler, "inner", "x"),
                  *other = new_text(world->cache, &world->fake.compiler, "other", "y");
    kiln_device *device = NULL;
    get(function, NO_ARGS);
    get(other, NO_ARGS);
    CHECK_STATUS(kiln_device_find("cpu", &device, NULL), KILN_OK);
    kiln_device_reset(device);
    kiln_function_free(function);
    kiln_function_free(other);
    kiln_cache_close(cache);
}

static void unlink_of_a_reset_may_do_anything(void **state)
{
    struct world *world = *state;
    struct fake loud;
    fake_init(&loud);
    loud.compiler.name = "loud";
    loud.compiler.unlink = unlink_and_do_much;
    kiln_function *function = new_reclaiming(world, &loud, 0);
    kiln_device *device = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native#5", &device, NULL), KILN_OK);
    get_on(function, ARGS(I64(1)), device);
    asking = world;
    alarm(60); /* against a deadlock */
    kiln_device_reset(device);
    alarm(0);
    CHECK_NULL(asking);
    CHECK_EQ(loud.unlinks, 1);
    kiln_function_free(function);
}

/* One thread sweeps what another one's function has left, and stands in unlink(). */
static pthread_barrier_t in_unlink;
static _Atomic bool stands, freed;

static void unlink_and_stand(void *self, void *executable)
{
    fake_unlink(self, executable);
    if (!atomic_exchange(&stands, false)) return;
    pthread_barrier_wait(&in_unlink);
    pthread_barrier_wait(&in_unlink);
}

static void *free_it(void *function)
{
    kiln_function_free(function);
    return NULL;
}

static void *free_and_say(void *function)
{
    kiln_function_free(function);
    freed = true;
    return NULL;
}

static void freeing_waits_for_the_last_unlink(void **state)
{
    (void)state;
    struct world world = {0};
    struct fake slow;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = "", .max_results = LIMIT};
    fake_init(&world.fake);
    fake_init(&slow);
    slow.compiler.name = "slow";
    slow.compiler.unlink = world.fake.compiler.unlink = unlink_and_stand;
    pthread_barrier_init(&in_unlink, NULL, 2);
    CHECK_STATUS(kiln_cache_open(&options, &world.cache, NULL), KILN_OK);
    kiln_function *first = new_reclaiming(&world, &world.fake, KILN_RECLAIM),
                  *second = new_reclaiming(&world, &slow, 0);
    ask_outside(first, 0, 3 * LIMIT); /* some of its executables are unused, and still linked */
    ask(second, 1);
    CHECK_EQ(world.fake.unlinks, 0);
    pthread_t sweeps, frees;
    stands = true;
    freed = false;
    pthread_create(&sweeps, NULL, free_it, second);
    pthread_barrier_wait(&in_unlink);
    pthread_create(&frees, NULL, free_and_say, first);
    usleep(50000); /* it must not be done, however long we wait: the first one's compiler is still needed */
    CHECK_FALSE(freed);
    pthread_barrier_wait(&in_unlink);
    pthread_join(sweeps, NULL);
    pthread_join(frees, NULL);
    CHECK_EQ(world.fake.links, world.fake.unlinks);
    CHECK_EQ(slow.links, slow.unlinks);
    kiln_cache_close(world.cache);
    pthread_barrier_destroy(&in_unlink);
}

/* ---- misuse ---------------------------------------------------------------------------------------------------- */

#ifdef KILN_DEBUG
static void ends_with_a_message(void (*misuse)(struct world *world), struct world *world, const char *message)
{
    int ends[2];
    char text[512] = "";
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        misuse(world);
        _exit(0);
    }
    close(ends[1]);
    CHECK_GE(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_CONTAINS(text, message);
}
#define ends_with_a_message(...) CHECK_CALL(ends_with_a_message, __VA_ARGS__)

static void get_outside(struct world *world)
{
    get_i64(world->function, 1);
}

static void leave_twice(struct world *world)
{
    (void)world;
    kiln_enter();
    kiln_leave();
    kiln_leave();
}

static void misuse_ends_the_program(void **state)
{
    ends_with_a_message(get_outside, *state, "f: kiln_get() of a function with KILN_RECLAIM outside of kiln_enter()");
    ends_with_a_message(leave_twice, *state, "kiln_leave() without kiln_enter() on this thread");
}
#else
static void misuse_ends_the_program(void **state)
{
    struct world *world = *state;
    kiln_leave(); /* nothing happens */
    kiln_enter();
    ask(world->function, 1);
    kiln_leave();
}
#endif

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(endless_signatures_are_bounded),
        WITH_WORLD(a_thread_inside_keeps_what_it_has),
        WITH_WORLD(dropped_code_is_found_again),
        WITH_WORLD(another_thread_inside_counts),
        WITH_WORLD(trim_redefine_and_reset_drop_at_once),
        WITH_WORLD(a_bound_function_reclaims_too),
        WITH_WORLD(values_made_anew_are_held_or_retired),
        cmocka_unit_test(a_failed_link_sweeps_and_tries_again),
        WITH_WORLD(unlink_of_a_reset_may_do_anything),
        cmocka_unit_test(freeing_waits_for_the_last_unlink),
        WITH_WORLD(misuse_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
