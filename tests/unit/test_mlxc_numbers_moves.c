/*
 * test_mlxc_numbers_moves.c - operations that only move elements: concatenate, stack, expand_dims, squeeze, reshape,
 * slice, tile, zeros. Every dtype and layout, plainly and compiled, against index arithmetic.
 *
 * A moved element keeps its value; a check says for each element of the result which input and position it comes from.
 */
#include "support/arrays.h"

struct move {
    const char *name;
    array_function *call;
    int inputs; /* of the shape below; with `along`, axis `along` of input i is longer by i */
    struct shape in, out;
    int along;
    void (*source)(const struct move *move, const int *index, int *input, int *from); /* index in the result */
    int axis;
    int start[MAX_RANK], stop[MAX_RANK], step[MAX_RANK]; /* step: also the repetitions of a tile */
    int count;                                           /* of starts or repetitions */
};

static struct shape input_shape(const struct move *move, int input)
{
    struct shape shape = move->in;
    if (move->along >= 0) shape.dims[move->along] += input;
    return shape;
}

/* ---- the operations -----------------------------------------------------------------------------------------------
 */

static int call_concatenate(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_vector_array all = mlx_vector_array_new_data(inputs, (size_t)count);
    int code = mlx_concatenate_axis(outputs, all, ((const struct move *)context)->axis, stream);
    mlx_vector_array_free(all);
    return code;
}

static void from_concatenate(const struct move *move, const int *index, int *input, int *from)
{
    int axis = move->axis < 0 ? move->axis + move->in.ndim : move->axis;
    memcpy(from, index, sizeof(int) * (size_t)move->in.ndim);
    for (*input = 0;; ++*input) {
        struct shape shape = input_shape(move, *input);
        if (from[axis] < shape.dims[axis]) return;
        from[axis] -= shape.dims[axis];
    }
}

static int call_stack(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    mlx_vector_array all = mlx_vector_array_new_data(inputs, (size_t)count);
    int code = mlx_stack_axis(outputs, all, ((const struct move *)context)->axis, stream);
    mlx_vector_array_free(all);
    return code;
}

static void from_stack(const struct move *move, const int *index, int *input, int *from)
{
    int axis = move->axis < 0 ? move->axis + move->out.ndim : move->axis, next = 0;
    *input = index[axis];
    for (int i = 0; i < move->out.ndim; i++)
        if (i != axis) from[next++] = index[i];
}

static int call_expand_dims(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return mlx_expand_dims(outputs, inputs[0], ((const struct move *)context)->axis, stream);
}

static int call_squeeze(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return mlx_squeeze_axis(outputs, inputs[0], ((const struct move *)context)->axis, stream);
}

static int call_reshape(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct move *move = context;
    int dims[MAX_RANK];
    (void)count;
    for (int i = 0; i < move->out.ndim; i++) dims[i] = i == move->axis ? -1 : move->out.dims[i]; /* -1: to be found */
    return mlx_reshape(outputs, inputs[0], dims, (size_t)move->out.ndim, stream);
}

/* The same position in row-major order. */
static void from_same_position(const struct move *move, const int *index, int *input, int *from)
{
    *input = 0;
    unravel(ravel(index, move->out.ndim, &move->out), &move->in, from);
}

static int call_slice(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct move *move = context;
    size_t count = (size_t)move->count;
    (void)input_count;
    return mlx_slice(outputs, inputs[0], move->start, count, move->stop, count, move->step, count, stream);
}

static void from_slice(const struct move *move, const int *index, int *input, int *from)
{
    *input = 0;
    for (int i = 0; i < move->in.ndim; i++) {
        int n = move->in.dims[i], start = move->start[i] < 0 ? move->start[i] + n : move->start[i];
        if (start >= n) start = n - 1; /* only meaningful with a negative step */
        if (start < 0) start = 0;
        from[i] = start + index[i] * move->step[i];
    }
}

static int call_tile(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct move *move = context;
    (void)count;
    return mlx_tile(outputs, inputs[0], move->step, (size_t)move->count, stream);
}

