/*
 * test_cache_roots.c - how modules are known below roots, in keys and to those who ask; and that no two are known by
 * one name.
 */
#include "classes_support.h"

#include "key/roots.h"

static void set_root(const char *name, const char *path)
{
    kiln_error err = {0};
    CHECK_OK(kiln_set_root(name, path, &err), &err);
}
#define set_root(...) CHECK_CALL(set_root, __VA_ARGS__)

static int without_roots(void **state)
{
    static const char *const names[] = {"", "a", "b", "inner"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) set_root(names[i], NULL);
    return tear_down(state);
}

#define WITHOUT_ROOTS(test) cmocka_unit_test_setup_teardown(test, set_up, without_roots)

static void is_known_as(const char *module, const char *name)
{
    struct kiln_buffer known = {0};
    kiln__module_name(module, &known);
    CHECK_STR((const char *)known.data, name);
    CHECK_TRUE(kiln__module_is(module, name));
    kiln__buffer_release(&known);
}
#define is_known_as(...) CHECK_CALL(is_known_as, __VA_ARGS__)

static void test_names(void **state)
{
    (void)state;
    is_known_as("/home/me/tree/x.c", "/home/me/tree/x.c");
    is_known_as("", "");
    set_root("a", "/home/me//tree/./");
    is_known_as("/home/me/tree/x.c", "a/x.c");
    is_known_as("/home/me/./tree//sub/x.c", "a/sub/x.c");
    is_known_as("/home/me/tree/../x.c", "a/../x.c"); /* what it means depends on links */
    is_known_as("/home/me/trees/x.c", "/home/me/trees/x.c");
    is_known_as("/home/me/tree", "/home/me/tree"); /* not below it */
    is_known_as("x.c", "x.c");
    set_root("", "/home/me/tree/sub");
    is_known_as("/home/me/tree/x.c", "a/x.c");
    is_known_as("/home/me/tree/sub/x.c", "x.c"); /* the longest one counts */
    set_root("inner", "/");
    is_known_as("/etc/x.c", "inner/etc/x.c");
    set_root("a", "/elsewhere"); /* again */
    is_known_as("/home/me/tree/x.c", "inner/home/me/tree/x.c");
    is_known_as("/elsewhere/x.c", "a/x.c");
    set_root("inner", NULL);
    set_root("", NULL);
    is_known_as("/home/me/tree/x.c", "/home/me/tree/x.c");
    set_root("b", "../src"); /* as a build that is given relative paths has it in __FILE__ */
    is_known_as("../src/x.c", "b/x.c");
    is_known_as("../other/x.c", "../other/x.c");
    char here[4096];
    CHECK_NOT_NULL(getcwd(here, sizeof here));
    set_root("b", ".");
    strcat(here, "/x.c");
    is_known_as(here, "b/x.c");
}

static void test_refused(void **state)
{
    (void)state;
    kiln_error err = {0};
    CHECK_STATUS(kiln_set_root(NULL, "/a", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_set_root("a/b", "/a", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_set_root("a", "", &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_set_root("a", NULL, &err), KILN_OK); /* there is none */
    is_known_as("/a/x.c", "/a/x.c");
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static int scale = 1;

/* A tree of sources is kept elsewhere: the same key. Two modules, whose order is that of their names. */
static void test_moved_sources(void **state)
{
    struct world *world = *state;
    static const char *const trees[] = {"/home/me/tree", "/build/42", "/home/me/tree"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char module[64];
        reopen(world);
        set_root("a", trees[i]);
        kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "text");
        snprintf(module, sizeof module, "%s/x.c", trees[i]);
        CHECK_STATUS(KILN_WATCH_IN(f, module, scale), KILN_OK);
        CHECK_STATUS(KILN_WATCH_IN(f, "/dev/y.c", scale), KILN_OK);
        gives(f, NO_ARGS, "text");
        CHECK_EQ(counters_of(world).compiles, i ? 0 : 1);
        kiln_function_free(f);
    }
    reopen(world); /* and not, where it is known by another name */
    set_root("a", NULL);
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "text");
    CHECK_STATUS(KILN_WATCH_IN(f, "/home/me/tree/x.c", scale), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "/dev/y.c", scale), KILN_OK);
    gives(f, NO_ARGS, "text");
    CHECK_EQ(counters_of(world).compiles, 1);
    kiln_function_free(f);
}

static void test_why(void **state)
{
    struct world *world = *state;
    set_root("a", "/home/me/tree");
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "text");
    CHECK_STATUS(KILN_WATCH_IN(f, "/home/me/tree/x.c", scale), KILN_OK);
    scale = 1;
    gives(f, NO_ARGS, "text");
    scale = 2;
    gives(f, NO_ARGS, "text");
    CHECK_STR(kiln_why(), "f: a/x.c: scale was 1, is 2");
    scale = 1;
    kiln_function_free(f);
}

static kiln_status print_watched(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)err;
    kiln_bytes bytes = kiln_request_watched(request, payload, "scale");
    return kiln_text_printf(text, "%d", bytes.data ? *(const int *)bytes.data : -1);
}

