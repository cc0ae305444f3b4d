/*
 * eigenvalues.c - eigh and eig: eigenvalues, then vectors by columns (graph/factors.h).
 */
#include <string.h>

#include "graph/factors.h"
#include "run/linalg/matrices.h"
#include "run/ops/operation.h"

enum { MATRIX, WORK, INTEGERS, VECTORS = INTEGERS, REALS, VALUES };

/* ---- symmetric and Hermitian matrices ---------------------------------------------------------------------------- */

struct sizes {
    int work, reals, integers; /* -1: how much is it? */
};

static int call_symmetric(const struct kiln_matrices *all, char *matrix, char *values, char *const *scratch,
                          struct sizes sizes)
{
    const char *job = all->with_vectors ? "V" : "N", *uplo = all->upper ? "U" : "L";
    int info = 0, *integers = (int *)scratch[INTEGERS];
    if (all->complex) {
        all->complex->heevd(job, uplo, &all->n, matrix, &all->n, values, scratch[WORK], &sizes.work, scratch[REALS],
                            &sizes.reals, integers, &sizes.integers, &info, 1, 1);
    } else {
        all->real->syevd(job, uplo, &all->n, matrix, &all->n, values, scratch[WORK], &sizes.work, integers,
                         &sizes.integers, &info, 1, 1);
    }
    return info;
}

static void conjugate(float *matrix, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++) matrix[2 * i + 1] = -matrix[2 * i + 1];
}

/* LAPACK was given the transposed matrix, which is the conjugate one: so are its vectors. */
static void finish_complex(const struct kiln_matrices *all, const float *values, float *out)
{
    for (int i = 0; i < all->n; i++) out[2 * i] = values[i], out[2 * i + 1] = 0;
    if (all->with_vectors) conjugate(out + 2 * (size_t)all->n, all->n);
}

static int find_real_eigenvalues(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    const struct sizes sizes = {all->work_size, all->real_count, all->integer_count};
    char *work = all->with_vectors ? out + (size_t)all->n * kiln__matrix_item(all) : scratch[MATRIX];
    char *values = all->complex ? scratch[VALUES] : out;
    kiln__matrix_load(all, matrix, work, false);
    if (kiln__finiteness(all, work) != KILN_ALL_FINITE) {
        kiln__fill_nan(out, all->out_size, (enum kiln_dtype)all->in->dtype);
        return 0;
    }
    int info = call_symmetric(all, work, values, scratch, sizes);
    if (!info && all->complex) finish_complex(all, (const float *)values, (float *)out);
    return info;
}

kiln_status kiln__run_eigh(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    double work[2] = {0}, real = 0;
    int integer = 0;
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.with_vectors = node->attrs[0];
    all.upper = node->attrs[1];
    char *const asked[KILN_SCRATCHES] = {[WORK] = (char *)work, [INTEGERS] = (char *)&integer, [REALS] = (char *)&real};
    call_symmetric(&all, out->data, out->data, asked, (struct sizes){-1, -1, -1});
    size_t item = kiln__matrix_item(&all);
    all.work_size = kiln__work_size(&all, work);
    all.real_count = all.complex ? kiln__work_size(&all, &real) : 0;
    all.integer_count = integer;
    all.scratch_size[MATRIX] = all.with_vectors ? 0 : (size_t)all.n * (size_t)all.n * item;
    all.scratch_size[WORK] = (size_t)all.work_size * item;
    all.scratch_size[INTEGERS] = (size_t)all.integer_count * sizeof(int);
    all.scratch_size[REALS] = (size_t)all.real_count * sizeof(float);
    all.scratch_size[VALUES] = all.complex ? (size_t)all.n * sizeof(float) : 0;
    return kiln__matrices_run(&all, find_real_eigenvalues, node, "has eigenvalues that were not found", err);
}

/* ---- any square matrix ------------------------------------------------------------------------------------------- */

/* LAPACK is given the transposed matrix, whose left vectors are the conjugate right ones of ours. `values` has the real
 * parts, then the imaginary ones; of complex matrices, and in the results, both together. */
