/*
 * gpu_vector.c - adjacent elements that one thread of a GPU computes: how many, and their vector loads and stores.
 *
 * The largest elements fill one access of 16 bytes, the others a part of one: two accesses for an operand would
 * not be coalesced, and were slower for every pair of dtypes tried on an H200 (float32 to
 * float64: 4.25 TB/s with 2 elements, 4.05 with 4, 2.3 with 8).
 *
 * Neighbours are loaded as integers, so that they are one instruction whatever the dtype, and taken apart into parts:
 * the two parts of a complex64 count apart.
 */
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
    struct kiln_name type, vector; /* as it is loaded; as its parts */
};

static struct access access_of(struct kiln_ir *ir, enum kiln_dtype dtype, uint32_t width)
{
    struct access access = {.memory = kiln__ir_memory_type(dtype), .parts = (uint32_t)kiln__ir_parts(dtype)};
    size_t bytes = width * kiln__dtype_size(dtype);
    access.align = width > 1 ? bytes : bytes / access.parts; /* one element alone is aligned as everywhere */
    access.type = bytes > 4 ? kiln__name(ir, "<$0 x i32>", bytes / 4) : kiln__name(ir, "i$0", bytes * 8);
    access.vector = kiln__name(ir, "<$0 x $1>", width * access.parts, access.memory);
    return access;
}

/* Element e from the parts that were loaded. */
static void take_element(struct kiln_printer *p, uint32_t operand, const struct access *a, uint32_t e)
{
    enum kiln_dtype dtype = p->dtypes[operand];
    p->pass = kiln__gpu_pass(e);
    struct kiln_name name = kiln__value_name(p, operand);
    for (uint32_t k = 0; k < a->parts; k++)
        kiln__print(p->ir, "  $0 = extractelement $1 %p$2.parts, i32 $3\n",
                    kiln__ir_raw(p->ir, name.text, dtype, (int)k).text, a->vector.text, operand, e * a->parts + k);
    kiln__ir_from_raw(p->ir, name.text, dtype);
    p->pass = "";
}

void kiln__gpu_load_vector(struct kiln_printer *p, uint32_t operand, const char *pointer, uint32_t width)
{
    enum kiln_dtype dtype = p->dtypes[operand];
    struct access a = access_of(p->ir, dtype, width);
    bool has_pairs = kiln__ir_is_narrow(dtype) && width % 2 == 0;
    if (has_pairs) a.vector = kiln__name(p->ir, "<$0 x i32>", width / 2);
    kiln__print(p->ir, "  %p$0.whole = load $1, ptr $2, align $3\n  %p$0.parts = bitcast $1 %p$0.whole to $4\n",
                operand, a.type.text, pointer, a.align, a.vector.text);
    for (uint32_t e = 0; e < width; e += has_pairs ? 2 : 1) {
        if (has_pairs)
            kiln__gpu_take_pair(p, operand, a.vector.text, e);
        else
            take_element(p, operand, &a, e);
    }
}

/* %oN.partsQ: part q and those before it in place. */
static void insert_part(struct kiln_printer *p, uint32_t output, const struct access *a, uint32_t q, const char *raw)
{
    struct kiln_name before = {"poison"};
    if (q) before = kiln__name(p->ir, "%o$0.parts$1", output, q - 1);
    kiln__print(p->ir, "  %o$0.parts$1 = insertelement $2 $3, $4 $5, i32 $1\n", output, q, a->vector.text, before.text,
                a->memory, raw);
}

void kiln__gpu_store_vector(struct kiln_printer *p, uint32_t output, const char *pointer, uint32_t width)
{
    uint32_t value = p->group->outputs[output];
    enum kiln_dtype dtype = p->dtypes[value];
    struct access a = access_of(p->ir, dtype, width);
    for (uint32_t e = 0; e < width; e++) {
        p->pass = kiln__gpu_pass(e);
        struct kiln_name prefix = kiln__name(p->ir, "%o$0$1", output, p->pass);
        struct kiln_name name = kiln__value_name(p, value);
        for (uint32_t k = 0; k < a.parts; k++)
            insert_part(p, output, &a, e * a.parts + k,
                        kiln__ir_to_raw(p->ir, name.text, dtype, (int)k, prefix.text).text);
    }
    p->pass = "";
    kiln__print(p->ir, "  %o$0.whole = bitcast $1 %o$0.parts$2 to $3\n", output, a.vector.text, width * a.parts - 1,
                a.type.text);
    kiln__print(p->ir, "  store $0 %o$1.whole, ptr $2, align $3\n", a.type.text, output, pointer, a.align);
}
