/*
 * fused.c - compiled functions with helpers and reductions over 64 MiB. Element-wise ones are compared with the same
 * expression by hand, the same helpers inlined; norms with copying the array once, so that the ratio counts passes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "floors.h"

enum { SIDE = 4096, LENGTH = SIDE * SIDE };

struct kind {
    const char *name, *aim, *floor_name;
    enum expression expression;
    bool has_b;
    range_function floor, other_floor; /* the better one counts */
    double passes; /* arrays that are read or written, for GB/s; 0: as times, the ratio counts passes */
    bool (*is_right)(const float *values, const float *out, const float *a); /* `out`: of a floor */
};

struct call {
    struct compiled compiled;
    int failures;
};

static void call_compiled(void *ctx)
{
    struct call *call = ctx;
    call->failures += !compiled_call(&call->compiled);
}

/* ---- what is fast must also be right --------------------------------------------------------------------------- */

static bool has_same_bits(const float *values, const float *out, const float *a)
{
    (void)a;
    return memcmp(values, out, LENGTH * sizeof *values) == 0;
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-5 * fabs(expected);
}

static bool is_rms_norm(const float *values, const float *out, const float *a)
{
    (void)out;
    for (size_t row = 0; row < SIDE; row += 61) {
        double sum = 0;
        for (size_t i = row * SIDE; i < (row + 1) * SIDE; i++) sum += (double)a[i] * (double)a[i];
        for (size_t i = row * SIDE; i < (row + 1) * SIDE; i++)
            if (!is_near((double)values[i], (double)a[i] / sqrt(sum / SIDE + 1e-5))) return false;
    }
    return true;
}

static bool is_softmax(const float *values, const float *out, const float *a)
{
    (void)out;
    for (size_t row = 0; row < SIDE; row += 61) {
        double sum = 0;
        for (size_t i = row * SIDE; i < (row + 1) * SIDE; i++) sum += exp((double)a[i]);
        for (size_t i = row * SIDE; i < (row + 1) * SIDE; i++)
            if (!is_near((double)values[i], exp((double)a[i]) / sum)) return false;
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void measure_kind(struct row *row, const struct kind *kind, float *const arrays[3], int repeats)
{
    static const int shape[] = {SIDE, SIDE};
    struct call call = {.failures = 0};
    struct floor floor = {kind->floor, arrays[2], arrays[0], arrays[1], LENGTH}, other = floor;
    other.run = kind->other_floor;
    struct work works[] = {{call_compiled, &call, 0}, {run_floor, &floor, 0}, {run_floor, &other, 0}};
    bool is_made =
        compiled_init_shaped(&call.compiled, kind->expression, arrays[0], kind->has_b ? arrays[1] : NULL, shape, 2);
    const float *values = is_made ? compiled_call(&call.compiled) : NULL;
    run_floor(&floor);
    if (!values) {
        row_fail(row, "the function failed");
    } else if (!kind->is_right(values, arrays[2], arrays[0])) {
        row_fail(row, "wrong values");
    } else {
        measure(works, 3, 1, repeats);
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns < works[2].ns ? works[1].ns : works[2].ns;
        row->bytes = kind->passes * LENGTH * sizeof(float);
        if (call.failures) row_fail(row, "%d calls failed", call.failures);
    }
    compiled_release(&call.compiled);
}

/* Between -8 and 8, all different within a row: both ends of the helpers' ranges. */
static void fill_wide(float *a, float *b)
{
    for (size_t i = 0; i < LENGTH; i++) {
        a[i] = (float)(i * 2654435761u % SIDE) / 256 - 8;
        b[i] = 1 + (float)(i % 61) / 61;
    }
}

int bench_fused(struct row *rows, int repeats)
{
    static const struct kind kinds[] = {
        {"x*sigmoid(x)*y, 64 MiB each", "0.85 of the floor", "by hand, the same helpers", EXPRESSION_SWIGLU, true,
         floor_swiglu, floor_swiglu_stream, 3, has_same_bits},
        {"gelu, 64 MiB each", "0.85 of the floor", "by hand, the same helpers", EXPRESSION_GELU, false, floor_gelu,
         floor_gelu_stream, 2, has_same_bits},
        {"rms norm, 4096 x 4096, plain operations", "1 to 2 passes", "copying once", EXPRESSION_RMS_NORM, false,
         floor_copy, floor_copy_stream, 0, is_rms_norm},
        {"softmax, 4096 x 4096, plain operations", "1 to 2 passes", "copying once", EXPRESSION_SOFTMAX, false,
         floor_copy, floor_copy_stream, 0, is_softmax},
    };
    float *arrays[3] = {NULL};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        struct row *row = &rows[count++];
        *row = (struct row){.name = kinds[i].name, .floor_name = kinds[i].floor_name, .aim = kinds[i].aim};
        if (!arrays[0]) {
            for (size_t k = 0; k < 3; k++) arrays[k] = new_floats(LENGTH);
            if (arrays[0] && arrays[1]) fill_wide(arrays[0], arrays[1]);
        }
        if (arrays[0] && arrays[1] && arrays[2])
            measure_kind(row, &kinds[i], arrays, repeats);
        else
            row_fail(row, "no memory");
    }
    for (size_t k = 0; k < 3; k++) free(arrays[k]);
    return count;
}
