/*
 * steps.h - the steps of random programs: for each kind of step, how its numbers are chosen and how it is run.
 *
 * A step reads earlier values and makes one. Its numbers are chosen once, from the arrays that a first run has made,
 * and hold for every later run: what a step computes depends on its operands and its numbers alone. A choice may not
 * fit, and the library then refuses the step; the first run leaves such a step out. Element-wise kinds are rows of
 * ops.def, and check_kinds() sees that every other operation of ops.def is covered too.
 */
#ifndef KILN_TESTS_SUPPORT_STEPS_H
#define KILN_TESTS_SUPPORT_STEPS_H

#include "support/step_indices.h"
#include "support/step_linalg.h"
#include "support/step_structured.h"

/* ---- element-wise ---------------------------------------------------------------------------------------------------
 */

static int run_unary(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->unary(out, in[0], stream);
}

static int run_binary(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->binary(out, in[0], in[1], stream);
}

static int run_where(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    (void)step;
    return mlx_where(out, in[0], in[1], in[2], stream);
}

static bool choose_dtype(const struct choice *choice, struct step *step)
{
    static const int dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_INT32, MLX_UINT8, MLX_BOOL, MLX_INT64};
    add_number(step, dtypes[below(choice, sizeof dtypes / sizeof *dtypes)]);
    return true;
}

static int run_cast(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_astype(out, in[0], (mlx_dtype)step->numbers[0], stream);
}

static bool choose_decimals(const struct choice *choice, struct step *step)
{
    add_number(step, below(choice, 3));
    return true;
}

static int run_round(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_round(out, in[0], step->numbers[0], stream);
}

/* A number in place of the second operand, so that kernels have constants. */
static int run_scaled(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array half = mlx_array_new_float(0.5f);
    (void)step;
    int code = mlx_multiply(out, in[0], half, stream);
    return mlx_array_free(half), code;
}

static int run_clip(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array low = mlx_array_new_float(-1), high = mlx_array_new_float(1);
    (void)step;
    int code = mlx_clip(out, in[0], low, high, stream);
    return mlx_array_free(low), mlx_array_free(high), code;
}

/* ---- views ----------------------------------------------------------------------------------------------------------
 */

static bool choose_order(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    for (int i = 0; i < count; i++) add_number(step, i);
    for (int i = count; i-- > 1;) {
        int k = below(choice, i + 1), kept = step->numbers[i];
        step->numbers[i] = step->numbers[k], step->numbers[k] = kept;
    }
    return count > 1;
}

static int run_transpose_axes(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_transpose_axes(out, in[0], step->numbers, (size_t)step->number_count, stream);
}

/* Flat, or two neighbours as one axis, or an axis as two. */
static bool choose_shape(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]), way = below(choice, 3);
    int axis = count ? below(choice, count) : 0;
    for (int i = 0; i < count && way; i++) {
        int size = size_of(choice->in[0], i);
        if (way == 1 && i == axis + 1)
            step->numbers[step->number_count - 1] *= size;
        else if (way == 2 && i == axis && size % choice->n == 0)
            add_number(step, size / choice->n), add_number(step, choice->n);
        else
            add_number(step, size);
    }
    if (!way) add_number(step, (int)mlx_array_size(choice->in[0]));
    return step->number_count <= MAX_AXES;
}

static int run_reshape(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_reshape(out, in[0], step->numbers, (size_t)step->number_count, stream);
}

/* Axes of size one grow, and sometimes an axis comes in front. */
static bool choose_wider(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    if (count < MAX_AXES && one_in(choice, 2)) add_number(step, choice->n);
    for (int i = 0; i < count; i++) {
        int size = size_of(choice->in[0], i);
        add_number(step, size == 1 ? choice->n : size);
    }
    return step->number_count > 0;
}

static int run_broadcast(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_broadcast_to(out, in[0], step->numbers, (size_t)step->number_count, stream);
}

static bool choose_new_axis(const struct choice *choice, struct step *step)
{
    add_number(step, below(choice, axes_of(choice->in[0]) + 1));
    return axes_of(choice->in[0]) < MAX_AXES;
}

