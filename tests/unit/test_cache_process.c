/*
 * test_cache_process.c - from one process to the next: nothing is compiled twice, whatever happens to the folder a call
 * succeeds, and the counters say what happened. The program runs itself for the other process.
 */
#include "cache_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

struct world {
    char root[64], folder[80], other[80], file[80];
    struct fake fake;
};

static int set_up(void **state)
{
    static const char *const names[] = {"KILN_MODE", "KILN_STATS", "KILN_CACHE_DIR", "KILN_CACHE_PATH",
                                        "KILN_CACHE_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->root, sizeof world->root);
    snprintf(world->folder, sizeof world->folder, "%s/cache", world->root);
    snprintf(world->other, sizeof world->other, "%s/other", world->root);
    snprintf(world->file, sizeof world->file, "%s/file", world->root);
    fake_init(&world->fake);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    remove_folder(world->root);
    free(world);
    return 0;
}

/* ---- what both processes do ----------------------------------------------------------------------------------- */

static kiln_status sign_mine(kiln_signature *signature, const void *value)
{
    kiln_sign_bytes(signature, value, 4);
    return KILN_OK;
}

static const kiln_type mine = {"mine", sign_mine};
static int watched = 3;

/* Fixed text, with all that enters a content key: arguments of an own type and in a list, watches, options. */
static kiln_function *rich_function(kiln_cache *cache, struct fake *fake)
{
    kiln_function *function = new_text(cache, &fake->compiler, "rich", "rich text");
    CHECK_STATUS(kiln_watch(function, "m", "watched", &watched, sizeof watched, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_env(function, "KILN_TEST_A", NULL), KILN_OK);
    return function;
}

static void get_rich(kiln_function *function)
{
    const kiln_arg inner[] = {{&mine, "abcd"}, I64(5)};
    const kiln_args list = {inner, 2};
    kiln_option_push("unroll", "4");
    CHECK_STR(get(function, ARGS({&kiln_list, &list}, {&mine, "efgh"}, {&kiln_stream, NULL}))->text, "rich text");
    kiln_option_pop();
}
#define get_rich(...) CHECK_CALL(get_rich, __VA_ARGS__)

static kiln_counters use_folder(const char *folder, struct fake *fake)
{
    kiln_cache *cache = open_cache(folder);
    kiln_function *function = rich_function(cache, fake);
    kiln_counters counters;
    get_rich(function);
    get_rich(function);
    kiln_cache_counters(cache, &counters);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return counters;
}

/* The other process: its counters go where KILN_STATS says, when it ends. */
static int child(const char *folder)
{
    struct fake fake;
    fake_init(&fake);
    kiln_counters counters = use_folder(folder, &fake);
    return counters.calls == 2 ? 0 : 1;
}

static uint64_t field_of(const char *line, const char *name)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    const char *found = strstr(line, wanted);
    CHECK_NOT_NULL(found);
    return strtoull(found + strlen(wanted), NULL, 10);
}

static void read_whole(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    CHECK_NOT_NULL(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
}
#define read_whole(...) CHECK_CALL(read_whole, __VA_ARGS__)

static kiln_counters run_child(const struct world *world)
{
    char program[4096] = "", line[2048];
    CHECK_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    unlink(world->file);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("KILN_STATS", world->file, 1);
        execl(program, program, "child", world->folder, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    read_whole(world->file, line, sizeof line);
    kiln_counters counters;
#define ROW(field) counters.field = field_of(line, #field);
    KILN_COUNTERS(ROW)
#undef ROW
    return counters;
}

static size_t count_files(const char *folder, const char *ending, char *last, size_t size)
{
    size_t count = 0;
    DIR *top = opendir(folder);
    for (struct dirent *entry; top && (entry = readdir(top));) {
        char path[700];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t length = strlen(entry->d_name), ending_length = strlen(ending);
        struct stat info;
        if (entry->d_name[0] == '.' || stat(path, &info)) continue;
        if (S_ISDIR(info.st_mode)) count += count_files(path, ending, last, size);
        if (S_ISREG(info.st_mode) && length > ending_length &&
            !strcmp(entry->d_name + length - ending_length, ending)) {
            count++;
            if (last) snprintf(last, size, "%s", path);
        }
    }
    if (top) closedir(top);
    return count;
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void test_second_process_compiles_nothing(void **state)
{
    struct world *world = *state;
    kiln_counters first = use_folder(world->folder, &world->fake);
    CHECK_EQ(first.compiles, 1);
    CHECK_EQ(first.disk_hits, 0);
    char name[700], same[700];
    CHECK_EQ(count_files(world->folder, ".kiln", name, sizeof name), 1);
    kiln_counters second = run_child(world);
    CHECK_EQ(second.calls, 2);
    CHECK_EQ(second.front_hits, 1);
    CHECK_EQ(second.compiles, 0);
    CHECK_EQ(second.disk_hits, 1);
    CHECK_EQ(second.links, 1);
    CHECK_EQ(second.cache_faults + second.corrupt + second.drifts + second.traces + second.kernel_hits, 0);
    CHECK_EQ(second.saved_ns, first.compile_ns); /* what the first one spent is what the second one saved */
    CHECK_EQ(count_files(world->folder, ".kiln", same, sizeof same), 1);
    CHECK_STR(name, same); /* one content key, in processes with other addresses */
}

static void test_child_first(void **state)
{
    struct world *world = *state;
    CHECK_EQ(run_child(world).compiles, 1);
    CHECK_EQ(use_folder(world->folder, &world->fake).disk_hits, 1);
    CHECK_EQ(world->fake.compiles, 0);
    watched = 4; /* a watched value is content */
    CHECK_EQ(use_folder(world->folder, &world->fake).compiles, 1);
    watched = 3;
    world->fake.compiler.digest = "2"; /* so is the tool chain */
    CHECK_EQ(use_folder(world->folder, &world->fake).compiles, 1);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL, 0), 3);
}

static void test_unusable_folder(void **state)
{
    struct world *world = *state;
    char below_a_file[100];
    close(open(world->file, O_CREAT | O_WRONLY, 0600));
    snprintf(below_a_file, sizeof below_a_file, "%s/cache", world->file);
    kiln_counters counters = use_folder(below_a_file, &world->fake);
    CHECK_EQ(counters.cache_faults, 1);
    CHECK_EQ(counters.compiles, 1);
    mkdir(world->other, 0700);
    chmod(world->other, 0777); /* others could plant code there */
    counters = use_folder(world->other, &world->fake);
    CHECK_EQ(counters.cache_faults, 1);
    CHECK_EQ(counters.compiles, 1);
    CHECK_EQ(count_files(world->other, ".kiln", NULL, 0), 0);
}

/* Damage of any kind: counted, made again, and the next one hits. */
static void test_damaged_artifact(void **state)
{
    struct world *world = *state;
    char path[700];
    use_folder(world->folder, &world->fake);
    for (int kind = 0; kind < 3; kind++) {
        CHECK_EQ(count_files(world->folder, ".kiln", path, sizeof path), 1);
        struct stat info;
        CHECK_EQ(stat(path, &info), 0);
        int fd = open(path, O_RDWR);
        char byte;
        if (kind == 0) CHECK_EQ(ftruncate(fd, info.st_size / 2), 0);
        if (kind == 1) {
            CHECK_EQ(pread(fd, &byte, 1, info.st_size / 2), 1);
            byte ^= 1;
            CHECK_EQ(pwrite(fd, &byte, 1, info.st_size / 2), 1);
        }
        if (kind == 2) CHECK_EQ(ftruncate(fd, 0), 0);
        close(fd);
        kiln_counters counters = use_folder(world->folder, &world->fake);
        CHECK_EQ(counters.corrupt, 1);
        CHECK_EQ(counters.compiles, 1);
        CHECK_EQ(counters.disk_hits, 0);
        counters = use_folder(world->folder, &world->fake);
        CHECK_EQ(counters.corrupt + counters.compiles, 0);
        CHECK_EQ(counters.disk_hits, 1);
    }
}

static void test_mode_off(void **state)
{
    struct world *world = *state;
    setenv("KILN_MODE", "off", 1);
    kiln_counters counters = use_folder(world->folder, &world->fake);
    CHECK_EQ(counters.compiles, 1);
    CHECK_EQ(counters.front_hits, 1);
    CHECK_EQ(access(world->folder, F_OK), -1);
    setenv("KILN_MODE", "no such mode", 1);
    use_folder(world->folder, &world->fake);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL, 0), 1); /* said, and taken as normal */
}

