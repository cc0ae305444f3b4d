/*
 * source.h - bytes that arrays are loaded from when they are evaluated: a file, or a reader of the caller's.
 *
 * Reference counted: each array that is not yet evaluated holds it. Reads may come from any thread, several at once.
 */
#ifndef KILN_RUN_IO_SOURCE_H
#define KILN_RUN_IO_SOURCE_H

#include "array/array.h"

struct kiln_source {
    _Atomic uint32_t refs;
    uint64_t size; /* bytes */
    /* Reads exactly `count` bytes, or fails. */
    kiln_status (*read)(const struct kiln_source *source, uint64_t offset, char *to, size_t count, kiln_error *err);
    void (*free)(struct kiln_source *source); /* at the last release */
};

void kiln__source_unref(struct kiln_source *source); /* NULL is fine */

/* A file, which stays open. KILN_INVALID: it can't be read. */
kiln_status kiln__source_open(const char *path, struct kiln_source **out, kiln_error *err);

/* An array whose storage is `source` itself, so that nodes can hold it as an operand. Takes a reference. */
kiln_status kiln__source_array(struct kiln_source *source, struct kiln_array **out, kiln_error *err);

/* A lazy array: packed elements from `offset` on. `handle` is from kiln__source_array(). */
kiln_status kiln__source_load(struct kiln_array *handle, uint64_t offset, enum kiln_dtype dtype, const int *dims,
                              size_t ndim, struct kiln_array **out, kiln_error *err);

#endif
