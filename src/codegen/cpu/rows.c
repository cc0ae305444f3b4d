/*
 * rows.c - the text of a kernel with reductions along its rows: softmax, norms, a sum of a chain.
 *
 *     for each row:
 *         for each pass:     tile by tile: compute what is reduced into a buffer on the stack, reduce the buffer
 *                            then what the row shares from here on, computed once
 *         a division of what was kept by what the row shares, in place (row_division.h)
 *         element outputs:   one more loop over the row; the streaming form writes them past the caches
 *         row outputs:       stored once
 *
 * A reduction belongs to the pass after everything it needs. Element values are computed again in each pass that needs
 * them, from memory that is in the cache by then; in short rows, expensive ones are kept (keep.h). What lies in memory
 * as lanes hold it is reduced from there, without a buffer.
 *
 * The order of a reduction is that of group.h: tiles are whole blocks of lanes and parts of one chunk, so the bits are
 * those of the operation on its own. The functions that add a tile to the lanes and take totals are in row_totals.c.
 */
#include <stdio.h>

#include "codegen/cpu/cpu_printer.h"
#include "codegen/cpu/row_totals.h"
#include "codegen/cpu/streaming.h"
#include "codegen/keep.h"
#include "codegen/row_division.h"

enum { TILE = 256 };

_Static_assert(KILN_REDUCE_CHUNK % TILE == 0 && TILE % KILN_REDUCE_LANES == 0, "tiles make up chunks");

/* Metadata of the passes' loops; below it stand those of elementwise_kernel.c. Every loop has a node of its own. */
enum { FIRST_LOOP = 10 };
static const struct kiln_stream_nodes stream_nodes = {8, 9};

struct rows {
    struct kiln_printer *p;
    struct kiln_stages stages;
    struct kiln_keeping keeping;
    uint32_t division; /* the instruction that is divided in place before the outputs; KILN_NEVER: none */
};

/* The first output with an element for each of the row's; output_count: there is none. */
static uint32_t first_element_output(const struct rows *rows)
{
    const struct kiln_printer *p = rows->p;
    uint32_t i = 0;
    while (i < p->group->output_count && p->shared[p->group->outputs[i]]) i++;
    return i;
}

static bool is_streaming(const struct rows *rows)
{
    return rows->p->flags & KILN_GROUP_STREAMING;
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* The quotient that was left where the dividend was kept. */
static void print_quotient(struct rows *rows, uint32_t index)
{
    struct kiln_printer *p = rows->p;
    uint32_t dividend = p->group->instrs[index].in[0], value = rows->stages.first + index;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    snprintf(pointer, sizeof pointer, "%%quotient%u.at%s", value, p->pass);
    kiln__buffer_printf(p->text, "  %s = getelementptr inbounds float, ptr %%kept%u, i64 %%i%s\n", pointer, dividend,
                        p->pass);
    kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, value), KILN_FLOAT32, pointer, KILN_PARALLEL);
}

/* As arrays store it, but any NaN: what is stored in the end settles which. */
static void print_keep(struct rows *rows, const char *name, enum kiln_dtype dtype, const char *pointer)
{
    bool settles = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64;
    if (settles)
        kiln__buffer_printf(rows->p->text, "  store %s %s, ptr %s, align %zu" KILN_PARALLEL "\n",
                            kiln__ir_value_type(dtype), name, pointer, kiln__dtype_size(dtype));
    else
        kiln__ir_store(rows->p->text, name, dtype, pointer, KILN_PARALLEL);
}

/* Computes the value and keeps it, loads what an earlier pass kept, or just computes it. */
static kiln_status print_element(struct rows *rows, uint32_t index, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    uint32_t value = rows->stages.first + index, kept = kiln__kept_in(&rows->keeping, value);
    enum kiln_dtype dtype = p->dtypes[value];
    kiln__value_name(p, name, value);
    snprintf(pointer, sizeof pointer, "%%kept%u.at%s", value, p->pass);
    if (kept != KILN_NEVER)
        kiln__buffer_printf(p->text, "  %s = getelementptr inbounds [%zu x i8], ptr %%kept%u, i64 %%i%s\n", pointer,
                            kiln__dtype_size(dtype), value, p->pass);
    kiln_status status = KILN_OK;
    if (kept == KILN_NEVER || kept == pass)
        status = kiln__print_instr(p, index, err);
    else
        kiln__ir_load(p->text, &p->declarations, name, dtype, pointer, KILN_PARALLEL);
    if (kept == pass) print_keep(rows, name, dtype, pointer);
    return status;
}

