/*
 * rows.c - the text of a kernel with reductions along its rows: softmax, norms, a reduction of an expression.
 *
 *     for each row:
 *         for each pass:     tile by tile: compute the reductions' operands into a buffer on the stack, reduce it;
 *                            then compute once what depends on values of the whole row only
 *         division:          of kept values by a value of the row, in place (row_division.h)
 *         element outputs:   one more loop over the row; the streaming form uses non-temporal stores
 *         row outputs:       stored once
 *
 * A reduction runs in the first pass in which its operands are known. Element values are recomputed in each pass that
 * needs them, from operands that are in the cache by then; in short rows, expensive ones are kept (keep.h). Operands
 * that already lie in memory, packed and of the lanes' dtype, are reduced in place, without a buffer.
 *
 * The order of a reduction is that of group.h: tiles are whole blocks of lanes and parts of one chunk, so the bits are
 * those of the reduction on its own. The functions that reduce a tile are in row_totals.c.
 */
#include "codegen/cpu/cpu_printer.h"
#include "codegen/cpu/row_totals.h"
#include "codegen/cpu/streaming.h"
#include "codegen/keep.h"
#include "codegen/row_division.h"

enum { TILE = 256 };

_Static_assert(KILN_REDUCE_CHUNK % TILE == 0 && TILE % KILN_REDUCE_LANES == 0, "tiles make up chunks");

/* Metadata of the passes' loops; below it stand those of elementwise_kernel.c. Every loop has a node of its own. */
enum { FIRST_LOOP = 10 };
static const struct kiln_stream_nodes stream_nodes = {8, 9};

struct rows {
    struct kiln_printer *p;
    struct kiln_stages stages;
    struct kiln_keeping keeping;
    uint32_t division; /* the instruction that is divided in place before the outputs; KILN_NEVER: none */
};

/* The first output with an element for each of the row's; output_count: there is none. */
static uint32_t first_element_output(const struct rows *rows)
{
    const struct kiln_printer *p = rows->p;
    uint32_t i = 0;
    while (i < p->group->output_count && p->shared[p->group->outputs[i]]) i++;
    return i;
}

static bool is_streaming(const struct rows *rows)
{
    return rows->p->flags & KILN_GROUP_STREAMING;
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* The quotient that was left where the dividend was kept. */
static void print_quotient(struct rows *rows, uint32_t index)
{
    struct kiln_printer *p = rows->p;
    uint32_t dividend = p->group->instrs[index].in[0] - rows->stages.first, value = rows->stages.first + index;
    struct kiln_name pointer = kiln__name(p->ir, "%quotient$0.at$1", index, p->pass);
    kiln__print(p->ir, "  $0 = getelementptr inbounds float, ptr %kept$1, i64 %i$2\n", pointer.text, dividend, p->pass);
    kiln__ir_load(p->ir, kiln__value_name(p, value).text, KILN_FLOAT32, pointer.text, KILN_PARALLEL);
}

/* Stores the value as arrays do, but does not canonicalize NaN: the final store does. */
static void print_keep(struct rows *rows, const char *name, enum kiln_dtype dtype, const char *pointer)
{
    bool settles = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64;
    if (settles)
        kiln__print(rows->p->ir, "  store $0 $1, ptr $2, align $3" KILN_PARALLEL "\n", kiln__ir_value_type(dtype), name,
                    pointer, kiln__dtype_size(dtype));
    else
        kiln__ir_store(rows->p->ir, name, dtype, pointer, KILN_PARALLEL);
}

/* Computes the value and keeps it, loads what an earlier pass kept, or just computes it. */
static kiln_status print_element(struct rows *rows, uint32_t index, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    uint32_t value = rows->stages.first + index, kept = kiln__kept_in(&rows->keeping, value);
    enum kiln_dtype dtype = p->dtypes[value];
    struct kiln_name name = kiln__value_name(p, value);
    struct kiln_name pointer = kiln__name(p->ir, "%kept$0.at$1", index, p->pass);
    if (kept != KILN_NEVER)
        kiln__print(p->ir, "  $0 = getelementptr inbounds [$1 x i8], ptr %kept$2, i64 %i$3\n", pointer.text,
                    kiln__dtype_size(dtype), index, p->pass);
    kiln_status status = KILN_OK;
    if (kept == KILN_NEVER || kept == pass)
        status = kiln__print_instr(p, index, err);
    else
        kiln__ir_load(p->ir, name.text, dtype, pointer.text, KILN_PARALLEL);
    if (kept == pass) print_keep(rows, name.text, dtype, pointer.text);
    return status;
}

static kiln_status print_elements(struct rows *rows, uint32_t pass, kiln_error *err)
{
    const struct kiln_group *group = rows->p->group;
    kiln_status status = KILN_OK;
    kiln__print_element_loads(rows->p);
    for (uint32_t i = 0; i < group->instr_count && !status; i++) {
        uint32_t value = rows->stages.first + i;
        if (!rows->stages.needed[value] || rows->p->shared[value]) continue;
        if (pass == rows->stages.passes && i == rows->division)
            print_quotient(rows, i);
        else
            status = print_element(rows, i, pass, err);
    }
    return status;
}

static bool is_packed_operand(const struct rows *rows, uint32_t value)
{
    return value < rows->p->group->operand_count && rows->p->layouts[value] == KILN_LAYOUT_PACKED;
}

/* Do the elements that are reduced lie in memory already, packed and of the lanes' dtype? */
static bool is_in_place(const struct rows *rows, uint32_t index, uint32_t pass)
{
    struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, index);
    uint32_t value = rows->p->group->instrs[index].in[0];
    uint32_t kept = kiln__kept_in(&rows->keeping, value);
    if (reducer.in != reducer.lane || reducer.out == KILN_BOOL || reducer.in == KILN_COMPLEX64) return false;
    return is_packed_operand(rows, value) || (kept != KILN_NEVER && kept <= pass);
}

