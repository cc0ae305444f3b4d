/*
 * blas.c - matrix products: layouts and dtypes made to fit the library's gemm.
 *
 * Every product goes through gemm, whatever its shape. A matrix with one packed axis is passed as it lies, as a
 * transpose if need be; any other is copied first. float16 and bfloat16 are converted, multiplied in float32, and
 * rounded once.
 */
#include "run/cpu/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/process/exit.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "run/gpu/cublas.h"
#include "run/kernels/launch.h"
#include "run/ops/operation.h"
#include "run/placement.h"

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
    struct kiln_blas found;
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
static kiln_status get_blas(const struct kiln_blas **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    *out = &blas;
    if (atomic_load_explicit(&opened, memory_order_acquire)) return KILN_OK;
    if (!kiln__work_begin()) return refuse_to_multiply(err);
    kiln__mutex_lock(&lock);
    if (!atomic_load_explicit(&opened, memory_order_relaxed)) status = open_blas(err);
    kiln__mutex_unlock(&lock);
    kiln__work_end();
    return status;
}

/* ---- one operand --------------------------------------------------------------------------------------------- */

struct matrix {
    struct kiln_array *array; /* a reference: the input, or a packed copy of it */
    int trans, lead;
    int64_t batch[KILN_MAX_NDIM]; /* bytes per batch axis */
};

/* Can gemm read rows x columns with these strides, in elements? */
static bool fits(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int *lead)
{
    if (columns != 1 && column_stride != 1) return false;
    if (rows == 1) row_stride = columns;
    if (row_stride < columns || row_stride > INT_MAX) return false;
    *lead = (int)(row_stride > 0 ? row_stride : 1);
    return true;
}

static bool describe(struct matrix *matrix)
{
    const struct kiln_array *array = matrix->array;
    size_t last = array->ndim - 1u;
    int64_t rows = array->dims[last - 1], columns = array->dims[last];
    int64_t row_stride = array->strides[last - 1], column_stride = array->strides[last];
    for (size_t i = 0; i + 1 < last; i++) {
        int64_t stride = array->dims[i] == 1 ? 0 : array->strides[i];
        matrix->batch[i] = stride * (int64_t)kiln__dtype_size(array->dtype);
    }
    matrix->trans = NO_TRANS;
    if (fits(rows, columns, row_stride, column_stride, &matrix->lead)) return true;
    matrix->trans = TRANS;
    return fits(columns, rows, column_stride, row_stride, &matrix->lead);
}

/* A packed copy in `dtype`. Batch axes that only repeat the same matrix are copied once. */
static kiln_status pack(struct kiln_array *in, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    int dims[KILN_MAX_NDIM];
    struct kiln_array *view = NULL, *copy = NULL;
    struct kiln_group_kernels *kernels;
    for (size_t i = 0; i < in->ndim; i++) dims[i] = i + 2 < in->ndim && in->strides[i] == 0 ? 1 : in->dims[i];
    kiln_status status = kiln__op_kernels(KILN_OP_CAST, in->dtype, dtype, &kernels, err);
    if (status == KILN_OK) status = kiln__array_view(in, in->ndim, dims, in->strides, 0, &view, err);
    if (status == KILN_OK) status = kiln__array_new(dtype, in->ndim, dims, &copy, err);
    if (status == KILN_OK) status = kiln__output_alloc(copy, err);
    if (status == KILN_OK) status = kiln__launch(kernels, &view, NULL, &copy, err);
    kiln__array_unref(view);
    if (status == KILN_OK)
        *out = copy;
    else
        kiln__array_unref(copy);
    return status;
}

static kiln_status prepare(struct kiln_array *in, enum kiln_dtype dtype, struct matrix *matrix, kiln_error *err)
{
    matrix->array = in;
    if (in->dtype == dtype && describe(matrix)) {
        kiln__array_ref(in);
        return KILN_OK;
    }
    matrix->array = NULL;
    kiln_status status = pack(in, dtype, &matrix->array, err);
    if (status == KILN_OK) describe(matrix);
    return status;
}

/* ---- the product --------------------------------------------------------------------------------------------- */

struct product {
    const struct kiln_blas *blas;
    enum kiln_dtype dtype;
    struct matrix a, b;
    int m, n, k;
};

static void multiply(const struct product *product, const char *a, const char *b, char *c)
{
    static const float one[2] = {1, 0}, zero[2] = {0, 0};
    int ta = product->a.trans, tb = product->b.trans, lda = product->a.lead, ldb = product->b.lead;
    int m = product->m, n = product->n, k = product->k;
    const void *left = a, *right = b;
    void *result = c;
    if (product->dtype == KILN_FLOAT32) {
        product->blas->sgemm(ROW_MAJOR, ta, tb, m, n, k, 1, left, lda, right, ldb, 0, result, n);
    } else if (product->dtype == KILN_FLOAT64) {
        product->blas->dgemm(ROW_MAJOR, ta, tb, m, n, k, 1, left, lda, right, ldb, 0, result, n);
    } else {
        product->blas->cgemm(ROW_MAJOR, ta, tb, m, n, k, one, left, lda, right, ldb, zero, result, n);
    }
}

