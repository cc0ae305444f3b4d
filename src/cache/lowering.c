/*
 * lowering.c - see lowering.h. The steps of a call (call.h) of a function.
 *
 *     prepare: a request from the key, drift      explain: the key in words
 *     make: lower -> content key -> kernels of this process -> folders -> compiler -> link      audit: lower, compare
 */
#include "cache/lowering.h"

#include "base/clock.h"
#include "base/process/callback.h"
#include "base/process/timeline.h"
#include "cache/audit.h"
#include "cache/call.h"
#include "cache/drift.h"
#include "key/explain.h"

struct miss {
    struct kiln_call call; /* first: a kiln_call * is a struct miss * */
    struct kiln_function *function;
    struct kiln_definition *definition; /* NULL until there is a request */
    kiln_device *device;
    uint32_t watches_at; /* where in the key the watched values start */
    size_t arg_count;
    struct kiln_buffer key_text;  /* the key in words, for kiln_why() and for the artifact */
    int64_t lowered_ns;           /* when lower() began, by the files' clock */
    struct kiln_file_looks looks; /* files that lower() named */
    kiln_request request;
};

/* ---- the request ---------------------------------------------------------------------------------------------- */

static const uint64_t *watched_words(const struct miss *miss, uint32_t *count)
{
    *count = miss->call.signature->count - miss->watches_at;
    return miss->call.signature->words + miss->watches_at;
}

/* From the key alone. On failure the request is empty. */
static enum kiln_outcome build_request(struct miss *miss, kiln_error *err)
{
    kiln_request *request = &miss->request;
    struct kiln_values values = {0};
    const uint64_t *words = miss->call.signature->words;
    uint32_t watched_count;
    const uint64_t *watched = watched_words(miss, &watched_count);
    bool is_plain = atomic_load_explicit(&miss->function->plain, memory_order_acquire);
    enum kiln_outcome outcome = is_plain ? KILN_DONE : kiln__callees_update(miss->function, err);
    if (outcome == KILN_DONE) outcome = kiln__values_find(miss->function, watched, watched_count, &values, err);
    if (outcome != KILN_DONE) return outcome;
    *request = (kiln_request){.cache = miss->function->cache,
                              .device = miss->device,
                              .options = kiln__options_unpack((uint32_t)(words[1] >> 32)),
                              .looks = &miss->looks,
                              .watched = values.data,
                              .watched_count = values.count};
    kiln__options_take(&request->options, words + 3, miss->watches_at - 3);
    if (!kiln__request_arguments(request, words + 3 + request->options.pushed_count, miss->arg_count)) return KILN_DONE;
    kiln__request_release(request);
    *request = (kiln_request){0};
    return kiln__outcome(kiln__no_memory(err, "a request"), err);
}

/* What the definition adds to a request. */
static void use_definition(struct miss *miss)
{
    miss->definition = kiln__definition_ref(miss->function);
    miss->call.name = miss->request.function = miss->definition->name;
    miss->request.keyed = miss->definition->keyed;
}

static enum kiln_outcome prepare(struct kiln_call *call, kiln_error *err)
{
    struct miss *miss = (struct miss *)call;
    enum kiln_outcome outcome = build_request(miss, err);
    if (outcome != KILN_DONE) return outcome;
    uint32_t count;
    const uint64_t *words = watched_words(miss, &count);
    const struct kiln_values now = {miss->request.watched, miss->request.watched_count};
    outcome = kiln__outcome(kiln__drift_check(miss->function, words, count, &now, err), err);
    if (outcome == KILN_DONE) use_definition(miss);
    return outcome;
}

static void explain(struct kiln_call *call)
{
    struct miss *miss = (struct miss *)call;
    kiln__explain_call(miss->function, call->signature, call->name, &miss->key_text);
}

/* ---- making --------------------------------------------------------------------------------------------------- */

struct lower_call {
    struct miss *miss;
    kiln_text *text;
    kiln_error *error;
    kiln_status status;
};

static void call_lower(void *context)
{
    struct lower_call *call = context;
    const struct kiln_definition *definition = call->miss->definition;
    call->status = definition->lower(definition->payload, &call->miss->request, call->text, call->error);
}

static kiln_status run_lower(struct miss *miss, kiln_text *text, kiln_error *err)
{
    struct kiln_cache *cache = miss->function->cache;
    struct kiln_definition *definition = miss->definition;
    for (size_t i = 0; i < miss->request.watched_count; i++) kiln__watched_begin(&miss->request.watched[i]);
    miss->lowered_ns = kiln__file_clock_ns();
    uint64_t start = kiln__clock_ns(), recorded_ns = kiln__timeline_begin();
    kiln_error error = {KILN_OK, ""};
    struct lower_call call = {.miss = miss, .text = text, .error = &error};
    if (!kiln__call_client(call_lower, &call))
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: the thread left lower()", definition->name);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "lower",
                                                         .function = definition->name,
                                                         .outcome = call.status ? "failed" : NULL,
                                                         .bytes = text->buffer.size});
    kiln__add(&cache->counts.traces, 1);
    kiln__add(&cache->counts.trace_ns, kiln__clock_ns() - start);
    if (call.status || miss->request.read_status)
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: %s", definition->name,
                          error.text[0] ? error.text : "lower() failed without a message");
    if (text->lacks_bytes)
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: lower() appended NULL to the text", definition->name);
    kiln_status refused = kiln__request_check_files(&miss->request, "lower()", KILN_LOWER_FAILED, err);
    if (refused) return refused;
    return text->buffer.failed ? kiln__no_memory(err, "a text") : KILN_OK;
}

