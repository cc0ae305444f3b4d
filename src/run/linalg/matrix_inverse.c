/*
 * matrix_inverse.c - cholesky and inv, in place in the result. Rows of ours are columns of LAPACK's, so that a lower
 * triangle is its upper one, and the inverse of the transposed matrix is the transposed inverse.
 */
#include <string.h>

#include "run/linalg/matrices.h"
#include "run/ops/operation.h"

/* What is on the other side of the diagonal becomes 0. */
static void clear_triangle(const struct kiln_matrices *all, char *matrix, bool upper)
{
    size_t item = kiln__matrix_item(all), n = (size_t)all->n;
    for (size_t i = 0; i < n; i++, matrix += n * item) {
        if (upper)
            memset(matrix + (i + 1) * item, 0, (n - i - 1) * item);
        else
            memset(matrix, 0, i * item);
    }
}

/* A matrix that is not positive definite has a result up to where that was seen, as in the reference. */
static int cholesky(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    int info = 0;
    (void)scratch;
    kiln__matrix_load(all, matrix, out, false);
    all->real->potrf(all->upper ? "L" : "U", &all->n, out, &all->n, &info, 1);
    clear_triangle(all, out, !all->upper);
    return info < 0 ? info : 0;
}

kiln_status kiln__run_cholesky(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.upper = node->attrs[0];
    return kiln__matrices_run(&all, cholesky, node, "can't be decomposed", err);
}

enum { PIVOTS, WORK };

static int invert(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    int info = 0;
    kiln__matrix_load(all, matrix, out, false);
    if (kiln__finiteness(all, out) == KILN_HAS_NAN)
        return kiln__fill_nan(out, all->out_size, (enum kiln_dtype)all->in->dtype), 0;
    all->real->getrf(&all->n, &all->n, out, &all->n, (int *)scratch[PIVOTS], &info);
    if (info) return info;
    all->real->getri(&all->n, out, &all->n, (const int *)scratch[PIVOTS], scratch[WORK], &all->work_size, &info);
    return info;
}

static int invert_triangle(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch)
{
    int info = 0;
    bool upper = all->triangle == KILN_UPPER;
    (void)scratch;
    kiln__matrix_load(all, matrix, out, false);
    all->real->trtri(upper ? "L" : "U", "N", &all->n, out, &all->n, &info, 1, 1);
    clear_triangle(all, out, !upper);
    return info;
}

kiln_status kiln__run_inverse(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_matrices all;
    double first = 0;
    int info = 0, query = -1;
    kiln_status status = kiln__matrices_init(&all, node, out, err);
    if (status || out->size == 0) return status;
    all.triangle = (enum kiln_triangle)node->attrs[0];
    if (all.triangle != KILN_WHOLE) return kiln__matrices_run(&all, invert_triangle, node, "is singular", err);
    all.real->getri(&all.n, out->data, &all.n, &query, &first, &query, &info);
    all.work_size = kiln__work_size(&all, &first);
    all.scratch_size[PIVOTS] = (size_t)all.n * sizeof(int);
    all.scratch_size[WORK] = (size_t)all.work_size * kiln__matrix_item(&all);
    return kiln__matrices_run(&all, invert, node, "is singular", err);
}
