/*
 * test_mlxc_structured.c - other dtypes of the same bytes, dependencies, writing through masks, and products with
 * blocks, segments and Hadamard's matrix: numbers, compiled and shapeless, mapped, refusals.
 */
#include "vmap_support.h"

static mlx_array numbers_of(const int *shape, int ndim, mlx_dtype dtype)
{
    float numbers[32768];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    if (size > 32768) CHECK_FAIL("%d numbers are too many", size);
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + i / 3) % 9 - 4);
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    CHECK_EQ(mlx_astype(&out, plain, dtype, stream) || mlx_array_eval(out), 0);
    mlx_array_free(plain);
    return out;
}
#define NUMBERS(dtype, ...)                                                                                            \
    numbers_of((const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), dtype)

static mlx_array counting(int count)
{
    mlx_array out = mlx_array_new();
    CHECK_EQ(mlx_arange(&out, 0, count, 1, MLX_FLOAT32, stream), 0);
    return out;
}

/* The function plainly and compiled; both are the same, and the result is the caller's. */
static mlx_array run_both(struct mapped_function *function, const mlx_array *in, int count, bool shapeless)
{
    mlx_closure plain = closure_of(function), compiled = mlx_closure_new();
    mlx_vector_array inputs = mlx_vector_array_new_data(in, (size_t)count),
                     res[2] = {mlx_vector_array_new(), mlx_vector_array_new()};
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, shapeless) || mlx_closure_apply(&res[0], plain, inputs) ||
                 mlx_closure_apply(&res[1], compiled, inputs),
             0);
    CHECK_EQ(mlx_vector_array_get(&want, res[0], 0) || mlx_vector_array_get(&got, res[1], 0), 0);
    expect_same_arrays(got, want);
    mlx_array_free(got), mlx_vector_array_free(inputs), mlx_closure_free(plain), mlx_closure_free(compiled);
    mlx_vector_array_free(res[0]), mlx_vector_array_free(res[1]);
    return want;
}

/* ---- view -------------------------------------------------------------------------------------------------------- */

static int as_type(const void *payload, const mlx_array *in, mlx_array *out)
{
    return mlx_view(out, in[0], *(const mlx_dtype *)payload, stream);
}

static void expect_view(mlx_array in, mlx_dtype dtype, const char *text)
{
    struct mapped_function function = {as_type, &dtype, 0};
    mlx_array out = run_both(&function, &in, 1, true);
    expect_text(out, text);
    mlx_array_free(out);
}
#define expect_view(...) CHECK_CALL(expect_view, __VA_ARGS__)

static void test_view(void **state)
{
    (void)state;
    const uint8_t bytes[] = {1, 2, 0, 255, 7, 0, 0, 1};
    mlx_array one = floats((float[]){1}, 1), scalar = mlx_array_new_float(1), out = mlx_array_new(),
              eight = mlx_array_new_data(bytes, (int[]){2, 4}, 2, MLX_UINT8), turned = mlx_array_new(),
              odd = mlx_array_new();
    expect_view(one, MLX_INT8, "array([0, 0, -128, 63], dtype=int8)");
    expect_view(scalar, MLX_INT32, "array(1065353216, dtype=int32)");
    expect_view(eight, MLX_UINT16, "array([[513, 65280],\n       [7, 256]], dtype=uint16)");
    expect_view(eight, MLX_BOOL, "array([[true, true, false, true],\n       [true, false, false, true]], dtype=bool)");
    CHECK_EQ(mlx_transpose(&turned, eight, stream), 0);
    expect_view(turned, MLX_UINT16, "array([[1793],\n       [2],\n       [0],\n       [511]], dtype=uint16)");
    const mlx_dtype word = MLX_UINT16; /* from the second byte on: not aligned for what it is seen as */
    CHECK_EQ(mlx_reshape(&odd, eight, (int[]){8}, 1, stream) ||
                 mlx_slice(&odd, odd, (int[]){1}, 1, (int[]){7}, 1, (int[]){1}, 1, stream),
             0);
    expect_view(odd, MLX_UINT16, "array([2, 2047, 0], dtype=uint16)");
    struct mapped_function function = {as_type, &word, 0};
    expect_like_loop(&function, &eight, 1, (int[]){0}, 0);
    CHECK_EQ(mlx_view(&out, scalar, MLX_INT8, stream), 1);
    expect_error("[view] An array of shape () and type float32 can't be seen as int8");
    CHECK_EQ(mlx_view(&out, odd, MLX_UINT32, stream), 1);
    expect_error("the bytes of its last axis must be a multiple of 4");
    CHECK_EQ(mlx_view(&out, odd, (mlx_dtype)77, stream), 1);
    expect_error("[view] the dtype is not one of mlx_dtype");
    mlx_array_free(one), mlx_array_free(scalar), mlx_array_free(eight), mlx_array_free(turned), mlx_array_free(odd);
}

