/*
 * test_mlxc_acceptance_shapeless.c - one trace for all sizes: lines 104 to 115 of the acceptance list of compile, and
 * every operation whose steps follow from sizes. A row is a function and the sizes it is called with; it is compiled
 * anew for each of them as the first one, so that what was traced with one element serves many, and the other way
 * round.
 */
#include "kiln/compile.h"
#include "support/bodies.h"

/* ---- calls with other sizes ----------------------------------------------------------------------------------- */

enum { MOST_CALLS = 12, MOST_ARRAYS = 4 };

/* "2x3,4 5x1,1": two calls with a matrix and a vector each; "()" has no axes. */
struct calls {
    int count, array_count;
    struct shape shapes[MOST_CALLS][MOST_ARRAYS];
};

static struct calls parse_calls(const char *text)
{
    struct calls calls = {1, 1, {{{0, {0}}}}};
    for (struct shape *shape = calls.shapes[0]; *text;) {
        char *end;
        if (*text >= '0' && *text <= '9') {
            shape->dims[shape->ndim++] = (int)strtol(text, &end, 10);
            text = end;
            continue;
        }
        if (*text == ',') shape++;
        if (*text == ' ') shape = calls.shapes[calls.count++];
        int number = (int)(shape - calls.shapes[calls.count - 1]) + 1;
        if (number > calls.array_count) calls.array_count = number;
        text++;
    }
    return calls;
}

static void make_arrays(const struct calls *calls, int call, mlx_array *out)
{
    for (int i = 0; i < calls->array_count; i++)
        out[i] = ones_and_more(MLX_FLOAT32, calls->shapes[call][i].ndim, calls->shapes[call][i].dims);
}

static void free_arrays(mlx_array *arrays, int count)
{
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
}

static void expect_compiled_refusal(mlx_closure fun, const mlx_array *in, int count, const char *text)
{
    mlx_vector_array args = mlx_vector_array_new_data(in, (size_t)count), res = mlx_vector_array_new();
    int code = mlx_closure_apply(&res, fun, args);
    if (code != 1 || error_count != 1 || !strstr(error_text, text))
        CHECK_FAIL("expected \"%s\", got %d and %d errors: %s", text, code, error_count, error_text);
    error_count = 0;
    mlx_vector_array_free(args), mlx_vector_array_free(res);
}
#define expect_compiled_refusal(...) CHECK_CALL(expect_compiled_refusal, __VA_ARGS__)

/* What the plain call gives, or its error. */
static bool call_plainly(const struct traced_call *traced, const mlx_array *in, int count, struct numbers *want,
                         char *error)
{
    mlx_array plain[MAX_OUTPUTS] = {{0}};
    int code = traced->function(in, count, plain, traced->context);
    if (code) {
        snprintf(error, 1024, "%.*s", (int)(strstr(error_text, " at ") - error_text), error_text);
        error_count = 0;
    }
    for (int i = 0; i < traced->output_count; i++) {
        if (!code) want[i] = read_array(plain[i]);
        mlx_array_free(plain[i]);
    }
    return code == 0;
}

/* Does a call plainly and compiled: the same bits, or the same error. */
static void check_call(const struct traced_call *traced, mlx_closure fun, const struct calls *calls, int call,
                       const char *what)
{
    mlx_array in[MOST_ARRAYS], got[MAX_OUTPUTS];
    struct numbers want[MAX_OUTPUTS];
    char error[1024], text[256];
    make_arrays(calls, call, in);
    bool works = call_plainly(traced, in, calls->array_count, want, error);
    snprintf(text, sizeof text, "%s, call %d", what, call);
    if (works)
        apply_compiled(fun, in, calls->array_count, got, traced->output_count, text);
    else
        expect_compiled_refusal(fun, in, calls->array_count, error);
    for (int i = 0; works && i < traced->output_count; i++) {
        struct numbers numbers = read_array(got[i]);
        expect_same_bits(&numbers, &want[i], text);
        numbers_free(&numbers), numbers_free(&want[i]), mlx_array_free(got[i]);
    }
    free_arrays(in, calls->array_count);
}
#define check_call(...) CHECK_CALL(check_call, __VA_ARGS__)

/* One output of a compiled function; the caller's. */
static mlx_array call_compiled(mlx_closure fun, const mlx_array *in, int count)
{
    mlx_array res;
    apply_compiled(fun, in, count, &res, 1, "a call");
    return res;
}

static void expect_values_of(mlx_closure fun, const mlx_array *in, const float *values, int count)
{
    mlx_array res = call_compiled(fun, in, 1);
    struct numbers got = read_array(res);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++) CHECK_EQ(to_double(get(&got, i)), (double)values[i]);
    numbers_free(&got), mlx_array_free(res);
}
#define expect_values_of(...) CHECK_CALL(expect_values_of, __VA_ARGS__)

