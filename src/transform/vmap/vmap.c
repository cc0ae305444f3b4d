/*
 * vmap.c - see vmap.h. Mapped arrays have the mapped axis in front throughout: inputs are turned so at the beginning,
 * outputs are turned as they are asked for at the end, both without copying.
 */
#include "transform/vmap/vmap.h"

#include <stdlib.h>
#include <string.h>

#include "graph/default_device.h"
#include "graph/deferred.h"
#include "ops/shapes.h"
#include "transform/graph_order.h"
#include "transform/vmap/custom_call.h"
#include "transform/vmap/vmap_rules.h"

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* Axis `axis` of an array of `ndim` axes, of which `what` is told in errors. */
static kiln_status plain_axis(const char *what, int axis, const struct kiln_array *array, size_t ndim, int *out,
                              kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    if (!kiln__plain_axis("vmap", axis, ndim, out, NULL)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[vmap] Invalid %svectorization axis %d for array with shape %s.", what, axis,
                      kiln__shape_text(array->dims, array->ndim, text));
}

/* The size of the mapped axes, which is the same for all. */
static kiln_status find_size(struct kiln_array *const *inputs, const int *in_axes, size_t count, int *size,
                             kiln_error *err)
{
    *size = -1;
    for (size_t i = 0; i < count; i++) {
        int axis;
        if (!inputs[i]) return kiln__fail(err, KILN_INVALID, "[vmap] Input %zu is empty.", i);
        if (in_axes[i] == KILN_NOT_MAPPED) continue;
        kiln_status status = plain_axis("", in_axes[i], inputs[i], inputs[i]->ndim, &axis, err);
        if (status) return status;
        if (*size >= 0 && inputs[i]->dims[axis] != *size)
            return kiln__fail(err, KILN_INVALID, "[vmap] Inconsistent axis sizes: %d and %d.", *size,
                              inputs[i]->dims[axis]);
        *size = inputs[i]->dims[axis];
    }
    if (*size >= 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[vmap] At least one of in_axes must be an axis: no input is mapped.");
}

/* ---- the first half ---------------------------------------------------------------------------------------------- */

static kiln_status make_placeholder(struct kiln_array *input, int in_axis, struct kiln_array **out, kiln_error *err)
{
    int axis = 0, dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    if (in_axis == KILN_NOT_MAPPED) {
        *out = kiln__array_ref(input);
        return KILN_OK;
    }
    kiln_status status = plain_axis("", in_axis, input, input->ndim, &axis, err);
    for (int i = 0; i < input->ndim; i++)
        if (i != axis) dims[ndim++] = input->dims[i];
    if (!status) status = kiln__array_new(input->dtype, ndim, dims, out, err);
    if (!status) (*out)->trace = KILN_NEXT_TRACE;
    return status;
}

kiln_status kiln__vmap_trace(kiln_callback callback, void *payload, struct kiln_array *const *inputs,
                             const int *in_axes, size_t count, struct kiln_array **placeholders,
                             struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    int size;
    size_t made = 0;
    kiln_status status = find_size(inputs, in_axes, count, &size, err);
    if (!status && kiln__records_deferred)
        status = kiln__fail(err, KILN_INVALID,
                            "[vmap] A shapeless compiled function can't call vmap: compile it for shapes, or call "
                            "vmap of the compiled function.");
    while (!status && made < count) {
        status = make_placeholder(inputs[made], in_axes[made], &placeholders[made], err);
        made += !status;
    }
    if (!status) status = kiln__trace_nested(callback, payload, placeholders, count, outputs, output_count, err);
    while (status && made) kiln__array_unref(placeholders[--made]);
    return status;
}

/* ---- the second half --------------------------------------------------------------------------------------------- */

struct replacing {
    const struct kiln_vmap_half *half;
    int size;
    struct kiln_order order;
    struct kiln_array **mapped; /* for each array in order: references */
    struct kiln_custom_results *custom;
    struct kiln_array **inputs; /* of the operation at hand, and for each whether it is mapped */
    bool *is_mapped;
    size_t cap;
};

/* The id of the trace that the placeholders belong to. */
static kiln_status find_trace(const struct kiln_vmap_half *half, uint64_t *trace, kiln_error *err)
{
    *trace = 0;
    for (size_t i = 0; i < half->input_count; i++) {
        const struct kiln_array *placeholder = half->placeholders[i];
        if (half->in_axes[i] == KILN_NOT_MAPPED) continue;
        bool fits = placeholder && placeholder->trace && !kiln__traced_node(placeholder) &&
                    (*trace == 0 || *trace == placeholder->trace);
        if (!fits)
            return kiln__fail(err, KILN_INVALID, "[vmap] Input %zu of the trace is not a placeholder of vmap_trace().",
                              i);
        *trace = placeholder->trace;
    }
    return KILN_OK;
}

static bool has_shape_of_slice(const struct kiln_array *input, int axis, const struct kiln_array *placeholder)
{
    bool fits = input->dtype == placeholder->dtype && input->ndim == placeholder->ndim + 1;
    for (int i = 0; fits && i < placeholder->ndim; i++) fits = placeholder->dims[i] == input->dims[i + (i >= axis)];
    return fits;
}

static kiln_status map_placeholder(const struct kiln_vmap_half *half, const struct kiln_array *placeholder,
                                   struct kiln_array **out, kiln_error *err)
{
    for (size_t i = 0; i < half->input_count; i++) {
        if (half->placeholders[i] != placeholder || half->in_axes[i] == KILN_NOT_MAPPED) continue;
        struct kiln_array *input = half->inputs[i];
        int axis = half->in_axes[i] < 0 ? half->in_axes[i] + input->ndim : half->in_axes[i];
        if (!has_shape_of_slice(input, axis, placeholder)) break;
        if (axis != 0) return kiln__moveaxis(input, axis, 0, out, err);
        *out = kiln__array_ref(input);
        return KILN_OK;
    }
    return kiln__fail(err, KILN_INVALID,
                      "[vmap] The outputs depend on a placeholder that does not stand for one of the inputs: expected "
                      "the inputs, axes and placeholders of one vmap_trace().");
}

static kiln_status make_room(struct replacing *r, size_t count, kiln_error *err)
{
    if (count <= r->cap) return KILN_OK;
    struct kiln_array **inputs = realloc(r->inputs, count * sizeof *inputs);
    if (inputs) r->inputs = inputs;
    bool *is_mapped = inputs ? realloc(r->is_mapped, count * sizeof *is_mapped) : NULL;
    if (!is_mapped) return kiln__no_memory(err, "the inputs of an operation");
    r->is_mapped = is_mapped;
    r->cap = count;
    return KILN_OK;
}

static struct kiln_array *no_elements(struct kiln_expression *e, const struct kiln_array *result)
{
    struct kiln_array *zeros = NULL;
    int dims[KILN_MAX_NDIM + 1] = {0};
    if (result->ndim) memcpy(dims + 1, result->dims, result->ndim * sizeof *dims);
    kiln_status status = kiln__zeros(dims, result->ndim + 1u, result->dtype, &zeros, e->err);
    return kiln__e_hold(e, status, zeros);
}

static kiln_status apply_rule(const struct kiln_vmapped *v, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln_vmap_rule *rule = kiln__vmap_rules[v->op];
    const char *name = kiln__operation_name(v->op, v->attrs);
    if (!rule) return kiln__fail(err, KILN_INVALID, "[vmap] %s can't be vectorised.", name);
    struct kiln_array *result = v->size ? rule(&e, v) : no_elements(&e, v->result);
    kiln_status status = kiln__e_end(&e, result, out);
    return status ? kiln__fail_as(err, status, "vmap") : status;
}

/* By the rule of the function that was called. */
static kiln_status map_custom(struct replacing *r, const struct kiln_node *node, const struct kiln_array *array,
                              struct kiln_array **out, kiln_error *err)
{
    char got[KILN_SHAPE_TEXT], wanted[KILN_SHAPE_TEXT];
    struct kiln_array *made = NULL;
    kiln_status status = kiln__vmap_custom(node, r->inputs, r->is_mapped, r->size, &r->custom, &made, err);
    if (status) return status;
    if (has_shape_of_slice(made, 0, array)) {
        *out = made;
        return KILN_OK;
    }
    status = kiln__fail(err, KILN_INVALID,
                        "[custom_function] The rule for vmap gave slices of shape %s, of type %s, beside the mapped "
                        "axis; the function gives %s, of type %s.",
                        kiln__shape_text(made->dims + 1, made->ndim - 1u, got), kiln__dtypes[made->dtype].name,
                        kiln__shape_text(array->dims, array->ndim, wanted), kiln__dtypes[array->dtype].name);
    kiln__array_unref(made);
    return status;
}

/* The operation that made array `at` of the order, on what its inputs were replaced by. */
static kiln_status map_operation(struct replacing *r, size_t at, kiln_error *err)
{
    const struct kiln_array *array = r->order.arrays[at];
    const struct kiln_node *node = kiln__traced_node(array);
    if (!node) return map_placeholder(r->half, array, &r->mapped[at], err);
    kiln_status status = make_room(r, node->input_count, err);
    if (status) return status;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t position = kiln__order_find(&r->order, node->inputs[i]);
        r->is_mapped[i] = position != KILN_TABLE_EMPTY;
        r->inputs[i] = r->is_mapped[i] ? r->mapped[position] : node->inputs[i];
    }
    const struct kiln_vmapped v = {.op = (enum kiln_op)node->op,
                                   .size = r->size,
                                   .inputs = r->inputs,
                                   .is_mapped = r->is_mapped,
                                   .count = node->input_count,
                                   .attrs = node->attrs,
                                   .attr_count = node->attr_count,
                                   .result = array};
    uint32_t device_index = kiln__chosen_device_index;
    kiln__choose_device_index(node->device_index);
    status =
        v.op == KILN_OP_CUSTOM ? map_custom(r, node, array, &r->mapped[at], err) : apply_rule(&v, &r->mapped[at], err);
    kiln__choose_device_index(device_index);
    return status;
}

