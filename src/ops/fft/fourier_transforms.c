/*
 * fourier_transforms.c - see fft.h. One node for each axis (operation fft), after what cuts and pads.
 */
#include <limits.h>
#include <string.h>

#include "ops/creation.h"
#include "ops/expression.h"
#include "ops/fft/fft.h"
#include "ops/replay.h"
#include "ops/shapes.h"

/* ---- transforms -------------------------------------------------------------------------------------------------- */

struct axes {
    size_t count;
    int at[KILN_MAX_NDIM], n[KILN_MAX_NDIM]; /* n: elements of the transform */
};

static const char *name_of(struct kiln_fft how)
{
    if (how.kind == KILN_FFT_COMPLEX) return how.is_inverse ? "ifftn" : "fftn";
    return how.kind == KILN_FFT_REAL ? "rfftn" : "irfftn";
}

static kiln_status check_arguments(struct kiln_fft how, const struct kiln_array *a, size_t n_count, size_t axis_count,
                                   kiln_error *err)
{
    const char *name = name_of(how);
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (how.norm < 0 || how.norm >= KILN_FFT_NORMS)
        return kiln__fail(err, KILN_INVALID, "[%s] the norm is not one of mlx_fft_norm (0 to %d), got %d.", name,
                          KILN_FFT_NORMS - 1, how.norm);
    if (n_count != axis_count)
        return kiln__fail(err, KILN_INVALID, "[%s] Shape and axes have different sizes: %zu and %zu.", name, n_count,
                          axis_count);
    if (a->ndim == 0) return kiln__fail(err, KILN_INVALID, "[%s] Requires array with at least one dimension.", name);
    if (axis_count > a->ndim)
        return kiln__fail(err, KILN_INVALID, "[%s] %zu axes of an array with %d dimensions.", name, axis_count,
                          a->ndim);
    return KILN_OK;
}

static kiln_status read_axes(const char *name, const struct kiln_array *a, const int *n, const int *axes, size_t count,
                             struct axes *out, kiln_error *err)
{
    uint64_t seen = 0;
    kiln_status status = KILN_OK;
    *out = (struct axes){.count = count};
    for (size_t i = 0; i < count && !status; i++) {
        status = kiln__plain_axis(name, axes[i], a->ndim, &out->at[i], err);
        if (status) return status;
        if (seen >> out->at[i] & 1) return kiln__fail(err, KILN_INVALID, "[%s] Axis %d is given twice.", name, axes[i]);
        seen |= 1ull << out->at[i];
        out->n[i] = n[i];
        if (n[i] <= 0)
            status = kiln__fail(err, KILN_INVALID, "[%s] Invalid FFT output size requested (%d)", name, n[i]);
    }
    return status;
}

/* The first `size` elements, or all and zeros behind them. */
static struct kiln_array *resized(struct kiln_expression *e, struct kiln_array *a, int axis, int size)
{
    if (!a || a->dims[axis] == size) return a;
    if (a->dims[axis] > size) return kiln__e_cut(e, a, axis, 0, size, 1);
    int dims[KILN_MAX_NDIM];
    struct kiln_array *zeros = NULL;
    memcpy(dims, a->dims, a->ndim * sizeof *dims);
    dims[axis] = size - a->dims[axis];
    kiln_status status = kiln__zeros(dims, a->ndim, (enum kiln_dtype)a->dtype, &zeros, e->err);
    struct kiln_array *const parts[] = {a, kiln__e_hold(e, status, zeros)};
    return e->status ? NULL : kiln__e_apply(e, KILN_OP_CONCATENATE, parts, 2, (int64_t[]){axis}, 1);
}

static struct kiln_array *transformed(struct kiln_expression *e, struct kiln_array *a, struct kiln_fft how, int axis,
                                      int n)
{
    const int64_t attrs[KILN_FFT_ATTRS] = {axis, how.kind, how.is_inverse, how.norm, n};
    return a ? kiln__e_apply(e, KILN_OP_FFT, &a, 1, attrs, KILN_FFT_ATTRS) : NULL;
}

/* What is real is transformed along the last axis while it is real: first, or last on the way back. */
static struct kiln_array *transform_all(struct kiln_expression *e, struct kiln_array *a, struct kiln_fft how,
                                        const struct axes *axes)
{
    struct kiln_fft inner = {KILN_FFT_COMPLEX, how.is_inverse, how.norm};
    size_t last = axes->count - 1;
    for (size_t i = 0; i <= last; i++) {
        bool is_half = how.kind == KILN_FFT_HALF && i == last;
        a = resized(e, a, axes->at[i], is_half ? axes->n[i] / 2 + 1 : axes->n[i]);
    }
    if (how.kind != KILN_FFT_HALF) a = transformed(e, a, how, axes->at[last], 0);
    for (size_t i = last; i-- > 0;) a = transformed(e, a, inner, axes->at[i], 0);
    if (how.kind == KILN_FFT_HALF) a = transformed(e, a, how, axes->at[last], axes->n[last]);
    return a;
}

