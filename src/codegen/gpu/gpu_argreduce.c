/*
 * gpu_argreduce.c - the schedule of argmin and argmax: a warp goes through a chunk of a row, and its threads agree on
 * where the best element is.
 *
 * An element is its key, an unsigned number of which the largest is looked for (runtime/order.h; turned over for
 * argmin), and its position in the row. Of equal keys the lower position wins, so pairs can be combined in any order:
 * each thread takes every 32nd element. Where it has no more it looks at the last one again, as if that came later:
 * there the lower position is the right one.
 */
#include <stdio.h>
#include <string.h>

#include "codegen/gpu/gpu_lanes.h"
#include "codegen/gpu/gpu_printer.h"

enum {
    TOGETHER = 8, /* elements of a thread that are loaded before the first is looked at; */
    BLOCKS = 4    /* of a multiprocessor leave the registers for that */
};

static kiln_status check_argreduce(const struct kiln_printer *p, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    bool fits = group->operand_count == 2 && !group->constant_count && group->instr_count == 1 &&
                group->output_count == 1 && group->outputs[0] == 2 && group->instrs[0].dtype == KILN_UINT32 &&
                (group->instrs[0].op == KILN_OP_ARGMIN || group->instrs[0].op == KILN_OP_ARGMAX) &&
                group->operand_dtypes[1] == KILN_UINT32 && strchr("cv", p->layouts[0]) && strchr("si", p->layouts[1]);
    if (fits) return KILN_OK;
    return kiln__fail(
        err, KILN_INVALID,
        "an argreduce kernel has one instruction, argmin or argmax, of data ('c' or 'v') and uint32 ('s' or 'i')");
}

static bool reads_through(const struct kiln_printer *p)
{
    return p->layouts[1] == KILN_LAYOUT_INDEX;
}

static const char *key_type(const struct kiln_printer *p)
{
    return kiln__dtype_size(p->dtypes[0]) == 8 ? "i64" : "i32";
}

/* ---- where ------------------------------------------------------------------------------------------------------ */

/* name = the smaller of two i32. */
static void print_least(struct kiln_printer *p, const char *name, const char *a, const char *b)
{
    kiln__ir_declare(&p->declarations, "i32", "llvm.umin.i32", "i32, i32");
    kiln__buffer_printf(p->text, "  %s = call i32 @llvm.umin.i32(i32 %s, i32 %s)\n", name, a, b);
}

/* %warp of the grid, and %lane in it. */
static void find_warp(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    const char *type = kiln__gpu_index(config);
    kiln__buffer_printf(p->text, "  %%lane = and i32 %%thread, %d\n  %%own = lshr i32 %%thread, 5\n",
                        KILN_GPU_WARP - 1);
    if (config->is_long)
        kiln__buffer_printf(p->text,
                            "  %%block.index = zext i32 %%block to i64\n  %%own.index = zext i32 %%own to i64\n");
    else
        kiln__buffer_printf(p->text, "  %%block.index = add i32 %%block, 0\n  %%own.index = add i32 %%own, 0\n");
    kiln__buffer_printf(
        p->text, "  %%before = mul nuw %1$s %%block.index, %2$d\n  %%warp = add nuw %1$s %%before, %%own.index\n", type,
        KILN_GPU_WARPS);
}

/* Positions %begin to before %end of row %row.at, which are 32 bits whatever the config; %last is the last of them. */
static void find_chunk(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    kiln__buffer_printf(p->text,
                        "  %%row.at = udiv %1$s %%warp, %%chunks\n  %%row.whole = mul nuw %1$s %%row.at, %%chunks\n"
                        "  %%chunk.at = sub nuw %1$s %%warp, %%row.whole\n",
                        kiln__gpu_index(config));
    kiln__gpu_extend(p, config, "%chunk.long", "%chunk.at");
    kiln__buffer_printf(p->text, "  %%begin.long = mul nuw i64 %%chunk.long, %%chunk.word\n"
                                 "  %%begin = trunc i64 %%begin.long to i32\n  %%size = trunc i64 %%n.word to i32\n"
                                 "  %%length = trunc i64 %%chunk.word to i32\n"
                                 "  %%after = add nuw i32 %%begin, %%length\n");
    print_least(p, "%end", "%after", "%size");
    kiln__buffer_printf(p->text, "  %%last = sub nuw i32 %%end, 1\n  %%start = add nuw i32 %%begin, %%lane\n");
}

