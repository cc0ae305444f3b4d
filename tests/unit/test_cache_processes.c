/*
 * test_cache_processes.c - several processes on one folder: one compile of a key, other keys undisturbed, holders that
 * die or stand still, writers that are killed, artifacts that travel.
 */
#include "process_support.h"

#include "base/process/process_id.h"
#include "store/lock.h"

struct world {
    char folder[64];
    struct shared *shared;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->shared = share();
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln__lock_set_limits(0, 0);
    remove_folder(world->folder);
    unshare_memory(world->shared);
    free(world);
    return 0;
}

/* ---- one compile ------------------------------------------------------------------------------------------------ */

static void get_one(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    line_up(shared);
    use_folder(shared, folder, (const char *const[]){"one"}, 1);
}

static void test_one_compile(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    world->shared->sleep_ms = 200;
    for (unsigned i = 0; i < CHILDREN; i++) children[i] = start_child(get_one, world->shared, world->folder, i);
    say_go(world->shared, CHILDREN);
    end_all_well(children, CHILDREN);
    CHECK_EQ(world->shared->compiles, 1);
    CHECK_EQ(world->shared->compiled, 1);
    CHECK_EQ(world->shared->disk_hits, CHILDREN - 1);
    CHECK_EQ(world->shared->faults, 0);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 1);
    CHECK_EQ(count_files(world->folder, "", NULL), 1); /* neither locks nor temporary files */
}

static const char *const llvm_text = "define void @kernel(ptr %p) {\n"
                                     "  %x = load i32, ptr %p\n"
                                     "  %y = mul i32 %x, 3\n"
                                     "  store i32 %y, ptr %p\n"
                                     "  ret void\n"
                                     "}\n";

static void use_llvm(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    const kiln_function_options of = {
        .struct_size = sizeof of, .name = "triple", .text = {llvm_text, strlen(llvm_text)}};
    kiln_cache *cache = NULL;
    kiln_function *function = NULL;
    void *executable = NULL;
    kiln_error err = {0};
    line_up(shared);
    require(kiln_cache_open(&options, &cache, &err) == KILN_OK);
    require(kiln_function_new(cache, &of, &function, &err) == KILN_OK);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    if (status) fprintf(stderr, "%s\n", err.text);
    require(status == KILN_OK);
    void (*kernel)(int *);
    memcpy(&kernel, &executable, sizeof kernel);
    int value = 14;
    kernel(&value);
    require(value == 42);
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    atomic_fetch_add(&shared->compiled, counters.compiles);
    atomic_fetch_add(&shared->disk_hits, counters.disk_hits);
    atomic_fetch_add(&shared->faults, counters.cache_faults);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_one_compile_by_llvm(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++) children[i] = start_child(use_llvm, world->shared, world->folder, i);
    say_go(world->shared, CHILDREN);
    end_all_well(children, CHILDREN);
    CHECK_EQ(world->shared->compiled, 1);
    CHECK_EQ(world->shared->disk_hits, CHILDREN - 1);
    CHECK_EQ(world->shared->faults, 0);
}

/* ---- other keys -------------------------------------------------------------------------------------------------- */

static void get_own(struct shared *shared, const char *folder, unsigned index)
{
    char text[16];
    snprintf(text, sizeof text, "slow %u", index);
    line_up(shared);
    use_folder(shared, folder, (const char *const[]){text}, 1);
}

static void test_other_keys_compile_at_once(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++) children[i] = start_child(get_own, world->shared, world->folder, i);
    say_go(world->shared, CHILDREN);
    CHECK_TRUE(wait_for(&world->shared->at_once, CHILDREN)); /* nobody finishes before all have begun */
    world->shared->may_finish = 1;
    end_all_well(children, CHILDREN);
    CHECK_EQ(world->shared->compiles, CHILDREN);
}

static void get_slow(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    use_folder(shared, folder, (const char *const[]){"slow"}, 1);
}

static void get_others(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    use_folder(shared, folder, (const char *const[]){"a", "b", "c"}, 3);
}

static void test_a_slow_compile_delays_no_other_key(void **state)
{
    struct world *world = *state;
    pid_t slow = start_child(get_slow, world->shared, world->folder, 0);
    CHECK_TRUE(wait_for(&world->shared->compiling, 1));
    end_well(start_child(get_others, world->shared, world->folder, 0)); /* compiles them */
    end_well(start_child(get_others, world->shared, world->folder, 0)); /* finds them */
    CHECK_EQ(world->shared->disk_hits, 3);
    CHECK_EQ(world->shared->compiling, 1);
    world->shared->may_finish = 1;
    end_well(slow);
    CHECK_EQ(world->shared->compiles, 4);
}

/* ---- holders that fail --------------------------------------------------------------------------------------------
 */

static void wait_for_slow(struct shared *shared, const char *folder, unsigned index)
{
    line_up(shared);
    get_slow(shared, folder, index);
}