static void test_mode_no_compile(void **state)
{
    struct world *world = *state;
    char path[700], digest[65] = "";
    use_folder(world->folder, &world->fake);
    count_files(world->folder, ".kiln", path, sizeof path);
    setenv("KILN_MODE", "no-compile", 1);
    kiln_counters counters = use_folder(world->folder, &world->fake); /* stored: works */
    CHECK_EQ(counters.disk_hits, 1);
    CHECK_EQ(remove(path), 0);
    kiln_cache *cache = open_cache(world->folder);
    kiln_function *function = new_text(cache, &world->fake.compiler, "other", "rich text");
    get_fails(function, NO_ARGS, KILN_WOULD_COMPILE, "other: KILN_MODE=no-compile");
    kiln_error err = {0};
    void *executable;
    CHECK_STATUS(kiln_get(function, NULL, 0, NULL, &executable, &err), KILN_WOULD_COMPILE, &err);
    const char *key = strstr(err.text, "content key ");
    CHECK_NOT_NULL(key);
    snprintf(digest, sizeof digest, "%s", key + strlen("content key "));
    CHECK_EQ(strlen(digest), 64);
    CHECK_COUNTERS(cache, .calls = 2);
    kiln_function_free(function);
    kiln_cache_close(cache);
    unsetenv("KILN_MODE");
    cache = open_cache(world->folder);
    function = new_text(cache, &world->fake.compiler, "other", "rich text");
    get(function, NO_ARGS);
    count_files(world->folder, ".kiln", path, sizeof path);
    CHECK_CONTAINS(path, digest); /* the key that was named is the name it got */
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_read_only_folders(void **state)
{
    struct world *world = *state;
    use_folder(world->folder, &world->fake);
    const char *const folders[] = {world->other, world->folder, NULL};
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = "", .read_only_folders = folders};
    kiln_cache *cache = NULL;
    CHECK_STATUS(kiln_cache_open(&options, &cache, NULL), KILN_OK);
    kiln_function *function = rich_function(cache, &world->fake);
    get_rich(function);
    CHECK_COUNTERS(cache, .calls = 1, .disk_hits = 1, .links = 1, .cache_faults = 1); /* the one that is not there */
    kiln_function_free(function);
    kiln_cache_close(cache);
    char path[200];
    snprintf(path, sizeof path, ":%s:", world->folder);
    setenv("KILN_CACHE_PATH", path, 1);
    kiln_counters counters = use_folder("", &world->fake);
    CHECK_EQ(counters.disk_hits, 1);
    CHECK_EQ(counters.cache_faults, 0);
}

