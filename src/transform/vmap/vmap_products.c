/*
 * vmap_products.c - rules of products with quantized and picked matrices, and of attention.
 *
 * Weights are seldom mapped: then the mapped axis is one more batch axis of x, and the weights are read as they are.
 * Where they are, each slice is an operation.
 */
#include <limits.h>
#include <string.h>

#include "graph/attention_attrs.h"
#include "ops/layers.h"
#include "transform/vmap/vmap_rules.h"

static bool any_mapped(const struct kiln_vmapped *v, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (v->is_mapped[i]) return true;
    return false;
}

/* ---- picked matrices --------------------------------------------------------------------------------------------- */

/* x, a list of matrices, indices. */
struct kiln_array *kiln__vmap_gather_matmul(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    if (v->is_mapped[1]) return kiln__vmap_each(e, v);
    struct kiln_array *inputs[] = {kiln__vmap_input(e, v, 0), v->inputs[1], kiln__vmap_input(e, v, 2)};
    return kiln__vmap_apply(e, v, inputs, NULL, 0);
}

/* Two matrices, segments, which may have any axes in front. */
struct kiln_array *kiln__vmap_segmented(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    if (v->is_mapped[0] || v->is_mapped[1]) return kiln__vmap_each(e, v);
    return kiln__vmap_apply(e, v, v->inputs, NULL, 0);
}

/* ---- quantized matrices ------------------------------------------------------------------------------------------ */

/* Rows of all slices are multiplied together: (size, batch, m, k) becomes (batch, size * m, k). */
static struct kiln_array *merge_rows(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct kiln_array *inputs[6], *x = v->inputs[0];
    int dims[KILN_MAX_NDIM];
    size_t rows = (size_t)x->ndim - 2, ndim = (size_t)x->ndim - 1;
    memcpy(inputs, v->inputs, v->count * sizeof *inputs);
    memcpy(dims, x->dims + 1, ndim * sizeof *dims);
    dims[rows - 1] = v->size * x->dims[rows];
    inputs[0] = kiln__e_reshape(e, kiln__e_move(e, x, 0, rows - 1), dims, ndim);
    struct kiln_array *all = kiln__vmap_apply(e, v, inputs, v->attrs, v->attr_count);
    int wide[KILN_MAX_NDIM];
    memcpy(wide, v->result->dims, (rows - 1) * sizeof *wide);
    wide[rows - 1] = v->size, wide[rows] = x->dims[rows];
    wide[rows + 1] = v->result->dims[rows];
    return kiln__e_move(e, kiln__e_reshape(e, all, wide, rows + 2), rows - 1, 0);
}

/* x, then codes, scales and the like, then indices if there are some: graph/rules_quantized.c. */
struct kiln_array *kiln__vmap_quantized(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    bool has_indices = v->attrs[v->attr_count - 1] != 0;
    struct kiln_array *inputs[6];
    if (any_mapped(v, 1, v->count - has_indices)) return kiln__vmap_each(e, v);
    int64_t rows = (int64_t)v->size * v->inputs[0]->dims[v->inputs[0]->ndim - 2];
    if (!has_indices && rows > INT_MAX) return kiln__vmap_each(e, v);
    if (!has_indices) return merge_rows(e, v);
    memcpy(inputs, v->inputs, v->count * sizeof *inputs);
    inputs[0] = kiln__vmap_input(e, v, 0);
    inputs[v->count - 1] = kiln__vmap_input(e, v, v->count - 1);
    return kiln__vmap_apply(e, v, inputs, v->attrs, v->attr_count);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* (size, batch, heads, ...) as (batch, size * heads, ...): nothing is empty. */
static struct kiln_array *merge_heads(struct kiln_expression *e, struct kiln_array *a)
{
    a = kiln__e_move(e, a, 0, 1);
    return a ? kiln__e_reshape(e, a, (int[]){a->dims[0], -1, a->dims[3], a->dims[4]}, 4) : NULL;
}

/* A mask that is the same for all slices and heads stays; another gets heads. */
static struct kiln_array *merge_mask(struct kiln_expression *e, const struct kiln_vmapped *v, int heads)
{
    struct kiln_array *mask = v->inputs[3];
    size_t rank = kiln__vmap_rank(v, 3);
    if (!v->is_mapped[3] && (rank < 3 || mask->dims[rank - 3] == 1)) return mask;
    mask = kiln__vmap_input(e, v, 3);
    for (; rank < 4; rank++) mask = kiln__e_expand(e, mask, 1);
    if (!mask) return NULL;
    const int dims[] = {mask->dims[0], mask->dims[1], heads, mask->dims[3], mask->dims[4]};
    return merge_heads(e, kiln__e_broadcast(e, mask, dims, 5));
}

static struct kiln_array *attend(struct kiln_expression *e, const struct kiln_attention *attention)
{
    struct kiln_array *out = NULL;
    if (e->status) return NULL;
    kiln_status status = kiln__attention(attention, &out, e->err);
    return kiln__e_hold(e, status, out);
}

/* Slices are more heads: these may have masks and sinks of their own, and share keys and values in groups as before. */
struct kiln_array *kiln__vmap_attention(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    bool has_mask = v->attrs[1] & KILN_ATTENTION_HAS_MASK, has_sinks = v->attrs[1] & KILN_ATTENTION_HAS_SINKS;
    bool is_causal = v->attrs[1] & KILN_ATTENTION_IS_CAUSAL;
    uint32_t bits = (uint32_t)v->attrs[0];
    const int *dims = v->result->dims;
    struct kiln_attention a = {.q = merge_heads(e, kiln__vmap_input(e, v, 0)),
                               .k = merge_heads(e, kiln__vmap_input(e, v, 1)),
                               .v = merge_heads(e, kiln__vmap_input(e, v, 2)),
                               .mask_mode = is_causal  ? "causal"
                                            : has_mask ? "array"
                                                       : ""};
    memcpy(&a.scale, &bits, sizeof a.scale);
    if (has_mask) a.mask = merge_mask(e, v, dims[1]);
    if (has_sinks) a.sinks = kiln__e_reshape(e, kiln__vmap_input(e, v, v->count - 1), (int[]){-1}, 1);
    struct kiln_array *all = kiln__e_reshape(e, attend(e, &a), (int[]){dims[0], v->size, dims[1], dims[2], dims[3]}, 5);
    return kiln__e_move(e, all, 1, 0);
}
