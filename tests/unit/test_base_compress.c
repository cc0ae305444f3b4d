/*
 * test_base_compress.c - bytes come back as they were, and frames that somebody made to harm are refused before memory
 * is taken for what they claim.
 */
#include "base/compress.h"
#include "support/check.h"

#define LIMIT ((size_t)1 << 20)

/* The header of a frame: magic, descriptor (one segment, size in 8 bytes), size. */
#define FRAME_OF_8_BYTES(...) 0x28, 0xb5, 0x2f, 0xfd, 0xe0, __VA_ARGS__

static void fill(unsigned char *data, size_t size, bool is_random)
{
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = is_random ? (unsigned char)state : (unsigned char)(i / 64 % 7);
    }
}

/* The size that is stored. */
static size_t check_round_trip(const void *data, size_t size)
{
    struct kiln_buffer stored = {0}, raw = {0};
    kiln_error err;
    kiln__buffer_append(&stored, "before", 6);
    kiln__buffer_append(&raw, "before", 6);
    CHECK_EQ(kiln__compress((kiln_bytes){data, size}, &stored), KILN_OK);
    CHECK_MEM(stored.data, "before", 6);
    CHECK_OK(kiln__decompress((kiln_bytes){stored.data + 6, stored.size - 6}, size, &raw, &err), &err);
    CHECK_EQ(raw.size, 6 + size);
    CHECK_MEM(raw.data, "before", 6);
    if (size > 0) CHECK_MEM(raw.data + 6, data, size);
    size_t stored_size = stored.size - 6;
    kiln__buffer_release(&stored);
    kiln__buffer_release(&raw);
    return stored_size;
}
#define check_round_trip(...) CHECK_CALL(check_round_trip, __VA_ARGS__)

static void what_is_compressed_comes_back(void **state)
{
    (void)state;
    static unsigned char data[300000];
    static const size_t sizes[] = {0, 1, 3, 4, 100, 4095, 4096, 4097, 65536, 131072, 131073, sizeof(data)};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int is_random = 0; is_random < 2; is_random++) {
            CHECK_CONTEXT("%zu %s bytes", sizes[i], is_random ? "random" : "regular");
            fill(data, sizes[i], is_random);
            size_t stored = check_round_trip(data, sizes[i]);
            if (sizes[i] < 4096 || is_random) {
                CHECK_EQ(stored, sizes[i]);
            } else {
                CHECK_LT(stored, sizes[i] / 8);
            }
        }
    }
}

/* Raw bytes are told from a frame by how they begin, so these must not be stored as they are. */
static void bytes_that_begin_as_a_frame_come_back(void **state)
{
    (void)state;
    unsigned char data[10000] = {FRAME_OF_8_BYTES(1)};
    check_round_trip(data, 4);
    check_round_trip(data, 14);
    fill(data + 4, sizeof(data) - 4, true);
    check_round_trip(data, sizeof(data));
    struct kiln_buffer frame = {0};
    CHECK_EQ(kiln__compress((kiln_bytes){data, 14}, &frame), KILN_OK);
    check_round_trip(frame.data, frame.size);
    kiln__buffer_release(&frame);
}

