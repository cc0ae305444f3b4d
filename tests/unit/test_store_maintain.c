/*
 * test_store_maintain.c - kiln/maintain.h: what pruning and clearing remove, keep and refuse, and what is asked of the
 * environment.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "key/content.h"
#include "kiln/maintain.h"
#include "store/tier.h"
#include "support/check.h"

enum { ARTIFACTS = 10 };

struct world {
    char root[64], folder[80];
    struct kiln_tier_events events;
    char paths[ARTIFACTS][256];
};

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static void store(struct world *world, struct kiln_tier *tier, int number)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    struct kiln_content_key key = {0};
    char hex[KILN_DIGEST_HEX], data[1000] = "";
    snprintf(data, sizeof data, "%d", number);
    kiln__content_text(&key, "text", data);
    CHECK_STATUS(kiln__content_finish(&key, NULL), KILN_OK);
    artifact->key = key.fields;
    artifact->digest = key.digest;
    CHECK_STATUS(kiln_artifact_put(artifact, "object", data, sizeof data), KILN_OK);
    CHECK_STATUS(tier->methods->put(tier, artifact, NULL), KILN_OK);
    kiln__digest_hex(&artifact->digest, hex);
    snprintf(world->paths[number], sizeof world->paths[number], "%s/%.2s/%s.kiln", world->folder, hex, hex);
    kiln__artifact_unref(artifact);
    /* Artifact 0 was used last a day ago, 1 two days ago, ... */
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 86400 * (number + 1)},
                                      {.tv_sec = time(NULL) - 86400 * (number + 1)}};
    CHECK_EQ(utimensat(AT_FDCWD, world->paths[number], times, 0), 0);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    struct kiln_tier *tier = NULL;
    if (!world) return -1;
    strcpy(world->root, "/tmp/kiln-test-XXXXXX");
    if (!mkdtemp(world->root)) return -1;
    snprintf(world->folder, sizeof world->folder, "%s/cache", world->root);
    if (kiln__tier_folder(world->folder, true, 0, 0, &world->events, &tier, NULL) != KILN_OK) return -1;
    for (int i = 0; i < ARTIFACTS; i++) store(world, tier, i);
    tier->methods->free(tier);
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

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The `count` used last are there, and no other. */
static void expect_newest(const struct world *world, int count)
{
    for (int i = 0; i < ARTIFACTS; i++) CHECK_EQ(exists(world->paths[i]), i < count);
}
#define expect_newest(...) CHECK_CALL(expect_newest, __VA_ARGS__)

static void write_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK_NOT_NULL(file);
    fputs("mine", file);
    fclose(file);
}
#define write_file(...) CHECK_CALL(write_file, __VA_ARGS__)

static void prunes_to_exact_bounds(void **state)
{
    struct world *world = *state;
    struct stat info;
    kiln_prune_report report;
    kiln_prune_options options = {.struct_size = sizeof options, .max_files = 8, .dry_run = true};
    CHECK_EQ(stat(world->paths[0], &info), 0);
    uint64_t size = (uint64_t)info.st_size;
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, 2);
    expect_newest(world, ARTIFACTS);
    options.dry_run = false;
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, 2);
    CHECK_EQ(report.removed_bytes, 2 * size);
    CHECK_EQ(report.kept_files, 8);
    expect_newest(world, 8);
    options = (kiln_prune_options){.struct_size = sizeof options, .max_bytes = 5 * size + size / 2};
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_EQ(report.kept_bytes, 5 * size);
    expect_newest(world, 5);
    options = (kiln_prune_options){.struct_size = sizeof options, .max_age_s = 86400 * 3 + 3600};
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    expect_newest(world, 3);
    options = (kiln_prune_options){.struct_size = sizeof options};
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, 0);
    CHECK_EQ(report.kept_files, 3);
    expect_newest(world, 3);
}

static void leaves_other_names_alone(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"mine.kiln", "mine.bad", "mine.tmp-1", "0123.kiln", "mine.lock"};
    char sub_folder[256], path[512], upper[512];
    kiln_prune_report report;
    const kiln_prune_options options = {.struct_size = sizeof options, .max_files = 1};
    snprintf(sub_folder, sizeof sub_folder, "%.*s", (int)(strrchr(world->paths[0], '/') - world->paths[0]),
             world->paths[0]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(sub_folder, names[i]);
    snprintf(upper, sizeof upper, "%s/ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789.kiln",
             sub_folder);
    write_file(sub_folder, strrchr(upper, '/') + 1);
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, ARTIFACTS - 1);
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, 1);
    expect_newest(world, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", sub_folder, names[i]);
        CHECK_TRUE(exists(path));
    }
    CHECK_TRUE(exists(upper));
}

static void does_not_follow_links(void **state)
{
    struct world *world = *state;
    char other[128], link[128], path[512], hex[65];
    kiln_prune_report report;
    kiln_error err = {0};
    memset(hex, 'a', 64), hex[64] = '\0';
    snprintf(other, sizeof other, "%s/other", world->root);
    CHECK_EQ(mkdir(other, 0700), 0);
    snprintf(path, sizeof path, "%s.kiln", hex);
    write_file(other, path);
    snprintf(path, sizeof path, "%s/%s.kiln", other, hex);
    snprintf(link, sizeof link, "%s/aa", world->folder);
    if (exists(link)) return; /* an artifact lives there: nothing can be put in its place */
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    CHECK_EQ(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    CHECK_EQ(symlink(other, link), 0);
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "'aa'");
    const kiln_prune_options options = {.struct_size = sizeof options, .max_files = 1};
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_TRUE(exists(path));
}

