/*
 * gpu.c - see gpu.h.
 *
 * Invariant: an entry of `gpus` is filled under the lock before its pointer is published, and never changes or goes
 * away after that. The driver is asked for nothing before somebody asks for a GPU; the variables are read then.
 */
#include "device/gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/process/fork.h"
#include "device/cuda.h"
#include "device/gpu_sites.h"
#include "device/gpu_streams.h"

static const char *const targets[] = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

KILN_LEAF_LOCK(lock); /* guards making GPUs */
static _Atomic(struct kiln_gpu *) gpus[KILN_MAX_GPUS];
static struct kiln_gpu *absent[TARGET_COUNT]; /* under the lock */

/* ---- counts --------------------------------------------------------------------------------------------------- */

static _Atomic uint64_t counts[KILN_GPU_COUNTS];

void kiln__gpu_count_add(enum kiln_gpu_count count, uint64_t amount)
{
    atomic_fetch_add_explicit(&counts[count], amount, memory_order_relaxed);
}

void kiln__gpu_counts(struct kiln_gpu_counts *out)
{
    uint64_t *const fields[KILN_GPU_COUNTS] = {
        [KILN_GPU_LAUNCHES] = &out->launches,
        [KILN_GPU_REPLAYS] = &out->replays,
        [KILN_GPU_DRIVER_COMPILES] = &out->driver_compiles,
        [KILN_GPU_HOST_OPERATIONS] = &out->host_operations,
        [KILN_GPU_BYTES_TO_DEVICE] = &out->bytes_to_device,
        [KILN_GPU_BYTES_TO_HOST] = &out->bytes_to_host,
        [KILN_GPU_GRAPHS] = &out->graphs,
        [KILN_GPU_GRAPH_UPDATES] = &out->graph_updates,
    };
    for (int i = 0; i < KILN_GPU_COUNTS; i++) *fields[i] = atomic_load_explicit(&counts[i], memory_order_relaxed);
}

/* ---- which there are ------------------------------------------------------------------------------------------ */

/* The target that compile-only mode asks for; NULL: none. */
static const char *target_to_compile_for(void)
{
    const char *mode = kiln__config("KILN_MODE"), *target = kiln__config("KILN_GPU_TARGET");
    bool asked = mode && !strcmp(mode, "compile-only") && target && *target;
    return asked ? target : NULL;
}

unsigned kiln__gpu_count(void)
{
    const struct kiln_cuda *cuda;
    int count = 0;
    if (target_to_compile_for()) return 1;
    if (kiln__cuda(&cuda, NULL) || cuda->device_count(&count) || count < 0) return 0;
    return count < KILN_MAX_GPUS ? (unsigned)count : KILN_MAX_GPUS;
}

static int read_attributes(const struct kiln_cuda *cuda, int device, struct kiln_gpu *gpu)
{
    int domain = 0, bus = 0, slot = 0, result = 0;
    const struct {
        int attribute, *value;
    } wanted[] = {{KILN_CUDA_MAJOR, &gpu->major},  {KILN_CUDA_MINOR, &gpu->minor},
                  {KILN_CUDA_PCI_DOMAIN, &domain}, {KILN_CUDA_PCI_BUS, &bus},
                  {KILN_CUDA_PCI_DEVICE, &slot},   {KILN_CUDA_MULTIPROCESSORS, &gpu->multiprocessors}};
    for (size_t i = 0; !result && i < sizeof wanted / sizeof *wanted; i++)
        result = cuda->device_attribute(wanted[i].value, wanted[i].attribute, device);
    snprintf(gpu->target, sizeof gpu->target, "sm_%d", gpu->major * 10 + gpu->minor);
    snprintf(gpu->pci_bus, sizeof gpu->pci_bus, "%04x:%02x:%02x.0", (unsigned)domain, (unsigned)bus, (unsigned)slot);
    return result;
}

/* "GPU-", then 4, 2, 2, 2 and 6 bytes. */
static void print_uuid(const unsigned char *bytes, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "GPU");
    for (int i = 0; i < 16; i++) {
        bool is_first = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        used += (size_t)snprintf(text + used, size - used, is_first ? "-%02x" : "%02x", bytes[i]);
    }
}

