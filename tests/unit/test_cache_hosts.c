/*
 * test_cache_hosts.c - several hosts and one remote: one compile in all where the remote has leases; holders that die;
 * forks and exits while something is being put.
 *
 * Hosts are forked processes with folders of their own. The thread sanitizer can't follow a child of several threads
 * that starts threads itself: so tests that fork come first, while this process has one thread, and the one that forks
 * beside a writer is left out under it.
 */
#include <setjmp.h>

#include "remote_support.h"

#include "base/process/gate.h"

/* What hosts have counted. */
struct tally {
    _Atomic unsigned compiles, remote_hits, remote_misses, remote_waits, remote_puts, remote_faults;
    _Atomic unsigned leaves, has_left; /* exit() is called next; an exit handler of the program ran */
};

struct world {
    char folder[64];
    struct shared *shared;
    struct tally *tally;
};

static struct world world;

static int set_up(void **state)
{
    (void)state;
    make_folder(world.folder, sizeof world.folder);
    world.shared = share();
    world.tally = mmap(NULL, sizeof *world.tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    open_stores();
    make_key(world.folder, 1);
    sign_with(world.folder, 1);
    trust(world.folder, "trusted", 1);
    setenv("KILN_REMOTE", "leased://0", 1);
    setenv("KILN_REMOTE_TIMEOUT", "60000", 1);
    kiln__backoff_set_limits(PATIENCE_MS, PATIENCE_MS);
    kiln__lease_set_limits(PATIENCE_MS, 20);
    kiln__lock_set_limits(PATIENCE_MS, PATIENCE_MS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kiln__backoff_set_limits(0, 0);
    kiln__lease_set_limits(0, 0);
    kiln__lock_set_limits(0, 0);
    kiln__fork_set_patience(0);
    setenv("KILN_REMOTE", "", 1);
    setenv("KILN_REMOTE_TIMEOUT", "", 1);
    setenv("KILN_SIGN_KEY", "", 1);
    setenv("KILN_TRUSTED_KEYS", "", 1);
    remove_folder(world.folder);
    munmap(world.tally, sizeof *world.tally);
    unshare_memory(world.shared);
    close_stores();
    return 0;
}

/* ---- a host -------------------------------------------------------------------------------------------------------
 */

static kiln_cache *open_host(unsigned index)
{
    char folder[128];
    kiln_cache *cache = NULL;
    snprintf(folder, sizeof folder, "%s/host-%u", world.folder, index);
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    require(kiln_cache_open(&options, &cache, NULL) == KILN_OK);
    return cache;
}

static kiln_status ask_for(kiln_cache *cache, const kiln_compiler *compiler, const char *text)
{
    const kiln_function_options of = {
        .struct_size = sizeof of, .name = "f", .compiler = compiler, .text = {text, strlen(text)}};
    kiln_function *function = NULL;
    void *executable = NULL;
    require(kiln_function_new(cache, &of, &function, NULL) == KILN_OK);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, NULL);
    require(status || !strcmp(executable, text));
    kiln_function_free(function);
    return status;
}

static void count(kiln_cache *cache)
{
    kiln_counters counters;
    kiln__store_flush(&cache->store, PATIENCE_MS);
    kiln_cache_counters(cache, &counters);
    world.tally->compiles += (unsigned)counters.compiles;
    world.tally->remote_hits += (unsigned)counters.remote_hits;
    world.tally->remote_misses += (unsigned)counters.remote_misses;
    world.tally->remote_waits += (unsigned)counters.remote_waits;
    world.tally->remote_puts += (unsigned)counters.remote_puts;
    world.tally->remote_faults += (unsigned)counters.remote_faults;
}

static void use(unsigned index, const char *text)
{
    const kiln_compiler compiler = compiler_of(world.shared);
    kiln_cache *cache = open_host(index);
    require(ask_for(cache, &compiler, text) == KILN_OK);
    count(cache);
    kiln_cache_close(cache);
}

static void use_slow(struct shared *shared, const char *folder, unsigned index)
{
    (void)folder;
    line_up(shared);
    use(index, "slow one");
}

#define CHECK_TALLY(...)                                                                                               \
    do {                                                                                                               \
        const struct tally expected = {__VA_ARGS__};                                                                   \
        CHECK_EQ(world.tally->compiles, expected.compiles);                                                            \
        CHECK_EQ(world.tally->remote_hits, expected.remote_hits);                                                      \
        CHECK_EQ(world.tally->remote_misses, expected.remote_misses);                                                  \
        CHECK_EQ(world.tally->remote_waits, expected.remote_waits);                                                    \
        CHECK_EQ(world.tally->remote_puts, expected.remote_puts);                                                      \
        CHECK_EQ(world.tally->remote_faults, expected.remote_faults);                                                  \
    } while (0)

/* ---- leases -------------------------------------------------------------------------------------------------------
 */

enum { HOSTS = 3 };

static void test_cold_hosts(void **state)
{
    (void)state;
    pid_t children[HOSTS];
    for (unsigned i = 0; i < HOSTS; i++) children[i] = start_child(use_slow, world.shared, "", i);
    say_go(world.shared, HOSTS);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    CHECK_TRUE(wait_for(&stores[0].refusals, 20)); /* the others wait */
    world.shared->may_finish = 1;
    end_all_well(children, HOSTS);
    CHECK_EQ(world.shared->compiles, 1);
    CHECK_TALLY(.compiles = 1, .remote_hits = HOSTS - 1, .remote_misses = HOSTS, .remote_waits = HOSTS - 1,
                .remote_puts = 1);
    CHECK_EQ(stores[0].releases, stores[0].takes); /* nobody has to wait for a lease to run out */
}

/* It is renewed for longer than it lives. */
static void test_lease_is_renewed(void **state)
{
    (void)state;
    pid_t children[2];
    kiln__lease_set_limits(3000, 50);
    for (unsigned i = 0; i < 2; i++) children[i] = start_child(use_slow, world.shared, "", i);
    say_go(world.shared, 2);
    CHECK_TRUE(wait_for(&stores[0].renewals, 70));
    world.shared->may_finish = 1;
    end_all_well(children, 2);
    CHECK_TALLY(.compiles = 1, .remote_hits = 1, .remote_misses = 2, .remote_waits = 1, .remote_puts = 1);
}

static void test_holder_dies(void **state)
{
    (void)state;
    kiln__lease_set_limits(100, 20);
    pid_t holder = start_child(use_slow, world.shared, "", 0);
    say_go(world.shared, 1);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    CHECK_TRUE(wait_for(&stores[0].renewals, 1));
    pid_t other = start_child(use_slow, world.shared, "", 1);
    CHECK_TRUE(wait_for(&stores[0].refusals, 1));
    kill(holder, SIGKILL);
    status_of(holder);
    CHECK_TRUE(wait_for(&world.shared->compiles, 2)); /* it has run out, and is the other's */
    world.shared->may_finish = 1;
    end_well(other);
    CHECK_TALLY(.compiles = 1, .remote_misses = 1, .remote_waits = 1, .remote_puts = 1);
}

static void test_lease_is_never_given_up(void **state)
{
    (void)state;
    enum { LIMIT_MS = 500 };
    kiln__lock_set_limits(LIMIT_MS, PATIENCE_MS);
    stores[0].lease_fault = LEASES_TAKEN;
    use(0, "one");
    CHECK_TALLY(.compiles = 1, .remote_misses = 1, .remote_waits = 1, .remote_puts = 1);
    CHECK_GE(stores[0].refusals, 2);
    CHECK_EQ(stores[0].releases, 0);
    /* Who waited, under its lock, did not compile for so long: nobody is waited for ten times longer from now on. */
    CHECK_LT(kiln__lock_wait_ns(), 10 * LIMIT_MS * 1000000ull);
}

static kiln_status compile_too_long(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                    kiln_error *err)
{
    pthread_mutex_lock(&stores[0].lock);
    struct slot *slot = &stores[0].slots[0];
    snprintf(slot->token, sizeof slot->token, "of another host");
    slot->until_ns = kiln__clock_ns() + PATIENCE_MS * 1000000ull;
    pthread_mutex_unlock(&stores[0].lock);
    return shared_compile(self, request, text, out, err);
}

/* Another host took it over, after a pause of ours that was too long: what we made is not put over what it makes. */
static void test_lease_is_lost(void **state)
{
    (void)state;
    kiln_compiler compiler = compiler_of(world.shared);
    compiler.compile = compile_too_long;
    kiln_cache *cache = open_host(0);
    CHECK_EQ(ask_for(cache, &compiler, "one"), KILN_OK);
    count(cache);
    kiln_cache_close(cache);
    CHECK_TALLY(.compiles = 1, .remote_misses = 1);
    CHECK_EQ(stores[0].puts, 1);
    CHECK_EQ(count_stored(&stores[0]), 0);
    CHECK_STR(stores[0].slots[0].token, "of another host"); /* and its lease is left alone */
    CHECK_GT(stores[0].slots[0].until_ns, kiln__clock_ns());
}

static void test_leases_fail(void **state)
{
    (void)state;
    stores[0].lease_fault = LEASES_ERROR;
    use(0, "one");
    CHECK_TALLY(.compiles = 1, .remote_misses = 1, .remote_faults = 1); /* nothing is written there for a while */
    CHECK_EQ(stores[0].puts, 0);
}

/* Another host is done between our question and our lease. */
static void test_it_came_meanwhile(void **state)
{
    (void)state;
    use(0, "one");
    stores[0].absent_gets = 1;
    use(1, "one");
    CHECK_TALLY(.compiles = 1, .remote_hits = 1, .remote_misses = 2, .remote_puts = 1);
    CHECK_EQ(stores[0].releases, 2);
}

static kiln_status fail_to_compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                   kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)out, (void)err;
    return KILN_COMPILE_FAILED;
}

