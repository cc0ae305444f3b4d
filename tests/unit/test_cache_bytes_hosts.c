/*
 * test_cache_bytes_hosts.c - tickets among processes that share a folder, and among hosts that share a remote: one
 * makes the bytes, the others wait; holders that are killed, stopped, stall, fork or exit; whose bytes are believed.
 *
 * Hosts are forked processes with folders of their own. Limits that must not matter are a minute, as is a test's
 * patience, so a wait that ends for the wrong reason is a failure. Under the thread sanitizer, which can't follow a
 * child of several threads that starts threads itself, forks of a holder are left out.
 */
#include "bytes_support.h"
#include "remote_support.h"

struct world {
    char folder[64];
    struct shared *shared;
    _Atomic uint64_t *sums; /* of counters of children: an enum sum each */
};

enum sum { DISK_HITS, REMOTE_HITS, REMOTE_MISSES, REMOTE_WAITS, REMOTE_PUTS, REFUSED, SUMS };

static struct world world;

static int set_up(void **state)
{
    (void)state;
    make_folder(world.folder, sizeof world.folder);
    world.shared = share();
    world.sums = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    open_stores();
    kiln__lock_set_limits(PATIENCE_MS, PATIENCE_MS);
    return 0;
}

static int set_up_remote(void **state)
{
    set_up(state);
    make_key(world.folder, 1);
    sign_with(world.folder, 1);
    trust(world.folder, "trusted", 1);
    setenv("KILN_REMOTE", "leased://0", 1);
    setenv("KILN_REMOTE_TIMEOUT", "60000", 1);
    kiln__backoff_set_limits(PATIENCE_MS, PATIENCE_MS);
    kiln__lease_set_limits(PATIENCE_MS, 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kiln__backoff_set_limits(0, 0);
    kiln__lease_set_limits(0, 0);
    kiln__lock_set_limits(0, 0);
    static const char *const settings[] = {"KILN_REMOTE", "KILN_REMOTE_TIMEOUT", "KILN_SIGN_KEY", "KILN_TRUSTED_KEYS"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i], "", 1);
    remove_folder(world.folder);
    munmap((void *)(uintptr_t)world.sums, 4096);
    unshare_memory(world.shared);
    close_stores();
    return 0;
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

/* The common folder, or that of a host. */
static kiln_cache *open_in_child(const char *folder, unsigned host)
{
    char path[128];
    kiln_cache *cache = NULL;
    snprintf(path, sizeof path, host ? "%s/host-%u" : "%s/cache", folder, host);
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = path};
    require(kiln_cache_open(&options, &cache, NULL) == KILN_OK);
    return cache;
}

static void close_and_count(kiln_cache *cache)
{
    kiln_counters counters;
    kiln__store_flush(&cache->store, PATIENCE_MS);
    kiln_cache_counters(cache, &counters);
    const uint64_t values[SUMS] = {counters.disk_hits,    counters.remote_hits, counters.remote_misses,
                                   counters.remote_waits, counters.remote_puts, counters.refused_signatures};
    for (int i = 0; i < SUMS; i++) world.sums[i] += values[i];
    kiln_cache_close(cache);
}

#define CHECK_SUMS(...)                                                                                                \
    do {                                                                                                               \
        const uint64_t expected[SUMS] = {__VA_ARGS__};                                                                 \
        for (int i_ = 0; i_ < SUMS; i_++) {                                                                            \
            CHECK_CONTEXT("counter %d", i_);                                                                           \
            CHECK_EQ(world.sums[i_], expected[i_]);                                                                    \
        }                                                                                                              \
    } while (0)

/* Gets the value, or makes it and says so. A holder waits for may_finish. */
static void use(struct shared *shared, const char *folder, unsigned host)
{
    kiln_cache *cache = open_in_child(folder, host);
    kiln_store_ticket *ticket = NULL;
    atomic_fetch_add(&shared->ready, 1);
    kiln_status status = get_text(cache, "key", PATIENCE_MS, "value", &ticket);
    if (status == KILN_STORE_MISS) {
        require(ticket);
        atomic_fetch_add(&shared->compiles, 1);
        require(wait_for(&shared->may_finish, 1));
        require(put_text(cache, "key", "value", ticket) == KILN_OK);
    } else {
        require(status == KILN_OK);
    }
    close_and_count(cache);
    atomic_fetch_add(&shared->done, 1);
}

