/*
 * abi_cuda.c - cuda.h of the ABI.
 */
#include "device/gpu.h"
#include "mlxc/handle.h"

int mlx_cuda_is_available(bool *res)
{
    KILN_NEED_POINTER(res);
    *res = kiln__gpu_count() > 0;
    return 0;
}