/* Where the row of such elements starts. */
static struct kiln_name in_place_base(const struct rows *rows, uint32_t index)
{
    uint32_t value = rows->p->group->instrs[index].in[0];
    if (is_packed_operand(rows, value)) return kiln__name(rows->p->ir, "%p$0.base", value);
    return kiln__name(rows->p->ir, "%kept$0", value - rows->stages.first);
}

/* Is there something to compute for the elements, before they are reduced? */
static bool has_elements(const struct rows *rows, uint32_t pass)
{
    for (uint32_t i = 0; i < rows->keeping.count; i++)
        if (rows->keeping.passes[i] == pass) return true;
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++)
        if (kiln__is_reduced_in(&rows->stages, i, pass) && !is_in_place(rows, i, pass)) return true;
    return false;
}

static void print_buffers(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__print(rows->p->ir,
                        "  %lanes$0.$1 = alloca [$2 x $3], align 64\n"
                        "  %tile$0.$1 = alloca [$4 x $3], align 64\n",
                        i, part, KILN_ROW_LANES, type, TILE);
        kiln__print(rows->p->ir, "  %slot$0 = alloca [16 x i8], align 16\n", i);
    }
    for (uint32_t i = 0; i < rows->keeping.count; i++) {
        uint32_t value = rows->keeping.values[i];
        kiln__print(rows->p->ir, "  %kept$0 = alloca [$1 x [$2 x i8]], align 64\n", value - rows->stages.first,
                    KILN_SHORT_ROW, kiln__dtype_size(rows->p->dtypes[value]));
    }
    for (uint32_t i = 0; is_streaming(rows) && i < rows->p->group->output_count; i++)
        if (!rows->p->shared[rows->p->group->outputs[i]])
            kiln__print(rows->p->ir, "  %o$0.tile = alloca [$1 x i8], align $2\n", i, KILN_STREAM_TILE,
                        KILN_STREAM_LINE);
}

