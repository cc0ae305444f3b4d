/*
 * lower.c - see lower.h. What is printed depends on its arguments only: temporaries are the result's name and a suffix.
 *
 * Every operation rounds to its dtype: a 16-bit float is computed in float, narrowed and widened again, except where a
 * template only picks or flips a value that is rounded already (`exact`). Nothing is contracted: no fast-math flag.
 */
#include "codegen/lower.h"

#include <string.h>

#include "codegen/templates.h"

struct ir_type {
    const char *value, *memory, *suffix; /* suffix: of intrinsics and helpers on the value type */
    int bits;                            /* of the value type */
};

static const struct ir_type types[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = {"i1", "i8", "i1", 1},
    [KILN_UINT8] = {"i8", "i8", "i8", 8},
    [KILN_UINT16] = {"i16", "i16", "i16", 16},
    [KILN_UINT32] = {"i32", "i32", "i32", 32},
    [KILN_UINT64] = {"i64", "i64", "i64", 64},
    [KILN_INT8] = {"i8", "i8", "i8", 8},
    [KILN_INT16] = {"i16", "i16", "i16", 16},
    [KILN_INT32] = {"i32", "i32", "i32", 32},
    [KILN_INT64] = {"i64", "i64", "i64", 64},
    [KILN_FLOAT16] = {"float", "i16", "f32", 32},
    [KILN_FLOAT32] = {"float", "float", "f32", 32},
    [KILN_FLOAT64] = {"double", "double", "f64", 64},
    [KILN_BFLOAT16] = {"float", "i16", "f32", 32},
    [KILN_COMPLEX64] = {"float", "float", "f32", 32},
};

bool kiln__ir_is_narrow(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
}

const char *kiln__ir_value_type(enum kiln_dtype dtype)
{
    return types[dtype].value;
}

const char *kiln__ir_memory_type(enum kiln_dtype dtype)
{
    return types[dtype].memory;
}

int kiln__ir_parts(enum kiln_dtype dtype)
{
    return dtype == KILN_COMPLEX64 ? 2 : 1;
}

const char *kiln__ir_part(enum kiln_dtype dtype, int part)
{
    return dtype != KILN_COMPLEX64 ? "" : part ? "i" : "r";
}

/* ---- 16-bit floats ------------------------------------------------------------------------------------------------
 */

static void narrow(struct kiln_ir *ir, const char *bits, enum kiln_dtype dtype, const char *source)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_narrow_f16" : "kiln_narrow_bf16";
    kiln__declare(ir, "declare zeroext i16 @$0(float)\n", helper);
    kiln__print(ir, "  $0 = call zeroext i16 @$1(float $2)\n", bits, helper, source);
}

static void widen(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *bits)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_widen_f16" : "kiln_widen_bf16";
    kiln__declare(ir, "declare float @$0(i16 zeroext)\n", helper);
    kiln__print(ir, "  $0 = call float @$1(i16 zeroext $2)\n", name, helper, bits);
}

/*
 * name.bits = the float `source` rounded to `dtype`; name = that as a float again, unless it is `source` itself. Two
 * calls, because only the stored bits need a canonical NaN; LLVM removes the one that is not used.
 */
static void round_to(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *source)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_round_f16" : "kiln_round_bf16";
    narrow(ir, kiln__name(ir, "$0.bits", name).text, dtype, source);
    if (strcmp(name, source) == 0) return;
    kiln__declare(ir, "declare float @$0(float)\n", helper);
    kiln__print(ir, "  $0 = call float @$1(float $2)\n", name, helper, source);
}

/* ---- conversions --------------------------------------------------------------------------------------------------
 */

struct kiln_name kiln__ir_type(struct kiln_ir *ir, const char *type, int lanes)
{
    return lanes ? kiln__name(ir, "<$0 x $1>", lanes, type) : kiln__name(ir, "$0", type);
}

static void float_to_int(struct kiln_ir *ir, const char *name, enum kiln_dtype to, const char *source,
                         enum kiln_dtype from, int lanes)
{
    const char *how = kiln__dtypes[to].kind == KILN_KIND_SIGNED ? "fptosi" : "fptoui";
    struct kiln_name vector = lanes ? kiln__name(ir, "v$0", lanes) : (struct kiln_name){""};
    kiln__print(ir, "  $0 = call $1 @llvm.$2.sat.$3$4.$3$5($6 $7)\n", name,
                kiln__ir_type(ir, types[to].value, lanes).text, how, vector.text, types[to].suffix, types[from].suffix,
                kiln__ir_type(ir, types[from].value, lanes).text, source);
}

