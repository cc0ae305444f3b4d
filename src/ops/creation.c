/*
 * creation.c - see creation.h; kiln__full() is in compose.h. A series is computed in float64 at evaluation, and cast;
 * matrices such as eye and tri compare positions along two axes, which fuses into one kernel.
 */
#include "ops/creation.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "graph/rules.h"
#include "ops/compose.h"
#include "ops/reductions.h" /* expressions */
#include "ops/replay.h"
#include "ops/shapes.h"

/* ---- series ------------------------------------------------------------------------------------------------------ */

kiln_status kiln__series(enum kiln_series_kind kind, const double numbers[2], int count, enum kiln_dtype dtype,
                         struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[3] = {kind};
    struct kiln_array *wide = NULL;
    const struct kiln_call call = {.op = KILN_OP_SERIES, .attrs = attrs, .attr_count = 3};
    const struct kiln_result result = {.as_they_are = true, .dtype = KILN_FLOAT64, .ndim = 1, .dims = {count}};
    memcpy(attrs + 1, numbers, 2 * sizeof *numbers);
    kiln_status status = kiln__apply_result(&call, &result, &wide, err);
    if (!status) status = kiln__astype(wide, dtype, out, err);
    kiln__array_unref(wide);
    return status;
}

kiln_status kiln__donated(const struct kiln_array *array, struct kiln_array **out, kiln_error *err)
{
    const struct kiln_call call = {.op = KILN_OP_DONATED};
    struct kiln_result result = {.dtype = (enum kiln_dtype)array->dtype, .ndim = array->ndim};
    memcpy(result.dims, array->dims, array->ndim * sizeof *array->dims);
    return kiln__apply_result(&call, &result, out, err);
}

kiln_status kiln__arange(double start, double stop, double step, enum kiln_dtype dtype, struct kiln_array **out,
                         kiln_error *err)
{
    if (dtype == KILN_BOOL) return kiln__fail(err, KILN_INVALID, "[arange] bool is not supported.");
    double length = start == stop && step == 0 ? 0 : ceil((stop - start) / step);
    if (isinf(step)) length = step > 0 ? start < stop : start > stop, step = 1; /* the first, or none */
    if (!isfinite(start) || !isfinite(stop) || isnan(length) || length > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[arange] From %g to %g in steps of %g there are not 0 to %d elements.",
                          start, stop, step, INT_MAX);
    if (kiln__dtypes[dtype].kind < KILN_KIND_FLOAT) {
        double first = trunc(start);
        step = trunc(start + step) - first;
        start = first;
    }
    return kiln__series(KILN_SERIES_STEPS, (double[]){start, step}, length > 0 ? (int)length : 0, dtype, out, err);
}

kiln_status kiln__linspace(double start, double stop, int count, enum kiln_dtype dtype, struct kiln_array **out,
                           kiln_error *err)
{
    if (count < 0) return kiln__fail(err, KILN_INVALID, "[linspace] The number of elements can't be %d.", count);
    return kiln__series(KILN_SERIES_SPACED, (double[]){start, stop}, count, dtype, out, err);
}

kiln_status kiln__window(enum kiln_window window, int count, struct kiln_array **out, kiln_error *err)
{
    static const enum kiln_series_kind kinds[] = {[KILN_BARTLETT] = KILN_SERIES_BARTLETT,
                                                  [KILN_BLACKMAN] = KILN_SERIES_BLACKMAN,
                                                  [KILN_HAMMING] = KILN_SERIES_HAMMING,
                                                  [KILN_HANNING] = KILN_SERIES_HANNING};
    return kiln__series(kinds[window], (double[]){0, 0}, count < 0 ? 0 : count, KILN_FLOAT32, out, err);
}

/* ---- triangles and diagonals ------------------------------------------------------------------------------------- */

/* 0, 1, ... along one of two axes. */
static struct kiln_array *positions(struct kiln_expression *e, int count, bool down)
{
    struct kiln_array *line = NULL;
    kiln_status status = e->status;
    if (!status) status = kiln__series(KILN_SERIES_STEPS, (double[]){0, 1}, count, KILN_INT64, &line, e->err);
    int dims[2] = {down ? count : 1, down ? 1 : count};
    return kiln__e_reshape(e, kiln__e_hold(e, status, line), dims, 2);
}

