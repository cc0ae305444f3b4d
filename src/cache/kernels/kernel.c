/*
 * kernel.c - see kernel.h. Executables by (content key, device); the artifacts they are linked from: compiling.h.
 */
#include "cache/kernels/kernel.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/process/callback.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"
#include "cache/audit.h"
#include "cache/function.h"
#include "cache/kernels/compiler_steps.h"
#include "cache/kernels/compiling.h"
#include "cache/kernels/manifest.h"
#include "cache/kernels/unlinking.h"

/* ---- references ----------------------------------------------------------------------------------------------- */

/* The table's own reference. A kernel whose count is this alone is unused: it waits to be asked for again, or swept. */
#define IN_TABLE (1u << 31)

/* Bytes are counted from before a kernel is unused until after it no longer is: when they are 0, none is. */
static void add_unused(const struct kiln_kernel *kernel)
{
    kiln__add(&kernel->cache->unused_bytes[kernel->is_kept], kernel->size_bytes);
}

static void subtract_unused(const struct kiln_kernel *kernel)
{
    kiln__subtract(&kernel->cache->unused_bytes[kernel->is_kept], kernel->size_bytes);
}

static void destroy(struct kiln_kernel *kernel)
{
    if (kernel->compiler->unlink) kernel->compiler->unlink(kernel->compiler->self, kernel->executable);
    kiln__subtract(&kernel->cache->counts.linked_bytes, kernel->size_bytes);
    kiln__subtract(&kernel->cache->counts.linked_images, 1);
    kiln__artifact_unref(kernel->artifact);
    free(kernel);
}

void kiln__kernel_acquire(void *value)
{
    struct kiln_kernel *kernel = value;
    if (atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed) == IN_TABLE) subtract_unused(kernel);
}

void kiln__kernel_unref(void *value)
{
    struct kiln_kernel *kernel = value;
    uint32_t refs = kernel ? atomic_load_explicit(&kernel->refs, memory_order_relaxed) : 0;
    for (bool done = !kernel; !done;) {
        bool becomes_unused = refs == IN_TABLE + 1;
        if (becomes_unused) add_unused(kernel);
        done = atomic_compare_exchange_weak_explicit(&kernel->refs, &refs, refs - 1, memory_order_acq_rel,
                                                     memory_order_relaxed);
        if (becomes_unused && !done) subtract_unused(kernel);
    }
    if (refs == 1) destroy(kernel);
}

void kiln__kernel_drop(void *value)
{
    struct kiln_kernel *kernel = value;
    if (atomic_fetch_sub_explicit(&kernel->refs, IN_TABLE, memory_order_acq_rel) != IN_TABLE) return;
    subtract_unused(kernel);
    destroy(kernel);
}

/* ---- linking -------------------------------------------------------------------------------------------------- */

struct link_call {
    const struct kiln_job *job;
    const struct kiln_artifact *artifact;
    void **executable;
    kiln_error *error;
    kiln_status status;
};

static void call_link(void *context)
{
    struct link_call *call = context;
    const kiln_compiler *compiler = call->job->compiler;
    call->status =
        compiler->link(compiler->self, call->artifact, call->job->request->device, call->executable, call->error);
}

static kiln_status try_link(const struct kiln_job *job, struct kiln_artifact *artifact, void **executable,
                            kiln_error *error)
{
    struct kiln_cache *cache = job->request->cache;
    uint64_t start = kiln__clock_ns(), recorded_ns = kiln__timeline_begin();
    struct link_call call = {.job = job, .artifact = artifact, .executable = executable, .error = error};
    if (!kiln__call_client(call_link, &call))
        return kiln__fail(error, KILN_COMPILE_FAILED, "%s: the thread left link()", job->request->function);
    kiln__add(&cache->counts.links, 1);
    kiln__add(&cache->counts.link_ns, kiln__clock_ns() - start);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "link",
                                                         .function = job->request->function,
                                                         .where = job->request->device->name,
                                                         .outcome = call.status ? "failed" : NULL,
                                                         .digest = &artifact->digest});
    return call.status;
}

