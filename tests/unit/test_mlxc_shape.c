/*
 * test_mlxc_shape.c - functions that rearrange elements and make arrays from numbers, on every dtype and layout,
 * plainly and compiled: each element of a result is compared with the element of the input that a few lines of C name.
 * What does not fit is refused, with the function in the text, and leaves the result alone.
 */
#include "support/arrays.h"

/* ---- one input, one result ----------------------------------------------------------------------------------------
 */

enum { FILLED = -1, A = 2, B = 3, C = 4 }; /* inputs have shape (A, B, C), or what the case says */

/* The input's flat position of an element of the result; FILLED: none, it is 0. */
typedef int source_of(const int *i);

struct move {
    const char *name;
    unary_function *call;
    source_of *source;
    struct shape out;
    struct shape in; /* ndim 0: (A, B, C) */
};

static int at(int a, int b, int c)
{
    return (a * B + b) * C + c;
}

#define CALL(name, call)                                                                                               \
    static int call_##name(mlx_array *res, const mlx_array a, const mlx_stream s)                                      \
    {                                                                                                                  \
        return call;                                                                                                   \
    }
#define FROM(name, expression)                                                                                         \
    static int from_##name(const int *i)                                                                               \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
#define LIST(...)                                                                                                      \
    (const int[])                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

CALL(swapaxes, mlx_swapaxes(res, a, 0, -1, s))
FROM(swapaxes, at(i[2], i[1], i[0]))
CALL(moveaxis, mlx_moveaxis(res, a, 0, 2, s))
FROM(moveaxis, at(i[2], i[0], i[1]))
CALL(moveaxis_back, mlx_moveaxis(res, a, -1, 0, s))
FROM(moveaxis_back, at(i[1], i[2], i[0]))
CALL(transpose_axes, mlx_transpose_axes(res, a, LIST(1, -1, 0), 3, s))
FROM(transpose_axes, at(i[2], i[0], i[1]))
CALL(as_strided, mlx_as_strided(res, a, LIST(3, 5), 2, (const int64_t[]){4, 2}, 2, 3, s)) /* windows that overlap */
FROM(as_strided, 3 + 4 * i[0] + 2 * i[1])
CALL(as_strided_back, mlx_as_strided(res, a, LIST(6, 2), 2, (const int64_t[]){-4, 0}, 2, 23, s))
FROM(as_strided_back, 23 - 4 * i[0])
CALL(diagonal, mlx_diagonal(res, a, 1, 1, 2, s))
FROM(diagonal, at(i[0], i[1], i[1] + 1))
CALL(diagonal_below, mlx_diagonal(res, a, -1, -1, 0, s)) /* rows are axis 2, columns axis 0 */
FROM(diagonal_below, at(i[1], i[0], i[1] + 1))
CALL(repeat_axis, mlx_repeat_axis(res, a, 3, 1, s))
FROM(repeat_axis, at(i[0], i[1] / 3, i[2]))
CALL(repeat, mlx_repeat(res, a, 2, s))
FROM(repeat, i[0] / 2)
CALL(tile, mlx_tile(res, a, LIST(2, 1, 1, 3), 4, s))
FROM(tile, at(i[1], i[2], i[3] % C))
CALL(roll, mlx_roll(res, a, LIST(3, 2), 2, s))
FROM(roll, (at(i[0], i[1], i[2]) + 24 - 5) % 24)
CALL(roll_axis, mlx_roll_axis(res, a, LIST(-1), 1, -1, s))
FROM(roll_axis, at(i[0], i[1], (i[2] + 1) % C))
CALL(roll_axes, mlx_roll_axes(res, a, LIST(1, 1000001), 2, LIST(0, 1), 2, s))
FROM(roll_axes, at((i[0] + 1) % A, (i[1] + 3 * 1000001 - 1000001) % B, i[2]))
CALL(triu, mlx_triu(res, a, 1, s))
FROM(triu, i[2] >= i[1] + 1 ? at(i[0], i[1], i[2]) : FILLED)
CALL(tril, mlx_tril(res, a, -1, s))
FROM(tril, i[2] <= i[1] - 1 ? at(i[0], i[1], i[2]) : FILLED)
CALL(tril_far, mlx_tril(res, a, 2147483647, s))
FROM(tril_far, at(i[0], i[1], i[2]))
CALL(diag, mlx_diag(res, a, 1, s))
FROM(diag, i[1] == i[0] + 1 ? i[0] : FILLED)
CALL(diag_below, mlx_diag(res, a, -2, s))
FROM(diag_below, i[0] == i[1] + 2 ? i[1] : FILLED)
CALL(diag_of_matrix, mlx_diag(res, a, -1, s))
FROM(diag_of_matrix, (i[0] + 1) * 4 + i[0])
CALL(pad_edge, mlx_pad(res, a, LIST(-1, 1), 2, LIST(2, 0), 2, LIST(1, 2), 2, (mlx_array){0}, "edge", s))
FROM(pad_edge, at(i[0], i[1] > 2 ? 2 : i[1], i[2] < 2 ? 0 : i[2] > 5 ? 3 : i[2] - 2))
CALL(same, mlx_copy(res, a, s))
CALL(flatten, mlx_flatten(res, a, 1, -1, s))
CALL(unflatten, mlx_unflatten(res, a, -1, LIST(2, -1), 2, s))
CALL(expand_dims_axes, mlx_expand_dims_axes(res, a, LIST(0, -1, 2), 3, s))
CALL(squeeze_axes, mlx_squeeze_axes(res, a, LIST(-1, 1), 2, s))
FROM(row3, at(i[0], i[1], i[2]))
FROM(row2, i[0] * 12 + i[1])
FROM(row4, (i[0] * 3 + i[1]) * 4 + i[2] * 2 + i[3])
FROM(row6, at(i[1], i[3], i[4]))
FROM(line, i[0])
FROM(line2, i[0] * 3 + i[1])
FROM(line_in_2, i[1])

