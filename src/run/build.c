/*
 * build.c - a fused tape becomes a plan.
 *
 * Values that live only inside a group get no slot. A group runs where its root stands on the tape, which is after
 * everything it reads (see trace/fuse.c). The last reader of a slot releases it, unless it is an input, a constant or
 * an output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/plan.h"

#include "run/gpu/gpu_launch.h"
#include "run/gpu/gpu_product_run.h"
#include "run/ops/operation.h"

#define NO_SLOT UINT32_MAX

struct builder {
    const struct kiln_tape *tape;
    struct kiln_plan *plan;
    uint32_t *slots;            /* of each value */
    uint32_t *numbers;          /* of each value inside the group being built */
    uint32_t *members, *starts; /* values of each group, in tape order */
    uint32_t kernel_count;
    struct kiln_kernel_set *set;
};

/* ---- groups --------------------------------------------------------------------------------------------------- */

static bool collect_members(struct builder *builder)
{
    const struct kiln_tape *tape = builder->tape;
    struct kiln_arena *arena = &builder->plan->arena;
    builder->starts = kiln__arena_array(arena, tape->group_count + 2, sizeof *builder->starts);
    builder->members = kiln__arena_array(arena, tape->count + 1, sizeof *builder->members);
    if (!builder->starts || !builder->members) return false;
    for (uint32_t i = 0; i < tape->group_count; i++)
        builder->starts[i + 2] = builder->starts[i + 1] + tape->groups[i].member_count;
    for (uint32_t i = 0; i < tape->count; i++) {
        uint32_t group = tape->values[i].group;
        if (tape->values[i].is_live && group != KILN_NO_GROUP) builder->members[builder->starts[group + 1]++] = i;
    }
    return true; /* starts[g] is now where group g begins, starts[g + 1] where it ends */
}

/* What a group reads from outside: operands by slot, scalars by their bits. */
struct boundary {
    uint32_t operands[64], scalars[64]; /* values */
    uint32_t operand_count, scalar_count;
};

static bool note(uint32_t *list, uint32_t *count, uint32_t value)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i] == value) return true;
    if (*count == 64) return false;
    list[(*count)++] = value;
    return true;
}

static bool find_boundary(const struct builder *builder, uint32_t group, struct boundary *boundary)
{
    const struct kiln_tape *tape = builder->tape;
    for (uint32_t m = builder->starts[group]; m < builder->starts[group + 1]; m++) {
        const struct kiln_value *value = &tape->values[builder->members[m]];
        for (uint32_t k = 0; k < value->input_count; k++) {
            const struct kiln_value *input = &tape->values[value->inputs[k]];
            if (input->kind == KILN_VALUE_NODE && input->group == group) continue;
            bool is_scalar = kiln__value_is_scalar(input);
            if (!note(is_scalar ? boundary->scalars : boundary->operands,
                      is_scalar ? &boundary->scalar_count : &boundary->operand_count, value->inputs[k]))
                return false;
        }
    }
    return true;
}

static void number_values(struct builder *builder, uint32_t group, const struct boundary *boundary)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < boundary->operand_count; i++) builder->numbers[boundary->operands[i]] = next++;
    for (uint32_t i = 0; i < boundary->scalar_count; i++) builder->numbers[boundary->scalars[i]] = next++;
    for (uint32_t m = builder->starts[group]; m < builder->starts[group + 1]; m++)
        builder->numbers[builder->members[m]] = next++;
}

/* The root first: it is the group's result; then members that are outputs of the function, or that others read. */
static uint32_t list_outputs(const struct builder *builder, uint32_t group, uint32_t *values)
{
    uint32_t count = 0, root = builder->tape->groups[group].root;
    values[count++] = root;
    for (uint32_t m = builder->starts[group]; m < builder->starts[group + 1]; m++) {
        uint32_t member = builder->members[m];
        const struct kiln_value *value = &builder->tape->values[member];
        if (member != root && (value->is_output || value->is_read_apart)) values[count++] = member;
    }
    return count;
}

