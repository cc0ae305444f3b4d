/*
 * reduce_columns.c - a reduction whose outputs are neighbours, as are the elements they are made from: columns of a
 * matrix.
 *
 *     for each stripe of columns:
 *         lanes[0 .. used) = start
 *         for each row j:  lanes[j mod 16] = lanes[j mod 16] combined with the row         (vectors across the columns)
 *         for half = used / 2, ... 1:  lanes[k] = lanes[k] combined with lanes[k + half], k < half
 *         outputs = lanes[0]
 *
 * For each column this is the order of reduce.c, so the layout does not change a bit. A stripe reads whole cache lines
 * of each row, and its lanes stay in the second-level cache. With fewer than 16 rows only `used` lanes take part: the
 * others would hold the start, which changes nothing.
 */
#include <stdio.h>

#include "codegen/combine.h"
#include "codegen/lower.h"

enum {
    NAME_SIZE = 64,
    LANES = KILN_REDUCE_LANES,
    LANE_BYTES = 8192 /* of a stripe: long rows read well, and 16 lanes of them stay in the second-level cache */
};

#define PARALLEL ", !llvm.access.group !0"

/* A loop over %name from 0 up to `bound`, which is at least 1. */
static void open_loop(struct kiln_reducer *r, const char *name)
{
    kiln__buffer_printf(r->text,
                        "  br label %%%1$s.before\n\n%1$s.before:\n  br label %%%1$s.body\n\n%1$s.body:\n"
                        "  %%%1$s = phi i64 [ 0, %%%1$s.before ], [ %%%1$s.next, %%%1$s.latch ]\n",
                        name);
}

static void close_loop(struct kiln_reducer *r, const char *name, const char *bound, bool is_parallel)
{
    kiln__buffer_printf(r->text,
                        "  br label %%%1$s.latch\n\n%1$s.latch:\n  %%%1$s.next = add nuw nsw i64 %%%1$s, 1\n"
                        "  %%%1$s.done = icmp eq i64 %%%1$s.next, %2$s\n"
                        "  br i1 %%%1$s.done, label %%%1$s.end, label %%%1$s.body%3$s\n\n%1$s.end:\n",
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
    kiln__buffer_printf(r->text, "  %%%s.row = mul nuw nsw i64 %s, %d\n  %%%s.idx = add nuw nsw i64 %%%s.row, %s\n",
                        name, lane, stripe_width(r), name, name, column);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text, "  %%%s.at%s = getelementptr inbounds %s, ptr %%lanes%d, i64 %%%s.idx\n", name,
                            kiln__ir_part(r->lane, part), type, part, name);
}

static void print_lane_load(struct kiln_reducer *r, const char *name)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__buffer_printf(r->text, "  %%%s%s = load %s, ptr %%%s.at%s, align %zu" PARALLEL "\n", name, suffix, type,
                            name, suffix, kiln__reduce_lane_align(r));
    }
}

/* `value` is a name, or NULL for the start. */
static void print_lane_store(struct kiln_reducer *r, const char *value, const char *name)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__buffer_printf(r->text, "  store %s %s%s, ptr %%%s.at%s, align %zu" PARALLEL "\n", type,
                            value ? value : kiln__reduce_start(r, part), value ? suffix : "", name, suffix,
                            kiln__reduce_lane_align(r));
    }
}

static void print_head(struct kiln_reducer *r)
{
    kiln__buffer_printf(r->text,
                        "; kiln reduction: %s = %s(%s r), %d lanes of %s\n\ndefine void @kernel(ptr noalias readonly "
                        "%%args, ptr noalias readonly %%strides, i64 %%rows, i64 %%n) {\nentry:\n",
                        kiln__dtypes[r->out].name, kiln__ops[r->op].name, kiln__dtypes[r->in].name, LANES,
                        kiln__dtypes[r->lane].name);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text, "  %%lanes%d = alloca [%d x %s], align 64\n", part, LANES * stripe_width(r),
                            kiln__ir_value_type(r->lane));
    kiln__buffer_printf(
        r->text, "  %%o = load ptr, ptr %%args, align 8\n  %%p.arg = getelementptr inbounds i64, ptr %%args, i64 1\n"
                 "  %%p = load ptr, ptr %%p.arg, align 8\n  %%innerat = getelementptr inbounds i64, ptr %%strides, i64 "
                 "3\n  %%inner = load i64, ptr %%innerat, align 8\n");
}

