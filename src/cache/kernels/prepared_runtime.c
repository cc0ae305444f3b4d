/*
 * prepared_runtime.c - kiln__runtime_get(): the run-time library that kernels are compiled with, prepared once per
 * target and kept as an artifact.
 */
#include "base/clock.h"
#include "cache/cache.h"
#include "cache/kernels/compiling.h"

struct runtime_job {
    struct kiln_job job; /* first: a kiln_job * is a struct runtime_job * */
    kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err);
};

static kiln_status prepare_runtime(const struct runtime_job *runtime, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_buffer bitcode = {0};
    struct kiln_artifact *artifact = kiln__artifact_new();
    uint64_t start = kiln__clock_ns();
    kiln_status status =
        artifact ? runtime->prepare(runtime->job.request->device->target.name, &bitcode, err) : KILN_NO_MEMORY;
    if (!status && (kiln_artifact_put(artifact, "bitcode", bitcode.data, bitcode.size) ||
                    kiln__job_describe(&runtime->job, artifact)))
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
static enum kiln_outcome make_runtime(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    const struct runtime_job *runtime = context;
    const struct kiln_content_key *content = runtime->job.content;
    kiln_bytes key = {content->fields.data, content->fields.size};
    struct kiln_ticket ticket = {.is_last = true};
    struct kiln_artifact *artifact =
        kiln__ticket_get(&runtime->job.request->cache->store, &content->digest, key, NULL, NULL, &ticket);
    kiln_status status = KILN_OK;
    if (!artifact && !(status = prepare_runtime(runtime, &artifact, err))) kiln__ticket_put(&ticket, artifact, NULL);
    kiln__ticket_abandon(&ticket);
    if (!status) *value = artifact;
    return kiln__outcome(status, err);
}

kiln_status kiln__runtime_get(const kiln_request *request, const char *toolchain, const char *digest,
                              kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err),
                              struct kiln_artifact **borrowed, kiln_error *err)
{
    struct kiln_memo_table *runtimes = &request->cache->runtimes;
    struct kiln_content_key content = {0};
    kiln_request of_runtime = {
        .cache = request->cache, .device = request->device, .function = "(run-time library)", .without_options = true};
    struct runtime_job runtime = {{.request = &of_runtime, .text = {digest, strlen(digest)}, .content = &content},
                                  prepare};
    kiln_status status = kiln__request_content(&of_runtime, "runtime", toolchain, runtime.job.text, &content, err);
    if (!status) {
        struct kiln_signature signature;
        kiln__memo_begin(runtimes, NULL, &signature);
        kiln__sign_digest(&signature, &content.digest);
        void *value = NULL;
        kiln_error error = {KILN_OK, ""};
        status = kiln__outcome_status(
            kiln__job_value(&runtime.job, "preparing", runtimes, &signature, make_runtime, &value, NULL, &error),
            &error);
        if (status && err) *err = error;
        if (!status) *borrowed = value;
    }
    kiln__content_release(&content);
    return status;
}