/* What a link needs may be taken by executables that nobody uses: without those it is tried again. */
static kiln_status link_kernel(const struct kiln_job *job, struct kiln_artifact *artifact, struct kiln_kernel *kernel,
                               kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    kiln_error error = {KILN_OK, ""};
    kiln_status status = try_link(job, artifact, &kernel->executable, &error);
    if (status && !kiln__thread_left() && kiln__kernels_sweep(cache, true)) {
        error = (kiln_error){KILN_OK, ""};
        status = try_link(job, artifact, &kernel->executable, &error);
    }
    if (status) return kiln__fail(err, KILN_LINK_FAILED, "%s: %s", job->request->function, error.text);
    if (!kernel->executable)
        return kiln__fail(err, KILN_LINK_FAILED, "%s: link() gave no executable", job->request->function);
    if (kiln__audit_on()) { /* an audit shows the text it was made from; others need only the executable */
        kiln__artifact_ref(artifact);
        kernel->artifact = artifact;
    }
    kernel->compiler = job->compiler;
    kernel->cache = cache;
    kernel->size_bytes = sizeof *kernel;
    for (size_t i = 0; i < artifact->section_count; i++) kernel->size_bytes += artifact->sections[i].size;
    kiln__add(&cache->counts.linked_bytes, kernel->size_bytes);
    kiln__add(&cache->counts.linked_images, 1);
    return KILN_OK;
}

/* ---- stored artifacts that can't be linked --------------------------------------------------------------------- */

static bool is_other_file(const struct kiln_artifact *artifact, const void *context)
{
    const kiln_bytes *it = &((const struct kiln_artifact *)context)->mapping, *other = &artifact->mapping;
    return other->size != it->size || memcmp(other->data, it->data, it->size) != 0;
}

/* Another folder may hold a better one under the same key. */
static bool find_other(const struct kiln_job *job, const struct kiln_artifact *stored, struct kiln_artifact **out)
{
    kiln_bytes key = {job->content->fields.data, job->content->fields.size};
    struct kiln_store *store = &job->request->cache->store;
    *out = kiln__chain_find(store->tiers, &job->content->digest, key, is_other_file, stored);
    if (!*out) return false;
    if (is_other_file(*out, stored)) return true;
    kiln__artifact_unref(*out);
    *out = NULL;
    return false;
}

/* Where the compiler can't tell, linking an artifact that was compiled just now does. */
static bool may_be_bad(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    const struct kiln_compiler_steps *steps = kiln__compiler_steps(job->compiler);
    if (!artifact->mapping.data) return false; /* made by this process */
    return !steps || steps->may_be_bad(artifact, job->request->device);
}

static bool is_of_digest(const struct kiln_entry *entry, const void *digest)
{
    return memcmp(&entry->key[3], ((const struct kiln_digest *)digest)->bytes, KILN_DIGEST_SIZE) == 0;
}

/*
 * A stored artifact whose bytes are right could not be linked. If one that another folder holds, or that is compiled
 * now, can be, the stored one was bad: it is put aside and counted. Otherwise something else is missing, memory for
 * instance, and it stays. Once per call; `err` keeps what was wrong with the stored one.
 */
static kiln_status link_another(struct kiln_job *job, const struct kiln_artifact *stored, struct kiln_kernel *kernel,
                                kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    struct kiln_artifact *other = NULL;
    char name[32 + KILN_DIGEST_HEX];
    bool is_new = false, is_linked = find_other(job, stored, &other) && !link_kernel(job, other, kernel, NULL);
    if (!is_linked && cache->mode != KILN_MODE_NO_COMPILE) {
        kiln__artifact_unref(other);
        other = NULL;
        is_new = kiln__job_compile(job, &other, NULL) == KILN_DONE;
        is_linked = is_new && !link_kernel(job, other, kernel, NULL);
    }
    if (is_linked) {
        kiln__chain_discard(cache->store.tiers, stored);
        if (is_new) kiln__job_store(job, other);
        if (is_new) job->is_stored = false; /* what was found is not what is used */
        kiln__memo_remove(&cache->artifacts, is_of_digest, &job->content->digest);
    }
    kiln__artifact_unref(other);
    if (is_linked) return KILN_OK;
    snprintf(name, sizeof name, "the stored artifact ");
    kiln__digest_hex(&job->content->digest, name + strlen(name));
    return kiln__fail_as(err, KILN_LINK_FAILED, name);
}

/* ---- kernels by key ------------------------------------------------------------------------------------------- */

static kiln_status say_compiled(const struct kiln_job *job, kiln_error *err)
{
    return kiln__fail(err, KILN_COMPILED, "%s: KILN_MODE=compile-only: compiled and stored, not linked",
                      job->request->function);
}