/* Holds a ticket; a host's number is also that of its deadline: an odd one's is soon. */
static void hold(struct shared *shared, const char *folder, unsigned host)
{
    kiln_cache *cache = open_in_child(folder, host / 2);
    kiln_store_ticket *ticket = NULL;
    kiln_store_value value;
    const kiln_store_options options = {.struct_size = sizeof options, .deadline_ms = host % 2 ? 200 : PATIENCE_MS};
    require(kiln_store_get(cache, bytes_of("key"), &options, &value, &ticket, NULL) == KILN_STORE_MISS && ticket);
    atomic_fetch_add(&shared->compiling, 1);
    require(wait_for(&shared->at_once, 1)); /* what follows is too late, or not asked for */
    if (host % 2)
        require(put_text(cache, "key", "value", ticket) == KILN_OK);
    else
        kiln_store_abandon(ticket);
    close_and_count(cache);
}

static pid_t start_holder(unsigned host, bool stalls)
{
    pid_t holder = start_child(hold, world.shared, world.folder, 2 * host + stalls);
    CHECK_TRUE(wait_for(&world.shared->compiling, 1));
    return holder;
}
#define start_holder(...) CHECK_CALL(start_holder, __VA_ARGS__)

static pid_t start_waiting(unsigned host)
{
    pid_t child = start_child(use, world.shared, world.folder, host);
    CHECK_TRUE(wait_for(&world.shared->ready, 1));
    sleep_ms(30);
    CHECK_EQ(world.shared->compiles, 0);
    CHECK_EQ(world.shared->done, 0);
    return child;
}
#define start_waiting(...) CHECK_CALL(start_waiting, __VA_ARGS__)

enum { PROCESSES = 4 };

static void test_one_makes(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) children[i] = start_child(use, world.shared, world.folder, 0);
    CHECK_TRUE(wait_for(&world.shared->ready, PROCESSES));
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    sleep_ms(50);
    CHECK_EQ(world.shared->done, 0); /* the others wait */
    world.shared->may_finish = 1;
    end_all_well(children, PROCESSES);
    CHECK_EQ(world.shared->compiles, 1);
    CHECK_SUMS([DISK_HITS] = PROCESSES - 1);
}

static void test_killed(void **state)
{
    (void)state;
    pid_t holder = start_holder(0, false), waiting = start_waiting(0);
    kill(holder, SIGKILL);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1)); /* not reaped: it is gone all the same */
    world.shared->may_finish = 1;
    end_well(waiting);
    status_of(holder);
}

/* Nothing of it runs, its heartbeat neither. */
static void test_stopped(void **state)
{
    (void)state;
    kiln__lock_set_limits(PATIENCE_MS, 300);
    pid_t holder = start_holder(0, false), waiting = start_waiting(0);
    kill(holder, SIGSTOP);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    world.shared->may_finish = 1;
    end_well(waiting);
    kill(holder, SIGCONT);
    world.shared->at_once = 1;
    end_well(holder);
}

/* It lives and its heart beats: the deadline ends its ticket. What it puts late is stored. */
static void test_stalled(void **state)
{
    (void)state;
    char path[PATH_MAX];
    pid_t holder = start_holder(0, true), waiting = start_child(use, world.shared, world.folder, 0);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    world.shared->at_once = 1;
    end_well(holder);
    CHECK_EQ(count_files(world.folder, ".kiln", NULL), 1);
    CHECK_EQ(count_files(world.folder, ".lock", path), 1); /* not the late one's to remove */
    world.shared->may_finish = 1;
    end_well(waiting);
    CHECK_EQ(count_files(world.folder, ".lock", NULL), 0);
    CHECK_EQ(world.shared->compiles, 1);
}

static void test_abandoned(void **state)
{
    (void)state;
    pid_t holder = start_holder(0, false), waiting = start_waiting(0);
    world.shared->at_once = 1;
    end_well(holder);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    world.shared->may_finish = 1;
    end_well(waiting);
}

/* A process that exits with a ticket is as one that died. */
static void hold_and_exit(struct shared *shared, const char *folder, unsigned index)
{
    (void)shared, (void)index;
    kiln_store_ticket *ticket = NULL;
    require(get_text(open_in_child(folder, 0), "key", 1, NULL, &ticket) == KILN_STORE_MISS);
    exit(0);
}

static void test_exit(void **state)
{
    (void)state;
    end_well(start_child(hold_and_exit, world.shared, world.folder, 0));
    CHECK_EQ(count_files(world.folder, ".lock", NULL), 1);
    pid_t next = start_child(use, world.shared, world.folder, 0);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    world.shared->may_finish = 1;
    end_well(next);
    CHECK_EQ(count_files(world.folder, ".lock", NULL), 0);
}

/* Without waiting, too: a holder that is gone is no holder. */
static void test_exit_without_waiting(void **state)
{
    (void)state;
    end_well(start_child(hold_and_exit, world.shared, world.folder, 0));
    end_well(start_child(hold_and_exit, world.shared, world.folder, 0));
}

/* ---- fork ------------------------------------------------------------------------------------------------------- */