static void test_compile_fails(void **state)
{
    (void)state;
    kiln_compiler compiler = compiler_of(world.shared);
    compiler.compile = fail_to_compile;
    kiln_cache *cache = open_host(0);
    CHECK_EQ(ask_for(cache, &compiler, "one"), KILN_COMPILE_FAILED);
    kiln__store_flush(&cache->store, PATIENCE_MS);
    CHECK_EQ(stores[0].releases, 1);
    kiln_cache_close(cache);
    use(1, "one"); /* waits for nobody */
    CHECK_TALLY(.compiles = 1, .remote_misses = 1, .remote_puts = 1);
}

static kiln_cache *inner_cache;

static kiln_status compile_two(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                               kiln_error *err)
{
    const kiln_compiler inner = compiler_of(world.shared);
    stores[0].lease_fault = LEASES_TAKEN; /* "inner" is being made by another host, which might wait for us */
    require(ask_for(inner_cache, &inner, "inner") == KILN_OK);
    stores[0].lease_fault = LEASES_WELL;
    return shared_compile(self, request, text, out, err);
}

static void test_holder_waits_for_nobody(void **state)
{
    (void)state;
    kiln_compiler compiler = compiler_of(world.shared);
    compiler.compile = compile_two;
    inner_cache = open_host(0);
    CHECK_EQ(ask_for(inner_cache, &compiler, "outer"), KILN_OK);
    count(inner_cache);
    kiln_cache_close(inner_cache);
    CHECK_TALLY(.compiles = 2, .remote_misses = 2, .remote_puts = 2);
    CHECK_EQ(stores[0].releases, 1);
}

