/*
 * agree.c - the same operations on the CPU and on the GPU give the same bits.
 *
 * Each case makes arrays from fixed pseudo-random bytes, applies one operation or a compiled function on each device,
 * and compares all bytes. Skips with a line when there is no GPU. Matrix products are held to a tolerance: the
 * libraries order their sums differently. KILN_TEST_EVERY=n takes one case in n, for the emulated driver.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "kiln/compile.h"

mlx_stream cpu, gpu;
static mlx_stream stream; /* what the case under test uses */
static int cases, failures;

bool is_left_out(void)
{
    static unsigned long every, seen;
    if (!every) every = getenv("KILN_TEST_EVERY") ? strtoul(getenv("KILN_TEST_EVERY"), NULL, 10) : 1;
    return every > 1 && seen++ % every != 0;
}

const char *const dtype_names[] = {"bool",  "uint8", "uint16",  "uint32",  "uint64",  "int8",     "int16",
                                   "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"};

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;

uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

mlx_array make(mlx_dtype dtype, const int *shape, int ndim)
{
    size_t size = 1;
    mlx_array wide, res = mlx_array_new();
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    float *data = malloc((size + 1) * sizeof *data);
    for (size_t i = 0; i < size; i++) {
        uint64_t r = next_random();
        data[i] = (float)((int64_t)(r % 16001) - 8000) / 1000.0f;
        if (r % 97 == 0) data[i] = 0.0f;
        if (r % 193 == 0 && dtype >= MLX_FLOAT16) data[i] = r & 1024 ? INFINITY : NAN;
    }
    wide = mlx_array_new_data(data, shape, ndim, MLX_FLOAT32);
    mlx_astype(&res, wide, dtype, cpu);
    mlx_array_eval(res);
    mlx_array_free(wide);
    free(data);
    return res;
}

static const void *bytes_of(mlx_array a)
{
    return mlx_array_data_uint8(a);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static mlx_array packed(mlx_array a)
{
    mlx_array res = mlx_array_new();
    mlx_contiguous(&res, a, false, stream);
    mlx_array_eval(res);
    return res;
}

void compare(const char *what, mlx_array on_cpu, mlx_array on_gpu)
{
    stream = cpu;
    mlx_array a = packed(on_cpu);
    stream = gpu;
    mlx_array b = packed(on_gpu);
    size_t size = mlx_array_nbytes(a), item = mlx_array_itemsize(a);
    const unsigned char *x = bytes_of(a), *y = bytes_of(b);
    cases++;
    if (mlx_array_nbytes(b) != size || mlx_array_dtype(a) != mlx_array_dtype(b)) {
        printf("FAIL %s: other shape or dtype\n", what);
        failures++;
    } else if (size && (!x || !y || memcmp(x, y, size) != 0)) {
        size_t at = 0, different = 0, first = 0;
        for (; x && y && at < size; at += item)
            if (memcmp(x + at, y + at, item) && !different++) first = at;
        printf("FAIL %s: %zu of %zu elements differ, first %zu: cpu", what, different, size / item, first / item);
        for (size_t i = item; y && i-- > 0;) printf(" %02x", x[first + i]);
        printf(" gpu");
        for (size_t i = item; y && i-- > 0;) printf(" %02x", y[first + i]);
        printf("\n");
        failures++;
    }
    mlx_array_free(a), mlx_array_free(b);
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

typedef int (*unary)(mlx_array *, const mlx_array, const mlx_stream);
typedef int (*binary)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);

#define ROW(name) {#name, mlx_##name}
static const struct {
    const char *name;
    unary call;
} unaries[] = {ROW(abs),     ROW(negative),   ROW(square), ROW(sqrt),   ROW(rsqrt),      ROW(exp),    ROW(expm1),
               ROW(log),     ROW(log2),       ROW(log10),  ROW(log1p),  ROW(sin),        ROW(cos),    ROW(tan),
               ROW(sinh),    ROW(cosh),       ROW(tanh),   ROW(arcsin), ROW(arccos),     ROW(arctan), ROW(arcsinh),
               ROW(arccosh), ROW(arctanh),    ROW(erf),    ROW(erfinv), ROW(sigmoid),    ROW(floor),  ROW(ceil),
               ROW(sign),    ROW(reciprocal), ROW(isnan),  ROW(isinf),  ROW(logical_not)};
static const struct {
    const char *name;
    binary call;
} binaries[] = {ROW(add),       ROW(subtract), ROW(multiply),     ROW(divide),   ROW(maximum),
                ROW(minimum),   ROW(power),    ROW(equal),        ROW(less),     ROW(greater_equal),
                ROW(logaddexp), ROW(arctan2),  ROW(floor_divide), ROW(remainder)};
#undef ROW

static bool quiet;

static void ignore(const char *text, void *data)
{
    (void)data;
    if (!quiet) printf("error: %s\n", text);
}

static void check_unaries(mlx_dtype dtype)
{
    const int shape[] = {37, 29};
    mlx_array in = make(dtype, shape, 2);
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        if (is_left_out()) continue;
        char what[80];
        mlx_array a = mlx_array_new(), b = mlx_array_new();
        quiet = true; /* not every operation knows every dtype */
        int code = unaries[i].call(&a, in, cpu);
        quiet = false;
        snprintf(what, sizeof what, "%s(%s)", unaries[i].name, dtype_names[dtype]);
        if (!code && !unaries[i].call(&b, in, gpu)) compare(what, a, b);
        mlx_array_free(a), mlx_array_free(b);
    }
    mlx_array_free(in);
}

