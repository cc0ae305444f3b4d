/*
 * compress.h - bytes that travel: one zstd frame, or the bytes as they are.
 *
 * Which of both it is shows in the first four bytes, and bytes that begin as a frame does are always put into one; so
 * what was compressed comes back as it was, whatever it is. What is decompressed may come from anybody: it is bounded
 * before memory is taken for it. No state; safe from every thread.
 */
#ifndef KILN_BASE_COMPRESS_H
#define KILN_BASE_COMPRESS_H

#include "base/buffer.h"
#include "base/status.h"

/* Appends `raw`, as a frame that says its size where that is shorter. KILN_NO_MEMORY: `out` is marked as failed too. */
kiln_status kiln__compress(kiln_bytes raw, struct kiln_buffer *out);

/*
 * Appends what kiln__compress() was given. KILN_INVALID: a frame that is damaged, cut off, says no size, more than
 * `limit` or more than so few bytes can hold, or something follows it; or bytes without a frame, more than `limit`.
 * KILN_NO_MEMORY. `out` is as before after a failure, but for KILN_NO_MEMORY, which marks it as failed.
 */
kiln_status kiln__decompress(kiln_bytes stored, size_t limit, struct kiln_buffer *out, kiln_error *err);

#endif
