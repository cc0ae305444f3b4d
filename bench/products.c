/*
 * products.c - matrix products of a decoder's layers: few rows against the time that reading the weights takes, and a
 * prompt of 64 rows against the speed of OpenBLAS's sgemm at its best.
 *
 * Weights are more than the caches hold, as those of a model are: a row multiplies with all of them, one after the
 * other.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "floors.h"

enum { INNER = 1024, SET_BYTES = 96 << 20, MOST_WEIGHTS = 256, MOST_ROWS = 64, PEAK = 2048, GROUP = 64 };

static const int widths[] = {1024, 2816, 8192};
enum { WIDTHS = sizeof widths / sizeof *widths };

struct kind {
    const char *name, *aim;
    mlx_dtype dtype;
    int bits; /* 0: not quantized */
    int rows;
    bool is_transposed; /* x @ w', with w as (columns, INNER) */
};

struct weight {
    mlx_array w, scales, biases;
};

struct set {
    const struct kind *kind;
    struct weight weights[MOST_WEIGHTS];
    int count, failures;
    double bytes, operations;
    mlx_array x;
};

/* ---- weights ------------------------------------------------------------------------------------------------------
 */

static mlx_array random_floats(int rows, int columns, mlx_dtype dtype)
{
    static uint64_t state = 1;
    const int shape[] = {rows, columns};
    size_t size = (size_t)rows * (size_t)columns;
    float *data = malloc(size * sizeof *data);
    for (size_t i = 0; data && i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(int32_t)(state >> 32) * 0x1p-36f;
    }
    mlx_array wide = mlx_array_new_data(data, shape, 2, MLX_FLOAT32), out = mlx_array_new();
    mlx_astype(&out, wide, dtype, bench_stream());
    mlx_array_eval(out);
    mlx_array_free(wide);
    free(data);
    return out;
}

static void quantize(struct weight *weight, int bits)
{
    mlx_vector_array parts = mlx_vector_array_new();
    mlx_array *out[] = {&weight->w, &weight->scales, &weight->biases};
    mlx_quantize(&parts, weight->w, (mlx_optional_int){GROUP, true}, (mlx_optional_int){bits, true}, "affine",
                 (mlx_array){0}, bench_stream());
    mlx_eval(parts);
    for (size_t i = 0; i < 3; i++) mlx_vector_array_get(out[i], parts, i);
    mlx_vector_array_free(parts);
}

static void set_init(struct set *set, const struct kind *kind)
{
    *set = (struct set){.kind = kind, .x = random_floats(kind->rows, INNER, kind->dtype)};
    while (set->bytes < SET_BYTES && set->count < MOST_WEIGHTS) {
        int width = widths[set->count % WIDTHS];
        struct weight *weight = &set->weights[set->count++];
        weight->w =
            kind->is_transposed ? random_floats(width, INNER, kind->dtype) : random_floats(INNER, width, kind->dtype);
        weight->scales = mlx_array_new();
        weight->biases = mlx_array_new();
        if (kind->bits) quantize(weight, kind->bits);
        set->bytes += (double)mlx_array_nbytes(weight->w);
        if (kind->bits)
            set->bytes += (double)mlx_array_nbytes(weight->scales) + (double)mlx_array_nbytes(weight->biases);
        set->operations += 2.0 * INNER * width * kind->rows;
    }
}

static void set_release(struct set *set)
{
    mlx_array_free(set->x);
    for (int i = 0; i < set->count; i++) {
        mlx_array_free(set->weights[i].w);
        mlx_array_free(set->weights[i].scales);
        mlx_array_free(set->weights[i].biases);
    }
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

static int multiply(mlx_array *out, const struct set *set, const struct weight *weight)
{
    const struct kind *kind = set->kind;
    mlx_stream stream = bench_stream();
    if (kind->bits)
        return mlx_quantized_matmul(out, set->x, weight->w, weight->scales, weight->biases, kind->is_transposed,
                                    (mlx_optional_int){GROUP, true}, (mlx_optional_int){kind->bits, true}, "affine",
                                    stream);
    if (!kind->is_transposed) return mlx_matmul(out, set->x, weight->w, stream);
    mlx_array turned = mlx_array_new();
    int code = mlx_transpose(&turned, weight->w, stream);
    if (!code) code = mlx_matmul(out, set->x, turned, stream);
    mlx_array_free(turned);
    return code;
}

static void run_set(void *ctx)
{
    struct set *set = ctx;
    mlx_vector_array results = mlx_vector_array_new();
    for (int i = 0; i < set->count; i++) {
        mlx_array out = mlx_array_new();
        set->failures += multiply(&out, set, &set->weights[i]) || mlx_vector_array_append_value(results, out);
        mlx_array_free(out);
    }
    set->failures += mlx_eval(results);
    mlx_vector_array_free(results);
}

/* ---- floors -------------------------------------------------------------------------------------------------------
 */

static float *floor_data; /* SET_BYTES and more, read by all floors */

static double floor_bytes;

static bool have_floor_data(double bytes)
{
    if (floor_bytes >= bytes) return true;
    free(floor_data);
    floor_data = new_floats((size_t)(bytes / sizeof(float)) + 64);
    floor_bytes = floor_data ? bytes : 0;
    if (floor_data) memset(floor_data, 0, (size_t)bytes);
    return floor_data;
}

typedef void sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                   int ldb, float beta, float *c, int ldc);

struct peak {
    sgemm *multiply;
    float *a, *b, *c;
};

static void run_peak(void *ctx)
{
    struct peak *peak = ctx;
    peak->multiply(101, 111, 111, PEAK, PEAK, PEAK, 1, peak->a, PEAK, peak->b, PEAK, 0, peak->c, PEAK);
}