static void check_binaries(mlx_dtype dtype)
{
    const int shape[] = {17, 64}, row[] = {64}, column[] = {17, 1}, flipped[] = {64, 17};
    mlx_array whole = make(dtype, shape, 2), turned = mlx_array_new(), wide = make(dtype, flipped, 2);
    mlx_transpose(&turned, wide, cpu);
    mlx_array others[] = {make(dtype, shape, 2), make(dtype, row, 1), make(dtype, column, 2), make(dtype, NULL, 0),
                          turned};
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        for (size_t k = 0; k < 5; k++) {
            if (is_left_out()) continue;
            char what[80];
            mlx_array a = mlx_array_new(), b = mlx_array_new();
            quiet = true;
            int code = binaries[i].call(&a, whole, others[k], cpu);
            quiet = false;
            snprintf(what, sizeof what, "%s(%s), layout %zu", binaries[i].name, dtype_names[dtype], k);
            if (!code && !binaries[i].call(&b, whole, others[k], gpu)) compare(what, a, b);
            mlx_array_free(a), mlx_array_free(b);
        }
    }
    for (size_t k = 0; k < 5; k++) mlx_array_free(others[k]);
    mlx_array_free(whole), mlx_array_free(wide);
}

/* Every 16-bit float through every operation: what is computed in a shorter way, or two at a time, rounds the same. */
static void check_all_inputs(mlx_dtype dtype)
{
    enum { COUNT = 1 << 16 };
    static uint16_t bits[2][COUNT];
    const int shape[] = {COUNT};
    for (uint32_t i = 0; i < COUNT; i++) bits[0][i] = (uint16_t)i, bits[1][i] = (uint16_t)(i * 40503u + 12345u);
    mlx_array x = mlx_array_new_data(bits[0], shape, 1, dtype), y = mlx_array_new_data(bits[1], shape, 1, dtype);
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries + sizeof binaries / sizeof *binaries; i++) {
        if (is_left_out()) continue;
        char what[80];
        mlx_array a = mlx_array_new(), b = mlx_array_new();
        size_t k = i - sizeof unaries / sizeof *unaries;
        bool is_unary = i < sizeof unaries / sizeof *unaries;
        snprintf(what, sizeof what, "%s(every %s)", is_unary ? unaries[i].name : binaries[k].name, dtype_names[dtype]);
        int code = is_unary ? unaries[i].call(&a, x, cpu) || unaries[i].call(&b, x, gpu)
                            : binaries[k].call(&a, x, y, cpu) || binaries[k].call(&b, x, y, gpu);
        if (!code) compare(what, a, b);
        mlx_array_free(a), mlx_array_free(b);
    }
    mlx_array_free(x), mlx_array_free(y);
}

static void check_casts(mlx_dtype dtype)
{
    const int shape[] = {1001};
    mlx_array in = make(dtype, shape, 1);
    for (int to = MLX_BOOL; to <= MLX_COMPLEX64; to++) {
        if (is_left_out()) continue;
        char what[80];
        mlx_array a = mlx_array_new(), b = mlx_array_new();
        snprintf(what, sizeof what, "%s to %s", dtype_names[dtype], dtype_names[to]);
        if (!mlx_astype(&a, in, (mlx_dtype)to, cpu) && !mlx_astype(&b, in, (mlx_dtype)to, gpu)) compare(what, a, b);
        mlx_array_free(a), mlx_array_free(b);
    }
    mlx_array_free(in);
}

