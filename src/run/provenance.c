/*
 * provenance.c - see provenance.h. A kernel of a plan tells its operands and results with the shapes of the call that
 * was traced, the operations that it fused, the bytes that it moves, and its plan: what it takes and gives, and all its
 * steps. Values are named by position: operands a0, a1, ..., constants c0, ..., results of operations v0, ...
 */
#include "run/provenance.h"

#include "base/digest.h"

enum { LISTED_STEPS = 256, LISTED_OPERATIONS = 16, LISTED_ARRAYS = 16 };

/* ---- names and sizes ------------------------------------------------------------------------------------------ */

static void print_value(const struct kiln_group *group, uint32_t number, struct kiln_buffer *out)
{
    uint32_t constants = group->operand_count, operations = constants + group->constant_count;
    if (number < constants)
        kiln__buffer_printf(out, "a%u", number);
    else if (number < operations)
        kiln__buffer_printf(out, "c%u", number - constants);
    else
        kiln__buffer_printf(out, "v%u", number - operations);
}

/* A line holds no tab and ends with its newline: other such bytes of a name are shown as a question mark. */
static void print_name(const char *name, struct kiln_buffer *out)
{
    for (; *name; name++) kiln__buffer_printf(out, "%c", (unsigned char)*name < ' ' ? '?' : *name);
}

static const char *layout_of(char layout)
{
    return layout == KILN_LAYOUT_PACKED   ? "packed"
           : layout == KILN_LAYOUT_SCALAR ? "one for each row"
           : layout == KILN_LAYOUT_INDEX  ? "indices"
                                          : "strided";
}

static double bytes_of(const struct kiln_plan *plan, const uint32_t *slots, uint32_t count)
{
    double bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_shape *shape = &plan->shapes[slots[i]];
        double size = (double)kiln__dtype_size(shape->dtype);
        for (uint32_t k = 0; k < shape->ndim; k++) size *= shape->dims[k];
        bytes += size;
    }
    return bytes;
}

static bool moves_nothing(const struct kiln_step *step)
{
    return !step->kernels && kiln__ops[step->op].kind == KILN_OP_VIEW;
}

static double bytes_read(const struct kiln_plan *plan, const struct kiln_step *step)
{
    return moves_nothing(step) ? 0 : bytes_of(plan, step->inputs, step->input_count);
}

static double bytes_written(const struct kiln_plan *plan, const struct kiln_step *step)
{
    return moves_nothing(step) ? 0 : bytes_of(plan, step->outputs, step->output_count);
}

/* ---- the kernel ----------------------------------------------------------------------------------------------- */

static void print_shape(const struct kiln_plan *plan, uint32_t slot, struct kiln_buffer *out)
{
    char text[KILN_SHAPE_TEXT];
    const struct kiln_shape *shape = &plan->shapes[slot];
    kiln__buffer_printf(out, " %s", kiln__shape_text(shape->dims, shape->ndim, text));
}

static void print_operands(const struct kiln_provenance_of *of, const struct kiln_step *step, struct kiln_buffer *out)
{
    const struct kiln_group *group = &of->kernels->group;
    for (uint32_t i = 0; i < group->operand_count; i++) {
        kiln__buffer_printf(out, "operand a%u\t%s", i, kiln__dtypes[group->operand_dtypes[i]].name);
        if (step) print_shape(of->kernels->plan, step->inputs[i], out);
        kiln__buffer_printf(out, ", %s\n", layout_of(of->layouts[i]));
    }
    for (uint32_t i = 0; i < group->constant_count; i++)
        kiln__buffer_printf(out, "constant c%u\t%s\n", i, kiln__dtypes[group->constant_dtypes[i]].name);
}

static void print_operations(const struct kiln_group *group, struct kiln_buffer *out)
{
    for (uint32_t i = 0; i < group->instr_count; i++) {
        const struct kiln_instr *instr = &group->instrs[i];
        kiln__buffer_printf(out, "operation v%u\t%s %s(", i, kiln__dtypes[instr->dtype].name,
                            kiln__ops[instr->op].name);
        for (int k = 0; k < kiln__ops[instr->op].arity; k++) {
            if (k) kiln__buffer_printf(out, ", ");
            print_value(group, instr->in[k], out);
        }
        kiln__buffer_printf(out, ")\n");
    }
}

