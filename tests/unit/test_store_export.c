/*
 * test_store_export.c - a folder as a pack and back: what is selected, what an import refuses, and what is left when it
 * is stopped at any point.
 */
#include "pack_support.h"

#include <dirent.h>
#include <sys/wait.h>
#include <time.h>

#include "kiln/maintain.h"
#include "store/tier.h"

static struct kiln_tier_events events;

static struct kiln_tier *open_folder(const char *folder)
{
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln__tier_folder(folder, true, 0, 0, &events, &tier, &err), &err);
    return tier;
}

static void fill(const char *folder, unsigned first, unsigned count)
{
    struct kiln_tier *tier = open_folder(folder);
    kiln_error err = {0};
    for (unsigned i = first; i < first + count; i++) {
        struct kiln_artifact *artifact = make_artifact(i);
        CHECK_OK(tier->methods->put(tier, artifact, &err), &err);
        kiln__artifact_unref(artifact);
    }
    tier->methods->free(tier);
}

/* How many of artifacts 0 to `most` - 1 the folder gives, whole; no file in it is damaged. */
static unsigned count_in(const char *folder, unsigned most)
{
    struct kiln_tier *tier = open_folder(folder);
    unsigned found = 0;
    for (unsigned i = 0; i < most; i++) {
        struct kiln_artifact *wanted = make_artifact(i), *got = NULL;
        kiln_error err = {0};
        kiln_bytes key = {wanted->key.data, wanted->key.size};
        enum kiln_outcome outcome = tier->methods->get(tier, &wanted->digest, key, &got, &err);
        CHECK_NE(outcome, KILN_FAILED);
        found += outcome == KILN_DONE;
        kiln__artifact_unref(wanted);
        kiln__artifact_unref(got);
    }
    tier->methods->free(tier);
    return found;
}
#define count_in(...) CHECK_CALL(count_in, __VA_ARGS__)

static void entry_path(const char *folder, unsigned number, char out[PATH_MAX])
{
    struct kiln_artifact *artifact = make_artifact(number);
    char hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&artifact->digest, hex);
    snprintf(out, PATH_MAX, "%s/%.2s/%s.kiln", folder, hex, hex);
    kiln__artifact_unref(artifact);
}

static unsigned entries_of(const char *path)
{
    struct kiln_pack pack;
    CHECK_EQ(kiln__pack_open(path, &pack, NULL), KILN_DONE);
    kiln__pack_close(&pack);
    return (unsigned)pack.count;
}

static void there_and_back(void **state)
{
    (void)state;
    const char *from = pack_path("from"), *path = pack_path("all.kilnpack"), *to = pack_path("to/a/b");
    const kiln_export_options what = {.struct_size = sizeof what, .folder = from};
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_export_report exported;
    kiln_import_report imported;
    char line[KILN_TOOLCHAIN_SIZE];
    kiln_error err = {0};
    fill(from, 0, 100);
    CHECK_OK(kiln_export(path, &what, &exported, &err), &err);
    CHECK_EQ(exported.exported_files, 100);
    CHECK_EQ(exported.left_out_files + exported.unusable_files, 0);
    CHECK_LT(exported.pack_bytes, exported.exported_bytes / 4);
    struct stat info;
    CHECK_EQ(stat(path, &info), 0);
    CHECK_EQ(info.st_size, exported.pack_bytes);
    CHECK_OK(kiln_import(path, &how, &imported, &err), &err);
    CHECK_EQ(imported.imported_files, 100);
    CHECK_EQ(imported.imported_bytes, exported.exported_bytes);
    CHECK_EQ(imported.there_files + imported.unused_files + imported.evicted_files, 0);
    CHECK_EQ(count_in(to, 120), 100);
    CHECK_OK(kiln_inspect_toolchain(to, line, sizeof line, &err), &err);
    CHECK_STR(line, "tool chain of the test");
    CHECK_OK(kiln_import(path, &how, &imported, &err), &err);
    CHECK_EQ(imported.imported_files, 0);
    CHECK_EQ(imported.there_files, 100);

    /* The files are the very same. */
    for (unsigned i = 0; i < 100; i++) {
        char a[PATH_MAX], b[PATH_MAX];
        entry_path(from, i, a);
        entry_path(to, i, b);
        struct kiln_buffer one = read_whole(a), two = read_whole(b);
        CHECK_EQ(one.size, two.size);
        CHECK_MEM(one.data, two.data, one.size);
        kiln__buffer_release(&one);
        kiln__buffer_release(&two);
    }

    /* A pack from a pack. */
    const kiln_export_options again = {.struct_size = sizeof again, .folder = path, .function = "rare*"};
    CHECK_OK(kiln_export(pack_path("rare.kilnpack"), &again, &exported, &err), &err);
    CHECK_EQ(exported.exported_files, 20);
}

