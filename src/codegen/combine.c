/*
 * combine.c - see combine.h: one row per reduction, a column per kind of lane.
 *
 * Maxima and minima are those of the element-wise operations (templates.h).
 */
#include "codegen/combine.h"

#include <string.h>

#include "codegen/group.h"
#include "codegen/lower.h"
#include "codegen/templates.h"

/* As in templates.h. */
#define CHOOSE(compare) "$r.a = icmp " compare " $T $0, $1;$r = select $B $r.a, $T $0, $T $1"
#define ADD             "$r = add $T $0, $1"
#define MULTIPLY        "$r = mul $T $0, $1"
#define AND             "$r = and $T $0, $1"
#define OR              "$r = or $T $0, $1"

enum identity { ZERO, ONE, LOWEST, HIGHEST };

static const struct reduction {
    const char *lines[5]; /* by kind of the output */
    uint8_t identity;     /* enum identity */
} reductions[KILN_OP_COUNT] = {
    [KILN_OP_SUM] = {{NULL, ADD, ADD, "$r = fadd $T $0, $1", COMPLEX_ADD}, ZERO},
    [KILN_OP_PROD] = {{NULL, MULTIPLY, MULTIPLY, "$r = fmul $T $0, $1", COMPLEX_MULTIPLY("$0", "$1")}, ONE},
    [KILN_OP_MIN] = {{AND, CHOOSE("ult"), CHOOSE("slt"), FLOAT_CHOOSE("olt"), COMPLEX_CHOOSE("olt")}, HIGHEST},
    [KILN_OP_MAX] = {{OR, CHOOSE("ugt"), CHOOSE("sgt"), FLOAT_CHOOSE("ogt"), COMPLEX_CHOOSE("ogt")}, LOWEST},
    [KILN_OP_ALL] = {{AND, NULL, NULL, NULL, NULL}, ONE},
    [KILN_OP_ANY] = {{OR, NULL, NULL, NULL, NULL}, ZERO},
};

static const char *const infinities[2] = {"0xFFF0000000000000", "0x7FF0000000000000"};
static const char *const lowest_signed[] = {"-128", "-32768", "-2147483648", "-9223372036854775808"};
static const char *const highest_signed[] = {"127", "32767", "2147483647", "9223372036854775807"};
static const char *const highest_unsigned[] = {"255", "65535", "4294967295", "18446744073709551615"};

static int size_index(enum kiln_dtype dtype)
{
    return __builtin_ctz((unsigned)kiln__dtype_size(dtype));
}

enum kiln_dtype kiln__reduction_total_dtype(enum kiln_dtype out)
{
    return kiln__ir_is_narrow(out) ? KILN_FLOAT32 : out;
}

kiln_status kiln__reducer_init(struct kiln_reducer *reducer, enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out,
                               char layout, kiln_error *err)
{
    if ((unsigned)op >= KILN_OP_COUNT || kiln__ops[op].kind != KILN_OP_REDUCE)
        return kiln__fail(err, KILN_INVALID, "operation %d is not a reduction", (int)op);
    const char *name = kiln__ops[op].name;
    if ((unsigned)in >= KILN_DTYPE_COUNT || (unsigned)out >= KILN_DTYPE_COUNT)
        return kiln__fail(err, KILN_INVALID, "[%s] dtypes %d to %d; they are 0 to %d", name, (int)in, (int)out,
                          KILN_DTYPE_COUNT - 1);
    if (!reductions[op].lines[kiln__dtypes[out].kind] || (in == KILN_COMPLEX64 && out != KILN_COMPLEX64))
        return kiln__fail(err, KILN_INVALID, "[%s] of %s can't be %s", name, kiln__dtypes[in].name,
                          kiln__dtypes[out].name);
    if (!strchr("cvr", layout) || !layout)
        return kiln__fail(err, KILN_INVALID, "[%s] layout '%c'; it must be c, v or r", name, layout);
    reducer->op = op;
    reducer->in = in;
    reducer->out = out;
    reducer->layout = layout;
    reducer->lane = out == KILN_BOOL ? KILN_UINT8 : kiln__reduction_total_dtype(out);
    return KILN_OK;
}

