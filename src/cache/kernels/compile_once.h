/*
 * compile_once.h - one run of a compiler's compile(): what it made, and what it turned out to depend on. Inside the
 * cache layer.
 */
#ifndef KILN_CACHE_KERNELS_COMPILE_ONCE_H
#define KILN_CACHE_KERNELS_COMPILE_ONCE_H

#include "cache/kernels/compiling.h"

struct kiln_compiled {
    struct kiln_artifact *artifact; /* its sections; it does not say yet what it is */
    struct kiln_buffer set;         /* of names (key/inputs.h): what it depends on besides its content key */
};

/* Counted and logged. What compile() must not do fails it whatever it returns. After a failure *out is empty. */
kiln_status kiln__compile_once(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err);
void kiln__compiled_release(struct kiln_compiled *compiled);

#endif
