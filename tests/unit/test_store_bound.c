/*
 * test_store_bound.c - the bounds of a folder that many processes fill at once: at most the bound and one artifact of
 * each writer, at any moment; and the ledger by which they know.
 */
#include "process_support.h"

#include "base/file.h"
#include "store/ledger.h"
#include "store/tier.h"

enum { WRITERS = 16, PUTS = 120, SIZE = 4 << 10, BOUND = 3 << 20, FILES = 600 };

struct world {
    char folder[64];
    struct shared *shared;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    make_folder(world->folder, sizeof world->folder);
    world->shared = share();
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    remove_folder(world->folder);
    unshare_memory(world->shared);
    free(world);
    return 0;
}

static kiln_status put(struct kiln_tier *tier, const char *key, size_t size)
{
    static char payload[SIZE];
    struct kiln_artifact *artifact = kiln__artifact_new();
    kiln_artifact_put(artifact, "object", payload, size);
    kiln__buffer_append(&artifact->key, key, strlen(key));
    artifact->digest = kiln__digest(key, strlen(key));
    kiln_status status = tier->methods->put(tier, artifact, NULL);
    kiln__artifact_unref(artifact);
    return status;
}

/* Some put all the time, some now and then, so that what a process knows of the folder is old when it needs it. */
static void fill(struct shared *shared, const char *folder, unsigned index, uint64_t bytes, uint64_t files, size_t size)
{
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    require(kiln__tier_folder(folder, true, bytes, files, &events, &tier, NULL) == KILN_OK);
    line_up(shared);
    for (unsigned i = 0; i < PUTS; i++) {
        char key[64];
        snprintf(key, sizeof key, "%u of %u", i, index);
        require(put(tier, key, size) == KILN_OK);
        if (index % 2) sleep_ms(index);
    }
    require(events.faults == 0);
    kiln__chain_free(tier);
    atomic_fetch_add(&shared->done, 1);
}

static void fill_bytes(struct shared *shared, const char *folder, unsigned index)
{
    fill(shared, folder, index, BOUND, 0, SIZE - 500);
}

static void fill_files(struct shared *shared, const char *folder, unsigned index)
{
    fill(shared, folder, index, 0, FILES, 100);
}

static void add_sizes(const char *folder, uint64_t *bytes, uint64_t *files)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PATH_MAX];
        struct stat info;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (lstat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode)) add_sizes(path, bytes, files);
        if (S_ISREG(info.st_mode) && strstr(path, ".kiln") == path + strlen(path) - 5)
            *bytes += (uint64_t)info.st_size, *files += 1;
    }
    if (entries) closedir(entries);
}

/* The most that was there at a moment when all writers stood still. */
static void watch(struct world *world, child_body *body, uint64_t *most_bytes, uint64_t *most_files)
{
    pid_t children[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) children[i] = start_child(body, world->shared, world->folder, i);
    say_go(world->shared, WRITERS);
    for (bool is_over = false; !is_over;) {
        uint64_t bytes = 0, files = 0;
        is_over = atomic_load(&world->shared->done) == WRITERS;
        for (unsigned i = 0; i < WRITERS; i++) kill(children[i], SIGSTOP);
        sleep_ms(1);
        add_sizes(world->folder, &bytes, &files);
        for (unsigned i = 0; i < WRITERS; i++) kill(children[i], SIGCONT);
        if (bytes > *most_bytes) *most_bytes = bytes;
        if (files > *most_files) *most_files = files;
        sleep_ms(3);
        for (unsigned i = 0; i < WRITERS && !is_over; i++) {
            siginfo_t info = {0};
            waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOHANG | WNOWAIT);
            is_over = info.si_pid && info.si_status; /* said below */
        }
    }
    end_all_well(children, WRITERS);
}
#define watch(...) CHECK_CALL(watch, __VA_ARGS__)

static void test_bytes(void **state)
{
    uint64_t bytes = 0, files = 0;
    watch(*state, fill_bytes, &bytes, &files);
    print_message("%u writers of %u artifacts of %d bytes, bound %d: at most %llu bytes\n", WRITERS, PUTS, SIZE, BOUND,
                  (unsigned long long)bytes);
    CHECK_GT(bytes, BOUND / 2);
    CHECK_BETWEEN(bytes, 0, BOUND + WRITERS * SIZE);
}