/* *source gets the definition's own text, or what lower() printed into `text`. */
static kiln_status lower(struct miss *miss, kiln_text *text, kiln_bytes *source, kiln_error *err)
{
    bool is_fixed = !miss->definition->lower;
    kiln_status status = is_fixed ? KILN_OK : run_lower(miss, text, err);
    const struct kiln_buffer *bytes = is_fixed ? &miss->definition->text : &text->buffer;
    *source = (kiln_bytes){bytes->data, bytes->size};
    return status;
}

/* lower() may have read the variables themselves, later than they were signed. */
static bool watched_values_stand(const struct miss *miss)
{
    bool stand = true;
    for (size_t i = 0; miss->definition->lower && stand && i < miss->request.watched_count; i++)
        stand = kiln__watched_stands(&miss->request.watched[i]);
    return stand;
}

/* lower() may have read the files that it named before it named them, but for those that are not there. Those that just
 * changed can be told from what changes next when this returns. */
static bool files_stand(const struct miss *miss)
{
    if (!miss->looks.count || !KILN_SEGMENT_STEADINESS) return true;
    if (kiln__looks_stand(&miss->looks, &miss->looks, miss->lowered_ns)) return true;
    kiln__looks_settle(&miss->looks);
    return false;
}

static enum kiln_outcome make_kernel(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    struct miss *miss = context;
    kiln_request *request = &miss->request;
    kiln_text text = {{0}};
    kiln_bytes source, call_key = {miss->key_text.data, miss->key_text.failed ? 0 : miss->key_text.size};
    struct kiln_kernel *kernel = NULL;
    enum kiln_outcome outcome = kiln__outcome(lower(miss, &text, &source, err), err);
    if (outcome == KILN_DONE && !(watched_values_stand(miss) && files_stand(miss))) outcome = KILN_CHANGED;
    if (outcome == KILN_DONE && kiln__reads_add_looks(&request->reads, &miss->looks))
        outcome = kiln__outcome(kiln__no_memory(err, "what lower() depends on"), err);
    if (outcome == KILN_DONE)
        outcome =
            kiln__kernel_get(request, miss->definition->compiler, source, call_key, &kernel, &request->reads, err);
    if (outcome == KILN_DONE) {
        *value = kernel;
        *reads = request->reads;
    } else {
        kiln__reads_free(request->reads);
    }
    kiln__buffer_release(&text.buffer);
    return outcome;
}

/* ---- audit ---------------------------------------------------------------------------------------------------- */

/* What compile() depends on besides stands behind the content key, and is looked at by every call. */
static bool has_key(const struct kiln_artifact *artifact, const struct kiln_content_key *content)
{
    return artifact->key.size >= content->fields.size &&
           !memcmp(artifact->key.data, content->fields.data, content->fields.size);
}

/* Lowers again; `difference` gets words when the content key is another one. */
static void lower_and_compare(struct miss *miss, const struct kiln_kernel *kernel, struct kiln_buffer *difference)
{
    kiln_text text = {{0}};
    kiln_error error = {KILN_OK, ""};
    struct kiln_content_key content = {0};
    const kiln_compiler *compiler = miss->definition->compiler;
    kiln_bytes is, was = {NULL, 0};
    kiln_status status = lower(miss, &text, &is, &error);
    if (kernel->artifact) was = kiln_artifact_get(kernel->artifact, "text");
    if (!status && kiln__reads_add_looks(&miss->request.reads, &miss->looks))
        status = kiln__no_memory(&error, "what lower() depends on");
    if (!status)
        status = kiln__request_content(&miss->request, compiler->name,
                                       kiln__cache_toolchain(miss->request.cache, compiler), is, &content, &error);
    if (status) {
        kiln__buffer_printf(difference, "lowering again failed: %s", error.text);
    } else if (kernel->artifact && !has_key(kernel->artifact, &content)) {
        kiln__explain_lines(was, is, difference);
        if (!difference->size)
            kiln__buffer_printf(difference, "the text is the same, another field of the content key is not");
    }
    kiln__content_release(&content);
    kiln__reads_free(miss->request.reads);
    kiln__buffer_release(&text.buffer);
}

static void audit(struct kiln_call *call, void *kernel)
{
    struct miss *miss = (struct miss *)call;
    kiln_error error;
    struct kiln_buffer difference = {0};
    if (build_request(miss, &error) != KILN_DONE) return;
    use_definition(miss);
    lower_and_compare(miss, kernel, &difference);
    kiln__audit_report(call->name, difference.size ? (const char *)difference.data : NULL);
    kiln__buffer_release(&difference);
}

/* ---- the call ------------------------------------------------------------------------------------------------- */

static const struct kiln_call_steps steps = {
    .maker = "lower()", .prepare = prepare, .explain = explain, .make = make_kernel, .audit = audit};

enum kiln_outcome kiln__lower_call(struct kiln_function *function, kiln_device *device,
                                   const struct kiln_signature *signature, uint32_t watches_at, size_t arg_count,
                                   void **executable, kiln_error *err)
{
    struct miss miss = {
        .call = {.steps = &steps, .cache = function->cache, .memo = &function->memo, .signature = signature},
        .function = function,
        .device = device,
        .watches_at = watches_at,
        .arg_count = arg_count};
    kiln__looks_init(&miss.looks);
    enum kiln_outcome outcome = kiln__call_make(&miss.call, executable, err);
    if (outcome == KILN_FAILED && err->status == KILN_COMPILED) *executable = NULL;
    kiln__buffer_release(&miss.key_text);
    kiln__looks_release(&miss.looks);
    free(miss.request.refused_file);
    kiln__definition_unref(miss.definition);
    kiln__request_release(&miss.request);
    return outcome;
}