static void check_refused(const void *data, size_t size, size_t limit, const char *text)
{
    struct kiln_buffer raw = {0};
    kiln_error err;
    kiln__buffer_append(&raw, "before", 6);
    CHECK_STATUS(kiln__decompress((kiln_bytes){data, size}, limit, &raw, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, text);
    CHECK_EQ(raw.size, 6);
    CHECK_STR((char *)raw.data, "before");
    CHECK_LE(raw.cap, 2 * LIMIT);
    kiln__buffer_release(&raw);
}
#define check_refused(...) CHECK_CALL(check_refused, __VA_ARGS__)

static const unsigned char beyond[] = {FRAME_OF_8_BYTES(0, 0, 0, 0, 0, 0, 0, 0x7f), 1, 0, 0};
static const unsigned char hollow[] = {FRAME_OF_8_BYTES(0, 0, 0x10, 0, 0, 0, 0, 0), 1, 0, 0};
static const unsigned char short_header[] = {FRAME_OF_8_BYTES(1, 0)};
static const unsigned char only_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
/* No single segment and no size; a window of 1 KiB, one raw block of 1 byte. */
static const unsigned char without_size[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x09, 0, 0, 'a'};
/* Says 5 bytes, holds 1. */
static const unsigned char too_few[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x09, 0, 0, 'a'};
/* Says 1 byte, holds 3 of a repeated one. */
static const unsigned char too_many[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x1b, 0, 0, 'a'};
static const unsigned char reserved_block[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x0f, 0, 0, 'a'};
static const unsigned char with_dictionary[] = {0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 1, 0x09, 0, 0, 'a'};
static const unsigned char sound[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x09, 0, 0, 'a'};

static void hostile_frames_are_refused(void **state)
{
    (void)state;
    struct kiln_buffer raw = {0};
    kiln_error err;
    CHECK_OK(kiln__decompress((kiln_bytes){sound, sizeof(sound)}, LIMIT, &raw, &err), &err);
    CHECK_STR((char *)raw.data, "a");
    kiln__buffer_release(&raw);

    check_refused(beyond, sizeof(beyond), LIMIT, "says it holds 9151314442816847872 bytes; at most 1048576");
    check_refused(beyond, sizeof(beyond), SIZE_MAX, "which it can't");
    check_refused(hollow, sizeof(hollow), LIMIT, "which it can't");
    check_refused(hollow, sizeof(hollow), LIMIT - 1, "at most 1048575");
    check_refused(short_header, sizeof(short_header), LIMIT, "damaged");
    check_refused(only_magic, sizeof(only_magic), LIMIT, "damaged");
    check_refused(without_size, sizeof(without_size), LIMIT, "does not say its size");
    check_refused(too_few, sizeof(too_few), LIMIT, "damaged");
    check_refused(too_many, sizeof(too_many), LIMIT, "damaged");
    check_refused(reserved_block, sizeof(reserved_block), LIMIT, "damaged");
    check_refused(with_dictionary, sizeof(with_dictionary), LIMIT, "damaged");
    check_refused(sound, sizeof(sound), 0, "at most 0");
    check_refused("abc", 3, 2, "3 bytes; at most 2");
}

static void only_one_frame_is_accepted(void **state)
{
    (void)state;
    static const unsigned char skippable[] = {0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 'x', 'y'};
    struct kiln_buffer bytes = {0}, raw = {0};
    kiln_error err;
    kiln__buffer_append(&bytes, sound, sizeof(sound));
    kiln__buffer_append(&bytes, sound, sizeof(sound));
    check_refused(bytes.data, bytes.size, LIMIT, "10 bytes follow a compressed frame");
    check_refused(bytes.data, bytes.size - 9, LIMIT, "1 bytes follow");
    kiln__buffer_clear(&bytes);
    kiln__buffer_append(&bytes, sound, sizeof(sound));
    kiln__buffer_append(&bytes, skippable, sizeof(skippable));
    check_refused(bytes.data, bytes.size, LIMIT, "10 bytes follow");

    /* In front it is no frame of ours: these are raw bytes, and stay so. */
    kiln__buffer_clear(&bytes);
    kiln__buffer_append(&bytes, skippable, sizeof(skippable));
    kiln__buffer_append(&bytes, sound, sizeof(sound));
    CHECK_OK(kiln__decompress((kiln_bytes){bytes.data, bytes.size}, LIMIT, &raw, &err), &err);
    CHECK_EQ(raw.size, bytes.size);
    CHECK_MEM(raw.data, bytes.data, bytes.size);
    kiln__buffer_release(&bytes);
    kiln__buffer_release(&raw);
}

/* Cut anywhere, a frame is refused; with a byte changed, it is refused or gives as many bytes as it says. */
static void every_cut_and_flip(void **state)
{
    (void)state;
    static unsigned char data[20000];
    struct kiln_buffer frame = {0};
    fill(data, sizeof(data), false);
    fill(data + 3000, 500, true);
    CHECK_EQ(kiln__compress((kiln_bytes){data, sizeof(data)}, &frame), KILN_OK);
    for (size_t size = 4; size < frame.size; size++) {
        CHECK_CONTEXT("the first %zu of %zu bytes", size, frame.size);
        check_refused(frame.data, size, LIMIT, "frame");
    }
    for (size_t at = 4; at < frame.size; at++) {
        CHECK_CONTEXT("byte %zu of %zu is changed", at, frame.size);
        struct kiln_buffer raw = {0};
        kiln_error err;
        frame.data[at] ^= 0x11;
        if (kiln__decompress((kiln_bytes){frame.data, frame.size}, LIMIT, &raw, &err) != KILN_OK) {
            CHECK_EQ(err.status, KILN_INVALID);
            CHECK_EQ(raw.size, 0);
        } else {
            CHECK_LE(raw.size, LIMIT);
        }
        frame.data[at] ^= 0x11;
        kiln__buffer_release(&raw);
    }
    kiln__buffer_release(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_compressed_comes_back),
        cmocka_unit_test(bytes_that_begin_as_a_frame_come_back),
        cmocka_unit_test(hostile_frames_are_refused),
        cmocka_unit_test(only_one_frame_is_accepted),
        cmocka_unit_test(every_cut_and_flip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
