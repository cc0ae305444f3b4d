/*
 * row_totals.c - see row_totals.h.
 *
 * Where combining is associative, blocks of elements are combined in pairs before they meet their lanes: in the same
 * order, so with the same result, but the steps that wait for each other are fewer.
 */
#include "codegen/cpu/row_totals.h"

#include <stdio.h>

#include "codegen/group.h"

enum { LANES = KILN_REDUCE_LANES, CHUNK_BITS = 10 /* of KILN_REDUCE_CHUNK */ };

_Static_assert(KILN_REDUCE_CHUNK == 1 << CHUNK_BITS, "chunks have that many elements");

void kiln__print_row_arguments(struct kiln_printer *p, const struct kiln_reducer *reducer, const char *name,
                               uint32_t index)
{
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__buffer_printf(p->text, "ptr %%%s%u.%d, ", name, index, part);
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* %<loop>.x<number> = the block of 16 elements that lies `number` blocks after %<loop>.j. */
static void print_block(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index, const char *loop,
                        int number)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    kiln__buffer_printf(p->text, "  %%%1$s.j%2$d = add nuw nsw i64 %%%1$s.j, %3$d\n", loop, number, number * LANES);
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__buffer_printf(p->text,
                            "  %%%1$s.at%2$d.%3$d = getelementptr inbounds %4$s, ptr %%elements%5$u.%3$d, i64 "
                            "%%%1$s.j%2$d\n  %%%1$s.x%2$d%6$s = load <%7$d x %4$s>, ptr %%%1$s.at%2$d.%3$d, align "
                            "%8$zu\n",
                            loop, number, part, type, index, kiln__ir_part(reducer->lane, part), LANES,
                            kiln__reduce_lane_align(reducer));
}

/* %<loop>.x0 = all of them, combined in pairs: neighbours first. */
static void print_pairs(struct kiln_reducer *reducer, const char *loop, int blocks, char *result)
{
    char left[KILN_IR_NAME], right[KILN_IR_NAME], both[KILN_IR_NAME];
    const char *mark = "x", *next = "y";
    for (; blocks > 1; blocks /= 2, mark = next, next = "z")
        for (int i = 0; i < blocks; i += 2) {
            snprintf(left, sizeof left, "%%%s.%s%d", loop, mark, i);
            snprintf(right, sizeof right, "%%%s.%s%d", loop, mark, i + 1);
            snprintf(both, sizeof both, "%%%s.%s%d", loop, next, i / 2);
            kiln__reduce_combine(reducer, both, left, right, LANES);
        }
    snprintf(result, KILN_IR_NAME, "%%%s.%s0", loop, mark);
}

/*
 * A loop over groups of `blocks` blocks, after the loop named `before` (or "entry"): %<loop>.j elements are done,
 * %<loop>.acc are the lanes; it goes on to %<loop>.end when fewer are left.
 */
static void print_loop(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index, const char *loop,
                       int blocks, const char *before)
{
    char acc[KILN_IR_NAME], new[KILN_IR_NAME], all[KILN_IR_NAME];
    kiln__buffer_printf(p->text,
                        "  br label %%%1$s.test\n\n%1$s.test:\n"
                        "  %%%1$s.j = phi i64 [ %%%2$s.j, %%%2$s.end ], [ %%%1$s.next, %%%1$s ]\n",
                        loop, before);
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__buffer_printf(p->text,
                            "  %%%1$s.acc%3$s = phi <%4$d x %5$s> [ %%%2$s.acc%3$s, %%%2$s.end ], [ %%%1$s.new%3$s, "
                            "%%%1$s ]\n",
                            loop, before, kiln__ir_part(reducer->lane, part), LANES,
                            kiln__ir_value_type(reducer->lane));
    kiln__buffer_printf(p->text,
                        "  %%%1$s.next = add nuw nsw i64 %%%1$s.j, %2$d\n  %%%1$s.fits = icmp sle i64 %%%1$s.next, "
                        "%%count\n  br i1 %%%1$s.fits, label %%%1$s, label %%%1$s.end\n\n%1$s:\n",
                        loop, blocks * LANES);
    for (int i = 0; i < blocks; i++) print_block(p, reducer, index, loop, i);
    print_pairs(reducer, loop, blocks, all);
    snprintf(acc, sizeof acc, "%%%s.acc", loop);
    snprintf(new, sizeof new, "%%%s.new", loop);
    kiln__reduce_combine(reducer, new, acc, all, LANES);
    kiln__buffer_printf(p->text, "  br label %%%1$s.test\n\n%1$s.end:\n", loop);
}

