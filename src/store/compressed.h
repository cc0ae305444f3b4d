/*
 * compressed.h - an artifact as it travels: the bytes of its file, compressed (base/compress.h). Remotes and packs hold
 * it so.
 */
#ifndef KILN_STORE_COMPRESSED_H
#define KILN_STORE_COMPRESSED_H

#include "store/artifact.h"

/* Appends it. A failure leaves a part behind. */
kiln_status kiln__artifact_compress(const struct kiln_artifact *artifact, struct kiln_buffer *out, kiln_error *err);

/*
 * The artifact, which owns its bytes as one from a file does. KILN_INVALID: more than `limit` bytes, or damaged; the
 * text says how. One of another format is refused too: `*is_other_format` (may be NULL) says so, and that nothing is
 * wrong.
 */
kiln_status kiln__artifact_decompress(kiln_bytes stored, size_t limit, struct kiln_artifact **out,
                                      bool *is_other_format, kiln_error *err);

#endif
