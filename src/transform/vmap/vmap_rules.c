/*
 * vmap_rules.c - see vmap_rules.h: the table of rules, and those of operations that move, combine and reduce elements.
 *
 * Most operations have attributes that name axes or sizes of one array: a rule puts the mapped axis in front of them.
 */
#include "transform/vmap/vmap_rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

struct kiln_array *kiln__e_move(struct kiln_expression *e, struct kiln_array *a, size_t from, size_t to)
{
    int64_t order[KILN_MAX_NDIM];
    size_t next = 0;
    if (!a || from == to) return a;
    for (size_t i = 0; i < a->ndim; i++) {
        if (next == from) next++;
        order[i] = (int64_t)(i == to ? from : next++);
    }
    return kiln__e_transpose(e, a, order);
}

struct kiln_array *kiln__e_squeeze(struct kiln_expression *e, struct kiln_array *a, size_t axis)
{
    return kiln__e_apply(e, KILN_OP_SQUEEZE, &a, 1, (int64_t[]){(int64_t)axis}, 1);
}

struct kiln_array *kiln__e_expand(struct kiln_expression *e, struct kiln_array *a, size_t axis)
{
    return kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &a, 1, (int64_t[]){(int64_t)axis}, 1);
}

struct kiln_array *kiln__vmap_input(struct kiln_expression *e, const struct kiln_vmapped *v, size_t i)
{
    struct kiln_array *input = v->inputs[i];
    int dims[KILN_MAX_NDIM + 1] = {v->size};
    if (v->is_mapped[i]) return input;
    if (input->ndim) memcpy(dims + 1, input->dims, input->ndim * sizeof *dims);
    return kiln__e_broadcast(e, input, dims, input->ndim + 1u);
}

struct kiln_array *kiln__vmap_apply(struct kiln_expression *e, const struct kiln_vmapped *v,
                                    struct kiln_array *const *inputs, const int64_t *attrs, size_t attr_count)
{
    return kiln__e_apply(e, v->op, inputs, v->count, attrs, attr_count);
}

/* A list for the inputs of an operation; NULL, and the expression has failed: out of memory. */
static struct kiln_array **list_of(struct kiln_expression *e, size_t count)
{
    struct kiln_array **list = calloc(count, sizeof *list);
    if (!list) e->status = kiln__no_memory(e->err, "the inputs of an operation");
    return list;
}

struct kiln_array *kiln__vmap_all(struct kiln_expression *e, const struct kiln_vmapped *v, const int64_t *attrs,
                                  size_t attr_count)
{
    struct kiln_array **inputs = list_of(e, v->count), *result = NULL;
    for (size_t i = 0; inputs && i < v->count; i++) inputs[i] = v->inputs[i];
    for (size_t i = 0; inputs && i < v->count; i++) {
        if (v->is_mapped[i]) continue;
        struct kiln_array *wide = NULL;
        struct kiln_expression one = {.err = e->err};
        e->status = kiln__e_end(&one, kiln__vmap_input(&one, v, i), &wide);
        inputs[i] = wide;
        if (e->status) break;
    }
    if (inputs && !e->status) result = kiln__vmap_apply(e, v, inputs, attrs, attr_count);
    for (size_t i = 0; inputs && i < v->count; i++)
        if (inputs[i] != v->inputs[i]) kiln__array_unref(inputs[i]);
    free(inputs);
    return result;
}

/* ---- slice by slice ---------------------------------------------------------------------------------------------- */

static struct kiln_array *slice_of(struct kiln_expression *e, const struct kiln_vmapped *v, size_t i, int position)
{
    if (!v->is_mapped[i]) return v->inputs[i];
    return kiln__e_squeeze(e, kiln__e_cut(e, v->inputs[i], 0, position, position + 1, 1), 0);
}

/* The operation on slice `position` of each mapped input. */
static kiln_status apply_to_slice(const struct kiln_vmapped *v, int position, struct kiln_array **inputs,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    for (size_t i = 0; i < v->count && !e.status; i++) inputs[i] = slice_of(&e, v, i, position);
    struct kiln_array *result = e.status ? NULL : kiln__e_apply(&e, v->op, inputs, v->count, v->attrs, v->attr_count);
    return kiln__e_end(&e, result, out);
}

struct kiln_array *kiln__vmap_each(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct kiln_array **inputs = list_of(e, v->count), **rows = list_of(e, (size_t)v->size), *result = NULL;
    kiln_status status = inputs && rows ? KILN_OK : e->status;
    for (int i = 0; i < v->size && !status; i++) status = apply_to_slice(v, i, inputs, &rows[i], e->err);
    if (!status) status = kiln__stack(rows, (size_t)v->size, 0, &result, e->err);
    for (int i = 0; rows && i < v->size; i++) kiln__array_unref(rows[i]);
    free(rows);
    free(inputs);
    return kiln__e_hold(e, status, result);
}

/* ---- element-wise ------------------------------------------------------------------------------------------------ */

