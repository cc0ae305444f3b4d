/*
 * custom_function.c - see custom_function.h. A marked call holds its function and its inputs; its results are in the
 * list of marked arrays, one after the other.
 */
#include "transform/grad/custom_function.h"

#include <stdlib.h>
#include <string.h>

#include "ops/compose.h"
#include "ops/creation.h"
#include "ops/shapes.h"
#include "transform/vmap/custom_call.h"

struct call {
    struct kiln_marked_call head; /* first: a struct kiln_marked_call * is a struct call * */
    struct kiln_custom_function *function;
};

kiln_status kiln__custom_new(const struct kiln_custom_function *model, struct kiln_custom_function **out,
                             kiln_error *err)
{
    struct kiln_custom_function *function = malloc(sizeof *function);
    if (!function) return kiln__no_memory(err, "a function");
    memcpy(function, model, sizeof *function);
    atomic_init(&function->refs, 1);
    *out = function;
    return KILN_OK;
}

void kiln__custom_unref(struct kiln_custom_function *function)
{
    if (!function || atomic_fetch_sub_explicit(&function->refs, 1, memory_order_acq_rel) != 1) return;
    if (function->free_payload) function->free_payload(function->payload);
    free(function);
}

/* ---- calling it ---------------------------------------------------------------------------------------------------
 */

static void free_call(struct kiln_marked_call *head)
{
    struct call *call = (struct call *)head;
    for (size_t i = 0; i < head->input_count; i++) kiln__array_unref(head->inputs[i]);
    kiln__custom_unref(call->function);
    free(head->inputs);
    free(call);
}

static kiln_status new_call(struct kiln_custom_function *function, struct kiln_array *const *inputs, size_t count,
                            struct call **out, kiln_error *err)
{
    struct call *call = calloc(1, sizeof *call);
    struct kiln_array **list = malloc((count + 1) * sizeof *list);
    if (!call || !list) {
        free(call);
        free(list);
        return kiln__no_memory(err, "a call");
    }
    for (size_t i = 0; i < count; i++) list[i] = kiln__array_ref(inputs[i]);
    atomic_fetch_add_explicit(&function->refs, 1, memory_order_relaxed);
    call->head = (struct kiln_marked_call){.free = free_call, .inputs = list, .input_count = count};
    call->function = function;
    *out = call;
    return KILN_OK;
}

/* Replaces each output by an identity of it, marked as a result of the call, which the first one owns from then on. */
static kiln_status mark_results(struct call *call, struct kiln_array **outputs, size_t count, kiln_error *err)
{
    kiln_status status = KILN_OK;
    call->head.output_count = count;
    for (size_t i = 0; i < count && !status; i++) {
        struct kiln_array *marked = NULL;
        status = outputs[i] ? kiln__identity(outputs[i], &marked, err)
                            : kiln__fail(err, KILN_INVALID, "Output %zu of the function is empty.", i);
        if (!status) status = kiln__mark(marked, (struct kiln_marked){.call = &call->head, .result = (uint32_t)i}, err);
        if (status) {
            kiln__array_unref(marked);
            if (i == 0) free_call(&call->head);
            return status;
        }
        kiln__array_unref(outputs[i]);
        outputs[i] = marked;
    }
    if (count == 0) free_call(&call->head);
    return status;
}

static bool is_any_marked(struct kiln_array *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kiln__is_marked(inputs[i])) return true;
    return false;
}

/* The function itself. Where it is mapped its results name the call, so that its rule for vmap is found. */
static kiln_status call_plainly(struct kiln_custom_function *function, struct kiln_array *const *inputs, size_t count,
                                struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct kiln_array_list made = {0};
    kiln_status status = function->call(function->payload, inputs, count, &made.arrays, &made.count, err);
    if (!status) status = kiln__vmap_note_call(function, inputs, count, made.arrays, made.count, err);
    if (status) {
        kiln__array_list_release(&made);
        return status;
    }
    *outputs = made.arrays;
    *output_count = made.count;
    return KILN_OK;
}

