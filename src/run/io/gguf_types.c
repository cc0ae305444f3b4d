/*
 * gguf_types.c - the types of GGUF, by their numbers in the format.
 */
#include "run/io/gguf.h"

static const int8_t value_dtypes[KILN_GGUF_TYPES] = {
    KILN_UINT8, KILN_INT8, KILN_UINT16, KILN_INT16,  KILN_UINT32, KILN_INT32,   KILN_FLOAT32,
    KILN_BOOL,  -1,        -1,          KILN_UINT64, KILN_INT64,  KILN_FLOAT64,
};

int kiln__gguf_value_dtype(uint32_t type)
{
    return type < KILN_GGUF_TYPES ? value_dtypes[type] : -1;
}

int kiln__gguf_value_type(enum kiln_dtype dtype)
{
    for (int i = 0; i < KILN_GGUF_TYPES; i++)
        if (value_dtypes[i] == (int)dtype) return i;
    return -1;
}

static const struct kiln_gguf_type types[] = {
    {"F32", 0, KILN_FLOAT32, KILN_LOAD_PLAIN, 1, 4, 0},
    {"F16", 1, KILN_FLOAT16, KILN_LOAD_PLAIN, 1, 2, 0},
    {"Q4_0", 2, KILN_UINT32, KILN_LOAD_Q4_0_CODES, 32, 18, 8},
    {"Q4_1", 3, KILN_UINT32, KILN_LOAD_Q4_1_CODES, 32, 20, 8},
    {"Q8_0", 8, KILN_UINT32, KILN_LOAD_Q8_0_CODES, 32, 34, 4},
    {"I8", 24, KILN_INT8, KILN_LOAD_PLAIN, 1, 1, 0},
    {"I16", 25, KILN_INT16, KILN_LOAD_PLAIN, 1, 2, 0},
    {"I32", 26, KILN_INT32, KILN_LOAD_PLAIN, 1, 4, 0},
    {"I64", 27, KILN_INT64, KILN_LOAD_PLAIN, 1, 8, 0},
    {"F64", 28, KILN_FLOAT64, KILN_LOAD_PLAIN, 1, 8, 0},
    {"BF16", 30, KILN_BFLOAT16, KILN_LOAD_PLAIN, 1, 2, 0},
};
enum { TYPES = sizeof types / sizeof *types };

const struct kiln_gguf_type *kiln__gguf_type(uint32_t type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type) return &types[i];
    return NULL;
}

const struct kiln_gguf_type *kiln__gguf_type_of(enum kiln_dtype dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].block == 1 && types[i].dtype == dtype) return &types[i];
    return NULL;
}
