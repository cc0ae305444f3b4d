/*
 * cache.c - opening and closing caches, and reading their counters.
 *
 * Invariant: an index is held by one open cache at a time; hit counters of threads are never reset, so a cache
 * subtracts what they held when it was opened.
 */
#include "cache/cache.h"

#include <stdio.h>
#include <unistd.h>

#include "base/config.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"
#include "cache/base_pack.h"
#include "cache/kernels/kernel.h"
#include "cache/kernels/toolchain.h"
#include "cache/kernels/unlinking.h"
#include "store/settings.h"
#include "store/usage.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `open_caches`, `closed`, and handing out indices */
static struct kiln_cache *open_caches;
static kiln_counters closed; /* sums of caches that were closed */

/* ---- counters ------------------------------------------------------------------------------------------------- */

static void sum_hits(uint32_t index, kiln_counters *out)
{
    out->front_hits = out->process_hits = 0;
    for (struct kiln_thread *thread = kiln__threads(); thread; thread = thread->next) {
        out->front_hits += atomic_load_explicit(&thread->front_hits[index], memory_order_relaxed);
        out->process_hits += atomic_load_explicit(&thread->process_hits[index], memory_order_relaxed);
    }
}

static void read_remote_counters(const struct kiln_remote_events *events, kiln_counters *out)
{
    out->remote_misses += atomic_load(&events->misses);
    out->remote_puts += atomic_load(&events->puts);
    out->remote_faults += atomic_load(&events->faults);
    out->remote_waits += atomic_load(&events->waits);
    out->refused_signatures += atomic_load(&events->refused_signatures);
    out->remote_bytes_read += atomic_load(&events->bytes_read);
    out->remote_bytes_written += atomic_load(&events->bytes_written);
    out->remote_ns += atomic_load(&events->ns);
}

static void read_counters(const kiln_cache *cache, kiln_counters *out)
{
    kiln_counters hits;
    sum_hits(cache->index, &hits);
#define ROW(field) out->field = atomic_load_explicit(&cache->counts.field, memory_order_relaxed);
    KILN_COUNTERS(ROW)
#undef ROW
    out->front_hits += hits.front_hits - cache->at_open.front_hits;
    out->process_hits += hits.process_hits - cache->at_open.process_hits;
    out->calls += out->front_hits + out->process_hits;
    out->corrupt += atomic_load(&cache->events.corrupt);
    out->cache_faults += atomic_load(&cache->events.faults);
    out->evictions += atomic_load(&cache->events.evictions);
    out->refused_signatures += atomic_load(&cache->events.refused_signatures);
    if (cache->store.remotes) read_remote_counters(&cache->store.remotes->events, out);
}

void kiln_cache_counters_sized(const kiln_cache *cache, kiln_counters *out, size_t size)
{
    enum { LARGEST = 1 << 16 }; /* no version of the struct is larger */
    kiln_counters counters = {0};
    if (!out || size > LARGEST) return;
    if (cache) read_counters(cache, &counters);
    memcpy(out, &counters, size < sizeof counters ? size : sizeof counters);
    if (size > sizeof counters) memset((char *)out + sizeof counters, 0, size - sizeof counters);
}

/* For programs that were built when the struct ended with saved_ns, and reserved no more than that. */
void(kiln_cache_counters)(const kiln_cache *cache, kiln_counters *out)
{
    enum { SIZE_IN_0_1 = 17 * sizeof(uint64_t) };
    _Static_assert(offsetof(kiln_counters, saved_ns) + sizeof out->saved_ns == SIZE_IN_0_1, "fields come at the end");
    kiln_cache_counters_sized(cache, out, SIZE_IN_0_1);
}

void kiln__process_counters(kiln_counters *out)
{
    kiln__mutex_lock(&lock);
    *out = closed;
    for (struct kiln_cache *cache = open_caches; cache; cache = cache->next) {
        kiln_counters counters;
        read_counters(cache, &counters);
        kiln__counters_add(out, &counters);
    }
    kiln__mutex_unlock(&lock);
}

const char *kiln__cache_written_folder(const struct kiln_cache *cache)
{
    const char *folder = NULL;
    for (const struct kiln_tier *tier = cache->store.tiers; tier; tier = tier->next)
        if (tier->writable && tier->methods->lock) folder = tier->label;
    return folder;
}

