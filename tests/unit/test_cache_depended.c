/*
 * test_cache_depended.c - kiln_request_depends_file(): files that compile() turns out to read, and places at which it
 * finds none, decide; in this process, in others and on other hosts.
 */
#include "depended_support.h"

/* ---- in one process -----------------------------------------------------------------------------------------------
 */

static void test_edited(void **state)
{
    struct world *world = *state;
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "two");
    CHECK_STR(kiln_why(), "f: first call");
    gives(f, NO_ARGS, "two");
    CHECK_COUNTERS(world->cache, .calls = 2, .process_hits = 1, .traces = 1, .compiles = 1, .links = 1);
    touch_file(in_tree("second/scale.h"));
    gives(f, NO_ARGS, "two");
    replace_file(in_tree("second/scale.h"), "two");
    gives(f, NO_ARGS, "two");
    CHECK_EQ(counters_of(world).traces, 1);
    write_in_tree("second/scale.h", "six");
    gives(f, NO_ARGS, "six");
    CHECK_STR(kiln_why(), "f: file tree/second/scale.h changed");
    compiles(world, 2);
    write_in_tree("second/scale.h", "two"); /* and back */
    gives(f, NO_ARGS, "two");
    gives(f, NO_ARGS, "two");
    CHECK_COUNTERS(world->cache, .calls = 7, .process_hits = 4, .traces = 3, .kernel_hits = 1, .compiles = 2,
                   .links = 2);
    kiln_function_free(f);
}

/* A header at a place at which none was shadows the one behind it. */
static void test_shadowed(void **state)
{
    struct world *world = *state;
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "two");
    write_in_tree("first/scale.h", "one");
    gives(f, NO_ARGS, "one");
    CHECK_STR(kiln_why(), "f: file tree/first/scale.h is new");
    compiles(world, 2);
    write_in_tree("second/scale.h", "six"); /* is not looked at any more */
    gives(f, NO_ARGS, "one");
    CHECK_EQ(counters_of(world).traces, 2);
    write_in_tree("second/scale.h", "two");
    remove_from_tree("first/scale.h");
    gives(f, NO_ARGS, "two");
    CHECK_STR(kiln_why(), "f: file tree/first/scale.h is gone");
    compiles(world, 2);
    remove_from_tree("second/scale.h");
    gives(f, NO_ARGS, "none");
    write_in_tree("second/scale.h", "two");
    gives(f, NO_ARGS, "two");
    compiles(world, 3);
    kiln_function_free(f);
}

/* What one header includes decides which others count. */
static void test_nested(void **state)
{
    struct world *world = *state;
    kiln_function *f = includer(world);
    write_in_tree("second/deep.h", "deep");
    write_in_tree("second/scale.h", "#deep.h");
    gives(f, NO_ARGS, "deep");
    write_in_tree("second/deep.h", "deeper");
    gives(f, NO_ARGS, "deeper");
    CHECK_STR(kiln_why(), "f: file tree/second/deep.h changed");
    write_in_tree("second/scale.h", "two");
    gives(f, NO_ARGS, "two");
    write_in_tree("second/deep.h", "deep"); /* nobody includes it now */
    gives(f, NO_ARGS, "two");
    CHECK_EQ(counters_of(world).traces, 3);
    write_in_tree("second/scale.h", "#deep.h");
    gives(f, NO_ARGS, "deep");
    compiles(world, 3);
    kiln_function_free(f);
}

/* Arguments and watched values are in the key of a fixed text; the files come behind them. */
static void test_fixed_text(void **state)
{
    struct world *world = *state;
    int watched = 1;
    for (int round = 0; round < 2; round++) {
        world->fake.compiler.compile = compile_includes;
        kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "scale.h");
        WATCHES_INT(f, "watched", watched);
        gives(f, ARGS(I64(1)), "two");
        gives(f, ARGS(I64(2)), "two");
        watched++;
        gives(f, ARGS(I64(1)), "two");
        compiles(world, round ? 0 : 3);
        write_in_tree("second/scale.h", "six");
        gives(f, ARGS(I64(1)), "six");
        compiles(world, round ? 0 : 4);
        write_in_tree("second/scale.h", "two");
        gives(f, ARGS(I64(1)), "two");
        watched--;
        kiln_function_free(f);
        reopen(world);
    }
}