/* The LLVM instruction for a conversion between two numbers; NULL: the bits stay as they are. */
static const char *conversion(enum kiln_dtype to, enum kiln_dtype from)
{
    bool to_float = kiln__dtypes[to].kind >= KILN_KIND_FLOAT, from_float = kiln__dtypes[from].kind >= KILN_KIND_FLOAT;
    bool is_signed = kiln__dtypes[from].kind == KILN_KIND_SIGNED;
    if (to_float && !from_float) return is_signed ? "sitofp" : "uitofp";
    if (types[to].bits == types[from].bits) return NULL;
    if (to_float) return types[to].bits > types[from].bits ? "fpext" : "fptrunc";
    if (types[to].bits < types[from].bits) return "trunc";
    return is_signed ? "sext" : "zext";
}

/* One part to one part, into `name`, without rounding to a 16-bit dtype. */
static void convert_part(struct kiln_ir *ir, const char *name, enum kiln_dtype to, const char *source,
                         enum kiln_dtype from, int lanes)
{
    bool from_float = kiln__dtypes[from].kind >= KILN_KIND_FLOAT, to_float = kiln__dtypes[to].kind >= KILN_KIND_FLOAT;
    struct kiln_name a = kiln__ir_type(ir, types[from].value, lanes), b = kiln__ir_type(ir, types[to].value, lanes);
    if (to == KILN_BOOL) {
        kiln__print(ir, "  $0 = $1 $2 $3, zeroinitializer\n", name, from_float ? "fcmp une" : "icmp ne", a.text,
                    source);
    } else if (from_float && !to_float) {
        float_to_int(ir, name, to, source, from, lanes);
    } else if (conversion(to, from)) {
        kiln__print(ir, "  $0 = $1 $2 $3 to $4\n", name, conversion(to, from), a.text, source, b.text);
    } else {
        kiln__print(ir, "  $0 = bitcast $1 $2 to $3\n", name, a.text, source, b.text);
    }
}

static void complex_to_bool(struct kiln_ir *ir, const char *name, const char *source)
{
    kiln__print(ir,
                "  $0.a = fcmp une float $1r, 0.0\n"
                "  $0.b = fcmp une float $1i, 0.0\n"
                "  $0 = or i1 $0.a, $0.b\n",
                name, source);
}

