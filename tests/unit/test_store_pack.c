/*
 * test_store_pack.c - packs: what was put in comes out, and whatever is wrong with the file costs only what it hits.
 */
#include "pack_support.h"

#include <dirent.h>
#include <sys/resource.h>

#include "store/compressed.h"

/* What a look-up gives: KILN_DONE after checking that it is artifact `number`, as it was put in. */
static enum kiln_outcome look_up(const char *path, unsigned number, kiln_error *err)
{
    struct kiln_artifact *wanted = make_artifact(number), *found = NULL;
    struct kiln_pack pack;
    struct kiln_pack_row row;
    enum kiln_outcome outcome = kiln__pack_open(path, &pack, err);
    if (outcome == KILN_DONE) {
        outcome = kiln__pack_find(&pack, &wanted->digest, &row, err);
        if (outcome == KILN_DONE) outcome = kiln__outcome(kiln__pack_read(&pack, &row, &found, NULL, err), err);
        kiln__pack_close(&pack);
    }
    if (outcome == KILN_DONE) {
        struct kiln_buffer a = {0}, b = {0};
        CHECK_OK(kiln__artifact_encode(wanted, &a, err), err);
        CHECK_OK(kiln__artifact_encode(found, &b, err), err);
        CHECK_EQ(a.size, b.size);
        CHECK_MEM(a.data, b.data, a.size);
        kiln__buffer_release(&a);
        kiln__buffer_release(&b);
    }
    kiln__artifact_unref(wanted);
    kiln__artifact_unref(found);
    return outcome;
}
#define look_up(...) CHECK_CALL(look_up, __VA_ARGS__)

/* All rows at once, as tools read them. */
static kiln_status read_rows(const char *path, kiln_error *err)
{
    struct kiln_pack pack;
    struct kiln_pack_row *rows = NULL;
    enum kiln_outcome outcome = kiln__pack_open(path, &pack, err);
    if (outcome != KILN_DONE) return err->status;
    kiln_status status = kiln__pack_rows(&pack, &rows, err);
    free(rows);
    kiln__pack_close(&pack);
    return status;
}

static void what_is_put_in_comes_out(void **state)
{
    (void)state;
    static const unsigned counts[] = {0, 1, 2, 71, 72, 73, 144, 1000};
    const char *path = pack_path("counts.kilnpack");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        CHECK_CONTEXT("%u entries", counts[i]);
        kiln_error err = {0};
        struct kiln_pack pack;
        write_pack(path, counts[i]);
        CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
        CHECK_EQ(pack.count, counts[i]);
        CHECK_EQ(pack.info.st_mode & 07777, 0600);
        kiln__pack_close(&pack);
        CHECK_OK(read_rows(path, &err), &err);
        for (unsigned k = 0; k < counts[i] + 20; k++)
            CHECK_EQ(look_up(path, k, &err), k < counts[i] ? KILN_DONE : KILN_MISS);
    }
    CHECK_EQ(look_up(pack_path("absent.kilnpack"), 0, NULL), KILN_MISS);
}

static void entries_are_compressed(void **state)
{
    (void)state;
    const char *path = pack_path("small.kilnpack");
    struct stat info;
    write_pack(path, 30);
    CHECK_EQ(stat(path, &info), 0);
    CHECK_LT(info.st_size, 30000); /* ten of the artifacts have 20,000 bytes each */
}

static void manifest_counts(void **state)
{
    (void)state;
    const char *path = pack_path("manifest.kilnpack");
    struct kiln_buffer text = {0};
    struct kiln_pack pack;
    kiln_error err = {0};
    char toolchain[KILN_TOOLCHAIN_SIZE];
    write_pack(path, 10);
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    CHECK_OK(kiln__pack_manifest(&pack, &text, &err), &err);
    CHECK_STR((char *)text.data, "kiln " KILN_VERSION "\n"
                                 "made 2023-11-14T22:13:20Z\n"
                                 "toolchain tool chain of the test\n"
                                 "entries 10\n"
                                 "bytes 10000\n"
                                 "function 8 common\n"
                                 "function 2 rare\\x0a\n"
                                 "target 5 x86-64-v2\n"
                                 "target 5 x86-64-v3\n");
    CHECK_TRUE(kiln__manifest_toolchain((kiln_bytes){text.data, text.size}, toolchain));
    CHECK_STR(toolchain, "tool chain of the test");
    kiln__buffer_release(&text);
    kiln__pack_close(&pack);
}