struct row {
    const char *name;
    array_function *body;
    int outputs;
    const char *calls;
};

#define ROW(body, calls) {#body, body, 1, calls}

/* A trace that fails leaves nothing to call again. */
static bool can_be_traced(const struct traced_call *traced, const struct calls *calls, int call)
{
    mlx_array in[MOST_ARRAYS];
    struct numbers want[MAX_OUTPUTS];
    char error[1024];
    make_arrays(calls, call, in);
    bool works = call_plainly(traced, in, calls->array_count, want, error);
    for (int i = 0; works && i < traced->output_count; i++) numbers_free(&want[i]);
    free_arrays(in, calls->array_count);
    return works;
}

static void check_row(const struct row *row)
{
    const struct calls calls = parse_calls(row->calls);
    int traces = 0;
    for (int first = 0; first < calls.count; first++) {
        struct traced_call traced = {row->body, NULL, row->outputs, 0};
        if (!can_be_traced(&traced, &calls, first)) continue;
        mlx_closure fun = compile_call(&traced, true);
        for (int i = 0; i < calls.count; i++) check_call(&traced, fun, &calls, (first + i) % calls.count, row->name);
        if (traced.calls != 1) CHECK_FAIL("%s was traced %d times", row->name, traced.calls);
        mlx_closure_free(fun);
        traces++;
    }
    if (traces < 3) CHECK_FAIL("%s hardly ever worked", row->name);
}

#define CHECK_ROWS(...)                                                                                                \
    do {                                                                                                               \
        static const struct row rows[] = {__VA_ARGS__};                                                                \
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);                                   \
    } while (0)

/* ---- short bodies --------------------------------------------------------------------------------------------- */

#define NAME_OF(line) made_##line
#define NAMED(line)   NAME_OF(line)
/* The array that mlx_<op>() makes; at most one on a line. */
#define MAKE(op, ...)                                                                                                  \
    ({                                                                                                                 \
        mlx_array *NAMED(__LINE__) = next_made();                                                                      \
        if (!made_code && mlx_##op(NAMED(__LINE__), __VA_ARGS__, stream)) made_code = 1;                               \
        *NAMED(__LINE__);                                                                                              \
    })
#define ONE(name, ...)                                                                                                 \
    BODY(name)                                                                                                         \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        mlx_array x = in[0];                                                                                           \
        give(out, MAKE(__VA_ARGS__));                                                                                  \
        return done();                                                                                                 \
    }
#define TWO(name, ...)                                                                                                 \
    BODY(name)                                                                                                         \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        mlx_array x = in[0], y = in[1];                                                                                \
        give(out, MAKE(__VA_ARGS__));                                                                                  \
        return done();                                                                                                 \
    }
#define INTS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

static mlx_array whole_numbers(const int *values, int count)
{
    return keep(mlx_array_new_data(values, &count, 1, MLX_INT32));
}

/* Element `i` of a list that an operation made. */
static mlx_array pick(mlx_vector_array list, size_t i)
{
    mlx_array *res = next_made();
    if (!list.ctx || mlx_vector_array_get(res, list, i)) made_code = 1;
    return *res;
}

/* ---- 104: reshape --------------------------------------------------------------------------------------------- */

ONE(reshape_to_rows, reshape, x, INTS(2, -1))
ONE(reshape_to_vector, reshape, x, INTS(-1))
ONE(reshape_fixed, reshape, x, INTS(2, 3))

static void test_104_reshape(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(reshape_to_rows, "2x3 4x5 1x2 6x1 3x5 0x4"), ROW(reshape_to_vector, "2x3 1x1 7x5 0x3"),
               ROW(reshape_fixed, "2x3 6x1 1x6 2x2 3x2"));
    struct traced_call fixed = {reshape_fixed, NULL, 1, 0}, open = {reshape_to_rows, NULL, 1, 0};
    mlx_closure fun = compile_call(&fixed, true), rows = compile_call(&open, true);
    mlx_array six = FLOATS(3, 2), eight = FLOATS(4, 2), five = FLOATS(5, 1);
    mlx_array_free(call_compiled(fun, &six, 1)), mlx_array_free(call_compiled(rows, &six, 1));
    expect_compiled_refusal(fun, &eight, 1, "[reshape] Cannot reshape array of size 8 into shape (2,3).");
    expect_compiled_refusal(fun, &eight, 1, "(The function is shapeless and was traced with other sizes");
    expect_compiled_refusal(rows, &five, 1, "[reshape] Cannot reshape array of size 5 into shape (2,-1).");
    mlx_array_free(call_compiled(rows, &eight, 1));
    free_arrays((mlx_array[]){six, eight, five}, 3);
    mlx_closure_free(fun), mlx_closure_free(rows);
}

/* ---- 105: operands that repeat, either way -------------------------------------------------------------------- */