static int run_expand_dims(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_expand_dims(out, in[0], step->numbers[0], stream);
}

static int run_squeeze(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    (void)step;
    return mlx_squeeze(out, in[0], stream);
}

/* Of each axis: all of it, backwards, without its ends, every second, one element. */
static bool choose_range(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    int *start = step->numbers, *stop = start + count, *stride = stop + count;
    for (int i = 0; i < count; i++) {
        int size = size_of(choice->in[0], i), way = below(choice, 7);
        start[i] = 0, stop[i] = size, stride[i] = 1;
        if (way == 0) start[i] = size - 1, stop[i] = -size - 1, stride[i] = -1;
        if (way == 1 && size > 2) start[i] = 1, stop[i] = size - 1;
        if (way == 2) stride[i] = 2;
        if (way == 3 && size) start[i] = below(choice, size), stop[i] = start[i] + 1;
    }
    step->number_count = 3 * count;
    return count > 0;
}

/* A size and a start along each axis. */
static bool choose_place_of_slice(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    int *sizes = step->numbers, *start = sizes + count;
    for (int i = 0; i < count; i++) {
        int size = size_of(choice->in[0], i), way = below(choice, 3);
        sizes[i] = way == 0 || !size ? size : 1 + below(choice, size);
        start[i] = below(choice, size - sizes[i] + 1) - (way == 1 && sizes[i] == 1 ? size : 0);
    }
    step->number_count = 2 * count;
    return count > 0;
}

/* Its starts as an array; *axes, with room for MAX_AXES, are in the reverse order. */
static mlx_array starts_of_slice(const struct step *step, int *axes)
{
    int count = step->number_count / 2, values[MAX_AXES];
    for (int i = 0; i < count; i++) axes[i] = count - 1 - i, values[i] = step->numbers[count + axes[i]];
    return mlx_array_new_data(values, &count, 1, MLX_INT32);
}

static int run_slice_dynamic(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    int axes[MAX_AXES];
    size_t count = (size_t)step->number_count / 2;
    mlx_array start = starts_of_slice(step, axes);
    int code = mlx_slice_dynamic(out, in[0], start, axes, count, step->numbers, count, stream);
    return mlx_array_free(start), code;
}

/* The second operand, broadcast to the slice, is written there. */
static int run_update_dynamic(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    int axes[MAX_AXES];
    size_t count = (size_t)step->number_count / 2;
    mlx_array start = starts_of_slice(step, axes), update = mlx_array_new();
    int code = mlx_broadcast_to(&update, in[1], step->numbers, count, stream) ||
               mlx_slice_update_dynamic(out, in[0], update, start, axes, count, stream);
    return mlx_array_free(start), mlx_array_free(update), code;
}

static int run_slice(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    size_t count = (size_t)step->number_count / 3;
    const int *start = step->numbers, *stop = start + count, *stride = stop + count;
    return mlx_slice(out, in[0], start, count, stop, count, stride, count, stream);
}

/* Windows that overlap, elements that repeat, and a matrix turned: sizes, strides, an offset. */
static bool choose_windows(const struct choice *choice, struct step *step)
{
    int size = (int)mlx_array_size(choice->in[0]), way = below(choice, 4), n = choice->n;
    const int rows[4] = {n, size - n + 1 < n ? size - n + 1 : n, size / n < n ? size / n : n, n};
    const int strides[4][2] = {{0, 1}, {1, 1}, {1, n}, {1, 0}};
    add_number(step, rows[way]);
    add_number(step, way == 2 ? size / n : n);
    if (way == 2) step->numbers[0] = n;
    add_number(step, strides[way][0]);
    add_number(step, strides[way][1]);
    add_number(step, 0);
    return size >= n && step->numbers[0] > 0 && step->numbers[1] > 0;
}

static int run_as_strided(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int64_t strides[] = {step->numbers[2], step->numbers[3]};
    return mlx_as_strided(out, in[0], step->numbers, 2, strides, 2, (size_t)step->numbers[4], stream);
}

