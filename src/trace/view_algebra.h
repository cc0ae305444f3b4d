/*
 * view_algebra.h - views as values that can be composed, for push_views.c.
 *
 * A view maps the index of each of its elements to the index of an element of its base. There are two forms:
 *
 *     rearranged   each axis walks along an axis of the base, with a start and a step, or repeats (axis -1).
 *                  Every chain of transpose, slice, broadcast, expand_dims and squeeze is of this form.
 *                  `attrs` are those of KILN_OP_REARRANGE: start of each axis of the base; then dim, axis (-1: none)
 * and step of each axis. reshaped     the same elements in row-major order with other dims. `attrs` are the dims.
 *
 * Views are kept in canonical form: an axis of at most one element has axis -1 and step 0, and so have all axes of an
 * empty view. So equal views have equal attributes. NULL is the identity.
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

/* Is the node a view of its input that has one of these forms? */
bool kiln__view_is(const struct kiln_value *value);
/* The view of such a node. */
bool kiln__view_of(struct kiln_tape *tape, const struct kiln_value *value, const struct kiln_view **out);
/* The composition of `outer` after `inner`: a view of inner's base. Both are of one form (kiln__view_combine_is). */
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
/* Is some element of its base repeated? */
bool kiln__view_repeats(const struct kiln_view *view);
/* Does it only append an axis of one element to a base of these dims? */
bool kiln__view_appends_axis(const struct kiln_view *view, const struct kiln_value *base);

#endif
