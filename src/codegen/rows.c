/*
 * rows.c - the text of a kernel with reductions along its rows: softmax, norms, a sum of a chain.
 *
 *     for each row:
 *         for each pass:     tile by tile: compute what is reduced into a buffer on the stack, reduce the buffer
 *                            then what the row shares from here on, computed once
 *         element outputs:   one more loop over the row
 *         row outputs:       stored once
 *
 * A reduction belongs to the pass after everything it needs; element values are computed again in each pass that needs
 * them, from memory that is in the cache by then.
 *
 * The order of a reduction is that of group.h: tiles are whole blocks of lanes and parts of one chunk, so element i is
 * in lane i mod 16, and the bits are those of the operation on its own. Each level has lanes. At the end of a chunk its
 * total is taken from the lanes of level 0 and goes to a lane of level 1, and so on, as digits carry. Lanes hold their
 * start before a row and after it, for taking a total puts it there.
 */
#include <stdio.h>

#include "codegen/stages.h"

enum {
    TILE = 256, /* divides a chunk */
    LANES = KILN_REDUCE_LANES,
    CHUNK_BITS = 10, /* of KILN_REDUCE_CHUNK */
    LEVELS = 4       /* enough for 2^40 elements */
};

_Static_assert(KILN_REDUCE_CHUNK == 1 << CHUNK_BITS && KILN_REDUCE_CHUNK % TILE == 0, "tiles make up chunks");

/* Metadata of the passes' loops; below it stand those of group.c. Every loop has a node of its own. */
enum { FIRST_LOOP = 10 };

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static kiln_status print_elements(struct kiln_stages *rows, kiln_error *err)
{
    const struct kiln_group *group = rows->p->group;
    kiln_status status = KILN_OK;
    kiln__print_element_loads(rows->p);
    for (uint32_t i = 0; i < group->instr_count && !status; i++) {
        uint32_t value = rows->first + i;
        if (rows->needed[value] && !rows->p->shared[value]) status = kiln__print_instr(rows->p, i, err);
    }
    return status;
}

static void print_buffers(struct kiln_stages *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__buffer_printf(
                rows->p->text,
                "  %%lanes%u.%d = alloca [%d x %s], align 64\n  %%tile%u.%d = alloca [%d x %s], align 64\n", i, part,
                LEVELS * LANES, type, i, part, TILE, type);
        kiln__buffer_printf(rows->p->text, "  %%slot%u = alloca [16 x i8], align 16\n", i);
    }
}

/* All lanes of all levels hold their start. */
static void print_starts(struct kiln_stages *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__buffer_printf(rows->p->text, "  store <%d x %s> splat (%s %s), ptr %%lanes%u.%d, align 64\n",
                                LEVELS * LANES, type, type, kiln__reduce_start(&reducer, part), i, part);
    }
}

