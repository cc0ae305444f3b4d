/*
 * abi_version.c - the version of MLX whose interface this is.
 */
#include <string.h>

#include "mlxc/handle.h"

static const char version[] = "0.32.2";

int mlx_version(mlx_string *str_)
{
    if (KILN_NO_POINTER(str_)) return 1;
    return kiln__give_text(str_, version, strlen(version));
}
