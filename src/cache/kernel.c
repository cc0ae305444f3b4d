/*
 * kernel.c - see kernel.h. Two tables: artifacts by content key, executables by (content key, device).
 *
 * The content key is made once per miss and passed down; an artifact taken from a tier has been compared with it in
 * full.
 */
#include "cache/kernel.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
#include "cache/audit.h"
#include "cache/function.h"
#include "cache/unlinking.h"
#include "link/link.h"

/* What a miss carries down through its makers. */
struct job {
    const kiln_request *request;
    const kiln_compiler *compiler;
    kiln_bytes text;
    kiln_bytes call_key;
    const struct kiln_content_key *content;
    const struct kiln_provenance *note; /* instead of a call key; may be NULL */
    bool is_kept;                       /* see struct kiln_kernel */
};

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
    kiln__add(&kernel->cache->unused_bytes[kernel->is_kept], -kernel->size_bytes);
}

static void destroy(struct kiln_kernel *kernel)
{
    if (kernel->compiler->unlink) kernel->compiler->unlink(kernel->compiler->self, kernel->executable);
    kiln__add(&kernel->cache->counts.linked_bytes, -kernel->size_bytes);
    kiln__add(&kernel->cache->counts.linked_images, (uint64_t)-1);
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

static void sign_digest(struct kiln_signature *signature, const struct kiln_digest *digest)
{
    uint64_t *words = kiln__signature_grow(signature, KILN_DIGEST_SIZE / 8);
    if (words) memcpy(words, digest->bytes, sizeof digest->bytes);
}

/* ---- artifacts ------------------------------------------------------------------------------------------------ */

static kiln_status describe(const struct job *job, struct kiln_artifact *artifact)
{
    const kiln_request *request = job->request;
    free(artifact->target);
    free(artifact->function);
    artifact->target = strdup(request->device->target.name);
    artifact->function = strdup(request->function);
    artifact->isa = request->device->target.isa;
    artifact->digest = job->content->digest;
    artifact->created_unix_s = (uint64_t)time(NULL);
    kiln__buffer_append(&artifact->key, job->content->fields.data, job->content->fields.size);
    kiln__buffer_append(&artifact->call_key, job->call_key.data, job->call_key.size);
    if (job->note) job->note->print(job->note->context, &artifact->call_key);
    bool complete = artifact->target && artifact->function && !artifact->key.failed && !artifact->call_key.failed;
    return complete ? kiln_artifact_put(artifact, "text", job->text.data, job->text.size) : KILN_NO_MEMORY;
}

static kiln_status refuse_to_compile(const struct job *job, kiln_error *err)
{
    char hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&job->content->digest, hex);
    return kiln__fail(err, KILN_WOULD_COMPILE, "%s: KILN_MODE=no-compile and nothing stored fits; content key %s",
                      job->request->function, hex);
}

/* What comes of a compile(): `said` is its own error. What it must not do counts also when it says that all is well. */
static kiln_status judge(const kiln_request *seen, const struct kiln_artifact *artifact, kiln_status status,
                         const kiln_error *said, kiln_error *err)
{
    kiln_status forbidden = kiln__request_check(seen, err);
    if (!forbidden) forbidden = kiln__artifact_check(artifact, seen->function, err);
    if (forbidden || !status) return forbidden;
    bool is_known = status == KILN_NO_COMPILER || status == KILN_NO_MEMORY;
    return kiln__fail(err, is_known ? status : KILN_COMPILE_FAILED, "%s: %s", seen->function,
                      said->text[0] ? said->text : "the compiler failed without a message");
}

/* A call of the compiler's compile() or link(). */
struct compiler_call {
    const struct job *job;
    const kiln_request *seen; /* by compile() */
    struct kiln_artifact *artifact;
    void **executable; /* of link() */
    kiln_error *error;
    kiln_status status;
};

static void call_compile(void *context)
{
    struct compiler_call *call = context;
    const kiln_compiler *compiler = call->job->compiler;
    call->status = compiler->compile(compiler->self, call->seen, call->job->text, call->artifact, call->error);
}

static void call_link(void *context)
{
    struct compiler_call *call = context;
    const kiln_compiler *compiler = call->job->compiler;
    call->status =
        compiler->link(compiler->self, call->artifact, call->job->request->device, call->executable, call->error);
}

