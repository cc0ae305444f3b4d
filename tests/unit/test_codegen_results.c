/*
 * test_codegen_results.c - compiled kernels give bit for bit what scalar C gives: every operation and dtype, every
 * cast, every layout, streaming at every alignment, sums in their stated order. NaN equals NaN, whatever its payload.
 *
 * The reference for math helpers is their own source built for the host (test_codegen_runtime.c measures that), so that
 * inlining and vectorising is shown to change nothing.
 */
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen_support.h"

#include "codegen/runtime/runtime.c"

enum { COUNT = 67 }; /* odd, so that vectors, their rest and a tail are all there */

static const char *host_targets[3];

/* The most capable targets this machine runs. */
static int setup(void **state)
{
    int count = 0;
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        host_targets[count++] = "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        host_targets[count++] = "x86-64-v3";
    host_targets[count] = "x86-64-v2";
    return open_plugin(state);
}

/* ---- one element as C sees it -------------------------------------------------------------------------------------
 */

struct value {
    enum kiln_dtype dtype;
    int64_t whole;     /* bool and integers; uint64 as its bits */
    double real, imag; /* floats, complex */
};

static bool is_whole(enum kiln_dtype dtype)
{
    return kiln__dtypes[dtype].kind < KILN_KIND_FLOAT;
}

static struct value load_value(enum kiln_dtype dtype, const void *at)
{
    struct value v = {.dtype = dtype};
    uint64_t bits = 0;
    memcpy(&bits, at, kiln__dtype_size(dtype));
    if (is_whole(dtype)) {
        unsigned shift = 64 - 8 * (unsigned)kiln__dtype_size(dtype);
        bool is_signed = kiln__dtypes[dtype].kind == KILN_KIND_SIGNED;
        v.whole = is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
    } else if (dtype == KILN_FLOAT64) {
        v.real = f64_of_bits(bits);
    } else if (dtype == KILN_FLOAT16) {
        v.real = kiln__half_to_float((unsigned short)bits);
    } else if (dtype == KILN_BFLOAT16) {
        v.real = kiln__bfloat_to_float((unsigned short)bits);
    } else {
        v.real = f32_of_bits((uint32_t)bits);
        v.imag = dtype == KILN_COMPLEX64 ? f32_of_bits((uint32_t)(bits >> 32)) : 0;
    }
    return v;
}

static void store_value(const struct value *v, void *at)
{
    uint64_t bits = (uint64_t)v->whole;
    if (v->dtype == KILN_FLOAT64)
        bits = bits_of_f64(v->real);
    else if (v->dtype == KILN_FLOAT16)
        bits = kiln__float_to_half((float)v->real);
    else if (v->dtype == KILN_BFLOAT16)
        bits = kiln__float_to_bfloat((float)v->real);
    else if (!is_whole(v->dtype))
        bits = bits_of_f32((float)v->real) |
               (v->dtype == KILN_COMPLEX64 ? (uint64_t)bits_of_f32((float)v->imag) << 32 : 0);
    memcpy(at, &bits, kiln__dtype_size(v->dtype));
}

static bool same(const struct value *a, const struct value *b)
{
    struct value parts[2] = {*a, *b};
    if (is_whole(a->dtype)) return a->whole == b->whole;
    bool real = (isnan(a->real) && isnan(b->real)) || bits_of_f64(a->real) == bits_of_f64(b->real);
    bool imag = (isnan(parts[0].imag) && isnan(parts[1].imag)) || bits_of_f64(a->imag) == bits_of_f64(b->imag);
    return real && imag;
}

/* ---- reference ----------------------------------------------------------------------------------------------------
 */

static double rounded(enum kiln_dtype dtype, double value)
{
    struct value v = {.dtype = dtype, .real = value};
    char bytes[8];
    store_value(&v, bytes);
    return load_value(dtype, bytes).real;
}

static int64_t wrapped(enum kiln_dtype dtype, uint64_t value)
{
    char bytes[8];
    struct value v = {.dtype = dtype, .whole = (int64_t)value};
    store_value(&v, bytes);
    return load_value(dtype, bytes).whole;
}

