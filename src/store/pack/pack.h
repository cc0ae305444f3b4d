/*
 * pack.h - many artifacts in one file, used in place: the reader. Format: docs/formats/pack.md
 *
 * A pack is opened for each look-up and holds no state, so it may be replaced at any time, also while it is read: who
 * has it open sees the old one. Nothing is mapped, since a file of others may be cut off under us; a look-up reads the
 * header, one block of the index or two, and the entry. Damage costs what it hits: a block of the index has its own
 * checksum, as an artifact has. Whoever opened a pack may use it from several threads.
 */
#ifndef KILN_STORE_PACK_H
#define KILN_STORE_PACK_H

#include <sys/stat.h>

#include "store/artifact.h"

#define KILN_PACK_SUFFIX ".kilnpack"

enum {
    KILN_PACK_MAGIC = 8,
    KILN_PACK_HEADER = 96,
    KILN_PACK_ROW = KILN_DIGEST_SIZE + 24,
    KILN_PACK_BLOCK = 4096,
    KILN_PACK_BLOCK_ROWS = (KILN_PACK_BLOCK - KILN_DIGEST_SIZE) / KILN_PACK_ROW,
    KILN_PACK_VERSION = 1,
    KILN_PACK_MAX_MANIFEST = 1 << 20,
    KILN_PACK_MAX_COUNT = 1 << 24,
    KILN_PACK_MAX_RAW = 1 << 30, /* of one artifact */
};

extern const uint8_t kiln__pack_magic[KILN_PACK_MAGIC];

struct kiln_pack {
    const char *path; /* borrowed, for texts */
    int fd;
    struct stat info; /* of the open file: whose it is */
    uint64_t count;
    uint32_t manifest_size;
    struct kiln_digest manifest_digest;
};

struct kiln_pack_row {
    struct kiln_digest digest; /* of the artifact's key */
    uint64_t offset, stored_size, raw_size;
};

/* Where an index of so many rows begins and ends. */
uint64_t kiln__pack_index_offset(uint32_t manifest_size);
uint64_t kiln__pack_index_size(uint64_t count);

bool kiln__is_pack_name(const char *path);

/* KILN_MISS: no such file. KILN_FAILED with KILN_INVALID: it is no pack, cut off, damaged, or of another version; the
 * text says which. With KILN_IO: it can't be read. */
enum kiln_outcome kiln__pack_open(const char *path, struct kiln_pack *out, kiln_error *err);
void kiln__pack_close(const struct kiln_pack *pack);

/* KILN_MISS: the pack does not hold it. KILN_FAILED with KILN_INVALID: the part of the index where it would be is
 * damaged. */
enum kiln_outcome kiln__pack_find(const struct kiln_pack *pack, const struct kiln_digest *digest,
                                  struct kiln_pack_row *out, kiln_error *err);
/* All rows, to be freed: sorted by digest, and none overlaps another. KILN_INVALID: the index is damaged. */
kiln_status kiln__pack_rows(const struct kiln_pack *pack, struct kiln_pack_row **out, kiln_error *err);

/* The entry in memory of our own, its checksums right, and its key the one of the row. KILN_INVALID: damaged, cut off,
 * or of another format, which `*is_other_format` (may be NULL) tells. Who may be believed is not asked here. */
kiln_status kiln__pack_read(const struct kiln_pack *pack, const struct kiln_pack_row *row, struct kiln_artifact **out,
                            bool *is_other_format, kiln_error *err);

/* Appends the manifest's text. KILN_INVALID: it is damaged. */
kiln_status kiln__pack_manifest(const struct kiln_pack *pack, struct kiln_buffer *out, kiln_error *err);

#endif