static int run_flatten(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    (void)step;
    return mlx_flatten(out, in[0], 0, -1, stream);
}

static bool choose_two_axes(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    if (count < 2) return false;
    add_number(step, below(choice, count));
    add_number(step, (step->numbers[0] + 1 + below(choice, count - 1)) % count);
    return true;
}

static int run_swapaxes(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_swapaxes(out, in[0], step->numbers[0], step->numbers[1], stream);
}

static int run_diagonal(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_diagonal(out, in[0], 0, step->numbers[0], step->numbers[1], stream);
}

/* ---- along an axis --------------------------------------------------------------------------------------------------
 */

/* Mostly the last one. */
static bool choose_axis(const struct choice *choice, struct step *step)
{
    int count = axes_of(choice->in[0]);
    if (!count) return false;
    add_number(step, one_in(choice, 2) ? count - 1 : below(choice, count));
    add_number(step, below(choice, 2));
    add_number(step, below(choice, 2));
    return true;
}

static int run_reduction(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->reduction(out, in[0], step->numbers[0], step->numbers[1], stream);
}

static int run_whole(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->whole(out, in[0], true, stream);
}

/* The two last axes of a matrix at once, and no axis of anything else. */
static int run_sum_axes(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int axes[] = {-1, -2};
    return mlx_sum_axes(out, in[0], axes, axes_of(in[0]) > 1 ? 2 : 0, step->numbers[1], stream);
}

static int run_var(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_var_axis(out, in[0], step->numbers[0], step->numbers[1], 0, stream);
}

static int run_running(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->running(out, in[0], step->numbers[0], step->numbers[1], step->numbers[2], stream);
}

static int run_along(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->axis(out, in[0], step->numbers[0], stream);
}

static int run_softmax(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_softmax_axis(out, in[0], step->numbers[0], step->numbers[1], stream);
}

static bool choose_causal(const struct choice *choice, struct step *step)
{
    add_number(step, one_in(choice, 2));
    return true;
}

/* The last two axes are those of one matrix, or with three axes of each head. */
static int run_attention(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array heads[3] = {mlx_array_new(), mlx_array_new(), mlx_array_new()};
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++) {
        int axes = axes_of(in[i]);
        const int shape[] = {1, axes > 2 ? size_of(in[i], 0) : 1, axes > 1 ? size_of(in[i], axes > 2) : 1, -1};
        failed = mlx_reshape(&heads[i], in[i], shape, 4, stream);
    }
    failed = failed || mlx_fast_scaled_dot_product_attention(out, heads[0], heads[1], heads[2], 0.25f,
                                                             step->numbers[0] ? "causal" : "", mlx_array_empty,
                                                             mlx_array_empty, false, stream);
    for (int i = 0; i < 3; i++) mlx_array_free(heads[i]);
    return failed;
}

/* The weight and the bias are values with as many elements as a row, or none. */
static mlx_array row_or_none(mlx_array row, mlx_array x, bool wanted)
{
    bool fits = wanted && axes_of(row) == 1 && axes_of(x) > 0 && size_of(row, 0) == size_of(x, axes_of(x) - 1);
    return fits ? row : mlx_array_empty;
}

static int run_rms_norm(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_fast_rms_norm(out, in[0], row_or_none(in[1], in[0], step->numbers[1]), 1e-5f, stream);
}

static int run_layer_norm(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_fast_layer_norm(out, in[0], row_or_none(in[1], in[0], step->numbers[1]),
                               row_or_none(in[2], in[0], step->numbers[2]), 1e-5f, stream);
}

static bool choose_place(const struct choice *choice, struct step *step)
{
    if (!choose_axis(choice, step) || !size_of(choice->in[0], step->numbers[0])) return false;
    step->numbers[1] = below(choice, size_of(choice->in[0], step->numbers[0]));
    return true;
}

/* Partitions leave the order of the parts open: only what stands at the place is looked at. */
static int run_partition(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array place = mlx_array_new_int(step->numbers[1]);
    int code = mlx_partition_axis(out, in[0], step->numbers[1], step->numbers[0], stream);
    if (!code) code = mlx_take_axis(out, *out, place, step->numbers[0], stream);
    return mlx_array_free(place), code;
}

