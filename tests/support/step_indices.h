/*
 * step_indices.h - steps of random programs that read and write by indices.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_INDICES_H
#define KILN_TESTS_SUPPORT_STEP_INDICES_H

#include "support/step.h"

static mlx_array random_indices(const struct step *step, const int *shape, int ndim, int bound)
{
    int values[512], count = 1;
    uint64_t state = step->seed;
    for (int i = 0; i < ndim; i++) count *= shape[i];
    for (int i = 0; i < count && i < 512; i++) values[i] = bound ? (int)torture_below(&state, (uint64_t)bound) : 0;
    return count <= 512 ? mlx_array_new_data(values, shape, ndim, MLX_INT32) : mlx_array_new();
}

static int run_take(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int shape[] = {size_of(in[0], step->numbers[0])};
    mlx_array indices = random_indices(step, shape, 1, shape[0]);
    int code = mlx_take_axis(out, in[0], indices, step->numbers[0], stream);
    return mlx_array_free(indices), code;
}

static int run_gather(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    int sizes[MAX_AXES + 1], axis = step->numbers[0];
    const int shape[] = {2};
    for (int i = 0; i < axes_of(in[0]); i++) sizes[i] = i == axis ? 1 : size_of(in[0], i);
    mlx_array indices = random_indices(step, shape, 1, size_of(in[0], axis));
    int code = mlx_gather_single(out, in[0], indices, axis, sizes, (size_t)axes_of(in[0]), stream);
    return mlx_array_free(indices), code;
}

/* Through indices that are computed. */
static int run_take_along(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array order = mlx_array_new();
    int code = mlx_argsort_axis(&order, in[0], step->numbers[0], stream) ||
               mlx_take_along_axis(out, in[1], order, step->numbers[0], stream);
    return mlx_array_free(order), code;
}

/* Each place once, in an order that is computed. */
static int run_put_along(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array order = mlx_array_new();
    int code = mlx_argsort_axis(&order, in[0], step->numbers[0], stream) ||
               mlx_put_along_axis(out, in[0], order, in[1], step->numbers[0], stream);
    return mlx_array_free(order), code;
}

static int run_scatter_add_axis(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array order = mlx_array_new();
    int code = mlx_argsort_axis(&order, in[0], step->numbers[0], stream) ||
               mlx_scatter_add_axis(out, in[0], order, in[1], step->numbers[0], stream);
    return mlx_array_free(order), code;
}

/* Two updates, each a slice of one along the first axis of the second operand. */
static int run_scatter(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    int count = axes_of(in[0]), dims[MAX_AXES + 2] = {2, 1};
    const int shape[] = {2};
    mlx_array indices = random_indices(step, shape, 1, size_of(in[0], 0)), updates = mlx_array_new();
    for (int i = 1; i < count; i++) dims[1 + i] = size_of(in[0], i);
    int code = mlx_broadcast_to(&updates, in[1], dims, (size_t)count + 1, stream) ||
               mlx_astype(&updates, updates, mlx_array_dtype(in[0]), stream) ||
               step->kind->scatter(out, in[0], indices, updates, 0, stream);
    return mlx_array_free(indices), mlx_array_free(updates), code;
}

/* The second operand, broadcast to the range, is written there. */
static int run_update(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    size_t count = (size_t)step->number_count / 3;
    const int *start = step->numbers, *stop = start + count, *stride = stop + count;
    mlx_array update = mlx_array_new();
    int code = mlx_astype(&update, in[1], mlx_array_dtype(in[0]), stream) ||
               step->kind->update(out, in[0], update, start, count, stop, count, stride, count, stream);
    return mlx_array_free(update), code;
}

#endif
