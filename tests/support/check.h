/*
 * check.h - checks over cmocka whose failures say what broke.
 *
 * A check that does not hold prints the line of the test, the calls of helpers below it, the context, both expressions
 * and both values in decimal, and ends the test:
 *
 *     tests/unit/test_mlxc_ops.c:40: expect_floats
 *       with float16 [2,3] add
 *       tests/unit/mlxc_support.h:55: CHECK_EQ(mlx_array_size(array), count)
 *         mlx_array_size(array) = 3
 *         count = 2
 *
 * Operands are evaluated once. Integers are compared by value whatever their types are: -1 is not UINT64_MAX. The stack
 * of calls and contexts belongs to a thread; checks of other threads than the test's cannot end the test.
 */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */
#include <stdbool.h>

#include "kiln.h" /* kiln_status_name */

/* ---- where and in which case ------------------------------------------------------------------------------------ */

/* What is checked until the end of the block, as for printf: dtype, shape, operation. For a case, not for an element.
 */
#define CHECK_CONTEXT(...) CHECK_UNTIL_END_OF_BLOCK = check_enter_context(__VA_ARGS__)

/*
 * A helper that checks reports the line it was called from. After its definition stands
 *     #define expect_floats(...) CHECK_CALL(expect_floats, __VA_ARGS__)
 * Compound literals among the arguments live until the call returns, not longer.
 */