BODY(minus_times)
{
    UNUSED;
    give(out, b(mlx_multiply, b(mlx_subtract, in[0], in[1]), in[0]));
    return done();
}

static void test_105_broadcasts_of_operands(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(minus_times, "3,3 1,3 3,1 1,1 0,1 7,7 2,3"), ROW(minus_times, "2x3,3 2x1,3 1x3,1 4x5,5 1x1,1 2x3,2"),
               ROW(minus_times, "3,2x3 3,2x1 1,1x3 1,1x1 5,4x5"), ROW(minus_times, "(),2x3 (),1x1 (),0x3"));
}

/* ---- 106: reductions ------------------------------------------------------------------------------------------ */

ONE(sum_last, sum_axis, x, -1, true)
ONE(sum_first, sum_axis, x, 0, false)
ONE(sum_all, sum, x, false)
ONE(sum_all_kept, sum, x, true)
ONE(sum_two, sum_axes, x, INTS(0, 2), true)
ONE(prod_last, prod_axis, x, 1, true)
ONE(min_last, min_axis, x, 1, true)
ONE(max_both, max_axes, x, INTS(1, 0), true)
ONE(all_last, all_axis, x, 1, false)
ONE(any_all, any, x, true)
ONE(argmin_last, argmin_axis, x, 1, true)
ONE(argmax_all, argmax, x, true)

static void test_106_reductions(void **state)
{
    static const char sizes[] = "2x3 1x1 4x40 33x1 1x70 0x3";
    (void)state;
    CHECK_ROWS(ROW(sum_last, sizes), ROW(sum_first, sizes), ROW(sum_all, sizes), ROW(sum_all_kept, sizes),
               ROW(sum_two, "2x3x4 1x1x1 5x2x1 1x40x2 3x0x2"), ROW(prod_last, sizes), ROW(min_last, sizes),
               ROW(max_both, sizes), ROW(all_last, sizes), ROW(any_all, sizes), ROW(argmin_last, sizes),
               ROW(argmax_all, sizes));
}

/* ---- 107: averages, and what is made of them ------------------------------------------------------------------ */

ONE(mean_last, mean_axis, x, -1, true)
ONE(mean_all, mean, x, false)
ONE(mean_two, mean_axes, x, INTS(0, 1), false)
ONE(variance, var_axis, x, 0, false, 1)
ONE(deviation, std, x, true, 0)
ONE(softmax_last, softmax_axis, x, -1, false)
ONE(softmax_all, softmax, x, false)
ONE(sum_of_exponents, logsumexp_axis, x, 1, false)
TWO(layers_normed, fast_layer_norm, x, y, (mlx_array){0}, 1e-5f)
TWO(mean_squares_normed, fast_rms_norm, x, y, 1e-5f)

/* Plain operations that become one kernel with rows. */
BODY(softmax_in_steps)
{
    UNUSED;
    mlx_array most = MAKE(max_axis, in[0], -1, true), powers = u(mlx_exp, b(mlx_subtract, in[0], most));
    give(&out[0], b(mlx_divide, powers, sum(powers, -1, true)));
    mlx_array mean = MAKE(mean_axis, in[0], -1, true);
    give(&out[1], b(mlx_subtract, in[0], mean));
    return done();
}

static void test_107_averages(void **state)
{
    static const char sizes[] = "2x3 1x1 4x40 3x64 64x2 1x1000";
    (void)state;
    CHECK_ROWS(ROW(mean_last, sizes), ROW(mean_all, sizes), ROW(mean_two, sizes), ROW(variance, sizes),
               ROW(deviation, sizes), ROW(softmax_last, sizes), ROW(softmax_all, sizes), ROW(sum_of_exponents, sizes),
               ROW(layers_normed, "2x3,3 4x40,40 1x1,1 5x7,7 2x3,4"),
               ROW(mean_squares_normed, "2x3,3 4x40,40 1x1,1 5x7,7 2x3,1"),
               {"softmax in steps", softmax_in_steps, 2, "2x3 1x1 4x40 3x64 64x2"});
}

/* ---- 108: unflatten, rows, and arrays like others ------------------------------------------------------------- */

ONE(unflattened, unflatten, x, 1, INTS(2, -1))
ONE(flattened, flatten, x, 0, 1)
ONE(zeros_like_it, zeros_like, x)
ONE(ones_like_it, ones_like, x)
TWO(full_like_it, full_like, x, y, MLX_INT32)

BODY(gathered_row)
{
    UNUSED;
    mlx_array last = whole_numbers((int[]){-1, 0}, 2);
    give(&out[0], MAKE(take_axis, in[0], last, 0));
    give(&out[1], MAKE(take, in[0], last));
    return done();
}