static int64_t saturated(enum kiln_dtype to, double value)
{
    int bits = 8 * (int)kiln__dtype_size(to);
    bool is_signed = kiln__dtypes[to].kind == KILN_KIND_SIGNED;
    if (isnan(value)) return 0;
    double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, bits - is_signed);
    if (value <= low) return is_signed ? (int64_t)(-ldexp(1, bits - 1)) : 0;
    if (value >= high) return is_signed ? (int64_t)((1ull << (bits - 1)) - 1) : (int64_t)(~0ull >> (64 - bits));
    return is_signed ? (int64_t)value : (int64_t)(uint64_t)value;
}

static double whole_to_float(const struct value *a, enum kiln_dtype to)
{
    bool is_signed = kiln__dtypes[a->dtype].kind == KILN_KIND_SIGNED;
    if (to == KILN_FLOAT64) return is_signed ? (double)a->whole : (double)(uint64_t)a->whole;
    return is_signed ? (float)a->whole : (float)(uint64_t)a->whole;
}

static struct value cast(const struct value *a, enum kiln_dtype to)
{
    struct value r = {.dtype = to};
    bool from_whole = is_whole(a->dtype);
    if (to == KILN_BOOL) {
        r.whole = from_whole ? a->whole != 0 : a->real != 0 || a->imag != 0;
    } else if (is_whole(to)) {
        r.whole = from_whole ? wrapped(to, (uint64_t)a->whole) : saturated(to, a->real);
    } else {
        r.real = from_whole ? whole_to_float(a, to) : a->real;
        if (to != KILN_FLOAT64) r.real = rounded(to, (float)r.real);
        if (to == KILN_COMPLEX64) r.imag = a->imag;
    }
    return r;
}

static int compare_whole(const struct value *a, const struct value *b)
{
    if (kiln__dtypes[a->dtype].kind == KILN_KIND_SIGNED) return (a->whole > b->whole) - (a->whole < b->whole);
    return ((uint64_t)a->whole > (uint64_t)b->whole) - ((uint64_t)a->whole < (uint64_t)b->whole);
}

enum { UNORDERED = 2 };

static int compare(const struct value *a, const struct value *b)
{
    if (is_whole(a->dtype)) return compare_whole(a, b);
    if (isnan(a->real) || isnan(b->real)) return UNORDERED;
    if (a->real != b->real) return a->real > b->real ? 1 : -1;
    if (isnan(a->imag) || isnan(b->imag)) return UNORDERED;
    return (a->imag > b->imag) - (a->imag < b->imag);
}

static bool is_nan(const struct value *a)
{
    return !is_whole(a->dtype) && (isnan(a->real) || isnan(a->imag));
}

static struct value choose(const struct value *a, const struct value *b, int wanted)
{
    if (is_nan(a)) return *a;
    if (is_nan(b)) return *b;
    return compare(a, b) == wanted ? *a : *b;
}

static struct value whole_op(enum kiln_op op, const struct value *a, const struct value *b)
{
    uint64_t x = (uint64_t)a->whole, y = (uint64_t)b->whole, r = 0;
    bool is_bool = a->dtype == KILN_BOOL;
    switch ((int)op) {
    case KILN_OP_ADD:
        r = is_bool ? x | y : x + y;
        break;
    case KILN_OP_SUBTRACT:
        r = is_bool ? x ^ y : x - y;
        break;
    case KILN_OP_MULTIPLY:
        r = x * y;
        break;
    case KILN_OP_SQUARE:
        r = x * x;
        break;
    case KILN_OP_NEGATIVE:
        r = 0 - x;
        break;
    case KILN_OP_ABS:
        r = kiln__dtypes[a->dtype].kind == KILN_KIND_SIGNED && a->whole < 0 ? 0 - x : x;
        break;
    case KILN_OP_LOGICAL_NOT:
        r = !x;
        break;
    case KILN_OP_LOGICAL_AND:
        r = x && y;
        break;
    case KILN_OP_LOGICAL_OR:
        r = x || y;
        break;
    default:
        CHECK_FAIL("no reference for %s", kiln__ops[op].name);
    }
    return (struct value){.dtype = a->dtype, .whole = wrapped(a->dtype, r)};
}

