/*
 * abi_metal.c - metal.h of the ABI: there is no Metal here.
 */
#include "mlxc/handle.h"

int mlx_metal_is_available(bool *res)
{
    KILN_NEED_POINTER(res);
    *res = false;
    return 0;
}