static jmp_buf outside;

static kiln_status jump(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out, kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)out, (void)err;
    longjmp(outside, 1);
}

static void __attribute__((noinline)) ask_and_jump(kiln_cache *cache)
{
    static kiln_compiler compiler;
    compiler = compiler_of(world.shared);
    compiler.compile = jump;
    if (!setjmp(outside)) ask_for(cache, &compiler, "one");
}

/* In a process of its own, since what lost frames had is never freed. */
static void jump_and_go_on(struct shared *shared, const char *folder, unsigned index)
{
    (void)folder;
    const kiln_compiler compiler = compiler_of(shared);
    kiln_cache *cache = open_host(index);
    ask_and_jump(cache);
    require(ask_for(cache, &compiler, "two") == KILN_OK);
    kiln__store_flush(&cache->store, PATIENCE_MS);
    require(stores[0].takes == 2 && stores[0].releases == 2);
}

static void use_one(struct shared *shared, const char *folder, unsigned index)
{
    (void)shared, (void)folder;
    use(index, "one");
}

/* Forbidden, and yet the lease is not renewed for ever. */
static void test_jump_out_of_a_compile(void **state)
{
    (void)state;
    end_well(start_child(jump_and_go_on, world.shared, "", 0));
    end_well(start_child(use_one, world.shared, "", 1));
    CHECK_TALLY(.compiles = 1, .remote_misses = 1, .remote_puts = 1);
}

