/*
 * test_store_prune.c - the bounds of a folder, each at its value and one beside it: how many, how much, how old, and
 * when the ledger is believed. The clock stands where a test puts it.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "store/ledger.h"
#include "store/prune.h"
#include "store/tier.h"
#include "support/check.h"

enum { NOW = 1700000000, HOUR = 3600, SIZE = 100, RECORD = 40 /* bytes of the ledger */ };

static time_t now;

time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
    if (out) *out = now;
    return now;
}

/* ---- a folder -----------------------------------------------------------------------------------------------------
 */

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    now = NOW;
    strcpy(folder, "/tmp/kiln-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of file `number` with this ending, in sub-folder 00. */
static void path_of(int number, const char *ending, char path[256])
{
    snprintf(path, 256, "%s/00/%064x%s", folder, (unsigned)number, ending);
}

/* A file of SIZE bytes that was used last at `used`. */
static void write_at(const char *path, time_t used)
{
    char sub_folder[80];
    static const char bytes[SIZE];
    snprintf(sub_folder, sizeof sub_folder, "%s/00", folder);
    mkdir(sub_folder, 0700);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_GE(fd, 0);
    CHECK_EQ(write(fd, bytes, SIZE), SIZE);
    CHECK_EQ(futimens(fd, (const struct timespec[2]){{used, 0}, {used, 0}}), 0);
    close(fd);
}
#define write_at(...) CHECK_CALL(write_at, __VA_ARGS__)

/* Files 0 to count - 1; number i was used i seconds before `newest`. */
static void write_artifacts(int count, time_t newest)
{
    for (int i = 0; i < count; i++) {
        char path[256];
        path_of(i, ".kiln", path);
        write_at(path, newest - i);
    }
}
#define write_artifacts(...) CHECK_CALL(write_artifacts, __VA_ARGS__)

static bool exists(int number, const char *ending)
{
    char path[256];
    path_of(number, ending, path);
    return access(path, F_OK) == 0;
}

static int count_artifacts(int below)
{
    int count = 0;
    for (int i = 0; i < below; i++) count += exists(i, ".kiln");
    return count;
}

/* ---- kiln prune ---------------------------------------------------------------------------------------------------
 */

/* Of files 0 to count - 1, those that are still there: the first `kept` stay. */
static void expect_kept(struct kiln_prune_keep keep, int count, int kept)
{
    kiln_prune_report report;
    kiln_error err = {0};
    int before = count_artifacts(count);
    CHECK_OK(kiln__prune_now(folder, &keep, NULL, &report, &err), &err);
    CHECK_EQ(report.kept_files, kept);
    CHECK_EQ(report.kept_bytes, kept * SIZE);
    CHECK_EQ(report.removed_files, before - kept);
    CHECK_EQ(count_artifacts(count), kept);
    for (int i = 0; i < count; i++) CHECK_EQ(exists(i, ".kiln"), i < kept); /* the oldest go */
}
#define expect_kept(...) CHECK_CALL(expect_kept, __VA_ARGS__)

static void test_number_of_files(void **state)
{
    (void)state;
    write_artifacts(5, NOW);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, 5, INT64_MIN, false}, 5, 5);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, 4, INT64_MIN, false}, 5, 4);
}

static void test_number_of_bytes(void **state)
{
    (void)state;
    write_artifacts(5, NOW);
    expect_kept((struct kiln_prune_keep){5 * SIZE, UINT64_MAX, INT64_MIN, false}, 5, 5);
    expect_kept((struct kiln_prune_keep){5 * SIZE - 1, UINT64_MAX, INT64_MIN, false}, 5, 4);
    expect_kept((struct kiln_prune_keep){3 * SIZE, UINT64_MAX, INT64_MIN, false}, 5, 3);
}

/* File i was used i seconds before the newest: what was used in that very second stays. */
static void test_time_of_use(void **state)
{
    (void)state;
    write_artifacts(5, NOW);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, UINT64_MAX, NOW - 4, false}, 5, 5);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, UINT64_MAX, NOW - 3, false}, 5, 4);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, UINT64_MAX, NOW, false}, 5, 1);
    expect_kept((struct kiln_prune_keep){UINT64_MAX, UINT64_MAX, NOW + 1, false}, 5, 0);
}

/* ---- after a put ---------------------------------------------------------------------------------------------------
 */

