/*
 * push_views.c - moves views towards the inputs: view(op(x, y)) becomes op(view(x), view(y)).
 *
 * A kernel reads operands of any layout, so a view of an operand is free, while a view of a result ends a kernel: the
 * result has to be stored before it can be viewed. One walk backwards collects the demands on each value: the value
 * itself, or the value under a view. When a value is reached, all demands on it are known:
 *
 *     a view             passes its demands on to its input, combined with its own view
 *     element-wise       is computed under the demanded view, and demands its inputs under that view (see may_push)
 *     anything else      is computed as it is, and then viewed
 *
 * One walk forward then writes a new tape with a value for each demand, in the same order. Outputs, and operations that
 * are not element-wise, need their inputs in memory: they demand them `firmly`, and such a value is not recomputed.
 *
 * Linear: an element-wise value is computed under more than one view only if its expression tree is small (cost.c), and
 * the copies have no more nodes than that tree.
 */
#include "trace/view_algebra.h"

enum {
    SAME_WORK_TREE = 64, /* operations that may be copied when the copies together have no more elements */
    MORE_WORK_TREE = 4,  /* cheap operations that may be computed more often */
    SEARCHED = 8         /* demands that are compared with a new one; equal ones beyond are merged by simplify */
};

enum { TURNS = 3 }; /* see turn_of() */

enum how {
    HOW_AS_IT_IS, /* the value itself */
    HOW_PUSHED,   /* computed under the view, from `inputs` */
    HOW_LOOKED,   /* a view of inputs[0] */
    HOW_PASSED,   /* inputs[0] */
    HOW_KEPT,     /* a reduction with its axis kept */
    HOW_DROPPED   /* a reduction without its axis, from the one that keeps it */
};

struct demand {
    struct demand *next;
    const struct kiln_view *view; /* NULL: the value itself */
    bool is_firm;
    uint8_t how;
    uint32_t index;         /* on the new tape */
    struct demand **inputs; /* of earlier values; of HOW_LOOKED and HOW_DROPPED: of this one */
};

struct pass {
    struct kiln_tape *tape;
    struct demand **demands; /* of each value */
    struct kiln_cost *costs;
    bool *is_flat; /* of each value: a reshape of what it is computed from is likely to be free */
    uint32_t demand_count;
    bool failed; /* out of memory */
};

/* ---- demands -------------------------------------------------------------------------------------------------- */

/* The demand for the value itself is the first in its list; there is at most one. */
static struct demand *find(const struct pass *pass, uint32_t value, const struct kiln_view *view)
{
    struct demand *known = pass->demands[value];
    for (uint32_t searched = 0; known && searched < SEARCHED; searched++, known = known->next)
        if (kiln__view_equal(known->view, view)) return known;
    return NULL;
}

static struct demand *demand_value(struct pass *pass, uint32_t value, const struct kiln_view *view, bool is_firm)
{
    struct demand *demand = find(pass, value, view), **link = &pass->demands[value];
    if (!demand) {
        demand = kiln__arena_alloc(&pass->tape->arena, sizeof *demand);
        pass->failed |= !demand;
        if (!demand) return NULL;
        if (view && *link && !(*link)->view) link = &(*link)->next;
        *demand = (struct demand){.next = *link, .view = view};
        *link = demand;
        pass->demand_count++;
    }
    demand->is_firm |= is_firm;
    return demand;
}

static struct demand **room_for_inputs(struct pass *pass, uint32_t count)
{
    struct demand **inputs = kiln__arena_array(&pass->tape->arena, count + 1, sizeof *inputs);
    pass->failed |= !inputs;
    return inputs;
}

static void demand_inputs(struct pass *pass, const struct kiln_value *value, struct demand *demand, bool is_firm)
{
    demand->inputs = room_for_inputs(pass, value->input_count);
    for (uint32_t k = 0; k < value->input_count && !pass->failed; k++) {
        const struct kiln_view *view = NULL;
        bool possible = true;
        if (demand->view)
            pass->failed |= !kiln__view_of_operand(pass->tape, demand->view, value,
                                                   &pass->tape->values[value->inputs[k]], &view, &possible);
        if (!pass->failed) demand->inputs[k] = demand_value(pass, value->inputs[k], view, is_firm);
    }
}

