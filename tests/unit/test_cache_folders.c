/*
 * test_cache_folders.c - folders as they come: missing, read-only, not a folder, full, deleted meanwhile, of others,
 * open to others, of another version of the library. Every call succeeds, and what can be used is used.
 *
 * Everything runs in a child without privileges, since root ignores permissions: started as root, it becomes nobody.
 */
#include "process_support.h"

#include <sched.h>
#include <sys/mount.h>

#include "base/digest.h"

enum { NOBODY = 12345 }; /* not 65534, whom a user namespace shows for everybody else */

struct world {
    char folder[64], cache[96];
    struct shared *shared;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    snprintf(world->cache, sizeof world->cache, "%s/cache", world->folder);
    if (geteuid() == 0) CHECK_EQ(chown(world->folder, NOBODY, NOBODY), 0);
    world->shared = share();
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    remove_folder(world->folder);
    unshare_memory(world->shared);
    free(world);
    return 0;
}

static void drop_privileges(void)
{
    if (geteuid() != 0) return;
    require(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

/* Runs `body` without privileges. */
static void run(struct world *world, child_body *body)
{
    end_well(start_child(body, world->shared, world->cache, 0));
}
#define run(...) CHECK_CALL(run, __VA_ARGS__)

static void use(struct shared *shared, const char *folder, const char *text)
{
    use_folder(shared, folder, (const char *const[]){text}, 1);
}

struct counts {
    uint64_t compiled, disk_hits, faults, corrupt;
};

/* What one process counts when it asks for one text. */
static struct counts counts_of(struct shared *shared, const char *folder, const char *text)
{
    struct counts before = {shared->compiled, shared->disk_hits, shared->faults, shared->corrupt};
    use(shared, folder, text);
    return (struct counts){shared->compiled - before.compiled, shared->disk_hits - before.disk_hits,
                           shared->faults - before.faults, shared->corrupt - before.corrupt};
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static void in_missing(struct shared *shared, const char *folder, unsigned index)
{
    char deep[256];
    struct stat info;
    (void)index;
    drop_privileges();
    snprintf(deep, sizeof deep, "%s/is/not/there", folder);
    require(counts_of(shared, deep, "a").compiled == 1);
    require(stat(deep, &info) == 0 && (info.st_mode & 07777) == 0700);
    struct counts second = counts_of(shared, deep, "a");
    require(second.compiled == 0 && second.disk_hits == 1 && second.faults == 0);
}

static void make_read_only(const char *folder, mode_t mode)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') chmod(path, mode);
    }
    if (entries) closedir(entries);
    chmod(folder, mode);
}

static void in_read_only(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    drop_privileges();
    use(shared, folder, "a");
    make_read_only(folder, 0500);
    struct counts hit = counts_of(shared, folder, "a");
    require(hit.compiled == 0 && hit.disk_hits == 1 && hit.faults == 0);
    struct counts other = counts_of(shared, folder, "b");
    require(other.compiled == 1 && other.faults >= 1);
    make_read_only(folder, 0700);
    require(count_files(folder, "", NULL) == 1);
    require(counts_of(shared, folder, "b").faults == 0);
    require(counts_of(shared, folder, "b").disk_hits == 1);
}

static void in_regular_file(struct shared *shared, const char *folder, unsigned index)
{
    struct stat info;
    char below[256];
    (void)index;
    drop_privileges();
    int fd = open(folder, O_CREAT | O_WRONLY, 0600);
    require(fd >= 0 && write(fd, "mine", 4) == 4 && close(fd) == 0);
    struct counts counts = counts_of(shared, folder, "a");
    require(counts.compiled == 1 && counts.faults == 1);
    snprintf(below, sizeof below, "%s/below", folder);
    require(counts_of(shared, below, "a").faults == 1);
    require(stat(folder, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 4);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    require(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* In a new namespace users and groups have no ids until they are given some; without one we own nothing. */
static void map_ids(uid_t user, gid_t group)
{
    char line[64];
    snprintf(line, sizeof line, "%u %u 1\n", user, user);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "%u %u 1\n", group, group);
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", line);
}

/* Exits with 77 where nothing may be mounted. */
static void in_full(struct shared *shared, const char *folder, unsigned index)
{
    char filler[256];
    static char zeros[4096];
    (void)index;
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    if (user != 0) map_ids(user, group);
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    require(mkdir(folder, 0700) == 0);
    if (mount("none", folder, "tmpfs", 0, "size=64k,mode=0700") != 0) _exit(77);
    use(shared, folder, "a");
    snprintf(filler, sizeof filler, "%s/filler", folder);
    int fd = open(filler, O_CREAT | O_WRONLY, 0600);
    require(fd >= 0);
    while (write(fd, zeros, sizeof zeros) > 0) {
    }
    require(errno == ENOSPC);
    struct counts hit = counts_of(shared, folder, "a");
    require(hit.disk_hits == 1 && hit.compiled == 0);
    struct counts full = counts_of(shared, folder, "b");
    require(full.compiled == 1 && full.faults >= 1 && full.corrupt == 0);
    require(count_files(folder, ".kiln", NULL) == 1); /* no half file, */
    require(count_files(folder, ".lock", NULL) == 0); /* no lock */
    require(close(fd) == 0 && unlink(filler) == 0);
    require(counts_of(shared, folder, "b").faults == 0);
    require(counts_of(shared, folder, "b").disk_hits == 1);
}

static void in_deleted(struct shared *shared, const char *folder, unsigned index)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    const kiln_compiler compiler = compiler_of(shared);
    static const char *const texts[] = {"a", "b", "c"};
    kiln_cache *cache = NULL;
    kiln_counters counters;
    (void)index;
    drop_privileges();
    require(kiln_cache_open(&options, &cache, NULL) == KILN_OK);
    for (size_t i = 0; i < 3; i++) {
        const kiln_function_options of = {
            .struct_size = sizeof of, .name = "f", .compiler = &compiler, .text = {texts[i], 1}};
        kiln_function *function = NULL;
        void *executable = NULL, *again = NULL;
        require(kiln_function_new(cache, &of, &function, NULL) == KILN_OK);
        require(kiln_get(function, NULL, 0, NULL, &executable, NULL) == KILN_OK && !strcmp(executable, texts[i]));
        if (i == 0) remove_folder(folder);
        require(kiln_get(function, NULL, 0, NULL, &again, NULL) == KILN_OK && again == executable);
        kiln_function_free(function);
    }
    kiln_cache_counters(cache, &counters);
    require(counters.compiles == 3 && counters.cache_faults == 0);
    kiln_cache_close(cache);
    require(count_files(folder, ".kiln", NULL) == 2); /* made again for the others */
    require(counts_of(shared, folder, "b").disk_hits == 1);
}

static void fill_as_root(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    use(shared, folder, "a");
    require(chmod(folder, 0755) == 0);
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PATH_MAX], file[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.') continue;
        require(chmod(path, 0755) == 0);
        if (count_files(path, ".kiln", file)) require(chmod(file, 0644) == 0);
    }
    if (entries) closedir(entries);
}

/* Refused as the folder to write to; as a folder to read from, root's is fine. */
static void in_foreign(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    drop_privileges();
    struct counts counts = counts_of(shared, folder, "a");
    require(counts.compiled == 1 && counts.disk_hits == 0 && counts.faults == 1);
    require(setenv("KILN_CACHE_PATH", folder, 1) == 0);
    struct counts searched = counts_of(shared, "", "a");
    require(searched.compiled == 0 && searched.disk_hits == 1 && searched.faults == 0);
}

/* The folder of another user, which is not root, is not even read from. */
static void in_nobodys(struct shared *shared, const char *folder, unsigned index)
{
    (void)index;
    require(chown(folder, NOBODY - 1, NOBODY - 1) == 0);
    drop_privileges();
    require(setenv("KILN_CACHE_PATH", folder, 1) == 0);
    struct counts searched = counts_of(shared, "", "a");
    require(searched.compiled == 1 && searched.disk_hits == 0 && searched.faults == 1);
}

static void in_open_to_others(struct shared *shared, const char *folder, unsigned index)
{
    static const mode_t modes[] = {0777, 0770, 0702, 01777};
    char file[PATH_MAX];
    (void)index;
    drop_privileges();
    use(shared, folder, "a");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        require(chmod(folder, modes[i]) == 0);
        struct counts counts = counts_of(shared, folder, "a");
        require(counts.compiled == 1 && counts.disk_hits == 0 && counts.faults == 1);
        require(setenv("KILN_CACHE_PATH", folder, 1) == 0);
        require(counts_of(shared, "", "a").disk_hits == 0);
        require(unsetenv("KILN_CACHE_PATH") == 0);
    }
    require(chmod(folder, 0700) == 0);
    require(counts_of(shared, folder, "a").disk_hits == 1);
    require(count_files(folder, ".kiln", file) == 1 && chmod(file, 0666) == 0); /* the file alone */
    struct counts counts = counts_of(shared, folder, "a");
    require(counts.compiled == 1 && counts.disk_hits == 0 && counts.faults >= 1);
    require(counts_of(shared, folder, "a").disk_hits == 1); /* replaced by a file of our own */
}

