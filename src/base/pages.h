/*
 * pages.h - memory for many objects of few sizes that are read at random.
 *
 * On pages of 4 KiB a random read costs a TLB miss besides the cache miss. Once the objects of one size fill a huge
 * page, further ones are put into blocks for which huge pages are requested (madvise), aligned to cache lines. Up to
 * there this is malloc(), so that a small program pays nothing. Safe from any thread.
 */
#ifndef KILN_BASE_PAGES_H
#define KILN_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: out of memory. Bytes are zero. *in_block has to be kept for kiln__pages_free(), like the size. */
void *kiln__pages_new(size_t size, bool *in_block);
void kiln__pages_free(void *memory, size_t size, bool in_block);

/* Bytes of blocks in use, for tests. */
size_t kiln__pages_block_bytes(void);

#endif
