/*
 * test_store_lock.c - the lock of one artifact by itself: what it writes, who may break it, when waiting ends.
 */
#include "process_support.h"

#include <sched.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/process/process_id.h"
#include "store/lock.h"

struct world {
    char folder[64];
    char lock[128], artifact[128];
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    snprintf(world->lock, sizeof world->lock, "%s/aa.lock", world->folder);
    snprintf(world->artifact, sizeof world->artifact, "%s/aa.kiln", world->folder);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln__lock_set_limits(0, 0);
    remove_folder(world->folder);
    free(world);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CHECK_GE(fd, 0);
    CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}
#define write_file(...) CHECK_CALL(write_file, __VA_ARGS__)

static void read_text(const char *path, char out[256])
{
    int fd = open(path, O_RDONLY);
    CHECK_GE(fd, 0);
    ssize_t got = read(fd, out, 255);
    CHECK_GE(got, 0);
    out[got] = '\0';
    close(fd);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The outcome; of a failure its status, which is negative. */
static int take(const struct world *world, bool is_last, struct kiln_lock **out)
{
    kiln_error err = {0};
    enum kiln_outcome outcome = kiln__lock_take(world->lock, world->artifact, kiln__lock_until(is_last), out, &err);
    return outcome == KILN_FAILED ? (int)err.status : (int)outcome;
}

static void test_take_and_release(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    char text[256], self[KILN_PROCESS_TEXT], wanted[256];
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NOT_NULL(lock);
    read_text(world->lock, text);
    kiln__process_text(self);
    snprintf(wanted, sizeof wanted, "kiln-lock 1 %s ", self);
    CHECK_MEM(text, wanted, strlen(wanted));
    CHECK_EQ(strlen(text), strlen(wanted) + 17); /* random digits and the end of the line */
    kiln__lock_release(lock);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
    kiln__lock_release(NULL);
}

static void test_artifact_ends_it_at_once(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    kiln__lock_set_limits(60000, 60000);
    write_file(world->artifact, "x");
    write_file(world->lock, "held by somebody\n");
    CHECK_EQ(take(world, false, &lock), KILN_DONE);
    CHECK_NULL(lock);
    unlink(world->lock);
    CHECK_EQ(take(world, false, &lock), KILN_DONE); /* taken, but look again first */
    CHECK_NOT_NULL(lock);
    kiln__lock_release(lock);
}

/* Texts of holders that are gone or unknown, and whether that is certain. */
static void test_who_is_gone(void **state)
{
    (void)state;
    char self[KILN_PROCESS_TEXT], text[2 * KILN_PROCESS_TEXT];
    kiln__process_text(self);
    CHECK_FALSE(kiln__process_is_gone(self));
    snprintf(text, sizeof text, "%s-and-more", self);
    CHECK_FALSE(kiln__process_is_gone(text));
    const char *const unknown[] = {"", "-", "nonsense", "0123456789abcdef-1-1", "0000000000000000-999999999-1"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) CHECK_FALSE(kiln__process_is_gone(unknown[i]));
    snprintf(text, sizeof text, "%.17s", self); /* the host alone */
    CHECK_FALSE(kiln__process_is_gone(text));
    snprintf(text, sizeof text, "%.17s999999999-1", self); /* no such process */
    CHECK_TRUE(kiln__process_is_gone(text));
    snprintf(text, sizeof text, "%.17s%d-1", self, (int)getpid()); /* the number went to another since */
    CHECK_TRUE(kiln__process_is_gone(text));
    pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT); /* ended, not reaped */
    snprintf(text, sizeof text, "%.17s%d-0", self, (int)child);
    CHECK_TRUE(kiln__process_is_gone(text));
    status_of(child);
    CHECK_TRUE(kiln__process_is_gone(text));
}

static void *outlive(void *unused)
{
    for (;;) pause();
    return unused;
}