/* Whoever asks may do so by the file or by the name it is known by. */
static void test_asking(void **state)
{
    struct world *world = *state;
    static const char *const modules[] = {"/home/me/tree/x.c", "/home/me/./tree//x.c", "a/x.c", "x.c"};
    set_root("a", "/home/me/tree");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        kiln_function *f = lowered(world, "f", print_watched, (void *)modules[i]);
        CHECK_STATUS(KILN_WATCH_IN(f, "/home/me/tree/x.c", scale), KILN_OK);
        gives(f, NO_ARGS, i < 3 ? "1" : "-1");
        kiln_function_free(f);
    }
}

/* compile() asks by the file, in trees at two places: one manifest, one artifact for each value. */
static kiln_status compile_scale(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                 kiln_error *err)
{
    (void)err;
    char code[32];
    struct fake *fake = self;
    fake->compiles++;
    kiln_bytes bytes = kiln_request_watched(request, *(const char **)(fake + 1), "scale");
    int size = snprintf(code, sizeof code, "%.*s %d", (int)text.size, (const char *)text.data,
                        bytes.data ? *(const int *)bytes.data : -1);
    return kiln_artifact_put(out, "code", code, (size_t)size);
}

static kiln_status print_text(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, "text");
}

static void test_compile_asks(void **state)
{
    struct world *world = *state;
    struct {
        struct fake fake;
        const char *module;
    } asking;
    static const char *const trees[] = {"/home/me/tree", "/build/42"};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char module[64];
        reopen(world);
        fake_init(&asking.fake);
        asking.fake.compiler.compile = compile_scale;
        asking.module = module;
        snprintf(module, sizeof module, "%s/x.c", trees[i]);
        set_root("a", trees[i]);
        kiln_function *f = new_function(world->cache, &asking.fake.compiler, "f", print_text, NULL);
        CHECK_STATUS(KILN_WATCH_IN(f, module, scale), KILN_OK);
        for (scale = 1; scale < 4; scale++) {
            char code[32];
            snprintf(code, sizeof code, "text %d", scale);
            gives(f, NO_ARGS, code);
        }
        scale = 1;
        CHECK_EQ(counters_of(world).compiles, i ? 0 : 3);
        kiln_function_free(f);
        kiln_cache_close(world->cache);
        world->cache = open_cache("");
    }
}

/* ---- one name for two ------------------------------------------------------------------------------------------ */

static void test_two_modules_of_one_name(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "text"),
                  *g = new_text(world->cache, &world->fake.compiler, "g", "text");
    set_root("", "/one");
    set_root("a", "/two");
    CHECK_STATUS(kiln_watch(f, "/one/a/x.c", "scale", &scale, sizeof scale, &err), KILN_OK);
    CHECK_STATUS(kiln_watch(g, "/two/x.c", "scale", &scale, sizeof scale, &err), KILN_INVALID);
    CHECK_CONTAINS(err.text, "/one/a/x.c");
    CHECK_CONTAINS(err.text, "/two/x.c");
    CHECK_CONTAINS(err.text, "both known as the module a/x.c");
    CHECK_STATUS(kiln_watch(g, "a/x.c", "scale", &scale, sizeof scale, &err), KILN_INVALID);
    CHECK_STATUS(kiln_watch(g, "/two/y.c", "scale", &scale, sizeof scale, &err), KILN_OK);
    CHECK_STATUS(kiln_watch(g, "/one/a/x.c", "scale", &scale, sizeof scale, &err), KILN_OK); /* the same file */
    gives(g, NO_ARGS, "text");
    kiln_function_free(f);
    kiln_function_free(g); /* nobody watches the first any more */
    f = new_text(world->cache, &world->fake.compiler, "f", "text");
    CHECK_STATUS(kiln_watch(f, "/two/x.c", "scale", &scale, sizeof scale, &err), KILN_OK);
    kiln_function_free(f);
}

/* A root that would bring it about is refused, and all is as before. */
static void test_root_that_makes_two_one(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    kiln_function *f = new_text(world->cache, &world->fake.compiler, "f", "text");
    CHECK_STATUS(KILN_WATCH_IN(f, "/one/x.c", scale), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "/two/x.c", scale), KILN_OK);
    CHECK_STATUS(KILN_WATCH_IN(f, "b/x.c", scale), KILN_OK);
    set_root("a", "/one");
    CHECK_STATUS(kiln_set_root("b", "/two", &err), KILN_INVALID);
    CHECK_CONTAINS(err.text, "/two/x.c");
    CHECK_CONTAINS(err.text, "b/x.c");
    is_known_as("/two/x.c", "/two/x.c");
    is_known_as("/one/x.c", "a/x.c");
    set_root("a", "/two");
    is_known_as("/one/x.c", "/one/x.c");
    kiln_function_free(f);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITHOUT_ROOTS(test_names),
        WITHOUT_ROOTS(test_refused),
        WITHOUT_ROOTS(test_moved_sources),
        WITHOUT_ROOTS(test_why),
        WITHOUT_ROOTS(test_asking),
        WITHOUT_ROOTS(test_compile_asks),
        WITHOUT_ROOTS(test_two_modules_of_one_name),
        WITHOUT_ROOTS(test_root_that_makes_two_one),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
