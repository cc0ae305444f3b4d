/*
 * test_run_linalg.c - how often matrices are factorized, and from many threads at once. Runs of LAPACK over a batch are
 * counted by the test.
 */
#include <math.h>
#include <pthread.h>

#include "ops/linalg/linalg.h"
#include "run/linalg/matrices.h"
#include "unit/run_support.h"

#ifdef __SANITIZE_THREAD__
/* OpenBLAS has threads of its own and is not instrumented: what it does between them looks like races. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libopenblas";
}
#endif

static atomic_int runs;

kiln_status __real_kiln__matrices_run(const struct kiln_matrices *, kiln_matrix_step *, const struct kiln_node *,
                                      const char *, kiln_error *);
kiln_status __wrap_kiln__matrices_run(const struct kiln_matrices *all, kiln_matrix_step *step,
                                      const struct kiln_node *node, const char *what, kiln_error *err);
kiln_status __wrap_kiln__matrices_run(const struct kiln_matrices *all, kiln_matrix_step *step,
                                      const struct kiln_node *node, const char *what, kiln_error *err)
{
    atomic_fetch_add(&runs, 1);
    return __real_kiln__matrices_run(all, step, node, what, err);
}

static struct kiln_array *matrices(int count, int n)
{
    struct kiln_array *out = NULL;
    must_be(kiln__array_alloc(KILN_FLOAT64, 3, (int[]){count, n, n}, &out, &err));
    double *at = (double *)out->data;
    for (int64_t i = 0; i < out->size; i++) at[i] = (double)(i * 7919 % 1009) / 1009 + (i % (n * n) % (n + 1) ? 0 : n);
    return out;
}

static void test_one_factorization_for_all_results(void **state)
{
    static const enum kiln_factor wanted[] = {KILN_FACTOR_U, KILN_FACTOR_SINGULAR, KILN_FACTOR_VT};
    struct kiln_array *a = matrices(2, 5), *out[3];
    (void)state;
    atomic_store(&runs, 0);
    must_be(kiln__factorize(a, (struct kiln_factoring){.with_vectors = true}, wanted, 3, out, &err));
    CHECK_EQ(atomic_load(&runs), 0);
    for (int i = 0; i < 3; i++) eval(out[i]);
    CHECK_EQ(atomic_load(&runs), 1);
    for (int i = 0; i < 3; i++) kiln__array_unref(out[i]);
    kiln__array_unref(a);
}

enum { THREADS = 4, ROUNDS = 30, N = 24 };

/* A small batch, and one matrix that OpenBLAS may share among its own threads. */
static void *factorize(void *ctx)
{
    int n = (size_t)ctx % 2 ? 150 : N, count = n == N ? 8 : 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct kiln_array *a = matrices(count, n), *inverse = NULL, *product = NULL;
        kiln_status status = kiln__inverse(a, KILN_WHOLE, &inverse, NULL);
        if (!status) status = kiln__matmul(a, inverse, &product, NULL);
        if (!status) status = kiln__eval(&product, 1, NULL);
        const double *at = status ? NULL : (const double *)product->data;
        for (int64_t i = 0; at && i < product->size; i++)
            if (!(fabs(at[i] - !(i % (n * n) % (n + 1))) < 1e-12)) at = NULL;
        kiln__array_unref(a), kiln__array_unref(inverse), kiln__array_unref(product);
        if (!at) return "a wrong inverse";
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, factorize, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        CHECK_EQ(pthread_join(threads[i], &result), 0);
        if (result) CHECK_FAIL("%s", (const char *)result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_factorization_for_all_results),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
