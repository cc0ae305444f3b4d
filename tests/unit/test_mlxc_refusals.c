/*
 * test_mlxc_refusals.c - input that no function can work with: each is refused with 1 and one text that names the
 * operation, results keep what they had, and the next call works. Empty handles are in test_mlxc_empty.c.
 *
 * Functions with an axis, and those of two arrays, are found in the table, so that a new one is tested too.
 */
#include <dlfcn.h>

#include "support/arrays.h"

#define LIST(...) ((const int[]){__VA_ARGS__})

static mlx_array line, matrix, cube, scalar, old;

static mlx_array ramp(int ndim, const int *dims, mlx_dtype dtype)
{
    struct shape shape = {ndim, {0}};
    memcpy(shape.dims, dims, (size_t)ndim * sizeof *dims);
    struct numbers numbers = numbers_new(dtype, &shape);
    for (int i = 0; i < numbers.size; i++) put(&numbers, i, scalar_cast(make_double(i), dtype));
    mlx_array array = packed_array(&numbers);
    numbers_free(&numbers);
    return array;
}

static int make_arrays(void **state)
{
    set_up(state);
    line = ramp(1, LIST(5), MLX_FLOAT32), matrix = ramp(2, LIST(2, 3), MLX_FLOAT32);
    cube = ramp(3, LIST(2, 3, 4), MLX_FLOAT32), scalar = ramp(0, LIST(0), MLX_FLOAT32);
    old = mlx_array_new_int(41);
    return 0;
}

static int free_arrays(void **state)
{
    mlx_array_free(line), mlx_array_free(matrix), mlx_array_free(cube), mlx_array_free(scalar), mlx_array_free(old);
    return tear_down(state);
}

