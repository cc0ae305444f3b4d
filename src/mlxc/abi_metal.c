/*
 * abi_metal.c - Metal in metal.h and fast.h of the ABI: there is none here, and errors say which devices there are.
 */
#include "device/gpu.h"
#include "mlxc/handle.h"

static int fail_without_metal(const char *name)
{
    struct kiln_gpu *gpu = NULL;
    bool has_gpu = kiln__gpu_count() > 0 && kiln__gpu_get(0, &gpu, NULL) == KILN_OK;
    _mlx_error(__FILE__, __LINE__, "[%s] No Metal back-end. The devices of this machine are its CPU%s%s%s", name,
               has_gpu ? " and the NVIDIA GPU \"" : "", has_gpu ? gpu->name : "",
               has_gpu ? "\": see mlx_fast_cuda_kernel_new()" : ", which runs no kernels in source form");
    return 1;
}

int mlx_metal_is_available(bool *res)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = false;
    return 0;
}

int mlx_metal_start_capture(const char *path)
{
    return KILN_NO_POINTER(path) ? 1 : fail_without_metal("metal_start_capture");
}

int mlx_metal_stop_capture(void)
{
    return fail_without_metal("metal_stop_capture");
}

mlx_fast_metal_kernel mlx_fast_metal_kernel_new(const char *name, const mlx_vector_string input_names,
                                                const mlx_vector_string output_names, const char *source,
                                                const char *header, bool ensure_row_contiguous, bool atomic_outputs)
{
    (void)name, (void)source, (void)header, (void)ensure_row_contiguous, (void)atomic_outputs;
    if (!KILN_NO_HANDLE(input_names, "mlx_vector_string") && !KILN_NO_HANDLE(output_names, "mlx_vector_string"))
        fail_without_metal("metal_kernel");
    return (mlx_fast_metal_kernel){NULL};
}

void mlx_fast_metal_kernel_free(mlx_fast_metal_kernel cls)
{
    (void)cls; /* always empty */
}

int mlx_fast_metal_kernel_apply(mlx_vector_array *outputs, mlx_fast_metal_kernel cls, const mlx_vector_array inputs,
                                const mlx_fast_metal_kernel_config config, const mlx_stream stream)
{
    (void)outputs, (void)cls, (void)inputs, (void)config, (void)stream;
    return fail_without_metal("metal_kernel");
}
