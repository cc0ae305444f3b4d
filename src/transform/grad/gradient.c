/*
 * gradient.c - see gradient.h: checks what is asked for, and pairs inputs, outputs and their derivatives.
 */
#include "transform/grad/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "ops/compose.h"
#include "ops/creation.h"
#include "transform/grad/differentiate.h"

void kiln__array_list_release(struct kiln_array_list *list)
{
    for (size_t i = 0; i < list->count; i++) kiln__array_unref(list->arrays[i]);
    free(list->arrays);
    *list = (struct kiln_array_list){0};
}

void kiln__derivative_release(struct kiln_derivative *derivative)
{
    kiln__array_list_release(&derivative->outputs);
    kiln__array_list_release(&derivative->results);
}

/* The outputs of `d` pass to `out`, and a status to the caller, who has filled the results; ends the transform. */
static kiln_status finish(struct kiln_differentiation *d, kiln_status status, struct kiln_derivative *out)
{
    if (!status) {
        out->outputs = d->outputs;
        d->outputs = (struct kiln_array_list){0};
    }
    kiln__differentiate_end(d);
    if (status) kiln__derivative_release(out);
    return status;
}

static kiln_status make_results(struct kiln_derivative *out, size_t count, kiln_error *err)
{
    out->results.arrays = calloc(count + 1, sizeof *out->results.arrays);
    out->results.count = out->results.arrays ? count : 0;
    return out->results.arrays ? KILN_OK : kiln__no_memory(err, "a derivative");
}

/* Zeros of the shape of `like[i]` where there is no derivative. */
static kiln_status fill_zeros(struct kiln_array_list *results, struct kiln_array *const *like, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < results->count && !status; i++)
        if (!results->arrays[i]) status = kiln__zeros_like(like[i], &results->arrays[i], err);
    return status;
}

static kiln_status check_shape(const char *name, const char *what, const struct kiln_array *given, const char *of,
                               size_t i, const struct kiln_array *like, kiln_error *err)
{
    char got[KILN_SHAPE_TEXT], wanted[KILN_SHAPE_TEXT];
    if (given->ndim == like->ndim && memcmp(given->dims, like->dims, like->ndim * sizeof *like->dims) == 0)
        return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] A %s of shape %s does not fit %s %zu of shape %s.", name, what,
                      kiln__shape_text(given->dims, given->ndim, got), of, i,
                      kiln__shape_text(like->dims, like->ndim, wanted));
}

static kiln_status check_inputs(const char *name, struct kiln_array_list inputs, kiln_error *err)
{
    for (size_t i = 0; i < inputs.count; i++)
        if (!inputs.arrays[i]) return kiln__fail(err, KILN_INVALID, "[%s] Input %zu is empty.", name, i);
    return KILN_OK;
}

/* ---- vjp ----------------------------------------------------------------------------------------------------------
 */

/* A result of stop_gradient itself. */
static bool is_stopped(const struct kiln_differentiation *d, const struct kiln_array *output)
{
    uint64_t mark = atomic_load_explicit(&output->mark, memory_order_relaxed);
    size_t index = (uint32_t)mark;
    if (mark >> 32 != kiln__marking.id || index < d->first + d->variable_count) return false;
    return !kiln__marking.list[index].node && !kiln__marking.list[index].call;
}

static size_t count_open(const struct kiln_differentiation *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->outputs.count; i++) count += !is_stopped(d, d->outputs.arrays[i]);
    return count;
}

/* cotangents[i] = a reference to the one of output i, in its dtype, or NULL. */
static kiln_status pair_cotangents(const struct kiln_differentiation *d, struct kiln_array_list given,
                                   struct kiln_array **cotangents, kiln_error *err)
{
    bool skips = given.count != d->outputs.count;
    if (skips && given.count != count_open(d))
        return kiln__fail(err, KILN_INVALID, "[vjp] The function has %zu outputs, but there are %zu cotangents.",
                          d->outputs.count, given.count);
    kiln_status status = KILN_OK;
    for (size_t i = 0, next = 0; i < d->outputs.count && !status; i++) {
        struct kiln_array *output = d->outputs.arrays[i];
        if (skips && is_stopped(d, output)) continue;
        struct kiln_array *cotangent = given.arrays[next++];
        status = check_shape("vjp", "cotangent", cotangent, "output", i, output, err);
        if (!status && kiln__is_inexact(output))
            status = kiln__astype(cotangent, (enum kiln_dtype)output->dtype, &cotangents[i], err);
    }
    return status;
}

