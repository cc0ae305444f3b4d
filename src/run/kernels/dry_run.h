/*
 * dry_run.h - launches that choose their kernel variants and run nothing, so that these can be compiled beforehand.
 *
 * While kiln__dry_run is set, launches of this thread go as far as their choice: layouts, flags, schedule config. A
 * variant that is not there yet is noted, once. Arrays have shapes, strides and addresses, but no bytes: alignment may
 * be looked at, nothing is read or written. What was noted is then compiled side by side, on the threads of the pool.
 */
#ifndef KILN_RUN_KERNELS_DRY_RUN_H
#define KILN_RUN_KERNELS_DRY_RUN_H

#include "run/kernels/launch.h"

struct kiln_dry_run {
    struct kiln_choice *choices;
    size_t count, cap;
};

/* NULL: launches run. Set by run/prepare.c, around code that calls nobody else's. */
extern _Thread_local struct kiln_dry_run *kiln__dry_run __attribute__((tls_model("initial-exec")));

/* The address of bytes that are not there: aligned like those of new storage, and far from both ends of memory. */
#define KILN_NO_BYTES ((char *)((uintptr_t)1 << 46))

/* Notes a variant of `kernels` that is to be compiled, and owns it from here on, also on failure. */
kiln_status kiln__dry_run_note(struct kiln_group_kernels *kernels, struct kiln_variant *variant, kiln_error *err);

/* Links what was noted and needs no compiler and no remote, up to the first that does. True: none did. Nothing is found
 * by launches yet. */
bool kiln__dry_run_load(struct kiln_dry_run *dry_run);
/*
 * Compiles all that was noted and is not loaded, and lets launches find it. On failure the error is that of the first
 * variant, in the order of launches, that could not be compiled; what others could be compiled stays.
 */
kiln_status kiln__dry_run_compile(struct kiln_dry_run *dry_run, kiln_error *err);
/* The same on this thread alone, one after the other as long as `goes_on` says so; false: it did not. Nothing is found
 * by launches before kiln__dry_run_publish(), which gives the error of the first one that could not be compiled. */
bool kiln__dry_run_compile_alone(struct kiln_dry_run *dry_run, bool (*goes_on)(const void *context),
                                 const void *context);
kiln_status kiln__dry_run_publish(struct kiln_dry_run *dry_run, kiln_error *err);
void kiln__dry_run_release(struct kiln_dry_run *dry_run);

/*
 * The variant of flags[0], as kiln__variant_get() gives it, for an operation whose other calls need others of these:
 * when it is not there yet, all that are missing are compiled side by side, so that the later calls compile nothing. In
 * a dry run all are noted, and *out is NULL.
 */
kiln_status kiln__variants_get(struct kiln_group_kernels *kernels, const char *layouts, const unsigned *flags,
                               size_t count, kiln_kernel_entry *out, kiln_error *err);

#endif
