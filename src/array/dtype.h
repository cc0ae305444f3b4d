/*
 * dtype.h - element types, their names, and how two of them combine. Values are those of the mlx-c ABI.
 */
#ifndef KILN_ARRAY_DTYPE_H
#define KILN_ARRAY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

enum kiln_dtype {
    KILN_BOOL,
    KILN_UINT8,
    KILN_UINT16,
    KILN_UINT32,
    KILN_UINT64,
    KILN_INT8,
    KILN_INT16,
    KILN_INT32,
    KILN_INT64,
    KILN_FLOAT16,
    KILN_FLOAT32,
    KILN_FLOAT64,
    KILN_BFLOAT16,
    KILN_COMPLEX64,
    KILN_DTYPE_COUNT
};

enum kiln_dtype_kind { KILN_KIND_BOOL, KILN_KIND_UNSIGNED, KILN_KIND_SIGNED, KILN_KIND_FLOAT, KILN_KIND_COMPLEX };

struct kiln_dtype_info {
    const char *name; /* "float32" */
    const char *abbr; /* "f32": in text, keys and helper names */
    size_t size;      /* bytes of one element */
    enum kiln_dtype_kind kind;
};

extern const struct kiln_dtype_info kiln__dtypes[KILN_DTYPE_COUNT];

static inline size_t kiln__dtype_size(enum kiln_dtype dtype)
{
    return kiln__dtypes[dtype].size;
}

static inline bool kiln__dtype_is_float(enum kiln_dtype dtype)
{
    return kiln__dtypes[dtype].kind == KILN_KIND_FLOAT;
}

bool kiln__dtype_is_valid(int dtype);
/* The type of a two-input operation; symmetric. The table of shared types: uint64 with a signed one is float32. */
enum kiln_dtype kiln__dtype_promote(enum kiln_dtype a, enum kiln_dtype b);

/* Exact conversions on the host, round to nearest even; used by tostring, constants and tests. */
float kiln__half_to_float(unsigned short bits);
unsigned short kiln__float_to_half(float value);
float kiln__bfloat_to_float(unsigned short bits);
unsigned short kiln__float_to_bfloat(float value);

#endif
