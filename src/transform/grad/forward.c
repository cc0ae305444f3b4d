/*
 * forward.c - takes tangents from the variables to the outputs, through the list of marked arrays from its start.
 * Arrays that no output needs are left out.
 *
 * An operation without a rule for tangents takes its vjp, which is linear in the cotangent, as a function of that, and
 * pulls the tangents back through it: a product with the Jacobian, transposed twice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process/callback.h"
#include "graph/default_device.h"
#include "graph/deferred.h"
#include "transform/grad/custom_function.h"
#include "transform/grad/differentiate.h"
#include "transform/grad/gradient_rules.h"

struct forward {
    size_t first, count;
    bool *dependent, *needed;
    struct kiln_array **tangents; /* references */
};

static size_t place_of(const struct forward *f, const struct kiln_array *array)
{
    uint64_t mark = array ? atomic_load_explicit(&array->mark, memory_order_relaxed) : 0;
    size_t index = (uint32_t)mark;
    if (mark >> 32 != kiln__marking.id || index < f->first || index >= f->first + f->count) return SIZE_MAX;
    return f->dependent[index - f->first] ? index - f->first : SIZE_MAX;
}

static struct kiln_array *tangent_of(const struct forward *f, const struct kiln_array *array)
{
    size_t place = place_of(f, array);
    return place == SIZE_MAX ? NULL : f->tangents[place];
}

static void need(struct forward *f, const struct kiln_array *array)
{
    size_t place = place_of(f, array);
    if (place != SIZE_MAX) f->needed[place] = true;
}

/* Of a function with several results all are needed together. */
static void find_needed(struct forward *f, struct kiln_array_list outputs)
{
    for (size_t i = 0; i < outputs.count; i++) need(f, outputs.arrays[i]);
    for (size_t place = f->count; place-- > 0;) {
        const struct kiln_marked *marked = &kiln__marking.list[f->first + place];
        if (!f->needed[place]) continue;
        for (uint32_t k = 0; marked->node && k < marked->node->input_count; k++) need(f, marked->node->inputs[k]);
        if (!marked->call) continue;
        f->needed[place - marked->result] = true;
        for (size_t k = 0; k < marked->call->input_count; k++) need(f, marked->call->inputs[k]);
    }
}

/* ---- the rule of an operation -------------------------------------------------------------------------------------
 */

static kiln_status transposed_rule(const struct kiln_step *step, struct kiln_array *const *tangents,
                                   struct kiln_array **gradients, struct kiln_array *cotangent, size_t first,
                                   struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    kiln__gradient_rules[step->op].vjp(&e, step, cotangent, gradients);
    for (uint32_t k = 0; k < step->count; k++)
        gradients[k] = step->wanted[k] ? kiln__e_fit(&e, gradients[k], step->inputs[k]) : NULL;
    kiln_status status = e.status;
    if (!status)
        status = kiln__pull_back(first, 1, (struct kiln_array_list){gradients, step->count}, tangents, out, err);
    kiln_status dropped = kiln__e_drop(&e);
    return status ? status : dropped;
}

/* *out may stay NULL: the tangent is zero. */
static kiln_status transpose_vjp(const struct kiln_step *step, struct kiln_array *const *tangents,
                                 struct kiln_array **out, kiln_error *err)
{
    struct kiln_marking_state before;
    struct kiln_expression e = {.err = err};
    struct kiln_array *cotangent = NULL, **gradients = calloc(step->count + 1u, sizeof *gradients);
    if (!gradients) return kiln__no_memory(err, "a tangent");
    kiln_status status = kiln__marking_begin(kiln__frame(), &before, err);
    if (status) {
        free(gradients);
        return status;
    }
    size_t first = kiln__marking.count;
    struct kiln_array *zeros = kiln__e_zeros_like(&e, step->output);
    status = zeros ? kiln__identity(zeros, &cotangent, err) : e.status;
    if (!status) status = kiln__mark(cotangent, (struct kiln_marked){0}, err);
    if (!status) status = transposed_rule(step, tangents, gradients, cotangent, first, out, err);
    kiln__array_unref(cotangent);
    kiln__e_drop(&e);
    kiln__marking_end(before);
    free(gradients);
    return status;
}

static struct kiln_array *fit_tangent(struct kiln_expression *e, struct kiln_array *tangent,
                                      const struct kiln_array *like)
{
    if (!tangent || e->status) return NULL;
    return kiln__e_astype(e, kiln__e_broadcast(e, tangent, like->dims, like->ndim), (enum kiln_dtype)like->dtype);
}

