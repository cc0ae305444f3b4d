/*
 * test_mlxc_reuse.c - a result is never written over what is still to be read, nor through a view that shows one place
 * as several elements. What is expected comes from the same operations, each evaluated while all its operands are held.
 */
#include "unit/mlxc_support.h"

static mlx_stream stream;

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static int tear_down(void **state)
{
    (void)state;
    mlx_stream_free(stream);
    return 0;
}

static mlx_array numbers(const int *shape, int ndim)
{
    float values[70000];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    CHECK_LE(size, 70000);
    for (int i = 0; i < size; i++) values[i] = (float)(i * 7 % 23) / 8;
    return mlx_array_new_data(values, shape, ndim, MLX_FLOAT32);
}

static void expect_equal(mlx_array got, mlx_array want, const char *what)
{
    mlx_array a = mlx_array_new(), b = mlx_array_new();
    CHECK_EQ(mlx_contiguous(&a, got, false, stream) || mlx_contiguous(&b, want, false, stream), 0);
    CHECK_EQ(mlx_array_eval(a) || mlx_array_eval(b), 0);
    CHECK_EQ(mlx_array_size(a), mlx_array_size(b));
    const float *x = mlx_array_data_float32(a), *y = mlx_array_data_float32(b);
    for (size_t i = 0; i < mlx_array_size(a); i++)
        if (memcmp(&x[i], &y[i], sizeof *x)) CHECK_FAIL("%s: element %zu is %g, not %g", what, i, x[i], y[i]);
    mlx_array_free(a), mlx_array_free(b);
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

/* ---- kernels with rows ----------------------------------------------------------------------------------------------
 */

/* sum(x * exp(c)) along the last axis: exp(c) is a temporary of the function's. */
static int weighted_sum(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const bool *keep = payload;
    mlx_array x = mlx_array_new(), c = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&c, in, 1) || mlx_exp(&c, c, stream) ||
               mlx_multiply(&x, x, c, stream) || mlx_sum_axis(&x, x, -1, *keep, stream) ||
               mlx_vector_array_set_value(res, x);
    mlx_array_free(x), mlx_array_free(c);
    return code;
}

/* The same where c is what another operation gives. */
static int plain_sum(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const bool *keep = payload;
    mlx_array x = mlx_array_new(), c = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&c, in, 1) || mlx_multiply(&x, x, c, stream) ||
               mlx_sum_axis(&x, x, -1, *keep, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x), mlx_array_free(c);
    return code;
}

static mlx_array expected_sum(mlx_array x, mlx_array c, bool keep)
{
    mlx_array power = mlx_array_new(), product = mlx_array_new(), res = mlx_array_new();
    int code = mlx_exp(&power, c, stream) || mlx_array_eval(power) || mlx_multiply(&product, x, power, stream) ||
               mlx_array_eval(product) || mlx_sum_axis(&res, product, -1, keep, stream) || mlx_array_eval(res);
    CHECK_EQ(code, 0);
    mlx_array_free(power), mlx_array_free(product);
    return res;
}

static mlx_array call(mlx_closure compiled, mlx_array x, mlx_array c)
{
    const mlx_array both[] = {x, c};
    mlx_vector_array in = mlx_vector_array_new_data(both, 2), out = mlx_vector_array_new();
    mlx_array res = mlx_array_new();
    mlx_array_free(c); /* from here on only the call holds it */
    int code = mlx_closure_apply(&out, compiled, in);
    mlx_vector_array_free(in);
    CHECK_EQ(code || mlx_vector_array_get(&res, out, 0), 0);
    mlx_vector_array_free(out);
    CHECK_EQ(mlx_array_eval(res), 0);
    return res;
}

static void check_rows(const int *x_shape, int x_ndim, const int *c_shape, int c_ndim, bool keep)
{
    char what[120];
    mlx_closure inside = mlx_closure_new_func_payload(weighted_sum, &keep, NULL), compiled = mlx_closure_new();
    mlx_closure outside = mlx_closure_new_func_payload(plain_sum, &keep, NULL), compiled_sum = mlx_closure_new();
    mlx_array x = numbers(x_shape, x_ndim), c = numbers(c_shape, c_ndim), want = expected_sum(x, c, keep);
    CHECK_EQ(mlx_compile(&compiled, inside, false) || mlx_compile(&compiled_sum, outside, false), 0);
    snprintf(what, sizeof what, "rows of %d, x has %d axes, c %d, keepdims %d", x_shape[x_ndim - 1], x_ndim, c_ndim,
             keep);
    mlx_array power = mlx_array_new();
    CHECK_EQ(mlx_exp(&power, c, stream), 0);
    mlx_array from_inside = call(compiled, x, c), from_outside = call(compiled_sum, x, power);
    expect_equal(from_inside, want, what);
    expect_equal(from_outside, want, what);
    mlx_array_free(from_inside), mlx_array_free(from_outside), mlx_array_free(x), mlx_array_free(want);
    mlx_closure_free(inside), mlx_closure_free(compiled), mlx_closure_free(outside), mlx_closure_free(compiled_sum);
}
#define check_rows(...) CHECK_CALL(check_rows, __VA_ARGS__)

