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
    CHECK_NOT_NULL(things[i].data);
    for (int k = 0; k < SIZE; k++) CHECK_EQ(things[i].data[k], 0);
    memset(things[i].data, i & 127 ? i & 127 : 1, SIZE);
}
#define thing_new(...) CHECK_CALL(thing_new, __VA_ARGS__)

static void thing_free(int i)
{
    for (int k = 0; k < SIZE; k++) CHECK_EQ(things[i].data[k], i & 127 ? i & 127 : 1);
    kiln__pages_free(things[i].data, SIZE, things[i].in_block);
}
#define thing_free(...) CHECK_CALL(thing_free, __VA_ARGS__)

static void test_few_are_plain(void **state)
{
    (void)state;
    for (int i = 0; i < FEW; i++) thing_new(i);
    for (int i = 0; i < FEW; i++) CHECK_FALSE(things[i].in_block);
    CHECK_EQ(kiln__pages_block_bytes(), 0);
    for (int i = 0; i < FEW; i++) thing_free(i);
}

static void test_many_stand_in_blocks(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) thing_new(i);
    for (int i = 0; i < MANY; i++) CHECK_EQ(things[i].in_block, i >= FEW);
    for (int i = FEW; i < MANY; i++) CHECK_EQ((uintptr_t)things[i].data % 64, 0);
    size_t bytes = kiln__pages_block_bytes();
    CHECK_BETWEEN(bytes, 2 * BLOCK, 3 * BLOCK);
    for (int round = 0; round < 3; round++) { /* what was given back is used again */
        for (int i = FEW + round; i < MANY; i += 2) thing_free(i);
        for (int i = FEW + round; i < MANY; i += 2) thing_new(i);
        CHECK_EQ(kiln__pages_block_bytes(), bytes);
    }
    for (int i = 0; i < MANY; i++) thing_free(i);
    CHECK_EQ(kiln__pages_block_bytes(), 0);
}

/* Freeing the plain ones makes room for plain ones again, once the blocks are gone. */
static void test_plain_again(void **state)
{
    (void)state;
    for (int i = 0; i <= FEW; i++) thing_new(i);
    CHECK_TRUE(things[FEW].in_block);
    for (int i = 0; i <= FEW; i++) thing_free(i);
    thing_new(0);
    CHECK_FALSE(things[0].in_block);
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
        CHECK_NOT_NULL(data[i]);
        CHECK_FALSE(in_block);
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
