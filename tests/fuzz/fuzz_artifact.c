/*
 * fuzz_artifact.c - any bytes as an artifact: refused, or decoded and encoded again to the very same bytes.
 *
 * Random bytes hardly ever carry the right checksum, so each input is tried twice: as it is, and with both checksums
 * made right, which is what somebody would do who means harm.
 */
#include <stdlib.h>
#include <string.h>

#include "store/artifact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const uint8_t *data, size_t size)
{
    struct kiln_artifact *artifact = NULL;
    struct kiln_buffer again = {0};
    kiln_error err;
    if (kiln__artifact_decode((kiln_bytes){data, size}, false, &artifact, &err) != KILN_OK) return;
    if (kiln__artifact_encode(artifact, &again, &err) != KILN_OK) abort();
    if (again.size != size || memcmp(again.data, data, size) != 0) abort();
    for (size_t i = 0; i < artifact->section_count; i++) {
        kiln_bytes section = kiln_artifact_get(artifact, artifact->sections[i].name);
        if (section.data != artifact->sections[i].data || section.size != artifact->sections[i].size) abort();
    }
    kiln__buffer_release(&again);
    kiln__artifact_unref(artifact);
}

static void seal(uint8_t *data, size_t size)
{
    if (size < KILN_DIGEST_SIZE) return;
    struct kiln_digest digest = kiln__digest(data, size - KILN_DIGEST_SIZE);
    memcpy(data + size - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
}

/* Its size is said by its own lengths; the signature follows. */
static void seal_metadata(uint8_t *data, size_t size)
{
    uint32_t lengths[2];
    if (size < 24) return;
    memcpy(lengths, data + 16, sizeof(lengths));
    uint64_t end = 24ull + lengths[0] + lengths[1] + KILN_DIGEST_SIZE;
    if (end <= size) seal(data, (size_t)end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t compared = 0;
    check_round_trip(data, size);
    if (size >= 24) memcpy(&compared, data + 16, sizeof(compared));
    if (compared == 0 || compared > size) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data, size);
    seal(copy, compared);
    seal_metadata(copy + compared, size - compared);
    check_round_trip(copy, size);
    free(copy);
    return 0;
}
