/*
 * abi_elementwise.c - the element-wise functions of ops.h: one for each row of graph/ops.def, and two more.
 *
 * Inputs are taken before the result is given, so that a result may be one of the inputs.
 */
#include "ops/elementwise.h"

#include "mlxc/abi_vector.h"
#include "ops/compose.h"

#define KILN_ARITY_1(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_stream s)                                              \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(a) || KILN_NO_STREAM(s)) return 1;                                                           \
        KILN_RETURN_RESULT(res, kiln__unary(KILN_OP_##ID, kiln__unwrap(a), &out, &err));                               \
    }
#define KILN_ARITY_2(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)                           \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(a) || KILN_NO_ARRAY(b) || KILN_NO_STREAM(s)) return 1;                                       \
        KILN_RETURN_RESULT(res, kiln__binary(KILN_OP_##ID, kiln__unwrap(a), kiln__unwrap(b), &out, &err));             \
    }
#define KILN_ARITY_3(ID, name)                                                                                         \
    int mlx_##name(mlx_array *res, const mlx_array condition, const mlx_array x, const mlx_array y,                    \
                   const mlx_stream s)                                                                                 \
    {                                                                                                                  \
        if (KILN_NO_ARRAY(condition) || KILN_NO_ARRAY(x) || KILN_NO_ARRAY(y) || KILN_NO_STREAM(s)) return 1;           \
        struct kiln_array *inputs[3] = {kiln__unwrap(condition), kiln__unwrap(x), kiln__unwrap(y)};                    \
        KILN_RETURN_RESULT(res, kiln__apply(KILN_OP_##ID, inputs, 3, NULL, 0, &out, &err));                            \
    }

/* By dtype rule. astype has a parameter of its own and is a row of abi.tsv. */
#define KILN_FUNCTION_SAME(arity, ID, name)     KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_FLOATING(arity, ID, name) KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_COMPARE(arity, ID, name)  KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_LOGIC(arity, ID, name)    KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_SELECT(arity, ID, name)   KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_REAL(arity, ID, name)     KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_SHIFT(arity, ID, name)    KILN_ARITY_##arity(ID, name)
#define KILN_FUNCTION_CAST(arity, ID, name)
#define KILN_FUNCTION_BY_HAND(arity, ID, name)

#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)                 \
    KILN_FUNCTION_##rule(arity, ID, name)
#include "graph/ops.def"

/* Quotient and remainder. */
int mlx_divmod(mlx_vector_array *res, const mlx_array a, const mlx_array b, const mlx_stream s)
{
    kiln_error err;
    struct kiln_array *both[2] = {NULL, NULL};
    if (KILN_NO_ARRAY(a) || KILN_NO_ARRAY(b) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res)) return 1;
    if (kiln__divmod(kiln__unwrap(a), kiln__unwrap(b), both, &err)) return KILN_FAIL(&err);
    return kiln__give_arrays(res, both, 2);
}
