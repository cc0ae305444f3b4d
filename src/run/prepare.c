/*
 * prepare.c - the kernels of a plan are compiled when the plan is made: a dry run over its steps finds the variants
 * that the call at hand will launch.
 *
 * A slot of the dry run has an array without bytes whose layout is the one it will have, or NULL where that is not
 * known before the call runs. A step that reads such a slot chooses nothing: its variants are lazy (kernels/launch.h).
 */
#include <stdlib.h>
#include <string.h>

#include "run/eval.h"
#include "run/kernels/dry_run.h"
#include "run/ops/operation.h"
#include "run/placement.h"
#include "run/plan.h"

struct preparation {
    const struct kiln_plan *plan;
    struct kiln_array **slots;
};

/* ---- inputs --------------------------------------------------------------------------------------------------- */

/* Are its bytes packed, whatever it reads? An update may take over storage that is not. */
static bool gives_packed(enum kiln_op op)
{
    return kiln__ops[op].kind != KILN_OP_VIEW && kiln__ops[op].kind != KILN_OP_UPDATE;
}

static bool step_makes(const struct kiln_step *step, uint32_t slot)
{
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] == slot) return true;
    return false;
}

static bool plan_packs(const struct kiln_plan *plan, uint32_t output)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct kiln_step *step = &plan->steps[i];
        if (step_makes(step, plan->outputs[output])) return step->kernels || gives_packed(step->op);
    }
    return false; /* an input or a constant as it came */
}

static bool node_packs(struct kiln_node *node, const struct kiln_array *array)
{
    bool packs = node->op != KILN_OP_PLAN && gives_packed(node->op);
    for (uint32_t i = 0; node->op == KILN_OP_PLAN && i < node->output_count; i++) {
        struct kiln_array *output = kiln__node_output(node, i);
        if (output == array) packs = plan_packs(node->plan, i);
        kiln__array_unref(output);
    }
    return packs;
}

/* What is elsewhere is copied, with its storage, before the plan runs. */
static char *address_at(const struct kiln_array *array, uint32_t device_index)
{
    bool is_there = !array->storage || array->storage->device_index == device_index;
    return is_there ? array->data : KILN_NO_BYTES + (array->data - array->storage->data);
}

/* Leaves the slot NULL when the layout of a lazy array is not known. */
static kiln_status add_array(const struct preparation *preparation, uint32_t slot, struct kiln_array *array,
                             kiln_error *err)
{
    const struct kiln_plan *plan = preparation->plan;
    struct kiln_array **out = &preparation->slots[slot];
    struct kiln_node *node = kiln__eval_node(array);
    bool is_known = !node || node_packs(node, array);
    if (node) kiln__node_unref(node);
    kiln_status status = is_known ? kiln__shape_array(&plan->shapes[slot], out, err) : KILN_OK;
    if (!*out) return status;
    (*out)->data = KILN_NO_BYTES;
    if (node) return KILN_OK;
    (*out)->data = address_at(array, plan->device_index);
    memcpy((*out)->strides, array->strides, array->ndim * sizeof *array->strides);
    (*out)->row_contiguous = array->row_contiguous;
    return KILN_OK;
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

static bool is_known(struct kiln_array *const *arrays, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!arrays[i]) return false;
    return true;
}

static kiln_status add_packed(const struct preparation *preparation, uint32_t slot, kiln_error *err)
{
    kiln_status status = kiln__shape_array(&preparation->plan->shapes[slot], &preparation->slots[slot], err);
    if (!status) preparation->slots[slot]->data = KILN_NO_BYTES;
    return status;
}

/* At the plan's device, or on the CPU what a GPU can't launch, as plan.c does. */
static kiln_status choose_group(const struct preparation *preparation, const struct kiln_step *step,
                                struct kiln_array *const *operands, kiln_error *err)
{
    struct kiln_array *outputs[step->output_count];
    struct kiln_placement before = kiln__active;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < step->output_count && !status; i++) {
        status = add_packed(preparation, step->outputs[i], err);
        outputs[i] = preparation->slots[step->outputs[i]];
    }
    if (status || !is_known(operands, step->input_count)) return status;
    if (!kiln__step_can_launch(preparation->plan, step)) status = kiln__run_at(0, &before, err);
    if (!status) status = kiln__step_launch(step, operands, outputs, err);
    kiln__active = before;
    return status;
}

