/*
 * convert.c - 16-bit floats to float32 and back, as integer operations: the compiler's own half and bfloat types
 * become library calls on older CPUs. Denormals never pass through a denormal float32, which would be slow. Any NaN
 * becomes the quiet one with the sign clear, as in lower.c.
 *
 * GPUs have instructions for what takes a dozen operations here; they round alike, so only NaN needs a word, and that
 * only where it is stored.
 */
#include "runtime.h"

#include "bits.h"

float kiln_widen_bf16(uint16_t bits)
{
    return f32_of_bits((uint32_t)bits << 16);
}

#ifdef __NVPTX__

uint16_t kiln_narrow_bf16(float value)
{
    __bf16 rounded = (__bf16)value;
    uint16_t bits;
    __builtin_memcpy(&bits, &rounded, sizeof bits);
    return value == value ? bits : 0x7fc0u;
}

float kiln_widen_f16(uint16_t bits)
{
    _Float16 value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return (float)value;
}

uint16_t kiln_narrow_f16(float value)
{
    _Float16 rounded = (_Float16)value;
    uint16_t bits;
    __builtin_memcpy(&bits, &rounded, sizeof bits);
    return value == value ? bits : 0x7e00u;
}

float kiln_round_bf16(float value)
{
#ifdef KILN_HAS_BF16
    typedef __bf16 pair __attribute__((ext_vector_type(2)));
    pair rounded = __nvvm_ff2bf16x2_rn(value, 0.0f); /* the first is the upper half: a float as it is */
    float result;
    __builtin_memcpy(&result, &rounded, sizeof result);
    return result;
#else
    return (float)(__bf16)value;
#endif
}

float kiln_round_f16(float value)
{
    return (float)(_Float16)value;
}

#else

uint16_t kiln_narrow_bf16(float value)
{
    uint32_t bits = bits_of_f32(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)(value == value ? rounded : 0x7fc0u);
}

/* A denormal half is m * 2^-24: placed in the low bits of 2^-14's significand, then 2^-14 is taken away, exactly. */
float kiln_widen_f16(uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fffu;
    uint32_t shifted = magnitude << 13;
    uint32_t normal = shifted + (112u << 23) + (magnitude >= 0x7c00u ? 112u << 23 : 0u);
    float tiny = f32_of_bits(shifted + (113u << 23)) - 0x1p-14f;
    uint32_t is_tiny = 0u - (magnitude < 0x400u); /* a mask: clang makes a branch of a choice here */
    uint32_t result = (bits_of_f32(tiny) & is_tiny) | (normal & ~is_tiny);
    return f32_of_bits(result | (uint32_t)(bits & 0x8000u) << 16);
}

/* Below 2^-14 adding 0.5 makes the hardware round at 2^-24. From 65520 on the carry of rounding gives infinity. */
uint16_t kiln_narrow_f16(float value)
{
    uint32_t bits = bits_of_f32(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t tiny = bits_of_f32(f32_of_bits(magnitude) + 0.5f) - (126u << 23);
    uint32_t finite = magnitude < 113u << 23 ? tiny : normal;
    uint32_t result = (magnitude >= 143u << 23 ? 0x7c00u : finite) | (bits >> 16 & 0x8000u);
    return (uint16_t)(value == value ? result : 0x7e00u);
}

float kiln_round_bf16(float value)
{
    return kiln_widen_bf16(kiln_narrow_bf16(value));
}

float kiln_round_f16(float value)
{
    return kiln_widen_f16(kiln_narrow_f16(value));
}

#endif
