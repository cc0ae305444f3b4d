/*
 * plan.c - running plans, at once or as one lazy node.
 *
 * A run keeps its arrays in a table of slots of its own, so that several threads can run one plan. Inputs and constants
 * are borrowed; what a step makes is owned by its slot until it is released or handed out.
 */
#include "run/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/process/timeline.h"
#include "run/eval.h"
#include "run/gpu/gpu_gather.h"
#include "run/gpu/gpu_launch.h"
#include "run/ops/operation.h"
#include "run/placement.h"
#include "run/reuse.h"

enum { FEW_SLOTS = 32, FEW_INPUTS = 64 };

struct run {
    const struct kiln_plan *plan;
    struct kiln_array **slots;
    struct kiln_array *const *given; /* the inputs as they came; in slots they are at the plan's device */
    const bool *donated;             /* inputs with one reference that belong to this run; NULL: all, or none */
    bool owns_inputs;                /* all: nobody but the node that is being evaluated refers to them */
    struct kiln_array *few_slots[FEW_SLOTS];
};

void kiln__plan_ref(struct kiln_plan *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
}

void kiln__plan_unref(void *value)
{
    struct kiln_plan *plan = value;
    if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].kernels) kiln__group_kernels_release(plan->steps[i].kernels);
        free(plan->steps[i].kernels);
    }
    for (uint32_t i = 0; i < plan->constant_count; i++) kiln__array_unref(plan->constants[i]);
    for (uint32_t i = 0; plan->placed && i < plan->constant_count; i++) kiln__array_unref(plan->placed[i]);
    kiln__launch_graph_free(plan->launch_graph);
    free(plan->constants);
    free(plan->placed);
    kiln__arena_release(&plan->arena);
    free(plan);
}

static kiln_status run_begin(struct run *run, const struct kiln_plan *plan, struct kiln_array *const *inputs,
                             struct kiln_array *const *constants, kiln_error *err)
{
    run->plan = plan;
    run->slots = plan->slot_count <= FEW_SLOTS ? run->few_slots : malloc(plan->slot_count * sizeof *run->slots);
    if (!run->slots) return kiln__no_memory(err, "the slots of a call");
    uint32_t fixed = plan->input_count + plan->constant_count;
    if (plan->input_count) memcpy(run->slots, inputs, plan->input_count * sizeof *inputs);
    if (plan->constant_count) memcpy(run->slots + plan->input_count, constants, plan->constant_count * sizeof *inputs);
    memset(run->slots + fixed, 0, (plan->slot_count - fixed) * sizeof *run->slots);
    return KILN_OK;
}

static void run_end(struct run *run)
{
    const struct kiln_plan *plan = run->plan;
    for (uint32_t i = plan->input_count + plan->constant_count; i < plan->slot_count; i++)
        kiln__array_unref(run->slots[i]);
    if (run->slots != run->few_slots) free(run->slots);
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */

/*
 * Reuse: an output takes the storage of an operand that nobody reads after this step, where that can be (reuse.h). That
 * of an input only in the last step: a step that fails after it would leave nothing to try again with. Updates consume
 * inputs in any step (plan.h).
 */
static bool owns_input(const struct run *run, uint32_t slot)
{
    return slot < run->plan->input_count && (run->donated ? run->donated[slot] : run->owns_inputs);
}

static bool is_last_use(const struct run *run, const struct kiln_step *step, uint32_t slot)
{
    const struct kiln_plan *plan = run->plan;
    for (uint32_t i = 0; i < step->release_count; i++)
        if (step->releases[i] == slot) return true;
    if (!owns_input(run, slot) || step != &plan->steps[plan->step_count - 1]) return false;
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i] == slot) return false;
    return true;
}

/* The index space of a step's kernel. */
static const struct kiln_shape *space_of(const struct kiln_plan *plan, const struct kiln_step *step)
{
    return step->rows ? step->rows : &plan->shapes[step->outputs[0]];
}

