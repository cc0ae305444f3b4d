/*
 * series.c - see series.h.
 */
#include "ops/series.h"

#include <string.h>

#include "ops/compose.h"
#include "graph/rules.h"

kiln_status kiln__series(enum kiln_series_kind kind, const double numbers[2], int count, enum kiln_dtype dtype,
                         struct kiln_array **out, kiln_error *err)
{
    int64_t attrs[3] = {kind};
    struct kiln_array *wide = NULL;
    const struct kiln_call call = {.op = KILN_OP_SERIES, .attrs = attrs, .attr_count = 3};
    const struct kiln_result result = {.as_they_are = true, .dtype = KILN_FLOAT64, .ndim = 1, .dims = {count}};
    memcpy(attrs + 1, numbers, 2 * sizeof *numbers);
    kiln_status status = kiln__apply_result(&call, &result, &wide, err);
    if (!status) status = kiln__astype(wide, dtype, out, err);
    kiln__array_unref(wide);
    return status;
}
