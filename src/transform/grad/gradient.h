/*
 * gradient.h - derivatives of functions on arrays: products of a vector with the Jacobian (vjp), of the Jacobian with a
 * vector (jvp), and gradients of a scalar.
 *
 * A transform calls the function on variables, fresh identities of the inputs, and goes through what was computed from
 * them (graph/marking.h) backwards or forwards, applying the rule of each operation (gradient_rules.h). Rules are made
 * of ordinary operations. So a derivative can be compiled, evaluated, or differentiated again, and what compiled
 * functions, devices and passes promise holds for it too. Compiled functions that are called inside are part of the
 * function; arrays may be evaluated inside.
 *
 * Inputs and results are borrowed and given as by kiln__apply(). Everything runs on the thread that calls.
 */
#ifndef KILN_TRANSFORM_GRADIENT_H
#define KILN_TRANSFORM_GRADIENT_H

#include "trace/trace.h"

struct kiln_array_function {
    kiln_callback call;
    void *payload;
};

struct kiln_array_list {
    struct kiln_array **arrays; /* malloc'ed; references */
    size_t count;
};

void kiln__array_list_release(struct kiln_array_list *list);

/* What the function gave, and the derivatives. After a failure both are empty. */
struct kiln_derivative {
    struct kiln_array_list outputs, results;
};

void kiln__derivative_release(struct kiln_derivative *derivative);

/* For each input the sum of all outputs' elements, times their cotangents, differentiated. An output of stop_gradient
 * takes no cotangent if there are only as many as others. */
kiln_status kiln__vjp(struct kiln_array_function function, struct kiln_array_list inputs,
                      struct kiln_array_list cotangents, struct kiln_derivative *out, kiln_error *err);
/* For each output how it changes when the inputs change by the tangents. */
kiln_status kiln__jvp(struct kiln_array_function function, struct kiln_array_list inputs,
                      struct kiln_array_list tangents, struct kiln_derivative *out, kiln_error *err);

/* The gradients of the first output, a scalar, by the inputs with these numbers. */
struct kiln_argnums {
    const int *numbers; /* a negative one counts from the end */
    size_t count;
};

kiln_status kiln__value_and_grad(struct kiln_array_function function, struct kiln_argnums argnums,
                                 struct kiln_array_list inputs, struct kiln_derivative *out, kiln_error *err);

/* The same elements, of which no gradient passes on. */
kiln_status kiln__stop_gradient(struct kiln_array *a, struct kiln_array **out, kiln_error *err);

#endif