static kiln_status print_elements(struct rows *rows, uint32_t pass, kiln_error *err)
{
    const struct kiln_group *group = rows->p->group;
    kiln_status status = KILN_OK;
    kiln__print_element_loads(rows->p);
    for (uint32_t i = 0; i < group->instr_count && !status; i++) {
        uint32_t value = rows->stages.first + i;
        if (!rows->stages.needed[value] || rows->p->shared[value]) continue;
        if (pass == rows->stages.passes && i == rows->division)
            print_quotient(rows, i);
        else
            status = print_element(rows, i, pass, err);
    }
    return status;
}

/*
 * Do the elements that are reduced lie somewhere as their lanes hold them, packed? Then they are read from there, and
 * `base` is where the row of them starts.
 */
static bool is_in_place(const struct rows *rows, uint32_t index, uint32_t pass, char *base)
{
    const struct kiln_printer *p = rows->p;
    struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, index);
    uint32_t value = p->group->instrs[index].in[0];
    uint32_t kept = kiln__kept_in(&rows->keeping, value);
    if (reducer.in != reducer.lane || reducer.out == KILN_BOOL || reducer.in == KILN_COMPLEX64) return false;
    bool is_operand = value < p->group->operand_count && p->layouts[value] == KILN_LAYOUT_PACKED;
    snprintf(base, KILN_IR_NAME, is_operand ? "%%p%u.base" : "%%kept%u", value);
    return is_operand || (kept != KILN_NEVER && kept <= pass);
}

/* Is there something to compute for the elements, before they are reduced? */
static bool has_elements(const struct rows *rows, uint32_t pass)
{
    char base[KILN_IR_NAME];
    for (uint32_t i = 0; i < rows->keeping.count; i++)
        if (rows->keeping.passes[i] == pass) return true;
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++)
        if (kiln__is_reduced_in(&rows->stages, i, pass) && !is_in_place(rows, i, pass, base)) return true;
    return false;
}

static void print_buffers(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__buffer_printf(
                rows->p->text,
                "  %%lanes%u.%d = alloca [%d x %s], align 64\n  %%tile%u.%d = alloca [%d x %s], align 64\n", i, part,
                KILN_ROW_LANES, type, i, part, TILE, type);
        kiln__buffer_printf(rows->p->text, "  %%slot%u = alloca [16 x i8], align 16\n", i);
    }
    for (uint32_t i = 0; i < rows->keeping.count; i++) {
        uint32_t value = rows->keeping.values[i];
        kiln__buffer_printf(rows->p->text, "  %%kept%u = alloca [%d x [%zu x i8]], align 64\n", value, KILN_SHORT_ROW,
                            kiln__dtype_size(rows->p->dtypes[value]));
    }
    for (uint32_t i = 0; is_streaming(rows) && i < rows->p->group->output_count; i++)
        if (!rows->p->shared[rows->p->group->outputs[i]])
            kiln__buffer_printf(rows->p->text, "  %%o%u.tile = alloca [%d x i8], align %d\n", i, KILN_STREAM_TILE,
                                KILN_STREAM_LINE);
}

/* All lanes of all levels hold their start. */
static void print_starts(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__buffer_printf(rows->p->text, "  store <%d x %s> splat (%s %s), ptr %%lanes%u.%d, align 64\n",
                                KILN_ROW_LANES, type, type, kiln__reduce_start(&reducer, part), i, part);
    }
}

