/*
 * gpu_vector.c - neighbours that one thread of a GPU computes: how many, their loads and their stores.
 *
 * In memory they are chunks of 16 bytes (fewer where all of them are fewer), loaded as integers, so that each chunk is
 * one instruction whatever the dtype. A chunk holds whole parts: part q of the neighbours, counting the two parts of a
 * complex64 apart, is in chunk q / parts per chunk.
 */
#include <stdio.h>

#include "codegen/gpu_printer.h"

/*
 * Registers that operands in flight may take, and instructions printed for all neighbours together: beyond them
 * a thread computes fewer neighbours, so that nothing spills and a long expression is not printed eight times.
 */
enum { CHUNK_BYTES = 16, MAX_REGISTERS = 64, MAX_INSTRS = 256 };

/* ---- how many -------------------------------------------------------------------------------------------------- */

static uint8_t dtype_of(const struct kiln_group *group, uint32_t value)
{
    uint32_t first = group->operand_count + group->constant_count;
    if (value < group->operand_count) return group->operand_dtypes[value];
    return value < first ? group->constant_dtypes[value - group->operand_count] : group->instrs[value - first].dtype;
}

uint32_t kiln__gpu_width(const struct kiln_group *group, const char *letters)
{
    size_t smallest = CHUNK_BYTES, registers = 1;
    for (uint32_t i = 0; i < group->output_count; i++) {
        size_t size = kiln__dtype_size(dtype_of(group, group->outputs[i]));
        if (size < smallest) smallest = size;
    }
    for (uint32_t i = 0; i < group->operand_count; i++) {
        size_t size = kiln__dtype_size(group->operand_dtypes[i]);
        if (letters[i] != KILN_LAYOUT_PACKED) continue;
        if (size < smallest) smallest = size;
        registers += (size + 3) / 4;
    }
    uint32_t width = (uint32_t)(CHUNK_BYTES / smallest);
    if (width > KILN_GPU_MAX_WIDTH) width = KILN_GPU_MAX_WIDTH;
    while (width > 1 && (width * registers > MAX_REGISTERS || width * group->instr_count > MAX_INSTRS)) width /= 2;
    return width;
}

const char *kiln__gpu_pass(uint32_t element)
{
    static const char *const passes[KILN_GPU_MAX_WIDTH] = {".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7"};
    return passes[element];
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

struct chunks {
    const char *memory; /* type of one part */
    uint32_t bytes, count, lanes, align;
    char type[16], vector[32]; /* as it is loaded; as its parts */
};

static struct chunks chunks_of(enum kiln_dtype dtype, uint32_t width)
{
    struct chunks c = {.memory = kiln__ir_memory_type(dtype)};
    uint32_t size = (uint32_t)kiln__dtype_size(dtype), part = size / (uint32_t)kiln__ir_parts(dtype);
    c.bytes = width * size < CHUNK_BYTES ? width * size : CHUNK_BYTES;
    c.count = width * size / c.bytes;
    c.lanes = c.bytes / part;
    c.align = width > 1 ? c.bytes : part; /* one element alone is aligned as everywhere */
    if (c.bytes > 4)
        snprintf(c.type, sizeof c.type, "<%u x i32>", c.bytes / 4);
    else
        snprintf(c.type, sizeof c.type, "i%u", c.bytes * 8);
    snprintf(c.vector, sizeof c.vector, "<%u x %s>", c.lanes, c.memory);
    return c;
}

/* %pN.atC: where chunk C is. */
static void chunk_pointer(struct kiln_printer *p, const char *pointer, const struct chunks *c, char letter,
                          uint32_t index, uint32_t chunk)
{
    kiln__buffer_printf(p->text, "  %%%c%u.at%u = getelementptr inbounds i8, ptr %s, i64 %u\n", letter, index, chunk,
                        pointer, chunk * c->bytes);
}

void kiln__gpu_load_vector(struct kiln_printer *p, uint32_t operand, const char *pointer, uint32_t width)
{
    enum kiln_dtype dtype = p->dtypes[operand];
    struct chunks c = chunks_of(dtype, width);
    char name[KILN_IR_NAME], raw[KILN_IR_NAME];
    uint32_t parts = (uint32_t)kiln__ir_parts(dtype);
    for (uint32_t i = 0; i < c.count; i++) {
        chunk_pointer(p, pointer, &c, 'p', operand, i);
        kiln__buffer_printf(p->text, "  %%p%u.chunk%u = load %s, ptr %%p%u.at%u, align %u\n", operand, i, c.type,
                            operand, i, c.align);
        kiln__buffer_printf(p->text, "  %%p%u.parts%u = bitcast %s %%p%u.chunk%u to %s\n", operand, i, c.type, operand,
                            i, c.vector);
    }
    for (uint32_t e = 0; e < width; e++) {
        p->pass = kiln__gpu_pass(e);
        kiln__value_name(p, name, operand);
        for (uint32_t k = 0; k < parts; k++)
            kiln__buffer_printf(p->text, "  %s = extractelement %s %%p%u.parts%u, i32 %u\n",
                                kiln__ir_raw(raw, name, dtype, (int)k), c.vector, operand, (e * parts + k) / c.lanes,
                                (e * parts + k) % c.lanes);
        kiln__ir_from_raw(p->text, &p->declarations, name, dtype);
    }
    p->pass = "";
}

/* %oN.setQ: the chunk with part q and those before it in place. */
static void insert_part(struct kiln_printer *p, uint32_t output, const struct chunks *c, uint32_t q, const char *raw)
{
    char before[KILN_IR_NAME] = "poison";
    if (q % c->lanes) snprintf(before, sizeof before, "%%o%u.set%u", output, q - 1);
    kiln__buffer_printf(p->text, "  %%o%u.set%u = insertelement %s %s, %s %s, i32 %u\n", output, q, c->vector, before,
                        c->memory, raw, q % c->lanes);
}

void kiln__gpu_store_vector(struct kiln_printer *p, uint32_t output, const char *pointer, uint32_t width)
{
    uint32_t value = p->group->outputs[output];
    enum kiln_dtype dtype = p->dtypes[value];
    struct chunks c = chunks_of(dtype, width);
    char name[KILN_IR_NAME], raw[KILN_IR_NAME], prefix[KILN_IR_NAME];
    uint32_t parts = (uint32_t)kiln__ir_parts(dtype);
    for (uint32_t e = 0; e < width; e++) {
        p->pass = kiln__gpu_pass(e);
        snprintf(prefix, sizeof prefix, "%%o%u%s", output, p->pass);
        kiln__value_name(p, name, value);
        for (uint32_t k = 0; k < parts; k++)
            insert_part(p, output, &c, e * parts + k, kiln__ir_to_raw(p->text, raw, name, dtype, (int)k, prefix));
    }
    p->pass = "";
    for (uint32_t i = 0; i < c.count; i++) {
        chunk_pointer(p, pointer, &c, 'o', output, i);
        kiln__buffer_printf(p->text, "  %%o%u.chunk%u = bitcast %s %%o%u.set%u to %s\n", output, i, c.vector, output,
                            (i + 1) * c.lanes - 1, c.type);
        kiln__buffer_printf(p->text, "  store %s %%o%u.chunk%u, ptr %%o%u.at%u, align %u\n", c.type, output, i, output,
                            i, c.align);
    }
}

kiln_status kiln__gpu_compute(struct kiln_printer *p, uint32_t width, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t e = 0; e < width && !status; e++) {
        p->pass = kiln__gpu_pass(e);
        status = kiln__print_instrs(p, false, err);
    }
    p->pass = "";
    return status;
}
