/*
 * transpose.h - copies whose source is packed along another axis than their destination.
 */
#ifndef KILN_RUN_TRANSPOSE_H
#define KILN_RUN_TRANSPOSE_H

#include "run/loop.h"

/*
 * Copies region 1 of a collapsed loop to region 0 when that is such a copy, and large enough to gain by it. False: it
 * is not, and nothing was done.
 */
bool kiln__transpose_copy(const struct kiln_loop *loop);

#endif