/* What is left after the last whole block, as one vector: %lanes of the one or the other. */
static void print_masked_tail(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    kiln__buffer_printf(p->text, "  %%left = sub nsw i64 %%count, %%one.j\n  %%is.left = icmp ne i64 %%left, 0\n"
                                 "  br i1 %%is.left, label %%tail, label %%exit\n\ntail:\n");
    kiln__reduce_mask(reducer, "%left");
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++) {
        snprintf(name, sizeof name, "%%x%s", kiln__ir_part(reducer->lane, part));
        snprintf(pointer, sizeof pointer, "%%x.at%d", part);
        kiln__buffer_printf(p->text, "  %s = getelementptr inbounds %s, ptr %%elements%u.%d, i64 %%one.j\n", pointer,
                            type, index, part);
        kiln__reduce_masked_load(reducer, name, type, pointer);
    }
    kiln__reduce_masked_combine(reducer, "%new", "%one.acc", "%x");
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n");
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++) {
        const char *suffix = kiln__ir_part(reducer->lane, part);
        kiln__buffer_printf(p->text,
                            "  %%all%1$s = phi <%2$d x %3$s> [ %%one.acc%1$s, %%one.end ], [ %%new%1$s, %%tail ]\n",
                            suffix, LANES, type);
    }
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__buffer_printf(p->text, "  store <%d x %s> %%all%s, ptr %%lanes%u.%d, align 64\n", LANES, type,
                            kiln__ir_part(reducer->lane, part), index, part);
}

/* The same lane by lane, in memory. */
static void print_tail(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store <%d x %s> %%one.acc%s, ptr %%lanes%u.%d, align 64\n", LANES, type,
                            kiln__ir_part(reducer->lane, part), index, part);
    kiln__buffer_printf(p->text, "  br label %%tail.test\n\ntail.test:\n"
                                 "  %%r = phi i64 [ %%one.j, %%one.end ], [ %%r.next, %%tail ]\n"
                                 "  %%r.more = icmp slt i64 %%r, %%count\n"
                                 "  br i1 %%r.more, label %%tail, label %%exit\n\ntail:\n"
                                 "  %%lane = sub nsw i64 %%r, %%one.j\n");
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text,
                            "  %%lane.at%1$d = getelementptr inbounds %2$s, ptr %%lanes%3$u.%1$d, i64 %%lane\n"
                            "  %%old%4$s = load %2$s, ptr %%lane.at%1$d, align %5$zu\n"
                            "  %%x.at%1$d = getelementptr inbounds %2$s, ptr %%elements%3$u.%1$d, i64 %%r\n"
                            "  %%x%4$s = load %2$s, ptr %%x.at%1$d, align %5$zu\n",
                            part, type, index, kiln__ir_part(reducer->lane, part), kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%new", "%old", "%x", 0);
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  store %s %%new%s, ptr %%lane.at%d, align %zu\n", type,
                            kiln__ir_part(reducer->lane, part), part, kiln__reduce_lane_align(reducer));
    kiln__buffer_printf(p->text,
                        "  %%r.next = add nuw nsw i64 %%r, 1\n  br label %%tail.test, !llvm.loop !3\n\nexit:\n");
}

static void print_accumulate(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    bool in_pairs = kiln__reduce_is_associative(reducer);
    kiln__buffer_printf(p->text, "\ndefine internal void @accumulate%u(", index);
    kiln__print_row_arguments(p, reducer, "lanes", index);
    kiln__print_row_arguments(p, reducer, "elements", index);
    kiln__buffer_printf(p->text, "i64 %%count) #0 {\nentry.end:\n  %%entry.j = add i64 0, 0\n");
    for (int part = 0; part < parts; part++)
        kiln__buffer_printf(p->text, "  %%entry.acc%s = load <%d x %s>, ptr %%lanes%u.%d, align 64\n",
                            kiln__ir_part(reducer->lane, part), LANES, type, index, part);
    if (in_pairs) print_loop(p, reducer, index, "four", 4, "entry");
    print_loop(p, reducer, index, "one", 1, in_pairs ? "four" : "entry");
    if (kiln__reduce_has_masked_load(type))
        print_masked_tail(p, reducer, index);
    else
        print_tail(p, reducer, index);
    kiln__buffer_printf(p->text, "  ret void\n}\n");
}

/* ---- totals ---------------------------------------------------------------------------------------------------- */

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
    kiln__print_row_arguments(p, reducer, "lanes", index);
    kiln__buffer_printf(p->text,
                        "i64 %%at, i64 %%n, ptr %%to) #0 {\nentry:\n  %%is.end = icmp eq i64 %%at, %%n\n"
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

void kiln__print_row_totals(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    print_accumulate(p, reducer, index);
    print_total(p, reducer, index);
}