static kiln_status pull_back(const struct kiln_differentiation *d, struct kiln_array_list given,
                             struct kiln_array **gradients, kiln_error *err)
{
    struct kiln_array_list cotangents = {calloc(d->outputs.count + 1, sizeof *cotangents.arrays), d->outputs.count};
    if (!cotangents.arrays) return kiln__no_memory(err, "cotangents");
    kiln_status status = pair_cotangents(d, given, cotangents.arrays, err);
    if (!status) status = kiln__pull_back(d->first, d->variable_count, d->outputs, cotangents.arrays, gradients, err);
    kiln__array_list_release(&cotangents);
    return status;
}

kiln_status kiln__vjp(struct kiln_array_function function, struct kiln_array_list inputs,
                      struct kiln_array_list cotangents, struct kiln_derivative *out, kiln_error *err)
{
    struct kiln_differentiation d;
    *out = (struct kiln_derivative){0};
    kiln_status status = check_inputs("vjp", inputs, err);
    if (!status) status = check_inputs("vjp", cotangents, err);
    if (!status) status = kiln__differentiate("vjp", function, inputs, NULL, &d, err);
    if (status) return status;
    status = make_results(out, inputs.count, err);
    if (!status) status = pull_back(&d, cotangents, out->results.arrays, err);
    if (!status) status = fill_zeros(&out->results, inputs.arrays, err);
    return finish(&d, status, out);
}

/* ---- jvp ----------------------------------------------------------------------------------------------------------
 */

static kiln_status check_tangents(struct kiln_array_list inputs, struct kiln_array_list tangents, kiln_error *err)
{
    if (inputs.count != tangents.count)
        return kiln__fail(err, KILN_INVALID, "[jvp] There are %zu inputs, but %zu tangents.", inputs.count,
                          tangents.count);
    kiln_status status = check_inputs("jvp", inputs, err);
    if (!status) status = check_inputs("jvp", tangents, err);
    for (size_t i = 0; i < inputs.count && !status; i++)
        status = check_shape("jvp", "tangent", tangents.arrays[i], "input", i, inputs.arrays[i], err);
    return status;
}

static kiln_status push_forward(const struct kiln_differentiation *d, struct kiln_array_list inputs,
                                struct kiln_array_list given, struct kiln_array **results, kiln_error *err)
{
    struct kiln_array_list tangents = {calloc(inputs.count + 1, sizeof *tangents.arrays), inputs.count};
    kiln_status status = tangents.arrays ? KILN_OK : kiln__no_memory(err, "tangents");
    for (size_t i = 0; i < inputs.count && !status; i++)
        if (kiln__is_inexact(inputs.arrays[i]))
            status = kiln__astype(given.arrays[i], (enum kiln_dtype)inputs.arrays[i]->dtype, &tangents.arrays[i], err);
    if (!status) status = kiln__push_forward(d->first, d->variable_count, d->outputs, tangents.arrays, results, err);
    if (tangents.arrays) kiln__array_list_release(&tangents);
    return status;
}

kiln_status kiln__jvp(struct kiln_array_function function, struct kiln_array_list inputs,
                      struct kiln_array_list tangents, struct kiln_derivative *out, kiln_error *err)
{
    struct kiln_differentiation d;
    *out = (struct kiln_derivative){0};
    kiln_status status = check_tangents(inputs, tangents, err);
    if (!status) status = kiln__differentiate("jvp", function, inputs, NULL, &d, err);
    if (status) return status;
    status = make_results(out, d.outputs.count, err);
    if (!status) status = push_forward(&d, inputs, tangents, out->results.arrays, err);
    if (!status) status = fill_zeros(&out->results, d.outputs.arrays, err);
    return finish(&d, status, out);
}

/* ---- value and gradient -------------------------------------------------------------------------------------------
 */

/* positions[i] = the input that argnums.numbers[i] means; is_variable[] gets those inputs. */
static kiln_status read_argnums(struct kiln_argnums argnums, struct kiln_array_list inputs, size_t *positions,
                                bool *is_variable, kiln_error *err)
{
    for (size_t i = 0; i < argnums.count; i++) {
        int64_t number = argnums.numbers[i];
        if (number < 0) number += (int64_t)inputs.count;
        if (number < 0 || (size_t)number >= inputs.count)
            return kiln__fail(err, KILN_INVALID, "[value_and_grad] Argument number %d is none of a function with %zu.",
                              argnums.numbers[i], inputs.count);
        if (is_variable[number])
            return kiln__fail(err, KILN_INVALID, "[value_and_grad] Argument number %d is repeated.",
                              argnums.numbers[i]);
        const struct kiln_array *input = inputs.arrays[number];
        if (!kiln__is_inexact(input))
            return kiln__fail(err, KILN_INVALID,
                              "[value_and_grad] Argument %lld is %s; only floats and complex numbers have gradients.",
                              (long long)number, kiln__dtypes[input->dtype].name);
        is_variable[number] = true;
        positions[i] = (size_t)number;
    }
    return KILN_OK;
}

