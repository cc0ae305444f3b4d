/*
 * launch.h - a group, arrays and the kernel variant for their layout: find it, run it at the active device
 * (run/placement.h). Launches of the CPU: run/cpu/cpu_launch.h; of GPUs: run/gpu/gpu_launch.h.
 */
#ifndef KILN_RUN_KERNELS_LAUNCH_H
#define KILN_RUN_KERNELS_LAUNCH_H

#include "array/array.h"
#include "codegen/group.h"
#include "device/device.h"
#include "run/kernels/loop.h"

typedef void (*kiln_kernel_entry)(const uint64_t *args, const int64_t *strides, int64_t rows, int64_t n);

/* Pointers and constants of one kernel; more is KILN_INVALID. Room for long chains of operations with scalars. */
enum { KILN_LAUNCH_MAX_ARGS = 4096 };

/*
 * A group and the variants of its kernel that were needed so far: a short list, published entry by entry, read without
 * a lock. Made once per (op, dtypes) for uncompiled operations and once per fused group of a plan. A group whose one
 * instruction is a reduction (kind REDUCE) makes reductions.
 *
 * The variants that a plan's first call needs are compiled when the plan is made (run/prepare.c). A lazy variant is one
 * that was not known then; the launch that first needs it compiles it, and reports a compile error. Lazy are:
 * - variants of a later call whose inputs have another layout or alignment, or that runs under other options, on
 *   another device, or on one that was reset;
 * - variants of steps that read an input of the first call that was not evaluated yet, unless what makes it packs it;
 * - copies inside of operations that look at elements or storage first: scatter, put_along_axis, slice_update;
 * - all variants of uncompiled operations.
 */
struct kiln_group_kernels {
    struct kiln_group group;      /* each of its four arrays comes from malloc, or is NULL; owned, or those of `same` */
    char name[64];                /* for people: "multiply", "swiglu" or "fused_3" */
    const struct kiln_plan *plan; /* that owns it; NULL: of an uncompiled operation */
    uint32_t step;                /* of the plan */
    struct kiln_group_kernels
        *same; /* NULL, or others with an equal group, whose variants are used: run/kernels/kernel_set.h */
    _Atomic(struct kiln_variant *) variants;
    _Atomic(struct kiln_gpu_known *) known; /* launches on GPUs: run/gpu/launch_cache.c */
};

struct kiln_variant {
    struct kiln_variant *next;
    struct kiln_kernel *kernel; /* a reference; NULL: not compiled yet, or compiled only (KILN_MODE) */
    void *executable;           /* the kernel's: an address, or a GPU's function */
    kiln_device *device;        /* what it is linked for; a reset device makes it match no more */
    uint32_t generation;
    uint32_t options; /* of the environment, packed: key/options.h */
    unsigned flags;
    char layouts[];
};

void kiln__group_release(struct kiln_group *group);
/* Frees the variants' list and the group's arrays, not the struct. Nothing may be running in them. */
void kiln__group_kernels_release(struct kiln_group_kernels *kernels);

/* The kernels of one uncompiled operation, made once. `in` is the inputs' dtype (of where: the second input's). */
kiln_status kiln__op_kernels(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out,
                             struct kiln_group_kernels **kernels, kiln_error *err);

/*
 * The variant for these layouts, compiled if it is new (through the default cache). In a dry run it is noted instead,
 * and *out is NULL.
 */
kiln_status kiln__variant_get(struct kiln_group_kernels *kernels, const char *layouts, unsigned flags,
                              kiln_kernel_entry *out, kiln_error *err);

/* The same for a GPU and one of its schedules; the function is the driver's. NULL: compiled only (KILN_MODE). */
struct kiln_gpu_config;
kiln_status kiln__gpu_variant_get(struct kiln_group_kernels *kernels, kiln_device *device, const char *layouts,
                                  const struct kiln_gpu_config *config, void **function, kiln_error *err);

/* Appends the text that a variant is compiled from. */
kiln_status kiln__variant_print(const struct kiln_group_kernels *kernels, const struct kiln_variant *variant,
                                struct kiln_buffer *text, kiln_error *err);
/* For who makes a variant beforehand. Fills in kernel and executable; on failure neither is set. Safe for threads. */
kiln_status kiln__variant_compile(const struct kiln_group_kernels *kernels, struct kiln_variant *variant,
                                  kiln_error *err);
/* The same for what is at hand; KILN_MISS: the compiler, or a remote, is needed. */
enum kiln_outcome kiln__variant_load(const struct kiln_group_kernels *kernels, struct kiln_variant *variant,
                                     kiln_error *err);
/* Lets launches find `mine`, or frees it when an equal one got there first; the one that stays. */
const struct kiln_variant *kiln__variant_publish(struct kiln_group_kernels *kernels, struct kiln_variant *mine);
void kiln__variant_free(struct kiln_variant *variant);
/* How many lazy variants launches of plans have compiled in this process. */
uint64_t kiln__lazy_variants(void);

/*
 * Computes outputs (already allocated, packed, all of one shape) from ready operands that broadcast to that shape.
 * constants: bits, as the kernel ABI wants them.
 */
typedef kiln_status kiln_launch(struct kiln_group_kernels *kernels, struct kiln_array *const *operands,
                                const uint64_t *constants, struct kiln_array *const *outputs, kiln_error *err);
kiln_launch kiln__launch;

/*
 * The same over any regions, outputs first, then operands; the outputs need not be packed. `loop` is collapsed on the
 * way.
 */
typedef kiln_status kiln_launch_loop(struct kiln_group_kernels *kernels, struct kiln_loop *loop,
                                     const uint64_t *constants, kiln_error *err);
kiln_launch_loop kiln__launch_loop;

/*
 * One level of a reduction (codegen/group.h): `loop` has the axes that stay and two regions, the output and the input.
 * Each output element is made from `n` input elements, which lie `stride` bytes apart; n is at most the backend's
 * longest_reduction().
 */
typedef kiln_status kiln_launch_reduction(struct kiln_group_kernels *kernels, struct kiln_loop *loop, int64_t n,
                                          int64_t stride, kiln_error *err);
kiln_launch_reduction kiln__launch_reduction;

/*
 * A group with reductions along its rows: `dims` is the shape of its elements, whose last axis is the row. Operands
 * broadcast to it; an output has that shape, or one element per row (with or without the last axis).
 */
typedef kiln_status kiln_launch_rows(struct kiln_group_kernels *kernels, const int32_t *dims, size_t ndim,
                                     struct kiln_array *const *operands, const uint64_t *constants,
                                     struct kiln_array *const *outputs, kiln_error *err);
kiln_launch_rows kiln__launch_rows;

/* Region 1 of a collapsed loop to region 0, bit by bit, by a kernel. */
kiln_status kiln__launch_copy(struct kiln_loop *loop, kiln_error *err);

#endif