static bool fill_group(struct builder *builder, uint32_t group, const struct boundary *boundary,
                       const uint32_t *outputs, uint32_t output_count, struct kiln_group *out)
{
    const struct kiln_tape *tape = builder->tape;
    out->operand_count = boundary->operand_count;
    out->constant_count = boundary->scalar_count;
    out->instr_count = tape->groups[group].member_count;
    out->output_count = output_count;
    out->operand_dtypes = malloc(boundary->operand_count + 1);
    out->constant_dtypes = malloc(boundary->scalar_count + 1);
    out->instrs = calloc(out->instr_count, sizeof *out->instrs);
    out->outputs = malloc(output_count * sizeof *out->outputs);
    if (!out->operand_dtypes || !out->constant_dtypes || !out->instrs || !out->outputs) return false;
    for (uint32_t i = 0; i < boundary->operand_count; i++)
        out->operand_dtypes[i] = tape->values[boundary->operands[i]].dtype;
    for (uint32_t i = 0; i < boundary->scalar_count; i++)
        out->constant_dtypes[i] = tape->values[boundary->scalars[i]].dtype;
    for (uint32_t i = 0; i < output_count; i++) out->outputs[i] = builder->numbers[outputs[i]];
    for (uint32_t i = 0; i < out->instr_count; i++) {
        const struct kiln_value *value = &tape->values[builder->members[builder->starts[group] + i]];
        out->instrs[i] = (struct kiln_instr){.op = value->op, .dtype = value->dtype};
        for (uint32_t k = 0; k < value->input_count; k++) out->instrs[i].in[k] = builder->numbers[value->inputs[k]];
    }
    return true;
}

static uint64_t *scalar_bits(struct builder *builder, const struct boundary *boundary)
{
    uint64_t *bits = kiln__arena_array(&builder->plan->arena, boundary->scalar_count + 1, sizeof *bits);
    for (uint32_t i = 0; bits && i < boundary->scalar_count; i++) {
        const struct kiln_value *value = &builder->tape->values[boundary->scalars[i]];
        memcpy(&bits[i], value->array->data, kiln__dtype_size(value->dtype));
    }
    return bits;
}

/* ---- slots ---------------------------------------------------------------------------------------------------- */

static struct kiln_shape shape_of(struct kiln_arena *arena, const struct kiln_value *value)
{
    struct kiln_shape shape = {.dtype = value->dtype, .ndim = value->ndim};
    shape.dims = kiln__arena_copy(arena, value->dims, value->ndim * sizeof *value->dims);
    if (kiln__shape_check(value->dims, value->ndim, value->dtype, &shape.size, NULL)) shape.size = -1;
    return shape;
}

static uint32_t slot_for(struct builder *builder, uint32_t value)
{
    struct kiln_plan *plan = builder->plan;
    const struct kiln_value *described = &builder->tape->values[value];
    if (builder->slots[value] != NO_SLOT) return builder->slots[value];
    uint32_t slot = plan->slot_count++;
    plan->shapes[slot] = shape_of(&plan->arena, described);
    return builder->slots[value] = slot;
}

