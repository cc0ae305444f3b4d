/*
 * ops.c - the table of operations, made from ops.def row by row. The lowering columns are indexed by enum
 * kiln_dtype_kind, so their order in ops.def and the order of that enum need not agree.
 */
#include "graph/ops.h"

#include "array/dtype.h"

const struct kiln_op_info kiln__ops[KILN_OP_COUNT] = {
#define KILN_ELEMENTWISE(ID, op_name, op_arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex)           \
    [KILN_OP_##ID] = {.name = #op_name,                                                                                \
                      .arity = op_arity,                                                                               \
                      .kind = KILN_OP_ELEMENTWISE,                                                                     \
                      .dtype_rule = KILN_RULE_##rule,                                                                  \
                      .lower = {[KILN_KIND_BOOL] = on_bool,                                                            \
                                [KILN_KIND_SIGNED] = on_signed,                                                        \
                                [KILN_KIND_UNSIGNED] = on_unsigned,                                                    \
                                [KILN_KIND_FLOAT] = on_float,                                                          \
                                [KILN_KIND_COMPLEX] = on_complex}},
#define KILN_OPERATION(ID, op_name, op_arity, op_kind, ...)                                                            \
    [KILN_OP_##ID] = {.name = #op_name, .arity = op_arity, .kind = KILN_OP_##op_kind, .dtype_rule = KILN_RULE_NONE},
#include "graph/ops.def"
};

int kiln__op_result(enum kiln_op op, int operand)
{
    uint8_t rule = kiln__ops[op].dtype_rule;
    if (rule == KILN_RULE_COMPARE || rule == KILN_RULE_LOGIC) return KILN_BOOL;
    return rule == KILN_RULE_REAL && operand == KILN_COMPLEX64 ? KILN_FLOAT32 : operand;
}