void kiln__ir_cast(struct kiln_ir *ir, const char *name, enum kiln_dtype to, const char *source, enum kiln_dtype from,
                   int lanes)
{
    if (to == KILN_BOOL && from == KILN_COMPLEX64) {
        complex_to_bool(ir, name, source);
        return;
    }
    bool rounds = kiln__ir_is_narrow(to) && !lanes;
    struct kiln_name result = kiln__name(ir, "$0$1", name, rounds ? ".wide" : kiln__ir_part(to, 0));
    struct kiln_name part = kiln__name(ir, "$0$1", source, kiln__ir_part(from, 0));
    convert_part(ir, result.text, to, part.text, from, lanes);
    if (rounds) round_to(ir, name, to, result.text);
    if (to != KILN_COMPLEX64) return;
    struct kiln_name type = kiln__ir_type(ir, "float", lanes);
    if (from == KILN_COMPLEX64)
        kiln__print(ir, "  $0i = bitcast $1 $2i to $1\n", name, type.text, source);
    else
        kiln__print(ir, "  $0i = bitcast $1 zeroinitializer to $1\n", name, type.text);
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

static void instruction(struct kiln_ir *ir, const char *word, const char *name, enum kiln_dtype in_dtype,
                        const char *const *inputs, int arity)
{
    kiln__print(ir, "  $0 = $1 $2 $3", name, word, types[in_dtype].value, inputs[0]);
    for (int i = 1; i < arity; i++) kiln__print(ir, ", $0", inputs[i]);
    kiln__print(ir, "\n");
}

/* Helpers of math_bf16.c: shorter ones, for inputs that are bfloat16 numbers. */
static const char *suffix_of(const char *word, enum kiln_dtype in_dtype)
{
    static const char *const shorter[] = {"erf", "exp", "sigmoid", "tanh"};
    for (size_t i = 0; i < sizeof shorter / sizeof shorter[0]; i++)
        if (in_dtype == KILN_BFLOAT16 && strcmp(shorter[i], word) == 0) return "bf16";
    return types[in_dtype].suffix;
}

static void helper(struct kiln_ir *ir, const char *word, const char *name, enum kiln_dtype in_dtype,
                   const char *const *inputs, int arity)
{
    const char *type = types[in_dtype].value;
    struct kiln_name function = kiln__name(ir, "kiln_$0_$1", word, suffix_of(word, in_dtype)), arguments = {""};
    kiln__print(ir, "  $0 = call $1 @$2(", name, type, function.text);
    for (int i = 0; i < arity; i++) {
        kiln__print(ir, "$0$1 $2", i ? ", " : "", type, inputs[i]);
        arguments = kiln__name(ir, "$0$1$2", arguments.text, i ? ", " : "", type);
    }
    kiln__print(ir, ")\n");
    kiln__declare(ir, "declare $0 @$1($2)\n", type, function.text, arguments.text);
}

/* The parts go in as floats, and the result comes as its bits. */
static void complex_helper(struct kiln_ir *ir, const char *word, const char *name, const char *const *inputs, int arity)
{
    struct kiln_name function = kiln__name(ir, "kiln_$0_c64", word), bits = kiln__name(ir, "$0.bits", name);
    kiln__print(ir, "  $0 = call i64 @$1(", bits.text, function.text);
    for (int i = 0; i < arity; i++) kiln__print(ir, "$0float $1r, float $1i", i ? ", " : "", inputs[i]);
    kiln__print(ir, ")\n");
    kiln__declare(ir, "declare i64 @$0($1)\n", function.text,
                  arity == 1 ? "float, float" : "float, float, float, float");
    kiln__ir_constant(ir, name, KILN_COMPLEX64, bits.text);
}

bool kiln__ir_is_exact(enum kiln_op op, enum kiln_dtype in_dtype)
{
    const char *column = kiln__ops[op].lower[kiln__dtypes[in_dtype].kind];
    const struct kiln_template *lines = column ? kiln__template_find(column) : NULL;
    return lines && lines->exact;
}

kiln_status kiln__ir_compute(struct kiln_ir *ir, const char *name, enum kiln_op op, enum kiln_dtype in_dtype,
                             const char *const *inputs, kiln_error *err)
{
    const struct kiln_op_info *info = &kiln__ops[op];
    const char *column = info->lower[kiln__dtypes[in_dtype].kind];
    if (!column)
        return kiln__fail(err, KILN_INVALID, "[%s] is not defined for %s", info->name, kiln__dtypes[in_dtype].name);
    const struct kiln_template *lines = kiln__template_find(column);
    if (lines)
        kiln__print_lines(ir, "r012TBMWL", lines->lines, name, inputs[0], inputs[1], inputs[2], types[in_dtype].value,
                          "i1", types[in_dtype].suffix, types[in_dtype].bits, types[in_dtype].bits - 1);
    else if (column[0] == '@' && in_dtype == KILN_COMPLEX64)
        complex_helper(ir, column + 1, name, inputs, info->arity);
    else if (column[0] == '@')
        helper(ir, column + 1, name, in_dtype, inputs, info->arity);
    else
        instruction(ir, column, name, in_dtype, inputs, info->arity);
    return KILN_OK;
}

kiln_status kiln__ir_apply(struct kiln_ir *ir, const char *name, enum kiln_op op, enum kiln_dtype dtype,
                           enum kiln_dtype in_dtype, const char *const *inputs, kiln_error *err)
{
    bool rounds = kiln__ir_is_narrow(dtype) && !kiln__ir_is_exact(op, in_dtype);
    struct kiln_name wide = kiln__name(ir, "$0$1", name, rounds ? ".wide" : "");
    kiln_status status = kiln__ir_compute(ir, wide.text, op, in_dtype, inputs, err);
    if (!status && kiln__ir_is_narrow(dtype)) round_to(ir, name, dtype, wide.text);
    return status;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

struct kiln_name kiln__ir_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, int part)
{
    bool direct = dtype != KILN_BOOL && !kiln__ir_is_narrow(dtype);
    return kiln__name(ir, "$0$1", name, direct ? kiln__ir_part(dtype, part) : ".bits");
}

void kiln__ir_from_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype)
{
    struct kiln_name raw = kiln__ir_raw(ir, name, dtype, 0);
    if (dtype == KILN_BOOL) kiln__print(ir, "  $0 = icmp ne i8 $1, 0\n", name, raw.text);
    if (kiln__ir_is_narrow(dtype)) widen(ir, name, dtype, raw.text);
}

