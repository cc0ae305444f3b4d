/*
 * ops.h - the operations as an enum and a table, both made from ops.def.
 */
#ifndef KILN_GRAPH_OPS_H
#define KILN_GRAPH_OPS_H

#include <stdint.h>

enum kiln_op {
#define KILN_ELEMENTWISE(ID, name, arity, rule, on_bool, on_signed, on_unsigned, on_float, on_complex) KILN_OP_##ID,
#define KILN_OPERATION(ID, ...)                                                                        KILN_OP_##ID,
#include "graph/ops.def"
    KILN_OP_COUNT
};

enum kiln_op_kind {
    KILN_OP_ELEMENTWISE,
    KILN_OP_VIEW,
    KILN_OP_REDUCE,
    KILN_OP_ARGREDUCE,
    KILN_OP_COPY,
    KILN_OP_INDEXED,
    KILN_OP_WRITE,
    KILN_OP_UPDATE,
    KILN_OP_RANDOM,
    KILN_OP_SOURCE,
    KILN_OP_LIBRARY,
    KILN_OP_LAYER,
    KILN_OP_KERNEL
};

enum kiln_dtype_rule {
    KILN_RULE_NONE,
    KILN_RULE_SAME,
    KILN_RULE_FLOATING,
    KILN_RULE_COMPARE,
    KILN_RULE_LOGIC,
    KILN_RULE_SELECT,
    KILN_RULE_CAST,
    KILN_RULE_REAL,
    KILN_RULE_SHIFT,
    KILN_RULE_BY_HAND
};

/* How an update is combined with the element that it writes to. An attribute of nodes: the numbers must not change. */
enum kiln_merge_mode {
    KILN_MERGE_SET,
    KILN_MERGE_ADD,
    KILN_MERGE_MULTIPLY,
    KILN_MERGE_MAX,
    KILN_MERGE_MIN,
    KILN_MERGE_MODES
};

/* What is read of a square matrix. An attribute of nodes: the numbers must not change. */
enum kiln_triangle { KILN_WHOLE, KILN_LOWER, KILN_UPPER };

struct kiln_op_info {
    const char *name;
    int8_t arity; /* -1: any number */
    uint8_t kind;
    uint8_t dtype_rule;
    const char *lower[5]; /* by enum kiln_dtype_kind of the inputs; NULL: not allowed */
};

extern const struct kiln_op_info kiln__ops[KILN_OP_COUNT];

/* The dtype that an element-wise operation, but for a cast, gives for operands of dtype `operand`. Both enum
 * kiln_dtype. */
int kiln__op_result(enum kiln_op op, int operand);

#endif