static kiln_status say_left(const struct job *job, const char *callback, kiln_error *err)
{
    return kiln__fail(err, KILN_COMPILE_FAILED, "%s: the thread left %s", job->request->function, callback);
}

static kiln_status compile(const struct job *job, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    const kiln_compiler *compiler = job->compiler;
    struct kiln_artifact *artifact = kiln__artifact_new();
    if (!artifact) return kiln__no_memory(err, "an artifact");
    uint64_t start = kiln__clock_ns();
    kiln_error error = {KILN_OK, ""};
    kiln_request seen = *job->request;
    seen.is_compiling = artifact->keeps_room = true;
    if (kiln__is_leaving() || !kiln__work_begin()) {
        kiln__artifact_unref(artifact);
        return kiln__fail(err, KILN_NO_COMPILER, "%s: the process is leaving: nothing is compiled any more",
                          job->request->function);
    }
    struct compiler_call call = {.job = job, .seen = &seen, .artifact = artifact, .error = &error};
    bool returned = kiln__call_client(call_compile, &call);
    kiln__work_end();
    if (!returned) {
        kiln__artifact_unref(artifact);
        return say_left(job, "compile()", err);
    }
    kiln_status status = call.status;
    artifact->compile_ns = kiln__clock_ns() - start;
    kiln__add(&cache->counts.compiles, 1);
    kiln__add(&cache->counts.compile_ns, artifact->compile_ns);
    kiln__log(KILN_LOG_MISS, "compile %s for %s with %s: %.1f ms%s", job->request->function,
              job->request->device->target.name, compiler->name, (double)artifact->compile_ns / 1e6,
              status ? ", failed" : "");
    status = judge(&seen, artifact, status, &error, err);
    if (!status && (status = describe(job, artifact))) kiln__no_memory(err, "an artifact");
    if (status) {
        kiln__artifact_unref(artifact);
        return status;
    }
    *out = artifact;
    return KILN_OK;
}

/*
 * An artifact for a GPU has PTX. The driver turns it into machine code, once: that becomes a section of the artifact,
 * and the next process loads it. A GPU that is not here needs none.
 */
static bool has_machine_code(const struct kiln_artifact *artifact, const void *context)
{
    const struct kiln_gpu *gpu = ((const struct job *)context)->request->device->gpu;
    char name[KILN_CUBIN_NAME];
    if (!gpu || gpu->is_absent || !kiln_artifact_get(artifact, "ptx").data) return true;
    return kiln_artifact_get(artifact, kiln__cubin_name(gpu->target, name)).data != NULL;
}

/* Puts machine code into *artifact, or leaves it as it is: linking will then say what is wrong. */
static bool add_machine_code(const struct job *job, struct kiln_artifact **artifact)
{
    const struct kiln_gpu *gpu = job->request->device->gpu;
    struct kiln_buffer cubin = {0};
    char name[KILN_CUBIN_NAME];
    uint64_t start = kiln__clock_ns();
    kiln_status status = kiln__ptx_assemble(gpu, kiln_artifact_get(*artifact, "ptx"), &cubin, NULL);
    struct kiln_artifact *copy = status ? NULL : kiln__artifact_copy(*artifact);
    if (copy && !kiln_artifact_put(copy, kiln__cubin_name(gpu->target, name), cubin.data, cubin.size)) {
        copy->compile_ns += kiln__clock_ns() - start;
        kiln__artifact_unref(*artifact);
        *artifact = copy;
    } else {
        kiln__artifact_unref(copy);
        copy = NULL;
    }
    kiln__buffer_release(&cubin);
    return copy != NULL;
}

static bool find_stored(const struct job *job, struct kiln_artifact **out)
{
    kiln_bytes key = {job->content->fields.data, job->content->fields.size};
    return kiln__chain_find(job->request->cache->tiers, &job->content->digest, key, has_machine_code, job, out) ==
           KILN_OK;
}

/* The folder says who filled it, so that it can be used where no compiler is. Whoever fills one on purpose says so even
 * when another tool chain was here since the kernels were made. */
