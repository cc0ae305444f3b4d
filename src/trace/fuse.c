/*
 * fuse.c - kernel fusion: element-wise nodes, and reductions along the last axis with the element-wise nodes before and
 * after them.
 *
 * One walk backwards. `home` of a value is the group that all its consumers so far are in, if it is one group. When a
 * node is reached, all its consumers have been visited: if they share a group of the node's shape, it joins. Every
 * consumer of a node that joins is in the group (a member that is an output of the tape is written by the group), so
 * nothing is computed twice, and the group can run at the position of its root.
 *
 * On a GPU, where a launch costs more than it does to write an array, a node may also join the first of several groups
 * that read it: where that group runs before all others do, it writes the node for them. So a sum that a norm begins
 * with, and that is added to later, takes no kernel of its own. A group runs after all whose values it reads: the
 * first of a value's readers is never behind another one.
 *
 * A group with rows has elements of some shape, and row values, one per row: results of reductions that keep their
 * axis, and what is computed from those alone. Row values are computed once per row, never per element.
 */
#include <string.h>

#include "ops/row_layer.h"
#include "trace/tape.h"

enum {
    GROUP_INPUTS = 48, /* operands and constants of one kernel; every one is a pointer kept live in its loop */
    REPEATED_TREE = 4  /* cheap operations that may be computed for each element of a larger kernel */
};

#define UNSEEN UINT32_MAX
#define MIXED  (UINT32_MAX - 1)

struct fuser {
    struct kiln_tape *tape;
    uint32_t *home;
    uint32_t *reader; /* the group that was last seen reading a value */
    uint32_t *first;  /* on a GPU: where the first of a value's readers runs, whose group then is its home */
    bool *apart;      /* and has it others? */
    struct kiln_cost *costs;
    uint32_t *row_of; /* of a row value: a value with the shape of the elements; else UNSEEN */
    uint32_t limit;
};

static bool is_one_element(const struct kiln_value *value)
{
    for (uint32_t i = 0; i < value->ndim; i++)
        if (value->dims[i] != 1) return false;
    return true;
}

bool kiln__value_reduces_rows(const struct kiln_tape *tape, const struct kiln_value *value)
{
    if (value->kind != KILN_VALUE_NODE || kiln__ops[value->op].kind != KILN_OP_REDUCE) return false;
    const struct kiln_value *input = &tape->values[value->inputs[0]];
    return value->attrs[0] == input->ndim - 1 && kiln__rows_pay(input->dims, input->ndim, tape->device_index);
}

static bool reduces_rows(const struct fuser *fuser, const struct kiln_value *value)
{
    return kiln__value_reduces_rows(fuser->tape, value);
}

static bool keeps_axis(const struct fuser *fuser, const struct kiln_value *value)
{
    return value->ndim == fuser->tape->values[value->inputs[0]].ndim;
}

/* The shape of the elements with a last axis of size one. */
static bool is_row_of(const struct kiln_value *value, const struct kiln_value *elements)
{
    return value->ndim == elements->ndim && value->ndim > 0 && value->dims[value->ndim - 1] == 1 &&
           memcmp(value->dims, elements->dims, (value->ndim - 1u) * sizeof *value->dims) == 0;
}

/* Forward: reductions that keep their axis are row values, and so are element-wise nodes computed from them. */
static void find_row_values(struct fuser *fuser)
{
    struct kiln_tape *tape = fuser->tape;
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        fuser->row_of[i] = UNSEEN;
        if (reduces_rows(fuser, value) && keeps_axis(fuser, value)) fuser->row_of[i] = value->inputs[0];
        if (!kiln__value_is_elementwise(value)) continue;
        for (uint32_t k = 0; k < value->input_count && fuser->row_of[i] == UNSEEN; k++) {
            uint32_t source = fuser->row_of[value->inputs[k]];
            if (source != UNSEEN && is_row_of(value, &tape->values[source])) fuser->row_of[i] = source;
        }
    }
}

/* A cheap value of a smaller shape, such as 1 + w in x * (1 + w): recomputing it for each element is cheaper than a
 * kernel and a buffer of its own. */
static bool is_worth_repeating(const struct fuser *fuser, uint32_t i, const struct kiln_value *elements)
{
    const struct kiln_value *value = &fuser->tape->values[i];
    const struct kiln_cost *cost = &fuser->costs[i];
    return !value->is_output && cost->is_cheap && cost->tree <= REPEATED_TREE && value->ndim <= elements->ndim;
}

/* Counts what `value` reads as inputs of its group, each value once. */
static void note_inputs(struct fuser *fuser, const struct kiln_value *value)
{
    for (uint32_t k = 0; k < value->input_count; k++) {
        uint32_t *reader = &fuser->reader[value->inputs[k]];
        if (*reader != value->group) fuser->tape->groups[value->group].input_bound++;
        *reader = value->group;
    }
}