static enum kiln_outcome make_kernel(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct kiln_job *job = context;
    struct kiln_artifact *artifact = NULL;
    enum kiln_outcome outcome = kiln__job_artifact(job, &artifact, err);
    if (outcome != KILN_DONE) return outcome;
    struct kiln_kernel *kernel = calloc(1, sizeof *kernel);
    kiln_status status = kernel ? KILN_OK : kiln__no_memory(err, "a kernel");
    if (!status)
        status = job->request->cache->mode == KILN_MODE_COMPILE_ONLY ? say_compiled(job, err)
                                                                     : link_kernel(job, artifact, kernel, err);
    if (status == KILN_LINK_FAILED && !kiln__thread_left() && may_be_bad(job, artifact))
        status = link_another(job, artifact, kernel, err);
    kiln__job_count(job, artifact);
    kiln__artifact_unref(artifact);
    if (status) {
        free(kernel);
        return kiln__outcome(status, err);
    }
    atomic_init(&kernel->refs, IN_TABLE);
    kernel->is_kept = job->is_kept;
    add_unused(kernel);
    *value = kernel;
    return KILN_DONE;
}

static uint64_t unused_bytes(const kiln_cache *cache, bool of_arrays_too)
{
    return atomic_load_explicit(&cache->unused_bytes[false], memory_order_relaxed) +
           (of_arrays_too ? atomic_load_explicit(&cache->unused_bytes[true], memory_order_relaxed) : 0);
}

static void sign_kernel(const struct kiln_job *job, struct kiln_signature *signature)
{
    kiln__memo_begin(&job->request->cache->kernels, job->request->device, signature);
    if (job->is_kept) signature->few[2] = (uint64_t)job->request->device->id << 32;
    kiln__signature_word(signature, job->is_kept);
    kiln__signature_word(signature, (uint64_t)(uintptr_t)job->compiler);
    kiln__sign_digest(signature, &job->content->digest);
}

/* The kernel with the key that was chosen. */
static enum kiln_outcome get_chosen(struct kiln_job *job, struct kiln_kernel **out, kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    struct kiln_signature signature;
    sign_kernel(job, &signature);
    void *value = NULL;
    bool made = false;
    enum kiln_outcome outcome =
        kiln__job_value(job, "linking", &cache->kernels, &signature, make_kernel, &value, &made, err);
    if (outcome != KILN_DONE) return outcome;
    if (!made) kiln__add(&cache->counts.kernel_hits, 1);
    if (made && unused_bytes(cache, true) > cache->max_linked_bytes) kiln__kernels_sweep(cache, true);
    *out = value;
    return KILN_DONE;
}

/* ---- the key of a kernel --------------------------------------------------------------------------------------- */

static bool is_linked(const struct kiln_job *job)
{
    struct kiln_signature signature;
    sign_kernel(job, &signature);
    struct kiln_kernel *kernel = kiln__memo_peek(&job->request->cache->kernels, &signature);
    kiln__kernel_unref(kernel);
    return kernel;
}

static bool is_there(const struct kiln_job *job)
{
    if (is_linked(job)) return true;
    struct kiln_artifact *artifact = kiln__job_find(job);
    kiln__artifact_unref(artifact);
    return artifact;
}

static kiln_status use_set(struct kiln_job *job, const struct kiln_buffer *set, struct kiln_content_key *longer,
                           kiln_error *err)
{
    kiln__content_release(longer);
    job->content = longer;
    job->set = (kiln_bytes){set->data, set->size};
    return kiln__request_inputs_content(job->request, job->set, job->looks, job->base, longer, err);
}

/* Without a manifest it is the content key. Else one that is longer by a set: one that leads to something, or, since
 * nothing is there, the first. */
static kiln_status choose_key(struct kiln_job *job, const struct kiln_manifest *manifest,
                              struct kiln_content_key *longer, kiln_error *err)
{
    job->content = job->base;
    job->set = (kiln_bytes){NULL, 0};
    if (job->used_once) {
        kiln__buffer_append(&longer->fields, job->used_once->key.data, job->used_once->key.size);
        job->content = longer;
        return kiln__content_finish(longer, err);
    }
    job->roots_version = kiln__roots_version();
    if (!manifest) return KILN_OK;
    kiln_status status = KILN_OK;
    for (size_t i = 0; !status && manifest->count > 1 && i < manifest->count; i++) {
        status = use_set(job, &manifest->sets[i], longer, err);
        if (!status && is_there(job)) return KILN_OK;
    }
    return status ? status : use_set(job, &manifest->sets[0], longer, err);
}

