/*
 * gpu_attention.h - scaled dot product attention on GPUs, as graph/attention_attrs.h has it, for features of up to
 * KILN_ATTENTION_GPU_FEATURES.
 * The kernels are C, codegen/runtime/gpu/attention_kernels.c; a text calls one with constants for what stands in the
 * config.
 *
 * The first: pointers of the result, queries, keys, values, mask, sinks and of what ranges give (some pointer where
 * there is none); then shared heads, heads of a group, queries, keys, features of a key and of a value; bytes from one
 * batch, head and query to the next, and so for keys and values; of the mask from one batch, head, query and key to the
 * next; the bits of the scale; blocks of rows, ranges of keys, keys of a range. Blocks: ranges fastest, then blocks of
 * rows, then shared heads. A range gives for each row its largest score, its sum of exponentials, and its values.
 *
 * The second puts ranges together: pointers of the result, of what ranges gave, and the sinks; then rows, heads,
 * queries, features of a value, ranges. A block has 8 rows.
 */
#ifndef KILN_CODEGEN_GPU_GPU_ATTENTION_H
#define KILN_CODEGEN_GPU_GPU_ATTENTION_H

#include "codegen/gpu/gpu_schedule.h"

enum {
    KILN_GPU_ATTENTION_STATE = 2, /* floats in front of a range's values */
    KILN_GPU_ATTENTION_POINTERS = 7,
    KILN_GPU_ATTENTION_PARAMS = KILN_GPU_ATTENTION_POINTERS + 23,
    KILN_GPU_JOIN_POINTERS = 3,
    KILN_GPU_JOIN_PARAMS = KILN_GPU_JOIN_POINTERS + 5
};

/* What a kernel's text depends on, besides the dtype of queries, keys, values and results. */
struct kiln_gpu_attention_config {
    bool joins;       /* the second kernel, which depends on has_sinks only */
    uint8_t rows;     /* of a warp: 1, 2 or 4 */
    uint8_t across;   /* lanes that share a key, eight features each: 4, 8, 16 or 32 */
    bool shared_rows; /* the warps of a block have the same rows, and share keys */
    bool is_partial;  /* there are ranges; with shared_rows */
    bool is_causal, has_mask, has_sinks;
    bool wide;          /* features of keys and values are a multiple of 8, aligned to 16 bytes, and so are queries */
    uint8_t mask_dtype; /* bool or a float */
};

/* The config as `form` of a kiln_gpu_config, and back. */
uint32_t kiln__gpu_attention_pack(const struct kiln_gpu_attention_config *config);
struct kiln_gpu_attention_config kiln__gpu_attention_unpack(uint32_t form);

/* `dtype` is float32, float16 or bfloat16. */
kiln_status kiln__gpu_attention_print(enum kiln_dtype dtype, const struct kiln_gpu_attention_config *config,
                                      struct kiln_buffer *text, kiln_error *err);

#endif
