/*
 * reverse.c - takes cotangents from the outputs back to the variables: through the list of marked arrays from its end,
 * so that each array has its whole cotangent when its rule is applied.
 *
 * A cotangent is released when it was used. Results of a function with rules of its own follow each other in the list;
 * its rule is applied at the first of them.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/default_device.h"
#include "graph/deferred.h"
#include "ops/reductions.h"
#include "transform/grad/custom_function.h"
#include "transform/grad/differentiate.h"
#include "transform/grad/gradient_rules.h"

struct reverse {
    size_t first, count;
    bool *dependent;
    struct kiln_array **cotangents; /* of the arrays first, first + 1, ... of the list; references */
};

/* The place of an array that a cotangent matters to; SIZE_MAX: it does not. */
static size_t place_of(const struct reverse *r, const struct kiln_array *array)
{
    uint64_t mark = array ? atomic_load_explicit(&array->mark, memory_order_relaxed) : 0;
    size_t index = (uint32_t)mark;
    if (mark >> 32 != kiln__marking.id || index < r->first || index >= r->first + r->count) return SIZE_MAX;
    return r->dependent[index - r->first] && kiln__is_inexact(array) ? index - r->first : SIZE_MAX;
}

static kiln_status add_cotangent(struct reverse *r, size_t place, struct kiln_array *cotangent, kiln_error *err)
{
    struct kiln_array **sum = &r->cotangents[place], *before = *sum;
    if (!before) {
        *sum = kiln__array_ref(cotangent);
        return KILN_OK;
    }
    kiln_status status = kiln__binary(KILN_OP_ADD, before, cotangent, sum, err);
    if (!status) kiln__array_unref(before);
    return status;
}

/* ---- the rule of an operation -------------------------------------------------------------------------------------
 */

/* The axes of size 1 that were broadcast, and those in front that were not there. */
static struct kiln_array *sum_to(struct kiln_expression *e, struct kiln_array *gradient, const struct kiln_array *like)
{
    struct kiln_array *sum = NULL;
    int axes[KILN_MAX_NDIM], missing = gradient->ndim - like->ndim;
    size_t count = 0;
    for (int i = 0; i < gradient->ndim; i++)
        if (i < missing || like->dims[i - missing] != gradient->dims[i]) axes[count++] = i;
    kiln_status status = kiln__reduce(KILN_OP_SUM, gradient, (struct kiln_axes){axes, count, true}, &sum, e->err);
    return kiln__e_reshape(e, kiln__e_hold(e, status, sum), like->dims, like->ndim);
}

static bool has_shape_of(const struct kiln_array *a, const struct kiln_array *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0;
}

struct kiln_array *kiln__e_fit(struct kiln_expression *e, struct kiln_array *gradient, const struct kiln_array *like)
{
    if (!gradient || e->status) return NULL;
    if (gradient->ndim < like->ndim) gradient = kiln__e_broadcast(e, gradient, like->dims, like->ndim);
    if (gradient && !has_shape_of(gradient, like)) gradient = sum_to(e, gradient, like);
    return kiln__e_astype(e, gradient, (enum kiln_dtype)like->dtype);
}

static void record_gradients(struct kiln_expression *e, const struct kiln_step *step, struct kiln_array *cotangent,
                             struct kiln_array **gradients)
{
    for (uint32_t k = 0; k < step->count && !e->status; k++) {
        struct kiln_array *out = NULL;
        if (!step->wanted[k]) continue;
        kiln_status status = kiln__record_gradient(step, k, cotangent, &out, e->err);
        gradients[k] = kiln__e_hold(e, status, out);
    }
}

static kiln_status apply_rule(struct reverse *r, const struct kiln_step *step, struct kiln_array *cotangent,
                              struct kiln_array **gradients, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    const struct kiln_gradient_rule *rule = &kiln__gradient_rules[step->op];
    if (kiln__is_recorded(step->output)) {
        record_gradients(&e, step, cotangent, gradients);
    } else if (rule->missing) {
        return kiln__fail(err, KILN_INVALID, "[vjp] %s has no gradient here: %s.", kiln__ops[step->op].name,
                          rule->missing);
    } else if (rule->vjp) {
        rule->vjp(&e, step, cotangent, gradients);
    }
    for (uint32_t k = 0; k < step->count && !e.status; k++) {
        if (!step->wanted[k] || !gradients[k]) continue;
        struct kiln_array *gradient =
            kiln__is_recorded(step->output) ? gradients[k] : kiln__e_fit(&e, gradients[k], step->inputs[k]);
        if (gradient && !e.status) e.status = add_cotangent(r, place_of(r, step->inputs[k]), gradient, err);
    }
    return kiln__e_drop(&e);
}