/* False: there is nothing to tell. A process that fills a folder to be shipped says nothing: what it did there is no
 * use of it. */
static bool read_usage(struct kiln_cache *cache, kiln_usage *out)
{
    kiln_counters c;
    read_counters(cache, &c);
    *out = (kiln_usage){.struct_size = sizeof *out,
                        .processes = 1,
                        .calls = c.calls,
                        .hits = c.front_hits + c.process_hits,
                        .compiles = c.compiles,
                        .disk_hits = c.disk_hits,
                        .remote_hits = c.remote_hits,
                        .saved_ns = c.saved_ns};
    return c.calls && cache->mode != KILN_MODE_COMPILE_ONLY && kiln__cache_written_folder(cache);
}

static void tell_usage(const char *folder, const kiln_usage *usage)
{
    if (access(folder, W_OK) == 0) kiln__usage_add(folder, usage);
}

/* Other threads may close caches meanwhile, so what is told is copied first; files are written without the lock. */
void kiln__tell_usage_of_all(void)
{
    kiln_usage usages[KILN_MAX_CACHES];
    char *folders[KILN_MAX_CACHES];
    size_t count = 0;
    kiln__mutex_lock(&lock);
    for (struct kiln_cache *cache = open_caches; cache; cache = cache->next)
        if (read_usage(cache, &usages[count]) && (folders[count] = strdup(kiln__cache_written_folder(cache)))) count++;
    kiln__mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++) {
        tell_usage(folders[i], &usages[i]);
        free(folders[i]);
    }
}

size_t kiln__caches(struct kiln_cache *out[KILN_MAX_CACHES])
{
    size_t count = 0;
    kiln__mutex_lock(&lock);
    for (struct kiln_cache *cache = open_caches; cache; cache = cache->next) out[count++] = cache;
    kiln__mutex_unlock(&lock);
    return count;
}

/* ---- folders -------------------------------------------------------------------------------------------------- */

static void add_tier(struct kiln_cache *cache, struct kiln_tier *tier)
{
    struct kiln_tier **link = &cache->store.tiers;
    while (*link) link = &(*link)->next;
    *link = tier;
}

static void pass_over(struct kiln_cache *cache, const char *path, const kiln_error *error)
{
    kiln__add(&cache->events.faults, 1);
    kiln__log_once("%s is not used: %s", path, error->text);
}

static void add_read_only(struct kiln_cache *cache, const char *path)
{
    struct kiln_tier *tier = NULL;
    kiln_error error;
    if (kiln__tier_read_only(path, &cache->events, &tier, &error))
        pass_over(cache, path, &error);
    else
        add_tier(cache, tier);
}

/* KILN_CACHE_PATH: read-only folders and packs separated by colons. */
static void add_search_path(struct kiln_cache *cache)
{
    const char *path = kiln__config("KILN_CACHE_PATH");
    for (int count = 0; path && *path;) {
        size_t size = strcspn(path, ":");
        if (size && count++ == KILN_MAX_SEARCH_PATH) {
            kiln__log_once("KILN_CACHE_PATH%s names more than %d folders and packs; the rest is not used",
                           kiln__config_where("KILN_CACHE_PATH"), KILN_MAX_SEARCH_PATH);
            return;
        }
        char *folder = size ? strndup(path, size) : NULL;
        if (folder) add_read_only(cache, folder);
        free(folder);
        path += size + (path[size] == ':');
    }
}

static void add_folder(struct kiln_cache *cache, const char *path, uint64_t max_bytes, uint64_t max_files)
{
    struct kiln_tier *tier = NULL;
    kiln_error error;
    if (kiln__tier_folder(path, true, max_bytes, max_files, &cache->events, &tier, &error))
        pass_over(cache, path, &error);
    else
        add_tier(cache, tier);
}

static void resolve_bounds(kiln_cache_options *options)
{
    uint64_t max_bytes, max_files;
    kiln_default_bounds(&max_bytes, &max_files);
    if (!options->max_bytes) options->max_bytes = max_bytes;
    if (!options->max_files) options->max_files = max_files;
}