static void parts_are_selected(void **state)
{
    (void)state;
    const char *from = pack_path("parts"), *path = pack_path("part.kilnpack");
    static const char *const v3[] = {"x86-64-v3", NULL}, *const both[] = {"sm_90", "x86-64-v2", "x86-64-v3", NULL};
    static const char *const none[] = {"sm_90", NULL};
    kiln_export_report report;
    kiln_error err = {0};
    fill(from, 0, 30); /* 6 rare, 15 for each target */
    kiln_export_options what = {.struct_size = sizeof what, .folder = from, .targets = v3};
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 15);
    CHECK_EQ(report.left_out_files, 15);
    CHECK_EQ(entries_of(path), 15);
    what.function = "common";
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 12);
    what.targets = both;
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 24);
    what.function = "c?mm[a-o]n";
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 24);

    /* By age: three were last used two days ago. */
    for (unsigned i = 0; i < 3; i++) {
        char file[PATH_MAX];
        struct timespec times[2] = {{time(NULL) - 2 * 86400, 0}, {time(NULL) - 2 * 86400, 0}};
        entry_path(from, i, file);
        CHECK_EQ(utimensat(AT_FDCWD, file, times, 0), 0);
    }
    kiln_export_options recent = {.struct_size = sizeof recent, .folder = from, .max_age_s = 86400};
    CHECK_OK(kiln_export(path, &recent, &report, &err), &err);
    CHECK_EQ(report.exported_files, 27);
    CHECK_EQ(report.left_out_files, 3);
    recent.max_age_s = 3 * 86400;
    CHECK_OK(kiln_export(path, &recent, &report, &err), &err);
    CHECK_EQ(report.exported_files, 30);

    /* Nothing fits: what was there stays. */
    what.targets = none;
    CHECK_STATUS(kiln_export(path, &what, &report, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "nothing to export: 30 artifacts do not fit");
    CHECK_EQ(entries_of(path), 30);
    CHECK_STATUS(kiln_export(pack_path("new.kilnpack"), &what, &report, &err), KILN_INVALID, &err);
    CHECK_EQ(access(pack_path("new.kilnpack"), F_OK), -1);
}

/* What is wrong in the folder is left out and told. */
static void unusable_files_are_left_out(void **state)
{
    (void)state;
    const char *from = pack_path("bad"), *path = pack_path("good.kilnpack");
    const kiln_export_options what = {.struct_size = sizeof what, .folder = from};
    kiln_export_report report;
    kiln_error err = {0};
    char file[PATH_MAX];
    fill(from, 0, 5);
    entry_path(from, 2, file);
    struct kiln_buffer bytes = read_whole(file);
    bytes.data[bytes.size / 2] ^= 1;
    write_whole(file, bytes.data, bytes.size);
    kiln__buffer_release(&bytes);
    entry_path(from, 3, file);
    CHECK_EQ(chmod(file, 0666), 0);
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 3);
    CHECK_EQ(report.unusable_files, 2);
    CHECK_NE(report.problem[0], '\0');
    CHECK_EQ(entries_of(path), 3);
}

