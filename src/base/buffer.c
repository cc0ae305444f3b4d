/*
 * buffer.c - see buffer.h. Capacity doubles, so appending n bytes costs O(n) in all.
 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

static bool reserve(struct kiln_buffer *buffer, size_t more)
{
    if (buffer->failed) return false;
    if (more >= SIZE_MAX - buffer->size - 1) return !(buffer->failed = true);
    size_t need = buffer->size + more + 1;
    if (need <= buffer->cap) return true;
    size_t cap = buffer->cap ? buffer->cap : 64;
    while (cap < need) cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    unsigned char *data = realloc(buffer->data, cap);
    if (!data) return !(buffer->failed = true);
    buffer->data = data;
    buffer->cap = cap;
    return true;
}

void *kiln__buffer_grow(struct kiln_buffer *buffer, size_t size)
{
    if (!reserve(buffer, size)) return NULL;
    unsigned char *start = buffer->data + buffer->size;
    buffer->size += size;
    buffer->data[buffer->size] = 0;
    return start;
}

void kiln__buffer_append(struct kiln_buffer *buffer, const void *data, size_t size)
{
    void *start = kiln__buffer_grow(buffer, size);
    if (start && size) memcpy(start, data, size);
}

void kiln__buffer_vprintf(struct kiln_buffer *buffer, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int size = reserve(buffer, 128)
                   ? kiln__vformat((char *)buffer->data + buffer->size, buffer->cap - buffer->size, format, list)
                   : -1;
    if (size < 0) {
        buffer->failed = true;
    } else if (buffer->size + (size_t)size < buffer->cap) {
        buffer->size += (size_t)size;
    } else if (reserve(buffer, (size_t)size)) {
        kiln__vformat((char *)buffer->data + buffer->size, buffer->cap - buffer->size, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
}

void kiln__buffer_printf(struct kiln_buffer *buffer, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    kiln__buffer_vprintf(buffer, format, list);
    va_end(list);
}

static void append_little_endian(struct kiln_buffer *buffer, uint64_t value, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(value >> (8 * i));
    kiln__buffer_append(buffer, bytes, size);
}

void kiln__buffer_u8(struct kiln_buffer *buffer, uint8_t value)
{
    append_little_endian(buffer, value, 1);
}

void kiln__buffer_u32(struct kiln_buffer *buffer, uint32_t value)
{
    append_little_endian(buffer, value, 4);
}

void kiln__buffer_u64(struct kiln_buffer *buffer, uint64_t value)
{
    append_little_endian(buffer, value, 8);
}

void kiln__buffer_clear(struct kiln_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

void kiln__buffer_release(struct kiln_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct kiln_buffer){0};
}
