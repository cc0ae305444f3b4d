/*
 * quantized_matmul.c - products with quantized matrices on the CPU: codes, scales and biases are read where they are,
 * also those of matrices that are picked by index. graph/rules_quantized.c has inputs and attributes.
 */
#include <stdlib.h>
#include <string.h>

#include "run/cpu/product_run.h"
#include "run/kernels/dry_run.h"
#include "run/ops/indices.h"
#include "run/ops/matmul.h"
#include "run/ops/operation.h"

enum { MODE, GROUP_SIZE, BITS, TRANSPOSE, HAS_GLOBAL, HAS_INDICES };
enum { PARTS = 3 };

/* A tensor whose largest magnitude is the global scale has 448 as its largest e4m3 scale (ops/quantize.h). */
static const float global_unit = 448 * 6;

struct operands {
    struct kiln_matrix x, parts[PARTS]; /* codes, scales, biases */
    int part_count;
    const struct kiln_array *global_scale, *indices; /* may be NULL */
    int64_t *matrices;                               /* for each product the number of its matrix; NULL: no indices */
};

static kiln_status operands_init(struct operands *o, const struct kiln_node *node, kiln_error *err)
{
    static const char name[] = "quantized_matmul";
    uint32_t next = 3u + (node->attrs[MODE] == 0);
    *o = (struct operands){.part_count = (int)next - 1};
    if (node->attrs[HAS_GLOBAL]) o->global_scale = node->inputs[next++];
    if (node->attrs[HAS_INDICES]) o->indices = node->inputs[next];
    kiln_status status = KILN_OK;
    for (int i = 0; i < o->part_count && !status; i++) {
        struct kiln_array *part = node->inputs[i + 1];
        status = kiln__matrix_rows(part, (enum kiln_dtype)part->dtype, &o->parts[i], err);
    }
    if (status || !o->indices || kiln__dry_run) return status;
    return kiln__indices_read(name, o->indices, node->inputs[1]->dims[0], 1, &o->matrices, err);
}

static void operands_release(struct operands *o)
{
    kiln__array_unref(o->x.array);
    for (int i = 0; i < o->part_count; i++) kiln__array_unref(o->parts[i].array);
    free(o->matrices);
}

/* ---- the batch
 * ------------------------------------------------------------------------------------------------------- */

static int64_t offset_of(const struct kiln_matrix *matrix, const struct kiln_array *out, int64_t batch)
{
    int64_t offset = 0;
    for (size_t i = out->ndim - 2u; i-- > 0; batch /= out->dims[i]) offset += batch % out->dims[i] * matrix->batch[i];
    return offset;
}

/* Are all products with one matrix? */
static bool has_one_matrix(const struct operands *o, const struct kiln_array *out)
{
    for (size_t i = out->ndim - 2u; i-- > 0 && !o->indices;)
        for (int part = 0; part < o->part_count; part++)
            if (out->dims[i] != 1 && o->parts[part].batch[i] != 0) return false;
    return !o->indices;
}

/* And are the rows of x evenly spaced? Then it is one product with more rows. */
static bool is_one_product(const struct operands *o, const struct kiln_array *out, int64_t rows)
{
    if (!has_one_matrix(o, out)) return false;
    for (size_t i = out->ndim - 2u; i-- > 0;) {
        if (out->dims[i] == 1) continue;
        if (o->x.batch[i] != rows * o->x.lead * (int64_t)kiln__dtype_size(o->x.array->dtype)) return false;
        rows *= out->dims[i];
    }
    return true;
}

static void fill_places(const struct operands *o, const struct kiln_array *out, struct kiln_place *places,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        places[i].x = offset_of(&o->x, out, i);
        for (int part = 0; part < o->part_count; part++)
            places[i].parts[part] =
                o->matrices ? o->matrices[i] * o->parts[part].batch[0] : offset_of(&o->parts[part], out, i);
    }
}

