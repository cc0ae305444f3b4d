/*
 * gpu_row_elements.c - one element of a thread in a row: from memory or its slot, through the instructions of the pass,
 * to its slot, to what is reduced and to memory. See gpu_rows.h.
 *
 * An element is loaded, kept and stored by one thread only, the same in every pass, so there is nothing to wait for.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/gpu/gpu_rows.h"

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

/* Is the value in a slot for chunks of this kind? */
static bool is_held(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind, uint32_t value)
{
    return kind->uses_held && rows->slots.held[value];
}

static bool is_loaded(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind, uint32_t operand)
{
    return rows->stages.needed[operand] && !rows->p->shared[operand] && !is_held(rows, kind, operand);
}

static bool is_computed(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind, uint32_t index)
{
    uint32_t value = rows->stages.first + index;
    return rows->stages.needed[value] && !rows->p->shared[value] && !is_held(rows, kind, value);
}

int kiln__row_count_loads(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind)
{
    int count = 0;
    for (uint32_t i = 0; i < rows->p->group->operand_count; i++) count += is_loaded(rows, kind, i);
    return count;
}

int kiln__row_count_instrs(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind)
{
    int count = 0;
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) count += is_computed(rows, kind, i);
    return count;
}

/* pointer = byte `first` of the slot of the thread's element. */
static void print_slot(struct kiln_rows *rows, const char *pointer, int first)
{
    PRINT("  %1$s.slot = getelementptr inbounds [%2$d x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 "
          "%%s%3$s\n  %1$s = getelementptr inbounds i8, ptr %1$s.slot, i64 %4$d\n",
          pointer, KILN_SLOT_BYTES, rows->p->pass, first);
}

static void print_operand_load(struct kiln_rows *rows, uint32_t operand)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    struct kiln_name at = kiln__name("p", operand, ".at");
    snprintf(at.text + strlen(at.text), sizeof at.text - strlen(at.text), "%s", p->pass);
    if (p->layouts[operand] == KILN_LAYOUT_STRIDED)
        PRINT("  %1$s.skip = mul nsw i64 %%i%2$s, %%p%3$u.inner\n"
              "  %1$s = getelementptr inbounds i8, ptr %%p%3$u.base, i64 %1$s.skip\n",
              at.text, p->pass, operand);
    else
        PRINT("  %s = getelementptr inbounds [%zu x i8], ptr %%p%u.base, i64 %%i%s\n", at.text,
              kiln__dtype_size(p->dtypes[operand]), operand, p->pass);
    kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, operand), p->dtypes[operand], at.text, "");
}

void kiln__row_print_loads(struct kiln_rows *rows, const struct kiln_chunk_kind *kind)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (is_loaded(rows, kind, i)) print_operand_load(rows, i);
    for (uint32_t i = 0; i < kiln__group_values(p->group); i++) {
        if (!rows->stages.needed[i] || !is_held(rows, kind, i)) continue;
        struct kiln_name slot = kiln__name("held", i, p->pass);
        print_slot(rows, slot.text, rows->slots.held[i] - 1);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], slot.text, "");
    }
}

/* The value as it lies in memory, but any NaN: what is stored in the end settles that. */
static void print_keep(struct kiln_rows *rows, uint32_t value)
{
    struct kiln_printer *p = rows->p;
    enum kiln_dtype dtype = p->dtypes[value];
    struct kiln_name slot = kiln__name("keep", value, p->pass);
    char name[KILN_IR_NAME];
    bool is_narrow = dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
    print_slot(rows, slot.text, rows->slots.keeps[value] - 1);
    kiln__value_name(p, name, value);
    if (dtype == KILN_BOOL)
        kiln__ir_store(p->text, name, dtype, slot.text, "");
    else
        PRINT("  store %s %s%s, ptr %s, align %zu\n", kiln__ir_memory_type(dtype), name, is_narrow ? ".bits" : "",
              slot.text, kiln__dtype_size(dtype));
}

kiln_status kiln__row_print_values(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                                   char (*passes)[24], int count, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < rows->p->group->instr_count && !status; i++) {
        if (!is_computed(rows, kind, i)) continue;
        if (count > 1 && kiln__row_is_together(rows, i)) {
            kiln__row_print_together(rows, i, tag, passes, count);
            continue;
        }
        for (int k = 0; k < count && !status; k++) {
            rows->p->pass = passes[k];
            status = kiln__print_instr(rows->p, i, err);
        }
    }
    return status;
}

void kiln__row_print_keeps(struct kiln_rows *rows, const struct kiln_chunk_kind *kind)
{
    for (uint32_t i = 0; i < kiln__group_values(rows->p->group) && kind->keeps; i++)
        if (rows->slots.keeps[i] && !rows->slots.held[i]) print_keep(rows, i);
}

void kiln__row_print_entries(struct kiln_rows *rows)
{
    struct kiln_printer *p = rows->p;
    char source[KILN_IR_NAME];
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        r.declarations = p->declarations;
        kiln__reduce_enter(&r, kiln__name("e", i, p->pass).text, kiln__value_name(p, source, p->group->instrs[i].in[0]),
                           0);
        p->declarations = r.declarations;
    }
}

static bool is_settled(const struct kiln_rows *rows, uint32_t value, int copies)
{
    return copies > 1 && value >= rows->stages.first && kiln__row_is_settled(rows, value - rows->stages.first);
}

void kiln__row_print_stores(struct kiln_rows *rows, int copies)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count && kiln__rows_are_last(rows); i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        struct kiln_name at = kiln__name("o", i, ".at");
        snprintf(at.text + strlen(at.text), sizeof at.text - strlen(at.text), "%s", p->pass);
        PRINT("  %s = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%i%s\n", at.text,
              kiln__dtype_size(p->dtypes[value]), i, p->pass);
        kiln__value_name(p, name, value);
        if (is_settled(rows, value, copies))
            PRINT("  store float %s, ptr %s, align 4\n", name, at.text);
        else
            kiln__ir_store(p->text, name, p->dtypes[value], at.text, "");
    }
}