/* The files that the kernel's key has values of. KILN_CHANGED: a root was set meanwhile, and names stand for others. */
static enum kiln_outcome add_files(const struct kiln_job *job, struct kiln_read_record **reads, kiln_error *err)
{
    struct kiln_read_record *added = NULL;
    kiln_status status =
        job->used_once ? kiln__reads_add_unsure(&added) : kiln__reads_add_set(&added, job->set, job->looks);
    if (status) return kiln__outcome(kiln__no_memory(err, "what compile() depends on"), err);
    if (added && !job->used_once && kiln__roots_version() != job->roots_version) {
        kiln__reads_free(added);
        return KILN_CHANGED;
    }
    if (added) {
        added->next = *reads;
        *reads = added;
    }
    return KILN_DONE;
}

static enum kiln_outcome try_get(struct kiln_job *job, struct kiln_kernel **out, struct kiln_read_record **reads,
                                 kiln_error *err)
{
    struct kiln_content_key longer = {0};
    struct kiln_file_looks looks;
    struct kiln_manifest *manifest = kiln__manifest_known(job);
    struct kiln_kernel *kernel = NULL;
    kiln__looks_init(&looks);
    job->looks = &looks;
    enum kiln_outcome outcome = kiln__outcome(choose_key(job, manifest, &longer, err), err);
    if (outcome == KILN_DONE) outcome = get_chosen(job, &kernel, err);
    if (outcome == KILN_DONE && reads) outcome = add_files(job, reads, err);
    if (outcome == KILN_DONE)
        *out = kernel;
    else
        kiln__kernel_unref(kernel);
    kiln__looks_release(&looks);
    kiln__manifest_unref(manifest);
    kiln__content_release(&longer);
    return outcome;
}

/* As a rule twice at most: what compile() depends on is found out, and then known. KILN_CHANGED: so has a file of the
 * request. */
static enum kiln_outcome get(struct kiln_job *job, struct kiln_kernel **out, struct kiln_read_record **reads,
                             kiln_error *err)
{
    enum { MOST_TRIES = 64 };
    enum kiln_outcome outcome = try_get(job, out, reads, err);
    int tries = 1;
    for (; outcome == KILN_CHANGED && tries < MOST_TRIES && kiln__request_files_begin(job->request); tries++)
        outcome = try_get(job, out, reads, err);
    kiln__artifact_unref(job->used_once);
    if (outcome != KILN_CHANGED || tries < MOST_TRIES) return outcome;
    return kiln__outcome(kiln__fail(err, KILN_DRIFTED,
                                    "%s: what compile() depends on was something else in each of %d tries",
                                    job->request->function, MOST_TRIES),
                         err);
}

enum kiln_outcome kiln__kernel_get(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                                   kiln_bytes call_key, struct kiln_kernel **out, struct kiln_read_record **reads,
                                   kiln_error *err)
{
    struct kiln_content_key content = {0};
    struct kiln_job job = {
        .request = request, .compiler = compiler, .text = text, .call_key = call_key, .base = &content};
    enum kiln_outcome outcome =
        kiln__outcome(kiln__request_content(request, compiler->name, kiln__cache_toolchain(request->cache, compiler),
                                            text, &content, err),
                      err);
    if (outcome == KILN_DONE) outcome = get(&job, out, reads, err);
    kiln__content_release(&content);
    return outcome;
}

/* ---- kernels of arrays ----------------------------------------------------------------------------------------- */

/* Who asks for the kernel of a text alone; it watches nothing that could change. */
struct text_job {
    struct kiln_content_key content;
    kiln_request request;
    struct kiln_job job;
};

static kiln_status text_job_begin(struct text_job *it, kiln_cache *cache, const kiln_compiler *compiler,
                                  const struct kiln_kernel_text *kernel, kiln_error *err)
{
    *it = (struct text_job){.request = {.cache = cache,
                                        .device = kernel->device,
                                        .function = kernel->name,
                                        .options = kiln__options_unpack(kernel->options)}};
    it->job = (struct kiln_job){.request = &it->request,
                                .compiler = compiler,
                                .text = kernel->text,
                                .base = &it->content,
                                .content = &it->content,
                                .is_kept = true};
    if (!compiler) return kiln__fail(err, KILN_NO_COMPILER, "%s: there is no compiler", kernel->name);
    return kiln__request_content(&it->request, compiler->name, kiln__cache_toolchain(cache, compiler), kernel->text,
                                 &it->content, err);
}

