/*
 * row_totals.c - see row_totals.h.
 *
 * Where the reduction is associative, four blocks of elements are combined in pairs before they are combined with the
 * lanes. The result is the same, and the chain of dependent instructions is shorter.
 */
#include "codegen/cpu/row_totals.h"

#include "codegen/group.h"

enum { LANES = KILN_REDUCE_LANES, CHUNK_BITS = 10 /* of KILN_REDUCE_CHUNK */ };

_Static_assert(KILN_REDUCE_CHUNK == 1 << CHUNK_BITS, "chunks have that many elements");

void kiln__print_row_arguments(struct kiln_printer *p, const struct kiln_reducer *reducer, const char *name,
                               uint32_t index)
{
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__print(p->ir, "ptr %$0$1.$2, ", name, index, part);
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* %<loop>.x<number> = the block of 16 elements that lies `number` blocks after %<loop>.j. */
static void print_block(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index, const char *loop,
                        int number)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    kiln__print(p->ir, "  %$0.j$1 = add nuw nsw i64 %$0.j, $2\n", loop, number, number * LANES);
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__print(p->ir,
                    "  %$0.at$1.$2 = getelementptr inbounds $3, ptr %elements$4.$2, i64 %$0.j$1\n"
                    "  %$0.x$1$5 = load <$6 x $3>, ptr %$0.at$1.$2, align $7\n",
                    loop, number, part, type, index, kiln__ir_part(reducer->lane, part), LANES,
                    kiln__reduce_lane_align(reducer));
}

/* All of them, combined in pairs: neighbours first. */
static struct kiln_name print_pairs(struct kiln_reducer *reducer, const char *loop, int blocks)
{
    const char *mark = "x", *next = "y";
    for (; blocks > 1; blocks /= 2, mark = next, next = "z")
        for (int i = 0; i < blocks; i += 2) {
            struct kiln_name left = kiln__name(reducer->ir, "%$0.$1$2", loop, mark, i);
            struct kiln_name right = kiln__name(reducer->ir, "%$0.$1$2", loop, mark, i + 1);
            struct kiln_name both = kiln__name(reducer->ir, "%$0.$1$2", loop, next, i / 2);
            kiln__reduce_combine(reducer, both.text, left.text, right.text, LANES);
        }
    return kiln__name(reducer->ir, "%$0.$10", loop, mark);
}

/*
 * A loop over groups of `blocks` blocks, after the loop named `before` (or "entry"): %<loop>.j elements are done,
 * %<loop>.acc are the lanes; it goes on to %<loop>.end when fewer are left.
 */
static void print_loop(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index, const char *loop,
                       int blocks, const char *before)
{
    kiln__print(p->ir,
                "  br label %$0.test\n\n"
                "$0.test:\n"
                "  %$0.j = phi i64 [ %$1.j, %$1.end ], [ %$0.next, %$0 ]\n",
                loop, before);
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__print(p->ir, "  %$0.acc$1 = phi <$2 x $3> [ %$4.acc$1, %$4.end ], [ %$0.new$1, %$0 ]\n", loop,
                    kiln__ir_part(reducer->lane, part), LANES, kiln__ir_value_type(reducer->lane), before);
    kiln__print(p->ir,
                "  %$0.next = add nuw nsw i64 %$0.j, $1\n"
                "  %$0.fits = icmp sle i64 %$0.next, %count\n"
                "  br i1 %$0.fits, label %$0, label %$0.end\n\n"
                "$0:\n",
                loop, blocks * LANES);
    for (int i = 0; i < blocks; i++) print_block(p, reducer, index, loop, i);
    struct kiln_name all = print_pairs(reducer, loop, blocks);
    struct kiln_name acc = kiln__name(p->ir, "%$0.acc", loop);
    struct kiln_name new = kiln__name(p->ir, "%$0.new", loop);
    kiln__reduce_combine(reducer, new.text, acc.text, all.text, LANES);
    kiln__print(p->ir, "  br label %$0.test\n\n$0.end:\n", loop);
}