static void names_and_sizes_are_checked(void **state)
{
    (void)state;
    const kiln_export_options what = {.struct_size = 3};
    const kiln_import_options how = {.struct_size = 3};
    const kiln_export_options nowhere = {.struct_size = sizeof nowhere, .folder = pack_path("nowhere")};
    kiln_error err = {0};
    CHECK_STATUS(kiln_export(pack_path("a.pack"), NULL, NULL, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "ends in .kilnpack");
    CHECK_STATUS(kiln_export(pack_path("a.kilnpack"), &what, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_export(pack_path("a.kilnpack"), &nowhere, NULL, &err), KILN_IO, &err);
    CHECK_STATUS(kiln_import(pack_path("a.kilnpack"), &how, NULL, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_import(pack_path("a.kilnpack"), NULL, NULL, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "no such file");
}

static void modes_do_not_depend_on_the_umask(void **state)
{
    (void)state;
    const char *from = pack_path("modes"), *path = pack_path("modes.kilnpack"), *to = pack_path("modes-to");
    kiln_export_options what = {.struct_size = sizeof what, .folder = from};
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_error err = {0};
    struct stat info;
    char file[PATH_MAX];
    static const mode_t masks[] = {0, 022, 077, 0777};
    fill(from, 0, 2);
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        CHECK_CONTEXT("umask %03o", (unsigned)masks[i]);
        mode_t old = umask(masks[i]);
        what.is_public = i % 2;
        kiln_status status = kiln_export(path, &what, NULL, &err);
        umask(old);
        CHECK_OK(status, &err);
        CHECK_EQ(stat(path, &info), 0);
        CHECK_EQ(info.st_mode & 07777, i % 2 ? 0644 : 0600);
    }
    mode_t old = umask(0);
    kiln_status status = kiln_import(path, &how, NULL, &err);
    umask(old);
    CHECK_OK(status, &err);
    entry_path(to, 1, file);
    CHECK_EQ(stat(file, &info), 0);
    CHECK_EQ(info.st_mode & 07777, 0600);
}

static void fill_at(const char *folder, unsigned count, uint64_t unix_s)
{
    struct kiln_tier *tier = open_folder(folder);
    kiln_error err = {0};
    for (unsigned i = 0; i < count; i++) {
        struct kiln_artifact *artifact = make_artifact(i);
        artifact->created_unix_s = unix_s + i;
        artifact->compile_ns = unix_s * (i + 1);
        CHECK_OK(tier->methods->put(tier, artifact, &err), &err);
        kiln__artifact_unref(artifact);
    }
    tier->methods->free(tier);
}

static void equal_kernels_give_equal_packs_without_times(void **state)
{
    (void)state;
    const char *const folders[] = {pack_path("early"), pack_path("late")};
    const char *const paths[] = {pack_path("early.kilnpack"), pack_path("late.kilnpack")};
    struct kiln_buffer packs[2];
    kiln_error err = {0};
    for (int without_times = 0; without_times < 2; without_times++) {
        CHECK_CONTEXT("without times: %d", without_times);
        for (int i = 0; i < 2; i++) {
            const kiln_export_options what = {
                .struct_size = sizeof what, .folder = folders[i], .without_times = without_times};
            if (!without_times) fill_at(folders[i], 50, i ? 1800000000 : 1700000000);
            CHECK_OK(kiln_export(paths[i], &what, NULL, &err), &err);
            packs[i] = read_whole(paths[i]);
        }
        bool is_same = packs[0].size == packs[1].size && memcmp(packs[0].data, packs[1].data, packs[0].size) == 0;
        CHECK_EQ(is_same, without_times);
        CHECK_EQ(memmem(packs[0].data, packs[0].size, "\nmade ", 6) == NULL, without_times);
        for (int i = 0; i < 2; i++) kiln__buffer_release(&packs[i]);
    }
    CHECK_OK(
        kiln_import(paths[0],
                    &(kiln_import_options){.struct_size = sizeof(kiln_import_options), .folder = pack_path("timeless")},
                    NULL, &err),
        &err);
    CHECK_EQ(count_in(pack_path("timeless"), 60), 50);
}

/* ---- what an import refuses -------------------------------------------------------------------------------------- */

static void remove_folder(const char *folder)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_EQ(system(command), 0);
}

/* Of a frame's header some bits mean nothing: with those changed all is as it was. */
static void damaged_packs_import_nothing(void **state)
{
    (void)state;
    const char *path = pack_path("import.kilnpack"), *to = pack_path("refused");
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_import_report report;
    write_pack(path, 5);
    struct kiln_buffer bytes = read_whole(path);
    unsigned refused = 0, tried = 0;
    for (size_t at = 0; at < bytes.size; at += 13) {
        CHECK_CONTEXT("byte %zu of %zu", at, bytes.size);
        kiln_error err = {0};
        bytes.data[at] ^= 0x40;
        write_whole(path, bytes.data, bytes.size);
        bytes.data[at] ^= 0x40;
        tried++;
        if (kiln_import(path, &how, &report, &err) == KILN_OK) {
            CHECK_EQ(count_in(to, 5), 5);
            remove_folder(to);
            continue;
        }
        CHECK_EQ(err.status, KILN_INVALID);
        CHECK_EQ(report.imported_files, 0);
        CHECK_EQ(access(to, F_OK), -1);
        refused++;
    }
    CHECK_GT(refused, tried - 5);
    for (size_t size = 0; size < bytes.size; size += 97) {
        kiln_error err = {0};
        write_whole(path, bytes.data, size);
        CHECK_STATUS(kiln_import(path, &how, &report, &err), KILN_INVALID, &err);
        CHECK_EQ(access(to, F_OK), -1);
    }
    kiln__buffer_release(&bytes);
}

static void packs_that_others_may_write_need_signatures(void **state)
{
    (void)state;
    const char *path = pack_path("theirs.kilnpack"), *to = pack_path("theirs");
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_error err = {0};
    write_pack(path, 5);
    CHECK_EQ(chmod(path, 0666), 0);
    CHECK_STATUS(kiln_import(path, &how, NULL, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "nothing was imported: entry ");
    CHECK_CONTAINS(err.text, "not signed");
    CHECK_EQ(access(to, F_OK), -1);
    CHECK_EQ(chmod(path, 0644), 0);
    CHECK_OK(kiln_import(path, &how, NULL, &err), &err);
    CHECK_EQ(count_in(to, 5), 5);
}

/* ---- stopped at any point ---------------------------------------------------------------------------------------- */

struct stop {
    const char *what;
    uint64_t at;
};

static void stop_here(void *context, const char *what, uint64_t done, uint64_t total)
{
    const struct stop *stop = context;
    (void)total;
    if (strcmp(what, stop->what) == 0 && done == stop->at) kill(getpid(), SIGKILL);
}

/* A child that is killed when the progress comes there. */
static void import_until(const char *path, const char *to, struct stop stop)
{
    int status = 0;
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        const kiln_import_options how = {.struct_size = sizeof how, .folder = to, .progress = {stop_here, &stop}};
        _exit(kiln_import(path, &how, NULL, NULL) == KILN_OK);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_TRUE(WIFSIGNALED(status));
}
#define import_until(...) CHECK_CALL(import_until, __VA_ARGS__)

static void whole_entries_or_none_are_left(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    const char *path = pack_path("stopped.kilnpack"), *to = pack_path("stopped");
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_import_report report;
    kiln_error err = {0};
    write_pack(path, COUNT);
    import_until(path, to, (struct stop){"checking", COUNT});
    CHECK_EQ(access(to, F_OK), -1);
    for (unsigned i = 1; i <= COUNT; i += 6) {
        import_until(path, to, (struct stop){"importing", i});
        CHECK_EQ(count_in(to, COUNT), i);
    }
    CHECK_OK(kiln_import(path, &how, &report, &err), &err);
    CHECK_EQ(report.imported_files + report.there_files, COUNT);
    CHECK_EQ(report.there_files, 19);
    CHECK_EQ(count_in(to, COUNT), COUNT);
}

static void export_until(const char *path, const char *from, struct stop stop)
{
    int status = 0;
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        const kiln_export_options what = {.struct_size = sizeof what, .folder = from, .progress = {stop_here, &stop}};
        _exit(kiln_export(path, &what, NULL, NULL) == KILN_OK);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_TRUE(WIFSIGNALED(status));
}
#define export_until(...) CHECK_CALL(export_until, __VA_ARGS__)

static void an_export_that_is_stopped_leaves_what_was_there(void **state)
{
    (void)state;
    const char *from = pack_path("killed"), *path = pack_path("killed.kilnpack");
    fill(from, 0, 10);
    write_pack(path, 3);
    export_until(path, from, (struct stop){"selecting", 5});
    export_until(path, from, (struct stop){"writing", 1});
    export_until(path, from, (struct stop){"writing", 10});
    CHECK_EQ(entries_of(path), 3);
}

/* Entries may go between the two looks at the folder. */
static void remove_some(void *context, const char *what, uint64_t done, uint64_t total)
{
    char file[PATH_MAX];
    if (strcmp(what, "selecting") != 0 || done != total) return;
    for (unsigned i = 0; i < 90; i++) {
        entry_path(context, i, file);
        unlink(file);
    }
}

static void what_goes_meanwhile_is_not_in_the_pack(void **state)
{
    (void)state;
    const char *from = pack_path("going"), *path = pack_path("going.kilnpack"), *to = pack_path("going-to");
    const kiln_export_options what = {
        .struct_size = sizeof what, .folder = from, .progress = {remove_some, (void *)(uintptr_t)from}};
    const kiln_import_options how = {.struct_size = sizeof how, .folder = to};
    kiln_export_report report;
    kiln_error err = {0};
    fill(from, 0, 100);
    CHECK_OK(kiln_export(path, &what, &report, &err), &err);
    CHECK_EQ(report.exported_files, 10);
    CHECK_EQ(report.unusable_files, 0);
    CHECK_EQ(entries_of(path), 10);
    CHECK_OK(kiln_import(path, &how, NULL, &err), &err);
    CHECK_EQ(count_in(to, 100), 10);
}

/* The pack changes between the check and the put: what is put was checked all the same. */
static void change_it(void *context, const char *what, uint64_t done, uint64_t total)
{
    if (strcmp(what, "checking") != 0 || done != total) return;
    int fd = open(context, O_WRONLY);
    off_t end = lseek(fd, 0, SEEK_END);
    CHECK_EQ(pwrite(fd, "damage", 6, end - 50), 6);
    close(fd);
}

static void a_pack_that_changes_meanwhile(void **state)
{
    (void)state;
    const char *path = pack_path("changing.kilnpack"), *to = pack_path("changing");
    const kiln_import_options how = {
        .struct_size = sizeof how, .folder = to, .progress = {change_it, (void *)(uintptr_t)path}};
    kiln_import_report report;
    kiln_error err = {0};
    write_pack(path, 10);
    CHECK_STATUS(kiln_import(path, &how, &report, &err), KILN_INVALID, &err);
    CHECK_EQ(report.imported_files, 9);
    CHECK_EQ(count_in(to, 10), 9);
}

static int tear_down(void **state)
{
    (void)state;
    remove_pack_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(parts_are_selected),
        cmocka_unit_test(unusable_files_are_left_out),
        cmocka_unit_test(names_and_sizes_are_checked),
        cmocka_unit_test(modes_do_not_depend_on_the_umask),
        cmocka_unit_test(equal_kernels_give_equal_packs_without_times),
        cmocka_unit_test(damaged_packs_import_nothing),
        cmocka_unit_test(packs_that_others_may_write_need_signatures),
        cmocka_unit_test(whole_entries_or_none_are_left),
        cmocka_unit_test(an_export_that_is_stopped_leaves_what_was_there),
        cmocka_unit_test(what_goes_meanwhile_is_not_in_the_pack),
        cmocka_unit_test(a_pack_that_changes_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
