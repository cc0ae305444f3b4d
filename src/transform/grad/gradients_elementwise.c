/*
 * gradients_elementwise.c - derivatives of element-wise operations. x, y and z are an input, the result and the other
 * input. Where an operation has a corner or two equal operands, one side is taken; which one is said there.
 */
#include <math.h>

#include "transform/grad/gradient_rules.h"

#define UNARY(op, a)     kiln__e_unary(e, KILN_OP_##op, a)
#define BINARY(op, a, b) kiln__e_binary(e, KILN_OP_##op, a, b)
#define NUMBER(value)    kiln__e_number(e, value, (enum kiln_dtype)step->output->dtype)

/* The derivative of an operation of one input, as an expression of x and y. */
#define PARTIAL(name, derivative)                                                                                      \
    struct kiln_array *kiln__partial_##name(struct kiln_expression *e, const struct kiln_step *step, uint32_t k)       \
    {                                                                                                                  \
        struct kiln_array *x = step->inputs[0], *y = step->output;                                                     \
        (void)e, (void)x, (void)y, (void)k;                                                                            \
        return derivative;                                                                                             \
    }

/* Of an operation of two inputs: by the first one, and by the second one. */
#define PARTIALS(name, by_first, by_second)                                                                            \
    struct kiln_array *kiln__partial_##name(struct kiln_expression *e, const struct kiln_step *step, uint32_t k)       \
    {                                                                                                                  \
        struct kiln_array *a = step->inputs[0], *b = step->inputs[1], *y = step->output;                               \
        (void)e, (void)a, (void)b, (void)y;                                                                            \
        return k == 0 ? (by_first) : (by_second);                                                                      \
    }

/* 1 - a * a and so on */
#define ONE_LESS(a)  BINARY(SUBTRACT, NUMBER(1), a)
#define ONE_AND(a)   BINARY(ADD, NUMBER(1), a)
#define LESS_ONE(a)  BINARY(SUBTRACT, a, NUMBER(1))
#define SCALED(a, n) BINARY(MULTIPLY, a, NUMBER(n))

PARTIAL(square, SCALED(x, 2))
PARTIAL(exp, y)
PARTIAL(log, UNARY(RECIPROCAL, x))
PARTIAL(erf, SCALED(UNARY(EXP, UNARY(NEGATIVE, UNARY(SQUARE, x))), 2 / sqrt(M_PI)))
PARTIAL(sigmoid, BINARY(MULTIPLY, y, ONE_LESS(y)))
PARTIAL(tanh, ONE_LESS(UNARY(SQUARE, y)))
PARTIAL(sqrt, BINARY(DIVIDE, NUMBER(0.5), y))
PARTIAL(rsqrt, SCALED(BINARY(DIVIDE, y, x), -0.5))
PARTIAL(reciprocal, UNARY(NEGATIVE, UNARY(SQUARE, y)))
PARTIAL(expm1, ONE_AND(y))
PARTIAL(log1p, UNARY(RECIPROCAL, ONE_AND(x)))
PARTIAL(log2, BINARY(DIVIDE, NUMBER(1 / M_LN2), x))
PARTIAL(log10, BINARY(DIVIDE, NUMBER(1 / M_LN10), x))
PARTIAL(sin, UNARY(COS, x))
PARTIAL(cos, UNARY(NEGATIVE, UNARY(SIN, x)))
PARTIAL(tan, ONE_AND(UNARY(SQUARE, y)))
PARTIAL(arcsin, UNARY(RSQRT, ONE_LESS(UNARY(SQUARE, x))))
PARTIAL(arccos, UNARY(NEGATIVE, UNARY(RSQRT, ONE_LESS(UNARY(SQUARE, x)))))
PARTIAL(arctan, UNARY(RECIPROCAL, ONE_AND(UNARY(SQUARE, x))))
PARTIAL(sinh, UNARY(COSH, x))
PARTIAL(cosh, UNARY(SINH, x))
PARTIAL(arcsinh, UNARY(RSQRT, ONE_AND(UNARY(SQUARE, x))))
PARTIAL(arccosh, UNARY(RSQRT, LESS_ONE(UNARY(SQUARE, x))))
PARTIAL(arctanh, UNARY(RECIPROCAL, ONE_LESS(UNARY(SQUARE, x))))
PARTIAL(erfinv, SCALED(UNARY(EXP, UNARY(SQUARE, y)), sqrt(M_PI) / 2))
PARTIAL(degrees, NUMBER(180 / M_PI))
PARTIAL(radians, NUMBER(M_PI / 180))

