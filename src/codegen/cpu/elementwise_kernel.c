/*
 * elementwise_kernel.c - the text of an element-wise kernel: see group.h for its interface.
 *
 *     for each row:  base pointers; scalar operands, and what is computed from those alone
 *         for each element:  load, compute, store          (iterations are independent: LLVM vectorizes the loop)
 *
 * The streaming form has one row and goes through it in tiles: the inner loop writes a tile into a buffer on the stack,
 * which is then copied to the output in whole cache lines with non-temporal stores. The first tile is cut so that the
 * second starts on a cache line.
 */
#include "codegen/cpu/cpu_printer.h"
#include "codegen/cpu/streaming.h"
#include "codegen/kernel_name.h"

/* The streaming form of this file; rows.c has one of its own. */
static bool is_streaming(const struct kiln_printer *p)
{
    return p->flags & KILN_GROUP_STREAMING && !(p->flags & KILN_GROUP_ROWS);
}

/* ---- pieces -------------------------------------------------------------------------------------------------------
 */

/* Pointers and strides: outputs are %o0, %o1, ..., operands %p0, %p1, ...; .row and .inner are their strides. */
static void print_pointer(struct kiln_printer *p, char side, uint32_t index, uint32_t slot, bool inner)
{
    kiln__print(p->ir,
                "  %$0$1.arg = getelementptr inbounds i64, ptr %args, i64 $2\n"
                "  %$0$1 = load ptr, ptr %$0$1.arg, align 8\n",
                side, index, slot);
    if (is_streaming(p)) return;
    kiln__print(p->ir,
                "  %$0$1.rowat = getelementptr inbounds i64, ptr %strides, i64 $2\n"
                "  %$0$1.row = load i64, ptr %$0$1.rowat, align 8\n",
                side, index, 2 * slot);
    if (!inner) return;
    kiln__print(p->ir,
                "  %$0$1.innerat = getelementptr inbounds i64, ptr %strides, i64 $2\n"
                "  %$0$1.inner = load i64, ptr %$0$1.innerat, align 8\n",
                side, index, 2 * slot + 1);
}

void kiln__print_arguments(struct kiln_printer *p)
{
    const struct kiln_group *group = p->group;
    uint32_t slot = 0;
    for (uint32_t i = 0; i < group->output_count; i++) print_pointer(p, 'o', i, slot++, false);
    for (uint32_t i = 0; i < group->operand_count; i++)
        print_pointer(p, 'p', i, slot++, p->layouts[i] == KILN_LAYOUT_STRIDED);
    for (uint32_t i = 0; i < group->constant_count; i++, slot++) {
        uint32_t value = group->operand_count + i;
        kiln__print(p->ir,
                    "  %k$0.arg = getelementptr inbounds i64, ptr %args, i64 $1\n"
                    "  %k$0 = load i64, ptr %k$0.arg, align 8\n",
                    i, slot);
        kiln__ir_constant(p->ir, kiln__value_name(p, value).text, p->dtypes[value], kiln__name(p->ir, "%k$0", i).text);
    }
}

void kiln__print_element_loads(struct kiln_printer *p)
{
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] == KILN_LAYOUT_SCALAR || (p->needed && !p->needed[i])) continue;
        if (p->layouts[i] == KILN_LAYOUT_STRIDED) {
            kiln__print(p->ir,
                        "  %p$0.off$1 = mul nsw i64 %i$1, %p$0.inner\n"
                        "  %p$0.at$1 = getelementptr inbounds i8, ptr %p$0.base, i64 %p$0.off$1\n",
                        i, p->pass);
        } else {
            kiln__print(p->ir, "  %p$0.at$1 = getelementptr inbounds [$2 x i8], ptr %p$0.base, i64 %i$1\n", i, p->pass,
                        kiln__dtype_size(p->dtypes[i]));
        }
        struct kiln_name pointer = kiln__name(p->ir, "%p$0.at$1", i, p->pass);
        kiln__ir_load(p->ir, kiln__value_name(p, i).text, p->dtypes[i], pointer.text, KILN_PARALLEL);
    }
}

