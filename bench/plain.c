/*
 * plain.c - operations that are not compiled, one at a time: how near each comes to the same job by hand on the same
 * threads; a small one with its result; and the first one of a process that finds its kernel in the folder.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"
#include "child.h"
#include "floors.h"
#include "kiln.h"

enum { SIDE = 4096, LENGTH = SIDE * SIDE, SMALL = 1024, SMALL_CALLS = 2000, PRODUCT = 1024, MAX_RUNS = 7 };

struct arrays {
    float *a, *b, *out;
};

static bool arrays_init(struct arrays *arrays)
{
    *arrays = (struct arrays){new_floats(LENGTH), new_floats(LENGTH), new_floats(LENGTH)};
    if (!arrays->a || !arrays->b || !arrays->out) return false;
    fill_inputs(arrays->a, arrays->b, LENGTH);
    return true;
}

static void arrays_release(struct arrays *arrays)
{
    free(arrays->a);
    free(arrays->b);
    free(arrays->out);
}

struct call {
    struct plain plain;
    int failures;
};

static void call_plain(void *ctx)
{
    struct call *call = ctx;
    call->failures += !plain_call(&call->plain);
}

/* ---- what is fast must also be right --------------------------------------------------------------------------- */

static bool is_sum(const float *values, const float *a, bool is_first)
{
    for (size_t i = 0; i < SIDE; i += 61) {
        double sum = 0;
        for (size_t k = 0; k < SIDE; k++) sum += (double)(is_first ? a[k * SIDE + i] : a[i * SIDE + k]);
        if (fabs((double)values[i] - sum) > 1e-5 * sum) return false;
    }
    return true;
}

static bool is_sum_last(const float *values, const struct arrays *arrays)
{
    return is_sum(values, arrays->a, false);
}

static bool is_sum_first(const float *values, const struct arrays *arrays)
{
    return is_sum(values, arrays->a, true);
}

static bool is_transpose(const float *values, const struct arrays *arrays)
{
    for (size_t i = 0; i < SIDE; i++)
        for (size_t k = 0; k < SIDE; k++)
            if (values[i * SIDE + k] != arrays->a[k * SIDE + i]) return false;
    return true;
}

static bool is_added(const float *values, const struct arrays *arrays)
{
    for (size_t i = 0; i < LENGTH; i++)
        if (values[i] != arrays->a[i] + arrays->b[i]) return false;
    return true;
}

/* ---- over large arrays ----------------------------------------------------------------------------------------- */

struct kind {
    const char *name, *aim, *floor_name;
    enum expression expression;
    bool has_b;
    range_function floor, other_floor; /* the better one counts; NULL: there is one */
    double passes;                     /* arrays of LENGTH floats that are read or written */
    bool (*is_right)(const float *values, const struct arrays *arrays);
};

static void measure_kind(struct row *row, const struct kind *kind, const struct arrays *arrays, int repeats)
{
    static const int shape[] = {SIDE, SIDE};
    struct call call = {.failures = 0};
    struct floor floor = {kind->floor, arrays->out, arrays->a, arrays->b, LENGTH}, other = floor;
    other.run = kind->other_floor;
    struct work works[] = {{call_plain, &call, 0}, {run_floor, &floor, 0}, {run_floor, &other, 0}};
    bool is_made = plain_init(&call.plain, kind->expression, arrays->a, kind->has_b ? arrays->b : NULL, shape, 2);
    const float *values = is_made ? plain_call(&call.plain) : NULL;
    if (!values) {
        row_fail(row, "the operation failed");
    } else if (!kind->is_right(values, arrays)) {
        row_fail(row, "wrong values");
    } else {
        measure(works, kind->other_floor ? 3 : 2, 1, repeats);
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns;
        if (kind->other_floor && works[2].ns < works[1].ns) row->floor_ns = works[2].ns;
        row->bytes = kind->passes * LENGTH * sizeof(float);
        if (call.failures) row_fail(row, "%d calls failed", call.failures);
    }
    plain_release(&call.plain);
}

static int bench_large(struct row *rows, int repeats)
{
    static const struct kind kinds[] = {
        {"one operation, a+b, 64 MiB each", "0.85 of the floor", "better loop, plain or non-temporal", EXPRESSION_ADD,
         true, floor_add, floor_add_stream, 3, is_added},
        {"sum, last axis of 4096 x 4096", "0.8 of the floor", "reading once", EXPRESSION_SUM_LAST, false, floor_sum,
         NULL, 1, is_sum_last},
        {"sum, first axis of 4096 x 4096", "0.8 of the floor", "reading once", EXPRESSION_SUM_FIRST, false, floor_sum,
         NULL, 1, is_sum_first},
        {"transpose copy, 4096 x 4096", "0.6 of the floor", "memcpy", EXPRESSION_TRANSPOSE, false, floor_copy, NULL, 2,
         is_transpose},
    };
    struct arrays arrays = {0};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        struct row *row = &rows[count++];
        *row = (struct row){.name = kinds[i].name, .floor_name = kinds[i].floor_name, .aim = kinds[i].aim};
        if (arrays.out || arrays_init(&arrays))
            measure_kind(row, &kinds[i], &arrays, repeats);
        else
            row_fail(row, "no memory");
    }
    arrays_release(&arrays);
    return count;
}