/* Writes artifact `number` as a put does; returns how many others went. */
static uint64_t put(const struct kiln_bounds *bounds, int number)
{
    char path[256];
    path_of(number, ".kiln", path);
    write_at(path, now += 1);
    return kiln__prune_after_put(bounds, folder, path, SIZE);
}

static off_t ledger_bytes(void)
{
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, KILN_LEDGER_FILE);
    CHECK_EQ(stat(path, &info), 0);
    return info.st_size;
}

/* Up to the bound nothing goes; one more, and a tenth more than needed goes, but room for one is left. */
static void expect_bound(struct kiln_bounds bounds, int bound, int kept)
{
    CHECK_CONTEXT("bound of %d", bound);
    for (int i = 0; i < bound; i++) CHECK_EQ(put(&bounds, i), 0);
    CHECK_EQ(count_artifacts(bound), bound);
    CHECK_EQ(put(&bounds, bound), bound + 1 - kept);
    CHECK_EQ(count_artifacts(bound + 1), kept);
    CHECK_TRUE(exists(bound, ".kiln")); /* never the one that was put */
    tear_down(NULL), set_up(NULL);
}
#define expect_bound(...) CHECK_CALL(expect_bound, __VA_ARGS__)

static void test_bound_of_files(void **state)
{
    (void)state;
    static const int kept[][2] = {{1, 1}, {2, 1}, {9, 8}, {10, 9}, {11, 10}, {19, 18}, {20, 18}, {30, 27}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        expect_bound((struct kiln_bounds){UINT64_MAX, (uint64_t)kept[i][0]}, kept[i][0], kept[i][1]);
}

static void test_bound_of_bytes(void **state)
{
    (void)state;
    expect_bound((struct kiln_bounds){10 * SIZE, UINT64_MAX}, 10, 9);
    expect_bound((struct kiln_bounds){10 * SIZE + SIZE - 1, UINT64_MAX}, 10, 9); /* 989 bytes of 1099 */
    expect_bound((struct kiln_bounds){20 * SIZE, UINT64_MAX}, 20, 18);
}

/* At the bound the ledger is believed; one more, and files are counted: another record. */
static void test_counting(void **state)
{
    (void)state;
    enum { BOUND = 10 };
    const struct kiln_bounds bounds = {UINT64_MAX, BOUND};
    put(&bounds, 0); /* counts, since nobody did before */
    CHECK_EQ(ledger_bytes(), 2 * RECORD);
    for (int i = 1; i < BOUND; i++) put(&bounds, i);
    CHECK_EQ(ledger_bytes(), (BOUND + 1) * RECORD);
    put(&bounds, BOUND);
    CHECK_EQ(ledger_bytes(), (BOUND + 3) * RECORD);
}

/* Files that are counted at the bound all stay. */
static void test_counted_at_the_bound(void **state)
{
    (void)state;
    enum { BOUND = 10 };
    const struct kiln_bounds bounds[] = {{UINT64_MAX, BOUND}, {BOUND * SIZE, UINT64_MAX}};
    for (int i = 0; i < 2; i++) {
        char ledger[128];
        snprintf(ledger, sizeof ledger, "%s/%s", folder, KILN_LEDGER_FILE);
        for (int k = 0; k < BOUND - 1; k++) put(&bounds[i], k);
        CHECK_EQ(unlink(ledger), 0);
        CHECK_EQ(put(&bounds[i], BOUND - 1), 0);
        CHECK_EQ(ledger_bytes(), 2 * RECORD);
        CHECK_EQ(count_artifacts(BOUND), BOUND);
        tear_down(NULL), set_up(NULL);
    }
}

static void test_counting_by_bytes(void **state)
{
    (void)state;
    enum { BOUND = 10 };
    const struct kiln_bounds bounds = {BOUND * SIZE, UINT64_MAX};
    for (int i = 0; i < BOUND; i++) put(&bounds, i);
    CHECK_EQ(ledger_bytes(), (BOUND + 1) * RECORD);
    put(&bounds, BOUND);
    CHECK_EQ(ledger_bytes(), (BOUND + 3) * RECORD);
}

/* ---- ages ----------------------------------------------------------------------------------------------------------
 */

static void count_as(uint64_t bytes, uint64_t files)
{
    struct kiln_count count;
    kiln__ledger_begin(folder, &count);
    kiln__ledger_end(folder, &count, &(struct kiln_total){bytes, files});
}

/* A count is believed for an hour, to the second. */
static void test_age_of_a_count(void **state)
{
    (void)state;
    struct kiln_total total;
    count_as(1000, 10);
    now = NOW + HOUR;
    CHECK_TRUE(kiln__ledger_add(folder, SIZE, &total));
    CHECK_EQ(total.files, 11);
    now = NOW + HOUR + 1;
    CHECK_FALSE(kiln__ledger_add(folder, SIZE, &total));
}

/* A ledger of up to 64 KiB is appended to by a count; a longer one is replaced by its sum. */
static void test_length_of_a_ledger(void **state)
{
    (void)state;
    enum { MOST = (64 << 10) / RECORD };
    struct kiln_total total;
    for (int i = 0; i < MOST; i++) kiln__ledger_add(folder, 1, &total);
    CHECK_EQ(ledger_bytes(), MOST * RECORD);
    count_as(1, 1);
    CHECK_EQ(ledger_bytes(), (MOST + 1) * RECORD);
    count_as(1, 1);
    CHECK_EQ(ledger_bytes(), RECORD);
}

/* What a writer left goes when it was not touched for more than an hour. Its process, this one, is alive. */
static void test_age_of_a_left_over(void **state)
{
    (void)state;
    struct stat info = {.st_mtime = NOW - HOUR};
    CHECK_FALSE(kiln__is_left_over("name", &info, NOW));
    info.st_mtime = NOW - HOUR - 1;
    CHECK_TRUE(kiln__is_left_over("name", &info, NOW));
}

static void test_left_overs_beside_a_put(void **state)
{
    (void)state;
    const struct kiln_bounds none = {UINT64_MAX, UINT64_MAX};
    char path[256];
    for (int i = 0; i < 2; i++) {
        path_of(i, ".kiln.tmp-x", path);
        write_at(path, NOW - HOUR - i);
    }
    path_of(2, ".kiln", path);
    write_at(path, NOW);
    CHECK_EQ(kiln__prune_after_put(&none, folder, path, SIZE), 0);
    CHECK_TRUE(exists(0, ".kiln.tmp-x"));
    CHECK_FALSE(exists(1, ".kiln.tmp-x"));
}

/* A hit rewrites a file's time, which orders eviction, when it is more than an hour old. */
static void test_time_of_a_hit(void **state)
{
    (void)state;
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    struct kiln_artifact *artifact = kiln__artifact_new(), *found;
    char path[256], hex[KILN_DIGEST_HEX];
    struct stat info;
    CHECK_STATUS(kiln__tier_folder(folder, true, 0, 0, &events, &tier, NULL), KILN_OK);
    kiln__buffer_append(&artifact->key, "a", 1);
    artifact->digest = kiln__digest("a", 1);
    CHECK_STATUS(tier->methods->put(tier, artifact, NULL), KILN_OK);
    kiln__digest_hex(&artifact->digest, hex);
    snprintf(path, sizeof path, "%s/%.2s/%s.kiln", folder, hex, hex);
    for (int older = 0; older < 2; older++) {
        time_t used = NOW - HOUR - older;
        CHECK_EQ(utimensat(AT_FDCWD, path, (const struct timespec[2]){{used, 0}, {used, 0}}, 0), 0);
        CHECK_EQ(tier->methods->get(tier, &artifact->digest, (kiln_bytes){"a", 1}, &found, &(kiln_error){0}),
                 KILN_DONE);
        kiln__artifact_unref(found);
        CHECK_EQ(stat(path, &info), 0);
        CHECK_EQ(info.st_mtime != used, older);
    }
    kiln__artifact_unref(artifact);
    kiln__chain_free(tier);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_number_of_files),
        WITH_FOLDER(test_number_of_bytes),
        WITH_FOLDER(test_time_of_use),
        WITH_FOLDER(test_bound_of_files),
        WITH_FOLDER(test_bound_of_bytes),
        WITH_FOLDER(test_counting),
        WITH_FOLDER(test_counting_by_bytes),
        WITH_FOLDER(test_counted_at_the_bound),
        WITH_FOLDER(test_time_of_a_hit),
        WITH_FOLDER(test_age_of_a_count),
        WITH_FOLDER(test_length_of_a_ledger),
        WITH_FOLDER(test_age_of_a_left_over),
        WITH_FOLDER(test_left_overs_beside_a_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
