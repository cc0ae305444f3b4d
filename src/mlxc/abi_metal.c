/*
 * abi_metal.c - metal.h of the ABI: there is no Metal here.
 */
#include "mlxc/handle.h"

int mlx_metal_is_available(bool *res)
{
    if (KILN_NO_POINTER(res)) return 1;
    *res = false;
    return 0;
}
