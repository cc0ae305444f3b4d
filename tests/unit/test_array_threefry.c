/*
 * test_array_threefry.c - known words of the generator, and the layout for odd counts.
 */
#include "array/threefry.h"
#include "support/check.h"

static const uint32_t key[2] = {0, 42};

static void test_known_words(void **state)
{
    (void)state;
    static const uint32_t expected[4] = {2465931498u, 3679230171u, 255383827u, 267815257u};
    uint32_t words[4];
    kiln__threefry_fill(key, words, 4);
    for (int i = 0; i < 4; i++) CHECK_EQ(words[i], expected[i]);
}

/* The vector of the generator's authors: all zero, 20 rounds. */
static void test_published_vector(void **state)
{
    (void)state;
    uint32_t out[2];
    kiln__threefry2x32((uint32_t[2]){0, 0}, (uint32_t[2]){0, 0}, out);
    CHECK_EQ(out[0], 0x6b200159u);
    CHECK_EQ(out[1], 0x99ba4efeu);
}

static void test_odd_count(void **state)
{
    (void)state;
    uint32_t words[6] = {0}, pair[2];
    words[5] = 7;
    kiln__threefry_fill(key, words, 5);
    CHECK_EQ(words[5], 7); /* nothing is written behind the end */
    for (uint32_t i = 0; i < 2; i++) {
        kiln__threefry2x32(key, (uint32_t[2]){i, 3 + i}, pair);
        CHECK_EQ(words[i], pair[0]);
        CHECK_EQ(words[3 + i], pair[1]);
    }
    kiln__threefry2x32(key, (uint32_t[2]){2, 0}, pair);
    CHECK_EQ(words[2], pair[0]);
    kiln__threefry_fill(key, words, 0);
    kiln__threefry_fill(key, words, 1);
    kiln__threefry2x32(key, (uint32_t[2]){0, 0}, pair);
    CHECK_EQ(words[0], pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_words),
        cmocka_unit_test(test_published_vector),
        cmocka_unit_test(test_odd_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
