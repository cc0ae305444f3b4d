/*
 * digest.c - SHA-256 (FIPS 180-4), twice: portable C, and the CPU's SHA instructions.
 *
 * Invariant: `block` holds the last size_bytes % 64 bytes that no compression has seen yet. Both compressors turn the
 * same state and blocks into the same state, so which one runs is never visible in a digest.
 */
#include "base/digest.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/cpu.h"
#endif

typedef void compress_function(uint32_t state[8], const uint8_t *blocks, size_t count);

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t load_big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store_big_endian(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t rotate_right(uint32_t value, int bits)
{
    return value >> bits | value << (32 - bits);
}

static void expand_schedule(uint32_t schedule[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++) schedule[i] = load_big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t early = schedule[i - 15], late = schedule[i - 2];
        uint32_t s0 = rotate_right(early, 7) ^ rotate_right(early, 18) ^ early >> 3;
        uint32_t s1 = rotate_right(late, 17) ^ rotate_right(late, 19) ^ late >> 10;
        schedule[i] = schedule[i - 16] + s0 + schedule[i - 7] + s1;
    }
}

static void compress_portable(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (; count > 0; count--, blocks += 64) {
        uint32_t schedule[64], v[8];
        expand_schedule(schedule, blocks);
        memcpy(v, state, sizeof(v));
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
            uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
            uint32_t first = v[7] + s1 + choice + round_constants[i] + schedule[i];
            uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
            uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            memmove(v + 1, v, 7 * sizeof(v[0]));
            v[4] += first;
            v[0] = first + s0 + majority;
        }
        for (int i = 0; i < 8; i++) state[i] += v[i];
    }
}

#if defined(__x86_64__)
/* The instructions keep the state as two vectors, (a b e f) and (c d g h), highest lane first. */
__attribute__((target("sha,sse4.1,ssse3"))) static void compress_native(uint32_t state[8], const uint8_t *blocks,
                                                                        size_t count)
{
    const __m128i swap_bytes = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abcd = _mm_loadu_si128((const __m128i *)(const void *)state);
    __m128i efgh = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
    __m128i badc = _mm_shuffle_epi32(abcd, 0xb1), hgfe = _mm_shuffle_epi32(efgh, 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4]; /* the last 16 words of the schedule; w[i & 3] is the next four */
        for (int i = 0; i < 16; i++) {
            if (i < 4) {
                __m128i raw = _mm_loadu_si128((const __m128i *)(const void *)(blocks + 16 * i));
                w[i] = _mm_shuffle_epi8(raw, swap_bytes);
            } else {
                __m128i sevenths = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
                __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), sevenths);
                w[i & 3] = _mm_sha256msg2_epu32(partial, w[(i + 3) & 3]);
            }
            __m128i constants = _mm_load_si128((const __m128i *)(const void *)(round_constants + 4 * i));
            __m128i words = _mm_add_epi32(w[i & 3], constants);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static compress_function *pick_compress(void)
{
    static const struct kiln_cpu_bit ssse3 = {CPUID_INDEX_1, 2, 9}, sse4_1 = {CPUID_INDEX_1, 2, 19},
                                     sha = {CPUID_INDEX_7, 1, 29};
    bool has_all = kiln__cpu_has(ssse3) && kiln__cpu_has(sse4_1) && kiln__cpu_has(sha);
    return has_all ? compress_native : compress_portable;
}
#else
static compress_function *pick_compress(void)
{
    return compress_portable;
}
#endif

/* NULL until the first digest. Two threads that race store the same value. */
static compress_function *_Atomic chosen;

static compress_function *compressor(void)
{
    compress_function *compress = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!compress) {
        compress = pick_compress();
        atomic_store_explicit(&chosen, compress, memory_order_relaxed);
    }
    return compress;
}

void kiln__sha256_force_portable(int portable)
{
    atomic_store_explicit(&chosen, portable ? compress_portable : pick_compress(), memory_order_relaxed);
}

void kiln__sha256_init(struct kiln_sha256 *sha)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, first, sizeof(first));
    sha->size_bytes = 0;
}

void kiln__sha256_update(struct kiln_sha256 *sha, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    size_t used = sha->size_bytes % 64;
    if (size == 0) return;
    sha->size_bytes += size;
    if (used > 0) {
        size_t taken = size < 64 - used ? size : 64 - used;
        memcpy(sha->block + used, bytes, taken);
        bytes += taken, size -= taken;
        if (used + taken < 64) return;
        compressor()(sha->state, sha->block, 1);
    }
    if (size >= 64) compressor()(sha->state, bytes, size / 64);
    if (size % 64 > 0) memcpy(sha->block, bytes + size / 64 * 64, size % 64);
}

void kiln__sha256_final(struct kiln_sha256 *sha, struct kiln_digest *out)
{
    static const uint8_t padding[64] = {0x80};
    uint64_t size_bits = sha->size_bytes * 8;
    size_t used = sha->size_bytes % 64;
    uint8_t length[8];
    store_big_endian(length, (uint32_t)(size_bits >> 32));
    store_big_endian(length + 4, (uint32_t)size_bits);
    kiln__sha256_update(sha, padding, used < 56 ? 56 - used : 120 - used);
    kiln__sha256_update(sha, length, sizeof(length));
    for (int i = 0; i < 8; i++) store_big_endian(out->bytes + 4 * i, sha->state[i]);
}

struct kiln_digest kiln__digest(const void *data, size_t size)
{
    struct kiln_sha256 sha;
    struct kiln_digest digest;
    kiln__sha256_init(&sha);
    kiln__sha256_update(&sha, data, size);
    kiln__sha256_final(&sha, &digest);
    return digest;
}

void kiln__digest_hex(const struct kiln_digest *digest, char out[KILN_DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < KILN_DIGEST_SIZE; i++) {
        out[2 * i] = digits[digest->bytes[i] >> 4];
        out[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    out[KILN_DIGEST_HEX - 1] = '\0';
}
