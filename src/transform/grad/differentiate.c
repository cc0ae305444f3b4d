/*
 * differentiate.c - see differentiate.h. Invariant: an array comes after its inputs in the list, so going through the
 * list needs neither recursion nor a sort.
 */
#include "transform/grad/differentiate.h"

#include <stdlib.h>

#include "base/process/callback.h"

/* ---- calling the function -----------------------------------------------------------------------------------------
 */

/* Its node is noted too: for an outer transform it is made from the input. */
static kiln_status make_variable(struct kiln_array *input, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *variable = NULL;
    kiln_status status = kiln__identity(input, &variable, err);
    if (status) return status;
    struct kiln_node *node = atomic_load_explicit(&variable->node, memory_order_relaxed);
    atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    status = kiln__mark(variable, (struct kiln_marked){.node = node}, err);
    if (status) kiln__node_unref(node);
    if (status)
        kiln__array_unref(variable);
    else
        *out = variable;
    return status;
}

static kiln_status make_arguments(struct kiln_array_list inputs, const bool *is_variable,
                                  struct kiln_array_list *arguments, size_t *variable_count, kiln_error *err)
{
    kiln_status status = KILN_OK;
    arguments->arrays = calloc(inputs.count + 1, sizeof *arguments->arrays);
    if (!arguments->arrays) return kiln__no_memory(err, "a transform");
    arguments->count = inputs.count;
    for (size_t i = 0; i < inputs.count && !status; i++) {
        bool is_one = !is_variable || is_variable[i];
        if (is_one) status = make_variable(inputs.arrays[i], &arguments->arrays[i], err);
        if (!is_one) arguments->arrays[i] = kiln__array_ref(inputs.arrays[i]);
        *variable_count += is_one;
    }
    return status;
}

struct function_call {
    struct kiln_array_function function;
    struct kiln_array_list arguments, *outputs;
    kiln_error *err;
    kiln_status status;
};

static void call_function(void *context)
{
    struct function_call *call = context;
    call->status = call->function.call(call->function.payload, call->arguments.arrays, call->arguments.count,
                                       &call->outputs->arrays, &call->outputs->count, call->err);
}

kiln_status kiln__differentiate(const char *name, struct kiln_array_function function, struct kiln_array_list inputs,
                                const bool *is_variable, struct kiln_differentiation *out, kiln_error *err)
{
    struct kiln_array_list arguments = {0};
    *out = (struct kiln_differentiation){0};
    kiln_status status = kiln__marking_begin(kiln__frame(), &out->before, err);
    if (status) return kiln__fail_as(err, status, name);
    out->first = kiln__marking.count;
    status = make_arguments(inputs, is_variable, &arguments, &out->variable_count, err);
    struct function_call call = {function, arguments, &out->outputs, err, KILN_OK};
    if (!status)
        status = kiln__call_client(call_function, &call)
                     ? call.status
                     : kiln__fail(err, KILN_LOWER_FAILED, "[%s] The thread left the function.", name);
    kiln__array_list_release(&arguments);
    for (size_t i = 0; i < out->outputs.count && !status; i++)
        if (!out->outputs.arrays[i])
            status = kiln__fail(err, KILN_INVALID, "[%s] Output %zu of the function is empty.", name, i);
    if (status) kiln__differentiate_end(out);
    /* What is computed now is differentiated again by an outer transform alone. */
    if (!status && out->before.depth == 0) kiln__marking.paused++;
    return status;
}

void kiln__differentiate_end(struct kiln_differentiation *d)
{
    kiln__array_list_release(&d->outputs);
    kiln__marking_end(d->before);
}

/* ---- dependence ---------------------------------------------------------------------------------------------------
 */

static bool depends(const bool *dependent, size_t first, size_t end, const struct kiln_array *input)
{
    uint64_t mark = atomic_load_explicit(&input->mark, memory_order_relaxed);
    size_t index = (uint32_t)mark;
    return mark >> 32 == kiln__marking.id && index >= first && index < end && dependent[index - first];
}

bool *kiln__find_dependent(size_t first, size_t variable_count, size_t end)
{
    bool *dependent = calloc(end - first + 1, sizeof *dependent);
    for (size_t i = first; i < end && dependent; i++) {
        const struct kiln_marked *marked = &kiln__marking.list[i];
        struct kiln_array *const *inputs = marked->node ? marked->node->inputs : NULL;
        size_t count = marked->node ? marked->node->input_count : 0;
        bool *is_dependent = &dependent[i - first];
        if (marked->call) inputs = marked->call->inputs, count = marked->call->input_count;
        *is_dependent = i - first < variable_count;
        for (size_t k = 0; k < count && !*is_dependent; k++) *is_dependent = depends(dependent, first, i, inputs[k]);
    }
    return dependent;
}
