/*
 * lower.c - see lower.h. What is printed depends on its arguments only: temporaries are the result's name and a suffix.
 *
 * Every operation rounds to its dtype: a 16-bit float is computed in float, narrowed and widened again, except where a
 * template only picks or flips a value that is rounded already (`exact`). Nothing is contracted: no fast-math flag.
 */
#include "codegen/lower.h"

#include <stdio.h>
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

enum { NAME_SIZE = KILN_IR_NAME, LINE_SIZE = 160 };

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

void kiln__ir_declare(struct kiln_buffer *declarations, const char *result, const char *name, const char *arguments)
{
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "declare %s @%s(%s)\n", result, name, arguments);
    if (declarations->data && strstr((const char *)declarations->data, line)) return;
    kiln__buffer_append(declarations, line, strlen(line));
}

/* ---- 16-bit floats ------------------------------------------------------------------------------------------------
 */

static void narrow(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *bits, enum kiln_dtype dtype,
                   const char *source)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_narrow_f16" : "kiln_narrow_bf16";
    kiln__ir_declare(declarations, "zeroext i16", helper, "float");
    kiln__buffer_printf(text, "  %s = call zeroext i16 @%s(float %s)\n", bits, helper, source);
}

static void widen(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name, enum kiln_dtype dtype,
                  const char *bits)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_widen_f16" : "kiln_widen_bf16";
    kiln__ir_declare(declarations, "float", helper, "i16 zeroext");
    kiln__buffer_printf(text, "  %s = call float @%s(i16 zeroext %s)\n", name, helper, bits);
}

/*
 * name.bits = the float `source` rounded to `dtype`; name = that as a float again, unless it is `source` itself. Two
 * calls, because the float need not have the NaN that is stored; what is not used goes away.
 */
static void round_to(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                     enum kiln_dtype dtype, const char *source)
{
    const char *helper = dtype == KILN_FLOAT16 ? "kiln_round_f16" : "kiln_round_bf16";
    char bits[NAME_SIZE];
    snprintf(bits, sizeof bits, "%s.bits", name);
    narrow(text, declarations, bits, dtype, source);
    if (strcmp(name, source) == 0) return;
    kiln__ir_declare(declarations, "float", helper, "float");
    kiln__buffer_printf(text, "  %s = call float @%s(float %s)\n", name, helper, source);
}

/* ---- conversions --------------------------------------------------------------------------------------------------
 */

static const char *typed(char *out, const char *type, int lanes)
{
    if (lanes)
        snprintf(out, NAME_SIZE, "<%d x %s>", lanes, type);
    else
        snprintf(out, NAME_SIZE, "%s", type);
    return out;
}

