/*
 * gpu_columns.c - the schedule COLUMNS of gpu_schedule.h: a reduction along an axis that is not packed, one level per
 * launch.
 *
 * A block reduces one chunk of 32 adjacent columns. Warp w has lanes w and w + 8 of every column, its thread l those of
 * column l: it accumulates elements w, w + 16, ... in one lane and w + 8, w + 24, ... in the other, and combines the
 * two. Then the 8 partial results of a column are exchanged through shared memory, and the first warp combines k and
 * k + 4, k and k + 2, k and k + 1. That is the order of group.h for up to 1024 elements. Threads of columns past the
 * end have no elements, but take part in the barrier.
 */
#include "codegen/gpu/gpu_lanes.h"
#include "codegen/gpu/gpu_printer.h"
#include "codegen/lower.h"

enum {
    COLUMNS = KILN_GPU_COLUMNS_BLOCK,
    PAIRS = KILN_REDUCE_LANES / 2,
    LANES = KILN_REDUCE_LANES,
    COPIES = 4, /* elements of each lane that are loaded before the first is used */
    SPAN = COPIES * LANES
};

_Static_assert(COLUMNS *PAIRS == KILN_GPU_BLOCK && (int)COLUMNS == (int)KILN_GPU_WARP, "a warp for each pair of lanes");

struct columns {
    struct kiln_printer *p;
    const struct kiln_gpu_config *config;
    struct kiln_reducer r;
};

static kiln_status check_reduction(struct columns *c, kiln_error *err)
{
    const struct kiln_group *group = c->p->group;
    bool is_one = group->operand_count == 1 && group->constant_count == 0 && group->instr_count == 1 &&
                  group->output_count == 1 && group->outputs[0] == 1;
    if (!is_one || kiln__ops[group->instrs[0].op].kind != KILN_OP_REDUCE)
        return kiln__fail(err, KILN_INVALID, "a kernel along columns has one operand and one instruction, a reduction");
    return kiln__reducer_init(&c->r, group->instrs[0].op, c->p->dtypes[0], group->instrs[0].dtype, KILN_LAYOUT_PACKED,
                              err);
}

/* %column and %chunk of this thread, %count elements of it from %p0.first on, and %to where the result goes. */
static void print_position(struct columns *c)
{
    struct kiln_printer *p = c->p;
    kiln__print(p->ir,
                "  %lane = and i32 %thread, $0\n"
                "  %pair = lshr i32 %thread, 5\n"
                "  %blocks.short = trunc i64 %blocks.word to i32\n"
                "  %chunks.short = trunc i64 %chunks.word to i32\n"
                "  %column.block = urem i32 %block, %blocks.short\n"
                "  %rest.block = udiv i32 %block, %blocks.short\n"
                "  %chunk.short = urem i32 %rest.block, %chunks.short\n"
                "  %outer.short = udiv i32 %rest.block, %chunks.short\n"
                "  %column.block.long = zext i32 %column.block to i64\n"
                "  %lane.long = zext i32 %lane to i64\n"
                "  %chunk = zext i32 %chunk.short to i64\n"
                "  %column.first = mul nuw nsw i64 %column.block.long, $1\n"
                "  %column = add nuw nsw i64 %column.first, %lane.long\n"
                "  %outer = $2\n",
                KILN_GPU_WARP - 1, COLUMNS,
                c->config->is_long ? "zext i32 %outer.short to i64" : "add i32 %outer.short, 0");
    kiln__gpu_print_bases(p, c->config, "%outer", 0, c->config->axes);
    kiln__declare(p->ir, "declare i64 @llvm.umin.i64(i64, i64)\n");
    kiln__print(p->ir,
                "  %from = mul nuw nsw i64 %chunk, $0\n"
                "  %left = sub nsw i64 %n.word, %from\n"
                "  %count.long = call i64 @llvm.umin.i64(i64 %left, i64 $0)\n"
                "  %count.all = trunc i64 %count.long to i32\n"
                "  %is.column = icmp ult i64 %column, %columns.word\n"
                "  %count = select i1 %is.column, i32 %count.all, i32 0\n"
                "  %p0.skip = mul nsw i64 %from, %step.word\n"
                "  %p0.chunk = getelementptr inbounds i8, ptr %p0.base, i64 %p0.skip\n"
                "  %p0.first = getelementptr inbounds [$1 x i8], ptr %p0.chunk, i64 %column\n"
                "  %o0.skip = mul nsw i64 %chunk, %advance.word\n"
                "  %o0.chunk = getelementptr inbounds i8, ptr %o0.base, i64 %o0.skip\n"
                "  %to = getelementptr inbounds [$2 x i8], ptr %o0.chunk, i64 %column\n",
                KILN_REDUCE_CHUNK, kiln__dtype_size(c->r.in), kiln__dtype_size(c->r.out));
}

