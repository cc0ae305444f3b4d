/*
 * transpose.h - copies whose source is packed along another axis than their destination.
 */
#ifndef KILN_RUN_CPU_TRANSPOSE_H
#define KILN_RUN_CPU_TRANSPOSE_H

#include "run/kernels/loop.h"

/*
 * Copies region 1 of a collapsed loop to region 0 when that is such a copy, and large enough to gain by it. False: it
 * is not, and nothing was done. In a dry run nothing is copied.
 */
bool kiln__transpose_copy(const struct kiln_loop *loop);

/*
 * Copies `rows` rows of `n` elements of `item` bytes on this thread: element i of a row lies i * from_row bytes from
 * its first in the source, where the elements of one column are packed.
 */
void kiln__transpose_block(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows, int64_t n,
                           int64_t item);

#endif