static void test_cheap(void **state)
{
    struct world *world = *state;
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "two");
    for (uint64_t before = kiln__files_digested(), digested = before + 1; before != digested;) { /* some 50 ms */
        before = kiln__files_digested();
        gives(f, NO_ARGS, "two");
        digested = kiln__files_digested();
    }
    uint64_t before = kiln__files_digested();
    for (int i = 0; i < 100; i++) gives(f, NO_ARGS, "two");
    CHECK_EQ(kiln__files_digested(), before);
    CHECK_EQ(counters_of(world).traces, 1);
    kiln_function_free(f);
}

/* ---- what can be named --------------------------------------------------------------------------------------------
 */

static const char *named;
static kiln_status answer;

static kiln_status compile_named(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                 kiln_error *err)
{
    (void)text, (void)err;
    ((struct fake *)self)->compiles++;
    answer = kiln_request_depends_file(request, named);
    return kiln_artifact_put(out, "code", "code", 4);
}

static kiln_function *namer(struct world *world, const char *path)
{
    world->fake.compiler.compile = compile_named;
    named = path;
    return lowered(world, "f", print_payload, (void *)"text");
}
#define namer(...) CHECK_CALL(namer, __VA_ARGS__)

/* Folders and files that may not be read are values like others. */
static void test_values(void **state)
{
    struct world *world = *state;
    kiln_function *f = namer(world, in_tree("it"));
    for (int round = 0; round < 2; round++) {
        gives(f, NO_ARGS, "code");
        CHECK_EQ(mkdir(in_tree("it"), 0700), 0);
        pass_a_tick();
        gives(f, NO_ARGS, "code");
        CHECK_EQ(rmdir(in_tree("it")), 0);
        write_in_tree("it", "");
        gives(f, NO_ARGS, "code");
        if (geteuid() != 0) {
            CHECK_EQ(chmod(in_tree("it"), 0), 0);
            pass_a_tick();
            gives(f, NO_ARGS, "code");
            CHECK_CONTAINS(kiln_why(), "file tree/it changed");
        }
        CHECK_EQ(answer, KILN_OK);
        CHECK_EQ(unlink(in_tree("it")), 0);
        pass_a_tick();
    }
    compiles(world, geteuid() ? 4 : 3);
    kiln_function_free(f);
}

static void test_refused(void **state)
{
    struct world *world = *state;
    kiln_function *f = namer(world, in_tree("fifo"));
    CHECK_EQ(mkfifo(in_tree("fifo"), 0600), 0);
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "/fifo, which nobody can tell from what it is later: it is no regular");
    CHECK_EQ(answer, KILN_INVALID);
    CHECK_EQ(symlink("loop", in_tree("loop")), 0);
    named = in_tree("loop");
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "f: compile() depends on ");
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 0);
    named = NULL;
    gives(f, NO_ARGS, "code");
    CHECK_EQ(answer, KILN_INVALID);
    CHECK_STATUS(kiln_request_depends_file(NULL, "x"), KILN_INVALID);
    kiln_function_free(f);
    f = namer(world, "");
    gives(f, NO_ARGS, "code");
    CHECK_EQ(answer, KILN_INVALID);
    kiln_function_free(f);
}

