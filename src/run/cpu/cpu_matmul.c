/*
 * cpu_matmul.c - see cpu_matmul.h. x becomes packed rows of float32; the weight stays as it is, unless neither of its
 * two axes is packed.
 */
#include "run/cpu/cpu_matmul.h"

#include <stdlib.h>
#include <string.h>

#include "run/cpu/product_run.h"
#include "run/kernels/dry_run.h"
#include "run/ops/indices.h"
#include "run/ops/matmul.h"
#include "run/ops/operation.h"

enum { SOME = 512, LONG_INNER = 8192 }; /* beyond these BLAS blocks better for the caches */

/* Of float32, where BLAS can be asked instead. */
static int64_t most_rows(const struct kiln_array *b)
{
    bool is_transposed = b->strides[b->ndim - 2] == 1 && b->dims[b->ndim - 2] <= LONG_INNER;
    return is_transposed && kiln__product_has_wide_vectors() ? SOME : KILN_PRODUCT_FEW;
}

bool kiln__cpu_matmul_fits(const struct kiln_node *node, const struct kiln_array *out)
{
    const struct kiln_array *b = node->inputs[1];
    int64_t rows = out->dims[out->ndim - 2];
    if (!kiln__product_knows((enum kiln_dtype)out->dtype)) return false;
    if (out->dtype != KILN_FLOAT32) return true;
    for (int i = 0; i + 2 < out->ndim && rows <= SOME; i++)
        if (b->dims[i] == 1 || b->strides[i] == 0) rows *= out->dims[i];
    return rows <= most_rows(b);
}

static int64_t offset_of(const struct kiln_matrix *matrix, const struct kiln_array *out, int64_t batch)
{
    int64_t offset = 0;
    for (size_t i = out->ndim - 2u; i-- > 0; batch /= out->dims[i]) offset += batch % out->dims[i] * matrix->batch[i];
    return offset;
}

/* x and the weight are made to fit; x is float32 unless the kernels multiply with bfloat16. */
static kiln_status prepare(const struct kiln_node *node, struct kiln_array *out, struct kiln_product *product,
                           struct kiln_product_run *run, kiln_error *err)
{
    const struct kiln_array *b = node->inputs[1];
    *run = (struct kiln_product_run){.op = KILN_OP_MATMUL,
                                     .out = out->data,
                                     .out_dtype = (enum kiln_dtype)out->dtype,
                                     .weight_dtype = (enum kiln_dtype)out->dtype,
                                     .is_transposed = b->strides[b->ndim - 2] == 1};
    run->has_bf16 = kiln__product_takes_bf16(run);
    enum kiln_dtype x = run->has_bf16 ? KILN_BFLOAT16 : KILN_FLOAT32;
    kiln_status status = kiln__product_init(product, node, x, run->weight_dtype, err);
    if (!status && run->has_bf16 && !product->b.is_transposed) { /* a weight of one column or row may pass for either */
        kiln__product_release(product);
        run->has_bf16 = false;
        status = kiln__product_init(product, node, KILN_FLOAT32, run->weight_dtype, err);
    }
    return status ? status : kiln__product_pack_rows(product, err);
}

/* `matrices`: for each product the number of its matrix in a list; NULL: the batch of b is that of out. */
static kiln_status multiply(struct kiln_product *product, struct kiln_product_run *run, const int64_t *matrices,
                            int64_t batches, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_matrix *a = &product->a, *b = &product->b;
    struct kiln_place *places = calloc((size_t)batches, sizeof *places);
    if (!places) return kiln__no_memory(err, "the products of a batch");
    for (int64_t i = 0; i < batches && (batches > 1 || matrices); i++) {
        places[i].x = offset_of(a, out, i);
        places[i].parts[0] = matrices ? matrices[i] * b->batch[0] : offset_of(b, out, i);
    }
    run->m = product->m, run->n = product->n, run->k = product->k;
    run->x = a->array->data;
    run->x_row = a->lead * (int64_t)kiln__dtype_size(a->array->dtype);
    run->weight[0] = (struct kiln_weight_part){b->array->data, b->lead * (int64_t)kiln__dtype_size(b->array->dtype)};
    run->is_transposed = b->is_transposed;
    run->places = places;
    run->batches = batches;
    kiln_status status = kiln__product_run(run, err);
    free(places);
    return status;
}

kiln_status kiln__cpu_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_product product = {.m = 0};
    struct kiln_product_run run;
    kiln_status status = prepare(node, out, &product, &run, err);
    if (!status) status = multiply(&product, &run, NULL, kiln__product_merge_batch(&product, out), out, err);
    kiln__product_release(&product);
    return status;
}

/* Indices are not there yet in a dry run, and no places are read. */
static kiln_status multiply_picked(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_product product = {.m = 0};
    struct kiln_product_run run;
    int64_t *matrices = NULL, batches = 1;
    kiln_status status = KILN_OK;
    if (!kiln__dry_run) {
        status = kiln__indices_read("gather_mm", node->inputs[2], node->inputs[1]->dims[0], 1, &matrices, err);
        batches = node->inputs[2]->size;
    }
    if (!status) status = prepare(node, out, &product, &run, err);
    if (!status) status = multiply(&product, &run, matrices, batches, out, err);
    kiln__product_release(&product);
    free(matrices);
    return status;
}

kiln_status kiln__run_gather_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *x = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    if (x->dims[x->ndim - 1] != 0) return multiply_picked(node, out, err);
    if (!kiln__dry_run) memset(out->data, 0, (size_t)out->size * kiln__dtype_size(out->dtype));
    return KILN_OK;
}
