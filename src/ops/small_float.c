/*
 * small_float.c - see small_float.h.
 *
 * The codes without sign, read as integers, are in the order of their values, so rounding up to the next exponent needs
 * no special case. All steps but the rounding to the format are exact: products with powers of two, comparisons and
 * shifts.
 */
#include "ops/small_float.h"

#include <math.h>

const struct kiln_small_float kiln__e2m1 = {.exponent = 2, .mantissa = 1, .most = 6},
                              kiln__e4m3 = {.exponent = 4, .mantissa = 3, .most = 448, .has_nan = true};

static struct kiln_array *real(struct kiln_expression *e, double value)
{
    return kiln__e_number(e, value, KILN_FLOAT32);
}

struct kiln_array *kiln__e_word(struct kiln_expression *e, uint32_t value)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__array_scalar(KILN_UINT32, &value, &out, e->err);
    return kiln__e_hold(e, status, out);
}

static struct kiln_array *masked(struct kiln_expression *e, struct kiln_array *codes, uint32_t mask)
{
    return kiln__e_binary(e, KILN_OP_BITWISE_AND, codes, kiln__e_word(e, mask));
}

/* Is one of these bits set? */
static struct kiln_array *has_bits(struct kiln_expression *e, struct kiln_array *codes, uint32_t mask)
{
    return kiln__e_binary(e, KILN_OP_NOT_EQUAL, masked(e, codes, mask), kiln__e_word(e, 0));
}

static int bias_of(const struct kiln_small_float *format)
{
    return (1 << (format->exponent - 1)) - 1;
}

static uint32_t sign_of(const struct kiln_small_float *format)
{
    return 1u << (format->exponent + format->mantissa);
}

/* (1.mantissa or 0.mantissa) << exponent is an integer, a multiple of the smallest number. */
struct kiln_array *kiln__e_from_small(struct kiln_expression *e, struct kiln_array *codes,
                                      const struct kiln_small_float *format)
{
    uint32_t first = 1u << format->mantissa, sign = sign_of(format);
    double unit = ldexp(1, 1 - bias_of(format) - format->mantissa);
    struct kiln_array *magnitude = masked(e, codes, sign - 1);
    struct kiln_array *exponent =
        kiln__e_binary(e, KILN_OP_RIGHT_SHIFT, magnitude, kiln__e_word(e, (uint32_t)format->mantissa));
    struct kiln_array *is_normal = kiln__e_binary(e, KILN_OP_NOT_EQUAL, exponent, kiln__e_word(e, 0));
    struct kiln_array *digits = masked(e, codes, first - 1);
    digits =
        kiln__e_select(e, is_normal, kiln__e_binary(e, KILN_OP_BITWISE_OR, digits, kiln__e_word(e, first)), digits);
    struct kiln_array *shift = kiln__e_select(
        e, is_normal, kiln__e_binary(e, KILN_OP_SUBTRACT, exponent, kiln__e_word(e, 1)), kiln__e_word(e, 0));
    struct kiln_array *units = kiln__e_astype(e, kiln__e_binary(e, KILN_OP_LEFT_SHIFT, digits, shift), KILN_FLOAT32);
    struct kiln_array *step = kiln__e_select(e, has_bits(e, codes, sign), real(e, -unit), real(e, unit));
    struct kiln_array *values = kiln__e_binary(e, KILN_OP_MULTIPLY, units, step);
    if (!format->has_nan) return values;
    struct kiln_array *is_nan = kiln__e_binary(e, KILN_OP_EQUAL, magnitude, kiln__e_word(e, sign - 1));
    return kiln__e_select(e, is_nan, real(e, NAN), values);
}

/* True for -0.0 too, whose reciprocal is below zero. */
static struct kiln_array *is_negative(struct kiln_expression *e, struct kiln_array *values)
{
    struct kiln_array *zero = real(e, 0);
    struct kiln_array *upside_down = kiln__e_unary(e, KILN_OP_RECIPROCAL, values);
    return kiln__e_binary(e, KILN_OP_LOGICAL_OR, kiln__e_binary(e, KILN_OP_LESS, values, zero),
                          kiln__e_binary(e, KILN_OP_LESS, upside_down, zero));
}

/* The exponent by halving what it can still be: after each step *y is below 2^(1 + the rest), and *count went up. */
static void take_exponent(struct kiln_expression *e, int step, struct kiln_array **y, struct kiln_array **count)
{
    struct kiln_array *is_large = kiln__e_binary(e, KILN_OP_GREATER_EQUAL, *y, real(e, ldexp(1, step)));
    struct kiln_array *factor = kiln__e_select(e, is_large, real(e, ldexp(1, -step)), real(e, 1));
    *y = kiln__e_binary(e, KILN_OP_MULTIPLY, *y, factor);
    *count = kiln__e_binary(e, KILN_OP_ADD, *count, kiln__e_select(e, is_large, real(e, step), real(e, 0)));
}