/* Loads element `at` (an i32) of the column as name.x. */
static void print_load(struct columns *c, const char *name, const char *at)
{
    struct kiln_name pointer = kiln__name(c->p->ir, "$0.at", name);
    struct kiln_name value = kiln__name(c->p->ir, "$0.x", name);
    kiln__print(c->p->ir,
                "  $0.long = zext i32 $1 to i64\n"
                "  $0.skip = mul nsw i64 $0.long, %step.word\n"
                "  $0.at = getelementptr inbounds i8, ptr %p0.first, i64 $0.skip\n",
                name, at);
    kiln__ir_load(c->p->ir, value.text, c->r.in, pointer.text, "");
}

static void print_enter(struct columns *c, const char *name)
{
    struct kiln_name value = kiln__name(c->p->ir, "$0.x", name);
    kiln__reduce_enter(&c->r, name, value.text, 0);
}

/* Whole spans of the chunk: COPIES elements for each of the two lanes %lane0 and %lane1. */
static void print_spans(struct columns *c)
{
    struct kiln_printer *p = c->p;
    kiln__print(p->ir, "  br label %spans\n\n"
                       "spans:\n"
                       "  %b = phi i32 [ 0, %entry ], [ %b.next, %span ]\n");
    for (uint32_t lane = 0; lane < 2; lane++)
        kiln__lane_phi(&c->r, kiln__name(c->p->ir, "%lane$0", lane).text, NULL, "entry",
                       kiln__name(c->p->ir, "%sum$0", lane + 2 * (COPIES - 1)).text, "span");
    kiln__print(p->ir,
                "  %b.next = add nuw nsw i32 %b, $0\n"
                "  %b.more = icmp ule i32 %b.next, %count\n"
                "  br i1 %b.more, label %span, label %rests\n\n"
                "span:\n"
                "  %b.pair = add nuw nsw i32 %b, %pair\n",
                SPAN);
    for (uint32_t k = 0; k < 2 * COPIES; k++) {
        kiln__print(p->ir, "  %k$0 = add nuw nsw i32 %b.pair, $1\n", k, k * PAIRS);
        struct kiln_name at = kiln__name(c->p->ir, "%k$0", k);
        print_load(c, kiln__name(c->p->ir, "%x$0", k).text, at.text);
    }
    for (uint32_t k = 0; k < 2 * COPIES; k++) {
        struct kiln_name x = kiln__name(c->p->ir, "%x$0", k);
        print_enter(c, x.text);
        kiln__reduce_combine(&c->r, kiln__name(c->p->ir, "%sum$0", k).text,
                             (k < 2 ? kiln__name(c->p->ir, "%lane$0", k) : kiln__name(c->p->ir, "%sum$0", k - 2)).text,
                             x.text, 0);
    }
    kiln__print(p->ir, "  br label %spans\n\n");
}