static kiln_status check_scalar(struct kiln_array_list outputs, kiln_error *err)
{
    char text[KILN_SHAPE_TEXT];
    if (outputs.count == 0)
        return kiln__fail(err, KILN_INVALID, "[value_and_grad] The function has no output; expected a scalar.");
    const struct kiln_array *first = outputs.arrays[0];
    if (first->ndim)
        return kiln__fail(err, KILN_INVALID,
                          "[value_and_grad] The first output must be a scalar, an array of shape (), but has shape %s.",
                          kiln__shape_text(first->dims, first->ndim, text));
    if (kiln__is_inexact(first)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[value_and_grad] The first output is %s; expected a float.",
                      kiln__dtypes[first->dtype].name);
}

/* The gradients of all variables, which are in the order of the inputs. */
static kiln_status grad_of_first(const struct kiln_differentiation *d, struct kiln_array **gradients, kiln_error *err)
{
    struct kiln_array *one = NULL, **cotangents = calloc(d->outputs.count + 1, sizeof *cotangents);
    if (!cotangents) return kiln__no_memory(err, "a gradient");
    kiln_status status = check_scalar(d->outputs, err);
    if (!status) status = kiln__ones_like(d->outputs.arrays[0], &one, err);
    cotangents[0] = one;
    if (!status) status = kiln__pull_back(d->first, d->variable_count, d->outputs, cotangents, gradients, err);
    kiln__array_unref(one);
    free(cotangents);
    return status;
}

/* Where in the list of variables an input is. */
static size_t rank_of(const bool *is_variable, size_t position)
{
    size_t rank = 0;
    for (size_t i = 0; i < position; i++) rank += is_variable[i];
    return rank;
}

static kiln_status take_gradients(const struct kiln_differentiation *d, struct kiln_argnums argnums,
                                  const size_t *positions, const bool *is_variable, struct kiln_array_list inputs,
                                  struct kiln_derivative *out, kiln_error *err)
{
    struct kiln_array **gradients = calloc(d->variable_count + 1, sizeof *gradients);
    kiln_status status = gradients ? make_results(out, argnums.count, err) : kiln__no_memory(err, "a gradient");
    if (!status) status = grad_of_first(d, gradients, err);
    for (size_t i = 0; i < argnums.count && !status; i++) {
        struct kiln_array **gradient = &gradients[rank_of(is_variable, positions[i])];
        if (!*gradient) status = kiln__zeros_like(inputs.arrays[positions[i]], gradient, err);
        out->results.arrays[i] = *gradient;
        *gradient = NULL;
    }
    for (size_t v = 0; gradients && v < d->variable_count; v++) kiln__array_unref(gradients[v]);
    free(gradients);
    return status;
}

kiln_status kiln__value_and_grad(struct kiln_array_function function, struct kiln_argnums argnums,
                                 struct kiln_array_list inputs, struct kiln_derivative *out, kiln_error *err)
{
    struct kiln_differentiation d;
    *out = (struct kiln_derivative){0};
    if (argnums.count == 0)
        return kiln__fail(err, KILN_INVALID, "[value_and_grad] Expected at least one argument number.");
    size_t *positions = calloc(argnums.count, sizeof *positions);
    bool *is_variable = calloc(inputs.count + 1, sizeof *is_variable);
    kiln_status status = positions && is_variable ? KILN_OK : kiln__no_memory(err, "a gradient");
    if (!status) status = check_inputs("value_and_grad", inputs, err);
    if (!status) status = read_argnums(argnums, inputs, positions, is_variable, err);
    if (!status) status = kiln__differentiate("value_and_grad", function, inputs, is_variable, &d, err);
    if (!status) status = finish(&d, take_gradients(&d, argnums, positions, is_variable, inputs, out, err), out);
    free(positions);
    free(is_variable);
    return status;
}

/* ---- stop_gradient ------------------------------------------------------------------------------------------------
 */

kiln_status kiln__stop_gradient(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *stopped = NULL;
    if (!a) return kiln__fail(err, KILN_INVALID, "[stop_gradient] input is empty.");
    if (!kiln__is_marked(a)) {
        *out = kiln__array_ref(a);
        return KILN_OK;
    }
    kiln_status status = kiln__identity(a, &stopped, err);
    if (!status) status = kiln__mark(stopped, (struct kiln_marked){0}, err);
    if (status)
        kiln__array_unref(stopped);
    else
        *out = stopped;
    return status;
}