static double f64_op(enum kiln_op op, double x, double y)
{
    switch ((int)op) {
    case KILN_OP_ADD:
        return x + y;
    case KILN_OP_SUBTRACT:
        return x - y;
    case KILN_OP_MULTIPLY:
        return x * y;
    case KILN_OP_DIVIDE:
        return x / y;
    case KILN_OP_SQUARE:
        return x * x;
    case KILN_OP_NEGATIVE:
        return -x;
    case KILN_OP_ABS:
        return fabs(x);
    case KILN_OP_SQRT:
        return sqrt(x);
    case KILN_OP_RSQRT:
        return 1 / sqrt(x);
    case KILN_OP_EXP:
        return kiln_exp_f64(x);
    case KILN_OP_LOG:
        return kiln_log_f64(x);
    case KILN_OP_ERF:
        return kiln_erf_f64(x);
    case KILN_OP_SIGMOID:
        return kiln_sigmoid_f64(x);
    case KILN_OP_TANH:
        return kiln_tanh_f64(x);
    case KILN_OP_LOGADDEXP:
        return kiln_logaddexp_f64(x, y);
    default:
        CHECK_FAIL("no reference for %s", kiln__ops[op].name);
    }
    return 0;
}

static float f32_op(enum kiln_op op, float x, float y)
{
    switch ((int)op) {
    case KILN_OP_ADD:
        return x + y;
    case KILN_OP_SUBTRACT:
        return x - y;
    case KILN_OP_MULTIPLY:
        return x * y;
    case KILN_OP_DIVIDE:
        return x / y;
    case KILN_OP_SQUARE:
        return x * x;
    case KILN_OP_NEGATIVE:
        return -x;
    case KILN_OP_ABS:
        return fabsf(x);
    case KILN_OP_SQRT:
        return sqrtf(x);
    case KILN_OP_RSQRT:
        return 1 / sqrtf(x);
    case KILN_OP_EXP:
        return kiln_exp_f32(x);
    case KILN_OP_LOG:
        return kiln_log_f32(x);
    case KILN_OP_ERF:
        return kiln_erf_f32(x);
    case KILN_OP_SIGMOID:
        return kiln_sigmoid_f32(x);
    case KILN_OP_TANH:
        return kiln_tanh_f32(x);
    case KILN_OP_LOGADDEXP:
        return kiln_logaddexp_f32(x, y);
    default:
        CHECK_FAIL("no reference for %s", kiln__ops[op].name);
    }
    return 0;
}

/* Helpers built for the host; test_codegen_complex.c has their errors. */
static const struct complex_helper {
    uint64_t (*unary)(float re, float im);
    uint64_t (*binary)(float ar, float ai, float br, float bi);
} complex_helpers[KILN_OP_COUNT] = {
    [KILN_OP_EXP] = {kiln_exp_c64, NULL},
    [KILN_OP_EXPM1] = {kiln_expm1_c64, NULL},
    [KILN_OP_LOG] = {kiln_log_c64, NULL},
    [KILN_OP_LOG1P] = {kiln_log1p_c64, NULL},
    [KILN_OP_LOG2] = {kiln_log2_c64, NULL},
    [KILN_OP_LOG10] = {kiln_log10_c64, NULL},
    [KILN_OP_SQRT] = {kiln_sqrt_c64, NULL},
    [KILN_OP_RSQRT] = {kiln_rsqrt_c64, NULL},
    [KILN_OP_SIGMOID] = {kiln_sigmoid_c64, NULL},
    [KILN_OP_RECIPROCAL] = {kiln_reciprocal_c64, NULL},
    [KILN_OP_SIN] = {kiln_sin_c64, NULL},
    [KILN_OP_COS] = {kiln_cos_c64, NULL},
    [KILN_OP_TAN] = {kiln_tan_c64, NULL},
    [KILN_OP_SINH] = {kiln_sinh_c64, NULL},
    [KILN_OP_COSH] = {kiln_cosh_c64, NULL},
    [KILN_OP_TANH] = {kiln_tanh_c64, NULL},
    [KILN_OP_ARCSIN] = {kiln_arcsin_c64, NULL},
    [KILN_OP_ARCCOS] = {kiln_arccos_c64, NULL},
    [KILN_OP_ARCTAN] = {kiln_arctan_c64, NULL},
    [KILN_OP_ARCSINH] = {kiln_arcsinh_c64, NULL},
    [KILN_OP_ARCCOSH] = {kiln_arccosh_c64, NULL},
    [KILN_OP_ARCTANH] = {kiln_arctanh_c64, NULL},
    [KILN_OP_DIVIDE] = {NULL, kiln_divide_c64},
    [KILN_OP_POWER] = {NULL, kiln_power_c64},
    [KILN_OP_LOGADDEXP] = {NULL, kiln_logaddexp_c64},
};

