/*
 * simplify.c - common subexpression elimination (CSE) and dead code elimination (DCE).
 *
 * CSE is by value numbering, in one walk over the tape in order: inputs of a value are replaced by what they were
 * merged into, then the value itself is looked up in a hash table, an operation by its inputs and attributes, a scalar
 * or small constant by its bits. So -0.0 and 0.0, and NaNs with different bits, stay apart. Casts, reshapes and
 * broadcasts that change nothing are merged into their input, and element-wise operations read past broadcasts and
 * packing. DCE is one walk backwards, which marks what the outputs need.
 *
 * Constant folding needs no pass. An operation on captured arrays alone makes no tracer, so its result is itself a
 * captured array, evaluated once. Nothing is simplified by algebra: bits are those of the uncompiled operations.
 *
 * Each value is visited once: linear in the tape, however often one scalar is used.
 */
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "graph/node.h"
#include "trace/tape.h"

enum { SMALL_BYTES = 4096 };

/* ---- operations that do nothing ------------------------------------------------------------------------------- */

static bool keeps_order(const struct kiln_value *transpose)
{
    for (uint32_t i = 0; i < transpose->attr_count; i++)
        if (transpose->attrs[i] != i) return false;
    return true;
}

/* A view to the input's own shape, or a cast to its own dtype. */
static bool does_nothing(const struct kiln_value *value, const struct kiln_value *input)
{
    bool may = value->op == KILN_OP_CAST || value->op == KILN_OP_RESHAPE || value->op == KILN_OP_BROADCAST;
    if (value->op == KILN_OP_TRANSPOSE) return keeps_order(value);
    return may && value->dtype == input->dtype && kiln__value_same_shape(value, input);
}

/* ---- broadcasts and copies before element-wise operations ----------------------------------------------------------
 */

/* Would the shape of `value` be the same with `other` for its input k? */
static bool keeps_shape(const struct kiln_tape *tape, const struct kiln_value *value, uint32_t k, uint32_t other)
{
    bool has_rank = false;
    for (uint32_t axis = 0; axis < value->ndim; axis++) {
        bool found = value->dims[axis] == 1;
        for (uint32_t i = 0; i < value->input_count; i++) {
            const struct kiln_value *input = &tape->values[i == k ? other : value->inputs[i]];
            uint32_t missing = value->ndim - input->ndim;
            has_rank |= missing == 0;
            found |= axis >= missing && input->dims[axis - missing] == value->dims[axis];
        }
        if (!found) return false;
    }
    return has_rank || value->ndim == 0;
}

/* An element-wise operation broadcasts its inputs and reads any layout: broadcasts and packing before it are skipped.
 */
static void look_through(struct kiln_tape *tape, struct kiln_value *value, uint32_t k)
{
    for (;;) {
        const struct kiln_value *input = &tape->values[value->inputs[k]];
        bool is_packing = input->kind == KILN_VALUE_NODE && input->op == KILN_OP_CONTIGUOUS;
        bool is_broadcast = input->kind == KILN_VALUE_NODE && input->op == KILN_OP_BROADCAST;
        if (!is_packing && !(is_broadcast && keeps_shape(tape, value, k, input->inputs[0]))) return;
        value->inputs[k] = input->inputs[0];
    }
}

/* ---- equal values --------------------------------------------------------------------------------------------- */

/* The bytes of a small constant on the host, which operations make anew for each call; 0: it is none. */
static size_t small_bytes(const struct kiln_value *value)
{
    const struct kiln_array *array = value->array;
    bool is_known = !atomic_load_explicit(&array->node, memory_order_acquire) && !kiln__array_device_index(array);
    size_t size = (size_t)array->size * kiln__dtype_size((enum kiln_dtype)array->dtype);
    return is_known && array->row_contiguous && size <= SMALL_BYTES ? size : 0;
}

static bool equal_constants(const struct kiln_value *a, const struct kiln_value *b)
{
    if (a->array == b->array) return true;
    size_t size = small_bytes(a);
    if (size && size == small_bytes(b) && a->dtype == b->dtype && kiln__value_same_shape(a, b))
        return memcmp(a->array->data, b->array->data, size) == 0;
    return kiln__value_is_scalar(a) && kiln__value_is_scalar(b) && a->dtype == b->dtype &&
           memcmp(a->array->data, b->array->data, kiln__dtype_size(a->dtype)) == 0;
}

