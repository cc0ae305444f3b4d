/*
 * combine.h - what the reductions have in common: the dtype of a lane, the identity element it starts with, and how two
 * lanes are combined. Inside the codegen layer.
 *
 * A lane has the output's dtype, but float32 for 16-bit floats, and uint8 (0 or 1) for bool, because lanes are stored
 * in memory.
 */
#ifndef KILN_CODEGEN_COMBINE_H
#define KILN_CODEGEN_COMBINE_H

#include "array/dtype.h"
#include "codegen/print_ir.h"
#include "graph/ops.h"

enum { KILN_REDUCE_LANES = 16 };

/* A reduction about to be printed. */
struct kiln_reducer {
    enum kiln_op op;
    enum kiln_dtype in, out, lane;
    char layout; /* of the operand: see group.h */
    struct kiln_ir *ir;
};

/* KILN_INVALID: not a reduction, or not defined for these dtypes. Fills op, in, out, lane and layout. */
kiln_status kiln__reducer_init(struct kiln_reducer *reducer, enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out,
                               char layout, kiln_error *err);
/* The identity element a lane starts with, one part of it, such as "0xFFF0000000000000". */
const char *kiln__reduce_identity(const struct kiln_reducer *reducer, int part);
/* Does combining with the identity element never change a value? Not for products of complex numbers. */
bool kiln__reduce_identity_is_exact(const struct kiln_reducer *reducer);
/* Is it associative, bit for bit? */
bool kiln__reduce_is_associative(const struct kiln_reducer *reducer);
/* name = a combined with b: values of `lanes` lanes, 0 for one element. */
void kiln__reduce_combine(struct kiln_reducer *reducer, const char *name, const char *a, const char *b, int lanes);
/* name = the element `source` of dtype `in`, converted to the dtype of a lane. */
void kiln__reduce_enter(struct kiln_reducer *reducer, const char *name, const char *source, int lanes);
/* Converts the lane `source` to dtype `out` and stores it at `pointer`. */
void kiln__reduce_leave(struct kiln_reducer *reducer, const char *source, const char *pointer, const char *tail);

/* Alignment of one part of a lane in memory, and of all 16 of them, of which those of the next level may follow. */
size_t kiln__reduce_lane_align(const struct kiln_reducer *reducer);
size_t kiln__reduce_lanes_align(const struct kiln_reducer *reducer);

/* %total (or %totalr, %totali) = the 16 lanes of `lanes`, a vector for each part, combined in pairs. */
void kiln__reduce_pairs(struct kiln_reducer *reducer, const char *lanes);
/* The same of the lanes in memory, at %lanes0 (and %lanes1). */
void kiln__reduce_total(struct kiln_reducer *reducer);

/*
 * The tail of a row, fewer than 16 elements, as a masked vector. Most targets have no masked load of elements smaller
 * than 4 bytes; those are loaded one by one. kiln__reduce_mask() prints %mask: the first `count` lanes, an i64.
 */
bool kiln__reduce_has_masked_load(const char *type);
void kiln__reduce_mask(struct kiln_reducer *reducer, const char *count);
/* name = the elements of `type` at `pointer` in the lanes of %mask, 0 in the others. */
void kiln__reduce_masked_load(struct kiln_reducer *reducer, const char *name, const char *type, const char *pointer);
/* name = a combined with b in the lanes of %mask, a in the others. */
void kiln__reduce_masked_combine(struct kiln_reducer *reducer, const char *name, const char *a, const char *b);

/* reduce_columns.c: the form for neighbouring outputs. */
void kiln__reduce_columns_print(struct kiln_reducer *reducer);

#endif