/* Read-only folders are searched first, in order, and never written. */
static void in_search_path(struct shared *shared, const char *folder, unsigned index)
{
    char first[256], second[256], own[256], path[600];
    (void)index;
    drop_privileges();
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(own, sizeof own, "%s/own", folder);
    snprintf(path, sizeof path, "%s::%s:/nonexistent/one", first, second);
    use(shared, first, "a");
    use(shared, second, "b");
    make_read_only(first, 0500);
    make_read_only(second, 0500);
    require(setenv("KILN_CACHE_PATH", path, 1) == 0);
    struct counts a = counts_of(shared, own, "a"), b = counts_of(shared, own, "b"), c = counts_of(shared, own, "c");
    require(a.compiled == 0 && a.disk_hits == 1 && a.faults == 1); /* the fault: there is no such folder */
    require(b.compiled == 0 && b.disk_hits == 1);
    require(c.compiled == 1 && c.disk_hits == 0);
    require(count_files(own, ".kiln", NULL) == 1 && count_files(first, "", NULL) == 1 &&
            count_files(second, "", NULL) == 1);
    require(unsetenv("KILN_CACHE_PATH") == 0);
    make_read_only(first, 0700);
    make_read_only(second, 0700);
}

/* ---- another version of the library --------------------------------------------------------------------------------
 */