static void float_to_int(struct kiln_buffer *text, const char *name, enum kiln_dtype to, const char *source,
                         enum kiln_dtype from, int lanes)
{
    char a[NAME_SIZE], b[NAME_SIZE], vector[16] = "";
    const char *how = kiln__dtypes[to].kind == KILN_KIND_SIGNED ? "fptosi" : "fptoui";
    if (lanes) snprintf(vector, sizeof vector, "v%d", lanes);
    kiln__buffer_printf(text, "  %s = call %s @llvm.%s.sat.%s%s.%s%s(%s %s)\n", name, typed(a, types[to].value, lanes),
                        how, vector, types[to].suffix, vector, types[from].suffix, typed(b, types[from].value, lanes),
                        source);
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
static void convert_part(struct kiln_buffer *text, const char *name, enum kiln_dtype to, const char *source,
                         enum kiln_dtype from, int lanes)
{
    char a[NAME_SIZE], b[NAME_SIZE];
    bool from_float = kiln__dtypes[from].kind >= KILN_KIND_FLOAT, to_float = kiln__dtypes[to].kind >= KILN_KIND_FLOAT;
    typed(a, types[from].value, lanes), typed(b, types[to].value, lanes);
    if (to == KILN_BOOL) {
        kiln__buffer_printf(text, "  %s = %s %s %s, zeroinitializer\n", name, from_float ? "fcmp une" : "icmp ne", a,
                            source);
    } else if (from_float && !to_float) {
        float_to_int(text, name, to, source, from, lanes);
    } else if (conversion(to, from)) {
        kiln__buffer_printf(text, "  %s = %s %s %s to %s\n", name, conversion(to, from), a, source, b);
    } else {
        kiln__buffer_printf(text, "  %s = bitcast %s %s to %s\n", name, a, source, b);
    }
}

static void complex_to_bool(struct kiln_buffer *text, const char *name, const char *source)
{
    kiln__buffer_printf(text,
                        "  %s.a = fcmp une float %sr, 0.0\n  %s.b = fcmp une float %si, 0.0\n  %s = or i1 %s.a, %s.b\n",
                        name, source, name, source, name, name, name);
}

void kiln__ir_cast(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name, enum kiln_dtype to,
                   const char *source, enum kiln_dtype from, int lanes)
{
    char result[NAME_SIZE], part[NAME_SIZE], type[NAME_SIZE];
    if (to == KILN_BOOL && from == KILN_COMPLEX64) {
        complex_to_bool(text, name, source);
        return;
    }
    bool rounds = kiln__ir_is_narrow(to) && !lanes;
    snprintf(result, sizeof result, "%s%s", name, rounds ? ".wide" : kiln__ir_part(to, 0));
    snprintf(part, sizeof part, "%s%s", source, kiln__ir_part(from, 0));
    convert_part(text, result, to, part, from, lanes);
    if (rounds) round_to(text, declarations, name, to, result);
    if (to == KILN_COMPLEX64 && from == KILN_COMPLEX64) {
        kiln__buffer_printf(text, "  %si = bitcast %s %si to %s\n", name, typed(type, "float", lanes), source, type);
    } else if (to == KILN_COMPLEX64) {
        typed(type, "float", lanes);
        kiln__buffer_printf(text, "  %si = bitcast %s zeroinitializer to %s\n", name, type, type);
    }
}

/* ---- operations ---------------------------------------------------------------------------------------------------
 */

/* Copies the template, replacing what stands behind each '$'. */
static void expand(struct kiln_buffer *text, const char *lines, const char *name, enum kiln_dtype in_dtype,
                   const char *const *inputs)
{
    char width[16], last[16];
    snprintf(width, sizeof width, "%d", types[in_dtype].bits);
    snprintf(last, sizeof last, "%d", types[in_dtype].bits - 1);
    kiln__buffer_printf(text, "  ");
    for (const char *at = lines; *at; at++) {
        if (*at == ';') {
            kiln__buffer_printf(text, "\n  ");
        } else if (*at != '$') {
            kiln__buffer_append(text, at, 1);
        } else {
            at++;
            const char *word = *at == 'r'   ? name
                               : *at == 'T' ? types[in_dtype].value
                               : *at == 'B' ? "i1"
                               : *at == 'M' ? types[in_dtype].suffix
                               : *at == 'W' ? width
                               : *at == 'L' ? last
                                            : inputs[*at - '0'];
            kiln__buffer_append(text, word, strlen(word));
        }
    }
    kiln__buffer_printf(text, "\n");
}

static void instruction(struct kiln_buffer *text, const char *word, const char *name, enum kiln_dtype in_dtype,
                        const char *const *inputs, int arity)
{
    kiln__buffer_printf(text, "  %s = %s %s %s", name, word, types[in_dtype].value, inputs[0]);
    for (int i = 1; i < arity; i++) kiln__buffer_printf(text, ", %s", inputs[i]);
    kiln__buffer_printf(text, "\n");
}

/* Helpers of math_bf16.c: shorter ones, for inputs that are bfloat16 numbers. */
static const char *suffix_of(const char *word, enum kiln_dtype in_dtype)
{
    static const char *const shorter[] = {"erf", "exp", "sigmoid", "tanh"};
    for (size_t i = 0; i < sizeof shorter / sizeof shorter[0]; i++)
        if (in_dtype == KILN_BFLOAT16 && strcmp(shorter[i], word) == 0) return "bf16";
    return types[in_dtype].suffix;
}

static void helper(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *word, const char *name,
                   enum kiln_dtype in_dtype, const char *const *inputs, int arity)
{
    char function[NAME_SIZE], arguments[NAME_SIZE] = "";
    const char *type = types[in_dtype].value;
    snprintf(function, sizeof function, "kiln_%s_%s", word, suffix_of(word, in_dtype));
    kiln__buffer_printf(text, "  %s = call %s @%s(", name, type, function);
    for (int i = 0; i < arity; i++) {
        size_t used = strlen(arguments);
        kiln__buffer_printf(text, "%s%s %s", i ? ", " : "", type, inputs[i]);
        snprintf(arguments + used, sizeof arguments - used, "%s%s", i ? ", " : "", type);
    }
    kiln__buffer_printf(text, ")\n");
    kiln__ir_declare(declarations, type, function, arguments);
}

bool kiln__ir_is_exact(enum kiln_op op, enum kiln_dtype in_dtype)
{
    const char *column = kiln__ops[op].lower[kiln__dtypes[in_dtype].kind];
    const struct kiln_template *lines = column ? kiln__template_find(column) : NULL;
    return lines && lines->exact;
}

kiln_status kiln__ir_compute(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                             enum kiln_op op, enum kiln_dtype in_dtype, const char *const *inputs, kiln_error *err)
{
    const struct kiln_op_info *info = &kiln__ops[op];
    const char *column = info->lower[kiln__dtypes[in_dtype].kind];
    if (!column)
        return kiln__fail(err, KILN_INVALID, "[%s] is not defined for %s", info->name, kiln__dtypes[in_dtype].name);
    const struct kiln_template *lines = kiln__template_find(column);
    if (lines)
        expand(text, lines->lines, name, in_dtype, inputs);
    else if (column[0] == '@')
        helper(text, declarations, column + 1, name, in_dtype, inputs, info->arity);
    else
        instruction(text, column, name, in_dtype, inputs, info->arity);
    return KILN_OK;
}

kiln_status kiln__ir_apply(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                           enum kiln_op op, enum kiln_dtype dtype, enum kiln_dtype in_dtype, const char *const *inputs,
                           kiln_error *err)
{
    char wide[NAME_SIZE];
    bool rounds = kiln__ir_is_narrow(dtype) && !kiln__ir_is_exact(op, in_dtype);
    snprintf(wide, sizeof wide, "%s%s", name, rounds ? ".wide" : "");
    kiln_status status = kiln__ir_compute(text, declarations, wide, op, in_dtype, inputs, err);
    if (!status && kiln__ir_is_narrow(dtype)) round_to(text, declarations, name, dtype, wide);
    return status;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

const char *kiln__ir_raw(char *out, const char *name, enum kiln_dtype dtype, int part)
{
    bool direct = dtype != KILN_BOOL && !kiln__ir_is_narrow(dtype);
    snprintf(out, NAME_SIZE, "%s%s", name, direct ? kiln__ir_part(dtype, part) : ".bits");
    return out;
}

void kiln__ir_from_raw(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                       enum kiln_dtype dtype)
{
    char raw[NAME_SIZE];
    kiln__ir_raw(raw, name, dtype, 0);
    if (dtype == KILN_BOOL) kiln__buffer_printf(text, "  %s = icmp ne i8 %s, 0\n", name, raw);
    if (kiln__ir_is_narrow(dtype)) widen(text, declarations, name, dtype, raw);
}

static void load_complex(struct kiln_buffer *text, const char *name, const char *pointer, const char *tail)
{
    kiln__buffer_printf(text,
                        "  %sr = load float, ptr %s, align 4%s\n  %s.at = getelementptr inbounds i8, ptr %s, i64 4\n"
                        "  %si = load float, ptr %s.at, align 4%s\n",
                        name, pointer, tail, name, pointer, name, name, tail);
}

void kiln__ir_load(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name, enum kiln_dtype dtype,
                   const char *pointer, const char *tail)
{
    char raw[NAME_SIZE];
    if (dtype == KILN_COMPLEX64) {
        load_complex(text, name, pointer, tail);
        return;
    }
    kiln__buffer_printf(text, "  %s = load %s, ptr %s, align %zu%s\n", kiln__ir_raw(raw, name, dtype, 0),
                        types[dtype].memory, pointer, kiln__dtypes[dtype].size, tail);
    kiln__ir_from_raw(text, declarations, name, dtype);
}

/*
 * out = the float as it is stored: any NaN becomes the one with the sign clear and no payload. Which NaN an instruction
 * gives depends on how LLVM arranges its operands, so on what it was fused with; what is stored must not.
 */
static void settle_nan(struct kiln_buffer *text, const char *out, const char *type, const char *value)
{
    kiln__buffer_printf(text, "  %s.nan = fcmp uno %s %s, 0.0\n", out, type, value);
    kiln__buffer_printf(text, "  %s = select i1 %s.nan, %s 0x7FF8000000000000, %s %s\n", out, out, type, type, value);
}

const char *kiln__ir_to_raw(struct kiln_buffer *text, char *out, const char *name, enum kiln_dtype dtype, int part,
                            const char *prefix)
{
    char value[NAME_SIZE];
    bool settles = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64 || dtype == KILN_COMPLEX64;
    snprintf(value, sizeof value, "%s%s", name, kiln__ir_part(dtype, part));
    if (settles) {
        snprintf(out, NAME_SIZE, "%s.out%s", prefix, dtype != KILN_COMPLEX64 ? "" : part ? "1" : "0");
        settle_nan(text, out, types[dtype].value, value);
    } else if (dtype == KILN_BOOL) {
        snprintf(out, NAME_SIZE, "%s.bits", prefix);
        kiln__buffer_printf(text, "  %s = zext i1 %s to i8\n", out, name);
    } else {
        snprintf(out, NAME_SIZE, "%s%s", name,
                 kiln__ir_is_narrow(dtype) ? ".bits" : ""); /* narrowing settled the NaNs */
    }
    return out;
}

static void store_complex(struct kiln_buffer *text, const char *name, const char *pointer, const char *tail)
{
    char out[2][NAME_SIZE];
    for (int i = 0; i < 2; i++) kiln__ir_to_raw(text, out[i], name, KILN_COMPLEX64, i, pointer);
    kiln__buffer_printf(text,
                        "  store float %s, ptr %s, align 4%s\n  %s.i = getelementptr inbounds i8, ptr %s, i64 4\n"
                        "  store float %s, ptr %s.i, align 4%s\n",
                        out[0], pointer, tail, pointer, pointer, out[1], pointer, tail);
}

void kiln__ir_store(struct kiln_buffer *text, const char *name, enum kiln_dtype dtype, const char *pointer,
                    const char *tail)
{
    char raw[NAME_SIZE];
    if (dtype == KILN_COMPLEX64) {
        store_complex(text, name, pointer, tail);
        return;
    }
    kiln__ir_to_raw(text, raw, name, dtype, 0, pointer);
    kiln__buffer_printf(text, "  store %s %s, ptr %s, align %zu%s\n", types[dtype].memory, raw, pointer,
                        kiln__dtypes[dtype].size, tail);
}

void kiln__ir_constant(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                       enum kiln_dtype dtype, const char *bits)
{
    int size_bits = (int)kiln__dtypes[dtype].size * 8;
    if (dtype == KILN_COMPLEX64) {
        kiln__buffer_printf(
            text,
            "  %s.a = trunc i64 %s to i32\n  %sr = bitcast i32 %s.a to float\n"
            "  %s.b = lshr i64 %s, 32\n  %s.c = trunc i64 %s.b to i32\n  %si = bitcast i32 %s.c to float\n",
            name, bits, name, name, name, bits, name, name, name, name);
    } else if (dtype == KILN_BOOL) {
        kiln__buffer_printf(text, "  %s = icmp ne i64 %s, 0\n", name, bits);
    } else if (size_bits == 64) {
        kiln__buffer_printf(text, "  %s = bitcast i64 %s to %s\n", name, bits, types[dtype].value);
    } else {
        char low[NAME_SIZE];
        snprintf(low, sizeof low, "%s.bits", name);
        kiln__buffer_printf(text, "  %s = trunc i64 %s to i%d\n", low, bits, size_bits);
        if (kiln__ir_is_narrow(dtype))
            widen(text, declarations, name, dtype, low);
        else
            kiln__buffer_printf(text, "  %s = bitcast i%d %s to %s\n", name, size_bits, low, types[dtype].value);
    }
}