static void load_complex(struct kiln_ir *ir, const char *name, const char *pointer, const char *tail)
{
    kiln__print(ir,
                "  $0r = load float, ptr $1, align 4$2\n"
                "  $0.at = getelementptr inbounds i8, ptr $1, i64 4\n"
                "  $0i = load float, ptr $0.at, align 4$2\n",
                name, pointer, tail);
}

void kiln__ir_load(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *pointer, const char *tail)
{
    if (dtype == KILN_COMPLEX64) {
        load_complex(ir, name, pointer, tail);
        return;
    }
    kiln__print(ir, "  $0 = load $1, ptr $2, align $3$4\n", kiln__ir_raw(ir, name, dtype, 0).text, types[dtype].memory,
                pointer, kiln__dtypes[dtype].size, tail);
    kiln__ir_from_raw(ir, name, dtype);
}

/*
 * out = the float with a canonical NaN: the sign clear and no payload. Which NaN an instruction returns depends on the
 * order in which LLVM puts its operands, and so on what it was fused with; what is stored must not.
 */
static void settle_nan(struct kiln_ir *ir, const char *out, const char *type, const char *value)
{
    kiln__print(ir, "  $0.nan = fcmp uno $1 $2, 0.0\n  $0 = select i1 $0.nan, $1 0x7FF8000000000000, $1 $2\n", out,
                type, value);
}

struct kiln_name kiln__ir_to_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, int part,
                                 const char *prefix)
{
    bool settles = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64 || dtype == KILN_COMPLEX64;
    struct kiln_name out;
    if (settles) {
        out = kiln__name(ir, "$0.out$1", prefix, dtype != KILN_COMPLEX64 ? "" : part ? "1" : "0");
        settle_nan(ir, out.text, types[dtype].value, kiln__name(ir, "$0$1", name, kiln__ir_part(dtype, part)).text);
    } else if (dtype == KILN_BOOL) {
        out = kiln__name(ir, "$0.bits", prefix);
        kiln__print(ir, "  $0 = zext i1 $1 to i8\n", out.text, name);
    } else {
        out = kiln__name(ir, "$0$1", name, kiln__ir_is_narrow(dtype) ? ".bits" : ""); /* narrowing settled the NaNs */
    }
    return out;
}

static void store_complex(struct kiln_ir *ir, const char *name, const char *pointer, const char *tail)
{
    struct kiln_name out[2];
    for (int i = 0; i < 2; i++) out[i] = kiln__ir_to_raw(ir, name, KILN_COMPLEX64, i, pointer);
    kiln__print(ir,
                "  store float $0, ptr $1, align 4$2\n"
                "  $1.i = getelementptr inbounds i8, ptr $1, i64 4\n"
                "  store float $3, ptr $1.i, align 4$2\n",
                out[0].text, pointer, tail, out[1].text);
}

void kiln__ir_store(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *pointer, const char *tail)
{
    if (dtype == KILN_COMPLEX64) {
        store_complex(ir, name, pointer, tail);
        return;
    }
    struct kiln_name raw = kiln__ir_to_raw(ir, name, dtype, 0, pointer);
    kiln__print(ir, "  store $0 $1, ptr $2, align $3$4\n", types[dtype].memory, raw.text, pointer,
                kiln__dtypes[dtype].size, tail);
}

void kiln__ir_constant(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *bits)
{
    int size_bits = (int)kiln__dtypes[dtype].size * 8;
    if (dtype == KILN_COMPLEX64) {
        kiln__print(ir,
                    "  $0.a = trunc i64 $1 to i32\n"
                    "  $0r = bitcast i32 $0.a to float\n"
                    "  $0.b = lshr i64 $1, 32\n"
                    "  $0.c = trunc i64 $0.b to i32\n"
                    "  $0i = bitcast i32 $0.c to float\n",
                    name, bits);
    } else if (dtype == KILN_BOOL) {
        kiln__print(ir, "  $0 = icmp ne i64 $1, 0\n", name, bits);
    } else if (size_bits == 64) {
        kiln__print(ir, "  $0 = bitcast i64 $1 to $2\n", name, bits, types[dtype].value);
    } else {
        struct kiln_name low = kiln__name(ir, "$0.bits", name);
        kiln__print(ir, "  $0 = trunc i64 $1 to i$2\n", low.text, bits, size_bits);
        if (kiln__ir_is_narrow(dtype))
            widen(ir, name, dtype, low.text);
        else
            kiln__print(ir, "  $0 = bitcast i$1 $2 to $3\n", name, size_bits, low.text, types[dtype].value);
    }
}
