/*
 * make_elementwise.c - every element-wise operation of graph/ops.def, for the dtypes that its row allows.
 */
#include "maker.h"

#include <stdio.h>
#include <string.h>

/* The one operation with a parameter: to whole numbers. */
static int round_to_integers(mlx_array *res, const mlx_array a, const mlx_stream stream)
{
    return mlx_round(res, a, 0, stream);
}

struct operation {
    const char *name;
    int (*unary)(mlx_array *res, const mlx_array a, const mlx_stream stream);
    int (*binary)(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream stream);
    bool takes_bool, takes_signed, takes_unsigned, takes_float;
};

/* astype and where have operands of their own kinds, and are called by hand. A column that is 0 allows nothing. */
#define IS_ALLOWED(column)                    (sizeof column != sizeof "0")
#define FUNCTION_1                            .unary
#define FUNCTION_2                            .binary
#define OPERATION(name, arity, function, ...) {#name, FUNCTION_##arity = function, __VA_ARGS__},
#define RULE_SAME(name, arity, ...)           OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_REAL(name, arity, ...)           OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_FLOATING(name, arity, ...)       OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_COMPARE(name, arity, ...)        OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_LOGIC(name, arity, ...)          OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_SHIFT(name, arity, ...)          OPERATION(name, arity, mlx_##name, __VA_ARGS__)
#define RULE_BY_HAND(name, arity, ...)        OPERATION(name, arity, name##_to_integers, __VA_ARGS__)
#define RULE_CAST(name, arity, ...)
#define RULE_SELECT(name, arity, ...)

static const struct operation operations[] = {
/* clang-format off */
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)                 \
    RULE_##rule(name, arity, .takes_bool = IS_ALLOWED(#on_bool), .takes_signed = IS_ALLOWED(#on_signed),               \
                .takes_unsigned = IS_ALLOWED(#on_unsigned), .takes_float = IS_ALLOWED(#on_float))
#include "graph/ops.def"
    /* clang-format on */
};

/* What programs do most; the others are made for fewer layouts. */
static const char *const common[] = {"add",     "multiply", "exp",      "subtract", "divide", "maximum",
                                     "minimum", "less",     "greater",  "equal",    "square", "sqrt",
                                     "rsqrt",   "sigmoid",  "negative", "tanh",     "erf"};
enum { COMMON = sizeof common / sizeof *common, IN_SHORT_FORM = 3 }; /* the first ones */

static bool is_among(const struct operation *operation, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(common[i], operation->name)) return true;
    return false;
}

static bool takes(const struct operation *operation, mlx_dtype dtype)
{
    if (is_float(dtype)) return operation->takes_float;
    if (dtype == MLX_BOOL) return operation->takes_bool;
    return dtype == MLX_UINT8 || dtype == MLX_UINT32 ? operation->takes_unsigned : operation->takes_signed;
}

/* Layouts of operands, in pairs; those of rare operations come first. */
static const enum layout unary_layouts[] = {PACKED, STRIDED, TRANSPOSED, LARGE};
static const enum layout binary_layouts[][2] = {
    {PACKED, PACKED}, {PACKED, SCALAR}, {SCALAR, PACKED},     {STRIDED, STRIDED},       {PACKED, ROW},  {ROW, PACKED},
    {PACKED, COLUMN}, {COLUMN, PACKED}, {PACKED, TRANSPOSED}, {TRANSPOSED, TRANSPOSED}, {LARGE, LARGE}, {LARGE, SCALAR},
};
enum { RARE_UNARY = 2, UNARY = sizeof unary_layouts / sizeof *unary_layouts };
enum { RARE_BINARY = 4, BINARY = sizeof binary_layouts / sizeof *binary_layouts };

static void call_unary(struct maker *maker, const struct operation *operation, mlx_dtype dtype, enum layout layout)
{
    char what[64];
    mlx_array result = mlx_array_new();
    if (layout == LARGE && !maker->has_large) return;
    snprintf(what, sizeof what, "%s of %s", operation->name, dtype_name(dtype));
    int failed = operation->unary(&result, maker_operand(maker, dtype, layout), maker->stream);
    maker_take(maker, what, failed, result);
}

static void call_binary(struct maker *maker, const struct operation *operation, mlx_dtype dtype,
                        const enum layout layouts[2])
{
    char what[64];
    mlx_array result = mlx_array_new();
    if (layouts[0] == LARGE && !maker->has_large) return;
    snprintf(what, sizeof what, "%s of %s", operation->name, dtype_name(dtype));
    int failed = operation->binary(&result, maker_operand(maker, dtype, layouts[0]),
                                   maker_operand(maker, dtype, layouts[1]), maker->stream);
    maker_take(maker, what, failed, result);
}

static void call_operation(struct maker *maker, const struct operation *operation, mlx_dtype dtype)
{
    bool is_common = is_among(operation, COMMON);
    size_t count = operation->unary ? is_common ? UNARY : RARE_UNARY : is_common ? BINARY : RARE_BINARY;
    for (size_t i = 0; i < count; i++) {
        if (operation->unary)
            call_unary(maker, operation, dtype, unary_layouts[i]);
        else
            call_binary(maker, operation, dtype, binary_layouts[i]);
    }
}

static void call_where(struct maker *maker, mlx_dtype dtype, enum layout condition, enum layout x, enum layout y)
{
    mlx_array result = mlx_array_new();
    int failed = mlx_where(&result, maker_operand(maker, MLX_BOOL, condition), maker_operand(maker, dtype, x),
                           maker_operand(maker, dtype, y), maker->stream);
    maker_take(maker, "where", failed, result);
}

static void make_where(struct maker *maker, mlx_dtype dtype)
{
    static const enum layout branches[][2] = {{PACKED, PACKED}, {PACKED, SCALAR}, {SCALAR, PACKED}, {SCALAR, SCALAR}};
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++)
        call_where(maker, dtype, PACKED, branches[i][0], branches[i][1]);
    call_where(maker, dtype, STRIDED, STRIDED, STRIDED);
    call_where(maker, dtype, ROW, PACKED, SCALAR);
    call_where(maker, dtype, ROW, PACKED, PACKED);
}

void make_elementwise(struct maker *maker)
{
    for (size_t d = 0; d < maker_dtype_count(maker); d++) {
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
            if (!takes(&operations[i], maker_dtypes[d]) ||
                (maker->is_short && !is_among(&operations[i], IN_SHORT_FORM)))
                continue;
            call_operation(maker, &operations[i], maker_dtypes[d]);
        }
        make_where(maker, maker_dtypes[d]);
    }
}
