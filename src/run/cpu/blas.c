/*
 * blas.c - see blas.h. matmul on the CPU: products of few rows and of 16-bit floats have kernels of their own
 * (cpu_matmul.h), all others go through gemm. There float16 and bfloat16 are converted, multiplied in float32, and
 * rounded once.
 */
#include "run/cpu/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/process/exit.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "run/cpu/cpu_matmul.h"
#include "run/kernels/dry_run.h"
#include "run/kernels/launch.h"
#include "run/ops/matmul.h"
#include "run/ops/operation.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of the CBLAS interface */

/* ---- the library --------------------------------------------------------------------------------------------- */

static kiln_status find_symbol(void *library, const char *name, void *out, kiln_error *err)
{
    void *symbol = dlsym(library, name);
    if (!symbol) return kiln__fail(err, KILN_LINK_FAILED, "[matmul] the BLAS library has no %s", name);
    memcpy(out, &symbol, sizeof symbol);
    return KILN_OK;
}

kiln_status kiln__blas_open(const char *name, struct kiln_blas *out, kiln_error *err)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return kiln__fail(
            err, KILN_LINK_FAILED,
            "[matmul] matrix products need OpenBLAS: install the Debian package libopenblas0-pthread (%s)", dlerror());
    }
    struct kiln_blas found = {.library = library};
    kiln_status status = find_symbol(library, "cblas_sgemm", &found.sgemm, err);
    if (status == KILN_OK) status = find_symbol(library, "cblas_dgemm", &found.dgemm, err);
    if (status == KILN_OK) status = find_symbol(library, "cblas_cgemm", &found.cgemm, err);
    void *stop_threads = dlsym(library, "blas_thread_shutdown_");
    memcpy(&found.stop_threads, &stop_threads, sizeof stop_threads);
    if (status == KILN_OK)
        *out = found;
    else
        dlclose(library);
    return status;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards opening; `blas` is read without it once opened */
static atomic_bool opened;
static struct kiln_blas blas;

/*
 * The library stops its threads in a fork handler and in a destructor of its own; fork and exit wait for those who
 * multiply before either of them. A fork that is under way may have run the library's handler and not know ours yet, so
 * the threads are stopped here too, which leaves that handler nothing to do, and it gets the time to find that out.
 */
static kiln_status open_blas(kiln_error *err)
{
    kiln_status status = kiln__blas_open("libopenblas.so.0", &blas, err);
    if (status) return status;
    kiln__fork_wait_first();
    kiln__exit_watch();
    if (blas.stop_threads) blas.stop_threads();
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    atomic_store_explicit(&opened, true, memory_order_release);
    return KILN_OK;
}

/* A child must not believe in threads that it does not have. They start again with the next product. */
static void stop_threads_before_fork(void)
{
    if (atomic_load_explicit(&opened, memory_order_acquire) && blas.stop_threads && !kiln__work_is_elsewhere())
        blas.stop_threads();
}

KILN_AT_FORK(KILN_FORK_BLAS, stop_threads_before_fork, NULL, NULL);

static kiln_status refuse_to_multiply(kiln_error *err)
{
    return kiln__fail(err, KILN_LINK_FAILED, "[matmul] The process is leaving: nothing is multiplied any more.");
}

/* Opened once; a failure is tried again by the next product, after somebody may have installed it. */
static kiln_status need_blas(kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (atomic_load_explicit(&opened, memory_order_acquire)) return KILN_OK;
    if (!kiln__work_begin()) return refuse_to_multiply(err);
    kiln__mutex_lock(&lock);
    if (!atomic_load_explicit(&opened, memory_order_relaxed)) status = open_blas(err);
    kiln__mutex_unlock(&lock);
    kiln__work_end();
    return status;
}

kiln_status kiln__blas_library(void **library, kiln_error *err)
{
    kiln_status status = need_blas(err);
    *library = blas.library;
    return status;
}

/* ---- the product --------------------------------------------------------------------------------------------- */

static void multiply(const struct kiln_product *product, const char *a, const char *b, char *c)
{
    static const float one[2] = {1, 0}, zero[2] = {0, 0};
    int ta = product->a.is_transposed ? TRANS : NO_TRANS, tb = product->b.is_transposed ? TRANS : NO_TRANS;
    int lda = product->a.lead, ldb = product->b.lead;
    int m = product->m, n = product->n, k = product->k;
    const void *left = a, *right = b;
    void *result = c;
    if (product->dtype == KILN_FLOAT32) {
        blas.sgemm(ROW_MAJOR, ta, tb, m, n, k, 1, left, lda, right, ldb, 0, result, n);
    } else if (product->dtype == KILN_FLOAT64) {
        blas.dgemm(ROW_MAJOR, ta, tb, m, n, k, 1, left, lda, right, ldb, 0, result, n);
    } else {
        blas.cgemm(ROW_MAJOR, ta, tb, m, n, k, one, left, lda, right, ldb, zero, result, n);
    }
}

static kiln_status multiply_batches(struct kiln_product *product, struct kiln_array *out, kiln_error *err)
{
    if (!kiln__work_begin()) return refuse_to_multiply(err);
    size_t batch_ndim = out->ndim - 2u;
    int64_t index[KILN_MAX_NDIM] = {0}, batches = kiln__product_merge_batch(product, out);
    const char *a = product->a.array->data, *b = product->b.array->data;
    char *c = out->data;
    int64_t size = (int64_t)product->m * product->n * (int64_t)kiln__dtype_size(product->dtype);
    for (int64_t batch = 0; batch < batches; batch++, c += size) {
        multiply(product, a, b, c);
        for (size_t i = batch_ndim; i-- > 0;) {
            bool wraps = ++index[i] == out->dims[i];
            int64_t steps = wraps ? 1 - out->dims[i] : 1;
            if (wraps) index[i] = 0;
            a += steps * product->a.batch[i];
            b += steps * product->b.batch[i];
            if (!wraps) break;
        }
    }
    kiln__work_end();
    return KILN_OK;
}

/* `out` is packed, has storage and the product's dtype. */
static kiln_status matmul_into(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_product product;
    kiln_status status = need_blas(err);
    if (status) return status;
    status = kiln__product_init(&product, node, out->dtype, out->dtype, err);
    if (!status) status = multiply_batches(&product, out, err);
    kiln__product_release(&product);
    return status;
}

/* Through float32, for the dtypes that gemm does not know. */
static kiln_status matmul_wide(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *wide = NULL;
    struct kiln_group_kernels *kernels;
    kiln_status status = kiln__op_kernels(KILN_OP_CAST, KILN_FLOAT32, out->dtype, &kernels, err);
    if (status == KILN_OK) status = kiln__array_alloc(KILN_FLOAT32, out->ndim, out->dims, &wide, err);
    if (status == KILN_OK) status = matmul_into(node, wide, err);
    if (status == KILN_OK) status = kiln__launch(kernels, &wide, NULL, &out, err);
    kiln__array_unref(wide);
    return status;
}

kiln_status kiln__run_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *a = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK || out->size == 0) return status;
    if (a->dims[a->ndim - 1] == 0) {
        if (kiln__dry_run) return KILN_OK;
        memset(out->data, 0, (size_t)out->size * kiln__dtype_size(out->dtype));
        return KILN_OK;
    }
    if (kiln__cpu_matmul_fits(node, out)) return kiln__cpu_matmul(node, out, err);
    if (kiln__dry_run) return KILN_OK;
    bool is_narrow = out->dtype == KILN_FLOAT16 || out->dtype == KILN_BFLOAT16;
    return is_narrow ? matmul_wide(node, out, err) : matmul_into(node, out, err);
}
