/*
 * test_store_live.c - a folder that others use meanwhile: files that go, come, are replaced or are not files at all;
 * what is for another machine. None of it is damage, and nothing good is put aside.
 */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "kiln/maintain.h"
#include "store/tier.h"
#include "support/check.h"

/* ---- this machine can be made a lesser one (linked with --wrap) ------------------------------------------------ */

static enum kiln_isa pretended; /* 0: as it is */

enum kiln_isa __real_kiln__isa_host(void);
enum kiln_isa __wrap_kiln__isa_host(void);
enum kiln_isa __wrap_kiln__isa_host(void)
{
    return pretended ? pretended : __real_kiln__isa_host();
}

/* ---- a folder -------------------------------------------------------------------------------------------------- */

struct world {
    char root[64], folder[80];
    struct kiln_tier_events events;
    struct kiln_tier *tier;
    _Atomic bool is_over;
};

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    strcpy(world->root, "/tmp/kiln-test-XXXXXX");
    if (!world || !mkdtemp(world->root)) return -1;
    snprintf(world->folder, sizeof world->folder, "%s/cache", world->root);
    *state = world;
    return kiln__tier_folder(world->folder, true, 0, 0, &world->events, &world->tier, NULL);
}

static int tear_down(void **state)
{
    struct world *world = *state;
    pretended = 0;
    kiln__chain_free(world->tier);
    nftw(world->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(world);
    return 0;
}

static kiln_status put(struct world *world, const char *key, enum kiln_isa isa, kiln_error *err)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    kiln_artifact_put(artifact, "object", key, strlen(key));
    kiln__buffer_append(&artifact->key, key, strlen(key));
    artifact->digest = kiln__digest(key, strlen(key));
    artifact->isa = isa;
    kiln_status status = world->tier->methods->put(world->tier, artifact, err);
    kiln__artifact_unref(artifact);
    return status;
}

/* Through the chain, which counts faults. */
static int look_up(struct world *world, const char *key)
{
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    struct kiln_artifact *artifact = kiln__chain_find(world->tier, &digest, (kiln_bytes){key, strlen(key)}, NULL, NULL);
    kiln__artifact_unref(artifact);
    return artifact ? KILN_DONE : KILN_MISS;
}

static void path_of(const struct world *world, const char *key, const char *suffix, char path[256])
{
    char hex[KILN_DIGEST_HEX];
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    kiln__digest_hex(&digest, hex);
    snprintf(path, 256, "%s/%.2s/%s%s", world->folder, hex, hex, suffix);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- readers --------------------------------------------------------------------------------------------------- */

static void foreign_is_a_miss(void **state)
{
    struct world *world = *state;
    char path[256];
    path_of(world, "a", ".kiln", path);
    CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V4, NULL), KILN_OK);
    pretended = KILN_ISA_X86_64_V2;
    CHECK_EQ(look_up(world, "a"), KILN_MISS);
    CHECK_EQ(world->events.corrupt, 0);
    CHECK_EQ(world->events.faults, 0);
    CHECK_TRUE(exists(path)); /* for the machines it was made for */
    pretended = KILN_ISA_X86_64_V4;
    CHECK_EQ(look_up(world, "a"), KILN_DONE);
}

enum { ROUNDS = 1000, PUTS = 400 };

static void *look_up_once(void *context)
{
    look_up(context, "a");
    return NULL;
}

/* A reader finds a damaged file while a writer publishes a good one: the good one stays. */
static void a_good_file_is_not_put_aside(void **state)
{
    struct world *world = *state;
    char path[256];
    unsigned lost = 0;
    path_of(world, "a", ".kiln", path);
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_t reader;
        CHECK_EQ(kiln__file_publish(path, "not an artifact", 15, NULL), i ? KILN_OK : KILN_IO);
        pthread_create(&reader, NULL, look_up_once, world);
        CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V1, NULL), KILN_OK);
        pthread_join(reader, NULL);
        if (!exists(path)) lost++;
    }
    if (lost) CHECK_FAIL("a good file was put aside in %u of %u rounds", lost, ROUNDS);
    CHECK_EQ(look_up(world, "a"), KILN_DONE);
    CHECK_EQ(world->events.faults, 0);
}

static void a_folder_in_the_place_of_an_artifact(void **state)
{
    struct world *world = *state;
    char path[256], below[300], aside[256];
    path_of(world, "a", ".kiln", path);
    path_of(world, "a", ".bad", aside);
    CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    for (int is_full = 0; is_full < 2; is_full++) {
        CHECK_EQ(unlink(path), 0);
        CHECK_EQ(mkdir(path, 0700), 0);
        snprintf(below, sizeof below, "%s/mine", path);
        if (is_full) CHECK_STATUS(kiln__file_publish(below, "x", 1, NULL), KILN_OK);
        CHECK_EQ(look_up(world, "a"), KILN_MISS);
        CHECK_EQ(world->events.faults + world->events.corrupt, 0);
        CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V1, NULL), KILN_OK);
        CHECK_EQ(look_up(world, "a"), KILN_DONE);
    }
    snprintf(below, sizeof below, "%s/mine", aside);
    CHECK_TRUE(exists(below)); /* nothing of others is removed */
}

