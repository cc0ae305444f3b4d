/*
 * order.c - see order.h. A float's bits, with all of them flipped for negative numbers and just the sign for the
 * others, are ordered like the numbers.
 */
#include "run/order.h"

#include <string.h>

static inline uint64_t float_key(uint64_t bits, unsigned width, uint64_t infinity)
{
    uint64_t sign = UINT64_C(1) << (width - 1), all = sign | (sign - 1);
    uint64_t magnitude = bits & ~sign;
    if (magnitude > infinity) return all;
    if (bits & sign) return magnitude == 0 ? sign : ~bits & all;
    return bits | sign;
}

static inline uint64_t key_u8(uint8_t x)
{
    return x;
}
static inline uint64_t key_bool(uint8_t x)
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
    return float_key(x, 64, UINT64_C(0x7ff0000000000000));
}

static inline uint64_t key_c64(uint64_t x)
{
    uint64_t real = key_f32((uint32_t)x), imaginary = key_f32((uint32_t)(x >> 32));
    return real == UINT32_MAX || imaginary == UINT32_MAX ? UINT64_MAX : real << 32 | imaginary;
}

#define DEFINE_KEYS(name, type)                                                                                        \
    static void keys_##name(const char *data, int64_t stride, int64_t n, uint64_t *keys)                               \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type bits;                                                                                                 \
            memcpy(&bits, data + i * stride, sizeof bits);                                                             \
            keys[i] = key_##name(bits);                                                                                \
        }                                                                                                              \
    }

DEFINE_KEYS(bool, uint8_t)
DEFINE_KEYS(u8, uint8_t)
DEFINE_KEYS(u16, uint16_t)
DEFINE_KEYS(u32, uint32_t)
DEFINE_KEYS(u64, uint64_t)
DEFINE_KEYS(i8, uint8_t)
DEFINE_KEYS(i16, uint16_t)
DEFINE_KEYS(i32, uint32_t)
DEFINE_KEYS(i64, uint64_t)
DEFINE_KEYS(f16, uint16_t)
DEFINE_KEYS(f32, uint32_t)
DEFINE_KEYS(f64, uint64_t)
DEFINE_KEYS(bf16, uint16_t)
DEFINE_KEYS(c64, uint64_t)

kiln_order_keys *const kiln__order_keys[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = keys_bool,     [KILN_UINT8] = keys_u8,      [KILN_UINT16] = keys_u16,  [KILN_UINT32] = keys_u32,
    [KILN_UINT64] = keys_u64,    [KILN_INT8] = keys_i8,       [KILN_INT16] = keys_i16,   [KILN_INT32] = keys_i32,
    [KILN_INT64] = keys_i64,     [KILN_FLOAT16] = keys_f16,   [KILN_FLOAT32] = keys_f32, [KILN_FLOAT64] = keys_f64,
    [KILN_BFLOAT16] = keys_bf16, [KILN_COMPLEX64] = keys_c64,
};

uint64_t kiln__order_nan(enum kiln_dtype dtype)
{
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT) return 0;
    return UINT64_MAX >> (64 - 8 * kiln__dtype_size(dtype));
}