/* Its first thread has ended, so that the process itself reads as a zombie; another one goes on. */
static void test_a_process_without_its_first_thread(void **state)
{
    (void)state;
    char self[KILN_PROCESS_TEXT], text[2 * KILN_PROCESS_TEXT], path[64], line[256] = "";
    kiln__process_text(self);
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    snprintf(text, sizeof text, "%.17s%d-0", self, (int)child);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    for (int i = 0; i < 5000 && !strstr(line, ") Z"); i++) {
        FILE *file = fopen(path, "r");
        CHECK_NOT_NULL(file);
        CHECK_NOT_NULL(fgets(line, sizeof line, file));
        fclose(file);
        usleep(1000);
    }
    CHECK_CONTAINS(line, ") Z");
    CHECK_FALSE(kiln__process_is_gone(text));
    kill(child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    CHECK_TRUE(kiln__process_is_gone(text));
    waitpid(child, NULL, 0);
}

static void test_broken_when_holder_is_gone(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    char self[KILN_PROCESS_TEXT], text[256];
    kiln__lock_set_limits(60000, 60000);
    kiln__process_text(self);
    snprintf(text, sizeof text, "kiln-lock 1 %.17s999999999-1 0000000000000000\n", self);
    write_file(world->lock, text);
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NOT_NULL(lock);
    kiln__lock_release(lock);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
}

static void test_broken_when_it_stands_still(void **state)
{
    struct world *world = *state;
    static const char *const texts[] = {"", "kiln-lock 1 0123456789abcdef-1-1 00\n", "kiln-lock 2 of the future\n",
                                        "\xff\xfe"};
    kiln__lock_set_limits(60000, 50);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct kiln_lock *lock = NULL;
        write_file(world->lock, texts[i]);
        CHECK_EQ(take(world, false, &lock), KILN_MISS);
        CHECK_NOT_NULL(lock);
        kiln__lock_release(lock);
        CHECK_EQ(count_files(world->folder, "", NULL), 0);
    }
}

/* An empty lock, as a writer of version 0.1 leaves it when it is killed, is nobody's: nothing is waited for. */
static void test_empty_is_taken_at_once(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    kiln__lock_set_limits(500, 60000);
    write_file(world->lock, "");
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NOT_NULL(lock); /* not taken: it was waited for until the bound */
    kiln__lock_release(lock);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
}

enum { TAKES = 3000, BREAKERS = 4, ROUNDS = 300 };

static void take_often(struct shared *shared, const char *folder, unsigned index)
{
    struct world world;
    (void)index;
    snprintf(world.lock, sizeof world.lock, "%s/aa.lock", folder);
    snprintf(world.artifact, sizeof world.artifact, "%s/aa.kiln", folder);
    for (unsigned i = 0; i < TAKES; i++) {
        struct kiln_lock *lock = NULL;
        require(take(&world, false, &lock) == KILN_MISS && lock);
        kiln__lock_release(lock);
    }
    atomic_store(&shared->done, 1);
}

/* Whoever sees a lock sees who holds it, so that one of a process that was killed can be told at any moment. */
static void test_appears_with_its_text(void **state)
{
    struct world *world = *state;
    struct shared *shared = share();
    unsigned seen = 0, empty = 0;
    pid_t child = start_child(take_often, shared, world->folder, 0);
    while (!atomic_load(&shared->done)) {
        char text[256];
        int fd = open(world->lock, O_RDONLY);
        if (fd < 0) continue;
        ssize_t got = read(fd, text, sizeof text);
        close(fd);
        seen++;
        empty += got <= 0;
    }
    end_well(child);
    if (empty) CHECK_FAIL("%u of %u locks that were seen were empty", empty, seen);
    CHECK_GT(seen, 0);
    unshare_memory(shared);
}

/* In a round all meet one dead lock. Who takes it makes the artifact. */
static void break_and_make(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct world world;
        struct kiln_lock *lock = NULL;
        snprintf(world.lock, sizeof world.lock, "%s/%u.lock", folder, round);
        snprintf(world.artifact, sizeof world.artifact, "%s/%u.kiln", folder, round);
        atomic_fetch_add(&shared->ready, 1);
        while (atomic_load(&shared->ready) < (round + 1) * BREAKERS) sched_yield();
        if (take(&world, false, &lock) == KILN_MISS) {
            atomic_fetch_add(&shared->compiles, 1);
            sleep_ms(1);
            int fd = open(world.artifact, O_CREAT | O_WRONLY, 0600);
            require(fd >= 0);
            close(fd);
        }
        kiln__lock_release(lock);
    }
}

