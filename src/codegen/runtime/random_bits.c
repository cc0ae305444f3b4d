/*
 * random_bits.c - the random generator of array/threefry.h, for kernels. Its loops have constant bounds and are
 * unrolled.
 */
#include "runtime.h"

#include "array/threefry.h"

uint64_t kiln_threefry(uint64_t key, uint64_t counter)
{
    const uint32_t keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    const uint32_t counters[2] = {(uint32_t)counter, (uint32_t)(counter >> 32)};
    uint32_t words[2];
    kiln__threefry2x32(keys, counters, words);
    return words[0] | (uint64_t)words[1] << 32;
}