const char *kiln__reduce_identity(const struct kiln_reducer *reducer, int part)
{
    enum kiln_dtype_kind kind = kiln__dtypes[reducer->out].kind;
    bool highest = reductions[reducer->op].identity == HIGHEST;
    if (reductions[reducer->op].identity <= ONE) {
        bool one = reductions[reducer->op].identity == ONE && part == 0;
        return kind >= KILN_KIND_FLOAT ? one ? "1.0" : "0.0" : one ? "1" : "0";
    }
    if (kind >= KILN_KIND_FLOAT) return infinities[highest];
    if (kind == KILN_KIND_SIGNED) return (highest ? highest_signed : lowest_signed)[size_index(reducer->lane)];
    if (!highest) return "0";
    return kind == KILN_KIND_BOOL ? "1" : highest_unsigned[size_index(reducer->lane)];
}

size_t kiln__reduce_lane_align(const struct kiln_reducer *reducer)
{
    return kiln__dtype_size(reducer->lane) / (size_t)kiln__ir_parts(reducer->lane);
}

size_t kiln__reduce_lanes_align(const struct kiln_reducer *reducer)
{
    size_t align = KILN_REDUCE_LANES * kiln__reduce_lane_align(reducer);
    return align < 64 ? align : 64;
}

/* (x + yi) * (1 + 0i) is NaN where a part is infinite. */
bool kiln__reduce_identity_is_exact(const struct kiln_reducer *reducer)
{
    return reducer->op != KILN_OP_PROD || reducer->out != KILN_COMPLEX64;
}

/* Sums and products of floats round. Of several equal maxima or minima the last is chosen, of several NaN the first. */
bool kiln__reduce_is_associative(const struct kiln_reducer *reducer)
{
    bool rounds = kiln__dtypes[reducer->out].kind >= KILN_KIND_FLOAT;
    return !rounds || (reducer->op != KILN_OP_SUM && reducer->op != KILN_OP_PROD);
}

void kiln__reduce_combine(struct kiln_reducer *reducer, const char *name, const char *a, const char *b, int lanes)
{
    kiln__print_lines(reducer->ir, "r01TB", reductions[reducer->op].lines[kiln__dtypes[reducer->out].kind], name, a, b,
                      kiln__ir_type(reducer->ir, kiln__ir_value_type(reducer->lane), lanes).text,
                      kiln__ir_type(reducer->ir, "i1", lanes).text);
}

/* name = lanes from .. from + half of `source`, one part of it. */
static void print_half(struct kiln_reducer *r, const char *name, const char *source, int half, int from)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__print(r->ir, "  $0$1 = shufflevector <$2 x $3> $4$1, <$2 x $3> poison, <$5 x i32> <", name, suffix,
                    2 * half, type, source, half);
        for (int k = 0; k < half; k++) kiln__print(r->ir, "$0i32 $1", k ? ", " : "", from + k);
        kiln__print(r->ir, ">\n");
    }
}

void kiln__reduce_total(struct kiln_reducer *r)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %c16$0 = load <16 x $1>, ptr %lanes$2, align $3\n", kiln__ir_part(r->lane, part),
                    kiln__ir_value_type(r->lane), part, kiln__reduce_lanes_align(r));
    kiln__reduce_pairs(r, "%c16");
}

void kiln__reduce_pairs(struct kiln_reducer *r, const char *lanes)
{
    struct kiln_name all = kiln__name(r->ir, "$0", lanes);
    for (int half = KILN_REDUCE_LANES / 2; half >= 1; half /= 2) {
        struct kiln_name low = kiln__name(r->ir, "%l$0", half);
        struct kiln_name high = kiln__name(r->ir, "%h$0", half);
        print_half(r, low.text, all.text, half, 0);
        print_half(r, high.text, all.text, half, half);
        all = kiln__name(r->ir, "%c$0", half);
        kiln__reduce_combine(r, all.text, low.text, high.text, half);
    }
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  %total$0 = extractelement <1 x $1> %c1$0, i64 0\n", kiln__ir_part(r->lane, part),
                    kiln__ir_value_type(r->lane));
}