static void prune_removes_folders_in_the_place_of_artifacts(void **state)
{
    struct world *world = *state;
    char path[256], full[256], below[300];
    const kiln_prune_options options = {.struct_size = sizeof options};
    kiln_prune_report report;
    path_of(world, "a", ".kiln", path);
    path_of(world, "b", ".kiln", full);
    CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    CHECK_STATUS(put(world, "b", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    CHECK_EQ(unlink(path) | mkdir(path, 0700), 0);
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_FALSE(exists(path));
    CHECK_EQ(report.kept_files, 1);
    CHECK_EQ(report.failed_files, 0);
    CHECK_EQ(unlink(full) | mkdir(full, 0700), 0);
    snprintf(below, sizeof below, "%s/mine", full);
    CHECK_STATUS(kiln__file_publish(below, "x", 1, NULL), KILN_OK);
    CHECK_STATUS(kiln_prune(world->folder, &options, &report, NULL), KILN_OK);
    CHECK_TRUE(exists(below));
    CHECK_EQ(report.failed_files, 1);
    CHECK_CONTAINS(report.failure, "not empty");
}

/* ---- writers --------------------------------------------------------------------------------------------------- */

static void *clear_all_the_time(void *context)
{
    struct world *world = context;
    while (!world->is_over) {
        kiln_prune_report report;
        kiln_error err = {0};
        if (kiln_clear(world->folder, NULL, &report, &err) != KILN_OK) {
            fprintf(stderr, "clear: %s\n", err.text);
            return world;
        }
    }
    return NULL;
}

/* Sub-folders go while artifacts, locks and the tool chain's name are written. */
static void clearing_fails_no_writer(void **state)
{
    struct world *world = *state;
    pthread_t clearing;
    void *failed = NULL;
    pthread_create(&clearing, NULL, clear_all_the_time, world);
    for (unsigned i = 0; i < PUTS; i++) {
        char key[32];
        kiln_error err = {0};
        struct kiln_lock *lock = NULL;
        snprintf(key, sizeof key, "%u", i);
        struct kiln_digest digest = kiln__digest(key, strlen(key));
        kiln__chain_lock(world->tier, &digest, kiln__lock_until(false), &lock);
        if (put(world, key, KILN_ISA_X86_64_V1, &err)) CHECK_FAIL("put %u: %s", i, err.text);
        kiln__lock_release(lock);
        kiln__chain_set_toolchain(world->tier, i % 2 ? "one" : "two");
    }
    world->is_over = true;
    pthread_join(clearing, &failed);
    CHECK_NULL(failed);
    CHECK_EQ(world->events.faults, 0);
}

/* ---- tools ----------------------------------------------------------------------------------------------------- */

static void what_has_gone_is_not_damaged(void **state)
{
    struct world *world = *state;
    kiln_inspector *inspector = NULL;
    kiln_entry *entry = NULL;
    kiln_error err = {0};
    char path[256], second[256], aside[256];
    path_of(world, "a", ".kiln", path);
    path_of(world, "b", ".kiln", second);
    path_of(world, "b", ".bad", aside);
    CHECK_STATUS(put(world, "a", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    CHECK_STATUS(put(world, "b", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    size_t a = strstr(path, kiln_inspect_digest(inspector, 0)) ? 0 : 1;
    CHECK_STATUS(kiln_entry_open(inspector, a, &entry, NULL), KILN_OK);
    CHECK_FALSE(kiln_inspect_is_gone(inspector, a));
    CHECK_EQ(unlink(path), 0);
    CHECK_OK(kiln_entry_check_usable(entry, &err), &err); /* what was opened is whole */
    kiln_entry_close(entry);
    CHECK_STATUS(kiln_entry_open(inspector, a, &entry, &err), KILN_IO, &err);
    CHECK_TRUE(kiln_inspect_is_gone(inspector, a));
    CHECK_FALSE(kiln_inspect_is_gone(inspector, !a));
    CHECK_FALSE(kiln_inspect_is_gone(inspector, 2));
    CHECK_STATUS(kiln_inspect_put_aside(inspector, a, &err), KILN_IO, &err);
    /* One that was replaced since it was listed is not put aside. */
    CHECK_STATUS(put(world, "b", KILN_ISA_X86_64_V1, NULL), KILN_OK);
    CHECK_STATUS(kiln_inspect_put_aside(inspector, !a, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "replaced");
    CHECK_TRUE(kiln_inspect_is_gone(inspector, !a));
    CHECK_TRUE(exists(second));
    kiln_inspect_close(inspector);
    CHECK_STATUS(kiln_inspect_open(world->folder, &inspector, NULL), KILN_OK);
    CHECK_OK(kiln_inspect_put_aside(inspector, 0, &err), &err);
    CHECK_TRUE(exists(aside) && !exists(second));
    kiln_inspect_close(inspector);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(foreign_is_a_miss),
        WITH_FOLDER(a_good_file_is_not_put_aside),
        WITH_FOLDER(a_folder_in_the_place_of_an_artifact),
        WITH_FOLDER(prune_removes_folders_in_the_place_of_artifacts),
        WITH_FOLDER(clearing_fails_no_writer),
        WITH_FOLDER(what_has_gone_is_not_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