/* ---- a small one ----------------------------------------------------------------------------------------------- */

static float small_a[SMALL], small_b[SMALL];
static volatile float last;

static void add_by_hand(void *ctx)
{
    (void)ctx;
    float *out = malloc(sizeof small_a);
    if (!out) return;
    for (size_t i = 0; i < SMALL; i++) out[i] = small_a[i] + small_b[i];
    last = out[SMALL - 1];
    free(out);
}

static void measure_small(struct row *row, int repeats)
{
    const int shape[] = {SMALL};
    struct call call = {.failures = 0};
    struct work works[] = {{call_plain, &call, 0}, {add_by_hand, NULL, 0}};
    fill_inputs(small_a, small_b, SMALL);
    if (!plain_init(&call.plain, EXPRESSION_ADD, small_a, small_b, shape, 1) || !plain_call(&call.plain)) {
        row_fail(row, "the operation failed");
    } else {
        measure(works, 2, SMALL_CALLS, repeats);
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns;
        const float *values = plain_call(&call.plain);
        if (call.failures || !values || values[SMALL - 1] != last) row_fail(row, "wrong values");
    }
    plain_release(&call.plain);
}

/* ---- matrices -------------------------------------------------------------------------------------------------- */

typedef void (*sgemm)(int order, int a_order, int b_order, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);

struct product {
    sgemm run;
    struct arrays arrays;
};

static void multiply_by_hand(void *ctx)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    const struct product *product = ctx;
    const struct arrays *arrays = &product->arrays;
    product->run(ROW_MAJOR, NO_TRANS, NO_TRANS, PRODUCT, PRODUCT, PRODUCT, 1, arrays->a, PRODUCT, arrays->b, PRODUCT, 0,
                 arrays->out, PRODUCT);
}

static void measure_product(struct row *row, int repeats)
{
    const int shape[] = {PRODUCT, PRODUCT};
    struct product product = {.run = NULL};
    struct call call = {.failures = 0};
    struct work works[] = {{call_plain, &call, 0}, {multiply_by_hand, &product, 0}};
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library) product.run = (sgemm)(uintptr_t)dlsym(library, "cblas_sgemm");
    if (!product.run) {
        row_fail(row, "libopenblas.so.0 could not be opened");
        return;
    }
    if (!arrays_init(&product.arrays)) {
        row_fail(row, "no memory");
    } else if (!plain_init(&call.plain, EXPRESSION_MATMUL, product.arrays.a, product.arrays.b, shape, 2) ||
               !plain_call(&call.plain)) {
        row_fail(row, "the operation failed");
    } else {
        measure(works, 2, 1, repeats);
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns;
        const float *values = plain_call(&call.plain);
        if (call.failures || !values || memcmp(values, product.arrays.out, PRODUCT * PRODUCT * sizeof *values) != 0)
            row_fail(row, "wrong values");
    }
    plain_release(&call.plain);
    arrays_release(&product.arrays);
}

/* ---- the first one of a process -------------------------------------------------------------------------------- */

bool plain_phase(const char *phase, double out[3])
{
    const int shape[] = {SMALL};
    struct plain plain;
    if (strcmp(phase, "first-operation") != 0) return false;
    fill_inputs(small_a, small_b, SMALL);
    if (!plain_init(&plain, EXPRESSION_ADD, small_a, small_b, shape, 1)) return false;
    double start = now_ns();
    const float *values = plain_call(&plain);
    out[0] = now_ns() - start;
    bool is_right = values && values[SMALL - 1] == small_a[SMALL - 1] + small_b[SMALL - 1];
    plain_release(&plain);
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    out[1] = load_by_hand();
    out[2] = (double)counters.compiles;
    return is_right;
}

static void measure_first(struct row *row, int repeats)
{
    struct samples first = {.count = 0}, load = {.count = 0};
    char folder[64], *before = folder_before();
    double out[3];
    bool is_run = new_folder(folder) && run_child("first-operation", out); /* fills the folder */
    for (int i = 0; i < (repeats < MAX_RUNS ? repeats : MAX_RUNS) && is_run && !row->is_missing; i++) {
        is_run = run_child("first-operation", out);
        if (out[2] > 0) row_fail(row, "the next process compiled again");
        sample_add(&first, out[0]);
        sample_add(&load, out[1]);
    }
    remove_folder(folder);
    folder_back(before);
    row->ns = sample_median(&first);
    row->floor_ns = sample_median(&load);
    if (!is_run) row_fail(row, "the other process failed");
}

int bench_plain(struct row *rows, int repeats)
{
    static const struct {
        const char *name, *aim, *floor_name;
        void (*measure)(struct row *, int);
    } kinds[] = {
        {"one operation, a+b, 1024 floats, result", "1 us", "C loop, malloc and free", measure_small},
        {"first operation, next process", "0.3 ms", "file to executable memory", measure_first},
        {"matmul, 1024 x 1024 x 1024, float32", "1.0 of the floor", "cblas_sgemm of OpenBLAS", measure_product},
    };
    int count = bench_large(rows, repeats);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is_wanted(kinds[i].name)) continue;
        rows[count] = (struct row){.name = kinds[i].name, .floor_name = kinds[i].floor_name, .aim = kinds[i].aim};
        kinds[i].measure(&rows[count++], repeats);
    }
    return count;
}
