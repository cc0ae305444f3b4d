/*
 * matrices.h - the matrices of a batch, one after the other, through LAPACK.
 *
 * A batch is shared by the threads of the pool; each matrix is worked on by one of them, with scratch memory that is
 * allocated once for each range of matrices. What a routine does to a matrix does not depend on the others, but for
 * the threads that OpenBLAS itself uses for large ones.
 */
#ifndef KILN_RUN_LINALG_MATRICES_H
#define KILN_RUN_LINALG_MATRICES_H

#include "graph/node.h"
#include "run/linalg/lapack.h"

enum { KILN_SCRATCHES = 5 };

struct kiln_matrices {
    const struct kiln_array *in; /* any strides */
    int m, n, k;                 /* rows, columns, the smaller of both */
    int64_t count;
    const struct kiln_lapack *real; /* NULL for complex64 */
    const struct kiln_complex_lapack *complex;
    bool with_vectors, upper; /* of those that have a choice */
    enum kiln_triangle triangle;
    char *out;
    int64_t out_size;                         /* bytes of one matrix's results */
    size_t scratch_size[KILN_SCRATCHES];      /* bytes, set by prepare() */
    int work_size, integer_count, real_count; /* elements of work arrays, as LAPACK asked for them */
};

/*
 * What to do with one matrix: from `in`, where kiln__matrix_load() finds it, to `out`. Returns LAPACK's info: 0 is
 * done. `scratch` has the bytes that were asked for, each aligned as malloc() aligns.
 */
typedef int kiln_matrix_step(const struct kiln_matrices *all, int64_t matrix, char *out, char *const *scratch);

/* Fills in everything but scratch and work sizes, and gives `out` storage. */
kiln_status kiln__matrices_init(struct kiln_matrices *all, const struct kiln_node *node, struct kiln_array *out,
                                kiln_error *err);
/* Runs `step` on all of them. Text for info > 0 of the first matrix that has one: "[name] what". */
kiln_status kiln__matrices_run(const struct kiln_matrices *all, kiln_matrix_step *step, const struct kiln_node *node,
                               const char *what, kiln_error *err);

/* A copy of one matrix, packed: by rows, or by columns. */
void kiln__matrix_load(const struct kiln_matrices *all, int64_t matrix, char *to, bool by_columns);
/* Where element `index` of a batch is: counted over all axes but the last `own_axes`. */
const char *kiln__batch_data(const struct kiln_array *array, size_t own_axes, int64_t index);

/* Of the matrix that was loaded to `numbers`. Routines that iterate are not given what they may never finish with. */
enum kiln_finiteness { KILN_ALL_FINITE, KILN_HAS_INFINITY, KILN_HAS_NAN };
enum kiln_finiteness kiln__finiteness(const struct kiln_matrices *all, const char *numbers);
/* Floats of complex64 are float32. */
void kiln__fill_nan(char *to, int64_t size_bytes, enum kiln_dtype dtype);

static inline size_t kiln__matrix_item(const struct kiln_matrices *all)
{
    return kiln__dtype_size((enum kiln_dtype)all->in->dtype);
}

/* What a routine wrote into the first element of a work array, when it was asked how much it needs. */
int kiln__work_size(const struct kiln_matrices *all, const void *first);

#endif
