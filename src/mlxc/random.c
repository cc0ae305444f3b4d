/*
 * random.c - random.h of the ABI. An empty key takes the next one of the process-wide sequence.
 */
#include "graph/compose.h"
#include "mlxc/handle.h"

int mlx_random_key(mlx_array *res, uint64_t seed)
{
    const uint32_t words[2] = {(uint32_t)(seed >> 32), (uint32_t)seed};
    const int shape[1] = {2};
    KILN_RETURN_RESULT(res, kiln__array_from_data(words, KILN_UINT32, 1, shape, &out, &err));
}

int mlx_random_bits(mlx_array *res, const int *shape, size_t shape_num, int width, const mlx_array key,
                    const mlx_stream s)
{
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    if (width != 4) return KILN_FAIL_TEXT("[bits] the width of random bits must be 4 bytes in this version of Kiln");
    KILN_RETURN_RESULT(res, kiln__random_bits(shape, shape_num, kiln__unwrap_optional(key), &out, &err));
}

int mlx_random_bernoulli(mlx_array *res, const mlx_array p, const int *shape, size_t shape_num, const mlx_array key,
                         const mlx_stream s)
{
    KILN_NEED_ARRAY(p);
    KILN_NEED_STREAM(s);
    if (shape_num) KILN_NEED_POINTER(shape);
    KILN_RETURN_RESULT(
        res, kiln__random_bernoulli(kiln__unwrap(p), shape, shape_num, kiln__unwrap_optional(key), &out, &err));
}
