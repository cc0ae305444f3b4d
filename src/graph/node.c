/*
 * node.c - nodes: making, applying and releasing them.
 *
 * A node and its inputs and attributes are one block whose size follows from the counts. A graph is acyclic because a
 * node is made after its inputs and never changes them, so reference counting frees everything.
 */
#include "graph/node.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array/block.h"
#include "base/process/fork.h"
#include "graph/default_device.h"
#include "graph/marking.h"
#include "graph/rules.h"
#include "graph/tracing.h"

void (*kiln__node_free_plan)(void *plan);

/* Guards `outputs` of every plan node, between the thread that runs a node and threads that free its outputs. */
KILN_LEAF_LOCK(outputs_lock);

static size_t block_size(size_t input_count, size_t attr_count)
{
    return sizeof(struct kiln_node) + input_count * sizeof(struct kiln_array *) + attr_count * sizeof(int64_t);
}

/* ---- releasing --------------------------------------------------------------------------------------------------- */

/* An output that is being freed leaves the list. Its count is 0: that is how it is told from the others. */
static void forget_outputs(struct kiln_node *node)
{
    pthread_mutex_lock(&outputs_lock);
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct kiln_array *output = node->outputs[i];
        if (output && atomic_load_explicit(&output->refs, memory_order_relaxed) == 0) node->outputs[i] = NULL;
    }
    pthread_mutex_unlock(&outputs_lock);
}

static void drop_node(struct kiln_node *node, struct kiln_array **pending)
{
    if (node->outputs) forget_outputs(node);
    if (atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < node->input_count; i++) kiln__array_unref_later(node->inputs[i], pending);
    if (node->plan && kiln__node_free_plan) kiln__node_free_plan(node->plan);
    free(node->outputs);
    free(node->error);
    kiln__block_free(node, block_size(node->input_count, node->attr_count));
}

/* The array layer learns how to free a node before anything runs. */
__attribute__((constructor)) static void install(void)
{
    kiln__array_free_node = drop_node;
}