/* ---- running
 * --------------------------------------------------------------------------------------------------------- */

static enum kiln_product_codes codes_of(int64_t mode)
{
    static const enum kiln_product_codes codes[] = {KILN_CODES_AFFINE, KILN_CODES_MXFP4, KILN_CODES_MXFP8,
                                                    KILN_CODES_NVFP4};
    return codes[mode];
}

static void describe(const struct kiln_node *node, const struct operands *o, struct kiln_array *out,
                     struct kiln_product_run *run)
{
    const struct kiln_array *x = node->inputs[0];
    float global;
    *run = (struct kiln_product_run){.op = KILN_OP_QUANTIZED_MATMUL,
                                     .m = x->dims[x->ndim - 2],
                                     .n = out->dims[out->ndim - 1],
                                     .k = x->dims[x->ndim - 1],
                                     .out = out->data,
                                     .out_dtype = (enum kiln_dtype)out->dtype,
                                     .weight_dtype = KILN_UINT32,
                                     .is_transposed = node->attrs[TRANSPOSE] != 0,
                                     .codes = codes_of(node->attrs[MODE]),
                                     .bits = (int)node->attrs[BITS],
                                     .group_size = (int)node->attrs[GROUP_SIZE],
                                     .scale_dtype = (enum kiln_dtype)o->parts[1].array->dtype,
                                     .factor = 1};
    for (int i = 0; i < o->part_count; i++) {
        const struct kiln_array *part = o->parts[i].array;
        run->weight[i] =
            (struct kiln_weight_part){part->data, o->parts[i].lead * (int64_t)kiln__dtype_size(part->dtype)};
    }
    if (!o->global_scale || kiln__dry_run) return;
    memcpy(&global, o->global_scale->data, sizeof global);
    run->factor = global / global_unit;
}

/* The rows of x, as the kernels for this weight take them. */
static kiln_status prepare_x(const struct kiln_node *node, struct operands *o, const struct kiln_array *out,
                             struct kiln_product_run *run, kiln_error *err)
{
    int64_t m = run->m;
    if (has_one_matrix(o, out)) run->m = out->size / run->n;
    run->digits = kiln__product_digits(run);
    run->m = m;
    kiln_status status = kiln__matrix_rows(node->inputs[0], run->digits ? run->out_dtype : KILN_FLOAT32, &o->x, err);
    if (status) return status;
    run->x = o->x.array->data;
    run->x_row = o->x.lead * (int64_t)kiln__dtype_size(o->x.array->dtype);
    return KILN_OK;
}

static kiln_status multiply(const struct kiln_node *node, struct operands *o, struct kiln_array *out, kiln_error *err)
{
    struct kiln_product_run run;
    describe(node, o, out, &run);
    kiln_status status = prepare_x(node, o, out, &run, err);
    if (status) return status;
    int64_t batches = out->size / (run.m * run.n);
    if (is_one_product(o, out, run.m)) run.m *= batches, batches = 1;
    if (kiln__dry_run) batches = 1; /* nobody reads places */
    struct kiln_place *places = calloc((size_t)batches, sizeof *places);
    if (!places) return kiln__no_memory(err, "the products of a batch");
    if (batches > 1 || o->matrices) fill_places(o, out, places, batches);
    run.places = places;
    run.batches = batches;
    status = kiln__product_run(&run, err);
    free(places);
    return status;
}

kiln_status kiln__run_quantized_matmul(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct operands operands;
    const struct kiln_array *x = node->inputs[0];
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK || out->size == 0) return status;
    if (x->dims[x->ndim - 1] == 0) {
        if (kiln__dry_run) return KILN_OK;
        memset(out->data, 0, (size_t)out->size * kiln__dtype_size(out->dtype));
        return KILN_OK;
    }
    status = operands_init(&operands, node, err);
    if (!status) status = multiply(node, &operands, out, err);
    operands_release(&operands);
    return status;
}
