/*
 * pack_writer.c - see pack_writer.h. The mirror of pack.c.
 */
#include "store/pack/pack_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/process/process_id.h"

static kiln_status fail_io(const struct kiln_pack_writer *writer, const char *verb, kiln_error *err)
{
    char text[128];
    return kiln__fail(err, KILN_IO, "can't %s %s: %s", verb, writer->path, strerror_r(errno, text, sizeof text));
}

static void release(struct kiln_pack_writer *writer)
{
    if (writer->fd >= 0) close(writer->fd);
    free(writer->path);
    free(writer->temporary);
    kiln__buffer_release(&writer->index);
    *writer = (struct kiln_pack_writer){.fd = -1};
}

void kiln__pack_abandon(struct kiln_pack_writer *writer)
{
    if (writer->fd >= 0) unlink(writer->temporary);
    release(writer);
}

static kiln_status make_file(struct kiln_pack_writer *writer, const char *path, kiln_error *err)
{
    char process[KILN_PROCESS_TEXT];
    kiln__process_text(process);
    writer->path = strdup(path);
    if (!writer->path || asprintf(&writer->temporary, "%s.tmp-%s-XXXXXX", path, process) < 0) {
        writer->temporary = NULL;
        return kiln__no_memory(err, "a pack");
    }
    writer->fd = mkostemp(writer->temporary, O_CLOEXEC);
    if (writer->fd < 0) return fail_io(writer, "create", err);
    return lseek(writer->fd, (off_t)writer->at, SEEK_SET) < 0 ? fail_io(writer, "write", err) : KILN_OK;
}

kiln_status kiln__pack_begin(struct kiln_pack_writer *writer, const char *path, uint64_t most, uint32_t manifest_size,
                             kiln_error *err)
{
    *writer = (struct kiln_pack_writer){.fd = -1, .most = most, .manifest_size = manifest_size};
    if (most > KILN_PACK_MAX_COUNT || manifest_size > KILN_PACK_MAX_MANIFEST)
        return kiln__fail(err, KILN_INVALID, "%s: a pack holds at most %d entries", path, KILN_PACK_MAX_COUNT);
    writer->at = kiln__pack_index_offset(manifest_size) + kiln__pack_index_size(most);
    kiln_status status = make_file(writer, path, err);
    if (status != KILN_OK) kiln__pack_abandon(writer);
    return status;
}

/* Zeros between the last row of a block and its checksum, and room for that. */
static void end_block(struct kiln_buffer *index)
{
    size_t past = index->size % KILN_PACK_BLOCK;
    void *room = past ? kiln__buffer_grow(index, KILN_PACK_BLOCK - past) : NULL;
    if (room) memset(room, 0, KILN_PACK_BLOCK - past);
}

static void append_row(struct kiln_pack_writer *writer, const struct kiln_digest *digest, uint64_t stored_size,
                       uint64_t raw_size)
{
    struct kiln_buffer *index = &writer->index;
    kiln__buffer_append(index, digest->bytes, KILN_DIGEST_SIZE);
    kiln__buffer_u64(index, writer->at);
    kiln__buffer_u64(index, stored_size);
    kiln__buffer_u64(index, raw_size);
    if (++writer->count % KILN_PACK_BLOCK_ROWS == 0) end_block(index);
}

static kiln_status write_entry(struct kiln_pack_writer *writer, const struct kiln_digest *digest,
                               const struct kiln_buffer *raw, kiln_error *err)
{
    struct kiln_buffer stored = {0};
    kiln_status status = KILN_OK;
    if (kiln__compress((kiln_bytes){raw->data, raw->size}, &stored) != KILN_OK)
        status = kiln__no_memory(err, "an entry of a pack");
    else if (!kiln__write_all(writer->fd, stored.data, stored.size))
        status = fail_io(writer, "write", err);
    if (status == KILN_OK) {
        append_row(writer, digest, stored.size, raw->size);
        writer->at += stored.size;
        writer->last = *digest;
    }
    kiln__buffer_release(&stored);
    return status;
}

