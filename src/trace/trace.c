/*
 * trace.c - calls a function on placeholders and records the graph from its outputs back to them as a tape.
 *
 * The depth-first walk is iterative, so that a chain of a million operations does not overflow the stack. The trace
 * holds a reference to each of its tracers until it ends, and then releases them, the last one first: a tracer with
 * another reference at that time is still held by the function.
 */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/process/callback.h"
#include "base/table.h"
#include "graph/deferred.h"
#include "graph/tracing.h"

static _Atomic uint64_t next_id = 1;

static void end_trace(void)
{
    kiln__records_deferred = false;
    kiln__tracing.input_count = 0;
    kiln__tracing.id = 0;
}

/* A function that left its trace with longjmp() has ended it. Its tracers leak: who else holds them is not known. */
bool kiln__trace_running(void)
{
    struct kiln_tracing *tracing = &kiln__tracing;
    if (__builtin_expect(tracing->id == 0 && tracing->nested_count == 0, 1)) return false;
    uintptr_t here = kiln__frame();
    while (tracing->nested_count && kiln__frame_is_lost(tracing->nested[tracing->nested_count - 1].frame, here))
        tracing->nested_count--;
    if (tracing->id && kiln__frame_is_lost(tracing->frame, here)) {
        end_trace();
        tracing->tracer_count = 0;
    }
    return tracing->id || tracing->nested_count;
}

/* ---- the walk ------------------------------------------------------------------------------------------------- */

struct frame {
    struct kiln_array *array;
    uint32_t next_input;
};

struct recorder {
    struct kiln_tape *tape;
    uint64_t trace;
    struct kiln_array *const *placeholders;
    struct kiln_array *const *originals; /* the call's own inputs, which must not be captured; or NULL */
    struct kiln_array **arrays;          /* array of each value, to find it again; borrowed */
    struct kiln_table table;
    struct frame *stack;
    size_t depth, stack_cap;
};

static bool same_array(const void *context, uint32_t index)
{
    const void *const *pair = context; /* recorder, array */
    return ((const struct recorder *)pair[0])->arrays[index] == pair[1];
}

static uint32_t index_of(const struct recorder *recorder, const struct kiln_array *array)
{
    const void *pair[] = {recorder, array};
    return kiln__table_find(&recorder->table, kiln__hash(&array, sizeof array), same_array, pair);
}

static uint32_t *slot_of(struct recorder *recorder, const struct kiln_array *array)
{
    const void *pair[] = {recorder, array};
    return kiln__table_slot(&recorder->table, kiln__hash(&array, sizeof array), same_array, pair);
}

static bool grow_values(struct recorder *recorder)
{
    struct kiln_tape *tape = recorder->tape;
    uint32_t cap = tape->cap ? tape->cap * 2 : 16;
    struct kiln_value *values = kiln__arena_array(&tape->arena, cap, sizeof *values);
    struct kiln_array **arrays = realloc(recorder->arrays, cap * sizeof *arrays);
    if (arrays) recorder->arrays = arrays;
    if (!values || !arrays) return false;
    if (tape->count) memcpy(values, tape->values, tape->count * sizeof *values);
    tape->values = values;
    tape->cap = cap;
    return true;
}

/* Appends a value for `array`; what its kind adds is filled in by the caller. */
static struct kiln_value *append(struct recorder *recorder, struct kiln_array *array, enum kiln_value_kind kind)
{
    struct kiln_tape *tape = recorder->tape;
    uint32_t *slot = slot_of(recorder, array);
    if (!slot || (tape->count == tape->cap && !grow_values(recorder))) return NULL;
    struct kiln_value *value = &tape->values[tape->count];
    value->kind = (uint8_t)kind;
    value->dtype = array->dtype;
    value->ndim = array->ndim;
    value->group = KILN_NO_GROUP;
    value->dims = kiln__arena_copy(&tape->arena, array->dims, array->ndim * sizeof *array->dims);
    if (!value->dims) return NULL;
    recorder->arrays[tape->count] = array;
    *slot = tape->count++;
    return value;
}

static kiln_status append_constant(struct recorder *recorder, struct kiln_array *array, kiln_error *err)
{
    for (uint32_t i = 0; recorder->originals && i < recorder->tape->input_count; i++)
        if (recorder->originals[i] == array)
            return kiln__fail(err, KILN_INVALID,
                              "[compile] The function uses input %u directly instead of the argument it was given; "
                              "use the argument, or pass a copy.",
                              i);
    if (array->trace)
        return kiln__fail(err, KILN_INVALID,
                          "[compile] The function uses an array that belongs to a trace that has ended; "
                          "only arrays of this call, or evaluated ones, can be used.");
    struct kiln_value *value = append(recorder, array, KILN_VALUE_CONSTANT);
    if (!value) return kiln__no_memory(err, "a trace");
    value->array = kiln__array_ref(array);
    return KILN_OK;
}

