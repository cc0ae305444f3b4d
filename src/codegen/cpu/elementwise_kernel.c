/*
 * elementwise_kernel.c - the text of an element-wise kernel: see group.h for its interface.
 *
 *     for each row:  base pointers; elements that a whole row shares, and what is computed from those alone
 *         for each element:  load, compute, store          (no iteration depends on another: LLVM makes vectors of it)
 *
 * The streaming form has one row and goes through it in tiles: the inner loop writes a tile into a buffer on the stack,
 * which then moves to the output in whole cache lines with non-temporal stores. The first tile is cut so that the
 * second starts on a cache line.
 */
#include "codegen/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/combine.h"
#include "codegen/cpu/streaming.h"
#include "codegen/printer.h"

uint32_t kiln__group_values(const struct kiln_group *group)
{
    return group->operand_count + group->constant_count + group->instr_count;
}

_Static_assert(sizeof(struct kiln_instr) == 16 &&
                   sizeof(struct kiln_group) == 4 * sizeof(uint32_t) + 4 * sizeof(void *),
               "what is new in a group has to be compared");

static bool equal_instrs(const struct kiln_instr *a, const struct kiln_instr *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->in[0] == b->in[0] && a->in[1] == b->in[1] &&
           a->in[2] == b->in[2];
}

bool kiln__group_equal(const struct kiln_group *a, const struct kiln_group *b)
{
    bool equal = a->operand_count == b->operand_count && a->constant_count == b->constant_count &&
                 a->instr_count == b->instr_count && a->output_count == b->output_count &&
                 memcmp(a->operand_dtypes, b->operand_dtypes, a->operand_count) == 0 &&
                 memcmp(a->constant_dtypes, b->constant_dtypes, a->constant_count) == 0 &&
                 memcmp(a->outputs, b->outputs, a->output_count * sizeof *a->outputs) == 0;
    for (uint32_t i = 0; equal && i < a->instr_count; i++) equal = equal_instrs(&a->instrs[i], &b->instrs[i]);
    return equal;
}

/* ---- checks -------------------------------------------------------------------------------------------------------
 */

static kiln_status check_dtype(int dtype, kiln_error *err)
{
    if (dtype >= 0 && dtype < KILN_DTYPE_COUNT) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "a group has dtype %d; dtypes are 0 to %d", dtype, KILN_DTYPE_COUNT - 1);
}

/* The dtypes an operation may see: all inputs alike, but for the condition of a selection; the result follows the rule.
 */
static bool dtypes_agree(const struct kiln_printer *p, const struct kiln_instr *instr)
{
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    bool selects = info->dtype_rule == KILN_RULE_SELECT;
    if (info->dtype_rule == KILN_RULE_CAST) return true;
    if (selects && p->dtypes[instr->in[0]] != KILN_BOOL) return false;
    uint8_t first = p->dtypes[instr->in[selects]];
    for (int i = selects; i < info->arity; i++)
        if (p->dtypes[instr->in[i]] != first) return false;
    return instr->dtype == kiln__op_result(instr->op, first);
}

static kiln_status check_instr(const struct kiln_printer *p, uint32_t index, kiln_error *err)
{
    const struct kiln_instr *instr = &p->group->instrs[index];
    uint32_t before = p->group->operand_count + p->group->constant_count + index;
    bool is_alone = p->flags & KILN_GROUP_ALONE && p->group->instr_count == 1;
    bool reduces =
        p->flags & KILN_GROUP_ROWS && instr->op < KILN_OP_COUNT && kiln__ops[instr->op].kind == KILN_OP_REDUCE;
    if (instr->op >= KILN_OP_COUNT || (kiln__ops[instr->op].kind != KILN_OP_ELEMENTWISE && !reduces && !is_alone))
        return kiln__fail(
            err, KILN_INVALID,
            "instruction %u of a group is not element-wise, nor a reduction in a kernel with rows (operation %u)",
            index, instr->op);
    for (int i = 0; i < kiln__ops[instr->op].arity; i++)
        if (instr->in[i] >= before)
            return kiln__fail(err, KILN_INVALID, "instruction %u reads value %u, which is not computed before it",
                              index, instr->in[i]);
    if (check_dtype(instr->dtype, err)) return KILN_INVALID;
    if (reduces)
        return kiln__reducer_init(&(struct kiln_reducer){0}, instr->op, p->dtypes[instr->in[0]], instr->dtype,
                                  KILN_LAYOUT_PACKED, err);
    if (!is_alone && !dtypes_agree(p, instr))
        return kiln__fail(err, KILN_INVALID, "[%s] instruction %u of a group has inputs or a result of the wrong dtype",
                          kiln__ops[instr->op].name, index);
    return KILN_OK;
}

