/*
 * series_kernels.c - number i of a series, as run/ops/fill_series.c has it: steps from a start, or spaced between two
 * ends.
 */
#include "codegen/runtime/gpu/numbers.h"

void kiln_gpu_series(char *out, float *shared, int64_t count, int64_t first, int64_t second, int is_spaced)
{
    const int64_t i = grid_thread();
    const double a = f64_of_bits((uint64_t)first), b = f64_of_bits((uint64_t)second);
    (void)shared;
    if (i >= count) return;
    const double at = count > 1 ? (double)i / (double)(count - 1) : 0;
    const int is_end = i > 0 && i == count - 1;
    ((double *)out)[i] = !is_spaced ? a + (double)i * b : is_end ? b : a * (1 - at) + b * at;
}
