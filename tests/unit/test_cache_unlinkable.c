/*
 * test_cache_unlinkable.c - stored artifacts whose bytes are right and which can't be linked: put aside, counted,
 * compiled anew; and links that fail for other reasons, which are nobody's fault. Skipped when KILN_PLUGIN names no
 * plug-in.
 */
#include "process_support.h"

#include <elf.h>

#include "base/file.h"
#include "kiln/inspect.h"
#include "store/artifact.h"

static const char twice[] = "define i64 @kernel(i64 %x) {\n  %y = shl i64 %x, 1\n  ret i64 %y\n}\n";

struct world {
    char folder[64];
    char path[PATH_MAX]; /* of the kernel's file */
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    unsetenv("KILN_MODE");
    remove_folder(world->folder);
    free(world);
    return 0;
}

/* The outcome of a call in a cache of its own, whose counters are given. A result is run. */
static kiln_status call(const struct world *world, kiln_counters *counters, kiln_error *err)
{
    kiln_cache *cache = open_cache(world->folder);
    kiln_function *function = new_text(cache, NULL, "twice", twice);
    void *executable = NULL;
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, err);
    if (!status) {
        int64_t (*kernel)(int64_t);
        memcpy(&kernel, &executable, sizeof kernel);
        CHECK_EQ(kernel(21), 42);
    }
    kiln_cache_counters(cache, counters);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return status;
}

static bool is_kernel(const char *path)
{
    kiln_bytes bytes;
    struct kiln_artifact *artifact = NULL;
    CHECK_EQ(kiln__file_map(path, &bytes, NULL), KILN_DONE);
    CHECK_STATUS(kiln__artifact_decode(bytes, true, &artifact, NULL), KILN_OK);
    bool found = kiln_artifact_get(artifact, "object").data != NULL;
    kiln__artifact_unref(artifact);
    return found;
}

/* The first call, and where it stored the kernel; beside it is the run-time library. */
static bool fill(struct world *world)
{
    kiln_counters counters;
    kiln_error err = {0};
    const char *plugin = getenv("KILN_PLUGIN");
    if (!plugin || access(plugin, R_OK) != 0) return false;
    CHECK_OK(call(world, &counters, &err), &err);
    kiln_inspector *inspector = NULL;
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    for (size_t i = 0; i < kiln_inspect_count(inspector); i++) {
        const char *digest = kiln_inspect_digest(inspector, i);
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%.2s/%s.kiln", world->folder, digest, digest);
        if (is_kernel(path)) strcpy(world->path, path);
    }
    kiln_inspect_close(inspector);
    CHECK_TRUE(world->path[0]);
    return true;
}

/* Stores the kernel with another object, all checksums right. */
static void replace_object(const struct world *world, void (*change)(struct kiln_buffer *object))
{
    kiln_bytes bytes;
    struct kiln_artifact *artifact = NULL, *copy;
    struct kiln_buffer object = {0}, file = {0};
    CHECK_EQ(kiln__file_map(world->path, &bytes, NULL), KILN_DONE);
    CHECK_STATUS(kiln__artifact_decode(bytes, true, &artifact, NULL), KILN_OK);
    copy = kiln__artifact_copy(artifact);
    kiln_bytes was = kiln_artifact_get(artifact, "object");
    kiln__buffer_append(&object, was.data, was.size);
    change(&object);
    CHECK_STATUS(kiln_artifact_put(copy, "object", object.data, object.size), KILN_OK);
    CHECK_STATUS(kiln__artifact_encode(copy, &file, NULL), KILN_OK);
    CHECK_STATUS(kiln__file_publish(world->path, file.data, file.size, NULL), KILN_OK);
    kiln__buffer_release(&object);
    kiln__buffer_release(&file);
    kiln__artifact_unref(copy);
    kiln__artifact_unref(artifact);
}
#define replace_object(...) CHECK_CALL(replace_object, __VA_ARGS__)

static void of_another_machine(struct kiln_buffer *object)
{
    ((Elf64_Ehdr *)object->data)->e_machine = EM_AARCH64;
}

static void cut(struct kiln_buffer *object)
{
    object->size = 40;
}

static void without_entry(struct kiln_buffer *object)
{
    for (size_t i = 0; i + 6 <= object->size; i++)
        if (!memcmp(object->data + i, "kernel", 6)) object->data[i] = 'K';
}

static void emptied(struct kiln_buffer *object)
{
    object->size = 0;
}

/* What kiln verify asks of the kernel's file. */
static kiln_status check_links(const struct world *world, kiln_error *err)
{
    kiln_inspector *inspector = NULL;
    kiln_status status = KILN_OK;
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    for (size_t i = 0; i < kiln_inspect_count(inspector); i++) {
        kiln_entry *entry = NULL;
        CHECK_OK(kiln_entry_open(inspector, i, &entry, err), err);
        kiln_status one = kiln_entry_check_links(entry, err);
        bool is_it = strstr(world->path, kiln_inspect_digest(inspector, i)) != NULL;
        if (is_it) status = one;
        if (!is_it) CHECK_EQ(one, KILN_OK);
        kiln_entry_close(entry);
    }
    kiln_inspect_close(inspector);
    return status;
}