/* The streaming form of this file; rows.c has one of its own. */
static bool is_streaming(const struct kiln_printer *p)
{
    return p->flags & KILN_GROUP_STREAMING && !(p->flags & KILN_GROUP_ROWS);
}

static kiln_status check_streaming(const struct kiln_printer *p, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    for (uint32_t i = 0; i < group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_STRIDED)
            return kiln__fail(err, KILN_INVALID, "a streaming kernel takes packed or scalar operands only");
    for (uint32_t i = 1; i < group->output_count; i++)
        if (kiln__dtype_size(p->dtypes[group->outputs[i]]) != kiln__dtype_size(p->dtypes[group->outputs[0]]))
            return kiln__fail(err, KILN_INVALID, "the outputs of a streaming kernel must have elements of one size");
    return KILN_OK;
}

static kiln_status check_layouts(const struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    size_t count = p->group->operand_count, length = strlen(allowed);
    char list[32] = "";
    if (strlen(p->layouts) == count && strspn(p->layouts, allowed) == count) return KILN_OK;
    for (size_t i = 0; i < length && 3 * i < sizeof list - 3; i++)
        snprintf(list + 3 * i, sizeof list - 3 * i, i + 1 < length ? "%c, " : "%c", allowed[i]);
    return kiln__fail(err, KILN_INVALID, "layout \"%s\" must have one of %s for each of %zu operands", p->layouts, list,
                      count);
}

/* Fills in the values' dtypes on the way. */
static kiln_status check_group(struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    const struct kiln_group *group = p->group;
    uint32_t next = 0;
    if (!group->output_count) return kiln__fail(err, KILN_INVALID, "a group needs at least one output");
    if (check_layouts(p, allowed, err)) return KILN_INVALID;
    for (uint32_t i = 0; i < group->operand_count; i++) p->dtypes[next++] = group->operand_dtypes[i];
    for (uint32_t i = 0; i < group->constant_count; i++) p->dtypes[next++] = group->constant_dtypes[i];
    for (uint32_t i = 0; i < next; i++)
        if (check_dtype(p->dtypes[i], err)) return KILN_INVALID;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        if (check_instr(p, i, err)) return KILN_INVALID;
        p->dtypes[next++] = group->instrs[i].dtype;
    }
    for (uint32_t i = 0; i < group->output_count; i++)
        if (group->outputs[i] >= next)
            return kiln__fail(err, KILN_INVALID, "output %u of a group is value %u of %u", i, group->outputs[i], next);
    return is_streaming(p) ? check_streaming(p, err) : KILN_OK;
}

void kiln__printer_share(struct kiln_printer *p, char layout)
{
    const struct kiln_group *group = p->group;
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->operand_count; i++) p->shared[next++] = p->layouts[i] == layout;
    for (uint32_t i = 0; i < group->constant_count; i++) p->shared[next++] = true;
    for (uint32_t i = 0; i < group->instr_count; i++, next++) {
        p->shared[next] = true;
        if (kiln__ops[group->instrs[i].op].kind == KILN_OP_REDUCE) continue;
        for (int k = 0; k < kiln__ops[group->instrs[i].op].arity; k++)
            p->shared[next] &= p->shared[group->instrs[i].in[k]];
    }
}

/* ---- for people ---------------------------------------------------------------------------------------------------
 */