BODY(plus_ones_like)
{
    UNUSED;
    mlx_array ones = u(mlx_ones_like, in[0]);
    give(out, b(mlx_add, in[0], b(mlx_multiply, ones, sum(ones, 0, true))));
    return done();
}

static void test_108_unflatten_rows_and_likes(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(unflattened, "3x4 1x2 5x6 2x3 0x4"), ROW(flattened, "2x3x4 1x1x1 0x3x2 5x1x2"),
               ROW(zeros_like_it, "2x3 1x1 5x4 0x2"), ROW(ones_like_it, "2x3 1x1 5x4 0x2"),
               ROW(full_like_it, "2x3,1 4x1,1 5x4,4 3x3,3"), ROW(plus_ones_like, "2x3 1x1 5x4"),
               {"rows", gathered_row, 2, "2x3 1x1 5x4"});
}

/* ---- 110: products -------------------------------------------------------------------------------------------- */

TWO(product, matmul, x, y)

BODY(product_and_sum)
{
    UNUSED;
    give(out, MAKE(addmm, in[0], in[1], in[2], 0.5f, 2.0f));
    return done();
}

static void test_110_products(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(product, "3,3 1,1 7,7 2,3"), ROW(product, "2x3,3 1x1,1 4x7,7"), ROW(product, "3,3x2 1,1x1 5,5x4"),
               ROW(product, "2x3,3x4 1x1,1x1 5x2,2x1 4x0,0x3 2x3,2x3"), ROW(product, "2x3x4,4x5 1x1x1,1x1 3x2x2,2x6"),
               ROW(product, "2x1x3x4,5x4x2 1x1x1x1,1x1x1 3x4x2x2,1x2x3 2x3x1x2,3x2x2 2x3x1x2,4x2x2"),
               ROW(product_and_sum, "2x4,2x3,3x4 1x1,1x1,1x1 1x4,5x3,3x4"),
               ROW(product_and_sum, "4,2x3,3x4 1,2x1,1x5 4,5x3,3x4"));
}

/* ---- 111: slices and updates ---------------------------------------------------------------------------------- */

ONE(tail, slice, x, INTS(1, 0), INTS(1 << 30, 1 << 30), INTS(1, 2))
ONE(head, slice, x, INTS(0, 0), INTS(-1, 2), INTS(1, 1))
ONE(backwards, slice, x, INTS(-1, -1), INTS(-(1 << 30), -3), INTS(-1, -1))
TWO(updated, slice_update, x, y, INTS(1, 0), INTS(1 << 30, -1), INTS(1, 1))
TWO(added, slice_update_add, x, y, INTS(0, 0), INTS(1 << 30, 1 << 30), INTS(2, 1))

static void test_111_slices(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(tail, "2x3 1x1 5x4 0x2"), ROW(head, "2x3 1x1 5x4 0x2"), ROW(backwards, "2x3 1x1 5x4"),
               ROW(updated, "3x4,1x1 2x2,1x1 5x3,4x2 5x3,1x2 5x3,3x2"), ROW(added, "3x4,2x4 1x1,1x1 6x2,1x2 6x2,3x2"));
}

/* ---- 112, 113: broadcasts ------------------------------------------------------------------------------------- */

ONE(broadcast_fixed, broadcast_to, x, INTS(2, 3))

BODY(broadcast_together)
{
    (void)context;
    mlx_vector_array arrays = mlx_vector_array_new_data(in, (size_t)count), res = {NULL};
    if (mlx_broadcast_arrays(&res, arrays, stream)) made_code = 1;
    for (size_t i = 0; i < 2; i++) give(&out[i], pick(res, i));
    mlx_vector_array_free(arrays), mlx_vector_array_free(res);
    return done();
}

static void test_112_and_113_broadcasts(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(broadcast_fixed, "1x3 2x3 1x1 2x1 2x4"),
               {"broadcast_arrays", broadcast_together, 2, "2x3,3 1x1,4 5x1,6 2x0,1 2x3,2"});
    struct traced_call traced = {broadcast_fixed, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, true);
    mlx_array fits = FLOATS(2, 3), other = FLOATS(2, 4);
    mlx_array_free(call_compiled(fun, &fits, 1));
    expect_compiled_refusal(fun, &other, 1, "[broadcast_to] Cannot broadcast array of shape (2,4) into shape (2,3).");
    free_arrays((mlx_array[]){fits, other}, 2);
    mlx_closure_free(fun);
}

/* ---- 114: what gradients compute, written out ----------------------------------------------------------------- */

/* sum(x * y): each operand gets the other one, summed over what it repeats and in its own shape. */
BODY(gradients_of_a_sum)
{
    UNUSED;
    mlx_array ones = u(mlx_ones_like, b(mlx_multiply, in[0], in[1]));
    mlx_array wide[2] = {b(mlx_multiply, ones, in[1]), b(mlx_multiply, ones, in[0])};
    give(&out[0], b(mlx_add, u(mlx_zeros_like, in[0]), sum(wide[0], 0, true)));
    give(&out[1], b(mlx_add, u(mlx_zeros_like, in[1]), sum(wide[1], 1, true)));
    return done();
}

