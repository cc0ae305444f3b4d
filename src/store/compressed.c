/*
 * compressed.c - see compressed.h.
 */
#include "store/compressed.h"

#include "base/compress.h"
#include "base/file.h"

kiln_status kiln__artifact_compress(const struct kiln_artifact *artifact, struct kiln_buffer *out, kiln_error *err)
{
    struct kiln_buffer file = {0};
    kiln_status status = kiln__artifact_encode(artifact, &file, err);
    if (status == KILN_OK && kiln__compress((kiln_bytes){file.data, file.size}, out) != KILN_OK)
        status = kiln__no_memory(err, "a compressed artifact");
    kiln__buffer_release(&file);
    return status;
}

/* In pages of its own, because that is what an artifact gives back. */
static kiln_status decode_copy(kiln_bytes file, struct kiln_artifact **out, kiln_error *err)
{
    kiln_bytes copy;
    if (!kiln__file_map_copy(file, &copy)) return kiln__no_memory(err, "an artifact");
    kiln_status status = kiln__artifact_decode(copy, true, out, err);
    if (status != KILN_OK) kiln__file_unmap(copy);
    return status;
}

kiln_status kiln__artifact_decompress(kiln_bytes stored, size_t limit, struct kiln_artifact **out,
                                      bool *is_other_format, kiln_error *err)
{
    struct kiln_buffer buffer = {0};
    kiln_status status = kiln__decompress(stored, limit, &buffer, err);
    kiln_bytes file = {buffer.data, buffer.size};
    bool is_earlier = status == KILN_OK && kiln__artifact_is_earlier(file);
    bool is_other = is_earlier || (status == KILN_OK && kiln__artifact_is_newer(file));
    if (is_other_format) *is_other_format = is_other;
    if (is_other) status = kiln__fail(err, KILN_INVALID, "%s format, not used", is_earlier ? "an earlier" : "a later");
    if (status == KILN_OK) status = decode_copy(file, out, err);
    kiln__buffer_release(&buffer);
    return status;
}
