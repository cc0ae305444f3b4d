/*
 * arena.h - memory that is freed as a group.
 *
 * A trace, its graph and its fusion live in one arena and go at once. A zeroed struct is an empty arena. One owner.
 */
#ifndef KILN_BASE_ARENA_H
#define KILN_BASE_ARENA_H

#include <stddef.h>

struct kiln_arena {
    struct kiln_arena_block *blocks;
    char *next;
    size_t left;
};

/* `size` zeroed bytes aligned to 16, or NULL when out of memory. They live until kiln__arena_release(). */
void *kiln__arena_alloc(struct kiln_arena *arena, size_t size);
/* count * size with the product checked. */
void *kiln__arena_array(struct kiln_arena *arena, size_t count, size_t size);
void *kiln__arena_copy(struct kiln_arena *arena, const void *data, size_t size);
void kiln__arena_release(struct kiln_arena *arena);

#endif