/* %used: the smallest power of two that is not below n, at most 16. */
static void print_used(struct kiln_reducer *r)
{
    if (!kiln__reduce_start_is_neutral(r)) {
        kiln__buffer_printf(r->text, "  %%used = add i64 0, %d\n", LANES);
        return;
    }
    kiln__buffer_printf(r->text, "  %%used1 = add i64 0, 1\n");
    for (int lanes = 1; lanes < LANES; lanes *= 2)
        kiln__buffer_printf(r->text,
                            "  %%over%d = icmp sgt i64 %%n, %d\n  %%used%s = select i1 %%over%d, i64 %d, i64 "
                            "%%used%d\n",
                            lanes, lanes,
                            lanes * 2 == LANES ? ""
                            : lanes == 1       ? "2"
                            : lanes == 2       ? "4"
                                               : "8",
                            lanes, 2 * lanes, lanes);
}

/* %<prefix>.total = lane `lane` of column %<column>, combined with `count` rows: %row, %row + 16, ... */
static void print_column(struct kiln_reducer *r, const char *prefix, const char *column, int count)
{
    char old[NAME_SIZE], sum[NAME_SIZE], next[NAME_SIZE], x[NAME_SIZE], y[NAME_SIZE], from[NAME_SIZE];
    snprintf(old, sizeof old, "%s.old", prefix);
    snprintf(sum, sizeof sum, "%%%s.old", prefix);
    snprintf(x, sizeof x, "%%%s.lane", prefix);
    print_lane_address(r, old, x, column);
    print_lane_load(r, old);
    for (int k = 0; k < count; k++) {
        snprintf(from, sizeof from, "%%%s.from%d", prefix, k);
        snprintf(x, sizeof x, "%%%s.x%d", prefix, k);
        snprintf(y, sizeof y, "%%%s.y%d", prefix, k);
        snprintf(next, sizeof next, "%%%s.sum%d", prefix, k);
        kiln__buffer_printf(r->text, "  %s = getelementptr inbounds [%zu x i8], ptr %%%s.row%d, i64 %s\n", from,
                            kiln__dtype_size(r->in), prefix, k, column);
        kiln__ir_load(r->text, &r->declarations, x, r->in, from, PARALLEL);
        kiln__reduce_enter(r, y, x, 0);
        kiln__reduce_combine(r, next, sum, y, 0);
        snprintf(sum, sizeof sum, "%s", next);
    }
    print_lane_store(r, sum, old);
}

/* %<prefix>.row0, ... = where `count` rows start: `row`, and each 16 after the one before it. */
static void print_rows(struct kiln_reducer *r, const char *prefix, const char *row, int count)
{
    kiln__buffer_printf(r->text,
                        "  %%%1$s.skip = mul nsw i64 %2$s, %%inner\n  %%%1$s.row0 = getelementptr inbounds i8, ptr "
                        "%%base, i64 %%%1$s.skip\n  %%%1$s.lane = and i64 %2$s, 15\n",
                        prefix, row);
    for (int k = 1; k < count; k++)
        kiln__buffer_printf(r->text, "  %%%1$s.row%2$d = getelementptr inbounds i8, ptr %%%1$s.row%3$d, i64 %%lap\n",
                            prefix, k, k - 1);
}

/* Blocks of 64 rows, four rows of each lane at a time, so that a lane is loaded and stored once for them. */
static void print_blocks(struct kiln_reducer *r)
{
    kiln__buffer_printf(r->text,
                        "  %%lap = mul nsw i64 %%inner, %d\n  %%blocks = lshr i64 %%n, 6\n"
                        "  %%done = shl i64 %%blocks, 6\n  %%some.blocks = icmp sgt i64 %%blocks, 0\n"
                        "  br i1 %%some.blocks, label %%block, label %%rest.test\n\nblock:\n",
                        LANES);
    open_loop(r, "b");
    open_loop(r, "q");
    kiln__buffer_printf(r->text, "  %%b.first = shl i64 %%b, 6\n  %%b.row = add nuw nsw i64 %%b.first, %%q\n");
    print_rows(r, "f", "%b.row", 4);
    open_loop(r, "c");
    print_column(r, "f", "%c", 4);
    close_loop(r, "c", "%width", true);
    close_loop(r, "q", "16", false);
    close_loop(r, "b", "%blocks", false);
    kiln__buffer_printf(r->text, "  br label %%rest.test\n\nrest.test:\n  %%rest = sub nsw i64 %%n, %%done\n"
                                 "  %%some.rest = icmp sgt i64 %%rest, 0\n"
                                 "  br i1 %%some.rest, label %%rest.from, label %%half.from\n\nrest.from:\n");
}