static void test_folder_of_the_environment(void **state)
{
    struct world *world = *state;
    char *old_home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    char home[100], xdg[100], named[100];
    snprintf(home, sizeof home, "%s/home", world->root);
    snprintf(xdg, sizeof xdg, "%s/xdg", world->root);
    snprintf(named, sizeof named, "%s/named", world->root);
    mkdir(home, 0700);
    mkdir(xdg, 0700);
    setenv("HOME", home, 1);
    unsetenv("XDG_CACHE_HOME");
    use_folder(NULL, &world->fake);
    setenv("XDG_CACHE_HOME", xdg, 1);
    use_folder(NULL, &world->fake);
    setenv("KILN_CACHE_DIR", named, 1);
    use_folder(NULL, &world->fake);
    setenv("KILN_CACHE_DIR", "", 1); /* memory only */
    use_folder(NULL, &world->fake);
    CHECK_EQ(world->fake.compiles, 4);
    snprintf(home, sizeof home, "%s/home/.cache/kiln", world->root);
    snprintf(xdg, sizeof xdg, "%s/xdg/kiln", world->root);
    CHECK_EQ(count_files(home, ".kiln", NULL, 0), 1);
    CHECK_EQ(count_files(xdg, ".kiln", NULL, 0), 1);
    CHECK_EQ(count_files(named, ".kiln", NULL, 0), 1);
    unsetenv("XDG_CACHE_HOME");
    if (old_home) setenv("HOME", old_home, 1);
    free(old_home);
}

static void test_bounds(void **state)
{
    struct world *world = *state;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = world->folder, .max_files = 3};
    kiln_cache *cache = NULL;
    CHECK_STATUS(kiln_cache_open(&options, &cache, NULL), KILN_OK);
    kiln_function *function = new_text(cache, &world->fake.compiler, "f", "x");
    for (int64_t i = 0; i < 20; i++) get_i64(function, i);
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    CHECK_EQ(counters.compiles, 20);
    CHECK_EQ(counters.evictions, 20 - count_files(world->folder, ".kiln", NULL, 0));
    CHECK_GE(counters.evictions, 17);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

static void test_stats(void **state)
{
    struct world *world = *state;
    char line[4096];
    CHECK_STATUS(kiln_stats_write(), KILN_OK); /* unset: nothing */
    setenv("KILN_STATS", "/no/such/folder/at/all", 1);
    CHECK_STATUS(kiln_stats_write(), KILN_IO);
    setenv("KILN_STATS", world->file, 1);
    use_folder(world->folder, &world->fake);
    CHECK_STATUS(kiln_stats_write(), KILN_OK);
    kiln_cache *cache = open_cache("");
    kiln_function *function = rich_function(cache, &world->fake);
    get_rich(function);
    CHECK_STATUS(kiln_stats_write(), KILN_OK);
    unsetenv("KILN_STATS");
    read_whole(world->file, line, sizeof line);
    char *second = strchr(line, '\n') + 1; /* one line each, appended */
    CHECK_EQ(strchr(second, '\n')[1], '\0');
    second[-1] = '\0';
    CHECK_EQ(line[0], '{');
    CHECK_EQ(second[-2], '}');
    static const char *const grown[] = {"calls", "compiles", "links"};
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(field_of(second, grown[i]), field_of(line, grown[i]) + 1); /* closed caches and open ones */
    CHECK_EQ(field_of(second, "front_hits"), field_of(line, "front_hits"));
    kiln_function_free(function);
    kiln_cache_close(cache);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "child")) return child(argv[2]);
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_second_process_compiles_nothing),
        WITH_WORLD(test_child_first),
        WITH_WORLD(test_unusable_folder),
        WITH_WORLD(test_damaged_artifact),
        WITH_WORLD(test_mode_off),
        WITH_WORLD(test_mode_no_compile),
        WITH_WORLD(test_read_only_folders),
        WITH_WORLD(test_folder_of_the_environment),
        WITH_WORLD(test_bounds),
        WITH_WORLD(test_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