void kiln__print_heading(struct kiln_printer *p)
{
    const struct kiln_group *group = p->group;
    uint32_t value = 0;
    for (uint32_t i = 0; i < group->operand_count; i++, value++)
        kiln__buffer_printf(p->text, "; v%u: operand %s %c\n", value, kiln__dtypes[p->dtypes[value]].name,
                            p->layouts[i]);
    for (uint32_t i = 0; i < group->constant_count; i++, value++)
        kiln__buffer_printf(p->text, "; v%u: constant %s\n", value, kiln__dtypes[p->dtypes[value]].name);
    for (uint32_t i = 0; i < group->instr_count; i++, value++) {
        const struct kiln_instr *instr = &group->instrs[i];
        kiln__buffer_printf(p->text, "; v%u: %s = %s(", value, kiln__dtypes[instr->dtype].name,
                            kiln__ops[instr->op].name);
        for (int k = 0; k < kiln__ops[instr->op].arity; k++)
            kiln__buffer_printf(p->text, "%sv%u", k ? ", " : "", instr->in[k]);
        kiln__buffer_printf(p->text, ")\n");
    }
    kiln__buffer_printf(p->text, "; outputs:");
    for (uint32_t i = 0; i < group->output_count; i++) kiln__buffer_printf(p->text, " v%u", group->outputs[i]);
    kiln__buffer_printf(p->text, "\n\n");
}

/* ---- pieces -------------------------------------------------------------------------------------------------------
 */

const char *kiln__value_name(const struct kiln_printer *p, char *out, uint32_t value)
{
    snprintf(out, KILN_IR_NAME, "%%v%u%s", value, p->shared[value] ? "" : p->pass);
    return out;
}

/* Pointers and strides: outputs are %o0, %o1, ..., operands %p0, %p1, ...; .row and .inner are their strides. */
static void print_pointer(struct kiln_printer *p, char side, uint32_t index, uint32_t slot, bool inner)
{
    kiln__buffer_printf(p->text, "  %%%c%u.arg = getelementptr inbounds i64, ptr %%args, i64 %u\n", side, index, slot);
    kiln__buffer_printf(p->text, "  %%%c%u = load ptr, ptr %%%c%u.arg, align 8\n", side, index, side, index);
    if (is_streaming(p)) return;
    kiln__buffer_printf(p->text, "  %%%c%u.rowat = getelementptr inbounds i64, ptr %%strides, i64 %u\n", side, index,
                        2 * slot);
    kiln__buffer_printf(p->text, "  %%%c%u.row = load i64, ptr %%%c%u.rowat, align 8\n", side, index, side, index);
    if (!inner) return;
    kiln__buffer_printf(p->text, "  %%%c%u.innerat = getelementptr inbounds i64, ptr %%strides, i64 %u\n", side, index,
                        2 * slot + 1);
    kiln__buffer_printf(p->text, "  %%%c%u.inner = load i64, ptr %%%c%u.innerat, align 8\n", side, index, side, index);
}

void kiln__print_arguments(struct kiln_printer *p)
{
    const struct kiln_group *group = p->group;
    uint32_t slot = 0;
    char name[KILN_IR_NAME], bits[KILN_IR_NAME];
    for (uint32_t i = 0; i < group->output_count; i++) print_pointer(p, 'o', i, slot++, false);
    for (uint32_t i = 0; i < group->operand_count; i++)
        print_pointer(p, 'p', i, slot++, p->layouts[i] == KILN_LAYOUT_STRIDED);
    for (uint32_t i = 0; i < group->constant_count; i++, slot++) {
        uint32_t value = group->operand_count + i;
        snprintf(bits, sizeof bits, "%%k%u", i);
        kiln__buffer_printf(p->text, "  %%k%u.arg = getelementptr inbounds i64, ptr %%args, i64 %u\n", i, slot);
        kiln__buffer_printf(p->text, "  %%k%u = load i64, ptr %%k%u.arg, align 8\n", i, i);
        kiln__ir_constant(p->text, &p->declarations, kiln__value_name(p, name, value), p->dtypes[value], bits);
    }
}

/* The element every iteration shares, from `base` (%p or %pN.base). */
void kiln__print_shared_loads(struct kiln_printer *p, const char *base)
{
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] != KILN_LAYOUT_SCALAR) continue;
        snprintf(pointer, sizeof pointer, "%%p%u%s", i, base);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], pointer, "");
    }
}

