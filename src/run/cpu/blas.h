/*
 * blas.h - matrix products from OpenBLAS, which is opened on the first one.
 */
#ifndef KILN_RUN_CPU_BLAS_H
#define KILN_RUN_CPU_BLAS_H

#include "base/status.h"

typedef void kiln_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                        const float *b, int ldb, float beta, float *c, int ldc);
typedef void kiln_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                        int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void kiln_cgemm(int order, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a,
                        int lda, const void *b, int ldb, const void *beta, void *c, int ldc);

struct kiln_blas {
    void *library; /* of dlopen() */
    kiln_sgemm *sgemm;
    kiln_dgemm *dgemm;
    kiln_cgemm *cgemm;
    int (*stop_threads)(void); /* NULL: the library has no such function */
};

/* Opens the library `name` for the rest of the process. KILN_LINK_FAILED says what to install. */
kiln_status kiln__blas_open(const char *name, struct kiln_blas *out, kiln_error *err);

/* The library that products come from, opened if it was not: for its LAPACK (run/linalg/lapack.h), which is called
 * between kiln__work_begin() and kiln__work_end() as products are. */
kiln_status kiln__blas_library(void **library, kiln_error *err);

#endif