/* ---- depends ----------------------------------------------------------------------------------------------------- */

static void test_depends(void **state)
{
    (void)state;
    mlx_array zero = mlx_array_new_int(0), list = mlx_array_new(), x = counting(3), out = mlx_array_new();
    CHECK_EQ(mlx_arange(&list, 0, 2, 1, MLX_INT32, stream), 0);
    mlx_array bad = mlx_array_new(), far = mlx_array_new_int(9);
    CHECK_EQ(mlx_take_axis(&bad, list, far, 0, stream), 0); /* fails when it is evaluated */
    mlx_vector_array arrays = mlx_vector_array_new_data((mlx_array[]){x, list}, 2), res = mlx_vector_array_new(),
                     good = mlx_vector_array_new_data(&zero, 1), failing = mlx_vector_array_new_data(&bad, 1),
                     none = mlx_vector_array_new();
    CHECK_EQ(mlx_depends(&res, arrays, good), 0);
    CHECK_EQ(mlx_vector_array_size(res), 2);
    CHECK_EQ(mlx_vector_array_get(&out, res, 1), 0);
    expect_text(out, "array([0, 1], dtype=int32)");
    CHECK_EQ(mlx_depends(&res, arrays, failing) || mlx_vector_array_get(&out, res, 0), 0);
    CHECK_EQ(mlx_array_eval(out), 1);
    expect_error("[take] Index 9 is out of range");
    CHECK_EQ(mlx_depends(&res, arrays, none) || mlx_vector_array_get(&out, res, 0), 0);
    expect_text(out, "array([0, 1, 2], dtype=float32)");
    CHECK_EQ(mlx_depends(&res, none, good), 0);
    CHECK_EQ(mlx_vector_array_size(res), 0);
    mlx_array_free(zero), mlx_array_free(list), mlx_array_free(x), mlx_array_free(out), mlx_array_free(bad);
    mlx_array_free(far), mlx_vector_array_free(arrays), mlx_vector_array_free(res), mlx_vector_array_free(good);
    mlx_vector_array_free(failing), mlx_vector_array_free(none);
}

static int depend(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    mlx_vector_array arrays = mlx_vector_array_new_data(in, 1), others = mlx_vector_array_new_data(in + 1, 1),
                     res = mlx_vector_array_new();
    int code = mlx_depends(&res, arrays, others) || mlx_vector_array_get(out, res, 0);
    return mlx_vector_array_free(arrays), mlx_vector_array_free(others), mlx_vector_array_free(res), code;
}

static void test_depends_mapped(void **state)
{
    (void)state;
    struct mapped_function function = {depend, NULL, 0};
    mlx_array in[] = {NUMBERS(MLX_FLOAT32, 3, 2), NUMBERS(MLX_INT32, 3, 4)};
    expect_like_loop(&function, in, 2, (int[]){0, 0}, 0);
    expect_like_loop(&function, in, 2, (int[]){0, -1}, 0);
    expect_like_loop(&function, in, 2, (int[]){-1, 0}, 1);
    mlx_array_free(in[0]), mlx_array_free(in[1]);
}

/* ---- through a mask ---------------------------------------------------------------------------------------------- */

static int write_masked(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_masked_scatter(out, in[0], in[1], in[2], stream);
}

static void expect_masked(mlx_array a, mlx_array mask, mlx_array source, const char *text)
{
    struct mapped_function function = {write_masked, NULL, 0};
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        mlx_array out = run_both(&function, (mlx_array[]){a, mask, source}, 3, shapeless);
        expect_text(out, text);
        mlx_array_free(out);
    }
}
#define expect_masked(...) CHECK_CALL(expect_masked, __VA_ARGS__)

