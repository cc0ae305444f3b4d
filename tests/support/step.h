/*
 * step.h - one step of a random program, and how its numbers are chosen. steps.h has all kinds.
 */
#ifndef KILN_TESTS_SUPPORT_STEP_H
#define KILN_TESTS_SUPPORT_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx/c/mlx.h"
#include "torture/torture.h"

enum { MAX_AXES = 5, MAX_NUMBERS = 24, MAX_ELEMENTS = 70000 };

struct kind;

struct step {
    const struct kind *kind;
    int in[3];
    int numbers[MAX_NUMBERS], number_count;
    uint64_t seed; /* of indices and other constants */
};

/* What a step may be chosen from. */
struct choice {
    uint64_t *state;
    int n; /* the size that most axes of the program have */
    const mlx_array *in;
};

typedef int unary_function(mlx_array *, const mlx_array, const mlx_stream);
typedef int binary_function(mlx_array *, const mlx_array, const mlx_array, const mlx_stream);
typedef int reduction_function(mlx_array *, const mlx_array, int, bool, const mlx_stream);
typedef int whole_function(mlx_array *, const mlx_array, bool, const mlx_stream);
typedef int running_function(mlx_array *, const mlx_array, int, bool, bool, const mlx_stream);
typedef int axis_function(mlx_array *, const mlx_array, int, const mlx_stream);
typedef int kth_function(mlx_array *, const mlx_array, int, int, const mlx_stream);
typedef int update_function(mlx_array *, const mlx_array, const mlx_array, const int *, size_t, const int *, size_t,
                            const int *, size_t, const mlx_stream);
typedef int scatter_function(mlx_array *, const mlx_array, const mlx_array, const mlx_array, int, const mlx_stream);
typedef int triangle_function(mlx_array *, const mlx_array, int, const mlx_stream);

struct kind {
    const char *name;
    const char *covers; /* an operation of ops.def; NULL: its name */
    int arity, weight;
    bool is_rare; /* left out of most programs, so that kernels occur again and are compiled once */
    bool (*choose)(const struct choice *choice, struct step *step); /* NULL: there is nothing to choose */
    int (*run)(const struct step *step, const mlx_array *in, mlx_array *out, mlx_stream stream);
    union {
        unary_function *unary;
        binary_function *binary;
        reduction_function *reduction;
        whole_function *whole;
        running_function *running;
        axis_function *axis;
        kth_function *kth;
        update_function *update;
        scatter_function *scatter;
        triangle_function *triangle;
    };
};

/* ---- shapes and choices -------------------------------------------------------------------------------------------
 */

static inline int below(const struct choice *choice, int bound)
{
    return (int)torture_below(choice->state, (uint64_t)bound);
}

static inline bool one_in(const struct choice *choice, int count)
{
    return below(choice, count) == 0;
}

static inline int axes_of(mlx_array array)
{
    return (int)mlx_array_ndim(array);
}

static inline int size_of(mlx_array array, int axis)
{
    return mlx_array_shape(array)[axis];
}

static inline void add_number(struct step *step, int number)
{
    step->numbers[step->number_count++] = number;
}

#endif
