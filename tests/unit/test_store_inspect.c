/*
 * test_store_inspect.c - kiln/inspect.h: what is listed, found and opened, what is told about damage, and that looking
 * changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "key/content.h"
#include "kiln/inspect.h"
#include "store/tier.h"

struct world {
    char root[64], folder[80];
    struct kiln_tier_events events;
};

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

/* An artifact whose key has the fields compiler and text. */
static struct kiln_artifact *new_artifact(const char *text)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    struct kiln_content_key key = {0};
    kiln__content_text(&key, "compiler", "none");
    kiln__content_text(&key, "text", text);
    assert_int_equal(kiln__content_finish(&key, NULL), KILN_OK);
    artifact->key = key.fields;
    artifact->digest = key.digest;
    artifact->compile_ns = 1234;
    artifact->created_unix_s = 99;
    free(artifact->function);
    artifact->function = strdup("square");
    assert_int_equal(kiln_artifact_put(artifact, "text", text, strlen(text)), KILN_OK);
    assert_int_equal(kiln_artifact_put(artifact, "object", "\177ELF", 4), KILN_OK);
    assert_int_equal(kiln_artifact_set_entry(artifact, "kernel"), KILN_OK);
    return artifact;
}

static void store(struct world *world, const char *text, char digest[KILN_INSPECT_DIGEST])
{
    struct kiln_tier *tier = NULL;
    struct kiln_artifact *artifact = new_artifact(text);
    assert_int_equal(kiln__tier_folder(world->folder, true, 0, 0, &world->events, &tier, NULL), KILN_OK);
    assert_int_equal(tier->methods->put(tier, artifact, NULL), KILN_OK);
    kiln__digest_hex(&artifact->digest, digest);
    tier->methods->free(tier);
    kiln__artifact_unref(artifact);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    if (!world) return -1;
    strcpy(world->root, "/tmp/kiln-test-XXXXXX");
    if (!mkdtemp(world->root)) return -1;
    snprintf(world->folder, sizeof world->folder, "%s/cache", world->root);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    nftw(world->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(world);
    return 0;
}

static void lists_and_opens(void **state)
{
    struct world *world = *state;
    char first[KILN_INSPECT_DIGEST], second[KILN_INSPECT_DIGEST];
    store(world, "one", first);
    store(world, "two", second);
    kiln_inspector *inspector = NULL;
    assert_int_equal(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    assert_int_equal(kiln_inspect_count(inspector), 2);
    assert_string_equal(kiln_inspect_folder(inspector), world->folder);
    assert_true(strcmp(kiln_inspect_digest(inspector, 0), kiln_inspect_digest(inspector, 1)) < 0);
    assert_null(kiln_inspect_digest(inspector, 2));
    assert_int_equal(kiln_inspect_size_bytes(inspector, 2), 0);

    size_t index = 99;
    kiln_entry *entry = NULL;
    kiln_entry_info info;
    assert_int_equal(kiln_inspect_find(inspector, second, &index, NULL), KILN_OK);
    assert_int_equal(kiln_entry_open(inspector, index, &entry, NULL), KILN_OK);
    kiln_inspect_close(inspector);
    kiln_entry_describe(entry, &info);
    assert_string_equal(info.digest, second);
    assert_string_equal(info.function, "square");
    assert_string_equal(info.entry, "kernel");
    assert_int_equal(info.compile_ns, 1234);
    assert_int_equal(info.created_unix_s, 99);
    assert_int_equal(info.section_count, 2);
    assert_int_equal(info.key_field_count, 2);
    assert_true(info.size_bytes > 0);

    kiln_bytes text = kiln_entry_get(entry, "text"), name, value;
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "two", 3);
    assert_null(kiln_entry_get(entry, "bitcode").data);
    assert_null(kiln_entry_section(entry, 2, &value));
    assert_true(kiln_entry_key_field(entry, 1, &name, &value));
    assert_int_equal(name.size, 4);
    assert_memory_equal(name.data, "text", 4);
    assert_memory_equal(value.data, "two", 3);
    assert_false(kiln_entry_key_field(entry, 2, &name, &value));
    kiln_entry_close(entry);
    kiln_entry_close(NULL);
    kiln_inspect_close(NULL);
}

static void finds_by_prefix(void **state)
{
    struct world *world = *state;
    char digest[KILN_INSPECT_DIGEST];
    for (int i = 0; i < 17; i++) { /* two of seventeen begin alike */
        char text[8];
        snprintf(text, sizeof text, "%d", i);
        store(world, text, digest);
    }
    kiln_inspector *inspector = NULL;
    kiln_error err = {0};
    size_t index;
    assert_int_equal(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    bool has_several = false;
    for (char digit[2] = "0"; digit[0] <= '9'; digit[0]++)
        if (kiln_inspect_find(inspector, digit, &index, &err) != KILN_OK)
            has_several |= strstr(err.text, "give more digits") != NULL;
    for (char digit[2] = "a"; digit[0] <= 'f'; digit[0]++)
        if (kiln_inspect_find(inspector, digit, &index, &err) != KILN_OK)
            has_several |= strstr(err.text, "give more digits") != NULL;
    assert_true(has_several);
    static const char *const bad[] = {"", "xyz", "ABC", "-1",
                                      "00000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kiln_inspect_find(inspector, bad[i], &index, &err), KILN_INVALID);
        assert_non_null(strstr(err.text, "is not a digest"));
    }
    kiln_inspect_close(inspector);
}

static void damage(const char *folder, const char *digest)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%.2s/%s.kiln", folder, digest, digest);
    chmod(path, 0600);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    int last = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(last ^ 1, file);
    fclose(file);
}

static void tells_damage_and_leaves_it(void **state)
{
    struct world *world = *state;
    char digest[KILN_INSPECT_DIGEST];
    store(world, "one", digest);
    damage(world->folder, digest);
    for (int i = 0; i < 2; i++) { /* the second time: it is still there */
        kiln_inspector *inspector = NULL;
        kiln_entry *entry = NULL;
        kiln_error err = {0};
        assert_int_equal(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
        assert_int_equal(kiln_inspect_count(inspector), 1);
        assert_int_equal(kiln_entry_open(inspector, 0, &entry, &err), KILN_INVALID);
        assert_true(strlen(err.text) > 0);
        assert_null(entry);
        assert_int_equal(kiln_entry_open(inspector, 1, &entry, &err), KILN_INVALID);
        kiln_inspect_close(inspector);
    }
}

static void tells_misplaced(void **state)
{
    struct world *world = *state;
    char digest[KILN_INSPECT_DIGEST], from[200], to[200];
    store(world, "one", digest);
    snprintf(from, sizeof from, "%s/%.2s/%s.kiln", world->folder, digest, digest);
    digest[63] = digest[63] == '0' ? '1' : '0';
    snprintf(to, sizeof to, "%s/%.2s/%s.kiln", world->folder, digest, digest);
    assert_int_equal(rename(from, to), 0);
    kiln_inspector *inspector = NULL;
    kiln_entry *entry = NULL;
    kiln_error err = {0};
    assert_int_equal(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    assert_int_equal(kiln_entry_open(inspector, 0, &entry, &err), KILN_INVALID);
    assert_non_null(strstr(err.text, "misplaced"));
    assert_int_equal(unlink(to), 0);
    assert_int_equal(kiln_entry_open(inspector, 0, &entry, &err), KILN_IO);
    kiln_inspect_close(inspector);
}

static void passes_over_other_files(void **state)
{
    struct world *world = *state;
    char digest[KILN_INSPECT_DIGEST], path[200];
    store(world, "one", digest);
    const char *const endings[] = {".kiln.tmp-1", ".bad", ".kiln~", ""};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, sizeof path, "%s/%.2s/%s%s", world->folder, digest, digest, endings[i]);
        assert_int_equal(kiln__file_publish(path, "x", 1, NULL), KILN_OK);
    }
    kiln_inspector *inspector = NULL;
    assert_int_equal(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    assert_int_equal(kiln_inspect_count(inspector), 1);
    kiln_inspect_close(inspector);
}

static void checks_folders(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char path[200];
    assert_int_equal(kiln_inspect_check_folder(world->folder, &err), KILN_OK); /* can be made */
    assert_int_not_equal(access(world->folder, F_OK), 0);                      /* was not */
    kiln_inspector *inspector = NULL;
    assert_int_equal(kiln_inspect_open(world->folder, &inspector, &err), KILN_IO);
    assert_int_equal(mkdir(world->folder, 0700), 0);
    assert_int_equal(kiln_inspect_check_folder(world->folder, &err), KILN_OK);
    chmod(world->folder, 0777);
    assert_int_equal(kiln_inspect_check_folder(world->folder, &err), KILN_IO);
    assert_non_null(strstr(err.text, "others may write"));
    snprintf(path, sizeof path, "%s/file", world->root);
    assert_int_equal(kiln__file_publish(path, "x", 1, NULL), KILN_OK);
    assert_int_equal(kiln_inspect_check_folder(path, &err), KILN_IO);
    assert_non_null(strstr(err.text, "not a folder"));
    assert_int_equal(kiln_inspect_check_folder("", &err), KILN_INVALID);
    strcat(path, "/below");
    assert_int_equal(kiln_inspect_check_folder(path, &err), KILN_IO);
}

static void tells_the_tool_chain(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char path[200], line[32];
    assert_int_equal(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_IO);
    assert_int_not_equal(access(world->folder, F_OK), 0); /* was not made */
    assert_int_equal(mkdir(world->folder, 0700), 0);
    assert_int_equal(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_INVALID);
    assert_non_null(strstr(err.text, "names no tool chain"));
    snprintf(path, sizeof path, "%s/toolchain", world->folder);
    assert_int_equal(kiln__file_publish(path, "plugin:1 llvm:2\n", 16, NULL), KILN_OK);
    assert_int_equal(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_OK);
    assert_string_equal(line, "plugin:1 llvm:2");
    setenv("KILN_CACHE_DIR", world->folder, 1);
    assert_int_equal(kiln_inspect_toolchain(NULL, line, 16, &err), KILN_OK);
    assert_int_equal(kiln_inspect_toolchain(NULL, line, 15, &err), KILN_INVALID);
    chmod(path, 0666);
    assert_int_equal(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_IO);
    assert_non_null(strstr(err.text, "may write"));
}

static void default_folder_follows_the_environment(void **state)
{
    (void)state;
    char path[64];
    kiln_error err = {0};
    setenv("KILN_CACHE_DIR", "/one", 1), setenv("XDG_CACHE_HOME", "/two", 1), setenv("HOME", "/three", 1);
    assert_int_equal(kiln_inspect_default_folder(path, sizeof path, &err), KILN_OK);
    assert_string_equal(path, "/one");
    unsetenv("KILN_CACHE_DIR");
    assert_int_equal(kiln_inspect_default_folder(path, sizeof path, &err), KILN_OK);
    assert_string_equal(path, "/two/kiln");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    assert_int_equal(kiln_inspect_default_folder(path, sizeof path, &err), KILN_OK);
    assert_string_equal(path, "/three/.cache/kiln");
    assert_int_equal(kiln_inspect_default_folder(path, 8, &err), KILN_INVALID);
    unsetenv("HOME");
    assert_int_equal(kiln_inspect_default_folder(path, sizeof path, &err), KILN_INVALID);
    setenv("KILN_CACHE_DIR", "", 1);
    assert_int_equal(kiln_inspect_default_folder(path, sizeof path, &err), KILN_INVALID);
    assert_non_null(strstr(err.text, "memory only"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_and_opens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_by_prefix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_damage_and_leaves_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_misplaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(passes_over_other_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checks_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_the_tool_chain, set_up, tear_down),
        cmocka_unit_test(default_folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
