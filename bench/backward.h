/*
 * backward.h - compiled gradients for the bench: what a function's arrays and a cotangent of its result give, without
 * the result itself.
 */
#ifndef KILN_BENCH_BACKWARD_H
#define KILN_BENCH_BACKWARD_H

#include <stddef.h>

#include "arrays.h"

enum gradient {
    GRADIENT_GELU,       /* of x, 16 million floats */
    GRADIENT_SOFTMAX,    /* of x, 4096 x 4096, along the last axis */
    GRADIENT_LAYER_NORM, /* of x, 4096 x 4096, weight and bias */
    GRADIENT_ATTENTION,  /* of queries, keys and values; 8 heads, 1024 tokens, 64 features */
    GRADIENT_COUNT
};

/* Element i of the inputs: between -8 and 8, all different within 4096; and between 1 and 2. */
float wide_number(size_t i);
float narrow_number(size_t i);

/* With inputs of these numbers; not called yet. */
bool backward_init(struct compiled *compiled, enum gradient gradient);
/* One call; its results are evaluated. */
bool backward_call(struct compiled *compiled);
/* Floats of inputs and results together: what has to be moved at least. */
size_t backward_floats(const struct compiled *compiled);

#endif