/* Axes are matched from the last one on, so the mapped axis has to stand in front of as many as the longest input has
 * behind it. Inputs that are not mapped are broadcast by the operation. */
static struct kiln_array *elementwise(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct kiln_array *inputs[3];
    size_t rank = 0;
    for (size_t i = 0; i < v->count; i++)
        if (kiln__vmap_rank(v, i) > rank) rank = kiln__vmap_rank(v, i);
    for (size_t i = 0; i < v->count; i++) {
        inputs[i] = v->inputs[i];
        for (size_t k = v->is_mapped[i] ? kiln__vmap_rank(v, i) : rank; k < rank; k++)
            inputs[i] = kiln__e_expand(e, inputs[i], 1);
    }
    return kiln__vmap_apply(e, v, inputs, v->attrs, v->attr_count);
}

/* ---- attributes that name axes ----------------------------------------------------------------------------------- */

/* Attribute `at` is an axis of all inputs. */
static struct kiln_array *along_attribute(struct kiln_expression *e, const struct kiln_vmapped *v, size_t at)
{
    int64_t attrs[KILN_VMAP_ATTRS];
    memcpy(attrs, v->attrs, v->attr_count * sizeof *attrs);
    attrs[at]++;
    return kiln__vmap_all(e, v, attrs, v->attr_count);
}

/* Reductions, sorting, concatenation, ... */
static struct kiln_array *along_axis(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    return along_attribute(e, v, 0);
}

static struct kiln_array *along_second(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    return along_attribute(e, v, 1);
}

static struct kiln_array *same_attributes(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    return kiln__vmap_all(e, v, v->attrs, v->attr_count);
}

/* All attributes are the dims of the result. */
static struct kiln_array *dims_of_result(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS] = {v->size};
    if (v->attr_count) memcpy(attrs + 1, v->attrs, v->attr_count * sizeof *attrs);
    return kiln__vmap_all(e, v, attrs, v->attr_count + 1);
}

static struct kiln_array *broadcast(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS] = {v->size};
    struct kiln_array *input = v->inputs[0];
    if (v->attr_count) memcpy(attrs + 1, v->attrs, v->attr_count * sizeof *attrs);
    for (size_t k = kiln__vmap_rank(v, 0); k < v->attr_count; k++) input = kiln__e_expand(e, input, 1);
    return kiln__vmap_apply(e, v, &input, attrs, v->attr_count + 1);
}

static struct kiln_array *transpose(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t order[KILN_VMAP_ATTRS] = {0};
    for (size_t i = 0; i < v->attr_count; i++) order[1 + i] = v->attrs[i] + 1;
    return kiln__vmap_all(e, v, order, v->attr_count + 1);
}

/* `count` lists of attributes, one number for each axis in each; the mapped axis gets first[k] in list k. */
static size_t put_in_front(int64_t *out, const int64_t *attrs, size_t length, const int64_t *first, size_t count)
{
    int64_t *next = out;
    for (size_t k = 0; k < count; k++) {
        *next++ = first[k];
        if (length) memcpy(next, attrs + k * length, length * sizeof *attrs);
        next += length;
    }
    return (size_t)(next - out);
}

static struct kiln_array *slice(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS];
    size_t count = put_in_front(attrs, v->attrs, v->attr_count / 3, (int64_t[]){0, v->size, 1}, 3);
    return kiln__vmap_all(e, v, attrs, count);
}

/* The mode stands in front of a slice. */
static struct kiln_array *slice_update(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS] = {v->attrs[0]};
    size_t count = put_in_front(attrs + 1, v->attrs + 1, (v->attr_count - 1) / 3, (int64_t[]){0, v->size, 1}, 3);
    return kiln__vmap_all(e, v, attrs, 1 + count);
}

/* Strides count elements of one slice, so slices are as many elements apart as each has. */
static struct kiln_array *as_strided(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS], apart = v->inputs[0]->size / v->size;
    size_t length = v->attr_count / 2;
    size_t count = put_in_front(attrs, v->attrs, length, (int64_t[]){v->size, apart}, 2);
    attrs[count++] = v->attrs[2 * length];
    return kiln__vmap_all(e, v, attrs, count);
}

static struct kiln_array *rearrange(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    int64_t attrs[KILN_VMAP_ATTRS] = {0}, *behind;
    size_t base = kiln__vmap_rank(v, 0), ndim = (v->attr_count - base) / 3;
    if (base) memcpy(attrs + 1, v->attrs, base * sizeof *attrs);
    behind = attrs + 1 + base;
    size_t count = put_in_front(behind, v->attrs + base, ndim, (int64_t[]){v->size, 0, 1}, 3);
    for (size_t i = 0; i < ndim; i++)
        if (v->attrs[base + ndim + i] >= 0) behind[ndim + 2 + i]++;
    return kiln__vmap_all(e, v, attrs, 1 + base + count);
}

