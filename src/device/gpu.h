/*
 * gpu.h - the GPUs that may be used: their memory, copies and launches.
 *
 * A device index is a number: 0 is the host's memory and CPU, 1 + n is GPU n. What a thread starts on one GPU goes to
 * its current stream (gpu_streams.h), in order; so memory that is freed may be used again at once by what is launched
 * later on that stream. Copies to and from the host are made on stream 0; kiln__gpu_wait() waits for the current
 * stream; launches do not wait.
 *
 * With KILN_MODE=compile-only and KILN_GPU_TARGET (say "sm_90"), GPU 0 is absent: kernels are compiled for it, launches
 * do nothing, and its memory is zeroed memory of the host. The artifacts are complete for a machine that has such a
 * GPU.
 *
 * Every function may be called from any thread. An error of the driver is KILN_IO with its name and text, or
 * KILN_NO_MEMORY. What waits for the GPU, kiln__gpu_download() and kiln__gpu_wait(), also ends with what kernels have
 * reported (gpu_sites.h).
 */
#ifndef KILN_DEVICE_GPU_H
#define KILN_DEVICE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { KILN_MAX_GPUS = 63 }; /* so that a set of devices, with the CPU, fits the bits of a word */

struct kiln_gpu {
    unsigned index;
    bool is_absent;   /* compile only */
    char target[16];  /* "sm_90" */
    char name[128];   /* for people: "NVIDIA H200" */
    char uuid[44];    /* "GPU-" and 32 digits; this one and the next are empty when it is absent */
    char pci_bus[24]; /* "0000:3b:00.0" */
    int major, minor; /* compute capability */
    size_t memory;    /* bytes; 0 when it is absent */
    int multiprocessors;
    void *context; /* the driver's primary context, shared with every other user of the GPU in this process */
};

/* What the GPUs of this process did, counted since it started. */
struct kiln_gpu_counts {
    uint64_t launches, replays; /* kernels launched one by one; graphs replayed */
    uint64_t driver_compiles;   /* PTX that the driver turned into machine code */
    uint64_t host_operations;   /* operations without a GPU kernel, run on the CPU */
    uint64_t bytes_to_device, bytes_to_host;
    uint64_t graphs, graph_updates; /* graphs made; launches in them that got other params */
};
enum kiln_gpu_count {
    KILN_GPU_LAUNCHES,
    KILN_GPU_REPLAYS,
    KILN_GPU_DRIVER_COMPILES,
    KILN_GPU_HOST_OPERATIONS,
    KILN_GPU_BYTES_TO_DEVICE,
    KILN_GPU_BYTES_TO_HOST,
    KILN_GPU_GRAPHS,
    KILN_GPU_GRAPH_UPDATES,
    KILN_GPU_COUNTS
};
void kiln__gpu_count_add(enum kiln_gpu_count count, uint64_t amount);
void kiln__gpu_counts(struct kiln_gpu_counts *out);

unsigned kiln__gpu_count(void); /* 0: none; kiln__gpu_get(0) says why */
/* GPU `index`, made ready on first use. KILN_INVALID: there is none, and why. */
kiln_status kiln__gpu_get(unsigned index, struct kiln_gpu **out, kiln_error *err);
/* A GPU of architecture `target` that is not here, to compile for. KILN_INVALID lists the targets. */
kiln_status kiln__gpu_absent(const char *target, struct kiln_gpu **out, kiln_error *err);

/* Bytes a program should use at most: a driver needs some for itself, and so do its modules. */
static inline size_t kiln__gpu_working_set(const struct kiln_gpu *gpu)
{
    return gpu->memory - gpu->memory / 20;
}

/* Makes the GPU current on this thread, once per call that uses it. */
kiln_status kiln__gpu_enter(const struct kiln_gpu *gpu, kiln_error *err);

/* The rest works on the GPU that was entered. */
kiln_status kiln__gpu_alloc(const struct kiln_gpu *gpu, size_t size, char **out, kiln_error *err);
void kiln__gpu_free(const struct kiln_gpu *gpu, char *data);
kiln_status kiln__gpu_upload(const struct kiln_gpu *gpu, char *to, const void *from, size_t size, kiln_error *err);
kiln_status kiln__gpu_download(const struct kiln_gpu *gpu, void *to, const char *from, size_t size, kiln_error *err);
kiln_status kiln__gpu_wait(const struct kiln_gpu *gpu, kiln_error *err);
/* Bytes that nobody, in this process or another, has allocated now. */
kiln_status kiln__gpu_free_memory(const struct kiln_gpu *gpu, size_t *out, kiln_error *err);

/* One launch as the driver wants it; each param has 8 bytes. */
struct kiln_gpu_call {
    void *function; /* a CUfunction */
    uint32_t grid, block;
    uint32_t more[4];    /* blocks along y and z, threads of a block along y and z; 0: 1 */
    size_t shared_bytes; /* for each block, besides what the kernel itself has */
    size_t param_count;
    const uint64_t *params;
};
kiln_status kiln__gpu_launch(const struct kiln_gpu *gpu, const struct kiln_gpu_call *call, kiln_error *err);

/* Several launches as one graph, to be replayed. NULL in *out when the GPU is absent. */
struct kiln_gpu_graph;
kiln_status kiln__gpu_graph_new(const struct kiln_gpu *gpu, const struct kiln_gpu_call *calls, size_t count,
                                struct kiln_gpu_graph **out, kiln_error *err);
/* Launch `index` has other params from now on, but is of the same function; replays that were started keep theirs. */
kiln_status kiln__gpu_graph_update(struct kiln_gpu_graph *graph, size_t index, const struct kiln_gpu_call *call,
                                   kiln_error *err);
kiln_status kiln__gpu_graph_launch(struct kiln_gpu_graph *graph, kiln_error *err); /* NULL: nothing */
void kiln__gpu_graph_free(struct kiln_gpu_graph *graph);                           /* NULL is fine */

#endif
