/*
 * lapack.h - the routines of LAPACK that we call, from the library that products come from (run/cpu/blas.h).
 *
 * Matrices are column-major. The interface is Fortran's: every argument is a pointer, and the lengths of character
 * arguments come last. `real` and `complex` routines that have the same arguments have one type here. Safe for any
 * number of threads, between kiln__work_begin() and kiln__work_end().
 */
#ifndef KILN_RUN_LINALG_LAPACK_H
#define KILN_RUN_LINALG_LAPACK_H

#include "array/dtype.h"
#include "base/status.h"

typedef void kiln_potrf(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t uplo_len);
typedef void kiln_trtri(const char *uplo, const char *diag, const int *n, void *a, const int *lda, int *info,
                        size_t uplo_len, size_t diag_len);
typedef void kiln_getrf(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
typedef void kiln_getri(const int *n, void *a, const int *lda, const int *pivots, void *work, const int *work_size,
                        int *info);
typedef void kiln_geqrf(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                        const int *work_size, int *info);
typedef void kiln_orgqr(const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,
                        const int *work_size, int *info);
typedef void kiln_gesdd(const char *job, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                        const int *ldu, void *vt, const int *ldvt, void *work, const int *work_size, int *integers,
                        int *info, size_t job_len);
typedef void kiln_cgesdd(const char *job, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                         const int *ldu, void *vt, const int *ldvt, void *work, const int *work_size, void *reals,
                         int *integers, int *info, size_t job_len);
typedef void kiln_syevd(const char *job, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,
                        const int *work_size, int *integers, const int *integer_count, int *info, size_t job_len,
                        size_t uplo_len);
typedef void kiln_cheevd(const char *job, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,
                         const int *work_size, void *reals, const int *real_count, int *integers,
                         const int *integer_count, int *info, size_t job_len, size_t uplo_len);
typedef void kiln_geev(const char *job_left, const char *job_right, const int *n, void *a, const int *lda, void *real,
                       void *imaginary, void *left, const int *ldl, void *right, const int *ldr, void *work,
                       const int *work_size, int *info, size_t left_len, size_t right_len);
typedef void kiln_cgeev(const char *job_left, const char *job_right, const int *n, void *a, const int *lda, void *w,
                        void *left, const int *ldl, void *right, const int *ldr, void *work, const int *work_size,
                        void *reals, int *info, size_t left_len, size_t right_len);

/* Of real matrices; then what complex64 has, under names of its own where arguments differ. */
struct kiln_lapack {
    kiln_potrf *potrf;
    kiln_trtri *trtri;
    kiln_getrf *getrf;
    kiln_getri *getri;
    kiln_geqrf *geqrf;
    kiln_orgqr *orgqr;
    kiln_gesdd *gesdd;
    kiln_syevd *syevd;
    kiln_geev *geev;
};

struct kiln_complex_lapack {
    kiln_cgesdd *gesdd;
    kiln_cheevd *heevd;
    kiln_cgeev *geev;
};

struct kiln_lapacks {
    struct kiln_lapack f32, f64;
    struct kiln_complex_lapack c64;
};

/* Opened by the first that asks, and there until the process ends. */
kiln_status kiln__lapack(const struct kiln_lapacks **out, kiln_error *err);

#endif