static void test_files(void **state)
{
    uint64_t bytes = 0, files = 0;
    watch(*state, fill_files, &bytes, &files);
    print_message("%u writers, bound of %d files: at most %llu\n", WRITERS, FILES, (unsigned long long)files);
    CHECK_BETWEEN(files, FILES / 2, FILES + WRITERS);
}

/* ---- the ledger -------------------------------------------------------------------------------------------------- */

static void count_as(const struct world *world, uint64_t bytes, uint64_t files)
{
    struct kiln_count count;
    kiln__ledger_begin(world->folder, &count);
    kiln__ledger_end(world->folder, &count, &(struct kiln_total){bytes, files});
}

static off_t ledger_size(const struct world *world)
{
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", world->folder, KILN_LEDGER_FILE);
    return stat(path, &info) == 0 ? info.st_size : -1;
}

/* What is added while somebody counts is in the sum, whether or not it was counted. */
static void test_sums(void **state)
{
    struct world *world = *state;
    struct kiln_total total = {0, 0};
    struct kiln_count count;
    CHECK_FALSE(kiln__ledger_add(world->folder, 5, &total)); /* nobody has counted yet */
    count_as(world, 100, 10);
    CHECK_TRUE(kiln__ledger_add(world->folder, 7, &total));
    CHECK_EQ(total.bytes, 107);
    CHECK_EQ(total.files, 11);
    kiln__ledger_begin(world->folder, &count);
    CHECK_TRUE(kiln__ledger_add(world->folder, 1, &total));
    CHECK_EQ(total.bytes, 108);
    kiln__ledger_end(world->folder, &count, &(struct kiln_total){50, 5});
    CHECK_TRUE(kiln__ledger_add(world->folder, 2, &total));
    CHECK_EQ(total.bytes, 53);
    CHECK_EQ(total.files, 7);
}

static void test_long_ledger(void **state)
{
    struct world *world = *state;
    struct kiln_total total = {0, 0};
    struct kiln_count count;
    count_as(world, 1, 1);
    for (unsigned i = 0; i < 2000; i++) CHECK_TRUE(kiln__ledger_add(world->folder, 1, &total));
    CHECK_EQ(total.files, 2001);
    CHECK_GT(ledger_size(world), 64 << 10);
    kiln__ledger_begin(world->folder, &count);
    CHECK_TRUE(kiln__ledger_add(world->folder, 10, &total)); /* while it is replaced */
    kiln__ledger_end(world->folder, &count, &(struct kiln_total){1000, 500});
    CHECK_LT(ledger_size(world), 1000);
    CHECK_TRUE(kiln__ledger_add(world->folder, 100, &total));
    CHECK_EQ(total.bytes, 1110);
    CHECK_EQ(total.files, 502);
}

static void test_damaged_ledger(void **state)
{
    struct world *world = *state;
    static const char *const texts[] = {"", "k", "not a ledger", "0123456789012345678901234567890123456789"};
    struct kiln_total total = {0, 0};
    char path[128];
    snprintf(path, sizeof path, "%s/%s", world->folder, KILN_LEDGER_FILE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_STATUS(kiln__file_publish(path, texts[i], strlen(texts[i]), NULL), KILN_OK);
        CHECK_FALSE(kiln__ledger_add(world->folder, 1, &total));
        count_as(world, 10, 1);
        CHECK_TRUE(kiln__ledger_add(world->folder, 1, &total));
        CHECK_EQ(total.bytes, 11);
    }
    unlink(path);
    mkdir(path, 0700); /* bounds are kept without one */
    CHECK_FALSE(kiln__ledger_add(world->folder, 1, &total));
    count_as(world, 10, 1);
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    CHECK_STATUS(kiln__tier_folder(world->folder, true, 0, 3, &events, &tier, NULL), KILN_OK);
    for (unsigned i = 0; i < 10; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        CHECK_STATUS(put(tier, key, 10), KILN_OK);
        CHECK_BETWEEN(count_files(world->folder, ".kiln", NULL), 1, 3);
    }
    kiln__chain_free(tier);
    CHECK_EQ(events.faults, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_ledger, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_ledger, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
