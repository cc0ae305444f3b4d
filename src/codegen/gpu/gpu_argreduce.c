/*
 * gpu_argreduce.c - the schedule of argmin and argmax: a warp searches a chunk of a row; its threads then reduce their
 * results by shuffles.
 *
 * An element is represented by its key, an unsigned integer whose maximum is searched (runtime/order_keys.h; inverted
 * for argmin), and its position in the row. Of equal keys the lower position wins, so (key, position) pairs can be
 * combined in any order: each thread takes every 32nd element. A thread past the end reads the last element again with
 * a higher position, which loses the tie against the real one.
 */
#include <string.h>

#include "codegen/gpu/gpu_lanes.h"
#include "codegen/gpu/gpu_printer.h"

enum {
    TOGETHER = 8, /* elements of a thread that are loaded before the first is used; */
    BLOCKS = 4    /* resident blocks per multiprocessor leave the registers for that */
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
    kiln__declare(p->ir, "declare i32 @llvm.umin.i32(i32, i32)\n");
    kiln__print(p->ir, "  $0 = call i32 @llvm.umin.i32(i32 $1, i32 $2)\n", name, a, b);
}

/* %warp of the grid, and %lane in it. */
static void find_warp(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    const char *type = kiln__gpu_index(config);
    kiln__print(p->ir, "  %lane = and i32 %thread, $0\n  %own = lshr i32 %thread, 5\n", KILN_GPU_WARP - 1);
    if (config->is_long)
        kiln__print(p->ir, "  %block.index = zext i32 %block to i64\n  %own.index = zext i32 %own to i64\n");
    else
        kiln__print(p->ir, "  %block.index = add i32 %block, 0\n  %own.index = add i32 %own, 0\n");
    kiln__print(p->ir, "  %before = mul nuw $0 %block.index, $1\n  %warp = add nuw $0 %before, %own.index\n", type,
                KILN_GPU_WARPS);
}

/* Positions %begin to before %end of row %row.at, which are 32 bits whatever the config; %last is the last of them. */
static void find_chunk(struct kiln_printer *p, const struct kiln_gpu_config *config)
{
    kiln__print(p->ir,
                "  %row.at = udiv $0 %warp, %chunks\n"
                "  %row.whole = mul nuw $0 %row.at, %chunks\n"
                "  %chunk.at = sub nuw $0 %warp, %row.whole\n",
                kiln__gpu_index(config));
    kiln__gpu_extend(p, config, "%chunk.long", "%chunk.at");
    kiln__print(p->ir, "  %begin.long = mul nuw i64 %chunk.long, %chunk.word\n"
                       "  %begin = trunc i64 %begin.long to i32\n"
                       "  %size = trunc i64 %n.word to i32\n"
                       "  %length = trunc i64 %chunk.word to i32\n"
                       "  %after = add nuw i32 %begin, %length\n");
    print_least(p, "%end", "%after", "%size");
    kiln__print(p->ir, "  %last = sub nuw i32 %end, 1\n  %start = add nuw i32 %begin, %lane\n");
}

/* %pN.NAME: where operand N has the element at position `at`, an i32. */
static void print_address(struct kiln_printer *p, uint32_t operand, const char *name, const char *at)
{
    struct kiln_name stride = {"%stride.word"};
    if (p->layouts[operand] != KILN_LAYOUT_STRIDED)
        stride = kiln__name(p->ir, "$0", kiln__dtype_size(p->dtypes[operand]));
    kiln__print(p->ir,
                "  %p$0.$1.long = zext i32 $2 to i64\n"
                "  %p$0.$1.off = mul nsw i64 %p$0.$1.long, $3\n"
                "  %p$0.$1 = getelementptr inbounds i8, ptr %p$0.base, i64 %p$0.$1.off\n",
                operand, name, at, stride.text);
}

