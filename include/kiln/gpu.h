/*
 * kiln/gpu.h - the GPUs of this process: which there are, and what was done with them.
 *
 * A GPU is a device like any other: kiln_device_find("cuda:0") for compilers, mlx_default_gpu_stream_new() for arrays.
 * Kiln opens the driver when one is first asked for. Everything it does on one GPU runs on the driver's default stream,
 * in the order of the calls. Every function may be called from any thread. NULL is as in kiln.h.
 *
 * KILN_DEVICE=cuda:0 makes a GPU the default device of arrays. With KILN_MODE=compile-only, KILN_GPU_TARGET (sm_70,
 * sm_75, sm_80, sm_86, sm_89 or sm_90) is a GPU that is not here: a program compiles for it and computes nothing, and
 * the folder it fills is complete for a machine that has such a GPU.
 */
#ifndef KILN_GPU_H
#define KILN_GPU_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many there are; 0 without a driver. */
unsigned kiln_gpu_count(void);

typedef struct kiln_gpu_info {
    size_t struct_size;  /* sizeof(kiln_gpu_info), set by the caller */
    char name[128];      /* for people: "NVIDIA H200" */
    char target[16];     /* what code is compiled for: "sm_90" */
    uint64_t size_bytes; /* of its memory */
    int multiprocessors;
    int driver_version; /* 13000 for CUDA 13.0 */
} kiln_gpu_info;

/* KILN_INVALID: there is no such GPU; the text says why: no driver, a driver that is too old or does not start, fewer
 * GPUs. `out` is untouched then. */
kiln_status kiln_gpu_describe(unsigned index, kiln_gpu_info *out, kiln_error *err);

/* Counted since the process started; KILN_STATS prints them too when a GPU was used. */
typedef struct kiln_gpu_counters {
    size_t struct_size;       /* sizeof(kiln_gpu_counters), set by the caller; fields behind it are left alone */
    uint64_t launches;        /* kernels launched one by one */
    uint64_t replays;         /* graphs launched, each the kernels of one call of a compiled function */
    uint64_t driver_compiles; /* times the driver turned PTX into machine code: 0 when the artifacts have it */
    uint64_t host_operations; /* operations without a kernel for GPUs, which ran on the CPU with copies */
    uint64_t bytes_to_device, bytes_to_host;
    uint64_t graphs; /* made: each serves the calls of a compiled function whose launches differ in params only */
    uint64_t graph_updates; /* launches in graphs that were given other params, as for arrays that lie elsewhere */
} kiln_gpu_counters;

void kiln_gpu_counters_read(kiln_gpu_counters *out); /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