/* Storage for an array like `out`, taken from an operand; NULL: none fits. */
static struct kiln_storage *take_storage(const struct run *run, const struct kiln_step *step,
                                         const struct kiln_array *out)
{
    const struct kiln_shape *space = space_of(run->plan, step);
    for (uint32_t i = 0; i < step->input_count; i++) {
        const struct kiln_array *operand = run->slots[step->inputs[i]];
        bool can = kiln__array_device_index(operand) == kiln__active.device_index &&
                   is_last_use(run, step, step->inputs[i]) &&
                   kiln__can_write_over(operand, out, space->dims, space->ndim);
        if (!can) continue;
        if (step->inputs[i] < run->plan->input_count) kiln__eval_overwrites();
        kiln__storage_forget_copy(operand->storage);
        return kiln__storage_ref(operand->storage);
    }
    return NULL;
}

kiln_status kiln__shape_array(const struct kiln_shape *shape, struct kiln_array **out, kiln_error *err)
{
    if (shape->size < 0) return kiln__array_new(shape->dtype, shape->ndim, shape->dims, out, err);
    return kiln__array_new_checked(shape->dtype, shape->ndim, shape->dims, shape->size, out, err);
}

static kiln_status make_output(const struct run *run, const struct kiln_step *step, uint32_t slot, kiln_error *err)
{
    const struct kiln_shape *shape = &run->plan->shapes[slot];
    struct kiln_array *out;
    kiln_status status = kiln__shape_array(shape, &out, err);
    if (status) return status;
    out->storage = out->size ? take_storage(run, step, out) : NULL;
    size_t bytes = (size_t)out->size * kiln__dtype_size(out->dtype);
    if (!out->storage) status = kiln__output_storage(bytes, &out->storage, err);
    if (status) {
        kiln__array_unref(out);
        return status;
    }
    out->data = out->storage->data;
    run->slots[slot] = out;
    return KILN_OK;
}

kiln_status kiln__step_launch(const struct kiln_step *step, struct kiln_array *const *operands,
                              struct kiln_array *const *outputs, kiln_error *err)
{
    if (step->rows)
        return kiln__launch_rows(step->kernels, step->rows->dims, step->rows->ndim, operands, step->constants, outputs,
                                 err);
    return kiln__launch(step->kernels, operands, step->constants, outputs, err);
}

/* `operands` are at the active device. */
static kiln_status launch_group(struct run *run, const struct kiln_step *step, struct kiln_array *const *operands,
                                kiln_error *err)
{
    struct kiln_array *outputs[step->output_count];
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < step->output_count && !status; i++) {
        status = make_output(run, step, step->outputs[i], err);
        outputs[i] = run->slots[step->outputs[i]];
    }
    return status ? status : kiln__step_launch(step, operands, outputs, err);
}

bool kiln__step_can_launch(const struct kiln_plan *plan, const struct kiln_step *step)
{
    const struct kiln_shape *shape = space_of(plan, step);
    int64_t row = step->rows ? shape->dims[shape->ndim - 1] : 0;
    return kiln__backend_of(plan->device_index)->can_launch(&step->kernels->group, shape->ndim, row);
}

/* A kernel that the GPU can't run runs on the CPU; one whose operands an operation left on the CPU gets copies. */
static kiln_status run_group_elsewhere(struct run *run, const struct kiln_step *step,
                                       struct kiln_array *const *operands, bool can_launch, kiln_error *err)
{
    uint32_t device_index = can_launch ? run->plan->device_index : 0;
    struct kiln_placement before;
    struct kiln_moved moved;
    kiln_status status = kiln__move(&moved, operands, step->input_count, device_index, err);
    if (!can_launch) kiln__gpu_count_add(KILN_GPU_HOST_OPERATIONS, 1);
    if (!status) status = kiln__run_at(device_index, &before, err);
    if (!status) {
        status = launch_group(run, step, moved.arrays, err);
        kiln__active = before;
    }
    kiln__moved_release(&moved);
    return status;
}

static kiln_status run_group(struct run *run, const struct kiln_step *step, kiln_error *err)
{
    struct kiln_array *operands[step->input_count + 1];
    for (uint32_t i = 0; i < step->input_count; i++) operands[i] = run->slots[step->inputs[i]];
    if (!run->plan->device_index) return launch_group(run, step, operands, err);
    bool can_launch = kiln__step_can_launch(run->plan, step);
    if (can_launch && kiln__all_at(operands, step->input_count, run->plan->device_index))
        return launch_group(run, step, operands, err);
    return run_group_elsewhere(run, step, operands, can_launch, err);
}

/*
 * What a step reads. Indices that came from the host are given from there: they are checked there
 * (run/gpu/gpu_gather.h), and the copy in the slot is found again.
 */