void kiln__print_element_loads(struct kiln_printer *p)
{
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->operand_count; i++) {
        if (p->layouts[i] == KILN_LAYOUT_SCALAR || (p->needed && !p->needed[i])) continue;
        if (p->layouts[i] == KILN_LAYOUT_STRIDED) {
            kiln__buffer_printf(p->text, "  %%p%u.off%s = mul nsw i64 %%i%s, %%p%u.inner\n", i, p->pass, p->pass, i);
            kiln__buffer_printf(p->text, "  %%p%u.at%s = getelementptr inbounds i8, ptr %%p%u.base, i64 %%p%u.off%s\n",
                                i, p->pass, i, i, p->pass);
        } else {
            kiln__buffer_printf(p->text,
                                "  %%p%u.at%s = getelementptr inbounds [%zu x i8], ptr %%p%u.base, i64 %%i%s\n", i,
                                p->pass, kiln__dtype_size(p->dtypes[i]), i, p->pass);
        }
        snprintf(pointer, sizeof pointer, "%%p%u.at%s", i, p->pass);
        kiln__ir_load(p->text, &p->declarations, kiln__value_name(p, name, i), p->dtypes[i], pointer, KILN_PARALLEL);
    }
}

kiln_status kiln__print_instr(struct kiln_printer *p, uint32_t index, kiln_error *err)
{
    char name[KILN_IR_NAME], inputs[3][KILN_IR_NAME];
    const char *pointers[3] = {inputs[0], inputs[1], inputs[2]};
    const struct kiln_instr *instr = &p->group->instrs[index];
    const struct kiln_op_info *info = &kiln__ops[instr->op];
    kiln__value_name(p, name, p->group->operand_count + p->group->constant_count + index);
    for (int i = 0; i < info->arity; i++) kiln__value_name(p, inputs[i], instr->in[i]);
    enum kiln_dtype in_dtype = p->dtypes[instr->in[info->dtype_rule == KILN_RULE_SELECT]];
    if (instr->op == KILN_OP_CAST) {
        kiln__ir_cast(p->text, &p->declarations, name, instr->dtype, inputs[0], in_dtype, 0);
        return KILN_OK;
    }
    return kiln__ir_apply(p->text, &p->declarations, name, instr->op, instr->dtype, in_dtype, pointers, err);
}

kiln_status kiln__print_instrs(struct kiln_printer *p, bool shared, kiln_error *err)
{
    uint32_t first = p->group->operand_count + p->group->constant_count;
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < p->group->instr_count && !status; i++)
        if (p->shared[first + i] == shared) status = kiln__print_instr(p, i, err);
    return status;
}

static void print_stores(struct kiln_printer *p)
{
    char name[KILN_IR_NAME], pointer[KILN_IR_NAME];
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        uint32_t value = p->group->outputs[i];
        kiln__buffer_printf(p->text, "  %%o%u.at = getelementptr inbounds [%zu x i8], ptr %%o%u.base, i64 %%i\n", i,
                            kiln__dtype_size(p->dtypes[value]), i);
        snprintf(pointer, sizeof pointer, "%%o%u.at", i);
        kiln__ir_store(p->text, kiln__value_name(p, name, value), p->dtypes[value], pointer, KILN_PARALLEL);
    }
}