/* x y: gradients are products with the other one's transposition, and have the shapes of x and y. */
BODY(gradients_of_a_product)
{
    UNUSED;
    mlx_array ones = u(mlx_ones_like, b(mlx_matmul, in[0], in[1]));
    give(&out[0], b(mlx_matmul, ones, u(mlx_transpose, in[1])));
    give(&out[1], b(mlx_matmul, u(mlx_transpose, in[0]), ones));
    return done();
}

static void test_114_shapes_of_gradients(void **state)
{
    (void)state;
    CHECK_ROWS({"a sum", gradients_of_a_sum, 2, "1x3,2x1 1x40,5x1 1x1,1x1 1x2,7x1"},
               {"a product", gradients_of_a_product, 2, "2x3,3x4 4x3,3x2 1x1,1x1 5x1,1x6"});
}

/* ---- 115: reductions after take ------------------------------------------------------------------------------- */

BODY(nine_reductions)
{
    UNUSED;
    mlx_array few = MAKE(take_axis, in[0], whole_numbers((int[]){0, -1, 0}, 3), 1);
    give(&out[0], sum(few, 0, false));
    give(&out[1], MAKE(prod_axis, few, 0, true));
    give(&out[2], MAKE(min_axis, few, 0, false));
    give(&out[3], MAKE(max_axis, few, 0, true));
    give(&out[4], MAKE(all_axis, few, 0, false));
    give(&out[5], MAKE(any_axis, few, 0, true));
    give(&out[6], MAKE(mean_axis, few, 0, false));
    give(&out[7], MAKE(var_axis, few, 0, true, 0));
    give(&out[8], MAKE(logsumexp_axis, few, 0, false));
    return done();
}

static void test_115_reductions_after_take(void **state)
{
    (void)state;
    CHECK_ROWS({"nine reductions", nine_reductions, 9, "1x1 40x3 2x2 1x7 100x1"});
}

/* ---- everything else that follows from sizes ------------------------------------------------------------------ */

ONE(squeezed, squeeze_axes, x, INTS(0, -1))
ONE(squeezed_one, squeeze_axis, x, 1)
ONE(expanded, expand_dims_axes, x, INTS(0, -1))
ONE(at_least_three, atleast_3d, x)
ONE(diagonal_of_two, diagonal, x, 1, 0, 1)
ONE(diagonal_matrix, diag, x, -1)
ONE(lower, tril, x, -1)
ONE(upper, triu, x, 1)
ONE(repeated, repeat_axis, x, 3, 0)
ONE(rolled, roll_axis, x, INTS(4), 1)
ONE(rolled_flat, roll, x, INTS(3))
ONE(tiled, tile, x, INTS(2, 1, 3))
ONE(padded, pad, x, INTS(0, 1), INTS(1, 0), INTS(2, 1), number(7), "constant")
ONE(padded_with_edges, pad_symmetric, x, 2, (mlx_array){0}, "edge")
ONE(sorted_flat, sort, x)
ONE(sorted_along, argsort_axis, x, 0)
ONE(parted, partition_axis, x, 1, 1)
ONE(most_two, topk_axis, x, 2, -1)
ONE(running_sum, cumsum, x, 1, true, false)
ONE(running_most, cummax, x, 0, false, true)
ONE(moved, moveaxis, x, 0, -1)
ONE(swapped, swapaxes, x, 0, 1)
ONE(strided, as_strided, x, INTS(2, 2), (const int64_t[]){1, 2}, 2, 0)
ONE(turned, fast_rope, x, 2, false, ((mlx_optional_float){10000.0f, true}), 1.0f, 3, (mlx_array){0})
TWO(convolved, conv1d, x, y, 2, 1, 1, 1)
TWO(convolved_twice, conv2d, x, y, 2, 1, 1, 0, 1, 2, 1)
TWO(outer_product, outer, x, y)
TWO(inner_product, inner, x, y)
TWO(kronecker, kron, x, y)
TWO(crossed_product, tensordot, x, y, INTS(0, 2), INTS(-1, 0))
TWO(last_and_first, tensordot_axis, x, y, 1)
ONE(diagonal_sum, trace, x, 0, 0, 1, MLX_FLOAT32)
ONE(count_of_two, number_of_elements, x, INTS(0, 1), true, MLX_FLOAT32)
ONE(middle, median, x, INTS(1), false)
ONE(middle_of_all, median, x, INTS(0, 1), true)
ONE(running_log, logcumsumexp, x, 1, true, false)
TWO(same_arrays, array_equal, x, y, false)