static struct value complex_helped(const struct complex_helper *helper, const struct value *x, const struct value *y)
{
    float a = (float)x->real, b = (float)x->imag;
    uint64_t bits = helper->unary ? helper->unary(a, b) : helper->binary(a, b, (float)y->real, (float)y->imag);
    return (struct value){.dtype = KILN_COMPLEX64,
                          .real = (double)f32_of_bits((uint32_t)bits),
                          .imag = (double)f32_of_bits((uint32_t)(bits >> 32))};
}

static struct value complex_op(enum kiln_op op, const struct value *x, const struct value *y)
{
    if (complex_helpers[op].unary || complex_helpers[op].binary) return complex_helped(&complex_helpers[op], x, y);
    float a = (float)x->real, b = (float)x->imag, c = (float)y->real, d = (float)y->imag;
    float _Complex left = __builtin_complex(a, b), right = __builtin_complex(c, d); /* products by Annex G */
    float re = 0, im = 0;
    switch ((int)op) {
    case KILN_OP_ADD:
        re = a + c, im = b + d;
        break;
    case KILN_OP_SUBTRACT:
        re = a - c, im = b - d;
        break;
    case KILN_OP_MULTIPLY:
        re = __real__(left * right), im = __imag__(left * right);
        break;
    case KILN_OP_SQUARE:
        re = __real__(left * left), im = __imag__(left * left);
        break;
    case KILN_OP_NEGATIVE:
        re = -a, im = -b;
        break;
    default:
        CHECK_FAIL("no reference for %s", kiln__ops[op].name);
    }
    return (struct value){
        .dtype = KILN_COMPLEX64, .real = rounded(KILN_FLOAT32, re), .imag = rounded(KILN_FLOAT32, im)};
}

static struct value compared(enum kiln_op op, const struct value *a, const struct value *b)
{
    int order = compare(a, b);
    bool equal = is_whole(a->dtype) ? a->whole == b->whole : a->real == b->real && a->imag == b->imag;
    bool less = order == -1, greater = order == 1;
    bool results[] = {equal, !equal, less, less || order == 0, greater, greater || order == 0};
    return (struct value){.dtype = KILN_BOOL, .whole = results[op - KILN_OP_EQUAL]};
}

static struct value reference(enum kiln_op op, const struct value *in)
{
    enum kiln_dtype dtype = in[0].dtype;
    if (op == KILN_OP_SELECT) return in[0].whole ? in[1] : in[2];
    if (op == KILN_OP_MAXIMUM) return choose(&in[0], &in[1], 1);
    if (op == KILN_OP_MINIMUM) return choose(&in[0], &in[1], -1);
    if (kiln__ops[op].dtype_rule == KILN_RULE_COMPARE) return compared(op, &in[0], &in[1]);
    if (is_whole(dtype)) return whole_op(op, &in[0], &in[1]);
    if (dtype == KILN_COMPLEX64) return complex_op(op, &in[0], &in[1]);
    if (dtype == KILN_FLOAT64) return (struct value){.dtype = dtype, .real = f64_op(op, in[0].real, in[1].real)};
    return (struct value){.dtype = dtype, .real = rounded(dtype, f32_op(op, (float)in[0].real, (float)in[1].real))};
}

