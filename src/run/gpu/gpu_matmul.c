/*
 * gpu_matmul.c - matmul on a GPU: batches as the calls that cuBLAS takes, or of few rows as launches of ours.
 */
#include <limits.h>

#include "run/gpu/cublas.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_product_run.h"
#include "run/ops/matmul.h"

/* The batch axes as one, when both operands walk through them evenly; otherwise the last of them. */
static int64_t even_batch(const struct kiln_product *product, const struct kiln_array *out, int64_t *a_step,
                          int64_t *b_step)
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

static int64_t batch_offset(const struct kiln_matrix *matrix, const struct kiln_array *out, int64_t index)
{
    int64_t offset = 0;
    for (size_t i = out->ndim - 2u; i-- > 0; index /= out->dims[i]) offset += index % out->dims[i] * matrix->batch[i];
    return offset;
}

static kiln_status multiply_few_rows(const struct kiln_gpu_product *part, kiln_error *err)
{
    const int64_t item = (int64_t)kiln__dtype_size(part->dtype);
    const struct kiln_gpu_product_run run = {.op = KILN_OP_MATMUL,
                                             .dtype = part->dtype,
                                             .m = part->m,
                                             .n = part->n,
                                             .k = part->k,
                                             .batches = part->count,
                                             .out = part->c,
                                             .x = {part->a, part->a_lead * item, part->a_step * item},
                                             .weight = {{part->b, part->b_lead * item, part->b_step * item}},
                                             .config = {.is_transposed = part->b_is_transposed}};
    return kiln__gpu_product_run(&run, err);
}

static kiln_status multiply(struct kiln_product *product, struct kiln_array *out, kiln_error *err)
{
    int64_t item = (int64_t)kiln__dtype_size(product->dtype), a_step, b_step;
    bool may_be_ours = kiln__gpu_product_takes(product->dtype, product->m);
    kiln_status status = may_be_ours ? kiln__product_pack_rows(product, err) : KILN_OK;
    if (status) return status;
    int64_t batches = kiln__product_merge_batch(product, out);
    int64_t count = batches == 1 ? 1 : even_batch(product, out, &a_step, &b_step);
    if (count == 1) a_step = b_step = 0;
    bool is_ours = kiln__gpu_product_takes(product->dtype, product->m);
    for (int64_t batch = 0; batch < batches && !status; batch += count) {
        struct kiln_gpu_product part = {.dtype = product->dtype,
                                        .a_is_transposed = product->a.is_transposed,
                                        .b_is_transposed = product->b.is_transposed,
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
        status = (is_ours ? multiply_few_rows : kiln__cublas_multiply)(&part, err);
    }
    return status;
}

/* Not of empty matrices: can_run() in gpu_backend.c. */
kiln_status kiln__gpu_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_product product;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0 || node->inputs[1]->size == 0) return status;
    status = kiln__product_init(&product, node, out->dtype, out->dtype, err);
    if (!status) status = multiply(&product, out, err);
    kiln__product_release(&product);
    return status;
}