BODY(splits)
{
    UNUSED;
    mlx_vector_array equal = {NULL}, cut = {NULL};
    if (mlx_split(&equal, in[0], 2, 1, stream)) made_code = 1;
    if (!made_code && mlx_split_sections(&cut, in[0], (int[]){1, -1}, 2, 0, stream)) made_code = 1;
    for (size_t i = 0; i < 2 && !made_code; i++) give(&out[i], pick(equal, i));
    for (size_t i = 0; i < 3 && !made_code; i++) give(&out[2 + i], pick(cut, i));
    mlx_vector_array_free(equal), mlx_vector_array_free(cut);
    return done();
}

BODY(joined)
{
    (void)context;
    mlx_vector_array arrays = mlx_vector_array_new_data(in, (size_t)count);
    give(&out[0], MAKE(concatenate_axis, arrays, 0));
    mlx_vector_array twice = mlx_vector_array_new_data((mlx_array[]){in[0], in[0]}, 2);
    give(&out[1], MAKE(stack_axis, twice, 1));
    mlx_vector_array_free(arrays), mlx_vector_array_free(twice);
    return done();
}

BODY(grid)
{
    (void)context;
    mlx_vector_array arrays = mlx_vector_array_new_data(in, (size_t)count), res = {NULL};
    if (mlx_meshgrid(&res, arrays, false, "xy", stream)) made_code = 1;
    for (size_t i = 0; i < 2; i++) give(&out[i], pick(res, i));
    mlx_vector_array_free(arrays), mlx_vector_array_free(res);
    return done();
}

BODY(along_an_axis)
{
    UNUSED;
    mlx_array order = MAKE(argsort_axis, in[0], 1);
    mlx_array first = MAKE(argmin_axis, in[0], 1, true);
    give(&out[0], MAKE(take_along_axis, in[0], order, 1));
    give(&out[1], MAKE(take_along_axis, in[0], first, 1));
    give(&out[2], MAKE(put_along_axis, in[0], first, number(5), 1));
    return done();
}

BODY(gathers_and_scatters)
{
    UNUSED;
    mlx_array few = whole_numbers((int[]){0, -1}, 2);
    mlx_vector_array one = mlx_vector_array_new_value(few);
    give(&out[0], MAKE(gather, in[0], one, INTS(0), INTS(1, 2)));
    mlx_array rows = MAKE(take_axis, in[0], few, 0);
    mlx_array updates = MAKE(expand_dims, rows, 1);
    give(&out[1], MAKE(scatter_add, in[0], one, updates, INTS(0)));
    mlx_vector_array_free(one);
    return done();
}

/* squeeze without axes takes those of size one: the rank may not change. */
ONE(squeezed_freely, squeeze, x)

BODY(attends)
{
    UNUSED;
    give(out, MAKE(fast_scaled_dot_product_attention, in[0], in[1], in[2], 0.5f, "causal", (mlx_array){0},
                   (mlx_array){0}, false));
    return done();
}

static void test_shapes_and_copies(void **state)
{
    static const char sizes[] = "2x3 1x1 5x4 3x40";
    (void)state;
    CHECK_ROWS(ROW(squeezed, "1x3x1 1x1x1 1x7x1 2x3x1"), ROW(squeezed_one, "3x1 5x1 1x1 3x2"), ROW(expanded, sizes),
               ROW(at_least_three, sizes), ROW(diagonal_of_two, sizes), ROW(diagonal_matrix, "3 1 6"),
               ROW(lower, sizes), ROW(upper, "2x2x3 1x1x1 3x4x2"), ROW(repeated, sizes), ROW(rolled, sizes),
               ROW(rolled_flat, sizes), ROW(tiled, sizes), ROW(padded, sizes), ROW(padded_with_edges, sizes),
               ROW(moved, "2x3x4 1x1x1 3x1x5"), ROW(swapped, sizes), ROW(strided, "2x3 1x6 5x4 1x2"),
               {"splits", splits, 5, "2x4 1x2 5x6 3x3"},
               {"joined", joined, 2, "2x3,4x3 1x1,1x1 5x2,1x2 0x3,2x3 2x3,2x4"}, {"grid", grid, 2, "2,3 1,1 5,4"});
}

static void test_orders_and_indices(void **state)
{
    static const char sizes[] = "2x3 1x2 5x4 3x40";
    (void)state;
    CHECK_ROWS(ROW(sorted_flat, sizes), ROW(sorted_along, sizes), ROW(parted, "2x3 1x2 5x4 3x1"),
               ROW(most_two, "2x3 1x2 5x4 3x1"), ROW(running_sum, sizes), ROW(running_most, sizes),
               {"along an axis", along_an_axis, 3, sizes}, {"gather and scatter", gathers_and_scatters, 2, sizes},
               ROW(same_arrays, "2x3,2x3 1x1,1x1 2x3,2x4 5x1,5x1"));
}

