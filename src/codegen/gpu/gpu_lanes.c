/*
 * gpu_lanes.c - see gpu_lanes.h. Every line is printed once per part of a lane. Threads exchange 32 bits at a time:
 * narrower types are widened, wider ones go in two halves.
 */
#include "codegen/gpu/gpu_lanes.h"

#include <stdio.h>
#include <string.h>

#include "codegen/lower.h"

struct kiln_name kiln__name(const char *stem, uint32_t index, const char *suffix)
{
    struct kiln_name name;
    snprintf(name.text, sizeof name.text, "%%%s%u%s", stem, index, suffix);
    return name;
}

static const char *lane_type(const struct kiln_reducer *r)
{
    return kiln__ir_value_type(r->lane);
}

/* "%name", "%namer" or "%namei" */
static struct kiln_name part_name(const struct kiln_reducer *r, const char *name, int part)
{
    struct kiln_name out;
    snprintf(out.text, sizeof out.text, "%s%s", name, kiln__ir_part(r->lane, part));
    return out;
}

void kiln__lane_phi(struct kiln_reducer *r, const char *name, const char *a, const char *from_a, const char *b,
                    const char *from_b)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *start = kiln__reduce_start(r, part);
        kiln__buffer_printf(r->text, "  %s = phi %s [ %s, %%%s ]", part_name(r, name, part).text, lane_type(r),
                            a ? part_name(r, a, part).text : start, from_a);
        if (from_b) kiln__buffer_printf(r->text, ", [ %s, %%%s ]", b ? part_name(r, b, part).text : start, from_b);
        kiln__buffer_printf(r->text, "\n");
    }
}

void kiln__lane_select(struct kiln_reducer *r, const char *name, const char *condition, const char *a, const char *b)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text, "  %s = select i1 %s, %s %s, %s %s\n", part_name(r, name, part).text, condition,
                            lane_type(r), part_name(r, a, part).text, lane_type(r), part_name(r, b, part).text);
}

/* ---- exchange -------------------------------------------------------------------------------------------------- */

static void exchange_word(struct kiln_printer *p, const char *name, const char *source, const char *kind, int distance)
{
    char intrinsic[KILN_IR_NAME];
    snprintf(intrinsic, sizeof intrinsic, "llvm.nvvm.shfl.sync.%s.i32", kind);
    kiln__ir_declare(&p->declarations, "i32", intrinsic, "i32, i32, i32, i32");
    kiln__buffer_printf(p->text, "  %s = call i32 @%s(i32 -1, i32 %s, i32 %d, i32 31)\n", name, intrinsic, source,
                        distance);
}

static void exchange_halves(struct kiln_printer *p, const char *name, const char *source, const char *kind,
                            int distance)
{
    char half[KILN_IR_NAME], sent[KILN_IR_NAME];
    kiln__buffer_printf(p->text,
                        "  %1$s.low = trunc i64 %2$s to i32\n  %1$s.shift = lshr i64 %2$s, 32\n"
                        "  %1$s.high = trunc i64 %1$s.shift to i32\n",
                        name, source);
    for (int k = 0; k < 2; k++) {
        snprintf(half, sizeof half, "%.48s.%s", name, k ? "high" : "low");
        snprintf(sent, sizeof sent, "%.48s.%s.sent", name, k ? "high" : "low");
        exchange_word(p, sent, half, kind, distance);
    }
    kiln__buffer_printf(p->text,
                        "  %1$s.a = zext i32 %1$s.low.sent to i64\n  %1$s.b = zext i32 %1$s.high.sent to i64\n"
                        "  %1$s.c = shl nuw i64 %1$s.b, 32\n  %1$s = or i64 %1$s.a, %1$s.c\n",
                        name);
}

void kiln__gpu_exchange(struct kiln_printer *p, const char *type, const char *name, const char *source,
                        const char *kind, int distance)
{
    char from[KILN_IR_NAME], to[KILN_IR_NAME];
    bool is_long = strcmp(type, "i64") == 0 || strcmp(type, "double") == 0;
    bool is_float = type[0] != 'i', is_narrow = strcmp(type, "i8") == 0 || strcmp(type, "i16") == 0;
    snprintf(from, sizeof from, is_float || is_narrow ? "%.48s.from" : "%.48s", is_float || is_narrow ? name : source);
    snprintf(to, sizeof to, is_float || is_narrow ? "%.48s.to" : "%.48s", name);
    if (is_float || is_narrow)
        kiln__buffer_printf(p->text, "  %s = %s %s %s to %s\n", from, is_float ? "bitcast" : "zext", type, source,
                            is_long ? "i64" : "i32");
    (is_long ? exchange_halves : exchange_word)(p, to, from, kind, distance);
    if (is_float || is_narrow)
        kiln__buffer_printf(p->text, "  %s = %s %s %s to %s\n", name, is_float ? "bitcast" : "trunc",
                            is_long ? "i64" : "i32", to, type);
}