/* Views may have more elements than fit: the sum stops at the largest number. */
static void count_work(struct kiln_plan *plan, const struct kiln_value *value)
{
    int64_t size = 1;
    bool is_empty = false, is_more = false;
    for (uint32_t i = 0; i < value->ndim; i++) is_empty |= value->dims[i] == 0;
    for (uint32_t i = 0; i < value->ndim; i++) is_more |= __builtin_mul_overflow(size, value->dims[i], &size);
    if (is_empty) return;
    if (is_more || __builtin_add_overflow(plan->work, size, &plan->work)) plan->work = INT64_MAX;
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

static struct kiln_shape *shape_of_rows(struct builder *builder, uint32_t index)
{
    struct kiln_arena *arena = &builder->plan->arena;
    const struct kiln_value *elements = &builder->tape->values[builder->tape->groups[index].shape];
    struct kiln_shape *shape = kiln__arena_alloc(arena, sizeof *shape);
    if (shape) *shape = shape_of(arena, elements);
    return shape && shape->dims ? shape : NULL;
}

/* The function's name, numbered from the second kernel on; or what the kernel is. */
static void name_kernel(struct builder *builder, uint32_t index, struct kiln_group_kernels *kernels)
{
    const char *name = builder->plan->name;
    char number[16] = "";
    if (builder->kernel_count++) snprintf(number, sizeof number, "_%u", builder->kernel_count);
    if (name)
        snprintf(kernels->name, sizeof kernels->name, "%.*s%s", (int)(sizeof kernels->name - sizeof number), name,
                 number);
    else
        snprintf(kernels->name, sizeof kernels->name, "fused_%u", builder->tape->groups[index].member_count);
}

static bool add_group(struct builder *builder, uint32_t index)
{
    struct kiln_plan *plan = builder->plan;
    struct boundary boundary = {0};
    struct kiln_step *step = &plan->steps[plan->step_count];
    if (!find_boundary(builder, index, &boundary)) return false;
    number_values(builder, index, &boundary);
    uint32_t *outputs = kiln__arena_array(&plan->arena, builder->tape->groups[index].member_count + 1, sizeof *outputs);
    step->inputs = kiln__arena_array(&plan->arena, boundary.operand_count + 1, sizeof *step->inputs);
    step->constants = scalar_bits(builder, &boundary);
    step->kernels = calloc(1, sizeof *step->kernels);
    plan->step_count++; /* from here on freeing the plan frees the kernels */
    if (!outputs || !step->inputs || !step->constants || !step->kernels) return false;
    step->output_count = list_outputs(builder, index, outputs);
    name_kernel(builder, index, step->kernels);
    step->kernels->plan = plan;
    step->kernels->step = plan->step_count - 1;
    if (!fill_group(builder, index, &boundary, outputs, step->output_count, &step->kernels->group)) return false;
    if (builder->set) kiln__shared_join(builder->set, step->kernels);
    if (builder->tape->groups[index].has_rows && !(step->rows = shape_of_rows(builder, index))) return false;
    step->input_count = boundary.operand_count;
    for (uint32_t i = 0; i < boundary.operand_count; i++) step->inputs[i] = slot_for(builder, boundary.operands[i]);
    for (uint32_t i = 0; i < step->output_count; i++) {
        count_work(plan, &builder->tape->values[outputs[i]]);
        outputs[i] = slot_for(builder, outputs[i]);
    }
    step->outputs = outputs;
    return true;
}

static bool add_operation(struct builder *builder, uint32_t index)
{
    struct kiln_plan *plan = builder->plan;
    const struct kiln_value *value = &builder->tape->values[index];
    struct kiln_step *step = &plan->steps[plan->step_count++];
    step->op = value->op;
    step->attr_count = value->attr_count;
    step->input_count = value->input_count;
    step->output_count = 1;
    step->attrs = kiln__arena_copy(&plan->arena, value->attrs, value->attr_count * sizeof *value->attrs);
    step->inputs = kiln__arena_array(&plan->arena, value->input_count + 1, sizeof *step->inputs);
    step->outputs = kiln__arena_array(&plan->arena, 1, sizeof *step->outputs);
    if (!step->attrs || !step->inputs || !step->outputs) return false;
    for (uint32_t i = 0; i < value->input_count; i++) step->inputs[i] = slot_for(builder, value->inputs[i]);
    step->outputs[0] = slot_for(builder, index);
    count_work(plan, value);
    return true;
}

/* Walks the steps backwards: the first time a slot is seen is its last use. */
static bool add_releases(struct builder *builder)
{
    struct kiln_plan *plan = builder->plan;
    bool *seen = kiln__arena_array(&plan->arena, plan->slot_count + 1, sizeof *seen);
    if (!seen) return false;
    for (uint32_t i = 0; i < plan->input_count + plan->constant_count; i++) seen[i] = true;
    for (uint32_t i = 0; i < plan->output_count; i++) seen[plan->outputs[i]] = true;
    for (uint32_t s = plan->step_count; s-- > 0;) {
        struct kiln_step *step = &plan->steps[s];
        step->releases = kiln__arena_array(&plan->arena, step->input_count + 1, sizeof *step->releases);
        if (!step->releases) return false;
        for (uint32_t i = 0; i < step->input_count; i++) {
            uint32_t slot = step->inputs[i];
            if (!seen[slot]) step->releases[step->release_count++] = slot;
            seen[slot] = true;
        }
    }
    return true;
}

static bool updates_in_place(const struct kiln_step *step)
{
    if (step->kernels || kiln__ops[step->op].kind != KILN_OP_UPDATE) return false;
    return step->op != KILN_OP_SLICE_UPDATE || step->attrs[0] == KILN_MERGE_SET;
}

/* Walks the steps backwards too: `leads[slot]` says that its last reader is an update, or a view that leads to one. */
static bool find_consumed(struct builder *builder)
{
    struct kiln_plan *plan = builder->plan;
    bool *seen = kiln__arena_array(&plan->arena, plan->slot_count + 1, sizeof *seen);
    bool *leads = kiln__arena_array(&plan->arena, plan->slot_count + 1, sizeof *leads);
    if (!seen || !leads) return false;
    for (uint32_t i = 0; i < plan->output_count; i++) seen[plan->outputs[i]] = true;
    for (uint32_t s = plan->step_count; s-- > 0;) {
        struct kiln_step *step = &plan->steps[s];
        bool is_view = !step->kernels && kiln__ops[step->op].kind == KILN_OP_VIEW;
        bool is_on_the_way = updates_in_place(step) || (is_view && leads[step->outputs[0]]);
        for (uint32_t i = 1; i < step->input_count; i++) seen[step->inputs[i]] = true;
        if (is_on_the_way && !seen[step->inputs[0]]) {
            leads[step->inputs[0]] = true;
            step->consumes = step->inputs[0] < plan->input_count;
            if (step->consumes) plan->traits |= KILN_PLAN_CONSUMES;
        }
        if (step->input_count) seen[step->inputs[0]] = true;
    }
    return true;
}

/* Scalars that only kernels read are arguments of theirs. Operations and callers want an array. */
static bool *find_needed(const struct builder *builder)
{
    const struct kiln_tape *tape = builder->tape;
    bool *needed = kiln__arena_array(&builder->plan->arena, tape->count + 1, sizeof *needed);
    for (uint32_t i = 0; needed && i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        needed[i] |= value->is_live && (value->is_output || !kiln__value_is_scalar(value));
        if (!value->is_live || value->group != KILN_NO_GROUP) continue;
        for (uint32_t k = 0; k < value->input_count; k++) needed[value->inputs[k]] = true;
    }
    return needed;
}

/* Inputs and captured arrays have fixed slots, in front. */
static bool add_fixed_slots(struct builder *builder)
{
    const struct kiln_tape *tape = builder->tape;
    struct kiln_plan *plan = builder->plan;
    const bool *needed = find_needed(builder);
    plan->constants = calloc(tape->count + 1, sizeof *plan->constants);
    if (!needed || !plan->constants) return false;
    for (uint32_t i = 0; i < tape->input_count; i++) slot_for(builder, i);
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        if (value->kind != KILN_VALUE_CONSTANT || !needed[i]) continue;
        slot_for(builder, i);
        plan->constants[plan->constant_count++] = kiln__array_ref(value->array);
    }
    return true;
}