kiln_status kiln__custom_call(void *payload, struct kiln_array *const *inputs, size_t count,
                              struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct kiln_custom_function *function = payload;
    struct call *call = NULL;
    if (!is_any_marked(inputs, count)) return call_plainly(function, inputs, count, outputs, output_count, err);
    kiln_status status = new_call(function, inputs, count, &call, err);
    if (status) return status;
    kiln__marking.paused++;
    status = call_plainly(function, inputs, count, outputs, output_count, err);
    kiln__marking.paused--;
    if (status) {
        free_call(&call->head);
        return status;
    }
    status = mark_results(call, *outputs, *output_count, err);
    if (!status) return KILN_OK;
    struct kiln_array_list list = {*outputs, *output_count};
    kiln__array_list_release(&list);
    *outputs = NULL;
    *output_count = 0;
    return status;
}

/* ---- its derivatives ----------------------------------------------------------------------------------------------
 */

static kiln_status or_zeros(struct kiln_array *given, struct kiln_array *like, struct kiln_array **out, kiln_error *err)
{
    if (!given) return kiln__zeros_like(like, out, err);
    *out = kiln__array_ref(given);
    return KILN_OK;
}

static kiln_status check_results(const char *what, const struct kiln_array_list *results,
                                 struct kiln_array *const *like, size_t count, kiln_error *err)
{
    char got[KILN_SHAPE_TEXT], wanted[KILN_SHAPE_TEXT];
    if (results->count != count)
        return kiln__fail(err, KILN_INVALID, "[custom_function] %s gave %zu arrays; expected %zu.", what,
                          results->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct kiln_array *a = results->arrays[i], *b = like[i];
        if (!a) return kiln__fail(err, KILN_INVALID, "[custom_function] Array %zu that %s gave is empty.", i, what);
        if (a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0) continue;
        return kiln__fail(err, KILN_INVALID, "[custom_function] %s gave an array %zu of shape %s; expected %s.", what,
                          i, kiln__shape_text(a->dims, a->ndim, got), kiln__shape_text(b->dims, b->ndim, wanted));
    }
    return KILN_OK;
}

static kiln_status cast_results(struct kiln_array_list *results, struct kiln_array *const *like, kiln_error *err)
{
    for (size_t i = 0; i < results->count; i++) {
        struct kiln_array *cast = NULL;
        kiln_status status = kiln__astype(results->arrays[i], (enum kiln_dtype)like[i]->dtype, &cast, err);
        if (status) return status;
        kiln__array_unref(results->arrays[i]);
        results->arrays[i] = cast;
    }
    return KILN_OK;
}

static kiln_status end_results(const char *what, kiln_status status, struct kiln_array_list *results,
                               struct kiln_array *const *like, size_t count, kiln_error *err)
{
    if (!status) status = check_results(what, results, like, count, err);
    if (!status) status = cast_results(results, like, err);
    if (status) kiln__array_list_release(results);
    return status;
}

static kiln_status begin_list(struct kiln_array_list *list, size_t count, kiln_error *err)
{
    list->arrays = calloc(count + 1, sizeof *list->arrays);
    list->count = list->arrays ? count : 0;
    return list->arrays ? KILN_OK : kiln__no_memory(err, "a derivative");
}

/* Of the function's own operations, which are computed again: when the cotangents are there, and not merged with what
 * was computed before. */
static kiln_status plain_vjp(const struct kiln_custom_function *function, struct kiln_array_list inputs,
                             struct kiln_array_list cotangents, struct kiln_array_list *results, kiln_error *err)
{
    struct kiln_derivative made;
    struct kiln_array_list later = {0};
    const struct kiln_array_function plain = {function->call, function->payload};
    kiln_status status = begin_list(&later, inputs.count, err);
    if (!status)
        status = kiln__depends(inputs.arrays, inputs.count, cotangents.arrays, cotangents.count, later.arrays, err);
    if (status) later.count = 0;
    if (!status) status = kiln__vjp(plain, later, cotangents, &made, err);
    kiln__array_list_release(&later);
    if (status) return status;
    *results = made.results;
    made.results = (struct kiln_array_list){0};
    kiln__derivative_release(&made);
    return KILN_OK;
}