static void break_dead_locks(struct world *world, const char *text)
{
    struct shared *shared = share();
    pid_t children[BREAKERS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%u.lock", world->folder, round);
        write_file(path, text);
    }
    for (unsigned i = 0; i < BREAKERS; i++) children[i] = start_child(break_and_make, shared, world->folder, i);
    end_all_well(children, BREAKERS);
    if (shared->compiles != ROUNDS)
        CHECK_FAIL("%u locks \"%.20s\" were broken, %u artifacts made", ROUNDS, text, shared->compiles);
    CHECK_EQ(count_files(world->folder, "lock", NULL), 0);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), ROUNDS);
    unshare_memory(shared);
}
#define break_dead_locks(...) CHECK_CALL(break_dead_locks, __VA_ARGS__)

static void test_one_breaks_it(void **state)
{
    char self[KILN_PROCESS_TEXT], text[256];
    kiln__lock_set_limits(60000, 60000);
    kiln__process_text(self);
    snprintf(text, sizeof text, "kiln-lock 1 %.17s999999999-1 0000000000000000\n", self);
    break_dead_locks(*state, text);
}

static void test_one_takes_an_empty_one(void **state)
{
    kiln__lock_set_limits(60000, 60000);
    break_dead_locks(*state, "");
}

/* A lock that can't be written down is a fault, and no file stays. */
static void test_full(void **state)
{
    struct world *world = *state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct kiln_lock *lock = NULL;
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        _exit(take(world, false, &lock) == KILN_IO && !lock ? 0 : 1);
    }
    end_well(child);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
}

static void hold_and_sleep(struct shared *shared, const char *folder, unsigned index)
{
    struct world world;
    struct kiln_lock *lock;
    (void)index;
    snprintf(world.lock, sizeof world.lock, "%s/aa.lock", folder);
    snprintf(world.artifact, sizeof world.artifact, "%s/aa.kiln", folder);
    require(take(&world, false, &lock) == KILN_MISS && lock);
    atomic_store(&shared->ready, 1);
    require(wait_for(&shared->may_finish, 1));
    kiln__lock_release(lock);
}

/* A holder that lives is not broken, and not waited for beyond the bound; its lock stays. */
static void test_bounded_wait(void **state)
{
    struct world *world = *state;
    struct shared *shared = share();
    struct kiln_lock *lock = NULL;
    kiln__lock_set_limits(200, 60000);
    pid_t child = start_child(hold_and_sleep, shared, world->folder, 0);
    CHECK_TRUE(wait_for(&shared->ready, 1));
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NULL(lock);
    CHECK_TRUE(exists(world->lock));
    shared->may_finish = 1;
    end_well(child);
    CHECK_FALSE(exists(world->lock));
    unshare_memory(shared);
}

/* From its deadline on it makes nobody wait, and it is still its holder's to release, whoever has the name then. */
static void test_expires(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL, *other = NULL;
    kiln__lock_set_limits(60000, 60000); /* neither a bound nor its heartbeat ends the wait */
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    kiln__lock_detach(lock);
    kiln__lock_expire_at(lock, kiln__clock_ns() + 100 * 1000000ull);
    CHECK_TRUE(exists(world->lock));
    CHECK_EQ(take(world, false, &other), KILN_MISS);
    CHECK_NOT_NULL(other);
    kiln__lock_release(lock);
    CHECK_TRUE(exists(world->lock));
    kiln__lock_release(other);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
    kiln__lock_expire_at(NULL, 1);
}

/* One that is released before its deadline has none. */
static void test_released_before_it_expires(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    kiln__lock_expire_at(lock, UINT64_MAX - 1);
    kiln__lock_release(lock);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
}

