/*
 * order_keys.h - elements of every dtype as unsigned numbers in the same order, from their bits: run/ops/sort_keys.h
 * says which.
 *
 * The magnitudes of floats are ordered like their bits, so half of all keys plus or minus the magnitude are ordered
 * like the numbers. Without branches, which would keep a thread's loads apart.
 */
#ifndef KILN_CODEGEN_RUNTIME_ORDER_KEYS_H
#define KILN_CODEGEN_RUNTIME_ORDER_KEYS_H

#include <stdint.h>

/* bits: `width` of them, 0 above. */
static inline uint32_t float_key(uint32_t bits, unsigned width, uint32_t infinity)
{
    uint32_t half = UINT32_C(1) << (width - 1), magnitude = bits & (half - 1);
    uint32_t minus = 0u - (bits >> (width - 1)), nan = 0u - (uint32_t)(magnitude > infinity);
    return (half + ((magnitude ^ minus) - minus)) | (nan & (half | (half - 1)));
}

static inline uint64_t double_key(uint64_t bits)
{
    uint64_t half = UINT64_C(1) << 63, magnitude = bits & (half - 1);
    uint64_t minus = 0u - (bits >> 63), nan = 0u - (uint64_t)(magnitude > UINT64_C(0x7ff0000000000000));
    return (half + ((magnitude ^ minus) - minus)) | nan;
}

static inline uint64_t key_u8(uint8_t x)
{
    return x;
}
static inline uint64_t key_b1(uint8_t x)
{
    return x != 0;
}
static inline uint64_t key_u16(uint16_t x)
{
    return x;
}
static inline uint64_t key_u32(uint32_t x)
{
    return x;
}
static inline uint64_t key_u64(uint64_t x)
{
    return x;
}
static inline uint64_t key_i8(uint8_t x)
{
    return x ^ 0x80u;
}
static inline uint64_t key_i16(uint16_t x)
{
    return x ^ 0x8000u;
}
static inline uint64_t key_i32(uint32_t x)
{
    return x ^ 0x80000000u;
}
static inline uint64_t key_i64(uint64_t x)
{
    return x ^ UINT64_C(1) << 63;
}
static inline uint64_t key_f16(uint16_t x)
{
    return float_key(x, 16, 0x7c00);
}
static inline uint64_t key_bf16(uint16_t x)
{
    return float_key(x, 16, 0x7f80);
}
static inline uint64_t key_f32(uint32_t x)
{
    return float_key(x, 32, 0x7f800000);
}
static inline uint64_t key_f64(uint64_t x)
{
    return double_key(x);
}

static inline uint64_t key_c64(uint64_t x)
{
    uint64_t real = key_f32((uint32_t)x), imaginary = key_f32((uint32_t)(x >> 32));
    uint64_t nan = 0u - (uint64_t)((real == UINT32_MAX) | (imaginary == UINT32_MAX));
    return real << 32 | imaginary | nan;
}

#endif