/* A file that takes the place of a header and can't be depended on: the compiler says what it makes of it. */
static void test_fifo_in_place(void **state)
{
    struct world *world = *state;
    kiln_function *f = namer(world, in_tree("second/scale.h"));
    gives(f, NO_ARGS, "code");
    CHECK_EQ(unlink(in_tree("second/scale.h")), 0);
    CHECK_EQ(mkfifo(in_tree("second/scale.h"), 0600), 0);
    pass_a_tick();
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "second/scale.h, which nobody can tell");
    CHECK_EQ(unlink(in_tree("second/scale.h")), 0);
    write_in_tree("second/scale.h", "two");
    gives(f, NO_ARGS, "code");
    compiles(world, 2);
    kiln_function_free(f);
}

/* By what the current folder is when it is named; links count by what they lead to. */
static void test_relative_and_links(void **state)
{
    struct world *world = *state;
    char here[PATH_MAX];
    CHECK_NOT_NULL(getcwd(here, sizeof here));
    CHECK_EQ(symlink("second/scale.h", in_tree("link.h")), 0);
    pass_a_tick();
    CHECK_EQ(chdir(tree), 0);
    kiln_function *f = namer(world, ".//link.h");
    gives(f, NO_ARGS, "code");
    CHECK_EQ(chdir(here), 0);
    named = in_tree("link.h");
    gives(f, NO_ARGS, "code");
    CHECK_EQ(counters_of(world).traces, 1);
    write_in_tree("second/scale.h", "six");
    gives(f, NO_ARGS, "code");
    compiles(world, 2);
    CHECK_STR(kiln_why(), "f: file tree/link.h changed");
    kiln_function_free(f);
}

static void test_large_file(void **state)
{
    struct world *world = *state;
    enum { SIZE = 6 << 20 };
    char *content = malloc(SIZE + 1);
    memset(content, 'x', SIZE), content[SIZE] = '\0';
    write_in_tree("large.h", content);
    kiln_function *f = namer(world, in_tree("large.h"));
    gives(f, NO_ARGS, "code");
    content[SIZE - 1] = 'y';
    write_in_tree("large.h", content);
    gives(f, NO_ARGS, "code");
    compiles(world, 2);
    kiln_function_free(f);
    free(content);
}

enum { MANY = 10000 };

static kiln_status compile_many(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                kiln_error *err)
{
    (void)text, (void)err;
    char name[32];
    ((struct fake *)self)->compiles++;
    for (int i = 0; i < 2 * MANY; i++) { /* each twice; every second one is not there */
        snprintf(name, sizeof name, "first/%d.h", i % MANY);
        CHECK_STATUS(kiln_request_depends_file(request, in_tree(name)), KILN_OK);
    }
    return kiln_artifact_put(out, "code", "code", 4);
}

static void test_many_files(void **state)
{
    struct world *world = *state;
    char name[32];
    for (int i = 0; i < MANY; i += 2) {
        snprintf(name, sizeof name, "first/%d.h", i);
        write_file(in_tree(name), name);
    }
    pass_a_tick();
    for (int round = 0; round < 2; round++) {
        world->fake.compiler.compile = compile_many;
        kiln_function *f = lowered(world, "f", print_payload, (void *)"text");
        gives(f, NO_ARGS, "code");
        gives(f, NO_ARGS, "code");
        compiles(world, !round);
        write_in_tree("first/7777.h", "new");
        gives(f, NO_ARGS, "code");
        CHECK_STR(kiln_why(), "f: file tree/first/7777.h is new");
        compiles(world, round ? 0 : 2);
        remove_from_tree("first/7777.h");
        gives(f, NO_ARGS, "code");
        kiln_function_free(f);
        reopen(world);
    }
}

/* ---- other processes and hosts ------------------------------------------------------------------------------------
 */

static void test_found_again(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 3; round++) {
        kiln_function *f = includer(world);
        gives(f, NO_ARGS, "two");
        write_in_tree("second/scale.h", "six");
        gives(f, NO_ARGS, "six");
        write_in_tree("first/scale.h", "one");
        gives(f, NO_ARGS, "one");
        remove_from_tree("first/scale.h");
        write_in_tree("second/scale.h", "two");
        gives(f, NO_ARGS, "two");
        compiles(world, round ? 0 : 3);
        kiln_function_free(f);
        reopen(world);
    }
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 4); /* three and the manifest */
}

