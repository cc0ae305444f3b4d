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
    EXPRESSION_ADD,             /* a + b */
    EXPRESSION_SWIGLU,          /* a*sigmoid(a)*b */
    EXPRESSION_GELU,            /* a*(1 + erf(a/sqrt(2)))/2; from here on b may be NULL */
    EXPRESSION_RMS_NORM,        /* a*rsqrt(mean(a*a) + 1e-5) along the last axis */
    EXPRESSION_SOFTMAX,         /* e/sum(e), e = exp(a - max(a)), along the last axis */
    EXPRESSION_SUM_LAST,        /* along the last axis */
    EXPRESSION_SUM_FIRST,       /* along the first axis */
    EXPRESSION_TRANSPOSE,       /* packed again */
    EXPRESSION_MATMUL,
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
/* The same, shapeless. */
bool compiled_init_shapeless(struct compiled *compiled, enum expression expression, const float *a, const float *b,
                             int length);
/* One call with its result: the values are there when it returns; NULL when it failed. */
const float *compiled_call(struct compiled *compiled);
void compiled_release(struct compiled *compiled);
/* The same with axes; `b` NULL: a function of one array. */
bool compiled_init_shaped(struct compiled *compiled, enum expression expression, const float *a, const float *b,
                          const int *shape, int ndim);

/* An expression that is not compiled: its operations are evaluated one by one. */
struct plain {
    mlx_array a, b, result;
    enum expression expression;
};

bool plain_init(struct plain *plain, enum expression expression, const float *a, const float *b, const int *shape,
                int ndim);
const float *plain_call(struct plain *plain); /* as compiled_call() */
void plain_release(struct plain *plain);

/* Of all that is made here. */
mlx_stream bench_stream(void);
void bench_errors(void); /* printed on stderr, as they are from the first use of the stream */

#endif
