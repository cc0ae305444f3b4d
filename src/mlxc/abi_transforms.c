/*
 * abi_transforms.c - transforms.h of the ABI: evaluation.
 */
#include "mlxc/abi_vector.h"
#include "run/eval.h"
#include "run/placement.h"

int mlx_eval(const mlx_vector_array outputs)
{
    kiln_error err;
    size_t count;
    KILN_NEED_VECTOR(outputs);
    struct kiln_array *const *arrays = kiln__vector_arrays(outputs, &count);
    KILN_TRY(kiln__eval(arrays, count, &err));
    KILN_TRY(kiln__wait(arrays, count, &err));
    return 0;
}

int mlx_async_eval(const mlx_vector_array outputs)
{
    kiln_error err;
    size_t count;
    KILN_NEED_VECTOR(outputs);
    struct kiln_array *const *arrays = kiln__vector_arrays(outputs, &count);
    KILN_TRY(kiln__eval_async(arrays, count, &err));
    return 0;
}