/* ---- running ------------------------------------------------------------------------------------------------------
 */

static uint64_t random_bits(void)
{
    static uint64_t seed = 42;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 11 ^ seed << 21;
}

static double special(void)
{
    static const double values[] = {0.0,   -0.0, 1.0,   -1.0,  INFINITY, -INFINITY, NAN,
                                    1e-42, -3.0, 255.5, 65504, 1e300,    0.5,       -0.25};
    return values[random_bits() % (sizeof values / sizeof values[0])];
}

static double number(void)
{
    if (random_bits() % 3 == 0) return special();
    return ((double)(random_bits() % 2000001) - 1000000) / 1000000 * ldexp(1, (int)(random_bits() % 12) - 4);
}

static void fill(enum kiln_dtype dtype, char *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct value v = {.dtype = dtype,
                          .real = number(),
                          .imag = number(),
                          .whole = (int64_t)(random_bits() >> random_bits() % 64)};
        if (random_bits() % 2) v.whole = -v.whole;
        if (dtype == KILN_BOOL) v.whole &= 1;
        if (dtype != KILN_COMPLEX64) v.imag = 0;
        store_value(&v, data + i * kiln__dtype_size(dtype));
    }
}
#define fill(...) CHECK_CALL(fill, __VA_ARGS__)

static void expect_same(const struct value *want, const struct value *got, const char *what, const char *layouts,
                        const char *target)
{
    if (same(want, got)) return;
    CHECK_FAIL("%s %s \"%s\" %s: want %lld %a %a, got %lld %a %a", what, kiln__dtypes[want->dtype].name, layouts,
               target, (long long)want->whole, want->real, want->imag, (long long)got->whole, got->real, got->imag);
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

/* Runs op on three rows of COUNT elements, operands laid out as `layouts` say, and compares every element. */
static void check_op(enum kiln_op op, enum kiln_dtype dtype, enum kiln_dtype to, const char *layouts,
                     const char *target)
{
    CHECK_CONTEXT("%s %s %s, layouts %s, %s", kiln__ops[op].name, kiln__dtypes[dtype].name,
                  op == KILN_OP_CAST ? kiln__dtypes[to].name : "", layouts, target);
    enum { ROWS = 3 };
    static char data[3][ROWS * (COUNT + 1) * 2 * 8], result[ROWS * COUNT * 8];
    const struct kiln_op_info *info = &kiln__ops[op];
    uint8_t dtypes[3] = {(uint8_t)dtype, (uint8_t)dtype, (uint8_t)dtype};
    if (info->dtype_rule == KILN_RULE_SELECT) dtypes[0] = KILN_BOOL;
    enum kiln_dtype out = op == KILN_OP_CAST ? to : (enum kiln_dtype)kiln__op_result(op, dtype);
    struct kiln_instr instr = {.op = (uint16_t)op, .dtype = (uint8_t)out, .in = {0, 1, 2}};
    uint32_t output = (uint32_t)info->arity;
    struct kiln_group group = {(uint32_t)info->arity, 0, 1, 1, dtypes, NULL, &instr, &output};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    int64_t strides[8] = {COUNT * (int64_t)kiln__dtype_size(out), (int64_t)kiln__dtype_size(out)};
    uint64_t args[4] = {(uint64_t)(uintptr_t)result};
    CHECK_OK(kiln__group_print(&group, layouts, 0, &text, &err), &err);
    for (int i = 0; i < info->arity; i++) {
        int64_t size = (int64_t)kiln__dtype_size(dtypes[i]);
        fill(dtypes[i], data[i], ROWS * (COUNT + 1) * 2);
        strides[2 + 2 * i + 1] = layouts[i] == 'c' ? size : layouts[i] == 's' ? 0 : 2 * size;
        strides[2 + 2 * i] = layouts[i] == 's' ? size : (COUNT + 1) * 2 * size;
        args[1 + i] = (uint64_t)(uintptr_t)data[i];
    }
    load_text(&text, target)(args, strides, ROWS, COUNT);
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < COUNT; j++) {
            struct value in[3];
            for (int i = 0; i < info->arity; i++)
                in[i] = load_value(dtypes[i], data[i] + row * strides[2 + 2 * i] + j * strides[3 + 2 * i]);
            if (info->arity == 1) in[1] = in[0];
            struct value want = op == KILN_OP_CAST ? cast(&in[0], to) : reference(op, in);
            struct value got = load_value(out, result + row * strides[0] + j * strides[1]);
            expect_same(&want, &got, info->name, layouts, target);
        }
}
#define check_op(...) CHECK_CALL(check_op, __VA_ARGS__)