/* What is reduced, as its lanes hold it, goes to the tile's buffer. */
static void print_entries(struct kiln_stages *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    kiln__buffer_printf(p->text, "  %%k%s = sub nsw i64 %%i%s, %%t%s\n", p->pass, p->pass, p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(rows, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        char source[KILN_IR_NAME], entry[KILN_IR_NAME];
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

static void print_part_arguments(struct kiln_printer *p, const struct kiln_reducer *reducer, const char *name,
                                 uint32_t index)
{
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__buffer_printf(p->text, "ptr %%%s%u.%d, ", name, index, part);
}

static void print_total_calls(struct kiln_stages *rows, uint32_t pass, const char *at)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(rows, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        kiln__buffer_printf(p->text, "  call void @total%u(", i);
        print_part_arguments(p, &reducer, "lanes", i);
        kiln__buffer_printf(p->text, "i64 %s, i64 %%n, ptr %%slot%u)\n", at, i);
    }
}

/* The tile's elements go to the lanes; at the end of a chunk that is not the last the totals are carried. */
static void print_accumulations(struct kiln_stages *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    char at[KILN_IR_NAME];
    kiln__buffer_printf(p->text, "  %%t.count%s = sub nsw i64 %%t.next%s, %%t%s\n", p->pass, p->pass, p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(rows, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        kiln__buffer_printf(p->text, "  call void @accumulate%u(", i);
        print_part_arguments(p, &reducer, "lanes", i);
        print_part_arguments(p, &reducer, "tile", i);
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
static void print_totals(struct kiln_stages *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    print_total_calls(rows, pass, "%n");
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(rows, i, pass)) continue;
        char name[KILN_IR_NAME], slot[KILN_IR_NAME];
        snprintf(slot, sizeof slot, "%%slot%u", i);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, rows->first + i), p->dtypes[rows->first + i],
                      slot, "");
    }
}

/* ---- passes --------------------------------------------------------------------------------------------------- */

static kiln_status print_pass(struct kiln_stages *rows, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char suffix[16], before[16];
    snprintf(suffix, sizeof suffix, ".%u", pass);
    if (pass)
        snprintf(before, sizeof before, "done.%u", pass - 1);
    else
        snprintf(before, sizeof before, "outer");
    p->pass = suffix;
    kiln__stages_need_nothing(rows);
    kiln__stages_need(rows, pass, NULL);
    kiln__buffer_printf(
        p->text,
        "  br label %%tiles%s\n\ntiles%s:\n  %%t%s = phi i64 [ 0, %%%s ], [ %%t.next%s, %%tile.end%s ]\n"
        "  %%t.more%s = icmp slt i64 %%t%s, %%n\n  br i1 %%t.more%s, label %%tile%s, label %%done%s\n\n",
        suffix, suffix, suffix, before, suffix, suffix, suffix, suffix, suffix, suffix, suffix);
    kiln__buffer_printf(p->text,
                        "tile%s:\n  %%t.far%s = add nsw i64 %%t%s, %d\n"
                        "  %%t.next%s = call i64 @llvm.smin.i64(i64 %%t.far%s, i64 %%n)\n  br label %%inner%s\n\n"
                        "inner%s:\n  %%i%s = phi i64 [ %%t%s, %%tile%s ], [ %%i.next%s, %%inner%s ]\n",
                        suffix, suffix, suffix, TILE, suffix, suffix, suffix, suffix, suffix, suffix, suffix, suffix,
                        suffix);
    kiln_status status = print_elements(rows, err);
    print_entries(rows, pass);
    kiln__buffer_printf(p->text,
                        "  %%i.next%s = add nuw nsw i64 %%i%s, 1\n  %%i.done%s = icmp eq i64 %%i.next%s, %%t.next%s\n"
                        "  br i1 %%i.done%s, label %%reduce%s, label %%inner%s, !llvm.loop !%u\n\nreduce%s:\n",
                        suffix, suffix, suffix, suffix, suffix, suffix, suffix, suffix, FIRST_LOOP + pass, suffix);
    print_accumulations(rows, pass);
    kiln__buffer_printf(p->text, "tile.end%s:\n  br label %%tiles%s\n\ndone%s:\n", suffix, suffix, suffix);
    print_totals(rows, pass);
    if (!status) status = kiln__print_stage(rows, pass + 1, err);
    p->pass = "";
    return status;
}

static kiln_status print_element_outputs(struct kiln_stages *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME], before[24];
    if (rows->passes)
        snprintf(before, sizeof before, "done.%u", rows->passes - 1);
    else
        snprintf(before, sizeof before, "outer");
    if (!kiln__has_element_outputs(rows)) {
        kiln__buffer_printf(p->text, "  br label %%outer.end\n\n");
        return KILN_OK;
    }
    p->pass = ".out";
    kiln__stages_need_nothing(rows);
    kiln__stages_need(rows, rows->passes, NULL);
    kiln__buffer_printf(p->text,
                        "  %%some.n = icmp sgt i64 %%n, 0\n  br i1 %%some.n, label %%inner.out, label %%outer.end\n\n"
                        "inner.out:\n  %%i.out = phi i64 [ 0, %%%s ], [ %%i.next.out, %%inner.out ]\n",
                        before);
    kiln_status status = print_elements(rows, err);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        kiln__buffer_printf(p->text, "  %%o%u.at = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%i.out\n", i,
                            kiln__dtype_size(p->dtypes[value]), i);
        snprintf(pointer, sizeof pointer, "%%o%u.at", i);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, KILN_PARALLEL);
    }
    kiln__buffer_printf(p->text,
                        "  %%i.next.out = add nuw nsw i64 %%i.out, 1\n  %%i.done.out = icmp eq i64 %%i.next.out, %%n\n"
                        "  br i1 %%i.done.out, label %%outer.end, label %%inner.out, !llvm.loop !1\n\n");
    p->pass = "";
    return status;
}