static void test_masked_scatter(void **state)
{
    (void)state;
    const bool elements[] = {true, false, true, true, false, false}, rows[] = {true, false, true}, no[6] = {false};
    struct mapped_function function = {write_masked, NULL, 0};
    mlx_array zeros = mlx_array_new(), seven = mlx_array_new_float(7), out = mlx_array_new(), empty = mlx_array_new(),
              each = mlx_array_new_data(elements, (int[]){3, 2}, 2, MLX_BOOL),
              lines = mlx_array_new_data(rows, (int[]){3}, 1, MLX_BOOL),
              none = mlx_array_new_data(no, (int[]){3, 2}, 2, MLX_BOOL), two = floats((float[]){1, 2}, 2),
              three = floats((float[]){1, 2, 3}, 3),
              five = mlx_array_new_data((float[]){1, 2, 3, 4, 5}, (int[]){1, 5}, 2, MLX_FLOAT32);
    CHECK_EQ(mlx_zeros(&zeros, (int[]){3, 2}, 2, MLX_INT32, stream) ||
                 mlx_zeros(&empty, (int[]){0}, 1, MLX_FLOAT32, stream),
             0);
    expect_masked(zeros, each, three, "array([[1, 0],\n       [2, 3],\n       [0, 0]], dtype=int32)");
    expect_masked(zeros, each, seven, "array([[7, 0],\n       [7, 7],\n       [0, 0]], dtype=int32)");
    expect_masked(zeros, lines, five, "array([[1, 2],\n       [0, 0],\n       [3, 4]], dtype=int32)");
    expect_masked(zeros, none, empty, "array([[0, 0],\n       [0, 0],\n       [0, 0]], dtype=int32)");
    CHECK_EQ(mlx_masked_scatter(&out, zeros, each, two, stream), 0);
    CHECK_EQ(mlx_array_eval(out), 1);
    expect_error("Index 2 is out of range for an axis of size 2");
    CHECK_EQ(mlx_masked_scatter(&out, zeros, each, empty, stream), 0);
    CHECK_EQ(mlx_array_eval(out), 1);
    expect_error("out of range");
    CHECK_EQ(mlx_masked_scatter(&out, zeros, zeros, three, stream), 1);
    expect_error("[masked_scatter] The mask has to be bool, got int32.");
    CHECK_EQ(mlx_masked_scatter(&out, lines, each, three, stream), 1);
    expect_error("A mask of shape (3,2) does not have the first dimensions of an array of shape (3).");
    CHECK_EQ(mlx_masked_scatter(&out, two, lines, three, stream), 1);
    expect_error("A mask of shape (3) does not have the first dimensions of an array of shape (2).");
    mlx_array truth = mlx_array_new_bool(true);
    CHECK_EQ(mlx_masked_scatter(&out, two, truth, three, stream), 1);
    expect_error("Scalar masks are not supported.");
    expect_like_loop(&function, (mlx_array[]){zeros, each, three}, 3, (int[]){0, 0, -1}, 0);
    expect_like_loop(&function, (mlx_array[]){zeros, lines, five}, 3, (int[]){1, -1, -1}, 0);
    mlx_array_free(zeros), mlx_array_free(seven), mlx_array_free(out), mlx_array_free(empty), mlx_array_free(each);
    mlx_array_free(lines), mlx_array_free(none), mlx_array_free(two), mlx_array_free(three), mlx_array_free(five);
    mlx_array_free(truth);
}

/* ---- Hadamard's matrix ------------------------------------------------------------------------------------------- */

static int transform(const void *payload, const mlx_array *in, mlx_array *out)
{
    const float *scale = payload;
    return mlx_hadamard_transform(out, in[0], (mlx_optional_float){scale ? *scale : 0, scale != NULL}, stream);
}

static void test_hadamard_of_powers_of_two(void **state)
{
    (void)state;
    const float scale = 0.5f;
    struct mapped_function function = {transform, &scale, 0};
    for (int size = 1; size <= 256; size *= 4) {
        CHECK_CONTEXT("size %d", size);
        mlx_array x = NUMBERS(MLX_FLOAT32, 3, size), out = run_both(&function, &x, 1, size == 16);
        const float *in = mlx_array_data_float32(x);
        mlx_array packed;
        const float *got = (const float *)(const void *)bytes_of(out, &packed);
        for (int i = 0; i < 3 * size; i++) {
            double want = 0;
            for (int k = 0; k < size; k++)
                want += (double)in[i / size * size + k] * (__builtin_popcount((unsigned)(k & i % size)) % 2 ? -1 : 1);
            CHECK_NEAR(got[i], want / 2, 0);
        }
        expect_like_loop(&function, &x, 1, (int[]){0}, 0);
        mlx_array_free(x), mlx_array_free(out), mlx_array_free(packed);
    }
}