/* An output that no mapped input reaches is the same for all. */
static kiln_status repeat(struct kiln_array *output, int axis, int size, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *wider = NULL;
    int dims[KILN_MAX_NDIM];
    kiln_status status = kiln__expand_dims(output, axis, &wider, err);
    if (status) return status;
    memcpy(dims, wider->dims, wider->ndim * sizeof *dims);
    dims[axis] = size;
    status = kiln__broadcast_to(wider, dims, wider->ndim, out, err);
    kiln__array_unref(wider);
    return status;
}

static kiln_status give_output(struct replacing *r, size_t i, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *output = r->half->outputs[i];
    int axis = 0;
    kiln_status status = plain_axis("output ", r->half->out_axes[i], output, output->ndim + 1u, &axis, err);
    if (status) return status;
    uint32_t position = kiln__order_find(&r->order, output);
    if (position == KILN_TABLE_EMPTY) return repeat(output, axis, r->size, out, err);
    if (axis != 0) return kiln__moveaxis(r->mapped[position], 0, axis, out, err);
    *out = kiln__array_ref(r->mapped[position]);
    return KILN_OK;
}

static kiln_status give_outputs(struct replacing *r, struct kiln_array **out, kiln_error *err)
{
    size_t given = 0;
    kiln_status status = KILN_OK;
    while (!status && given < r->half->output_count) {
        status = give_output(r, given, &out[given], err);
        given += !status;
    }
    while (status && given) kiln__array_unref(out[--given]);
    return status;
}