static const struct move moves[] = {
    {"swapaxes", call_swapaxes, from_swapaxes, {3, {C, B, A}}, {0}},
    {"moveaxis", call_moveaxis, from_moveaxis, {3, {B, C, A}}, {0}},
    {"moveaxis back", call_moveaxis_back, from_moveaxis_back, {3, {C, A, B}}, {0}},
    {"transpose_axes", call_transpose_axes, from_transpose_axes, {3, {B, C, A}}, {0}},
    {"as_strided", call_as_strided, from_as_strided, {2, {3, 5}}, {0}},
    {"as_strided, backwards", call_as_strided_back, from_as_strided_back, {2, {6, 2}}, {0}},
    {"diagonal", call_diagonal, from_diagonal, {2, {A, 3}}, {0}},
    {"diagonal below", call_diagonal_below, from_diagonal_below, {2, {B, 2}}, {0}},
    {"repeat_axis", call_repeat_axis, from_repeat_axis, {3, {A, 9, C}}, {0}},
    {"repeat", call_repeat, from_repeat, {1, {48}}, {0}},
    {"tile", call_tile, from_tile, {4, {2, A, B, 12}}, {0}},
    {"roll", call_roll, from_roll, {3, {A, B, C}}, {0}},
    {"roll_axis", call_roll_axis, from_roll_axis, {3, {A, B, C}}, {0}},
    {"roll_axes", call_roll_axes, from_roll_axes, {3, {A, B, C}}, {0}},
    {"triu", call_triu, from_triu, {3, {A, B, C}}, {0}},
    {"tril", call_tril, from_tril, {3, {A, B, C}}, {0}},
    {"tril, all", call_tril_far, from_tril_far, {3, {A, B, C}}, {0}},
    {"diag", call_diag, from_diag, {2, {6, 6}}, {1, {5}}},
    {"diag below", call_diag_below, from_diag_below, {2, {7, 7}}, {1, {5}}},
    {"diag of a matrix", call_diag_of_matrix, from_diag_of_matrix, {1, {2}}, {2, {3, 4}}},
    {"pad, edge", call_pad_edge, from_pad_edge, {3, {A, 5, 7}}, {0}},
    {"copy", call_same, from_row3, {3, {A, B, C}}, {0}},
    {"flatten", call_flatten, from_row2, {2, {A, 12}}, {0}},
    {"unflatten", call_unflatten, from_row4, {4, {A, B, 2, 2}}, {0}},
    {"expand_dims_axes", call_expand_dims_axes, from_row6, {6, {1, A, 1, B, C, 1}}, {0}},
    {"squeeze_axes", call_squeeze_axes, from_line2, {2, {2, 3}}, {4, {2, 1, 3, 1}}},
    {"squeeze", mlx_squeeze, from_line2, {2, {2, 3}}, {5, {1, 2, 1, 3, 1}}},
    {"stop_gradient", mlx_stop_gradient, from_row3, {3, {A, B, C}}, {0}},
    {"atleast_1d", mlx_atleast_1d, from_row3, {3, {A, B, C}}, {0}},
    {"atleast_2d", mlx_atleast_2d, from_line_in_2, {2, {1, 5}}, {1, {5}}},
    {"atleast_3d", mlx_atleast_3d, from_line_in_2, {3, {1, 5, 1}}, {1, {5}}},
    {"atleast_3d of a matrix", mlx_atleast_3d, from_line2, {3, {2, 3, 1}}, {2, {2, 3}}},
    {"atleast_1d of a line", mlx_atleast_1d, from_line, {1, {5}}, {1, {5}}},
};

