/*
 * test_key_encoding.c - the fuzz target for signatures on bytes that are the same each time: random ones, and pairs
 * that differ in one byte.
 */
#include "cache_support.h"

#include "fuzz/fuzz_signature.c"

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = 1;
    uint8_t bytes[400];
    for (int round = 0; round < 20000; round++) {
        size_t size = next_random(&seed) % sizeof bytes;
        for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)next_random(&seed);
        LLVMFuzzerTestOneInput(bytes, size);
    }
}

static void test_neighbours(void **state)
{
    (void)state;
    uint64_t seed = 2;
    uint8_t bytes[128];
    for (int round = 0; round < 20000; round++) {
        size_t half = 1 + next_random(&seed) % (sizeof bytes / 2 - 1);
        for (size_t i = 0; i < half; i++) bytes[i] = bytes[half + i] = (uint8_t)(next_random(&seed) % 13);
        LLVMFuzzerTestOneInput(bytes, 2 * half);
        bytes[next_random(&seed) % (2 * half)] ^= (uint8_t)(1u << next_random(&seed) % 8);
        LLVMFuzzerTestOneInput(bytes, 2 * half);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
