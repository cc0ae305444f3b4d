/*
 * gpu_lanes.h - lanes of reductions as values of a GPU's threads. Inside the codegen layer.
 *
 * A lane is named like any value: one SSA value, or for complex64 two with "r" and "i" behind the name. The first 16
 * threads of a warp have a lane each. The identity element and how lanes are combined are in combine.h.
 */
#ifndef KILN_CODEGEN_GPU_GPU_LANES_H
#define KILN_CODEGEN_GPU_GPU_LANES_H

#include "codegen/combine.h"
#include "codegen/printer.h"

/* name = `a` where control comes from block `from_a`, else `b` from `from_b`, which may be NULL; a NULL value is
 * the identity element. */
void kiln__lane_phi(struct kiln_reducer *r, const char *name, const char *a, const char *from_a, const char *b,
                    const char *from_b);
/* name = the i1 `condition` ? a : b */
void kiln__lane_select(struct kiln_reducer *r, const char *name, const char *condition, const char *a, const char *b);
/*
 * name = `source`, of an LLVM `type`, in another thread of the warp: `kind` is that of the shuffle, "down", "bfly" or
 * "idx". Temporaries are the name and a suffix.
 */
void kiln__gpu_exchange(struct kiln_printer *p, const char *type, const char *name, const char *source,
                        const char *kind, int distance);
/* name = the lane of the thread `distance` further on in the warp. */
void kiln__lane_down(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source,
                     int distance);
/* name = the lane of the thread 16 further on in the warp, or 16 before. */
void kiln__lane_across(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source);
/* name = the lane of the warp's first thread. */
void kiln__lane_first(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source);

/*
 * Must elements be combined in the order of group.h to give its bits? FREE: not for integers. QUICK: not for maxima and
 * minima of float32 lanes either, except for the sign of a zero, where the last of several zeros wins. These use the
 * GPU's instruction, for which +0 is greater than -0, and compute a chunk whose result is a zero again in order. The
 * payload of a NaN does not matter: stores canonicalize it. ORDERED: all others.
 */
enum kiln_lane_order { KILN_LANES_FREE, KILN_LANES_QUICK, KILN_LANES_ORDERED };
enum kiln_lane_order kiln__lane_order(const struct kiln_reducer *r);

/* name = a combined with b: with the bits of group.h, or with the GPU's instruction where kiln__lane_order() allows. */
typedef void kiln_lane_combine(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *a,
                               const char *b);
kiln_lane_combine kiln__lane_combine, kiln__lane_combine_quickly;

/* name, in the warp's first thread, = all 16 lanes combined in pairs. Temporaries are the name and a suffix. */
void kiln__lane_total(struct kiln_printer *p, struct kiln_reducer *r, const char *name, const char *source,
                      kiln_lane_combine *combine);

/* Bytes of `count` lanes in shared memory, aligned to 16. */
uint32_t kiln__lane_bytes(const struct kiln_reducer *r, uint32_t count);
/* Store or load lane `index` (an i64) of `count` at byte `offset` of @lanes. */
void kiln__lane_store(struct kiln_reducer *r, const char *source, uint32_t offset, uint32_t count, const char *index);
void kiln__lane_load(struct kiln_reducer *r, const char *name, uint32_t offset, uint32_t count, const char *index);

#endif
