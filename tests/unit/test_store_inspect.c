/*
 * test_store_inspect.c - kiln/inspect.h: what is listed, found and opened, what is told about damage, and that looking
 * changes nothing.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "key/content.h"
#include "kiln/inspect.h"
#include "store/tier.h"
#include "support/check.h"

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
    CHECK_STATUS(kiln__content_finish(&key, NULL), KILN_OK);
    artifact->key = key.fields;
    artifact->digest = key.digest;
    artifact->compile_ns = 1234;
    artifact->created_unix_s = 99;
    free(artifact->function);
    artifact->function = strdup("square");
    CHECK_STATUS(kiln_artifact_put(artifact, "text", text, strlen(text)), KILN_OK);
    CHECK_STATUS(kiln_artifact_put(artifact, "object", "\177ELF", 4), KILN_OK);
    CHECK_STATUS(kiln_artifact_set_entry(artifact, "kernel"), KILN_OK);
    return artifact;
}

static void store(struct world *world, const char *text, char digest[KILN_INSPECT_DIGEST])
{
    struct kiln_tier *tier = NULL;
    struct kiln_artifact *artifact = new_artifact(text);
    CHECK_STATUS(kiln__tier_folder(world->folder, true, 0, 0, &world->events, &tier, NULL), KILN_OK);
    CHECK_STATUS(tier->methods->put(tier, artifact, NULL), KILN_OK);
    kiln__digest_hex(&artifact->digest, digest);
    tier->methods->free(tier);
    kiln__artifact_unref(artifact);
}
#define store(...) CHECK_CALL(store, __VA_ARGS__)

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
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    CHECK_EQ(kiln_inspect_count(inspector), 2);
    CHECK_STR(kiln_inspect_folder(inspector), world->folder);
    CHECK_LT(strcmp(kiln_inspect_digest(inspector, 0), kiln_inspect_digest(inspector, 1)), 0);
    CHECK_NULL(kiln_inspect_digest(inspector, 2));
    CHECK_EQ(kiln_inspect_size_bytes(inspector, 2), 0);

    size_t index = 99;
    kiln_entry *entry = NULL;
    kiln_entry_info info;
    CHECK_STATUS(kiln_inspect_find(inspector, second, &index, NULL), KILN_OK);
    CHECK_STATUS(kiln_entry_open(inspector, index, &entry, NULL), KILN_OK);
    kiln_inspect_close(inspector);
    kiln_entry_describe(entry, &info);
    CHECK_STR(info.digest, second);
    CHECK_STR(info.function, "square");
    CHECK_STR(info.entry, "kernel");
    CHECK_EQ(info.compile_ns, 1234);
    CHECK_EQ(info.created_unix_s, 99);
    CHECK_EQ(info.section_count, 2);
    CHECK_EQ(info.key_field_count, 2);
    CHECK_GT(info.size_bytes, 0);

    kiln_bytes text = kiln_entry_get(entry, "text"), name, value;
    CHECK_EQ(text.size, 3);
    CHECK_MEM(text.data, "two", 3);
    CHECK_NULL(kiln_entry_get(entry, "bitcode").data);
    CHECK_NULL(kiln_entry_section(entry, 2, &value));
    CHECK_TRUE(kiln_entry_key_field(entry, 1, &name, &value));
    CHECK_EQ(name.size, 4);
    CHECK_MEM(name.data, "text", 4);
    CHECK_MEM(value.data, "two", 3);
    CHECK_FALSE(kiln_entry_key_field(entry, 2, &name, &value));
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
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    bool has_several = false;
    for (char digit[2] = "0"; digit[0] <= '9'; digit[0]++)
        if (kiln_inspect_find(inspector, digit, &index, &err) != KILN_OK)
            has_several |= strstr(err.text, "give more digits") != NULL;
    for (char digit[2] = "a"; digit[0] <= 'f'; digit[0]++)
        if (kiln_inspect_find(inspector, digit, &index, &err) != KILN_OK)
            has_several |= strstr(err.text, "give more digits") != NULL;
    CHECK_TRUE(has_several);
    static const char *const bad[] = {"", "xyz", "ABC", "-1",
                                      "00000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(kiln_inspect_find(inspector, bad[i], &index, &err), KILN_INVALID, &err);
        CHECK_CONTAINS(err.text, "is not a digest");
    }
    kiln_inspect_close(inspector);
}

static void damage(const char *folder, const char *digest)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%.2s/%s.kiln", folder, digest, digest);
    chmod(path, 0600);
    FILE *file = fopen(path, "r+");
    CHECK_NOT_NULL(file);
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
        CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
        CHECK_EQ(kiln_inspect_count(inspector), 1);
        CHECK_STATUS(kiln_entry_open(inspector, 0, &entry, &err), KILN_INVALID, &err);
        CHECK_GT(strlen(err.text), 0);
        CHECK_NULL(entry);
        CHECK_STATUS(kiln_entry_open(inspector, 1, &entry, &err), KILN_INVALID, &err);
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
    CHECK_EQ(rename(from, to), 0);
    kiln_inspector *inspector = NULL;
    kiln_entry *entry = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    CHECK_STATUS(kiln_entry_open(inspector, 0, &entry, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "misplaced");
    CHECK_EQ(unlink(to), 0);
    CHECK_STATUS(kiln_entry_open(inspector, 0, &entry, &err), KILN_IO, &err);
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
        CHECK_STATUS(kiln__file_publish(path, "x", 1, NULL), KILN_OK);
    }
    kiln_inspector *inspector = NULL;
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    CHECK_EQ(kiln_inspect_count(inspector), 1);
    kiln_inspect_close(inspector);
}

static void checks_folders(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char path[200];
    CHECK_OK(kiln_inspect_check_folder(world->folder, &err), &err); /* can be made */
    CHECK_NE(access(world->folder, F_OK), 0);                       /* was not */
    kiln_inspector *inspector = NULL;
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, &err), KILN_IO, &err);
    CHECK_EQ(mkdir(world->folder, 0700), 0);
    CHECK_OK(kiln_inspect_check_folder(world->folder, &err), &err);
    chmod(world->folder, 0777);
    CHECK_STATUS(kiln_inspect_check_folder(world->folder, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "others may write");
    snprintf(path, sizeof path, "%s/file", world->root);
    CHECK_STATUS(kiln__file_publish(path, "x", 1, NULL), KILN_OK);
    CHECK_STATUS(kiln_inspect_check_folder(path, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "not a folder");
    CHECK_STATUS(kiln_inspect_check_folder("", &err), KILN_INVALID, &err);
    strcat(path, "/below");
    CHECK_STATUS(kiln_inspect_check_folder(path, &err), KILN_IO, &err);
}

static void tells_the_tool_chain(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char path[200], line[32];
    CHECK_STATUS(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_IO, &err);
    CHECK_NE(access(world->folder, F_OK), 0); /* was not made */
    CHECK_EQ(mkdir(world->folder, 0700), 0);
    CHECK_STATUS(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "names no tool chain");
    snprintf(path, sizeof path, "%s/toolchain", world->folder);
    CHECK_STATUS(kiln__file_publish(path, "plugin:1 llvm:2\n", 16, NULL), KILN_OK);
    CHECK_OK(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), &err);
    CHECK_STR(line, "plugin:1 llvm:2");
    setenv("KILN_CACHE_DIR", world->folder, 1);
    CHECK_OK(kiln_inspect_toolchain(NULL, line, 16, &err), &err);
    CHECK_STATUS(kiln_inspect_toolchain(NULL, line, 15, &err), KILN_INVALID, &err);
    chmod(path, 0666);
    CHECK_STATUS(kiln_inspect_toolchain(world->folder, line, sizeof line, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "may write");
}

static void default_folder_follows_the_environment(void **state)
{
    (void)state;
    char path[64];
    kiln_error err = {0};
    setenv("KILN_CACHE_DIR", "/one", 1), setenv("XDG_CACHE_HOME", "/two", 1), setenv("HOME", "/three", 1);
    CHECK_OK(kiln_inspect_default_folder(path, sizeof path, &err), &err);
    CHECK_STR(path, "/one");
    unsetenv("KILN_CACHE_DIR");
    CHECK_OK(kiln_inspect_default_folder(path, sizeof path, &err), &err);
    CHECK_STR(path, "/two/kiln");
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    CHECK_OK(kiln_inspect_default_folder(path, sizeof path, &err), &err);
    CHECK_STR(path, "/three/.cache/kiln");
    CHECK_STATUS(kiln_inspect_default_folder(path, 8, &err), KILN_INVALID, &err);
    unsetenv("HOME");
    CHECK_STATUS(kiln_inspect_default_folder(path, sizeof path, &err), KILN_INVALID, &err);
    setenv("KILN_CACHE_DIR", "", 1);
    CHECK_STATUS(kiln_inspect_default_folder(path, sizeof path, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "memory only");
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
