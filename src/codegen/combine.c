/*
 * combine.c - see combine.h: one row per reduction, a column per kind of lane.
 *
 * Maxima and minima pass NaN on, as maximum and minimum of ops.def do; complex numbers are ordered by their real parts,
 * then by their imaginary parts.
 */
#include "codegen/combine.h"

#include <stdio.h>
#include <string.h>

#include "codegen/group.h"
#include "codegen/lower.h"

enum { NAME_SIZE = 64 };

/* $r the result, $0 and $1 the inputs, $T their type, $B the type of a comparison; lines are separated by ';'. */
#define CHOOSE(compare) "$r.a = icmp " compare " $T $0, $1;$r = select $B $r.a, $T $0, $T $1"
#define FLOAT_CHOOSE(compare)                                                                                          \
    "$r.a = fcmp " compare " $T $0, $1;$r.b = fcmp uno $T $0, $0;$r.c = or $B $r.a, $r.b;"                             \
    "$r = select $B $r.c, $T $0, $T $1"
#define COMPLEX_CHOOSE(compare)                                                                                        \
    "$r.a = fcmp " compare " $T $0r, $1r;$r.b = fcmp oeq $T $0r, $1r;$r.c = fcmp " compare " $T $0i, $1i;"             \
    "$r.d = and $B $r.b, $r.c;$r.e = or $B $r.a, $r.d;$r.f = fcmp ord $T $1r, $1i;$r.g = and $B $r.e, $r.f;"           \
    "$r.h = fcmp uno $T $0r, $0i;$r.k = or $B $r.g, $r.h;"                                                             \
    "$rr = select $B $r.k, $T $0r, $T $1r;$ri = select $B $r.k, $T $0i, $T $1i"
#define COMPLEX_ADD "$rr = fadd $T $0r, $1r;$ri = fadd $T $0i, $1i"
#define COMPLEX_MULTIPLY                                                                                               \
    "$r.a = fmul $T $0r, $1r;$r.b = fmul $T $0i, $1i;$rr = fsub $T $r.a, $r.b;"                                        \
    "$r.c = fmul $T $0r, $1i;$r.d = fmul $T $0i, $1r;$ri = fadd $T $r.c, $r.d"
#define ADD      "$r = add $T $0, $1"
#define MULTIPLY "$r = mul $T $0, $1"
#define AND      "$r = and $T $0, $1"
#define OR       "$r = or $T $0, $1"

enum start { ZERO, ONE, LOWEST, HIGHEST };

static const struct reduction {
    const char *lines[5]; /* by kind of the output */
    uint8_t start;        /* enum start */
} reductions[KILN_OP_COUNT] = {
    [KILN_OP_SUM] = {{NULL, ADD, ADD, "$r = fadd $T $0, $1", COMPLEX_ADD}, ZERO},
    [KILN_OP_PROD] = {{NULL, MULTIPLY, MULTIPLY, "$r = fmul $T $0, $1", COMPLEX_MULTIPLY}, ONE},
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
                               char letter, kiln_error *err)
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
    if (!strchr("cvr", letter) || !letter)
        return kiln__fail(err, KILN_INVALID, "[%s] layout '%c'; it must be c, v or r", name, letter);
    reducer->op = op;
    reducer->in = in;
    reducer->out = out;
    reducer->letter = letter;
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
