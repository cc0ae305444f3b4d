/*
 * test_base_pages.c - few things come from malloc, many of one size from blocks: apart from each other, zero, and given
 * back when the last one goes.
 */
#include "cache_support.h"

#include "base/pages.h"

enum { SIZE = 200, BLOCK = 2 << 20, FEW = BLOCK / 256, MANY = 3 * FEW };

static struct thing {
    unsigned char *data;
    bool in_block;
} things[MANY];

static void thing_new(int i)
{
    things[i].data = kiln__pages_new(SIZE, &things[i].in_block);
    assert_non_null(things[i].data);
    for (int k = 0; k < SIZE; k++) assert_int_equal(things[i].data[k], 0);
    memset(things[i].data, i & 127 ? i & 127 : 1, SIZE);
}

static void thing_free(int i)
{
    for (int k = 0; k < SIZE; k++) assert_int_equal(things[i].data[k], i & 127 ? i & 127 : 1);
    kiln__pages_free(things[i].data, SIZE, things[i].in_block);
}

static void test_few_are_plain(void **state)
{
    (void)state;
    for (int i = 0; i < FEW; i++) thing_new(i);
    for (int i = 0; i < FEW; i++) assert_false(things[i].in_block);
    assert_int_equal(kiln__pages_block_bytes(), 0);
    for (int i = 0; i < FEW; i++) thing_free(i);
}

static void test_many_stand_in_blocks(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) thing_new(i);
    for (int i = 0; i < MANY; i++) assert_int_equal(things[i].in_block, i >= FEW);
    for (int i = FEW; i < MANY; i++) assert_int_equal((uintptr_t)things[i].data % 64, 0);
    size_t bytes = kiln__pages_block_bytes();
    assert_in_range(bytes, 2 * BLOCK, 3 * BLOCK);
    for (int round = 0; round < 3; round++) { /* what was given back is used again */
        for (int i = FEW + round; i < MANY; i += 2) thing_free(i);
        for (int i = FEW + round; i < MANY; i += 2) thing_new(i);
        assert_int_equal(kiln__pages_block_bytes(), bytes);
    }
    for (int i = 0; i < MANY; i++) thing_free(i);
    assert_int_equal(kiln__pages_block_bytes(), 0);
}

/* Freeing the plain ones makes room for plain ones again, once the blocks are gone. */
static void test_plain_again(void **state)
{
    (void)state;
    for (int i = 0; i <= FEW; i++) thing_new(i);
    assert_true(things[FEW].in_block);
    for (int i = 0; i <= FEW; i++) thing_free(i);
    thing_new(0);
    assert_false(things[0].in_block);
    thing_free(0);
}

static void test_large_are_plain(void **state)
{
    (void)state;
    enum { LARGE = BLOCK / 2, COUNT = 5 };
    void *data[COUNT];
    bool in_block;
    for (int i = 0; i < COUNT; i++) {
        data[i] = kiln__pages_new(LARGE, &in_block);
        assert_non_null(data[i]);
        assert_false(in_block);
    }
    for (int i = 0; i < COUNT; i++) kiln__pages_free(data[i], LARGE, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_are_plain),
        cmocka_unit_test(test_many_stand_in_blocks),
        cmocka_unit_test(test_plain_again),
        cmocka_unit_test(test_large_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
