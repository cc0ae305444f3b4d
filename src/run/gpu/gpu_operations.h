/*
 * gpu_operations.h - operations that GPUs run in another way than the CPU: entries of their backend (gpu_backend.c).
 */
#ifndef KILN_RUN_GPU_GPU_OPERATIONS_H
#define KILN_RUN_GPU_GPU_OPERATIONS_H

#include "run/ops/operation.h"

kiln_operation kiln__gpu_argreduce;   /* gpu_launch_argreduce.c: argmin, argmax */
kiln_operation kiln__gpu_random_bits; /* gpu_launch_random.c */
kiln_operation kiln__gpu_gather;      /* gpu_gather.c: take, gather, take_along_axis; after kiln__indexed_check() */
kiln_operation kiln__gpu_cuda_kernel; /* source/cuda_kernel.c */
kiln_operation kiln__gpu_slice_dynamic;
kiln_operation kiln__gpu_update_dynamic;   /* slice_update_dynamic */
kiln_operation kiln__gpu_attention;        /* gpu_attention_run.c */
kiln_operation kiln__gpu_matmul;           /* gpu_matmul.c */
kiln_operation kiln__gpu_quantized_matmul; /* gpu_quantized_matmul.c: not with picked matrices */
kiln_operation kiln__gpu_cumulative;       /* gpu_cumulative.c: sums, products, maxima, minima */
kiln_operation kiln__gpu_series;           /* if kiln__gpu_knows_series() */
kiln_operation kiln__gpu_scatter;   /* gpu_scatter.c, if kiln__gpu_knows_scatter(); after kiln__indexed_check() */
kiln_operation kiln__gpu_put_along; /* the same */
kiln_operation kiln__gpu_sort;      /* gpu_sort.c: sort, argsort */

bool kiln__gpu_knows_series(const struct kiln_node *node);
bool kiln__gpu_knows_scatter(const struct kiln_node *node);

#endif
