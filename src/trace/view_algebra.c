/*
 * view_algebra.c - see view_algebra.h. Attributes do not overflow 64 bits: a step is other than 0 only where an axis
 * has two elements or more, so steps and starts are smaller than the dims of the base, however many views are composed.
 */
#include "trace/view_algebra.h"

/* A rearranged view while it is made; afterwards its parts lie in one array. */
struct draft {
    uint32_t base_ndim, ndim;
    int64_t start[KILN_MAX_NDIM];
    int64_t dim[KILN_MAX_NDIM], axis[KILN_MAX_NDIM], step[KILN_MAX_NDIM];
};

static void open_draft(const struct kiln_view *view, struct draft *out)
{
    const int64_t *dims = view->attrs + view->base_ndim;
    out->base_ndim = view->base_ndim;
    out->ndim = view->ndim;
    memcpy(out->start, view->attrs, view->base_ndim * sizeof *view->attrs);
    memcpy(out->dim, dims, view->ndim * sizeof *dims);
    memcpy(out->axis, dims + view->ndim, view->ndim * sizeof *dims);
    memcpy(out->step, dims + 2 * view->ndim, view->ndim * sizeof *dims);
}

/* Every axis takes the base's axis of its number. */
static void begin_draft(const struct kiln_value *base, struct draft *out)
{
    out->base_ndim = out->ndim = base->ndim;
    for (uint32_t i = 0; i < base->ndim; i++) {
        out->start[i] = 0;
        out->dim[i] = base->dims[i];
        out->axis[i] = i;
        out->step[i] = 1;
    }
}

static void put_axis(struct draft *draft, uint32_t i, int64_t dim, int64_t axis, int64_t step)
{
    draft->dim[i] = dim;
    draft->axis[i] = axis;
    draft->step[i] = step;
}

/* Its canonical form. */
static void settle(struct draft *draft)
{
    bool is_empty = false;
    for (uint32_t i = 0; i < draft->ndim; i++) is_empty |= draft->dim[i] == 0;
    for (uint32_t i = 0; i < draft->ndim; i++)
        if (is_empty || draft->dim[i] == 1 || draft->axis[i] < 0) put_axis(draft, i, draft->dim[i], -1, 0);
    for (uint32_t i = 0; is_empty && i < draft->base_ndim; i++) draft->start[i] = 0;
}

static bool changes_nothing(const struct draft *draft, const struct kiln_value *base)
{
    if (draft->ndim != base->ndim) return false;
    bool is_empty = false, same = true;
    for (uint32_t i = 0; i < draft->ndim; i++) {
        is_empty |= draft->dim[i] == 0;
        same &= draft->dim[i] == base->dims[i];
    }
    for (uint32_t i = 0; i < draft->ndim && same && !is_empty; i++)
        same = draft->start[i] == 0 && (draft->dim[i] == 1 || (draft->axis[i] == i && draft->step[i] == 1));
    return same;
}

static struct kiln_view *new_view(struct kiln_tape *tape, enum kiln_op op, uint32_t base_ndim, uint32_t ndim,
                                  uint32_t attr_count)
{
    struct kiln_view *view = kiln__arena_alloc(&tape->arena, sizeof *view);
    int64_t *attrs = kiln__arena_array(&tape->arena, attr_count + 1, sizeof *attrs);
    if (!view || !attrs) return NULL;
    *view = (struct kiln_view){(uint8_t)op, (uint8_t)base_ndim, (uint8_t)ndim, (uint16_t)attr_count, attrs};
    return view;
}

static bool close_draft(struct kiln_tape *tape, struct draft *draft, const struct kiln_value *base,
                        const struct kiln_view **out)
{
    settle(draft);
    *out = NULL;
    if (changes_nothing(draft, base)) return true;
    uint32_t base_ndim = draft->base_ndim, ndim = draft->ndim;
    struct kiln_view *view = new_view(tape, KILN_OP_REARRANGE, base_ndim, ndim, base_ndim + 3 * ndim);
    if (!view) return false;
    memcpy(view->attrs, draft->start, base_ndim * sizeof *view->attrs);
    memcpy(view->attrs + base_ndim, draft->dim, ndim * sizeof *view->attrs);
    memcpy(view->attrs + base_ndim + ndim, draft->axis, ndim * sizeof *view->attrs);
    memcpy(view->attrs + base_ndim + 2 * ndim, draft->step, ndim * sizeof *view->attrs);
    *out = view;
    return true;
}

static bool make_reshape(struct kiln_tape *tape, const int64_t *dims, uint32_t ndim, const struct kiln_value *base,
                         const struct kiln_view **out)
{
    bool same = ndim == base->ndim;
    for (uint32_t i = 0; i < ndim && same; i++) same = dims[i] == base->dims[i];
    *out = NULL;
    if (same) return true;
    struct kiln_view *view = new_view(tape, KILN_OP_RESHAPE, base->ndim, ndim, ndim);
    if (!view) return false;
    memcpy(view->attrs, dims, ndim * sizeof *dims);
    *out = view;
    return true;
}

/* ---- from nodes ----------------------------------------------------------------------------------------------- */