static struct kiln_array *input_of(const struct run *run, const struct kiln_step *step, uint32_t input)
{
    const struct kiln_plan *plan = run->plan;
    uint32_t slot = step->inputs[input];
    if (!plan->device_index || slot >= plan->input_count + plan->constant_count ||
        !kiln__reads_through(step->op, input))
        return run->slots[slot];
    return slot < plan->input_count ? run->given[slot] : plan->constants[slot - plan->input_count];
}

/* Is the step's first input one that it consumes, and held by this run alone? */
static bool may_consume(const struct run *run, const struct kiln_step *step)
{
    return step->consumes && owns_input(run, step->inputs[0]) &&
           atomic_load_explicit(&run->slots[step->inputs[0]]->refs, memory_order_acquire) == 1;
}

/* What the step made of the input's bytes has them for itself. */
static void consume(const struct run *run, const struct kiln_step *step)
{
    struct kiln_array *input = run->slots[step->inputs[0]];
    if (!input->storage || run->slots[step->outputs[0]]->storage != input->storage) return;
    kiln__storage_unref(input->storage);
    input->storage = NULL;
    input->data = NULL;
}

/* Some operations take any number of inputs. */
static kiln_status run_operation(struct run *run, const struct kiln_step *step, kiln_error *err)
{
    bool consumes = may_consume(run, step);
    if (consumes) kiln__eval_overwrites();
    struct kiln_array *few[FEW_INPUTS], *out;
    struct kiln_array **inputs = step->input_count <= FEW_INPUTS ? few : malloc(step->input_count * sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "the inputs of an operation");
    const struct kiln_shape *shape = &run->plan->shapes[step->outputs[0]];
    for (uint32_t i = 0; i < step->input_count; i++) inputs[i] = input_of(run, step, i);
    const struct kiln_node node = {.op = step->op,
                                   .attr_count = (uint16_t)step->attr_count,
                                   .input_count = step->input_count,
                                   .is_last_use =
                                       consumes || (step->release_count && step->releases[0] == step->inputs[0]),
                                   .device_index = (uint16_t)run->plan->device_index,
                                   .stream = (uint16_t)run->plan->stream,
                                   .inputs = inputs,
                                   .attrs = step->attrs};
    kiln_status status = kiln__shape_array(shape, &out, err);
    if (!status) {
        run->slots[step->outputs[0]] = out;
        status = kiln__run_operation(&node, out, err);
        if (!status && consumes) consume(run, step);
    }
    if (inputs != few) free(inputs);
    return status;
}

/* What it reads and writes, as traced. */
static uint64_t bytes_of(const struct kiln_plan *plan, const uint32_t *slots, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_shape *shape = &plan->shapes[slots[i]];
        if (shape->size > 0) bytes += (uint64_t)shape->size * kiln__dtype_size(shape->dtype);
    }
    return bytes;
}

static void record_group(const struct kiln_plan *plan, const struct kiln_step *step, uint64_t start_ns)
{
    uint64_t bytes =
        bytes_of(plan, step->inputs, step->input_count) + bytes_of(plan, step->outputs, step->output_count);
    kiln__timeline_end(start_ns, &(struct kiln_event){.kind = plan->device_index ? "launch" : "kernel",
                                                      .name = step->kernels->name,
                                                      .function = plan->name,
                                                      .bytes = bytes});
}

/* Operations record themselves (run/eval.c). */
static kiln_status run_step(struct run *run, const struct kiln_step *step, kiln_error *err)
{
    if (!step->kernels) return run_operation(run, step, err);
    uint64_t start_ns = kiln__timeline_begin();
    kiln_status status = run_group(run, step, err);
    if (start_ns) record_group(run->plan, step, start_ns);
    return status;
}

static kiln_status run_steps(struct run *run, kiln_error *err)
{
    const struct kiln_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct kiln_step *step = &plan->steps[i];
        kiln_status status = run_step(run, step, err);
        if (status) return status;
        for (uint32_t k = 0; k < step->release_count; k++) {
            kiln__array_unref(run->slots[step->releases[k]]);
            run->slots[step->releases[k]] = NULL;
        }
    }
    return KILN_OK;
}

/* What a run is given. */
struct given {
    struct kiln_array *const *inputs;
    const bool *donated; /* as in struct run */
    bool owns_inputs;
};

