/*
 * gpu_columns.c - the schedule COLUMNS of gpu_schedule.h: a reduction along an axis that is not packed, one level per
 * launch.
 *
 * A block has 32 neighbouring columns and one chunk of them. Warp w has lanes w and w + 8 of every column, thread l of
 * it those of column l: it adds up elements w, w + 16, ... in one lane and w + 8, w + 24, ... in the other, and
 * combines the two. Then the 8 pairs of a column meet in shared memory, where the first warp combines k and k + 4, k
 * and k + 2, k and k + 1. That is the order of group.h for up to 1024 elements. Threads of columns past the end have no
 * elements, but come to the barrier.
 */
#include <stdio.h>

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
    kiln__buffer_printf(p->text,
                        "  %%lane = and i32 %%thread, %1$d\n  %%pair = lshr i32 %%thread, 5\n"
                        "  %%blocks.short = trunc i64 %%blocks.word to i32\n"
                        "  %%chunks.short = trunc i64 %%chunks.word to i32\n"
                        "  %%column.block = urem i32 %%block, %%blocks.short\n"
                        "  %%rest.block = udiv i32 %%block, %%blocks.short\n"
                        "  %%chunk.short = urem i32 %%rest.block, %%chunks.short\n"
                        "  %%outer.short = udiv i32 %%rest.block, %%chunks.short\n"
                        "  %%column.block.long = zext i32 %%column.block to i64\n"
                        "  %%lane.long = zext i32 %%lane to i64\n  %%chunk = zext i32 %%chunk.short to i64\n"
                        "  %%column.first = mul nuw nsw i64 %%column.block.long, %2$d\n"
                        "  %%column = add nuw nsw i64 %%column.first, %%lane.long\n"
                        "  %%outer = %3$s\n",
                        KILN_GPU_WARP - 1, COLUMNS,
                        c->config->is_long ? "zext i32 %outer.short to i64" : "add i32 %outer.short, 0");
    kiln__gpu_print_bases(p, c->config, "%outer", 0, c->config->axes);
    kiln__ir_declare(&p->declarations, "i64", "llvm.umin.i64", "i64, i64");
    kiln__buffer_printf(p->text,
                        "  %%from = mul nuw nsw i64 %%chunk, %1$d\n  %%left = sub nsw i64 %%n.word, %%from\n"
                        "  %%count.long = call i64 @llvm.umin.i64(i64 %%left, i64 %1$d)\n"
                        "  %%count.all = trunc i64 %%count.long to i32\n"
                        "  %%is.column = icmp ult i64 %%column, %%columns.word\n"
                        "  %%count = select i1 %%is.column, i32 %%count.all, i32 0\n"
                        "  %%p0.skip = mul nsw i64 %%from, %%step.word\n"
                        "  %%p0.chunk = getelementptr inbounds i8, ptr %%p0.base, i64 %%p0.skip\n"
                        "  %%p0.first = getelementptr inbounds [%2$zu x i8], ptr %%p0.chunk, i64 %%column\n"
                        "  %%o0.skip = mul nsw i64 %%chunk, %%advance.word\n"
                        "  %%o0.chunk = getelementptr inbounds i8, ptr %%o0.base, i64 %%o0.skip\n"
                        "  %%to = getelementptr inbounds [%3$zu x i8], ptr %%o0.chunk, i64 %%column\n",
                        KILN_REDUCE_CHUNK, kiln__dtype_size(c->r.in), kiln__dtype_size(c->r.out));
}

/* name = element `at` (an i32) of the column, as a lane holds it; it is loaded as name.x. */
static void print_load(struct columns *c, const char *name, const char *at)
{
    char pointer[KILN_IR_NAME], value[KILN_IR_NAME];
    snprintf(pointer, sizeof pointer, "%.48s.at", name);
    snprintf(value, sizeof value, "%.48s.x", name);
    kiln__buffer_printf(c->p->text,
                        "  %1$s.long = zext i32 %2$s to i64\n  %1$s.skip = mul nsw i64 %1$s.long, %%step.word\n"
                        "  %1$s.at = getelementptr inbounds i8, ptr %%p0.first, i64 %1$s.skip\n",
                        name, at);
    kiln__ir_load(c->p->text, &c->p->declarations, value, c->r.in, pointer, "");
}

static void print_enter(struct columns *c, const char *name)
{
    char value[KILN_IR_NAME];
    snprintf(value, sizeof value, "%.48s.x", name);
    c->r.declarations = c->p->declarations;
    kiln__reduce_enter(&c->r, name, value, 0);
    c->p->declarations = c->r.declarations;
}