/* name = the position in the data of the row's element `at`. */
static void print_position(struct kiln_printer *p, const char *name, const char *suffix, const char *at)
{
    if (!reads_through(p)) {
        kiln__print(p->ir, "  $0 = add i32 $1, 0\n", name, at);
        return;
    }
    print_address(p, 1, suffix, at);
    kiln__print(p->ir, "  $0 = load i32, ptr %p1.$1, align 4\n", name, suffix);
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* %raw.K: the bits of element K from %i on, in the type of keys; %i.K is its position. */
static void load_element(struct kiln_printer *p, int k)
{
    size_t bytes = kiln__dtype_size(p->dtypes[0]);
    struct kiln_name at = kiln__name(p->ir, "%at.$0", k);
    struct kiln_name from = kiln__name(p->ir, "%i.$0", k);
    struct kiln_name position = kiln__name(p->ir, "%position.$0", k);
    struct kiln_name suffix = kiln__name(p->ir, "at$0", k);
    kiln__print(p->ir, "  $0 = add nuw i32 %i, $1\n", from.text, k * KILN_GPU_WARP);
    print_least(p, at.text, from.text, "%last");
    print_position(p, position.text, suffix.text, at.text);
    print_address(p, 0, suffix.text, position.text);
    if (bytes >= 4) {
        kiln__print(p->ir, "  %raw.$0 = load $1, ptr %p0.$2, align $3\n", k, key_type(p), suffix.text, bytes);
        return;
    }
    kiln__print(p->ir,
                "  %raw.$0.short = load i$1, ptr %p0.$2, align $3\n"
                "  %raw.$0 = zext i$1 %raw.$0.short to i32\n",
                k, bytes * 8, suffix.text, bytes);
}

/* %least.K = %order.K, but 0, which no number has, for NaN, whose %order is the largest. */
static void print_nan_as_least(struct kiln_printer *p, int k, const char *type)
{
    const char *nan = kiln__dtype_size(p->dtypes[0]) == 2 ? "65535" : "-1";
    if (kiln__dtypes[p->dtypes[0]].kind < KILN_KIND_FLOAT) {
        kiln__print(p->ir, "  %least.$0 = add $1 %order.$0, 0\n", k, type);
        return;
    }
    kiln__print(p->ir, "  %nan.$0 = icmp eq $1 %order.$0, $2\n  %least.$0 = select i1 %nan.$0, $1 0, $1 %order.$0\n", k,
                type, nan);
}

/* %key.K: the largest is the best; that of NaN is above all others. */
static void print_key(struct kiln_printer *p, int k)
{
    const char *type = key_type(p);
    struct kiln_name helper = kiln__name(p->ir, "kiln_order_$0", kiln__dtypes[p->dtypes[0]].abbr);
    kiln__declare(p->ir, "declare $0 @$1($0)\n", type, helper.text);
    kiln__print(p->ir, "  %order.$0 = call $1 @$2($1 %raw.$0)\n", k, type, helper.text);
    if (p->group->instrs[0].op == KILN_OP_ARGMAX) {
        kiln__print(p->ir, "  %key.$0 = add $1 %order.$0, 0\n", k, type);
        return;
    }
    print_nan_as_least(p, k, type);
    kiln__print(p->ir, "  %key.$0 = xor $1 %least.$0, -1\n", k, type);
}

/* %best.K and %where.K: the best so far; a thread's positions ascend, so that an equal one never is better. */
static void compare_element(struct kiln_printer *p, int k)
{
    struct kiln_name before = {""};
    if (k > 0) before = kiln__name(p->ir, ".$0", k - 1);
    kiln__print(p->ir,
                "  %better.$0 = icmp ugt $1 %key.$0, %best$2\n"
                "  %best.$0 = select i1 %better.$0, $1 %key.$0, $1 %best$2\n"
                "  %where.$0 = select i1 %better.$0, i32 %i.$0, i32 %where$2\n",
                k, key_type(p), before.text);
}

/* The loop's end is the same for the whole warp. */
static void print_loop(struct kiln_printer *p)
{
    kiln__print(p->ir,
                "  br label %search\n\n"
                "search:\n"
                "  %round = phi i32 [ %begin, %row ], [ %round.next, %search ]\n"
                "  %best = phi $0 [ 0, %row ], [ %best.$1, %search ]\n"
                "  %where = phi i32 [ %start, %row ], [ %where.$1, %search ]\n"
                "  %i = add nuw i32 %round, %lane\n",
                key_type(p), TOGETHER - 1);
    for (int k = 0; k < TOGETHER; k++) load_element(p, k);
    for (int k = 0; k < TOGETHER; k++) print_key(p, k);
    for (int k = 0; k < TOGETHER; k++) compare_element(p, k);
    kiln__print(p->ir,
                "  %round.next = add nuw i32 %round, $0\n  %more = icmp ult i32 %round.next, %end\n"
                "  br i1 %more, label %search, label %agree" KILN_GPU_ROLLED "\n\nagree:\n",
                TOGETHER * KILN_GPU_WARP);
}

/* ---- together --------------------------------------------------------------------------------------------------- */

/* %bestD and %whereD, from %bestS and %whereS of this thread and the one `distance` away. */
static void agree_with(struct kiln_printer *p, int distance, const char *source)
{
    struct kiln_name best = kiln__name(p->ir, "%best$0", source);
    struct kiln_name where = kiln__name(p->ir, "%where$0", source);
    struct kiln_name key = kiln__name(p->ir, "%other.key$0", distance);
    struct kiln_name at = kiln__name(p->ir, "%other.at$0", distance);
    kiln__gpu_exchange(p, key_type(p), key.text, best.text, "bfly", distance);
    kiln__gpu_exchange(p, "i32", at.text, where.text, "bfly", distance);
    kiln__print(p->ir,
                "  %above$0 = icmp ugt $1 $2, $3\n"
                "  %equal$0 = icmp eq $1 $2, $3\n"
                "  %sooner$0 = icmp ult i32 $4, $5\n"
                "  %first$0 = and i1 %equal$0, %sooner$0\n"
                "  %wins$0 = or i1 %above$0, %first$0\n"
                "  %best.d$0 = select i1 %wins$0, $1 $2, $1 $3\n"
                "  %where.d$0 = select i1 %wins$0, i32 $4, i32 $5\n",
                distance, key_type(p), key.text, best.text, at.text, where.text);
}

static void print_agreement(struct kiln_printer *p)
{
    struct kiln_name source;
    source = kiln__name(p->ir, ".$0", TOGETHER - 1);
    for (int distance = KILN_GPU_WARP / 2; distance >= 1; distance /= 2) {
        agree_with(p, distance, source.text);
        source = kiln__name(p->ir, ".d$0", distance);
    }
}

kiln_status kiln__gpu_print_argreduce(struct kiln_printer *p, const struct kiln_gpu_config *config, kiln_error *err)
{
    const char *type = kiln__gpu_index(config);
    if (check_argreduce(p, err)) return KILN_INVALID;
    p->blocks = BLOCKS;
    kiln__gpu_open(p, config, "rows n chunk chunks stride");
    find_warp(p, config);
    kiln__print(p->ir,
                "  %total = mul nuw $0 %rows, %chunks\n"
                "  %exists = icmp ult $0 %warp, %total\n"
                "  br i1 %exists, label %row, label %exit\n\n"
                "row:\n",
                type);
    find_chunk(p, config);
    kiln__gpu_print_bases(p, config, "%row.at", 0, config->axes);
    print_loop(p);
    print_agreement(p);
    kiln__print(p->ir, "  %is.first = icmp eq i32 %lane, 0\n"
                       "  br i1 %is.first, label %store, label %exit\n\n"
                       "store:\n");
    print_position(p, "%position", "found", "%where.d1");
    kiln__print(p->ir, "  %o0.to = getelementptr inbounds i32, ptr %o0.base, i64 %chunk.long\n"
                       "  store i32 %position, ptr %o0.to, align 4\n"
                       "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    return KILN_OK;
}