static void test_contractions(void **state)
{
    static const char sizes[] = "2x3 1x2 5x4 3x40";
    (void)state;
    CHECK_ROWS(
        ROW(outer_product, "2x3,4 1x1,1 5x2,0"), ROW(inner_product, "2x3,3 1x1,1 5x4,4 2x3,2"),
        ROW(kronecker, "2x3,2 1x1,1 3x2,5"), ROW(crossed_product, "2x3x4,4x2x2 1x1x1,1x1x1 3x2x5,5x4x3 2x3x4,4x2x3"),
        ROW(last_and_first, "2x3,3x4 1x1,1x1 5x2,2x7 2x3,2x3"), ROW(diagonal_sum, sizes), ROW(count_of_two, sizes),
        ROW(middle, "2x3 1x2 5x4 3x40 2x0"), ROW(middle_of_all, sizes), ROW(running_log, sizes));
}

static void test_layers(void **state)
{
    (void)state;
    CHECK_ROWS(ROW(turned, "1x3x4 2x1x2 1x7x5 1x2x1"), ROW(convolved, "1x5x2,3x2x2 2x4x1,1x3x1 1x9x3,2x1x3"),
               ROW(convolved_twice, "1x5x4x2,3x2x2x2 2x4x5x1,1x3x1x1 1x9x3x3,2x1x2x3 1x5x2x2,3x2x2x2"),
               ROW(attends, "1x2x3x4,1x2x3x4,1x2x3x4 1x1x1x2,1x1x6x2,1x1x6x2 2x4x5x2,2x2x5x2,2x2x5x3"));
}

static void test_ranks_stay(void **state)
{
    (void)state;
    struct traced_call traced = {squeezed_freely, NULL, 1, 0};
    mlx_closure fun = compile_call(&traced, true);
    mlx_array flat = FLOATS(1, 3), tall = FLOATS(4, 1), full = FLOATS(2, 3);
    expect_values_of(fun, &flat, (float[]){1, 2, 3}, 3);
    expect_values_of(fun, &tall, (float[]){1, 2, 3, 4}, 4);
    expect_compiled_refusal(
        fun, &full, 1,
        "[squeeze_all] The result had 1 dimensions when the shapeless function was traced, now it has 2");
    free_arrays((mlx_array[]){flat, tall, full}, 3);
    mlx_closure_free(fun);
}

/* ---- random numbers ------------------------------------------------------------------------------------------- */

/* Keys are drawn once, by the trace; places follow the sizes of the logits. */
BODY(random_places)
{
    const mlx_array *key = context;
    (void)count;
    give(&out[0], MAKE(random_categorical, in[0], -1, *key));
    give(&out[1], MAKE(random_permutation, in[0], 0, *key));
    give(&out[2], MAKE(random_categorical_num_samples, in[0], 1, 3, *key));
    give(&out[3], MAKE(random_bits, INTS(2, 2), 4, *key));
    return done();
}

static void test_random_numbers(void **state)
{
    (void)state;
    mlx_array key = mlx_array_new(), none = {0};
    expect_ok(mlx_random_key(&key, 5), "a key");
    const struct calls calls = parse_calls("2x3 1x1 5x7 1x40");
    struct traced_call traced = {random_places, &key, 4, 0}, drawn = {random_places, &none, 4, 0};
    mlx_closure fun = compile_call(&traced, true), other = compile_call(&drawn, true);
    for (int i = 0; i < 8; i++) check_call(&traced, fun, &calls, i % calls.count, "random numbers");
    CHECK_EQ(traced.calls, 1);
    mlx_array x = FLOATS(9, 9), y = FLOATS(9, 9), got[4], again[4];
    apply_compiled(other, &x, 1, got, 4, "drawn");
    apply_compiled(other, &y, 1, again, 4, "drawn again");
    for (int i = 0; i < 4; i++) {
        struct numbers a = read_array(got[i]), c = read_array(again[i]);
        expect_same_bits(&a, &c, "the same key");
        numbers_free(&a), numbers_free(&c);
    }
    free_arrays(got, 4), free_arrays(again, 4), free_arrays((mlx_array[]){x, y, key}, 3);
    mlx_closure_free(fun), mlx_closure_free(other);
}

/* ---- functions in functions, captured arrays ------------------------------------------------------------------ */

static int apply_inner(mlx_closure inner, mlx_array in, mlx_array *out)
{
    mlx_vector_array args = mlx_vector_array_new_value(in), res = {NULL};
    int code = mlx_closure_apply(&res, inner, args);
    if (!code) give(out, pick(res, 0));
    mlx_vector_array_free(args), mlx_vector_array_free(res);
    return code;
}

BODY(outer_function)
{
    const mlx_closure *inner = context;
    mlx_array normed = mlx_array_new();
    (void)count;
    if (apply_inner(*inner, in[0], &normed)) made_code = 1;
    give(out, b(mlx_add, keep(normed), sum(in[0], 0, true)));
    return done();
}

