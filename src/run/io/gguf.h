/*
 * gguf.h - the format GGUF, versions 2 and 3, little-endian: named arrays and values.
 *
 *     "GGUF", version, number of tensors, number of values;
 *     each value: name, type, value; each tensor: name, sizes (the last axis first), type, offset;
 *     the tensors' bytes, from a multiple of general.alignment (32) on
 *
 * Reading checks untrusted bytes; an error says at which of them the file is wrong. Tensors in blocks (Q4_0, Q4_1,
 * Q8_0) become three arrays: codes in uint32 words, and scales and biases in float16, for blocks of 32 elements.
 */
#ifndef KILN_RUN_IO_GGUF_H
#define KILN_RUN_IO_GGUF_H

#include "base/arena.h"
#include "run/io/sink.h"
#include "run/io/source.h"

/* An array, a text, or a list of texts: the one that is not NULL. */
struct kiln_gguf_value {
    const char *name;
    struct kiln_array *array; /* of rank 0 or 1, ready; a reference */
    const char *text;
    const char **texts;
    size_t text_count;
};

/* One array that a tensor becomes. */
struct kiln_gguf_array {
    const char *name;
    enum kiln_load_form form;
    enum kiln_dtype dtype;
    size_t ndim;
    int dims[KILN_MAX_NDIM];
    uint64_t offset; /* in the file */
};

/* All of it lives in the arena. */
struct kiln_gguf {
    struct kiln_arena arena;
    struct kiln_gguf_value *values;
    struct kiln_gguf_array *arrays;
    size_t value_count, array_count;
};

/* On failure there is nothing to release. */
kiln_status kiln__gguf_read(const struct kiln_source *source, struct kiln_gguf *out, kiln_error *err);
void kiln__gguf_release(struct kiln_gguf *file);

/* What is written: arrays that are ready. */
struct kiln_gguf_content {
    const struct kiln_gguf_value *values;
    struct kiln_array *const *arrays;
    const char *const *names; /* of the arrays */
    size_t value_count, array_count;
};
/* Can the format hold all of it? Evaluates nothing. */
kiln_status kiln__gguf_check(const struct kiln_gguf_content *content, kiln_error *err);
/* A kiln_saver of a kiln_gguf_content that was checked. */
kiln_status kiln__gguf_write(const struct kiln_sink *sink, const void *content, kiln_error *err);

/* ---- types of the format: gguf_types.c ---- */

enum { KILN_GGUF_TEXT = 8, KILN_GGUF_LIST = 9, KILN_GGUF_TYPES = 13, KILN_GGUF_ALIGNMENT = 32 };

/* The dtype of a type of values; -1: it is a text or a list, or there is none of this number. */
int kiln__gguf_value_dtype(uint32_t type);
/* The type of values that has this dtype; -1: none. */
int kiln__gguf_value_type(enum kiln_dtype dtype);

/* How a type of tensors is read; NULL: it is not. Plain ones have block 1. */
struct kiln_gguf_type {
    const char *name;
    uint32_t type;
    enum kiln_dtype dtype;    /* of plain elements */
    enum kiln_load_form form; /* of the codes; scales and biases are the next two */
    unsigned block, bytes;    /* elements of a block, and its bytes */
    unsigned codes;           /* in a word of uint32 */
};
const struct kiln_gguf_type *kiln__gguf_type(uint32_t type);
/* The plain type that has this dtype; NULL: none. */
const struct kiln_gguf_type *kiln__gguf_type_of(enum kiln_dtype dtype);

#endif