static void print_rest(struct kiln_reducer *r)
{
    open_loop(r, "j");
    kiln__buffer_printf(r->text, "  %%j.row = add nuw nsw i64 %%done, %%j\n");
    print_rows(r, "g", "%j.row", 1);
    open_loop(r, "d");
    print_column(r, "g", "%d", 1);
    close_loop(r, "d", "%width", true);
    close_loop(r, "j", "%rest", false);
    kiln__buffer_printf(r->text, "  br label %%half.from\n\nhalf.from:\n");
}

static void print_start(struct kiln_reducer *r)
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
    kiln__buffer_printf(r->text,
                        "  br label %%half.test\n\nhalf.test:\n  %%whole = phi i64 [ %%used, %%half.from ], [ %%half, "
                        "%%k.end ]\n  %%half = lshr i64 %%whole, 1\n  %%half.more = icmp ne i64 %%half, 0\n"
                        "  br i1 %%half.more, label %%half.body, label %%finish\n\nhalf.body:\n");
    open_loop(r, "k");
    kiln__buffer_printf(r->text, "  %%other = add nuw nsw i64 %%k, %%half\n");
    open_loop(r, "m");
    print_lane_address(r, "left", "%k", "%m");
    print_lane_load(r, "left");
    print_lane_address(r, "right", "%other", "%m");
    print_lane_load(r, "right");
    kiln__reduce_combine(r, "%both", "%left", "%right", 0);
    print_lane_store(r, "%both", "left");
    close_loop(r, "m", "%width", true);
    close_loop(r, "k", "%half", false);
    kiln__buffer_printf(r->text, "  br label %%half.test\n\nfinish:\n");
}

static void print_outputs(struct kiln_reducer *r)
{
    open_loop(r, "z");
    print_lane_address(r, "total", "0", "%z");
    print_lane_load(r, "total");
    kiln__buffer_printf(r->text, "  %%z.to = getelementptr inbounds [%zu x i8], ptr %%out, i64 %%z\n",
                        kiln__dtype_size(r->out));
    kiln__reduce_leave(r, "%total", "%z.to", PARALLEL);
    close_loop(r, "z", "%width", true);
}

void kiln__reduce_columns_print(struct kiln_reducer *r)
{
    int width = stripe_width(r);
    print_head(r);
    print_used(r);
    kiln__buffer_printf(r->text,
                        "  %%some = icmp sgt i64 %%rows, 0\n  br i1 %%some, label %%stripe, label %%exit\n\nstripe:\n"
                        "  %%col = phi i64 [ 0, %%entry ], [ %%col.next, %%z.end ]\n  %%left.over = sub nsw i64 "
                        "%%rows, %%col\n  %%narrow = icmp slt i64 %%left.over, %d\n"
                        "  %%width = select i1 %%narrow, i64 %%left.over, i64 %d\n"
                        "  %%base = getelementptr inbounds [%zu x i8], ptr %%p, i64 %%col\n"
                        "  %%out = getelementptr inbounds [%zu x i8], ptr %%o, i64 %%col\n",
                        width, width, kiln__dtype_size(r->in), kiln__dtype_size(r->out));
    print_start(r);
    print_blocks(r);
    print_rest(r);
    print_combine(r);
    print_outputs(r);
    kiln__buffer_printf(r->text,
                        "  %%col.next = add nsw i64 %%col, %%width\n  %%col.done = icmp eq i64 %%col.next, %%rows\n"
                        "  br i1 %%col.done, label %%exit, label %%stripe\n\nexit:\n  ret void\n}\n");
    if (r->declarations.size) kiln__buffer_printf(r->text, "\n%s", (const char *)r->declarations.data);
    kiln__buffer_printf(r->text, "\n!0 = distinct !{}\n!1 = distinct !{!1, !2}\n"
                                 "!2 = !{!\"llvm.loop.parallel_accesses\", !0}\n");
}
