/*
 * abi_transforms.c - transforms.h of the ABI: evaluation.
 */
#include "mlxc/abi_vector.h"
#include "run/eval.h"
#include "run/placement.h"

int mlx_eval(const mlx_vector_array outputs)
{
    kiln_error err;
    if (KILN_NO_VECTOR(outputs)) return 1;
    struct kiln_array *const *arrays = kiln__vector_data(outputs);
    size_t count = kiln__vector_size(outputs);
    return kiln__eval(arrays, count, &err) || kiln__wait(arrays, count, &err) ? KILN_FAIL(&err) : 0;
}

int mlx_async_eval(const mlx_vector_array outputs)
{
    kiln_error err;
    if (KILN_NO_VECTOR(outputs)) return 1;
    return kiln__eval_async(kiln__vector_data(outputs), kiln__vector_size(outputs), &err) ? KILN_FAIL(&err) : 0;
}
