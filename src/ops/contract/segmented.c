/*
 * segmented.c - products of segments. Their places are values, so one operation reads them when it runs:
 * run/ops/segmented_matmul.c.
 */
#include "ops/contract/structured_products.h"
#include "ops/expression.h"

kiln_status kiln__segmented_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_array *segments,
                               struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (!a || !b || !segments) return kiln__fail(err, KILN_INVALID, "[segmented_mm] input is empty.");
    enum kiln_dtype dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    struct kiln_array *inputs[] = {kiln__e_astype(&e, a, dtype), kiln__e_astype(&e, b, dtype), segments};
    return kiln__e_end(&e, kiln__e_apply(&e, KILN_OP_SEGMENTED_MATMUL, inputs, 3, NULL, 0), out);
}
