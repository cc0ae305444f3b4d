/*
 * indices.h - the values of an index array, checked once, before anything is read or written through them.
 */
#ifndef KILN_RUN_OPS_INDICES_H
#define KILN_RUN_OPS_INDICES_H

#include "array/array.h"

/* *out = malloc'ed: the values of `indices`, a ready array of an integer dtype, in row-major order, as they are. */
kiln_status kiln__indices_values(const struct kiln_array *indices, int64_t **out, kiln_error *err);
/*
 * *out = malloc'ed: the values of `indices`, a ready array of an integer dtype, in row-major order; negative ones
 * counted from the end. Each is such that `extent` elements from there on lie inside an axis of `size`. KILN_INVALID
 * names the first value that is not, with `name` in front.
 */
kiln_status kiln__indices_read(const char *name, const struct kiln_array *indices, int64_t size, int64_t extent,
                               int64_t **out, kiln_error *err);

/* The same for a slice of `sizes`: starts along `axes` of `array`, one each, which lies inside it from there on. In a
 * dry run there are no values: all are 0. */
kiln_status kiln__starts_read(const char *name, const struct kiln_array *start, const int64_t *axes,
                              const struct kiln_array *array, const int32_t *sizes, int64_t out[KILN_MAX_NDIM],
                              kiln_error *err);

/* The error of an index that is out of range; one that `is_unsigned` was read as a 64-bit integer. size 0: any. */
kiln_status kiln__index_refuse(const char *name, bool is_unsigned, int64_t value, int64_t size, int64_t extent,
                               kiln_error *err);

#endif