static void print_row_outputs(struct kiln_stages *rows)
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

/* ---- the reductions ------------------------------------------------------------------------------------------- */

/* Adds %n elements at %tile to the lanes: whole blocks as vectors, the rest lane by lane. */
static void print_accumulate(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    kiln__buffer_printf(p->text, "\ndefine internal void @accumulate%u(", index);
    print_part_arguments(p, reducer, "lanes", index);
    print_part_arguments(p, reducer, "tile", index);
    kiln__buffer_printf(p->text, "i64 %%n) {\nentry:\n  %%blocks = and i64 %%n, -%d\n", LANES);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  %%first%s = load <%d x %s>, ptr %%lanes%u.%d, align 64\n",
                            kiln__ir_part(reducer->lane, part), LANES, type, index, part);
    kiln__buffer_printf(p->text, "  br label %%test\n\ntest:\n  %%j = phi i64 [ 0, %%entry ], [ %%j.next, %%block ]\n");
    for (int part = 0; part < parts; part++) {
        const char *suffix = kiln__ir_part(reducer->lane, part);
        kiln__buffer_printf(p->text, "  %%acc%s = phi <%d x %s> [ %%first%s, %%entry ], [ %%new%s, %%block ]\n", suffix,
                            LANES, type, suffix, suffix);
    }
    kiln__buffer_printf(
        p->text, "  %%more = icmp slt i64 %%j, %%blocks\n  br i1 %%more, label %%block, label %%spill\n\nblock:\n");
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text,
                            "  %%at%d = getelementptr inbounds %s, ptr %%tile%u.%d, i64 %%j\n  %%x%s = load <%d x %s>, "
                            "ptr %%at%d, align %zu\n",
                            part, type, index, part, kiln__ir_part(reducer->lane, part), LANES, type, part,
                            kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%new", "%acc", "%x", LANES);
    kiln__buffer_printf(p->text, "  %%j.next = add nuw nsw i64 %%j, %d\n  br label %%test\n\nspill:\n", LANES);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store <%d x %s> %%acc%s, ptr %%lanes%u.%d, align 64\n", LANES, type,
                            kiln__ir_part(reducer->lane, part), index, part);
    kiln__buffer_printf(
        p->text, "  br label %%tail.test\n\ntail.test:\n  %%r = phi i64 [ %%blocks, %%spill ], [ %%r.next, %%tail ]\n"
                 "  %%r.more = icmp slt i64 %%r, %%n\n  br i1 %%r.more, label %%tail, label %%exit\n\ntail:\n"
                 "  %%lane = sub nsw i64 %%r, %%blocks\n");
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text,
                            "  %%l.at%d = getelementptr inbounds %s, ptr %%lanes%u.%d, i64 %%lane\n  %%old%s = load "
                            "%s, ptr %%l.at%d, align %zu\n"
                            "  %%y.at%d = getelementptr inbounds %s, ptr %%tile%u.%d, i64 %%r\n  %%y%s = load %s, ptr "
                            "%%y.at%d, align %zu\n",
                            part, type, index, part, kiln__ir_part(reducer->lane, part), type, part,
                            kiln__reduce_lane_align(reducer), part, type, index, part,
                            kiln__ir_part(reducer->lane, part), type, part, kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%sum", "%old", "%y", 0);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store %s %%sum%s, ptr %%l.at%d, align %zu\n", type,
                            kiln__ir_part(reducer->lane, part), part, kiln__reduce_lane_align(reducer));
    kiln__buffer_printf(
        p->text,
        "  %%r.next = add nuw nsw i64 %%r, 1\n  br label %%tail.test, !llvm.loop !3\n\nexit:\n  ret void\n}\n");
}

/* %total of a level, whose lanes then hold their start again. */
static void print_level(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  %%lanes%d = getelementptr inbounds %s, ptr %%lanes%u.%d, i64 %%skip\n", part,
                            type, index, part);
    kiln__reduce_total(reducer);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store <%d x %s> splat (%s %s), ptr %%lanes%d, align %zu\n", LANES, type, type,
                            kiln__reduce_start(reducer, part), part, kiln__reduce_lanes_align(reducer));
}