/* ---- the end of a row ------------------------------------------------------------------------------------------- */

static const struct {
    const char *type, *name; /* in the intrinsic's name */
    int bytes;
} masked[] = {{"float", "f32", 4}, {"double", "f64", 8}, {"i32", "i32", 4}, {"i64", "i64", 8}};

enum { MASKED = sizeof masked / sizeof masked[0] };

static size_t masked_index(const char *type)
{
    size_t i = 0;
    while (i < MASKED && strcmp(masked[i].type, type) != 0) i++;
    return i;
}

bool kiln__reduce_has_masked_load(const char *type)
{
    return masked_index(type) < MASKED;
}

void kiln__reduce_mask(struct kiln_reducer *r, const char *count)
{
    kiln__print(r->ir,
                "  %mask.n = trunc i64 $0 to i32\n"
                "  %mask.one = insertelement <16 x i32> poison, i32 %mask.n, i64 0\n"
                "  %mask.all = shufflevector <16 x i32> %mask.one, <16 x i32> poison, <16 x i32> zeroinitializer\n"
                "  %mask = icmp ult <16 x i32> <",
                count);
    for (int k = 0; k < KILN_REDUCE_LANES; k++) kiln__print(r->ir, "$0i32 $1", k ? ", " : "", k);
    kiln__print(r->ir, ">, %mask.all\n");
}

void kiln__reduce_masked_load(struct kiln_reducer *r, const char *name, const char *type, const char *pointer)
{
    size_t i = masked_index(type);
    struct kiln_name function = kiln__name(r->ir, "llvm.masked.load.v16$0.p0", masked[i].name);
    struct kiln_name vector = kiln__name(r->ir, "<16 x $0>", type);
    kiln__print(r->ir, "  $0 = call $1 @$2(ptr $3, i32 $4, <16 x i1> %mask, $1 zeroinitializer)\n", name, vector.text,
                function.text, pointer, masked[i].bytes);
    kiln__declare(r->ir, "declare $0 @$1(ptr, i32, <16 x i1>, $0)\n", vector.text, function.text);
}

void kiln__reduce_masked_combine(struct kiln_reducer *r, const char *name, const char *a, const char *b)
{
    const char *type = kiln__ir_value_type(r->lane);
    struct kiln_name all = kiln__name(r->ir, "$0.all", name);
    kiln__reduce_combine(r, all.text, a, b, KILN_REDUCE_LANES);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__print(r->ir, "  $0$1 = select <16 x i1> %mask, <16 x $2> $3$1, <16 x $2> $4$1\n", name,
                    kiln__ir_part(r->lane, part), type, all.text, a);
}

/* ---- in and out ------------------------------------------------------------------------------------------------- */

void kiln__reduce_enter(struct kiln_reducer *reducer, const char *name, const char *source, int lanes)
{
    if (reducer->out != KILN_BOOL) {
        kiln__ir_cast(reducer->ir, name, reducer->lane, source, reducer->in, lanes);
        return;
    }
    struct kiln_name truth = kiln__name(reducer->ir, "$0.truth", name);
    if (reducer->in != KILN_BOOL) kiln__ir_cast(reducer->ir, truth.text, KILN_BOOL, source, reducer->in, lanes);
    kiln__ir_cast(reducer->ir, name, KILN_UINT8, reducer->in == KILN_BOOL ? source : truth.text, KILN_BOOL, lanes);
}

void kiln__reduce_leave(struct kiln_reducer *reducer, const char *source, const char *pointer, const char *tail)
{
    kiln__ir_cast(reducer->ir, "%result", reducer->out, source, reducer->lane, 0);
    kiln__ir_store(reducer->ir, "%result", reducer->out, pointer, tail);
}