/* ---- two operands -------------------------------------------------------------------------------------------------
 */

static struct kiln_array *as_number(struct kiln_expression *e, const struct kiln_step *step, enum kiln_op op)
{
    struct kiln_array *holds = kiln__e_binary(e, op, step->inputs[0], step->inputs[1]);
    return kiln__e_astype(e, holds, (enum kiln_dtype)step->output->dtype);
}

/* The exponent's derivative is 0 where the power is, as of 0 to a positive power. */
static struct kiln_array *by_exponent(struct kiln_expression *e, const struct kiln_step *step)
{
    struct kiln_array *y = step->output, *zero = NUMBER(0);
    struct kiln_array *product = BINARY(MULTIPLY, UNARY(LOG, step->inputs[0]), y);
    return kiln__e_select(e, BINARY(NOT_EQUAL, y, zero), product, zero);
}

#define SUM_OF_SQUARES BINARY(ADD, UNARY(SQUARE, a), UNARY(SQUARE, b))

PARTIALS(multiply, b, a)
PARTIALS(divide, UNARY(RECIPROCAL, b), UNARY(NEGATIVE, BINARY(DIVIDE, y, b)))
/* Of two equal numbers the second one counts. */
PARTIALS(maximum, as_number(e, step, KILN_OP_GREATER), as_number(e, step, KILN_OP_LESS_EQUAL))
PARTIALS(minimum, as_number(e, step, KILN_OP_LESS), as_number(e, step, KILN_OP_GREATER_EQUAL))
PARTIALS(logaddexp, UNARY(SIGMOID, BINARY(SUBTRACT, a, b)), UNARY(SIGMOID, BINARY(SUBTRACT, b, a)))
PARTIALS(remainder, NUMBER(1), UNARY(NEGATIVE, BINARY(FLOOR_DIVIDE, a, b)))
PARTIALS(power, BINARY(MULTIPLY, BINARY(POWER, a, LESS_ONE(b)), b), by_exponent(e, step))
PARTIALS(arctan2, BINARY(DIVIDE, b, SUM_OF_SQUARES), UNARY(NEGATIVE, BINARY(DIVIDE, a, SUM_OF_SQUARES)))

void kiln__vjp_add(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                   struct kiln_array **gradients)
{
    (void)e, (void)step;
    gradients[0] = gradients[1] = cotangent;
}

void kiln__vjp_subtract(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                        struct kiln_array **gradients)
{
    gradients[0] = cotangent;
    if (step->wanted[1]) gradients[1] = kiln__e_minus(e, cotangent);
}

/* What was not chosen gets a zero, also where the cotangent is infinite or NaN. */
void kiln__vjp_select(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                      struct kiln_array **gradients)
{
    struct kiln_array *condition = step->inputs[0], *zero = NUMBER(0);
    if (step->wanted[1]) gradients[1] = kiln__e_select(e, condition, cotangent, zero);
    if (step->wanted[2]) gradients[2] = kiln__e_select(e, condition, zero, cotangent);
}

/* ---- one operand --------------------------------------------------------------------------------------------------
 */

void kiln__vjp_same(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                    struct kiln_array **gradients)
{
    (void)e, (void)step;
    gradients[0] = cotangent;
}

void kiln__vjp_negative(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                        struct kiln_array **gradients)
{
    (void)step;
    gradients[0] = kiln__e_minus(e, cotangent);
}

/* Of a complex number: its direction. At 0 the gradient is 0. */
void kiln__vjp_abs(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                   struct kiln_array **gradients)
{
    gradients[0] = BINARY(MULTIPLY, cotangent, UNARY(SIGN, step->inputs[0]));
}

void kiln__vjp_imag(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                    struct kiln_array **gradients)
{
    static const float unit[2] = {0, 1};
    (void)step;
    gradients[0] = BINARY(MULTIPLY, cotangent, kiln__e_data(e, unit, KILN_COMPLEX64, NULL, 0));
}

void kiln__vjp_conjugate(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                         struct kiln_array **gradients)
{
    (void)step;
    gradients[0] = UNARY(CONJUGATE, cotangent);
}
