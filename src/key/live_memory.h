/*
 * live_memory.h - reading a variable of the program's, which another thread may be writing.
 *
 * A variable of 4 or 8 bytes that is aligned to its size is read by one atomic load, so no key holds a torn value. Any
 * other is copied byte by byte; the program must not write it meanwhile.
 */
#ifndef KILN_KEY_LIVE_MEMORY_H
#define KILN_KEY_LIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 4 or 8: it is read at once; 0: it is not. */
static inline uint32_t kiln__memory_width(const void *address, size_t size)
{
    return (size == 4 || size == 8) && (uintptr_t)address % size == 0 ? (uint32_t)size : 0;
}

static inline uint64_t kiln__memory_word(const void *address, uint32_t width)
{
    return width == 8 ? __atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED)
                      : __atomic_load_n((const uint32_t *)address, __ATOMIC_RELAXED);
}

static inline void kiln__memory_copy(void *out, const void *address, size_t size)
{
    uint32_t width = kiln__memory_width(address, size);
    uint64_t word = width ? kiln__memory_word(address, width) : 0;
    memcpy(out, width ? (const void *)&word : address, size); /* the low bytes stand first */
}

static inline bool kiln__memory_holds(const void *address, const void *value, size_t size)
{
    uint32_t width = kiln__memory_width(address, size);
    uint64_t word = width ? kiln__memory_word(address, width) : 0;
    return !memcmp(width ? (const void *)&word : address, value, size);
}

#endif