static void print_results(const struct kiln_provenance_of *of, const struct kiln_step *step, struct kiln_buffer *out)
{
    const struct kiln_group *group = &of->kernels->group;
    for (uint32_t i = 0; i < group->output_count; i++) {
        kiln__buffer_printf(out, "result ");
        print_value(group, group->outputs[i], out);
        kiln__buffer_printf(out, "\t");
        if (step) {
            const struct kiln_shape *shape = &of->kernels->plan->shapes[step->outputs[i]];
            kiln__buffer_printf(out, "%s", kiln__dtypes[shape->dtype].name);
            print_shape(of->kernels->plan, step->outputs[i], out);
        } else {
            kiln__buffer_printf(out, "of any shape");
        }
        kiln__buffer_printf(out, "\n");
    }
}

/*
 * A few digits that are equal for kernels that compute the same, whatever their layouts and names: such kernels share
 * artifacts.
 */
static void print_mark(const struct kiln_group *group, const char *before, struct kiln_buffer *out)
{
    struct kiln_buffer text = {0};
    for (uint32_t i = 0; i < group->operand_count; i++)
        kiln__buffer_printf(&text, "%s ", kiln__dtypes[group->operand_dtypes[i]].name);
    for (uint32_t i = 0; i < group->constant_count; i++)
        kiln__buffer_printf(&text, "%s ", kiln__dtypes[group->constant_dtypes[i]].name);
    print_operations(group, &text);
    for (uint32_t i = 0; i < group->output_count; i++) print_value(group, group->outputs[i], &text);
    struct kiln_digest digest = kiln__digest(text.data, text.size);
    kiln__buffer_printf(out, "%s%02x%02x%02x%02x", before, digest.bytes[0], digest.bytes[1], digest.bytes[2],
                        digest.bytes[3]);
    kiln__buffer_release(&text);
}

/* ---- its plan ------------------------------------------------------------------------------------------------- */

/* "float32 (2,3), int32 (4)"; `slots` NULL: the first ones. */
static void print_arrays(const struct kiln_plan *plan, const uint32_t *slots, uint32_t count, struct kiln_buffer *out)
{
    for (uint32_t i = 0; i < count && i < LISTED_ARRAYS; i++) {
        uint32_t slot = slots ? slots[i] : i;
        kiln__buffer_printf(out, "%s%s", i ? ", " : "", kiln__dtypes[plan->shapes[slot].dtype].name);
        print_shape(plan, slot, out);
    }
    if (count > LISTED_ARRAYS) kiln__buffer_printf(out, " and %u more", count - LISTED_ARRAYS);
    if (!count) kiln__buffer_printf(out, "nothing");
}

static void print_kernel(const struct kiln_group_kernels *kernels, struct kiln_buffer *out)
{
    const struct kiln_group *group = &kernels->group;
    kiln__buffer_printf(out, "kernel ");
    print_name(kernels->name, out);
    print_mark(group, " [", out);
    kiln__buffer_printf(out, "]");
    for (uint32_t i = 0; i < group->instr_count && i < LISTED_OPERATIONS; i++)
        kiln__buffer_printf(out, "%s%s", i ? ", " : ": ", kiln__ops[group->instrs[i].op].name);
    if (group->instr_count > LISTED_OPERATIONS)
        kiln__buffer_printf(out, " and %u more", group->instr_count - LISTED_OPERATIONS);
}

