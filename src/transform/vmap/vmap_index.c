/*
 * vmap_index.c - rules of operations that read and write through indices.
 *
 * Where indices are the same for all slices, the mapped axis is one more axis that is read or written whole. Where they
 * are mapped, it is indexed by its own positions: index k of the mapped axis stands beside the indices of slice k.
 */
#include <string.h>

#include "ops/creation.h"
#include "transform/vmap/vmap_rules.h"

static bool any_mapped(const struct kiln_vmapped *v, size_t from)
{
    for (size_t i = from; i < v->count; i++)
        if (v->is_mapped[i]) return true;
    return false;
}

/* 0, 1, ... along the mapped axis, for indices that have `ndim` axes behind it, of these sizes. */
static struct kiln_array *positions(struct kiln_expression *e, const struct kiln_vmapped *v, const int *dims,
                                    size_t ndim)
{
    int wide[KILN_MAX_NDIM + 1] = {v->size};
    struct kiln_array *series = NULL;
    if (e->status) return NULL;
    if (ndim) memcpy(wide + 1, dims, ndim * sizeof *dims);
    kiln_status status = kiln__arange(0, v->size, 1, KILN_INT32, &series, e->err);
    series = kiln__e_hold(e, status, series);
    for (size_t i = 0; i < ndim; i++) series = kiln__e_expand(e, series, 1 + i);
    return kiln__e_broadcast(e, series, wide, ndim + 1);
}

/* The arrays of an operation with indices: those before them, then the index arrays, the positions first if there are
 * any; and their axes. */
struct indexed {
    struct kiln_array *inputs[2 + 1 + KILN_MAX_NDIM];
    int64_t attrs[KILN_VMAP_ATTRS];
    size_t count, attr_count;
};

/* Adds input `i`, indices for an axis, made to have the mapped axis where `is_wide`. */
static void add_indices(struct kiln_expression *e, const struct kiln_vmapped *v, struct indexed *x, size_t i,
                        int64_t axis, bool is_wide)
{
    x->inputs[x->count++] = is_wide ? kiln__vmap_input(e, v, i) : v->inputs[i];
    x->attrs[x->attr_count++] = axis;
}

static void add_positions(struct kiln_expression *e, const struct kiln_vmapped *v, struct indexed *x, const int *dims,
                          size_t ndim)
{
    x->inputs[x->count++] = positions(e, v, dims, ndim);
    x->attrs[x->attr_count++] = 0;
}

static struct kiln_array *apply_indexed(struct kiln_expression *e, enum kiln_op op, const struct indexed *x)
{
    return kiln__e_apply(e, op, x->inputs, x->count, x->attrs, x->attr_count);
}

/* ---- take -------------------------------------------------------------------------------------------------------- */

/* Both are mapped: gather gives (size, indices' axes, 1, the array's axes with 1 for the one that is indexed). */
static struct kiln_array *take_both(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct indexed x = {.inputs = {v->inputs[0]}, .count = 1};
    size_t axis = (size_t)v->attrs[0], behind = kiln__vmap_rank(v, 1);
    const int *dims = kiln__vmap_dims(v, 0);
    if (dims[axis] == 0 || behind + v->inputs[0]->ndim >= KILN_MAX_NDIM) return kiln__vmap_each(e, v);
    add_positions(e, v, &x, kiln__vmap_dims(v, 1), behind);
    add_indices(e, v, &x, 1, (int64_t)axis + 1, true);
    x.attrs[x.attr_count++] = 1;
    for (size_t i = 0; i < kiln__vmap_rank(v, 0); i++) x.attrs[x.attr_count++] = i == axis ? 1 : dims[i];
    struct kiln_array *all = kiln__e_squeeze(e, apply_indexed(e, KILN_OP_GATHER, &x), 1 + behind);
    all = kiln__e_squeeze(e, all, 1 + behind + axis);
    for (size_t i = 0; i < axis; i++) all = kiln__e_move(e, all, 1 + behind + i, 1 + i);
    return all;
}

struct kiln_array *kiln__vmap_take(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    if (!v->is_mapped[1]) return kiln__vmap_apply(e, v, v->inputs, (int64_t[]){v->attrs[0] + 1}, 1);
    if (v->is_mapped[0]) return take_both(e, v);
    return kiln__e_move(e, kiln__vmap_apply(e, v, v->inputs, v->attrs, 1), (size_t)v->attrs[0], 0);
}

/* ---- gather ------------------------------------------------------------------------------------------------------ */