/* %total goes to its lane of the next level: its number among the totals of this level, mod 16. */
static void print_carry(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    kiln__buffer_printf(p->text,
                        "  %%last = sub nsw i64 %%at, 1\n  %%number = lshr i64 %%last, %%bits\n"
                        "  %%lane = and i64 %%number, %d\n  %%skip.next = add nuw nsw i64 %%skip, %d\n"
                        "  %%to.lane = add nuw nsw i64 %%skip.next, %%lane\n",
                        LANES - 1, LANES);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text,
                            "  %%up.at%1$d = getelementptr inbounds %2$s, ptr %%lanes%3$u.%1$d, i64 %%to.lane\n"
                            "  %%old%4$s = load %2$s, ptr %%up.at%1$d, align %5$zu\n",
                            part, type, index, kiln__ir_part(reducer->lane, part), kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%new", "%old", "%total", 0);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store %s %%new%s, ptr %%up.at%d, align %zu\n", type,
                            kiln__ir_part(reducer->lane, part), part, kiln__reduce_lane_align(reducer));
}

/*
 * After `at` elements, at the end of a chunk or of the row of n: the levels whose chunks end here are carried to the
 * next; at the end of the row the total of all goes to `to`. A total of level k spans 2^bits elements, bits = 10 k
 * + 10.
 */
static void print_total(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    kiln__buffer_printf(p->text, "\ndefine internal void @total%u(", index);
    print_part_arguments(p, reducer, "lanes", index);
    kiln__buffer_printf(p->text,
                        "i64 %%at, i64 %%n, ptr %%to) {\nentry:\n  %%is.end = icmp eq i64 %%at, %%n\n"
                        "  br label %%level\n\nlevel:\n  %%skip = phi i64 [ 0, %%entry ], [ %%skip.next, %%carry ]\n"
                        "  %%bits = phi i64 [ %d, %%entry ], [ %%bits.next, %%carry ]\n",
                        CHUNK_BITS);
    print_level(p, reducer, index);
    kiln__buffer_printf(p->text, "  %%span = shl i64 1, %%bits\n  %%is.top = icmp sge i64 %%span, %%n\n"
                                 "  %%is.all = and i1 %%is.end, %%is.top\n"
                                 "  br i1 %%is.all, label %%leave, label %%carry\n\ncarry:\n");
    print_carry(p, reducer, index);
    kiln__buffer_printf(p->text,
                        "  %%bits.next = add nuw nsw i64 %%bits, %d\n  %%mask = shl i64 -1, %%bits.next\n"
                        "  %%floor = and i64 %%at, %%mask\n  %%is.whole = icmp eq i64 %%floor, %%at\n"
                        "  %%goes.on = or i1 %%is.end, %%is.whole\n"
                        "  br i1 %%goes.on, label %%level, label %%exit\n\nleave:\n",
                        CHUNK_BITS);
    kiln__reduce_leave(reducer, "%total", "%to", "");
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n  ret void\n}\n");
}

static void print_functions(struct kiln_stages *rows)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduction(&p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(rows, i);
        reducer.declarations = p->declarations;
        print_accumulate(p, &reducer, i);
        print_total(p, &reducer, i);
        p->declarations = reducer.declarations;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

static kiln_status print_body(struct kiln_stages *rows, kiln_error *err)
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
    kiln_status status = kiln__print_stage(rows, 0, err);
    for (uint32_t pass = 0; pass < rows->passes && !status; pass++) status = print_pass(rows, pass, err);
    if (!status) status = print_element_outputs(rows, err);
    kiln__buffer_printf(p->text, "outer.end:\n");
    print_row_outputs(rows);
    kiln__buffer_printf(p->text,
                        "  %%row.next = add nuw nsw i64 %%row, 1\n  %%row.done = icmp eq i64 %%row.next, %%rows\n"
                        "  br i1 %%row.done, label %%exit, label %%outer\n\nexit:\n  ret void\n}\n");
    print_functions(rows);
    for (uint32_t pass = 0; pass < rows->passes; pass++)
        kiln__buffer_printf(p->text, "\n!%u = distinct !{!%u, !2}", FIRST_LOOP + pass, FIRST_LOOP + pass);
    kiln__buffer_printf(p->text, "\n");
    return status;
}

kiln_status kiln__rows_print(struct kiln_printer *p, kiln_error *err)
{
    struct kiln_stages stages;
    kiln_status status = kiln__stages_init(&stages, p, err);
    if (!status) status = print_body(&stages, err);
    kiln__stages_release(&stages);
    return status;
}