/* ---- fork ---------------------------------------------------------------------------------------------------------
 */

static void block_puts(void)
{
    stores[0].put_fault = PUTS_BLOCK;
    stores[0].is_blocked = 1;
}

static void unblock_puts(void)
{
    stores[0].put_fault = PUTS_WELL;
    stores[0].is_blocked = 0;
}

/* The child puts what it makes, and not what its parent was about to put. */
static void test_fork(void **state)
{
    (void)state;
    if (UNDER_TSAN) CHECK_SKIP();
    const kiln_compiler compiler = compiler_of(world.shared);
    kiln_cache *cache = open_host(0);
    block_puts();
    CHECK_EQ(ask_for(cache, &compiler, "one"), KILN_OK);
    CHECK_EQ(ask_for(cache, &compiler, "two"), KILN_OK);
    CHECK_TRUE(wait_for(&stores[0].blocked, 1));
    kiln__fork_set_patience(1); /* the put does not end */
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        stores[0].put_fault = PUTS_WELL; /* what is blocked stays so */
        kiln__store_flush(&cache->store, PATIENCE_MS);
        require(ask_for(cache, &compiler, "three") == KILN_OK);
        kiln__store_flush(&cache->store, PATIENCE_MS);
        require(count_stored(&stores[0]) == 1);
        kiln_cache_close(cache);
        _exit(0);
    }
    end_well(child);
    CHECK_EQ(count_stored(&stores[0]), 1);
    unblock_puts();
    kiln__store_flush(&cache->store, PATIENCE_MS);
    CHECK_EQ(count_stored(&stores[0]), 3);
    CHECK_EQ(stores[0].puts, 3);
    kiln_cache_close(cache);
}

/* ---- exit ---------------------------------------------------------------------------------------------------------
 */

enum { STATUS = 7, TEXTS = 5 };

static void note_leaving(void)
{
    world.tally->has_left = 1;
}

/* A child that asks for some texts, and leaves through `leave` while the first put is under way. */
static pid_t start_leaving(void (*leave)(int status))
{
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child) return child;
    alarm(PATIENCE_MS / 1000);
    atexit(note_leaving);
    const kiln_compiler compiler = compiler_of(world.shared);
    kiln_cache *cache = open_host(0);
    char text[16];
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "t%d", i);
        require(ask_for(cache, &compiler, text) == KILN_OK);
        if (!i) require(wait_for(&stores[0].puts, 1));
    }
    world.tally->leaves = 1;
    leave(STATUS);
    return 0;
}
#define start_leaving(...) CHECK_CALL(start_leaving, __VA_ARGS__)