/* A host of its own: another folder with the same tree, the same root's name, and the one cache. Where there is no root
 * the text says where the tree is, as what is searched has to follow from the content key. */
static void be_host(struct shared *shared, const char *folder, unsigned index)
{
    char own[96], text[128] = "scale.h";
    bool has_root = index < 8;
    (void)shared;
    snprintf(own, sizeof own, "%s/host-%u", folder, index);
    plant(own);
    if (!has_root) snprintf(text, sizeof text, "scale.h of %s", own);
    require(!kiln_set_root("tree", has_root ? own : NULL, NULL));
    struct fake fake;
    fake_init(&fake);
    fake.compiler.compile = compile_includes;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    const kiln_function_options of = {
        .struct_size = sizeof of, .name = "f", .compiler = &fake.compiler, .lower = print_payload, .payload = text};
    kiln_cache *cache = NULL;
    kiln_function *f = NULL;
    void *executable = NULL;
    require(!kiln_cache_open(&options, &cache, NULL) && !kiln_function_new(cache, &of, &f, NULL));
    require(!kiln_get(f, NULL, 0, NULL, &executable, NULL) && !strcmp(((struct image *)executable)->text, "two"));
    require(fake.compiles == (index == 1 || !has_root));
    write_file(in_tree("first/scale.h"), "one");
    pass_a_tick();
    require(!kiln_get(f, NULL, 0, NULL, &executable, NULL) && !strcmp(((struct image *)executable)->text, "one"));
    require(fake.compiles == (index == 1 || !has_root ? 2 : 0));
}

static void test_hosts(void **state)
{
    struct world *world = *state;
    end_well(start_child(be_host, NULL, world->folder, 1));
    end_well(start_child(be_host, NULL, world->folder, 2));
    end_well(start_child(be_host, NULL, world->folder, 8)); /* without a root: names of its own */
    end_well(start_child(be_host, NULL, world->folder, 3));
}

/* A root that is set, or moved, after something was looked up: what is looked up from then on goes by it. */
static void test_roots_set_later(void **state)
{
    struct world *world = *state;
    char elsewhere[96], here[128];
    CHECK_STATUS(kiln_set_root("tree", NULL, NULL), KILN_OK);
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "two");
    CHECK_STATUS(kiln_set_root("tree", tree, NULL), KILN_OK);
    gives(f, NO_ARGS, "two");
    compiles(world, 1);
    write_in_tree("second/scale.h", "six");
    gives(f, NO_ARGS, "six");
    compiles(world, 2);
    snprintf(here, sizeof here, "%s", tree);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", world->folder);
    plant(elsewhere); /* which compile() looks into from now on, and f's entry does not */
    CHECK_STATUS(kiln_set_root("tree", elsewhere, NULL), KILN_OK);
    gives(f, NO_ARGS, "six");
    kiln_function *g = includer(world);
    gives(g, NO_ARGS, "two");
    write_in_tree("second/scale.h", "ten");
    gives(g, NO_ARGS, "ten");
    gives(f, NO_ARGS, "six");
    snprintf(tree, sizeof tree, "%s", here);
    kiln_function_free(f), kiln_function_free(g);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(test_edited),     WITH_TREE(test_shadowed),        WITH_TREE(test_nested),
        WITH_TREE(test_fixed_text), WITH_TREE(test_cheap),           WITH_TREE(test_values),
        WITH_TREE(test_refused),    WITH_TREE(test_fifo_in_place),   WITH_TREE(test_relative_and_links),
        WITH_TREE(test_large_file), WITH_TREE(test_many_files),      WITH_TREE(test_found_again),
        WITH_TREE(test_hosts),      WITH_TREE(test_roots_set_later),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