static bool build(struct builder *builder)
{
    const struct kiln_tape *tape = builder->tape;
    struct kiln_plan *plan = builder->plan;
    plan->input_count = tape->input_count;
    plan->name = tape->name ? kiln__arena_copy(&plan->arena, tape->name, strlen(tape->name) + 1) : NULL;
    if (tape->name && !plan->name) return false;
    plan->shapes = kiln__arena_array(&plan->arena, tape->count + 1, sizeof *plan->shapes);
    plan->steps = kiln__arena_array(&plan->arena, tape->count + 1, sizeof *plan->steps);
    plan->outputs = kiln__arena_array(&plan->arena, tape->output_count + 1, sizeof *plan->outputs);
    builder->slots = malloc((tape->count + 1) * sizeof *builder->slots);
    builder->numbers = malloc((tape->count + 1) * sizeof *builder->numbers);
    if (!plan->shapes || !plan->steps || !plan->outputs || !builder->slots || !builder->numbers) return false;
    for (uint32_t i = 0; i < tape->count; i++) builder->slots[i] = NO_SLOT;
    if (!add_fixed_slots(builder) || !collect_members(builder)) return false;
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        if (!value->is_live || value->kind != KILN_VALUE_NODE) continue;
        bool is_inner = value->group != KILN_NO_GROUP && tape->groups[value->group].root != i;
        if (is_inner) continue;
        if (value->group == KILN_NO_GROUP ? !add_operation(builder, i) : !add_group(builder, value->group))
            return false;
    }
    for (uint32_t i = 0; i < tape->output_count; i++)
        plan->outputs[plan->output_count++] = builder->slots[tape->outputs[i]];
    return add_releases(builder) && find_consumed(builder);
}