/* A value of one element may join a group of any shape: it is computed once per row of the kernel. */
static bool may_join(const struct fuser *fuser, uint32_t i)
{
    const struct kiln_tape *tape = fuser->tape;
    const struct kiln_value *value = &tape->values[i];
    if (fuser->home[i] >= MIXED) return false;
    const struct kiln_fused *group = &tape->groups[fuser->home[i]];
    if (group->member_count >= fuser->limit || group->input_bound + value->input_count > GROUP_INPUTS) return false;
    const struct kiln_value *elements = &tape->values[group->shape];
    if (fuser->apart[i])
        return !reduces_rows(fuser, value) && fuser->row_of[i] == UNSEEN && group->has_rows &&
               kiln__value_same_shape(value, elements);
    if (reduces_rows(fuser, value))
        return keeps_axis(fuser, value) && kiln__value_same_shape(&tape->values[value->inputs[0]], elements);
    if (is_one_element(value) && !value->is_output) return true;
    if (fuser->row_of[i] != UNSEEN && is_row_of(value, elements)) return true;
    return kiln__value_same_shape(value, elements) || is_worth_repeating(fuser, i, elements);
}

static uint32_t join_or_start(struct fuser *fuser, uint32_t i)
{
    struct kiln_tape *tape = fuser->tape;
    const struct kiln_value *value = &tape->values[i];
    uint32_t index = fuser->home[i];
    if (may_join(fuser, i)) {
        tape->groups[index].input_bound -= 1; /* this node was one of its inputs */
        tape->values[i].is_read_apart = fuser->apart[i];
    } else {
        index = tape->group_count++;
        tape->groups[index] = (struct kiln_fused){.root = i, .shape = i};
        if (fuser->row_of[i] != UNSEEN) tape->groups[index].shape = fuser->row_of[i];
        if (reduces_rows(fuser, value)) tape->groups[index].shape = value->inputs[0];
    }
    tape->groups[index].has_rows |= fuser->row_of[i] != UNSEEN || reduces_rows(fuser, value);
    tape->groups[index].member_count++;
    return index;
}

/* `value`, which is number i, reads an input. */
static void note_home(struct fuser *fuser, uint32_t i, const struct kiln_value *value, uint32_t input)
{
    const bool has_group = value->group != KILN_NO_GROUP;
    uint32_t *home = &fuser->home[input];
    if (!fuser->tape->device_index) {
        *home = has_group && (*home == UNSEEN || *home == value->group) ? value->group : MIXED;
        return;
    }
    const uint32_t at = has_group ? fuser->tape->groups[value->group].root : i;
    if (*home != UNSEEN && at != fuser->first[input]) fuser->apart[input] = true;
    if (*home != UNSEEN && at >= fuser->first[input]) return;
    fuser->first[input] = at;
    *home = has_group ? value->group : MIXED;
}

/* A reduction alone in its group runs as an operation: the kernels of reductions take more layouts. */
static void dissolve_lone_reductions(struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->group_count; i++) {
        struct kiln_value *root = &tape->values[tape->groups[i].root];
        if (tape->groups[i].member_count != 1 || kiln__ops[root->op].kind != KILN_OP_REDUCE) continue;
        root->group = KILN_NO_GROUP;
        tape->groups[i].member_count = 0;
    }
}

kiln_status kiln__tape_fuse(struct kiln_tape *tape, uint32_t limit, kiln_error *err)
{
    struct fuser fuser = {.tape = tape, .limit = limit};
    fuser.home = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.home);
    fuser.reader = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.reader);
    fuser.first = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.first);
    fuser.apart = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.apart);
    fuser.row_of = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.row_of);
    tape->groups = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *tape->groups);
    fuser.costs = kiln__tape_costs(tape);
    if (!fuser.home || !fuser.reader || !fuser.first || !fuser.apart || !fuser.row_of || !fuser.costs || !tape->groups)
        return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < tape->count; i++) fuser.home[i] = fuser.reader[i] = UNSEEN;
    find_row_values(&fuser);
    for (uint32_t i = tape->count; i-- > 0;) {
        struct kiln_value *value = &tape->values[i];
        if (!value->is_live) continue;
        if (kiln__value_is_elementwise(value) || reduces_rows(&fuser, value)) {
            value->group = join_or_start(&fuser, i);
            note_inputs(&fuser, value);
        }
        for (uint32_t k = 0; k < value->input_count; k++) note_home(&fuser, i, value, value->inputs[k]);
    }
    dissolve_lone_reductions(tape);
    return KILN_OK;
}

void kiln__tape_unfuse(struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->count; i++) tape->values[i].group = KILN_NO_GROUP;
    tape->group_count = 0;
}