#define CHECK_CALL(helper, ...)                                                                                        \
    __extension__({                                                                                                    \
        CHECK_UNTIL_END_OF_BLOCK = check_enter_call(__FILE__, __LINE__, #helper);                                      \
        helper(__VA_ARGS__);                                                                                           \
    })

/* Printed with every failure of this thread unless it is NULL or empty: the last error's text. */
extern _Thread_local const char *check_note;

/* ---- checks ----------------------------------------------------------------------------------------------------- */

/* Integers of any type, enums, floating point numbers, pointers. */
#define CHECK_EQ(a, b) CHECK_COMPARE(EQ, #a, a, #b, b)
#define CHECK_NE(a, b) CHECK_COMPARE(NE, #a, a, #b, b)
#define CHECK_LT(a, b) CHECK_COMPARE(LT, #a, a, #b, b)
#define CHECK_LE(a, b) CHECK_COMPARE(LE, #a, a, #b, b)
#define CHECK_GT(a, b) CHECK_COMPARE(GT, #a, a, #b, b)
#define CHECK_GE(a, b) CHECK_COMPARE(GE, #a, a, #b, b)

/* low <= a <= high, and |a - b| <= tolerance. */
#define CHECK_BETWEEN(a, low, high)                                                                                    \
    check_between(CHECK_HERE, #a, CHECK_VALUE(a), #low, CHECK_VALUE(low), #high, CHECK_VALUE(high))
#define CHECK_NEAR(a, b, tolerance) check_near(CHECK_HERE, #a, (double)(a), #b, (double)(b), (double)(tolerance))

/* Truth of anything that can stand in an if. */
#define CHECK_TRUE(a)     check_truth(CHECK_HERE, "CHECK_TRUE", #a, CHECK_VALUE(a), true)
#define CHECK_FALSE(a)    check_truth(CHECK_HERE, "CHECK_FALSE", #a, CHECK_VALUE(a), false)
#define CHECK_NOT_NULL(a) check_truth(CHECK_HERE, "CHECK_NOT_NULL", #a, check_pointer(a), true)
#define CHECK_NULL(a)     check_truth(CHECK_HERE, "CHECK_NULL", #a, check_pointer(a), false)

#define CHECK_STR(a, b)         check_string(CHECK_HERE, #a, a, #b, b)
#define CHECK_CONTAINS(a, part) check_contains(CHECK_HERE, #a, a, part)
#define CHECK_MEM(a, b, size)   check_memory(CHECK_HERE, #a, a, #b, b, size)

/* Two floats or two doubles with the same bits: -0 is not 0, and a NaN may equal itself. */
#define CHECK_BITS(a, b) _Generic((a), float: check_float_bits, double: check_double_bits)(CHECK_HERE, #a, a, #b, b)

/* CHECK_STATUS(call, status) or CHECK_STATUS(call, status, &err), where err has the text of what went wrong. */
#define CHECK_STATUS(...)   CHECK_FOURTH(__VA_ARGS__, CHECK_STATUS_TEXT, CHECK_STATUS_ONLY, )(__VA_ARGS__)
#define CHECK_OK(call, err) CHECK_STATUS_TEXT(call, KILN_OK, err)

/* The test fails with this message, as for printf. */
#define CHECK_FAIL(...) check_fail(CHECK_HERE, __VA_ARGS__)
/* The test is left out. */
#define CHECK_SKIP()    (check_leave(&(int){0}), _skip(__FILE__, __LINE__))

/* ---- what these are made of ------------------------------------------------------------------------------------- */

struct check_value {
    enum check_kind { CHECK_KIND_SIGNED, CHECK_KIND_UNSIGNED, CHECK_KIND_REAL, CHECK_KIND_POINTER } kind;
    union {
        intmax_t integer;
        uintmax_t natural;
        double real;
        const volatile void *pointer;
    };
};

enum check_relation {
    CHECK_RELATION_EQ,
    CHECK_RELATION_NE,
    CHECK_RELATION_LT,
    CHECK_RELATION_LE,
    CHECK_RELATION_GT,
    CHECK_RELATION_GE
};

static inline struct check_value check_signed(intmax_t a)
{
    return (struct check_value){CHECK_KIND_SIGNED, {.integer = a}};
}

static inline struct check_value check_unsigned(uintmax_t a)
{
    return (struct check_value){CHECK_KIND_UNSIGNED, {.natural = a}};
}

static inline struct check_value check_real(double a)
{
    return (struct check_value){CHECK_KIND_REAL, {.real = a}};
}

static inline struct check_value check_pointer(const volatile void *a)
{
    return (struct check_value){CHECK_KIND_POINTER, {.pointer = a}};
}

#define CHECK_VALUE(a)                                                                                                 \
    _Generic((a),                                                                                                      \
        char: check_signed,                                                                                            \
        signed char: check_signed,                                                                                     \
        short: check_signed,                                                                                           \
        int: check_signed,                                                                                             \
        long: check_signed,                                                                                            \
        long long: check_signed,                                                                                       \
        _Bool: check_unsigned,                                                                                         \
        unsigned char: check_unsigned,                                                                                 \
        unsigned short: check_unsigned,                                                                                \
        unsigned: check_unsigned,                                                                                      \
        unsigned long: check_unsigned,                                                                                 \
        unsigned long long: check_unsigned,                                                                            \
        float: check_real,                                                                                             \
        double: check_real,                                                                                            \
        long double: check_real,                                                                                       \
        default: check_pointer)(a)

struct check_site {
    const char *file;
    int line;
};
#define CHECK_HERE ((struct check_site){__FILE__, __LINE__})

#define CHECK_COMPARE(relation, a_text, a, b_text, b)                                                                  \
    check_compare(CHECK_HERE, CHECK_RELATION_##relation, a_text, CHECK_VALUE(a), b_text, CHECK_VALUE(b))
#define CHECK_STATUS_ONLY(call, status)      check_status(CHECK_HERE, #call, call, status, NULL, kiln_status_name)
#define CHECK_STATUS_TEXT(call, status, err) check_status(CHECK_HERE, #call, call, status, err, kiln_status_name)
#define CHECK_FOURTH(a, b, c, d, ...)        d

#define CHECK_JOIN_(a, b)        a##b
#define CHECK_JOIN(a, b)         CHECK_JOIN_(a, b)
#define CHECK_UNTIL_END_OF_BLOCK __attribute__((cleanup(check_leave))) const int CHECK_JOIN(check_depth_, __COUNTER__)

void check_compare(struct check_site site, enum check_relation relation, const char *a_text, struct check_value a,
                   const char *b_text, struct check_value b);
void check_between(struct check_site site, const char *a_text, struct check_value a, const char *low_text,
                   struct check_value low, const char *high_text, struct check_value high);
void check_near(struct check_site site, const char *a_text, double a, const char *b_text, double b, double tolerance);
void check_truth(struct check_site site, const char *name, const char *text, struct check_value a, bool expected);
void check_string(struct check_site site, const char *a_text, const char *a, const char *b_text, const char *b);
void check_contains(struct check_site site, const char *a_text, const char *a, const char *part);
void check_memory(struct check_site site, const char *a_text, const void *a, const char *b_text, const void *b,
                  size_t size);
void check_float_bits(struct check_site site, const char *a_text, float a, const char *b_text, float b);
void check_double_bits(struct check_site site, const char *a_text, double a, const char *b_text, double b);
void check_status(struct check_site site, const char *text, kiln_status got, kiln_status expected,
                  const kiln_error *err, const char *(*name)(kiln_status));
void check_fail(struct check_site site, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Both return the depth of the stack to come back to. */
int check_enter_context(const char *format, ...) __attribute__((format(printf, 1, 2)));
int check_enter_call(const char *file, int line, const char *helper);
void check_leave(const int *depth);

#endif