/* Those up to `where`, and not |complex|, and helpers; the others have theirs in test_mlxc_elementwise.c. */
static bool has_reference(enum kiln_op op, enum kiln_dtype dtype)
{
    if (dtype == KILN_COMPLEX64 && (complex_helpers[op].unary || complex_helpers[op].binary)) return true;
    return op <= KILN_OP_SELECT && op != KILN_OP_CAST && !(op == KILN_OP_ABS && dtype == KILN_COMPLEX64);
}

static void operations_equal_scalar_c(void **state)
{
    (void)state;
    static const char *const choices[] = {"ccc", "csv", "vcs", "svc"};
    char layouts[4];
    for (int op = 0; op < KILN_OP_COUNT; op++)
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            const struct kiln_op_info *info = &kiln__ops[op];
            if (!has_reference(op, dtype) || !info->lower[kiln__dtypes[dtype].kind]) continue;
            for (int t = 0; t < 3 && host_targets[t]; t++) {
                snprintf(layouts, sizeof layouts, "%.*s", info->arity, choices[(op + dtype + t) % 4]);
                check_op(op, dtype, dtype, layouts, host_targets[t]);
                snprintf(layouts, sizeof layouts, "%.*s", info->arity, "ccc");
                check_op(op, dtype, dtype, layouts, host_targets[t]);
            }
        }
}

/*
 * Over all of float32: with and without fused multiply-adds, and in vectors of every width, the bits are those of the
 * source built for the host, which has none.
 */
static void helpers_give_the_same_bits_on_every_target(void **state)
{
    (void)state;
    enum { LENGTH = 4096 };
    static float in[LENGTH], out[LENGTH];
    static const struct {
        int op;
        float (*helper)(float);
    } rows[] = {{KILN_OP_EXP, kiln_exp_f32},
                {KILN_OP_LOG, kiln_log_f32},
                {KILN_OP_ERF, kiln_erf_f32},
                {KILN_OP_SIGMOID, kiln_sigmoid_f32},
                {KILN_OP_TANH, kiln_tanh_f32}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (int t = 0; t < 3 && host_targets[t]; t++) {
            struct one_op one;
            struct kiln_buffer text = {0};
            kiln_error err = {0};
            CHECK_TRUE(make_one_op(&one, rows[row].op, KILN_FLOAT32, KILN_FLOAT32));
            CHECK_OK(kiln__group_print(&one.group, "c", 0, &text, &err), &err);
            kernel_entry kernel = load_text(&text, host_targets[t]);
            int64_t strides[4] = {sizeof out, sizeof *out, sizeof in, sizeof *in};
            uint64_t args[2] = {(uint64_t)(uintptr_t)out, (uint64_t)(uintptr_t)in};
            for (uint64_t bits = 0; bits <= UINT32_MAX;) {
                for (int i = 0; i < LENGTH; i++, bits += 4099) in[i] = f32_of_bits((uint32_t)bits);
                kernel(args, strides, 1, LENGTH);
                for (int i = 0; i < LENGTH; i++) {
                    float want = rows[row].helper(in[i]);
                    if (isnan(want) ? !isnan(out[i]) : bits_of_f32(want) != bits_of_f32(out[i]))
                        CHECK_FAIL("%s(%a) on %s is %a, not %a", kiln__ops[rows[row].op].name, in[i], host_targets[t],
                                   out[i], want);
                }
            }
        }
}

static void casts_equal_scalar_c(void **state)
{
    (void)state;
    for (int from = 0; from < KILN_DTYPE_COUNT; from++)
        for (int to = 0; to < KILN_DTYPE_COUNT; to++)
            for (int t = 0; t < 3 && host_targets[t]; t++) check_op(KILN_OP_CAST, from, to, "c", host_targets[t]);
}

/* ---- streaming and constants ----------------------------------------------------------------------------------------
 */

/* Element by element, because the sign of a NaN may depend on which operand an instruction takes first. */
static void expect_same_bytes(enum kiln_dtype dtype, const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i += kiln__dtype_size(dtype)) {
        struct value want = load_value(dtype, a + i), got = load_value(dtype, b + i);
        expect_same(&want, &got, "streaming", "cs", host_targets[0]);
    }
}
#define expect_same_bytes(...) CHECK_CALL(expect_same_bytes, __VA_ARGS__)

