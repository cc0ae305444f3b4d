/*
 * creation.h - arrays made from numbers. Same contract as kiln__apply(). Error texts begin with "[name] ".
 */
#ifndef KILN_OPS_CREATION_H
#define KILN_OPS_CREATION_H

#include "graph/node.h"

/* start, start + step, ... before stop. For integer dtypes start and start + step are truncated first. */
kiln_status kiln__arange(double start, double stop, double step, enum kiln_dtype dtype, struct kiln_array **out,
                         kiln_error *err);
/* `count` numbers from start to stop, both included. */
kiln_status kiln__linspace(double start, double stop, int count, enum kiln_dtype dtype, struct kiln_array **out,
                           kiln_error *err);
/* float32, `count` of them, the same from both ends; none when count is below 1, and a single 1 when it is 1. */
enum kiln_window { KILN_BARTLETT, KILN_BLACKMAN, KILN_HAMMING, KILN_HANNING };
kiln_status kiln__window(enum kiln_window window, int count, struct kiln_array **out, kiln_error *err);
/* Ones on diagonal k of rows x columns; `name` is the caller's for error texts. */
kiln_status kiln__eye(const char *name, int rows, int columns, int k, enum kiln_dtype dtype, struct kiln_array **out,
                      kiln_error *err);
/* Ones on and below diagonal k. */
kiln_status kiln__tri(int rows, int columns, int k, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);
/* The last two axes, zero above (tril) or below (triu) diagonal k. */
kiln_status kiln__tril(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err);
kiln_status kiln__triu(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err);
/* 1-d: a square matrix with `a` on diagonal k. 2-d: that diagonal. */
kiln_status kiln__diag(struct kiln_array *a, int k, struct kiln_array **out, kiln_error *err);
kiln_status kiln__ones(const int *dims, size_t ndim, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);
/* Of the shape of `like`: `value`, which is broadcast to it, as `dtype`; or 0 or 1 of the dtype of `like`. */
kiln_status kiln__full_like(struct kiln_array *like, struct kiln_array *value, enum kiln_dtype dtype,
                            struct kiln_array **out, kiln_error *err);
kiln_status kiln__zeros_like(struct kiln_array *like, struct kiln_array **out, kiln_error *err);
kiln_status kiln__ones_like(struct kiln_array *like, struct kiln_array **out, kiln_error *err);

/*
 * Operation donated: what a handle refers to after its array was donated (run/compiled.h). It has the dtype and shape
 * of `array`, and its evaluation is an error that says so.
 */
kiln_status kiln__donated(const struct kiln_array *array, struct kiln_array **out, kiln_error *err);

enum kiln_series_kind {
    KILN_SERIES_STEPS,  /* first + i * step */
    KILN_SERIES_SPACED, /* from first to last, both included, at equal distances */
    KILN_SERIES_BARTLETT,
    KILN_SERIES_BLACKMAN,
    KILN_SERIES_HAMMING,
    KILN_SERIES_HANNING
};

/*
 * Operation series: numbers that follow from their position alone, in float64; the run layer fills them. It has no
 * inputs; its attributes are a kind and two numbers by their bits. `count` of them, as `dtype`.
 * The numbers mean what the kind says; windows have none.
 */
kiln_status kiln__series(enum kiln_series_kind kind, const double numbers[2], int count, enum kiln_dtype dtype,
                         struct kiln_array **out, kiln_error *err);

#endif
