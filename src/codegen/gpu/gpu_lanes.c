/*
 * gpu_lanes.c - see gpu_lanes.h. Every line is printed once per part of a lane. Threads exchange 32 bits at a time:
 * narrower types are widened, wider ones go in two halves.
 */
#include "codegen/gpu/gpu_lanes.h"

#include <string.h>

#include "codegen/lower.h"

static const char *lane_type(const struct kiln_reducer *r)
{
    return kiln__ir_value_type(r->lane);
}

/* "%name", "%namer" or "%namei" */
static struct kiln_name part_name(const struct kiln_reducer *r, const char *name, int part)
{
    return kiln__name(r->ir, "$0$1", name, kiln__ir_part(r->lane, part));
}

void kiln__lane_phi(struct kiln_reducer *r, const char *name, const char *a, const char *from_a, const char *b,
                    const char *from_b)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *identity = kiln__reduce_identity(r, part);
        kiln__print(r->ir, "  $0 = phi $1 [ $2, %$3 ]", part_name(r, name, part).text, lane_type(r),
                    a ? part_name(r, a, part).text : identity, from_a);
        if (from_b) kiln__print(r->ir, ", [ $0, %$1 ]", b ? part_name(r, b, part).text : identity, from_b);
        kiln__print(r->ir, "\n");
    }
}

void kiln__lane_select(struct kiln_reducer *r, const char *name, const char *condition, const char *a, const char *b)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  $0 = select i1 $1, $2 $3, $2 $4\n", part_name(r, name, part).text, condition,
                    lane_type(r), part_name(r, a, part).text, part_name(r, b, part).text);
}

/* ---- exchange -------------------------------------------------------------------------------------------------- */

static void exchange_word(struct kiln_printer *p, const char *name, const char *source, const char *kind, int distance)
{
    struct kiln_name intrinsic = kiln__name(p->ir, "llvm.nvvm.shfl.sync.$0.i32", kind);
    kiln__declare(p->ir, "declare i32 @$0(i32, i32, i32, i32)\n", intrinsic.text);
    kiln__print(p->ir, "  $0 = call i32 @$1(i32 -1, i32 $2, i32 $3, i32 31)\n", name, intrinsic.text, source, distance);
}

static void exchange_halves(struct kiln_printer *p, const char *name, const char *source, const char *kind,
                            int distance)
{
    kiln__print(p->ir,
                "  $0.low = trunc i64 $1 to i32\n"
                "  $0.shift = lshr i64 $1, 32\n"
                "  $0.high = trunc i64 $0.shift to i32\n",
                name, source);
    for (int k = 0; k < 2; k++) {
        struct kiln_name half = kiln__name(p->ir, "$0.$1", name, k ? "high" : "low");
        struct kiln_name sent = kiln__name(p->ir, "$0.$1.sent", name, k ? "high" : "low");
        exchange_word(p, sent.text, half.text, kind, distance);
    }
    kiln__print(p->ir,
                "  $0.a = zext i32 $0.low.sent to i64\n"
                "  $0.b = zext i32 $0.high.sent to i64\n"
                "  $0.c = shl nuw i64 $0.b, 32\n"
                "  $0 = or i64 $0.a, $0.c\n",
                name);
}

void kiln__gpu_exchange(struct kiln_printer *p, const char *type, const char *name, const char *source,
                        const char *kind, int distance)
{
    bool is_long = strcmp(type, "i64") == 0 || strcmp(type, "double") == 0;
    bool is_float = type[0] != 'i', is_narrow = strcmp(type, "i8") == 0 || strcmp(type, "i16") == 0;
    bool converts = is_float || is_narrow;
    struct kiln_name from = kiln__name(p->ir, converts ? "$0.from" : "$0", converts ? name : source);
    struct kiln_name to = kiln__name(p->ir, converts ? "$0.to" : "$0", name);
    if (converts)
        kiln__print(p->ir, "  $0 = $1 $2 $3 to $4\n", from.text, is_float ? "bitcast" : "zext", type, source,
                    is_long ? "i64" : "i32");
    (is_long ? exchange_halves : exchange_word)(p, to.text, from.text, kind, distance);
    if (converts)
        kiln__print(p->ir, "  $0 = $1 $2 $3 to $4\n", name, is_float ? "bitcast" : "trunc", is_long ? "i64" : "i32",
                    to.text, type);
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
    kiln__declare(p->ir, "declare float @$0(float, float)\n", function);
    kiln__print(p->ir, "  $0 = call float @$1(float $2, float $3)\n", name, function, a, b);
}

void kiln__lane_total(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source,
                      kiln_lane_combine *combine)
{
    struct kiln_name low = kiln__name(p->ir, "$0", source);
    for (int half = KILN_REDUCE_LANES / 2; half >= 1; half /= 2) {
        struct kiln_name high = kiln__name(p->ir, "$0.h$1", name, half);
        struct kiln_name both = half > 1 ? kiln__name(p->ir, "$0.l$1", name, half) : kiln__name(p->ir, "$0", name);
        kiln__lane_down(p, r, high.text, low.text, half);
        combine(p, r, both.text, low.text, high.text);
        low = both;
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
    kiln__print(r->ir,
                "  $0.to = getelementptr inbounds i8, ptr addrspace(3) @lanes, i64 $1\n"
                "  $0.at = getelementptr inbounds $2, ptr addrspace(3) $0.to, i64 $3\n",
                name, offset + (size_t)part * count * size, lane_type(r), index);
}

void kiln__lane_store(struct kiln_reducer *r, const char *source, uint32_t offset, uint32_t count, const char *index)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        struct kiln_name name = part_name(r, source, part);
        print_address(r, name.text, offset, count, index, part);
        kiln__print(r->ir, "  store $0 $1, ptr addrspace(3) $1.at, align $2\n", lane_type(r), name.text,
                    kiln__reduce_lane_align(r));
    }
}

void kiln__lane_load(struct kiln_reducer *r, const char *name, uint32_t offset, uint32_t count, const char *index)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        struct kiln_name to = part_name(r, name, part);
        print_address(r, to.text, offset, count, index, part);
        kiln__print(r->ir, "  $0 = load $1, ptr addrspace(3) $0.at, align $2\n", to.text, lane_type(r),
                    kiln__reduce_lane_align(r));
    }
}
