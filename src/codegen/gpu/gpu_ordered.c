/*
 * gpu_ordered.c - see gpu_ordered.h.
 */
#include "codegen/gpu/gpu_ordered.h"

#include "codegen/gpu/gpu_call.h"

static const struct {
    const char *operation, *what, *name;
    uint8_t pointers, words, constants;
    uint16_t shared; /* floats */
} kernels[KILN_GPU_ORDERED_KERNELS] = {
    [KILN_GPU_SERIES] = {"series", "a series", "kiln_gpu_series", 1, 3, 1, 1},
    [KILN_GPU_SCAN] = {"cumulative", "a cumulative operation", "kiln_gpu_scan", 2, 5, 3, 2 * (1024 + 32)},
    [KILN_GPU_SCATTER_PLACES] = {"scatter_places", "places of updates", "kiln_gpu_scatter_places", 2, 8, 2, 1},
    [KILN_GPU_SCATTER_LINKS] = {"scatter_links", "updates of one place", "kiln_gpu_scatter_links", 1, 3, 0, 1},
    [KILN_GPU_SCATTER_MERGE] = {"scatter", "updates merged", "kiln_gpu_scatter_merge", 3, 9, 3, 1},
    [KILN_GPU_SORT_TILES] = {"sort_tiles", "tiles of rows sorted", "kiln_gpu_sort_tiles", 3, 3, 1,
                             6 * KILN_GPU_SORT_TILE},
    [KILN_GPU_SORT_MERGE] = {"sort_merge", "sorted runs merged", "kiln_gpu_sort_merge", 4, 3, 0, 1},
    [KILN_GPU_SORT_TAKE] = {"sort", "elements in their order", "kiln_gpu_sort_take", 3, 3, 2, 1},
};

uint32_t kiln__gpu_ordered_pack(const struct kiln_gpu_ordered_config *config)
{
    uint32_t form = (uint32_t)config->kernel;
    for (int i = 0; i < KILN_GPU_ORDERED_CONSTANTS; i++) form |= (uint32_t)config->constants[i] << (4 + 4 * i);
    return form;
}

struct kiln_gpu_ordered_config kiln__gpu_ordered_unpack(uint32_t form)
{
    struct kiln_gpu_ordered_config config = {.kernel = (enum kiln_gpu_ordered_kernel)(form & 15)};
    for (int i = 0; i < KILN_GPU_ORDERED_CONSTANTS; i++) config.constants[i] = form >> (4 + 4 * i) & 15;
    return config;
}

uint32_t kiln__gpu_ordered_params(enum kiln_gpu_ordered_kernel kernel)
{
    return kernels[kernel].pointers + (uint32_t)kernels[kernel].words;
}

kiln_status kiln__gpu_ordered_print(enum kiln_dtype dtype, const struct kiln_gpu_ordered_config *config,
                                    struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    int constants[KILN_GPU_ORDERED_CONSTANTS];
    for (int i = 0; i < KILN_GPU_ORDERED_CONSTANTS; i++) constants[i] = config->constants[i];
    const struct kiln_gpu_function function = {.what = kernels[config->kernel].what,
                                               .name = kernels[config->kernel].name,
                                               .pointers = kernels[config->kernel].pointers,
                                               .words = kernels[config->kernel].words,
                                               .shared = kernels[config->kernel].shared,
                                               .constants = constants,
                                               .constant_count = kernels[config->kernel].constants};
    kiln__gpu_print_call(&ir, &function, kernels[config->kernel].operation, dtype);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
