/*
 * compile_once.c - see compile_once.h. No lock of this process is held while compile() runs.
 */
#include "cache/kernels/compile_once.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"
#include "cache/cache.h"

struct compile_call {
    const struct kiln_job *job;
    kiln_request seen; /* says that compile() has it, and records what it depends on */
    struct kiln_artifact *artifact;
    kiln_error error;
    kiln_status status;
};

static void call_compile(void *context)
{
    struct compile_call *call = context;
    const kiln_compiler *compiler = call->job->compiler;
    call->status = compiler->compile(compiler->self, &call->seen, call->job->text, call->artifact, &call->error);
}

static kiln_status run(struct compile_call *call, kiln_error *err)
{
    const char *function = call->job->request->function;
    if (kiln__is_leaving() || !kiln__work_begin())
        return kiln__fail(err, KILN_NO_COMPILER, "%s: the process is leaving: nothing is compiled any more", function);
    bool returned = kiln__call_client(call_compile, call);
    kiln__work_end();
    return returned ? KILN_OK : kiln__fail(err, KILN_COMPILE_FAILED, "%s: the thread left compile()", function);
}

static void count(const struct compile_call *call)
{
    const kiln_request *request = call->job->request;
    kiln__add(&request->cache->counts.compiles, 1);
    kiln__add(&request->cache->counts.compile_ns, call->artifact->compile_ns);
    kiln__log(KILN_LOG_MISS, "compile %s for %s with %s: %.1f ms%s", request->function, request->device->target.name,
              call->job->compiler->name, (double)call->artifact->compile_ns / 1e6, call->status ? ", failed" : "");
}

/* What it must not do counts also when it says that all is well. */
static kiln_status judge(const struct compile_call *call, kiln_error *err)
{
    const kiln_request *seen = &call->seen;
    kiln_status status = call->status, forbidden = kiln__request_check(seen, err);
    if (!forbidden) forbidden = kiln__artifact_check(call->artifact, seen->function, err);
    if (forbidden || !status) return forbidden;
    bool is_known = status == KILN_NO_COMPILER || status == KILN_NO_MEMORY;
    return kiln__fail(err, is_known ? status : KILN_COMPILE_FAILED, "%s: %s", seen->function,
                      call->error.text[0] ? call->error.text : "the compiler failed without a message");
}

static void record(const struct compile_call *call, uint64_t start_ns)
{
    const kiln_request *request = call->job->request;
    const struct kiln_event event = {.kind = "compile",
                                     .function = request->function,
                                     .target = request->device->target.name,
                                     .where = call->job->compiler->name,
                                     .outcome = call->status ? "failed" : NULL,
                                     .digest = &call->job->content->digest,
                                     .bytes = call->job->text.size};
    kiln__timeline_end(start_ns, &event);
}

static kiln_status compile(struct compile_call *call, struct kiln_buffer *set, kiln_error *err)
{
    uint64_t start = kiln__clock_ns(), recorded_ns = kiln__timeline_begin();
    kiln_status status = run(call, err);
    if (status) return status;
    call->artifact->compile_ns = kiln__clock_ns() - start;
    count(call);
    record(call, recorded_ns);
    status = judge(call, err);
    if (status) return status;
    kiln__inputs_encode(call->seen.inputs, set);
    return set->failed ? kiln__no_memory(err, "what compile() depends on") : KILN_OK;
}

static kiln_status run_once(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err)
{
    *out = (struct kiln_compiled){.artifact = kiln__artifact_new()};
    if (!out->artifact) return kiln__no_memory(err, "an artifact");
    kiln__looks_init(&out->looks);
    struct kiln_inputs inputs;
    kiln__inputs_init(&inputs);
    struct compile_call call = {.job = job, .seen = *job->request, .artifact = out->artifact};
    call.seen.inputs = &inputs;
    call.seen.looks = &out->looks;
    call.seen.is_compiling = out->artifact->keeps_room = true;
    kiln_status status = compile(&call, &out->set, err);
    kiln__inputs_release(&inputs);
    free(call.seen.refused_file);
    if (status) kiln__compiled_release(out);
    return status;
}

void kiln__compiled_release(struct kiln_compiled *compiled)
{
    if (compiled->artifact) kiln__looks_release(&compiled->looks);
    kiln__artifact_unref(compiled->artifact);
    kiln__buffer_release(&compiled->set);
    *compiled = (struct kiln_compiled){0};
}

/* ---- files that change meanwhile ------------------------------------------------------------------------------- */

/* As they were before it began, of the names that are known by then: what came and went is told by that alone. */
static kiln_status look_before(kiln_bytes set, struct kiln_file_looks *looks, kiln_error *err)
{
    kiln_status status = KILN_OK;
    kiln__looks_init(looks);
    if (kiln__set_look(set, looks, &status)) kiln__looks_settle(looks);
    return status ? kiln__no_memory(err, "what compile() depends on") : KILN_OK;
}

static kiln_status try(const struct kiln_job *job, kiln_bytes expected, struct kiln_compiled *out, kiln_error *err)
{
    struct kiln_file_looks before;
    kiln_status status = look_before(expected, &before, err);
    int64_t since_ns = kiln__file_clock_ns();
    if (!status) status = run_once(job, out, err);
    if (!status) out->is_unsure = KILN_SEGMENT_STEADINESS && !kiln__looks_stand(&out->looks, &before, since_ns);
    kiln__looks_release(&before);
    return status;
}

kiln_status kiln__compile_once(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err)
{
    enum { MOST_TRIES = 4 };
    kiln_status status = try(job, job->set, out, err);
    for (int tries = 1; !status && out->is_unsure && tries < MOST_TRIES; tries++) {
        struct kiln_buffer expected = out->set;
        kiln__log(KILN_LOG_MISS, "compile %s again: files changed while it ran", job->request->function);
        out->set = (struct kiln_buffer){0};
        kiln__compiled_release(out);
        status = try(job, (kiln_bytes){expected.data, expected.size}, out, err);
        kiln__buffer_release(&expected);
    }
    return status;
}