static void look(struct pass *pass, struct demand *demand, struct demand *at)
{
    demand->how = HOW_LOOKED;
    demand->inputs = room_for_inputs(pass, 1);
    if (demand->inputs) demand->inputs[0] = at;
}

/* ---- element-wise values -------------------------------------------------------------------------------------- */

static double size_of(const struct kiln_value *value, const struct kiln_view *view)
{
    double size = 1;
    for (uint32_t i = 0; i < (view ? view->ndim : value->ndim); i++)
        size *= (double)(view ? kiln__view_dim(view, i) : value->dims[i]);
    return size;
}

/* A reshape is not pushed to operands that it would have to copy, or on which it is not a view. */
static bool may_reshape(struct pass *pass, const struct kiln_value *value, const struct kiln_view *view)
{
    for (uint32_t k = 0; k < value->input_count; k++) {
        const struct kiln_view *of_operand;
        bool possible;
        const struct kiln_value *input = &pass->tape->values[value->inputs[k]];
        pass->failed |= !kiln__view_of_operand(pass->tape, view, value, input, &of_operand, &possible);
        if (pass->failed || !possible || !pass->is_flat[value->inputs[k]]) return false;
    }
    return true;
}

/*
 * Not if the value is stored anyway, or if a broadcast would recompute elements for each repetition. Otherwise: if
 * there is one demand; if all demands together have no more elements than the value; or if the value is very cheap.
 */
static bool may_push(struct pass *pass, uint32_t index)
{
    const struct kiln_value *value = &pass->tape->values[index];
    const struct kiln_cost *cost = &pass->costs[index];
    double elements = 0;
    uint32_t count = 0;
    for (const struct demand *demand = pass->demands[index]; demand; demand = demand->next) {
        if (demand->is_firm || (demand->view && kiln__view_repeats(demand->view))) return false;
        if (demand->view && demand->view->op == KILN_OP_RESHAPE && !may_reshape(pass, value, demand->view))
            return false;
        elements += size_of(value, demand->view);
        count++;
    }
    if (count == 1) return true;
    if (elements <= size_of(value, NULL)) return cost->tree <= SAME_WORK_TREE;
    return cost->is_cheap && cost->tree <= MORE_WORK_TREE;
}

static void visit_elementwise(struct pass *pass, uint32_t index)
{
    const struct kiln_value *value = &pass->tape->values[index];
    bool push = may_push(pass, index);
    struct demand *itself = push ? NULL : demand_value(pass, index, NULL, false);
    for (struct demand *demand = pass->demands[index]; demand && !pass->failed; demand = demand->next) {
        if (demand->view && !push) {
            look(pass, demand, itself);
            continue;
        }
        demand->how = demand->view ? HOW_PUSHED : HOW_AS_IT_IS;
        demand_inputs(pass, value, demand, false);
    }
}

/* ---- views ---------------------------------------------------------------------------------------------------- */

static bool any_firm(const struct demand *demand)
{
    while (demand && !demand->is_firm) demand = demand->next;
    return demand != NULL;
}

static bool all_combine(const struct demand *demand, const struct kiln_view *view)
{
    while (demand && kiln__view_combine_is(demand->view, view)) demand = demand->next;
    return !demand;
}

/* A view stays a value of its own if it is needed in memory, or if a demanded view does not combine with it. */
static void visit_view(struct pass *pass, uint32_t index)
{
    const struct kiln_value *value = &pass->tape->values[index];
    const struct kiln_view *own = NULL;
    pass->failed |= !kiln__view_of(pass->tape, value, &own);
    if (pass->failed) return;
    bool is_firm = any_firm(pass->demands[index]);
    struct demand *itself =
        is_firm || !all_combine(pass->demands[index], own) ? demand_value(pass, index, NULL, false) : NULL;
    for (struct demand *demand = pass->demands[index]; demand && !pass->failed; demand = demand->next) {
        if (demand == itself && is_firm) {
            demand_inputs(pass, value, demand, true);
            continue;
        }
        if (!kiln__view_combine_is(demand->view, own)) {
            look(pass, demand, itself);
            continue;
        }
        const struct kiln_view *both;
        const struct kiln_value *base = &pass->tape->values[value->inputs[0]];
        demand->how = HOW_PASSED;
        demand->inputs = room_for_inputs(pass, 1);
        pass->failed |= !kiln__view_combine(pass->tape, demand->view, own, base, &both);
        if (!pass->failed) demand->inputs[0] = demand_value(pass, value->inputs[0], both, false);
    }
}