/* An inner function becomes part of the outer one, whether it is shapeless itself or not. */
static void test_nested_functions(void **state)
{
    (void)state;
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        struct traced_call inner = {mean_last, NULL, 1, 0};
        mlx_closure within = compile_call(&inner, shapeless);
        struct traced_call outer = {outer_function, &within, 1, 0};
        mlx_closure fun = compile_call(&outer, true);
        const struct calls calls = parse_calls("2x3 1x1 5x40 3x64");
        mlx_array first = FLOATS(2, 3);
        mlx_array_free(call_compiled(fun, &first, 1));
        CHECK_EQ(inner.calls, 1);
        for (int i = 0; i < calls.count; i++) check_call(&outer, fun, &calls, i, "nested");
        CHECK_EQ(outer.calls, 1);
        mlx_array_free(first), mlx_closure_free(fun), mlx_closure_free(within);
    }
}

/* A captured array keeps its size; where it does not fit, the call says so. It may be passed as well. */
BODY(plus_captured)
{
    (void)count;
    give(out, b(mlx_add, in[0], *(const mlx_array *)context));
    return done();
}

static void test_captured_arrays(void **state)
{
    (void)state;
    mlx_array captured = FLOATS(1, 3), row = FLOATS(2, 3), wide = FLOATS(2, 4), one = FLOATS(5, 1);
    struct traced_call traced = {plus_captured, &captured, 1, 0};
    mlx_closure fun = compile_call(&traced, true);
    expect_values_of(fun, &row, (float[]){2, 4, 6, 5, 7, 9}, 6);
    expect_values_of(fun, &captured, (float[]){2, 4, 6}, 3);
    expect_compiled_refusal(fun, &wide, 1, "[add] Shapes (2,4) and (1,3) cannot be broadcast.");
    mlx_array_free(call_compiled(fun, &one, 1));
    CHECK_EQ(traced.calls, 1);
    free_arrays((mlx_array[]){captured, row, wide, one}, 4);
    mlx_closure_free(fun);
}

/* ---- a function with a name ----------------------------------------------------------------------------------- */

static int named_body(mlx_array *res, const mlx_array x, void *payload)
{
    (void)payload;
    mlx_array mean = mlx_array_new(), tail = mlx_array_new();
    int code = mlx_mean_axis(&mean, x, 0, true, stream) || mlx_subtract(&tail, x, mean, stream) ||
               mlx_reshape(res, tail, (int[]){-1, 2}, 2, stream);
    mlx_array_free(mean), mlx_array_free(tail);
    return code;
}

/* What formulas make on the way is held by nobody; the name stands before what does not fit. */
static void test_named_functions(void **state)
{
    (void)state;
    mlx_closure fun = mlx_closure_new();
    expect_ok(kiln_compile_unary(&fun, "halves", named_body, NULL, NULL, true), "compile");
    mlx_array four = FLOATS(4), six = FLOATS(6), five = FLOATS(5);
    expect_values_of(fun, &four, (float[]){-1.5f, -0.5f, 0.5f, 1.5f}, 4);
    expect_values_of(fun, &six, (float[]){-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f}, 6);
    expect_compiled_refusal(fun, &five, 1, "halves: [reshape] Cannot reshape array of size 5 into shape (-1,2).");
    free_arrays((mlx_array[]){four, six, five}, 3);
    mlx_closure_free(fun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_104_reshape, set_up),
        cmocka_unit_test_setup(test_105_broadcasts_of_operands, set_up),
        cmocka_unit_test_setup(test_106_reductions, set_up),
        cmocka_unit_test_setup(test_107_averages, set_up),
        cmocka_unit_test_setup(test_108_unflatten_rows_and_likes, set_up),
        cmocka_unit_test_setup(test_110_products, set_up),
        cmocka_unit_test_setup(test_111_slices, set_up),
        cmocka_unit_test_setup(test_112_and_113_broadcasts, set_up),
        cmocka_unit_test_setup(test_114_shapes_of_gradients, set_up),
        cmocka_unit_test_setup(test_115_reductions_after_take, set_up),
        cmocka_unit_test_setup(test_shapes_and_copies, set_up),
        cmocka_unit_test_setup(test_orders_and_indices, set_up),
        cmocka_unit_test_setup(test_contractions, set_up),
        cmocka_unit_test_setup(test_layers, set_up),
        cmocka_unit_test_setup(test_ranks_stay, set_up),
        cmocka_unit_test_setup(test_random_numbers, set_up),
        cmocka_unit_test_setup(test_nested_functions, set_up),
        cmocka_unit_test_setup(test_captured_arrays, set_up),
        cmocka_unit_test_setup(test_named_functions, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
