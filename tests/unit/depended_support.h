/*
 * depended_support.h - for tests of files that compile() turns out to read: a tree of headers, and a compiler that
 * searches it.
 */
#ifndef TESTS_UNIT_DEPENDED_SUPPORT_H
#define TESTS_UNIT_DEPENDED_SUPPORT_H

#include "process_support.h"

#include "files_support.h"

#include "key/tracked_file.h"

static char tree[128]; /* below the test's folder; with the folders "first" and "second" */

UNUSED static const char *in_tree(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", tree, name);
    return path;
}

/* What was written before is not written at the time at which the next compile begins: one run for each is enough. */
UNUSED static void write_in_tree(const char *name, const char *text)
{
    write_file(in_tree(name), text);
    pass_a_tick();
}
#define write_in_tree(...) CHECK_CALL(write_in_tree, __VA_ARGS__)

UNUSED static void remove_from_tree(const char *name)
{
    CHECK_EQ(unlink(in_tree(name)), 0);
    pass_a_tick();
}
#define remove_from_tree(...) CHECK_CALL(remove_from_tree, __VA_ARGS__)

UNUSED static void plant(const char *folder)
{
    snprintf(tree, sizeof tree, "%s", folder);
    CHECK_EQ(mkdir(tree, 0700), 0);
    CHECK_EQ(mkdir(in_tree("first"), 0700), 0);
    CHECK_EQ(mkdir(in_tree("second"), 0700), 0);
    write_in_tree("second/scale.h", "two");
}
#define plant(...) CHECK_CALL(plant, __VA_ARGS__)

static _Atomic int disturbances;
static void (*disturb)(void);

UNUSED static int set_up_tree(void **state)
{
    char folder[96];
    set_up(state);
    reopen(*state);
    snprintf(folder, sizeof folder, "%s/tree", ((struct world *)*state)->folder);
    plant(folder);
    CHECK_STATUS(kiln_set_root("tree", tree, NULL), KILN_OK);
    disturbances = 0;
    return 0;
}

UNUSED static int tear_down_tree(void **state)
{
    CHECK_STATUS(kiln_set_root("tree", NULL, NULL), KILN_OK);
    return tear_down(state);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, set_up_tree, tear_down_tree)

/* ---- a compiler with an include path ----------------------------------------------------------------------------- */

/* As compilers search: the first folder that has it. Names each place at which it looked; the content is added to the
 * code, and what it includes in turn. */
UNUSED static void include(const kiln_request *request, const char *name, struct kiln_buffer *code)
{
    static const char *const folders[] = {"first", "second"};
    char content[64] = "", below[96];
    size_t i = 0;
    for (; i < 2 && !*content; i++) {
        snprintf(below, sizeof below, "%s/%s", folders[i], name);
        read_file(in_tree(below), content, sizeof content);
        CHECK_STATUS(kiln_request_depends_file(request, in_tree(below)), KILN_OK);
    }
    bool includes = *content == '#';
    if (includes) include(request, content + 1, code);
    if (!includes) kiln__buffer_printf(code, "%s", *content ? content : "none");
}

UNUSED static size_t name_size(kiln_bytes text)
{
    const char *end = memchr(text.data, ' ', text.size);
    return end ? (size_t)(end - (const char *)text.data) : text.size;
}

UNUSED static kiln_status compile_includes(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                           kiln_error *err)
{
    (void)err;
    struct fake *fake = self;
    struct kiln_buffer code = {0};
    char name[64];
    fake->compiles++;
    snprintf(name, sizeof name, "%.*s", (int)name_size(text), (const char *)text.data);
    include(request, name, &code);
    if (disturbances > 0 && disturbances--) disturb();
    kiln_status status = kiln_artifact_put(out, "code", code.data, code.size);
    kiln__buffer_release(&code);
    return status;
}

UNUSED static kiln_status print_payload(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "%s", (const char *)payload);
}

UNUSED static kiln_function *includer(struct world *world)
{
    world->fake.compiler.compile = compile_includes;
    return lowered(world, "f", print_payload, (void *)"scale.h");
}
#define includer(...) CHECK_CALL(includer, __VA_ARGS__)

UNUSED static void compiles(const struct world *world, unsigned count)
{
    CHECK_EQ(counters_of(world).compiles, count);
}
#define compiles(...) CHECK_CALL(compiles, __VA_ARGS__)

#endif