/* ---- reductions ---------------------------------------------------------------------------------------------------
 */

typedef int (*reduction)(mlx_array *, const mlx_array, int, bool, const mlx_stream);

static void check_reductions(mlx_dtype dtype)
{
    static const int shapes[][2] = {{3, 1},    {5, 17},    {300, 1000}, {7, 1025},
                                    {2, 5000}, {1500, 40}, {1, 70000},  {200, 3000}};
#define ROW(name) {#name, mlx_##name##_axis}
    static const struct {
        const char *name;
        reduction call;
    } reductions[] = {ROW(sum), ROW(prod), ROW(max), ROW(min), ROW(all), ROW(any), ROW(mean), ROW(logsumexp)};
#undef ROW
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        mlx_array in = make(dtype, shapes[s], 2);
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
            for (int axis = 0; axis < 2; axis++) {
                if (is_left_out()) continue;
                char what[100];
                mlx_array a = mlx_array_new(), b = mlx_array_new();
                quiet = true;
                int code = reductions[i].call(&a, in, axis, axis == 0, cpu);
                quiet = false;
                snprintf(what, sizeof what, "%s(%s %d x %d, axis %d)", reductions[i].name, dtype_names[dtype],
                         shapes[s][0], shapes[s][1], axis);
                if (!code && !reductions[i].call(&b, in, axis, axis == 0, gpu)) compare(what, a, b);
                mlx_array_free(a), mlx_array_free(b);
            }
        }
        mlx_array_free(in);
    }
}

/* ---- compiled functions -------------------------------------------------------------------------------------------
 */

static int swiglu(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    return mlx_sigmoid(res, x, stream) || mlx_multiply(res, x, *res, stream) || mlx_multiply(res, *res, y, stream);
}

/* x (1 + erf(x)) y, with a constant of the dtype */
static int gelu(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    mlx_array number = mlx_array_new_float(1), one = mlx_array_new();
    int code = mlx_astype(&one, number, mlx_array_dtype(x), stream) || mlx_erf(res, x, stream) ||
               mlx_add(res, *res, one, stream) || mlx_multiply(res, x, *res, stream) ||
               mlx_multiply(res, *res, y, stream);
    mlx_array_free(number), mlx_array_free(one);
    return code;
}

static int softmax(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    mlx_array top = mlx_array_new(), sum = mlx_array_new(), scaled = mlx_array_new();
    int code = mlx_multiply(&scaled, x, y, stream) || mlx_max_axis(&top, scaled, -1, true, stream) ||
               mlx_subtract(res, scaled, top, stream) || mlx_exp(res, *res, stream) ||
               mlx_sum_axis(&sum, *res, -1, true, stream) || mlx_divide(res, *res, sum, stream);
    mlx_array_free(top), mlx_array_free(sum), mlx_array_free(scaled);
    return code;
}

static int norm(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    mlx_array mean = mlx_array_new(), eps = mlx_array_new_float(1e-5f);
    int code = mlx_square(res, x, stream) || mlx_mean_axis(&mean, *res, -1, true, stream) ||
               mlx_add(&mean, mean, eps, stream) || mlx_rsqrt(&mean, mean, stream) ||
               mlx_multiply(res, x, mean, stream) || mlx_multiply(res, *res, y, stream);
    mlx_array_free(mean), mlx_array_free(eps);
    return code;
}

/* Several kernels, so that a replay comes in: each sum along the first axis ends one. */
static int chain(mlx_array *res, const mlx_array x, const mlx_array y, void *unused)
{
    (void)unused;
    mlx_array sum = mlx_array_new();
    int code = mlx_multiply(res, x, y, stream);
    for (int i = 0; i < 3 && !code; i++)
        code = mlx_max_axis(&sum, *res, 0, true, stream) || mlx_subtract(res, *res, sum, stream) ||
               mlx_tanh(res, *res, stream) || mlx_add(res, *res, y, stream);
    mlx_array_free(sum);
    return code;
}