/* What is reduced, as its lanes hold it, goes to the tile's buffer. */
static void print_entries(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    kiln__buffer_printf(p->text, "  %%k%s = sub nsw i64 %%i%s, %%t%s\n", p->pass, p->pass, p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        char source[KILN_IR_NAME], entry[KILN_IR_NAME], base[KILN_IR_NAME];
        if (!kiln__is_reduced_in(&rows->stages, i, pass) || is_in_place(rows, i, pass, base)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        snprintf(entry, sizeof entry, "%%e%u", i);
        reducer.declarations = p->declarations;
        kiln__reduce_enter(&reducer, entry, kiln__value_name(p, source, p->group->instrs[i].in[0]), 0);
        p->declarations = reducer.declarations;
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++) {
            kiln__buffer_printf(p->text, "  %%e%u.at%d = getelementptr inbounds %s, ptr %%tile%u.%d, i64 %%k%s\n", i,
                                part, type, i, part, p->pass);
            kiln__buffer_printf(p->text, "  store %s %s%s, ptr %%e%u.at%d, align %zu" KILN_PARALLEL "\n", type, entry,
                                kiln__ir_part(reducer.lane, part), i, part, kiln__reduce_lane_align(&reducer));
        }
    }
}

static void print_total_calls(struct rows *rows, uint32_t pass, const char *at)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        kiln__buffer_printf(p->text, "  call void @total%u(", i);
        kiln__print_row_arguments(p, &reducer, "lanes", i);
        kiln__buffer_printf(p->text, "i64 %s, i64 %%n, ptr %%slot%u)\n", at, i);
    }
}

/* The tile's elements go to the lanes; at the end of a chunk that is not the last the totals are carried. */
static void print_accumulations(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME], base[KILN_IR_NAME];
    kiln__buffer_printf(p->text, "  %%t.count%s = sub nsw i64 %%t.next%s, %%t%s\n", p->pass, p->pass, p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        bool in_place = is_in_place(rows, i, pass, base);
        if (in_place)
            kiln__buffer_printf(p->text, "  %%from%u.0 = getelementptr inbounds %s, ptr %s, i64 %%t%s\n", i,
                                kiln__ir_value_type(reducer.lane), base, p->pass);
        kiln__buffer_printf(p->text, "  call void @accumulate%u(", i);
        kiln__print_row_arguments(p, &reducer, "lanes", i);
        kiln__print_row_arguments(p, &reducer, in_place ? "from" : "tile", i);
        kiln__buffer_printf(p->text, "i64 %%t.count%s)\n", p->pass);
    }
    kiln__buffer_printf(p->text,
                        "  %%t.part%1$s = and i64 %%t.next%1$s, %2$d\n  %%t.whole%1$s = icmp eq i64 %%t.part%1$s, 0\n"
                        "  %%t.before%1$s = icmp slt i64 %%t.next%1$s, %%n\n"
                        "  %%t.carry%1$s = and i1 %%t.whole%1$s, %%t.before%1$s\n"
                        "  br i1 %%t.carry%1$s, label %%carry%1$s, label %%tile.end%1$s\n\ncarry%1$s:\n",
                        p->pass, KILN_REDUCE_CHUNK - 1);
    snprintf(at, sizeof at, "%%t.next%s", p->pass);
    print_total_calls(rows, pass, at);
    kiln__buffer_printf(p->text, "  br label %%tile.end%s\n\n", p->pass);
}

/* The reductions of the pass as values of the row. */
static void print_totals(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    print_total_calls(rows, pass, "%n");
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        char name[KILN_IR_NAME], slot[KILN_IR_NAME];
        snprintf(slot, sizeof slot, "%%slot%u", i);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, rows->stages.first + i),
                      p->dtypes[rows->stages.first + i], slot, "");
    }
}

/* ---- passes --------------------------------------------------------------------------------------------------- */