static void print_stores(struct kiln_printer *p)
{
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        kiln__print(p->ir, "  %o$0.at = getelementptr inbounds [$1 x i8], ptr %o$0.base, i64 %i\n", i,
                    kiln__dtype_size(p->dtypes[value]));
        struct kiln_name pointer = kiln__name(p->ir, "%o$0.at", i);
        kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], pointer.text, KILN_PARALLEL);
    }
}

/* From block `from` to block `to`, over %count elements at %oN.base and %pN.base; %count is at least 1. */
static kiln_status print_inner_loop(struct kiln_printer *p, const char *from, const char *to, kiln_error *err)
{
    kiln__print(p->ir,
                "  br label %inner\n\n"
                "inner:\n"
                "  %i = phi i64 [ 0, %$0 ], [ %i.next, %inner ]\n",
                from);
    kiln__print_element_loads(p);
    kiln_status status = kiln__print_instrs(p, false, err);
    if (status) return status;
    print_stores(p);
    kiln__print(p->ir,
                "  %i.next = add nuw nsw i64 %i, 1\n"
                "  %i.done = icmp eq i64 %i.next, %count\n"
                "  br i1 %i.done, label %$0, label %inner, !llvm.loop !1\n\n",
                to);
    return KILN_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

void kiln__print_row_base(struct kiln_printer *p, char side, uint32_t index)
{
    kiln__print(p->ir,
                "  %$0$1.skip = mul nsw i64 %row, %$0$1.row\n"
                "  %$0$1.base = getelementptr inbounds i8, ptr %$0$1, i64 %$0$1.skip\n",
                side, index);
}

static kiln_status print_rows(struct kiln_printer *p, kiln_error *err)
{
    kiln__print_arguments(p);
    kiln__print(p->ir, "  %count = add i64 %n, 0\n"
                       "  %some.rows = icmp sgt i64 %rows, 0\n"
                       "  %some.n = icmp sgt i64 %n, 0\n"
                       "  %some = and i1 %some.rows, %some.n\n"
                       "  br i1 %some, label %outer, label %exit\n\n"
                       "outer:\n"
                       "  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.end ]\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) kiln__print_row_base(p, 'o', i);
    for (uint32_t i = 0; i < p->group->operand_count; i++) kiln__print_row_base(p, 'p', i);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = print_inner_loop(p, "outer", "outer.end", err);
    kiln__print(p->ir, "outer.end:\n"
                       "  %row.next = add nuw nsw i64 %row, 1\n"
                       "  %row.done = icmp eq i64 %row.next, %rows\n"
                       "  br i1 %row.done, label %exit, label %outer\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
    return status;
}

/* ---- streaming ----------------------------------------------------------------------------------------------------
 */

static void print_tile_start(struct kiln_printer *p, size_t size)
{
    kiln__print(p->ir,
                "tile:\n"
                "  %done = phi i64 [ 0, %start ], [ %done.next, %tile.end ]\n"
                "  %left = sub nsw i64 %n, %done\n"
                "  %at = getelementptr inbounds [$0 x i8], ptr %o0, i64 %done\n",
                size);
    kiln__print_stream_count(p, size, "");
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_PACKED)
            kiln__print(p->ir, "  %p$0.base = getelementptr inbounds [$1 x i8], ptr %p$0, i64 %done\n", i,
                        kiln__dtype_size(p->dtypes[i]));
}

static void print_tile_end(struct kiln_printer *p, size_t size)
{
    kiln__print(p->ir, "tile.end:\n  %bytes = mul nuw nsw i64 %count, $0\n", size);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        kiln__print(p->ir,
                    "  %o$0.to = getelementptr inbounds [$1 x i8], ptr %o$0, i64 %done\n"
                    "  call void @stream(ptr %o$0.to, ptr %o$0.base, i64 %bytes)\n",
                    i, size);
    }
    kiln__print(p->ir, "  %done.next = add nuw nsw i64 %done, %count\n"
                       "  %all = icmp sge i64 %done.next, %n\n"
                       "  br i1 %all, label %finish, label %tile\n\n"
                       "finish:\n"
                       "  call void @llvm.x86.sse.sfence()\n"
                       "  br label %exit\n\n"
                       "exit:\n"
                       "  ret void\n"
                       "}\n");
}

static kiln_status print_streaming(struct kiln_printer *p, kiln_error *err)
{
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[0]]);
    for (uint32_t i = 0; i < p->group->output_count; i++)
        kiln__print(p->ir, "  %o$0.base = alloca [$1 x i8], align $2\n", i, KILN_STREAM_TILE, KILN_STREAM_LINE);
    kiln__print_arguments(p);
    kiln__print(p->ir, "  %some.rows = icmp sgt i64 %rows, 0\n"
                       "  %some.n = icmp sgt i64 %n, 0\n"
                       "  %some = and i1 %some.rows, %some.n\n"
                       "  br i1 %some, label %start, label %exit\n\n"
                       "start:\n");
    kiln__print_shared_loads(p, "");
    kiln_status status = kiln__print_instrs(p, true, err);
    kiln__print(p->ir, "  br label %tile\n\n");
    print_tile_start(p, size);
    if (!status) status = print_inner_loop(p, "tile", "tile.end", err);
    print_tile_end(p, size);
    kiln__print_stream(p, size, (struct kiln_stream_nodes){3, 4});
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

