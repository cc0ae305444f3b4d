/*
 * graph_order.c - see graph_order.h. Depth first; an array is appended when all of its inputs have been.
 */
#include "transform/graph_order.h"

#include <stdlib.h>

#include "base/hash.h"

struct frame {
    struct kiln_array *array;
    uint32_t next_input;
};

struct stack {
    struct frame *frames;
    size_t depth, cap;
};

struct sought {
    const struct kiln_order *order;
    const struct kiln_array *array;
};

static bool same_array(const void *context, uint32_t index)
{
    const struct sought *sought = context;
    return sought->order->arrays[index] == sought->array;
}

uint32_t kiln__order_find(const struct kiln_order *order, const struct kiln_array *array)
{
    return kiln__table_find(&order->table, kiln__hash(&array, sizeof array), same_array,
                            &(struct sought){order, array});
}

static bool append(struct kiln_order *order, struct kiln_array *array)
{
    if (order->count == order->cap) {
        size_t cap = order->cap ? order->cap * 2 : 64;
        struct kiln_array **arrays = realloc(order->arrays, cap * sizeof *arrays);
        if (!arrays) return false;
        order->arrays = arrays;
        order->cap = cap;
    }
    uint32_t *slot =
        kiln__table_slot(&order->table, kiln__hash(&array, sizeof array), same_array, &(struct sought){order, array});
    if (!slot || order->count >= KILN_TABLE_EMPTY) return false;
    *slot = (uint32_t)order->count;
    order->arrays[order->count++] = array;
    return true;
}

static bool push(struct stack *stack, struct kiln_array *array)
{
    if (stack->depth == stack->cap) {
        size_t cap = stack->cap ? stack->cap * 2 : 64;
        struct frame *frames = realloc(stack->frames, cap * sizeof *frames);
        if (!frames) return false;
        stack->frames = frames;
        stack->cap = cap;
    }
    stack->frames[stack->depth++] = (struct frame){array, 0};
    return true;
}

static bool is_missing(const struct kiln_order *order, const struct kiln_array *array, uint64_t trace)
{
    return array->trace == trace && kiln__order_find(order, array) == KILN_TABLE_EMPTY;
}

static bool visit(struct kiln_order *order, struct stack *stack, struct kiln_array *output, uint64_t trace)
{
    if (!is_missing(order, output, trace)) return true;
    if (!push(stack, output)) return false;
    while (stack->depth) {
        struct frame *top = &stack->frames[stack->depth - 1];
        const struct kiln_node *node = kiln__traced_node(top->array);
        uint32_t count = node ? node->input_count : 0;
        while (top->next_input < count && !is_missing(order, node->inputs[top->next_input], trace)) top->next_input++;
        if (top->next_input < count) {
            if (!push(stack, node->inputs[top->next_input])) return false;
        } else {
            if (!append(order, top->array)) return false;
            stack->depth--;
        }
    }
    return true;
}

kiln_status kiln__order_from(struct kiln_array *const *outputs, size_t count, uint64_t trace, struct kiln_order *order,
                             kiln_error *err)
{
    struct stack stack = {0};
    bool done = true;
    for (size_t i = 0; i < count && done; i++) done = visit(order, &stack, outputs[i], trace);
    free(stack.frames);
    return done ? KILN_OK : kiln__no_memory(err, "the walk over a graph");
}

void kiln__order_release(struct kiln_order *order)
{
    kiln__table_release(&order->table);
    free(order->arrays);
}