kiln_status kiln__pack_add(struct kiln_pack_writer *writer, const struct kiln_artifact *artifact, kiln_error *err)
{
    struct kiln_digest digest = kiln__digest(artifact->key.data, artifact->key.size);
    bool is_next = writer->count == 0 || memcmp(&writer->last, &digest, sizeof digest) < 0;
    if (!is_next || writer->count == writer->most)
        return kiln__fail(err, KILN_INVALID, "%s: entries of a pack are added in the order of their digests",
                          writer->path);
    struct kiln_buffer raw = {0};
    kiln_status status = kiln__artifact_encode(artifact, &raw, err);
    if (status == KILN_OK && raw.size > KILN_PACK_MAX_RAW)
        status = kiln__fail(err, KILN_INVALID, "%s: an artifact of %zu bytes; a pack holds those up to %d",
                            writer->path, raw.size, KILN_PACK_MAX_RAW);
    if (status == KILN_OK) status = write_entry(writer, &digest, &raw, err);
    kiln__buffer_release(&raw);
    return status;
}

static void append_digest(struct kiln_buffer *out, const void *data, size_t size)
{
    struct kiln_digest digest = kiln__digest(data, size);
    kiln__buffer_append(out, digest.bytes, sizeof digest.bytes);
}

/* Header, manifest and index, as they stand in front of the entries. */
static void append_front(struct kiln_pack_writer *writer, kiln_bytes manifest, struct kiln_buffer *out)
{
    struct kiln_buffer text = {0};
    char *room = kiln__buffer_grow(&text, writer->manifest_size);
    if (room) memset(room, '\n', writer->manifest_size);
    if (room && manifest.size) memcpy(room, manifest.data, manifest.size);
    kiln__buffer_append(out, kiln__pack_magic, KILN_PACK_MAGIC);
    kiln__buffer_u32(out, KILN_PACK_VERSION);
    kiln__buffer_u32(out, writer->manifest_size);
    kiln__buffer_u64(out, writer->count);
    kiln__buffer_u64(out, writer->at);
    append_digest(out, text.data, text.size);
    if (!out->failed) append_digest(out, out->data, out->size);
    kiln__buffer_append(out, text.data, text.size);
    end_block(&writer->index);
    for (size_t at = 0; at < writer->index.size; at += KILN_PACK_BLOCK) {
        kiln__buffer_append(out, writer->index.data + at, KILN_PACK_BLOCK - KILN_DIGEST_SIZE);
        append_digest(out, writer->index.data + at, KILN_PACK_BLOCK - KILN_DIGEST_SIZE);
    }
    out->failed |= text.failed || writer->index.failed;
    kiln__buffer_release(&text);
}

static kiln_status publish(struct kiln_pack_writer *writer, const struct kiln_buffer *front, mode_t mode,
                           kiln_error *err)
{
    bool is_written = lseek(writer->fd, 0, SEEK_SET) == 0 && kiln__write_all(writer->fd, front->data, front->size) &&
                      fchmod(writer->fd, mode) == 0;
    if (!is_written) return fail_io(writer, "write", err);
    int fd = writer->fd;
    writer->fd = -1;
    bool is_closed = close(fd) == 0 || errno == EINTR;
    if (is_closed && rename(writer->temporary, writer->path) == 0) return KILN_OK;
    kiln_status status = fail_io(writer, "write", err);
    unlink(writer->temporary);
    return status;
}

kiln_status kiln__pack_finish(struct kiln_pack_writer *writer, kiln_bytes manifest, mode_t mode, kiln_error *err)
{
    struct kiln_buffer front = {0};
    kiln_status status = KILN_OK;
    if (manifest.size > writer->manifest_size)
        status = kiln__fail(err, KILN_INVALID, "%s: the manifest is larger than was said", writer->path);
    if (status == KILN_OK) append_front(writer, manifest, &front);
    if (front.failed) status = kiln__no_memory(err, "the index of a pack");
    if (status == KILN_OK) status = publish(writer, &front, mode, err);
    kiln__buffer_release(&front);
    kiln__pack_abandon(writer);
    return status;
}
