/*
 * reduce_columns.c - a reduction along columns: outputs are contiguous, and so are the elements of one row.
 *
 *     for each stripe of columns:
 *         lanes[0 .. used) = the identity element
 *         for each row j:  lanes[j mod 16] = lanes[j mod 16] combined with the row         (vectors across the columns)
 *         for half = used / 2, ... 1:  lanes[k] = lanes[k] combined with lanes[k + half], k < half
 *         outputs = lanes[0]
 *
 * For each column this is the order of reduce.c, so the bits do not depend on the layout. A stripe reads whole cache
 * lines of each row, and its lanes stay in the second-level cache. With fewer than 16 rows only `used` lanes take part:
 * the others would hold the identity element, which changes nothing.
 */
#include "codegen/combine.h"
#include "codegen/group.h"
#include "codegen/lower.h"

enum {
    LANES = KILN_REDUCE_LANES,
    LANE_BYTES = 8192 /* of a stripe: long contiguous reads, and 16 lanes of them stay in the second-level cache */
};

#define PARALLEL ", !llvm.access.group !0"

/* A loop over %name from 0 up to `bound`, which is at least 1. */
static void open_loop(struct kiln_reducer *r, const char *name)
{
    kiln__print(r->ir,
                "  br label %$0.before\n\n"
                "$0.before:\n"
                "  br label %$0.body\n\n"
                "$0.body:\n"
                "  %$0 = phi i64 [ 0, %$0.before ], [ %$0.next, %$0.latch ]\n",
                name);
}

static void close_loop(struct kiln_reducer *r, const char *name, const char *bound, bool is_parallel)
{
    kiln__print(r->ir,
                "  br label %$0.latch\n\n"
                "$0.latch:\n"
                "  %$0.next = add nuw nsw i64 %$0, 1\n"
                "  %$0.done = icmp eq i64 %$0.next, $1\n"
                "  br i1 %$0.done, label %$0.end, label %$0.body$2\n\n"
                "$0.end:\n",
                name, bound, is_parallel ? ", !llvm.loop !1" : "");
}

static int stripe_width(const struct kiln_reducer *r)
{
    return LANE_BYTES / (int)kiln__dtype_size(r->lane);
}

/* name.at (and name.ati of a complex number) = where column `column` of lane `lane` lies. */
static void print_lane_address(struct kiln_reducer *r, const char *name, const char *lane, const char *column)
{
    const char *type = kiln__ir_value_type(r->lane);
    kiln__print(r->ir, "  %$0.row = mul nuw nsw i64 $1, $2\n  %$0.idx = add nuw nsw i64 %$0.row, $3\n", name, lane,
                stripe_width(r), column);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %$0.at$1 = getelementptr inbounds $2, ptr %lanes$3, i64 %$0.idx\n", name,
                    kiln__ir_part(r->lane, part), type, part);
}

static void print_lane_load(struct kiln_reducer *r, const char *name)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__print(r->ir, "  %$0$1 = load $2, ptr %$0.at$1, align $3" PARALLEL "\n", name, suffix, type,
                    kiln__reduce_lane_align(r));
    }
}

/* `value` is a name, or NULL for the identity element. */
static void print_lane_store(struct kiln_reducer *r, const char *value, const char *name)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__print(r->ir, "  store $0 $1$2, ptr %$3.at$4, align $5" PARALLEL "\n", type,
                    value ? value : kiln__reduce_identity(r, part), value ? suffix : "", name, suffix,
                    kiln__reduce_lane_align(r));
    }
}

static void print_head(struct kiln_reducer *r)
{
    kiln__print(r->ir,
                "; kiln reduction: $0 $1($2, $3), $4 lanes of $5\n\n"
                "define void $@(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) {\n"
                "entry:\n",
                kiln__dtypes[r->out].name, kiln__ops[r->op].name, kiln__dtypes[r->in].name,
                kiln__layout_word(r->layout), LANES, kiln__dtypes[r->lane].name);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %lanes$0 = alloca [$1 x $2], align 64\n", part, LANES * stripe_width(r),
                    kiln__ir_value_type(r->lane));
    kiln__print(r->ir, "  %o = load ptr, ptr %args, align 8\n"
                       "  %p.arg = getelementptr inbounds i64, ptr %args, i64 1\n"
                       "  %p = load ptr, ptr %p.arg, align 8\n"
                       "  %innerat = getelementptr inbounds i64, ptr %strides, i64 3\n"
                       "  %inner = load i64, ptr %innerat, align 8\n");
}

