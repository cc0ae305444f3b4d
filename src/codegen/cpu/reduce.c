/*
 * reduce.c - the text of one level of a reduction along one axis: see group.h. What a lane holds and how lanes are
 * combined is in combine.c; the form for columns in reduce_columns.c.
 *
 * 16 lanes, element i in lane i mod 16. Whole blocks of 16 elements are combined with the lanes as vectors (a vertical
 * reduction). The tail, fewer than 16 elements, is combined as one masked vector, or, where the target has no masked
 * load of the dtype, element by element with the lanes on the stack. Then the lanes are combined with each other (a
 * horizontal reduction): k and k + 8, k and k + 4, k and k + 2, k and k + 1. The order does not depend on the layout,
 * so 'c', 'v' and 'r' give the same bits.
 */
#include "codegen/combine.h"
#include "codegen/group.h"
#include "codegen/kernel_name.h"
#include "codegen/lower.h"

enum { LANES = KILN_REDUCE_LANES };

static void print_head(struct kiln_reducer *r)
{
    kiln__print(r->ir, "; kiln reduction: $0 $1($2, $3), $4 lanes of $5\n\n", kiln__dtypes[r->out].name,
                kiln__ops[r->op].name, kiln__dtypes[r->in].name, kiln__layout_word(r->layout), LANES,
                kiln__dtypes[r->lane].name);
    kiln__print(r->ir,
                "define void $@(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) {\n"
                "entry:\n");
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %lanes$0 = alloca [$1 x $2], align 64\n", part, LANES, kiln__ir_value_type(r->lane));
    kiln__print(r->ir, "  %o = load ptr, ptr %args, align 8\n"
                       "  %p.arg = getelementptr inbounds i64, ptr %args, i64 1\n"
                       "  %p = load ptr, ptr %p.arg, align 8\n"
                       "  %o.row = load i64, ptr %strides, align 8\n"
                       "  %p.rowat = getelementptr inbounds i64, ptr %strides, i64 2\n"
                       "  %p.row = load i64, ptr %p.rowat, align 8\n");
    if (r->layout == KILN_LAYOUT_PACKED) {
        kiln__print(r->ir, "  %inner = add i64 0, $0\n", kiln__dtype_size(r->in));
    } else {
        kiln__print(r->ir, "  %p.innerat = getelementptr inbounds i64, ptr %strides, i64 3\n"
                           "  %inner = load i64, ptr %p.innerat, align 8\n");
    }
    kiln__print(r->ir,
                "  %blocks = and i64 %n, -$0\n"
                "  %some = icmp sgt i64 %rows, 0\n"
                "  br i1 %some, label %outer, label %exit\n\n"
                "outer:\n"
                "  %row = phi i64 [ 0, %entry ], [ %row.next, %finish ]\n"
                "  %o.skip = mul nsw i64 %row, %o.row\n"
                "  %o.at = getelementptr inbounds i8, ptr %o, i64 %o.skip\n"
                "  %p.skip = mul nsw i64 %row, %p.row\n"
                "  %base = getelementptr inbounds i8, ptr %p, i64 %p.skip\n"
                "  br label %block.test\n\n",
                LANES);
}

/* %x (or %xr, %xi) = 16 contiguous elements, of the memory type. */
static void print_packed_block(struct kiln_reducer *r, const char *name)
{
    const char *type = kiln__ir_memory_type(r->in);
    kiln__print(r->ir, "  %from = getelementptr inbounds [$0 x i8], ptr %base, i64 %j\n", kiln__dtype_size(r->in));
    if (r->in != KILN_COMPLEX64) {
        kiln__print(r->ir, "  $0 = load <$1 x $2>, ptr %from, align $3\n", name, LANES, type, kiln__dtype_size(r->in));
        return;
    }
    kiln__print(r->ir, "  %pairs = load <$0 x float>, ptr %from, align 4\n", 2 * LANES);
    for (int part = 0; part < 2; part++) {
        kiln__print(r->ir, "  $0$1 = shufflevector <$2 x float> %pairs, <$2 x float> poison, <$3 x i32> <", name,
                    kiln__ir_part(r->in, part), 2 * LANES, LANES);
        for (int k = 0; k < LANES; k++) kiln__print(r->ir, "$0i32 $1", k ? ", " : "", 2 * k + part);
        kiln__print(r->ir, ">\n");
    }
}

