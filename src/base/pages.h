/*
 * pages.h - memory for many things of few sizes that are looked at one at a time, at random.
 *
 * On pages of 4 KiB such a look waits twice: for the address's translation, and then for the bytes. Once the things of
 * one size take a huge page's worth of memory, further ones stand in blocks that are asked for as huge pages; they
 * begin at cache lines. Up to there it is malloc: a small program pays nothing. Safe from any thread.
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
