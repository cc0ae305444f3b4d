/*
 * shapeless.c - replays the record of a shapeless function for inputs of other sizes.
 *
 * A replay is a trace in which the record takes the place of the function: each operation is applied again, each
 * deferred operation replayed (graph/deferred.h), in the order of the record. So the resulting tape has the new sizes
 * in all its attributes, has passed every check of the operations, and is simplified, fused and run like that of any
 * function: no later pass knows that a function is shapeless. Ranks and dtypes stay those of the record, because axes
 * were numbered by them.
 */
#include <stdlib.h>

#include "graph/default_device.h"
#include "ops/replay.h"
#include "trace/trace.h"

enum { FEW_INPUTS = 16 };

static kiln_status check_kind(const struct kiln_value *value, const struct kiln_array *array, kiln_error *err)
{
    if (array->ndim == value->ndim && array->dtype == value->dtype) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] The result had %u dimensions when the shapeless function was traced, now it has %u: ranks "
                      "can't change.",
                      kiln__operation_name(value->op, value->attrs), value->ndim, array->ndim);
}

/* Adds to the operation's text that the sizes are not those of the trace. */
static kiln_status explain(kiln_status status, kiln_error *err)
{
    if (status != KILN_INVALID || !err) return status;
    kiln_error plain = *err;
    return kiln__fail(err, status,
                      "%.800s (The function is shapeless and was traced with other sizes: numbers that it "
                      "worked out from them stay.)",
                      plain.text);
}

static kiln_status apply(const struct kiln_value *value, struct kiln_array *const *arrays, struct kiln_array **out,
                         kiln_error *err)
{
    struct kiln_array *few[FEW_INPUTS], **inputs = few;
    if (value->input_count > FEW_INPUTS) inputs = malloc(value->input_count * sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "the inputs of an operation");
    for (uint32_t i = 0; i < value->input_count; i++) inputs[i] = arrays[value->inputs[i]];
    bool is_deferred = value->op == KILN_OP_DEFERRED;
    kiln_status status =
        is_deferred ? kiln__deferred_replay(inputs, value->input_count, value->attrs, value->attr_count, out, err)
                    : kiln__apply(value->op, inputs, value->input_count, value->attrs, value->attr_count, out, err);
    if (inputs != few) free(inputs);
    return status ? explain(status, err) : check_kind(value, *out, err);
}

static kiln_status apply_all(const struct kiln_tape *record, struct kiln_array *const *inputs,
                             struct kiln_array **arrays, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < record->count && !status; i++) {
        const struct kiln_value *value = &record->values[i];
        if (value->kind == KILN_VALUE_NODE)
            status = apply(value, arrays, &arrays[i], err);
        else
            arrays[i] = kiln__array_ref(value->kind == KILN_VALUE_INPUT ? inputs[i] : value->array);
    }
    return status;
}

kiln_status kiln__tape_apply(const struct kiln_tape *record, struct kiln_array *const *inputs, size_t count,
                             struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct kiln_array **arrays = calloc(record->count + 1u, sizeof *arrays);
    struct kiln_array **results = malloc((record->output_count + 1u) * sizeof *results);
    (void)count;
    kiln_status status = arrays && results ? apply_all(record, inputs, arrays, err) : kiln__no_memory(err, "a replay");
    for (uint32_t i = 0; i < record->output_count && !status; i++)
        results[i] = kiln__array_ref(arrays[record->outputs[i]]);
    for (uint32_t i = 0; arrays && i < record->count; i++) kiln__array_unref(arrays[i]);
    free(arrays);
    *output_count = status ? 0 : record->output_count;
    *outputs = status ? NULL : results;
    if (status) free(results);
    return status;
}

/* A kiln_callback; the payload is the record. */
static kiln_status replay(void *payload, struct kiln_array *const *inputs, size_t count, struct kiln_array ***outputs,
                          size_t *output_count, kiln_error *err)
{
    return kiln__tape_apply(payload, inputs, count, outputs, output_count, err);
}

kiln_status kiln__tape_replay(const struct kiln_tape *record, struct kiln_array *const *inputs, size_t count,
                              struct kiln_tape **out, kiln_error *err)
{
    const struct kiln_traced function = {
        .callback = replay, .payload = (void *)(uintptr_t)record, .name = record->name, .may_use_its_call = true};
    uint32_t device_index = kiln__chosen_device_index;
    kiln__choose_device_index(record->device_index | record->stream << KILN_STREAM_SHIFT);
    kiln_status status = kiln__trace_function(&function, inputs, count, out, err);
    kiln__choose_device_index(device_index);
    return status;
}