typedef void draft_of(const struct kiln_value *value, const struct kiln_value *base, struct draft *draft);

static void draft_broadcast(const struct kiln_value *value, const struct kiln_value *base, struct draft *draft)
{
    uint32_t missing = value->ndim - base->ndim;
    draft->ndim = value->ndim;
    for (uint32_t i = 0; i < value->ndim; i++) {
        bool repeats = i < missing || base->dims[i - missing] != value->dims[i];
        put_axis(draft, i, value->dims[i], repeats ? -1 : (int64_t)(i - missing), 1);
    }
}

static void draft_transpose(const struct kiln_value *value, const struct kiln_value *base, struct draft *draft)
{
    for (uint32_t i = 0; i < base->ndim; i++) put_axis(draft, i, value->dims[i], value->attrs[i], 1);
}

static void draft_slice(const struct kiln_value *value, const struct kiln_value *base, struct draft *draft)
{
    for (uint32_t i = 0; i < base->ndim; i++) {
        draft->start[i] = value->attrs[i];
        put_axis(draft, i, value->dims[i], i, value->attrs[2 * base->ndim + i]);
    }
}

/* expand_dims, squeeze, and a reshape that only adds and drops axes of one element. */
static void draft_units(const struct kiln_value *value, const struct kiln_value *base, struct draft *draft)
{
    uint32_t next = 0;
    draft->ndim = value->ndim;
    for (uint32_t i = 0; i < value->ndim; i++) {
        while (value->dims[i] != 1 && next < base->ndim && base->dims[next] == 1) next++;
        put_axis(draft, i, value->dims[i], value->dims[i] == 1 ? -1 : (int64_t)next++, 1);
    }
}

static draft_of *const drafts[KILN_OP_COUNT] = {
    [KILN_OP_BROADCAST] = draft_broadcast, [KILN_OP_TRANSPOSE] = draft_transpose, [KILN_OP_SLICE] = draft_slice,
    [KILN_OP_EXPAND_DIMS] = draft_units,   [KILN_OP_SQUEEZE] = draft_units,       [KILN_OP_RESHAPE] = draft_units,
};

bool kiln__view_is(const struct kiln_value *value)
{
    return value->kind == KILN_VALUE_NODE && (drafts[value->op] || value->op == KILN_OP_REARRANGE);
}

static bool only_units_differ(const struct kiln_value *a, const struct kiln_value *b)
{
    uint32_t i = 0, k = 0;
    for (;;) {
        while (i < a->ndim && a->dims[i] == 1) i++;
        while (k < b->ndim && b->dims[k] == 1) k++;
        if (i == a->ndim || k == b->ndim) return i == a->ndim && k == b->ndim;
        if (a->dims[i++] != b->dims[k++]) return false;
    }
}

bool kiln__view_of(struct kiln_tape *tape, const struct kiln_value *value, const struct kiln_view **out)
{
    const struct kiln_value *base = &tape->values[value->inputs[0]];
    if (value->op == KILN_OP_RESHAPE && !only_units_differ(value, base))
        return make_reshape(tape, value->attrs, value->ndim, base, out);
    struct draft draft;
    if (value->op == KILN_OP_REARRANGE) {
        const struct kiln_view view = {value->op, base->ndim, value->ndim, value->attr_count,
                                       (int64_t *)(uintptr_t)value->attrs};
        open_draft(&view, &draft);
    } else {
        begin_draft(base, &draft);
        drafts[value->op](value, base, &draft);
    }
    return close_draft(tape, &draft, base, out);
}

/* ---- combining ------------------------------------------------------------------------------------------------ */

bool kiln__view_combine_is(const struct kiln_view *outer, const struct kiln_view *inner)
{
    return !outer || !inner || outer->op == inner->op;
}

bool kiln__view_combine(struct kiln_tape *tape, const struct kiln_view *outer, const struct kiln_view *inner,
                        const struct kiln_value *base, const struct kiln_view **out)
{
    *out = outer ? outer : inner;
    if (!outer || !inner) return true;
    if (outer->op == KILN_OP_RESHAPE) return make_reshape(tape, outer->attrs, outer->ndim, base, out);
    struct draft over, under, both;
    open_draft(outer, &over);
    open_draft(inner, &under);
    both = under;
    both.ndim = over.ndim;
    for (uint32_t i = 0; i < under.ndim; i++)
        if (under.axis[i] >= 0) both.start[under.axis[i]] += over.start[i] * under.step[i];
    for (uint32_t i = 0; i < over.ndim; i++) {
        int64_t axis = over.axis[i], below = axis < 0 ? -1 : under.axis[axis];
        put_axis(&both, i, over.dim[i], below, below < 0 ? 0 : over.step[i] * under.step[axis]);
    }
    return close_draft(tape, &both, base, out);
}

/* ---- operands ------------------------------------------------------------------------------------------------- */

/* Leading axes of one element do not matter: an operand may lack them. */
static uint32_t leading_units(const int64_t *dims, uint32_t ndim)
{
    uint32_t count = 0;
    while (count < ndim && dims[count] == 1) count++;
    return count;
}