/* `code`: of a call whose result was to go to `old`, which holds 41. */
static void expect_refused(int code, const char *part, const char *call)
{
    int value = 0;
    if (code != 1 || error_count != 1 || !strstr(error_text, part))
        CHECK_FAIL("%s gave %d and %d errors, expected \"%s\": \"%s\"", call, code, error_count, part, error_text);
    error_count = 0, error_text[0] = '\0';
    expect_ok(mlx_array_item_int32(&value, old), call);
    if (value != 41) CHECK_FAIL("%s changed its result", call);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

#define REFUSED(part, call) expect_refused(call, part, #call)

/* ---- from the table -----------------------------------------------------------------------------------------------
 */

typedef int visitor(const char *name, const char *parameters);

/* The number of functions for which `visit` gave 1. */
static int visit_table(visitor *visit)
{
    char path[1024], text[4096], name[80], parameters[1024];
    int count = 0;
    const char *named = getenv("KILN_TEST_ABI"); /* where the sources are not, see tools/gpu_bundle.sh */
    snprintf(path, sizeof path, "%s", named ? named : __FILE__);
    if (!named) {
        *strrchr(path, '/') = '\0';
        strncat(path, "/../../src/mlxc/abi.tsv", sizeof path - strlen(path) - 1);
    }
    FILE *file = fopen(path, "r");
    CHECK_NOT_NULL(file);
    while (fgets(text, sizeof text, file))
        if (sscanf(text, "%79[^\t]\t%*[^\t]\t%*[^\t]\t%1023[^\t]", name, parameters) == 2)
            count += visit(name, parameters);
    fclose(file);
    return count;
}

static int visit_binary(const char *name, const char *parameters)
{
    binary_function *function;
    if (strcmp(parameters, "mlx_array* res, const mlx_array a, const mlx_array b, const mlx_stream s") ||
        strstr(name, "linalg"))
        return 0;
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    bool pairs_all = strstr(name, "outer") || strstr(name, "kron"); /* any two shapes are fine */
    if (pairs_all) return 0;
    expect_refused(function(&old, line, matrix, stream), "[", name);
    mlx_array res = mlx_array_new();
    expect_refusal(function(&res, cube, line, stream), res, name);
    return 1;
}

static void test_shapes_that_do_not_go_together(void **state)
{
    (void)state;
    CHECK_GT(visit_table(visit_binary), 20);
    REFUSED("[where]", mlx_where(&old, line, matrix, scalar, stream));
    REFUSED("[where]", mlx_where(&old, line, scalar, matrix, stream));
    REFUSED("addmm", mlx_addmm(&old, line, matrix, matrix, 1, 1, stream));
}

/* The functions of one array and one axis; `keepdims` and the like are zero. */
typedef int axis_function(mlx_array *, const mlx_array, int, long, long, long);

static int visit_axis(const char *name, const char *parameters)
{
    static const char *const forms[] = {
        "mlx_array* res, const mlx_array a, int axis, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int axis, bool keepdims, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int axis, bool precise, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int axis, bool reverse, bool inclusive, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int axis, bool keepdims, int ddof, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int kth, int axis, const mlx_stream s",
        "mlx_array* res, const mlx_array a, int k, int axis, const mlx_stream s",
        "mlx_array* res, const mlx_array arr, int repeats, int axis, const mlx_stream s",
    };
    axis_function *function;
    size_t form = 0;
    while (form < sizeof forms / sizeof *forms && strcmp(parameters, forms[form])) form++;
    if (form == sizeof forms / sizeof *forms) return 0;
    long s = (long)stream.ctx;
    *(void **)&function = dlsym(RTLD_DEFAULT, name);
    for (int axis = -90; axis <= 90; axis += 180) {
        int code = form == 0  ? function(&old, matrix, axis, s, 0, 0)
                   : form < 3 ? function(&old, matrix, axis, 0, s, 0)
                   : form < 5 ? function(&old, matrix, axis, 0, 0, s)
                              : function(&old, matrix, 1, axis, s, 0);
        expect_refused(code, "90", name);
    }
    return 1;
}

static void test_axes_out_of_range(void **state)
{
    (void)state;
    CHECK_GT(visit_table(visit_axis), 20);
    REFUSED("[take]", mlx_take_axis(&old, matrix, scalar, 2, stream));
    mlx_array places = ramp(2, LIST(2, 3), MLX_INT32);
    REFUSED("[take", mlx_take_axis(&old, matrix, places, 2, stream));
    REFUSED("[take_along_axis]", mlx_take_along_axis(&old, matrix, places, -3, stream));
    REFUSED("[put_along_axis]", mlx_put_along_axis(&old, matrix, places, matrix, 2, stream));
    REFUSED("[scatter_add_axis]", mlx_scatter_add_axis(&old, matrix, places, matrix, 2, stream));
    mlx_vector_array two = mlx_vector_array_new_data((mlx_array[]){matrix, matrix}, 2);
    REFUSED("[concatenate]", mlx_concatenate_axis(&old, two, 2, stream));
    REFUSED("[stack]", mlx_stack_axis(&old, two, 3, stream));
    mlx_vector_array_free(two), mlx_array_free(places);
}

/* ---- ranks, sizes and products ------------------------------------------------------------------------------------
 */

static void test_wrong_ranks(void **state)
{
    mlx_array none = {0};
    (void)state;
    REFUSED("[matmul]", mlx_matmul(&old, scalar, matrix, stream));
    REFUSED("addmm", mlx_addmm(&old, matrix, scalar, matrix, 1, 1, stream));
    REFUSED("[conv", mlx_conv1d(&old, matrix, cube, 1, 0, 1, 1, stream));
    REFUSED("[conv", mlx_conv1d(&old, cube, matrix, 1, 0, 1, 1, stream));
    REFUSED("[diag]", mlx_diag(&old, cube, 0, stream));
    REFUSED("[diagonal]", mlx_diagonal(&old, line, 0, 0, 1, stream));
    REFUSED("[slice]", mlx_slice(&old, matrix, LIST(0), 1, LIST(1), 1, LIST(1), 1, stream));
    REFUSED("[transpose]", mlx_transpose_axes(&old, matrix, LIST(0), 1, stream));
    REFUSED("[broadcast_to]", mlx_broadcast_to(&old, cube, LIST(3, 4), 2, stream));
    REFUSED("[rope]", mlx_fast_rope(&old, line, 4, false, (mlx_optional_float){10000, true}, 1, 0, none, stream));
    REFUSED("[scaled_dot_product_attention]",
            mlx_fast_scaled_dot_product_attention(&old, cube, cube, cube, 1, "", none, none, false, stream));
    REFUSED("[rms_norm]", mlx_fast_rms_norm(&old, matrix, matrix, 1e-5f, stream));
    REFUSED("[layer_norm]", mlx_fast_layer_norm(&old, matrix, matrix, none, 1e-5f, stream));
}

static void test_negative_sizes(void **state)
{
    mlx_array key = mlx_array_new();
    (void)state;
    expect_ok(mlx_random_key(&key, 1), "key");
    REFUSED("[full]", mlx_zeros(&old, LIST(2, -1), 2, MLX_FLOAT32, stream));
    REFUSED("[broadcast_to]", mlx_broadcast_to(&old, scalar, LIST(2, -1), 2, stream));
    REFUSED("[reshape]", mlx_reshape(&old, matrix, LIST(-2, -3), 2, stream));
    REFUSED("[reshape]", mlx_reshape(&old, matrix, LIST(-1, -1), 2, stream));
    REFUSED("[", mlx_random_bits(&old, LIST(-4), 1, 4, key, stream));
    REFUSED("[", mlx_random_uniform(&old, scalar, scalar, LIST(3, -4), 2, MLX_FLOAT32, key, stream));
    REFUSED("[", mlx_random_normal(&old, LIST(-4), 1, MLX_FLOAT32, 0, 1, key, stream));
    REFUSED("[", mlx_random_bernoulli(&old, scalar, LIST(-4), 1, key, stream));
    REFUSED("[", mlx_random_categorical_num_samples(&old, matrix, 1, -4, key, stream));
    REFUSED("[tile]", mlx_tile(&old, matrix, LIST(-1, 2), 2, stream));
    mlx_array_free(key);
}

/* 2^64 elements are none modulo 2^64, and 2^32 none modulo 2^32. */
static void test_products_that_overflow(void **state)
{
    const int *huge = LIST(65536, 65536, 65536, 65536);
    mlx_array nothing = ramp(1, LIST(0), MLX_FLOAT32), key = mlx_array_new();
    (void)state;
    expect_ok(mlx_random_key(&key, 1), "key");
    REFUSED("[full]", mlx_zeros(&old, huge, 4, MLX_INT8, stream));
    REFUSED("broadcast_to", mlx_broadcast_to(&old, scalar, huge, 4, stream));
    REFUSED("[reshape]", mlx_reshape(&old, nothing, huge, 4, stream));
    REFUSED("[reshape]", mlx_reshape(&old, matrix, LIST(65536, 65536, 65536, 65536, 6), 5, stream));
    REFUSED("tile", mlx_tile(&old, scalar, huge, 4, stream));
    REFUSED("[", mlx_random_bits(&old, huge, 4, 4, key, stream));
    REFUSED("[repeat]", mlx_repeat(&old, cube, 1 << 30, stream));
    REFUSED("[as_strided]", mlx_as_strided(&old, scalar, huge, 4, (const int64_t[]){0, 0, 0, 0}, 4, 0, stream));
    mlx_array wide = mlx_array_new(), tall = mlx_array_new();
    expect_ok(mlx_broadcast_to(&wide, scalar, LIST(1, 1, 1 << 30, 1 << 30), 4, stream), "broadcast_to");
    expect_ok(mlx_broadcast_to(&tall, scalar, LIST(1 << 30, 1 << 30, 1, 1), 4, stream), "broadcast_to");
    REFUSED("add", mlx_add(&old, wide, tall, stream));
    REFUSED("[flatten]", mlx_flatten(&old, wide, 0, -1, stream));
    mlx_vector_array two = mlx_vector_array_new_data((mlx_array[]){wide, wide}, 2);
    expect_ok(mlx_vector_array_append_value(two, wide), "append");
    REFUSED("[concatenate]", mlx_concatenate_axis(&old, two, 2, stream));
    mlx_vector_array_free(two);
    mlx_array_free(nothing), mlx_array_free(key), mlx_array_free(wide), mlx_array_free(tall);
}

/* ---- at evaluation ------------------------------------------------------------------------------------------------
 */

/* 4 TiB: asked for and refused; what is left works, and nothing stays allocated. */
static void test_more_than_memory(void **state)
{
    mlx_array wide = mlx_array_new(), sum = mlx_array_new();
    size_t before, after;
    (void)state;
    expect_ok(mlx_get_active_memory(&before), "memory");
#ifdef mlx_default_cpu_stream_new
    before += mlx_array_nbytes(scalar); /* on a GPU it is there twice */
#endif
    expect_ok(mlx_broadcast_to(&wide, scalar, LIST(1 << 20, 1 << 20), 2, stream), "broadcast_to");
    expect_ok(mlx_add(&sum, wide, wide, stream), "add");
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(mlx_array_eval(sum), 1);
        if (error_count != 1 || !strstr(error_text, "add: cannot allocate 4398046511104 bytes"))
            CHECK_FAIL("%d errors: %s", error_count, error_text);
        error_count = 0, error_text[0] = '\0';
        CHECK_NULL(mlx_array_data_float32(sum));
        error_count = 0, error_text[0] = '\0';
    }
    mlx_array_free(wide), mlx_array_free(sum);
    expect_ok(mlx_get_active_memory(&after), "memory");
    CHECK_EQ(after, before);
    sum = mlx_array_new();
    expect_ok(mlx_add(&sum, matrix, matrix, stream), "add");
    expect_ok(mlx_array_eval(sum), "eval");
    mlx_array_free(sum);
}