static void from_tile(const struct move *move, const int *index, int *input, int *from)
{
    *input = 0;
    for (int i = 0; i < move->in.ndim; i++) from[i] = index[move->out.ndim - move->in.ndim + i] % move->in.dims[i];
}

/* ---- the cases ----------------------------------------------------------------------------------------------------
 */

#define CONCATENATE(count, ax, ...)                                                                                    \
    .name = "concatenate", .call = call_concatenate, .source = from_concatenate, .inputs = count, .axis = ax,          \
    __VA_ARGS__
#define STACK(count, ax, ...)                                                                                          \
    .name = "stack", .call = call_stack, .source = from_stack, .inputs = count, .axis = ax, .along = -1, __VA_ARGS__
#define SAME_ORDER(what, ax, ...)                                                                                      \
    .name = #what, .call = call_##what, .source = from_same_position, .inputs = 1, .axis = ax, .along = -1, __VA_ARGS__
#define SLICE(...) .name = "slice", .call = call_slice, .source = from_slice, .inputs = 1, .along = -1, __VA_ARGS__
#define TILE(...)  .name = "tile", .call = call_tile, .source = from_tile, .inputs = 1, .along = -1, __VA_ARGS__

/* clang-format off */
static const struct move moves[] = {
    {CONCATENATE(3, 0, .along = 0, .in = {1, {2}}, .out = {1, {9}})},
    {CONCATENATE(3, 1, .along = 1, .in = {2, {5, 2}}, .out = {2, {5, 9}})},
    {CONCATENATE(2, -1, .along = 2, .in = {3, {2, 3, 17}}, .out = {3, {2, 3, 35}})},
    {CONCATENATE(3, 0, .along = 0, .in = {2, {0, 3}}, .out = {2, {3, 3}})},
    {CONCATENATE(2, 1, .along = -1, .in = {2, {0, 3}}, .out = {2, {0, 6}})},
    {CONCATENATE(1, 0, .along = 0, .in = {2, {3, 3}}, .out = {2, {3, 3}})},
    {CONCATENATE(20, 1, .along = -1, .in = {3, {2, 3, 2}}, .out = {3, {2, 60, 2}})},
    {CONCATENATE(2, 4, .along = 4, .in = {10, {1, 2, 1, 2, 3, 1, 2, 1, 1, 2}}, .out = {10, {1, 2, 1, 2, 7, 1, 2, 1, 1, 2}})},
    {STACK(3, 0, .in = {0, {0}}, .out = {1, {3}})},
    {STACK(2, 0, .in = {2, {3, 4}}, .out = {3, {2, 3, 4}})},
    {STACK(4, 1, .in = {2, {3, 4}}, .out = {3, {3, 4, 4}})},
    {STACK(3, -1, .in = {2, {3, 4}}, .out = {3, {3, 4, 3}})},
    {STACK(2, 2, .in = {3, {2, 0, 4}}, .out = {4, {2, 0, 2, 4}})},
    {SAME_ORDER(expand_dims, 0, .in = {0, {0}}, .out = {1, {1}})},
    {SAME_ORDER(expand_dims, 0, .in = {2, {3, 5}}, .out = {3, {1, 3, 5}})},
    {SAME_ORDER(expand_dims, 1, .in = {2, {3, 5}}, .out = {3, {3, 1, 5}})},
    {SAME_ORDER(expand_dims, -1, .in = {2, {3, 5}}, .out = {3, {3, 5, 1}})},
    {SAME_ORDER(squeeze, 0, .in = {1, {1}}, .out = {0, {0}})},
    {SAME_ORDER(squeeze, 1, .in = {3, {3, 1, 5}}, .out = {2, {3, 5}})},
    {SAME_ORDER(squeeze, -1, .in = {3, {3, 5, 1}}, .out = {2, {3, 5}})},
    {SAME_ORDER(reshape, 99, .in = {2, {6, 4}}, .out = {2, {4, 6}})},
    {SAME_ORDER(reshape, 1, .in = {2, {6, 4}}, .out = {3, {2, 3, 4}})},
    {SAME_ORDER(reshape, 0, .in = {3, {2, 3, 4}}, .out = {1, {24}})},
    {SAME_ORDER(reshape, 99, .in = {1, {1}}, .out = {0, {0}})},
    {SAME_ORDER(reshape, 99, .in = {0, {0}}, .out = {4, {1, 1, 1, 1}})},
    {SAME_ORDER(reshape, 99, .in = {2, {0, 7}}, .out = {3, {7, 3, 0}})},
    {SAME_ORDER(reshape, 99, .in = {2, {32, 3}}, .out = {10, {2, 2, 1, 2, 2, 1, 2, 1, 1, 3}})},
    {SAME_ORDER(reshape, 99, .in = {3, {4, 1, 9}}, .out = {3, {3, 3, 4}})},
    {SLICE(.in = {1, {10}}, .out = {1, {4}}, .count = 1, .start = {1}, .stop = {9}, .step = {2})},
    {SLICE(.in = {1, {10}}, .out = {1, {10}}, .count = 1, .start = {-1}, .stop = {-11}, .step = {-1})},
    {SLICE(.in = {1, {10}}, .out = {1, {4}}, .count = 1, .start = {100}, .stop = {-100}, .step = {-3})},
    {SLICE(.in = {1, {10}}, .out = {1, {0}}, .count = 1, .start = {7}, .stop = {3}, .step = {1})},
    {SLICE(.in = {1, {10}}, .out = {1, {1}}, .count = 1, .start = {4}, .stop = {100}, .step = {2147483647})},
    {SLICE(.in = {1, {10}}, .out = {1, {1}}, .count = 1, .start = {4}, .stop = {-100}, .step = {-2147483647 - 1})},
    {SLICE(.in = {2, {2, 3}}, .out = {2, {2, 2}}, .count = 2, .start = {0, 1}, .stop = {2, 3}, .step = {1, 1})},
    {SLICE(.in = {2, {5, 7}}, .out = {2, {3, 3}}, .count = 2, .start = {-1, 1}, .stop = {-100, -1}, .step = {-2, 2})},
    {SLICE(.in = {2, {0, 7}}, .out = {2, {0, 7}}, .count = 2, .start = {-1, 6}, .stop = {-9, -9}, .step = {-1, -1})},
    {SLICE(.in = {3, {4, 5, 6}}, .out = {3, {2, 5, 3}}, .count = 3, .start = {3, -1, 0}, .stop = {0, -6, 6}, .step = {-2, -1, 2})},
    {TILE(.in = {1, {3}}, .out = {1, {6}}, .count = 1, .step = {2})},
    {TILE(.in = {2, {2, 3}}, .out = {2, {6, 3}}, .count = 2, .step = {3, 1})},
    {TILE(.in = {2, {2, 3}}, .out = {2, {2, 12}}, .count = 1, .step = {4})},
    {TILE(.in = {1, {3}}, .out = {3, {2, 2, 9}}, .count = 3, .step = {2, 2, 3})},
    {TILE(.in = {0, {0}}, .out = {2, {2, 5}}, .count = 2, .step = {2, 5})},
    {TILE(.in = {2, {2, 3}}, .out = {2, {0, 3}}, .count = 2, .step = {0, 1})},
    {TILE(.in = {2, {2, 3}}, .out = {2, {2, 3}}, .count = 0)},
    {TILE(.in = {2, {0, 3}}, .out = {2, {0, 6}}, .count = 2, .step = {2, 2})},
};
/* clang-format on */

