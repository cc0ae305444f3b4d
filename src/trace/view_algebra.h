/*
 * view_algebra.h - what views do to shapes, as values that can be combined: the algebra behind push_views.c.
 *
 * A view says which element of its base each of its elements is. Two forms:
 *
 *     rearranged   each axis takes an axis of the base from some start in some step, or repeats (it takes none). Chains
 *                  of transpose, slice, broadcast, expand_dims and squeeze are one of these. `attrs` are those of
 *                  KILN_OP_REARRANGE: start of each axis of the base; then dim, axis (-1: none) and step of each axis.
 *     reshaped     the same elements in row-major order under other dims. `attrs` are the dims.
 *
 * There is one way to write a view: an axis of at most one element takes no axis in step 0, and an empty view takes
 * nothing. So equal views have equal attributes. NULL stands for the view that changes nothing.
 */
#ifndef KILN_TRACE_VIEW_ALGEBRA_H
#define KILN_TRACE_VIEW_ALGEBRA_H

#include "trace/tape.h"

struct kiln_view {
    uint8_t op; /* KILN_OP_REARRANGE or KILN_OP_RESHAPE */
    uint8_t base_ndim, ndim;
    uint16_t attr_count;
    int64_t *attrs;
};

/* False from a function below: out of memory. *out may be NULL, for no change. Views live in the tape's arena. */

/* Does the node only look at its input in a way that a view can say? */
bool kiln__view_is(const struct kiln_value *value);
/* The view that a node for which that holds is of its input. */
bool kiln__view_of(struct kiln_tape *tape, const struct kiln_value *value, const struct kiln_view **out);
/* `outer` as seen through `inner`: a view of inner's base. Both of one form (kiln__view_combine_is). */
bool kiln__view_combine(struct kiln_tape *tape, const struct kiln_view *outer, const struct kiln_view *inner,
                        const struct kiln_value *base, const struct kiln_view **out);
bool kiln__view_combine_is(const struct kiln_view *outer, const struct kiln_view *inner);

/*
 * An element-wise value under a view is the operation on its inputs under views: this is the one of `input`, with axes
 * of size one where the input repeats. *possible: false where a reshape would have to cut across axes that repeat.
 */
bool kiln__view_of_operand(struct kiln_tape *tape, const struct kiln_view *view, const struct kiln_value *value,
                           const struct kiln_value *input, const struct kiln_view **out, bool *possible);

bool kiln__view_equal(const struct kiln_view *a, const struct kiln_view *b);
int64_t kiln__view_dim(const struct kiln_view *view, uint32_t axis);
/* Does it show some element of its base more than once? */
bool kiln__view_repeats(const struct kiln_view *view);
/* Is it a base of these dims with an axis of one element behind? */
bool kiln__view_appends_axis(const struct kiln_view *view, const struct kiln_value *base);

#endif
