/*
 * gpu_vector.c - neighbours that one thread of a GPU computes: how many, their loads and their stores.
 *
 * The largest elements fill one access of 16 bytes, the others a part of one: with two accesses for an operand, lanes
 * of a warp would no longer touch neighbours, and two were slower for every pair of dtypes tried on an H200 (float32 to
 * float64: 4.25 TB/s with 2 elements, 4.05 with 4, 2.3 with 8).
 *
 * Neighbours are loaded as integers, so that they are one instruction whatever the dtype, and taken apart into parts:
 * the two parts of a complex64 count apart.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_printer.h"

/*
 * Registers that operands in flight may take, and instructions printed for all neighbours together: beyond them
 * a thread computes fewer neighbours, so that nothing spills and a long expression is not printed eight times.
 */
enum { ACCESS_BYTES = 16, MAX_REGISTERS = 64, MAX_INSTRS = 256 };

/* ---- how many -------------------------------------------------------------------------------------------------- */

static uint8_t dtype_of(const struct kiln_group *group, uint32_t value)
{
    uint32_t first = group->operand_count + group->constant_count;
    if (value < group->operand_count) return group->operand_dtypes[value];
    return value < first ? group->constant_dtypes[value - group->operand_count] : group->instrs[value - first].dtype;
}

uint32_t kiln__gpu_width(const struct kiln_group *group, const char *layouts)
{
    size_t largest = 1, registers = 1;
    for (uint32_t i = 0; i < group->output_count; i++) {
        size_t size = kiln__dtype_size(dtype_of(group, group->outputs[i]));
        if (size > largest) largest = size;
    }
    for (uint32_t i = 0; i < group->operand_count; i++) {
        size_t size = kiln__dtype_size(group->operand_dtypes[i]);
        if (layouts[i] != KILN_LAYOUT_PACKED) continue;
        if (size > largest) largest = size;
        registers += (size + 3) / 4;
    }
    uint32_t width = (uint32_t)(ACCESS_BYTES / largest);
    while (width > 1 && (width * registers > MAX_REGISTERS || width * group->instr_count > MAX_INSTRS)) width /= 2;
    return width;
}

const char *kiln__gpu_pass(uint32_t element)
{
    static const char *const passes[KILN_GPU_MAX_WIDTH] = {".0", ".1", ".2",  ".3",  ".4",  ".5",  ".6",  ".7",
                                                           ".8", ".9", ".10", ".11", ".12", ".13", ".14", ".15"};
    return passes[element];
}

/* ---- accesses -------------------------------------------------------------------------------------------------- */

struct access {
    const char *memory; /* type of one part */
    uint32_t parts;     /* of an element */
    size_t align;
    char type[32], vector[32]; /* as it is loaded; as its parts */
};

static struct access access_of(enum kiln_dtype dtype, uint32_t width)
{
    struct access access = {.memory = kiln__ir_memory_type(dtype), .parts = (uint32_t)kiln__ir_parts(dtype)};
    size_t bytes = width * kiln__dtype_size(dtype);
    access.align = width > 1 ? bytes : bytes / access.parts; /* one element alone is aligned as everywhere */
    if (bytes > 4)
        snprintf(access.type, sizeof access.type, "<%zu x i32>", bytes / 4);
    else
        snprintf(access.type, sizeof access.type, "i%zu", bytes * 8);
    snprintf(access.vector, sizeof access.vector, "<%u x %s>", width * access.parts, access.memory);
    return access;
}

/* Element e from the parts that were loaded. */
static void take_element(struct kiln_printer *p, uint32_t operand, const struct access *a, uint32_t e)
{
    enum kiln_dtype dtype = p->dtypes[operand];
    char name[KILN_IR_NAME], raw[KILN_IR_NAME];
    p->pass = kiln__gpu_pass(e);
    kiln__value_name(p, name, operand);
    for (uint32_t k = 0; k < a->parts; k++)
        kiln__buffer_printf(p->text, "  %s = extractelement %s %%p%u.parts, i32 %u\n",
                            kiln__ir_raw(raw, name, dtype, (int)k), a->vector, operand, e * a->parts + k);
    kiln__ir_from_raw(p->text, &p->declarations, name, dtype);
    p->pass = "";
}

void kiln__gpu_load_vector(struct kiln_printer *p, uint32_t operand, const char *pointer, uint32_t width)
{
    enum kiln_dtype dtype = p->dtypes[operand];
    struct access a = access_of(dtype, width);
    bool has_pairs = kiln__ir_is_narrow(dtype) && width % 2 == 0;
    if (has_pairs) snprintf(a.vector, sizeof a.vector, "<%u x i32>", width / 2);
    kiln__buffer_printf(p->text, "  %%p%u.whole = load %s, ptr %s, align %zu\n", operand, a.type, pointer, a.align);
    kiln__buffer_printf(p->text, "  %%p%u.parts = bitcast %s %%p%u.whole to %s\n", operand, a.type, operand, a.vector);
    for (uint32_t e = 0; e < width; e += has_pairs ? 2 : 1) {
        if (has_pairs)
            kiln__gpu_take_pair(p, operand, a.vector, e);
        else
            take_element(p, operand, &a, e);
    }
}

/* %oN.partsQ: part q and those before it in place. */
static void insert_part(struct kiln_printer *p, uint32_t output, const struct access *a, uint32_t q, const char *raw)
{
    char before[KILN_IR_NAME] = "poison";
    if (q) snprintf(before, sizeof before, "%%o%u.parts%u", output, q - 1);
    kiln__buffer_printf(p->text, "  %%o%u.parts%u = insertelement %s %s, %s %s, i32 %u\n", output, q, a->vector, before,
                        a->memory, raw, q);
}

void kiln__gpu_store_vector(struct kiln_printer *p, uint32_t output, const char *pointer, uint32_t width)
{
    uint32_t value = p->group->outputs[output];
    enum kiln_dtype dtype = p->dtypes[value];
    struct access a = access_of(dtype, width);
    char name[KILN_IR_NAME], raw[KILN_IR_NAME], prefix[KILN_IR_NAME];
    for (uint32_t e = 0; e < width; e++) {
        p->pass = kiln__gpu_pass(e);
        snprintf(prefix, sizeof prefix, "%%o%u%s", output, p->pass);
        kiln__value_name(p, name, value);
        for (uint32_t k = 0; k < a.parts; k++)
            insert_part(p, output, &a, e * a.parts + k, kiln__ir_to_raw(p->text, raw, name, dtype, (int)k, prefix));
    }
    p->pass = "";
    kiln__buffer_printf(p->text, "  %%o%u.whole = bitcast %s %%o%u.parts%u to %s\n", output, a.vector, output,
                        width * a.parts - 1, a.type);
    kiln__buffer_printf(p->text, "  store %s %%o%u.whole, ptr %s, align %zu\n", a.type, output, pointer, a.align);
}
