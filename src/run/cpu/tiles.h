/*
 * tiles.h - operands that are packed along another axis than a kernel's inner loop, turned a tile at a time.
 *
 * Reading such an operand element by element touches a cache line for each. Instead the launch goes by tiles: a few
 * lines of the operand are turned into scratch memory, where the kernel finds them packed. So a transposed operand
 * costs little more than a packed one, and the kernel is the one for packed operands.
 */
#ifndef KILN_RUN_CPU_TILES_H
#define KILN_RUN_CPU_TILES_H

#include "run/kernels/launch.h"

enum { KILN_TILES_OPERANDS = 8 };

struct kiln_tiles {
    size_t count; /* operands that are turned; 0: the launch has no tiles */
    size_t pointers, args_count;
    size_t sources[KILN_TILES_OPERANDS];                             /* among the launch's pointers */
    int64_t items[KILN_TILES_OPERANDS], starts[KILN_TILES_OPERANDS]; /* bytes of an element; start in scratch memory */
    int64_t rows, n;                                                 /* of a tile */
    size_t scratch_bytes;                                            /* for one call */
};

/*
 * Looks for operands to turn. `loop` has the axes outside the inner one, of n elements, along which pointers have the
 * strides inner[2 * i + 1]. When there are some, the axis along which they are packed becomes the last one of the loop.
 * `whole`: a kernel needs all n elements of a row at once.
 */
void kiln__tiles_choose(struct kiln_tiles *tiles, struct kiln_loop *loop, size_t outputs, const int64_t *strides,
                        int64_t n, bool whole);
bool kiln__tiles_turn(const struct kiln_tiles *tiles, size_t pointer); /* is that one turned? */

/* Calls the kernel on `rows` rows of `n` elements, tile by tile. */
void kiln__tiles_run(const struct kiln_tiles *tiles, kiln_kernel_entry entry, const uint64_t *args,
                     const int64_t *strides, int64_t rows, int64_t n, char *scratch);

#endif