/* All lanes of all levels are set to the identity element. */
static void reset_lanes(struct rows *rows)
{
    for (uint32_t i = 0; i < rows->p->group->instr_count; i++) {
        if (!kiln__is_reduction(&rows->p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++)
            kiln__print(rows->p->ir, "  store <$0 x $1> splat ($1 $2), ptr %lanes$3.$4, align 64\n", KILN_ROW_LANES,
                        type, kiln__reduce_identity(&reducer, part), i, part);
    }
}

/* Converts what is reduced to the lanes' dtype and stores it in the tile's buffer. */
static void print_entries(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    kiln__print(p->ir, "  %k$0 = sub nsw i64 %i$0, %t$0\n", p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass) || is_in_place(rows, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name entry = kiln__name(p->ir, "%e$0", i);
        kiln__reduce_enter(&reducer, entry.text, kiln__value_name(p, p->group->instrs[i].in[0]).text, 0);
        const char *type = kiln__ir_value_type(reducer.lane);
        for (int part = 0; part < kiln__ir_parts(reducer.lane); part++) {
            kiln__print(p->ir, "  %e$0.at$1 = getelementptr inbounds $2, ptr %tile$0.$1, i64 %k$3\n", i, part, type,
                        p->pass);
            kiln__print(p->ir, "  store $0 $1$2, ptr %e$3.at$4, align $5" KILN_PARALLEL "\n", type, entry.text,
                        kiln__ir_part(reducer.lane, part), i, part, kiln__reduce_lane_align(&reducer));
        }
    }
}

static void print_total_calls(struct rows *rows, uint32_t pass, const char *at)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        kiln__print(p->ir, "  call void @total$0(", i);
        kiln__print_row_arguments(p, &reducer, "lanes", i);
        kiln__print(p->ir, "i64 $0, i64 %n, ptr %slot$1)\n", at, i);
    }
}

/* Combines the tile with the lanes; at the end of every chunk but the last, carries the totals. */
static void print_accumulations(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    kiln__print(p->ir, "  %t.count$0 = sub nsw i64 %t.next$0, %t$0\n", p->pass);
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        bool in_place = is_in_place(rows, i, pass);
        if (in_place)
            kiln__print(p->ir, "  %from$0.0 = getelementptr inbounds $1, ptr $2, i64 %t$3\n", i,
                        kiln__ir_value_type(reducer.lane), in_place_base(rows, i).text, p->pass);
        kiln__print(p->ir, "  call void @accumulate$0(", i);
        kiln__print_row_arguments(p, &reducer, "lanes", i);
        kiln__print_row_arguments(p, &reducer, in_place ? "from" : "tile", i);
        kiln__print(p->ir, "i64 %t.count$0)\n", p->pass);
    }
    kiln__print(p->ir,
                "  %t.part$0 = and i64 %t.next$0, $1\n"
                "  %t.whole$0 = icmp eq i64 %t.part$0, 0\n"
                "  %t.before$0 = icmp slt i64 %t.next$0, %n\n"
                "  %t.carry$0 = and i1 %t.whole$0, %t.before$0\n"
                "  br i1 %t.carry$0, label %carry$0, label %tile.end$0\n\n"
                "carry$0:\n",
                p->pass, KILN_REDUCE_CHUNK - 1);
    struct kiln_name at = kiln__name(p->ir, "%t.next$0", p->pass);
    print_total_calls(rows, pass, at.text);
    kiln__print(p->ir, "  br label %tile.end$0\n\n", p->pass);
}

/* The reductions of the pass as values of the row. */
static void print_totals(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    print_total_calls(rows, pass, "%n");
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduced_in(&rows->stages, i, pass)) continue;
        kiln__ir_load(p->ir, kiln__value_name(p, rows->stages.first + i).text, p->dtypes[rows->stages.first + i],
                      kiln__name(p->ir, "%slot$0", i).text, "");
    }
}

/* The block that ends before `pass` begins. */
static struct kiln_name block_before(const struct rows *rows, uint32_t pass)
{
    return pass ? kiln__name(rows->p->ir, "done.$0", pass - 1) : (struct kiln_name){"outer"};
}

/* ---- passes --------------------------------------------------------------------------------------------------- */