/* The result is the first input; of the others it does not matter how many slices they have. */
static struct kiln_array *depends(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct kiln_array **inputs = list_of(e, v->count), *result = NULL;
    for (size_t i = 1; inputs && i < v->count; i++) inputs[i] = v->inputs[i];
    if (inputs) inputs[0] = kiln__vmap_input(e, v, 0);
    if (inputs) result = kiln__vmap_apply(e, v, inputs, NULL, 0);
    free(inputs);
    return result;
}

/* ---- what placeholders do not reach ------------------------------------------------------------------------------ */

/* Sources have no input that could be a placeholder; plans, deferred operations and layers are not made of them: a
 * function of theirs is called, or their formula written out. */
static struct kiln_array *unreached(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    e->status = kiln__fail(e->err, KILN_INVALID, "%s has no mapped input.", kiln__ops[v->op].name);
    return NULL;
}

/* A kernel in a program's own source: what it computes is not known here. */
static struct kiln_array *opaque(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    e->status = kiln__fail(e->err, KILN_INVALID,
                           "%s can't be vectorised: its source says what it computes. Give custom_function() a rule "
                           "for vmap.",
                           kiln__ops[v->op].name);
    return NULL;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

kiln_vmap_rule *const kiln__vmap_rules[KILN_OP_COUNT] = {
#define KILN_ELEMENTWISE(ID, ...) [KILN_OP_##ID] = elementwise,
#define KILN_LAYER(ID, ...)       [KILN_OP_##ID] = unreached,
#include "graph/ops.def"
    [KILN_OP_RESHAPE] = dims_of_result,
    [KILN_OP_BROADCAST] = broadcast,
    [KILN_OP_EXPAND_DIMS] = along_axis,
    [KILN_OP_SQUEEZE] = along_axis,
    [KILN_OP_TRANSPOSE] = transpose,
    [KILN_OP_SLICE] = slice,
    [KILN_OP_AS_STRIDED] = as_strided,
    [KILN_OP_REARRANGE] = rearrange,
    [KILN_OP_CONTIGUOUS] = same_attributes,
    [KILN_OP_REINTERPRET] = same_attributes,
    [KILN_OP_DEPENDS] = depends,
    [KILN_OP_CONCATENATE] = along_axis,
    [KILN_OP_SUM] = along_axis,
    [KILN_OP_PROD] = along_axis,
    [KILN_OP_MIN] = along_axis,
    [KILN_OP_MAX] = along_axis,
    [KILN_OP_ALL] = along_axis,
    [KILN_OP_ANY] = along_axis,
    [KILN_OP_ARGMIN] = along_axis,
    [KILN_OP_ARGMAX] = along_axis,
    [KILN_OP_CUMSUM] = along_axis,
    [KILN_OP_CUMPROD] = along_axis,
    [KILN_OP_CUMMAX] = along_axis,
    [KILN_OP_CUMMIN] = along_axis,
    [KILN_OP_TAKE] = kiln__vmap_take,
    [KILN_OP_GATHER] = kiln__vmap_gather,
    [KILN_OP_TAKE_ALONG] = along_axis,
    [KILN_OP_SCATTER] = kiln__vmap_scatter,
    [KILN_OP_PUT_ALONG] = along_second,
    [KILN_OP_SLICE_UPDATE] = slice_update,
    [KILN_OP_SLICE_DYNAMIC] = kiln__vmap_slice_dynamic,
    [KILN_OP_UPDATE_DYNAMIC] = kiln__vmap_update_dynamic,
    [KILN_OP_SORT] = along_axis,
    [KILN_OP_ARGSORT] = along_axis,
    [KILN_OP_LOAD] = unreached,
    [KILN_OP_SERIES] = unreached,
    [KILN_OP_DONATED] = unreached,
    [KILN_OP_MATMUL] = same_attributes,
    [KILN_OP_QUANTIZED_MATMUL] = kiln__vmap_quantized,
    [KILN_OP_GATHER_MATMUL] = kiln__vmap_gather_matmul,
    [KILN_OP_SEGMENTED_MATMUL] = kiln__vmap_segmented,
    [KILN_OP_CHOLESKY] = same_attributes,
    [KILN_OP_INVERSE] = same_attributes,
    [KILN_OP_QR] = same_attributes,
    [KILN_OP_LU] = same_attributes,
    [KILN_OP_SVD] = same_attributes,
    [KILN_OP_EIGH] = same_attributes,
    [KILN_OP_EIG] = same_attributes,
    [KILN_OP_FACTOR] = same_attributes,
    [KILN_OP_FFT] = along_axis,
    [KILN_OP_RANDOM_BITS] = dims_of_result,
    [KILN_OP_ATTENTION] = kiln__vmap_attention,
    [KILN_OP_CUDA_KERNEL] = opaque,
    [KILN_OP_CUDA_PART] = opaque,
    [KILN_OP_CUSTOM] = unreached, /* vmap.c: by the rule of the function */
    [KILN_OP_DEFERRED] = unreached,
    [KILN_OP_PLAN] = unreached,
};
