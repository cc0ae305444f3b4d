/*
 * combine.c - see combine.h: one row per reduction, a column per kind of lane.
 *
 * Maxima and minima are those of the element-wise operations (templates.h).
 */
#include "codegen/combine.h"

#include <stdio.h>
#include <string.h>

#include "codegen/group.h"
#include "codegen/lower.h"
#include "codegen/templates.h"

enum { NAME_SIZE = 64 };

/* As in templates.h. */
#define CHOOSE(compare) "$r.a = icmp " compare " $T $0, $1;$r = select $B $r.a, $T $0, $T $1"
#define ADD             "$r = add $T $0, $1"
#define MULTIPLY        "$r = mul $T $0, $1"
#define AND             "$r = and $T $0, $1"
#define OR              "$r = or $T $0, $1"

enum start { ZERO, ONE, LOWEST, HIGHEST };

static const struct reduction {
    const char *lines[5]; /* by kind of the output */
    uint8_t start;        /* enum start */
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
    return out == KILN_FLOAT16 || out == KILN_BFLOAT16 ? KILN_FLOAT32 : out;
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

const char *kiln__reduce_start(const struct kiln_reducer *reducer, int part)
{
    enum kiln_dtype_kind kind = kiln__dtypes[reducer->out].kind;
    bool highest = reductions[reducer->op].start == HIGHEST;
    if (reductions[reducer->op].start <= ONE) {
        bool one = reductions[reducer->op].start == ONE && part == 0;
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

/* (x + yi) * (1 + 0i) makes a NaN of an infinite part. */
bool kiln__reduce_start_is_neutral(const struct kiln_reducer *reducer)
{
    return reducer->op != KILN_OP_PROD || reducer->out != KILN_COMPLEX64;
}

/* Sums and products of floats round. Of several largest or smallest elements the last wins, of several NaN the first.
 */
bool kiln__reduce_is_associative(const struct kiln_reducer *reducer)
{
    bool rounds = kiln__dtypes[reducer->out].kind >= KILN_KIND_FLOAT;
    return !rounds || (reducer->op != KILN_OP_SUM && reducer->op != KILN_OP_PROD);
}

void kiln__reduce_combine(struct kiln_reducer *reducer, const char *name, const char *a, const char *b, int lanes)
{
    char type[NAME_SIZE], truth[NAME_SIZE];
    snprintf(type, sizeof type, lanes ? "<%2$d x %1$s>" : "%1$s", kiln__ir_value_type(reducer->lane), lanes);
    snprintf(truth, sizeof truth, lanes ? "<%d x i1>" : "i1", lanes);
    kiln__buffer_printf(reducer->text, "  ");
    for (const char *at = reductions[reducer->op].lines[kiln__dtypes[reducer->out].kind]; *at; at++) {
        if (*at == ';') {
            kiln__buffer_printf(reducer->text, "\n  ");
        } else if (*at != '$') {
            kiln__buffer_append(reducer->text, at, 1);
        } else {
            at++;
            const char *word = *at == 'r' ? name : *at == 'T' ? type : *at == 'B' ? truth : *at == '0' ? a : b;
            kiln__buffer_append(reducer->text, word, strlen(word));
        }
    }
    kiln__buffer_printf(reducer->text, "\n");
}

/* name = lanes from .. from + half of `source`, one part of it. */
static void print_half(struct kiln_reducer *r, const char *name, const char *source, int half, int from)
{
    const char *type = kiln__ir_value_type(r->lane);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++) {
        const char *suffix = kiln__ir_part(r->lane, part);
        kiln__buffer_printf(r->text, "  %s%s = shufflevector <%d x %s> %s%s, <%d x %s> poison, <%d x i32> <", name,
                            suffix, 2 * half, type, source, suffix, 2 * half, type, half);
        for (int k = 0; k < half; k++) kiln__buffer_printf(r->text, "%si32 %d", k ? ", " : "", from + k);
        kiln__buffer_printf(r->text, ">\n");
    }
}

void kiln__reduce_total(struct kiln_reducer *r)
{
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text, "  %%c16%s = load <16 x %s>, ptr %%lanes%d, align %zu\n",
                            kiln__ir_part(r->lane, part), kiln__ir_value_type(r->lane), part,
                            kiln__reduce_lanes_align(r));
    kiln__reduce_pairs(r, "%c16");
}

void kiln__reduce_pairs(struct kiln_reducer *r, const char *lanes)
{
    char all[NAME_SIZE], low[NAME_SIZE], high[NAME_SIZE];
    snprintf(all, sizeof all, "%s", lanes);
    for (int half = KILN_REDUCE_LANES / 2; half >= 1; half /= 2) {
        snprintf(low, sizeof low, "%%l%d", half);
        snprintf(high, sizeof high, "%%h%d", half);
        print_half(r, low, all, half, 0);
        print_half(r, high, all, half, half);
        snprintf(all, sizeof all, "%%c%d", half);
        kiln__reduce_combine(r, all, low, high, half);
    }
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text, "  %%total%s = extractelement <1 x %s> %%c1%s, i64 0\n",
                            kiln__ir_part(r->lane, part), kiln__ir_value_type(r->lane), kiln__ir_part(r->lane, part));
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
    kiln__buffer_printf(r->text,
                        "  %%mask.n = trunc i64 %s to i32\n  %%mask.one = insertelement <16 x i32> poison, i32 "
                        "%%mask.n, i64 0\n  %%mask.all = shufflevector <16 x i32> %%mask.one, <16 x i32> poison, "
                        "<16 x i32> zeroinitializer\n  %%mask = icmp ult <16 x i32> <",
                        count);
    for (int k = 0; k < KILN_REDUCE_LANES; k++) kiln__buffer_printf(r->text, "%si32 %d", k ? ", " : "", k);
    kiln__buffer_printf(r->text, ">, %%mask.all\n");
}