static void exchange_lane(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source,
                          const char *kind, int distance)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__gpu_exchange(p, lane_type(r), part_name(r, name, part).text, part_name(r, source, part).text, kind,
                           distance);
}

void kiln__lane_down(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source, int distance)
{
    exchange_lane(p, r, name, source, "down", distance);
}

void kiln__lane_across(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source)
{
    exchange_lane(p, r, name, source, "bfly", KILN_REDUCE_LANES);
}

void kiln__lane_first(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source)
{
    exchange_lane(p, r, name, source, "idx", 0);
}

/* ---- combination ----------------------------------------------------------------------------------------------- */

enum kiln_lane_order kiln__lane_order(const struct kiln_reducer *r)
{
    bool chooses = r->op == KILN_OP_MAX || r->op == KILN_OP_MIN;
    if (kiln__dtypes[r->lane].kind < KILN_KIND_FLOAT) return KILN_LANES_FREE;
    return chooses && r->lane == KILN_FLOAT32 ? KILN_LANES_QUICK : KILN_LANES_ORDERED;
}

void kiln__lane_combine(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *a, const char *b)
{
    (void)p;
    kiln__reduce_combine(r, name, a, b, 0);
}

void kiln__lane_combine_quickly(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *a,
                                const char *b)
{
    const char *function = r->op == KILN_OP_MAX ? "llvm.maximum.f32" : "llvm.minimum.f32";
    if (kiln__lane_order(r) != KILN_LANES_QUICK) {
        kiln__reduce_combine(r, name, a, b, 0);
        return;
    }
    kiln__ir_declare(&p->declarations, "float", function, "float, float");
    kiln__buffer_printf(p->text, "  %s = call float @%s(float %s, float %s)\n", name, function, a, b);
}

void kiln__lane_total(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source,
                      kiln_lane_combine *combine)
{
    char low[KILN_IR_NAME], high[KILN_IR_NAME], both[KILN_IR_NAME];
    snprintf(low, sizeof low, "%s", source);
    for (int half = KILN_REDUCE_LANES / 2; half >= 1; half /= 2) {
        snprintf(high, sizeof high, "%.48s.h%d", name, half);
        snprintf(both, sizeof both, half > 1 ? "%.48s.l%d" : "%.48s", name, half);
        kiln__lane_down(p, r, high, low, half);
        combine(p, r, both, low, high);
        snprintf(low, sizeof low, "%s", both);
    }
}

/* ---- shared memory --------------------------------------------------------------------------------------------- */

uint32_t kiln__lane_bytes(const struct kiln_reducer *r, uint32_t count)
{
    return ((uint32_t)kiln__dtype_size(r->lane) * count + 15u) & ~15u;
}

/* name.at = where a part of the lane is. */
static void print_address(struct kiln_reducer *r, const char *name, uint32_t offset, uint32_t count, const char *index,
                          int part)
{
    size_t size = kiln__reduce_lane_align(r);
    kiln__buffer_printf(r->text,
                        "  %1$s.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 %2$zu\n"
                        "  %1$s.at = getelementptr inbounds %3$s, ptr addrspace(3) %1$s.to, i64 %4$s\n",
                        name, offset + (size_t)part * count * size, lane_type(r), index);
}

void kiln__lane_store(struct kiln_reducer *r, const char *source, uint32_t offset, uint32_t count, const char *index)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        struct kiln_name name = part_name(r, source, part);
        print_address(r, name.text, offset, count, index, part);
        kiln__buffer_printf(r->text, "  store %s %s, ptr addrspace(3) %s.at, align %zu\n", lane_type(r), name.text,
                            name.text, kiln__reduce_lane_align(r));
    }
}

void kiln__lane_load(struct kiln_reducer *r, const char *name, uint32_t offset, uint32_t count, const char *index)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        struct kiln_name to = part_name(r, name, part);
        print_address(r, to.text, offset, count, index, part);
        kiln__buffer_printf(r->text, "  %s = load %s, ptr addrspace(3) %s.at, align %zu\n", to.text, lane_type(r),
                            to.text, kiln__reduce_lane_align(r));
    }
}
