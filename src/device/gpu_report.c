/*
 * gpu_report.c - kiln/gpu.h: what can be told about GPUs. Only as much is written as the caller's struct has room for.
 */
#include "kiln/gpu.h"

#include <string.h>

#include "device/cuda.h"
#include "device/gpu.h"

unsigned kiln_gpu_count(void)
{
    return kiln__gpu_count();
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static kiln_status check_size(size_t size, size_t least, const char *what, kiln_error *err)
{
    if (size >= least) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s: struct_size is %zu; set it to the size of the struct", what, size);
}

kiln_status kiln_gpu_describe(unsigned index, kiln_gpu_info *out, kiln_error *err)
{
    const struct kiln_cuda *cuda;
    struct kiln_gpu *gpu;
    if (!out) return kiln__fail(err, KILN_INVALID, "kiln_gpu_describe: out must not be NULL");
    kiln_status status = check_size(out->struct_size, sizeof(kiln_gpu_info), "kiln_gpu_info", err);
    if (!status) status = kiln__gpu_get(index, &gpu, err);
    if (status) return status;
    kiln_gpu_info info = {
        .struct_size = out->struct_size, .size_bytes = gpu->memory, .multiprocessors = gpu->multiprocessors};
    memcpy(info.name, gpu->name, sizeof info.name);
    memcpy(info.target, gpu->target, sizeof info.target);
    if (!gpu->is_absent && !kiln__cuda(&cuda, NULL)) cuda->driver_version(&info.driver_version);
    memcpy(out, &info, sizeof info);
    return KILN_OK;
}

void kiln_gpu_counters_read(kiln_gpu_counters *out)
{
    struct kiln_gpu_counts counts;
    if (!out) return;
    kiln__gpu_counts(&counts);
    kiln_gpu_counters counters = {.struct_size = out->struct_size,
                                  .launches = counts.launches,
                                  .replays = counts.replays,
                                  .driver_compiles = counts.driver_compiles,
                                  .host_operations = counts.host_operations,
                                  .bytes_to_device = counts.bytes_to_device,
                                  .bytes_to_host = counts.bytes_to_host,
                                  .graphs = counts.graphs,
                                  .graph_updates = counts.graph_updates};
    memcpy(out, &counters, smaller(out->struct_size, sizeof counters));
}