/* Computes the elements of the tile. */
static kiln_status print_tile(struct rows *rows, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__buffer_printf(p->text,
                        "  br label %%inner%1$s\n\n"
                        "inner%1$s:\n  %%i%1$s = phi i64 [ %%t%1$s, %%tile%1$s ], [ %%i.next%1$s, %%inner%1$s ]\n",
                        p->pass);
    kiln_status status = print_elements(rows, pass, err);
    print_entries(rows, pass);
    kiln__buffer_printf(p->text,
                        "  %%i.next%1$s = add nuw nsw i64 %%i%1$s, 1\n"
                        "  %%i.done%1$s = icmp eq i64 %%i.next%1$s, %%t.next%1$s\n"
                        "  br i1 %%i.done%1$s, label %%reduce%1$s, label %%inner%1$s, !llvm.loop !%2$u\n\n"
                        "reduce%1$s:\n",
                        p->pass, FIRST_LOOP + pass);
    return status;
}

/*
 * The next row is fetched while the last pass computes. A first pass waits for memory as it is; where results go past
 * the caches, operands come from beyond them.
 */
static void print_prefetches(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    if (!is_streaming(rows) || pass == 0 || pass + 1 < rows->stages.passes) return;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        size_t size = kiln__dtype_size(p->dtypes[i]);
        if (p->layouts[i] != KILN_LAYOUT_PACKED) continue;
        kiln__ir_declare(&p->declarations, "void", "llvm.prefetch.p0", "ptr, i32, i32, i32");
        kiln__buffer_printf(p->text,
                            "  %%p%1$u.ahead = getelementptr i8, ptr %%p%1$u.base, i64 %%p%1$u.row\n"
                            "  %%p%1$u.ahead.tile = getelementptr [%2$zu x i8], ptr %%p%1$u.ahead, i64 %%t%3$s\n",
                            i, size, p->pass);
        for (size_t line = 0; line < TILE * size; line += KILN_STREAM_LINE)
            kiln__buffer_printf(p->text,
                                "  %%p%1$u.line%2$zu = getelementptr i8, ptr %%p%1$u.ahead.tile, i64 %2$zu\n"
                                "  call void @llvm.prefetch.p0(ptr %%p%1$u.line%2$zu, i32 0, i32 2, i32 1)\n",
                                i, line);
    }
}

static kiln_status print_pass(struct rows *rows, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char suffix[16], before[16];
    snprintf(suffix, sizeof suffix, ".%u", pass);
    if (pass)
        snprintf(before, sizeof before, "done.%u", pass - 1);
    else
        snprintf(before, sizeof before, "outer");
    p->pass = suffix;
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, pass, kiln__keeping_held(&rows->keeping, pass));
    kiln__buffer_printf(
        p->text,
        "  br label %%tiles%s\n\ntiles%s:\n  %%t%s = phi i64 [ 0, %%%s ], [ %%t.next%s, %%tile.end%s ]\n"
        "  %%t.more%s = icmp slt i64 %%t%s, %%n\n  br i1 %%t.more%s, label %%tile%s, label %%done%s\n\n",
        suffix, suffix, suffix, before, suffix, suffix, suffix, suffix, suffix, suffix, suffix);
    kiln__buffer_printf(p->text,
                        "tile%s:\n  %%t.far%s = add nsw i64 %%t%s, %d\n"
                        "  %%t.next%s = call i64 @llvm.smin.i64(i64 %%t.far%s, i64 %%n)\n",
                        suffix, suffix, suffix, TILE, suffix, suffix);
    print_prefetches(rows, pass);
    kiln_status status = has_elements(rows, pass) ? print_tile(rows, pass, err) : KILN_OK;
    print_accumulations(rows, pass);
    kiln__buffer_printf(p->text, "tile.end%s:\n  br label %%tiles%s\n\ndone%s:\n", suffix, suffix, suffix);
    print_totals(rows, pass);
    if (!status) status = kiln__print_stage(&rows->stages, pass + 1, err);
    p->pass = "";
    return status;
}

/* Elements to where `base` points: the row of the output, or a tile, which starts with another element. */
static void print_stores(struct rows *rows, const char *base, const char *index)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        kiln__buffer_printf(p->text, "  %%o%u.at = getelementptr inbounds [%zu x i8], ptr %%o%u.%s, i64 %s\n", i,
                            kiln__dtype_size(p->dtypes[value]), i, base, index);
        snprintf(pointer, sizeof pointer, "%%o%u.at", i);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, KILN_PARALLEL);
    }
}

