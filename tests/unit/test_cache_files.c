/*
 * test_cache_files.c - kiln_watch_file(): the content of a file decides, whatever is done to the file.
 */
#include "files_support.h"

#include <sys/stat.h>
#include <time.h>

#include "key/tracked_file.h"

static char path[256]; /* of the file that is watched */

static int set_up_files(void **state)
{
    set_up(state);
    reopen(*state); /* a cache with a folder; the file stands beside what it holds */
    snprintf(path, sizeof path, "%s/scale.h", ((struct world *)*state)->folder);
    write_file(path, "one");
    return 0;
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, set_up_files, tear_down)

/* ---- a lowered function, which prints the file ------------------------------------------------------------------ */

static kiln_status print_file(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    char content[64];
    read_file(payload, content, sizeof content);
    return kiln_text_printf(text, "%s", *content ? content : "(absent)");
}

static kiln_function *printer(struct world *world)
{
    kiln_function *f = lowered(world, "f", print_file, path);
    CHECK_STATUS(kiln_watch_file(f, path, NULL), KILN_OK);
    return f;
}
#define printer(...) CHECK_CALL(printer, __VA_ARGS__)

static void test_followed(void **state)
{
    struct world *world = *state;
    kiln_function *f = printer(world);
    gives(f, NO_ARGS, "one");
    gives(f, NO_ARGS, "one");
    touch_file(path);
    gives(f, NO_ARGS, "one");
    CHECK_COUNTERS(world->cache, .calls = 3, .front_hits = 2, .traces = 1, .compiles = 1, .links = 1);
    write_file(path, "two");
    gives(f, NO_ARGS, "two");
    CHECK_STR(kiln_why() + strlen(kiln_why()) - strlen("scale.h changed"), "scale.h changed");
    CHECK_EQ(counters_of(world).compiles, 2);
    replace_file(path, "one"); /* and back */
    gives(f, NO_ARGS, "one");
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 3, .traces = 2, .compiles = 2, .links = 2, .drifts = 1);
    kiln_function_free(f);
}

static void test_absent(void **state)
{
    struct world *world = *state;
    CHECK_EQ(unlink(path), 0);
    kiln_function *f = printer(world);
    gives(f, NO_ARGS, "(absent)");
    write_file(path, "one");
    gives(f, NO_ARGS, "one");
    CHECK_CONTAINS(kiln_why(), "scale.h is new");
    CHECK_EQ(unlink(path), 0);
    gives(f, NO_ARGS, "(absent)");
    write_file(path, ""); /* not the same as none */
    gives(f, NO_ARGS, "(absent)");
    CHECK_EQ(counters_of(world).traces, 3);
    CHECK_EQ(counters_of(world).compiles, 2);
    kiln_function_free(f);
}

/* Of the same size, and with its modification time set back: inode and change time tell. */
static void test_disguised(void **state)
{
    struct world *world = *state;
    kiln_function *f = printer(world);
    struct stat info;
    static const char *const contents[] = {"two", "six", "ten", "two"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        CHECK_EQ(stat(path, &info), 0);
        (i % 2 ? write_file(path, contents[i]) : replace_file(path, contents[i]));
        CHECK_EQ(utimensat(AT_FDCWD, path, (struct timespec[]){info.st_atim, info.st_mtim}, 0), 0);
        gives(f, NO_ARGS, contents[i]);
    }
    kiln_function_free(f);
}

/* Many writes within one tick of the clock that files get their times from. */
static void test_written_at_once(void **state)
{
    struct world *world = *state;
    kiln_function *f = printer(world);
    for (int i = 0; i < 300; i++) {
        char content[8];
        snprintf(content, sizeof content, "%03d", i % 7);
        write_file(path, content);
        gives(f, NO_ARGS, content);
    }
    CHECK_EQ(counters_of(world).compiles, 7);
    kiln_function_free(f);
}

static void test_links(void **state)
{
    struct world *world = *state;
    char target[256];
    kiln_function *f = printer(world);
    snprintf(target, sizeof target, "%s/other.h", world->folder);
    gives(f, NO_ARGS, "one");
    write_file(target, "two");
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink("other.h", path), 0);
    gives(f, NO_ARGS, "two");
    write_file(target, "six");
    gives(f, NO_ARGS, "six");
    CHECK_EQ(unlink(target), 0);
    gives(f, NO_ARGS, "(absent)");
    kiln_function_free(f);
}