static kiln_status append_node(struct recorder *recorder, struct kiln_array *array, kiln_error *err)
{
    struct kiln_arena *arena = &recorder->tape->arena;
    const struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_relaxed);
    struct kiln_value *value = append(recorder, array, KILN_VALUE_NODE);
    if (!value) return kiln__no_memory(err, "a trace");
    value->op = node->op;
    if (node->device_index > recorder->tape->device_index) {
        recorder->tape->device_index = node->device_index;
        recorder->tape->stream = node->stream;
    }
    value->attr_count = node->attr_count;
    value->input_count = node->input_count;
    value->attrs = kiln__arena_copy(arena, node->attrs, node->attr_count * sizeof *node->attrs);
    uint32_t *inputs = kiln__arena_array(arena, node->input_count + 1, sizeof *inputs);
    value->inputs = inputs;
    if (!value->attrs || !inputs) return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < node->input_count; i++) inputs[i] = index_of(recorder, node->inputs[i]);
    return KILN_OK;
}

static bool push(struct recorder *recorder, struct kiln_array *array)
{
    if (recorder->depth == recorder->stack_cap) {
        size_t cap = recorder->stack_cap ? recorder->stack_cap * 2 : 64;
        struct frame *stack = realloc(recorder->stack, cap * sizeof *stack);
        if (!stack) return false;
        recorder->stack = stack;
        recorder->stack_cap = cap;
    }
    recorder->stack[recorder->depth++] = (struct frame){array, 0};
    return true;
}

static bool is_recorded(const struct recorder *recorder, const struct kiln_array *array)
{
    return index_of(recorder, array) != KILN_TABLE_EMPTY;
}

/* Depth first, inputs before the node that reads them. */
static kiln_status record_from(struct recorder *recorder, struct kiln_array *output, kiln_error *err)
{
    if (is_recorded(recorder, output)) return KILN_OK;
    if (!push(recorder, output)) return kiln__no_memory(err, "a trace");
    while (recorder->depth) {
        struct frame *frame = &recorder->stack[recorder->depth - 1];
        struct kiln_array *array = frame->array;
        kiln_status status = KILN_OK;
        if (array->trace != recorder->trace) {
            status = append_constant(recorder, array, err);
        } else {
            const struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_relaxed);
            while (frame->next_input < node->input_count && is_recorded(recorder, node->inputs[frame->next_input]))
                frame->next_input++;
            if (frame->next_input < node->input_count) {
                if (!push(recorder, node->inputs[frame->next_input])) return kiln__no_memory(err, "a trace");
                continue;
            }
            status = append_node(recorder, array, err);
        }
        if (status) return status;
        recorder->depth--;
    }
    return KILN_OK;
}

/*
 * Depth first, a gradient would be computed as far as its first result needs, and all that the others need would be
 * kept until then. In the order in which the operations were made, each activation is used and dropped when the
 * backward pass comes to it. Inputs first, then constants, then nodes.
 */
static kiln_status order_as_made(struct recorder *recorder, kiln_error *err)
{
    struct kiln_tape *tape = recorder->tape;
    uint32_t next = tape->input_count, *places = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *places);
    struct kiln_value *values = kiln__arena_array(&tape->arena, tape->count + 1, sizeof *values);
    if (!places || !values) return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < tape->input_count; i++) places[i] = i;
    for (uint32_t i = next; i < tape->count; i++)
        if (tape->values[i].kind != KILN_VALUE_NODE) places[i] = next++;
    for (size_t t = 0; t < kiln__tracing.tracer_count; t++) {
        uint32_t i = index_of(recorder, kiln__tracing.tracers[t]);
        if (i != KILN_TABLE_EMPTY && tape->values[i].kind == KILN_VALUE_NODE) places[i] = next++;
    }
    if (next != tape->count) return KILN_OK; /* some belong to a transform that is still running */
    for (uint32_t i = 0; i < tape->count; i++) {
        struct kiln_value *value = &values[places[i]];
        *value = tape->values[i];
        for (uint32_t k = 0; k < value->input_count; k++) value->inputs[k] = places[value->inputs[k]];
    }
    for (uint32_t i = 0; i < tape->output_count; i++) tape->outputs[i] = places[tape->outputs[i]];
    tape->values = values;
    return KILN_OK;
}