static kiln_status replace(struct replacing *r, struct kiln_array **out, kiln_error *err)
{
    uint64_t trace = 0;
    kiln_status status = find_trace(r->half, &trace, err);
    for (size_t i = 0; i < r->half->output_count && !status; i++)
        if (!r->half->outputs[i]) status = kiln__fail(err, KILN_INVALID, "[vmap] Output %zu is empty.", i);
    if (!status) status = kiln__order_from(r->half->outputs, r->half->output_count, trace, &r->order, err);
    if (!status && !(r->mapped = calloc(r->order.count + 1, sizeof(struct kiln_array *))))
        status = kiln__no_memory(err, "mapped arrays");
    for (size_t i = 0; i < r->order.count && !status; i++) status = map_operation(r, i, err);
    return status ? status : give_outputs(r, out, err);
}

kiln_status kiln__vmap_replace(const struct kiln_vmap_half *half, struct kiln_array **out, kiln_error *err)
{
    struct replacing r = {.half = half};
    kiln_status status = find_size(half->inputs, half->in_axes, half->input_count, &r.size, err);
    if (!status) status = replace(&r, out, err);
    for (size_t i = 0; r.mapped && i < r.order.count; i++) kiln__array_unref(r.mapped[i]);
    kiln__custom_results_free(r.custom);
    free(r.mapped);
    free(r.inputs);
    free(r.is_mapped);
    kiln__order_release(&r.order);
    return status;
}