static void text_job_end(struct text_job *it)
{
    kiln__artifact_unref(it->job.found);
    kiln__content_release(&it->content);
}

kiln_status kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler,
                                   const struct kiln_kernel_text *kernel, const struct kiln_provenance *provenance,
                                   struct kiln_kernel **out, kiln_error *err)
{
    struct text_job it;
    kiln_error unread;
    if (!err) err = &unread;
    kiln_status status = text_job_begin(&it, cache, compiler, kernel, err);
    it.job.provenance = provenance;
    if (!status) status = kiln__outcome_status(get(&it.job, out, NULL, err), err);
    text_job_end(&it);
    if (status != KILN_COMPILED) return status;
    *out = NULL;
    return KILN_OK;
}

enum kiln_outcome kiln__kernel_at_hand(kiln_cache *cache, const kiln_compiler *compiler,
                                       const struct kiln_kernel_text *kernel, struct kiln_kernel **out, kiln_error *err)
{
    struct text_job it;
    kiln_error unread;
    if (!err) err = &unread;
    enum kiln_outcome outcome = kiln__outcome(text_job_begin(&it, cache, compiler, kernel, err), err);
    if (outcome == KILN_DONE && !is_linked(&it.job)) {
        it.job.found = kiln__job_find(&it.job);
        if (!it.job.found || kiln__is_manifest(it.job.found)) outcome = KILN_MISS;
    }
    if (outcome == KILN_DONE) outcome = get(&it.job, out, NULL, err);
    text_job_end(&it);
    return outcome;
}

kiln_status kiln__kernel_artifact(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                                  const struct kiln_content_key *content, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_job job = {.request = request, .compiler = compiler, .text = text, .base = content, .content = content};
    kiln_error unread;
    if (!err) err = &unread;
    enum kiln_outcome outcome = kiln__job_artifact(&job, out, err);
    if (outcome == KILN_DONE) kiln__job_count(&job, *out);
    kiln__artifact_unref(job.used_once);
    if (outcome != KILN_CHANGED) return kiln__outcome_status(outcome, err);
    return kiln__fail(err, KILN_INVALID, "%s: its compile() depends on more than its content key holds",
                      request->function);
}

/* ---- removal -------------------------------------------------------------------------------------------------- */

static bool is_dropped_by_reset(const struct kiln_entry *entry, const void *device)
{
    const struct kiln_kernel *kernel = entry->value;
    return entry->key[2] >> 32 == ((const kiln_device *)device)->id && !kernel->is_kept;
}

static void drop_kernels(struct kiln_cache *cache, kiln_device *device)
{
    struct kiln_removed *removed = NULL;
    kiln__mutex_lock(&cache->functions_lock);
    for (struct kiln_function *function = cache->functions; function; function = function->next)
        removed = kiln__memo_take_device(&function->memo, device->id, removed);
    kiln__mutex_unlock(&cache->functions_lock);
    kiln__removed_drop(removed);
    kiln__memo_remove(&cache->kernels, is_dropped_by_reset, device);
}

static bool is_unused(const struct kiln_entry *entry, const void *of_arrays_too)
{
    const struct kiln_kernel *kernel = entry->value;
    return (!kernel->is_kept || *(const bool *)of_arrays_too) &&
           atomic_load_explicit(&kernel->refs, memory_order_acquire) == IN_TABLE;
}

size_t kiln__kernels_sweep(kiln_cache *cache, bool of_arrays_too)
{
    if (!unused_bytes(cache, of_arrays_too)) return 0;
    kiln__unlinking_begin();
    size_t count = kiln__memo_remove(&cache->kernels, is_unused, &of_arrays_too);
    kiln__unlinking_end();
    return count;
}

void kiln_device_reset(kiln_device *device)
{
    KILN_HOLD_CANCEL;
    struct kiln_cache *caches[KILN_MAX_CACHES];
    if (!device) return;
    atomic_fetch_add_explicit(&device->generation, 1, memory_order_acq_rel);
    kiln__unlinking_begin(); /* a cache that is closed meanwhile waits for us */
    size_t count = kiln__caches(caches);
    for (size_t i = 0; i < count; i++) drop_kernels(caches[i], device);
    kiln__unlinking_end();
}