static kiln_status record(struct recorder *recorder, struct kiln_array *const *outputs, size_t count, kiln_error *err)
{
    struct kiln_tape *tape = recorder->tape;
    tape->outputs = kiln__arena_array(&tape->arena, count + 1, sizeof *tape->outputs);
    if (!tape->outputs) return kiln__no_memory(err, "a trace");
    for (uint32_t i = 0; i < tape->input_count; i++)
        if (!append(recorder, recorder->placeholders[i], KILN_VALUE_INPUT)) return kiln__no_memory(err, "a trace");
    for (size_t i = 0; i < count; i++) {
        if (!outputs[i]) return kiln__fail(err, KILN_INVALID, "[compile] Output %zu of the function is empty.", i);
        kiln_status status = record_from(recorder, outputs[i], err);
        if (status) return status;
        tape->outputs[tape->output_count++] = index_of(recorder, outputs[i]);
    }
    return kiln__tracing.has_gradients ? order_as_made(recorder, err) : KILN_OK;
}

/* ---- running the function ------------------------------------------------------------------------------------- */

static void release_arrays(struct kiln_array **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) kiln__array_unref(arrays[i]);
    free(arrays);
}

static kiln_status make_placeholders(struct kiln_array *const *inputs, size_t count, uint64_t trace,
                                     struct kiln_array ***out, kiln_error *err)
{
    struct kiln_array **placeholders = calloc(count + 1, sizeof *placeholders);
    kiln_status status = placeholders ? KILN_OK : kiln__no_memory(err, "a trace");
    for (size_t i = 0; i < count && !status; i++) {
        status = kiln__array_new(inputs[i]->dtype, inputs[i]->ndim, inputs[i]->dims, &placeholders[i], err);
        if (!status) placeholders[i]->trace = trace;
    }
    if (status)
        release_arrays(placeholders, placeholders ? count : 0);
    else
        *out = placeholders;
    return status;
}

/* Arrays of the trace that the function still holds: how many, and a description of the first that was made. */
struct held {
    size_t count;
    char text[KILN_SHAPE_TEXT + 100];
};

static void describe(struct held *held, const char *what, size_t number, const struct kiln_array *array)
{
    char shape[KILN_SHAPE_TEXT];
    snprintf(held->text, sizeof held->text, "%s %zu, %s of shape %s", what, number, kiln__dtypes[array->dtype].name,
             kiln__shape_text(array->dims, array->ndim, shape));
    held->count++;
}

/* A tracer that is still held loses its node, so that it keeps no other array alive; it can be freed, and its shape can
 * be read. */
static void release_tracers(struct held *held)
{
    char what[80];
    while (kiln__tracing.tracer_count) {
        struct kiln_array *tracer = kiln__tracing.tracers[--kiln__tracing.tracer_count];
        struct kiln_node *node = atomic_load_explicit(&tracer->node, memory_order_relaxed);
        if (atomic_load_explicit(&tracer->refs, memory_order_acquire) > 1) {
            snprintf(what, sizeof what, "the result of %s, operation", kiln__operation_name(node->op, node->attrs));
            describe(held, what, kiln__tracing.tracer_count, tracer);
            atomic_store_explicit(&tracer->node, NULL, memory_order_relaxed);
            kiln__node_unref(node);
        }
        kiln__array_unref(tracer);
    }
    free(kiln__tracing.tracers);
    kiln__tracing.tracers = NULL;
    kiln__tracing.tracer_cap = 0;
}

static void release_placeholders(struct kiln_array **placeholders, size_t count, struct held *held)
{
    for (size_t i = placeholders ? count : 0; i-- > 0;) {
        if (atomic_load_explicit(&placeholders[i]->refs, memory_order_acquire) > 1)
            describe(held, "argument", i, placeholders[i]);
        kiln__array_unref(placeholders[i]);
    }
    free(placeholders);
}

kiln_status kiln__trace(kiln_callback callback, void *payload, struct kiln_array *const *inputs, size_t count,
                        struct kiln_tape **out, kiln_error *err)
{
    return kiln__trace_function(&(struct kiln_traced){callback, payload, NULL, false, false}, inputs, count, out, err);
}

struct function_call {
    const struct kiln_traced *function;
    struct kiln_array **placeholders, ***outputs;
    size_t count, *output_count;
    kiln_error *err;
    kiln_status status;
};

static void call_callback(void *context)
{
    struct function_call *call = context;
    call->status = call->function->callback(call->function->payload, call->placeholders, call->count, call->outputs,
                                            call->output_count, call->err);
}

