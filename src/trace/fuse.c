/*
 * fuse.c - which element-wise nodes become one kernel.
 *
 * One walk backwards. `home` of a value is the one group that all its consumers so far are in. When a node is reached, all its
 * consumers have been seen: if they share a group of the node's shape, it joins. Because every consumer of a node that joins
 * is in the group (an output of the tape is written by the group itself), a group can run where its root stands.
 */
#include <string.h>

#include "trace/tape.h"

enum {
    GROUP_INPUTS = 48 /* operands and constants of one kernel; every one is a pointer kept live in its loop */
};

#define UNSEEN UINT32_MAX
#define MIXED  (UINT32_MAX - 1)

struct fuser {
    struct kiln_tape *tape;
    uint32_t *home;
    uint32_t *reader; /* the group that was last seen reading a value */
    bool shapeless;
    uint32_t limit;
};

static bool same_shape(const struct kiln_value *a, const struct kiln_value *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0;
}

static bool is_elementwise(const struct kiln_value *value)
{
    return value->kind == KILN_VALUE_NODE && kiln__ops[value->op].kind == KILN_OP_ELEMENTWISE;
}

static bool is_one_element(const struct kiln_value *value)
{
    for (uint32_t i = 0; i < value->ndim; i++)
        if (value->dims[i] != 1) return false;
    return true;
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

/*
 * One element is computed once per row of the kernel, whatever the group's shape. Shapes of a shapeless tape may part at
 * another call, so there a group has one output: its root.
 */
static bool may_join(const struct fuser *fuser, uint32_t i)
{
    const struct kiln_tape *tape = fuser->tape;
    const struct kiln_value *value = &tape->values[i];
    if (fuser->home[i] >= MIXED) return false;
    const struct kiln_fused *group = &tape->groups[fuser->home[i]];
    if (group->member_count >= fuser->limit || group->input_bound + value->input_count > GROUP_INPUTS) return false;
    if (value->is_output && fuser->shapeless) return false;
    if (is_one_element(value) && !value->is_output) return true;
    return same_shape(value, &tape->values[group->root]);
}

static uint32_t join_or_start(struct fuser *fuser, uint32_t i)
{
    struct kiln_tape *tape = fuser->tape;
    uint32_t index = fuser->home[i];
    if (may_join(fuser, i)) {
        tape->groups[index].input_bound -= 1; /* this node was one of its inputs */
    } else {
        index = tape->group_count++;
        tape->groups[index] = (struct kiln_fused){.root = i};
    }
    tape->groups[index].member_count++;
    return index;
}

kiln_status kiln__tape_fuse(struct kiln_tape *tape, bool shapeless, uint32_t limit, kiln_error *err)
{
    struct fuser fuser = {.tape = tape, .shapeless = shapeless, .limit = limit};
    fuser.home = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.home);
    fuser.reader = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *fuser.reader);
    tape->groups = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *tape->groups);
    if (!fuser.home || !fuser.reader || !tape->groups) return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < tape->count; i++) fuser.home[i] = fuser.reader[i] = UNSEEN;
    for (uint32_t i = tape->count; i-- > 0;) {
        struct kiln_value *value = &tape->values[i];
        if (!value->is_live) continue;
        if (is_elementwise(value)) {
            value->group = join_or_start(&fuser, i);
            note_inputs(&fuser, value);
        }
        for (uint32_t k = 0; k < value->input_count; k++) {
            uint32_t *home = &fuser.home[value->inputs[k]];
            if (value->group == KILN_NO_GROUP)
                *home = MIXED;
            else if (*home == UNSEEN)
                *home = value->group;
            else if (*home != value->group)
                *home = MIXED;
        }
    }
    return KILN_OK;
}
