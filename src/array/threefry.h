/*
 * threefry.h - the counter-based random generator threefry2x32 with 20 rounds (Salmon et al., 2011).
 *
 * A pure function: the same key and counter give the same two words, everywhere. The layout of n words is part of what
 * programs rely on: word i and word i + half + odd come from one hash with the counter (i, i + half + odd), half = n /
 * 2 and odd = n % 2; for odd n the middle word is the first word of the hash of (half, 0).
 */
#ifndef KILN_ARRAY_THREEFRY_H
#define KILN_ARRAY_THREEFRY_H

#include <stddef.h>
#include <stdint.h>

static inline void kiln__threefry2x32(const uint32_t key[2], const uint32_t count[2], uint32_t out[2])
{
    static const uint8_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t schedule[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    uint32_t x = count[0] + schedule[0];
    uint32_t y = count[1] + schedule[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            unsigned by = rotations[group % 2][i];
            x += y;
            y = (y << by | y >> (32 - by)) ^ x;
        }
        x += schedule[(group + 1) % 3];
        y += schedule[(group + 2) % 3] + group + 1;
    }
    out[0] = x;
    out[1] = y;
}

/* The `count` words that `key` stands for, in the layout above. */
void kiln__threefry_fill(const uint32_t key[2], uint32_t *words, size_t count);

#endif