static const int sizes[] = {2, 3, 4, 5, 7, 8, 16, 33, 64, 100, 256};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* A row that all rows read has as many elements as there are rows. */
static void test_row_for_all_rows(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        const int x[] = {sizes[i], sizes[i]}, c[] = {sizes[i]};
        check_rows(x, 2, c, 1, false);
        check_rows(x, 2, c, 1, true);
    }
}

/* A row for each of the first axis. */
static void test_row_for_some_rows(void **state)
{
    (void)state;
    for (int i = 0; sizes[i] <= 16; i++) {
        const int x[] = {3, sizes[i], sizes[i]}, c[] = {3, 1, sizes[i]};
        check_rows(x, 3, c, 3, false);
        check_rows(x, 3, c, 3, true);
    }
}

/* One element for each row, and rows of one element. */
static void test_other_shapes(void **state)
{
    (void)state;
    const int x[] = {5, 7}, column[] = {5, 1}, narrow[] = {5, 1}, one[] = {1};
    check_rows(x, 2, column, 2, false);
    check_rows(x, 2, column, 2, true);
    check_rows(narrow, 2, column, 2, true);
    check_rows(narrow, 2, one, 1, false);
}

/* ---- updates in place -----------------------------------------------------------------------------------------------
 */

enum view { REPEATED, WINDOWS, TURNED, PLAIN, VIEWS };

static const char *const view_names[] = {"broadcast_to", "as_strided windows", "transpose", "the array itself"};

static int take_view(mlx_array *x, enum view view)
{
    const int shape[] = {3, 4};
    const int64_t strides[] = {1, 1};
    int code = mlx_exp(x, *x, stream);
    if (!code && view == REPEATED) code = mlx_broadcast_to(x, *x, shape, 2, stream);
    if (!code && view == WINDOWS) code = mlx_as_strided(x, *x, shape, 2, strides, 2, 0, stream);
    if (!code && view == TURNED) code = mlx_transpose(x, *x, stream);
    return code;
}

/* Row 0 of a view of a temporary becomes zeros. */
static int update_row(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const enum view *view = payload;
    const int start[] = {0, 0}, stop[] = {1, 4}, step[] = {1, 1}, shape[] = {1, 4};
    mlx_array x = mlx_array_new(), zeros = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || take_view(&x, *view) ||
               mlx_zeros(&zeros, shape, 2, MLX_FLOAT32, stream) ||
               mlx_slice_update(&x, x, zeros, start, 2, stop, 2, step, 2, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x), mlx_array_free(zeros);
    return code;
}

static mlx_array viewed_numbers(enum view view)
{
    const int row[] = {4}, many[] = {6}, turned[] = {4, 3}, plain[] = {3, 4};
    return view == REPEATED  ? numbers(row, 1)
           : view == WINDOWS ? numbers(many, 1)
           : view == TURNED  ? numbers(turned, 2)
                             : numbers(plain, 2);
}

/* What the view shows, with zeros in row 0. */
static mlx_array expected_update(enum view view)
{
    mlx_array x = viewed_numbers(view), packed = mlx_array_new();
    CHECK_EQ(take_view(&x, view) || mlx_contiguous(&packed, x, false, stream) || mlx_array_eval(packed), 0);
    const int shape[] = {3, 4};
    float values[12];
    memcpy(values, mlx_array_data_float32(packed), sizeof values);
    memset(values, 0, 4 * sizeof *values);
    mlx_array_free(x), mlx_array_free(packed);
    return mlx_array_new_data(values, shape, 2, MLX_FLOAT32);
}

static void check_update(enum view view, bool is_compiled)
{
    char what[80];
    mlx_closure plain = mlx_closure_new_func_payload(update_row, &view, NULL), compiled = mlx_closure_new();
    mlx_array x = viewed_numbers(view), want = expected_update(view), got = mlx_array_new();
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false), 0);
    CHECK_EQ(mlx_closure_apply(&out, is_compiled ? compiled : plain, in), 0);
    CHECK_EQ(mlx_vector_array_get(&got, out, 0), 0);
    mlx_vector_array_free(in), mlx_vector_array_free(out), mlx_array_free(x);
    snprintf(what, sizeof what, "through %s, %s", view_names[view], is_compiled ? "compiled" : "not compiled");
    expect_equal(got, want, what);
    mlx_array_free(got), mlx_array_free(want), mlx_closure_free(plain), mlx_closure_free(compiled);
}

static void test_update_through_a_view(void **state)
{
    (void)state;
    for (int view = 0; view < VIEWS; view++)
        for (int is_compiled = 0; is_compiled < 2; is_compiled++) check_update((enum view)view, is_compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_row_for_all_rows, set_up),
        cmocka_unit_test_setup(test_row_for_some_rows, set_up),
        cmocka_unit_test_setup(test_other_shapes, set_up),
        cmocka_unit_test_setup(test_update_through_a_view, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