kiln_status kiln__fftn(struct kiln_fft how, struct kiln_array *a, const int *n, size_t n_count, const int *axes,
                       size_t axis_count, struct kiln_array **out, kiln_error *err)
{
    struct axes plain;
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_FFTN);
        kiln__record_array(&record, a);
        kiln__record_number(&record, how.kind);
        kiln__record_number(&record, how.is_inverse);
        kiln__record_number(&record, how.norm);
        kiln__record_numbers(&record, n, n_count);
        kiln__record_numbers(&record, axes, axis_count);
        return kiln__record_end(&record, out, err);
    }
    kiln_status status = check_arguments(how, a, n_count, axis_count, err);
    if (!status) status = read_axes(name_of(how), a, n, axes, axis_count, &plain, err);
    if (status) return status;
    if (axis_count == 0) return kiln__e_end(&e, a, out);
    struct kiln_array *x = kiln__e_astype(&e, a, how.kind == KILN_FFT_REAL ? KILN_FLOAT32 : KILN_COMPLEX64);
    return kiln__e_end(&e, transform_all(&e, x, how, &plain), out);
}

kiln_status kiln__replay_fftn(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int n[KILN_RECORD_NUMBERS], axes[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    struct kiln_fft how = {.kind = (enum kiln_fft_kind)kiln__recorded_number(record)};
    how.is_inverse = kiln__recorded_number(record);
    how.norm = (int)kiln__recorded_number(record);
    size_t n_count = kiln__recorded_numbers(record, n), axis_count = kiln__recorded_numbers(record, axes);
    return kiln__fftn(how, a, n, n_count, axes, axis_count, out, err);
}

/* ---- what is used beside them ------------------------------------------------------------------------------------ */

kiln_status kiln__fftshift(struct kiln_array *a, const int *axes, size_t count, bool is_inverse,
                           struct kiln_array **out, kiln_error *err)
{
    const char *name = is_inverse ? "ifftshift" : "fftshift";
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) {
        struct kiln_record record = kiln__record_begin(KILN_DEFERRED_FFTSHIFT);
        kiln__record_array(&record, a);
        kiln__record_number(&record, is_inverse);
        kiln__record_numbers(&record, axes, count);
        return kiln__record_end(&record, out, err);
    }
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    for (size_t i = 0; i < count && !e.status; i++) {
        int axis = 0;
        struct kiln_array *rolled = NULL;
        e.status = kiln__plain_axis(name, axes[i], a->ndim, &axis, err);
        if (e.status) break;
        int64_t shift = a->dims[axis] / 2;
        kiln_status status = kiln__roll(a, is_inverse ? -shift : shift, axis, &rolled, err);
        a = kiln__e_hold(&e, status, rolled);
    }
    return kiln__e_end(&e, e.status ? NULL : a, out);
}

kiln_status kiln__replay_fftshift(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axes[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    bool is_inverse = kiln__recorded_number(record);
    size_t count = kiln__recorded_numbers(record, axes);
    return kiln__fftshift(a, axes, count, is_inverse, out, err);
}

static struct kiln_array *series(struct kiln_expression *e, int first, int count, double step)
{
    struct kiln_array *out = NULL;
    const double numbers[2] = {first * step, step};
    if (e->status) return NULL;
    kiln_status status = kiln__series(KILN_SERIES_STEPS, numbers, count, KILN_FLOAT32, &out, e->err);
    return kiln__e_hold(e, status, out);
}

kiln_status kiln__fftfreq(int n, double d, bool is_real, struct kiln_array **out, kiln_error *err)
{
    const char *name = is_real ? "rfftfreq" : "fftfreq";
    struct kiln_expression e = {.err = err};
    if (n <= 0) return kiln__fail(err, KILN_INVALID, "[%s] `n` must be greater than 0, got %d.", name, n);
    if (d == 0) return kiln__fail(err, KILN_INVALID, "[%s] `d` must be non-zero.", name);
    double step = 1 / (n * d);
    if (is_real) return kiln__e_end(&e, series(&e, 0, n / 2 + 1, step), out);
    struct kiln_array *const halves[] = {series(&e, 0, n - n / 2, step), series(&e, -(n / 2), n / 2, step)};
    return kiln__e_end(&e, e.status ? NULL : kiln__e_concatenate(&e, halves, 2, 0), out);
}
