/*
 * compiling.c - see compiling.h. No lock of this process is held while a compiler runs; other processes wait for the
 * lock of the tier.
 */
#include "cache/kernels/compiling.h"

#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
#include "cache/cache.h"
#include "cache/kernels/compiler_steps.h"

/* ---- compile -------------------------------------------------------------------------------------------------- */

kiln_status kiln__job_describe(const struct kiln_job *job, struct kiln_artifact *artifact)
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
    return complete ? kiln_artifact_put(artifact, "text", job->text.data, job->text.size) : KILN_NO_MEMORY;
}

static kiln_status refuse_to_compile(const struct kiln_job *job, kiln_error *err)
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

struct compile_call {
    const struct kiln_job *job;
    const kiln_request *seen;
    struct kiln_artifact *artifact;
    kiln_error *error;
    kiln_status status;
};

static void call_compile(void *context)
{
    struct compile_call *call = context;
    const kiln_compiler *compiler = call->job->compiler;
    call->status = compiler->compile(compiler->self, call->seen, call->job->text, call->artifact, call->error);
}

static kiln_status compile(const struct kiln_job *job, struct kiln_artifact **out, kiln_error *err)
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
    struct compile_call call = {.job = job, .seen = &seen, .artifact = artifact, .error = &error};
    bool returned = kiln__call_client(call_compile, &call);
    kiln__work_end();
    if (!returned) {
        kiln__artifact_unref(artifact);
        return kiln__fail(err, KILN_COMPILE_FAILED, "%s: the thread left compile()", job->request->function);
    }
    kiln_status status = call.status;
    artifact->compile_ns = kiln__clock_ns() - start;
    kiln__add(&cache->counts.compiles, 1);
    kiln__add(&cache->counts.compile_ns, artifact->compile_ns);
    kiln__log(KILN_LOG_MISS, "compile %s for %s with %s: %.1f ms%s", job->request->function,
              job->request->device->target.name, compiler->name, (double)artifact->compile_ns / 1e6,
              status ? ", failed" : "");
    status = judge(&seen, artifact, status, &error, err);
    if (!status && (status = kiln__job_describe(job, artifact))) kiln__no_memory(err, "an artifact");
    if (status) {
        kiln__artifact_unref(artifact);
        return status;
    }
    *out = artifact;
    return KILN_OK;
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

kiln_status kiln__job_compile(const struct kiln_job *job, struct kiln_artifact **out, kiln_error *err)
{
    kiln_status status = compile(job, out, err);
    if (!status) finish(job, out);
    return status;
}

/* ---- tiers ---------------------------------------------------------------------------------------------------- */

/* The folder says who filled it, so that it can be used where no compiler is. Whoever fills one on purpose says so even
 * when another tool chain was here since the kernels were made. */
static void name_toolchain(const struct kiln_job *job)
{
    struct kiln_cache *cache = job->request->cache;
    if (job->compiler != kiln_compiler_llvm()) return;
    kiln__chain_set_toolchain(cache->store.tiers, kiln__cache_toolchain(cache, job->compiler));
}

void kiln__job_store(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    kiln__store_put(&job->request->cache->store, artifact);
    name_toolchain(job);
}

void kiln__job_count(const struct kiln_job *job, const struct kiln_artifact *artifact)
{
    struct kiln_cache *cache = job->request->cache;
    if (!job->is_stored) return;
    kiln__add(&cache->counts.disk_hits, 1);
    kiln__add(&cache->counts.saved_ns, artifact->compile_ns);
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

static kiln_status compile_for_all(const struct kiln_job *job, struct kiln_ticket *ticket, struct kiln_artifact **out,
                                   kiln_error *err)
{
    kiln_status status = kiln__job_compile(job, out, err);
    if (!status) kiln__ticket_put(ticket, *out);
    if (!status) name_toolchain(job);
    kiln__ticket_abandon(ticket);
    return status;
}

/* Stored, or compiled by another process while we wait for it, or compiled here while others wait for us. */
static enum kiln_outcome make_artifact(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct kiln_job *job = context;
    enum kiln_mode mode = job->request->cache->mode;
    struct kiln_ticket ticket = {0};
    struct kiln_artifact *artifact = find_artifact(job, &ticket);
    kiln_status status = KILN_OK;
    job->is_stored = artifact;
    if (!artifact)
        status =
            mode == KILN_MODE_NO_COMPILE ? refuse_to_compile(job, err) : compile_for_all(job, &ticket, &artifact, err);
    else if (finish(job, &artifact))
        kiln__job_store(job, artifact);
    else if (mode == KILN_MODE_COMPILE_ONLY)
        name_toolchain(job);
    if (!status) *value = artifact;
    return kiln__outcome(status, err);
}

kiln_status kiln__job_artifact(struct kiln_job *job, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_memo_table *artifacts = &job->request->cache->artifacts;
    struct kiln_signature signature;
    void *value = NULL;
    kiln__memo_begin(artifacts, NULL, &signature);
    kiln__sign_digest(&signature, &job->content->digest);
    kiln_status status = kiln__job_value(job, "compiling", artifacts, &signature, make_artifact, &value, NULL, err);
    if (!status) *out = value;
    return status;
}

kiln_status kiln__job_value(struct kiln_job *job, const char *verb, struct kiln_memo_table *memo,
                            const struct kiln_signature *signature, kiln_maker *make, void **value, bool *made,
                            kiln_error *err)
{
    kiln_error error = {KILN_OK, ""};
    *value = kiln__memo_peek(memo, signature);
    enum kiln_outcome outcome = *value ? KILN_DONE : kiln__memo_make(memo, signature, make, job, value, made, &error);
    if (outcome == KILN_RECURSIVE)
        return kiln__fail(err, KILN_INVALID, "%s: %s it asks for itself", job->request->function, verb);
    if (outcome != KILN_DONE && err) *err = error;
    return kiln__outcome_status(outcome, &error);
}
