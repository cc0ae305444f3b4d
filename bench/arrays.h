/*
 * arrays.h - compiled array functions for the bench, through the array interface.
 */
#ifndef KILN_BENCH_ARRAYS_H
#define KILN_BENCH_ARRAYS_H

#include <stdbool.h>

#include "mlx/c/mlx.h"

enum expression {
    EXPRESSION_MULTIPLY,        /* a*b */
    EXPRESSION_CHAIN,           /* 50 operations, one after the other */
    EXPRESSION_PRODUCT_AND_SUM, /* (a*b)*(a+b) */
    EXPRESSION_DIFFERENCE,      /* (a-b)*a */
    EXPRESSION_SQUARES,         /* a*a + b*b */
    EXPRESSION_COUNT
};

struct compiled {
    mlx_closure closure;
    mlx_vector_array inputs, outputs;
};

/* Numbers between 1 and 3, so that no step of an expression meets an infinity or a denormal. */
void fill_inputs(float *a, float *b, int length);

/* A function of two arrays of `length` floats, whose values are copied; not called yet. */
bool compiled_init(struct compiled *compiled, enum expression expression, const float *a, const float *b, int length);
/* One call with its result: the values are there when it returns; NULL when it failed. */
const float *compiled_call(struct compiled *compiled);
void compiled_release(struct compiled *compiled);

#endif
