/*
 * fuzz_pack.c - any bytes as a pack: whatever a look-up gives stands under the digest that was asked for, and reading
 * all of it ends.
 *
 * As in fuzz_artifact.c each input is tried twice: as it is, and with the checksums of header and index made right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/pack/pack.h"
#include "store/pack/pack_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct kiln_pack *pack, const struct kiln_digest *digest)
{
    struct kiln_pack_row row;
    struct kiln_artifact *artifact = NULL;
    if (kiln__pack_find(pack, digest, &row, NULL) != KILN_DONE) return;
    if (memcmp(&row.digest, digest, sizeof *digest) != 0) abort();
    if (kiln__pack_read(pack, &row, &artifact, NULL, NULL) != KILN_OK) return;
    struct kiln_digest is = kiln__digest(artifact->key.data, artifact->key.size);
    if (memcmp(&is, digest, sizeof is) != 0) abort();
    kiln__artifact_unref(artifact);
}

static void check_pack(int fd, const uint8_t *data, size_t size)
{
    struct kiln_pack pack;
    struct kiln_pack_row *rows = NULL;
    struct kiln_buffer text = {0};
    char path[32], line[KILN_TOOLCHAIN_SIZE];
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (kiln__pack_open(path, &pack, NULL) != KILN_DONE) return;
    if (kiln__pack_manifest(&pack, &text, NULL) == KILN_OK)
        kiln__manifest_toolchain((kiln_bytes){text.data, text.size}, line);
    if (kiln__pack_rows(&pack, &rows, NULL) == KILN_OK)
        for (uint64_t i = 0; i < pack.count; i++) check_entry(&pack, &rows[i].digest);
    /* Where the index as a whole is refused, look-ups still go through it. */
    uint64_t at = kiln__pack_index_offset(pack.manifest_size);
    for (unsigned i = 0; i < 8 && at + KILN_DIGEST_SIZE <= size; i++, at += KILN_PACK_ROW) {
        struct kiln_digest digest;
        memcpy(digest.bytes, data + at, sizeof digest.bytes);
        check_entry(&pack, &digest);
    }
    free(rows);
    kiln__buffer_release(&text);
    kiln__pack_close(&pack);
}

static void seal(uint8_t *data, size_t size)
{
    struct kiln_digest digest = kiln__digest(data, size - KILN_DIGEST_SIZE);
    memcpy(data + size - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) fd = memfd_create("pack", MFD_CLOEXEC);
    check_pack(fd, data, size);
    uint8_t *copy = size >= KILN_PACK_HEADER ? malloc(size) : NULL;
    if (!copy) return 0;
    memcpy(copy, data, size);
    uint32_t manifest;
    memcpy(&manifest, copy + 12, sizeof manifest);
    uint64_t index = kiln__pack_index_offset(manifest);
    if (index <= size) {
        struct kiln_digest digest = kiln__digest(copy + KILN_PACK_HEADER, manifest);
        memcpy(copy + 32, digest.bytes, sizeof digest.bytes);
    }
    seal(copy, KILN_PACK_HEADER);
    for (unsigned i = 0; i < 4 && index + KILN_PACK_BLOCK <= size; i++, index += KILN_PACK_BLOCK)
        seal(copy + index, KILN_PACK_BLOCK);
    check_pack(fd, copy, size);
    free(copy);
    return 0;
}
