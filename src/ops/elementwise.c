/*
 * elementwise.c - see elementwise.h. Everything here is a formula over the rows of ops.def, so that it fuses like them.
 */
#include "ops/elementwise.h"

#include <math.h>
#include <string.h>

#include "ops/reductions.h"
#include "ops/replay.h"

static kiln_status require(const struct kiln_array *array, const char *name, kiln_error *err)
{
    return array ? KILN_OK : kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
}

static enum kiln_dtype_kind kind_of(const struct kiln_array *a)
{
    return kiln__dtypes[a->dtype].kind;
}

/* Puts the name of the function before the error of a step. */
static kiln_status named(const char *name, kiln_status status, kiln_error *err)
{
    if (status && err) {
        kiln_error step = *err;
        kiln__fail(err, status, "[%s] %.900s", name, step.text);
    }
    return status;
}

/* ---- rounding and bounds ----------------------------------------------------------------------------------------- */

/* The dtype to scale in: float64 for integers, float32 for 16-bit floats. */
static enum kiln_dtype scaled_dtype(const struct kiln_array *a)
{
    if (kind_of(a) < KILN_KIND_FLOAT) return KILN_FLOAT64;
    return a->dtype == KILN_FLOAT16 || a->dtype == KILN_BFLOAT16 ? KILN_FLOAT32 : (enum kiln_dtype)a->dtype;
}

kiln_status kiln__round(struct kiln_array *a, int decimals, struct kiln_array **out, kiln_error *err)
{
    kiln_status status = require(a, "round", err);
    if (status) return status;
    bool is_whole = kind_of(a) < KILN_KIND_FLOAT;
    if (decimals == 0 || (is_whole && decimals > 0)) return kiln__unary(KILN_OP_ROUND, a, out, err);
    struct kiln_expression e = {.err = err};
    enum kiln_dtype dtype = scaled_dtype(a), number = dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    struct kiln_array *scale = kiln__e_number(&e, pow(10, fabs((double)decimals)), number);
    struct kiln_array *x = kiln__e_astype(&e, a, dtype);
    x = kiln__e_binary(&e, decimals > 0 ? KILN_OP_MULTIPLY : KILN_OP_DIVIDE, x, scale);
    x = kiln__e_unary(&e, KILN_OP_ROUND, x);
    x = kiln__e_binary(&e, decimals > 0 ? KILN_OP_DIVIDE : KILN_OP_MULTIPLY, x, scale);
    return kiln__e_end(&e, kiln__e_astype(&e, x, (enum kiln_dtype)a->dtype), out);
}

kiln_status kiln__clip(struct kiln_array *a, struct kiln_array *low, struct kiln_array *high, struct kiln_array **out,
                       kiln_error *err)
{
    kiln_status status = require(a, "clip", err);
    if (status) return status;
    if (!low && !high)
        return kiln__fail(err, KILN_INVALID, "[clip] At least one of a_min and a_max must be given, both are empty.");
    struct kiln_expression e = {.err = err};
    struct kiln_array *x = a;
    if (low) x = kiln__e_binary(&e, KILN_OP_MAXIMUM, x, low);
    if (high) x = kiln__e_binary(&e, KILN_OP_MINIMUM, x, high);
    return named("clip", kiln__e_end(&e, x, out), err);
}

static double largest(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT64    ? 0x1.fffffffffffffp1023
           : dtype == KILN_FLOAT32  ? 0x1.fffffep127
           : dtype == KILN_BFLOAT16 ? 0x1.fep127
                                    : 65504.0;
}

struct replacements {
    double nan, high, low;
};

static struct kiln_array *replaced(struct kiln_expression *e, struct kiln_array *a, struct replacements by)
{
    if (!a) return NULL;
    enum kiln_dtype dtype = (enum kiln_dtype)a->dtype;
    struct kiln_array *x = kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISNAN, a), kiln__e_number(e, by.nan, dtype), a);
    x = kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISPOSINF, a), kiln__e_number(e, by.high, dtype), x);
    return kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISNEGINF, a), kiln__e_number(e, by.low, dtype), x);
}

/* Each part by itself. A number that is finite keeps its zeros, whose signs the sum of the parts would lose. */
static struct kiln_array *replaced_parts(struct kiln_expression *e, struct kiln_array *a, struct replacements by)
{
    struct kiln_array *real = replaced(e, kiln__e_unary(e, KILN_OP_REAL, a), by);
    struct kiln_array *sum = kiln__e_complex(e, real, replaced(e, kiln__e_unary(e, KILN_OP_IMAG, a), by));
    return kiln__e_select(e, kiln__e_unary(e, KILN_OP_ISFINITE, a), a, sum);
}

kiln_status kiln__nan_to_num(struct kiln_array *a, float nan, const float *posinf, const float *neginf,
                             struct kiln_array **out, kiln_error *err)
{
    kiln_status status = require(a, "nan_to_num", err);
    if (status) return status;
    enum kiln_dtype dtype = (enum kiln_dtype)a->dtype;
    struct kiln_expression e = {.err = err};
    if (kind_of(a) < KILN_KIND_FLOAT) return kiln__e_end(&e, a, out);
    bool is_complex = dtype == KILN_COMPLEX64;
    double most = largest(is_complex ? KILN_FLOAT32 : dtype);
    struct replacements by = {(double)nan, posinf ? (double)*posinf : most, neginf ? (double)*neginf : -most};
    return kiln__e_end(&e, is_complex ? replaced_parts(&e, a, by) : replaced(&e, a, by), out);
}

