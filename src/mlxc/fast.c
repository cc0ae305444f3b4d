/*
 * fast.c - fast.h of the ABI: common layers as one call.
 */
#include "graph/compose.h"
#include "mlxc/handle.h"

int mlx_fast_rms_norm(mlx_array *res, const mlx_array x, const mlx_array weight, float eps, const mlx_stream s)
{
    KILN_NEED_ARRAY(x);
    KILN_NEED_STREAM(s);
    KILN_RETURN_RESULT(res, kiln__rms_norm(kiln__unwrap(x), kiln__unwrap_optional(weight), eps, &out, &err));
}
