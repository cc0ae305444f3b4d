/*
 * small_float.h - floats of 8 bits and less, as the numbers of their codes. In formulas: codes are uint32, values
 * float32, and every step is element-wise.
 *
 *     e2m1   1 sign, 2 exponent, 1 mantissa bits: 0 0.5 1 1.5 2 3 4 6
 *     e4m3   1 sign, 4 exponent, 3 mantissa bits: up to 448; all bits but the sign set is NaN
 *     e8m0   8 exponent bits: 2^(code - 127); 255 is no number and reads as infinity
 */
#ifndef KILN_OPS_SMALL_FLOAT_H
#define KILN_OPS_SMALL_FLOAT_H

#include "ops/expression.h"

struct kiln_small_float {
    int exponent, mantissa; /* bits */
    double most;            /* the largest number */
    bool has_nan;
};

extern const struct kiln_small_float kiln__e2m1, kiln__e4m3;

/* Bits above those of the format must be clear. */
struct kiln_array *kiln__e_from_small(struct kiln_expression *e, struct kiln_array *codes,
                                      const struct kiln_small_float *format);
/* The nearest number, half to even; what is too large becomes the largest, and NaN as well where there is none. */
struct kiln_array *kiln__e_to_small(struct kiln_expression *e, struct kiln_array *values,
                                    const struct kiln_small_float *format);
struct kiln_array *kiln__e_from_e8m0(struct kiln_expression *e, struct kiln_array *codes);
/* The least power of two that is not below the value, which is not negative; 1 for 0. */
struct kiln_array *kiln__e_to_e8m0(struct kiln_expression *e, struct kiln_array *values);

/* A number as a 0-d uint32. */
struct kiln_array *kiln__e_word(struct kiln_expression *e, uint32_t value);

#endif