/* A holder is at work, others wait for it; then it gets the signal. */
static pid_t signal_holder(struct world *world, int signal, pid_t children[CHILDREN])
{
    pid_t holder = start_child(get_slow, world->shared, world->folder, 0);
    CHECK_TRUE(wait_for(&world->shared->compiling, 1));
    for (unsigned i = 0; i < CHILDREN; i++) children[i] = start_child(wait_for_slow, world->shared, world->folder, i);
    say_go(world->shared, CHILDREN);
    sleep_ms(50);
    CHECK_EQ(world->shared->compiles, 1);
    kill(holder, signal);
    return holder;
}

static void test_killed_holder(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    kiln__lock_set_limits(60000, 60000); /* only its being gone can end the wait */
    pid_t holder = signal_holder(world, SIGKILL, children);
    world->shared->may_finish = 1;
    end_all_well(children, CHILDREN); /* not reaped: it is gone all the same */
    status_of(holder);
    CHECK_EQ(world->shared->compiles, 2); /* one of those who waited took over */
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
}

static void test_stopped_holder(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    kiln__lock_set_limits(60000, 500); /* its heartbeat stands still */
    pid_t holder = signal_holder(world, SIGSTOP, children);
    world->shared->may_finish = 1;
    end_all_well(children, CHILDREN);
    CHECK_EQ(world->shared->compiles, 2); /* one of those who waited took over */
    kill(holder, SIGCONT);
    end_well(holder); /* finds its lock broken, and finishes */
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
}

static void test_holder_that_takes_too_long(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    kiln__lock_set_limits(300, 60000); /* it lives and beats: only the bound ends the wait */
    pid_t holder = signal_holder(world, 0, children);
    CHECK_TRUE(wait_for(&world->shared->compiles, 1 + CHILDREN)); /* everybody on their own */
    world->shared->may_finish = 1;
    end_all_well(children, CHILDREN);
    end_well(holder);
    CHECK_EQ(count_files(world->folder, "", NULL), 1);
}

static void test_long_compile_is_waited_for(void **state)
{
    struct world *world = *state;
    pid_t children[CHILDREN];
    kiln__lock_set_limits(60000, 400); /* longer than stale: the heartbeat keeps the lock */
    pid_t holder = signal_holder(world, 0, children);
    sleep_ms(1200);
    world->shared->may_finish = 1;
    end_all_well(children, CHILDREN);
    end_well(holder);
    CHECK_EQ(world->shared->compiles, 1);
}

/* ---- writers that are killed ----------------------------------------------------------------------------------------
 */

enum { KILLS = 200, TEXT_SIZE = 4000 };

/* A text large enough for a kill to meet the write, and one of few, so that processes meet. */
static void fill_text(char text[TEXT_SIZE], unsigned index)
{
    for (size_t i = 0; i < TEXT_SIZE - 1; i++) text[i] = (char)('a' + (i + index) % 26);
    text[TEXT_SIZE - 1] = '\0';
}

static void get_many(struct shared *shared, const char *folder, unsigned index)
{
    char texts[4][TEXT_SIZE];
    for (unsigned i = 0; i < 4; i++) fill_text(texts[i], index + i);
    atomic_fetch_add(&shared->ready, 1);
    use_folder(shared, folder, (const char *const[]){texts[0], texts[1], texts[2], texts[3]}, 4);
}

static void sleep_us(unsigned us)
{
    nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

static void age(const char *path, time_t seconds)
{
    const struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    utimensat(AT_FDCWD, path, times, 0);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static pid_t start_writer(struct world *world, unsigned index)
{
    world->shared->ready = 0;
    pid_t child = start_child(get_many, world->shared, world->folder, index);
    while (!atomic_load(&world->shared->ready)) sched_yield();
    return child;
}

/* How long one that nobody kills takes, on a folder without anything. */
static uint64_t whole_run_us(struct world *world)
{
    pid_t child = start_writer(world, 0);
    uint64_t start = now_us();
    end_well(child);
    return now_us() - start;
}

static void test_killed_writers(void **state)
{
    struct world *world = *state;
    unsigned seed = 12345, left = 0;
    uint64_t longest_us = whole_run_us(world);
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t child = start_writer(world, i % 8);
        sleep_us((unsigned)(rand_r(&seed) % (longest_us + 1)));
        kill(child, SIGKILL);
        status_of(child);
        left += count_files(world->folder, ".tmp-", NULL) + count_files(world->folder, ".lock", NULL);
        if (i % 10 == 9) remove_folder(world->folder), mkdir(world->folder, 0700);
    }
    CHECK_GT(left, 0); /* otherwise nobody was killed at work */
    for (unsigned i = 0; i < 8; i++)
        end_well(start_child(get_many, world->shared, world->folder, i)); /* right results */
    CHECK_EQ(world->shared->corrupt, 0);
    CHECK_EQ(world->shared->faults, 0);
    CHECK_EQ(count_files(world->folder, ".bad", NULL), 0);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 11 + count_files(world->folder, ".tmp-", NULL));
}

