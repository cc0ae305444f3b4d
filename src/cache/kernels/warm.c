/*
 * warm.c - kiln_warm(): fills a folder for processes to come; see kiln/maintain.h.
 *
 * The content key is made by the code that makes it for a call, from a request without arguments or watches, as a
 * function that lowers has. Whether the folder holds the artifact is asked of the file itself: a tier answers for
 * artifacts that this machine can run only, and a call goes on when storing failed, which here is the very thing that
 * must not fail.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/process/callback.h"
#include "cache/cache.h"
#include "cache/kernels/compiling.h"
#include "cache/kernels/kernel.h"
#include "kiln/maintain.h"
#include "store/prune.h"

/* The folder that a put goes to; NULL: there is none. */
static const char *folder_of(const kiln_cache *cache)
{
    const char *folder = NULL;
    for (const struct kiln_tier *tier = cache->store.tiers; tier; tier = tier->next)
        if (tier->writable) folder = tier->label;
    return folder;
}

/* What the folder holds, the caller's reference; NULL: nothing. */
static struct kiln_artifact *stored_in(const char *folder, const struct kiln_content_key *content)
{
    char hex[KILN_DIGEST_HEX], *path;
    kiln_bytes bytes;
    struct kiln_artifact *artifact = NULL;
    kiln__digest_hex(&content->digest, hex);
    if (asprintf(&path, "%s/%.2s/%s%s", folder, hex, hex, KILN_ARTIFACT_SUFFIX) < 0) return NULL;
    bool is_mapped = kiln__file_map(path, &bytes, NULL) == KILN_DONE;
    free(path);
    if (!is_mapped) return NULL;
    if (kiln__artifact_decode(bytes, true, &artifact, NULL) != KILN_OK) {
        kiln__file_unmap(bytes);
        return NULL;
    }
    if (artifact->key.size == content->fields.size &&
        memcmp(artifact->key.data, content->fields.data, content->fields.size) == 0)
        return artifact;
    kiln__artifact_unref(artifact);
    return NULL;
}

static bool is_stored(const char *folder, const struct kiln_content_key *content)
{
    struct kiln_artifact *artifact = stored_in(folder, content);
    kiln__artifact_unref(artifact);
    return artifact;
}

/* What is in the folder belongs to remotes as well. */
static void offer(kiln_cache *cache, const struct kiln_artifact *artifact)
{
    kiln__cache_name_toolchain(cache);
    kiln__store_offer(&cache->store, artifact);
    kiln__store_flush(&cache->store, KILN_FILL_MS);
}

/* What is found elsewhere, in a read-only folder or in memory, is put into the folder as well. */
static kiln_status store(const kiln_request *request, kiln_bytes text, const char *folder,
                         const struct kiln_content_key *content, kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    kiln_status status = kiln__kernel_artifact(request, kiln_compiler_llvm(), text, content, &artifact, err);
    if (status) return status;
    if (!is_stored(folder, content)) kiln__chain_put(request->cache->store.tiers, artifact, NULL);
    offer(request->cache, artifact);
    kiln__artifact_unref(artifact);
    if (is_stored(folder, content)) return KILN_OK;
    return kiln__fail(err, KILN_IO, "%s: it could not be stored in %s (KILN_LOG=fault says why)", request->function,
                      folder);
}

kiln_status kiln_warm(kiln_cache *cache, const char *target, const char *name, kiln_bytes text, kiln_warmed *out,
                      kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!cache || !target || !name || !text.data || !out)
        return kiln__fail(err, KILN_INVALID,
                          "kiln_warm: needs a cache, a target, a name, a text and a pointer for the result");
    const char *folder = folder_of(cache);
    if (!folder) return kiln__fail(err, KILN_IO, "%s: the cache has no folder that can be written", name);
    kiln_device device = {.id = 0};
    kiln_status status = kiln__target_resolve(target, &device.target, err);
    if (status) return status;
    const kiln_compiler *compiler = kiln_compiler_llvm();
    struct kiln_content_key content = {0};
    const kiln_request request = {
        .cache = cache, .device = &device, .function = name, .options = kiln__options_from_settings()};
    status =
        kiln__request_content(&request, compiler->name, kiln__cache_toolchain(cache, compiler), text, &content, err);
    struct kiln_artifact *stored = status ? NULL : stored_in(folder, &content);
    if (stored) {
        *out = KILN_WARM_WAS_THERE;
        offer(cache, stored);
    } else if (!status) {
        status = store(&request, text, folder, &content, err);
        if (!status) *out = KILN_WARM_COMPILED;
    }
    kiln__artifact_unref(stored);
    kiln__content_release(&content);
    return status;
}
