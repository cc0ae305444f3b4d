/*
 * gpu_ordered.h - kernels in which the order of elements counts: series, cumulative operations, scatters, sorting.
 *
 * They are C (codegen/runtime/gpu: series_kernels.c, scan_kernels.c, scatter_kernels.c, sort_kernels.c), where their
 * params are documented: first pointers, then words. A text calls one with up to KILN_GPU_ORDERED_CONSTANTS constants
 * of 0 to 15. Arrays are packed: a row is elements `inner` apart, and rows are numbered in row-major order.
 */
#ifndef KILN_CODEGEN_GPU_GPU_ORDERED_H
#define KILN_CODEGEN_GPU_GPU_ORDERED_H

#include "codegen/gpu/gpu_schedule.h"

enum kiln_gpu_ordered_kernel {
    KILN_GPU_SERIES,
    KILN_GPU_SCAN,
    KILN_GPU_SCATTER_PLACES,
    KILN_GPU_SCATTER_LINKS,
    KILN_GPU_SCATTER_MERGE,
    KILN_GPU_SORT_TILES,
    KILN_GPU_SORT_MERGE,
    KILN_GPU_SORT_TAKE,
    KILN_GPU_ORDERED_KERNELS
};

enum { KILN_GPU_ORDERED_CONSTANTS = 3, KILN_GPU_ORDERED_MAX_PARAMS = 16, KILN_GPU_SORT_TILE = 1024 };

/* What a kernel's text depends on. */
struct kiln_gpu_ordered_config {
    enum kiln_gpu_ordered_kernel kernel;
    uint8_t constants[KILN_GPU_ORDERED_CONSTANTS];
};

/* The config as `form` of a kiln_gpu_config, and back. */
uint32_t kiln__gpu_ordered_pack(const struct kiln_gpu_ordered_config *config);
struct kiln_gpu_ordered_config kiln__gpu_ordered_unpack(uint32_t form);
/* Pointers and words that the kernel takes. */
uint32_t kiln__gpu_ordered_params(enum kiln_gpu_ordered_kernel kernel);

/* `dtype` is part of the name. */
kiln_status kiln__gpu_ordered_print(enum kiln_dtype dtype, const struct kiln_gpu_ordered_config *config,
                                    struct kiln_buffer *text, kiln_error *err);

#endif