static kiln_status go_back_through(struct reverse *r, struct kiln_array *output, const struct kiln_node *node,
                                   struct kiln_array *cotangent, kiln_error *err)
{
    enum { FEW = 16 };
    struct kiln_array *few[FEW], **gradients = few;
    bool few_wanted[FEW], *wanted = few_wanted;
    size_t count = node->input_count;
    if (count > FEW) {
        gradients = malloc(count * (sizeof *gradients + sizeof *wanted));
        if (!gradients) return kiln__no_memory(err, "a gradient");
        wanted = (bool *)(gradients + count);
    }
    memset(gradients, 0, count * sizeof(struct kiln_array *));
    for (size_t k = 0; k < count; k++) wanted[k] = place_of(r, node->inputs[k]) != SIZE_MAX;
    const struct kiln_step step = {.op = (enum kiln_op)node->op,
                                   .count = node->input_count,
                                   .attr_count = node->attr_count,
                                   .inputs = node->inputs,
                                   .attrs = node->attrs,
                                   .output = output,
                                   .wanted = wanted};
    uint32_t device_index = kiln__chosen_device_index;
    kiln__choose_device_index(node->device_index);
    kiln_status status = apply_rule(r, &step, cotangent, gradients, err);
    kiln__choose_device_index(device_index);
    if (gradients != few) free(gradients);
    return status;
}

/* ---- functions with rules of their own ----------------------------------------------------------------------------
 */

static kiln_status go_back_through_call(struct reverse *r, size_t place, struct kiln_marked_call *call, kiln_error *err)
{
    struct kiln_array_list gradients = {0};
    bool has_any = false;
    for (size_t i = 0; i < call->output_count; i++) has_any |= r->cotangents[place + i] != NULL;
    if (!has_any) return KILN_OK;
    kiln_status status = kiln__custom_vjp(call, r->first + place, &r->cotangents[place], &gradients, err);
    for (size_t k = 0; k < call->input_count && !status; k++) {
        size_t to = place_of(r, call->inputs[k]);
        if (to != SIZE_MAX && gradients.arrays[k]) status = add_cotangent(r, to, gradients.arrays[k], err);
    }
    kiln__array_list_release(&gradients);
    return status;
}

/* ---- the walk -----------------------------------------------------------------------------------------------------
 */

static kiln_status go_back(struct reverse *r, size_t place, kiln_error *err)
{
    struct kiln_marked marked = kiln__marking.list[r->first + place];
    kiln_status status = KILN_OK;
    if (marked.call) {
        if (marked.result == 0) status = go_back_through_call(r, place, marked.call, err);
    } else if (r->cotangents[place] && marked.node) {
        status = go_back_through(r, marked.array, marked.node, r->cotangents[place], err);
    }
    if (marked.call && marked.result) return status; /* it is used at the first result */
    for (size_t i = 0; i < (marked.call ? marked.call->output_count : 1); i++) {
        kiln__array_unref(r->cotangents[place + i]);
        r->cotangents[place + i] = NULL;
    }
    return status;
}

kiln_status kiln__pull_back(size_t first, size_t variable_count, struct kiln_array_list outputs,
                            struct kiln_array *const *cotangents, struct kiln_array **gradients, kiln_error *err)
{
    struct reverse r = {.first = first, .count = kiln__marking.count - first};
    r.dependent = kiln__find_dependent(first, variable_count, kiln__marking.count);
    r.cotangents = calloc(r.count + 1, sizeof *r.cotangents);
    kiln_status status = r.dependent && r.cotangents ? KILN_OK : kiln__no_memory(err, "a gradient");
    for (size_t i = 0; i < outputs.count && !status; i++) {
        size_t place = place_of(&r, outputs.arrays[i]);
        if (place != SIZE_MAX && cotangents[i]) status = add_cotangent(&r, place, cotangents[i], err);
    }
    for (size_t place = r.count; place-- > variable_count && !status;) status = go_back(&r, place, err);
    for (size_t v = 0; v < variable_count; v++) gradients[v] = NULL;
    for (size_t v = 0; v < variable_count && !status; v++) {
        gradients[v] = r.cotangents[v];
        r.cotangents[v] = NULL;
    }
    for (size_t place = 0; r.cotangents && place < r.count; place++) kiln__array_unref(r.cotangents[place]);
    free(r.cotangents);
    free(r.dependent);
    return status;
}
