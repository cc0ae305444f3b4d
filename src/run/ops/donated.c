/*
 * donated.c - what stands for an array that was donated (ops/creation.h) can't be computed.
 */
#include "run/ops/operation.h"

kiln_status kiln__run_donated(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    (void)node, (void)out;
    return kiln__fail(
        err, KILN_INVALID,
        "[donated] The array was donated to a call of a compiled function, which may have written over it; "
        "use what the call returned.");
}
