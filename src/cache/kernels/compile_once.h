/*
 * compile_once.h - a run of a compiler's compile(): what it made, and what it turned out to depend on. Inside the
 * cache layer.
 */
#ifndef KILN_CACHE_KERNELS_COMPILE_ONCE_H
#define KILN_CACHE_KERNELS_COMPILE_ONCE_H

#include "cache/kernels/compiling.h"

struct kiln_compiled {
    struct kiln_artifact *artifact; /* its sections; it does not say yet what it is */
    struct kiln_buffer set;         /* of names (key/inputs.h): what it depends on besides its content key */
    struct kiln_file_looks looks;   /* the files among them, as they were when compile() named them */
    bool is_unsure;                 /* these changed while it ran: nobody knows which of their contents it read */
};

/* Counted and logged. What compile() must not do fails it whatever it returns. It runs again when files that it names
 * have changed while it ran, a few times at most. After a failure *out is empty. */
kiln_status kiln__compile_once(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err);
void kiln__compiled_release(struct kiln_compiled *compiled);

#endif