/* What a quotient leaves. Integer quotients are cut towards zero, so remainder(), which has the divisor's sign, does
 * not go with them. */
static kiln_status rest_of(struct kiln_array *a, struct kiln_array *b, struct kiln_array *quotient,
                           struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (kiln__dtypes[quotient->dtype].kind >= KILN_KIND_FLOAT) return kiln__binary(KILN_OP_REMAINDER, a, b, out, err);
    struct kiln_array *taken = kiln__e_binary(&e, KILN_OP_MULTIPLY, quotient, b);
    return kiln__e_end(&e, kiln__e_binary(&e, KILN_OP_SUBTRACT, a, taken), out);
}

kiln_status kiln__divmod(struct kiln_array *a, struct kiln_array *b, struct kiln_array *out[2], kiln_error *err)
{
    struct kiln_array *quotient = NULL, *rest = NULL;
    kiln_status status = kiln__binary(KILN_OP_FLOOR_DIVIDE, a, b, &quotient, err);
    if (!status) status = rest_of(a, b, quotient, &rest, err);
    if (status) {
        kiln__array_unref(quotient);
        return named("divmod", status, err);
    }
    out[0] = quotient;
    out[1] = rest;
    return KILN_OK;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static struct kiln_array *both(struct kiln_expression *e, enum kiln_op op, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_LOGICAL_AND, kiln__e_unary(e, op, a), kiln__e_unary(e, op, b));
}

static struct kiln_array *either(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b)
{
    return kiln__e_binary(e, KILN_OP_LOGICAL_OR, a, b);
}

/* Integers are compared in float64, which holds differences of all but the largest. */
static struct kiln_array *close_formula(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b,
                                        struct kiln_tolerance tolerance)
{
    enum kiln_dtype dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT) dtype = KILN_FLOAT64;
    enum kiln_dtype number = dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    if (dtype != KILN_COMPLEX64) dtype = number;
    a = kiln__e_astype(e, a, dtype);
    b = kiln__e_astype(e, b, dtype);
    struct kiln_array *distance = kiln__e_unary(e, KILN_OP_ABS, kiln__e_binary(e, KILN_OP_SUBTRACT, a, b));
    struct kiln_array *bound = kiln__e_binary(e, KILN_OP_MULTIPLY, kiln__e_number(e, tolerance.relative, number),
                                              kiln__e_unary(e, KILN_OP_ABS, b));
    bound = kiln__e_binary(e, KILN_OP_ADD, kiln__e_number(e, tolerance.absolute, number), bound);
    struct kiln_array *close = kiln__e_binary(e, KILN_OP_LESS_EQUAL, distance, bound);
    close = kiln__e_binary(e, KILN_OP_LOGICAL_AND, close, both(e, KILN_OP_ISFINITE, a, b));
    close = either(e, close, kiln__e_binary(e, KILN_OP_EQUAL, a, b));
    return tolerance.equal_nan ? either(e, close, both(e, KILN_OP_ISNAN, a, b)) : close;
}

kiln_status kiln__isclose(struct kiln_array *a, struct kiln_array *b, struct kiln_tolerance tolerance,
                          struct kiln_array **out, kiln_error *err)
{
    kiln_status status = require(a, "isclose", err);
    if (!status) status = require(b, "isclose", err);
    if (status) return status;
    struct kiln_expression e = {.err = err};
    return named("isclose", kiln__e_end(&e, close_formula(&e, a, b, tolerance), out), err);
}

/* `a` is a bool array: are all of it true? */
static kiln_status all_of(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    return kiln__reduce(KILN_OP_ALL, a, (struct kiln_axes){NULL, KILN_ALL_AXES, false}, out, err);
}

kiln_status kiln__allclose(struct kiln_array *a, struct kiln_array *b, struct kiln_tolerance tolerance,
                           struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *close = NULL;
    kiln_status status = kiln__isclose(a, b, tolerance, &close, err);
    if (!status) status = all_of(close, out, err);
    kiln__array_unref(close);
    return status;
}

static bool same_shape(const struct kiln_array *a, const struct kiln_array *b)
{
    return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0);
}

kiln_status kiln__array_equal(struct kiln_array *a, struct kiln_array *b, bool equal_nan, struct kiln_array **out,
                              kiln_error *err)
{
    if (kiln__is_recorded(a) || kiln__is_recorded(b)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_ARRAY_EQUAL);
        kiln__record_array(&record, a);
        kiln__record_array(&record, b);
        kiln__record_number(&record, equal_nan);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = require(a, "array_equal", err);
    if (!status) status = require(b, "array_equal", err);
    if (status) return status;
    if (!same_shape(a, b)) return kiln__array_scalar(KILN_BOOL, &(bool){false}, out, err);
    struct kiln_expression e = {.err = err};
    struct kiln_array *same = kiln__e_binary(&e, KILN_OP_EQUAL, a, b), *result = NULL;
    if (equal_nan) same = either(&e, same, both(&e, KILN_OP_ISNAN, a, b));
    if (!same) return kiln__e_end(&e, NULL, out);
    status = all_of(same, &result, err);
    return kiln__e_end(&e, kiln__e_hold(&e, status, result), out);
}

kiln_status kiln__replay_array_equal(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *b = kiln__recorded_array(record);
    return kiln__array_equal(a, b, kiln__recorded_number(record), out, err);
}