static bool output_is_known(const struct kiln_step *step, struct kiln_array *const *inputs)
{
    bool is_packed_update = kiln__ops[step->op].kind == KILN_OP_UPDATE && inputs[0] && inputs[0]->row_contiguous;
    return gives_packed(step->op) || is_packed_update;
}

/* Does it do nothing but make views and launch kernels? An update does if it is in place, or a copy that is laid out
 * alike. */
static bool only_launches(const struct kiln_step *step, struct kiln_array *const *inputs, uint32_t device_index)
{
    if (kiln__ops[step->op].kind != KILN_OP_UPDATE) return kiln__op_only_launches(step->op, device_index);
    bool sets = step->op != KILN_OP_SLICE_UPDATE || step->attrs[0] == KILN_MERGE_SET;
    return sets && inputs[0]->row_contiguous;
}

static kiln_status choose_operation(const struct preparation *preparation, const struct kiln_step *step,
                                    struct kiln_array **inputs, kiln_error *err)
{
    const struct kiln_plan *plan = preparation->plan;
    uint32_t slot = step->outputs[0];
    bool runs = is_known(inputs, step->input_count) && only_launches(step, inputs, plan->device_index);
    if (!runs) return output_is_known(step, inputs) ? add_packed(preparation, slot, err) : KILN_OK;
    const struct kiln_node node = {.op = step->op,
                                   .attr_count = (uint16_t)step->attr_count,
                                   .input_count = step->input_count,
                                   .device_index = (uint16_t)plan->device_index,
                                   .inputs = inputs,
                                   .attrs = step->attrs};
    if (!kiln__runs_here(&node)) return add_packed(preparation, slot, err);
    kiln_status status = kiln__shape_array(&plan->shapes[slot], &preparation->slots[slot], err);
    return status ? status : kiln__run_here(&node, preparation->slots[slot], err);
}

static kiln_status choose_step(const struct preparation *preparation, const struct kiln_step *step, kiln_error *err)
{
    struct kiln_array **inputs = malloc((step->input_count + 1) * sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "the inputs of a step");
    for (uint32_t i = 0; i < step->input_count; i++) inputs[i] = preparation->slots[step->inputs[i]];
    kiln_status status =
        step->kernels ? choose_group(preparation, step, inputs, err) : choose_operation(preparation, step, inputs, err);
    free(inputs);
    return status;
}

static kiln_status choose(const struct preparation *preparation, struct kiln_array *const *inputs, kiln_error *err)
{
    const struct kiln_plan *plan = preparation->plan;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < plan->input_count && !status; i++) status = add_array(preparation, i, inputs[i], err);
    for (uint32_t i = 0; i < plan->constant_count && !status; i++)
        status = add_array(preparation, plan->input_count + i, plan->constants[i], err);
    for (uint32_t i = 0; i < plan->step_count && !status; i++) status = choose_step(preparation, &plan->steps[i], err);
    return status;
}

static kiln_status run_dry(const struct kiln_plan *plan, struct kiln_array *const *inputs, struct kiln_dry_run *dry_run,
                           kiln_error *err)
{
    struct kiln_placement before;
    struct preparation preparation = {plan, calloc(plan->slot_count + 1, sizeof *preparation.slots)};
    kiln_status status = preparation.slots ? kiln__run_at(plan->device_index, &before, err)
                                           : kiln__no_memory(err, "the slots of a call");
    if (!status) {
        kiln__dry_run = dry_run;
        status = choose(&preparation, inputs, err);
        kiln__dry_run = NULL;
        kiln__active = before;
    }
    for (uint32_t i = 0; preparation.slots && i < plan->slot_count; i++) kiln__array_unref(preparation.slots[i]);
    free(preparation.slots);
    return status;
}

kiln_status kiln__plan_load(const struct kiln_plan *plan, struct kiln_array *const *inputs,
                            struct kiln_dry_run *missing, bool *is_complete, kiln_error *err)
{
    kiln_status status = run_dry(plan, inputs, missing, err);
    *is_complete = !status && kiln__dry_run_load(missing);
    return status;
}

kiln_status kiln__plan_prepare(const struct kiln_plan *plan, struct kiln_array *const *inputs, kiln_error *err)
{
    struct kiln_dry_run dry_run = {0};
    kiln_status status = run_dry(plan, inputs, &dry_run, err);
    if (!status) status = kiln__dry_run_compile(&dry_run, err);
    kiln__dry_run_release(&dry_run);
    return status;
}