/* ---- everything else ------------------------------------------------------------------------------------------ */

/* A reduction that drops its axis under a view that adds it again is one that keeps its axis, which can be fused. */
static struct demand *find_kept(const struct pass *pass, const struct kiln_value *value, struct demand *demand)
{
    if (!kiln__value_reduces_rows(pass->tape, value) || value->attrs[1]) return NULL;
    while (demand && !kiln__view_appends_axis(demand->view, value)) demand = demand->next;
    return demand;
}

static void visit_other(struct pass *pass, uint32_t index)
{
    const struct kiln_value *value = &pass->tape->values[index];
    struct demand *kept = find_kept(pass, value, pass->demands[index]);
    bool needs_itself = false;
    for (const struct demand *demand = pass->demands[index]; demand; demand = demand->next)
        needs_itself |= demand != kept;
    struct demand *itself = needs_itself ? demand_value(pass, index, NULL, false) : NULL;
    for (struct demand *demand = pass->demands[index]; demand && !pass->failed; demand = demand->next) {
        if (demand == kept) {
            demand->how = HOW_KEPT;
            demand->inputs = room_for_inputs(pass, 1);
            if (demand->inputs) demand->inputs[0] = demand_value(pass, value->inputs[0], NULL, false);
        } else if (demand->view) {
            look(pass, demand, itself);
        } else if (kept) {
            look(pass, demand, kept);
            demand->how = HOW_DROPPED;
        } else {
            demand_inputs(pass, value, demand, !kiln__value_reduces_rows(pass->tape, value));
        }
    }
}

static void visit(struct pass *pass, uint32_t index)
{
    const struct kiln_value *value = &pass->tape->values[index];
    if (value->kind != KILN_VALUE_NODE) {
        struct demand *itself = demand_value(pass, index, NULL, false);
        for (struct demand *demand = pass->demands[index]; demand && !pass->failed; demand = demand->next)
            if (demand->view) look(pass, demand, itself);
    } else if (kiln__value_is_elementwise(value)) {
        visit_elementwise(pass, index);
    } else if (kiln__view_is(value)) {
        visit_view(pass, index);
    } else {
        visit_other(pass, index);
    }
}

/* ---- the new tape --------------------------------------------------------------------------------------------- */

static const int32_t *dims_of_view(struct pass *pass, const struct kiln_view *view)
{
    int32_t *dims = kiln__arena_array(&pass->tape->arena, view->ndim + 1u, sizeof *dims);
    pass->failed |= !dims;
    for (uint32_t i = 0; dims && i < view->ndim; i++) dims[i] = (int32_t)kiln__view_dim(view, i);
    return dims;
}

static void take_view_shape(struct pass *pass, const struct kiln_view *view, struct kiln_value *value)
{
    value->dims = dims_of_view(pass, view);
    value->ndim = view->ndim;
}

/* Fills what differs from the value of the old tape. */
static void fill(struct pass *pass, const struct demand *demand, struct kiln_value *made)
{
    static const int64_t last_axis_kept[] = {0, 1};
    struct kiln_arena *arena = &pass->tape->arena;
    int64_t *attrs;
    switch (demand->how) {
    case HOW_PUSHED:
        take_view_shape(pass, demand->view, made);
        break;
    case HOW_LOOKED:
        take_view_shape(pass, demand->view, made);
        made->kind = KILN_VALUE_NODE;
        made->op = demand->view->op;
        made->array = NULL;
        made->attrs = demand->view->attrs;
        made->attr_count = demand->view->attr_count;
        made->input_count = 1;
        break;
    case HOW_KEPT:
        take_view_shape(pass, demand->view, made);
        made->attrs = attrs = kiln__arena_copy(arena, last_axis_kept, sizeof last_axis_kept);
        pass->failed |= !attrs;
        if (attrs) attrs[0] = made->ndim - 1;
        break;
    case HOW_DROPPED:
        made->op = KILN_OP_SQUEEZE;
        made->attr_count = 1;
        made->attrs = attrs = kiln__arena_alloc(arena, sizeof *attrs);
        pass->failed |= !attrs;
        if (attrs) attrs[0] = made->ndim;
        break;
    }
}

