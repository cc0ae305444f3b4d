/*
 * gpu_attention.c - see gpu_attention.h.
 */
#include "codegen/gpu/gpu_attention.h"

#include "codegen/gpu/gpu_call.h"

enum { MASK_NONE, MASK_BOOL, MASK_FLOAT, EIGHT = 8 };

uint32_t kiln__gpu_attention_pack(const struct kiln_gpu_attention_config *config)
{
    uint32_t form = (uint32_t)config->joins | (uint32_t)config->shared_rows << 1 | (uint32_t)config->is_partial << 2 |
                    (uint32_t)config->is_causal << 3 | (uint32_t)config->has_mask << 4 |
                    (uint32_t)config->has_sinks << 5 | (uint32_t)config->wide << 6;
    return form | (uint32_t)config->rows << 7 | (uint32_t)config->across << 10 | (uint32_t)config->mask_dtype << 16;
}

struct kiln_gpu_attention_config kiln__gpu_attention_unpack(uint32_t form)
{
    return (struct kiln_gpu_attention_config){.joins = form & 1,
                                              .shared_rows = form >> 1 & 1,
                                              .is_partial = form >> 2 & 1,
                                              .is_causal = form >> 3 & 1,
                                              .has_mask = form >> 4 & 1,
                                              .has_sinks = form >> 5 & 1,
                                              .wide = form >> 6 & 1,
                                              .rows = form >> 7 & 7,
                                              .across = form >> 10 & 63,
                                              .mask_dtype = form >> 16 & 15};
}

static int type_of(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? 0 : dtype == KILN_FLOAT16 ? 1 : 2;
}

static void print_join(struct kiln_ir *ir, enum kiln_dtype dtype, const struct kiln_gpu_attention_config *config)
{
    const int constants[] = {type_of(dtype), config->has_sinks};
    const struct kiln_gpu_function function = {.what = "attention, ranges of keys put together",
                                               .name = "kiln_gpu_attention_join",
                                               .pointers = KILN_GPU_JOIN_POINTERS,
                                               .words = KILN_GPU_JOIN_PARAMS - KILN_GPU_JOIN_POINTERS,
                                               .shared = 1,
                                               .constants = constants,
                                               .constant_count = sizeof constants / sizeof *constants};
    kiln__gpu_print_call(ir, &function, "attention_join", dtype);
}

static void print_attention(struct kiln_ir *ir, enum kiln_dtype dtype, const struct kiln_gpu_attention_config *config)
{
    const bool is_bool = config->mask_dtype == KILN_BOOL;
    const int mask = !config->has_mask ? MASK_NONE : is_bool ? MASK_BOOL : MASK_FLOAT;
    const int constants[] = {type_of(dtype),
                             config->rows,
                             config->across,
                             config->shared_rows,
                             config->is_partial,
                             config->is_causal,
                             mask,
                             mask == MASK_FLOAT ? type_of((enum kiln_dtype)config->mask_dtype) : 0,
                             config->has_sinks,
                             config->wide};
    const uint32_t kept = KILN_GPU_ATTENTION_STATE + (uint32_t)config->across * EIGHT;
    const struct kiln_gpu_function function = {.what = "attention",
                                               .name = "kiln_gpu_attention",
                                               .pointers = KILN_GPU_ATTENTION_POINTERS,
                                               .words = KILN_GPU_ATTENTION_PARAMS - KILN_GPU_ATTENTION_POINTERS,
                                               .shared = config->shared_rows ? KILN_GPU_WARPS * config->rows * kept : 1,
                                               .constants = constants,
                                               .constant_count = sizeof constants / sizeof *constants,
                                               .blocks = 2};
    kiln__gpu_print_call(ir, &function, "attention", dtype);
}

kiln_status kiln__gpu_attention_print(enum kiln_dtype dtype, const struct kiln_gpu_attention_config *config,
                                      struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    (config->joins ? print_join : print_attention)(&ir, dtype, config);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