static kiln_status describe(const struct kiln_cuda *cuda, struct kiln_gpu *gpu, kiln_error *err)
{
    int device = 0;
    unsigned char uuid[16] = {0};
    int result = cuda->device_get(&device, (int)gpu->index);
    if (!result) result = cuda->device_name(gpu->name, sizeof gpu->name, device);
    if (!result) result = cuda->device_uuid(uuid, device);
    if (!result) result = read_attributes(cuda, device, gpu);
    if (!result) result = cuda->device_memory(&gpu->memory, device);
    if (!result) result = cuda->context_retain(&gpu->context, device);
    if (result) return kiln__cuda_fail(err, KILN_INVALID, result, "this GPU can't be used");
    print_uuid(uuid, gpu->uuid, sizeof gpu->uuid);
    return KILN_OK;
}

static kiln_status find_hardware(unsigned index, struct kiln_gpu **out, kiln_error *err)
{
    const struct kiln_cuda *cuda;
    int count = 0;
    kiln_status status = kiln__cuda(&cuda, err);
    if (status) return status;
    int result = cuda->device_count(&count);
    if (result) return kiln__cuda_fail(err, KILN_INVALID, result, "the GPUs can't be counted");
    if (index >= (unsigned)count)
        return kiln__fail(err, KILN_INVALID, "there is no GPU %u; this machine has %d", index, count);
    struct kiln_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return kiln__no_memory(err, "a GPU");
    gpu->index = index;
    status = describe(cuda, gpu, err);
    if (status)
        free(gpu);
    else
        *out = gpu;
    return status;
}

