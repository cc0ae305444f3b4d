/*
 * custom_function.h - functions with rules of their own for transforms, which see them as one operation.
 *
 * Where an input is being differentiated, the function runs on the inputs without that, and its results are noted as
 * those of one call (graph/marking.h). A rule that is missing is that of the function's own operations: then its
 * arrays are computed again where a derivative needs them, which is what checkpoint() is.
 */
#ifndef KILN_TRANSFORM_CUSTOM_FUNCTION_H
#define KILN_TRANSFORM_CUSTOM_FUNCTION_H

#include "graph/marking.h"
#include "transform/grad/gradient.h"

/* Rules give malloc'ed lists of references. Each may be NULL. */
struct kiln_custom_rules {
    /* A cotangent for each input. */
    kiln_status (*vjp)(void *payload, struct kiln_array_list inputs, struct kiln_array_list cotangents,
                       struct kiln_array_list outputs, struct kiln_array_list *results, kiln_error *err);
    /* A tangent for each output; `tangents` are those of the inputs with the numbers `argnums`. */
    kiln_status (*jvp)(void *payload, struct kiln_array_list inputs, struct kiln_array_list tangents,
                       const int *argnums, struct kiln_array_list *results, kiln_error *err);
    /* For a batch: axes[i] is the batch's axis of input i, or -1. The outputs, and in out_axes, malloc'ed, the axis of
     * each. */
    kiln_status (*vmap)(void *payload, struct kiln_array_list inputs, const int *axes, struct kiln_array_list *results,
                        int **out_axes, kiln_error *err);
};

struct kiln_custom_function {
    _Atomic uint32_t refs;
    kiln_callback call;
    struct kiln_custom_rules rules;
    void *payload; /* of the function and its rules */
    void (*free_payload)(void *payload);
};

/* With one reference. On failure the payload stays the caller's. */
kiln_status kiln__custom_new(const struct kiln_custom_function *model, struct kiln_custom_function **out,
                             kiln_error *err);
void kiln__custom_unref(struct kiln_custom_function *function); /* NULL is fine */

/* A kiln_callback whose payload is a struct kiln_custom_function. */
kiln_status kiln__custom_call(void *payload, struct kiln_array *const *inputs, size_t count,
                              struct kiln_array ***outputs, size_t *output_count, kiln_error *err);

/* For reverse.c and forward.c. `call` is that of the arrays from `first` on in the list of kiln__marking; cotangents
 * and tangents may be NULL: zero. There is a result for each input or output. */
kiln_status kiln__custom_vjp(struct kiln_marked_call *call, size_t first, struct kiln_array *const *cotangents,
                             struct kiln_array_list *results, kiln_error *err);
kiln_status kiln__custom_jvp(struct kiln_marked_call *call, size_t first, struct kiln_array *const *tangents,
                             struct kiln_array_list *results, kiln_error *err);

#endif