/* The same with any stride: a gather, element by element. */
static void print_strided_block(struct kiln_reducer *r, const char *name)
{
    const char *type = kiln__ir_memory_type(r->in);
    int parts = kiln__ir_parts(r->in);
    size_t align = kiln__dtype_size(r->in) / (size_t)parts;
    for (int k = 0; k < LANES; k++) {
        kiln__print(r->ir,
                    "  %j$0 = add nuw nsw i64 %j, $0\n"
                    "  %j$0.skip = mul nsw i64 %j$0, %inner\n"
                    "  %at$0 = getelementptr inbounds i8, ptr %base, i64 %j$0.skip\n",
                    k);
        for (int part = 0; part < parts; part++) {
            struct kiln_name before = kiln__name(r->ir, "%g$0_$1", part, k - 1);
            kiln__print(r->ir,
                        "  %at$0_$1 = getelementptr inbounds i8, ptr %at$1, i64 $2\n"
                        "  %e$0_$1 = load $3, ptr %at$0_$1, align $4\n",
                        part, k, 4 * part, type, align);
            if (k == LANES - 1)
                kiln__print(r->ir, "  $0$1", name, kiln__ir_part(r->in, part));
            else
                kiln__print(r->ir, "  %g$0_$1", part, k);
            kiln__print(r->ir, " = insertelement <$0 x $1> $2, $1 %e$3_$4, i64 $4\n", LANES, type,
                        k ? before.text : "poison", part, k);
        }
    }
}

/* kiln_widen_f16() of codegen/runtime, on a vector. */
static void print_widen_f16(struct kiln_reducer *r)
{
    kiln__print(r->ir, "  %w.b = zext <16 x i16> %raw to <16 x i32>\n"
                       "  %w.m = and <16 x i32> %w.b, splat (i32 32767)\n"
                       "  %w.s = shl <16 x i32> %w.m, splat (i32 13)\n"
                       "  %w.n = add <16 x i32> %w.s, splat (i32 939524096)\n"
                       "  %w.i = icmp uge <16 x i32> %w.m, splat (i32 31744)\n"
                       "  %w.x = add <16 x i32> %w.n, splat (i32 939524096)\n"
                       "  %w.k = select <16 x i1> %w.i, <16 x i32> %w.x, <16 x i32> %w.n\n"
                       "  %w.d = add <16 x i32> %w.s, splat (i32 947912704)\n"
                       "  %w.e = bitcast <16 x i32> %w.d to <16 x float>\n"
                       "  %w.f = fsub <16 x float> %w.e, splat (float 0x3F10000000000000)\n"
                       "  %w.g = bitcast <16 x float> %w.f to <16 x i32>\n"
                       "  %w.t = icmp ult <16 x i32> %w.m, splat (i32 1024)\n"
                       "  %w.r = select <16 x i1> %w.t, <16 x i32> %w.g, <16 x i32> %w.k\n"
                       "  %w.h = and <16 x i32> %w.b, splat (i32 32768)\n"
                       "  %w.o = shl <16 x i32> %w.h, splat (i32 16)\n"
                       "  %w.q = or <16 x i32> %w.r, %w.o\n"
                       "  %x = bitcast <16 x i32> %w.q to <16 x float>\n");
}

/* %x = the 16 elements of the block as values of dtype `in`. */
static void print_block_value(struct kiln_reducer *r)
{
    bool direct = r->in != KILN_BOOL && !kiln__ir_is_narrow(r->in);
    const char *name = direct ? "%x" : "%raw";
    if (r->layout == KILN_LAYOUT_PACKED)
        print_packed_block(r, name);
    else
        print_strided_block(r, name);
    if (r->in == KILN_BOOL) kiln__print(r->ir, "  %x = icmp ne <16 x i8> %raw, zeroinitializer\n");
    if (r->in == KILN_FLOAT16) print_widen_f16(r);
    if (r->in == KILN_BFLOAT16)
        kiln__print(r->ir, "  %w.b = zext <16 x i16> %raw to <16 x i32>\n"
                           "  %w.s = shl <16 x i32> %w.b, splat (i32 16)\n"
                           "  %x = bitcast <16 x i32> %w.s to <16 x float>\n");
}

static void print_blocks(struct kiln_reducer *r)
{
    const char *type = kiln__ir_value_type(r->lane);
    int parts = kiln__ir_parts(r->lane);
    kiln__print(r->ir, "block.test:\n  %j = phi i64 [ 0, %outer ], [ %j.next, %block ]\n");
    for (int part = 0; part < parts; part++)
        kiln__print(r->ir, "  %sum$0 = phi <$1 x $2> [ splat ($2 $3), %outer ], [ %sum.next$0, %block ]\n",
                    kiln__ir_part(r->lane, part), LANES, type, kiln__reduce_identity(r, part));
    kiln__print(r->ir, "  %more = icmp slt i64 %j, %blocks\n"
                       "  br i1 %more, label %block, label %end\n\n"
                       "block:\n");
    print_block_value(r);
    kiln__reduce_enter(r, "%y", "%x", LANES);
    kiln__reduce_combine(r, "%sum.next", "%sum", "%y", LANES);
    kiln__print(r->ir,
                "  %j.next = add nuw nsw i64 %j, $0\n"
                "  br label %block.test\n\n"
                "end:\n",
                LANES);
}

