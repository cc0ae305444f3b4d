/*
 * arena.c - see arena.h. Blocks grow from 4 KiB to 1 MiB; an allocation larger than that gets a block of its own.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct kiln_arena_block {
    struct kiln_arena_block *previous;
    size_t size;
};

static int add_block(struct kiln_arena *arena, size_t need)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
    if (size < need) size = need;
    if (size > SIZE_MAX - sizeof(struct kiln_arena_block)) return -1;
    struct kiln_arena_block *block = calloc(1, sizeof *block + size);
    if (!block) return -1;
    block->previous = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->next = (char *)(block + 1);
    arena->left = size;
    return 0;
}

void *kiln__arena_alloc(struct kiln_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGN) return NULL;
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (size > arena->left && add_block(arena, size)) return NULL;
    void *start = arena->next;
    arena->next += size;
    arena->left -= size;
    return start;
}

void *kiln__arena_array(struct kiln_arena *arena, size_t count, size_t size)
{
    return size && count > SIZE_MAX / size ? NULL : kiln__arena_alloc(arena, count * size);
}

void *kiln__arena_copy(struct kiln_arena *arena, const void *data, size_t size)
{
    void *copy = kiln__arena_alloc(arena, size);
    if (copy && size) memcpy(copy, data, size);
    return copy;
}

void kiln__arena_release(struct kiln_arena *arena)
{
    struct kiln_arena_block *block = arena->blocks;
    while (block) {
        struct kiln_arena_block *previous = block->previous;
        free(block);
        block = previous;
    }
    *arena = (struct kiln_arena){0};
}