struct kiln_array *kiln__e_to_small(struct kiln_expression *e, struct kiln_array *values,
                                    const struct kiln_small_float *format)
{
    struct kiln_array *y = kiln__e_unary(e, KILN_OP_ABS, values), *most = real(e, format->most), *count = real(e, 0);
    struct kiln_array *first = real(e, ldexp(1, format->mantissa));
    uint32_t sign = sign_of(format);
    y = kiln__e_select(e, kiln__e_binary(e, KILN_OP_LESS, y, most), y, most);
    y = kiln__e_binary(e, KILN_OP_MULTIPLY, y, real(e, ldexp(1, bias_of(format) - 1)));
    for (int i = format->exponent; i-- > 0;) take_exponent(e, 1 << i, &y, &count);
    struct kiln_array *digits = kiln__e_unary(e, KILN_OP_ROUND, kiln__e_binary(e, KILN_OP_MULTIPLY, y, first));
    count = kiln__e_binary(e, KILN_OP_ADD, kiln__e_binary(e, KILN_OP_MULTIPLY, count, first), digits);
    struct kiln_array *codes = kiln__e_astype(e, count, KILN_UINT32);
    struct kiln_array *signs = kiln__e_select(e, is_negative(e, values), kiln__e_word(e, sign), kiln__e_word(e, 0));
    codes = kiln__e_binary(e, KILN_OP_BITWISE_OR, codes, signs);
    if (!format->has_nan) return codes;
    return kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISNAN, values), kiln__e_word(e, sign - 1), codes);
}

/* ---- powers of two ----------------------------------------------------------------------------------------------- */

/* The lower five bits as a shift, the others one by one; no product but the last overflows. */
struct kiln_array *kiln__e_from_e8m0(struct kiln_expression *e, struct kiln_array *codes)
{
    struct kiln_array *low = kiln__e_binary(e, KILN_OP_LEFT_SHIFT, kiln__e_word(e, 1), masked(e, codes, 31));
    struct kiln_array *power = kiln__e_select(e, has_bits(e, codes, 128), real(e, 0x1p1), real(e, 0x1p-127));
    for (int bit = 64; bit >= 32; bit /= 2)
        power =
            kiln__e_binary(e, KILN_OP_MULTIPLY, power,
                           kiln__e_select(e, has_bits(e, codes, (uint32_t)bit), real(e, ldexp(1, bit)), real(e, 1)));
    return kiln__e_binary(e, KILN_OP_MULTIPLY, power, kiln__e_astype(e, low, KILN_FLOAT32));
}

/* A logarithm may be off by little, so the power next to it is looked at on both sides. */
struct kiln_array *kiln__e_to_e8m0(struct kiln_expression *e, struct kiln_array *values)
{
    struct kiln_array *exponent = kiln__e_unary(e, KILN_OP_CEIL, kiln__e_unary(e, KILN_OP_LOG2, values));
    exponent = kiln__e_binary(e, KILN_OP_MAXIMUM, exponent, real(e, -126));
    exponent = kiln__e_binary(e, KILN_OP_MINIMUM, exponent, real(e, 126));
    struct kiln_array *guess = kiln__e_astype(e, kiln__e_binary(e, KILN_OP_ADD, exponent, real(e, 127)), KILN_UINT32);
    struct kiln_array *power = kiln__e_from_e8m0(e, guess), *one = kiln__e_word(e, 1);
    struct kiln_array *half = kiln__e_binary(e, KILN_OP_MULTIPLY, power, real(e, 0.5));
    struct kiln_array *is_low = kiln__e_binary(e, KILN_OP_LESS, power, values);
    struct kiln_array *is_high = kiln__e_binary(e, KILN_OP_GREATER_EQUAL, half, values);
    struct kiln_array *codes = kiln__e_select(e, is_high, kiln__e_binary(e, KILN_OP_SUBTRACT, guess, one), guess);
    codes = kiln__e_select(e, is_low, kiln__e_binary(e, KILN_OP_ADD, guess, one), codes);
    struct kiln_array *is_zero = kiln__e_binary(e, KILN_OP_EQUAL, values, real(e, 0));
    codes = kiln__e_select(e, is_zero, kiln__e_word(e, 127), codes);
    return kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISFINITE, values), codes, kiln__e_word(e, 255));
}