/* ---- values in an array of indices --------------------------------------------------------------------------------
 */

/* Each reads or writes the matrix (2, 3) through inputs[1], two indices along axis 0; inputs[2] is what is written. */
struct indexed {
    const char *name;
    int (*call)(mlx_array *res, mlx_array indices, mlx_array updates);
};

static int call_take(mlx_array *res, mlx_array indices, mlx_array updates)
{
    (void)updates;
    return mlx_take_axis(res, matrix, indices, 0, stream);
}

static int call_gather(mlx_array *res, mlx_array indices, mlx_array updates)
{
    (void)updates;
    return mlx_gather_single(res, matrix, indices, 0, LIST(1, 3), 2, stream);
}

/* The same two indices as a (2, 1) array, for functions that go along an axis. */
static int as_column(mlx_array *column, mlx_array indices)
{
    return mlx_reshape(column, indices, LIST(2, 1), 2, stream);
}

static int call_take_along(mlx_array *res, mlx_array indices, mlx_array updates)
{
    mlx_array column = mlx_array_new();
    (void)updates;
    int code = as_column(&column, indices) || mlx_take_along_axis(res, matrix, column, 0, stream);
    mlx_array_free(column);
    return code;
}

#define ALONG(name)                                                                                                    \
    static int call_##name(mlx_array *res, mlx_array indices, mlx_array updates)                                       \
    {                                                                                                                  \
        mlx_array column = mlx_array_new();                                                                            \
        (void)updates;                                                                                                 \
        int code = as_column(&column, indices) || mlx_##name(res, matrix, column, scalar, 0, stream);                  \
        mlx_array_free(column);                                                                                        \
        return code;                                                                                                   \
    }