/* %used: the smallest power of two that is not below n, at most 16. */
static void print_used(struct kiln_reducer *r)
{
    if (!kiln__reduce_identity_is_exact(r)) {
        kiln__print(r->ir, "  %used = add i64 0, $0\n", LANES);
        return;
    }
    kiln__print(r->ir, "  %used1 = add i64 0, 1\n");
    for (int lanes = 1; lanes < LANES; lanes *= 2)
        kiln__print(r->ir, "  %over$0 = icmp sgt i64 %n, $0\n  %used$1 = select i1 %over$0, i64 $2, i64 %used$0\n",
                    lanes,
                    lanes * 2 == LANES ? ""
                    : lanes == 1       ? "2"
                    : lanes == 2       ? "4"
                                       : "8",
                    2 * lanes);
}

/* %<prefix>.total = lane `lane` of column %<column>, combined with `count` rows: %row, %row + 16, ... */
static void print_column(struct kiln_reducer *r, const char *prefix, const char *column, int count)
{
    struct kiln_name old = kiln__name(r->ir, "$0.old", prefix), sum = kiln__name(r->ir, "%$0.old", prefix);
    print_lane_address(r, old.text, kiln__name(r->ir, "%$0.lane", prefix).text, column);
    print_lane_load(r, old.text);
    for (int k = 0; k < count; k++) {
        struct kiln_name from = kiln__name(r->ir, "%$0.from$1", prefix, k);
        struct kiln_name x = kiln__name(r->ir, "%$0.x$1", prefix, k);
        struct kiln_name y = kiln__name(r->ir, "%$0.y$1", prefix, k);
        struct kiln_name next = kiln__name(r->ir, "%$0.sum$1", prefix, k);
        kiln__print(r->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %$2.row$3, i64 $4\n", from.text,
                    kiln__dtype_size(r->in), prefix, k, column);
        kiln__ir_load(r->ir, x.text, r->in, from.text, PARALLEL);
        kiln__reduce_enter(r, y.text, x.text, 0);
        kiln__reduce_combine(r, next.text, sum.text, y.text, 0);
        sum = next;
    }
    print_lane_store(r, sum.text, old.text);
}

/* %<prefix>.row0, ... = where `count` rows start: `row`, and each 16 after the one before it. */
static void print_rows(struct kiln_reducer *r, const char *prefix, const char *row, int count)
{
    kiln__print(r->ir,
                "  %$0.skip = mul nsw i64 $1, %inner\n"
                "  %$0.row0 = getelementptr inbounds i8, ptr %base, i64 %$0.skip\n"
                "  %$0.lane = and i64 $1, 15\n",
                prefix, row);
    for (int k = 1; k < count; k++)
        kiln__print(r->ir, "  %$0.row$1 = getelementptr inbounds i8, ptr %$0.row$2, i64 %lap\n", prefix, k, k - 1);
}

/* Blocks of 64 rows, four rows of each lane at a time, so that a lane is loaded and stored once for them. */
static void print_blocks(struct kiln_reducer *r)
{
    kiln__print(r->ir,
                "  %lap = mul nsw i64 %inner, $0\n"
                "  %blocks = lshr i64 %n, 6\n"
                "  %done = shl i64 %blocks, 6\n"
                "  %some.blocks = icmp sgt i64 %blocks, 0\n"
                "  br i1 %some.blocks, label %block, label %rest.test\n\n"
                "block:\n",
                LANES);
    open_loop(r, "b");
    open_loop(r, "q");
    kiln__print(r->ir, "  %b.first = shl i64 %b, 6\n  %b.row = add nuw nsw i64 %b.first, %q\n");
    print_rows(r, "f", "%b.row", 4);
    open_loop(r, "c");
    print_column(r, "f", "%c", 4);
    close_loop(r, "c", "%width", true);
    close_loop(r, "q", "16", false);
    close_loop(r, "b", "%blocks", false);
    kiln__print(r->ir, "  br label %rest.test\n\n"
                       "rest.test:\n"
                       "  %rest = sub nsw i64 %n, %done\n"
                       "  %some.rest = icmp sgt i64 %rest, 0\n"
                       "  br i1 %some.rest, label %rest.from, label %half.from\n\n"
                       "rest.from:\n");
}

