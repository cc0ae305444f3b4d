/*
 * compiling.c - see compiling.h. While a compiler runs, other processes that want the same wait for the ticket.
 *
 * A job's content key is the one that the request makes, or one that is longer by the values of a set that a manifest
 * names. Whenever it turns out that the artifact has another key, because there is a manifest, or the compiler says so,
 * the outcome is KILN_CHANGED, for all who wait: each of them chooses again (kernel.c).
 */
#include "cache/kernels/compiling.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/cache.h"
#include "cache/kernels/compile_once.h"
#include "cache/kernels/compiler_steps.h"
#include "cache/kernels/manifest.h"
#include "cache/kernels/nearest.h"

/* ---- what an artifact says about itself ----------------------------------------------------------------------- */

kiln_status kiln__job_name(const struct kiln_job *job, struct kiln_artifact *artifact)
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
    if (job->provenance) job->provenance->print(job->provenance->context, &artifact->call_key);
    bool complete = artifact->target && artifact->function && !artifact->key.failed && !artifact->call_key.failed;
    return complete ? KILN_OK : KILN_NO_MEMORY;
}

kiln_status kiln__job_describe(const struct kiln_job *job, struct kiln_artifact *artifact)
{
    kiln_status status = kiln__job_name(job, artifact);
    return status ? status : kiln_artifact_put(artifact, "text", job->text.data, job->text.size);
}

/* ---- finish --------------------------------------------------------------------------------------------------- */

static bool is_finished(const struct kiln_artifact *artifact, const void *context)
{
    const struct kiln_job *job = context;
    const struct kiln_compiler_steps *steps = kiln__compiler_steps(job->compiler);
    return !steps || steps->is_finished(artifact, job->request->device);
}

/* Replaces *artifact, which others may have, by a finished copy. False: it stays as it is, and linking says why. */
static bool finish(const struct kiln_job *job, struct kiln_artifact **artifact)
{
    if (is_finished(*artifact, job)) return false;
    uint64_t start = kiln__clock_ns();
    struct kiln_artifact *copy = kiln__artifact_copy(*artifact);
    if (!copy || kiln__compiler_steps(job->compiler)->finish(copy, job->request->device)) {
        kiln__artifact_unref(copy);
        return false;
    }
    copy->compile_ns += kiln__clock_ns() - start;
    kiln__artifact_unref(*artifact);
    *artifact = copy;
    return true;
}

/* ---- tiers ---------------------------------------------------------------------------------------------------- */

/* The folder says who filled it, so that it can be used where no compiler is. Whoever fills one on purpose says so even
 * when another tool chain was here since the kernels were made. */
static void name_toolchain(const struct kiln_job *job)
{
    if (job->compiler == kiln_compiler_llvm()) kiln__cache_name_toolchain(job->request->cache);
}

/* Whoever fills a cache on purpose fills its remotes too, with what the folder has. */
static void offer(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    name_toolchain(job);
    if (!artifact->is_remote) kiln__store_offer(&job->request->cache->store, artifact);
}

void kiln__job_store(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    kiln__store_put(&job->request->cache->store, artifact, NULL);
    name_toolchain(job);
}

void kiln__job_count(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    struct kiln_cache *cache = job->request->cache;
    if (!job->is_stored) return;
    kiln__add(artifact->is_remote ? &cache->counts.remote_hits : &cache->counts.disk_hits, 1);
    kiln__add(&cache->counts.saved_ns, artifact->compile_ns);
}

static void sign_artifact(const struct kiln_job *job, struct kiln_signature *signature)
{
    kiln__memo_begin(&job->request->cache->artifacts, NULL, signature);
    kiln__sign_digest(signature, &job->content->digest);
}

/* One that is finished for the device is preferred. A cache that must not compile waits for nobody. */
static struct kiln_artifact *find_artifact(const struct kiln_job *job, struct kiln_ticket *ticket)
{
    struct kiln_cache *cache = job->request->cache;
    const struct kiln_digest *digest = &job->content->digest;
    kiln_bytes key = {job->content->fields.data, job->content->fields.size};
    return cache->mode == KILN_MODE_NO_COMPILE ? kiln__store_find(&cache->store, digest, key, is_finished, job)
                                               : kiln__ticket_get(&cache->store, digest, key, is_finished, job, ticket);
}

/* ---- compiling ------------------------------------------------------------------------------------------------ */

static kiln_status refuse_to_compile(const struct kiln_job *job, kiln_error *err)
{
    char hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&job->content->digest, hex);
    return kiln__fail(err, KILN_WOULD_COMPILE, "%s: KILN_MODE=no-compile and nothing stored fits; content key %s",
                      job->request->function, hex);
}

static struct kiln_artifact *share(struct kiln_artifact *artifact)
{
    kiln__artifact_ref(artifact);
    return artifact;
}

static kiln_status complete(const struct kiln_job *job, struct kiln_artifact **artifact, kiln_error *err)
{
    if (kiln__job_describe(job, *artifact)) return kiln__no_memory(err, "an artifact");
    finish(job, artifact);
    return KILN_OK;
}