static void check_compiled(void)
{
    static const struct {
        const char *name;
        int (*call)(mlx_array *, const mlx_array, const mlx_array, void *);
    } functions[] = {{"swiglu", swiglu}, {"gelu", gelu}, {"softmax", softmax}, {"norm", norm}, {"chain", chain}};
    static const int shapes[][2] = {{4, 33}, {64, 1024}, {10, 1030}, {100, 4096}, {3, 20000}};
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT64};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (size_t d = 0; d < 4; d++) {
            mlx_closure on_cpu = mlx_closure_new(), on_gpu = mlx_closure_new();
            kiln_compile_binary(&on_cpu, functions[f].name, functions[f].call, NULL, NULL, false);
            kiln_compile_binary(&on_gpu, functions[f].name, functions[f].call, NULL, NULL, false);
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                if (is_left_out()) continue;
                mlx_array x = make(dtypes[d], shapes[s], 2), y = make(dtypes[d], shapes[s], 2);
                for (int again = 0; again < 4; again++) {
                    char what[100];
                    mlx_array a = mlx_array_new(), b = mlx_array_new();
                    snprintf(what, sizeof what, "compiled %s(%s %d x %d), call %d", functions[f].name,
                             dtype_names[dtypes[d]], shapes[s][0], shapes[s][1], again);
                    stream = cpu;
                    int code = kiln_call_binary(&a, on_cpu, x, y);
                    stream = gpu;
                    if (!code && !kiln_call_binary(&b, on_gpu, x, y)) compare(what, a, b);
                    mlx_array_free(a), mlx_array_free(b);
                }
                mlx_array_free(x), mlx_array_free(y);
            }
            mlx_closure_free(on_cpu), mlx_closure_free(on_gpu);
        }
    }
}

/* ---- layouts, and what runs elsewhere ------------------------------------------------------------------------------
 */

static int turn(mlx_array *res, mlx_array x)
{
    const int axes[] = {2, 0, 1};
    return mlx_transpose_axes(res, x, axes, 3, stream) || mlx_contiguous(res, *res, false, stream);
}

static int cut(mlx_array *res, mlx_array x)
{
    const int start[] = {1, 0, -1}, stop[] = {9, 40, -100}, step[] = {2, 3, -2};
    return mlx_slice(res, x, start, 3, stop, 3, step, 3, stream) || mlx_add(res, *res, *res, stream);
}

static int reshape(mlx_array *res, mlx_array x)
{
    const int shape[] = {-1, 7};
    mlx_array turned = mlx_array_new();
    int code = mlx_transpose(&turned, x, stream) || mlx_reshape(res, turned, shape, 2, stream);
    mlx_array_free(turned);
    return code;
}

static int join(mlx_array *res, mlx_array x)
{
    const mlx_array both[] = {x, x};
    mlx_vector_array list = mlx_vector_array_new_data(both, 2);
    int code = mlx_concatenate_axis(res, list, 1, stream);
    mlx_vector_array_free(list);
    return code;
}

static int ordered(mlx_array *res, mlx_array x)
{
    return mlx_sort_axis(res, x, -1, stream) || mlx_cumsum(res, *res, 1, false, true, stream);
}

static void check_others(void)
{
    static const struct {
        const char *name;
        int (*call)(mlx_array *res, mlx_array x);
    } others[] = {
        {"transpose", turn}, {"slice", cut}, {"reshape", reshape}, {"concatenate", join}, {"sort and cumsum", ordered}};
    const int shape[] = {10, 42, 70};
    for (int dtype = MLX_BOOL; dtype <= MLX_COMPLEX64; dtype++) {
        mlx_array x = make((mlx_dtype)dtype, shape, 3);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            if (is_left_out()) continue;
            char what[80];
            mlx_array a = mlx_array_new(), b = mlx_array_new();
            snprintf(what, sizeof what, "%s(%s)", others[i].name, dtype_names[dtype]);
            quiet = true;
            stream = cpu;
            int code = others[i].call(&a, x);
            quiet = false;
            stream = gpu;
            if (!code && !others[i].call(&b, x)) compare(what, a, b);
            mlx_array_free(a), mlx_array_free(b);
        }
        mlx_array_free(x);
    }
}

/* ---- through indices ----------------------------------------------------------------------------------------------
 */

/* From -n to n - 1, or from 0 where they have no sign. */
static mlx_array make_indices(mlx_dtype dtype, const int *shape, int ndim, int n)
{
    size_t size = 1;
    mlx_array wide, res = mlx_array_new();
    for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
    int *data = malloc(size * sizeof *data);
    for (size_t i = 0; i < size; i++)
        data[i] = (int)(next_random() % (uint64_t)n) - (dtype >= MLX_INT8 && next_random() % 2 ? n : 0);
    wide = mlx_array_new_data(data, shape, ndim, MLX_INT32);
    mlx_astype(&res, wide, dtype, cpu);
    mlx_array_eval(res);
    mlx_array_free(wide);
    free(data);
    return res;
}

enum { TABLE_ROWS = 50, TABLE_COLUMNS = 96 };