void kiln__node_unref(struct kiln_node *node)
{
    struct kiln_array *pending = NULL;
    if (!node) return;
    drop_node(node, &pending);
    kiln__array_free_pending(pending);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

kiln_status kiln__node_new(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                           size_t attr_count, struct kiln_node **out, kiln_error *err)
{
    if (count > UINT32_MAX || attr_count > UINT16_MAX)
        return kiln__fail(err, KILN_INVALID, "[%s] too many inputs or attributes.", kiln__ops[op].name);
    struct kiln_node *node = kiln__block_new(block_size(count, attr_count));
    if (!node) return kiln__no_memory(err, "a node");
    *node = (struct kiln_node){.refs = 1,
                               .op = (uint8_t)op,
                               .attr_count = (uint16_t)attr_count,
                               .input_count = (uint32_t)count,
                               .is_last_use = true,
                               .device_index = (uint16_t)kiln__current_device_index(),
                               .stream = (uint16_t)kiln__current_stream()};
    node->inputs = (struct kiln_array **)(void *)(node + 1);
    node->attrs = (int64_t *)(void *)(node->inputs + count);
    for (size_t i = 0; i < count; i++) node->inputs[i] = kiln__array_ref(inputs[i]);
    if (attr_count) memcpy(node->attrs, attrs, attr_count * sizeof *attrs);
    *out = node;
    return KILN_OK;
}

kiln_status kiln__node_set_outputs(struct kiln_node *node, struct kiln_array *const *outputs, size_t count,
                                   kiln_error *err)
{
    if (count == 0 || count > UINT32_MAX) return kiln__fail(err, KILN_INVALID, "a node can't have %zu outputs", count);
    node->outputs = malloc(count * sizeof *outputs);
    if (!node->outputs) return kiln__no_memory(err, "the outputs of a node");
    memcpy(node->outputs, outputs, count * sizeof *outputs);
    node->output_count = (uint32_t)count;
    atomic_fetch_add_explicit(&node->refs, (uint32_t)count - 1, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) atomic_store_explicit(&outputs[i]->node, node, memory_order_release);
    return KILN_OK;
}

/* With the lock held: a reference to the output unless its last one has gone. */
static struct kiln_array *try_ref(struct kiln_array *output)
{
    uint32_t refs = output ? atomic_load_explicit(&output->refs, memory_order_relaxed) : 0;
    while (refs && !atomic_compare_exchange_weak_explicit(&output->refs, &refs, refs + 1, memory_order_relaxed,
                                                          memory_order_relaxed)) {
    }
    return refs ? output : NULL;
}

struct kiln_array *kiln__node_output(struct kiln_node *node, uint32_t idx)
{
    pthread_mutex_lock(&outputs_lock);
    struct kiln_array *output = try_ref(node->outputs[idx]);
    pthread_mutex_unlock(&outputs_lock);
    return output;
}

struct kiln_array *kiln__node_take_output(struct kiln_node *node, uint32_t idx)
{
    pthread_mutex_lock(&outputs_lock);
    struct kiln_array *output = try_ref(node->outputs[idx]);
    node->outputs[idx] = NULL;
    pthread_mutex_unlock(&outputs_lock);
    return output;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* The trace that the result belongs to: 0, or the innermost one of the inputs, all of which have to run. */
static kiln_status find_trace(const struct kiln_call *call, uint64_t *out, kiln_error *err)
{
    uint64_t trace = 0;
    for (size_t i = 0; i < call->count; i++) {
        uint64_t id = call->inputs[i]->trace;
        if (id == 0 && kiln__tracing_replaces(call->inputs[i]))
            return kiln__fail(err, KILN_INVALID,
                              "[%s] Input %zu was passed to the function that is being compiled, and is used there "
                              "directly; use the argument that the function was given.",
                              kiln__ops[call->op].name, i);
        if (id == 0) continue;
        if (!kiln__tracing_runs(id))
            return kiln__fail(err, KILN_INVALID, "[%s] Input %zu: array belongs to a trace that has ended.",
                              kiln__ops[call->op].name, i);
        if (id > trace) trace = id;
    }
    *out = trace;
    return KILN_OK;
}

static kiln_status make_lazy(const struct kiln_call *call, const struct kiln_result *result, uint64_t trace,
                             struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *array = NULL;
    struct kiln_node *node = NULL;
    kiln_status status = kiln__array_new(result->dtype, result->ndim, result->dims, &array, err);
    if (status) return kiln__fail_as(err, status, kiln__ops[call->op].name);
    status = kiln__node_new(call->op, call->inputs, call->count, call->attrs, call->attr_count, &node, err);
    if (status) {
        kiln__array_unref(array);
        return status;
    }
    array->trace = trace;
    atomic_store_explicit(&array->node, node, memory_order_release);
    status = trace && trace == kiln__tracing.id ? kiln__tracing_keep(array, err) : KILN_OK;
    if (!status && __builtin_expect(kiln__marking.id != 0, 0)) status = kiln__mark_result(array, node, err);
    if (status)
        kiln__array_unref(array);
    else
        *out = array;
    return status;
}

static enum kiln_dtype wanted_dtype(const struct kiln_result *result, size_t i)
{
    return i ? result->rest : result->first;
}

static bool needs_casts(const struct kiln_call *call, const struct kiln_result *result)
{
    if (result->as_they_are) return false;
    for (size_t i = 0; i < call->count; i++)
        if (call->inputs[i]->dtype != wanted_dtype(result, i)) return true;
    return false;
}

/* A reference to `input` itself or to its cast. */
static kiln_status cast_input(struct kiln_array *input, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err)
{
    if (input->dtype != dtype) return kiln__apply(KILN_OP_CAST, &input, 1, (int64_t[]){dtype}, 1, out, err);
    *out = kiln__array_ref(input);
    return KILN_OK;
}

static kiln_status make_with_casts(const struct kiln_call *call, const struct kiln_result *result, uint64_t trace,
                                   struct kiln_array **out, kiln_error *err)
{
    struct kiln_array **inputs = calloc(call->count, sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "casts");
    kiln_status status = KILN_OK;
    for (size_t i = 0; !status && i < call->count; i++)
        status = cast_input(call->inputs[i], wanted_dtype(result, i), &inputs[i], err);
    struct kiln_call converted = *call;
    converted.inputs = inputs;
    if (!status) status = make_lazy(&converted, result, trace, out, err);
    for (size_t i = 0; i < call->count; i++) kiln__array_unref(inputs[i]);
    free(inputs);
    return status;
}

kiln_status kiln__apply_result(const struct kiln_call *call, const struct kiln_result *result, struct kiln_array **out,
                               kiln_error *err)
{
    uint64_t trace = 0;
    kiln_status status = find_trace(call, &trace, err);
    return status ? status : make_lazy(call, result, trace, out, err);
}

kiln_status kiln__apply(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                        size_t attr_count, struct kiln_array **out, kiln_error *err)
{
    struct kiln_call call = {op, inputs, count, attrs, attr_count};
    struct kiln_result result;
    uint64_t trace = 0;
    kiln_status status = kiln__rules_check(&call, &result, err);
    if (!status) status = find_trace(&call, &trace, err);
    if (status) return status;
    if (needs_casts(&call, &result)) return make_with_casts(&call, &result, trace, out, err);
    return make_lazy(&call, &result, trace, out, err);
}