struct kiln_array *kiln__vmap_gather(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct indexed x = {.inputs = {v->inputs[0]}, .count = 1};
    size_t count = v->count - 1, behind = count ? kiln__vmap_rank(v, 1) : 0;
    bool is_wide = any_mapped(v, 1), is_mapped = v->is_mapped[0];
    if (is_wide && is_mapped) add_positions(e, v, &x, kiln__vmap_dims(v, 1), behind);
    for (size_t i = 0; i < count; i++) add_indices(e, v, &x, 1 + i, v->attrs[i] + is_mapped, is_wide);
    if (is_mapped) x.attrs[x.attr_count++] = is_wide ? 1 : v->size;
    for (size_t i = count; i < v->attr_count; i++) x.attrs[x.attr_count++] = v->attrs[i];
    struct kiln_array *all = apply_indexed(e, KILN_OP_GATHER, &x);
    if (!is_wide) return kiln__e_move(e, all, behind, 0);
    return is_mapped ? kiln__e_squeeze(e, all, 1 + behind) : all;
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */

struct kiln_array *kiln__vmap_scatter(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct indexed x = {.inputs = {kiln__vmap_input(e, v, 0)}, .count = 2, .attrs = {v->attrs[0]}, .attr_count = 1};
    size_t count = v->count - 2, behind = count ? kiln__vmap_rank(v, 2) : 0;
    bool is_wide = any_mapped(v, 2);
    struct kiln_array *updates = kiln__vmap_input(e, v, 1);
    x.inputs[1] = is_wide ? kiln__e_expand(e, updates, 1 + behind) : kiln__e_move(e, updates, 0, behind);
    if (is_wide) add_positions(e, v, &x, kiln__vmap_dims(v, 2), behind);
    for (size_t i = 0; i < count; i++) add_indices(e, v, &x, 2 + i, v->attrs[1 + i] + 1, is_wide);
    return apply_indexed(e, KILN_OP_SCATTER, &x);
}

/* ---- slices that an array places --------------------------------------------------------------------------------- */

/* Start `i` of each slice. */
static struct kiln_array *start_of(struct kiln_expression *e, struct kiln_array *starts, int i)
{
    return starts->ndim == 1 ? starts : kiln__e_squeeze(e, kiln__e_cut(e, starts, 1, i, i + 1, 1), 1);
}

static void add_starts(struct kiln_expression *e, struct indexed *x, struct kiln_array *starts, const int64_t *axes,
                       size_t count, int further)
{
    for (size_t i = 0; i < count; i++) {
        x->inputs[x->count++] = start_of(e, starts, (int)i);
        x->attrs[x->attr_count++] = axes[i] + further;
    }
}

struct kiln_array *kiln__vmap_slice_dynamic(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct indexed x = {.inputs = {v->inputs[0]}, .count = 1};
    size_t rank = kiln__vmap_rank(v, 0), count = v->attr_count - rank;
    bool is_mapped = v->is_mapped[0], is_placed = v->is_mapped[1];
    if (is_placed && is_mapped) add_positions(e, v, &x, NULL, 0);
    if (is_placed) {
        add_starts(e, &x, v->inputs[1], v->attrs, count, is_mapped);
    } else {
        x.inputs[x.count++] = v->inputs[1];
        for (size_t i = 0; i < count; i++) x.attrs[x.attr_count++] = v->attrs[i] + 1;
    }
    if (is_mapped) x.attrs[x.attr_count++] = is_placed ? 1 : v->size;
    for (size_t i = count; i < v->attr_count; i++) x.attrs[x.attr_count++] = v->attrs[i];
    struct kiln_array *all = apply_indexed(e, is_placed ? KILN_OP_GATHER : KILN_OP_SLICE_DYNAMIC, &x);
    return is_placed && is_mapped ? kiln__e_squeeze(e, all, 1) : all;
}

struct kiln_array *kiln__vmap_update_dynamic(struct kiln_expression *e, const struct kiln_vmapped *v)
{
    struct kiln_array *array = kiln__vmap_input(e, v, 0), *update = kiln__vmap_input(e, v, 1);
    struct indexed x = {.inputs = {array, update, v->inputs[2]}};
    if (!v->is_mapped[2]) {
        for (size_t i = 0; i < v->attr_count; i++) x.attrs[i] = v->attrs[i] + 1;
        return kiln__vmap_apply(e, v, x.inputs, x.attrs, v->attr_count);
    }
    x.inputs[1] = kiln__e_expand(e, update, 1);
    x.count = 2;
    x.attrs[x.attr_count++] = KILN_MERGE_SET;
    add_positions(e, v, &x, NULL, 0);
    add_starts(e, &x, v->inputs[2], v->attrs, v->attr_count, 1);
    return apply_indexed(e, KILN_OP_SCATTER, &x);
}