static void add_tiers(struct kiln_cache *cache, const kiln_cache_options *options)
{
    struct kiln_buffer folder = {0};
    if (options->folder)
        kiln__buffer_printf(&folder, "%s", options->folder);
    else
        kiln__default_folder(&folder);
    for (const char *const *path = options->read_only_folders; path && *path; path++) add_read_only(cache, *path);
    add_search_path(cache);
    if (folder.size && !folder.failed)
        add_folder(cache, (const char *)folder.data, options->max_bytes, options->max_files);
    kiln__buffer_release(&folder);
}

/*
 * Asked last of all that is on this machine. Whoever fills a folder on purpose wants all of it there, so compile-only
 * goes without; and it names no tool chain, since what this library does not look for is of no use to it.
 */
static void add_base_pack(struct kiln_cache *cache)
{
    struct kiln_tier *tier = NULL;
    kiln_error error;
    if (cache->mode == KILN_MODE_OFF || cache->mode == KILN_MODE_COMPILE_ONLY) return;
    enum kiln_outcome outcome = kiln__base_pack_tier(&cache->events, &tier, &error);
    if (outcome == KILN_DONE) add_tier(cache, tier);
    if (outcome == KILN_FAILED) pass_over(cache, "KILN_BASE_PACK", &error);
}

static struct kiln_remotes *open_remotes(void)
{
    const char *urls = kiln__config("KILN_REMOTE");
    return urls && *urls ? kiln__remotes_open(urls) : NULL;
}

/*
 * Without the plug-in there is no digest to look kernels up by, and nothing could be compiled under a wrong one: the
 * folders may say what they were filled with, and else it is what the plug-in of this build would be. The rest of a key
 * is compared all the same.
 */
static void find_toolchain(struct kiln_cache *cache)
{
    char path[4096];
    if (kiln__plugin_path(path, sizeof path, NULL) == KILN_OK) return;
    if (!kiln__chain_toolchain(cache->store.tiers, cache->toolchain))
        snprintf(cache->toolchain, sizeof cache->toolchain, "%s", kiln__toolchain_built());
}

/* Not what this library knows by itself: in a folder it would hold back the library's next version. */
void kiln__cache_name_toolchain(const kiln_cache *cache)
{
    if (!strcmp(cache->toolchain, kiln__toolchain_built())) return;
    kiln__chain_set_toolchain(cache->store.tiers, kiln__cache_toolchain(cache, kiln_compiler_llvm()));
}

const char *kiln__cache_toolchain(const kiln_cache *cache, const kiln_compiler *compiler)
{
    return cache->toolchain[0] && compiler == kiln_compiler_llvm() ? cache->toolchain : compiler->digest;
}

/* ---- open and close ------------------------------------------------------------------------------------------- */

static enum kiln_mode mode_from_settings(void)
{
    static const char *const names[] = {"normal", "off", "no-compile", "compile-only"};
    const char *value = kiln__config("KILN_MODE");
    for (size_t i = 0; value && i < sizeof names / sizeof *names; i++)
        if (!strcmp(value, names[i])) return (enum kiln_mode)i;
    return KILN_MODE_NORMAL;
}

static void release_artifact(void *value)
{
    kiln__artifact_unref(value);
}

static void acquire_artifact(void *value)
{
    kiln__artifact_ref(value);
}

enum { MOST_ARTIFACTS = 4096 }; /* in memory: each is a mapping, of which a process may have some 65,000 */

static void init_tables(struct kiln_cache *cache)
{
    kiln__memo_init(&cache->kernels, cache->index, KILN_LEVEL_KERNEL, kiln__kernel_drop);
    cache->kernels.acquire = kiln__kernel_acquire;
    kiln__memo_init(&cache->artifacts, cache->index, KILN_LEVEL_ARTIFACT, release_artifact);
    cache->artifacts.acquire = acquire_artifact;
    kiln__memo_bound(&cache->artifacts, MOST_ARTIFACTS, "", NULL);
    kiln__memo_init(&cache->runtimes, cache->index, KILN_LEVEL_RUNTIME, release_artifact);
    kiln__manifests_init(&cache->manifests);
    kiln__tickets_init(&cache->tickets);
    pthread_mutex_init(&cache->functions_lock, NULL);
}

/* Takes the smallest index no open cache has. From then on a reset of a device finds the cache, so its tables come
 * first. */