/* Leftovers are removed by whoever puts next into their sub-folder; those of living writers stay. */
static void test_leftovers_go(void **state)
{
    struct world *world = *state;
    kiln__lock_set_limits(60000, 200);
    char path[PATH_MAX], of_dead[PATH_MAX + 128], of_other_host[PATH_MAX + 128], old_lock[PATH_MAX + 128],
        own[PATH_MAX + 128];
    end_well(start_child(get_others, world->shared, world->folder, 0));
    CHECK_EQ(count_files(world->folder, ".kiln", path), 3);
    char self[KILN_PROCESS_TEXT];
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        kiln__process_text(self);
        _exit(write(ends[1], self, sizeof self) == sizeof self ? 0 : 1);
    }
    CHECK_EQ(read(ends[0], self, sizeof self), sizeof self);
    end_well(child);
    close(ends[0]), close(ends[1]);
    snprintf(of_dead, sizeof of_dead, "%s.tmp-%s-abcdef", path, self);
    snprintf(of_other_host, sizeof of_other_host, "%s.tmp-0123456789abcdef-1-1-abcdef", path);
    path[strlen(path) - strlen(".kiln")] = '\0';
    snprintf(old_lock, sizeof old_lock, "%s.lock", path);
    kiln__process_text(self);
    snprintf(own, sizeof own, "%s.kiln.tmp-%s-abcdef", path, self);
    const char *const made[] = {of_dead, of_other_host, old_lock, own};
    for (size_t i = 0; i < 4; i++) close(open(made[i], O_CREAT | O_WRONLY, 0600));
    age(old_lock, 7200);
    strcat(path, ".kiln");
    CHECK_EQ(unlink(path), 0);
    end_well(
        start_child(get_others, world->shared, world->folder, 0)); /* the old lock: stale, so it is broken or gone */
    CHECK_EQ(access(path, F_OK), 0);
    CHECK_NE(access(of_dead, F_OK), 0);
    CHECK_NE(access(old_lock, F_OK), 0);
    CHECK_EQ(access(of_other_host, F_OK), 0);
    CHECK_EQ(access(own, F_OK), 0);
}

/* ---- artifacts that travel
 * --------------------------------------------------------------------------------------------- */

static size_t read_file(const char *path, unsigned char *out, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size);
    close(fd);
    CHECK_GT(got, 0);
    return (size_t)got;
}

static uint64_t compared_size(const unsigned char *file)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < 8; i++) size |= (uint64_t)file[16 + i] << (8 * i);
    return size;
}

/* Two processes that know nothing of each other write the same bytes up to the metadata. */
static void test_same_bytes_and_moved(void **state)
{
    static unsigned char a[1 << 20], b[1 << 20];
    struct world *world = *state;
    char first[128], second[128], third[128], from[PATH_MAX], to[PATH_MAX], folder[PATH_MAX];
    snprintf(first, sizeof first, "%s/first", world->folder);
    snprintf(second, sizeof second, "%s/second", world->folder);
    snprintf(third, sizeof third, "%s/third", world->folder);
    world->shared->go = 1;
    end_well(start_child(use_llvm, world->shared, first, 0));
    sleep_ms(1100); /* another second of creation, in the metadata */
    end_well(start_child(use_llvm, world->shared, second, 0));
    CHECK_EQ(world->shared->compiled, 2);
    unsigned same = 0, files = count_files(first, ".kiln", NULL);
    CHECK_EQ(files, 2); /* the kernel and the run-time library */
    mkdir(third, 0700);
    DIR *sub_folders = opendir(first);
    for (struct dirent *entry; (entry = readdir(sub_folders));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(folder, sizeof folder, "%s/%s", first, entry->d_name);
        if (!count_files(folder, ".kiln", from)) continue;
        snprintf(to, sizeof to, "%s%s", second, from + strlen(first));
        size_t size = read_file(from, a, sizeof a);
        read_file(to, b, sizeof b);
        CHECK_LT(compared_size(a), size);
        CHECK_EQ(compared_size(a), compared_size(b));
        CHECK_MEM(a, b, compared_size(a));
        same++;
        snprintf(to, sizeof to, "%s/%s", third, entry->d_name);
        mkdir(to, 0700);
        snprintf(to, sizeof to, "%s%s", third, from + strlen(first));
        CHECK_EQ(rename(from, to), 0);
    }
    closedir(sub_folders);
    CHECK_GE(same, 1);
    end_well(start_child(use_llvm, world->shared, third, 0));
    CHECK_EQ(world->shared->compiled, 2); /* none in the third */
    CHECK_EQ(world->shared->disk_hits, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_compile_by_llvm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_keys_compile_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slow_compile_delays_no_other_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_holder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stopped_holder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_holder_that_takes_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_compile_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_writers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leftovers_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_bytes_and_moved, set_up, tear_down),
    };
    unsetenv("KILN_MODE");
    unsetenv("KILN_CACHE_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
