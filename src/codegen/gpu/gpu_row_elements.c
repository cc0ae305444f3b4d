/*
 * gpu_row_elements.c - one element of a thread in a row: it is loaded from memory or its slot, computed, kept in its
 * slot, converted for the reductions, and stored. See gpu_rows.h.
 *
 * An element is loaded, kept and stored by one thread only, the same in every pass, so no barrier is needed.
 */
#include "codegen/gpu/gpu_rows.h"

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
    kiln__print(
        rows->ir,
        "  $0.slot = getelementptr inbounds [$1 x i8], ptr addrspacecast (ptr addrspace(3) @kept to ptr), i64 %s$2\n"
        "  $0 = getelementptr inbounds i8, ptr $0.slot, i64 $3\n",
        pointer, KILN_SLOT_BYTES, rows->p->pass, first);
}

static void print_operand_load(struct kiln_rows *rows, uint32_t operand)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name at = kiln__name(rows->ir, "%p$0.at$1", operand, p->pass);
    if (p->layouts[operand] == KILN_LAYOUT_STRIDED)
        kiln__print(rows->ir,
                    "  $0.skip = mul nsw i64 %i$1, %p$2.inner\n"
                    "  $0 = getelementptr inbounds i8, ptr %p$2.base, i64 $0.skip\n",
                    at.text, p->pass, operand);
    else
        kiln__print(rows->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %p$2.base, i64 %i$3\n", at.text,
                    kiln__dtype_size(p->dtypes[operand]), operand, p->pass);
    kiln__ir_load(p->ir, kiln__value_name(p, operand).text, p->dtypes[operand], at.text, "");
}

void kiln__row_print_loads(struct kiln_rows *rows, const struct kiln_chunk_kind *kind)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (is_loaded(rows, kind, i)) print_operand_load(rows, i);
    for (uint32_t i = 0; i < kiln__group_values(p->group); i++) {
        if (!rows->stages.needed[i] || !is_held(rows, kind, i)) continue;
        struct kiln_name slot = kiln__name(rows->ir, "%held.$0$1", kiln__value_label(p, i).text, p->pass);
        print_slot(rows, slot.text, rows->slots.held[i] - 1);
        kiln__ir_load(p->ir, kiln__value_name(p, i).text, p->dtypes[i], slot.text, "");
    }
}

/* Stores the value as arrays do, but does not canonicalize NaN: the final store does. */
static void print_keep(struct kiln_rows *rows, uint32_t value)
{
    struct kiln_printer *p = rows->p;
    enum kiln_dtype dtype = p->dtypes[value];
    struct kiln_name slot = kiln__name(rows->ir, "%keep.$0$1", kiln__value_label(p, value).text, p->pass);
    print_slot(rows, slot.text, rows->slots.keeps[value] - 1);
    struct kiln_name name = kiln__value_name(p, value);
    if (dtype == KILN_BOOL)
        kiln__ir_store(p->ir, name.text, dtype, slot.text, "");
    else
        kiln__print(rows->ir, "  store $0 $1$2, ptr $3, align $4\n", kiln__ir_memory_type(dtype), name.text,
                    kiln__ir_is_narrow(dtype) ? ".bits" : "", slot.text, kiln__dtype_size(dtype));
}

kiln_status kiln__row_print_values(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                                   const struct kiln_name *passes, int count, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < rows->p->group->instr_count && !status; i++) {
        if (!is_computed(rows, kind, i)) continue;
        if (count > 1 && kiln__row_is_together(rows, i)) {
            kiln__row_print_together(rows, i, tag, passes, count);
            continue;
        }
        for (int k = 0; k < count && !status; k++) {
            rows->p->pass = passes[k].text;
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
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__reduce_enter(&r, kiln__name(rows->ir, "%e$0$1", i, p->pass).text,
                           kiln__value_name(p, p->group->instrs[i].in[0]).text, 0);
    }
}

static bool is_settled(const struct kiln_rows *rows, uint32_t value, int copies)
{
    return copies > 1 && value >= rows->stages.first && kiln__row_is_settled(rows, value - rows->stages.first);
}

void kiln__row_print_stores(struct kiln_rows *rows, int copies)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->output_count && kiln__rows_are_last(rows); i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        struct kiln_name at = kiln__name(rows->ir, "%o$0.at$1", i, p->pass);
        kiln__print(rows->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %o$2.base, i64 %i$3\n", at.text,
                    kiln__dtype_size(p->dtypes[value]), i, p->pass);
        struct kiln_name name = kiln__value_name(p, value);
        if (is_settled(rows, value, copies))
            kiln__print(rows->ir, "  store float $0, ptr $1, align 4\n", name.text, at.text);
        else
            kiln__ir_store(p->ir, name.text, p->dtypes[value], at.text, "");
    }
}
