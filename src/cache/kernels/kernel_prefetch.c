/*
 * kernel_prefetch.c - kiln__kernels_prefetch(): one question to remotes for all kernels that will be asked for next.
 *
 * The content keys are made by the code that makes them when the kernels are asked for, so they are the same.
 */
#include "cache/cache.h"
#include "cache/kernels/compiling.h"

bool kiln__cache_has_remotes(const kiln_cache *cache)
{
    return cache && cache->store.remotes;
}

static bool is_in_memory(kiln_cache *cache, const struct kiln_digest *digest)
{
    struct kiln_signature signature;
    kiln__memo_begin(&cache->artifacts, NULL, &signature);
    kiln__sign_digest(&signature, digest);
    struct kiln_artifact *artifact = kiln__memo_peek(&cache->artifacts, &signature);
    kiln__artifact_unref(artifact);
    return artifact;
}

static kiln_status make_content(kiln_cache *cache, const kiln_compiler *compiler, const struct kiln_kernel_text *kernel,
                                struct kiln_content_key *out)
{
    kiln_request request = {.cache = cache,
                            .device = kernel->device,
                            .function = kernel->name,
                            .options = kiln__options_unpack(kernel->options)};
    return kiln__request_content(&request, compiler->name, kiln__cache_toolchain(cache, compiler), kernel->text, out,
                                 NULL);
}

struct kiln_prefetch *kiln__kernels_prefetch(kiln_cache *cache, const kiln_compiler *compiler,
                                             const struct kiln_kernel_text *kernels, size_t count)
{
    if (!kiln__cache_has_remotes(cache) || !compiler || !count) return NULL;
    struct kiln_content_key *contents = calloc(count, sizeof *contents);
    struct kiln_wanted_key *keys = calloc(count, sizeof *keys);
    struct kiln_prefetch *prefetch = NULL;
    size_t wanted = 0;
    for (size_t i = 0; i < count && contents && keys; i++) {
        struct kiln_content_key *content = &contents[i];
        if (make_content(cache, compiler, &kernels[i], content) || is_in_memory(cache, &content->digest)) continue;
        keys[wanted++] =
            (struct kiln_wanted_key){content->digest, (kiln_bytes){content->fields.data, content->fields.size}};
    }
    if (wanted) prefetch = kiln__store_prefetch(&cache->store, keys, wanted);
    for (size_t i = 0; i < count && contents; i++) kiln__content_release(&contents[i]);
    free(contents);
    free(keys);
    return prefetch;
}