/* `inputs` and `constants` are at the plan's device, those of `given` where they came from. */
static kiln_status run_here(const struct kiln_plan *plan, const struct given *given, struct kiln_array *const *inputs,
                            struct kiln_array *const *constants, struct kiln_array **outputs, kiln_error *err)
{
    struct run run;
    run.given = given->inputs;
    run.donated = given->donated;
    run.owns_inputs = given->owns_inputs;
    kiln_status status = run_begin(&run, plan, inputs, constants, err);
    if (status) return status;
    status = run_steps(&run, err);
    for (uint32_t i = 0; i < plan->output_count && !status; i++)
        outputs[i] = kiln__array_ref(run.slots[plan->outputs[i]]);
    run_end(&run);
    return status;
}

static kiln_status launch_steps(const struct kiln_plan *plan, const struct given *given,
                                struct kiln_array *const *inputs, struct kiln_array *const *constants,
                                struct kiln_array **outputs, kiln_error *err)
{
    if (!plan->launch_graph) return run_here(plan, given, inputs, constants, outputs, err);
    kiln__launch_graph_begin(plan->launch_graph, kiln__active.device);
    kiln_status status = run_here(plan, given, inputs, constants, outputs, err);
    kiln_status started = kiln__launch_graph_end(!status, err);
    for (uint32_t i = 0; started && !status && i < plan->output_count; i++) kiln__array_unref(outputs[i]);
    return status ? status : started;
}

/* Everything it reads is on the GPU, which is active. */
static kiln_status run_there(const struct kiln_plan *plan, const struct given *given, struct kiln_array *const *inputs,
                             struct kiln_array *const *constants, struct kiln_array **outputs, kiln_error *err)
{
    struct kiln_stream_work work, of_constants;
    kiln_status status = kiln__stream_begin(&work, plan->stream, inputs, plan->input_count, err);
    if (status) return status;
    status = kiln__stream_begin(&of_constants, plan->stream, constants, plan->constant_count, err);
    if (!status) {
        status = launch_steps(plan, given, inputs, constants, outputs, err);
        kiln__stream_end(&of_constants, constants, plan->constant_count, NULL, 0);
    }
    kiln__stream_end(&work, inputs, plan->input_count, outputs, status ? 0 : plan->output_count);
    return status;
}

static kiln_status place_constants(const struct kiln_plan *plan, struct kiln_array **placed)
{
    struct kiln_placement before;
    kiln_status status = kiln__run_at(plan->device_index, &before, NULL);
    if (status) return status;
    for (uint32_t i = 0; i < plan->constant_count && !status; i++)
        status = kiln__array_at(plan->constants[i], plan->device_index, &placed[i], NULL);
    kiln__active = before;
    return status;
}

void kiln__plan_place_constants(struct kiln_plan *plan)
{
    if (!plan->device_index) return;
    struct kiln_array **placed = calloc(plan->constant_count + 1, sizeof *placed);
    if (placed && !place_constants(plan, placed)) {
        plan->placed = placed;
        return;
    }
    for (uint32_t i = 0; placed && i < plan->constant_count; i++) kiln__array_unref(placed[i]);
    free(placed);
}

/* Inputs and captured arrays that are elsewhere are copied to the GPU first. */
static kiln_status run_with_copies(const struct kiln_plan *plan, const struct given *given,
                                   struct kiln_array *const *captured, struct kiln_array **outputs, kiln_error *err)
{
    struct kiln_moved moved = {.arrays = moved.few}, constants = {.arrays = constants.few};
    kiln_status status = kiln__move(&moved, given->inputs, plan->input_count, plan->device_index, err);
    if (!status && !plan->placed)
        status = kiln__move(&constants, captured, plan->constant_count, plan->device_index, err);
    if (!status && !plan->placed) captured = constants.arrays;
    if (!status) status = run_there(plan, given, moved.arrays, captured, outputs, err);
    kiln__moved_release(&moved);
    kiln__moved_release(&constants);
    return status;
}

static kiln_status run_on_gpu(const struct kiln_plan *plan, const struct given *given, struct kiln_array **outputs,
                              kiln_error *err)
{
    struct kiln_placement before;
    kiln_status status = kiln__run_at(plan->device_index, &before, err);
    if (status) return status;
    struct kiln_array *const *captured = plan->placed ? plan->placed : plan->constants;
    bool are_there = kiln__all_at(given->inputs, plan->input_count, plan->device_index) &&
                     (plan->placed || kiln__all_at(captured, plan->constant_count, plan->device_index));
    status = are_there ? run_there(plan, given, given->inputs, captured, outputs, err)
                       : run_with_copies(plan, given, captured, outputs, err);
    kiln__active = before;
    return status;
}

