/*
 * fused.h - operations in float32 that round once and give the same bits on every target: a * b + c, and 1 / d.
 *
 * A processor without the instruction gets the same result from float64: a * b is exact there, and the sum is rounded
 * to odd, that is its last bit is set when anything was lost, so that rounding it once more, to float32, errs by
 * nothing. The C library's function is out of reach, because kernels are linked with nothing.
 */
#ifndef KILN_CODEGEN_RUNTIME_FUSED_H
#define KILN_CODEGEN_RUNTIME_FUSED_H

#include "bits.h"
#include "exact.h"

/* The lost part of an infinite sum is a NaN, which is neither below nor above 0: such a sum stays. */
static inline float f32_fma_exact(float a, float b, float c)
{
    struct f64_pair sum = f64_two_sum((double)a * b, c);
    uint64_t is_cut = (sum.low < 0.0) | (sum.low > 0.0);
    uint64_t bits = bits_of_f64(sum.high);
    uint64_t is_beyond = (bits ^ bits_of_f64(sum.low)) >> 63; /* rounded away from zero */
    return (float)f64_of_bits((bits - (is_beyond & is_cut)) | is_cut);
}

#if defined(__FMA__) || defined(__NVPTX__)
#define KILN_FUSES 1 /* the processor has the instruction */
#else
#define KILN_FUSES 0
#endif

/* a * b + c, rounded once */
static inline float f32_fma(float a, float b, float c)
{
#if KILN_FUSES
    return __builtin_fmaf(a, b, c);
#else
    return f32_fma_exact(a, b, c);
#endif
}

/*
 * 1 / d, rounded as a division is, for d of 2^-100 to 2^100. A GPU's own division looks for other divisors and
 * branches; the step of Newton's that it takes for these is enough.
 */
static inline float f32_inverse(float d)
{
#if defined(__NVPTX__)
    float near = __nvvm_rcp_approx_ftz_f(d);
    return f32_fma(near, f32_fma(-d, near, 1.0f), near);
#else
    return 1.0f / d;
#endif
}

#endif