/* One matrix for all of the batch, times rows that follow each other evenly: a single product with more rows. */
static int64_t merge_batch(struct product *product, const struct kiln_array *out, int64_t batches)
{
    int64_t item = (int64_t)kiln__dtype_size(product->dtype), rows = product->m;
    if (product->a.trans != NO_TRANS || rows * batches > INT_MAX) return batches;
    for (size_t i = out->ndim - 2u; i-- > 0;) {
        if (out->dims[i] == 1) continue;
        if (product->b.batch[i] != 0 || product->a.batch[i] != rows * product->a.lead * item) return batches;
        rows *= out->dims[i];
    }
    product->m = (int)rows;
    return 1;
}

static kiln_status multiply_batches(struct product *product, struct kiln_array *out, kiln_error *err)
{
    if (!kiln__work_begin()) return refuse_to_multiply(err);
    size_t batch_ndim = out->ndim - 2u;
    int64_t index[KILN_MAX_NDIM] = {0}, batches = 1;
    for (size_t i = 0; i < batch_ndim; i++) batches *= out->dims[i];
    batches = merge_batch(product, out, batches);
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

/* ---- on a GPU -------------------------------------------------------------------------------------------------- */

/* The batch axes as one, when both operands walk through them evenly; otherwise the last of them. */
static int64_t even_batch(const struct product *product, const struct kiln_array *out, int64_t *a_step, int64_t *b_step)
{
    int64_t count = 1;
    *a_step = *b_step = 0;
    for (size_t i = out->ndim - 2u; i-- > 0;) {
        if (out->dims[i] == 1) continue;
        int64_t a = product->a.batch[i], b = product->b.batch[i];
        if (count == 1) {
            *a_step = a;
            *b_step = b;
        } else if (a != count * *a_step || b != count * *b_step || count * out->dims[i] > INT_MAX) {
            break;
        }
        count *= out->dims[i];
    }
    return count;
}

static int64_t batch_offset(const struct matrix *matrix, const struct kiln_array *out, int64_t index)
{
    int64_t offset = 0;
    for (size_t i = out->ndim - 2u; i-- > 0; index /= out->dims[i]) offset += index % out->dims[i] * matrix->batch[i];
    return offset;
}

static kiln_status multiply_on_gpu(struct product *product, struct kiln_array *out, kiln_error *err)
{
    int64_t item = (int64_t)kiln__dtype_size(product->dtype), batches = 1, a_step, b_step;
    for (size_t i = 0; i + 2 < out->ndim; i++) batches *= out->dims[i];
    batches = merge_batch(product, out, batches);
    int64_t count = batches == 1 ? 1 : even_batch(product, out, &a_step, &b_step);
    if (count == 1) a_step = b_step = 0;
    kiln_status status = KILN_OK;
    for (int64_t batch = 0; batch < batches && !status; batch += count) {
        struct kiln_gpu_product part = {.dtype = product->dtype,
                                        .a_is_transposed = product->a.trans == TRANS,
                                        .b_is_transposed = product->b.trans == TRANS,
                                        .m = product->m,
                                        .n = product->n,
                                        .k = product->k,
                                        .a_lead = product->a.lead,
                                        .b_lead = product->b.lead,
                                        .a_step = a_step / item,
                                        .b_step = b_step / item,
                                        .count = (int)count,
                                        .a = product->a.array->data + batch_offset(&product->a, out, batch),
                                        .b = product->b.array->data + batch_offset(&product->b, out, batch),
                                        .c = out->data + batch * product->m * product->n * item};
        status = kiln__cublas_multiply(&part, err);
    }
    return status;
}

/* `out` is packed, has storage and the product's dtype. */
static kiln_status matmul_into(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_array *a = node->inputs[0], *b = node->inputs[1];
    struct product product = {
        .dtype = out->dtype, .m = a->dims[a->ndim - 2], .n = b->dims[b->ndim - 1], .k = a->dims[a->ndim - 1]};
    kiln_status status = kiln__active_device_index ? KILN_OK : get_blas(&product.blas, err);
    if (status == KILN_OK) status = prepare(a, out->dtype, &product.a, err);
    if (status == KILN_OK) status = prepare(b, out->dtype, &product.b, err);
    if (status == KILN_OK && kiln__active_device_index)
        status = multiply_on_gpu(&product, out, err);
    else if (status == KILN_OK)
        status = multiply_batches(&product, out, err);
    kiln__array_unref(product.a.array);
    kiln__array_unref(product.b.array);
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
        memset(out->data, 0, (size_t)out->size * kiln__dtype_size(out->dtype));
        return KILN_OK;
    }
    bool is_narrow = out->dtype == KILN_FLOAT16 || out->dtype == KILN_BFLOAT16;
    return is_narrow && !kiln__active_device_index ? matmul_wide(node, out, err) : matmul_into(node, out, err);
}