/* out0 = a * k + b, out1 = a - b at every misalignment and around the tile size; nothing outside is written. */
static void streaming_equals_plain(void **state)
{
    (void)state;
    static const uint8_t dtypes[] = {KILN_FLOAT32, KILN_FLOAT64, KILN_BFLOAT16, KILN_UINT8, KILN_COMPLEX64};
    for (size_t d = 0; d < sizeof dtypes; d++) {
        uint8_t dtype = dtypes[d], operands[2] = {dtype, dtype};
        size_t size = kiln__dtype_size(dtype);
        struct kiln_instr instrs[] = {
            {KILN_OP_MULTIPLY, dtype, {0, 2}}, {KILN_OP_ADD, dtype, {3, 1}}, {KILN_OP_SUBTRACT, dtype, {0, 1}}};
        uint32_t outputs[] = {4, 5};
        struct kiln_group group = {2, 1, 3, 2, operands, &dtype, instrs, outputs};
        struct kiln_buffer text = {0};
        CHECK_STATUS(kiln__group_print(&group, "cs", 0, &text, NULL), KILN_OK);
        kernel_entry plain = load_text(&text, host_targets[0]);
        CHECK_STATUS(kiln__group_print(&group, "cs", KILN_GROUP_STREAMING, &text, NULL), KILN_OK);
        kernel_entry streaming = load_text(&text, host_targets[0]);
        static _Alignas(64) char a[8 * 4096], out[4][8 * 4096];
        static const char untouched[8] = "UUUUUUUU"; /* 0x55 */
        fill(dtype, a, 4096);
        static const int64_t counts[] = {0, 1, 7, 64, 1023, 1024, 1025, 3000};
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (size_t shift = 0; shift < 64 / size + 1; shift++) {
                uint64_t constant = 0;
                memcpy(&constant, a + 8, size);
                memset(out, 0x55, sizeof out);
                int64_t s = (int64_t)size, n = counts[c], strides[8] = {n * s, s, n * s, s, n * s, s, 0, 0};
                uint64_t args[5] = {0, 0, (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)(a + size * 3), constant};
                for (int k = 0; k < 2; k++) {
                    args[0] = (uint64_t)(uintptr_t)(out[2 * k] + shift * size);
                    args[1] = (uint64_t)(uintptr_t)(out[2 * k + 1] + (shift * 3 % 64) * size);
                    (k ? streaming : plain)(args, strides, 1, n);
                }
                expect_same_bytes(dtype, out[0], out[2], sizeof out[0]);
                expect_same_bytes(dtype, out[1], out[3], sizeof out[1]);
                CHECK_TRUE(n == 0 || memcmp(out[0] + shift * size, untouched, size) != 0);
            }
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------------------
 */

/* The order that group.h promises, in plain C. */
static struct value sum_reference(enum kiln_dtype in, enum kiln_dtype out, const char *data, int64_t stride, int64_t n)
{
    bool narrow = out == KILN_FLOAT16 || out == KILN_BFLOAT16;
    enum kiln_dtype acc = narrow ? KILN_FLOAT32 : out;
    struct value lanes[16];
    for (int k = 0; k < 16; k++) lanes[k] = (struct value){.dtype = acc};
    for (int64_t i = 0; i < n; i++) {
        struct value x = load_value(in, data + i * stride), pair[2] = {lanes[i % 16], cast(&x, acc)};
        lanes[i % 16] = reference(KILN_OP_ADD, pair);
    }
    for (int half = 8; half; half /= 2)
        for (int k = 0; k < half; k++) {
            struct value pair[2] = {lanes[k], lanes[k + half]};
            lanes[k] = reference(KILN_OP_ADD, pair);
        }
    return cast(&lanes[0], out);
}

static void check_sum(enum kiln_dtype in, enum kiln_dtype out, char layout, const char *target)
{
    CHECK_CONTEXT("sum %s to %s, layout %c, %s", kiln__dtypes[in].name, kiln__dtypes[out].name, layout, target);
    static char data[3 * 600 * 8], result[3 * 16];
    struct kiln_buffer text = {0};
    char text_of_layout[2] = {layout, 0};
    CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, in, out, layout, &text, NULL), KILN_OK);
    kernel_entry kernel = load_text(&text, target);
    fill(in, data, 3 * 600);
    int64_t size = (int64_t)kiln__dtype_size(in);
    static const int64_t counts[] = {0, 1, 5, 15, 16, 17, 64, 100, 199};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        int64_t stride = layout == 'c' ? size : 3 * size;
        int64_t strides[4] = {16, 0, 600 * size, stride};
        uint64_t args[2] = {(uint64_t)(uintptr_t)result, (uint64_t)(uintptr_t)data};
        kernel(args, strides, 3, counts[c]);
        for (int row = 0; row < 3; row++) {
            struct value want = sum_reference(in, out, data + row * strides[2], stride, counts[c]);
            struct value got = load_value(out, result + row * 16);
            expect_same(&want, &got, "sum", text_of_layout, target);
        }
    }
}
#define check_sum(...) CHECK_CALL(check_sum, __VA_ARGS__)