static kiln_status print_output_loop(struct rows *rows, const char *before, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__buffer_printf(p->text, "inner.out:\n  %%i.out = phi i64 [ 0, %%%s ], [ %%i.next.out, %%inner.out ]\n",
                        before);
    kiln_status status = print_elements(rows, rows->stages.passes, err);
    print_stores(rows, "base", "%i.out");
    kiln__buffer_printf(p->text,
                        "  %%i.next.out = add nuw nsw i64 %%i.out, 1\n  %%i.done.out = icmp eq i64 %%i.next.out, %%n\n"
                        "  br i1 %%i.done.out, label %%outer.end, label %%inner.out, !llvm.loop !1\n\n");
    return status;
}

/* A row that is written is not read again soon: tile by tile it goes past the caches (streaming.h). */
static kiln_status print_streamed_loop(struct rows *rows, const char *before, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    uint32_t first = first_element_output(rows);
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[first]]);
    kiln__buffer_printf(p->text,
                        "inner.out:\n  %%done.out = phi i64 [ 0, %%%s ], [ %%end.out, %%stream.out ]\n"
                        "  %%left.out = sub nsw i64 %%n, %%done.out\n"
                        "  %%at.out = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%done.out\n",
                        before, size, first);
    kiln__print_stream_count(p, size, ".out");
    kiln__buffer_printf(p->text, "  %%end.out = add nuw nsw i64 %%done.out, %%count.out\n  br label %%elements.out\n\n"
                                 "elements.out:\n"
                                 "  %%i.out = phi i64 [ %%done.out, %%inner.out ], [ %%i.next.out, %%elements.out ]\n");
    kiln_status status = print_elements(rows, rows->stages.passes, err);
    kiln__buffer_printf(p->text, "  %%k.out = sub nsw i64 %%i.out, %%done.out\n");
    print_stores(rows, "tile", "%k.out");
    kiln__buffer_printf(p->text,
                        "  %%i.next.out = add nuw nsw i64 %%i.out, 1\n"
                        "  %%i.done.out = icmp eq i64 %%i.next.out, %%end.out\n"
                        "  br i1 %%i.done.out, label %%stream.out, label %%elements.out, !llvm.loop !1\n\n"
                        "stream.out:\n  %%bytes.out = mul nuw nsw i64 %%count.out, %zu\n",
                        size);
    for (uint32_t i = first; i < p->group->output_count; i++) {
        if (p->shared[p->group->outputs[i]]) continue;
        kiln__buffer_printf(p->text, "  %%o%u.to = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%done.out\n",
                            i, size, i);
        kiln__buffer_printf(p->text, "  call void @stream(ptr %%o%u.to, ptr %%o%u.tile, i64 %%bytes.out)\n", i, i);
    }
    kiln__buffer_printf(p->text, "  %%all.out = icmp sge i64 %%end.out, %%n\n"
                                 "  br i1 %%all.out, label %%outer.end, label %%inner.out\n\n");
    return status;
}

static kiln_status print_element_outputs(struct rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char before[24];
    if (rows->stages.passes)
        snprintf(before, sizeof before, "done.%u", rows->stages.passes - 1);
    else
        snprintf(before, sizeof before, "outer");
    if (!kiln__has_element_outputs(&rows->stages)) {
        kiln__buffer_printf(p->text, "  br label %%outer.end\n\n");
        return KILN_OK;
    }
    if (rows->division != KILN_NEVER) kiln__row_division_call(&rows->stages, rows->division);
    p->pass = ".out";
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, rows->stages.passes, kiln__keeping_held(&rows->keeping, rows->stages.passes));
    kiln__buffer_printf(p->text,
                        "  %%some.n = icmp sgt i64 %%n, 0\n  br i1 %%some.n, label %%inner.out, label %%outer.end\n\n");
    kiln_status status = (is_streaming(rows) ? print_streamed_loop : print_output_loop)(rows, before, err);
    p->pass = "";
    return status;
}