/* References: arrays that the rule marks make the list of marked arrays move. */
static void list_outputs(const struct kiln_marked_call *call, size_t first, struct kiln_array **outputs)
{
    for (size_t i = 0; i < call->output_count; i++) outputs[i] = kiln__array_ref(kiln__marking.list[first + i].array);
}

kiln_status kiln__custom_vjp(struct kiln_marked_call *head, size_t first, struct kiln_array *const *cotangents,
                             struct kiln_array_list *results, kiln_error *err)
{
    const struct kiln_custom_function *function = ((struct call *)head)->function;
    const struct kiln_array_list inputs = {head->inputs, head->input_count};
    struct kiln_array_list outputs = {0}, all = {0};
    kiln_status status = begin_list(&outputs, head->output_count, err);
    if (!status) status = begin_list(&all, head->output_count, err);
    if (!status) list_outputs(head, first, outputs.arrays);
    for (size_t i = 0; i < head->output_count && !status; i++)
        status = or_zeros(cotangents[i], outputs.arrays[i], &all.arrays[i], err);
    if (!status)
        status = function->rules.vjp ? function->rules.vjp(function->payload, inputs, all, outputs, results, err)
                                     : plain_vjp(function, inputs, all, results, err);
    status = end_results("vjp", status, results, inputs.arrays, inputs.count, err);
    kiln__array_list_release(&outputs);
    kiln__array_list_release(&all);
    return status;
}

static kiln_status plain_jvp(const struct kiln_custom_function *function, struct kiln_array_list inputs,
                             struct kiln_array *const *tangents, struct kiln_array_list *results, kiln_error *err)
{
    struct kiln_derivative made = {0};
    struct kiln_array_list all = {0};
    const struct kiln_array_function plain = {function->call, function->payload};
    kiln_status status = begin_list(&all, inputs.count, err);
    for (size_t k = 0; k < inputs.count && !status; k++)
        status = or_zeros(tangents[k], inputs.arrays[k], &all.arrays[k], err);
    if (!status) status = kiln__jvp(plain, inputs, all, &made, err);
    kiln__array_list_release(&all);
    if (status) return status;
    *results = made.results;
    made.results = (struct kiln_array_list){0};
    kiln__derivative_release(&made);
    return KILN_OK;
}

static kiln_status own_jvp(const struct kiln_custom_function *function, struct kiln_array_list inputs,
                           struct kiln_array *const *tangents, struct kiln_array_list *results, kiln_error *err)
{
    struct kiln_array_list given = {0};
    int *argnums = malloc((inputs.count + 1) * sizeof *argnums);
    kiln_status status = argnums ? begin_list(&given, inputs.count, err) : kiln__no_memory(err, "a derivative");
    given.count = 0;
    for (size_t k = 0; k < inputs.count && !status; k++) {
        if (!tangents[k]) continue;
        argnums[given.count] = (int)k;
        given.arrays[given.count++] = kiln__array_ref(tangents[k]);
    }
    if (!status) status = function->rules.jvp(function->payload, inputs, given, argnums, results, err);
    kiln__array_list_release(&given);
    free(argnums);
    return status;
}

kiln_status kiln__custom_jvp(struct kiln_marked_call *head, size_t first, struct kiln_array *const *tangents,
                             struct kiln_array_list *results, kiln_error *err)
{
    const struct kiln_custom_function *function = ((struct call *)head)->function;
    const struct kiln_array_list inputs = {head->inputs, head->input_count};
    struct kiln_array_list outputs = {0};
    kiln_status status = begin_list(&outputs, head->output_count, err);
    if (!status) list_outputs(head, first, outputs.arrays);
    if (!status) status = (function->rules.jvp ? own_jvp : plain_jvp)(function, inputs, tangents, results, err);
    status = end_results("jvp", status, results, outputs.arrays, outputs.count, err);
    kiln__array_list_release(&outputs);
    return status;
}