static void name_toolchain(const struct job *job)
{
    struct kiln_cache *cache = job->request->cache;
    if (job->compiler != kiln_compiler_llvm()) return;
    kiln__chain_set_toolchain(cache->tiers, kiln__cache_toolchain(cache, job->compiler));
}

/* Stored, or compiled by another process while we wait for it, or compiled here while others wait for us. */
static kiln_status make_artifact(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    const struct job *job = context;
    struct kiln_cache *cache = job->request->cache;
    struct kiln_artifact *artifact = NULL;
    struct kiln_lock *lock = NULL;
    kiln_status status = KILN_OK;
    bool found = find_stored(job, &artifact);
    if (!found && cache->mode == KILN_MODE_NO_COMPILE) return refuse_to_compile(job, err);
    if (!found && kiln__chain_lock(cache->tiers, &job->content->digest, false, &lock))
        found = find_stored(job, &artifact);
    if (found) {
        kiln__add(&cache->counts.disk_hits, 1);
        kiln__add(&cache->counts.saved_ns, artifact->compile_ns);
    } else {
        status = compile(job, &artifact, err);
    }
    bool is_new = !found && !status;
    if (!status && !has_machine_code(artifact, job)) is_new |= add_machine_code(job, &artifact);
    if (is_new) kiln__chain_put(cache->tiers, artifact);
    if (is_new || (found && cache->mode == KILN_MODE_COMPILE_ONLY)) name_toolchain(job);
    kiln__lock_release(lock);
    if (!status) *value = artifact;
    return status;
}

/* *out is the caller's reference. */
static kiln_status get_artifact(struct job *job, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_memo_table *artifacts = &job->request->cache->artifacts;
    struct kiln_signature signature;
    kiln__memo_begin(artifacts, NULL, &signature);
    sign_digest(&signature, &job->content->digest);
    void *value = kiln__memo_peek(artifacts, &signature);
    kiln_status status =
        value ? KILN_OK : kiln__memo_make(artifacts, &signature, make_artifact, job, &value, NULL, err);
    if (status > 0) status = kiln__fail(err, KILN_INVALID, "%s: compiling it asks for itself", job->request->function);
    if (!status) *out = value;
    return status;
}

kiln_status kiln__kernel_artifact(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                                  const struct kiln_content_key *content, struct kiln_artifact **out, kiln_error *err)
{
    struct job job = {request, compiler, text, {NULL, 0}, content, NULL, false};
    return get_artifact(&job, out, err);
}

/* ---- executables ---------------------------------------------------------------------------------------------- */

static kiln_status try_link(const struct job *job, struct kiln_artifact *artifact, void **executable, kiln_error *error)
{
    struct kiln_cache *cache = job->request->cache;
    uint64_t start = kiln__clock_ns();
    struct compiler_call call = {.job = job, .artifact = artifact, .executable = executable, .error = error};
    if (!kiln__call_client(call_link, &call)) return say_left(job, "link()", error);
    kiln__add(&cache->counts.links, 1);
    kiln__add(&cache->counts.link_ns, kiln__clock_ns() - start);
    return call.status;
}

