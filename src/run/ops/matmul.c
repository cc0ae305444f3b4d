/*
 * matmul.c - see matmul.h. A matrix with one packed axis is passed as it lies, as a transpose if need be; any other is
 * copied first.
 */
#include "run/ops/matmul.h"

#include <limits.h>

#include "run/kernels/launch.h"
#include "run/ops/operation.h"

/* Can gemm read rows x columns with these strides, in elements? */
static bool fits(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, int *lead)
{
    if (columns != 1 && column_stride != 1) return false;
    if (rows == 1) row_stride = columns;
    if (row_stride < columns || row_stride > INT_MAX) return false;
    *lead = (int)(row_stride > 0 ? row_stride : 1);
    return true;
}

static bool describe(struct kiln_matrix *matrix)
{
    const struct kiln_array *array = matrix->array;
    size_t last = array->ndim - 1u;
    int64_t rows = array->dims[last - 1], columns = array->dims[last];
    int64_t row_stride = array->strides[last - 1], column_stride = array->strides[last];
    for (size_t i = 0; i + 1 < last; i++) {
        int64_t stride = array->dims[i] == 1 ? 0 : array->strides[i];
        matrix->batch[i] = stride * (int64_t)kiln__dtype_size(array->dtype);
    }
    matrix->is_transposed = !fits(rows, columns, row_stride, column_stride, &matrix->lead);
    return !matrix->is_transposed || fits(columns, rows, column_stride, row_stride, &matrix->lead);
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

static kiln_status prepare(struct kiln_array *in, enum kiln_dtype dtype, struct kiln_matrix *matrix, kiln_error *err)
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

kiln_status kiln__product_init(struct kiln_product *product, const struct kiln_node *node, enum kiln_dtype left,
                               enum kiln_dtype right, kiln_error *err)
{
    struct kiln_array *a = node->inputs[0], *b = node->inputs[1];
    *product = (struct kiln_product){
        .dtype = left, .m = a->dims[a->ndim - 2], .n = b->dims[b->ndim - 1], .k = a->dims[a->ndim - 1]};
    kiln_status status = prepare(a, left, &product->a, err);
    return status ? status : prepare(b, right, &product->b, err);
}

static kiln_status pack_rows(struct kiln_matrix *matrix, enum kiln_dtype dtype, kiln_error *err)
{
    struct kiln_array *old = matrix->array;
    if (!matrix->is_transposed) return KILN_OK;
    kiln_status status = pack(old, dtype, &matrix->array, err);
    if (status) return status;
    kiln__array_unref(old);
    describe(matrix);
    return KILN_OK;
}

kiln_status kiln__product_pack_rows(struct kiln_product *product, kiln_error *err)
{
    return pack_rows(&product->a, product->dtype, err);
}

kiln_status kiln__matrix_rows(struct kiln_array *in, enum kiln_dtype dtype, struct kiln_matrix *matrix, kiln_error *err)
{
    kiln_status status = prepare(in, dtype, matrix, err);
    return status ? status : pack_rows(matrix, dtype, err);
}

void kiln__product_release(struct kiln_product *product)
{
    kiln__array_unref(product->a.array);
    kiln__array_unref(product->b.array);
}

static int64_t count_batches(const struct kiln_array *out)
{
    int64_t batches = 1;
    for (size_t i = 0; i + 2 < out->ndim; i++) batches *= out->dims[i];
    return batches;
}

int64_t kiln__product_merge_batch(struct kiln_product *product, const struct kiln_array *out)
{
    int64_t item = (int64_t)kiln__dtype_size(product->dtype), rows = product->m, batches = count_batches(out);
    if (product->a.is_transposed || rows * batches > INT_MAX) return batches;
    for (size_t i = out->ndim - 2u; i-- > 0;) {
        if (out->dims[i] == 1) continue;
        if (product->b.batch[i] != 0 || product->a.batch[i] != rows * product->a.lead * item) return batches;
        rows *= out->dims[i];
    }
    product->m = (int)rows;
    return 1;
}
