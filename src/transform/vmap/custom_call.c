/*
 * custom_call.c - see custom_call.h. The handle is an array over foreign memory, the function itself, so that the
 * graph's references keep the function without the graph knowing of it.
 */
#include "transform/vmap/custom_call.h"

#include <stdlib.h>
#include <string.h>

#include "graph/rules.h"
#include "graph/tracing.h"
#include "ops/compose.h"
#include "ops/shapes.h"

/* ---- the first half ---------------------------------------------------------------------------------------------- */

static bool is_mapped_here(struct kiln_array *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (inputs[i]->trace && inputs[i]->trace != kiln__tracing.id) return true;
    return false;
}

static void release_function(void *function)
{
    kiln__custom_unref(function);
}

static kiln_status make_handle(struct kiln_custom_function *function, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *handle = NULL;
    kiln_status status = kiln__array_new(KILN_UINT8, 0, NULL, &handle, err);
    if (!status)
        status = kiln__storage_foreign(function, sizeof *function, release_function, function, &handle->storage, err);
    if (status) {
        kiln__array_unref(handle);
        return status;
    }
    atomic_fetch_add_explicit(&function->refs, 1, memory_order_relaxed);
    handle->data = handle->storage->data;
    *out = handle;
    return KILN_OK;
}

/* *output becomes result `number` of the call whose inputs are behind the handle in `inputs`. */
static kiln_status note_result(struct kiln_array *const *inputs, size_t count, size_t number,
                               struct kiln_array **output, kiln_error *err)
{
    const int64_t attrs[] = {(int64_t)number};
    const struct kiln_call call = {KILN_OP_CUSTOM, inputs, count, attrs, 1};
    struct kiln_array *made = NULL;
    if (!*output) return kiln__fail(err, KILN_INVALID, "Output %zu of the function is empty.", number);
    struct kiln_result result = {.as_they_are = true, .dtype = (enum kiln_dtype)(*output)->dtype};
    kiln__same_shape(*output, &result);
    kiln_status status = kiln__apply_result(&call, &result, &made, err);
    if (status) return status;
    kiln__array_unref(*output);
    *output = made;
    return KILN_OK;
}

kiln_status kiln__vmap_note_call(struct kiln_custom_function *function, struct kiln_array *const *inputs, size_t count,
                                 struct kiln_array **outputs, size_t output_count, kiln_error *err)
{
    if (!function->rules.vmap || !is_mapped_here(inputs, count)) return KILN_OK;
    struct kiln_array **all = malloc((count + 1) * sizeof *all);
    if (!all) return kiln__no_memory(err, "a call");
    kiln_status status = make_handle(function, &all[0], err);
    if (!status) {
        if (count) memcpy(all + 1, inputs, count * sizeof *all);
        for (size_t i = 0; i < output_count && !status; i++) status = note_result(all, count + 1, i, &outputs[i], err);
        kiln__array_unref(all[0]);
    }
    free(all);
    return status;
}

/* ---- the second half --------------------------------------------------------------------------------------------- */

/* A result of the rule with its mapped axis in front; -1: it is the same for all slices. */
static kiln_status bring_to_front(struct kiln_array *array, int axis, int size, struct kiln_array **out,
                                  kiln_error *err)
{
    int dims[KILN_MAX_NDIM + 1] = {size};
    if (!array || axis < -1 || axis >= array->ndim || (axis >= 0 && array->dims[axis] != size))
        return kiln__fail(err, KILN_INVALID,
                          "[custom_function] The rule for vmap gave axis %d of an array of %d dimensions: expected one "
                          "of %d elements, or -1.",
                          axis, array ? array->ndim : 0, size);
    if (axis > 0) return kiln__moveaxis(array, axis, 0, out, err);
    if (axis == 0) {
        *out = kiln__array_ref(array);
        return KILN_OK;
    }
    if (array->ndim) memcpy(dims + 1, array->dims, array->ndim * sizeof *dims);
    return kiln__broadcast_to(array, dims, array->ndim + 1u, out, err);
}

static kiln_status bring_all(struct kiln_array_list *results, const int *axes, int size, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < results->count && !status; i++) {
        struct kiln_array *front = NULL;
        status = bring_to_front(results->arrays[i], axes[i], size, &front, err);
        if (status) break;
        kiln__array_unref(results->arrays[i]);
        results->arrays[i] = front;
    }
    return status;
}

static kiln_status apply_rule(const struct kiln_node *node, struct kiln_array *const *inputs, const bool *is_mapped,
                              int size, struct kiln_custom_results *out, kiln_error *err)
{
    struct kiln_custom_function *function = (void *)node->inputs[0]->data;
    size_t count = node->input_count - 1;
    int *axes = malloc((count + 1) * sizeof *axes), *out_axes = NULL;
    struct kiln_array_list results = {0}, given = {(struct kiln_array **)(uintptr_t)(inputs + 1), count};
    if (!axes) return kiln__no_memory(err, "axes");
    for (size_t i = 0; i < count; i++) axes[i] = is_mapped[1 + i] ? 0 : -1;
    kiln_status status = function->rules.vmap(function->payload, given, axes, &results, &out_axes, err);
    if (!status) status = bring_all(&results, out_axes, size, err);
    if (status) kiln__array_list_release(&results);
    free(axes);
    free(out_axes);
    out->handle = node->inputs[0];
    out->arrays = results.arrays;
    out->count = results.count;
    return status;
}

static kiln_status find_results(const struct kiln_node *node, struct kiln_array *const *inputs, const bool *is_mapped,
                                int size, struct kiln_custom_results **done, kiln_error *err)
{
    for (const struct kiln_custom_results *results = *done; results; results = results->next)
        if (results->handle == node->inputs[0]) return KILN_OK;
    struct kiln_custom_results *results = calloc(1, sizeof *results);
    if (!results) return kiln__no_memory(err, "the results of a call");
    kiln_status status = apply_rule(node, inputs, is_mapped, size, results, err);
    if (status) {
        free(results);
        return status;
    }
    results->next = *done;
    *done = results;
    return KILN_OK;
}

kiln_status kiln__vmap_custom(const struct kiln_node *node, struct kiln_array *const *inputs, const bool *is_mapped,
                              int size, struct kiln_custom_results **done, struct kiln_array **out, kiln_error *err)
{
    kiln_status status = find_results(node, inputs, is_mapped, size, done, err);
    const struct kiln_custom_results *results = *done;
    if (status) return status;
    while (results->handle != node->inputs[0]) results = results->next;
    if ((size_t)node->attrs[0] >= results->count)
        return kiln__fail(err, KILN_INVALID, "[custom_function] The rule for vmap gave %zu arrays, the function more.",
                          results->count);
    *out = kiln__array_ref(results->arrays[node->attrs[0]]);
    return KILN_OK;
}

void kiln__custom_results_free(struct kiln_custom_results *done)
{
    while (done) {
        struct kiln_custom_results *next = done->next;
        struct kiln_array_list list = {done->arrays, done->count};
        kiln__array_list_release(&list);
        free(done);
        done = next;
    }
}