static void print_row_outputs(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (!p->shared[value]) continue;
        snprintf(pointer, sizeof pointer, "%%o%u.base", i);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, "");
    }
}

static void print_functions(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduction(&p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        reducer.declarations = p->declarations;
        kiln__print_row_totals(p, &reducer, i);
        p->declarations = reducer.declarations;
    }
    if (rows->division != KILN_NEVER) kiln__row_division_define(&rows->stages);
}

/* What the streamed loop calls, and its metadata. */
static void print_streaming_parts(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    if (!is_streaming(rows)) return;
    kiln__print_stream(p, kiln__dtype_size(p->dtypes[p->group->outputs[first_element_output(rows)]]), stream_nodes);
    kiln__buffer_printf(p->text, "\n!%u = !{i32 1}\n!%u = distinct !{!%u, !4}\n", stream_nodes.nontemporal,
                        stream_nodes.loop, stream_nodes.loop);
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

/* Elements of all streamed outputs have one size, and there are some. */
static kiln_status check_streaming(const struct rows *rows, kiln_error *err)
{
    const struct kiln_printer *p = rows->p;
    uint32_t first = first_element_output(rows);
    if (!is_streaming(rows)) return KILN_OK;
    if (first == p->group->output_count)
        return kiln__fail(err, KILN_INVALID, "a streaming kernel with rows needs an output with elements");
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[first]]);
    for (uint32_t i = first; i < p->group->output_count; i++)
        if (!p->shared[p->group->outputs[i]] && kiln__dtype_size(p->dtypes[p->group->outputs[i]]) != size)
            return kiln__fail(err, KILN_INVALID, "the outputs of a streaming kernel must have elements of one size");
    return KILN_OK;
}

static kiln_status print_body(struct rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    print_buffers(rows);
    kiln__print_arguments(p);
    print_starts(rows);
    kiln__buffer_printf(p->text,
                        "  %%some.rows = icmp sgt i64 %%rows, 0\n  br i1 %%some.rows, label %%outer, label %%exit\n\n"
                        "outer:\n  %%row = phi i64 [ 0, %%entry ], [ %%row.next, %%outer.end ]\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) kiln__print_row_base(p, 'o', i);
    for (uint32_t i = 0; i < p->group->operand_count; i++) kiln__print_row_base(p, 'p', i);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_stage(&rows->stages, 0, err);
    for (uint32_t pass = 0; pass < rows->stages.passes && !status; pass++) status = print_pass(rows, pass, err);
    if (!status) status = print_element_outputs(rows, err);
    kiln__buffer_printf(p->text, "outer.end:\n");
    print_row_outputs(rows);
    kiln__buffer_printf(p->text,
                        "  %%row.next = add nuw nsw i64 %%row, 1\n  %%row.done = icmp eq i64 %%row.next, %%rows\n"
                        "  br i1 %%row.done, label %%exit, label %%outer\n\nexit:\n%s  ret void\n}\n",
                        is_streaming(rows) ? "  call void @llvm.x86.sse.sfence()\n" : "");
    print_functions(rows);
    print_streaming_parts(rows);
    for (uint32_t pass = 0; pass < rows->stages.passes; pass++)
        kiln__buffer_printf(p->text, "\n!%u = distinct !{!%u, !2%s}", FIRST_LOOP + pass, FIRST_LOOP + pass,
                            kiln__loop_hints(p));
    kiln__buffer_printf(p->text, "\n");
    return status;
}

kiln_status kiln__rows_print(struct kiln_printer *p, kiln_error *err)
{
    struct rows rows = {.p = p};
    kiln_status status = kiln__stages_init(&rows.stages, p, err);
    if (!status) status = kiln__keeping_init(&rows.keeping, &rows.stages, err);
    if (!status) status = check_streaming(&rows, err);
    if (!status) rows.division = kiln__row_division_find(&rows.stages, &rows.keeping);
    if (!status) status = print_body(&rows, err);
    kiln__keeping_release(&rows.keeping);
    kiln__stages_release(&rows.stages);
    return status;
}