/* The tail, fewer than 16 elements, as one masked vector. */
static void print_masked_tail(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    kiln__print(p->ir, "  %left = sub nsw i64 %count, %one.j\n"
                       "  %is.left = icmp ne i64 %left, 0\n"
                       "  br i1 %is.left, label %tail, label %exit\n\n"
                       "tail:\n");
    kiln__reduce_mask(reducer, "%left");
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++) {
        struct kiln_name name = kiln__name(p->ir, "%x$0", kiln__ir_part(reducer->lane, part));
        struct kiln_name pointer = kiln__name(p->ir, "%x.at$0", part);
        kiln__print(p->ir, "  $0 = getelementptr inbounds $1, ptr %elements$2.$3, i64 %one.j\n", pointer.text, type,
                    index, part);
        kiln__reduce_masked_load(reducer, name.text, type, pointer.text);
    }
    kiln__reduce_masked_combine(reducer, "%new", "%one.acc", "%x");
    kiln__print(p->ir, "  br label %exit\n\nexit:\n");
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++) {
        const char *suffix = kiln__ir_part(reducer->lane, part);
        kiln__print(p->ir, "  %all$0 = phi <$1 x $2> [ %one.acc$0, %one.end ], [ %new$0, %tail ]\n", suffix, LANES,
                    type);
    }
    for (int part = 0; part < kiln__ir_parts(reducer->lane); part++)
        kiln__print(p->ir, "  store <$0 x $1> %all$2, ptr %lanes$3.$4, align 64\n", LANES, type,
                    kiln__ir_part(reducer->lane, part), index, part);
}

/* The tail element by element, with the lanes in memory. */
static void print_tail(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  store <$0 x $1> %one.acc$2, ptr %lanes$3.$4, align 64\n", LANES, type,
                    kiln__ir_part(reducer->lane, part), index, part);
    kiln__print(p->ir, "  br label %tail.test\n\n"
                       "tail.test:\n"
                       "  %r = phi i64 [ %one.j, %one.end ], [ %r.next, %tail ]\n"
                       "  %r.more = icmp slt i64 %r, %count\n"
                       "  br i1 %r.more, label %tail, label %exit\n\n"
                       "tail:\n"
                       "  %lane = sub nsw i64 %r, %one.j\n");
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir,
                    "  %lane.at$0 = getelementptr inbounds $1, ptr %lanes$2.$0, i64 %lane\n"
                    "  %old$3 = load $1, ptr %lane.at$0, align $4\n"
                    "  %x.at$0 = getelementptr inbounds $1, ptr %elements$2.$0, i64 %r\n"
                    "  %x$3 = load $1, ptr %x.at$0, align $4\n",
                    part, type, index, kiln__ir_part(reducer->lane, part), kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%new", "%old", "%x", 0);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  store $0 %new$1, ptr %lane.at$2, align $3\n", type, kiln__ir_part(reducer->lane, part),
                    part, kiln__reduce_lane_align(reducer));
    kiln__print(p->ir, "  %r.next = add nuw nsw i64 %r, 1\n"
                       "  br label %tail.test, !llvm.loop !3\n\n"
                       "exit:\n");
}

static void print_accumulate(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    bool in_pairs = kiln__reduce_is_associative(reducer);
    kiln__print(p->ir, "\ndefine internal void @accumulate$0(", index);
    kiln__print_row_arguments(p, reducer, "lanes", index);
    kiln__print_row_arguments(p, reducer, "elements", index);
    kiln__print(p->ir, "i64 %count) #0 {\n"
                       "entry.end:\n"
                       "  %entry.j = add i64 0, 0\n");
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  %entry.acc$0 = load <$1 x $2>, ptr %lanes$3.$4, align 64\n",
                    kiln__ir_part(reducer->lane, part), LANES, type, index, part);
    if (in_pairs) print_loop(p, reducer, index, "four", 4, "entry");
    print_loop(p, reducer, index, "one", 1, in_pairs ? "four" : "entry");
    if (kiln__reduce_has_masked_load(type))
        print_masked_tail(p, reducer, index);
    else
        print_tail(p, reducer, index);
    kiln__print(p->ir, "  ret void\n}\n");
}