/* For each position: row + k compared with column. */
static struct kiln_array *compare_positions(struct kiln_expression *e, enum kiln_op op, int rows, int columns, int k)
{
    struct kiln_array *row = kiln__e_binary(e, KILN_OP_ADD, positions(e, rows, true), kiln__e_number(e, k, KILN_INT64));
    return kiln__e_binary(e, op, row, positions(e, columns, false));
}

static kiln_status check_sizes(const char *name, int rows, int columns, kiln_error *err)
{
    if (rows >= 0 && columns >= 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] A matrix can't have %d rows and %d columns.", name, rows, columns);
}

kiln_status kiln__eye(const char *name, int rows, int columns, int k, enum kiln_dtype dtype, struct kiln_array **out,
                      kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_sizes(name, rows, columns, err);
    if (status) return status;
    if (rows == 0 || columns == 0) return kiln__zeros((int[]){rows, columns}, 2, dtype, out, err);
    struct kiln_array *positions = compare_positions(&e, KILN_OP_EQUAL, rows, columns, k);
    return kiln__e_end(&e, kiln__e_astype(&e, positions, dtype), out);
}

kiln_status kiln__tri(int rows, int columns, int k, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_status status = check_sizes("tri", rows, columns, err);
    if (status) return status;
    if (rows == 0 || columns == 0) return kiln__zeros((int[]){rows, columns}, 2, dtype, out, err);
    struct kiln_array *positions = compare_positions(&e, KILN_OP_GREATER_EQUAL, rows, columns, k);
    return kiln__e_end(&e, kiln__e_astype(&e, positions, dtype), out);
}

/* `a` where the comparison holds, else 0. */
static kiln_status triangle(const char *name, struct kiln_array *a, enum kiln_op op, int k, struct kiln_array **out,
                            kiln_error *err)
{
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_TRIANGLE);
        kiln__record_array(&record, a);
        kiln__record_number(&record, op == KILN_OP_LESS_EQUAL);
        kiln__record_number(&record, k);
        return kiln__record_end(&record, out, err);
    }
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (a->ndim < 2)
        return kiln__fail(err, KILN_INVALID, "[%s] Expected an array of at least 2 dimensions, got %d.", name, a->ndim);
    struct kiln_expression e = {.err = err};
    if (a->size == 0) return kiln__e_end(&e, a, out);
    struct kiln_array *positions = compare_positions(&e, op, a->dims[a->ndim - 2], a->dims[a->ndim - 1], k);
    struct kiln_array *zero = kiln__e_astype(&e, kiln__e_number(&e, 0, KILN_FLOAT32), (enum kiln_dtype)a->dtype);
    return kiln__e_end(&e, kiln__e_select(&e, positions, a, zero), out);
}

kiln_status kiln__tril(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err)
{
    return triangle("tril", a, KILN_OP_GREATER_EQUAL, k, out, err);
}

kiln_status kiln__triu(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err)
{
    return triangle("triu", a, KILN_OP_LESS_EQUAL, k, out, err);
}

kiln_status kiln__replay_triangle(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    bool upper = kiln__recorded_number(record);
    int k = (int)kiln__recorded_number(record);
    return upper ? kiln__triu(a, k, out, err) : kiln__tril(a, k, out, err);
}

/* Element i of `a` lies in row i (k >= 0) or column i: a line, filled up to the matrix' size, at the diagonal's
 * positions.
 */
static kiln_status diagonal_matrix(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err)
{
    int64_t more = k < 0 ? -(int64_t)k : k;
    if (a->dims[0] + more > INT_MAX)
        return kiln__fail(err, KILN_INVALID, "[diag] Diagonal %d is too far out for %d elements.", k, a->dims[0]);
    int n = a->dims[0] + (int)more, none = 0, after = (int)more, axis = 0;
    struct kiln_expression e = {.err = err};
    struct kiln_array *zero = kiln__e_astype(&e, kiln__e_number(&e, 0, KILN_FLOAT32), (enum kiln_dtype)a->dtype);
    struct kiln_array *line = NULL;
    if (!zero) return kiln__e_end(&e, NULL, out);
    struct kiln_padding padding = {&axis, &none, &after, 1, "constant", zero};
    kiln_status status = kiln__pad(a, &padding, &line, err);
    line = kiln__e_reshape(&e, kiln__e_hold(&e, status, line), k >= 0 ? (int[]){n, 1} : (int[]){1, n}, 2);
    struct kiln_array *positions = compare_positions(&e, KILN_OP_EQUAL, n, n, k);
    return kiln__e_end(&e, kiln__e_select(&e, positions, line, zero), out);
}

