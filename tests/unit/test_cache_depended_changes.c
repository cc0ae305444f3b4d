/*
 * test_cache_depended_changes.c - files that change while compile() or lower() reads them; files that lower() names;
 * and threads that name files, or call while they are edited.
 */
#include "depended_support.h"

/* ---- while compile() runs -----------------------------------------------------------------------------------------
 */

static unsigned edits;

static void edit(void)
{
    char text[16];
    snprintf(text, sizeof text, "v%u", ++edits);
    write_file(in_tree("second/scale.h"), text);
}

static void edit_and_back(void)
{
    edit();
    write_file(in_tree("second/scale.h"), "two");
}

static void create(void)
{
    write_file(in_tree("first/scale.h"), "one");
}

static void remove_it(void)
{
    (void)unlink(in_tree("first/scale.h"));
}

static void is_told_by_nobody(struct world *world, const char *text)
{
    reopen(world);
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, text);
    kiln_function_free(f);
}
#define is_told_by_nobody(...) CHECK_CALL(is_told_by_nobody, __VA_ARGS__)

/* What was compiled while a file changed is nobody's code: not now, not later. */
static void test_changed_while_it_is_compiled(void **state)
{
    struct world *world = *state;
    static const struct {
        void (*disturb)(void);
        const char *gives;
        unsigned compiles;
    } rows[] = {{edit, "v1", 2}, {edit_and_back, "two", 2}, {create, "one", 2}, {remove_it, "two", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        remove_folder(world->folder);
        CHECK_EQ(mkdir(world->folder, 0700), 0);
        reopen(world);
        plant((snprintf(tree, sizeof tree, "%s/tree", world->folder), strdupa(tree)));
        if (rows[i].disturb == remove_it) write_in_tree("first/scale.h", "one");
        edits = 0, disturb = rows[i].disturb, disturbances = 1;
        kiln_function *f = includer(world);
        gives(f, NO_ARGS, rows[i].gives);
        compiles(world, rows[i].compiles);
        gives(f, NO_ARGS, rows[i].gives);
        CHECK_EQ(counters_of(world).traces, 1);
        write_in_tree("second/scale.h", "two");
        write_in_tree("first/scale.h", "one");
        gives(f, NO_ARGS, "one");
        remove_from_tree("first/scale.h");
        gives(f, NO_ARGS, "two");
        kiln_function_free(f);
        is_told_by_nobody(world, "two");
        write_in_tree("first/scale.h", "one");
        is_told_by_nobody(world, "one");
    }
}

/* It goes on: four runs, and the last one's result serves the call; nothing is stored. */
static void test_changed_all_the_time(void **state)
{
    struct world *world = *state;
    edits = 0, disturb = edit, disturbances = 1000;
    kiln_function *f = includer(world);
    gives(f, NO_ARGS, "v3"); /* read by the fourth, before its own edit */
    CHECK_COUNTERS(world->cache, .calls = 1, .traces = 1, .compiles = 4, .links = 1);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 0);
    gives(f, NO_ARGS, "v7");
    CHECK_STR(kiln_why(), "f: files changed while it was compiled");
    compiles(world, 8);
    disturbances = 0;
    pass_a_tick();
    gives(f, NO_ARGS, "v8");
    compiles(world, 9);
    gives(f, NO_ARGS, "v8");
    CHECK_EQ(counters_of(world).traces, 3);
    CHECK_EQ(count_files(world->folder, ".kiln", NULL), 2);
    kiln_function_free(f);
    is_told_by_nobody(world, "v8");
    compiles(world, 0);
}

/* ---- lower() ------------------------------------------------------------------------------------------------------
 */

static kiln_status answer; /* when lower() last named the file */

static kiln_status print_file(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    char content[64] = "";
    answer = kiln_request_depends_file(request, in_tree("second/scale.h"));
    if (!answer) read_file(in_tree("second/scale.h"), content, sizeof content);
    if (disturbances > 0 && disturbances--) disturb();
    return kiln_text_printf(text, "%s", *content ? content : "none");
}

static void test_lowered(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", print_file, NULL);
    gives(f, NO_ARGS, "two");
    gives(f, NO_ARGS, "two");
    touch_file(in_tree("second/scale.h"));
    gives(f, NO_ARGS, "two");
    CHECK_COUNTERS(world->cache, .calls = 3, .process_hits = 2, .traces = 1, .compiles = 1, .links = 1);
    write_in_tree("second/scale.h", "six");
    gives(f, NO_ARGS, "six");
    CHECK_STR(kiln_why(), "f: file tree/second/scale.h changed");
    remove_from_tree("second/scale.h");
    gives(f, NO_ARGS, "none");
    write_in_tree("second/scale.h", "two");
    gives(f, NO_ARGS, "two");
    CHECK_EQ(counters_of(world).traces, 4);
    compiles(world, 3);
    edits = 0, disturb = edit, disturbances = 2;
    write_in_tree("second/scale.h", "ten");
    gives(f, NO_ARGS, "v2");
    gives(f, NO_ARGS, "v2");
    compiles(world, 4);
    disturb = edit_and_back, disturbances = 1000;
    write_in_tree("second/scale.h", "two");
    get_fails(f, NO_ARGS, KILN_DRIFTED, "f: what it watches changed in each of 64 tries");
    disturbances = 0;
    gives(f, NO_ARGS, "two");
    CHECK_EQ(unlink(in_tree("second/scale.h")), 0);
    CHECK_EQ(mkfifo(in_tree("second/scale.h"), 0600), 0);
    get_fails(f, NO_ARGS, KILN_LOWER_FAILED, "f: lower() depends on ");
    CHECK_EQ(answer, KILN_INVALID);
    kiln_function_free(f);
}