static kiln_status refuse_target(const char *target, kiln_error *err)
{
    char known[100] = "";
    for (int i = 0; i < TARGET_COUNT; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", targets[i]);
    return kiln__fail(err, KILN_INVALID, "unknown GPU target \"%.32s\"; known are %s", target, known);
}

/* With the lock held. */
static kiln_status find_absent(const char *target, struct kiln_gpu **out, kiln_error *err)
{
    int i = 0;
    while (i < TARGET_COUNT && strcmp(targets[i], target) != 0) i++;
    if (i == TARGET_COUNT) return refuse_target(target, err);
    if (!absent[i] && (absent[i] = calloc(1, sizeof **absent))) {
        absent[i]->is_absent = true;
        snprintf(absent[i]->target, sizeof absent[i]->target, "%s", target);
        snprintf(absent[i]->name, sizeof absent[i]->name, "a GPU of %s, to compile for", target);
    }
    if (!absent[i]) return kiln__no_memory(err, "a GPU");
    *out = absent[i];
    return KILN_OK;
}

kiln_status kiln__gpu_absent(const char *target, struct kiln_gpu **out, kiln_error *err)
{
    pthread_mutex_lock(&lock);
    kiln_status status = find_absent(target, out, err);
    pthread_mutex_unlock(&lock);
    return status;
}

/* With the lock held, if it was not found before. */
static kiln_status find(unsigned index, struct kiln_gpu **out, kiln_error *err)
{
    const char *target = target_to_compile_for();
    if (target && index == 0) return find_absent(target, out, err);
    return find_hardware(index, out, err);
}

kiln_status kiln__gpu_get(unsigned index, struct kiln_gpu **out, kiln_error *err)
{
    if (index >= KILN_MAX_GPUS)
        return kiln__fail(err, KILN_INVALID, "GPU %u: at most %d are used", index, KILN_MAX_GPUS);
    struct kiln_gpu *gpu = atomic_load_explicit(&gpus[index], memory_order_acquire);
    kiln_status status = KILN_OK;
    if (!gpu) {
        pthread_mutex_lock(&lock);
        gpu = atomic_load_explicit(&gpus[index], memory_order_relaxed);
        if (!gpu) status = find(index, &gpu, err);
        if (!status) atomic_store_explicit(&gpus[index], gpu, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    if (!status) *out = gpu;
    return status;
}

/* ---- using one ------------------------------------------------------------------------------------------------ */

/* Only for a GPU that is here: its driver is open. */
static const struct kiln_cuda *driver(void)
{
    const struct kiln_cuda *cuda = NULL;
    kiln__cuda(&cuda, NULL);
    return cuda;
}

kiln_status kiln__gpu_enter(const struct kiln_gpu *gpu, kiln_error *err)
{
    void *current = NULL;
    if (gpu->is_absent) return KILN_OK;
    const struct kiln_cuda *cuda = driver();
    int result = cuda->context_get(&current);
    if (!result && current == gpu->context) return KILN_OK;
    result = cuda->context_set(gpu->context);
    return result ? kiln__cuda_fail(err, KILN_IO, result, gpu->name) : KILN_OK;
}

kiln_status kiln__gpu_alloc(const struct kiln_gpu *gpu, size_t size, char **out, kiln_error *err)
{
    uint64_t address = 0;
    if (gpu->is_absent) {
        *out = calloc(1, size);
        return *out ? KILN_OK : kiln__no_memory(err, "memory of a GPU that is not here");
    }
    int result = driver()->memory_new(&address, size);
    if (result == KILN_CUDA_OUT_OF_MEMORY)
        return kiln__fail(err, KILN_NO_MEMORY, "cannot allocate %zu bytes on %s, which has %zu", size, gpu->name,
                          gpu->memory);
    if (result) return kiln__cuda_fail(err, KILN_IO, result, "memory can't be allocated");
    *out = (char *)(uintptr_t)address;
    return KILN_OK;
}

void kiln__gpu_free(const struct kiln_gpu *gpu, char *data)
{
    if (gpu->is_absent)
        free(data);
    else
        driver()->memory_free((uint64_t)(uintptr_t)data);
}

kiln_status kiln__gpu_upload(const struct kiln_gpu *gpu, char *to, const void *from, size_t size, kiln_error *err)
{
    kiln__gpu_count_add(KILN_GPU_BYTES_TO_DEVICE, size);
    if (gpu->is_absent) {
        memcpy(to, from, size);
        return KILN_OK;
    }
    int result = driver()->copy_to_device((uint64_t)(uintptr_t)to, from, size);
    return result ? kiln__cuda_fail(err, KILN_IO, result, "a copy to the GPU failed") : KILN_OK;
}

kiln_status kiln__gpu_download(const struct kiln_gpu *gpu, void *to, const char *from, size_t size, kiln_error *err)
{
    kiln__gpu_count_add(KILN_GPU_BYTES_TO_HOST, size);
    if (gpu->is_absent) {
        memcpy(to, from, size);
        return KILN_OK;
    }
    uint64_t begun = kiln__gpu_sites_begun(gpu);
    int result = driver()->copy_to_host(to, (uint64_t)(uintptr_t)from, size);
    if (result) return kiln__cuda_fail(err, KILN_IO, result, "a copy from the GPU failed");
    return kiln__gpu_sites_check(gpu, begun, err);
}

kiln_status kiln__gpu_wait(const struct kiln_gpu *gpu, kiln_error *err)
{
    void *stream = NULL;
    uint64_t begun = kiln__gpu_sites_begun(gpu);
    kiln_status status = kiln__gpu_stream_handle(gpu, &stream, err);
    if (status) return status;
    int result = gpu->is_absent ? 0 : driver()->stream_wait(stream);
    if (result) return kiln__cuda_fail(err, KILN_IO, result, "work on the GPU failed");
    return kiln__gpu_sites_check(gpu, begun, err);
}

kiln_status kiln__gpu_free_memory(const struct kiln_gpu *gpu, size_t *out, kiln_error *err)
{
    size_t all;
    *out = 0;
    int result = gpu->is_absent ? 0 : driver()->memory_info(out, &all);
    return result ? kiln__cuda_fail(err, KILN_IO, result, "the memory of the GPU can't be asked for") : KILN_OK;
}

/* ---- launches ------------------------------------------------------------------------------------------------- */

static int launch_on(const struct kiln_cuda *cuda, const struct kiln_gpu_call *call, void *stream)
{
    size_t size = call->param_count * sizeof *call->params;
    void *extra[] = {(void *)1, (void *)(uintptr_t)call->params, (void *)2, &size, NULL}; /* buffer, its size, end */
    unsigned more[4];
    for (int i = 0; i < 4; i++) more[i] = call->more[i] ? call->more[i] : 1;
    return cuda->launch(call->function, call->grid, more[0], more[1], call->block, more[2], more[3],
                        (unsigned)call->shared_bytes, stream, NULL, extra);
}

kiln_status kiln__gpu_launch(const struct kiln_gpu *gpu, const struct kiln_gpu_call *call, kiln_error *err)
{
    void *stream = NULL;
    if (gpu->is_absent) return KILN_OK;
    kiln_status status = kiln__gpu_stream_handle(gpu, &stream, err);
    if (status) return status;
    kiln__gpu_count_add(KILN_GPU_LAUNCHES, 1);
    int result = launch_on(driver(), call, stream);
    if (result) return kiln__cuda_fail(err, KILN_IO, result, "a kernel can't be launched");
    kiln__gpu_stream_launched(gpu);
    kiln__gpu_sites_launched(gpu);
    return KILN_OK;
}

/* A stream to capture on, one per thread that captures: the default stream can't. */
static int capture_stream(const struct kiln_cuda *cuda, const struct kiln_gpu *gpu, void **out)
{
    static _Thread_local struct {
        void *context, *stream;
    } mine;
    int result = 0;
    if (mine.context != gpu->context) result = cuda->stream_new(&mine.stream, KILN_CUDA_NON_BLOCKING);
    if (!result) mine.context = gpu->context;
    *out = mine.stream;
    return result;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The driver's graph lives as long as what was made from it: its nodes name the launches. */
struct kiln_gpu_graph {
    const struct kiln_gpu *gpu;
    void *graph, *replay;
    size_t count;
    void *nodes[]; /* of each launch */
};

/* The node of what was captured last on the stream; everything there is one line. */
static int last_node(const struct kiln_cuda *cuda, void *stream, void **node)
{
    int is_capturing = 0;
    uint64_t id;
    void *graph, *const *nodes = NULL;
    size_t count = 0;
    int result = cuda->capture_info(stream, &is_capturing, &id, &graph, &nodes, &count);
    if (!result && count != 1) return KILN_CUDA_UNKNOWN;
    if (!result) *node = nodes[0];
    return result;
}

static int capture(const struct kiln_cuda *cuda, void *stream, const struct kiln_gpu_call *calls,
                   struct kiln_gpu_graph *graph)
{
    int result = cuda->capture_begin(stream, KILN_CUDA_CAPTURE_THREAD_LOCAL);
    if (result) return result;
    for (size_t i = 0; i < graph->count && !result; i++) {
        result = launch_on(cuda, &calls[i], stream);
        if (!result) result = last_node(cuda, stream, &graph->nodes[i]);
    }
    int ended = cuda->capture_end(stream, &graph->graph);
    return result ? result : ended;
}

kiln_status kiln__gpu_graph_new(const struct kiln_gpu *gpu, const struct kiln_gpu_call *calls, size_t count,
                                struct kiln_gpu_graph **out, kiln_error *err)
{
    void *stream = NULL;
    *out = NULL;
    if (gpu->is_absent) return KILN_OK;
    const struct kiln_cuda *cuda = driver();
    struct kiln_gpu_graph *graph = calloc(1, sizeof *graph + count * sizeof *graph->nodes);
    if (!graph) return kiln__no_memory(err, "a graph of launches");
    graph->gpu = gpu;
    graph->count = count;
    int result = capture_stream(cuda, gpu, &stream);
    if (!result) result = capture(cuda, stream, calls, graph);
    if (!result) result = cuda->graph_instantiate(&graph->replay, graph->graph, 0);
    if (result) {
        kiln__gpu_graph_free(graph);
        return kiln__cuda_fail(err, KILN_IO, result, "launches can't be captured");
    }
    kiln__gpu_count_add(KILN_GPU_GRAPHS, 1);
    *out = graph;
    return KILN_OK;
}

kiln_status kiln__gpu_graph_update(struct kiln_gpu_graph *graph, size_t index, const struct kiln_gpu_call *call,
                                   kiln_error *err)
{
    size_t size = call->param_count * sizeof *call->params;
    void *extra[] = {(void *)1, (void *)(uintptr_t)call->params, (void *)2, &size, NULL}; /* as of a launch */
    const struct kiln_cuda_node node = {.function = call->function,
                                        .grid_x = call->grid,
                                        .grid_y = 1,
                                        .grid_z = 1,
                                        .block_x = call->block,
                                        .block_y = 1,
                                        .block_z = 1,
                                        .shared_bytes = (unsigned)call->shared_bytes,
                                        .extra = extra};
    kiln__gpu_count_add(KILN_GPU_GRAPH_UPDATES, 1);
    int result = driver()->graph_exec_set(graph->replay, graph->nodes[index], &node);
    return result ? kiln__cuda_fail(err, KILN_IO, result, "a launch in a graph can't be changed") : KILN_OK;
}

kiln_status kiln__gpu_graph_launch(struct kiln_gpu_graph *graph, kiln_error *err)
{
    void *stream = NULL;
    if (!graph) return KILN_OK;
    kiln_status status = kiln__gpu_stream_handle(graph->gpu, &stream, err);
    if (status) return status;
    kiln__gpu_count_add(KILN_GPU_REPLAYS, 1);
    int result = driver()->graph_launch(graph->replay, stream);
    if (result) return kiln__cuda_fail(err, KILN_IO, result, "launches can't be replayed");
    kiln__gpu_stream_launched(graph->gpu);
    kiln__gpu_sites_launched(graph->gpu);
    return KILN_OK;
}

void kiln__gpu_graph_free(struct kiln_gpu_graph *graph)
{
    if (!graph) return;
    if (graph->replay) driver()->graph_exec_free(graph->replay);
    if (graph->graph) driver()->graph_free(graph->graph);
    free(graph);
}