/* KILN_CHANGED: a watched file that is in the content key is not, or was not meanwhile, what the key says. */
static enum kiln_outcome compile(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err)
{
    if (!kiln__request_files_begin(job->request)) return KILN_CHANGED;
    enum kiln_outcome outcome = kiln__outcome(kiln__compile_once(job, out, err), err);
    if (outcome != KILN_DONE || kiln__request_files_stand(job->request)) return outcome;
    kiln__compiled_release(out);
    return KILN_CHANGED;
}

/* The key that what was compiled has. A compile() that names nothing where it named something before depends on no more
 * than that. */
static kiln_status find_key(const struct kiln_job *job, struct kiln_compiled *compiled, struct kiln_content_key *out,
                            kiln_error *err)
{
    kiln_bytes set = {compiled->set.data, compiled->set.size};
    if (set.size) return kiln__request_inputs_content(job->request, set, &compiled->looks, job->base, out, err);
    kiln__buffer_append(&out->fields, job->content->fields.data, job->content->fields.size);
    return kiln__content_finish(out, err);
}

static bool is_expected(const struct kiln_job *job, const struct kiln_compiled *compiled,
                        const struct kiln_content_key *key)
{
    return !compiled->is_unsure && !memcmp(&key->digest, &job->content->digest, sizeof key->digest);
}

enum kiln_outcome kiln__job_compile(const struct kiln_job *job, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_compiled compiled;
    struct kiln_content_key key = {0};
    enum kiln_outcome outcome = compile(job, &compiled, err);
    if (outcome != KILN_DONE) return outcome;
    outcome = kiln__outcome(find_key(job, &compiled, &key, err), err);
    if (outcome == KILN_DONE && !is_expected(job, &compiled, &key)) outcome = KILN_CHANGED;
    if (outcome == KILN_DONE) outcome = kiln__outcome(complete(job, &compiled.artifact, err), err);
    if (outcome == KILN_DONE) *out = share(compiled.artifact);
    kiln__content_release(&key);
    kiln__compiled_release(&compiled);
    return outcome;
}

static enum kiln_outcome give_artifact(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads, (void)err;
    *value = share(context);
    return KILN_DONE;
}

/* Also a cache without folders finds it from here on. */
static void remember(const struct kiln_job *job, struct kiln_artifact *artifact)
{
    struct kiln_memo_table *artifacts = &job->request->cache->artifacts;
    struct kiln_signature signature;
    void *value = NULL;
    sign_artifact(job, &signature);
    if (kiln__memo_make(artifacts, &signature, give_artifact, artifact, &value, NULL, NULL) == KILN_DONE)
        kiln__artifact_unref(value);
}

/* A root was set meanwhile: a name may stand for something else than when compile() asked. */
static bool is_renamed(const struct kiln_job *job)
{
    return kiln__roots_version() != job->roots_version;
}

/* compile() depends on other things than was expected, or they are something else meanwhile: the artifact has another
 * key. It is put before the manifest that leads to it. */
static enum kiln_outcome keep_by_set(const struct kiln_job *job, struct kiln_compiled *compiled,
                                     const struct kiln_content_key *key, struct kiln_ticket *ticket, kiln_error *err)
{
    struct kiln_job other = *job;
    other.content = key;
    other.set = (kiln_bytes){compiled->set.data, compiled->set.size};
    kiln_status status = complete(&other, &compiled->artifact, err);
    if (status) return kiln__outcome(status, err);
    kiln__job_store(&other, compiled->artifact);
    remember(&other, compiled->artifact);
    if (job->set.size) kiln__ticket_abandon(ticket); /* it is for a key that is no artifact's */
    kiln__manifest_add(job, other.set, ticket);
    return KILN_CHANGED;
}

static enum kiln_outcome keep(const struct kiln_job *job, struct kiln_compiled *compiled, struct kiln_ticket *ticket,
                              struct kiln_artifact **out, kiln_error *err)
{
    enum kiln_outcome outcome = kiln__outcome(complete(job, &compiled->artifact, err), err);
    if (outcome != KILN_DONE) return outcome;
    kiln__ticket_put(ticket, compiled->artifact, NULL);
    name_toolchain(job);
    if (job->set.size) kiln__manifest_add(job, job->set, ticket);
    *out = share(compiled->artifact);
    kiln__tell_nearest(job);
    return KILN_DONE;
}

/* What was made from files that kept changing is nobody's but this job's: it has a key that no other one has. */
static enum kiln_outcome use_once(struct kiln_job *job, struct kiln_compiled *compiled, struct kiln_content_key *key,
                                  kiln_error *err)
{
    static _Atomic uint64_t number;
    uint64_t own = atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
    struct kiln_job other = *job;
    other.content = key;
    kiln__content_field(key, "used once", &own, sizeof own);
    kiln_status status = kiln__content_finish(key, err);
    if (!status) status = complete(&other, &compiled->artifact, err);
    if (status) return kiln__outcome(status, err);
    kiln__log(KILN_LOG_MISS, "compile %s: its files changed each time; it is used once and not stored",
              job->request->function);
    job->used_once = share(compiled->artifact);
    return KILN_CHANGED;
}