enum { MOVE_COUNT = sizeof moves / sizeof moves[0] };

static struct shape input_shape(const struct move *move)
{
    return move->in.ndim ? move->in : (struct shape){3, {A, B, C}};
}

static int call_move(const mlx_array *inputs, int count, mlx_array *outputs, const void *context)
{
    (void)count;
    return ((const struct move *)context)->call(outputs, inputs[0], stream);
}

/* Every element is its own: what was moved wrongly shows, but for bool. */
static struct numbers numbered(mlx_dtype dtype, const struct shape *shape)
{
    struct numbers out = numbers_new(dtype, shape);
    for (int i = 0; i < out.size; i++) {
        struct scalar value = dtype == MLX_BOOL ? make_bool(i % 3 != 1) : scalar_cast(make_double(i + 1), dtype);
        value.imaginary = dtype == MLX_COMPLEX64 ? (float)-i : 0;
        put(&out, i, value);
    }
    return out;
}

static void check_move(const struct move *move, mlx_dtype dtype, enum layout layout)
{
    struct shape shape = input_shape(move);
    struct numbers input = numbered(dtype, &shape), want = numbers_new(dtype, &move->out), got;
    mlx_array array = make_array(&input, layout);
    for (int i = 0; i < want.size; i++) {
        int index[MAX_RANK];
        unravel(i, &move->out, index);
        int source = move->source(index);
        if (source != FILLED) put(&want, i, get(&input, source));
    }
    run_both_ways(call_move, move, &array, 1, &got, 1, 1, move->name);
    expect_same_bits(&got, &want, move->name);
    mlx_array_free(array);
    numbers_free(&input), numbers_free(&want), numbers_free(&got);
}