/* Whole spans of the chunk: COPIES elements for each of the two lanes %lane0 and %lane1. */
static void print_spans(struct columns *c)
{
    struct kiln_printer *p = c->p;
    char at[KILN_IR_NAME];
    kiln__buffer_printf(p->text,
                        "  br label %%spans\n\nspans:\n  %%b = phi i32 [ 0, %%entry ], [ %%b.next, %%span ]\n");
    for (uint32_t lane = 0; lane < 2; lane++)
        kiln__lane_phi(&c->r, kiln__name("lane", lane, "").text, NULL, "entry",
                       kiln__name("sum", lane + 2 * (COPIES - 1), "").text, "span");
    kiln__buffer_printf(p->text,
                        "  %%b.next = add nuw nsw i32 %%b, %d\n  %%b.more = icmp ule i32 %%b.next, %%count\n"
                        "  br i1 %%b.more, label %%span, label %%rests\n\nspan:\n  %%b.pair = add nuw nsw i32 %%b, "
                        "%%pair\n",
                        SPAN);
    for (uint32_t k = 0; k < 2 * COPIES; k++) {
        kiln__buffer_printf(p->text, "  %%k%u = add nuw nsw i32 %%b.pair, %u\n", k, k * PAIRS);
        snprintf(at, sizeof at, "%%k%u", k);
        print_load(c, kiln__name("x", k, "").text, at);
    }
    for (uint32_t k = 0; k < 2 * COPIES; k++) {
        struct kiln_name x = kiln__name("x", k, "");
        print_enter(c, x.text);
        kiln__reduce_combine(&c->r, kiln__name("sum", k, "").text,
                             (k < 2 ? kiln__name("lane", k, "") : kiln__name("sum", k - 2, "")).text, x.text, 0);
    }
    kiln__buffer_printf(p->text, "  br label %%spans\n\n");
}

/* What is left over, an element for each lane at a time; the second may not be there. */
static void print_rest(struct columns *c)
{
    struct kiln_printer *p = c->p;
    kiln__buffer_printf(p->text, "rests:\n  %%r = phi i32 [ %%b, %%spans ], [ %%r.next, %%join ]\n");
    kiln__lane_phi(&c->r, "%rest0", "%lane0", "spans", "%next0", "join");
    kiln__lane_phi(&c->r, "%rest1", "%lane1", "spans", "%next1", "join");
    kiln__buffer_printf(p->text, "  %%r.pair = add nuw nsw i32 %%r, %%pair\n"
                                 "  %%r.more = icmp ult i32 %%r.pair, %%count\n"
                                 "  br i1 %%r.more, label %%rest, label %%total\n\nrest:\n");
    print_load(c, "%y0", "%r.pair");
    print_enter(c, "%y0");
    kiln__reduce_combine(&c->r, "%next0", "%rest0", "%y0", 0);
    kiln__buffer_printf(p->text,
                        "  %%r.other = add nuw nsw i32 %%r.pair, %d\n  %%r.both = icmp ult i32 %%r.other, %%count\n"
                        "  br i1 %%r.both, label %%other, label %%join\n\nother:\n",
                        PAIRS);
    print_load(c, "%y1", "%r.other");
    print_enter(c, "%y1");
    kiln__reduce_combine(&c->r, "%sum.other", "%rest1", "%y1", 0);
    kiln__buffer_printf(p->text, "  br label %%join\n\njoin:\n");
    kiln__lane_phi(&c->r, "%next1", "%sum.other", "other", "%rest1", "rest");
    kiln__buffer_printf(p->text, "  %%r.next = add nuw nsw i32 %%r, %d\n  br label %%rests\n\n", LANES);
}

/* The pairs meet; the first warp combines those of its columns. */
static void print_total(struct columns *c)
{
    struct kiln_printer *p = c->p;
    char index[KILN_IR_NAME];
    kiln__buffer_printf(p->text, "total:\n  %%place = zext i32 %%thread to i64\n");
    kiln__reduce_combine(&c->r, "%both", "%rest0", "%rest1", 0);
    kiln__lane_store(&c->r, "%both", 0, KILN_GPU_BLOCK, "%place");
    kiln__gpu_barrier(p);
    kiln__buffer_printf(p->text, "  %%is.first = icmp eq i32 %%pair, 0\n  %%is.last = and i1 %%is.first, %%is.column\n"
                                 "  br i1 %%is.last, label %%finish, label %%exit\n\nfinish:\n");
    for (uint32_t k = 0; k < PAIRS; k++) {
        kiln__buffer_printf(p->text, "  %%place%u = add nuw nsw i64 %%lane.long, %u\n", k, k * COLUMNS);
        snprintf(index, sizeof index, "%%place%u", k);
        kiln__lane_load(&c->r, kiln__name("l8.", k, "").text, 0, KILN_GPU_BLOCK, index);
    }
    for (uint32_t half = PAIRS / 2; half; half /= 2) {
        char from[16], to[16];
        snprintf(from, sizeof from, "l%u.", 2 * half);
        snprintf(to, sizeof to, "l%u.", half);
        for (uint32_t k = 0; k < half; k++)
            kiln__reduce_combine(&c->r, kiln__name(to, k, "").text, kiln__name(from, k, "").text,
                                 kiln__name(from, k + half, "").text, 0);
    }
    c->r.declarations = p->declarations;
    kiln__reduce_leave(&c->r, "%l1.0", "%to", "");
    p->declarations = c->r.declarations;
    kiln__buffer_printf(p->text, "  br label %%exit\n\nexit:\n  ret void\n}\n");
    kiln__gpu_shared(p, "lanes", "i8", kiln__lane_bytes(&c->r, KILN_GPU_BLOCK));
}

kiln_status kiln__gpu_print_columns(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    struct columns c = {.p = p, .config = config, .r = {.text = p->text}};
    kiln_status status = check_reduction(&c, err);
    if (status) return status;
    kiln__gpu_open(p, config, "columns n chunks step advance blocks");
    print_position(&c);
    print_spans(&c);
    print_rest(&c);
    print_total(&c);
    return KILN_OK;
}