/* Numbers of the reference for 0, 1, 2, ...: the first three and the last three. */
static void test_hadamard_of_other_sizes(void **state)
{
    (void)state;
    static const struct {
        int size;
        float first[3], last[3];
    } known[] = {{12, {64, -6, 0}, {-18, 0, -22}},
                 {20, {-10, -4, 2}, {-96, -94, -92}},
                 {28, {-84, -78, -72}, {-114, -104, -122}},
                 {24, {266, -10, -26}, {-2, -90, 2}}};
    const float one = 1;
    struct mapped_function function = {transform, &one, 0};
    for (int c = 0; c < 4; c++) {
        int size = known[c].size;
        CHECK_CONTEXT("size %d", size);
        mlx_array x = counting(size), eye = mlx_array_new(), out = run_both(&function, &x, 1, false), rows, packed;
        CHECK_EQ(mlx_array_eval(out), 0);
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(mlx_array_data_float32(out)[i], known[c].first[i], 0);
            CHECK_NEAR(mlx_array_data_float32(out)[size - 3 + i], known[c].last[i], 0);
        }
        CHECK_EQ(mlx_eye(&eye, size, size, 0, MLX_FLOAT32, stream), 0);
        rows = run_both(&function, &eye, 1, false); /* the matrix, turned: its rows are orthogonal */
        const float *h = (const float *)(const void *)bytes_of(rows, &packed);
        for (int i = 0; i < size; i++)
            for (int k = 0; k < size; k++) {
                float sum = 0;
                for (int j = 0; j < size; j++) sum += h[i * size + j] * h[k * size + j];
                CHECK_NEAR(sum, i == k ? size : 0, 0);
            }
        mlx_array_free(x), mlx_array_free(eye), mlx_array_free(out), mlx_array_free(rows), mlx_array_free(packed);
    }
}

static void test_hadamard_dtypes_and_refusals(void **state)
{
    (void)state;
    static const mlx_dtype dtypes[][2] = {{MLX_FLOAT16, MLX_FLOAT16},
                                          {MLX_BFLOAT16, MLX_BFLOAT16},
                                          {MLX_FLOAT64, MLX_FLOAT64},
                                          {MLX_INT32, MLX_FLOAT32},
                                          {MLX_BOOL, MLX_FLOAT32}};
    mlx_array out = mlx_array_new(), three = NUMBERS(MLX_FLOAT32, 2, 3), empty = mlx_array_new(),
              scalar = mlx_array_new_float(3);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        mlx_array x = NUMBERS(dtypes[i][0], 2, 4);
        CHECK_EQ(transform(NULL, &x, &out) || mlx_array_eval(out), 0);
        CHECK_EQ(mlx_array_dtype(out), dtypes[i][1]);
        mlx_array_free(x);
    }
    CHECK_EQ(transform(NULL, &scalar, &out), 0);
    expect_text(out, "array(3, dtype=float32)");
    CHECK_EQ(transform(NULL, &three, &out), 1);
    expect_error("[hadamard_transform] Only supports n = m*2^k where m in (1, 12, 20, 28), got n = 3");
    CHECK_EQ(mlx_zeros(&empty, (int[]){2, 0}, 2, MLX_FLOAT32, stream), 0);
    CHECK_EQ(transform(NULL, &empty, &out), 1);
    expect_error("[hadamard_transform] Does not support empty arrays.");
    mlx_array_free(out), mlx_array_free(three), mlx_array_free(empty), mlx_array_free(scalar);
}

/* ---- masked blocks ----------------------------------------------------------------------------------------------- */

static int multiply_blocks(const void *payload, const mlx_array *in, mlx_array *out)
{
    return mlx_block_masked_mm(out, in[0], in[1], *(const int *)payload, in[2], in[3], in[4], stream);
}

enum { M = 40, K = 70, N = 33 };