static int take_rows(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    (void)along;
    return mlx_take_axis(res, x, rows, 0, stream);
}

static int take_columns(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    (void)along;
    return mlx_take_axis(res, x, rows, 1, stream);
}

static int take_of_turned(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    (void)along;
    return mlx_transpose(res, x, stream) || mlx_take_axis(res, *res, rows, 1, stream);
}

static int take_from_row_1(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    const int start[] = {0, 1}, stop[] = {TABLE_ROWS, TABLE_COLUMNS}, step[] = {1, 1};
    (void)along;
    return mlx_slice(res, x, start, 2, stop, 2, step, 2, stream) || mlx_take_axis(res, *res, rows, 0, stream);
}

static int take_along(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    (void)rows;
    return mlx_take_along_axis(res, x, along, 0, stream);
}

static int gather(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    const int axes[] = {0, 1}, sizes[] = {1, 1};
    const mlx_array both[] = {rows, rows};
    mlx_vector_array list = mlx_vector_array_new_data(both, 2);
    (void)along;
    int code = mlx_gather(res, x, list, axes, 2, sizes, 2, stream);
    mlx_vector_array_free(list);
    return code;
}

/* One start for each axis, in `rows`; the other rows stay. */
static int slice_from(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    const int start[] = {0, 0}, stop[] = {1, 1}, step[] = {1, 1}, size[] = {2, TABLE_COLUMNS};
    (void)along;
    mlx_array first = mlx_array_new();
    int code = mlx_slice(&first, rows, start, 2, stop, 2, step, 2, stream) ||
               mlx_reshape(&first, first, NULL, 0, stream) || mlx_zeros_like(&first, first, stream) ||
               mlx_slice_dynamic(res, x, first, (int[]){0}, 1, size, 2, stream);
    mlx_array_free(first);
    return code;
}

static int update_from(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along)
{
    const int start[] = {0, 0}, stop[] = {1, 1}, step[] = {1, 1}, size[] = {1, TABLE_COLUMNS};
    (void)along;
    mlx_array first = mlx_array_new(), zero = mlx_array_new(), row = mlx_array_new();
    int code = mlx_slice(&first, rows, start, 2, stop, 2, step, 2, stream) ||
               mlx_reshape(&first, first, (int[]){1}, 1, stream) || mlx_zeros_like(&zero, first, stream) ||
               mlx_slice_dynamic(&row, x, zero, (int[]){0}, 1, size, 2, stream) ||
               mlx_slice_update_dynamic(res, x, row, first, (int[]){0}, 1, stream);
    mlx_array_free(first), mlx_array_free(zero), mlx_array_free(row);
    return code;
}

/* Each twice: with indices of the host, and with `made`, which come out of an operation of the same device. */
static void check_indices(mlx_dtype dtype)
{
#define ROW(name) {#name, name}
    static const struct {
        const char *name;
        int (*call)(mlx_array *res, mlx_array x, mlx_array rows, mlx_array along);
    } reads[] = {ROW(take_rows),  ROW(take_columns), ROW(take_of_turned), ROW(take_from_row_1),
                 ROW(take_along), ROW(gather),       ROW(slice_from),     ROW(update_from)};
#undef ROW
    const int shape[] = {TABLE_ROWS, TABLE_COLUMNS}, few[] = {3, 7}, many[] = {20, TABLE_COLUMNS};
    mlx_array x = make(dtype, shape, 2);
    for (int index = MLX_UINT8; index <= MLX_INT64; index++) {
        mlx_array rows = make_indices((mlx_dtype)index, few, 2, TABLE_ROWS);
        mlx_array along = make_indices((mlx_dtype)index, many, 2, TABLE_ROWS);
        mlx_array zero = make_indices((mlx_dtype)index, NULL, 0, 1);
        mlx_subtract(&zero, zero, zero, cpu);
        for (size_t i = 0; i < 2 * sizeof reads / sizeof *reads; i++) {
            if (is_left_out()) continue;
            char what[100];
            mlx_array res[2] = {mlx_array_new(), mlx_array_new()}, made[2] = {mlx_array_new(), mlx_array_new()};
            int code = 0;
            for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
                stream = on_gpu ? gpu : cpu;
                if (i % 2) code |= mlx_add(&made[0], rows, zero, stream) || mlx_add(&made[1], along, zero, stream);
                code |= reads[i / 2].call(&res[on_gpu], x, i % 2 ? made[0] : rows, i % 2 ? made[1] : along);
            }
            snprintf(what, sizeof what, "%s(%s, %s)%s", reads[i / 2].name, dtype_names[dtype], dtype_names[index],
                     i % 2 ? " with indices of the GPU" : "");
            if (!code) compare(what, res[0], res[1]);
            for (int k = 0; k < 2; k++) mlx_array_free(res[k]), mlx_array_free(made[k]);
        }
        mlx_array_free(rows), mlx_array_free(along), mlx_array_free(zero);
    }
    mlx_array_free(x);
}