static void sums_keep_their_order(void **state)
{
    (void)state;
    for (int in = 0; in < KILN_DTYPE_COUNT; in++)
        for (int t = 0; t < 3 && host_targets[t]; t++)
            for (const char *layout = "cv"; *layout; layout++) {
                bool small = kiln__dtype_size(in) < 4 && is_whole(in);
                check_sum(in, small ? KILN_INT32 : in, *layout, host_targets[t]);
                if (in == KILN_FLOAT16 || in == KILN_INT32) check_sum(in, KILN_FLOAT32, *layout, host_targets[t]);
            }
}

/* Rows that end where memory ends: nothing behind them may be read. */
static void sums_stay_inside_their_rows(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_NE(pages, MAP_FAILED);
    CHECK_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    for (int in = 0; in < KILN_DTYPE_COUNT; in++)
        for (int t = 0; t < 3 && host_targets[t]; t++) {
            bool small = kiln__dtype_size(in) < 4 && is_whole(in);
            enum kiln_dtype out = small ? KILN_INT32 : in;
            struct kiln_buffer text = {0};
            CHECK_STATUS(kiln__reduction_print(KILN_OP_SUM, in, out, 'c', &text, NULL), KILN_OK);
            kernel_entry kernel = load_text(&text, host_targets[t]);
            int64_t size = (int64_t)kiln__dtype_size(in), strides[4] = {16, 0, 0, size};
            for (int64_t n = 1; n <= 40; n++) {
                char result[16], *row = pages + page - n * size;
                uint64_t args[2] = {(uint64_t)(uintptr_t)result, (uint64_t)(uintptr_t)row};
                fill(in, row, (size_t)n);
                kernel(args, strides, 1, n);
                struct value want = sum_reference(in, out, row, size, n), got = load_value(out, result);
                expect_same(&want, &got, "sum", "c", host_targets[t]);
            }
        }
    munmap(pages, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_scalar_c), cmocka_unit_test(helpers_give_the_same_bits_on_every_target),
        cmocka_unit_test(casts_equal_scalar_c),      cmocka_unit_test(streaming_equals_plain),
        cmocka_unit_test(sums_keep_their_order),     cmocka_unit_test(sums_stay_inside_their_rows),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
