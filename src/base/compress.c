/*
 * compress.c - see compress.h. libzstd is linked into the library, with its names hidden.
 */
#include "base/compress.h"

#include <string.h>
#include <zstd.h>

/* Below this a frame saves less than one page of a disk or one packet of a network. */
#define SMALLEST_COMPRESSED 4096
/* Kernels shrink to about a third at every level; the first is the fastest. */
#define LEVEL               1
/* The shortest block of a frame has a header of 3 bytes and one byte that it repeats up to 128 KiB. */
#define MOST_PER_BYTE       (((size_t)128 << 10) / 4)

/* libzstd calls these where they are defined, and a program may do so for a libzstd of its own, of another version. */
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx *context);
unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx *context);
void ZSTD_trace_compress_end(unsigned long long trace, const void *what);
void ZSTD_trace_decompress_end(unsigned long long trace, const void *what);

/* 0: do not trace. */
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx *context)
{
    (void)context;
    return 0;
}

unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx *context)
{
    (void)context;
    return 0;
}

void ZSTD_trace_compress_end(unsigned long long trace, const void *what)
{
    (void)trace;
    (void)what;
}

void ZSTD_trace_decompress_end(unsigned long long trace, const void *what)
{
    (void)trace;
    (void)what;
}

static bool begins_as_frame(kiln_bytes bytes)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return bytes.size >= sizeof(magic) && !memcmp(bytes.data, magic, sizeof(magic));
}

/* Gives back the last `size` bytes. */
static void shrink(struct kiln_buffer *buffer, size_t size)
{
    buffer->size -= size;
    buffer->data[buffer->size] = 0;
}

kiln_status kiln__compress(kiln_bytes raw, struct kiln_buffer *out)
{
    bool needs_frame = begins_as_frame(raw);
    if (!needs_frame && raw.size < SMALLEST_COMPRESSED) {
        kiln__buffer_append(out, raw.data, raw.size);
        return out->failed ? KILN_NO_MEMORY : KILN_OK;
    }
    size_t bound = ZSTD_compressBound(raw.size);
    void *room = ZSTD_isError(bound) ? NULL : kiln__buffer_grow(out, bound);
    size_t size = room ? ZSTD_compress(room, bound, raw.data, raw.size, LEVEL) : 0;
    if (!room || ZSTD_isError(size)) { /* the bound is enough, so it is memory that was not */
        out->failed = true;
        return KILN_NO_MEMORY;
    }
    if (needs_frame || size < raw.size) {
        shrink(out, bound - size);
    } else {
        memcpy(room, raw.data, raw.size);
        shrink(out, bound - raw.size);
    }
    return KILN_OK;
}

/* The size of what is in the frame, checked before memory is taken. */
static kiln_status claimed_size(kiln_bytes stored, size_t limit, size_t *out, kiln_error *err)
{
    unsigned long long size = ZSTD_getFrameContentSize(stored.data, stored.size);
    if (size == ZSTD_CONTENTSIZE_ERROR) return kiln__fail(err, KILN_INVALID, "a compressed frame is damaged");
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) {
        return kiln__fail(err, KILN_INVALID, "a compressed frame does not say its size");
    }
    if (size > limit) {
        return kiln__fail(err, KILN_INVALID, "a compressed frame says it holds %llu bytes; at most %zu are accepted",
                          size, limit);
    }
    if (size / MOST_PER_BYTE > stored.size) {
        return kiln__fail(err, KILN_INVALID, "a compressed frame of %zu bytes says it holds %llu, which it can't",
                          stored.size, size);
    }
    size_t end = ZSTD_findFrameCompressedSize(stored.data, stored.size);
    if (ZSTD_isError(end)) return kiln__fail(err, KILN_INVALID, "a compressed frame is cut off or damaged");
    if (end != stored.size) {
        return kiln__fail(err, KILN_INVALID, "%zu bytes follow a compressed frame", stored.size - end);
    }
    *out = (size_t)size;
    return KILN_OK;
}

kiln_status kiln__decompress(kiln_bytes stored, size_t limit, struct kiln_buffer *out, kiln_error *err)
{
    if (!begins_as_frame(stored)) {
        if (stored.size > limit) {
            return kiln__fail(err, KILN_INVALID, "%zu bytes; at most %zu are accepted", stored.size, limit);
        }
        kiln__buffer_append(out, stored.data, stored.size);
        return out->failed ? kiln__no_memory(err, "bytes that were stored") : KILN_OK;
    }
    size_t size = 0;
    kiln_status status = claimed_size(stored, limit, &size, err);
    if (status != KILN_OK) return status;
    void *room = kiln__buffer_grow(out, size);
    if (!room) return kiln__no_memory(err, "a decompressed frame");
    size_t got = ZSTD_decompress(room, size, stored.data, stored.size);
    if (!ZSTD_isError(got) && got == size) return KILN_OK;
    shrink(out, size);
    return kiln__fail(err, KILN_INVALID, "a compressed frame is damaged: %s",
                      ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it holds fewer bytes than it says");
}