/* The tail as one masked vector, then the horizontal reduction. */
static bool has_masked_tail(const struct kiln_reducer *r)
{
    bool direct = r->in != KILN_COMPLEX64 && r->in != KILN_BOOL && !kiln__ir_is_narrow(r->in);
    return r->layout == KILN_LAYOUT_PACKED && direct && kiln__reduce_has_masked_load(kiln__ir_memory_type(r->in));
}

static void print_masked_tail(struct kiln_reducer *r)
{
    kiln__print(r->ir,
                "  %left = sub nsw i64 %n, %blocks\n"
                "  %is.left = icmp ne i64 %left, 0\n"
                "  br i1 %is.left, label %tail, label %finish\n\n"
                "tail:\n"
                "  %t.at = getelementptr inbounds [$0 x i8], ptr %base, i64 %blocks\n",
                kiln__dtype_size(r->in));
    kiln__reduce_mask(r, "%left");
    kiln__reduce_masked_load(r, "%t.x", kiln__ir_memory_type(r->in), "%t.at");
    kiln__reduce_enter(r, "%t.y", "%t.x", LANES);
    kiln__reduce_masked_combine(r, "%new", "%sum", "%t.y");
    kiln__print(r->ir, "  br label %finish\n\nfinish:\n");
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %all$0 = phi <$1 x $2> [ %sum$0, %end ], [ %new$0, %tail ]\n",
                    kiln__ir_part(r->lane, part), LANES, kiln__ir_value_type(r->lane));
    kiln__reduce_pairs(r, "%all");
}

/* The lanes are stored, and the tail is combined with them element by element. */
static void print_tail(struct kiln_reducer *r)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  store <$0 x $1> %sum$2, ptr %lanes$3, align 64\n", LANES, type,
                    kiln__ir_part(r->lane, part), part);
    kiln__print(r->ir, "  br label %tail.test\n\n"
                       "tail.test:\n"
                       "  %t = phi i64 [ %blocks, %end ], [ %t.next, %tail ]\n"
                       "  %t.more = icmp slt i64 %t, %n\n"
                       "  br i1 %t.more, label %tail, label %finish\n\n"
                       "tail:\n"
                       "  %t.skip = mul nsw i64 %t, %inner\n"
                       "  %t.at = getelementptr inbounds i8, ptr %base, i64 %t.skip\n"
                       "  %lane = sub nsw i64 %t, %blocks\n");
    kiln__ir_load(r->ir, "%t.x", r->in, "%t.at", "");
    kiln__reduce_enter(r, "%t.y", "%t.x", 0);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        kiln__print(r->ir,
                    "  %lane$0 = getelementptr inbounds $1, ptr %lanes$0, i64 %lane\n"
                    "  %old$2 = load $1, ptr %lane$0, align $3\n",
                    part, type, kiln__ir_part(r->lane, part), kiln__reduce_lane_align(r));
    }
    kiln__reduce_combine(r, "%new", "%old", "%t.y", 0);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  store $0 %new$1, ptr %lane$2, align $3\n", type, kiln__ir_part(r->lane, part), part,
                    kiln__reduce_lane_align(r));
    kiln__print(r->ir, "  %t.next = add nuw nsw i64 %t, 1\n"
                       "  br label %tail.test, !llvm.loop !0\n\n"
                       "finish:\n");
    kiln__reduce_total(r);
}

static void print_finish(struct kiln_reducer *r)
{
    kiln__reduce_leave(r, "%total", "%o.at", "");
    kiln__print(r->ir, "  %row.next = add nuw nsw i64 %row, 1\n"
                       "  %row.done = icmp eq i64 %row.next, %rows\n"
                       "  br i1 %row.done, label %exit, label %outer\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    kiln__print_declarations(r->ir);
    kiln__print(r->ir, "\n"
                       "!0 = distinct !{!0, !1}\n"
                       "!1 = !{!\"llvm.loop.vectorize.width\", i32 1}\n");
}

kiln_status kiln__reduction_print(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out, char layout,
                                  struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    struct kiln_reducer r = {.ir = &ir};
    kiln_status status = kiln__reducer_init(&r, op, in, out, layout, err);
    if (status) return status;
    if (layout == KILN_LAYOUT_ROWS) {
        kiln__reduce_columns_print(&r);
    } else {
        print_head(&r);
        print_blocks(&r);
        if (has_masked_tail(&r))
            print_masked_tail(&r);
        else
            print_tail(&r);
        print_finish(&r);
    }
    kiln__print_operation_name(&ir, kiln__ops[op].name, out);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
