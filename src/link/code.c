/*
 * code.c - see code.h.
 *
 * Invariant: the lock guards which pages of an arena are taken; the pages themselves belong to whoever took them, so
 * protections change outside of the lock. Free pages keep the protection they had, since changing it would cut the
 * mapping around them in three.
 */
#include "link/code.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/process/fork.h"

enum { PAGE = KILN_CODE_PAGE, ARENA_PAGES = 256, NONE = -1 };

struct kiln_code_arena {
    struct kiln_code_arena *next, **link; /* arenas with free pages; `link` is NULL when it has none */
    unsigned char *base;
    size_t pages, free_pages;
    size_t longest; /* no free run is longer */
    bool taken[];   /* one for each page */
};

KILN_LEAF_LOCK(lock);
static struct kiln_code_arena *with_room;
static size_t empty_arenas; /* one is kept, so that an image that comes and goes maps nothing */

/* ---- arenas, with the lock held -------------------------------------------------------------------------------- */

static void list(struct kiln_code_arena *arena)
{
    arena->next = with_room;
    arena->link = &with_room;
    if (with_room) with_room->link = &arena->next;
    with_room = arena;
}

static void unlist(struct kiln_code_arena *arena)
{
    *arena->link = arena->next;
    if (arena->next) arena->next->link = arena->link;
    arena->link = NULL;
}

/*
 * A page is touched while the arena is one mapping: all parts that it is cut into later then belong to the same
 * anonymous memory, which the system asks for before it joins two of them.
 */
static unsigned char *map(size_t size)
{
    unsigned char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    *(volatile unsigned char *)base = 1;
    if (madvise(base, PAGE, MADV_DONTNEED) == 0 && mprotect(base, size, PROT_NONE) == 0) return base;
    munmap(base, size);
    return NULL;
}

static struct kiln_code_arena *arena_new(size_t pages)
{
    struct kiln_code_arena *arena = calloc(1, sizeof *arena + pages * sizeof *arena->taken);
    if (!arena) return NULL;
    arena->base = map(pages * PAGE);
    if (!arena->base) {
        free(arena);
        return NULL;
    }
    arena->pages = arena->free_pages = arena->longest = pages;
    empty_arenas++;
    list(arena);
    return arena;
}

/* It stays when the system can't cut it out of a larger mapping. */
static void arena_free(struct kiln_code_arena *arena)
{
    if (munmap(arena->base, arena->pages * PAGE) != 0) return;
    unlist(arena);
    empty_arenas--;
    free(arena);
}

/* The first page of a free run, or NONE. The lowest one, so that what is taken lies together. */
static ptrdiff_t find_run(struct kiln_code_arena *arena, size_t pages)
{
    size_t run = 0;
    if (arena->longest < pages) return NONE;
    for (size_t i = 0; i < arena->pages; i++) {
        run = arena->taken[i] ? 0 : run + 1;
        if (run == pages) return (ptrdiff_t)(i + 1 - pages);
    }
    arena->longest = pages - 1;
    return NONE;
}

static void take_run(struct kiln_code_arena *arena, size_t first, size_t pages, struct kiln_code *out)
{
    empty_arenas -= arena->free_pages == arena->pages;
    for (size_t i = first; i < first + pages; i++) arena->taken[i] = true;
    arena->free_pages -= pages;
    if (!arena->free_pages) unlist(arena);
    *out = (struct kiln_code){arena->base + first * PAGE, pages * PAGE, arena};
}

static bool take(size_t pages, struct kiln_code *out)
{
    struct kiln_code_arena *arena = with_room;
    ptrdiff_t first = NONE;
    for (; arena && (first = find_run(arena, pages)) == NONE; arena = arena->next) {
    }
    if (!arena && (arena = arena_new(pages > ARENA_PAGES ? pages : ARENA_PAGES))) first = 0;
    if (arena) take_run(arena, (size_t)first, pages, out);
    return arena != NULL;
}

static void give_back(const struct kiln_code *code)
{
    struct kiln_code_arena *arena = code->arena;
    size_t first = (size_t)(code->base - arena->base) / PAGE, pages = code->size / PAGE;
    for (size_t i = first; i < first + pages; i++) arena->taken[i] = false;
    if (!arena->free_pages) list(arena);
    arena->free_pages += pages;
    arena->longest = arena->free_pages;
    if (arena->free_pages < arena->pages) return;
    empty_arenas++;
    if (empty_arenas > 1 || arena->pages > ARENA_PAGES) arena_free(arena);
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

bool kiln__code_new(size_t size, struct kiln_code *out)
{
    pthread_mutex_lock(&lock);
    bool taken = take((size + PAGE - 1) / PAGE, out);
    pthread_mutex_unlock(&lock);
    if (!taken) return false;
    if (mprotect(out->base, out->size, PROT_READ | PROT_WRITE) == 0) return true;
    kiln__code_free(out);
    return false;
}

bool kiln__code_seal(const struct kiln_code *code)
{
    return mprotect(code->base, code->size, PROT_READ | PROT_EXEC) == 0;
}

/* What was never sealed must not stay writable among the free pages: it is the neighbours' kind that joins them. */
void kiln__code_free(struct kiln_code *code)
{
#ifdef KILN_DEBUG
    mprotect(code->base, code->size, PROT_NONE);
#else
    mprotect(code->base, code->size, PROT_READ | PROT_EXEC);
#endif
    madvise(code->base, code->size, MADV_DONTNEED);
    pthread_mutex_lock(&lock);
    give_back(code);
    pthread_mutex_unlock(&lock);
    *code = (struct kiln_code){0};
}
