/*
 * pairs.c - two 16-bit floats at a time, for GPUs: one instruction rounds two float32, and one adds or multiplies two
 * pairs. Elsewhere they are what the helpers of convert.c make of each half; tests run kernels for GPUs that way.
 *
 * Arithmetic in the dtype gives the bits of arithmetic in float32 that is rounded afterwards: products are exact in
 * float32 wherever the rounded one is not 0, and a sum is cut there so far behind (24 bits are 2 * 11 + 2) that
 * rounding again does no harm.
 */
#include "runtime.h"

#include "bits.h"

uint32_t kiln_pair_join(uint16_t low, uint16_t high)
{
    return low | (uint32_t)high << 16;
}

float kiln_pair_low_bf16(uint32_t pair)
{
    return f32_of_bits(pair << 16);
}

float kiln_pair_high_bf16(uint32_t pair)
{
    return f32_of_bits(pair & 0xffff0000u);
}

float kiln_pair_low_f16(uint32_t pair)
{
    return kiln_widen_f16((uint16_t)pair);
}

float kiln_pair_high_f16(uint32_t pair)
{
    return kiln_widen_f16((uint16_t)(pair >> 16));
}

/* ---- each half on its own ---------------------------------------------------------------------------------------- */

#define NARROW_HALVES(dtype)                                                                                           \
    uint32_t kiln_pair_narrow_##dtype(float low, float high)                                                           \
    {                                                                                                                  \
        return kiln_pair_join(kiln_narrow_##dtype(low), kiln_narrow_##dtype(high));                                    \
    }
/* Narrowing has settled it. */
#define SETTLE_HALVES(dtype)                                                                                           \
    uint32_t kiln_pair_settle_##dtype(uint32_t pair)                                                                   \
    {                                                                                                                  \
        return pair;                                                                                                   \
    }
#define APPLY_HALVES(name, operator, dtype)                                                                            \
    uint32_t kiln_pair_##name##_##dtype(uint32_t a, uint32_t b)                                                        \
    {                                                                                                                  \
        return kiln_pair_narrow_##dtype(kiln_pair_low_##dtype(a) operator kiln_pair_low_##dtype(b),                    \
                                        kiln_pair_high_##dtype(a) operator kiln_pair_high_##dtype(b));                 \
    }

/* ---- both at once ------------------------------------------------------------------------------------------------ */

#define PAIR_TYPE(type, dtype)                                                                                         \
    typedef type pair_##dtype __attribute__((ext_vector_type(2)));                                                     \
    static inline uint32_t bits_of_pair_##dtype(pair_##dtype pair)                                                     \
    {                                                                                                                  \
        uint32_t bits;                                                                                                 \
        __builtin_memcpy(&bits, &pair, sizeof bits);                                                                   \
        return bits;                                                                                                   \
    }                                                                                                                  \
    static inline pair_##dtype pair_##dtype##_of_bits(uint32_t bits)                                                   \
    {                                                                                                                  \
        pair_##dtype pair;                                                                                             \
        __builtin_memcpy(&pair, &bits, sizeof pair);                                                                   \
        return pair;                                                                                                   \
    }
#define NARROW_BOTH(both, dtype)                                                                                       \
    uint32_t kiln_pair_narrow_##dtype(float low, float high)                                                           \
    {                                                                                                                  \
        return bits_of_pair_##dtype(both);                                                                             \
    }
/*
 * A GPU's NaN is 0x7fff, the largest of signed numbers: the lesser of it and `nan`. All others are below that.
 * Narrowing is an intrinsic for this reason: LLVM would move a change of sign behind a conversion, where a NaN is
 * changed too.
 */
#define SETTLE_BOTH(nan, dtype)                                                                                        \
    uint32_t kiln_pair_settle_##dtype(uint32_t pair)                                                                   \
    {                                                                                                                  \
        return bits_of_pair_i16(__builtin_elementwise_min(pair_i16_of_bits(pair), (pair_i16)nan));                     \
    }
#define APPLY_BOTH(name, operator, dtype)                                                                              \
    uint32_t kiln_pair_##name##_##dtype(uint32_t a, uint32_t b)                                                        \
    {                                                                                                                  \
        return bits_of_pair_##dtype(pair_##dtype##_of_bits(a) operator pair_##dtype##_of_bits(b));                     \
    }

/* ---- which, for whom --------------------------------------------------------------------------------------------- */

#ifdef __NVPTX__
PAIR_TYPE(int16_t, i16)
PAIR_TYPE(_Float16, f16)
SETTLE_BOTH(0x7e00, f16)
APPLY_BOTH(add, +, f16)
APPLY_BOTH(subtract, -, f16)
APPLY_BOTH(multiply, *, f16)
#else
NARROW_HALVES(f16)
SETTLE_HALVES(f16)
APPLY_HALVES(add, +, f16)
APPLY_HALVES(subtract, -, f16)
APPLY_HALVES(multiply, *, f16)
#endif

#ifdef KILN_HAS_BF16
PAIR_TYPE(__bf16, bf16)
NARROW_BOTH(__nvvm_ff2f16x2_rn(high, low), f16)
NARROW_BOTH(__nvvm_ff2bf16x2_rn(high, low), bf16)
SETTLE_BOTH(0x7fc0, bf16)
APPLY_BOTH(add, +, bf16)
APPLY_BOTH(subtract, -, bf16)
APPLY_BOTH(multiply, *, bf16)
#else
#ifdef __NVPTX__
NARROW_BOTH(pair_f16_of_bits(kiln_pair_join((uint16_t)__nvvm_f2h_rn(low), (uint16_t)__nvvm_f2h_rn(high))), f16)
#endif
NARROW_HALVES(bf16)
SETTLE_HALVES(bf16)
APPLY_HALVES(add, +, bf16)
APPLY_HALVES(subtract, -, bf16)
APPLY_HALVES(multiply, *, bf16)
#endif