static kiln_status apply_rule(const struct kiln_step *step, struct kiln_array *const *tangents, struct kiln_array **out,
                              kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    const struct kiln_gradient_rule *rule = &kiln__gradient_rules[step->op];
    struct kiln_array *made = NULL;
    kiln_status status = KILN_OK;
    if (kiln__is_recorded(step->output)) return kiln__record_tangent(step, tangents, out, err);
    if (rule->missing)
        return kiln__fail(err, KILN_INVALID, "[jvp] %s has no derivative here: %s.", kiln__ops[step->op].name,
                          rule->missing);
    if (rule->jvp)
        made = rule->jvp(&e, step, tangents);
    else if (rule->vjp)
        status = transpose_vjp(step, tangents, &made, err);
    if (!rule->jvp && made) made = kiln__e_hold(&e, status, made);
    if (!status) status = e.status;
    made = fit_tangent(&e, made, step->output);
    if (!status && made) *out = kiln__array_ref(made);
    kiln_status dropped = kiln__e_drop(&e);
    return status ? status : dropped;
}

static kiln_status go_through(struct forward *f, size_t place, const struct kiln_marked *marked, kiln_error *err)
{
    enum { FEW = 16 };
    struct kiln_node *node = marked->node;
    struct kiln_array *few[FEW], **tangents = few;
    bool few_wanted[FEW], *wanted = few_wanted, has_any = false;
    size_t count = node->input_count;
    if (count > FEW) {
        tangents = malloc(count * (sizeof *tangents + sizeof *wanted));
        if (!tangents) return kiln__no_memory(err, "a tangent");
        wanted = (bool *)(tangents + count);
    }
    for (size_t k = 0; k < count; k++) {
        tangents[k] = tangent_of(f, node->inputs[k]);
        wanted[k] = tangents[k] != NULL;
        has_any |= wanted[k];
    }
    const struct kiln_step step = {.op = (enum kiln_op)node->op,
                                   .count = node->input_count,
                                   .attr_count = node->attr_count,
                                   .inputs = node->inputs,
                                   .attrs = node->attrs,
                                   .output = marked->array,
                                   .wanted = wanted};
    uint32_t device_index = kiln__chosen_device_index;
    kiln__choose_device_index(node->device_index);
    kiln_status status = has_any ? apply_rule(&step, tangents, &f->tangents[place], err) : KILN_OK;
    kiln__choose_device_index(device_index);
    if (tangents != few) free(tangents);
    return status;
}

/* ---- functions with rules of their own ----------------------------------------------------------------------------
 */

static kiln_status go_through_call(struct forward *f, size_t place, struct kiln_marked_call *call, kiln_error *err)
{
    struct kiln_array_list results = {0};
    struct kiln_array **tangents = calloc(call->input_count + 1, sizeof *tangents);
    bool has_any = false;
    if (!tangents) return kiln__no_memory(err, "a tangent");
    for (size_t k = 0; k < call->input_count; k++) {
        tangents[k] = tangent_of(f, call->inputs[k]);
        has_any |= tangents[k] != NULL;
    }
    kiln_status status = has_any ? kiln__custom_jvp(call, f->first + place, tangents, &results, err) : KILN_OK;
    for (size_t i = 0; i < results.count && !status; i++) {
        f->tangents[place + i] = results.arrays[i];
        results.arrays[i] = NULL;
    }
    kiln__array_list_release(&results);
    free(tangents);
    return status;
}

/* ---- the walk -----------------------------------------------------------------------------------------------------
 */

static kiln_status go_forward(struct forward *f, size_t place, kiln_error *err)
{
    struct kiln_marked marked = kiln__marking.list[f->first + place];
    if (!f->needed[place] || !f->dependent[place]) return KILN_OK;
    if (marked.call) return marked.result ? KILN_OK : go_through_call(f, place, marked.call, err);
    return marked.node && kiln__is_inexact(marked.array) ? go_through(f, place, &marked, err) : KILN_OK;
}

kiln_status kiln__push_forward(size_t first, size_t variable_count, struct kiln_array_list outputs,
                               struct kiln_array *const *tangents, struct kiln_array **results, kiln_error *err)
{
    struct forward f = {.first = first, .count = kiln__marking.count - first};
    f.dependent = kiln__find_dependent(first, variable_count, kiln__marking.count);
    f.needed = calloc(f.count + 1, sizeof *f.needed);
    f.tangents = calloc(f.count + 1, sizeof *f.tangents);
    kiln_status status = f.dependent && f.needed && f.tangents ? KILN_OK : kiln__no_memory(err, "a tangent");
    if (!status) find_needed(&f, outputs);
    for (size_t v = 0; v < variable_count && !status; v++)
        f.tangents[v] = tangents[v] ? kiln__array_ref(tangents[v]) : NULL;
    for (size_t place = variable_count; place < f.count && !status; place++) status = go_forward(&f, place, err);
    for (size_t i = 0; i < outputs.count; i++) {
        struct kiln_array *tangent = status ? NULL : tangent_of(&f, outputs.arrays[i]);
        results[i] = tangent ? kiln__array_ref(tangent) : NULL;
    }
    for (size_t place = 0; f.tangents && place < f.count; place++) kiln__array_unref(f.tangents[place]);
    free(f.tangents);
    free(f.needed);
    free(f.dependent);
    return status;
}