kiln_status kiln__replay_diag(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    return kiln__diag(a, (int)kiln__recorded_number(record), out, err);
}

kiln_status kiln__diag(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err)
{
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_DIAG);
        kiln__record_array(&record, a);
        kiln__record_number(&record, k);
        return kiln__record_end(&record, out, err);
    }
    if (!a) return kiln__fail(err, KILN_INVALID, "[diag] input is empty.");
    if (a->ndim == 2) return kiln__diagonal(a, k, 0, 1, out, err);
    if (a->ndim == 1) return diagonal_matrix(a, k, out, err);
    return kiln__fail(err, KILN_INVALID, "[diag] Expected an array of 1 or 2 dimensions, got %d.", a->ndim);
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

/* Packed, because programs read the bytes of an evaluated result as a row of elements. */
kiln_status kiln__full(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array *value,
                       struct kiln_array **out, kiln_error *err)
{
    int64_t size;
    kiln_error plain;
    if (!value) return kiln__fail(err, KILN_INVALID, "[full] input is empty.");
    kiln_status status = kiln__shape_check(dims, ndim, dtype, &size, &plain);
    if (status) return kiln__fail(err, status, "[full] %.900s", plain.text);
    struct kiln_expression e = {.err = err};
    struct kiln_array *x = kiln__e_broadcast(&e, kiln__e_astype(&e, value, dtype), dims, ndim);
    return kiln__e_end(&e, ndim ? kiln__e_unary(&e, KILN_OP_CONTIGUOUS, x) : x, out);
}

kiln_status kiln__zeros(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    static const char zero[16];
    struct kiln_array *value = NULL;
    kiln_status status = kiln__array_scalar(dtype, zero, &value, err);
    if (!status) status = kiln__full(dims, ndim, dtype, value, out, err);
    kiln__array_unref(value);
    return status;
}

kiln_status kiln__ones(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *one = NULL;
    kiln_status status = kiln__array_scalar(KILN_BOOL, &(bool){true}, &one, err);
    if (!status) status = kiln__full(dims, ndim, dtype, one, out, err);
    kiln__array_unref(one);
    return status;
}

kiln_status kiln__full_like(struct kiln_array *like, struct kiln_array *value, enum kiln_dtype dtype,
                            struct kiln_array **out, kiln_error *err)
{
    if (!like) return kiln__fail(err, KILN_INVALID, "[full_like] input is empty.");
    if (kiln__is_recorded(like) || kiln__is_recorded(value)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_FULL_LIKE);
        kiln__record_array(&record, like);
        kiln__record_array(&record, value);
        kiln__record_number(&record, dtype);
        return kiln__record_end(&record, out, err);
    }
    return kiln__full(like->dims, like->ndim, dtype, value, out, err);
}

kiln_status kiln__replay_full_like(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *like = kiln__recorded_array(record), *value = kiln__recorded_array(record);
    return kiln__full_like(like, value, (enum kiln_dtype)kiln__recorded_choice(record, KILN_DTYPE_COUNT), out, err);
}

/* Filled with an element of `dtype`, as the dtype of `like`. */
static kiln_status element_like(const char *name, struct kiln_array *like, enum kiln_dtype dtype, const void *element,
                                struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *value = NULL;
    if (!like) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    kiln_status status = kiln__array_scalar(dtype, element, &value, err);
    if (!status) status = kiln__full_like(like, value, (enum kiln_dtype)like->dtype, out, err);
    kiln__array_unref(value);
    return status;
}

kiln_status kiln__zeros_like(struct kiln_array *like, struct kiln_array **out, kiln_error *err)
{
    static const char zero[16];
    return element_like("zeros_like", like, like ? (enum kiln_dtype)like->dtype : KILN_BOOL, zero, out, err);
}

kiln_status kiln__ones_like(struct kiln_array *like, struct kiln_array **out, kiln_error *err)
{
    return element_like("ones_like", like, KILN_BOOL, &(bool){true}, out, err);
}