/* Whole numbers; masks of blocks of 32. */
static double block_product(const mlx_array *in, int row, int column)
{
    const float *a = mlx_array_data_float32(in[0]), *b = mlx_array_data_float32(in[1]),
                *right = mlx_array_data_float32(in[4]);
    const bool *result = mlx_array_data_bool(in[2]), *left = mlx_array_data_bool(in[3]);
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += left[row / 32 * 3 + k / 32]
                   ? (double)a[row * K + k] * (double)b[k * N + column] * (double)right[k / 32 * 2 + column / 32]
                   : 0;
    return result[row / 32 * 2 + column / 32] ? sum : 0;
}

static void test_block_masked_mm(void **state)
{
    (void)state;
    const int block = 32, other = 16;
    struct mapped_function function = {multiply_blocks, &block, 0};
    mlx_array in[] = {NUMBERS(MLX_FLOAT32, M, K), NUMBERS(MLX_FLOAT32, K, N),
                      mlx_array_new_data((bool[]){true, true, false, true}, (int[]){2, 2}, 2, MLX_BOOL),
                      mlx_array_new_data((bool[]){true, false, true, true, true, false}, (int[]){2, 3}, 2, MLX_BOOL),
                      mlx_array_new_data((float[]){1, 0, 2, 3, -1, 1}, (int[]){3, 2}, 2, MLX_FLOAT32)};
    mlx_array whole = mlx_array_new(), integers = NUMBERS(MLX_INT32, 2, 2), out = mlx_array_new(), packed;
    for (int shapeless = 0; shapeless < 2; shapeless++) {
        mlx_array got = run_both(&function, in, 5, shapeless);
        const float *data = (const float *)(const void *)bytes_of(got, &packed);
        for (int i = 0; i < M * N; i++) CHECK_NEAR(data[i], block_product(in, i / N, i % N), 0);
        mlx_array_free(got), mlx_array_free(packed);
    }
    mlx_array none[] = {in[0], in[1], mlx_array_empty, mlx_array_empty, mlx_array_empty};
    CHECK_EQ(multiply_blocks(&block, none, &out) || mlx_matmul(&whole, in[0], in[1], stream), 0);
    expect_same_arrays(out, whole);
    CHECK_EQ(multiply_blocks(&other, in, &out), 1);
    expect_error("[block_masked_mm] Only block sizes 32 and 64 are supported, got 16.");
    CHECK_EQ(multiply_blocks(&block, (mlx_array[]){in[0], in[1], in[3], in[3], in[4]}, &out), 1);
    expect_error("A mask of shape (2,3) does not fit (2,2) blocks of 32 rows and 32 columns.");
    CHECK_EQ(multiply_blocks(&block, (mlx_array[]){in[0], in[0], in[2], in[3], in[4]}, &out), 1);
    expect_error("got shapes (40,70) and (40,70)");
    CHECK_EQ(multiply_blocks(&block, (mlx_array[]){integers, integers, in[2], in[3], in[4]}, &out), 1);
    expect_error("Only real floating point types are supported");
    mlx_array batch[5];
    for (int i = 0; i < 5; i++) {
        mlx_vector_array twice = mlx_vector_array_new_data((mlx_array[]){in[i], in[i]}, 2);
        batch[i] = mlx_array_new();
        CHECK_EQ(mlx_stack_axis(&batch[i], twice, 0, stream), 0);
        mlx_vector_array_free(twice);
    }
    expect_like_loop(&function, batch, 5, (int[]){0, 0, 0, 0, 0}, 0);
    expect_like_loop(&function, (mlx_array[]){batch[0], in[1], in[2], batch[3], in[4]}, 5, (int[]){0, -1, -1, 0, -1},
                     0);
    for (int i = 0; i < 5; i++) mlx_array_free(in[i]), mlx_array_free(batch[i]);
    mlx_array_free(whole), mlx_array_free(integers), mlx_array_free(out);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static int multiply_segments(const void *payload, const mlx_array *in, mlx_array *out)
{
    (void)payload;
    return mlx_segmented_mm(out, in[0], in[1], in[2], stream);
}

static void expect_bad_segment(mlx_array a, mlx_array b, const int *places, const char *text)
{
    mlx_array segments = mlx_array_new_data(places, (int[]){1, 2}, 2, MLX_INT32), out = mlx_array_new();
    CHECK_EQ(mlx_segmented_mm(&out, a, b, segments, stream), 0);
    CHECK_EQ(mlx_array_eval(out), 1);
    expect_error(text);
    mlx_array_free(segments), mlx_array_free(out);
}
#define expect_bad_segment(...) CHECK_CALL(expect_bad_segment, __VA_ARGS__)

static void test_segmented_mm(void **state)
{
    (void)state;
    const uint32_t places[] = {0, 1, 1, 4, 2, 2};
    struct mapped_function function = {multiply_segments, NULL, 0};
    mlx_array a = mlx_array_new(), b = mlx_array_new(), flat = counting(12), turned = mlx_array_new(),
              segments = mlx_array_new_data(places, (int[]){3, 2}, 2, MLX_UINT32), out = mlx_array_new(),
              eight = counting(8);
    CHECK_EQ(mlx_reshape(&a, flat, (int[]){3, 4}, 2, stream) || mlx_reshape(&b, eight, (int[]){4, 2}, 2, stream) ||
                 mlx_reshape(&turned, eight, (int[]){2, 4}, 2, stream) || mlx_transpose(&turned, turned, stream),
             0);
    mlx_array got = run_both(&function, (mlx_array[]){a, b, segments}, 3, true);
    expect_text(got, "array([[[0, 0],\n        [0, 4],\n        [0, 8]],\n       [[28, 34],\n        [76, 94],\n"
                     "        [124, 154]],\n       [[0, 0],\n        [0, 0],\n        [0, 0]]], dtype=float32)");
    mlx_array_free(got);
    expect_like_loop(&function, (mlx_array[]){a, b, segments}, 3, (int[]){-1, -1, 0}, 0);
    mlx_array wide[2] = {NUMBERS(MLX_FLOAT32, 2, 3, 4), NUMBERS(MLX_FLOAT32, 4, 2, 2)};
    expect_like_loop(&function, (mlx_array[]){wide[0], turned, segments}, 3, (int[]){0, -1, -1}, 0);
    expect_like_loop(&function, (mlx_array[]){wide[0], wide[1], segments}, 3, (int[]){0, 1, -1}, 0);
    expect_bad_segment(a, b, (int[]){3, 1}, "[segmented_mm] Segment 0, from 3 to 1, is not inside of 0 to 4.");
    expect_bad_segment(a, b, (int[]){0, 5}, "Segment 0, from 0 to 5, is not inside of 0 to 4.");
    expect_bad_segment(a, b, (int[]){-1, 2}, "Segment 0, from -1 to 2, is not inside of 0 to 4.");
    CHECK_EQ(mlx_segmented_mm(&out, a, a, segments, stream), 1);
    expect_error("[segmented_mm] Last dimension of first input with shape (3,4) must match");
    CHECK_EQ(mlx_segmented_mm(&out, wide[0], b, segments, stream), 1);
    expect_error("[segmented_mm] Expected two matrices without a batch, got shapes (2,3,4) and (4,2).");
    CHECK_EQ(mlx_segmented_mm(&out, a, b, flat, stream), 1);
    expect_error("[segmented_mm] Segments must be integers, got float32.");
    mlx_array whole = NUMBERS(MLX_INT32, 3);
    CHECK_EQ(mlx_segmented_mm(&out, a, b, whole, stream), 1);
    expect_error("[segmented_mm] The segments should have shape (..., 2) but (3) was provided.");
    CHECK_EQ(mlx_segmented_mm(&out, whole, whole, segments, stream), 1);
    expect_error("[segmented_mm] Only real floating point types are supported");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(flat), mlx_array_free(turned), mlx_array_free(segments);
    mlx_array_free(out), mlx_array_free(eight), mlx_array_free(wide[0]), mlx_array_free(wide[1]), mlx_array_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_view, install_handler),
        cmocka_unit_test_setup(test_depends, install_handler),
        cmocka_unit_test_setup(test_depends_mapped, install_handler),
        cmocka_unit_test_setup(test_masked_scatter, install_handler),
        cmocka_unit_test_setup(test_hadamard_of_powers_of_two, install_handler),
        cmocka_unit_test_setup(test_hadamard_of_other_sizes, install_handler),
        cmocka_unit_test_setup(test_hadamard_dtypes_and_refusals, install_handler),
        cmocka_unit_test_setup(test_block_masked_mm, install_handler),
        cmocka_unit_test_setup(test_segmented_mm, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