/* %pN.NAME: where operand N has the element at position `at`, an i32. */
static void print_address(struct kiln_printer *p, uint32_t operand, const char *name, const char *at)
{
    char stride[KILN_IR_NAME] = "%stride.word";
    if (p->layouts[operand] != KILN_LAYOUT_STRIDED)
        snprintf(stride, sizeof stride, "%zu", kiln__dtype_size(p->dtypes[operand]));
    kiln__buffer_printf(p->text,
                        "  %%p%1$u.%2$s.long = zext i32 %3$s to i64\n"
                        "  %%p%1$u.%2$s.off = mul nsw i64 %%p%1$u.%2$s.long, %4$s\n"
                        "  %%p%1$u.%2$s = getelementptr inbounds i8, ptr %%p%1$u.base, i64 %%p%1$u.%2$s.off\n",
                        operand, name, at, stride);
}

/* name = the position of position `at`. */
static void print_position(struct kiln_printer *p, const char *name, const char *suffix, const char *at)
{
    if (!reads_through(p)) {
        kiln__buffer_printf(p->text, "  %s = add i32 %s, 0\n", name, at);
        return;
    }
    print_address(p, 1, suffix, at);
    kiln__buffer_printf(p->text, "  %s = load i32, ptr %%p1.%s, align 4\n", name, suffix);
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* %raw.K: the bits of element K from %i on, in the type of keys; %i.K is its position. */
static void load_element(struct kiln_printer *p, int k)
{
    size_t bytes = kiln__dtype_size(p->dtypes[0]);
    char at[KILN_IR_NAME], from[KILN_IR_NAME], position[KILN_IR_NAME], suffix[16];
    snprintf(at, sizeof at, "%%at.%d", k);
    snprintf(from, sizeof from, "%%i.%d", k);
    snprintf(position, sizeof position, "%%place.%d", k);
    snprintf(suffix, sizeof suffix, "at%d", k);
    kiln__buffer_printf(p->text, "  %s = add nuw i32 %%i, %d\n", from, k * KILN_GPU_WARP);
    print_least(p, at, from, "%last");
    print_position(p, position, suffix, at);
    print_address(p, 0, suffix, position);
    if (bytes >= 4) {
        kiln__buffer_printf(p->text, "  %%raw.%d = load %s, ptr %%p0.%s, align %zu\n", k, key_type(p), suffix, bytes);
        return;
    }
    kiln__buffer_printf(p->text, "  %%raw.%1$d.short = load i%2$zu, ptr %%p0.%3$s, align %4$zu\n", k, bytes * 8, suffix,
                        bytes);
    kiln__buffer_printf(p->text, "  %%raw.%1$d = zext i%2$zu %%raw.%1$d.short to i32\n", k, bytes * 8);
}

/* %least.K = %order.K, but 0 for NaN, whose order is the largest; no number has 0. */
static void print_nan_as_least(struct kiln_printer *p, int k, const char *type)
{
    const char *nan = kiln__dtype_size(p->dtypes[0]) == 2 ? "65535" : "-1";
    if (kiln__dtypes[p->dtypes[0]].kind < KILN_KIND_FLOAT) {
        kiln__buffer_printf(p->text, "  %%least.%1$d = add %2$s %%order.%1$d, 0\n", k, type);
        return;
    }
    kiln__buffer_printf(p->text,
                        "  %%nan.%1$d = icmp eq %2$s %%order.%1$d, %3$s\n"
                        "  %%least.%1$d = select i1 %%nan.%1$d, %2$s 0, %2$s %%order.%1$d\n",
                        k, type, nan);
}

/* %key.K: the largest is the best; that of NaN is above all others. */
static void print_key(struct kiln_printer *p, int k)
{
    const char *type = key_type(p);
    char helper[KILN_IR_NAME];
    snprintf(helper, sizeof helper, "kiln_order_%s", kiln__dtypes[p->dtypes[0]].abbr);
    kiln__ir_declare(&p->declarations, type, helper, type);
    kiln__buffer_printf(p->text, "  %%order.%d = call %s @%s(%s %%raw.%d)\n", k, type, helper, type, k);
    if (p->group->instrs[0].op == KILN_OP_ARGMAX) {
        kiln__buffer_printf(p->text, "  %%key.%1$d = add %2$s %%order.%1$d, 0\n", k, type);
        return;
    }
    print_nan_as_least(p, k, type);
    kiln__buffer_printf(p->text, "  %%key.%1$d = xor %2$s %%least.%1$d, -1\n", k, type);
}

/* %best.K and %where.K: the best so far; a thread's positions ascend, so that an equal one never is better. */
static void compare_element(struct kiln_printer *p, int k)
{
    char before[16] = "";
    if (k > 0) snprintf(before, sizeof before, ".%d", k - 1);
    kiln__buffer_printf(p->text,
                        "  %%better.%1$d = icmp ugt %2$s %%key.%1$d, %%best%3$s\n"
                        "  %%best.%1$d = select i1 %%better.%1$d, %2$s %%key.%1$d, %2$s %%best%3$s\n"
                        "  %%where.%1$d = select i1 %%better.%1$d, i32 %%i.%1$d, i32 %%where%3$s\n",
                        k, key_type(p), before);
}

/* The loop's end is the same for the whole warp. */
static void print_loop(struct kiln_printer *p)
{
    kiln__buffer_printf(p->text,
                        "  br label %%search\n\nsearch:\n"
                        "  %%round = phi i32 [ %%begin, %%row ], [ %%round.next, %%search ]\n"
                        "  %%best = phi %1$s [ 0, %%row ], [ %%best.%2$d, %%search ]\n"
                        "  %%where = phi i32 [ %%start, %%row ], [ %%where.%2$d, %%search ]\n"
                        "  %%i = add nuw i32 %%round, %%lane\n",
                        key_type(p), TOGETHER - 1);
    for (int k = 0; k < TOGETHER; k++) load_element(p, k);
    for (int k = 0; k < TOGETHER; k++) print_key(p, k);
    for (int k = 0; k < TOGETHER; k++) compare_element(p, k);
    kiln__buffer_printf(p->text,
                        "  %%round.next = add nuw i32 %%round, %d\n  %%more = icmp ult i32 %%round.next, %%end\n"
                        "  br i1 %%more, label %%search, label %%agree" KILN_GPU_ROLLED "\n\nagree:\n",
                        TOGETHER * KILN_GPU_WARP);
}

/* ---- together --------------------------------------------------------------------------------------------------- */

/* %bestD and %whereD, from %bestS and %whereS of this thread and the one `distance` away. */
static void agree_with(struct kiln_printer *p, int distance, const char *source)
{
    char best[KILN_IR_NAME], where[KILN_IR_NAME], key[KILN_IR_NAME], at[KILN_IR_NAME];
    snprintf(best, sizeof best, "%%best%s", source);
    snprintf(where, sizeof where, "%%where%s", source);
    snprintf(key, sizeof key, "%%other.key%d", distance);
    snprintf(at, sizeof at, "%%other.at%d", distance);
    kiln__gpu_exchange(p, key_type(p), key, best, "bfly", distance);
    kiln__gpu_exchange(p, "i32", at, where, "bfly", distance);
    kiln__buffer_printf(p->text,
                        "  %%above%1$d = icmp ugt %2$s %3$s, %4$s\n  %%equal%1$d = icmp eq %2$s %3$s, %4$s\n"
                        "  %%sooner%1$d = icmp ult i32 %5$s, %6$s\n  %%first%1$d = and i1 %%equal%1$d, %%sooner%1$d\n"
                        "  %%wins%1$d = or i1 %%above%1$d, %%first%1$d\n"
                        "  %%best.d%1$d = select i1 %%wins%1$d, %2$s %3$s, %2$s %4$s\n"
                        "  %%where.d%1$d = select i1 %%wins%1$d, i32 %5$s, i32 %6$s\n",
                        distance, key_type(p), key, best, at, where);
}

static void print_agreement(struct kiln_printer *p)
{
    char source[16];
    snprintf(source, sizeof source, ".%d", TOGETHER - 1);
    for (int distance = KILN_GPU_WARP / 2; distance >= 1; distance /= 2) {
        agree_with(p, distance, source);
        snprintf(source, sizeof source, ".d%d", distance);
    }
}

kiln_status kiln__gpu_print_argreduce(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    const char *type = kiln__gpu_index(config);
    if (check_argreduce(p, err)) return KILN_INVALID;
    p->blocks = BLOCKS;
    kiln__gpu_open(p, config, "rows n chunk chunks stride");
    find_warp(p, config);
    kiln__buffer_printf(
        p->text, "  %%total = mul nuw %1$s %%rows, %%chunks\n  %%exists = icmp ult %1$s %%warp, %%total\n", type);
    kiln__buffer_printf(p->text, "  br i1 %%exists, label %%row, label %%exit\n\nrow:\n");
    find_chunk(p, config);
    kiln__gpu_print_bases(p, config, "%row.at", 0, config->axes);
    print_loop(p);
    print_agreement(p);
    kiln__buffer_printf(p->text, "  %%is.first = icmp eq i32 %%lane, 0\n"
                                 "  br i1 %%is.first, label %%store, label %%exit\n\nstore:\n");
    print_position(p, "%place", "found", "%where.d1");
    kiln__buffer_printf(p->text, "  %%o0.to = getelementptr inbounds i32, ptr %%o0.base, i64 %%chunk.long\n"
                                 "  store i32 %%place, ptr %%o0.to, align 4\n"
                                 "  br label %%exit\n\nexit:\n  ret void\n}\n");
    return KILN_OK;
}
