/*
 * kernel_name.c - see kernel_name.h. Nothing but the text is digested, and the other parts of the name stand in the
 * text's heading too: that is what makes the name a function of the text.
 */
#include "codegen/kernel_name.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"

_Static_assert(sizeof "kiln__bf16_1a2b3c4d" + KILN_KERNEL_OPERATIONS <= KILN_KERNEL_NAME, "the longest name fits");

static const char *const shorter[KILN_OP_COUNT] = {
    [KILN_OP_MULTIPLY] = "mul", [KILN_OP_SUBTRACT] = "sub", [KILN_OP_DIVIDE] = "div",
    [KILN_OP_NEGATIVE] = "neg", [KILN_OP_POWER] = "pow",
};

static enum kiln_dtype dtype_of(const struct kiln_group *group, uint32_t value)
{
    uint32_t constants = group->operand_count, instrs = constants + group->constant_count;
    return value < constants ? group->operand_dtypes[value]
           : value < instrs  ? group->constant_dtypes[value - constants]
                             : group->instrs[value - instrs].dtype;
}

static const char *word_of(const struct kiln_group *group, uint32_t index)
{
    const struct kiln_instr *instr = &group->instrs[index];
    if (instr->op == KILN_OP_CAST && dtype_of(group, instr->in[0]) == instr->dtype) return "copy";
    return shorter[instr->op] ? shorter[instr->op] : kiln__ops[instr->op].name;
}

/* Of operations that are too long together: the first that fit, how many are left out, and the last. */
static void print_shortened(const struct kiln_group *group, char out[KILN_KERNEL_OPERATIONS + 1])
{
    static const char rest[] = "%u_more_%s";
    uint32_t last = group->instr_count - 1, first = 0;
    const char *end = word_of(group, last);
    size_t room = KILN_KERNEL_OPERATIONS - (size_t)snprintf(NULL, 0, rest, last, end), size = 0;
    for (; size + strlen(word_of(group, first)) + 1 <= room; first++)
        size += (size_t)snprintf(out + size, room + 1 - size, "%s_", word_of(group, first));
    snprintf(out + size, KILN_KERNEL_OPERATIONS + 1 - size, rest, last - first, end);
}

static void print_operations(const struct kiln_group *group, char out[KILN_KERNEL_OPERATIONS + 1])
{
    size_t size = 0;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        const char *word = word_of(group, i);
        if (size + !!size + strlen(word) > KILN_KERNEL_OPERATIONS) {
            print_shortened(group, out);
            return;
        }
        size += (size_t)snprintf(out + size, KILN_KERNEL_OPERATIONS + 1 - size, "%s%s", size ? "_" : "", word);
    }
}

void kiln__print_operation_name(struct kiln_ir *ir, const char *operation, enum kiln_dtype result)
{
    char name[KILN_KERNEL_NAME];
    if (ir->text->failed) return;
    struct kiln_digest digest = kiln__digest(ir->text->data, ir->text->size);
    const uint8_t *bytes = digest.bytes;
    snprintf(name, sizeof name, "kiln_%s_%s_%02x%02x%02x%02x", operation, kiln__dtypes[result].abbr, bytes[0], bytes[1],
             bytes[2], bytes[3]);
    kiln__ir_put_entry(ir, name);
}

void kiln__print_kernel_name(struct kiln_ir *ir, const struct kiln_group *group, const char *moves)
{
    char operations[KILN_KERNEL_OPERATIONS + 1] = "";
    print_operations(group, operations);
    kiln__print_operation_name(ir, group->instr_count ? operations : moves, dtype_of(group, group->outputs[0]));
}
