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
    /* Some bytes as memory that is only read, which lives until the last reference to the storage goes. NULL: it can't
     * do that, or not now; they are read then. */
    struct kiln_storage *(*map)(const struct kiln_source *source, uint64_t offset, size_t size);
};

void kiln__source_unref(struct kiln_source *source); /* NULL is fine */

/* A file, which stays open. KILN_INVALID: it can't be read. */
kiln_status kiln__source_open(const char *path, struct kiln_source **out, kiln_error *err);
/* The same, with `map`. */
kiln_status kiln__source_open_mapped(const char *path, struct kiln_source **out, kiln_error *err);

/* An array whose storage is `source` itself, so that nodes can hold it as an operand. Takes a reference. */
kiln_status kiln__source_array(struct kiln_source *source, struct kiln_array **out, kiln_error *err);

/*
 * How the elements of an array lie in a source. Of blocks (GGUF) each has 32 elements of the last axis: codes become
 * uint32 words from the low bits up, scales and biases are one float16 for each block.
 */
enum kiln_load_form {
    KILN_LOAD_PLAIN,
    KILN_LOAD_SWAPPED, /* each number's bytes from the last to the first */
    KILN_LOAD_Q4_0_CODES,
    KILN_LOAD_Q4_0_SCALES,
    KILN_LOAD_Q4_0_BIASES,
    KILN_LOAD_Q4_1_CODES,
    KILN_LOAD_Q4_1_SCALES,
    KILN_LOAD_Q4_1_BIASES,
    KILN_LOAD_Q8_0_CODES,
    KILN_LOAD_Q8_0_SCALES,
    KILN_LOAD_Q8_0_BIASES,
    KILN_LOAD_FORMS
};

/* A lazy array: packed elements from `offset` on. `handle` is from kiln__source_array(). */
kiln_status kiln__source_load(struct kiln_array *handle, uint64_t offset, enum kiln_load_form form,
                              enum kiln_dtype dtype, const int *dims, size_t ndim, struct kiln_array **out,
                              kiln_error *err);

#endif