static void toolchain_of_odd_manifests(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       "toolchain",
                                       "toolchain \n",
                                       "toolchain without an end",
                                       "a toolchain x\n",
                                       "toolchain bell \a\ntoolchain fine\n"};
    char line[KILN_TOOLCHAIN_SIZE], long_one[300];
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        CHECK_CONTEXT("%s", none[i]);
        CHECK_FALSE(kiln__manifest_toolchain((kiln_bytes){none[i], strlen(none[i])}, line));
    }
    memset(long_one, 'x', sizeof long_one);
    memcpy(long_one, "toolchain ", 10);
    long_one[10 + 159] = '\n';
    CHECK_TRUE(kiln__manifest_toolchain((kiln_bytes){long_one, 10 + 160}, line));
    CHECK_EQ(strlen(line), 159);
    long_one[10 + 159] = 'x';
    long_one[10 + 160] = '\n';
    CHECK_FALSE(kiln__manifest_toolchain((kiln_bytes){long_one, 10 + 161}, line));
}

/* Fewer entries than there was room for: some had gone meanwhile. */
static void room_may_stay_empty(void **state)
{
    (void)state;
    const char *path = pack_path("room.kilnpack");
    struct kiln_pack_writer writer;
    struct kiln_artifact *artifact = make_artifact(3);
    struct kiln_pack pack;
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_OK(kiln__pack_begin(&writer, path, 500, 100, &err), &err);
    CHECK_OK(kiln__pack_add(&writer, artifact, &err), &err);
    CHECK_OK(kiln__pack_finish(&writer, (kiln_bytes){"kiln 1\n", 7}, 0644, &err), &err);
    kiln__artifact_unref(artifact);
    CHECK_EQ(look_up(path, 3, &err), KILN_DONE);
    CHECK_EQ(look_up(path, 4, &err), KILN_MISS);
    CHECK_OK(read_rows(path, &err), &err);
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    CHECK_EQ(pack.info.st_mode & 07777, 0644);
    CHECK_OK(kiln__pack_manifest(&pack, &text, &err), &err);
    CHECK_EQ(text.size, 100);
    CHECK_MEM(text.data, "kiln 1\n\n\n", 9);
    kiln__buffer_release(&text);
    kiln__pack_close(&pack);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

/* Whatever byte is changed: nothing wrong is given, and a change within an entry costs that entry alone. */
static void every_flipped_byte(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    const char *path = pack_path("flips.kilnpack");
    write_pack(path, COUNT);
    struct kiln_buffer bytes = read_whole(path);
    struct kiln_pack pack;
    kiln_error err = {0};
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    size_t front = kiln__pack_index_offset(pack.manifest_size), entries = front + KILN_PACK_BLOCK;
    kiln__pack_close(&pack);
    for (size_t at = 0; at < bytes.size; at += at < front || at >= entries ? 1 : 7) {
        CHECK_CONTEXT("byte %zu of %zu, index at %zu, entries at %zu", at, bytes.size, front, entries);
        unsigned found = 0;
        bytes.data[at] ^= 0x20;
        write_whole(path, bytes.data, bytes.size);
        bytes.data[at] ^= 0x20;
        for (unsigned k = 0; k < COUNT; k++) {
            enum kiln_outcome outcome = look_up(path, k, &err);
            CHECK_TRUE(outcome == KILN_DONE || err.status == KILN_INVALID);
            found += outcome == KILN_DONE;
        }
        if (at >= KILN_PACK_HEADER && at < front)
            CHECK_EQ(found, COUNT); /* the manifest */
        else if (at >= entries)
            CHECK_GE(found, COUNT - 1);
        else
            CHECK_EQ(found, 0);
    }
    kiln__buffer_release(&bytes);
}

static void a_flipped_manifest_is_not_read(void **state)
{
    (void)state;
    const char *path = pack_path("text.kilnpack");
    struct kiln_pack pack;
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    write_pack(path, 1);
    struct kiln_buffer bytes = read_whole(path);
    bytes.data[KILN_PACK_HEADER + 3] ^= 1;
    write_whole(path, bytes.data, bytes.size);
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    CHECK_STATUS(kiln__pack_manifest(&pack, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "manifest is damaged");
    CHECK_EQ(text.size, 0);
    kiln__buffer_release(&text);
    kiln__buffer_release(&bytes);
    kiln__pack_close(&pack);
}

/* The entries before the cut are served as long as the index is there; nobody reads the pack as a whole. */
static void cut_anywhere(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    const char *path = pack_path("cut.kilnpack");
    write_pack(path, COUNT);
    struct kiln_buffer bytes = read_whole(path);
    unsigned before = 0;
    for (size_t size = 0; size < bytes.size; size += 11) {
        CHECK_CONTEXT("%zu of %zu bytes", size, bytes.size);
        kiln_error err = {0};
        unsigned found = 0;
        write_whole(path, bytes.data, size);
        for (unsigned k = 0; k < COUNT; k++) {
            enum kiln_outcome outcome = look_up(path, k, &err);
            CHECK_TRUE(outcome == KILN_DONE || (outcome == KILN_FAILED && err.status == KILN_INVALID));
            found += outcome == KILN_DONE;
        }
        CHECK_STATUS(read_rows(path, &err), KILN_INVALID, &err);
        CHECK_GE(found, before);
        CHECK_LT(found, COUNT);
        before = found;
    }
    CHECK_GT(before, 3);
    kiln__buffer_release(&bytes);
}

/* While it is open: no read of a mapping that is gone, just a damaged pack. */
static void cut_while_open(void **state)
{
    (void)state;
    const char *path = pack_path("open.kilnpack");
    struct kiln_artifact *wanted = make_artifact(0), *found = NULL;
    struct kiln_pack pack;
    struct kiln_pack_row row;
    kiln_error err = {0};
    write_pack(path, 4);
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    CHECK_EQ(kiln__pack_find(&pack, &wanted->digest, &row, &err), KILN_DONE);
    CHECK_EQ(truncate(path, (off_t)row.offset + 1), 0);
    CHECK_STATUS(kiln__pack_read(&pack, &row, &found, NULL, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "cut off");
    CHECK_EQ(truncate(path, 0), 0);
    CHECK_EQ(kiln__pack_find(&pack, &wanted->digest, &row, &err), KILN_FAILED);
    CHECK_EQ(err.status, KILN_INVALID);
    kiln__pack_close(&pack);
    kiln__artifact_unref(wanted);
}

/* ---- somebody who means harm ------------------------------------------------------------------------------------ */

struct forged {
    struct kiln_buffer bytes;
    uint8_t *block; /* the first of the index */
};

static struct forged open_forged(unsigned count)
{
    const char *path = pack_path("forged.kilnpack");
    struct kiln_pack pack;
    write_pack(path, count);
    CHECK_EQ(kiln__pack_open(path, &pack, NULL), KILN_DONE);
    struct forged forged = {.bytes = read_whole(path)};
    forged.block = forged.bytes.data + kiln__pack_index_offset(pack.manifest_size);
    kiln__pack_close(&pack);
    return forged;
}

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static const char *close_forged(struct forged *forged)
{
    const char *path = pack_path("forged.kilnpack");
    seal(forged->block, KILN_PACK_BLOCK);
    seal(forged->bytes.data, KILN_PACK_HEADER);
    write_whole(path, forged->bytes.data, forged->bytes.size);
    kiln__buffer_release(&forged->bytes);
    return path;
}

static unsigned count_found(const char *path, unsigned count)
{
    unsigned found = 0;
    for (unsigned k = 0; k < count; k++) {
        kiln_error err = {0};
        enum kiln_outcome outcome = look_up(path, k, &err);
        found += outcome == KILN_DONE;
        CHECK_TRUE(outcome != KILN_FAILED || err.status == KILN_INVALID);
    }
    return found;
}

static void entries_under_other_keys(void **state)
{
    (void)state;
    struct forged forged = open_forged(4);
    uint8_t *first = forged.block, *second = first + KILN_PACK_ROW, place[24];
    memcpy(place, first + KILN_DIGEST_SIZE, sizeof place);
    memcpy(first + KILN_DIGEST_SIZE, second + KILN_DIGEST_SIZE, sizeof place);
    memcpy(second + KILN_DIGEST_SIZE, place, sizeof place);
    const char *path = close_forged(&forged);
    kiln_error err = {0};
    CHECK_EQ(count_found(path, 4), 2);
    CHECK_STATUS(read_rows(path, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "overlap");
}

static void entries_that_overlap(void **state)
{
    (void)state;
    struct forged forged = open_forged(4);
    memcpy(forged.block + KILN_PACK_ROW + KILN_DIGEST_SIZE, forged.block + KILN_DIGEST_SIZE, 24);
    const char *path = close_forged(&forged);
    kiln_error err = {0};
    CHECK_EQ(count_found(path, 4), 3);
    CHECK_STATUS(read_rows(path, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "overlap");
}

static void places_outside_of_the_file(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 95, 1u << 30, UINT64_MAX, UINT64_MAX - 100, (uint64_t)INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        for (size_t field = 0; field < 24; field += 8) {
            CHECK_CONTEXT("%llu at %zu", (unsigned long long)values[i], field);
            struct forged forged = open_forged(4);
            put_u64(forged.block + KILN_DIGEST_SIZE + field, values[i]);
            CHECK_EQ(count_found(close_forged(&forged), 4), 3);
        }
    }
}

static void index_out_of_order(void **state)
{
    (void)state;
    struct forged forged = open_forged(4);
    uint8_t row[KILN_PACK_ROW];
    memcpy(row, forged.block, sizeof row);
    memmove(forged.block, forged.block + KILN_PACK_ROW, 3 * KILN_PACK_ROW);
    memcpy(forged.block + 3 * KILN_PACK_ROW, row, sizeof row);
    const char *path = close_forged(&forged);
    kiln_error err = {0};
    CHECK_LE(count_found(path, 4), 4);
    CHECK_STATUS(read_rows(path, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "not sorted");
}

static void sizes_in_the_header(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        const char *text;
    } cases[] = {{16, UINT64_MAX, "over its limit"},
                 {16, (1u << 24) + 1, "over its limit"},
                 {16, 1u << 24, "cut off"},
                 {16, 1000, "cut off"},
                 {24, 10, "cut off"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_CONTEXT("%llu at %zu", (unsigned long long)cases[i].value, cases[i].at);
        kiln_error err = {0};
        struct forged forged = open_forged(4);
        put_u64(forged.bytes.data + cases[i].at, cases[i].value);
        CHECK_EQ(look_up(close_forged(&forged), 0, &err), KILN_FAILED);
        CHECK_EQ(err.status, KILN_INVALID);
        CHECK_CONTAINS(err.text, cases[i].text);
    }
    kiln_error err = {0};
    struct forged forged = open_forged(4);
    memcpy(forged.bytes.data + 12, "\xff\xff\xff\xff", 4);
    CHECK_EQ(look_up(close_forged(&forged), 0, &err), KILN_FAILED);
    CHECK_CONTAINS(err.text, "over its limit");
    forged = open_forged(4);
    forged.bytes.data[8] = 2;
    CHECK_EQ(look_up(close_forged(&forged), 0, &err), KILN_FAILED);
    CHECK_CONTAINS(err.text, "format version 2; this library reads version 1");
}

/* Digests that are not evenly spread are found by halving, wherever they stand. */
static void skewed_digests_are_found(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct forged forged = open_forged(0);
    const char *path = pack_path("skewed.kilnpack");
    struct kiln_buffer bytes = {0};
    kiln__buffer_append(&bytes, forged.bytes.data, forged.bytes.size);
    put_u64(bytes.data + 16, COUNT);
    kiln__buffer_release(&forged.bytes);
    for (unsigned i = 0; i < COUNT; i++) {
        uint8_t row[KILN_PACK_ROW] = {0};
        row[30] = (uint8_t)(i >> 7), row[31] = (uint8_t)(i << 1);
        put_u64(row + KILN_DIGEST_SIZE, i);
        if (i % KILN_PACK_BLOCK_ROWS == 0 && i) {
            memset(kiln__buffer_grow(&bytes, 64), 0, 64);
            seal(bytes.data + bytes.size - KILN_PACK_BLOCK, KILN_PACK_BLOCK);
        }
        kiln__buffer_append(&bytes, row, sizeof row);
    }
    size_t rest = KILN_PACK_BLOCK - COUNT % KILN_PACK_BLOCK_ROWS * KILN_PACK_ROW;
    memset(kiln__buffer_grow(&bytes, rest), 0, rest);
    seal(bytes.data + bytes.size - KILN_PACK_BLOCK, KILN_PACK_BLOCK);
    put_u64(bytes.data + 24, bytes.size);
    seal(bytes.data, KILN_PACK_HEADER);
    write_whole(path, bytes.data, bytes.size);
    struct kiln_pack pack;
    kiln_error err = {0};
    CHECK_EQ(kiln__pack_open(path, &pack, &err), KILN_DONE);
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        struct kiln_digest digest = {0};
        struct kiln_pack_row row;
        digest.bytes[30] = (uint8_t)(i >> 8), digest.bytes[31] = (uint8_t)i;
        CHECK_EQ(kiln__pack_find(&pack, &digest, &row, &err), i % 2 ? KILN_MISS : KILN_DONE);
        if (i % 2 == 0) CHECK_EQ(row.offset, i / 2);
    }
    kiln__pack_close(&pack);
    kiln__buffer_release(&bytes);
}

static void other_files_are_no_packs(void **state)
{
    (void)state;
    kiln_error err = {0};
    write_whole(pack_path("text"), "some text", 9);
    CHECK_EQ(look_up(pack_path("text"), 0, &err), KILN_FAILED);
    CHECK_CONTAINS(err.text, "too short");
    char zeros[200] = {0};
    write_whole(pack_path("zeros"), zeros, sizeof zeros);
    CHECK_EQ(look_up(pack_path("zeros"), 0, &err), KILN_FAILED);
    CHECK_CONTAINS(err.text, "magic");
    CHECK_EQ(look_up(pack_path("."), 0, &err), KILN_FAILED);
    CHECK_EQ(err.status, KILN_IO);
    CHECK_EQ(mkfifo(pack_path("fifo"), 0600), 0);
    CHECK_EQ(look_up(pack_path("fifo"), 0, &err), KILN_FAILED);
    CHECK_EQ(err.status, KILN_IO);
    CHECK_TRUE(kiln__is_pack_name("a.kilnpack"));
    CHECK_FALSE(kiln__is_pack_name(".kilnpack"));
    CHECK_FALSE(kiln__is_pack_name("a.kilnpack.bak"));
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static unsigned count_files(const char *folder)
{
    unsigned count = 0;
    DIR *list = opendir(folder);
    CHECK_NOT_NULL(list);
    for (struct dirent *item; (item = readdir(list));) count += item->d_name[0] != '.';
    closedir(list);
    return count;
}

static void what_is_not_finished_leaves_nothing(void **state)
{
    (void)state;
    const char *folder = pack_path("writing"), *path = pack_path("writing/a.kilnpack");
    struct kiln_pack_writer writer;
    struct kiln_artifact *artifact = make_artifact(0);
    kiln_error err = {0};
    CHECK_EQ(mkdir(folder, 0700), 0);
    CHECK_OK(kiln__pack_begin(&writer, path, 2, 10, &err), &err);
    CHECK_OK(kiln__pack_add(&writer, artifact, &err), &err);
    CHECK_STATUS(kiln__pack_add(&writer, artifact, &err), KILN_INVALID, &err);
    CHECK_EQ(count_files(folder), 1);
    kiln__pack_abandon(&writer);
    CHECK_EQ(count_files(folder), 0);

    CHECK_OK(kiln__pack_begin(&writer, path, 1, 3, &err), &err);
    CHECK_STATUS(kiln__pack_finish(&writer, (kiln_bytes){"long", 4}, 0600, &err), KILN_INVALID, &err);
    CHECK_EQ(count_files(folder), 0);

    CHECK_STATUS(kiln__pack_begin(&writer, pack_path("nowhere/a.kilnpack"), 1, 3, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "nowhere/a.kilnpack");
    kiln__artifact_unref(artifact);
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    const char *folder = pack_path("full"), *path = pack_path("full/a.kilnpack");
    struct kiln_pack_writer writer;
    struct kiln_artifact *artifact = make_artifact(1);
    struct rlimit old, small;
    kiln_error err = {0};
    CHECK_EQ(mkdir(folder, 0700), 0);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){4300, old.rlim_max};
    CHECK_OK(kiln__pack_begin(&writer, path, 1, 10, &err), &err);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    kiln_status status = kiln__pack_add(&writer, artifact, &err);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    CHECK_STATUS(status, KILN_IO, &err);
    kiln__pack_abandon(&writer);
    CHECK_EQ(count_files(folder), 0);
    kiln__artifact_unref(artifact);
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
        cmocka_unit_test(what_is_put_in_comes_out),
        cmocka_unit_test(entries_are_compressed),
        cmocka_unit_test(manifest_counts),
        cmocka_unit_test(toolchain_of_odd_manifests),
        cmocka_unit_test(room_may_stay_empty),
        cmocka_unit_test(every_flipped_byte),
        cmocka_unit_test(a_flipped_manifest_is_not_read),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(cut_while_open),
        cmocka_unit_test(entries_under_other_keys),
        cmocka_unit_test(entries_that_overlap),
        cmocka_unit_test(places_outside_of_the_file),
        cmocka_unit_test(index_out_of_order),
        cmocka_unit_test(sizes_in_the_header),
        cmocka_unit_test(skewed_digests_are_found),
        cmocka_unit_test(other_files_are_no_packs),
        cmocka_unit_test(what_is_not_finished_leaves_nothing),
        cmocka_unit_test(a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