/* In a child: the ticket is the parent's, and still held. */
static void end_in_child(kiln_cache *cache, kiln_store_ticket *ticket, bool puts)
{
    kiln_store_ticket *own = NULL;
    alarm(PATIENCE_MS / 1000);
    require(get_text(cache, "key", 30, NULL, &own) == KILN_STORE_BUSY && !own);
    if (puts)
        require(put_text(cache, "key", "value", ticket) == KILN_OK);
    else
        kiln_store_abandon(ticket);
    require(get_text(cache, "key", 30, "value", &own) == (puts ? KILN_OK : KILN_STORE_BUSY));
    const char *key = puts ? "of the second child" : "of the first child";
    require(get_text(cache, key, 30, NULL, &own) == KILN_STORE_MISS && own);
    require(put_text(cache, key, "value", own) == KILN_OK);
    kiln_cache_close(cache);
    _exit(0);
}

static void hold_and_fork(struct shared *shared, const char *folder, unsigned host)
{
    kiln_cache *cache = open_in_child(folder, host);
    kiln_store_ticket *ticket = NULL;
    require(get_text(cache, "key", 1, NULL, &ticket) == KILN_STORE_MISS && ticket);
    sleep_ms(100); /* its heartbeats have started: the address sanitizer's allocator can't be forked while they do */
    pid_t child = fork();
    if (!child) end_in_child(cache, ticket, false);
    require(status_of(child) == 0);
    if (!host) require(count_files(folder, ".lock", NULL) == 1);
    if (host) require(stores[0].releases <= 1); /* of what the child made itself */
    atomic_store(&shared->compiling, 1);
    require(wait_for(&shared->at_once, 1));
    child = fork();
    if (!child) end_in_child(cache, ticket, true);
    require(status_of(child) == 0);
    require(get_text(cache, "key", 1, "value", &ticket) == KILN_OK);
    close_and_count(cache);
}

static void test_fork(void **state)
{
    (void)state;
    if (UNDER_TSAN) CHECK_SKIP();
    pid_t holder = start_child(hold_and_fork, world.shared, world.folder, 0);
    CHECK_TRUE(wait_for(&world.shared->compiling, 1));
    pid_t waiting = start_waiting(0);
    world.shared->at_once = 1;
    end_well(holder);
    end_well(waiting);
    CHECK_EQ(world.shared->compiles, 0);
    CHECK_EQ(count_files(world.folder, ".lock", NULL), 0); /* closing the parent's cache ended it */
}

static void test_fork_with_a_lease(void **state)
{
    (void)state;
    if (UNDER_TSAN) CHECK_SKIP();
    pid_t holder = start_child(hold_and_fork, world.shared, world.folder, 1);
    CHECK_TRUE(wait_for(&world.shared->compiling, 1));
    pid_t waiting = start_waiting(2);
    world.shared->at_once = 1;
    end_well(holder);
    end_well(waiting);
    CHECK_EQ(world.shared->compiles, 0);
}

/* ---- hosts ------------------------------------------------------------------------------------------------------ */

static void test_cold_hosts(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) children[i] = start_child(use, world.shared, world.folder, 1 + i);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    CHECK_TRUE(wait_for(&stores[0].refusals, 20));
    world.shared->may_finish = 1;
    end_all_well(children, PROCESSES);
    CHECK_EQ(world.shared->compiles, 1);
    CHECK_SUMS([REMOTE_HITS] = PROCESSES - 1, [REMOTE_MISSES] = PROCESSES, [REMOTE_WAITS] = PROCESSES - 1,
               [REMOTE_PUTS] = 1);
    CHECK_EQ(stores[0].releases, stores[0].takes);
    end_well(start_child(use, world.shared, world.folder, 1)); /* it is in the folder now */
    CHECK_EQ(world.sums[DISK_HITS], 1);
}

static void test_host_dies(void **state)
{
    (void)state;
    kiln__lease_set_limits(200, 20);
    pid_t holder = start_holder(1, false), waiting = start_waiting(2);
    kill(holder, SIGKILL);
    status_of(holder);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1)); /* its lease has run out */
    world.shared->may_finish = 1;
    end_well(waiting);
}

/* The lease goes with the deadline, although it is renewed; what is put late needs none. */
static void test_host_stalls(void **state)
{
    (void)state;
    pid_t holder = start_holder(1, true), waiting = start_child(use, world.shared, world.folder, 2);
    CHECK_TRUE(wait_for(&world.shared->compiles, 1));
    CHECK_EQ(stores[0].takes, 2);
    world.shared->at_once = 1;
    end_well(holder);
    CHECK_EQ(count_stored(&stores[0]), 1);
    CHECK_EQ(stores[0].stored, 1);
    world.shared->may_finish = 1;
    end_well(waiting);
    CHECK_EQ(stores[0].stored, 2); /* under the lease that it had all the time */
}