static void write_value(struct pass *pass, uint32_t index, struct demand *demand, struct kiln_value *values,
                        uint32_t *count)
{
    if (demand->how == HOW_PASSED) {
        demand->index = demand->inputs[0]->index;
        return;
    }
    struct kiln_value *made = &values[*count];
    *made = pass->tape->values[index];
    made->is_live = made->is_output = false;
    fill(pass, demand, made);
    if (made->kind == KILN_VALUE_NODE) {
        made->inputs = kiln__arena_array(&pass->tape->arena, made->input_count + 1, sizeof *made->inputs);
        pass->failed |= !made->inputs;
        for (uint32_t k = 0; made->inputs && k < made->input_count; k++) made->inputs[k] = demand->inputs[k]->index;
    }
    demand->index = (*count)++;
}

/* Order of demands on the new tape: a value before its views, a reduction that keeps its axis before one that drops
 * it. */
static int turn_of(const struct demand *demand)
{
    return demand->how == HOW_LOOKED ? 2 : demand->how == HOW_DROPPED;
}

static bool write_tape(struct pass *pass, struct demand *const *outputs)
{
    struct kiln_tape *tape = pass->tape;
    uint32_t count = 0, cap = pass->demand_count + 1;
    struct kiln_value *values = kiln__arena_array(&tape->arena, cap, sizeof *values);
    if (!values) return false;
    for (uint32_t i = 0; i < tape->input_count; i++) write_value(pass, i, pass->demands[i], values, &count);
    for (uint32_t i = 0; i < tape->count && !pass->failed; i++)
        for (int turn = 0; turn < TURNS; turn++)
            for (struct demand *demand = pass->demands[i]; demand; demand = demand->next)
                if (turn_of(demand) == turn && (i >= tape->input_count || demand->view))
                    write_value(pass, i, demand, values, &count);
    if (pass->failed) return false;
    for (uint32_t i = 0; i < tape->output_count; i++) tape->outputs[i] = outputs[i]->index;
    tape->values = values;
    tape->count = count;
    tape->cap = cap;
    return true;
}

/* ---- the pass ------------------------------------------------------------------------------------------------- */

/* Inputs and constants are assumed to be packed; transposed and sliced values are not. */
static bool find_flat(struct pass *pass)
{
    const struct kiln_tape *tape = pass->tape;
    pass->is_flat = kiln__arena_array(&pass->tape->arena, tape->count + 1, sizeof *pass->is_flat);
    for (uint32_t i = 0; pass->is_flat && i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        bool is_node = value->kind == KILN_VALUE_NODE, is_view = is_node && kiln__ops[value->op].kind == KILN_OP_VIEW;
        bool keeps_order =
            value->op == KILN_OP_RESHAPE || value->op == KILN_OP_EXPAND_DIMS || value->op == KILN_OP_SQUEEZE;
        pass->is_flat[i] = !is_view || keeps_order;
        for (uint32_t k = 0; (is_view || kiln__value_is_elementwise(value)) && k < value->input_count; k++)
            pass->is_flat[i] &= pass->is_flat[value->inputs[k]];
        if (value->kind == KILN_VALUE_CONSTANT && value->array) pass->is_flat[i] = value->array->row_contiguous;
    }
    return pass->is_flat != NULL;
}

static bool has_views(const struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->count; i++)
        if (tape->values[i].is_live && kiln__view_is(&tape->values[i])) return true;
    return false;
}

kiln_status kiln__tape_push_views(struct kiln_tape *tape, kiln_error *err)
{
    struct pass pass = {.tape = tape};
    if (!has_views(tape)) return KILN_OK;
    pass.demands = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *pass.demands);
    pass.costs = kiln__tape_costs(tape);
    struct demand **outputs = kiln__arena_array(&tape->arena, tape->output_count + 1, sizeof *outputs);
    if (!pass.demands || !pass.costs || !outputs || !find_flat(&pass)) return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < tape->output_count; i++) outputs[i] = demand_value(&pass, tape->outputs[i], NULL, true);
    for (uint32_t i = tape->count; i-- > 0 && !pass.failed;)
        if (tape->values[i].is_live || tape->values[i].kind != KILN_VALUE_NODE) visit(&pass, i);
    if (pass.failed || !write_tape(&pass, outputs)) return kiln__no_memory(err, "a trace");
    return kiln__tape_simplify(tape, err);
}
