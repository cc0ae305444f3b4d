/*
 * abi_version.c - the version of MLX whose interface this is.
 */
#include <string.h>

#include "mlxc/handle.h"

static const char version[] = "0.32.2";

int mlx_version(mlx_string *str_)
{
    KILN_NEED_POINTER(str_);
    return kiln__give_text(str_, version, strlen(version));
}