static int run_repeat(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return mlx_repeat_axis(out, in[0], 2, step->numbers[0], stream);
}

static int run_roll(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    const int shift[] = {1 + step->numbers[1]};
    return mlx_roll_axis(out, in[0], shift, 1, step->numbers[0], stream);
}

/* ---- copies ---------------------------------------------------------------------------------------------------------
 */

static int run_contiguous(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    (void)step;
    return mlx_contiguous(out, in[0], false, stream);
}

static int run_concatenate(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_vector_array both = mlx_vector_array_new_data(in, 2);
    int code = mlx_concatenate_axis(out, both, step->numbers[0], stream);
    return mlx_vector_array_free(both), code;
}

static int run_stack(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_vector_array both = mlx_vector_array_new_data(in, 2);
    int code = mlx_stack_axis(out, both, step->numbers[0], stream);
    return mlx_vector_array_free(both), code;
}

static int run_pad(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array zero = mlx_array_new_float(0);
    const int axes[] = {step->numbers[0]}, low[] = {step->numbers[1]}, high[] = {step->numbers[2]};
    int code = mlx_pad(out, in[0], axes, 1, low, 1, high, 1, zero, "constant", stream);
    return mlx_array_free(zero), code;
}

static bool choose_matrix(const struct choice *choice, struct step *step)
{
    add_number(step, below(choice, 3) - 1);
    return axes_of(choice->in[0]) >= 2;
}

static int run_triangle(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    return step->kind->triangle(out, in[0], step->numbers[0], stream);
}

static bool choose_count(const struct choice *choice, struct step *step)
{
    add_number(step, choice->n);
    add_number(step, 1 + below(choice, choice->n));
    return true;
}

static int run_arange(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    (void)in;
    return mlx_arange(out, 0, step->numbers[0], 0.5, MLX_FLOAT32, stream);
}

static int run_random_bits(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream)
{
    mlx_array key = mlx_array_new();
    (void)in;
    int code = mlx_random_key(&key, step->seed) || mlx_random_bits(out, step->numbers, 2, 4, key, stream);
    return mlx_array_free(key), code;
}

/* ---- the table ------------------------------------------------------------------------------------------------------
 */