/* With KILN_KEY_REQUEST what lower() names is in the content key, by the root's name; and it is no audit's finding. */
static void test_keyed_request(void **state)
{
    struct world *world = *state;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "f",
                                           .compiler = &world->fake.compiler,
                                           .lower = print_file,
                                           .flags = KILN_KEY_REQUEST};
    setenv("KILN_AUDIT", "1", 1);
    for (int round = 0; round < 2; round++) {
        reopen(world);
        kiln_function *f = NULL;
        CHECK_STATUS(kiln_function_new(world->cache, &options, &f, NULL), KILN_OK);
        for (int i = 0; i < 8; i++) gives(f, NO_ARGS, "two");
        compiles(world, !round);
        kiln_function_free(f);
    }
    unsetenv("KILN_AUDIT");
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

enum { THREADS = 8 };

static void *name_files(void *context)
{
    for (int i = 0; i < 64; i++) {
        char name[32];
        snprintf(name, sizeof name, "first/%d.h", i % 16);
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", tree, name);
        if (kiln_request_depends_file(context, path)) return context;
    }
    return NULL;
}

static kiln_status compile_in_threads(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                      kiln_error *err)
{
    (void)text, (void)err;
    pthread_t threads[THREADS];
    void *failed = NULL;
    ((struct fake *)self)->compiles++;
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, name_files, (void *)request), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        CHECK_NULL(failed);
    }
    return kiln_artifact_put(out, "code", "code", 4);
}

static void test_named_by_threads(void **state)
{
    struct world *world = *state;
    for (int round = 0; round < 2; round++) {
        world->fake.compiler.compile = compile_in_threads;
        kiln_function *f = lowered(world, "f", print_payload, (void *)"text");
        gives(f, NO_ARGS, "code");
        write_in_tree("first/15.h", "new");
        gives(f, NO_ARGS, "code");
        compiles(world, round ? 0 : 2);
        remove_from_tree("first/15.h");
        kiln_function_free(f);
        reopen(world);
    }
}

/* Threads that call while a header is edited: what each gets is a content that the header had since it asked. */
struct caller {
    kiln_function *function;
    _Atomic bool *is_over;
    bool is_wrong;
};

static _Atomic unsigned version; /* of the header; written before the file is */
static _Atomic unsigned written; /* and afterwards */

static void *call_on(void *context)
{
    struct caller *caller = context;
    while (!*caller->is_over && !caller->is_wrong) {
        unsigned before = written;
        void *executable = NULL;
        if (kiln_get(caller->function, NO_ARGS, NULL, &executable, NULL)) continue;
        unsigned got = (unsigned)strtoul(((struct image *)executable)->text + 1, NULL, 10), after = version;
        caller->is_wrong = got < before || got > after;
    }
    return NULL;
}

static void test_called_while_it_is_edited(void **state)
{
    struct world *world = *state;
    enum { CALLERS = 4, EDITS = 40 };
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    _Atomic bool is_over = false;
    version = written = 0;
    write_in_tree("second/scale.h", "v0");
    kiln_function *f = includer(world);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){f, &is_over, false};
        CHECK_EQ(pthread_create(&threads[i], NULL, call_on, &callers[i]), 0);
    }
    for (unsigned i = 1; i <= EDITS; i++) {
        char text[16];
        snprintf(text, sizeof text, "v%u", i);
        version = i;
        char path[PATH_MAX], other[PATH_MAX];
        snprintf(path, sizeof path, "%s/second/scale.h", tree);
        snprintf(other, sizeof other, "%s/second/other.h", tree);
        write_file(other, text);
        CHECK_EQ(rename(other, path), 0);
        written = i;
        pass_a_tick();
    }
    is_over = true;
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CALLERS; i++) CHECK_FALSE(callers[i].is_wrong);
    gives(f, NO_ARGS, "v40");
    kiln_function_free(f);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_TREE(test_changed_while_it_is_compiled),
        WITH_TREE(test_changed_all_the_time),
        WITH_TREE(test_lowered),
        WITH_TREE(test_keyed_request),
        WITH_TREE(test_named_by_threads),
        WITH_TREE(test_called_while_it_is_edited),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
