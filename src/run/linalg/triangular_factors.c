/*
 * triangular_factors.c - qr and lu: what they leave in the packed array (graph/factors.h). Q, and both triangles of lu,
 * lie by columns; R lies by rows.
 */
#include <string.h>

#include "graph/factors.h"
#include "run/linalg/matrices.h"
#include "run/ops/operation.h"

enum { MATRIX, TAU, WORK };

/* R is on and above the diagonal of the m x n matrix that lies by columns. */
static void take_r(const struct kiln_matrices *all, const char *matrix, char *to)
{
    size_t item = kiln__matrix_item(all), m = (size_t)all->m, n = (size_t)all->n;
    for (size_t i = 0; i < (size_t)all->k; i++)
        for (size_t j = 0; j < n; j++, to += item) {
            if (j < i)
                memset(to, 0, item);
            else
                memcpy(to, matrix + (j * m + i) * item, item);
        }
}

static int decompose(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    int info = 0;
    size_t q_size = (size_t)all->m * (size_t)all->k * kiln__matrix_item(all);
    kiln__matrix_load(all, matrix, scratch[MATRIX], true);
    all->real->geqrf(&all->m, &all->n, scratch[MATRIX], &all->m, scratch[TAU], scratch[WORK], &all->work_size, &info);
    if (info) return info;
    memcpy(out, scratch[MATRIX], q_size);
    take_r(all, scratch[MATRIX], out + q_size);
    all->real->orgqr(&all->m, &all->k, &all->k, out, &all->m, scratch[TAU], scratch[WORK], &all->work_size, &info);
    return info;
}

kiln_status kiln__run_qr(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    double first = 0, second = 0, none = 0;
    int info = 0, query = -1;
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.real->geqrf(&all.m, &all.n, &none, &all.m, &none, &first, &query, &info);
    all.real->orgqr(&all.m, &all.k, &all.k, &none, &all.m, &none, &second, &query, &info);
    int sizes[] = {kiln__work_size(&all, &first), kiln__work_size(&all, &second)};
    size_t item = kiln__matrix_item(&all);
    all.work_size = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
    all.scratch_size[MATRIX] = (size_t)all.m * (size_t)all.n * item;
    all.scratch_size[TAU] = (size_t)all.k * item;
    all.scratch_size[WORK] = (size_t)all.work_size * item;
    return kiln__matrices_run(&all, decompose, node, "can't be decomposed", err);
}

/* Pivots are 32-bit integers, each in the place of an element; LAPACK counts rows from 1. */
static int eliminate(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    int info = 0, *pivots = (int *)scratch[MATRIX];
    size_t item = kiln__matrix_item(all), k = (size_t)all->k;
    char *matrix_out = out + k * item;
    kiln__matrix_load(all, matrix, matrix_out, true);
    all->real->getrf(&all->m, &all->n, matrix_out, &all->m, pivots, &info);
    memset(out, 0, k * item);
    for (size_t i = 0; i < k; i++) {
        uint32_t row = (uint32_t)pivots[i] - 1;
        memcpy(out + i * item, &row, sizeof row);
    }
    return info;
}

kiln_status kiln__run_lu(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.scratch_size[MATRIX] = (size_t)all.k * sizeof(int);
    return kiln__matrices_run(&all, eliminate, node, "is singular", err);
}
