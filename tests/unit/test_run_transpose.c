/*
 * test_run_transpose.c - transposed copies move every element to its place and touch nothing else, for every
 * element size, with and without whole tiles, outer axes, source rows backwards, and lines past the caches; others are
 * refused.
 */
#include "run/cpu/transpose.h"
#include "support/check.h"

enum { GUARD = 64, UNTOUCHED = 0xa5 };

/* The source is (outer, n, rows) packed, the destination (outer, rows, n), with `gap` elements after each of its rows.
 */
struct shape {
    int64_t outer, rows, n, gap;
    bool is_backwards;
};

static void set_loop(struct kiln_loop *loop, struct kiln_region *regions, const struct shape *shape, int64_t item)
{
    int64_t to_row = (shape->n + shape->gap) * item, from_row = shape->rows * item;
    *loop = (struct kiln_loop){3, {shape->outer, shape->rows, shape->n}, 2, regions};
    regions[0].item = regions[1].item = item;
    memcpy(regions[0].strides, (int64_t[]){shape->rows * to_row, to_row, item}, 3 * sizeof(int64_t));
    memcpy(regions[1].strides, (int64_t[]){shape->n * from_row, item, shape->is_backwards ? -from_row : from_row},
           3 * sizeof(int64_t));
    if (shape->is_backwards) regions[1].data += (shape->n - 1) * from_row;
}

static void expect_places(const struct kiln_loop *loop, const struct shape *shape, const unsigned char *to)
{
    size_t item = (size_t)loop->regions[0].item;
    for (int64_t outer = 0; outer < shape->outer; outer++) {
        for (int64_t row = 0; row < shape->rows; row++) {
            const int64_t *steps = loop->regions[0].strides, *from_steps = loop->regions[1].strides;
            const unsigned char *line = to + outer * steps[0] + row * steps[1];
            const char *from = loop->regions[1].data + outer * from_steps[0] + row * from_steps[1];
            for (int64_t i = 0; i < shape->n; i++)
                if (memcmp(line + i * steps[2], from + i * from_steps[2], item) != 0) CHECK_FAIL("a wrong element");
            for (int64_t i = shape->n * steps[2]; i < steps[1]; i++) CHECK_EQ(line[i], UNTOUCHED);
        }
    }
}

static void expect_copied(const struct shape *shape, int64_t item)
{
    size_t from_size = (size_t)(shape->outer * shape->rows * shape->n * item);
    size_t to_size = (size_t)(shape->outer * shape->rows * (shape->n + shape->gap) * item);
    unsigned char *from = malloc(from_size), *block = aligned_alloc(GUARD, (to_size + 3 * GUARD - 1) / GUARD * GUARD);
    CHECK_TRUE(from && block);
    for (size_t i = 0; i < from_size; i++) from[i] = (unsigned char)(i * 2654435761u >> 13);
    memset(block, UNTOUCHED, to_size + 2 * GUARD);
    struct kiln_region regions[2] = {{.data = (char *)block + GUARD}, {.data = (char *)from}};
    struct kiln_loop loop;
    set_loop(&loop, regions, shape, item);
    CHECK_TRUE(kiln__transpose_copy(&loop));
    expect_places(&loop, shape, block + GUARD);
    for (size_t i = 0; i < GUARD; i++) {
        CHECK_EQ(block[i], UNTOUCHED);
        CHECK_EQ(block[GUARD + to_size + i], UNTOUCHED);
    }
    free(from);
    free(block);
}
#define expect_copied(...) CHECK_CALL(expect_copied, __VA_ARGS__)

static void every_element_goes_to_its_place(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{1, 64, 64, 0, false},    {1, 64, 65, 0, false}, {3, 67, 130, 0, false},
                                          {2, 1100, 77, 3, false},  {5, 81, 64, 0, true},  {2, 300, 300, 16, true},
                                          {1, 1030, 1025, 0, false}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int64_t item = 1; item <= 8; item *= 2) expect_copied(&shapes[i], item);
}

/* 16 MiB each way and more, rows at whole lines or not. */
static void large_ones_too(void **state)
{
    (void)state;
    for (int64_t item = 1; item <= 8; item *= 2) {
        expect_copied(&(struct shape){2, 1024, 8192 / item + 64, 0, false}, item);
        expect_copied(&(struct shape){1, 2050, 8256 / item, 0, false}, item);
        expect_copied(&(struct shape){1, 2050, 8256 / item + 1, 0, false}, item);
    }
}

static bool is_accepted(int64_t rows, int64_t n, const int64_t to[2], const int64_t from[2])
{
    static char bytes[2][64 * 64 * 4];
    struct kiln_region regions[2] = {{bytes[0], 4, {to[0], to[1]}}, {bytes[1], 4, {from[0], from[1]}}};
    struct kiln_loop loop = {2, {rows, n}, 2, regions};
    return kiln__transpose_copy(&loop);
}

static void other_copies_are_refused(void **state)
{
    (void)state;
    const int64_t packed[2] = {256, 4}, turned[2] = {4, 256}, repeated[2] = {4, 0}, apart[2] = {8, 256};
    CHECK_TRUE(is_accepted(32, 32, packed, turned));
    CHECK_FALSE(is_accepted(32, 32, packed, packed));
    CHECK_FALSE(is_accepted(32, 32, turned, packed));
    CHECK_FALSE(is_accepted(32, 32, packed, repeated));
    CHECK_FALSE(is_accepted(32, 32, packed, apart));
    CHECK_FALSE(is_accepted(15, 32, packed, turned));
    CHECK_FALSE(is_accepted(32, 15, packed, turned));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_goes_to_its_place),
        cmocka_unit_test(large_ones_too),
        cmocka_unit_test(other_copies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