static void test_moves(void **state)
{
    (void)state;
    for (int m = 0; m < MOVE_COUNT; m++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            for (int layout = 0; layout < LAYOUT_COUNT; layout++) check_move(&moves[m], dtype, layout);
}

/* ---- padding with a value, several results ------------------------------------------------------------------------
 */

static void expect_values(mlx_array array, const struct shape *shape, const double *want, const char *what)
{
    struct numbers got = read_array(array);
    if (!same_shapes(&got.shape, shape))
        CHECK_FAIL("%s: a result of rank %d and size %d", what, got.shape.ndim, got.size);
    for (int i = 0; i < got.size; i++)
        if (to_double(get(&got, i)) != want[i])
            CHECK_FAIL("%s: element %d is %g, expected %g", what, i, to_double(get(&got, i)), want[i]);
    numbers_free(&got);
}
#define expect_values(...) CHECK_CALL(expect_values, __VA_ARGS__)

#define EXPECT(array, what, dims, ...) expect_values(array, &(struct shape)dims, (const double[]){__VA_ARGS__}, what)
#define DIMS(count, ...)                                                                                               \
    {                                                                                                                  \
        count,                                                                                                         \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static mlx_array matrix(void)
{
    return mlx_array_new_data(LIST(1, 2, 3, 4, 5, 6), LIST(2, 3), 2, MLX_INT32);
}

static void test_pad(void **state)
{
    (void)state;
    mlx_array a = matrix(), res = mlx_array_new(), nine = mlx_array_new_float(9);
    expect_ok(mlx_pad(&res, a, LIST(0, 1), 2, LIST(1, 0), 2, LIST(0, 2), 2, nine, "constant", stream), "pad");
    CHECK_EQ(mlx_array_dtype(res), MLX_INT32);
    EXPECT(res, "pad", DIMS(2, 3, 5), 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9);
    expect_ok(mlx_pad_symmetric(&res, a, 1, nine, "constant", stream), "pad_symmetric");
    EXPECT(res, "pad_symmetric", DIMS(2, 4, 5), 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9);
    mlx_array_free(a), mlx_array_free(res), mlx_array_free(nine);
}

static mlx_array piece(mlx_vector_array vector, size_t index)
{
    mlx_array out = mlx_array_new();
    expect_ok(mlx_vector_array_get(&out, vector, index), "get");
    return out;
}

static void expect_piece(mlx_vector_array vector, size_t index, const struct shape *shape, const double *want)
{
    mlx_array array = piece(vector, index);
    expect_values(array, shape, want, "piece");
    mlx_array_free(array);
}

#define PIECE(vector, index, dims, ...) expect_piece(vector, index, &(struct shape)dims, (const double[]){__VA_ARGS__})

static void test_split(void **state)
{
    (void)state;
    mlx_array a = matrix();
    mlx_vector_array res = mlx_vector_array_new();
    expect_ok(mlx_split(&res, a, 3, -1, stream), "split");
    CHECK_EQ(mlx_vector_array_size(res), 3);
    PIECE(res, 0, DIMS(2, 2, 1), 1, 4);
    PIECE(res, 2, DIMS(2, 2, 1), 3, 6);
    expect_ok(mlx_split_sections(&res, a, LIST(1, 1, -1), 3, 1, stream), "split_sections");
    CHECK_EQ(mlx_vector_array_size(res), 4);
    PIECE(res, 0, DIMS(2, 2, 1), 1, 4);
    PIECE(res, 1, DIMS(2, 2, 0), 0);
    PIECE(res, 2, DIMS(2, 2, 1), 2, 5);
    PIECE(res, 3, DIMS(2, 2, 1), 3, 6);
    expect_ok(mlx_split_sections(&res, a, NULL, 0, 0, stream), "split_sections");
    PIECE(res, 0, DIMS(2, 2, 3), 1, 2, 3, 4, 5, 6);
    mlx_array_free(a);
    mlx_vector_array_free(res);
}

static mlx_vector_array pair(void)
{
    mlx_array both[2] = {mlx_array_new_data(LIST(1, 2, 3), LIST(3), 1, MLX_INT32),
                         mlx_array_new_data(LIST(7, 8), LIST(2), 1, MLX_INT32)};
    mlx_vector_array out = mlx_vector_array_new_data(both, 2);
    mlx_array_free(both[0]), mlx_array_free(both[1]);
    return out;
}

static void test_grids(void **state)
{
    (void)state;
    mlx_vector_array lines = pair(), res = mlx_vector_array_new();
    expect_ok(mlx_meshgrid(&res, lines, false, "xy", stream), "meshgrid");
    PIECE(res, 0, DIMS(2, 2, 3), 1, 2, 3, 1, 2, 3);
    PIECE(res, 1, DIMS(2, 2, 3), 7, 7, 7, 8, 8, 8);
    expect_ok(mlx_meshgrid(&res, lines, false, "ij", stream), "meshgrid");
    PIECE(res, 0, DIMS(2, 3, 2), 1, 1, 2, 2, 3, 3);
    PIECE(res, 1, DIMS(2, 3, 2), 7, 8, 7, 8, 7, 8);
    expect_ok(mlx_meshgrid(&res, lines, true, "xy", stream), "meshgrid");
    PIECE(res, 0, DIMS(2, 1, 3), 1, 2, 3);
    PIECE(res, 1, DIMS(2, 2, 1), 7, 8);
    expect_ok(mlx_broadcast_arrays(&lines, res, stream), "broadcast_arrays");
    PIECE(lines, 0, DIMS(2, 2, 3), 1, 2, 3, 1, 2, 3);
    PIECE(lines, 1, DIMS(2, 2, 3), 7, 7, 7, 8, 8, 8);
    mlx_vector_array_free(lines), mlx_vector_array_free(res);
}

static void test_joining(void **state)
{
    (void)state;
    mlx_vector_array lines = pair();
    mlx_array res = mlx_array_new(), half = mlx_array_new_data((const float[]){0.5f}, LIST(1), 1, MLX_FLOAT32);
    expect_ok(mlx_vector_array_append_value(lines, half), "append");
    expect_ok(mlx_concatenate(&res, lines, stream), "concatenate");
    CHECK_EQ(mlx_array_dtype(res), MLX_FLOAT32);
    EXPECT(res, "concatenate", DIMS(1, 6), 1, 2, 3, 7, 8, 0.5);
    mlx_array a = matrix(), b = matrix();
    mlx_vector_array two = mlx_vector_array_new_data((const mlx_array[]){a, b}, 2);
    expect_ok(mlx_concatenate(&res, two, stream), "concatenate");
    EXPECT(res, "concatenate of matrices", DIMS(1, 12), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
    expect_ok(mlx_vector_array_append_value(two, half), "append"); /* of any rank */
    expect_ok(mlx_concatenate(&res, two, stream), "concatenate");
    EXPECT(res, "concatenate of other ranks", DIMS(1, 13), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 0.5);
    mlx_vector_array_free(two);
    two = mlx_vector_array_new_data((const mlx_array[]){a, b}, 2);
    expect_ok(mlx_concatenate_axis(&res, two, -1, stream), "concatenate_axis");
    EXPECT(res, "concatenate_axis", DIMS(2, 2, 6), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    expect_ok(mlx_stack_axis(&res, two, 1, stream), "stack_axis");
    EXPECT(res, "stack_axis", DIMS(3, 2, 2, 3), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    expect_ok(mlx_stack(&res, two, stream), "stack");
    EXPECT(res, "stack", DIMS(3, 2, 2, 3), 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(res), mlx_array_free(half);
    mlx_vector_array_free(two), mlx_vector_array_free(lines);
}

/* ---- arrays from numbers ------------------------------------------------------------------------------------------
 */

static void test_sequences(void **state)
{
    (void)state;
    mlx_array res = mlx_array_new();
    for (int dtype = MLX_UINT8; dtype < DTYPE_COUNT; dtype++) {
        expect_ok(mlx_arange(&res, 2, 7.5, 1, dtype, stream), "arange");
        CHECK_EQ(mlx_array_dtype(res), dtype);
        EXPECT(res, facts[dtype].name, DIMS(1, 6), 2, 3, 4, 5, 6, 7);
    }
    expect_ok(mlx_arange(&res, 0, 3, 0.5, MLX_FLOAT64, stream), "arange");
    EXPECT(res, "halves", DIMS(1, 6), 0, 0.5, 1, 1.5, 2, 2.5);
    expect_ok(mlx_arange(&res, 3, -3, -2, MLX_INT32, stream), "arange");
    EXPECT(res, "down", DIMS(1, 3), 3, 1, -1);
    expect_ok(mlx_arange(&res, 3, 1, 1, MLX_INT32, stream), "arange");
    EXPECT(res, "none", DIMS(1, 0), 0);
    expect_ok(mlx_arange(&res, 0, 4, 1.5, MLX_INT32, stream), "arange");
    EXPECT(res, "cut steps", DIMS(1, 3), 0, 1, 2);
    expect_ok(mlx_linspace(&res, -1, 1, 5, MLX_FLOAT32, stream), "linspace");
    EXPECT(res, "linspace", DIMS(1, 5), -1, -0.5, 0, 0.5, 1);
    expect_ok(mlx_linspace(&res, 3, 9, 1, MLX_FLOAT32, stream), "linspace");
    EXPECT(res, "one", DIMS(1, 1), 3);
    expect_ok(mlx_linspace(&res, 3, 9, 0, MLX_FLOAT32, stream), "linspace");
    EXPECT(res, "no", DIMS(1, 0), 0);
    mlx_array_free(res);
}

static void test_filled(void **state)
{
    (void)state;
    mlx_array res = mlx_array_new(), a = matrix(), seven = mlx_array_new_float(7.9f);
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        expect_ok(mlx_ones(&res, LIST(2, 2), 2, dtype, stream), "ones");
        CHECK_EQ(mlx_array_dtype(res), dtype);
        EXPECT(res, "ones", DIMS(2, 2, 2), 1, 1, 1, 1);
        expect_ok(mlx_eye(&res, 2, 3, 1, dtype, stream), "eye");
        CHECK_EQ(mlx_array_dtype(res), dtype);
        EXPECT(res, "eye", DIMS(2, 2, 3), 0, 1, 0, 0, 0, 1);
        expect_ok(mlx_tri(&res, 3, 2, 0, dtype, stream), "tri");
        EXPECT(res, "tri", DIMS(2, 3, 2), 1, 0, 1, 1, 1, 1);
        expect_ok(mlx_identity(&res, 2, dtype, stream), "identity");
        EXPECT(res, "identity", DIMS(2, 2, 2), 1, 0, 0, 1);
    }
    expect_ok(mlx_ones_like(&res, a, stream), "ones_like");
    CHECK_EQ(mlx_array_dtype(res), MLX_INT32);
    EXPECT(res, "ones_like", DIMS(2, 2, 3), 1, 1, 1, 1, 1, 1);
    expect_ok(mlx_zeros_like(&res, a, stream), "zeros_like");
    EXPECT(res, "zeros_like", DIMS(2, 2, 3), 0, 0, 0, 0, 0, 0);
    expect_ok(mlx_full_like(&res, a, seven, MLX_INT16, stream), "full_like");
    CHECK_EQ(mlx_array_dtype(res), MLX_INT16);
    EXPECT(res, "full_like", DIMS(2, 2, 3), 7, 7, 7, 7, 7, 7);
    expect_ok(mlx_eye(&res, 0, 3, 0, MLX_FLOAT32, stream), "eye");
    EXPECT(res, "no rows", DIMS(2, 0, 3), 0);
    mlx_array_free(res), mlx_array_free(a), mlx_array_free(seven);
}

/* ---- refusals -----------------------------------------------------------------------------------------------------
 */

static mlx_array cube; /* (2, 3, 4) */

static void refuses(int code, mlx_array res, const char *text)
{
    CHECK_CONTAINS(error_text, text);
    expect_refusal(code, res, text);
}
#define refuses(...) CHECK_CALL(refuses, __VA_ARGS__)

#define REFUSED(text, call)                                                                                            \
    do {                                                                                                               \
        mlx_array none = {0}, *res = &none;                                                                            \
        int code = (call);                                                                                             \
        refuses(code, none, text);                                                                                     \
    } while (0)
#define VECTOR_REFUSED(text, call)                                                                                     \
    do {                                                                                                               \
        mlx_vector_array none = {0}, *res = &none;                                                                     \
        int code = (call);                                                                                             \
        CHECK_NULL(none.ctx);                                                                                          \
        refuses(code, (mlx_array){0}, text);                                                                           \
    } while (0)

static void test_axes_out_of_range(void **state)
{
    (void)state;
    mlx_stream s = stream;
    mlx_array a = cube;
    REFUSED("[flatten]", mlx_flatten(res, a, 3, 3, s));
    REFUSED("[flatten]", mlx_flatten(res, a, 2, 1, s));
    REFUSED("[unflatten]", mlx_unflatten(res, a, 3, LIST(2, 2), 2, s));
    REFUSED("[squeeze]", mlx_squeeze_axes(res, a, LIST(-4), 1, s));
    REFUSED("[squeeze]", mlx_squeeze_axis(res, a, 3, s));
    REFUSED("[expand_dims]", mlx_expand_dims_axes(res, a, LIST(5), 1, s));
    REFUSED("[expand_dims]", mlx_expand_dims(res, a, -5, s));
    REFUSED("[swapaxes]", mlx_swapaxes(res, a, 0, 3, s));
    REFUSED("[moveaxis]", mlx_moveaxis(res, a, -4, 0, s));
    REFUSED("[transpose]", mlx_transpose_axes(res, a, LIST(0, 1, 3), 3, s));
    REFUSED("[diagonal]", mlx_diagonal(res, a, 0, 0, 3, s));
    REFUSED("[repeat]", mlx_repeat_axis(res, a, 2, 3, s));
    REFUSED("[roll]", mlx_roll_axis(res, a, LIST(1), 1, 3, s));
    REFUSED("[roll]", mlx_roll_axes(res, a, LIST(1, 1), 2, LIST(0, -4), 2, s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(3), 1, LIST(1), 1, LIST(1), 1, a, "constant", s));
    VECTOR_REFUSED("[split]", mlx_split(res, a, 2, 3, s));
    VECTOR_REFUSED("[split]", mlx_split_sections(res, a, LIST(1), 1, -4, s));
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    mlx_stream s = stream;
    mlx_array a = cube, scalar = mlx_array_new_float(1), line = mlx_array_new_data(LIST(1, 2), LIST(2), 1, MLX_INT32);
    REFUSED("[unflatten]", mlx_unflatten(res, a, 2, LIST(3, -1), 2, s));
    REFUSED("[unflatten]", mlx_unflatten(res, a, 2, LIST(-1, -1), 2, s));
    REFUSED("[unflatten]", mlx_unflatten(res, a, 2, LIST(-2, -2), 2, s));
    REFUSED("[unflatten]", mlx_unflatten(res, a, 2, NULL, 0, s));
    REFUSED("[squeeze]", mlx_squeeze_axes(res, a, LIST(1), 1, s));
    REFUSED("[expand_dims]", mlx_expand_dims_axes(res, a, LIST(1, 1), 2, s));
    REFUSED("[transpose]", mlx_transpose_axes(res, a, LIST(0, 1), 2, s));
    REFUSED("[transpose]", mlx_transpose_axes(res, a, LIST(0, 1, 1), 3, s));
    REFUSED("[diagonal]", mlx_diagonal(res, a, 0, 1, -2, s));
    REFUSED("[diagonal]", mlx_diagonal(res, line, 0, 0, 1, s));
    REFUSED("[repeat]", mlx_repeat(res, a, -1, s));
    REFUSED("[repeat]", mlx_repeat(res, a, 2147483647, s));
    REFUSED("[tile]", mlx_tile(res, a, LIST(-1), 1, s));
    REFUSED("[roll]", mlx_roll_axes(res, a, LIST(1), 1, LIST(0, 1), 2, s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(0), 1, LIST(-1), 1, LIST(0), 1, scalar, "constant", s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(0), 1, LIST(2147483647), 1, LIST(1), 1, scalar, "constant", s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(0, 1), 2, LIST(1), 1, LIST(0), 1, scalar, "constant", s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(0), 1, LIST(1), 1, LIST(0), 1, scalar, "mirror", s));
    REFUSED("[pad]", mlx_pad(res, a, LIST(0), 1, LIST(1), 1, LIST(0), 1, line, "constant", s));
    REFUSED("[tril]", mlx_tril(res, line, 0, s));
    REFUSED("[triu]", mlx_triu(res, scalar, 0, s));
    REFUSED("[diag]", mlx_diag(res, a, 0, s));
    REFUSED("[diag]", mlx_diag(res, scalar, 0, s));
    REFUSED("[broadcast_to]", mlx_broadcast_to(res, a, LIST(2, 3, 5), 3, s));
    REFUSED("[reshape]", mlx_reshape(res, a, LIST(5, 5), 2, s));
    VECTOR_REFUSED("[split]", mlx_split(res, a, 3, 2, s));
    VECTOR_REFUSED("[split]", mlx_split(res, a, 0, 2, s));
    VECTOR_REFUSED("[split]", mlx_split(res, a, -2, 2, s));
    mlx_vector_array lines = pair();
    VECTOR_REFUSED("[broadcast_arrays]", mlx_broadcast_arrays(res, lines, s));
    VECTOR_REFUSED("[meshgrid]", mlx_meshgrid(res, lines, false, "xz", s));
    mlx_vector_array_free(lines);
    mlx_array_free(scalar), mlx_array_free(line);
}

/* Nothing outside of the 24 elements can be named. */
static void test_strides_stay_inside(void **state)
{
    static const struct {
        int dims[2];
        int64_t strides[2];
        size_t offset;
    } bad[] = {
        {{5, 5}, {4, 2}, 0},         {{2, 3}, {12, 4}, 4},         {{2, 3}, {-1, 1}, 0},
        {{1, 1}, {0, 0}, 24},        {{3, 2}, {INT64_MAX, 1}, 0},  {{3, 3}, {INT64_MAX / 2, INT64_MAX / 2}, 0},
        {{1, 1}, {0, 0}, SIZE_MAX},  {{2, 2}, {INT64_MIN, 1}, 0},  {{-1, 2}, {1, 1}, 0},
        {{2, 2}, {1, 1}, INT64_MAX}, {{2147483647, 2}, {1, 1}, 0},
    };
    (void)state;
    mlx_stream s = stream;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSED("[as_strided]", mlx_as_strided(res, cube, bad[i].dims, 2, bad[i].strides, 2, bad[i].offset, s));
    REFUSED("[as_strided]", mlx_as_strided(res, cube, bad[0].dims, 2, bad[0].strides, 1, 0, s));
    mlx_array empty = mlx_array_new();
    expect_ok(mlx_as_strided(&empty, cube, LIST(0, 9), 2, (const int64_t[]){1000, 1000}, 2, 1000, s), "as_strided");
    EXPECT(empty, "nothing", DIMS(2, 0, 9), 0);
    mlx_array_free(empty);
}

static void test_numbers_that_make_no_array(void **state)
{
    (void)state;
    mlx_stream s = stream;
    mlx_array one = mlx_array_new_float(1);
    REFUSED("[arange]", mlx_arange(res, 0, 1, 0, MLX_FLOAT32, s));
    REFUSED("[arange]", mlx_arange(res, 0, NAN, 1, MLX_FLOAT32, s));
    REFUSED("[arange]", mlx_arange(res, 0, INFINITY, 1, MLX_FLOAT32, s));
    REFUSED("[arange]", mlx_arange(res, 0, 1e300, 1, MLX_FLOAT32, s));
    REFUSED("[arange]", mlx_arange(res, 0, 2, 1, MLX_BOOL, s));
    REFUSED("[arange]", mlx_arange(res, 0, 2, 1, (mlx_dtype)14, s));
    REFUSED("[linspace]", mlx_linspace(res, 0, 1, -1, MLX_FLOAT32, s));
    REFUSED("[eye]", mlx_eye(res, -1, 2, 0, MLX_FLOAT32, s));
    REFUSED("[identity]", mlx_identity(res, -1, MLX_FLOAT32, s));
    REFUSED("[tri]", mlx_tri(res, 1, -2, 0, MLX_FLOAT32, s));
    REFUSED("[full]", mlx_full(res, LIST(2, -1), 2, one, MLX_FLOAT32, s));
    REFUSED("[full]", mlx_zeros(res, LIST(2147483647, 2147483647, 2147483647), 3, MLX_FLOAT32, s));
    REFUSED("[full]", mlx_ones(res, LIST(-5), 1, MLX_FLOAT32, s));
    mlx_array_free(one);
}

static void test_empty_handles(void **state)
{
    (void)state;
    mlx_array empty = {0};
    mlx_stream no_stream = {0}, s = stream;
    mlx_vector_array no_vector = {0};
    for (int m = 0; m < MOVE_COUNT; m++) {
        REFUSED("non-empty mlx_array", moves[m].call(res, empty, s));
        REFUSED("non-empty mlx_stream", moves[m].call(res, cube, no_stream));
    }
    REFUSED("non-empty mlx_array", mlx_full_like(res, cube, empty, MLX_FLOAT32, s));
    REFUSED("non-empty mlx_array", mlx_zeros_like(res, empty, s));
    REFUSED("non-empty mlx_array", mlx_ones_like(res, empty, s));
    REFUSED("non-empty mlx_stream", mlx_arange(res, 0, 1, 1, MLX_FLOAT32, no_stream));
    REFUSED("non-NULL pointer", mlx_pad(res, cube, NULL, 0, NULL, 0, NULL, 0, empty, NULL, s));
    REFUSED("non-empty mlx_array for pad_value of mlx_pad",
            mlx_pad(res, cube, LIST(0), 1, LIST(1), 1, LIST(1), 1, empty, "constant", s));
    VECTOR_REFUSED("non-empty mlx_array", mlx_split(res, empty, 1, 0, s));
    VECTOR_REFUSED("non-empty mlx_vector_array", mlx_broadcast_arrays(res, no_vector, s));
    VECTOR_REFUSED("non-empty mlx_vector_array", mlx_meshgrid(res, no_vector, true, "xy", s));
}

static int make_cube(void **state)
{
    struct shape shape = {3, {A, B, C}};
    (void)state;
    struct numbers input = numbered(MLX_INT32, &shape);
    set_up(state);
    cube = packed_array(&input);
    numbers_free(&input);
    return 0;
}

static int free_cube(void **state)
{
    mlx_array_free(cube);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_moves, set_up),
        cmocka_unit_test_setup(test_pad, set_up),
        cmocka_unit_test_setup(test_split, set_up),
        cmocka_unit_test_setup(test_grids, set_up),
        cmocka_unit_test_setup(test_joining, set_up),
        cmocka_unit_test_setup(test_sequences, set_up),
        cmocka_unit_test_setup(test_filled, set_up),
        cmocka_unit_test_setup(test_axes_out_of_range, set_up),
        cmocka_unit_test_setup(test_what_does_not_fit, set_up),
        cmocka_unit_test_setup(test_strides_stay_inside, set_up),
        cmocka_unit_test_setup(test_numbers_that_make_no_array, set_up),
        cmocka_unit_test_setup(test_empty_handles, set_up),
    };
    return cmocka_run_group_tests(tests, make_cube, free_cube);
}
