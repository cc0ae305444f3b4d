/*
 * compile_once.c - see compile_once.h. No lock of this process is held while compile() runs.
 */
#include "cache/kernels/compile_once.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
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

static kiln_status compile(struct compile_call *call, struct kiln_buffer *set, kiln_error *err)
{
    uint64_t start = kiln__clock_ns();
    kiln_status status = run(call, err);
    if (status) return status;
    call->artifact->compile_ns = kiln__clock_ns() - start;
    count(call);
    status = judge(call, err);
    if (status) return status;
    kiln__inputs_encode(call->seen.inputs, set);
    return set->failed ? kiln__no_memory(err, "what compile() depends on") : KILN_OK;
}

kiln_status kiln__compile_once(const struct kiln_job *job, struct kiln_compiled *out, kiln_error *err)
{
    *out = (struct kiln_compiled){.artifact = kiln__artifact_new()};
    if (!out->artifact) return kiln__no_memory(err, "an artifact");
    struct kiln_inputs inputs;
    kiln__inputs_init(&inputs);
    struct compile_call call = {.job = job, .seen = *job->request, .artifact = out->artifact};
    call.seen.inputs = &inputs;
    call.seen.is_compiling = out->artifact->keeps_room = true;
    kiln_status status = compile(&call, &out->set, err);
    kiln__inputs_release(&inputs);
    if (status) kiln__compiled_release(out);
    return status;
}

void kiln__compiled_release(struct kiln_compiled *compiled)
{
    kiln__artifact_unref(compiled->artifact);
    kiln__buffer_release(&compiled->set);
    *compiled = (struct kiln_compiled){0};
}