static void check_move(const struct move *move, mlx_dtype dtype, enum layout layout)
{
    uint64_t seed = 3;
    struct numbers inputs[MAX_INPUTS], got, want = numbers_new(dtype, &move->out);
    mlx_array arrays[MAX_INPUTS];
    char what[128];
    for (int i = 0; i < move->inputs; i++) {
        struct shape shape = input_shape(move, i);
        inputs[i] = numbers_filled(dtype, &shape, random_value, &seed);
        arrays[i] = make_array(&inputs[i], layout);
    }
    snprintf(what, sizeof what, "%s, case %d, %s, layout %d", move->name, (int)(move - moves), facts[dtype].name,
             layout);
    run_both_ways(move->call, move, arrays, move->inputs, &got, 1, 2, what);
    for (int i = 0; i < want.size; i++) {
        int index[MAX_RANK], from[MAX_RANK], input;
        unravel(i, &move->out, index);
        move->source(move, index, &input, from);
        struct shape shape = input_shape(move, input);
        put(&want, i, get(&inputs[input], ravel(from, shape.ndim, &shape)));
    }
    expect_same_values(&got, &want, what);
    for (int i = 0; i < move->inputs; i++) mlx_array_free(arrays[i]), numbers_free(&inputs[i]);
    numbers_free(&got), numbers_free(&want);
}