/* Computes the elements of the tile. */
static kiln_status print_tile(struct rows *rows, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__print(p->ir,
                "  br label %inner$0\n\n"
                "inner$0:\n"
                "  %i$0 = phi i64 [ %t$0, %tile$0 ], [ %i.next$0, %inner$0 ]\n",
                p->pass);
    kiln_status status = print_elements(rows, pass, err);
    print_entries(rows, pass);
    kiln__print(p->ir,
                "  %i.next$0 = add nuw nsw i64 %i$0, 1\n"
                "  %i.done$0 = icmp eq i64 %i.next$0, %t.next$0\n"
                "  br i1 %i.done$0, label %reduce$0, label %inner$0, !llvm.loop !$1\n\n"
                "reduce$0:\n",
                p->pass, FIRST_LOOP + pass);
    return status;
}

/*
 * Prefetches the next row while the last pass computes. Not in a first pass, which is bound by memory already, and only
 * in streaming kernels, whose operands do not fit the caches either.
 */
static void print_prefetches(struct rows *rows, uint32_t pass)
{
    struct kiln_printer *p = rows->p;
    if (!is_streaming(rows) || pass == 0 || pass + 1 < rows->stages.passes) return;
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        size_t size = kiln__dtype_size(p->dtypes[i]);
        if (p->layouts[i] != KILN_LAYOUT_PACKED) continue;
        kiln__declare(p->ir, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n");
        kiln__print(p->ir,
                    "  %p$0.ahead = getelementptr i8, ptr %p$0.base, i64 %p$0.row\n"
                    "  %p$0.ahead.tile = getelementptr [$1 x i8], ptr %p$0.ahead, i64 %t$2\n",
                    i, size, p->pass);
        for (size_t line = 0; line < TILE * size; line += KILN_STREAM_LINE)
            kiln__print(p->ir,
                        "  %p$0.line$1 = getelementptr i8, ptr %p$0.ahead.tile, i64 $1\n"
                        "  call void @llvm.prefetch.p0(ptr %p$0.line$1, i32 0, i32 2, i32 1)\n",
                        i, line);
    }
}

static kiln_status print_pass(struct rows *rows, uint32_t pass, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name suffix = kiln__name(p->ir, ".$0", pass), before = block_before(rows, pass);
    p->pass = suffix.text;
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, pass, kiln__keeping_held(&rows->keeping, pass));
    kiln__print(p->ir,
                "  br label %tiles$0\n\n"
                "tiles$0:\n"
                "  %t$0 = phi i64 [ 0, %$1 ], [ %t.next$0, %tile.end$0 ]\n"
                "  %t.more$0 = icmp slt i64 %t$0, %n\n"
                "  br i1 %t.more$0, label %tile$0, label %done$0\n\n"
                "tile$0:\n"
                "  %t.far$0 = add nsw i64 %t$0, $2\n"
                "  %t.next$0 = call i64 @llvm.smin.i64(i64 %t.far$0, i64 %n)\n",
                suffix.text, before.text, TILE);
    print_prefetches(rows, pass);
    kiln_status status = has_elements(rows, pass) ? print_tile(rows, pass, err) : KILN_OK;
    print_accumulations(rows, pass);
    kiln__print(p->ir,
                "tile.end$0:\n"
                "  br label %tiles$0\n\n"
                "done$0:\n",
                suffix.text);
    print_totals(rows, pass);
    if (!status) status = kiln__print_stage(&rows->stages, pass + 1, err);
    p->pass = "";
    return status;
}

/* Stores the elements at `index` of `base`: the row of the output, or a tile of it. */
static void print_stores(struct rows *rows, const char *base, const char *index)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (p->shared[value]) continue;
        kiln__print(p->ir, "  %o$0.at = getelementptr inbounds [$1 x i8], ptr %o$0.$2, i64 $3\n", i,
                    kiln__dtype_size(p->dtypes[value]), base, index);
        struct kiln_name pointer = kiln__name(p->ir, "%o$0.at", i);
        kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], pointer.text, KILN_PARALLEL);
    }
}

