/*
 * dtype.c - see dtype.h. The table of promotions is symmetric, and promoting twice gives nothing new.
 */
#include "array/dtype.h"

#include <stdint.h>
#include <string.h>

const struct kiln_dtype_info kiln__dtypes[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = {"bool", "b1", 1, KILN_KIND_BOOL},
    [KILN_UINT8] = {"uint8", "u8", 1, KILN_KIND_UNSIGNED},
    [KILN_UINT16] = {"uint16", "u16", 2, KILN_KIND_UNSIGNED},
    [KILN_UINT32] = {"uint32", "u32", 4, KILN_KIND_UNSIGNED},
    [KILN_UINT64] = {"uint64", "u64", 8, KILN_KIND_UNSIGNED},
    [KILN_INT8] = {"int8", "i8", 1, KILN_KIND_SIGNED},
    [KILN_INT16] = {"int16", "i16", 2, KILN_KIND_SIGNED},
    [KILN_INT32] = {"int32", "i32", 4, KILN_KIND_SIGNED},
    [KILN_INT64] = {"int64", "i64", 8, KILN_KIND_SIGNED},
    [KILN_FLOAT16] = {"float16", "f16", 2, KILN_KIND_FLOAT},
    [KILN_FLOAT32] = {"float32", "f32", 4, KILN_KIND_FLOAT},
    [KILN_FLOAT64] = {"float64", "f64", 8, KILN_KIND_FLOAT},
    [KILN_BFLOAT16] = {"bfloat16", "bf16", 2, KILN_KIND_FLOAT},
    [KILN_COMPLEX64] = {"complex64", "c64", 8, KILN_KIND_COMPLEX},
};

bool kiln__dtype_is_valid(int dtype)
{
    return dtype >= 0 && dtype < KILN_DTYPE_COUNT;
}

enum {
    B = KILN_BOOL,
    U1 = KILN_UINT8,
    U2 = KILN_UINT16,
    U4 = KILN_UINT32,
    U8 = KILN_UINT64,
    I1 = KILN_INT8,
    I2 = KILN_INT16,
    I4 = KILN_INT32,
    I8 = KILN_INT64,
    H = KILN_FLOAT16,
    F = KILN_FLOAT32,
    D = KILN_FLOAT64,
    G = KILN_BFLOAT16,
    C = KILN_COMPLEX64
};

/* clang-format off */
static const uint8_t promotions[KILN_DTYPE_COUNT][KILN_DTYPE_COUNT] = {
    /*       B   U1  U2  U4  U8  I1  I2  I4  I8  H  F  D  G  C */
    [B]  = { B,  U1, U2, U4, U8, I1, I2, I4, I8, H, F, D, G, C},
    [U1] = {U1,  U1, U2, U4, U8, I2, I2, I4, I8, H, F, D, G, C},
    [U2] = {U2,  U2, U2, U4, U8, I4, I4, I4, I8, H, F, D, G, C},
    [U4] = {U4,  U4, U4, U4, U8, I8, I8, I8, I8, H, F, D, G, C},
    [U8] = {U8,  U8, U8, U8, U8,  F,  F,  F,  F, H, F, D, G, C},
    [I1] = {I1,  I2, I4, I8,  F, I1, I2, I4, I8, H, F, D, G, C},
    [I2] = {I2,  I2, I4, I8,  F, I2, I2, I4, I8, H, F, D, G, C},
    [I4] = {I4,  I4, I4, I8,  F, I4, I4, I4, I8, H, F, D, G, C},
    [I8] = {I8,  I8, I8, I8,  F, I8, I8, I8, I8, H, F, D, G, C},
    [H]  = { H,   H,  H,  H,  H,  H,  H,  H,  H, H, F, D, F, C},
    [F]  = { F,   F,  F,  F,  F,  F,  F,  F,  F, F, F, D, F, C},
    [D]  = { D,   D,  D,  D,  D,  D,  D,  D,  D, D, D, D, D, C},
    [G]  = { G,   G,  G,  G,  G,  G,  G,  G,  G, F, F, D, G, C},
    [C]  = { C,   C,  C,  C,  C,  C,  C,  C,  C, C, C, C, C, C},
};
/* clang-format on */

enum kiln_dtype kiln__dtype_promote(enum kiln_dtype a, enum kiln_dtype b)
{
    return (enum kiln_dtype)promotions[a][b];
}

/* ---- 16-bit floats: by their bits, so that the result does not depend on the compiler's modes ------------------- */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float kiln__half_to_float(unsigned short bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0x1f) return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* a multiple of 2^-24, which float holds exactly */
        float value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

/* `value` without its last `drop` bits, rounded to nearest, ties to even. A carry into the exponent is right. */
static uint32_t round_off(uint32_t value, unsigned drop)
{
    uint32_t half = 1u << (drop - 1);
    uint32_t odd = value >> drop & 1;
    return (value + half - 1 + odd) >> drop;
}

unsigned short kiln__float_to_half(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t half;
    if (rest > 0x7f800000u)
        half = 0x7e00u | (rest >> 13 & 0x3ffu); /* NaN: quiet, keeps what fits of its payload */
    else if (rest >= 0x477ff000u)
        half = 0x7c00u; /* 65520 and more round to infinity */
    else if (rest >= 0x38800000u)
        half = round_off(rest - (112u << 23), 13);
    else if (rest >= 0x33000000u)
        half = round_off((rest & 0x7fffffu) | 0x800000u, 126 - (rest >> 23)); /* a denormal: counts 2^-24 */
    else
        half = 0;
    return (unsigned short)(sign | half);
}

float kiln__bfloat_to_float(unsigned short bits)
{
    return float_of((uint32_t)bits << 16);
}

unsigned short kiln__float_to_bfloat(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
    return (unsigned short)round_off(bits, 16);
}
