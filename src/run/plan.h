/*
 * plan.h - what tracing, simplifying and fusing a signature gave: a flat list of steps over slots.
 *
 * A slot holds an array while a plan runs: first the inputs, then captured constants, then what steps make. A step is
 * one kernel launch or one operation; it knows the slots that nobody reads after it, so intermediates are released as
 * early as they can be. Plans are immutable and reference counted; any number of threads may run one at the same time.
 *
 * An input is consumed if the last step that reads it is an update in place, or a view on the way to one. A run that
 * owns such an input, because nobody else refers to it, takes its storage: the array that the caller gave has none
 * afterwards. So a chain of updates works on the same bytes; and a run that fails after that can't be tried again.
 */
#ifndef KILN_RUN_PLAN_H
#define KILN_RUN_PLAN_H

#include "run/kernels/kernel_set.h"
#include "trace/tape.h"

struct kiln_shape {
    uint8_t dtype, ndim;
    int32_t *dims;
    int64_t size; /* elements; -1: more bytes than can be counted */
};

struct kiln_step {
    struct kiln_group_kernels *kernels; /* NULL: an operation */
    const struct kiln_shape *rows;      /* a kernel with rows: the shape of its elements; else NULL */
    uint8_t op;
    bool consumes; /* its first input is one of the plan that is consumed here */
    uint32_t attr_count, input_count, output_count, release_count;
    int64_t *attrs;
    uint32_t *inputs;   /* slots */
    uint32_t *outputs;  /* slots */
    uint32_t *releases; /* slots that nobody reads after this step */
    uint64_t *constants;
};

/* What a call has to look at before it runs a plan. */
enum kiln_plan_trait {
    KILN_PLAN_CONSUMES = 1, /* one of its steps does */
    KILN_PLAN_UNFUSED = 2,  /* it serves until its fused kernels are compiled: run/background.h */
};

struct kiln_plan {
    _Atomic uint32_t refs;
    struct kiln_arena arena; /* holds everything below but kernels and constants */
    const char *name;        /* of the function; NULL: it has none */
    bool is_shapeless;       /* made from a record that serves other sizes too */
    uint8_t traits;          /* enum kiln_plan_trait; 0 for most plans */
    uint32_t device_index;   /* where it runs: graph/default_device.h */
    uint32_t stream;         /* of that GPU */
    struct kiln_launch_graph
        *launch_graph; /* on a GPU, unless a library is called: see run/gpu/gpu_launch.h; else NULL */
    uint32_t slot_count, input_count, constant_count, step_count, output_count;
    struct kiln_shape *shapes;     /* of each slot as traced */
    struct kiln_array **constants; /* references; slots input_count ... */
    struct kiln_array **placed;    /* the same at the plan's GPU; NULL: each run moves those that are elsewhere */
    struct kiln_step *steps;
    uint32_t *outputs; /* slots */
    int64_t work;      /* elements that steps make, as traced */
};

/*
 * Needs a tape that was simplified (or marked) and fused. Takes references to its constants. Kernels are shared with
 * other plans of the set, which may be NULL.
 */
kiln_status kiln__plan_new(const struct kiln_tape *tape, struct kiln_kernel_set *set, struct kiln_plan **out,
                           kiln_error *err);
/*
 * Compiles the kernels that a call with these inputs will launch, side by side: after it, only lazy variants are
 * compiled by a launch (run/kernels/launch.h). The inputs may be lazy. On failure, of the compiler's for instance, the
 * plan is as before.
 */
kiln_status kiln__plan_prepare(const struct kiln_plan *plan, struct kiln_array *const *inputs, kiln_error *err);
/* Links what of these is at hand, up to the first that is not: then *is_complete is false. What was found to be needed
 * is added to `missing` (run/kernels/dry_run.h), which the caller releases; nothing is published yet. */
struct kiln_dry_run;
kiln_status kiln__plan_load(const struct kiln_plan *plan, struct kiln_array *const *inputs,
                            struct kiln_dry_run *missing, bool *is_complete, kiln_error *err);
/* Before others see it: copies constants to the plan's GPU once and for all. Where it can't, runs do. */
void kiln__plan_place_constants(struct kiln_plan *plan);
void kiln__plan_ref(struct kiln_plan *plan);
void kiln__plan_unref(void *plan); /* NULL is fine */

/* Runs it on ready inputs. `outputs` gets output_count references; untouched on failure. */
kiln_status kiln__plan_run(const struct kiln_plan *plan, struct kiln_array *const *inputs, struct kiln_array **outputs,
                           kiln_error *err);
/* The same where the caller gives up inputs, a bool for each (NULL: none). Where nobody else refers to one it may be
 * written over and consumed, also by a run that fails: kiln__array_is_consumed(). */
kiln_status kiln__plan_run_donated(const struct kiln_plan *plan, struct kiln_array *const *inputs, const bool *donated,
                                   struct kiln_array **outputs, kiln_error *err);

/* For run/prepare.c. An array of that shape, packed, without bytes. */
kiln_status kiln__shape_array(const struct kiln_shape *shape, struct kiln_array **out, kiln_error *err);
/* Can the plan's GPU launch the kernel of this step? */
bool kiln__step_can_launch(const struct kiln_plan *plan, const struct kiln_step *step);
/* Launches the kernel of a step, at the active device. */
kiln_status kiln__step_launch(const struct kiln_step *step, struct kiln_array *const *operands,
                              struct kiln_array *const *outputs, kiln_error *err);

/* One lazy node for the whole plan; the inputs may be lazy. `outputs` gets output_count references. */
kiln_status kiln__plan_defer(struct kiln_plan *plan, struct kiln_array *const *inputs, struct kiln_array **outputs,
                             kiln_error *err);

#endif
