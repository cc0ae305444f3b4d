/*
 * gradients_indexing.c - gradients of reading and writing through indices. What was read at a place is added up there;
 * what was written to a place takes its cotangent from there.
 */
#include <string.h>

#include "transform/grad/gradient_rules.h"

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

/* From the result's order, where the axes of the indices stand in place of the axis, to that of a scatter's updates:
 * first the axes of the indices, then those of a slice, which has size 1 along the axis. */
static struct kiln_array *as_updates(struct kiln_expression *e, struct kiln_array *cotangent, int axis, int count)
{
    int64_t order[KILN_MAX_NDIM];
    if (!cotangent) return NULL;
    for (int i = 0; i < cotangent->ndim; i++) order[i] = i < count ? axis + i : i < count + axis ? i - count : i;
    struct kiln_array *moved = kiln__e_transpose(e, cotangent, order);
    return kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &moved, 1, (int64_t[]){count + axis}, 1);
}

void kiln__vjp_take(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                    struct kiln_array **gradients)
{
    struct kiln_array *indices = step->inputs[1];
    int axis = (int)step->attrs[0];
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, step->inputs[0]),
                                   as_updates(e, cotangent, axis, indices->ndim), indices};
    gradients[0] = kiln__e_apply(e, KILN_OP_SCATTER, inputs, 3, (int64_t[]){KILN_MERGE_ADD, axis}, 2);
}

void kiln__vjp_take_along(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                          struct kiln_array **gradients)
{
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, step->inputs[0]), step->inputs[1], cotangent};
    gradients[0] = kiln__e_apply(e, KILN_OP_PUT_ALONG, inputs, 3, (int64_t[]){KILN_MERGE_ADD, step->attrs[0]}, 2);
}

/* Several indices: as many as an array has axes, at the most. */
void kiln__vjp_gather(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                      struct kiln_array **gradients)
{
    struct kiln_array *inputs[2 + KILN_MAX_NDIM] = {kiln__e_zeros_like(e, step->inputs[0]), cotangent};
    int64_t attrs[1 + KILN_MAX_NDIM] = {KILN_MERGE_ADD};
    uint32_t count = step->count - 1;
    for (uint32_t i = 0; i < count; i++) {
        inputs[2 + i] = step->inputs[1 + i];
        attrs[1 + i] = step->attrs[i];
    }
    gradients[0] = kiln__e_apply(e, KILN_OP_SCATTER, inputs, 2 + count, attrs, 1 + count);
}

