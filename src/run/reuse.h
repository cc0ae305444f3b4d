/*
 * reuse.h - which operands may be written over. Every result that takes the storage of an operand asks here.
 *
 * Two things must hold. Nobody else can see the bytes: there is one reference to the array and one to its storage, the
 * storage is ours, and nobody reads its copy elsewhere, which is dropped. Who asks must know that the one reference is
 * his: an operation's node, a slot of a run, or an input that the caller has given up (run/plan.h). And nothing is read
 * after it was written:
 *
 * - A kernel computes the elements of an index space. For each index it reads all operands before it writes any output,
 *   whatever the order of the indices and however many threads share them. A kernel with rows may read a row several
 *   times; it has read an element for the last time when it writes the output at the same index. So an output may lie
 *   where an operand does if, at every index, both have the same address and no two indices share one. An operand
 *   that is repeated along an axis, as one row is for all rows, is read at other indices too. An output with one
 *   element per row is written while other rows may still read what they share. Neither is ever reused.
 * - An update in place changes some elements and leaves the others. In a view that shows one address as several
 *   elements it would change them all. What it reads, the update and the places, lies in other storage, or that would
 *   have another reference. Steps of a plan run one after the other, so what an earlier step reads was read; a later
 *   one that reads the old elements holds them in a slot, as an input that is read again, as an output or as a view,
 *   and then the step is no last use or the storage has another reference.
 */
#ifndef KILN_RUN_REUSE_H
#define KILN_RUN_REUSE_H

#include "array/array.h"

/* May a kernel over the index space `dims` write `out`, packed and without storage so far, where `operand` lies? */
bool kiln__can_write_over(const struct kiln_array *operand, const struct kiln_array *out, const int32_t *dims,
                          size_t ndim);

/* May the elements of `array` be changed by who holds the only reference to it? */
bool kiln__can_update(const struct kiln_array *array);

#endif