/* What a link needs may be taken by executables that nobody uses: without those it is tried again. */
static kiln_status link_kernel(const struct job *job, struct kiln_artifact *artifact, struct kiln_kernel *kernel,
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
static bool find_other(const struct job *job, const struct kiln_artifact *stored, struct kiln_artifact **out)
{
    kiln_bytes key = {job->content->fields.data, job->content->fields.size};
    struct kiln_tier *tiers = job->request->cache->tiers;
    if (kiln__chain_find(tiers, &job->content->digest, key, is_other_file, stored, out) != KILN_OK) return false;
    if (is_other_file(*out, stored)) return true;
    kiln__artifact_unref(*out);
    *out = NULL;
    return false;
}

/* Our own objects can be looked at; of others, linking one that was compiled just now tells. */
static bool may_be_bad(const struct job *job, const struct kiln_artifact *artifact)
{
    const kiln_device *device = job->request->device;
    if (!artifact->mapping.data) return false; /* made by this process */
    if (job->compiler != kiln_compiler_llvm()) return true;
    if (device->gpu) return !device->gpu->is_absent;
    return kiln__image_check(kiln_artifact_get(artifact, "object"), kiln_artifact_entry(artifact), NULL) ==
           KILN_LINK_FAILED;
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
static kiln_status link_another(struct job *job, const struct kiln_artifact *stored, struct kiln_kernel *kernel,
                                kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    struct kiln_artifact *other = NULL;
    char name[32 + KILN_DIGEST_HEX];
    bool is_new = false, is_linked = find_other(job, stored, &other) && !link_kernel(job, other, kernel, NULL);
    if (!is_linked && cache->mode != KILN_MODE_NO_COMPILE) {
        kiln__artifact_unref(other);
        other = NULL;
        is_new = !compile(job, &other, NULL);
        if (is_new && !has_machine_code(other, job)) add_machine_code(job, &other);
        is_linked = is_new && !link_kernel(job, other, kernel, NULL);
    }
    if (is_linked) {
        kiln__chain_discard(cache->tiers, stored);
        if (is_new) kiln__chain_put(cache->tiers, other);
        if (is_new) name_toolchain(job);
        if (is_new) kiln__add(&cache->counts.disk_hits, (uint64_t)-1); /* it was none */
        kiln__memo_remove(&cache->artifacts, is_of_digest, &job->content->digest);
    }
    kiln__artifact_unref(other);
    if (is_linked) return KILN_OK;
    snprintf(name, sizeof name, "the stored artifact ");
    kiln__digest_hex(&job->content->digest, name + strlen(name));
    return kiln__fail_as(err, KILN_LINK_FAILED, name);
}

static kiln_status say_compiled(const struct job *job, kiln_error *err)
{
    return kiln__fail(err, KILN_COMPILED, "%s: KILN_MODE=compile-only: compiled and stored, not linked",
                      job->request->function);
}

static kiln_status make_kernel(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct job *job = context;
    struct kiln_artifact *artifact = NULL;
    struct kiln_kernel *kernel = calloc(1, sizeof *kernel);
    kiln_status status = kernel ? get_artifact(job, &artifact, err) : kiln__no_memory(err, "a kernel");
    if (!status)
        status = job->request->cache->mode == KILN_MODE_COMPILE_ONLY ? say_compiled(job, err)
                                                                     : link_kernel(job, artifact, kernel, err);
    if (status == KILN_LINK_FAILED && !kiln__thread_left() && may_be_bad(job, artifact))
        status = link_another(job, artifact, kernel, err);
    kiln__artifact_unref(artifact);
    if (status) {
        free(kernel);
        return status;
    }
    atomic_init(&kernel->refs, IN_TABLE);
    kernel->is_kept = job->is_kept;
    add_unused(kernel);
    *value = kernel;
    return KILN_OK;
}

static uint64_t unused_bytes(const kiln_cache *cache, bool of_arrays_too)
{
    return atomic_load_explicit(&cache->unused_bytes[false], memory_order_relaxed) +
           (of_arrays_too ? atomic_load_explicit(&cache->unused_bytes[true], memory_order_relaxed) : 0);
}

static kiln_status get(struct job *job, struct kiln_kernel **out, kiln_error *err)
{
    struct kiln_cache *cache = job->request->cache;
    struct kiln_signature signature;
    kiln__memo_begin(&cache->kernels, job->request->device, &signature);
    if (job->is_kept) signature.few[2] = (uint64_t)job->request->device->id << 32;
    kiln__signature_word(&signature, job->is_kept);
    kiln__signature_word(&signature, (uint64_t)(uintptr_t)job->compiler);
    sign_digest(&signature, &job->content->digest);
    void *value = kiln__memo_peek(&cache->kernels, &signature);
    bool made = false;
    kiln_status status =
        value ? KILN_OK : kiln__memo_make(&cache->kernels, &signature, make_kernel, job, &value, &made, err);
    if ((int)status == KILN_RECURSIVE)
        return kiln__fail(err, KILN_INVALID, "%s: linking it asks for itself", job->request->function);
    if (status) return status;
    if (!made) kiln__add(&cache->counts.kernel_hits, 1);
    if (made && unused_bytes(cache, true) > cache->max_linked_bytes) kiln__kernels_sweep(cache, true);
    *out = value;
    return KILN_OK;
}

kiln_status kiln__kernel_get(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                             kiln_bytes call_key, struct kiln_kernel **out, kiln_error *err)
{
    struct kiln_content_key content = {0};
    struct job job = {request, compiler, text, call_key, &content, NULL, false};
    kiln_status status = kiln__request_content(request, compiler->name, kiln__cache_toolchain(request->cache, compiler),
                                               text, &content, err);
    if (!status) status = get(&job, out, err);
    kiln__content_release(&content);
    return status;
}

kiln_status kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler, kiln_device *device,
                                   uint32_t options, const char *name, kiln_bytes text,
                                   const struct kiln_provenance *note, struct kiln_kernel **out, kiln_error *err)
{
    if (!compiler) return kiln__fail(err, KILN_NO_COMPILER, "%s: there is no compiler", name);
    struct kiln_content_key content = {0};
    kiln_request request = {
        .cache = cache, .device = device, .function = name, .options = kiln__options_unpack(options)};
    struct job job = {&request, compiler, text, {NULL, 0}, &content, note, true};
    kiln_status status =
        kiln__request_content(&request, compiler->name, kiln__cache_toolchain(cache, compiler), text, &content, err);
    if (!status) status = get(&job, out, err);
    kiln__content_release(&content);
    if (status != KILN_COMPILED) return status;
    *out = NULL;
    return KILN_OK;
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

/* ---- run-time library ----------------------------------------------------------------------------------------- */

struct runtime_job {
    struct job job;
    kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err);
};

static kiln_status prepare_runtime(const struct runtime_job *runtime, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_buffer bitcode = {0};
    struct kiln_artifact *artifact = kiln__artifact_new();
    uint64_t start = kiln__clock_ns();
    kiln_status status =
        artifact ? runtime->prepare(runtime->job.request->device->target.name, &bitcode, err) : KILN_NO_MEMORY;
    if (!status &&
        (kiln_artifact_put(artifact, "bitcode", bitcode.data, bitcode.size) || describe(&runtime->job, artifact)))
        status = kiln__no_memory(err, "the run-time library");
    if (!status) {
        artifact->isa = KILN_ISA_X86_64_V1; /* bitcode is not run: any machine may compile with it */
        artifact->compile_ns = kiln__clock_ns() - start;
        *out = artifact;
    } else {
        kiln__artifact_unref(artifact);
    }
    kiln__buffer_release(&bitcode);
    return status;
}

/* Not a kernel, so it is not counted as one; it has its own content key and file all the same. */
static kiln_status make_runtime(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    const struct runtime_job *runtime = context;
    struct kiln_tier *tiers = runtime->job.request->cache->tiers;
    struct kiln_artifact *artifact = NULL;
    struct kiln_lock *lock = NULL;
    kiln_status status = KILN_OK;
    bool found = find_stored(&runtime->job, &artifact);
    if (!found && kiln__chain_lock(tiers, &runtime->job.content->digest, true, &lock))
        found = find_stored(&runtime->job, &artifact);
    if (!found && !(status = prepare_runtime(runtime, &artifact, err))) kiln__chain_put(tiers, artifact);
    kiln__lock_release(lock);
    if (!status) *value = artifact;
    return status;
}

kiln_status kiln__runtime_get(const kiln_request *request, const char *toolchain, const char *digest,
                              kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err),
                              struct kiln_artifact **borrowed, kiln_error *err)
{
    struct kiln_memo_table *runtimes = &request->cache->runtimes;
    struct kiln_content_key content = {0};
    kiln_request of_runtime = {
        .cache = request->cache, .device = request->device, .function = "(run-time library)", .without_options = true};
    struct runtime_job runtime = {{&of_runtime, NULL, {digest, strlen(digest)}, {NULL, 0}, &content, NULL, false},
                                  prepare};
    kiln_status status = kiln__request_content(&of_runtime, "runtime", toolchain, runtime.job.text, &content, err);
    if (!status) {
        struct kiln_signature signature;
        kiln__memo_begin(runtimes, NULL, &signature);
        sign_digest(&signature, &content.digest);
        void *value = kiln__memo_peek(runtimes, &signature);
        if (!value) status = kiln__memo_make(runtimes, &signature, make_runtime, &runtime, &value, NULL, err);
        if (!status) *borrowed = value;
    }
    kiln__content_release(&content);
    return status;
}