static void print_step(const struct kiln_plan *plan, uint32_t index, struct kiln_buffer *out)
{
    const struct kiln_step *step = &plan->steps[index];
    kiln__buffer_printf(out, "step %u\t", index + 1);
    if (step->kernels)
        print_kernel(step->kernels, out);
    else
        kiln__buffer_printf(out, "%s", kiln__ops[step->op].name);
    if (moves_nothing(step))
        kiln__buffer_printf(out, ", a view");
    else
        kiln__buffer_printf(out, ", reads %.0f bytes, writes %.0f", bytes_read(plan, step), bytes_written(plan, step));
    kiln__buffer_printf(out, ", gives ");
    print_arrays(plan, step->outputs, step->output_count, out);
    kiln__buffer_printf(out, "\n");
}

/* What the function takes and gives, and the arrays that it captured and steps read. */
static void print_signature(const struct kiln_plan *plan, struct kiln_buffer *out)
{
    kiln__buffer_printf(out, "takes\t");
    print_arrays(plan, NULL, plan->input_count, out);
    if (plan->constant_count) kiln__buffer_printf(out, "; captured %u", plan->constant_count);
    kiln__buffer_printf(out, "\ngives\t");
    print_arrays(plan, plan->outputs, plan->output_count, out);
    kiln__buffer_printf(out, "\n");
    if (plan->is_shapeless) kiln__buffer_printf(out, "shapeless\tone trace serves other sizes too\n");
}

/* " 0:24 1:24": slots and their bytes. */
static void print_slots(const struct kiln_plan *plan, const uint32_t *slots, uint32_t count, struct kiln_buffer *out)
{
    for (uint32_t i = 0; i < count && i < LISTED_ARRAYS; i++)
        kiln__buffer_printf(out, " %u:%.0f", slots[i], bytes_of(plan, &slots[i], 1));
}

/* Which slots each step reads and writes, for `kiln report`. */
static void print_edges(const struct kiln_plan *plan, struct kiln_buffer *out)
{
    for (uint32_t i = 0; i < plan->step_count && i < LISTED_STEPS; i++) {
        const struct kiln_step *step = &plan->steps[i];
        kiln__buffer_printf(out, "edges %u\t", i + 1);
        print_slots(plan, step->inputs, step->input_count, out);
        kiln__buffer_printf(out, " >");
        print_slots(plan, step->outputs, step->output_count, out);
        kiln__buffer_printf(out, "\n");
    }
    kiln__buffer_printf(out, "edges\t%u inputs >", plan->input_count);
    print_slots(plan, plan->outputs, plan->output_count, out);
    kiln__buffer_printf(out, "\n");
}

static void print_plan(const struct kiln_plan *plan, struct kiln_buffer *out)
{
    double reads = 0, writes = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        reads += bytes_read(plan, &plan->steps[i]);
        writes += bytes_written(plan, &plan->steps[i]);
    }
    kiln__buffer_printf(out, "plan\t%u step%s, reads %.0f bytes, writes %.0f\n", plan->step_count,
                        plan->step_count == 1 ? "" : "s", reads, writes);
    print_signature(plan, out);
    for (uint32_t i = 0; i < plan->step_count && i < LISTED_STEPS; i++) print_step(plan, i, out);
    if (plan->step_count > LISTED_STEPS) kiln__buffer_printf(out, "more\t%u steps\n", plan->step_count - LISTED_STEPS);
    print_edges(plan, out);
}

void kiln__provenance_print(const void *context, struct kiln_buffer *out)
{
    const struct kiln_provenance_of *of = context;
    const struct kiln_plan *plan = of->kernels->plan;
    const struct kiln_step *step = plan ? &plan->steps[of->kernels->step] : NULL;
    kiln__buffer_printf(out, "function\t");
    print_name(plan && plan->name ? plan->name : of->kernels->name, out);
    print_mark(&of->kernels->group, "\nmark\t", out);
    kiln__buffer_printf(out, "\n");
    print_operands(of, step, out);
    print_operations(&of->kernels->group, out);
    print_results(of, step, out);
    if (!plan) return;
    kiln__buffer_printf(out, "reads\t%.0f bytes\nwrites\t%.0f bytes\n", bytes_read(plan, step),
                        bytes_written(plan, step));
    print_plan(plan, out);
}
