/*
 * fourier.c - operation fft: Fourier transforms of the rows along one axis.
 *
 * pocketfft computes in float64, and each result is rounded to float32 once. Rows are shared by the threads of the
 * pool; a thread transforms four of them side by side where the processor can. A row's bits depend on its numbers
 * alone: not on the rows beside it, threads, or the processor.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fft_attrs.h"
#include "pocketfft/pocketfft.h"
#include "run/fft/fft_plan.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

enum { LANES = 4 };

struct transform {
    const struct kiln_array *in;
    struct kiln_array *out;
    struct kiln_axis from, to;
    struct kiln_fft_attrs how;
    int n; /* numbers of the transform */
    double factor;
    const struct pocketfft_plan *plan;
    atomic_bool failed;
};

/* How many float64 numbers a row has while it is transformed. */
static int64_t width(const struct transform *transform)
{
    return transform->how.kind == KILN_FFT_COMPLEX ? 2 * (int64_t)transform->n : transform->n;
}

/* Number i of a lane is at to[i * lanes]. */
static void load(const struct transform *transform, int64_t row, double *to, int lanes)
{
    const char *from = transform->in->data + kiln__axis_offset(&transform->from, row);
    int64_t stride = transform->from.stride, n = transform->n;
    if (transform->how.kind == KILN_FFT_REAL) {
        for (int64_t i = 0; i < n; i++, from += stride) to[i * lanes] = *(const float *)from;
    } else if (transform->how.kind == KILN_FFT_COMPLEX) {
        for (int64_t i = 0; i < n; i++, from += stride) {
            to[2 * i * lanes] = ((const float *)from)[0];
            to[(2 * i + 1) * lanes] = ((const float *)from)[1];
        }
    } else {
        to[0] = *(const float *)from;
        for (int64_t i = 1; i < n; i += 2) {
            from += stride;
            to[i * lanes] = ((const float *)from)[0];
            if (i + 1 < n) to[(i + 1) * lanes] = ((const float *)from)[1];
        }
    }
}

static void store(const struct transform *transform, int64_t row, const double *from, int lanes)
{
    char *to = transform->out->data + kiln__axis_offset(&transform->to, row);
    int64_t stride = transform->to.stride, n = transform->n;
    if (transform->how.kind == KILN_FFT_HALF) {
        for (int64_t i = 0; i < n; i++, to += stride) *(float *)to = (float)from[i * lanes];
    } else if (transform->how.kind == KILN_FFT_COMPLEX) {
        for (int64_t i = 0; i < n; i++, to += stride) {
            ((float *)to)[0] = (float)from[2 * i * lanes];
            ((float *)to)[1] = (float)from[(2 * i + 1) * lanes];
        }
    } else {
        ((float *)to)[0] = (float)from[0], ((float *)to)[1] = 0;
        for (int64_t i = 1; i < n; i += 2) {
            to += stride;
            ((float *)to)[0] = (float)from[i * lanes];
            ((float *)to)[1] = i + 1 < n ? (float)from[(i + 1) * lanes] : 0;
        }
    }
}

/* Four rows, the last of `count` again where there are fewer. */
static int transform_four(const struct transform *transform, int64_t row, int64_t count, double *numbers)
{
    for (int64_t lane = 0; lane < LANES; lane++)
        load(transform, row + (lane < count ? lane : count - 1), numbers + lane, LANES);
    int code = pocketfft_run_four(transform->plan, numbers, transform->how.is_inverse, transform->factor);
    for (int64_t lane = 0; lane < count && !code; lane++) store(transform, row + lane, numbers + lane, LANES);
    return code;
}

static int transform_one(const struct transform *transform, int64_t row, double *numbers)
{
    load(transform, row, numbers, 1);
    int code = pocketfft_run(transform->plan, numbers, transform->how.is_inverse, transform->factor);
    if (!code) store(transform, row, numbers, 1);
    return code;
}

static void transform_rows(void *ctx, int64_t first, int64_t end)
{
    struct transform *transform = ctx;
    bool has_lanes = end - first > 1 && __builtin_cpu_supports("avx2");
    double *numbers = malloc((size_t)width(transform) * sizeof *numbers * (has_lanes ? LANES : 1));
    int code = numbers ? 0 : -1;
    for (int64_t row = first; row < end && !code;) {
        int64_t count = has_lanes && end - row > 1 ? end - row : 1;
        if (count > LANES) count = LANES;
        code = count > 1 ? transform_four(transform, row, count, numbers) : transform_one(transform, row, numbers);
        row += count;
    }
    free(numbers);
    if (code) atomic_store_explicit(&transform->failed, true, memory_order_relaxed);
}

/* What the definition without factors is multiplied by. */
static double scale(struct kiln_fft_attrs how, int n)
{
    bool divides = how.norm == (how.is_inverse ? KILN_FFT_BACKWARD : KILN_FFT_FORWARD);
    return how.norm == KILN_FFT_ORTHO ? 1 / sqrt(n) : divides ? 1.0 / n : 1;
}

kiln_status kiln__run_fft(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct transform transform = {.in = node->inputs[0], .out = out, .how = kiln__fft_attrs(node->attrs)};
    struct kiln_fft_plan *plan = NULL;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    kiln__axis_init(&transform.from, transform.in, (size_t)transform.how.axis);
    kiln__axis_init(&transform.to, out, (size_t)transform.how.axis);
    transform.n = (int)(transform.how.kind == KILN_FFT_REAL ? transform.from.n : transform.to.n);
    transform.factor = scale(transform.how, transform.n);
    status = kiln__fft_plan_get(transform.n, transform.how.kind != KILN_FFT_COMPLEX, &plan, err);
    if (status) return status;
    transform.plan = plan->transform;
    kiln__rows_run(transform_rows, &transform, transform.from.rows, 4 * transform.from.rows * transform.n);
    kiln__fft_plan_put(plan);
    return atomic_load(&transform.failed) ? kiln__no_memory(err, "a Fourier transform") : KILN_OK;
}
