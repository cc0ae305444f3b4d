/*
 * matrices.c - see matrices.h.
 */
#include "run/linalg/matrices.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/gate.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

kiln_status kiln__matrices_init(struct kiln_matrices *all, const struct kiln_node *node, struct kiln_array *out,
                                kiln_error *err)
{
    const struct kiln_lapacks *lapacks = NULL;
    const struct kiln_array *in = node->inputs[0];
    int m = in->dims[in->ndim - 2], n = in->dims[in->ndim - 1];
    *all = (struct kiln_matrices){.in = in, .m = m, .n = n, .k = m < n ? m : n, .count = 1};
    for (int i = 0; i + 2 < in->ndim; i++) all->count *= in->dims[i];
    kiln_status status = kiln__output_alloc(out, err);
    if (!status) status = kiln__lapack(&lapacks, err);
    if (status) return status;
    if (in->dtype == KILN_COMPLEX64)
        all->complex = &lapacks->c64;
    else
        all->real = in->dtype == KILN_FLOAT32 ? &lapacks->f32 : &lapacks->f64;
    all->out = out->data;
    all->out_size = all->count ? out->size / all->count * (int64_t)kiln__dtype_size(out->dtype) : 0;
    return KILN_OK;
}

const char *kiln__batch_data(const struct kiln_array *array, size_t own_axes, int64_t index)
{
    int64_t offset = 0;
    for (size_t i = array->ndim - own_axes; i-- > 0;) {
        offset += index % array->dims[i] * array->strides[i];
        index /= array->dims[i];
    }
    return array->data + offset * (int64_t)kiln__dtype_size((enum kiln_dtype)array->dtype);
}

/* ---- one matrix -------------------------------------------------------------------------------------------------- */

static void copy_lines(const char *from, int64_t line, int64_t step, char *to, int64_t lines, int64_t count,
                       int64_t item)
{
    for (int64_t i = 0; i < lines; i++, from += line) {
        if (step == item) {
            memcpy(to, from, (size_t)(count * item));
            to += count * item;
            continue;
        }
        const char *element = from;
        for (int64_t j = 0; j < count; j++, element += step, to += item)
            item == 4 ? memcpy(to, element, 4) : memcpy(to, element, 8);
    }
}

void kiln__matrix_load(const struct kiln_matrices *all, int64_t matrix, char *to, bool by_columns)
{
    const struct kiln_array *in = all->in;
    int64_t item = (int64_t)kiln__matrix_item(all);
    int64_t row = in->strides[in->ndim - 2] * item, column = in->strides[in->ndim - 1] * item;
    const char *from = kiln__batch_data(in, 2, matrix);
    if (by_columns)
        copy_lines(from, column, row, to, all->n, all->m, item);
    else
        copy_lines(from, row, column, to, all->m, all->n, item);
}

enum kiln_finiteness kiln__finiteness(const struct kiln_matrices *all, const char *numbers)
{
    int64_t count = (int64_t)all->m * all->n * (all->complex ? 2 : 1);
    bool has_nan = false, has_infinity = false;
    if (all->in->dtype == KILN_FLOAT64) {
        const double *number = (const double *)numbers;
        for (int64_t i = 0; i < count; i++) has_nan |= isnan(number[i]) != 0, has_infinity |= isinf(number[i]) != 0;
    } else {
        const float *number = (const float *)numbers;
        for (int64_t i = 0; i < count; i++) has_nan |= isnan(number[i]) != 0, has_infinity |= isinf(number[i]) != 0;
    }
    return has_nan ? KILN_HAS_NAN : has_infinity ? KILN_HAS_INFINITY : KILN_ALL_FINITE;
}

void kiln__fill_nan(char *to, int64_t size_bytes, enum kiln_dtype dtype)
{
    if (dtype == KILN_FLOAT64) {
        for (int64_t i = 0; i < size_bytes / 8; i++) ((double *)to)[i] = NAN;
    } else {
        for (int64_t i = 0; i < size_bytes / 4; i++) ((float *)to)[i] = NAN;
    }
}

int kiln__work_size(const struct kiln_matrices *all, const void *first)
{
    double size = all->in->dtype == KILN_FLOAT64 ? *(const double *)first : (double)*(const float *)first;
    /* float32 rounds sizes above 2^24, at times down */
    size = size * (1 + 0x1p-22) + 1;
    return size < (double)INT32_MAX ? (int)size : INT32_MAX;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

enum { NO_MEMORY = -1000 };

struct run {
    const struct kiln_matrices *all;
    kiln_matrix_step *step;
    /* Of the first matrix that failed: its number and its info, so that the error is the same with any threads. */
    pthread_mutex_t lock;
    int64_t failed;
    int info;
};

static void note_failure(struct run *run, int64_t matrix, int info)
{
    pthread_mutex_lock(&run->lock);
    if (run->failed < 0 || matrix < run->failed) run->failed = matrix, run->info = info;
    pthread_mutex_unlock(&run->lock);
}

static void run_range(void *ctx, int64_t first, int64_t end)
{
    struct run *run = ctx;
    char *scratch[KILN_SCRATCHES] = {NULL};
    bool has_memory = true;
    for (int i = 0; i < KILN_SCRATCHES && has_memory; i++) {
        size_t size = run->all->scratch_size[i];
        scratch[i] = size ? malloc(size) : NULL;
        has_memory = !size || scratch[i];
    }
    if (!has_memory) note_failure(run, first, NO_MEMORY);
    for (int64_t i = first; has_memory && i < end; i++) {
        int info = run->step(run->all, i, run->all->out + i * run->all->out_size, scratch);
        if (info) note_failure(run, i, info);
    }
    for (int i = 0; i < KILN_SCRATCHES; i++) free(scratch[i]);
}

kiln_status kiln__matrices_run(const struct kiln_matrices *all, kiln_matrix_step *step, const struct kiln_node *node,
                               const char *what, kiln_error *err)
{
    struct run run = {.all = all, .step = step, .lock = PTHREAD_MUTEX_INITIALIZER, .failed = -1};
    const char *name = kiln__ops[node->op].name;
    if (!kiln__work_begin())
        return kiln__fail(err, KILN_LINK_FAILED, "[%s] The process is leaving: nothing is computed any more.", name);
    double work = (double)all->count * all->m * all->n * all->k;
    kiln__rows_run(run_range, &run, all->count, work < (double)INT64_MAX / 2 ? (int64_t)work : INT64_MAX / 2);
    kiln__work_end();
    pthread_mutex_destroy(&run.lock);
    if (run.failed < 0) return KILN_OK;
    if (run.info == NO_MEMORY) return kiln__no_memory(err, "the work space of LAPACK");
    return kiln__fail(err, KILN_INVALID, "[%s] Matrix %lld %s (LAPACK's info is %d).", name, (long long)run.failed,
                      what, run.info);
}
