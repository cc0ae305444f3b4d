/*
 * math_bf16.c - helpers for results that are rounded to bfloat16 next: float32 in, float32 out.
 *
 * A bfloat16 has 8 bits, so shorter polynomials do than in math_f32.c, and less care at the ends. What is promised is
 * not an error but the rounded result: for each of the 65,536 inputs it is that of the float32 helper, which the tests
 * check one by one. So a coefficient here is what passed, near the best fit, and must not be touched without them. The
 * steps are those of fused.h, hence the same bits on every target. There is no such file for float16, whose 11 bits
 * need nearly all that float32 needs.
 */
#include "runtime.h"

#include "bits.h"
#include "fused.h"

/* NaN stays. */
static inline float bf16_clamp(float x, float low, float high)
{
    float above = x < low ? low : x;
    return above > high ? high : above;
}

/* 2^(k + offset), k in the low bits */
static inline float bf16_power_of_two(uint32_t whole, uint32_t offset)
{
    return f32_of_bits(bits_of_f32(1.0f) + (offset << 23) + (whole << 23));
}

/* exp(x) = exp(x / 2)^2, so that one factor 2^k is enough: x = 2 k ln2 + r, and a polynomial for exp(r / 2). */
float kiln_exp_bf16(float x)
{
    float inside = bf16_clamp(x, -170.0f, 170.0f);
    float shifted = f32_fma(inside, 0x1.715476p-1f, F32_ROUNDER);
    float r = f32_fma(shifted - F32_ROUNDER, -0x1.62e43p+0f, inside);
    float p = 0x1.100616p-12f;
    p = f32_fma(p, r, 0x1.56dd16p-9f);
    p = f32_fma(p, r, 0x1.55505ap-6f);
    p = f32_fma(p, r, 0x1.00004cp-3f);
    p = f32_fma(p, r, 0.5f);
    p = f32_fma(p, r, 1.0f);
    float root = p * bf16_power_of_two(bits_of_f32(shifted), 0);
    return root * root;
}

/* 1 / (1 + exp(-x)) with 2^-36 above and below, so that the divisor is never too large to be inverted. */
float kiln_sigmoid_bf16(float x)
{
    float inside = bf16_clamp(x, -93.5f, 20.0f);
    float shifted = f32_fma(inside, -0x1.715476p+0f, F32_ROUNDER);
    float r = f32_fma(shifted - F32_ROUNDER, 0x1.62e43p-1f, inside);
    float p = 0x1.51b818p-5f;
    p = f32_fma(p, r, -0x1.5638b4p-3f);
    p = f32_fma(p, r, 0x1.000428p-1f);
    p = f32_fma(p, r, -1.0f);
    p = f32_fma(p, r, 1.0f);
    float divisor = f32_fma(p, bf16_power_of_two(bits_of_f32(shifted), 0u - 36), 0x1p-36f);
    return f32_inverse(divisor) * 0x1p-36f;
}

/* x times a polynomial in x^2; from 2.19 on the result is 1. */
float kiln_erf_bf16(float x)
{
    float inside = bf16_clamp(x, -2.203125f, 2.203125f);
    float z = inside * inside;
    float p = -0x1.12236cp-19f;
    p = f32_fma(p, z, 0x1.b9127p-15f);
    p = f32_fma(p, z, -0x1.498d32p-11f);
    p = f32_fma(p, z, 0x1.388fc6p-8f);
    p = f32_fma(p, z, -0x1.afb9a8p-6f);
    p = f32_fma(p, z, 0x1.cd00fcp-4f);
    p = f32_fma(p, z, -0x1.811886p-2f);
    p = f32_fma(p, z, 0x1.20dd76p+0f);
    return p * inside;
}

/* The same; from 3.47 on the result is 1. */
float kiln_tanh_bf16(float x)
{
    float inside = bf16_clamp(x, -3.5f, 3.5f);
    float z = inside * inside;
    float p = -0x1.10fe16p-33f;
    p = f32_fma(p, z, 0x1.3acd7ep-27f);
    p = f32_fma(p, z, -0x1.3fd53cp-22f);
    p = f32_fma(p, z, 0x1.79869ap-18f);
    p = f32_fma(p, z, -0x1.1fe51p-14f);
    p = f32_fma(p, z, 0x1.2b670ap-11f);
    p = f32_fma(p, z, -0x1.b797b4p-9f);
    p = f32_fma(p, z, 0x1.d7419ap-7f);
    p = f32_fma(p, z, -0x1.84273ap-5f);
    p = f32_fma(p, z, 0x1.0ac9p-3f);
    p = f32_fma(p, z, -0x1.54d154p-2f);
    p = f32_fma(p, z, 1.0f);
    return p * inside;
}
