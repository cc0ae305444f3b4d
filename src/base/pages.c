/*
 * pages.c - see pages.h.
 *
 * A block is as large as a huge page and aligned like one, so that the block of a thing is found by its address. It
 * holds things of one size, counted in cache lines. Invariant: a kind's list holds its blocks with room; a full block
 * is in no list, an empty one is given back.
 */
#include "base/pages.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/process/fork.h"

enum { LINE = 64, BLOCK = 2 << 20, MOST_LINES = 1024 };

struct block {
    struct block *next, **link;
    void *free;        /* things given back; each holds the next one's address */
    uint32_t used, at; /* things in use; where the untouched part begins */
};

static struct kind {
    size_t plain; /* things from malloc */
    struct block *blocks;
} kinds[MOST_LINES + 1]; /* by lines */

static size_t block_bytes;
KILN_LEAF_LOCK(lock); /* guards all of the above */

static size_t lines_of(size_t size)
{
    return (size + LINE - 1) / LINE;
}

static bool is_full(const struct block *block, size_t size)
{
    return !block->free && block->at + size > BLOCK;
}

static void enlist(struct kind *kind, struct block *block)
{
    block->next = kind->blocks;
    block->link = &kind->blocks;
    if (block->next) block->next->link = &block->next;
    kind->blocks = block;
}

static void delist(struct block *block)
{
    *block->link = block->next;
    if (block->next) block->next->link = block->link;
}

static bool block_new(struct kind *kind)
{
    char *memory = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    size_t before = -(uintptr_t)memory % BLOCK;
    if (before) munmap(memory, before);
    munmap(memory + before + BLOCK, BLOCK - before);
    struct block *block = (struct block *)(memory + before);
    madvise(block, BLOCK, MADV_HUGEPAGE); /* where there are none, small ones do */
    block->at = LINE;
    block_bytes += BLOCK;
    enlist(kind, block);
    return true;
}

static void *take(struct kind *kind, size_t size)
{
    struct block *block = kind->blocks;
    void *thing = block->free;
    if (thing) {
        memcpy(&block->free, thing, sizeof block->free);
    } else {
        thing = (char *)block + block->at;
        block->at += (uint32_t)size;
    }
    block->used++;
    if (is_full(block, size)) delist(block);
    return thing;
}

static void give_back(struct kind *kind, void *thing, size_t size)
{
    struct block *block = (struct block *)((uintptr_t)thing & ~(uintptr_t)(BLOCK - 1));
    if (is_full(block, size)) enlist(kind, block);
    memcpy(thing, &block->free, sizeof block->free);
    block->free = thing;
    if (--block->used) return;
    delist(block);
    munmap(block, BLOCK);
    block_bytes -= BLOCK;
}

/* NULL: malloc is to do it, and it counts as plain. */
static void *take_from_block(size_t lines)
{
    struct kind *kind = &kinds[lines];
    void *thing = NULL;
    pthread_mutex_lock(&lock);
    bool many = kind->blocks || kind->plain * lines * LINE >= BLOCK;
    if (many && (kind->blocks || block_new(kind)))
        thing = take(kind, lines * LINE);
    else
        kind->plain++;
    pthread_mutex_unlock(&lock);
    return thing;
}

void *kiln__pages_new(size_t size, bool *in_block)
{
    size_t lines = lines_of(size);
    void *thing = lines <= MOST_LINES ? take_from_block(lines) : NULL;
    *in_block = thing != NULL;
    if (thing) return memset(thing, 0, size);
    thing = calloc(1, size);
    if (!thing) kiln__pages_free(NULL, size, false);
    return thing;
}

void kiln__pages_free(void *memory, size_t size, bool in_block)
{
    size_t lines = lines_of(size);
    if (!in_block) free(memory);
    if (lines > MOST_LINES) return;
    pthread_mutex_lock(&lock);
    if (in_block)
        give_back(&kinds[lines], memory, lines * LINE);
    else
        kinds[lines].plain--;
    pthread_mutex_unlock(&lock);
}

size_t kiln__pages_block_bytes(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = block_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}
