/*
 * elementwise.h - every element-wise operation of ops.def that makes an array of arrays alone, as tests call it.
 *
 * The table is made from ops.def, so that an operation added there is in every test that draws from it. astype and
 * where have operands of their own kinds; tests call them by hand.
 */
#ifndef KILN_TESTS_SUPPORT_ELEMENTWISE_H
#define KILN_TESTS_SUPPORT_ELEMENTWISE_H

#include "support/scalar.h"

/* The one operation with a parameter: to whole numbers. */
static inline int round_to_integers(mlx_array *res, const mlx_array a, const mlx_stream s)
{
    return mlx_round(res, a, 0, s);
}

/* The letter of a kind of dtypes that an operation takes; '-' where its column of ops.def is 0. */
#define ELEMENTWISE_KIND(column, letter) (sizeof column == sizeof "0" ? '-' : letter)
#define ELEMENTWISE_UNARY(function)      .unary = function
#define ELEMENTWISE_BINARY(function)     .binary = function
#define ELEMENTWISE_FUNCTION_1           ELEMENTWISE_UNARY
#define ELEMENTWISE_FUNCTION_2           ELEMENTWISE_BINARY

/* A row for each dtype rule; none for the two that are called by hand. */
#define ELEMENTWISE_ROW(title, arity, its_rule, function, ...)                                                         \
    {.name = title,                                                                                                    \
     .rule = its_rule,                                                                                                 \
     ELEMENTWISE_FUNCTION_##arity(function),                                                                           \
     .kinds = (const char[]){__VA_ARGS__, '\0'}},
#define ELEMENTWISE_SAME(name, arity, ...)     ELEMENTWISE_ROW(#name, arity, SAME, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_REAL(name, arity, ...)     ELEMENTWISE_ROW(#name, arity, REAL, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_FLOATING(name, arity, ...) ELEMENTWISE_ROW(#name, arity, FLOATING, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_COMPARE(name, arity, ...)  ELEMENTWISE_ROW(#name, arity, COMPARE, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_LOGIC(name, arity, ...)    ELEMENTWISE_ROW(#name, arity, LOGIC, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_SHIFT(name, arity, ...)    ELEMENTWISE_ROW(#name, arity, SHIFT, mlx_##name, __VA_ARGS__)
#define ELEMENTWISE_BY_HAND(name, arity, ...)  ELEMENTWISE_ROW(#name, arity, SAME, name##_to_integers, __VA_ARGS__)
#define ELEMENTWISE_CAST(name, arity, ...)
#define ELEMENTWISE_SELECT(name, arity, ...)

static const struct operation elementwise_rows[] = {
/* clang-format off */
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)                 \
    ELEMENTWISE_##rule(name, arity, ELEMENTWISE_KIND(#on_bool, 'b'), ELEMENTWISE_KIND(#on_unsigned, 'u'),              \
                       ELEMENTWISE_KIND(#on_signed, 's'), ELEMENTWISE_KIND(#on_float, 'f'),                            \
                       ELEMENTWISE_KIND(#on_complex, 'c'))
#include "graph/ops.def"
    /* clang-format on */
};
enum { ELEMENTWISE_COUNT = sizeof elementwise_rows / sizeof *elementwise_rows };

#endif