/* A product whose rows are few is a launch of ours; a batch has as many as one product, where each has its own matrix.
 */
static bool is_launched_product(const struct kiln_plan *plan, const struct kiln_step *step)
{
    if (step->op == KILN_OP_QUANTIZED_MATMUL) return true;
    if (step->op != KILN_OP_MATMUL) return false;
    const struct kiln_shape *x = &plan->shapes[step->inputs[0]];
    return x->ndim >= 2 && x->dims[x->ndim - 1] > 0 &&
           kiln__gpu_product_takes((enum kiln_dtype)x->dtype, x->size / x->dims[x->ndim - 1]);
}

/* Is it never a launch of ours? */
static bool is_library(const struct kiln_plan *plan, const struct kiln_step *step)
{
    const enum kiln_op_kind kind = (enum kiln_op_kind)kiln__ops[step->op].kind;
    if (step->op == KILN_OP_MATMUL || step->op == KILN_OP_QUANTIZED_MATMUL) return !is_launched_product(plan, step);
    return (kind == KILN_OP_SOURCE || kind == KILN_OP_LIBRARY) && !kiln__op_only_launches(step->op, plan->device_index);
}

/* Worth it for a plan of kernels and what runs as kernels. */
static bool can_replay(const struct kiln_plan *plan)
{
    uint32_t launches = 0;
    if (!plan->device_index) return false;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct kiln_step *step = &plan->steps[i];
        if (!step->kernels && is_library(plan, step)) return false;
        launches += step->kernels || kiln__ops[step->op].kind != KILN_OP_VIEW;
    }
    return launches > 0;
}

kiln_status kiln__plan_new(const struct kiln_tape *tape, struct kiln_kernel_set *set, struct kiln_plan **out,
                           kiln_error *err)
{
    struct kiln_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return kiln__no_memory(err, "a plan");
    atomic_init(&plan->refs, 1);
    plan->device_index = tape->device_index;
    plan->stream = tape->stream;
    struct builder builder = {.tape = tape, .plan = plan, .set = set};
    bool done = build(&builder);
    free(builder.slots);
    free(builder.numbers);
    if (done && can_replay(plan)) plan->launch_graph = kiln__launch_graph_new(); /* without one, every call launches */
    if (!done) {
        kiln__plan_unref(plan);
        return kiln__no_memory(err, "a plan");
    }
    *out = plan;
    return KILN_OK;
}