static int leave_after_puts(void (*leave)(int status))
{
    return status_of(start_leaving(leave));
}

static void exited(int status)
{
    CHECK_TRUE(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), STATUS);
}
#define exited(...) CHECK_CALL(exited, __VA_ARGS__)

static void test_exit_waits_for_puts(void **state)
{
    (void)state;
    exited(leave_after_puts(exit));
    CHECK_EQ(count_stored(&stores[0]), TEXTS);
    CHECK_EQ(stores[0].releases, TEXTS);
    CHECK_EQ(world.tally->has_left, 1);
}

/* What takes no longer than it is told to holds exit up for a moment, and its handlers run. */
static void test_exit_beside_a_slow_remote(void **state)
{
    (void)state;
    setenv("KILN_REMOTE_TIMEOUT", "100", 1);
    stores[0].put_fault = PUTS_STALL;
    exited(leave_after_puts(exit));
    CHECK_EQ(count_stored(&stores[0]), 0);
    CHECK_EQ(stores[0].puts, 1); /* then it is left alone */
    CHECK_EQ(world.tally->has_left, 1);
}

/* However long a put may take otherwise: one that begins now is told to end in time. */
static void test_exit_shortens_puts(void **state)
{
    (void)state;
    block_puts();
    pid_t child = start_leaving(exit);
    CHECK_TRUE(wait_for(&world.tally->leaves, 1));
    sleep_ms(300); /* exit() has begun, and waits */
    stores[0].put_fault = PUTS_STALL;
    stores[0].is_blocked = 0;
    exited(status_of(child));
    CHECK_EQ(count_stored(&stores[0]), 1);
    CHECK_EQ(stores[0].puts, 2);
    CHECK_EQ(world.tally->has_left, 1);
}

/* A driver that does not come back: after a second the process leaves without it. */
static void test_exit_beside_a_stuck_driver(void **state)
{
    (void)state;
    block_puts();
    exited(leave_after_puts(exit));
    CHECK_EQ(stores[0].puts, 1);
}

static void test_exit_at_once(void **state)
{
    (void)state;
    block_puts();
    exited(leave_after_puts(_exit));
    CHECK_EQ(stores[0].puts, 1);
    CHECK_EQ(world.tally->has_left, 0);
}

static kiln_status exit_here(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                             kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)out, (void)err;
    exit(STATUS);
}

static void test_exit_inside_of_a_compile(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        alarm(PATIENCE_MS / 1000);
        atexit(note_leaving);
        kiln_compiler compiler = compiler_of(world.shared);
        kiln_cache *cache = open_host(0);
        require(ask_for(cache, &compiler, "one") == KILN_OK);
        compiler.compile = exit_here;
        ask_for(cache, &compiler, "two");
    }
    exited(status_of(child));
    CHECK_EQ(count_stored(&stores[0]), 1);
    CHECK_EQ(world.tally->has_left, 1);
}

int main(int argument_count, char **words)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_cold_hosts),
        TEST(test_lease_is_renewed),
        TEST(test_holder_dies),
        TEST(test_jump_out_of_a_compile),
        TEST(test_exit_waits_for_puts),
        TEST(test_exit_beside_a_slow_remote),
        TEST(test_exit_shortens_puts),
        TEST(test_exit_beside_a_stuck_driver),
        TEST(test_exit_at_once),
        TEST(test_exit_inside_of_a_compile),
        TEST(test_lease_is_never_given_up),
        TEST(test_lease_is_lost),
        TEST(test_leases_fail),
        TEST(test_it_came_meanwhile),
        TEST(test_compile_fails),
        TEST(test_holder_waits_for_nobody),
        TEST(test_fork),
    };
    if (argument_count > 1) cmocka_set_test_filter(words[1]);
    kiln_remote_add(&plain_driver, NULL);
    kiln_remote_add(&leased_driver, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
