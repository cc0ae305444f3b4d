/*
 * launch.h - a group, arrays and the kernel variant for their layout: find it, run it, on as many cores as pay.
 */
#ifndef KILN_RUN_LAUNCH_H
#define KILN_RUN_LAUNCH_H

#include "array/array.h"
#include "codegen/group.h"

typedef void (*kiln_kernel_entry)(const uint64_t *args, const int64_t *strides, int64_t rows, int64_t n);

/*
 * A group and the variants of its kernel that were needed so far: a short list, published entry by entry, read without
 * a lock. Variants are compiled when a layout first asks for them. Made once per (op, dtypes) for uncompiled operations
 * and once per fused group of a plan.
 */
struct kiln_group_kernels {
    struct kiln_group group; /* owned */
    char name[64];           /* for people: "multiply" or "fused_3" */
    _Atomic(struct kiln_variant *) variants;
};

struct kiln_variant {
    struct kiln_variant *next;
    kiln_kernel_entry entry;
    unsigned flags;
    char letters[];
};

void kiln__group_kernels_release(struct kiln_group_kernels *kernels);

/* The variant for these letters, compiled if it is new (through the default cache). */
kiln_status kiln__variant_get(struct kiln_group_kernels *kernels, const char *letters, unsigned flags,
                              kiln_kernel_entry *out, kiln_error *err);

/*
 * Computes outputs (already allocated, packed, all of one shape) from ready operands that broadcast to that shape.
 * constants: bits, as the kernel ABI wants them.
 */
kiln_status kiln__launch(struct kiln_group_kernels *kernels, struct kiln_array *const *operands, const uint64_t *constants,
                         struct kiln_array *const *outputs, kiln_error *err);

#endif
