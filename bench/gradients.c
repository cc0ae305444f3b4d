/*
 * gradients.c - compiled gradients. The floor moves as many bytes as a gradient's inputs and results have, half of them
 * read and half written, so that a ratio of 1 is the least number of passes over memory.
 */
#include <math.h>
#include <stdlib.h>

#include "backward.h"
#include "bench.h"
#include "floors.h"

struct call {
    struct compiled compiled;
    int failures;
};

static void call_backward(void *ctx)
{
    struct call *call = ctx;
    call->failures += !backward_call(&call->compiled);
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-5 + 1e-4 * fabs(expected);
}

/* g * (phi(x) + x * phi'(x)) at some places. */
static bool is_gelu(const float *values, size_t length)
{
    for (size_t i = 0; i < length; i += 65537) {
        double x = (double)wide_number(i), slope = exp(-x * x / 2) * 0.39894228040143267794;
        if (!is_near((double)values[i], (double)narrow_number(i) * (0.5 * erfc(-x * M_SQRT1_2) + x * slope)))
            return false;
    }
    return true;
}

/* Softmax and layer norm do not change when a whole row of x grows, so each row of their gradient adds up to 0. */
static bool adds_up(const float *values, size_t length)
{
    enum { SIDE = 4096 };
    for (size_t row = 0; row + SIDE <= length; row += 61 * SIDE) {
        double sum = 0, magnitude = 0;
        for (size_t i = row; i < row + SIDE; i++) sum += (double)values[i], magnitude += fabs((double)values[i]);
        if (!(fabs(sum) <= 1e-4 * magnitude) || magnitude == 0) return false;
    }
    return true;
}

/* make peers compares the values of attention with other libraries'; here they are finite and not all 0. */
static bool is_finite(const float *values, size_t length)
{
    double magnitude = 0;
    for (size_t i = 0; i < length; i++) magnitude += fabs((double)values[i]);
    return isfinite(magnitude) && magnitude > 0;
}

struct kind {
    const char *name;
    const char *aim;
    enum gradient gradient;
    bool (*is_right)(const float *values, size_t length); /* of the first result */
};

static bool is_kind_right(const struct kind *kind, struct call *call)
{
    mlx_array first = mlx_array_new();
    bool is_right = backward_call(&call->compiled) && !mlx_vector_array_get(&first, call->compiled.outputs, 0) &&
                    kind->is_right(mlx_array_data_float32(first), mlx_array_size(first));
    mlx_array_free(first);
    return is_right;
}

static void measure_kind(struct row *row, const struct kind *kind, int repeats)
{
    struct call call = {.failures = 0};
    struct floor floor = {.run = floor_copy}, stream;
    if (!backward_init(&call.compiled, kind->gradient) || !is_kind_right(kind, &call)) {
        row_fail(row, "the gradient failed, or has wrong values");
    } else {
        floor.length = backward_floats(&call.compiled) / 2 / LANES * LANES;
        float *from = new_floats(floor.length), *to = new_floats(floor.length);
        floor.a = from, floor.out = to, stream = floor, stream.run = floor_copy_stream;
        struct work works[] = {{call_backward, &call, 0}, {run_floor, &floor, 0}, {run_floor, &stream, 0}};
        if (from && to) {
            for (size_t i = 0; i < floor.length; i++) from[i] = 1;
            measure(works, 3, 1, repeats);
        }
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns < works[2].ns ? works[1].ns : works[2].ns;
        if (!from || !to || call.failures) row_fail(row, "no memory, or %d calls failed", call.failures);
        free(from), free(to);
    }
    compiled_release(&call.compiled);
}

int bench_gradients(struct row *rows, int repeats)
{
    static const struct kind kinds[] = {
        {"gradient of gelu, 64 MiB", "1 to 2 passes", GRADIENT_GELU, is_gelu},
        {"gradient of softmax, 4096 x 4096", "1 to 2 passes", GRADIENT_SOFTMAX, adds_up},
        {"gradient of layer norm, 4096 x 4096", "1 to 2 passes", GRADIENT_LAYER_NORM, adds_up},
        {"gradient of attention, 8 x 1024 x 64", "products, not memory", GRADIENT_ATTENTION, is_finite},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        rows[count] =
            (struct row){.name = kinds[i].name, .floor_name = "inputs and results moved once", .aim = kinds[i].aim};
        measure_kind(&rows[count++], &kinds[i], repeats);
    }
    return count;
}