ALONG(put_along_axis)
ALONG(scatter_add_axis)

#define SCATTER(name)                                                                                                  \
    static int call_##name(mlx_array *res, mlx_array indices, mlx_array updates)                                       \
    {                                                                                                                  \
        return mlx_##name##_single(res, matrix, indices, updates, 0, stream);                                          \
    }

SCATTER(scatter)
SCATTER(scatter_add)
SCATTER(scatter_prod)
SCATTER(scatter_max)
SCATTER(scatter_min)

static const struct indexed indexed[] = {
    {"take", call_take},
    {"gather", call_gather},
    {"take_along_axis", call_take_along},
    {"put_along_axis", call_put_along_axis},
    {"scatter_add_axis", call_scatter_add_axis},
    {"scatter", call_scatter},
    {"scatter_add", call_scatter_add},
    {"scatter_prod", call_scatter_prod},
    {"scatter_max", call_scatter_max},
    {"scatter_min", call_scatter_min},
};

/* An array_function; inputs: the indices and the updates. */
static int call_indexed(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    (void)input_count;
    return ((const struct indexed *)context)->call(&outputs[0], inputs[0], inputs[1]);
}

/* Evaluates to an error, each time it is asked, and has no data. */
static void expect_no_value(mlx_array array, const char *what)
{
    for (int i = 0; i < 2; i++) {
        int code = mlx_array_eval(array);
        if (code != 1 || error_count != 1 || !strstr(error_text, "is out of range"))
            CHECK_FAIL("%s: evaluation gave %d and %d errors: \"%s\"", what, code, error_count, error_text);
        error_count = 0, error_text[0] = '\0';
    }
    CHECK_NULL(mlx_array_data_float32(array));
    error_count = 0, error_text[0] = '\0';
}

/* This file is built for the CPU, and once more for a GPU (tests/gpu/gpu.cmake). */
#ifdef mlx_default_cpu_stream_new
enum { ON_GPU = true };
#else
enum { ON_GPU = false };
#endif

/*
 * A compiled call computes right away when its inputs are there: so it fails itself, and its result stays empty. Of
 * indices that a function makes on a GPU, a view of its input's included, the kernel reports that they are none: then
 * it is the evaluation that follows which fails.
 */
