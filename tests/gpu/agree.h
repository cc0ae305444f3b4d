/*
 * agree.h - what the files of agree.c share: arrays of fixed pseudo-random bytes, and the comparison of two devices.
 */
#ifndef TESTS_GPU_AGREE_H
#define TESTS_GPU_AGREE_H

#include <stdbool.h>
#include <stdint.h>

#include "mlx/c/mlx.h"

extern mlx_stream cpu, gpu;
extern const char *const dtype_names[];

/* One case in KILN_TEST_EVERY is taken, spread over all of them. */
bool is_left_out(void);
uint64_t next_random(void);
/* Numbers from -8 to 8, with a few special ones, converted to the dtype on the CPU. */
mlx_array make(mlx_dtype dtype, const int *shape, int ndim);
/* All bytes of both; a difference is a failure. */
void compare(const char *what, mlx_array on_cpu, mlx_array on_gpu);

/* agree_ordered.c: cumulative operations, sorting, scatters, series, random words. */
void check_ordered(mlx_dtype dtype);
void check_random(void);

#endif