void kiln__vjp_slice_dynamic(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                             struct kiln_array **gradients)
{
    struct kiln_array *inputs[] = {kiln__e_zeros_like(e, step->inputs[0]), cotangent, step->inputs[1]};
    uint32_t starts = step->attr_count - step->inputs[0]->ndim;
    gradients[0] = kiln__e_apply(e, KILN_OP_UPDATE_DYNAMIC, inputs, 3, step->attrs, starts);
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

/* The input that has the updates, and the mode, which updates with a start in an array do not have. */
static uint32_t update_index(const struct kiln_step *step)
{
    return step->op == KILN_OP_PUT_ALONG ? 2 : 1;
}

static enum kiln_merge_mode mode_of(const struct kiln_step *step)
{
    return step->op == KILN_OP_UPDATE_DYNAMIC ? KILN_MERGE_SET : (enum kiln_merge_mode)step->attrs[0];
}

/* The same write with another array, other updates and another mode. */
static struct kiln_array *write(struct kiln_expression *e, const struct kiln_step *step, enum kiln_merge_mode mode,
                                struct kiln_array *array, struct kiln_array *updates)
{
    struct kiln_array *inputs[2 + KILN_MAX_NDIM];
    int64_t attrs[1 + 3 * KILN_MAX_NDIM];
    memcpy(inputs, step->inputs, step->count * sizeof *inputs);
    memcpy(attrs, step->attrs, step->attr_count * sizeof *attrs);
    inputs[0] = array;
    inputs[update_index(step)] = updates;
    if (step->op != KILN_OP_UPDATE_DYNAMIC) attrs[0] = mode;
    return kiln__e_apply(e, step->op, inputs, step->count, attrs, step->attr_count);
}

/* What lies in `array` where the updates go. */
static struct kiln_array *read(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *array)
{
    const struct kiln_array *updates = step->inputs[update_index(step)];
    struct kiln_array *inputs[1 + KILN_MAX_NDIM] = {array};
    int64_t attrs[2 * KILN_MAX_NDIM];
    uint32_t places = step->count - 2, starts = step->attr_count;
    switch (step->op) {
    case KILN_OP_SLICE_UPDATE:
        return kiln__e_apply(e, KILN_OP_SLICE, inputs, 1, step->attrs + 1, step->attr_count - 1);
    case KILN_OP_PUT_ALONG:
        inputs[1] = step->inputs[1];
        return kiln__e_apply(e, KILN_OP_TAKE_ALONG, inputs, 2, step->attrs + 1, 1);
    case KILN_OP_UPDATE_DYNAMIC:
        inputs[1] = step->inputs[2];
        memcpy(attrs, step->attrs, starts * sizeof *attrs);
        for (int i = 0; i < updates->ndim; i++) attrs[starts + (uint32_t)i] = updates->dims[i];
        return kiln__e_apply(e, KILN_OP_SLICE_DYNAMIC, inputs, 2, attrs, starts + updates->ndim);
    default:
        memcpy(inputs + 1, step->inputs + 2, places * sizeof *inputs);
        memcpy(attrs, step->attrs + 1, places * sizeof *attrs);
        for (int i = 0; i < step->output->ndim; i++)
            attrs[places + (uint32_t)i] = updates->dims[updates->ndim - step->output->ndim + i];
        return kiln__e_apply(e, KILN_OP_GATHER, inputs, 1 + places, attrs, places + step->output->ndim);
    }
}

static struct kiln_array *where_equal(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *b,
                                      struct kiln_array *cotangent)
{
    struct kiln_array *zero = cotangent ? kiln__e_number(e, 0, (enum kiln_dtype)cotangent->dtype) : NULL;
    return kiln__e_select(e, kiln__e_binary(e, KILN_OP_EQUAL, a, b), cotangent, zero);
}

/* An update's cotangent is multiplied with all else that was multiplied into its place: with the result divided by the
 * update, or, where the update is 0, with the result of all others that are not 0, if there is no other 0. */
static struct kiln_array *factor_of_update(struct kiln_expression *e, const struct kiln_step *step,
                                           struct kiln_array *updates)
{
    enum kiln_dtype dtype = (enum kiln_dtype)updates->dtype;
    struct kiln_array *zero = kiln__e_number(e, 0, dtype), *one = kiln__e_number(e, 1, dtype);
    struct kiln_array *is_zero = kiln__e_binary(e, KILN_OP_EQUAL, updates, zero);
    struct kiln_array *safe = kiln__e_select(e, is_zero, one, updates);
    struct kiln_array *zeros =
        write(e, step, KILN_MERGE_ADD, kiln__e_zeros_like(e, step->inputs[0]), kiln__e_astype(e, is_zero, dtype));
    struct kiln_array *is_only = kiln__e_binary(e, KILN_OP_EQUAL, read(e, step, zeros), one);
    struct kiln_array *others = read(e, step, write(e, step, KILN_MERGE_MULTIPLY, step->inputs[0], safe));
    struct kiln_array *plain = kiln__e_over(e, read(e, step, step->output), safe);
    return kiln__e_select(e, is_zero, kiln__e_select(e, is_only, others, zero), plain);
}

static struct kiln_array *array_gradient(struct kiln_expression *e, const struct kiln_step *step,
                                         struct kiln_array *cotangent)
{
    struct kiln_array *updates = step->inputs[update_index(step)];
    switch (mode_of(step)) {
    case KILN_MERGE_SET:
        return write(e, step, KILN_MERGE_SET, cotangent, kiln__e_zeros_like(e, updates));
    case KILN_MERGE_MULTIPLY:
        return write(e, step, KILN_MERGE_MULTIPLY, cotangent, updates);
    case KILN_MERGE_ADD:
        return cotangent;
    default:
        return where_equal(e, step->inputs[0], step->output, cotangent);
    }
}

static struct kiln_array *update_gradient(struct kiln_expression *e, const struct kiln_step *step,
                                          struct kiln_array *cotangent)
{
    struct kiln_array *updates = step->inputs[update_index(step)], *there = read(e, step, cotangent);
    enum kiln_merge_mode mode = mode_of(step);
    if (mode == KILN_MERGE_MULTIPLY) return kiln__e_times(e, there, factor_of_update(e, step, updates));
    if (mode == KILN_MERGE_SET || mode == KILN_MERGE_ADD) return there;
    return where_equal(e, updates, read(e, step, step->output), there);
}

/* Of several updates to one place that replace each other, each gets the cotangent of the place. */
void kiln__vjp_write(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                     struct kiln_array **gradients)
{
    uint32_t update = update_index(step);
    if (step->wanted[0]) gradients[0] = array_gradient(e, step, cotangent);
    if (step->wanted[update]) gradients[update] = update_gradient(e, step, cotangent);
}
