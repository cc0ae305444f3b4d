/*
 * arrival.c - see arrival.h.
 */
#include "store/remotes/arrival.h"

#include <string.h>
#include <sys/mman.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/log.h"
#include "kiln/remote.h"
#include "store/signing.h"

/* The artifact's own memory, as if it were a file's: what could not be linked is told from what this process made. */
static kiln_status map_copy(const struct kiln_buffer *raw, kiln_bytes *out, kiln_error *err)
{
    void *memory =
        raw->size ? mmap(NULL, raw->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) return kiln__no_memory(err, "an entry of a remote");
    memcpy(memory, raw->data, raw->size);
    *out = (kiln_bytes){memory, raw->size};
    return KILN_OK;
}

static kiln_status unpack(kiln_bytes stored, kiln_bytes *out, kiln_error *err)
{
    struct kiln_buffer raw = {0};
    if (stored.size > KILN_REMOTE_MAX_BYTES)
        return kiln__fail(err, KILN_INVALID, "an entry of %zu bytes; the most is %zu", stored.size,
                          KILN_REMOTE_MAX_BYTES);
    if (!stored.size) return kiln__fail(err, KILN_INVALID, "an entry without bytes");
    kiln_status status = kiln__decompress(stored, KILN_REMOTE_MAX_BYTES, &raw, err);
    if (!status) status = map_copy(&raw, out, err);
    kiln__buffer_release(&raw);
    return status;
}

#ifdef KILN_TEST_WITHOUT_COMPARISON
enum { COMPARES_KEYS = 0 }; /* the test of a misplaced entry must fail in such a build */
#else
enum { COMPARES_KEYS = 1 };
#endif

static bool is_same_key(const struct kiln_artifact *artifact, const struct kiln_digest *digest, kiln_bytes key)
{
    return !memcmp(&artifact->digest, digest, sizeof *digest) && artifact->key.size == key.size &&
           (!key.size || !memcmp(artifact->key.data, key.data, key.size));
}

static enum kiln_arrival judge(const struct kiln_artifact *artifact, const struct kiln_digest *digest, kiln_bytes key,
                               kiln_error *err)
{
    if (COMPARES_KEYS && !is_same_key(artifact, digest, key)) {
        kiln__fail(err, KILN_INVALID, "it is the entry of another key");
        return KILN_ARRIVED_DAMAGED;
    }
    if (kiln__artifact_verify(artifact, err)) return KILN_ARRIVED_UNTRUSTED;
    return artifact->isa <= kiln__isa_host() ? KILN_ARRIVED : KILN_ARRIVED_FOREIGN;
}

enum kiln_arrival kiln__arrival_open(kiln_bytes stored, const struct kiln_digest *digest, kiln_bytes key,
                                     struct kiln_artifact **out, kiln_error *err)
{
    kiln_bytes bytes;
    struct kiln_artifact *artifact = NULL;
    if (unpack(stored, &bytes, err)) return KILN_ARRIVED_DAMAGED;
    bool is_foreign = kiln__artifact_is_newer(bytes) || kiln__artifact_is_earlier(bytes);
    if (is_foreign || kiln__artifact_decode(bytes, true, &artifact, err)) {
        kiln__file_unmap(bytes);
        return is_foreign ? KILN_ARRIVED_FOREIGN : KILN_ARRIVED_DAMAGED;
    }
    enum kiln_arrival arrival = judge(artifact, digest, key, err);
    if (arrival != KILN_ARRIVED) {
        kiln__artifact_unref(artifact);
        return arrival;
    }
    artifact->is_remote = true;
    *out = artifact;
    return KILN_ARRIVED;
}
