/*
 * test_indexed.c - reading through indices on a GPU: the bits and the errors of the CPU, for every dtype and layout;
 * the data stays where it is, and indices are checked in every call, also in one that is replayed.
 */
#include "gpu_program.h"

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 5, MIDDLE = 7, WIDTH = 12 };
static const int whole[] = {ROWS, MIDDLE, WIDTH};

static uint64_t random_bits(void)
{
    static uint64_t seed = 7;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 24;
}

static size_t size_of(const int *shape, int ndim)
{
    size_t size = 1;
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    return size;
}

/* Any bits. */
static mlx_array make_data(mlx_dtype dtype, const int *shape, int ndim)
{
    size_t size = size_of(shape, ndim) * mlx_dtype_size(dtype);
    unsigned char *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(dtype == MLX_BOOL ? random_bits() & 1 : random_bits());
    mlx_array res = mlx_array_new_data(bytes, shape, ndim, dtype);
    free(bytes);
    return res;
}

/* From 0 to below `below`; in signed dtypes every other one counted from the end of an axis of `size`. */
static mlx_array make_indices(mlx_dtype dtype, const int *shape, int ndim, int below, int size)
{
    size_t count = size_of(shape, ndim), item = mlx_dtype_size(dtype);
    char *bytes = malloc(count * item + 1);
    for (size_t i = 0; i < count; i++) {
        int64_t value = (int64_t)(random_bits() % (uint64_t)below); /* the first bytes of it are smaller ones' too */
        if (dtype >= MLX_INT8 && i % 2) value -= size;
        memcpy(bytes + i * item, &value, item);
    }
    mlx_array res = mlx_array_new_data(bytes, shape, ndim, dtype);
    free(bytes);
    return res;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

struct operation {
    const char *name;
    int (*call)(mlx_array *res, mlx_array data, mlx_array indices, const struct operation *operation, mlx_stream s);
    int axis, shape[3], ndim; /* of the indices */
    int below;                /* values of indices */
};

static int take(mlx_array *res, mlx_array data, mlx_array indices, const struct operation *operation, mlx_stream s)
{
    return mlx_take_axis(res, data, indices, operation->axis, s);
}

static int take_along(mlx_array *res, mlx_array data, mlx_array indices, const struct operation *operation,
                      mlx_stream s)
{
    return mlx_take_along_axis(res, data, indices, operation->axis, s);
}

/* Slices of 2 along the axis. */
static int gather(mlx_array *res, mlx_array data, mlx_array indices, const struct operation *operation, mlx_stream s)
{
    int sizes[] = {ROWS, MIDDLE - 2, WIDTH};
    sizes[operation->axis] = 2;
    return mlx_gather_single(res, data, indices, operation->axis, sizes, 3, s);
}

/* The same indices for two axes, but that the second ones are of another dtype and never negative. */
static int gather_two(mlx_array *res, mlx_array data, mlx_array indices, const struct operation *operation,
                      mlx_stream s)
{
    const int axes[] = {operation->axis, 2}, sizes[] = {1, 3, WIDTH / 2};
    mlx_array second = mlx_array_new(), zero = mlx_array_new_int(0);
    int code = mlx_maximum(&second, indices, zero, cpu) || mlx_astype(&second, second, MLX_UINT16, cpu);
    const mlx_array both[] = {indices, second};
    mlx_vector_array list = mlx_vector_array_new_data(both, 2);
    code = code || mlx_gather(res, data, list, axes, 2, sizes, 3, s);
    mlx_vector_array_free(list), mlx_array_free(second), mlx_array_free(zero);
    return code;
}

static const struct operation operations[] = {
    {"take rows", take, 0, {2, 3}, 2, ROWS},
    {"take one row", take, 0, {0}, 0, ROWS},
    {"take middles", take, 1, {4}, 1, MIDDLE},
    {"take columns", take, 2, {2, 3}, 2, WIDTH},
    {"take_along rows", take_along, 0, {3, MIDDLE, WIDTH}, 3, ROWS},
    {"take_along middles", take_along, 1, {ROWS, 9, WIDTH}, 3, MIDDLE},
    {"take_along columns", take_along, 2, {ROWS, MIDDLE, 2}, 3, WIDTH},
    {"gather rows", gather, 0, {2, 2}, 2, ROWS - 1},
    {"gather columns", gather, 2, {6}, 1, WIDTH - 1},
    {"gather at two places", gather_two, 0, {2, 3}, 2, ROWS},
    {"take nothing", take, 1, {3, 0}, 2, MIDDLE},
    {"take nothing along", take_along, 2, {ROWS, MIDDLE, 0}, 3, WIDTH},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void expect_same_bytes(mlx_array want, mlx_array got, const char *what)
{
    size_t size = mlx_array_nbytes(want);
    CHECK_EQ(mlx_array_nbytes(got), size);
    const unsigned char *x = mlx_array_data_uint8(want), *y = mlx_array_data_uint8(got);
    if (size && memcmp(x, y, size) != 0) CHECK_FAIL("%s differs from the CPU's", what);
}

/* On the GPU as on the CPU, without an operation on the host. */
static void compare(const struct operation *operation, mlx_array data, mlx_array indices)
{
    CHECK_CONTEXT("%s, dtypes %d and %d", operation->name, (int)mlx_array_dtype(data), (int)mlx_array_dtype(indices));
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    uint64_t before = gpu_counters().host_operations;
    CHECK_EQ(operation->call(&want, data, indices, operation, cpu), 0);
    CHECK_EQ(operation->call(&got, data, indices, operation, gpu), 0);
    CHECK_EQ(mlx_array_eval(want), 0);
    CHECK_EQ(mlx_array_eval(got), 0);
    expect_same_bytes(want, got, operation->name);
    CHECK_EQ(gpu_counters().host_operations, before);
    mlx_array_free(want), mlx_array_free(got);
}
#define compare(...) CHECK_CALL(compare, __VA_ARGS__)

static mlx_array indices_for(const struct operation *operation, mlx_dtype dtype)
{
    return make_indices(dtype, operation->shape, operation->ndim, operation->below, whole[operation->axis]);
}

static void every_dtype_and_index(void **state)
{
    (void)state;
    for (int dtype = MLX_BOOL; dtype <= MLX_COMPLEX64; dtype++) {
        mlx_array data = make_data((mlx_dtype)dtype, whole, 3);
        for (int i = 0; i < OPERATIONS; i++) {
            for (int index = MLX_UINT8; index <= MLX_INT64; index++) {
                mlx_array indices = indices_for(&operations[i], (mlx_dtype)index);
                compare(&operations[i], data, indices);
                mlx_array_free(indices);
            }
        }
        mlx_array_free(data);
    }
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

/* Views with the dims of `whole`: turned, cut out of the middle, backwards, repeated. */
static mlx_array view_of_data(int kind, mlx_dtype dtype)
{
    const int turned[] = {WIDTH, ROWS, MIDDLE}, large[] = {2 * ROWS, MIDDLE + 1, WIDTH + 3}, row[] = {MIDDLE, 1};
    mlx_array res = mlx_array_new(), base = kind == 0   ? make_data(dtype, turned, 3)
                                            : kind == 3 ? make_data(dtype, row, 2)
                                                        : make_data(dtype, large, 3);
    if (kind == 0) mlx_transpose_axes(&res, base, (int[]){1, 2, 0}, 3, gpu);
    if (kind == 1)
        mlx_slice(&res, base, (int[]){1, 1, 3}, 3, (int[]){2 * ROWS, MIDDLE + 1, WIDTH + 3}, 3, (int[]){2, 1, 1}, 3,
                  gpu);
    if (kind == 2)
        mlx_slice(&res, base, (int[]){-1, -1, -1}, 3, (int[]){-ROWS - 1, -MIDDLE - 1, -WIDTH - 1}, 3,
                  (int[]){-1, -1, -1}, 3, gpu);
    if (kind == 3) mlx_broadcast_to(&res, base, whole, 3, gpu);
    mlx_array_free(base);
    expect_no_error();
    CHECK_EQ(mlx_array_size(res), ROWS * MIDDLE * WIDTH);
    return res;
}

/* The same values: turned twice, or every second of twice as many. */
static mlx_array view_of_indices(int kind, mlx_array indices)
{
    mlx_array res = mlx_array_new();
    if (kind == 0) {
        mlx_transpose(&res, indices, cpu), mlx_contiguous(&res, res, false, cpu), mlx_transpose(&res, res, gpu);
    } else {
        mlx_repeat_axis(&res, indices, 2, 0, cpu);
        int zero[3] = {0}, stop[3], step[3] = {2, 1, 1}, ndim = (int)mlx_array_ndim(res);
        for (int i = 0; i < ndim; i++) stop[i] = mlx_array_dim(res, i);
        mlx_slice(&res, res, zero, (size_t)ndim, stop, (size_t)ndim, step, (size_t)ndim, gpu);
    }
    expect_no_error();
    return res;
}

static void every_layout(void **state)
{
    (void)state;
    static const mlx_dtype dtypes[] = {MLX_UINT8, MLX_BFLOAT16, MLX_FLOAT32, MLX_COMPLEX64};
    for (int kind = 0; kind < 4; kind++) {
        for (int d = 0; d < 4; d++) {
            mlx_array data = view_of_data(kind, dtypes[d]);
            for (int i = 0; i < OPERATIONS; i++) {
                if (!operations[i].ndim) continue;
                mlx_array packed = indices_for(&operations[i], MLX_INT32), indices = view_of_indices(d % 2, packed);
                compare(&operations[i], data, indices);
                mlx_array_free(packed), mlx_array_free(indices);
            }
            mlx_array_free(data);
        }
    }
}

/* Rows that can be read 16, 8, 4, 2 and 1 bytes at a time, from places that are and are not aligned. */
static void rows_of_all_lengths(void **state)
{
    (void)state;
    for (int length = 1; length <= 64; length += length < 17 ? 1 : 15) {
        for (int skipped = 0; skipped <= 8; skipped = 2 * skipped + 1 + skipped % 2) {
            const int shape[] = {ROWS, length + skipped};
            mlx_array all = make_data(MLX_UINT8, shape, 2), rows = mlx_array_new();
            mlx_array indices = make_indices(MLX_INT16, (int[]){9}, 1, ROWS, ROWS);
            mlx_slice(&rows, all, (int[]){0, skipped}, 2, shape, 2, (int[]){1, 1}, 2, gpu);
            compare(&operations[0], rows, indices);
            mlx_array_free(all), mlx_array_free(rows), mlx_array_free(indices);
        }
    }
}

static void repeated_indices_and_empty_data(void **state)
{
    (void)state;
    const int none[] = {ROWS, 0};
    mlx_array data = make_data(MLX_FLOAT32, whole, 3), empty = make_data(MLX_FLOAT32, none, 2);
    mlx_array one = make_indices(MLX_INT32, (int[]){1}, 1, ROWS, ROWS), many = mlx_array_new();
    CHECK_EQ(mlx_broadcast_to(&many, one, (int[]){4, 6}, 2, gpu), 0);
    compare(&operations[0], data, many);
    compare(&operations[0], empty, many);
    mlx_array_free(data), mlx_array_free(empty), mlx_array_free(one), mlx_array_free(many);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static void fail_alike(const struct operation *operation, mlx_array data, mlx_array indices)
{
    CHECK_CONTEXT("%s, dtypes %d and %d", operation->name, (int)mlx_array_dtype(data), (int)mlx_array_dtype(indices));
    char want[sizeof error_text];
    mlx_array res = mlx_array_new();
    CHECK_EQ(operation->call(&res, data, indices, operation, cpu), 0);
    CHECK_EQ(mlx_array_eval(res), 1);
    strcpy(want, error_text);
    expect_error("is out of range");
    uint64_t before = gpu_counters().launches;
    for (int again = 0; again < 2; again++) {
        CHECK_EQ(operation->call(&res, data, indices, operation, gpu), 0);
        CHECK_EQ(mlx_array_eval(res), 1);
        CHECK_STR(error_text, want);
        expect_error("is out of range");
    }
    CHECK_EQ(gpu_counters().launches, before); /* nothing was read */
    mlx_array_free(res);
}
#define fail_alike(...) CHECK_CALL(fail_alike, __VA_ARGS__)

static void errors_are_those_of_the_cpu(void **state)
{
    (void)state;
    static const int64_t values[] = {-13, -8, -6, 4, 5, 7, 11, 12, 100};
    mlx_array data = make_data(MLX_FLOAT16, whole, 3);
    for (int i = 0; i < OPERATIONS; i++) {
        const struct operation *operation = &operations[i];
        size_t count = size_of(operation->shape, operation->ndim);
        int size = whole[operation->axis];
        for (size_t v = 0; count && v < sizeof values / sizeof *values; v++) {
            if (values[v] >= -size && values[v] < operation->below) continue;
            int64_t *numbers = calloc(count, sizeof *numbers);
            numbers[count / 2] = values[v];
            mlx_array here = mlx_array_new_data(numbers, operation->shape, operation->ndim, MLX_INT64);
            mlx_array there = mlx_array_new(), zero = mlx_array_new_int(0);
            free(numbers);
            fail_alike(operation, data, here);
            CHECK_EQ(mlx_add(&there, here, zero, gpu), 0); /* made by the GPU, when the check asks for it */
            CHECK_EQ(mlx_array_eval(there), 0);
            fail_alike(operation, data, there);
            mlx_array_free(here), mlx_array_free(there), mlx_array_free(zero);
        }
    }
    const uint64_t huge = UINT64_MAX;
    mlx_array most = mlx_array_new_data(&huge, NULL, 0, MLX_UINT64);
    fail_alike(&operations[0], data, most);
    mlx_array_free(data), mlx_array_free(most);
}

static void an_empty_axis_has_no_index(void **state)
{
    (void)state;
    const int none[] = {0, 4};
    mlx_array data = make_data(MLX_FLOAT32, none, 2), zero = mlx_array_new_int(0);
    fail_alike(&operations[0], data, zero);
    mlx_array_free(data), mlx_array_free(zero);
}

/* ---- what is copied --------------------------------------------------------------------------------------------- */

enum { TABLE = 4096, TOKENS = 4 };

/* Rows that only the GPU has. */
static mlx_array make_table(void)
{
    mlx_array rows = make_rows(TABLE, 3), one = mlx_array_new_float(1), res = mlx_array_new();
    CHECK_EQ(mlx_add(&res, rows, one, gpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    mlx_array_free(rows), mlx_array_free(one);
    return res;
}

static mlx_array make_tokens(int first)
{
    const int tokens[TOKENS] = {first, TABLE - 1, 17, -TABLE}, shape[] = {TOKENS};
    return mlx_array_new_data(tokens, shape, 1, MLX_INT32);
}

static void expect_rows(mlx_array res, int first)
{
    const int rows[TOKENS] = {first, TABLE - 1, 17, 0};
    const float *data = mlx_array_data_float32(res);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < TOKENS * COLUMNS; i++)
        CHECK_EQ(data[i], number_at(rows[i / COLUMNS] * COLUMNS + i % COLUMNS, 3) + 1);
}
#define expect_rows(...) CHECK_CALL(expect_rows, __VA_ARGS__)

static void the_data_stays(void **state)
{
    (void)state;
    mlx_array table = make_table(), tokens = make_tokens(5), res = mlx_array_new();
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(mlx_take_axis(&res, table, tokens, 0, gpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.bytes_to_device - before.bytes_to_device, TOKENS * sizeof(int));
    CHECK_EQ(now.bytes_to_host, before.bytes_to_host);
    CHECK_EQ(now.launches - before.launches, 1);
    CHECK_EQ(now.host_operations, before.host_operations);
    expect_rows(res, 5);
    mlx_array_free(table), mlx_array_free(tokens), mlx_array_free(res);
}

/* Nobody waits for the addition that makes them. */
static void indices_of_the_gpu_stay(void **state)
{
    (void)state;
    mlx_array table = make_table(), tokens = make_tokens(5), zero = mlx_array_new_int(0);
    mlx_array sum = mlx_array_new(), res = mlx_array_new();
    CHECK_EQ(mlx_add(&sum, tokens, zero, gpu), 0);
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(mlx_take_axis(&res, table, sum, 0, gpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.bytes_to_host, before.bytes_to_host);
    CHECK_EQ(now.host_operations, before.host_operations);
    expect_rows(res, 5);
    mlx_array_free(table), mlx_array_free(tokens), mlx_array_free(zero), mlx_array_free(sum), mlx_array_free(res);
}

/* A few indices of many: forwards, backwards, every third, and one of them repeated. */
static void a_view_of_indices_stays(void **state)
{
    (void)state;
    enum { MANY = 1 << 16 };
    static const int cuts[][3] = {{100, 104, 1}, {103, 99, -1}, {100, 110, 3}, {100, 101, 1}};
    int *numbers = malloc(MANY * sizeof *numbers);
    for (int i = 0; i < MANY; i++) numbers[i] = i % TABLE;
    mlx_array table = make_table(), host = mlx_array_new_data(numbers, (int[]){MANY}, 1, MLX_INT32);
    mlx_array zero = mlx_array_new_int(0), all = mlx_array_new();
    free(numbers);
    CHECK_EQ(mlx_add(&all, host, zero, gpu), 0);
    for (int i = 0; i < 4; i++) {
        mlx_array few = mlx_array_new(), res = mlx_array_new();
        CHECK_EQ(mlx_slice(&few, all, &cuts[i][0], 1, &cuts[i][1], 1, &cuts[i][2], 1, gpu), 0);
        if (i == 3) CHECK_EQ(mlx_broadcast_to(&few, few, (int[]){5, 4}, 2, gpu), 0);
        uint64_t before = gpu_counters().bytes_to_host;
        CHECK_EQ(mlx_take_axis(&res, table, few, 0, gpu), 0);
        CHECK_EQ(mlx_array_eval(res), 0);
        CHECK_EQ(gpu_counters().bytes_to_host, before);
        const float *data = mlx_array_data_float32(res);
        for (size_t k = 0; k < mlx_array_size(res); k++) {
            int row = i == 3 ? 100 : cuts[i][0] + (int)(k / COLUMNS) * cuts[i][2];
            CHECK_EQ(data[k], number_at(row * COLUMNS + (int)(k % COLUMNS), 3) + 1);
        }
        mlx_array_free(few), mlx_array_free(res);
    }
    mlx_array_free(table), mlx_array_free(host), mlx_array_free(zero), mlx_array_free(all);
}

/* A row of the table, by an index that the GPU makes; not evaluated. */
static mlx_array row_at(mlx_array table, int index)
{
    mlx_array at = mlx_array_new_int(index), zero = mlx_array_new_int(0), res = mlx_array_new();
    CHECK_EQ(mlx_add(&at, at, zero, gpu) || mlx_take_axis(&res, table, at, 0, gpu), 0);
    mlx_array_free(at), mlx_array_free(zero);
    return res;
}

/* What reads results next has the error, whatever it reads; then all is as if nothing had been. */
static void the_next_read_reports(void **state)
{
    (void)state;
    static const char text[] = "[take] Index 4096 is out of range for an axis of size 4096: expected -4096 to 4095.";
    mlx_array table = make_table(), one = mlx_array_new_float(1), other = mlx_array_new(), copy = mlx_array_new();
    for (int way = 0; way < 3; way++) {
        mlx_array bad = row_at(table, TABLE);
        mlx_vector_array list = mlx_vector_array_new_value(bad);
        CHECK_EQ(mlx_add(&other, table, one, gpu), 0);
        CHECK_EQ(mlx_array_eval(other), 0);
        CHECK_EQ(mlx_async_eval(list), 0);
        mlx_array good = row_at(table, 7); /* in the same place of the program */
        if (way == 0) CHECK_EQ(mlx_synchronize(gpu), 1);
        if (way == 1) CHECK_EQ(mlx_array_eval(bad), 1);
        if (way == 2) {
            mlx_eval(list);
            expect_error(text);
            CHECK_EQ(mlx_add(&copy, bad, one, gpu) || mlx_array_eval(copy), 0);             /* told once */
            for (int i = 0; i < COLUMNS; i++) CHECK_EQ(mlx_array_data_float32(copy)[i], 1); /* what was read is 0 */
        } else {
            expect_error(text);
        }
        CHECK_EQ(mlx_array_eval(good), 0);
        for (int i = 0; i < COLUMNS; i++) CHECK_EQ(mlx_array_data_float32(good)[i], number_at(7 * COLUMNS + i, 3) + 1);
        expect_no_error();
        mlx_array_free(bad), mlx_array_free(good), mlx_vector_array_free(list);
    }
    mlx_array_free(table), mlx_array_free(one), mlx_array_free(other), mlx_array_free(copy);
}

/* Reports need memory of the driver's, made with the first launch that may report: this test is the first. */
static void a_device_without_room_for_reports(void **state)
{
    (void)state;
    mlx_array table = make_table(), row = row_at(table, 3);
    setenv("KILN_TEST_CUDA_FAIL", "host_new:1+", 1);
    CHECK_EQ(mlx_array_eval(row), 1);
    expect_error("memory for the reports of a GPU can't be allocated");
    unsetenv("KILN_TEST_CUDA_FAIL");
    CHECK_EQ(mlx_array_eval(row), 0);
    CHECK_EQ(mlx_array_data_float32(row)[1], number_at(3 * COLUMNS + 1, 3) + 1);
    mlx_array_free(table), mlx_array_free(row);
}

/* ---- compiled --------------------------------------------------------------------------------------------------- */

static mlx_array captured;

static int embed(mlx_array *res, const mlx_array tokens, void *unused)
{
    (void)unused;
    return mlx_take_axis(res, captured, tokens, 0, gpu) || mlx_add(res, *res, *res, gpu) ||
           mlx_subtract(res, *res, captured, gpu);
}

/* The same, but that the function makes its indices. */
static int embed_next(mlx_array *res, const mlx_array tokens, void *unused)
{
    mlx_array one = mlx_array_new_int(1), next = mlx_array_new();
    int code = mlx_add(&next, tokens, one, gpu) || embed(res, next, unused);
    mlx_array_free(one), mlx_array_free(next);
    return code;
}

static mlx_closure compile(int (*function)(mlx_array *, const mlx_array, void *))
{
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile_unary(&compiled, "embed", function, NULL, NULL, false), 0);
    return compiled;
}

static mlx_array make_captured(void)
{
    mlx_array one = make_rows(TOKENS, 9), zero = mlx_array_new_float(0), res = mlx_array_new();
    CHECK_EQ(mlx_add(&res, one, zero, gpu), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    mlx_array_free(one), mlx_array_free(zero);
    return res;
}

static mlx_array make_few(int a, int b)
{
    const int tokens[TOKENS] = {a, b, 0, -1}, shape[] = {TOKENS};
    return mlx_array_new_data(tokens, shape, 1, MLX_INT32);
}

static void expect_embedded(mlx_array res, int a, int b)
{
    const int rows[TOKENS] = {a, b, 0, TOKENS - 1};
    const float *data = mlx_array_data_float32(res);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < TOKENS * COLUMNS; i++)
        CHECK_EQ(data[i], 2 * number_at(rows[i / COLUMNS] * COLUMNS + i % COLUMNS, 9) - number_at(i, 9));
}
#define expect_embedded(...) CHECK_CALL(expect_embedded, __VA_ARGS__)

/* Neither indices of the host nor those that the function makes end a list of launches: the call is one graph. */
static void check_replays(bool makes)
{
    captured = make_captured();
    mlx_closure compiled = compile(makes ? embed_next : embed);
    kiln_gpu_counters before = {0}, now;
    for (int i = 0; i < 18; i++) {
        const int numbers[] = {i % TOKENS - 1, 2, -1, TOKENS - 2}, shape[] = {TOKENS};
        if (i == 8) before = gpu_counters();
        mlx_array tokens = makes ? mlx_array_new_data(numbers, shape, 1, MLX_INT32) : make_few(i % TOKENS, 3);
        mlx_array res = mlx_array_new();
        CHECK_EQ(kiln_call_unary(&res, compiled, tokens), 0);
        CHECK_EQ(mlx_array_eval(res), 0);
        expect_embedded(res, i % TOKENS, 3);
        mlx_array_free(tokens), mlx_array_free(res);
    }
    now = gpu_counters();
    CHECK_EQ(now.replays - before.replays, 10);
    CHECK_EQ(now.launches, before.launches);
    CHECK_EQ(now.bytes_to_host - before.bytes_to_host, 10 * TOKENS * COLUMNS * sizeof(float)); /* results */
    CHECK_EQ(now.host_operations, before.host_operations);
    CHECK_EQ(now.graphs, before.graphs);
    mlx_array_free(captured), mlx_closure_free(compiled);
}
#define check_replays(...) CHECK_CALL(check_replays, __VA_ARGS__)

static void calls_with_indices_are_replayed(void **state)
{
    (void)state;
    check_replays(false);
    check_replays(true);
}

static mlx_array captured_tokens;

static int pick(mlx_array *res, const mlx_array rows, void *unused)
{
    (void)unused;
    return mlx_take_axis(res, rows, captured_tokens, 0, gpu);
}

static void captured_indices_are_read_on_the_host(void **state)
{
    (void)state;
    mlx_array rows = make_captured(), res = mlx_array_new();
    captured_tokens = make_few(2, 1);
    mlx_closure compiled = compile(pick);
    kiln_gpu_counters before = gpu_counters();
    CHECK_EQ(kiln_call_unary(&res, compiled, rows), 0);
    CHECK_EQ(mlx_array_eval(res), 0);
    CHECK_EQ(gpu_counters().bytes_to_host, before.bytes_to_host);
    CHECK_EQ(mlx_array_data_float32(res)[COLUMNS], number_at(COLUMNS, 9));
    mlx_array_free(rows), mlx_array_free(res), mlx_array_free(captured_tokens), mlx_closure_free(compiled);
}

/* Tokens lie where others lay before, so that all launches are those of a graph; their values are looked at again. */
static void replayed_calls_check(void **state)
{
    (void)state;
    for (int within = 0; within < 2; within++) {
        captured = make_captured();
        mlx_closure compiled = compile(within ? embed_next : embed);
        for (int i = 0; i < 24; i++) {
            bool is_bad = i % 6 == 5;
            int a = is_bad ? TOKENS : i % TOKENS, b = (i + 1) % TOKENS;
            const int tokens[] = {a - within, b - within, 0 - within, TOKENS - 1 - within}, shape[] = {TOKENS};
            mlx_array given = mlx_array_new_data(tokens, shape, 1, MLX_INT32), res = mlx_array_new();
            int code = kiln_call_unary(&res, compiled, given) || mlx_array_eval(res);
            CHECK_EQ(code, is_bad);
            if (is_bad)
                expect_error("[take] Index 4 is out of range for an axis of size 4: expected -4 to 3.");
            else
                expect_embedded(res, a, b);
            mlx_array_free(given), mlx_array_free(res);
        }
        mlx_array_free(captured), mlx_closure_free(compiled);
    }
}

/* A step that reads indices which a step before it makes, and one that writes what was read. */
static int update(mlx_array *res, const mlx_array tokens, void *unused)
{
    mlx_array rows = mlx_array_new();
    int code =
        embed_next(&rows, tokens, unused) ||
        mlx_slice_update(res, captured, rows, (int[]){0, 0}, 2, (int[]){TOKENS, COLUMNS}, 2, (int[]){1, 1}, 2, gpu) ||
        mlx_add(res, *res, *res, gpu);
    mlx_array_free(rows);
    return code;
}

static void steps_before_and_after(void **state)
{
    (void)state;
    captured = make_captured();
    mlx_closure compiled = compile(update);
    for (int i = 0; i < 6; i++) {
        const int tokens[] = {i % 3, 1, -1, 2}, shape[] = {TOKENS};
        mlx_array given = mlx_array_new_data(tokens, shape, 1, MLX_INT32), res = mlx_array_new();
        uint64_t before = gpu_counters().host_operations;
        CHECK_EQ(kiln_call_unary(&res, compiled, given), 0);
        CHECK_EQ(mlx_array_eval(res), 0);
        CHECK_EQ(gpu_counters().host_operations, before);
        const float *data = mlx_array_data_float32(res);
        for (int k = 0; k < TOKENS * COLUMNS; k++) {
            float row = number_at((tokens[k / COLUMNS] + 1) * COLUMNS + k % COLUMNS, 9);
            CHECK_EQ(data[k], 2 * (2 * row - number_at(k, 9)));
        }
        mlx_array_free(given), mlx_array_free(res);
    }
    mlx_array_free(captured), mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_device_without_room_for_reports, set_up),
        cmocka_unit_test_setup(every_dtype_and_index, set_up),
        cmocka_unit_test_setup(every_layout, set_up),
        cmocka_unit_test_setup(rows_of_all_lengths, set_up),
        cmocka_unit_test_setup(repeated_indices_and_empty_data, set_up),
        cmocka_unit_test_setup(errors_are_those_of_the_cpu, set_up),
        cmocka_unit_test_setup(an_empty_axis_has_no_index, set_up),
        cmocka_unit_test_setup(the_data_stays, set_up),
        cmocka_unit_test_setup(indices_of_the_gpu_stay, set_up),
        cmocka_unit_test_setup(a_view_of_indices_stays, set_up),
        cmocka_unit_test_setup(the_next_read_reports, set_up),
        cmocka_unit_test_setup(calls_with_indices_are_replayed, set_up),
        cmocka_unit_test_setup(captured_indices_are_read_on_the_host, set_up),
        cmocka_unit_test_setup(replayed_calls_check, set_up),
        cmocka_unit_test_setup(steps_before_and_after, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
