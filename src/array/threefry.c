/*
 * threefry.c - see threefry.h. Every word is written once, whatever the count.
 */
#include "array/threefry.h"

void kiln__threefry_fill(const uint32_t key[2], uint32_t *words, size_t count)
{
    size_t half = count / 2;
    size_t second = half + count % 2;
    uint32_t pair[2];
    for (size_t i = 0; i < half; i++) {
        kiln__threefry2x32(key, (uint32_t[2]){(uint32_t)i, (uint32_t)(second + i)}, pair);
        words[i] = pair[0];
        words[second + i] = pair[1];
    }
    if (second != half) {
        kiln__threefry2x32(key, (uint32_t[2]){(uint32_t)half, 0}, pair);
        words[half] = pair[0];
    }
}