/* ---- totals ---------------------------------------------------------------------------------------------------- */

/* %total of a level, whose lanes are then reset to the identity element. */
static void print_level(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  %lanes$0 = getelementptr inbounds $1, ptr %lanes$2.$0, i64 %skip\n", part, type, index);
    kiln__reduce_total(reducer);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  store <$0 x $1> splat ($1 $2), ptr %lanes$3, align $4\n", LANES, type,
                    kiln__reduce_identity(reducer, part), part, kiln__reduce_lanes_align(reducer));
}

/* %total goes to its lane of the next level: its number among the totals of this level, mod 16. */
static void print_carry(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    const char *type = kiln__ir_value_type(reducer->lane);
    int parts = kiln__ir_parts(reducer->lane);
    kiln__print(p->ir,
                "  %last = sub nsw i64 %at, 1\n"
                "  %number = lshr i64 %last, %bits\n"
                "  %lane = and i64 %number, $0\n"
                "  %skip.next = add nuw nsw i64 %skip, $1\n"
                "  %to.lane = add nuw nsw i64 %skip.next, %lane\n",
                LANES - 1, LANES);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir,
                    "  %up.at$0 = getelementptr inbounds $1, ptr %lanes$2.$0, i64 %to.lane\n"
                    "  %old$3 = load $1, ptr %up.at$0, align $4\n",
                    part, type, index, kiln__ir_part(reducer->lane, part), kiln__reduce_lane_align(reducer));
    kiln__reduce_combine(reducer, "%new", "%old", "%total", 0);
    for (int part = 0; part < parts; part++)
        kiln__print(p->ir, "  store $0 %new$1, ptr %up.at$2, align $3\n", type, kiln__ir_part(reducer->lane, part),
                    part, kiln__reduce_lane_align(reducer));
}

/*
 * After `at` elements, at the end of a chunk or of the row of n: the levels whose chunks end here are carried to the
 * next; at the end of the row the total of all goes to `to`. A total of level k spans 2^bits elements, bits = 10 k
 * + 10.
 */
static void print_total(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    kiln__print(p->ir, "\ndefine internal void @total$0(", index);
    kiln__print_row_arguments(p, reducer, "lanes", index);
    kiln__print(p->ir,
                "i64 %at, i64 %n, ptr %to) #0 {\n"
                "entry:\n"
                "  %is.end = icmp eq i64 %at, %n\n"
                "  br label %level\n\n"
                "level:\n"
                "  %skip = phi i64 [ 0, %entry ], [ %skip.next, %carry ]\n"
                "  %bits = phi i64 [ $0, %entry ], [ %bits.next, %carry ]\n",
                CHUNK_BITS);
    print_level(p, reducer, index);
    kiln__print(p->ir, "  %span = shl i64 1, %bits\n"
                       "  %is.top = icmp sge i64 %span, %n\n"
                       "  %is.all = and i1 %is.end, %is.top\n"
                       "  br i1 %is.all, label %leave, label %carry\n\n"
                       "carry:\n");
    print_carry(p, reducer, index);
    kiln__print(p->ir,
                "  %bits.next = add nuw nsw i64 %bits, $0\n"
                "  %mask = shl i64 -1, %bits.next\n"
                "  %floor = and i64 %at, %mask\n"
                "  %is.whole = icmp eq i64 %floor, %at\n"
                "  %goes.on = or i1 %is.end, %is.whole\n"
                "  br i1 %goes.on, label %level, label %exit\n\n"
                "leave:\n",
                CHUNK_BITS);
    kiln__reduce_leave(reducer, "%total", "%to", "");
    kiln__print(p->ir, "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
}

void kiln__print_row_totals(struct kiln_printer *p, struct kiln_reducer *reducer, uint32_t index)
{
    print_accumulate(p, reducer, index);
    print_total(p, reducer, index);
}
