/*
 * pack.c - see pack.h. Invariants: no field is used before the checksum over it was right; no read goes beyond what the
 * file says it holds, and no memory is taken for more than the file has.
 */
#include "store/pack/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/compressed.h"

const uint8_t kiln__pack_magic[KILN_PACK_MAGIC] = {0x89, 'K', 'P', 'C', 'K', '\r', '\n', 0x1a};

static uint64_t get_integer(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* The last bytes are the digest of those before. */
static bool checksum_fits(const uint8_t *bytes, size_t size)
{
    struct kiln_digest digest = kiln__digest(bytes, size - KILN_DIGEST_SIZE);
    return memcmp(digest.bytes, bytes + size - KILN_DIGEST_SIZE, KILN_DIGEST_SIZE) == 0;
}

uint64_t kiln__pack_index_offset(uint32_t manifest_size)
{
    return KILN_PACK_HEADER + (uint64_t)manifest_size;
}

uint64_t kiln__pack_index_size(uint64_t count)
{
    return (count + KILN_PACK_BLOCK_ROWS - 1) / KILN_PACK_BLOCK_ROWS * KILN_PACK_BLOCK;
}

bool kiln__is_pack_name(const char *path)
{
    size_t size = strlen(path), suffix = strlen(KILN_PACK_SUFFIX);
    return size > suffix && strcmp(path + size - suffix, KILN_PACK_SUFFIX) == 0;
}

static kiln_status fail_damaged(const struct kiln_pack *pack, const char *what, kiln_error *err)
{
    return kiln__fail(err, KILN_INVALID, "%s: %s", pack->path, what);
}

/* A file that ends too soon is damaged; one that can't be read is not. */
static kiln_status fail_read(const struct kiln_pack *pack, kiln_error *err)
{
    char text[128];
    if (errno == 0) return fail_damaged(pack, "the pack is cut off", err);
    return kiln__fail(err, KILN_IO, "can't read %s: %s", pack->path, strerror_r(errno, text, sizeof text));
}

/* ---- header ---------------------------------------------------------------------------------------------------- */

static kiln_status check_header(struct kiln_pack *pack, const uint8_t *header, kiln_error *err)
{
    if (memcmp(header, kiln__pack_magic, KILN_PACK_MAGIC) != 0)
        return fail_damaged(pack, "not a pack: it does not start with the magic bytes", err);
    uint64_t version = get_integer(header + 8, 4);
    if (version != KILN_PACK_VERSION)
        return kiln__fail(err, KILN_INVALID, "%s: a pack of format version %u; this library reads version %d",
                          pack->path, (unsigned)version, KILN_PACK_VERSION);
    if (!checksum_fits(header, KILN_PACK_HEADER)) return fail_damaged(pack, "the pack's header is damaged", err);
    pack->manifest_size = (uint32_t)get_integer(header + 12, 4);
    pack->count = get_integer(header + 16, 8);
    memcpy(pack->manifest_digest.bytes, header + 32, KILN_DIGEST_SIZE);
    uint64_t size = get_integer(header + 24, 8), there = (uint64_t)pack->info.st_size;
    if (pack->manifest_size > KILN_PACK_MAX_MANIFEST || pack->count > KILN_PACK_MAX_COUNT)
        return fail_damaged(pack, "a size in the pack's header is over its limit", err);
    uint64_t front = kiln__pack_index_offset(pack->manifest_size) + kiln__pack_index_size(pack->count);
    if (there < front || size < front)
        return kiln__fail(err, KILN_INVALID, "%s: the pack is cut off: %llu of %llu bytes are there", pack->path,
                          (unsigned long long)there, (unsigned long long)(size < front ? front : size));
    return KILN_OK;
}

enum kiln_outcome kiln__pack_open(const char *path, struct kiln_pack *out, kiln_error *err)
{
    uint8_t header[KILN_PACK_HEADER];
    *out = (struct kiln_pack){.path = path};
    enum kiln_outcome outcome = kiln__file_open_parts(path, &out->fd, &out->info, err);
    if (outcome != KILN_DONE) return outcome;
    kiln_status status = KILN_OK;
    if (!kiln__file_read_part(out->fd, header, sizeof header, 0))
        status = errno ? fail_read(out, err) : fail_damaged(out, "not a pack: it is too short", err);
    else
        status = check_header(out, header, err);
    if (status != KILN_OK) close(out->fd);
    return kiln__outcome(status, err);
}

void kiln__pack_close(const struct kiln_pack *pack)
{
    close(pack->fd);
}

kiln_status kiln__pack_manifest(const struct kiln_pack *pack, struct kiln_buffer *out, kiln_error *err)
{
    size_t size = pack->manifest_size;
    void *room = kiln__buffer_grow(out, size);
    if (!room) return kiln__no_memory(err, "the manifest of a pack");
    kiln_status status = KILN_OK;
    if (!kiln__file_read_part(pack->fd, room, size, KILN_PACK_HEADER)) {
        status = fail_read(pack, err);
    } else {
        struct kiln_digest digest = kiln__digest(room, size);
        if (memcmp(&digest, &pack->manifest_digest, sizeof digest) != 0)
            status = fail_damaged(pack, "the pack's manifest is damaged", err);
    }
    if (status == KILN_OK) return KILN_OK;
    out->size -= size;
    out->data[out->size] = '\0';
    return status;
}

/* ---- index ----------------------------------------------------------------------------------------------------- */

struct block {
    uint8_t bytes[KILN_PACK_BLOCK];
    size_t count; /* rows */
};

static struct kiln_pack_row get_row(const uint8_t *bytes)
{
    struct kiln_pack_row row = {.offset = get_integer(bytes + KILN_DIGEST_SIZE, 8),
                                .stored_size = get_integer(bytes + KILN_DIGEST_SIZE + 8, 8),
                                .raw_size = get_integer(bytes + KILN_DIGEST_SIZE + 16, 8)};
    memcpy(row.digest.bytes, bytes, KILN_DIGEST_SIZE);
    return row;
}

static kiln_status read_block(const struct kiln_pack *pack, uint64_t number, struct block *out, kiln_error *err)
{
    uint64_t offset = kiln__pack_index_offset(pack->manifest_size) + number * KILN_PACK_BLOCK;
    uint64_t left = pack->count - number * KILN_PACK_BLOCK_ROWS;
    if (!kiln__file_read_part(pack->fd, out->bytes, sizeof out->bytes, offset)) return fail_read(pack, err);
    if (!checksum_fits(out->bytes, sizeof out->bytes))
        return kiln__fail(err, KILN_INVALID, "%s: block %llu of the pack's index is damaged", pack->path,
                          (unsigned long long)number);
    out->count = left < KILN_PACK_BLOCK_ROWS ? (size_t)left : KILN_PACK_BLOCK_ROWS;
    return KILN_OK;
}

static int compare_row(const struct block *block, size_t index, const struct kiln_digest *digest)
{
    return memcmp(block->bytes + index * KILN_PACK_ROW, digest->bytes, KILN_DIGEST_SIZE);
}

/* False: it is not in this block. */
static bool search_block(const struct block *block, const struct kiln_digest *digest, struct kiln_pack_row *out)
{
    size_t low = 0, high = block->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_row(block, middle, digest);
        if (order == 0) return *out = get_row(block->bytes + middle * KILN_PACK_ROW), true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/*
 * Digests are evenly spread, so the first bytes of one tell nearly where it stands: in that block or one beside it.
 * Should somebody have written a pack with others, halving finds it too.
 */
enum kiln_outcome kiln__pack_find(const struct kiln_pack *pack, const struct kiln_digest *digest,
                                  struct kiln_pack_row *out, kiln_error *err)
{
    enum { STEPS = 3 };
    struct block block;
    uint64_t low = 0, high = kiln__pack_index_size(pack->count) / KILN_PACK_BLOCK, head = 0;
    for (size_t i = 0; i < sizeof head; i++) head = head << 8 | digest->bytes[i];
    uint64_t guess = (uint64_t)(((unsigned __int128)head * high) >> 64);
    for (unsigned step = 0; low < high; step++) {
        if (step >= STEPS) guess = (low + high) / 2;
        kiln_status status = read_block(pack, guess, &block, err);
        if (status != KILN_OK) return kiln__outcome(status, err);
        if (compare_row(&block, 0, digest) > 0)
            high = guess, guess -= guess > low;
        else if (compare_row(&block, block.count - 1, digest) < 0)
            low = guess + 1, guess = low;
        else
            return search_block(&block, digest, out) ? KILN_DONE : KILN_MISS;
    }
    return KILN_MISS;
}

static kiln_status read_rows(const struct kiln_pack *pack, struct kiln_pack_row *rows, kiln_error *err)
{
    struct block block;
    uint64_t end = kiln__pack_index_offset(pack->manifest_size) + kiln__pack_index_size(pack->count);
    for (uint64_t i = 0; i < pack->count; i++) {
        size_t at = i % KILN_PACK_BLOCK_ROWS;
        kiln_status status = at ? KILN_OK : read_block(pack, i / KILN_PACK_BLOCK_ROWS, &block, err);
        if (status != KILN_OK) return status;
        rows[i] = get_row(block.bytes + at * KILN_PACK_ROW);
        if (i > 0 && memcmp(&rows[i - 1].digest, &rows[i].digest, KILN_DIGEST_SIZE) >= 0)
            return fail_damaged(pack, "the pack's index is not sorted", err);
        if (rows[i].offset < end || __builtin_add_overflow(rows[i].offset, rows[i].stored_size, &end))
            return fail_damaged(pack, "entries of the pack overlap", err);
    }
    if (end <= (uint64_t)pack->info.st_size) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s: the pack is cut off: %llu of %llu bytes are there", pack->path,
                      (unsigned long long)pack->info.st_size, (unsigned long long)end);
}

kiln_status kiln__pack_rows(const struct kiln_pack *pack, struct kiln_pack_row **out, kiln_error *err)
{
    struct kiln_pack_row *rows = malloc((pack->count ? pack->count : 1) * sizeof *rows);
    if (!rows) return kiln__no_memory(err, "the index of a pack");
    kiln_status status = read_rows(pack, rows, err);
    if (status == KILN_OK)
        *out = rows;
    else
        free(rows);
    return status;
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

static kiln_status read_stored(const struct kiln_pack *pack, const struct kiln_pack_row *row, struct kiln_buffer *out,
                               kiln_error *err)
{
    uint64_t size = (uint64_t)pack->info.st_size;
    if (row->raw_size > KILN_PACK_MAX_RAW) return fail_damaged(pack, "an entry is over its limit", err);
    if (row->stored_size > size || row->offset > size - row->stored_size)
        return fail_damaged(pack, "an entry lies behind the end of the pack, which is cut off or damaged", err);
    void *room = kiln__buffer_grow(out, (size_t)row->stored_size);
    if (!room) return kiln__no_memory(err, "an entry of a pack");
    return kiln__file_read_part(pack->fd, room, out->size, row->offset) ? KILN_OK : fail_read(pack, err);
}

static kiln_status check_entry(const struct kiln_pack *pack, const struct kiln_pack_row *row,
                               const struct kiln_artifact *artifact, kiln_error *err)
{
    if (artifact->mapping.size != row->raw_size)
        return fail_damaged(pack, "an entry has another size than the index says", err);
    if (memcmp(&artifact->digest, &row->digest, sizeof row->digest) == 0) return KILN_OK;
    return fail_damaged(pack, "an entry stands under another key than its own", err);
}

kiln_status kiln__pack_read(const struct kiln_pack *pack, const struct kiln_pack_row *row, struct kiln_artifact **out,
                            bool *is_other_format, kiln_error *err)
{
    struct kiln_buffer stored = {0};
    struct kiln_artifact *artifact = NULL;
    if (is_other_format) *is_other_format = false;
    kiln_status status = read_stored(pack, row, &stored, err);
    if (status == KILN_OK) {
        status = kiln__artifact_decompress((kiln_bytes){stored.data, stored.size}, (size_t)row->raw_size, &artifact,
                                           is_other_format, err);
        if (status != KILN_OK) kiln__fail_as(err, status, pack->path);
    }
    kiln__buffer_release(&stored);
    if (status == KILN_OK) status = check_entry(pack, row, artifact, err);
    if (status == KILN_OK)
        *out = artifact;
    else
        kiln__artifact_unref(artifact);
    return status;
}