/* The time that so many operations take at the speed of a large product. */
static double peak_ns(double operations, int repeats)
{
    static double ns;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    struct peak peak = {.a = new_floats(PEAK * PEAK), .b = new_floats(PEAK * PEAK), .c = new_floats(PEAK * PEAK)};
    if (!ns && library && peak.a && peak.b && peak.c) {
        void *symbol = dlsym(library, "cblas_sgemm");
        memcpy(&peak.multiply, &symbol, sizeof symbol);
        fill_inputs(peak.a, peak.b, PEAK * PEAK);
        struct work work = {run_peak, &peak, 0};
        measure(&work, 1, 1, repeats);
        ns = work.ns;
    }
    free(peak.a), free(peak.b), free(peak.c);
    return ns * operations / (2.0 * PEAK * PEAK * PEAK);
}

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

static void measure_kind(struct row *row, const struct kind *kind, int repeats)
{
    struct set set;
    set_init(&set, kind);
    size_t length = (size_t)(set.bytes / sizeof(float)) / 64 * 64;
    if (!have_floor_data(set.bytes)) {
        row_fail(row, "no memory");
        set_release(&set);
        return;
    }
    struct floor once = {floor_read, floor_data, floor_data, NULL, length}, lines = once;
    lines.run = floor_read_lines;
    struct work works[] = {{run_set, &set, 0}, {run_floor, &once, 0}, {run_floor, &lines, 0}};
    measure(works, kind->rows < MOST_ROWS ? 3 : 1, 1, repeats);
    row->ns = works[0].ns;
    if (kind->rows < MOST_ROWS) {
        row->floor_ns = fmin(works[1].ns, works[2].ns);
        row->bytes = set.bytes;
    } else {
        row->floor_ns = peak_ns(set.operations, repeats);
    }
    if (set.failures) row_fail(row, "%d calls failed", set.failures);
    set_release(&set);
}

int bench_products(struct row *rows, int repeats)
{
    static const struct kind kinds[] = {
        {"product, float32', 1 row", "0.85 of the floor", MLX_FLOAT32, 0, 1, true},
        {"product, float32', 4 rows", "0.85 of the floor", MLX_FLOAT32, 0, 4, true},
        {"product, float32', 8 rows", "0.85 of the floor", MLX_FLOAT32, 0, 8, true},
        {"product, float32', 64 rows", "1.1 of the floor", MLX_FLOAT32, 0, MOST_ROWS, true},
        {"product, float32, 1 row", "0.85 of the floor", MLX_FLOAT32, 0, 1, false},
        {"product, float32, 8 rows", "0.85 of the floor", MLX_FLOAT32, 0, 8, false},
        {"product, bfloat16', 1 row", "0.85 of the floor", MLX_BFLOAT16, 0, 1, true},
        {"product, bfloat16', 4 rows", "0.85 of the floor", MLX_BFLOAT16, 0, 4, true},
        {"product, bfloat16', 8 rows", "0.85 of the floor", MLX_BFLOAT16, 0, 8, true},
        {"product, bfloat16', 64 rows", "1.1 of the floor", MLX_BFLOAT16, 0, MOST_ROWS, true},
        {"product, bfloat16, 1 row", "0.85 of the floor", MLX_BFLOAT16, 0, 1, false},
        {"product, bfloat16, 8 rows", "0.85 of the floor", MLX_BFLOAT16, 0, 8, false},
        {"product, bfloat16, 64 rows", "1.1 of the floor", MLX_BFLOAT16, 0, MOST_ROWS, false},
        {"product, float16', 1 row", "0.85 of the floor", MLX_FLOAT16, 0, 1, true},
        {"product, 8 bits', 1 row", "0.6 of the floor", MLX_BFLOAT16, 8, 1, true},
        {"product, 8 bits', 4 rows", "0.6 of the floor", MLX_BFLOAT16, 8, 4, true},
        {"product, 8 bits', 8 rows", "0.6 of the floor", MLX_BFLOAT16, 8, 8, true},
        {"product, 8 bits', 64 rows", "1.25 of the floor", MLX_BFLOAT16, 8, MOST_ROWS, true},
        {"product, 4 bits', 1 row", "0.6 of the floor", MLX_BFLOAT16, 4, 1, true},
        {"product, 4 bits', 2 rows", "0.6 of the floor", MLX_BFLOAT16, 4, 2, true},
        {"product, 4 bits', 4 rows", "0.6 of the floor", MLX_BFLOAT16, 4, 4, true},
        {"product, 4 bits', 8 rows", "0.6 of the floor", MLX_BFLOAT16, 4, 8, true},
        {"product, 4 bits', 16 rows", "0.6 of the floor", MLX_BFLOAT16, 4, 16, true},
        {"product, 4 bits' with float32, 1 row", "0.6 of the floor", MLX_FLOAT32, 4, 1, true},
        {"product, 4 bits', 64 rows", "1.25 of the floor", MLX_BFLOAT16, 4, MOST_ROWS, true},
        {"product, 4 bits, 1 row", "0.6 of the floor", MLX_BFLOAT16, 4, 1, false},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool is_few = kinds[i].rows < MOST_ROWS;
        if (!is_wanted(kinds[i].name)) continue;
        rows[count] = (struct row){.name = kinds[i].name,
                                   .floor_name = is_few ? "the weights read once" : "cblas_sgemm, 2048 cubed",
                                   .aim = kinds[i].aim};
        measure_kind(&rows[count++], &kinds[i], repeats);
    }
    free(floor_data);
    floor_data = NULL;
    floor_bytes = 0;
    return count;
}
