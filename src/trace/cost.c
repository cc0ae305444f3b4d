/*
 * cost.c - the cost of recomputing a value, for passes that may choose recomputation over memory traffic.
 *
 * One walk forward. The size of the expression tree counts a shared operation once per use, so it bounds how many
 * operations a copy of the value adds to the tape.
 */
#include "trace/tape.h"

enum { MOST = UINT8_MAX };

/* Operations with a long latency or several instructions. Calls of helpers ("@exp") and complex arithmetic are also not
 * cheap. */
static const bool slow[KILN_OP_COUNT] = {
    [KILN_OP_DIVIDE] = true,       [KILN_OP_RECIPROCAL] = true, [KILN_OP_SQRT] = true,  [KILN_OP_RSQRT] = true,
    [KILN_OP_FLOOR_DIVIDE] = true, [KILN_OP_REMAINDER] = true,  [KILN_OP_POWER] = true,
};

static bool is_cheap(const struct kiln_tape *tape, const struct kiln_value *value)
{
    const struct kiln_value *operand = &tape->values[value->inputs[value->input_count - 1]];
    const char *lowering = kiln__ops[value->op].lower[kiln__dtypes[operand->dtype].kind];
    return !slow[value->op] && operand->dtype != KILN_COMPLEX64 && lowering && lowering[0] != '@';
}

struct kiln_cost *kiln__tape_costs(struct kiln_tape *tape)
{
    struct kiln_cost *costs = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *costs);
    for (uint32_t i = 0; costs && i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        bool computes = kiln__value_is_elementwise(value);
        bool looks = value->kind == KILN_VALUE_NODE && kiln__ops[value->op].kind == KILN_OP_VIEW;
        uint32_t tree = computes;
        costs[i].is_cheap = !computes || is_cheap(tape, value);
        for (uint32_t k = 0; (computes || looks) && k < value->input_count; k++) {
            tree += costs[value->inputs[k]].tree;
            costs[i].is_cheap &= costs[value->inputs[k]].is_cheap;
        }
        costs[i].tree = tree < MOST ? (uint8_t)tree : MOST;
    }
    return costs;
}