static void expect_no_call(mlx_closure compiled, const mlx_array *inputs, const char *what)
{
    mlx_vector_array in = mlx_vector_array_new_data(inputs, 2), out = mlx_vector_array_new();
    int code = mlx_closure_apply(&out, compiled, in);
    bool is_reported_later = ON_GPU && !code;
    if (is_reported_later) code = mlx_eval(out);
    if (code != 1 || error_count != 1 || !strstr(error_text, "is out of range"))
        CHECK_FAIL("%s: a compiled call gave %d and %d errors: \"%s\"", what, code, error_count, error_text);
    error_count = 0, error_text[0] = '\0';
    CHECK_EQ(mlx_vector_array_size(out), is_reported_later);
    mlx_vector_array_free(in), mlx_vector_array_free(out);
}

static void check_index(const struct indexed *function, mlx_dtype dtype, uint64_t bad, mlx_array updates)
{
    char what[120], bytes[16] = {0};
    int count = 2;
    struct traced_call call = {call_indexed, function, 1, 0};
    scalar_store(bytes, make_wrapped(1, dtype));
    scalar_store(bytes + facts[dtype].size, make_wrapped(bad, dtype));
    snprintf(what, sizeof what, "%s with %s %lld", function->name, facts[dtype].name, (long long)bad);
    mlx_array inputs[2] = {mlx_array_new_data(bytes, &count, 1, dtype), updates}, res = mlx_array_new();
    expect_ok(function->call(&res, inputs[0], updates), what);
    expect_no_value(res, what);
    mlx_array_free(res);
    mlx_closure compiled = compile_call(&call, false);
    expect_no_call(compiled, inputs, what);
    mlx_closure_free(compiled), mlx_array_free(inputs[0]);
}
#define check_index(...) CHECK_CALL(check_index, __VA_ARGS__)

static void test_index_values(void **state)
{
    static const int64_t low[] = {-3, -4, -100}, high[] = {2, 3, 100};
    mlx_array updates = ramp(3, LIST(2, 1, 3), MLX_FLOAT32);
    (void)state;
    for (size_t f = 0; f < sizeof indexed / sizeof *indexed; f++)
        for (mlx_dtype dtype = MLX_UINT8; dtype <= MLX_INT64; dtype++) {
            uint64_t most = facts[dtype].kind == IS_SIGNED ? UINT64_MAX >> 1 : UINT64_MAX;
            most >>= 64 - 8 * facts[dtype].size;
            check_index(&indexed[f], dtype, most, updates);
            check_index(&indexed[f], dtype, (uint64_t)high[f % 3], updates);
            if (facts[dtype].kind != IS_SIGNED) continue;
            check_index(&indexed[f], dtype, (uint64_t)low[f % 3], updates);
            check_index(&indexed[f], dtype, ~most, updates);
        }
    mlx_array_free(updates);
}

#define READING(X)                                                                                                     \
    X(bool, bool)                                                                                                      \
    X(uint8, uint8_t)                                                                                                  \
    X(uint16, uint16_t)                                                                                                \
    X(uint32, uint32_t)                                                                                                \
    X(uint64, uint64_t)                                                                                                \
    X(int8, int8_t)                                                                                                    \
    X(int16, int16_t)                                                                                                  \
    X(int32, int32_t)                                                                                                  \
    X(int64, int64_t)                                                                                                  \
    X(float32, float)                                                                                                  \
    X(float64, double)                                                                                                 \
    X(complex64, mlx_complex64_t)

static void test_reading_what_is_not_there(void **state)
{
    mlx_array lazy = mlx_array_new();
    (void)state;
    expect_ok(mlx_add(&lazy, matrix, matrix, stream), "add");
#define TEST_READING(name, type)                                                                                       \
    do {                                                                                                               \
        type item, same;                                                                                               \
        memset(&item, 0, sizeof item), memset(&same, 0, sizeof same);                                                  \
        REFUSED("[item]", mlx_array_item_##name(&item, matrix));                                                       \
        CHECK_MEM(&item, &same, sizeof item);                                                                          \
        REFUSED("[data]", mlx_array_data_##name(lazy) == NULL);                                                        \
    } while (0);
    READING(TEST_READING)
    mlx_array_free(lazy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shapes_that_do_not_go_together, set_up),
        cmocka_unit_test_setup(test_axes_out_of_range, set_up),
        cmocka_unit_test_setup(test_wrong_ranks, set_up),
        cmocka_unit_test_setup(test_negative_sizes, set_up),
        cmocka_unit_test_setup(test_products_that_overflow, set_up),
        cmocka_unit_test_setup(test_more_than_memory, set_up),
        cmocka_unit_test_setup(test_index_values, set_up),
        cmocka_unit_test_setup(test_reading_what_is_not_there, set_up),
    };
    return cmocka_run_group_tests(tests, make_arrays, free_arrays);
}