static bool rearrange_operand(struct kiln_tape *tape, const struct kiln_view *view, const struct kiln_value *value,
                              const struct kiln_value *input, const struct kiln_view **out)
{
    struct draft of_value, draft = {.base_ndim = input->ndim};
    uint32_t missing = value->ndim - input->ndim;
    open_draft(view, &of_value);
    for (uint32_t i = 0; i < input->ndim; i++) {
        bool repeats = input->dims[i] != value->dims[missing + i];
        draft.start[i] = repeats ? 0 : of_value.start[missing + i];
    }
    for (uint32_t i = 0; i < view->ndim; i++) {
        int64_t axis = of_value.axis[i] - missing;
        bool takes = axis >= 0 && input->dims[axis] == value->dims[missing + axis];
        put_axis(&draft, i, takes || of_value.dim[i] == 0 ? of_value.dim[i] : 1, takes ? axis : -1, of_value.step[i]);
    }
    uint32_t units = leading_units(draft.dim, view->ndim);
    draft.ndim = view->ndim - units;
    for (uint32_t i = 0; i < draft.ndim; i++)
        put_axis(&draft, i, draft.dim[units + i], draft.axis[units + i], draft.step[units + i]);
    return close_draft(tape, &draft, input, out);
}

/* Does the input have all of the axes first..end-1 of the value (1), none of them (0), or some (-1)? */
static int has_axes(const struct kiln_value *value, const struct kiln_value *input, uint32_t first, uint32_t end)
{
    uint32_t missing = value->ndim - input->ndim;
    bool some = false, all = true;
    for (uint32_t i = first; i < end; i++) {
        if (value->dims[i] == 1) continue;
        bool has = i >= missing && input->dims[i - missing] == value->dims[i];
        some |= has;
        all &= has;
    }
    return all ? 1 : some ? -1 : 0;
}

/*
 * Pairs the shortest runs of old and new axes with equal products, as a reshape of memory does: an operand that has all
 * axes of a run, or none, is reshaped on its own.
 */
static bool reshape_operand(struct kiln_tape *tape, const struct kiln_view *view, const struct kiln_value *value,
                            const struct kiln_value *input, const struct kiln_view **out, bool *possible)
{
    int64_t dims[KILN_MAX_NDIM];
    uint32_t old_end = 0, end = 0;
    *possible = true;
    for (uint32_t i = 0; i < value->ndim; i++) *possible &= value->dims[i] != 0;
    while (*possible && old_end < value->ndim) {
        uint32_t old_first = old_end, first = end;
        int64_t product = 1, old_product = value->dims[old_end++];
        while (product != old_product) {
            if (product < old_product)
                product *= view->attrs[end++];
            else
                old_product *= value->dims[old_end++];
        }
        int has = has_axes(value, input, old_first, old_end);
        *possible = has >= 0;
        for (uint32_t i = first; i < end; i++) dims[i] = has ? view->attrs[i] : 1;
    }
    if (!*possible) return true;
    while (end < view->ndim) dims[end++] = 1;
    uint32_t units = leading_units(dims, view->ndim);
    return make_reshape(tape, dims + units, view->ndim - units, input, out);
}

bool kiln__view_of_operand(struct kiln_tape *tape, const struct kiln_view *view, const struct kiln_value *value,
                           const struct kiln_value *input, const struct kiln_view **out, bool *possible)
{
    *possible = true;
    *out = NULL;
    if (!view || kiln__value_is_scalar(input)) return true;
    if (view->op == KILN_OP_RESHAPE) return reshape_operand(tape, view, value, input, out, possible);
    return rearrange_operand(tape, view, value, input, out);
}

/* ---- questions ------------------------------------------------------------------------------------------------ */

bool kiln__view_equal(const struct kiln_view *a, const struct kiln_view *b)
{
    if (!a || !b) return a == b;
    return a->op == b->op && a->ndim == b->ndim && a->base_ndim == b->base_ndim &&
           memcmp(a->attrs, b->attrs, a->attr_count * sizeof *a->attrs) == 0;
}

int64_t kiln__view_dim(const struct kiln_view *view, uint32_t axis)
{
    return view->attrs[(view->op == KILN_OP_RESHAPE ? 0u : view->base_ndim) + axis];
}

bool kiln__view_repeats(const struct kiln_view *view)
{
    if (view->op == KILN_OP_RESHAPE) return false;
    const int64_t *dims = view->attrs + view->base_ndim, *axes = dims + view->ndim;
    for (uint32_t i = 0; i < view->ndim; i++)
        if (axes[i] < 0 && dims[i] > 1) return true;
    return false;
}

bool kiln__view_appends_axis(const struct kiln_view *view, const struct kiln_value *base)
{
    if (!view || view->op != KILN_OP_REARRANGE || view->ndim != base->ndim + 1u) return false;
    const int64_t *dims = view->attrs + view->base_ndim, *axes = dims + view->ndim;
    for (uint32_t i = 0; i < base->ndim; i++)
        if (dims[i] != base->dims[i] || (dims[i] > 1 && axes[i] != i) || view->attrs[i] != 0) return false;
    return dims[base->ndim] == 1;
}