static bool equal_nodes(const struct kiln_value *a, const struct kiln_value *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->input_count == b->input_count &&
           a->attr_count == b->attr_count && kiln__value_same_shape(a, b) &&
           memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) == 0 &&
           memcmp(a->attrs, b->attrs, a->attr_count * sizeof *a->attrs) == 0;
}

struct candidate {
    const struct kiln_tape *tape;
    const struct kiln_value *value;
};

static bool equal_values(const void *context, uint32_t index)
{
    const struct candidate *candidate = context;
    const struct kiln_value *other = &candidate->tape->values[index];
    if (other->kind != candidate->value->kind) return false;
    return other->kind == KILN_VALUE_CONSTANT ? equal_constants(other, candidate->value)
                                              : equal_nodes(other, candidate->value);
}

static uint64_t hash_value(const struct kiln_value *value)
{
    if (value->kind == KILN_VALUE_CONSTANT) {
        bool is_scalar = kiln__value_is_scalar(value);
        if (!is_scalar && small_bytes(value)) return kiln__hash(value->array->data, small_bytes(value)) + value->dtype;
        return is_scalar ? kiln__hash(value->array->data, kiln__dtype_size(value->dtype)) + value->dtype
                         : kiln__hash(&value->array, sizeof value->array);
    }
    uint64_t hash = kiln__hash(value->inputs, value->input_count * sizeof *value->inputs);
    hash = hash * 31 + kiln__hash(value->attrs, value->attr_count * sizeof *value->attrs);
    return hash * 31 + value->op * 16u + value->dtype;
}

/* ---- the pass ------------------------------------------------------------------------------------------------- */

void kiln__tape_mark(struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->output_count; i++) {
        tape->values[tape->outputs[i]].is_output = true;
        tape->values[tape->outputs[i]].is_live = true;
    }
    for (uint32_t i = tape->count; i-- > 0;) {
        struct kiln_value *value = &tape->values[i];
        for (uint32_t k = 0; value->is_live && k < value->input_count; k++)
            tape->values[value->inputs[k]].is_live = true;
    }
}

/* What value `i` is merged into: itself, an equal earlier one, or its input. UINT32_MAX: out of memory. */
static uint32_t merge(struct kiln_tape *tape, uint32_t i, struct kiln_table *table)
{
    struct kiln_value *value = &tape->values[i];
    if (value->kind == KILN_VALUE_INPUT) return i;
    if (value->kind == KILN_VALUE_NODE && value->input_count == 1 &&
        does_nothing(value, &tape->values[value->inputs[0]]))
        return value->inputs[0];
    const struct candidate candidate = {tape, value};
    uint32_t *slot = kiln__table_slot(table, hash_value(value), equal_values, &candidate);
    if (!slot) return UINT32_MAX;
    if (*slot == KILN_TABLE_EMPTY) *slot = i;
    return *slot;
}

kiln_status kiln__tape_simplify(struct kiln_tape *tape, kiln_error *err)
{
    struct kiln_table table = {0};
    uint32_t *merged = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *merged);
    bool failed = !merged;
    for (uint32_t i = 0; i < tape->count && !failed; i++) {
        struct kiln_value *value = &tape->values[i];
        for (uint32_t k = 0; k < value->input_count; k++) value->inputs[k] = merged[value->inputs[k]];
        for (uint32_t k = 0; kiln__value_is_elementwise(value) && k < value->input_count; k++)
            look_through(tape, value, k);
        merged[i] = merge(tape, i, &table);
        failed = merged[i] == UINT32_MAX;
    }
    for (uint32_t i = 0; i < tape->output_count && !failed; i++) tape->outputs[i] = merged[tape->outputs[i]];
    kiln__table_release(&table);
    if (failed) return kiln__no_memory(err, "a trace");
    kiln__tape_mark(tape);
    return KILN_OK;
}
