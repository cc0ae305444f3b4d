/*
 * block.h - memory for the small structs of the engine: arrays, nodes, headers of storage.
 *
 * Freed blocks stay in lists of the thread that freed them, a bounded number per size, so that making and freeing an
 * array costs a few nanoseconds and no lock. They go back to the system when the thread ends. Any thread may free any
 * block. Under AddressSanitizer every block comes from the system, so that a use after free is seen.
 */
#ifndef KILN_ARRAY_BLOCK_H
#define KILN_ARRAY_BLOCK_H

#include <stddef.h>

/* `size` uninitialised bytes aligned to 16; NULL when out of memory. */
void *kiln__block_new(size_t size);
/* `size` as it was asked for; NULL is fine. */
void kiln__block_free(void *block, size_t size);

#endif
