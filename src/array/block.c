/*
 * block.c - see block.h. Every block is its own allocation of the system's, so a list can be given back at any time.
 */
#include "array/block.h"

#include <stdbool.h>
#include <stdlib.h>

#include "array/local.h"

#if defined(__SANITIZE_ADDRESS__)
#define BLOCKS_ARE_KEPT false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOCKS_ARE_KEPT false
#endif
#endif
#ifndef BLOCKS_ARE_KEPT
#define BLOCKS_ARE_KEPT true
#endif

enum { STEP = 16, LARGEST = STEP * KILN_BLOCK_CLASSES, KEPT_PER_CLASS = 128 };

static size_t block_class(size_t size)
{
    return size ? (size - 1) / STEP : 0;
}

void *kiln__block_new(size_t size)
{
    if (size > LARGEST) return malloc(size);
    size_t idx = block_class(size);
    struct kiln_local *local = kiln__local();
    struct kiln_block_list *list = local ? &local->blocks[idx] : NULL;
    if (!list || !list->head) return malloc((idx + 1) * STEP);
    void *block = list->head;
    list->head = *(void **)block;
    list->count--;
    return block;
}

void kiln__block_free(void *block, size_t size)
{
    if (!block) return;
    struct kiln_local *local = BLOCKS_ARE_KEPT && size <= LARGEST ? kiln__local() : NULL;
    struct kiln_block_list *list = local ? &local->blocks[block_class(size)] : NULL;
    if (!list || list->count >= KEPT_PER_CLASS) {
        free(block);
        return;
    }
    *(void **)block = list->head;
    list->head = block;
    list->count++;
}

void kiln__block_drain(struct kiln_local *local)
{
    for (size_t i = 0; i < KILN_BLOCK_CLASSES; i++) {
        struct kiln_block_list *list = &local->blocks[i];
        while (list->head) {
            void *block = list->head;
            list->head = *(void **)block;
            free(block);
        }
        list->count = 0;
    }
}