static void ask_without_waiting(struct shared *shared, const char *folder, unsigned host)
{
    const kiln_store_options options = {.struct_size = sizeof options, .flags = KILN_STORE_NO_WAIT};
    kiln_cache *cache = open_in_child(folder, host);
    kiln_store_ticket *ticket = NULL;
    kiln_store_value value;
    (void)shared;
    require(kiln_store_get(cache, bytes_of("key"), &options, &value, &ticket, NULL) == KILN_STORE_BUSY && !ticket);
    close_and_count(cache);
}

static void test_host_without_waiting(void **state)
{
    (void)state;
    pid_t holder = start_holder(1, false);
    end_well(start_child(ask_without_waiting, world.shared, world.folder, 2));
    CHECK_SUMS([REMOTE_MISSES] = 1);
    world.shared->at_once = 1;
    end_well(holder);
    char host[128];
    snprintf(host, sizeof host, "%s/host-2", world.folder);
    CHECK_EQ(count_files(host, ".lock", NULL), 0); /* it holds nothing here either */
}

static void put_without_ticket(struct shared *shared, const char *folder, unsigned host)
{
    (void)shared;
    kiln_cache *cache = open_in_child(folder, host);
    require(put_text(cache, "key", host == 1 ? "value" : "other", NULL) == KILN_OK);
    close_and_count(cache);
}

/* ---- whose bytes are believed ----------------------------------------------------------------------------------- */

static void test_overwritten_at_the_remote(void **state)
{
    (void)state;
    end_well(start_child(put_without_ticket, world.shared, world.folder, 2));
    end_well(start_child(put_without_ticket, world.shared, world.folder, 1));
    end_well(start_child(use, world.shared, world.folder, 3));
    CHECK_SUMS([REMOTE_HITS] = 1, [REMOTE_PUTS] = 2);
    CHECK_EQ(world.shared->compiles, 0);
}

static void test_signer_unknown(void **state)
{
    (void)state;
    make_key(world.folder, 2);
    sign_with(world.folder, 2);
    end_well(start_child(put_without_ticket, world.shared, world.folder, 2));
    sign_with(world.folder, 1);
    world.shared->may_finish = 1;
    end_well(start_child(use, world.shared, world.folder, 1));
    CHECK_GE(world.sums[REFUSED], 1);
    CHECK_EQ(world.shared->compiles, 1); /* a miss, with a ticket */
    end_well(start_child(use, world.shared, world.folder, 3));
    CHECK_EQ(world.sums[REMOTE_HITS], 1); /* what was made instead */
}

/* A folder that others may write is read where what is in it is signed by somebody who is trusted. */
static void read_foreign(struct shared *shared, const char *folder, unsigned is_signed)
{
    char path[128], own[128];
    kiln_cache *cache = NULL;
    kiln_counters counters;
    kiln_store_ticket *ticket = NULL;
    (void)shared;
    snprintf(path, sizeof path, "%s/host-1", folder);
    snprintf(own, sizeof own, "%s/own-%u", folder, is_signed);
    require(chmod(path, 0777) == 0);
    const kiln_cache_options options = {
        .struct_size = sizeof options, .folder = own, .read_only_folders = (const char *const[]){path, NULL}};
    require(kiln_cache_open(&options, &cache, NULL) == KILN_OK);
    require(get_text(cache, "key", 1, "value", &ticket) == (is_signed ? KILN_OK : KILN_STORE_MISS));
    kiln_cache_counters(cache, &counters);
    require(counters.disk_hits == is_signed && counters.refused_signatures == !is_signed);
    kiln_store_abandon(ticket);
    kiln_cache_close(cache);
}

static void test_folder_of_others(void **state)
{
    (void)state;
    setenv("KILN_REMOTE", "", 1);
    end_well(start_child(put_without_ticket, world.shared, world.folder, 1));
    end_well(start_child(read_foreign, world.shared, world.folder, 1));
    char path[128];
    snprintf(path, sizeof path, "%s/host-1", world.folder);
    remove_folder(path);
    sign_with(world.folder, 0);
    end_well(start_child(put_without_ticket, world.shared, world.folder, 1));
    end_well(start_child(read_foreign, world.shared, world.folder, 0));
}

int main(void)
{
    kiln_remote_add(&plain_driver, NULL);
    kiln_remote_add(&leased_driver, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_makes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stalled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_abandoned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exit_without_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork_with_a_lease, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_cold_hosts, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_host_dies, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_host_stalls, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_host_without_waiting, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_overwritten_at_the_remote, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_signer_unknown, set_up_remote, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_of_others, set_up_remote, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