static kiln_status print_output_loop(struct rows *rows, const char *before, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    kiln__print(p->ir, "inner.out:\n  %i.out = phi i64 [ 0, %$0 ], [ %i.next.out, %inner.out ]\n", before);
    kiln_status status = print_elements(rows, rows->stages.passes, err);
    print_stores(rows, "base", "%i.out");
    kiln__print(p->ir, "  %i.next.out = add nuw nsw i64 %i.out, 1\n"
                       "  %i.done.out = icmp eq i64 %i.next.out, %n\n"
                       "  br i1 %i.done.out, label %outer.end, label %inner.out, !llvm.loop !1\n\n");
    return status;
}

/* The streaming form: results are not read again soon, so they bypass the caches (streaming.h). */
static kiln_status print_streamed_loop(struct rows *rows, const char *before, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    uint32_t first = first_element_output(rows);
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[first]]);
    kiln__print(p->ir,
                "inner.out:\n"
                "  %done.out = phi i64 [ 0, %$0 ], [ %end.out, %stream.out ]\n"
                "  %left.out = sub nsw i64 %n, %done.out\n"
                "  %at.out = getelementptr inbounds [$1 x i8], ptr %o$2.base, i64 %done.out\n",
                before, size, first);
    kiln__print_stream_count(p, size, ".out");
    kiln__print(p->ir, "  %end.out = add nuw nsw i64 %done.out, %count.out\n"
                       "  br label %elements.out\n\n"
                       "elements.out:\n"
                       "  %i.out = phi i64 [ %done.out, %inner.out ], [ %i.next.out, %elements.out ]\n");
    kiln_status status = print_elements(rows, rows->stages.passes, err);
    kiln__print(p->ir, "  %k.out = sub nsw i64 %i.out, %done.out\n");
    print_stores(rows, "tile", "%k.out");
    kiln__print(p->ir,
                "  %i.next.out = add nuw nsw i64 %i.out, 1\n"
                "  %i.done.out = icmp eq i64 %i.next.out, %end.out\n"
                "  br i1 %i.done.out, label %stream.out, label %elements.out, !llvm.loop !1\n\n"
                "stream.out:\n"
                "  %bytes.out = mul nuw nsw i64 %count.out, $0\n",
                size);
    for (uint32_t i = first; i < p->group->output_count; i++) {
        if (p->shared[p->group->outputs[i]]) continue;
        kiln__print(p->ir,
                    "  %o$0.to = getelementptr inbounds [$1 x i8], ptr %o$0.base, i64 %done.out\n"
                    "  call void @stream(ptr %o$0.to, ptr %o$0.tile, i64 %bytes.out)\n",
                    i, size);
    }
    kiln__print(p->ir, "  %all.out = icmp sge i64 %end.out, %n\n"
                       "  br i1 %all.out, label %outer.end, label %inner.out\n\n");
    return status;
}

static kiln_status print_element_outputs(struct rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    struct kiln_name before = block_before(rows, rows->stages.passes);
    if (!kiln__has_element_outputs(&rows->stages)) {
        kiln__print(p->ir, "  br label %outer.end\n\n");
        return KILN_OK;
    }
    if (rows->division != KILN_NEVER) kiln__row_division_call(&rows->stages, rows->division);
    p->pass = ".out";
    kiln__stages_need_nothing(&rows->stages);
    kiln__stages_need(&rows->stages, rows->stages.passes, kiln__keeping_held(&rows->keeping, rows->stages.passes));
    kiln__print(p->ir, "  %some.n = icmp sgt i64 %n, 0\n  br i1 %some.n, label %inner.out, label %outer.end\n\n");
    kiln_status status = (is_streaming(rows) ? print_streamed_loop : print_output_loop)(rows, before.text, err);
    p->pass = "";
    return status;
}

static void print_row_outputs(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        if (!p->shared[value]) continue;
        kiln__ir_store(p->ir, kiln__value_name(p, value).text, p->dtypes[value], kiln__name(p->ir, "%o$0.base", i).text,
                       "");
    }
}