#define UNARY(title, heavy, rare, f)                                                                                   \
    {.name = title, .arity = 1, .weight = heavy, .is_rare = rare, .run = run_unary, .unary = mlx_##f}
#define BINARY(title, heavy, rare, f)                                                                                  \
    {.name = title, .arity = 2, .weight = heavy, .is_rare = rare, .run = run_binary, .binary = mlx_##f}
#define ROW_1(name) UNARY(#name, 4, true, name),
#define ROW_2(name) BINARY(#name, 6, true, name),
#define ROW_3(name)
/* Of ops.def, the rules whose functions take arrays and nothing else. */
#define ROWS_SAME(arity, name)     ROW_##arity(name)
#define ROWS_FLOATING(arity, name) ROW_##arity(name)
#define ROWS_COMPARE(arity, name)  ROW_##arity(name)
#define ROWS_LOGIC(arity, name)    ROW_##arity(name)
#define ROWS_REAL(arity, name)     ROW_##arity(name)
#define ROWS_SHIFT(arity, name)    ROW_##arity(name)
#define ROWS_CAST(arity, name)
#define ROWS_SELECT(arity, name)
#define ROWS_BY_HAND(arity, name)
#define REDUCTION(title, heavy, f)                                                                                     \
    {.name = title, .arity = 1, .weight = heavy, .choose = choose_axis, .run = run_reduction, .reduction = mlx_##f}
#define RUNNING(title)                                                                                                 \
    {.name = #title, .arity = 1, .weight = 2, .choose = choose_axis, .run = run_running, .running = mlx_##title}
#define UPDATE(title, heavy, f)                                                                                        \
    {.name = title,                                                                                                    \
     .covers = "slice_update",                                                                                         \
     .arity = 2,                                                                                                       \
     .weight = heavy,                                                                                                  \
     .choose = choose_range,                                                                                           \
     .run = run_update,                                                                                                \
     .update = mlx_##f}
#define SCATTER(title, f)                                                                                              \
    {.name = title,                                                                                                    \
     .covers = "scatter",                                                                                              \
     .arity = 2,                                                                                                       \
     .weight = 2,                                                                                                      \
     .choose = choose_axis,                                                                                            \
     .run = run_scatter,                                                                                               \
     .scatter = mlx_##f}
#define ON_MATRIX(title, f)                                                                                            \
    {.name = title, .arity = 1, .weight = 1, .choose = choose_four, .run = run_on_matrix, .unary = f}
#define STEP(title, operands, heavy, chooses, runs)                                                                    \
    {.name = title, .arity = operands, .weight = heavy, .choose = chooses, .run = runs}

static const struct kind kinds[] = {
/* clang-format off */
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex) \
    ROWS_##rule(arity, name)
#include "../../src/graph/ops.def"
    /* clang-format on */
    BINARY("add", 24, false, add),
    BINARY("multiply", 24, false, multiply),
    BINARY("subtract", 8, false, subtract),
    BINARY("maximum", 4, false, maximum),
    UNARY("exp", 12, false, exp),
    UNARY("negative", 6, false, negative),
    STEP("where", 3, 8, NULL, run_where),
    STEP("astype", 1, 6, choose_dtype, run_cast),
    STEP("round", 1, 1, choose_decimals, run_round),
    STEP("scaled", 1, 8, NULL, run_scaled),
    STEP("clip", 1, 4, NULL, run_clip),
    STEP("transpose", 1, 16, choose_order, run_transpose_axes),
    STEP("reshape", 1, 12, choose_shape, run_reshape),
    STEP("broadcast_to", 1, 16, choose_wider, run_broadcast),
    STEP("expand_dims", 1, 10, choose_new_axis, run_expand_dims),
    STEP("squeeze", 1, 6, NULL, run_squeeze),
    STEP("slice", 1, 12, choose_range, run_slice),
    STEP("as_strided", 1, 10, choose_windows, run_as_strided),
    STEP("flatten", 1, 2, NULL, run_flatten),
    STEP("swapaxes", 1, 4, choose_two_axes, run_swapaxes),
    STEP("diagonal", 1, 2, choose_two_axes, run_diagonal),
    REDUCTION("sum", 24, sum_axis),
    REDUCTION("prod", 6, prod_axis),
    REDUCTION("min", 6, min_axis),
    REDUCTION("max", 16, max_axis),
    REDUCTION("all", 6, all_axis),
    REDUCTION("any", 6, any_axis),
    REDUCTION("argmin", 6, argmin_axis),
    REDUCTION("argmax", 6, argmax_axis),
    REDUCTION("mean", 6, mean_axis),
    REDUCTION("logsumexp", 6, logsumexp_axis),
    {.name = "sum of all", .arity = 1, .weight = 2, .run = run_whole, .whole = mlx_sum},
    {.name = "max of all", .arity = 1, .weight = 2, .run = run_whole, .whole = mlx_max},
    STEP("sum of two axes", 1, 4, choose_axis, run_sum_axes),
    STEP("var", 1, 4, choose_axis, run_var),
    RUNNING(cumsum),
    RUNNING(cumprod),
    RUNNING(cummax),
    RUNNING(cummin),
    RUNNING(logcumsumexp),
    {.name = "sort", .arity = 1, .weight = 2, .choose = choose_axis, .run = run_along, .axis = mlx_sort_axis},
    {.name = "argsort", .arity = 1, .weight = 2, .choose = choose_axis, .run = run_along, .axis = mlx_argsort_axis},
    STEP("partition", 1, 1, choose_place, run_partition),
    STEP("softmax", 1, 10, choose_axis, run_softmax),
    STEP("rms_norm", 2, 8, choose_axis, run_rms_norm),
    STEP("layer_norm", 3, 8, choose_axis, run_layer_norm),
    STEP("attention", 3, 6, choose_causal, run_attention),
    STEP("repeat", 1, 2, choose_axis, run_repeat),
    STEP("roll", 1, 2, choose_axis, run_roll),
    STEP("view", 1, 2, NULL, run_view),
    STEP("depends", 2, 2, NULL, run_depends),
    STEP("segmented_mm", 1, 2, choose_rows, run_segmented_mm),
    STEP("contiguous", 1, 6, NULL, run_contiguous),
    STEP("concatenate", 2, 4, choose_axis, run_concatenate),
    STEP("stack", 2, 2, choose_axis, run_stack),
    STEP("pad", 1, 2, choose_axis, run_pad),
    {.name = "tril", .arity = 1, .weight = 2, .choose = choose_matrix, .run = run_triangle, .triangle = mlx_tril},
    {.name = "triu", .arity = 1, .weight = 2, .choose = choose_matrix, .run = run_triangle, .triangle = mlx_triu},
    STEP("matmul", 2, 6, NULL, run_matmul),
    STEP("quantized_matmul", 1, 3, choose_rows, run_quantized_matmul),
    STEP("gather_matmul", 1, 3, choose_rows, run_gather_mm),
    ON_MATRIX("cholesky", lower_cholesky),
    ON_MATRIX("inv", mlx_linalg_inv),
    ON_MATRIX("qr", second_of_qr),
    ON_MATRIX("lu", first_of_lu),
    ON_MATRIX("eigh", sum_of_eigh),
    ON_MATRIX("eig", real_of_eig),
    ON_MATRIX("svd", part_of_svd),
    ON_MATRIX("factor", mlx_linalg_pinv),
    STEP("fft", 1, 3, choose_axis, run_fft),
    STEP("random_bits", 1, 1, choose_count, run_random_bits),
    {.name = "arange", .covers = "series", .arity = 0, .weight = 2, .choose = choose_count, .run = run_arange},
    STEP("take", 1, 4, choose_axis, run_take),
    STEP("gather", 1, 4, choose_axis, run_gather),
    STEP("take_along_axis", 2, 4, choose_axis, run_take_along),
    STEP("put_along_axis", 2, 4, choose_axis, run_put_along),
    STEP("scatter_add_axis", 2, 2, choose_axis, run_scatter_add_axis),
    SCATTER("scatter", scatter_single),
    SCATTER("scatter_add", scatter_add_single),
    SCATTER("scatter_max", scatter_max_single),
    STEP("slice_dynamic", 1, 6, choose_place_of_slice, run_slice_dynamic),
    STEP("slice_update_dynamic", 2, 12, choose_place_of_slice, run_update_dynamic),
    UPDATE("slice_update", 16, slice_update),
    UPDATE("slice_update_add", 2, slice_update_add),
    UPDATE("slice_update_max", 2, slice_update_max),
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static inline bool is_covered(const char *name)
{
    /* what programs load, what compile makes of views, what stands for a plan, a formula or an array that is gone, and
     * kernels that programs bring */
    static const char *const others[] = {"load",    "rearrange", "compiled",    "deferred",
                                         "donated", "custom",    "cuda_kernel", "cuda_kernel_part"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i])) return true;
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, name) || (kinds[i].covers && !strcmp(kinds[i].covers, name))) return true;
    return false;
}

/* Is every operation of ops.def among them? */
static inline void check_kinds(void)
{
    static const char *const names[] = {
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex) #name,
#define KILN_OPERATION(ID, name, ...)                                                                  #name,
#include "../../src/graph/ops.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TORTURE_REQUIRE(is_covered(names[i]), "no step of random programs covers %s", names[i]);
}

static inline const struct kind *random_kind(uint64_t *state, bool with_rare)
{
    int total = 0, i = 0;
    for (int k = 0; k < KINDS; k++) total += kinds[k].weight;
    for (int at = (int)torture_below(state, (uint64_t)total); (at -= kinds[i].weight) >= 0;) i++;
    return kinds[i].is_rare && !with_rare ? random_kind(state, with_rare) : &kinds[i];
}

#endif
