/*
 * cuda.h - NVIDIA's driver as a table of functions, opened when a GPU is first asked for.
 *
 * Nothing of CUDA is needed to build or to start: without libcuda.so.1, without a GPU or with a driver that is too old
 * there is no table, and an error text that says which of these it was.
 */
#ifndef KILN_DEVICE_CUDA_H
#define KILN_DEVICE_CUDA_H

#include <stdint.h>

#include "base/status.h"

enum {
    KILN_CUDA_OUT_OF_MEMORY = 2, /* CUDA_ERROR_OUT_OF_MEMORY; 0 is success */
    KILN_CUDA_UNKNOWN = 999,     /* CUDA_ERROR_UNKNOWN */
    KILN_CUDA_MULTIPROCESSORS = 16,
    KILN_CUDA_PCI_BUS = 33,
    KILN_CUDA_PCI_DEVICE = 34,
    KILN_CUDA_PCI_DOMAIN = 50,
    KILN_CUDA_MAJOR = 75,
    KILN_CUDA_MINOR = 76,
    KILN_CUDA_ERROR_LOG = 5,
    KILN_CUDA_ERROR_LOG_SIZE = 6,
    KILN_CUDA_INPUT_PTX = 1,
    KILN_CUDA_NON_BLOCKING = 1,
    KILN_CUDA_EVENT_WITHOUT_TIME = 2,
    KILN_CUDA_CAPTURE_THREAD_LOCAL = 1,
    KILN_CUDA_HOST_FOR_ALL = 3, /* portable, and mapped: every context sees the memory, at the host's address */
};

/* CUDA_KERNEL_NODE_PARAMS_v1 */
struct kiln_cuda_node {
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **parameters, **extra;
};

/* One row per function: result int, the name of the field, the symbol, its parameters. */
#define KILN_CUDA_FUNCTIONS(F)                                                                                         \
    F(init, "cuInit", (unsigned flags))                                                                                \
    F(driver_version, "cuDriverGetVersion", (int *version))                                                            \
    F(error_name, "cuGetErrorName", (int result, const char **name))                                                   \
    F(error_text, "cuGetErrorString", (int result, const char **text))                                                 \
    F(device_count, "cuDeviceGetCount", (int *count))                                                                  \
    F(device_get, "cuDeviceGet", (int *device, int ordinal))                                                           \
    F(device_name, "cuDeviceGetName", (char *name, int size, int device))                                              \
    F(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                               \
    F(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                               \
    F(device_uuid, "cuDeviceGetUuid_v2", (unsigned char uuid[16], int device))                                         \
    F(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                        \
    F(context_get, "cuCtxGetCurrent", (void **context))                                                                \
    F(context_set, "cuCtxSetCurrent", (void *context))                                                                 \
    F(memory_new, "cuMemAlloc_v2", (uint64_t *address, size_t size))                                                   \
    F(memory_free, "cuMemFree_v2", (uint64_t address))                                                                 \
    F(host_new, "cuMemHostAlloc", (void **address, size_t size, unsigned flags))                                       \
    F(memory_info, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *bytes))                                             \
    F(copy_to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t size))                                 \
    F(copy_to_host, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t size))                                         \
    F(copy_on_device, "cuMemcpyDtoDAsync_v2", (uint64_t to, uint64_t from, size_t size, void *stream))                 \
    F(module_load, "cuModuleLoadData", (void **module, const void *image))                                             \
    F(module_unload, "cuModuleUnload", (void *module))                                                                 \
    F(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))                       \
    F(link_new, "cuLinkCreate_v2", (unsigned count, const int *options, void **values, void **state))                  \
    F(link_add, "cuLinkAddData_v2",                                                                                    \
      (void *state, int type, void *data, size_t size, const char *name, unsigned count, const int *options,           \
       void **values))                                                                                                 \
    F(link_finish, "cuLinkComplete", (void *state, void **image, size_t *size))                                        \
    F(link_free, "cuLinkDestroy", (void *state))                                                                       \
    F(launch, "cuLaunchKernel",                                                                                        \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
       unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra))                        \
    F(stream_new, "cuStreamCreate", (void **stream, unsigned flags))                                                   \
    F(stream_wait, "cuStreamSynchronize", (void *stream))                                                              \
    F(stream_wait_event, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))                             \
    F(event_new, "cuEventCreate", (void **event, unsigned flags))                                                      \
    F(event_record, "cuEventRecord", (void *event, void *stream))                                                      \
    F(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                              \
    F(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                                                 \
    F(capture_info, "cuStreamGetCaptureInfo_v2",                                                                       \
      (void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *count))                     \
    F(graph_free, "cuGraphDestroy", (void *graph))                                                                     \
    F(graph_instantiate, "cuGraphInstantiateWithFlags", (void **replay, void *graph, unsigned long long flags))        \
    F(graph_exec_set, "cuGraphExecKernelNodeSetParams",                                                                \
      (void *replay, void *node, const struct kiln_cuda_node *params))                                                 \
    F(graph_exec_free, "cuGraphExecDestroy", (void *replay))                                                           \
    F(graph_launch, "cuGraphLaunch", (void *replay, void *stream))

struct kiln_cuda {
#define KILN_CUDA_FIELD(field, symbol, parameters) int(*field) parameters;
    KILN_CUDA_FUNCTIONS(KILN_CUDA_FIELD)
#undef KILN_CUDA_FIELD
};

/* The table, opened once; a failure is remembered too. KILN_INVALID says why there is none. */
kiln_status kiln__cuda(const struct kiln_cuda **out, kiln_error *err);

/* `status`, with `what` and the driver's name and text of `result`. */
kiln_status kiln__cuda_fail(kiln_error *err, kiln_status status, int result, const char *what);

#endif