/* From block `from` to block `to`, over %count elements at %oN.base and %pN.base; %count is at least 1. */
static kiln_status print_inner_loop(struct kiln_printer *p, const char *from, const char *to, kiln_error *err)
{
    kiln__buffer_printf(p->text, "  br label %%inner\n\ninner:\n");
    kiln__buffer_printf(p->text, "  %%i = phi i64 [ 0, %%%s ], [ %%i.next, %%inner ]\n", from);
    kiln__print_element_loads(p);
    kiln_status status = kiln__print_instrs(p, false, err);
    if (status) return status;
    print_stores(p);
    kiln__buffer_printf(p->text, "  %%i.next = add nuw nsw i64 %%i, 1\n  %%i.done = icmp eq i64 %%i.next, %%count\n");
    kiln__buffer_printf(p->text, "  br i1 %%i.done, label %%%s, label %%inner, !llvm.loop !1\n\n", to);
    return KILN_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

void kiln__print_row_base(struct kiln_printer *p, char side, uint32_t index)
{
    kiln__buffer_printf(p->text, "  %%%c%u.skip = mul nsw i64 %%row, %%%c%u.row\n", side, index, side, index);
    kiln__buffer_printf(p->text, "  %%%c%u.base = getelementptr inbounds i8, ptr %%%c%u, i64 %%%c%u.skip\n", side,
                        index, side, index, side, index);
}

static kiln_status print_rows(struct kiln_printer *p, kiln_error *err)
{
    kiln__print_arguments(p);
    kiln__buffer_printf(p->text,
                        "  %%count = add i64 %%n, 0\n"
                        "  %%some.rows = icmp sgt i64 %%rows, 0\n  %%some.n = icmp sgt i64 %%n, 0\n"
                        "  %%some = and i1 %%some.rows, %%some.n\n  br i1 %%some, label %%outer, label %%exit\n\n"
                        "outer:\n  %%row = phi i64 [ 0, %%entry ], [ %%row.next, %%outer.end ]\n");
    for (uint32_t i = 0; i < p->group->output_count; i++) kiln__print_row_base(p, 'o', i);
    for (uint32_t i = 0; i < p->group->operand_count; i++) kiln__print_row_base(p, 'p', i);
    kiln__print_shared_loads(p, ".base");
    kiln_status status = kiln__print_instrs(p, true, err);
    if (!status) status = print_inner_loop(p, "outer", "outer.end", err);
    kiln__buffer_printf(p->text, "outer.end:\n  %%row.next = add nuw nsw i64 %%row, 1\n"
                                 "  %%row.done = icmp eq i64 %%row.next, %%rows\n"
                                 "  br i1 %%row.done, label %%exit, label %%outer\n\nexit:\n  ret void\n}\n");
    return status;
}

/* ---- streaming ----------------------------------------------------------------------------------------------------
 */

static void print_tile_start(struct kiln_printer *p, size_t size)
{
    kiln__buffer_printf(p->text, "tile:\n  %%done = phi i64 [ 0, %%start ], [ %%done.next, %%tile.end ]\n"
                                 "  %%left = sub nsw i64 %%n, %%done\n");
    kiln__buffer_printf(p->text, "  %%at = getelementptr inbounds [%zu x i8], ptr %%o0, i64 %%done\n", size);
    kiln__print_stream_count(p, size, "");
    for (uint32_t i = 0; i < p->group->operand_count; i++)
        if (p->layouts[i] == KILN_LAYOUT_PACKED)
            kiln__buffer_printf(p->text, "  %%p%u.base = getelementptr inbounds [%zu x i8], ptr %%p%u, i64 %%done\n", i,
                                kiln__dtype_size(p->dtypes[i]), i);
}

static void print_tile_end(struct kiln_printer *p, size_t size)
{
    kiln__buffer_printf(p->text, "tile.end:\n  %%bytes = mul nuw nsw i64 %%count, %zu\n", size);
    for (uint32_t i = 0; i < p->group->output_count; i++) {
        kiln__buffer_printf(p->text, "  %%o%u.to = getelementptr inbounds [%zu x i8], ptr %%o%u, i64 %%done\n", i, size,
                            i);
        kiln__buffer_printf(p->text, "  call void @stream(ptr %%o%u.to, ptr %%o%u.base, i64 %%bytes)\n", i, i);
    }
    kiln__buffer_printf(p->text,
                        "  %%done.next = add nuw nsw i64 %%done, %%count\n"
                        "  %%all = icmp sge i64 %%done.next, %%n\n  br i1 %%all, label %%finish, label %%tile\n\n"
                        "finish:\n  call void @llvm.x86.sse.sfence()\n  br label %%exit\n\nexit:\n  ret void\n}\n");
}

static kiln_status print_streaming(struct kiln_printer *p, kiln_error *err)
{
    size_t size = kiln__dtype_size(p->dtypes[p->group->outputs[0]]);
    for (uint32_t i = 0; i < p->group->output_count; i++)
        kiln__buffer_printf(p->text, "  %%o%u.base = alloca [%d x i8], align %d\n", i, KILN_STREAM_TILE,
                            KILN_STREAM_LINE);
    kiln__print_arguments(p);
    kiln__buffer_printf(
        p->text, "  %%some.rows = icmp sgt i64 %%rows, 0\n  %%some.n = icmp sgt i64 %%n, 0\n"
                 "  %%some = and i1 %%some.rows, %%some.n\n  br i1 %%some, label %%start, label %%exit\n\nstart:\n");
    kiln__print_shared_loads(p, "");
    kiln_status status = kiln__print_instrs(p, true, err);
    kiln__buffer_printf(p->text, "  br label %%tile\n\n");
    print_tile_start(p, size);
    if (!status) status = print_inner_loop(p, "tile", "tile.end", err);
    print_tile_end(p, size);
    kiln__print_stream(p, size, (struct kiln_stream_nodes){3, 4});
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

bool kiln__is_expensive(const struct kiln_instr *instr)
{
    const char *lowering = kiln__ops[instr->op].lower[KILN_KIND_FLOAT];
    return lowering && lowering[0] == '@';
}

/*
 * Iterations LLVM is told to interleave; 0: as it likes, which is one when they are long. The steps of a helper wait
 * for each other, so a processor needs several iterations side by side; with many helpers registers and time to compile
 * run out, and rows may be too short for more than two.
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
    kiln__buffer_printf(p->text, "; kiln %s kernel%s%s\n", with_rows ? "row" : "element-wise",
                        with_rows && p->flags & KILN_GROUP_SHORT ? ", short" : "",
                        p->flags & KILN_GROUP_STREAMING ? ", streaming" : "");
    kiln__print_heading(p);
    kiln__buffer_printf(p->text, "define void @kernel(ptr noalias readonly %%args, ptr noalias readonly %%strides, "
                                 "i64 %%rows, i64 %%n) #0 {\nentry:\n");
    kiln_status status = with_rows   ? kiln__rows_print(p, err)
                         : streaming ? print_streaming(p, err)
                                     : print_rows(p, err);
    if (status) return status;
    if (p->declarations.size) kiln__buffer_printf(p->text, "\n%s", (const char *)p->declarations.data);
    kiln__buffer_printf(
        p->text, "\n!0 = distinct !{}\n!1 = distinct !{!1, !2%s}\n!2 = !{!\"llvm.loop.parallel_accesses\", !0}\n",
        kiln__loop_hints(p));
    if (interleaved(p))
        kiln__buffer_printf(p->text, "!7 = !{!\"llvm.loop.interleave.count\", i32 %d}\n", interleaved(p));
    kiln__buffer_printf(p->text,
                        "attributes #0 = { \"prefer-vector-width\"=\"512\" }\n"); /* x86-64-v4 alone means 256 */
    if (with_rows)
        kiln__buffer_printf(p->text, "!3 = distinct !{!3, !4}\n!4 = !{!\"llvm.loop.vectorize.width\", i32 1}\n");
    else if (streaming)
        kiln__buffer_printf(p->text,
                            "!3 = !{i32 1}\n!4 = distinct !{!4, !5}\n!5 = !{!\"llvm.loop.vectorize.width\", i32 1}\n");
    if (p->text->failed || p->declarations.failed) return kiln__no_memory(err, "the text of a kernel");
    return KILN_OK;
}

kiln_status kiln__printer_init(struct kiln_printer *p, const char *allowed, kiln_error *err)
{
    p->dtypes = calloc(kiln__group_values(p->group) + 1u, 1);
    p->shared = calloc(kiln__group_values(p->group) + 1u, sizeof *p->shared);
    if (!p->dtypes || !p->shared) return kiln__no_memory(err, "the text of a kernel");
    kiln_status status = check_group(p, allowed, err);
    if (!status) kiln__printer_share(p, KILN_LAYOUT_SCALAR);
    return status;
}

void kiln__printer_release(struct kiln_printer *p)
{
    free(p->shared);
    free(p->dtypes);
    kiln__buffer_release(&p->declarations);
}

kiln_status kiln__group_print(const struct kiln_group *group, const char *layouts, unsigned flags,
                              struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_printer p = {.group = group, .layouts = layouts, .flags = flags, .text = text, .pass = ""};
    kiln_status status = kiln__printer_init(&p, "csv", err);
    if (!status) status = print_kernel(&p, err);
    kiln__printer_release(&p);
    return status;
}