static void print_rest(struct kiln_reducer *r)
{
    open_loop(r, "j");
    kiln__print(r->ir, "  %j.row = add nuw nsw i64 %done, %j\n");
    print_rows(r, "g", "%j.row", 1);
    open_loop(r, "d");
    print_column(r, "g", "%d", 1);
    close_loop(r, "d", "%width", true);
    close_loop(r, "j", "%rest", false);
    kiln__print(r->ir, "  br label %half.from\n\nhalf.from:\n");
}

static void reset_lanes(struct kiln_reducer *r)
{
    open_loop(r, "s");
    open_loop(r, "t");
    print_lane_address(r, "first", "%s", "%t");
    print_lane_store(r, NULL, "first");
    close_loop(r, "t", "%width", true);
    close_loop(r, "s", "%used", false);
}

static void print_combine(struct kiln_reducer *r)
{
    kiln__print(r->ir, "  br label %half.test\n\n"
                       "half.test:\n"
                       "  %whole = phi i64 [ %used, %half.from ], [ %half, %k.end ]\n"
                       "  %half = lshr i64 %whole, 1\n"
                       "  %half.more = icmp ne i64 %half, 0\n"
                       "  br i1 %half.more, label %half.body, label %finish\n\n"
                       "half.body:\n");
    open_loop(r, "k");
    kiln__print(r->ir, "  %other = add nuw nsw i64 %k, %half\n");
    open_loop(r, "m");
    print_lane_address(r, "left", "%k", "%m");
    print_lane_load(r, "left");
    print_lane_address(r, "right", "%other", "%m");
    print_lane_load(r, "right");
    kiln__reduce_combine(r, "%both", "%left", "%right", 0);
    print_lane_store(r, "%both", "left");
    close_loop(r, "m", "%width", true);
    close_loop(r, "k", "%half", false);
    kiln__print(r->ir, "  br label %half.test\n\nfinish:\n");
}

static void print_outputs(struct kiln_reducer *r)
{
    open_loop(r, "z");
    print_lane_address(r, "total", "0", "%z");
    print_lane_load(r, "total");
    kiln__print(r->ir, "  %z.to = getelementptr inbounds [$0 x i8], ptr %out, i64 %z\n", kiln__dtype_size(r->out));
    kiln__reduce_leave(r, "%total", "%z.to", PARALLEL);
    close_loop(r, "z", "%width", true);
}

void kiln__reduce_columns_print(struct kiln_reducer *r)
{
    int width = stripe_width(r);
    print_head(r);
    print_used(r);
    kiln__print(r->ir,
                "  %some = icmp sgt i64 %rows, 0\n"
                "  br i1 %some, label %stripe, label %exit\n\n"
                "stripe:\n"
                "  %col = phi i64 [ 0, %entry ], [ %col.next, %z.end ]\n"
                "  %left.over = sub nsw i64 %rows, %col\n"
                "  %narrow = icmp slt i64 %left.over, $0\n"
                "  %width = select i1 %narrow, i64 %left.over, i64 $0\n"
                "  %base = getelementptr inbounds [$1 x i8], ptr %p, i64 %col\n"
                "  %out = getelementptr inbounds [$2 x i8], ptr %o, i64 %col\n",
                width, kiln__dtype_size(r->in), kiln__dtype_size(r->out));
    reset_lanes(r);
    print_blocks(r);
    print_rest(r);
    print_combine(r);
    print_outputs(r);
    kiln__print(r->ir, "  %col.next = add nsw i64 %col, %width\n"
                       "  %col.done = icmp eq i64 %col.next, %rows\n"
                       "  br i1 %col.done, label %exit, label %stripe\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    kiln__print_declarations(r->ir);
    kiln__print(r->ir, "\n"
                       "!0 = distinct !{}\n"
                       "!1 = distinct !{!1, !2}\n"
                       "!2 = !{!\"llvm.loop.parallel_accesses\", !0}\n");
}