static void test_made_anew(void **state)
{
    struct world *world = *state;
    static void (*const changes[])(struct kiln_buffer *) = {of_another_machine, cut, without_entry, emptied};
    if (!fill(world)) CHECK_SKIP();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        kiln_counters counters;
        kiln_error err = {0};
        CHECK_OK(check_links(world, &err), &err);
        replace_object(world, changes[i]);
        CHECK_STATUS(check_links(world, &err), KILN_LINK_FAILED, &err);
        CHECK_CONTAINS(err.text, "object");
        kiln_status status = call(world, &counters, &err);
        if (status) CHECK_FAIL("change %zu: %s", i, err.text);
        CHECK_EQ(counters.corrupt, 1);
        CHECK_EQ(counters.compiles, 1);
        CHECK_EQ(counters.disk_hits, 0);
        CHECK_EQ(counters.saved_ns, 0); /* what was found could not be used */
        CHECK_EQ(counters.cache_faults, 0);
        CHECK_EQ(count_files(world->folder, ".bad", NULL), 1);
        CHECK_OK(call(world, &counters, &err), &err); /* for good */
        CHECK_EQ(counters.corrupt, 0);
        CHECK_EQ(counters.compiles, 0);
        CHECK_EQ(counters.disk_hits, 1);
    }
}

/* Where nothing may be compiled, the error names what can't be linked, and the file stays. */
static void test_no_compile(void **state)
{
    struct world *world = *state;
    kiln_counters counters;
    kiln_error err = {0};
    char digest[65];
    if (!fill(world)) CHECK_SKIP();
    snprintf(digest, sizeof digest, "%.64s", strrchr(world->path, '/') + 1);
    replace_object(world, of_another_machine);
    setenv("KILN_MODE", "no-compile", 1);
    CHECK_STATUS(call(world, &counters, &err), KILN_LINK_FAILED, &err);
    CHECK_CONTAINS(err.text, "machine 183");
    CHECK_CONTAINS(err.text, digest);
    CHECK_EQ(counters.compiles, 0);
    CHECK_EQ(access(world->path, F_OK), 0);
}

/* In a folder that is only read it can't be put aside; the folder that is written gets the new one. */
static void test_read_only(void **state)
{
    struct world *world = *state;
    char own[80];
    kiln_counters counters;
    kiln_error err = {0};
    if (!fill(world)) CHECK_SKIP();
    replace_object(world, of_another_machine);
    snprintf(own, sizeof own, "%s/own", world->folder);
    for (int i = 0; i < 2; i++) {
        const kiln_cache_options options = {.struct_size = sizeof options,
                                            .folder = own,
                                            .read_only_folders = (const char *const[]){world->folder, NULL}};
        kiln_cache *cache = NULL;
        CHECK_STATUS(kiln_cache_open(&options, &cache, NULL), KILN_OK);
        kiln_function *function = new_text(cache, NULL, "twice", twice);
        void *executable = NULL;
        CHECK_OK(kiln_get(function, NULL, 0, NULL, &executable, &err), &err);
        kiln_cache_counters(cache, &counters);
        CHECK_EQ(counters.corrupt, 1);
        CHECK_EQ(counters.compiles, i == 0); /* the second time it is found behind the bad one */
        kiln_function_free(function);
        kiln_cache_close(cache);
    }
    CHECK_EQ(access(world->path, F_OK), 0);
}

/* A link that fails, whatever it is given, is not the file's fault. */
static void test_link_failures_of_others(void **state)
{
    struct world *world = *state;
    struct fake fake;
    fake_init(&fake);
    for (int is_stored = 0; is_stored < 2; is_stored++) {
        kiln_cache *cache = open_cache(world->folder);
        kiln_function *function = new_text(cache, &fake.compiler, "f", "text");
        void *executable = NULL;
        kiln_error err = {0};
        kiln_counters counters;
        fake.fails_to_link = true;
        fake.compiles = 0;
        CHECK_STATUS(kiln_get(function, NULL, 0, NULL, &executable, &err), KILN_LINK_FAILED, &err);
        CHECK_CONTAINS(err.text, "no room");
        kiln_cache_counters(cache, &counters);
        CHECK_EQ(counters.corrupt, 0);
        CHECK_EQ(fake.compiles, 1); /* stored, it is compiled to see whether that can be linked */
        CHECK_EQ(count_files(world->folder, ".bad", NULL), 0);
        CHECK_EQ(count_files(world->folder, ".kiln", NULL), 1);
        fake.fails_to_link = false;
        CHECK_OK(kiln_get(function, NULL, 0, NULL, &executable, &err), &err);
        CHECK_EQ(fake.compiles, 1);
        kiln_function_free(function);
        kiln_cache_close(cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_link_failures_of_others, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