/* ---- places -------------------------------------------------------------------------------------------------------
 */

static void check_places(mlx_dtype dtype)
{
    static const int shapes[][2] = {{1, 1}, {5, 17}, {300, 1000}, {2, 2049}, {1, 131072}, {5000, 40}, {1, 1500000}};
    static const reduction searches[] = {mlx_argmin_axis, mlx_argmax_axis};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        mlx_array in = make(dtype, shapes[s], 2), turned = mlx_array_new();
        mlx_transpose(&turned, in, cpu);
        for (int i = 0; i < 8; i++) {
            int axis = i / 2 % 2;
            if (shapes[s][i < 4 ? axis : !axis] < shapes[s][1] / 1000 || is_left_out()) continue; /* rows of one */
            char what[100];
            mlx_array a = mlx_array_new(), b = mlx_array_new();
            int code = searches[i % 2](&a, i < 4 ? in : turned, axis, false, cpu);
            code |= searches[i % 2](&b, i < 4 ? in : turned, axis, false, gpu);
            snprintf(what, sizeof what, "%s(%s %d x %d%s, axis %d)", i % 2 ? "argmax" : "argmin", dtype_names[dtype],
                     shapes[s][0], shapes[s][1], i < 4 ? "" : ", turned", axis);
            if (!code) compare(what, a, b);
            mlx_array_free(a), mlx_array_free(b);
        }
        mlx_array_free(in), mlx_array_free(turned);
    }
}

/* ---- random numbers -----------------------------------------------------------------------------------------------
 */

/* A matrix as float32 on the host; valid as long as *kept. */
static const float *floats_of(mlx_array a, mlx_array *kept)
{
    mlx_astype(kept, a, MLX_FLOAT32, cpu);
    mlx_contiguous(kept, *kept, false, cpu);
    mlx_array_eval(*kept);
    return mlx_array_data_float32(*kept);
}

static bool is_product(const float *l, const float *r, const float *c, int rows, int inner, int columns)
{
    for (int i = 0; i < rows * columns; i++) {
        double sum = 0, size = 1;
        for (int k = 0; k < inner; k++) {
            double term = (double)l[i / columns * inner + k] * (double)r[k * columns + i % columns];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum - (double)c[i]) <= 1e-2 * size)) return false;
    }
    return true;
}

static void check_products(void)
{
    enum { ROWS = 3 * 50, INNER = 64, COLUMNS = 33 };
    const int left[] = {3, 50, INNER}, right[] = {COLUMNS, INNER};
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT64, MLX_FLOAT16, MLX_BFLOAT16};
    for (size_t d = 0; d < 4; d++) {
        mlx_array l = make(dtypes[d], left, 3), r = make(dtypes[d], right, 2), res = mlx_array_new();
        mlx_array kept[3] = {mlx_array_new(), mlx_array_new(), mlx_array_new()};
        mlx_nan_to_num(&l, l, 1, (mlx_optional_float){2, true}, (mlx_optional_float){-2, true}, cpu);
        mlx_nan_to_num(&r, r, 1, (mlx_optional_float){2, true}, (mlx_optional_float){-2, true}, cpu);
        mlx_transpose(&r, r, gpu);
        mlx_matmul(&res, l, r, gpu);
        cases++;
        if (!is_product(floats_of(l, &kept[0]), floats_of(r, &kept[1]), floats_of(res, &kept[2]), ROWS, INNER,
                        COLUMNS)) {
            printf("FAIL matmul(%s)\n", dtype_names[dtypes[d]]);
            failures++;
        }
        mlx_array_free(l), mlx_array_free(r), mlx_array_free(res);
        for (int i = 0; i < 3; i++) mlx_array_free(kept[i]);
    }
}

/* ---- products of few rows, and attention ------------------------------------------------------------------------- */