/* Who holds one lock waits for no other, except for one whose holder takes none. */
static void test_nested(void **state)
{
    struct world *world = *state;
    struct kiln_lock *outer = NULL, *inner = NULL;
    char other[128];
    kiln__lock_set_limits(60000, 300);
    snprintf(other, sizeof other, "%s/bb.lock", world->folder);
    CHECK_EQ(take(world, false, &outer), KILN_MISS);
    write_file(other, "held by somebody\n");
    CHECK_EQ(kiln__lock_take(other, world->artifact, kiln__lock_until(false), &inner, NULL), KILN_MISS);
    CHECK_NULL(inner); /* at once, without the lock */
    CHECK_TRUE(exists(other));
    CHECK_EQ(kiln__lock_take(other, world->artifact, kiln__lock_until(true), &inner, NULL), KILN_MISS);
    CHECK_NOT_NULL(inner); /* waited until it was stale */
    kiln__lock_release(inner);
    kiln__lock_release(outer);
    write_file(other, "held by somebody\n");
    CHECK_EQ(kiln__lock_take(other, world->artifact, kiln__lock_until(false), &inner, NULL), KILN_MISS);
    CHECK_NOT_NULL(inner); /* holding nothing, it waits again */
    kiln__lock_release(inner);
}

/* One that was broken meanwhile, and is somebody else's now, stays theirs. */
static void test_release_leaves_others_alone(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_EQ(unlink(world->lock), 0);
    write_file(world->lock, "somebody else's\n");
    kiln__lock_release(lock);
    CHECK_TRUE(exists(world->lock));
}

static void test_faults(void **state)
{
    struct world *world = *state;
    struct kiln_lock *lock = NULL;
    kiln_error err = {0};
    CHECK_EQ(kiln__lock_take("/nonexistent/aa.lock", world->artifact, kiln__lock_until(false), &lock, &err),
             KILN_FAILED);
    CHECK_STATUS(err.status, KILN_IO, &err);
    CHECK_CONTAINS(err.text, "/nonexistent/aa.lock");
    CHECK_NULL(lock);
    kiln__lock_set_limits(60000, 20);
    mkdir(world->lock, 0700); /* a folder of that name is broken like any lock that stands still */
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NOT_NULL(lock);
    kiln__lock_release(lock);
    CHECK_EQ(symlink("/nonexistent/elsewhere", world->lock), 0); /* not followed */
    CHECK_EQ(take(world, false, &lock), KILN_MISS);
    CHECK_NOT_NULL(lock);
    CHECK_FALSE(exists("/nonexistent/elsewhere"));
    kiln__lock_release(lock);
    CHECK_EQ(count_files(world->folder, "", NULL), 0);
}

static void test_names(void **state)
{
    (void)state;
    char self[KILN_PROCESS_TEXT], name[256];
    kiln__process_text(self);
    CHECK_TRUE(kiln__lock_is_name("0a.lock"));
    CHECK_FALSE(kiln__lock_is_name("0a.kiln"));
    CHECK_FALSE(kiln__lock_is_name("0a.lockout"));
    CHECK_FALSE(kiln__lock_is_abandoned("0a.lock"));
    snprintf(name, sizeof name, "0a.lock-%s-0", self);
    CHECK_TRUE(kiln__lock_is_name(name));
    CHECK_FALSE(kiln__lock_is_abandoned(name));
    snprintf(name, sizeof name, "0a.lock-%.17s999999999-1-0", self);
    CHECK_TRUE(kiln__lock_is_abandoned(name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_take_and_release, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_artifact_ends_it_at_once, set_up, tear_down),
        cmocka_unit_test(test_who_is_gone),
        cmocka_unit_test(test_a_process_without_its_first_thread),
        cmocka_unit_test_setup_teardown(test_broken_when_holder_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_when_it_stands_still, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_is_taken_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_appears_with_its_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_breaks_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_takes_an_empty_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounded_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expires, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_released_before_it_expires, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_release_leaves_others_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