static bool enlist(struct kiln_cache *cache)
{
    kiln__mutex_lock(&lock);
    uint64_t taken = 0;
    for (struct kiln_cache *other = open_caches; other; other = other->next) taken |= 1ull << other->index;
    bool found = taken != UINT64_MAX;
    if (found) {
        cache->index = (uint32_t)__builtin_ctzll(~taken);
        init_tables(cache);
        sum_hits(cache->index, &cache->at_open);
        cache->next = open_caches;
        open_caches = cache;
    }
    kiln__mutex_unlock(&lock);
    return found;
}

static void delist(struct kiln_cache *cache)
{
    kiln_counters counters;
    kiln__mutex_lock(&lock);
    read_counters(cache, &counters);
    counters.linked_bytes = counters.linked_images = 0; /* they are going to be unlinked */
    kiln__counters_add(&closed, &counters);
    struct kiln_cache **link = &open_caches;
    while (*link != cache) link = &(*link)->next;
    *link = cache->next;
    kiln__mutex_unlock(&lock);
}

kiln_status kiln_cache_open(const kiln_cache_options *options, kiln_cache **out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    kiln_cache_options resolved = {.struct_size = sizeof resolved};
    if (!out) return kiln__fail(err, KILN_INVALID, "kiln_cache_open: no pointer for the result");
    if (options && (!options->struct_size || options->struct_size > sizeof resolved ||
                    options->struct_size % sizeof options->struct_size)) /* a part of a pointer is no pointer */
        return kiln__fail(
            err, KILN_INVALID,
            "kiln_cache_open: struct_size is %zu, expected sizeof(kiln_cache_options), %zu or a version's before",
            options->struct_size, sizeof resolved);
    if (options) memcpy(&resolved, options, options->struct_size);
    resolve_bounds(&resolved);
    struct kiln_cache *cache = calloc(1, sizeof *cache);
    if (!cache || kiln__tier_memory(resolved.max_bytes, resolved.max_files, &cache->events, &cache->memory, NULL)) {
        free(cache);
        return kiln__no_memory(err, "a cache");
    }
    cache->max_results = resolved.max_results ? resolved.max_results : 1024;
    cache->max_linked_bytes = resolved.max_linked_bytes ? resolved.max_linked_bytes : 256u << 20;
    if (!enlist(cache)) {
        cache->memory->methods->free(cache->memory);
        free(cache);
        return kiln__fail(err, KILN_INVALID, "kiln_cache_open: %d caches are open, which is the most; close one",
                          KILN_MAX_CACHES);
    }
    cache->mode = mode_from_settings();
    if (cache->mode != KILN_MODE_OFF) add_tiers(cache, &resolved);
    if (cache->mode != KILN_MODE_OFF) cache->store.remotes = open_remotes();
    find_toolchain(cache);
    add_base_pack(cache);
    kiln__statistics_at_exit();
    kiln__timeline_start();
    *out = cache;
    return KILN_OK;
}

void kiln_cache_close(kiln_cache *cache)
{
    KILN_HOLD_CANCEL;
    enum { FLUSH_MS = 1000 };
    if (!cache) return;
    kiln__tickets_release(&cache->tickets);
    kiln__store_flush(&cache->store, FLUSH_MS);
    kiln_usage usage;
    if (read_usage(cache, &usage)) tell_usage(kiln__cache_written_folder(cache), &usage);
    delist(cache);
    kiln__unlinking_wait();
    kiln__memo_release(&cache->kernels);
    kiln__memo_release(&cache->artifacts);
    kiln__memo_release(&cache->runtimes);
    kiln__manifests_release(&cache->manifests);
    kiln__store_release(&cache->store);
    cache->memory->methods->free(cache->memory);
    pthread_mutex_destroy(&cache->functions_lock);
    free(cache);
}

static kiln_cache *default_cache;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

static void open_default(void)
{
    kiln_error error;
    static const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    if (kiln_cache_open(NULL, &default_cache, &error) && kiln_cache_open(&memory_only, &default_cache, &error))
        kiln__log_once("the default cache can't be opened: %s", error.text);
}

kiln_cache *kiln_cache_default(void)
{
    pthread_once(&default_once, open_default);
    return default_cache;
}