static enum kiln_outcome compile_for_all(struct kiln_job *job, struct kiln_ticket *ticket, struct kiln_artifact **out,
                                         kiln_error *err)
{
    struct kiln_compiled compiled;
    struct kiln_content_key key = {0};
    if (job->set.size && kiln__manifest_refresh(job)) return KILN_CHANGED;
    enum kiln_outcome outcome = compile(job, &compiled, err);
    if (outcome != KILN_DONE) return outcome;
    outcome = kiln__outcome(find_key(job, &compiled, &key, err), err);
    if (outcome != KILN_DONE)
        ;
    else if (compiled.is_unsure)
        outcome = use_once(job, &compiled, &key, err);
    else if ((compiled.set.size || job->set.size) && is_renamed(job))
        outcome = KILN_CHANGED;
    else if (is_expected(job, &compiled, &key))
        outcome = keep(job, &compiled, ticket, out, err);
    else
        outcome = keep_by_set(job, &compiled, &key, ticket, err);
    kiln__content_release(&key);
    kiln__compiled_release(&compiled);
    return outcome;
}

/* ---- stored, or compiled -------------------------------------------------------------------------------------- */

/* What is stored under the content key. A manifest that can be read says to look elsewhere: KILN_CHANGED. */
static enum kiln_outcome find(const struct kiln_job *job, struct kiln_ticket *ticket, struct kiln_artifact **out)
{
    struct kiln_artifact *artifact = job->found ? share(job->found) : find_artifact(job, ticket);
    if (!artifact || !kiln__is_manifest(artifact)) {
        *out = artifact;
        return artifact ? KILN_DONE : KILN_MISS;
    }
    bool is_learned = kiln__manifest_learn(job, artifact);
    kiln__artifact_unref(artifact);
    return is_learned ? KILN_CHANGED : KILN_MISS;
}

struct kiln_artifact *kiln__job_find(const struct kiln_job *job)
{
    struct kiln_cache *cache = job->request->cache;
    struct kiln_signature signature;
    sign_artifact(job, &signature);
    struct kiln_artifact *artifact = kiln__memo_peek(&cache->artifacts, &signature);
    kiln_bytes key = {job->content->fields.data, job->content->fields.size};
    return artifact ? artifact : kiln__store_find(&cache->store, &job->content->digest, key, is_finished, job);
}

/* Stored, or compiled by another process while we wait for it, or compiled here while others wait for us. */
static enum kiln_outcome make_artifact(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct kiln_job *job = context;
    enum kiln_mode mode = job->request->cache->mode;
    struct kiln_ticket ticket = {0};
    struct kiln_artifact *artifact = NULL;
    enum kiln_outcome outcome = find(job, &ticket, &artifact);
    job->is_stored = outcome == KILN_DONE;
    if (outcome == KILN_MISS)
        outcome = mode == KILN_MODE_NO_COMPILE ? kiln__outcome(refuse_to_compile(job, err), err)
                                               : compile_for_all(job, &ticket, &artifact, err);
    else if (job->is_stored && finish(job, &artifact))
        kiln__job_store(job, artifact);
    else if (job->is_stored && mode == KILN_MODE_COMPILE_ONLY)
        offer(job, artifact);
    kiln__ticket_abandon(&ticket);
    if (mode == KILN_MODE_COMPILE_ONLY) kiln__store_flush(&job->request->cache->store, KILN_FILL_MS);
    *value = artifact;
    return outcome;
}

enum kiln_outcome kiln__job_artifact(struct kiln_job *job, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_memo_table *artifacts = &job->request->cache->artifacts;
    struct kiln_signature signature;
    void *value = NULL;
    if (job->used_once) {
        *out = share(job->used_once);
        return KILN_DONE;
    }
    sign_artifact(job, &signature);
    enum kiln_outcome outcome =
        kiln__job_value(job, "compiling", artifacts, &signature, make_artifact, &value, NULL, err);
    if (outcome == KILN_DONE) *out = value;
    return outcome;
}

enum kiln_outcome kiln__job_value(struct kiln_job *job, const char *verb, struct kiln_memo_table *memo,
                                  const struct kiln_signature *signature, kiln_maker *make, void **value, bool *made,
                                  kiln_error *err)
{
    kiln_error error = {KILN_OK, ""};
    *value = kiln__memo_peek(memo, signature);
    enum kiln_outcome outcome = *value ? KILN_DONE : kiln__memo_make(memo, signature, make, job, value, made, &error);
    if (outcome == KILN_RECURSIVE)
        return kiln__outcome(kiln__fail(err, KILN_INVALID, "%s: %s it asks for itself", job->request->function, verb),
                             err);
    if (outcome == KILN_FAILED && err) *err = error;
    return outcome;
}
