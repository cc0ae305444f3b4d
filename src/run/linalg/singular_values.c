/*
 * singular_values.c - svd. Our rows are LAPACK's columns: it is given the transposed matrix, whose left vectors, by
 * columns, are the right ones of ours, by rows. So nothing is transposed.
 *
 * The packed array has the singular values first (for complex64 as complex numbers), then U, then V' (graph/factors.h).
 */
#include <string.h>

#include "graph/factors.h"
#include "run/linalg/matrices.h"
#include "run/ops/operation.h"

enum { MATRIX, WORK, INTEGERS, REALS, VALUES };

struct vectors {
    char *u, *vt;
};

static struct vectors places(const struct kiln_matrices *all, char *out)
{
    int64_t item = (int64_t)kiln__matrix_item(all);
    return (struct vectors){.u = out + kiln__factor_place(KILN_FACTOR_U, all->m, all->n).offset * item,
                            .vt = out + kiln__factor_place(KILN_FACTOR_VT, all->m, all->n).offset * item};
}

/* `work_size` -1 asks how much work space it needs. */
static int call(const struct kiln_matrices *all, char *out, char *const *scratch, void *work, int work_size)
{
    const char *job = all->with_vectors ? "A" : "N";
    struct vectors to = places(all, out);
    int info = 0;
    if (all->complex) {
        all->complex->gesdd(job, &all->n, &all->m, scratch[MATRIX], &all->n, scratch[VALUES], to.vt, &all->n, to.u,
                            &all->m, work, &work_size, scratch[REALS], (int *)scratch[INTEGERS], &info, 1);
    } else {
        all->real->gesdd(job, &all->n, &all->m, scratch[MATRIX], &all->n, out, to.vt, &all->n, to.u, &all->m, work,
                         &work_size, (int *)scratch[INTEGERS], &info, 1);
    }
    return info;
}

static int find_singular_values(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    kiln__matrix_load(all, matrix, scratch[MATRIX], false);
    enum kiln_finiteness finiteness = kiln__finiteness(all, scratch[MATRIX]);
    if (finiteness == KILN_HAS_NAN) return -4; /* what LAPACK says of its fourth argument */
    if (finiteness == KILN_HAS_INFINITY) {
        kiln__fill_nan(out, all->out_size, (enum kiln_dtype)all->in->dtype);
        return 0;
    }
    int info = call(all, out, scratch, scratch[WORK], all->work_size);
    for (int i = 0; all->complex && i < all->k; i++) {
        const float value[2] = {((const float *)scratch[VALUES])[i], 0};
        memcpy(out + (size_t)i * sizeof value, value, sizeof value);
    }
    return info;
}

/* Of a matrix without elements there are vectors all the same: those of the identity. */
static void fill_identities(const struct kiln_matrices *all, char *out)
{
    int n = all->m > all->n ? all->m : all->n;
    size_t item = kiln__matrix_item(all);
    memset(out, 0, (size_t)(all->count * all->out_size));
    for (int64_t i = 0; i < all->count * n; i++, out += (size_t)n * item) {
        char *element = out + (size_t)(i % n) * item;
        if (all->in->dtype == KILN_FLOAT64)
            *(double *)element = 1;
        else
            *(float *)element = 1;
    }
}

static size_t reals_size(const struct kiln_matrices *all)
{
    size_t small = (size_t)all->k, large = (size_t)(all->m > all->n ? all->m : all->n);
    size_t one = 5 * small + 7, other = 2 * large + 2 * small + 1;
    return all->with_vectors ? small * (one > other ? one : other) : 7 * small;
}

kiln_status kiln__run_svd(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    double first[2] = {0}, none[2] = {0};
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.with_vectors = node->attrs[0];
    if (all.k == 0) return fill_identities(&all, out->data), KILN_OK;
    char *const nothing[KILN_SCRATCHES] = {(char *)none, (char *)none, (char *)none, (char *)none, (char *)none};
    call(&all, out->data, nothing, first, -1);
    size_t item = kiln__matrix_item(&all);
    all.work_size = kiln__work_size(&all, first);
    all.scratch_size[MATRIX] = (size_t)all.m * (size_t)all.n * item;
    all.scratch_size[WORK] = (size_t)all.work_size * item;
    all.scratch_size[INTEGERS] = 8 * (size_t)all.k * sizeof(int);
    all.scratch_size[REALS] = all.complex ? reals_size(&all) * sizeof(float) : 0;
    all.scratch_size[VALUES] = all.complex ? (size_t)all.k * sizeof(float) : 0;
    return kiln__matrices_run(&all, find_singular_values, node, "has NaN, or its singular values were not found", err);
}