/* Not digested again while nothing changes, once its last change is some time ago. */
static void test_digested_once(void **state)
{
    struct world *world = *state;
    kiln_function *f = printer(world), *g = printer(world);
    gives(f, NO_ARGS, "one");
    for (uint64_t before = kiln__files_digested(), digested = before + 1; before != digested;) { /* some 50 ms */
        before = kiln__files_digested();
        gives(f, NO_ARGS, "one");
        digested = kiln__files_digested();
    }
    uint64_t before = kiln__files_digested();
    for (int i = 0; i < 100; i++) gives(i % 2 ? f : g, NO_ARGS, "one");
    CHECK_EQ(kiln__files_digested(), before);
    touch_file(path);
    gives(f, NO_ARGS, "one");
    CHECK_GT(kiln__files_digested(), before);
    kiln_function_free(f), kiln_function_free(g);
}

static void test_refused(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    kiln_function *f = printer(world);
    CHECK_STATUS(kiln_watch_file(NULL, path, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_file(f, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_watch_file(f, "", &err), KILN_INVALID, &err);
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0);
    get_fails(f, NO_ARGS, KILN_INVALID, "scale.h can't be read: it is a folder");
    CHECK_EQ(rmdir(path), 0);
    CHECK_EQ(mkfifo(path, 0600), 0);
    get_fails(f, NO_ARGS, KILN_INVALID, "scale.h can't be read: it is no regular file"); /* and is not waited for */
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink("scale.h", path), 0);
    get_fails(f, NO_ARGS, KILN_INVALID, "f: the watched file ");
    CHECK_EQ(unlink(path), 0);
    write_file(path, "one");
    if (geteuid() != 0) {
        CHECK_EQ(chmod(path, 0), 0);
        get_fails(f, NO_ARGS, KILN_INVALID, "scale.h can't be read: Permission denied");
        CHECK_EQ(chmod(path, 0600), 0);
    }
    gives(f, NO_ARGS, "one");
    CHECK_COUNTERS(world->cache, .calls = geteuid() ? 5 : 4, .traces = 1, .compiles = 1, .links = 1);
    kiln_function_free(f);
}

/* The file of the folder that was the current one. */
static void test_relative(void **state)
{
    struct world *world = *state;
    char here[PATH_MAX];
    CHECK_NOT_NULL(getcwd(here, sizeof here));
    CHECK_EQ(chdir(world->folder), 0);
    kiln_function *f = lowered(world, "f", print_file, path);
    CHECK_STATUS(kiln_watch_file(f, ".//scale.h", NULL), KILN_OK);
    CHECK_EQ(chdir(here), 0);
    gives(f, NO_ARGS, "one");
    write_file(path, "two");
    gives(f, NO_ARGS, "two");
    CHECK_STATUS(kiln_watch_file(f, path, NULL), KILN_OK); /* the same one: nothing is dropped */
    gives(f, NO_ARGS, "two");
    CHECK_EQ(counters_of(world).traces, 2);
    kiln_function_free(f);
}

static void test_strict_and_bound(void **state)
{
    struct world *world = *state;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &world->fake.compiler,
                                           .lower = print_file,
                                           .payload = path,
                                           .flags = KILN_STRICT};
    kiln_function *f = NULL, *bound = NULL, *caller = printer(world);
    CHECK_STATUS(kiln_function_new(world->cache, &options, &f, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_file(f, path, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_bind(f, path, NULL, &bound, NULL), KILN_OK);
    CHECK_STATUS(kiln_depends(caller, f, NULL), KILN_OK);
    gives(f, NO_ARGS, "one");
    gives(bound, NO_ARGS, "one");
    gives(caller, NO_ARGS, "one");
    write_file(path, "two");
    get_fails(f, NO_ARGS, KILN_DRIFTED, "scale.h changed");
    get_fails(bound, NO_ARGS, KILN_DRIFTED, "scale.h changed");
    gives(caller, NO_ARGS, "two");
    kiln_function_free(f), kiln_function_free(bound), kiln_function_free(caller);
}

/* ---- while lower() runs ----------------------------------------------------------------------------------------- */

static int disturbances;
static bool there_and_back;

static kiln_status print_while_written(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    bool disturbs = disturbances > 0 && disturbances--;
    if (disturbs) write_file(path, "new");
    kiln_status status = print_file(payload, request, text, err);
    if (disturbs && there_and_back) write_file(path, "one");
    return status;
}

static void test_written_while_it_is_lowered(void **state)
{
    struct world *world = *state;
    for (int back = 0; back < 2; back++) {
        write_file(path, "one");
        kiln_function *f = lowered(world, "f", print_while_written, path);
        CHECK_STATUS(kiln_watch_file(f, path, NULL), KILN_OK);
        disturbances = 1, there_and_back = back;
        gives(f, NO_ARGS, back ? "one" : "new");
        CHECK_EQ(counters_of(world).traces, back ? 4 : 2);
        write_file(path, "one");
        gives(f, NO_ARGS, "one");
        write_file(path, "new");
        gives(f, NO_ARGS, "new");
        kiln_function_free(f);
        if (!back) reopen(world), CHECK_EQ(counters_of(world).traces, 0);
        if (!back) { /* so that both rounds count from what they were */
            kiln_function *again = printer(world);
            gives(again, NO_ARGS, "new");
            write_file(path, "one");
            gives(again, NO_ARGS, "one");
            CHECK_EQ(counters_of(world).compiles, 0);
            kiln_function_free(again);
        }
    }
    disturbances = 1000, there_and_back = true;
    kiln_function *f = lowered(world, "f", print_while_written, path);
    CHECK_STATUS(kiln_watch_file(f, path, NULL), KILN_OK);
    write_file(path, "one");
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: what it watches changed in each of 64 tries");
    disturbances = 0;
    kiln_function_free(f);
}

/* ---- a fixed text, whose compile() reads the file ---------------------------------------------------------------- */

static kiln_status compile_file(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                kiln_error *err)
{
    (void)request, (void)text, (void)err;
    char content[64];
    ((struct fake *)self)->compiles++;
    bool disturbs = disturbances > 0 && disturbances--;
    if (disturbs) write_file(path, "new");
    read_file(path, content, sizeof content);
    if (disturbs && there_and_back) write_file(path, "one");
    return kiln_artifact_put(out, "code", content, strlen(content));
}

static kiln_function *includer(struct world *world, const char *watched)
{
    world->fake.compiler.compile = compile_file;
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "#include");
    CHECK_STATUS(kiln_watch_file(f, watched, NULL), KILN_OK);
    return f;
}
#define includer(...) CHECK_CALL(includer, __VA_ARGS__)