/* Numbers of at most 2. */
static mlx_array make_tame(mlx_dtype dtype, const int *shape, int ndim)
{
    mlx_array res = make(dtype, shape, ndim);
    mlx_nan_to_num(&res, res, 1, (mlx_optional_float){2, true}, (mlx_optional_float){-2, true}, cpu);
    mlx_array quarter = mlx_array_new_float32(0.25f);
    mlx_astype(&quarter, quarter, dtype, cpu);
    mlx_multiply(&res, res, quarter, cpu);
    mlx_array_eval(res);
    return mlx_array_free(quarter), res;
}

static void expect_product(const char *what, mlx_array l, mlx_array r, mlx_array res, int rows, int inner, int columns)
{
    mlx_array kept[3] = {mlx_array_new(), mlx_array_new(), mlx_array_new()};
    cases++;
    if (!is_product(floats_of(l, &kept[0]), floats_of(r, &kept[1]), floats_of(res, &kept[2]), rows, inner, columns)) {
        printf("FAIL %s, %d rows, %d x %d\n", what, rows, inner, columns);
        failures++;
    }
    for (int i = 0; i < 3; i++) mlx_array_free(kept[i]);
}

static const mlx_dtype tame_dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16};
static const int few_rows[] = {1, 2, 3, 8, 13, 16};

static mlx_array few_right;

static int few_product(mlx_array *res, const mlx_array x, void *unused)
{
    (void)unused;
    return mlx_matmul(res, x, few_right, gpu);
}

/* A product whose weight is transposed, or not; the same bits in a compiled function. */
static void check_few_floats(int rows, mlx_dtype dtype, bool is_transposed)
{
    enum { INNER = 776, COLUMNS = 72 };
    mlx_array l = make_tame(dtype, (int[]){rows, INNER}, 2), res = mlx_array_new(), again = mlx_array_new();
    mlx_closure compiled = mlx_closure_new();
    few_right = make_tame(dtype, is_transposed ? (int[]){COLUMNS, INNER} : (int[]){INNER, COLUMNS}, 2);
    if (is_transposed) mlx_transpose(&few_right, few_right, gpu);
    mlx_matmul(&res, l, few_right, gpu);
    expect_product("matmul of few rows", l, few_right, res, rows, INNER, COLUMNS);
    if (kiln_compile_unary(&compiled, "few", few_product, NULL, NULL, false) || kiln_call_unary(&again, compiled, l))
        failures++;
    compare("matmul of few rows, compiled", res, again);
    mlx_array_free(l), mlx_array_free(few_right), mlx_array_free(res), mlx_array_free(again);
    mlx_closure_free(compiled);
}

static void check_few_codes(int rows, mlx_dtype dtype, const char *mode, int group, int bits, bool is_transposed)
{
    enum { INNER = 512, COLUMNS = 256 };
    const mlx_optional_int groups = {group, true}, widths = {bits, true};
    const mlx_array none = {NULL};
    mlx_vector_array parts = mlx_vector_array_new();
    mlx_array l = make_tame(dtype, (int[]){rows, INNER}, 2), w, part[3] = {mlx_array_new(), mlx_array_new(), none};
    mlx_array res = mlx_array_new(), matrix = mlx_array_new();
    w = make_tame(dtype, is_transposed ? (int[]){COLUMNS, INNER} : (int[]){INNER, COLUMNS}, 2);
    mlx_quantize(&parts, w, groups, widths, mode, none, cpu);
    if (mlx_vector_array_size(parts) > 2) part[2] = mlx_array_new();
    for (size_t i = 0; i < mlx_vector_array_size(parts); i++) mlx_vector_array_get(&part[i], parts, i);
    mlx_quantized_matmul(&res, l, part[0], part[1], part[2], is_transposed, groups, widths, mode, gpu);
    mlx_dequantize(&matrix, part[0], part[1], part[2], groups, widths, mode, none,
                   (mlx_optional_dtype){MLX_FLOAT32, true}, cpu);
    if (is_transposed) mlx_transpose(&matrix, matrix, cpu);
    expect_product(mode, l, matrix, res, rows, INNER, COLUMNS);
    mlx_array_free(l), mlx_array_free(w), mlx_array_free(res), mlx_array_free(matrix);
    for (int i = 0; i < 3; i++)
        if (part[i].ctx) mlx_array_free(part[i]);
    mlx_vector_array_free(parts);
}