static void clears_caches_only(void **state)
{
    struct world *world = *state;
    kiln_prune_report report;
    kiln_error err = {0};
    CHECK_STATUS(kiln_clear_check(world->folder, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, ARTIFACTS);
    expect_newest(world, ARTIFACTS);
    write_file(world->folder, "README");
    CHECK_STATUS(kiln_clear_check(world->folder, &report, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "README");
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, NULL), KILN_INVALID);
    CHECK_STATUS(kiln_clear(world->root, NULL, &report, NULL), KILN_INVALID);
    expect_newest(world, ARTIFACTS);
    char readme[128];
    snprintf(readme, sizeof readme, "%s/README", world->folder);
    CHECK_EQ(remove(readme), 0);
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, ARTIFACTS);
    CHECK_EQ(rmdir(world->folder), 0); /* empty, and still there */
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, &err), KILN_IO, &err);
    const kiln_prune_options options = {.struct_size = sizeof options};
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, &err), KILN_IO, &err);
}

struct told {
    int looking, removing;
    bool is_wrong;
};

static void note(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct told *told = context;
    told->looking += strcmp(what, "looking") == 0;
    told->removing += strcmp(what, "removing") == 0;
    told->is_wrong |= total != 0 && done > total;
}

static void tells_progress(void **state)
{
    struct world *world = *state;
    struct told told = {0};
    kiln_prune_report report;
    const kiln_progress progress = {note, &told};
    CHECK_STATUS(kiln_clear(world->folder, &progress, &report, NULL), KILN_OK);
    CHECK_TRUE(told.looking > 0 && told.removing > 0 && !told.is_wrong);
}

static void puts_aside(void **state)
{
    struct world *world = *state;
    kiln_inspector *inspector = NULL;
    kiln_prune_report report;
    char path[300];
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    const char *digest = kiln_inspect_digest(inspector, 3);
    CHECK_STATUS(kiln_inspect_put_aside(inspector, 3, NULL), KILN_OK);
    snprintf(path, sizeof path, "%s/%.2s/%s.bad", world->folder, digest, digest);
    CHECK_TRUE(exists(path));
    CHECK_STATUS(kiln_inspect_put_aside(inspector, 3, NULL), KILN_IO);
    CHECK_STATUS(kiln_inspect_put_aside(inspector, ARTIFACTS, NULL), KILN_INVALID);
    kiln_inspect_close(inspector);
    CHECK_STATUS(kiln_clear(world->folder, NULL, &report, NULL), KILN_OK);
    CHECK_EQ(report.removed_files, ARTIFACTS);
    CHECK_FALSE(exists(path));
}

static void tells_what_is_usable(void **state)
{
    struct world *world = *state;
    kiln_inspector *inspector = NULL;
    kiln_entry *entry = NULL;
    kiln_entry_info info;
    kiln_error err = {0};
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    CHECK_STATUS(kiln_entry_open(inspector, 0, &entry, NULL), KILN_OK);
    CHECK_STATUS(kiln_entry_check_usable(entry, NULL), KILN_OK);
    kiln_entry_describe(entry, &info);
    CHECK_EQ(chmod(info.path, 0620), 0);
    CHECK_STATUS(kiln_entry_check_usable(entry, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "620");
    kiln_entry_close(entry);
    kiln_inspect_close(inspector);
}

static void parses_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_size;
        uint64_t size;
    } cases[] = {{"0", true, 0},
                 {"17", true, 17},
                 {"2k", true, 2048},
                 {"3M", true, 3 << 20},
                 {"5G", true, 5ull << 30},
                 {"1t", true, 1ull << 40},
                 {"18446744073709551615", true, UINT64_MAX},
                 {"18446744073709551616", false, 0},
                 {"16777216T", false, 0},
                 {"", false, 0},
                 {"G", false, 0},
                 {"-1", false, 0},
                 {"1 G", false, 0},
                 {"1GB", false, 0},
                 {"1x", false, 0},
                 {" 1", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t size = 0;
        CHECK_EQ(kiln_parse_size(cases[i].text, &size), cases[i].is_size);
        CHECK_EQ(size, cases[i].size);
    }
    uint64_t bytes, files;
    unsetenv("KILN_CACHE_SIZE");
    kiln_default_bounds(&bytes, &files);
    CHECK_EQ(bytes, 5ull << 30);
    CHECK_EQ(files, 200000);
    setenv("KILN_CACHE_SIZE", "64M", 1);
    kiln_default_bounds(&bytes, &files);
    CHECK_EQ(bytes, 64 << 20);
    setenv("KILN_CACHE_SIZE", "a lot", 1);
    kiln_default_bounds(&bytes, &files);
    CHECK_EQ(bytes, 5ull << 30);
    unsetenv("KILN_CACHE_SIZE");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(prunes_to_exact_bounds), WITH_FOLDER(leaves_other_names_alone), WITH_FOLDER(does_not_follow_links),
        WITH_FOLDER(clears_caches_only),     WITH_FOLDER(tells_progress),           WITH_FOLDER(puts_aside),
        WITH_FOLDER(tells_what_is_usable),   cmocka_unit_test(parses_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