static void test_moves(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) check_move(&moves[m], dtype, layout);
}

/* ---- bits, promotion, zeros ---------------------------------------------------------------------------------------
 */

/* Moving keeps every bit, also of a NaN. */
static void test_bits_are_kept(void **state)
{
    static const uint64_t bits[] = {0x7fc00001,         0xffc12345,         0x7fa00001,         0xff812345,
                                    0x7ff8000000000123, 0xfff0000000000001, 0x7e01fe55,         0x7c01fc7f,
                                    0x7f81ff81,         0x80008000,         0xffffffffffffffff, 1};
    struct shape shape = {2, {2, 6}}, flat = {1, {12}};
    (void)state;
    for (int dtype = 1; dtype < DTYPE_COUNT; dtype++) {
        int size = facts[dtype].size;
        struct numbers want = numbers_new(dtype, &flat), reversed = numbers_new(dtype, &flat);
        for (int i = 0; i < 12; i++) {
            memcpy(want.data + i * size, &bits[i], (size_t)size);
            memcpy(reversed.data + (11 - i) * size, &bits[i], (size_t)size);
        }
        struct move flip = {SLICE(.in = flat, .out = flat, .count = 1, .start = {-1}, .stop = {-100}, .step = {-1})};
        struct move grow = {SAME_ORDER(reshape, 99, .in = flat, .out = shape)};
        mlx_array array = packed_array(&reversed), flipped = mlx_array_new(), packed = mlx_array_new(),
                  folded = mlx_array_new();
        expect_ok(call_slice(&array, 1, &flipped, &flip), "slice");
        expect_ok(mlx_contiguous(&packed, flipped, false, stream), "contiguous");
        expect_ok(call_reshape(&packed, 1, &folded, &grow), "reshape");
        mlx_array views[3] = {flipped, packed, folded};
        for (int i = 0; i < 3; i++) {
            struct numbers got = read_array(views[i]);
            got.shape = flat;
            expect_same_bits(&got, &want, facts[dtype].name);
            numbers_free(&got);
            mlx_array_free(views[i]);
        }
        mlx_array_free(array);
        numbers_free(&want), numbers_free(&reversed);
    }
}

/* Mixed dtypes are promoted before they are joined. */
static void test_joining_mixed_dtypes(void **state)
{
    struct shape shape = {1, {5}}, both = {1, {10}};
    struct move join = {CONCATENATE(2, 0, .along = -1)};
    (void)state;
    for (int a = 0; a < DTYPE_COUNT; a++) {
        for (int b = 0; b < DTYPE_COUNT; b++) {
            uint64_t seed = 17;
            struct numbers in[2] = {numbers_filled(a, &shape, random_value, &seed),
                                    numbers_filled(b, &shape, random_value, &seed)};
            struct numbers want = numbers_new(promoted(a, b), &both), got;
            mlx_array arrays[2] = {packed_array(&in[0]), packed_array(&in[1])};
            for (int i = 0; i < 10; i++) put(&want, i, scalar_cast(get(&in[i / 5], i % 5), want.dtype));
            run_both_ways(call_concatenate, &join, arrays, 2, &got, 1, 1, "concatenate");
            expect_same_values(&got, &want, facts[a].name);
            for (int i = 0; i < 2; i++) mlx_array_free(arrays[i]), numbers_free(&in[i]);
            numbers_free(&got), numbers_free(&want);
        }
    }
}