static void check_few_rows(void)
{
    static const struct {
        const char *name;
        int group, bits;
    } modes[] = {{"affine", 32, 2}, {"affine", 64, 3}, {"affine", 64, 4}, {"affine", 128, 5}, {"affine", 64, 6},
                 {"affine", 32, 8}, {"mxfp4", 32, 4},  {"mxfp8", 32, 8},  {"nvfp4", 16, 4}};
    for (size_t r = 0; r < sizeof few_rows / sizeof *few_rows; r++)
        for (size_t d = 0; d < 3; d++)
            for (int transposed = 0; transposed < 2; transposed++) {
                if (!is_left_out()) check_few_floats(few_rows[r], tame_dtypes[d], transposed);
                for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
                    if (!is_left_out())
                        check_few_codes(few_rows[r], tame_dtypes[d], modes[m].name, modes[m].group, modes[m].bits,
                                        transposed);
            }
}

/* Within roundings of the dtype of what the CPU gives. */
static void expect_near(const char *what, mlx_array a, mlx_array b, mlx_dtype dtype)
{
    mlx_array kept[2] = {mlx_array_new(), mlx_array_new()};
    const float *x = floats_of(a, &kept[0]), *y = floats_of(b, &kept[1]);
    const float bound = dtype == MLX_FLOAT32 ? 1e-5f : dtype == MLX_FLOAT16 ? 4e-3f : 3e-2f;
    bool is_near = mlx_array_size(a) == mlx_array_size(b);
    for (size_t i = 0; i < mlx_array_size(a) && is_near; i++) is_near = fabsf(x[i] - y[i]) <= bound * (1 + fabsf(y[i]));
    cases++;
    if (!is_near) printf("FAIL %s(%s)\n", what, dtype_names[dtype]), failures++;
    for (int i = 0; i < 2; i++) mlx_array_free(kept[i]);
}

static void check_attention(void)
{
    static const struct {
        int batch, heads, shared, queries, keys, features;
        const char *mode;
    } shapes[] = {{1, 32, 8, 1, 576, 64, ""},        {1, 32, 8, 1, 577, 128, ""},     {2, 8, 2, 1, 1000, 80, "array"},
                  {1, 8, 8, 512, 512, 64, "causal"}, {1, 4, 1, 7, 130, 256, "array"}, {3, 6, 3, 33, 65, 32, "causal"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t d = 0; d < 3; d++) {
            if (is_left_out()) continue;
            const mlx_dtype dtype = tame_dtypes[d];
            const int q[] = {shapes[i].batch, shapes[i].heads, shapes[i].queries, shapes[i].features};
            const int k[] = {shapes[i].batch, shapes[i].shared, shapes[i].keys, shapes[i].features};
            const int m[] = {shapes[i].queries, shapes[i].keys};
            const mlx_array none = {NULL};
            mlx_array x[3] = {make_tame(dtype, q, 4), make_tame(dtype, k, 4), make_tame(dtype, k, 4)};
            mlx_array mask = shapes[i].mode[0] == 'a' ? make_tame(dtype, m, 2) : none, res[2];
            for (int side = 0; side < 2; side++) {
                res[side] = mlx_array_new();
                failures += mlx_fast_scaled_dot_product_attention(&res[side], x[0], x[1], x[2], 0.125f, shapes[i].mode,
                                                                  mask, none, false, side ? gpu : cpu) != 0;
            }
            expect_near("attention", res[1], res[0], dtype);
            for (int side = 0; side < 2; side++) mlx_array_free(res[side]);
            for (int part = 0; part < 3; part++) mlx_array_free(x[part]);
            if (mask.ctx) mlx_array_free(mask);
        }
}

int main(void)
{
    bool available = false;
    mlx_cuda_is_available(&available);
    if (!available) {
        printf("skipped: there is no GPU\n");
        return 77;
    }
    mlx_set_error_handler(ignore, NULL, NULL);
    cpu = mlx_default_cpu_stream_new(), gpu = mlx_default_gpu_stream_new();
    for (int dtype = MLX_BOOL; dtype <= MLX_COMPLEX64; dtype++) {
        check_unaries((mlx_dtype)dtype);
        check_binaries((mlx_dtype)dtype);
        check_casts((mlx_dtype)dtype);
        check_reductions((mlx_dtype)dtype);
        check_indices((mlx_dtype)dtype);
        check_places((mlx_dtype)dtype);
        check_ordered((mlx_dtype)dtype);
    }
    check_all_inputs(MLX_FLOAT16);
    check_all_inputs(MLX_BFLOAT16);
    check_compiled();
    check_others();
    check_random();
    check_products();
    check_few_rows();
    check_attention();
    printf("%d cases, %d failures\n", cases, failures);
    mlx_stream_free(cpu), mlx_stream_free(gpu);
    return failures ? 1 : 0;
}