/* The content is in the content key, so it is one compile for each, in all processes. */
static void test_fixed_text(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 2; round++) {
        kiln_function *f = includer(world, path);
        write_file(path, "one");
        gives(f, NO_ARGS, "one");
        touch_file(path);
        gives(f, NO_ARGS, "one");
        write_file(path, "two");
        gives(f, NO_ARGS, "two");
        write_file(path, "one");
        gives(f, NO_ARGS, "one");
        CHECK_EQ(unlink(path), 0);
        gives(f, NO_ARGS, "");
        CHECK_EQ(counters_of(world).compiles, round ? 0 : 3);
        kiln_function_free(f);
        reopen(world);
    }
}

/* What was compiled while the file was written is nobody's code. */
static void test_written_while_it_is_compiled(void **state)
{
    struct world *world = *state;
    for (int back = 0; back < 2; back++) {
        write_file(path, "one");
        kiln_function *f = includer(world, path);
        disturbances = 1, there_and_back = back;
        gives(f, NO_ARGS, back ? "one" : "new");
        CHECK_EQ(counters_of(world).compiles, 2);
        kiln_function_free(f);
        for (int round = 0; round < 2; round++) {
            f = includer(world, path);
            write_file(path, "one");
            gives(f, NO_ARGS, "one");
            write_file(path, "new");
            gives(f, NO_ARGS, "new");
            kiln_function_free(f);
            reopen(world);
        }
        remove_folder(world->folder);
        CHECK_EQ(mkdir(world->folder, 0700), 0);
        reopen(world);
    }
}

/* Two trees at different places: one key, below a root. */
static void test_moved(void **state)
{
    struct world *world = *state;
    char tree[128], moved[128];
    snprintf(tree, sizeof tree, "%s/tree", world->folder);
    snprintf(moved, sizeof moved, "%s/moved", world->folder);
    CHECK_EQ(mkdir(tree, 0700), 0);
    snprintf(path, sizeof path, "%s/scale.h", tree);
    write_file(path, "one");
    for (int round = 0; round < 4; round++) {
        CHECK_STATUS(kiln_set_root("tree", round == 2 ? NULL : round ? moved : tree, NULL), KILN_OK);
        kiln_function *f = includer(world, path);
        gives(f, NO_ARGS, "one");
        CHECK_EQ(counters_of(world).compiles, round % 2 ? 0 : 1);
        if (round == 3) {
            write_file(path, "two");
            gives(f, NO_ARGS, "two");
            CHECK_CONTAINS(kiln_why(), "f: file tree/scale.h changed");
        }
        kiln_function_free(f);
        if (!round) CHECK_EQ(rename(tree, moved), 0);
        if (!round) snprintf(path, sizeof path, "%s/scale.h", moved);
        reopen(world);
    }
    CHECK_STATUS(kiln_set_root("tree", NULL, NULL), KILN_OK);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_followed),
        WITH_FILE(test_absent),
        WITH_FILE(test_disguised),
        WITH_FILE(test_written_at_once),
        WITH_FILE(test_links),
        WITH_FILE(test_digested_once),
        WITH_FILE(test_refused),
        WITH_FILE(test_relative),
        WITH_FILE(test_strict_and_bound),
        WITH_FILE(test_written_while_it_is_lowered),
        WITH_FILE(test_fixed_text),
        WITH_FILE(test_written_while_it_is_compiled),
        WITH_FILE(test_moved),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