static void print_functions(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; i < p->group->instr_count; i++) {
        if (!kiln__is_reduction(&p->group->instrs[i])) continue;
        struct kiln_reducer reducer = kiln__stages_reducer(&rows->stages, i);
        kiln__print_row_totals(p, &reducer, i);
    }
    if (rows->division != KILN_NEVER) kiln__row_division_define(&rows->stages);
}

/* What the streamed loop calls, and its metadata. */
static void print_streaming_parts(struct rows *rows)
{
    struct kiln_printer *p = rows->p;
    if (!is_streaming(rows)) return;
    kiln__print_stream(p, kiln__dtype_size(p->dtypes[p->group->outputs[first_element_output(rows)]]), stream_nodes);
    kiln__print(p->ir,
                "\n"
                "!$0 = !{i32 1}\n"
                "!$1 = distinct !{!$1, !4}\n",
                stream_nodes.nontemporal, stream_nodes.loop);
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

/* Elements of all streamed outputs have one size, and there are some. */
static kiln_status check_streaming(const struct rows *rows, kiln_error *err)
{
    const struct kiln_printer *p = rows->p;
    uint32_t first = first_element_output(rows);
    if (!is_streaming(rows)) return KILN_OK;
    if (first == p->group->output_count)
        return kiln__fail(err, KILN_INVALID, "a streaming kernel with rows needs an output with elements");
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[first]]);
    for (uint32_t i = first; i < p->group->output_count; i++)
        if (!p->shared[p->group->outputs[i]] && kiln__dtype_size(p->dtypes[p->group->outputs[i]]) != size)
            return kiln__fail(err, KILN_INVALID, "the outputs of a streaming kernel must have elements of one size");
    return KILN_OK;
}

static kiln_status print_body(struct rows *rows, kiln_error *err)
{
    struct kiln_printer *p = rows->p;
    print_buffers(rows);
    kiln__print_arguments(p);
    reset_lanes(rows);
    kiln__print(p->ir, "  %some.rows = icmp sgt i64 %rows, 0\n"
                       "  br i1 %some.rows, label %outer, label %exit\n\n"
                       "outer:\n"
                       "  %row = phi i64 [ 0, %entry ], [ %row.next, %outer.end ]\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) kiln__print_row_base(p, 'o', i);
    for (uint32_t i = 0; i < p->group->operand_count; i++) kiln__print_row_base(p, 'p', i);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_stage(&rows->stages, 0, err);
    for (uint32_t pass = 0; pass < rows->stages.passes && !status; pass++) status = print_pass(rows, pass, err);
    if (!status) status = print_element_outputs(rows, err);
    kiln__print(p->ir, "outer.end:\n");
    print_row_outputs(rows);
    kiln__print(p->ir,
                "  %row.next = add nuw nsw i64 %row, 1\n"
                "  %row.done = icmp eq i64 %row.next, %rows\n"
                "  br i1 %row.done, label %exit, label %outer\n\n"
                "exit:\n"
                "$0  ret void\n"
                "}\n",
                is_streaming(rows) ? "  call void @llvm.x86.sse.sfence()\n" : "");
    print_functions(rows);
    print_streaming_parts(rows);
    for (uint32_t pass = 0; pass < rows->stages.passes; pass++)
        kiln__print(p->ir, "\n!$0 = distinct !{!$0, !2$1}", FIRST_LOOP + pass, kiln__loop_hints(p));
    kiln__print(p->ir, "\n");
    return status;
}

kiln_status kiln__rows_print(struct kiln_printer *p, kiln_error *err)
{
    struct rows rows = {.p = p};
    kiln_status status = kiln__stages_init(&rows.stages, p, err);
    if (!status) status = kiln__keeping_init(&rows.keeping, &rows.stages, err);
    if (!status) status = check_streaming(&rows, err);
    if (!status) rows.division = kiln__row_division_find(&rows.stages, &rows.keeping);
    if (!status) status = print_body(&rows, err);
    kiln__keeping_release(&rows.keeping);
    kiln__stages_release(&rows.stages);
    return status;
}