void kiln__reduce_masked_load(struct kiln_reducer *r, const char *name, const char *type, const char *pointer)
{
    size_t i = masked_index(type);
    char function[NAME_SIZE], vector[NAME_SIZE], arguments[2 * NAME_SIZE];
    snprintf(function, sizeof function, "llvm.masked.load.v16%s.p0", masked[i].name);
    snprintf(vector, sizeof vector, "<16 x %s>", type);
    snprintf(arguments, sizeof arguments, "ptr, i32, <16 x i1>, %s", vector);
    kiln__buffer_printf(r->text, "  %s = call %s @%s(ptr %s, i32 %d, <16 x i1> %%mask, %s zeroinitializer)\n", name,
                        vector, function, pointer, masked[i].bytes, vector);
    kiln__ir_declare(&r->declarations, vector, function, arguments);
}

void kiln__reduce_masked_combine(struct kiln_reducer *r, const char *name, const char *a, const char *b)
{
    char all[NAME_SIZE];
    const char *type = kiln__ir_value_type(r->lane);
    snprintf(all, sizeof all, "%s.all", name);
    kiln__reduce_combine(r, all, a, b, KILN_REDUCE_LANES);
    for (int part = 0; part < kiln__ir_parts(r->lane); part++)
        kiln__buffer_printf(r->text,
                            "  %1$s%2$s = select <16 x i1> %%mask, <16 x %3$s> %4$s%2$s, <16 x %3$s> %5$s%2$s\n", name,
                            kiln__ir_part(r->lane, part), type, all, a);
}

/* ---- in and out ------------------------------------------------------------------------------------------------- */

void kiln__reduce_enter(struct kiln_reducer *reducer, const char *name, const char *source, int lanes)
{
    char truth[NAME_SIZE];
    if (reducer->out != KILN_BOOL) {
        kiln__ir_cast(reducer->text, &reducer->declarations, name, reducer->lane, source, reducer->in, lanes);
        return;
    }
    snprintf(truth, sizeof truth, "%s.truth", name);
    if (reducer->in != KILN_BOOL)
        kiln__ir_cast(reducer->text, &reducer->declarations, truth, KILN_BOOL, source, reducer->in, lanes);
    kiln__ir_cast(reducer->text, &reducer->declarations, name, KILN_UINT8, reducer->in == KILN_BOOL ? source : truth,
                  KILN_BOOL, lanes);
}

void kiln__reduce_leave(struct kiln_reducer *reducer, const char *source, const char *pointer, const char *tail)
{
    kiln__ir_cast(reducer->text, &reducer->declarations, "%result", reducer->out, source, reducer->lane, 0);
    kiln__ir_store(reducer->text, "%result", reducer->out, pointer, tail);
}
