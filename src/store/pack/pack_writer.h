/*
 * pack_writer.h - writes a pack (docs/formats/pack.md) under a temporary name and renames it when it is complete.
 *
 * Index and manifest stand in front of the entries, so room for them is kept until they are known: whoever writes says
 * at first how much there will be at most. One thread; a writer that is not finished is abandoned, and then leaves
 * nothing.
 */
#ifndef KILN_STORE_PACK_WRITER_H
#define KILN_STORE_PACK_WRITER_H

#include "store/pack/pack.h"

struct kiln_pack_writer {
    char *path, *temporary;
    int fd;
    uint64_t most;          /* rows for which there is room */
    uint32_t manifest_size; /* and for the manifest */
    uint64_t at;            /* where the next entry goes */
    uint64_t count;
    struct kiln_buffer index; /* rows in blocks, without checksums */
    struct kiln_digest last;  /* of the row before */
};

/* KILN_IO: the file can't be made; KILN_INVALID: more than a pack can hold. On a failure there is nothing to abandon.
 */
kiln_status kiln__pack_begin(struct kiln_pack_writer *writer, const char *path, uint64_t most, uint32_t manifest_size,
                             kiln_error *err);
/* In the order of the digests of their keys. KILN_INVALID: not so, or too large. After a failure, abandon. */
kiln_status kiln__pack_add(struct kiln_pack_writer *writer, const struct kiln_artifact *artifact, kiln_error *err);
/* Puts the file in its place, with this mode whatever the umask is, and ends the writer, on a failure too. The manifest
 * is filled up with newlines. */
kiln_status kiln__pack_finish(struct kiln_pack_writer *writer, kiln_bytes manifest, mode_t mode, kiln_error *err);
void kiln__pack_abandon(struct kiln_pack_writer *writer);

#endif
