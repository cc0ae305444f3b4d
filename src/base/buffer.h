/*
 * buffer.h - a growing run of bytes.
 *
 * A failed append marks the buffer and makes every later append a no-op, so that a writer checks once, at the end.
 * A zeroed struct is an empty buffer. One owner; not safe for several threads.
 */
#ifndef KILN_BASE_BUFFER_H
#define KILN_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kiln_buffer {
    unsigned char *data; /* one NUL always follows the bytes, so text can be printed */
    size_t size, cap;
    bool failed; /* an allocation failed; what is here is not complete */
};

void kiln__buffer_append(struct kiln_buffer *buffer, const void *data, size_t size);
void kiln__buffer_printf(struct kiln_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

void kiln__buffer_vprintf(struct kiln_buffer *buffer, const char *format, va_list list);

/* Little-endian integers, for the formats of docs/formats. */
void kiln__buffer_u8(struct kiln_buffer *buffer, uint8_t value);
void kiln__buffer_u32(struct kiln_buffer *buffer, uint32_t value);
void kiln__buffer_u64(struct kiln_buffer *buffer, uint64_t value);

/* Room for `size` more bytes at the end, uninitialised and counted as written; NULL when out of memory. */
void *kiln__buffer_grow(struct kiln_buffer *buffer, size_t size);

/* Empties it and keeps the memory. */
void kiln__buffer_clear(struct kiln_buffer *buffer);
/* Frees the bytes; the struct is an empty buffer again. */
void kiln__buffer_release(struct kiln_buffer *buffer);

#endif