static kiln_status call_function(const struct kiln_traced *function, uint64_t trace, struct kiln_array *const *inputs,
                                 struct kiln_array **placeholders, size_t count, struct kiln_array ***outputs,
                                 size_t *output_count, kiln_error *err)
{
    struct function_call call = {function, placeholders, outputs, count, output_count, err, KILN_OK};
    kiln__tracing.id = trace;
    kiln__tracing.frame = kiln__frame();
    kiln__tracing.inputs = inputs;
    kiln__tracing.input_count = function->may_use_its_call ? 0 : count;
    kiln__tracing.has_gradients = false;
    kiln__records_deferred = function->shapeless;
    bool returned = kiln__call_client(call_callback, &call);
    end_trace();
    return returned ? call.status : kiln__fail(err, KILN_LOWER_FAILED, "[compile] The thread left the function.");
}

kiln_status kiln__trace_function(const struct kiln_traced *function, struct kiln_array *const *inputs, size_t count,
                                 struct kiln_tape **out, kiln_error *err)
{
    struct held held = {0};
    struct kiln_array **placeholders = NULL, **outputs = NULL;
    size_t output_count = 0;
    uint64_t trace = atomic_fetch_add(&next_id, 1);
    struct kiln_tape *tape = calloc(1, sizeof *tape);
    if (!tape) return kiln__no_memory(err, "a trace");
    tape->input_count = (uint32_t)count;
    tape->name = function->name;
    kiln_status status = make_placeholders(inputs, count, trace, &placeholders, err);
    if (!status) status = call_function(function, trace, inputs, placeholders, count, &outputs, &output_count, err);
    if (!status) {
        struct recorder recorder = {.tape = tape,
                                    .trace = trace,
                                    .placeholders = placeholders,
                                    .originals = function->may_use_its_call ? NULL : inputs};
        status = record(&recorder, outputs, output_count, err);
        kiln__table_release(&recorder.table);
        free(recorder.arrays);
        free(recorder.stack);
    }
    release_arrays(outputs, output_count);
    release_tracers(&held);
    release_placeholders(placeholders, count, &held);
    if (!status && function->name && held.count)
        status = kiln__fail(err, KILN_INVALID,
                            "[compile] The function returned and still holds %zu of its trace's arrays, first %s. "
                            "Free it before returning, or make it an output.",
                            held.count, held.text);
    if (status)
        kiln__tape_free(tape);
    else
        *out = tape;
    return status;
}

/* ---- traces inside of others ------------------------------------------------------------------------------------ */

kiln_status kiln__trace_nested(kiln_callback callback, void *payload, struct kiln_array *const *placeholders,
                               size_t count, struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct kiln_tracing *tracing = &kiln__tracing;
    struct kiln_traced function = {.callback = callback, .payload = payload};
    struct function_call call = {
        &function, (struct kiln_array **)(uintptr_t)placeholders, outputs, count, output_count, err, KILN_OK};
    kiln__trace_running(); /* forgets traces that were left by a jump */
    size_t depth = tracing->nested_count;
    if (depth == KILN_NESTED_TRACES)
        return kiln__fail(err, KILN_INVALID, "Transforms are nested more than %d deep.", KILN_NESTED_TRACES);
    if (!tracing->nested && !(tracing->nested = malloc(KILN_NESTED_TRACES * sizeof *tracing->nested)))
        return kiln__no_memory(err, "a trace");
    tracing->nested[tracing->nested_count++] = (struct kiln_nested_trace){atomic_fetch_add(&next_id, 1), kiln__frame()};
    for (size_t i = 0; i < count; i++)
        if (placeholders[i]->trace == KILN_NEXT_TRACE) placeholders[i]->trace = tracing->nested[depth].id;
    bool returned = kiln__call_client(call_callback, &call);
    tracing->nested_count = depth;
    if (!depth) {
        free(tracing->nested);
        tracing->nested = NULL;
    }
    return returned ? call.status : kiln__fail(err, KILN_LOWER_FAILED, "The thread left the function.");
}

void kiln__tape_free(struct kiln_tape *tape)
{
    if (!tape) return;
    for (uint32_t i = 0; i < tape->count; i++) kiln__array_unref(tape->values[i].array);
    kiln__arena_release(&tape->arena);
    free(tape);
}

bool kiln__value_is_scalar(const struct kiln_value *value)
{
    return value->kind == KILN_VALUE_CONSTANT && value->ndim == 0 && kiln__array_is_ready(value->array);
}