static kiln_status run_plan(const struct kiln_plan *plan, const struct given *given, struct kiln_array **outputs,
                            kiln_error *err)
{
    uint64_t start_ns = kiln__timeline_begin();
    kiln_status status = __builtin_expect(plan->device_index != 0, 0)
                             ? run_on_gpu(plan, given, outputs, err)
                             : run_here(plan, given, given->inputs, plan->constants, outputs, err);
    if (start_ns)
        kiln__timeline_end(start_ns, &(struct kiln_event){.kind = "run",
                                                          .name = plan->name,
                                                          .function = plan->name,
                                                          .outcome = status ? "failed" : NULL,
                                                          .count = plan->step_count});
    return status;
}

kiln_status kiln__plan_run_donated(const struct kiln_plan *plan, struct kiln_array *const *inputs, const bool *donated,
                                   struct kiln_array **outputs, kiln_error *err)
{
    return run_plan(plan, &(struct given){inputs, donated, false}, outputs, err);
}

kiln_status kiln__plan_run(const struct kiln_plan *plan, struct kiln_array *const *inputs, struct kiln_array **outputs,
                           kiln_error *err)
{
    return kiln__plan_run_donated(plan, inputs, NULL, outputs, err);
}

/* ---- a plan as one lazy node ---------------------------------------------------------------------------------- */

/* The bytes of `made` become those of the lazy array `out`, which stays lazy until eval.c says otherwise. */
static void move_bytes(struct kiln_array *out, const struct kiln_array *made)
{
    out->storage = made->storage ? kiln__storage_ref(made->storage) : NULL;
    out->data = made->data;
    memcpy(out->strides, made->strides, made->ndim * sizeof *made->strides);
    out->row_contiguous = made->row_contiguous;
}

static kiln_status eval_plan(struct kiln_node *node, kiln_error *err)
{
    const struct kiln_plan *plan = node->plan;
    struct kiln_array **made = malloc((plan->output_count + 1) * sizeof *made);
    if (!made) return kiln__no_memory(err, "the outputs of a call");
    kiln_status status = run_plan(plan, &(struct given){node->inputs, NULL, true}, made, err);
    for (uint32_t i = 0; i < plan->output_count && !status; i++) {
        struct kiln_array *output = kiln__node_output(node, i);
        if (output) move_bytes(output, made[i]);
        kiln__array_unref(output);
        kiln__array_unref(made[i]);
    }
    free(made);
    return status && plan->name ? kiln__fail_as(err, status, plan->name) : status;
}

__attribute__((constructor)) static void install(void)
{
    kiln__plan_eval = eval_plan;
    kiln__node_free_plan = kiln__plan_unref;
}

static kiln_status make_outputs(const struct kiln_plan *plan, struct kiln_array **outputs, kiln_error *err)
{
    kiln_status status = KILN_OK;
    uint32_t made = 0;
    for (; made < plan->output_count && !status; made++) {
        const struct kiln_shape *shape = &plan->shapes[plan->outputs[made]];
        status = kiln__shape_array(shape, &outputs[made], err);
    }
    for (uint32_t i = 0; status && i + 1 < made; i++) kiln__array_unref(outputs[i]);
    return status;
}

kiln_status kiln__plan_defer(struct kiln_plan *plan, struct kiln_array *const *inputs, struct kiln_array **outputs,
                             kiln_error *err)
{
    struct kiln_node *node = NULL;
    if (plan->output_count == 0) return KILN_OK; /* nothing that could be evaluated */
    kiln_status status = make_outputs(plan, outputs, err);
    if (status) return status;
    status = kiln__node_new(KILN_OP_PLAN, inputs, plan->input_count, NULL, 0, &node, err);
    if (!status) {
        kiln__plan_ref(plan);
        node->plan = plan;
        status = kiln__node_set_outputs(node, outputs, plan->output_count, err);
        if (status) kiln__node_unref(node);
    }
    for (uint32_t i = 0; status && i < plan->output_count; i++) kiln__array_unref(outputs[i]);
    return status;
}