static void write_at(const char *path, const void *data, size_t size, off_t offset)
{
    int fd = open(path, O_WRONLY);
    require(fd >= 0 && pwrite(fd, data, size, offset) == (ssize_t)size && close(fd) == 0);
}

static size_t read_all(const char *path, unsigned char *out, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size);
    require(got > 0 && close(fd) == 0);
    return (size_t)got;
}

/* A whole file of format 3: a miss, and it is neither damaged nor replaced. With a wrong checksum it is a damaged file.
 */
static void in_newer(struct shared *shared, const char *folder, unsigned index)
{
    static unsigned char bytes[65536], after[65536];
    char path[PATH_MAX];
    (void)index;
    drop_privileges();
    use(shared, folder, "a");
    require(count_files(folder, ".kiln", path) == 1);
    read_all(path, bytes, sizeof bytes);
    bytes[8] = 3;
    size_t compared = (size_t)bytes[16] | (size_t)bytes[17] << 8 | (size_t)bytes[18] << 16;
    struct kiln_digest digest = kiln__digest(bytes, compared - KILN_DIGEST_SIZE);
    memcpy(bytes + compared - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
    write_at(path, bytes, compared, 0);
    size_t size = read_all(path, bytes, sizeof bytes);
    for (int i = 0; i < 2; i++) {
        struct counts counts = counts_of(shared, folder, "a");
        require(counts.compiled == 1 && counts.disk_hits == 0 && counts.corrupt == 0 && counts.faults == 0);
        require(count_files(folder, "", NULL) == 1);
        require(read_all(path, after, sizeof after) == size && !memcmp(bytes, after, size));
    }
    bytes[8] = 4;
    write_at(path, bytes, size, 0);
    struct counts counts = counts_of(shared, folder, "a");
    require(counts.compiled == 1 && counts.corrupt == 1);
    require(counts_of(shared, folder, "a").disk_hits == 1);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

#define RUN(name)                                                                                                      \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        run(*state, in_##name);                                                                                        \
    }
RUN(missing)
RUN(read_only)
RUN(regular_file)
RUN(deleted)
RUN(open_to_others)
RUN(search_path)
RUN(newer)

static void test_full(void **state)
{
    struct world *world = *state;
    int status = status_of(start_child(in_full, world->shared, world->cache, 0));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("not run: a small file system can't be mounted here\n");
        CHECK_SKIP();
    }
    CHECK_EQ(status, 0);
}

static void test_foreign(void **state)
{
    struct world *world = *state;
    if (geteuid() != 0) {
        print_message("not run: only root can make folders of other users\n");
        CHECK_SKIP();
    }
    run(world, fill_as_root);
    run(world, in_foreign);
    run(world, in_nobodys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_regular_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_deleted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_to_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_search_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_newer, set_up, tear_down),
    };
    unsetenv("KILN_MODE");
    unsetenv("KILN_CACHE_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