/*
 * The interleave count LLVM is given; 0: its own choice, which is 1 for long iterations. The instructions of a helper
 * depend on each other, so interleaving several iterations hides their latency. With many helpers that costs too many
 * registers and too much compile time, and rows may be too short for more than two.
 */
static int interleaved(const struct kiln_printer *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->group->instr_count; i++) count += kiln__is_expensive(&p->group->instrs[i]);
    bool many = count > 4 || p->flags & KILN_GROUP_ROWS;
    return count == 0 || count > 16 ? 0 : many ? 2 : 4;
}

const char *kiln__loop_hints(const struct kiln_printer *p)
{
    return interleaved(p) ? ", !7" : "";
}

static kiln_status print_kernel(struct kiln_printer *p, kiln_error *err)
{
    bool streaming = is_streaming(p), with_rows = p->flags & KILN_GROUP_ROWS;
    kiln__print(p->ir, "; kiln $0 kernel$1$2\n", with_rows ? "row" : "element-wise",
                with_rows && p->flags & KILN_GROUP_SHORT ? ", short" : "",
                p->flags & KILN_GROUP_STREAMING ? ", streaming" : "");
    kiln__print_heading(p);
    kiln__print(p->ir,
                "define void $@(ptr noalias readonly %args, ptr noalias readonly %strides, i64 %rows, i64 %n) #0 {\n"
                "entry:\n");
    kiln_status status = with_rows   ? kiln__rows_print(p, err)
                         : streaming ? print_streaming(p, err)
                                     : print_rows(p, err);
    if (status) return status;
    kiln__print_declarations(p->ir);
    kiln__print(p->ir,
                "\n"
                "!0 = distinct !{}\n"
                "!1 = distinct !{!1, !2$0}\n"
                "!2 = !{!\"llvm.loop.parallel_accesses\", !0}\n",
                kiln__loop_hints(p));
    if (interleaved(p)) kiln__print(p->ir, "!7 = !{!\"llvm.loop.interleave.count\", i32 $0}\n", interleaved(p));
    kiln__print(p->ir, "attributes #0 = { \"prefer-vector-width\"=\"512\" }\n"); /* x86-64-v4 alone means 256 */
    if (with_rows)
        kiln__print(p->ir, "!3 = distinct !{!3, !4}\n!4 = !{!\"llvm.loop.vectorize.width\", i32 1}\n");
    else if (streaming)
        kiln__print(p->ir, "!3 = !{i32 1}\n"
                           "!4 = distinct !{!4, !5}\n"
                           "!5 = !{!\"llvm.loop.vectorize.width\", i32 1}\n");
    return KILN_OK;
}

kiln_status kiln__group_print(const struct kiln_group *group, const char *layouts, unsigned flags,
                              struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    struct kiln_printer p = {.group = group, .layouts = layouts, .flags = flags, .ir = &ir, .pass = ""};
    kiln_status status = kiln__printer_init(&p, "csv", err);
    if (!status) status = print_kernel(&p, err);
    if (!status) kiln__print_kernel_name(&ir, group, "copy");
    kiln__printer_release(&p);
    return kiln__ir_finish(&ir, status, err);
}