struct zeros {
    struct shape shape;
    mlx_dtype dtype;
};

static int call_zeros(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    const struct zeros *zeros = context;
    (void)inputs, (void)count;
    return mlx_zeros(outputs, zeros->shape.dims, (size_t)zeros->shape.ndim, zeros->dtype, stream);
}

static void test_zeros(void **state)
{
    static const struct shape shapes[] = {
        {0, {0}}, {1, {67}}, {2, {3, 0}}, {3, {2, 3, 4}}, {10, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}};
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            struct zeros zeros = {shapes[s], dtype};
            struct numbers got, want = numbers_new(dtype, &shapes[s]);
            run_both_ways(call_zeros, &zeros, NULL, 0, &got, 1, 2, "zeros");
            expect_same_bits(&got, &want, "zeros");
            numbers_free(&got), numbers_free(&want);
        }
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static void test_refusals(void **state)
{
    struct shape shape = {2, {2, 3}}, other = {2, {3, 3}};
    struct numbers numbers = numbers_new(MLX_INT16, &shape), more = numbers_new(MLX_INT16, &other);
    mlx_array array = packed_array(&numbers), wrong = packed_array(&more), res = mlx_array_new();
    mlx_array pair[2] = {array, wrong};
    mlx_vector_array both = mlx_vector_array_new_data(pair, 2), none = mlx_vector_array_new();
    const int dims[2] = {4, 2}, twice[2] = {-1, -1}, zero[2] = {0, 0}, negative[1] = {-2};
    (void)state;
    expect_refusal(mlx_reshape(&res, array, dims, 2, stream), res, "reshape");
    expect_refusal(mlx_reshape(&res, array, twice, 2, stream), res, "reshape");
    expect_refusal(mlx_slice(&res, array, zero, 2, dims, 2, zero, 2, stream), res, "slice with step 0");
    expect_refusal(mlx_slice(&res, array, zero, 1, dims, 2, dims, 2, stream), res, "slice with one start");
    expect_refusal(mlx_tile(&res, array, negative, 1, stream), res, "tile");
    expect_refusal(mlx_squeeze_axis(&res, array, 0, stream), res, "squeeze of an axis of size 2");
    expect_refusal(mlx_squeeze_axis(&res, array, 2, stream), res, "squeeze");
    expect_refusal(mlx_expand_dims(&res, array, 4, stream), res, "expand_dims");
    expect_refusal(mlx_concatenate_axis(&res, both, 1, stream), res, "concatenate");
    expect_refusal(mlx_concatenate_axis(&res, both, 2, stream), res, "concatenate");
    expect_refusal(mlx_concatenate_axis(&res, none, 0, stream), res, "concatenate of nothing");
    expect_refusal(mlx_stack_axis(&res, both, 0, stream), res, "stack");
    expect_refusal(mlx_stack_axis(&res, none, 0, stream), res, "stack of nothing");
    expect_refusal(mlx_zeros(&res, negative, 1, MLX_INT8, stream), res, "zeros");
    expect_refusal(mlx_sum_axis(&res, array, 2, false, stream), res, "sum");
    expect_refusal(mlx_matmul(&res, array, array, stream), res, "matmul");
    mlx_array_free(array), mlx_array_free(wrong);
    mlx_vector_array_free(both), mlx_vector_array_free(none);
    numbers_free(&numbers), numbers_free(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_moves, set_up),
        cmocka_unit_test_setup(test_bits_are_kept, set_up),
        cmocka_unit_test_setup(test_joining_mixed_dtypes, set_up),
        cmocka_unit_test_setup(test_zeros, set_up),
        cmocka_unit_test_setup(test_refusals, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