static int call_general(const struct kiln_matrices *all, char *const *scratch, int work_size)
{
    const char *job = all->with_vectors ? "V" : "N";
    char *matrix = scratch[MATRIX], *values = scratch[VALUES], *vectors = scratch[VECTORS];
    int info = 0;
    if (all->complex) {
        all->complex->geev(job, "N", &all->n, matrix, &all->n, values, vectors, &all->n, NULL, &all->n, scratch[WORK],
                           &work_size, scratch[REALS], &info, 1, 1);
    } else {
        char *imaginary = values + (size_t)all->n * kiln__matrix_item(all);
        all->real->geev(job, "N", &all->n, matrix, &all->n, values, imaginary, vectors, &all->n, NULL, &all->n,
                        scratch[WORK], &work_size, &info, 1, 1);
    }
    return info;
}

static double number_at(const struct kiln_matrices *all, const char *numbers, int64_t i)
{
    return all->in->dtype == KILN_FLOAT64 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

/* Real vectors: one column, or for a pair of conjugate values one column of real and one of imaginary parts. */
static void expand_vectors(const struct kiln_matrices *all, const char *values, const char *vectors, float *out)
{
    int64_t n = all->n;
    for (int64_t j = 0; j < n; j++) {
        bool is_pair = number_at(all, values, n + j) != 0 && j + 1 < n;
        for (int64_t i = 0; i < n; i++) {
            float real = (float)number_at(all, vectors, j * n + i);
            float imaginary = is_pair ? (float)number_at(all, vectors, (j + 1) * n + i) : 0;
            out[2 * (j * n + i)] = real, out[2 * (j * n + i) + 1] = -imaginary;
            if (is_pair) out[2 * ((j + 1) * n + i)] = real, out[2 * ((j + 1) * n + i) + 1] = imaginary;
        }
        j += is_pair;
    }
}

static int find_eigenvalues(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    kiln__matrix_load(all, matrix, scratch[MATRIX], false);
    enum kiln_finiteness finiteness = kiln__finiteness(all, scratch[MATRIX]);
    if (finiteness == KILN_HAS_NAN) return -5; /* what LAPACK would say of its fifth argument, and print */
    if (finiteness == KILN_HAS_INFINITY) return kiln__fill_nan(out, all->out_size, KILN_COMPLEX64), 0;
    int info = call_general(all, scratch, all->work_size);
    if (info) return info;
    size_t n = (size_t)all->n, values_size = n * 2 * sizeof(float);
    if (all->complex) {
        memcpy(out, scratch[VALUES], values_size);
        if (all->with_vectors) memcpy(out + values_size, scratch[VECTORS], n * values_size);
        if (all->with_vectors) conjugate((float *)(out + values_size), all->n);
        return 0;
    }
    float *pairs = (float *)out;
    for (size_t i = 0; i < n; i++) {
        pairs[2 * i] = (float)number_at(all, scratch[VALUES], (int64_t)i);
        pairs[2 * i + 1] = (float)number_at(all, scratch[VALUES], (int64_t)(n + i));
    }
    if (all->with_vectors) expand_vectors(all, scratch[VALUES], scratch[VECTORS], pairs + 2 * n);
    return 0;
}

kiln_status kiln__run_eig(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    double first[2] = {0}, none[4] = {0};
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.with_vectors = node->attrs[0];
    char *const asked[KILN_SCRATCHES] = {(char *)none, (char *)first, (char *)none, (char *)none, (char *)none};
    call_general(&all, asked, -1);
    size_t item = kiln__matrix_item(&all), n = (size_t)all.n;
    all.work_size = kiln__work_size(&all, first);
    all.scratch_size[MATRIX] = n * n * item;
    all.scratch_size[WORK] = (size_t)all.work_size * item;
    all.scratch_size[VECTORS] = all.with_vectors ? n * n * item : item;
    all.scratch_size[REALS] = all.complex ? 2 * n * sizeof(float) : 0;
    all.scratch_size[VALUES] = 2 * n * item;
    return kiln__matrices_run(&all, find_eigenvalues, node, "has NaN, or eigenvalues that were not found", err);
}
