/*
 * provenance.h - a description of what a kernel of arrays was compiled for, kept with its artifact for `kiln show` and
 * `kiln why`.
 *
 * Lines of a name, a tab and a value, as docs/formats/key.md has them for calls. Printed only when a compiler runs.
 */
#ifndef KILN_RUN_PROVENANCE_H
#define KILN_RUN_PROVENANCE_H

#include "base/buffer.h"
#include "run/plan.h"

struct kiln_provenance_of {
    const struct kiln_group_kernels *kernels;
    const char *layouts; /* one for each operand */
};

/* context: a struct kiln_provenance_of. Fits struct kiln_provenance. */
void kiln__provenance_print(const void *context, struct kiln_buffer *out);

#endif