/* The tail: one element of each of the two lanes at a time; the second may not exist. */
static void print_rest(struct columns *c)
{
    struct kiln_printer *p = c->p;
    kiln__print(p->ir, "rests:\n  %r = phi i32 [ %b, %spans ], [ %r.next, %join ]\n");
    kiln__lane_phi(&c->r, "%rest0", "%lane0", "spans", "%next0", "join");
    kiln__lane_phi(&c->r, "%rest1", "%lane1", "spans", "%next1", "join");
    kiln__print(p->ir, "  %r.pair = add nuw nsw i32 %r, %pair\n"
                       "  %r.more = icmp ult i32 %r.pair, %count\n"
                       "  br i1 %r.more, label %rest, label %total\n\n"
                       "rest:\n");
    print_load(c, "%y0", "%r.pair");
    print_enter(c, "%y0");
    kiln__reduce_combine(&c->r, "%next0", "%rest0", "%y0", 0);
    kiln__print(p->ir,
                "  %r.other = add nuw nsw i32 %r.pair, $0\n"
                "  %r.both = icmp ult i32 %r.other, %count\n"
                "  br i1 %r.both, label %other, label %join\n\n"
                "other:\n",
                PAIRS);
    print_load(c, "%y1", "%r.other");
    print_enter(c, "%y1");
    kiln__reduce_combine(&c->r, "%sum.other", "%rest1", "%y1", 0);
    kiln__print(p->ir, "  br label %join\n\njoin:\n");
    kiln__lane_phi(&c->r, "%next1", "%sum.other", "other", "%rest1", "rest");
    kiln__print(p->ir, "  %r.next = add nuw nsw i32 %r, $0\n  br label %rests\n\n", LANES);
}

/* The first warp combines the partial results of all warps. */
static void print_total(struct columns *c)
{
    struct kiln_printer *p = c->p;
    kiln__print(p->ir, "total:\n  %position = zext i32 %thread to i64\n");
    kiln__reduce_combine(&c->r, "%both", "%rest0", "%rest1", 0);
    kiln__lane_store(&c->r, "%both", 0, KILN_GPU_BLOCK, "%position");
    kiln__gpu_barrier(p);
    kiln__print(p->ir, "  %is.first = icmp eq i32 %pair, 0\n"
                       "  %is.last = and i1 %is.first, %is.column\n"
                       "  br i1 %is.last, label %finish, label %exit\n\n"
                       "finish:\n");
    for (uint32_t k = 0; k < PAIRS; k++) {
        kiln__print(p->ir, "  %position$0 = add nuw nsw i64 %lane.long, $1\n", k, k * COLUMNS);
        struct kiln_name index = kiln__name(c->p->ir, "%position$0", k);
        kiln__lane_load(&c->r, kiln__name(c->p->ir, "%l8.$0", k).text, 0, KILN_GPU_BLOCK, index.text);
    }
    for (uint32_t half = PAIRS / 2; half; half /= 2) {
        struct kiln_name from = kiln__name(c->p->ir, "l$0.", 2 * half);
        struct kiln_name to = kiln__name(c->p->ir, "l$0.", half);
        for (uint32_t k = 0; k < half; k++)
            kiln__reduce_combine(&c->r, kiln__name(c->p->ir, "%$0$1", to.text, k).text,
                                 kiln__name(c->p->ir, "%$0$1", from.text, k).text,
                                 kiln__name(c->p->ir, "%$0$1", from.text, k + half).text, 0);
    }
    kiln__reduce_leave(&c->r, "%l1.0", "%to", "");
    kiln__print(p->ir, "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    kiln__gpu_shared(p, "lanes", "i8", kiln__lane_bytes(&c->r, KILN_GPU_BLOCK));
}

kiln_status kiln__gpu_print_columns(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    struct columns c = {.p = p, .config = config, .r = {.ir = p->ir}};
    kiln_status status = check_reduction(&c, err);
    if (status) return status;
    kiln__gpu_open(p, config, "columns n chunks step advance blocks");
    print_position(&c);
    print_spans(&c);
    print_rest(&c);
    print_total(&c);
    return KILN_OK;
}
