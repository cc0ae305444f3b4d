/*
 * gpu_quantized_matmul.c - products with quantized matrices on a GPU: codes, scales and biases are read where they are.
 * graph/rules_quantized.c has inputs and attributes.
 */
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_product_run.h"
#include "run/kernels/dry_run.h"
#include "run/ops/matmul.h"

enum { MODE, GROUP_SIZE, BITS, TRANSPOSE, HAS_GLOBAL };
enum { X, WEIGHT, PARTS = 4 }; /* x, codes, scales, biases */

struct operands {
    struct kiln_matrix parts[PARTS];
    size_t count;
};

static kiln_status operands_init(struct operands *o, const struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    *o = (struct operands){.count = 3u + (node->attrs[MODE] == 0)};
    for (size_t i = 0; i < o->count && !status; i++)
        status = kiln__matrix_rows(node->inputs[i], (enum kiln_dtype)node->inputs[i]->dtype, &o->parts[i], err);
    return status;
}

static void operands_release(struct operands *o)
{
    for (size_t i = 0; i < o->count; i++) kiln__array_unref(o->parts[i].array);
}

static int64_t row_of(const struct kiln_matrix *matrix)
{
    return matrix->lead * (int64_t)kiln__dtype_size(matrix->array->dtype);
}

/* Are all products with one matrix, and the rows of x evenly spaced? Then they are one product with more rows. */
static bool is_one_product(const struct operands *o, const struct kiln_array *out)
{
    int64_t step = out->dims[out->ndim - 2] * row_of(&o->parts[X]);
    for (size_t i = out->ndim - 2u; i-- > 0;) {
        if (out->dims[i] == 1) continue;
        if (o->parts[X].batch[i] != step) return false;
        for (size_t part = WEIGHT; part < o->count; part++)
            if (o->parts[part].batch[i] != 0) return false;
        step *= out->dims[i];
    }
    return true;
}

static int64_t offset_of(const struct kiln_matrix *matrix, const struct kiln_array *out, int64_t batch)
{
    int64_t offset = 0;
    for (size_t i = out->ndim - 2u; i-- > 0; batch /= out->dims[i]) offset += batch % out->dims[i] * matrix->batch[i];
    return offset;
}

static kiln_status multiply(const struct kiln_node *node, const struct operands *o, struct kiln_array *out,
                            kiln_error *err)
{
    const struct kiln_array *x = node->inputs[0];
    const int64_t m = x->dims[x->ndim - 2], n = out->dims[out->ndim - 1];
    struct kiln_gpu_product_run run = {
        .op = KILN_OP_QUANTIZED_MATMUL,
        .dtype = (enum kiln_dtype)out->dtype,
        .m = m,
        .n = n,
        .k = x->dims[x->ndim - 1],
        .batches = 1,
        .global_scale = node->attrs[HAS_GLOBAL] ? node->inputs[o->count]->data : NULL,
        .config = {.is_transposed = node->attrs[TRANSPOSE] != 0,
                   .codes = (enum kiln_product_codes)(node->attrs[MODE] + KILN_CODES_AFFINE),
                   .bits = (uint8_t)node->attrs[BITS],
                   .group_size = (uint8_t)node->attrs[GROUP_SIZE],
                   .scale_dtype = node->attrs[MODE] ? KILN_FLOAT32 : (enum kiln_dtype)node->inputs[2]->dtype}};
    const bool is_one = is_one_product(o, out);
    const int64_t products = is_one || kiln__dry_run ? 1 : out->size / (m * n);
    if (is_one) run.m = out->size / n;
    kiln_status status = KILN_OK;
    for (int64_t batch = 0; batch < products && !status; batch++) {
        struct kiln_gpu_operand *const operands[PARTS] = {&run.x, &run.weight[0], &run.weight[1], &run.weight[2]};
        for (size_t i = 0; i < o->count; i++)
            *operands[i] = (struct kiln_gpu_operand){o->parts[i].array->data + offset_of(&o->parts[i], out, batch),
                                                     row_of(&o->parts[i]), 0};
        run.out = out->data + batch * m * n * (int64_t)kiln__dtype_size(out->dtype);
        status = kiln__gpu_product_run(&run, err);
    }
    return status;
}

/* Not of empty matrices: can_run() in gpu_backend.c. */
kiln_status kiln__gpu_quantized_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct operands operands;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0 || node->inputs[1]->size == 0) return status;
    status = operands_init(&operands, node, err);
    if (!status) status = multiply(node, &operands, out, err);
    operands_release(&operands);
    return status;
}
