/*
 * abi_cuda.c - cuda.h of the ABI.
 */
#include "device/gpu.h"
#include "mlxc/handle.h"

int mlx_cuda_is_available(bool *res)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = kiln__gpu_count() > 0;
    return 0;
}
