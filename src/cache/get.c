/*
 * get.c - kiln_get: the whole path of a call.
 *
 *     sign the arguments -> the thread cache -> the process' memo table                                 hit
 *       | miss: one thread works, the others wait
 *     lower -> content key -> kernels of this process -> folders -> compiler -> link                       -> result
 *
 * Everything after signing reads from the key, so that what is made can't differ from what the key says.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/gate.h"
#include "cache/audit.h"
#include "cache/epoch.h"
#include "cache/function.h"
#include "key/explain.h"

/* ---- the request ---------------------------------------------------------------------------------------------- */

struct miss {
    struct kiln_function *function;
    struct kiln_definition *definition;
    kiln_device *device;
    const struct kiln_signature *signature;
    uint32_t watches_at; /* where in the key the watched values start */
    size_t arg_count;
    struct kiln_buffer key_text; /* the key in words, for kiln_why() and for the artifact */
    kiln_request request;
};

enum { CHANGED = 3 }; /* what the function watches is not what it watched when this was written */

/* The values of a function's watches inside a key, found again in the order they were signed in. */
struct values {
    const uint64_t *words;
    uint32_t at, end;
    struct kiln_watched *data;
    size_t count;
    kiln_status status;
};

static void enter_dependency(void *context, struct kiln_function *callee)
{
    struct values *values = context;
    const uint64_t *words = values->words + values->at;
    if (values->status) return;
    if (values->end - values->at < 3 || kiln__item_tag(words[0]) != KILN_ITEM_DEPENDENCY || words[1] != callee->memo.id)
        values->status = (kiln_status)CHANGED;
    else
        values->at += 3;
}

static void take_value(void *context, const struct kiln_watch *watch)
{
    struct values *values = context;
    if (values->status) return;
    if (values->at >= values->end || kiln__item_tag(values->words[values->at]) != watch->kind) {
        values->status = (kiln_status)CHANGED;
        return;
    }
    struct kiln_watched *grown = realloc(values->data, (values->count + 1) * sizeof *grown);
    if (!grown) {
        values->status = KILN_NO_MEMORY;
        return;
    }
    values->data = grown;
    grown[values->count++] = kiln__watched_read(watch, values->words, &values->at);
}

/* KILN_OK, and data to be freed; KILN_NO_MEMORY; or CHANGED. */
static kiln_status find_values(struct kiln_function *function, const uint64_t *words, uint32_t count,
                               struct values *values)
{
    *values = (struct values){.words = words, .end = count};
    kiln__function_each_watch(function, take_value, enter_dependency, values);
    if (!values->status && values->at != count) values->status = (kiln_status)CHANGED;
    if (values->status) free(values->data);
    return values->status;
}

static kiln_status build_request(struct miss *miss, kiln_error *err)
{
    kiln_request *request = &miss->request;
    struct values values;
    const uint64_t *words = miss->signature->words;
    bool changed = false;
    if (!atomic_load_explicit(&miss->function->plain, memory_order_acquire) &&
        kiln__callees_update(miss->function, &changed))
        return kiln__no_memory(err, "a request");
    if (changed) return (kiln_status)CHANGED;
    kiln_status status =
        find_values(miss->function, words + miss->watches_at, miss->signature->count - miss->watches_at, &values);
    if (status) return status > 0 ? status : kiln__no_memory(err, "a request");
    *request = (kiln_request){.cache = miss->function->cache,
                              .device = miss->device,
                              .options = kiln__options_unpack((uint32_t)(words[1] >> 32)),
                              .watched = values.data,
                              .watched_count = values.count};
    kiln__options_take(&request->options, words + 3, miss->watches_at - 3);
    if (!kiln__request_arguments(request, words + 3 + request->options.pushed_count, miss->arg_count)) return KILN_OK;
    kiln__request_release(request);
    return kiln__no_memory(err, "a request");
}

/* What the definition adds to a request. */
static void use_definition(struct miss *miss)
{
    miss->definition = kiln__definition_ref(miss->function);
    miss->request.function = miss->definition->name;
    miss->request.keyed = miss->definition->keyed;
}

/* ---- a miss --------------------------------------------------------------------------------------------------- */

struct lowering {
    struct miss *miss;
    kiln_text *text;
    kiln_error *error;
    kiln_status status;
};

static void call_lower(void *context)
{
    struct lowering *lowering = context;
    const struct kiln_definition *definition = lowering->miss->definition;
    lowering->status =
        definition->lower(definition->payload, &lowering->miss->request, lowering->text, lowering->error);
}

static kiln_status lower(struct miss *miss, kiln_text *text, kiln_error *err)
{
    struct kiln_cache *cache = miss->function->cache;
    struct kiln_definition *definition = miss->definition;
    for (size_t i = 0; i < miss->request.watched_count; i++) kiln__watched_begin(&miss->request.watched[i]);
    uint64_t start = kiln__clock_ns();
    kiln_error error = {KILN_OK, ""};
    struct lowering lowering = {.miss = miss, .text = text, .error = &error};
    if (!kiln__call_client(call_lower, &lowering))
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: the thread left lower()", definition->name);
    kiln_status status = lowering.status;
    kiln__add(&cache->counts.traces, 1);
    kiln__add(&cache->counts.trace_ns, kiln__clock_ns() - start);
    if (status || miss->request.read_status)
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: %s", definition->name,
                          error.text[0] ? error.text : "lower() failed without a message");
    if (text->lacks_bytes)
        return kiln__fail(err, KILN_LOWER_FAILED, "%s: lower() appended NULL to the text", definition->name);
    return text->buffer.failed ? kiln__no_memory(err, "a text") : KILN_OK;
}

static bool watched_values_stand(const kiln_request *request)
{
    bool stand = true;
    for (size_t i = 0; stand && i < request->watched_count; i++) stand = kiln__watched_stands(&request->watched[i]);
    return stand;
}

static kiln_status make_result(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    struct miss *miss = context;
    kiln_text text = {{0}};
    bool fixed = !miss->definition->lower;
    kiln_status status = fixed ? KILN_OK : lower(miss, &text, err);
    if (!status && !fixed && !watched_values_stand(&miss->request)) status = (kiln_status)CHANGED;
    const struct kiln_buffer *source = fixed ? &miss->definition->text : &text.buffer;
    kiln_bytes call_key = {miss->key_text.data, miss->key_text.failed ? 0 : miss->key_text.size};
    struct kiln_kernel *kernel = NULL;
    if (!status)
        status = kiln__kernel_get(&miss->request, miss->definition->compiler, (kiln_bytes){source->data, source->size},
                                  call_key, &kernel, err);
    if (!status) {
        *value = kernel;
        *reads = miss->request.reads;
    } else {
        kiln__reads_free(miss->request.reads);
    }
    kiln__buffer_release(&text.buffer);
    return status;
}

/* ---- audit ---------------------------------------------------------------------------------------------------- */

/* Lowers again and compares; `difference` gets words when the content key is another one. */
static void lower_and_compare(struct miss *miss, const struct kiln_kernel *kernel, struct kiln_buffer *difference)
{
    kiln_text text = {{0}};
    kiln_error error = {KILN_OK, ""};
    struct kiln_content_key content = {0};
    const struct kiln_definition *definition = miss->definition;
    bool fixed = !definition->lower;
    kiln_status status = fixed ? KILN_OK : lower(miss, &text, &error);
    const struct kiln_buffer *source = fixed ? &definition->text : &text.buffer;
    kiln_bytes is = {source->data, source->size}, was = {NULL, 0};
    if (kernel->artifact) was = kiln_artifact_get(kernel->artifact, "text");
    if (!status)
        status = kiln__request_content(&miss->request, definition->compiler->name,
                                       kiln__cache_toolchain(miss->request.cache, definition->compiler), is, &content,
                                       &error);
    if (status) {
        kiln__buffer_printf(difference, "lowering again failed: %s", error.text);
    } else if (kernel->artifact && memcmp(&content.digest, &kernel->artifact->digest, sizeof content.digest)) {
        kiln__explain_lines(was, is, difference);
        if (!difference->size)
            kiln__buffer_printf(difference, "the text is the same, another field of the content key is not");
    }
    kiln__content_release(&content);
    kiln__reads_free(miss->request.reads);
    kiln__buffer_release(&text.buffer);
}

/* A hit whose turn it is. The call gets what it would have got, whatever comes out. */
static void audit(struct miss *miss, struct kiln_kernel *kernel, void **executable)
{
    kiln_error error;
    struct kiln_buffer difference = {0};
    *executable = kernel->executable;
    if (build_request(miss, &error) == KILN_OK) {
        use_definition(miss);
        lower_and_compare(miss, kernel, &difference);
        kiln__audit_report(miss->definition->name, difference.size ? (const char *)difference.data : NULL);
        kiln__definition_unref(miss->definition);
        kiln__request_release(&miss->request);
    }
    kiln__buffer_release(&difference);
    kiln__kernel_unref(kernel);
}

/* ---- drift ---------------------------------------------------------------------------------------------------- */

static bool is_same(const struct kiln_watched *was, const struct kiln_watched *is)
{
    if (!was->data || !is->data) return !was->data == !is->data;
    return was->size == is->size && !memcmp(was->data, is->data, was->size);
}

/* One text for each value that changed: "module: name was 1, is 2; ..." */
static void compare_values(const struct values *was, const struct values *is, struct kiln_buffer *text)
{
    for (size_t i = 0; i < was->count; i++) {
        const struct kiln_watch *watch = is->data[i].watch;
        if (is_same(&was->data[i], &is->data[i])) continue;
        if (text->size) kiln__buffer_printf(text, "; ");
        kiln__buffer_printf(text, "%s%s%s was ", watch->module, *watch->module ? ": " : "", watch->name);
        kiln__value_print(&was->data[i], text);
        kiln__buffer_printf(text, ", is ");
        kiln__value_print(&is->data[i], text);
    }
}

static void set_baseline(struct kiln_function *function, const uint64_t *words, uint32_t count)
{
    uint64_t *copy = malloc((count + 1) * sizeof *copy);
    if (!copy) return;
    memcpy(copy, words, count * sizeof *copy);
    free(function->baseline);
    function->baseline = copy;
    function->baseline_count = count;
}

static bool is_strict(const struct kiln_function *function)
{
    const char *value = getenv("KILN_DRIFT");
    bool is_error = value && !strcmp(value, "error");
    if (value && *value && !is_error)
        kiln__log_once("KILN_DRIFT=%.64s is not error, which is all it can be; not used", value);
    return function->flags & KILN_STRICT || is_error;
}

/* With the lock held; the key's words differ from the baseline's. A function depended on that was redefined is no
 * drift. */
static kiln_status follow_or_refuse(struct miss *miss, const uint64_t *words, uint32_t count, kiln_error *err)
{
    struct kiln_function *function = miss->function;
    const struct values is = {.data = miss->request.watched, .count = miss->request.watched_count};
    struct values was;
    struct kiln_buffer text = {0};
    kiln_status status = find_values(function, function->baseline, function->baseline_count, &was);
    if (status < 0) return kiln__no_memory(err, "a baseline");
    if (status == KILN_OK && was.count == is.count) compare_values(&was, &is, &text);
    if (status == KILN_OK) free(was.data);
    bool drifted = text.size || text.failed;
    if (drifted) kiln__add(&function->cache->counts.drifts, 1);
    status = KILN_OK;
    if (drifted && is_strict(function))
        status = kiln__fail(err, KILN_DRIFTED, "%s: %s", function->definition->name,
                            text.failed ? "a watched value changed" : (const char *)text.data);
    else
        set_baseline(function, words, count);
    kiln__buffer_release(&text);
    return status;
}

/* On a miss: have the watched values changed since the last one? Strict functions keep their first baseline and refuse.
 */
static kiln_status check_drift(struct miss *miss, kiln_error *err)
{
    struct kiln_function *function = miss->function;
    const uint64_t *words = miss->signature->words + miss->watches_at;
    uint32_t count = miss->signature->count - miss->watches_at;
    if (!count) return KILN_OK;
    kiln_status status = KILN_OK;
    kiln__mutex_lock(&function->lock);
    if (!function->baseline)
        set_baseline(function, words, count);
    else if (count != function->baseline_count || !kiln__key_equal(words, function->baseline, count))
        status = follow_or_refuse(miss, words, count, err);
    kiln__mutex_unlock(&function->lock);
    return status;
}

/* ---- kiln_get ------------------------------------------------------------------------------------------------- */

static kiln_status make_or_wait(struct miss *miss, void **executable, kiln_error *err)
{
    struct kiln_function *function = miss->function;
    bool made;
    use_definition(miss);
    kiln__explain_call(function, miss->signature, miss->definition->name, &miss->key_text);
    kiln_status status = kiln__memo_make(&function->memo, miss->signature, make_result, miss, executable, &made, err);
    if ((int)status == KILN_RECURSIVE)
        status = kiln__fail(err, KILN_INVALID, "%s: lower() asks for the very entry it is making, or nests too deep",
                            miss->definition->name);
    if (status == KILN_COMPILED) *executable = NULL;
    if ((int)status == CHANGED) kiln__add(&function->cache->counts.calls, (uint64_t)-1); /* the next try is the call */
    if (!status && !made) { /* somebody else made it while we looked: a hit of the process after all */
        kiln__add(&function->cache->counts.calls, (uint64_t)-1);
        kiln__count(&kiln__this_thread->process_hits[function->cache->index]);
    }
    kiln__buffer_release(&miss->key_text);
    kiln__definition_unref(miss->definition);
    return status;
}

/* CHANGED: what the function watches changed since the key was signed; sign again. */
static kiln_status work_on_miss(struct miss *miss, void **executable, kiln_error *err)
{
    kiln_status status = build_request(miss, err);
    if (status > 0) return status;
    kiln__add(&miss->function->cache->counts.calls, 1);
    if (status) return status;
    status = check_drift(miss, err);
    if (!status) status = make_or_wait(miss, executable, err);
    kiln__request_release(&miss->request);
    return status;
}

/* Passed by value to what is not inlined, so that it stays in registers on a hit. */
struct call {
    kiln_function *function;
    const kiln_arg *args;
    size_t count;
    kiln_device *device;
    const struct kiln_environment *environment;
};

/* Head, pushed options, arguments, watched values. *watches_at: where the last part starts. */
__attribute__((always_inline)) static inline kiln_status
sign_call(const struct call *call, struct kiln_signature *signature, uint32_t *watches_at, kiln_error *err)
{
    kiln_function *function = call->function;
    kiln_status status = KILN_OK;
    kiln__memo_begin_call(&function->memo, call->device, kiln__options_packed(call->environment), signature);
    kiln__options_sign(signature);
    for (size_t i = 0; i < call->count && !status; i++)
        status = kiln__signature_argument(signature, &call->args[i], i, err);
    *watches_at = signature->count;
    if (!atomic_load_explicit(&function->plain, memory_order_acquire))
        kiln__function_sign(function, call->environment, signature);
    if (!status && signature->status) status = kiln__fail(err, signature->status, "kiln_get: the key is too large");
    return status;
}

__attribute__((noinline)) static kiln_status audit_or_make(struct call call, const struct kiln_signature *signature,
                                                           uint32_t watches_at, void **executable, kiln_error *err)
{
    struct miss miss = {.function = call.function,
                        .device = call.device,
                        .signature = signature,
                        .watches_at = watches_at,
                        .arg_count = call.count};
    struct kiln_kernel *audited = kiln__memo_audited(&call.function->memo);
    if (!audited) return work_on_miss(&miss, executable, err);
    audit(&miss, audited, executable);
    return kiln__thread_left() ? KILN_LOWER_FAILED : KILN_OK;
}

/* CHANGED: sign again. */
__attribute__((always_inline)) static inline kiln_status get_once(const struct call *call, void **executable,
                                                                  kiln_error *err)
{
    struct kiln_signature signature;
    uint32_t watches_at;
    kiln_status status = sign_call(call, &signature, &watches_at, err);
    if (__builtin_expect(status == KILN_OK, 1)) {
        void *found = kiln__memo_lookup(&call->function->memo, &signature);
        if (__builtin_expect(found != NULL, 1))
            *executable = found;
        else
            status = audit_or_make(*call, &signature, watches_at, executable, err);
    } else {
        kiln__add(&call->function->cache->counts.calls, 1);
    }
    kiln__signature_release(&signature);
    return status;
}

/* Not inlined: in a loop, gcc 12's null check of a thread's variable looks at flags that the linker's relaxation of the
 * access no longer sets. */
__attribute__((noinline)) static const struct kiln_environment *environment_now(void)
{
    return kiln__environment();
}

/* What the function watches changed while it was lowered. */
__attribute__((noinline)) static kiln_status get_again(struct call call, void **executable, kiln_error *err)
{
    enum { MOST_TRIES = 63 };
    for (int i = 0; i < MOST_TRIES; i++) {
        call.environment = environment_now();
        kiln_status status = get_once(&call, executable, err);
        if ((int)status != CHANGED) return status;
    }
    kiln__add(&call.function->cache->counts.calls, 1);
    struct kiln_definition *definition = kiln__definition_ref(call.function);
    kiln_status status =
        kiln__fail(err, KILN_DRIFTED,
                   "%s: what it watches changed in each of %d tries to lower it; lower() may take the values from its "
                   "request (kiln_request_watched, kiln_request_env), where they do not change",
                   definition->name, MOST_TRIES + 1);
    kiln__definition_unref(definition);
    return status;
}

__attribute__((always_inline)) static inline kiln_status get(kiln_function *function, const kiln_arg *args,
                                                             size_t count, kiln_device *device, void **executable,
                                                             kiln_error *err)
{
    if (__builtin_expect(!function || !executable || count > (args ? KILN_MOST_ARGUMENTS : 0), 0))
        return kiln__fail(err, KILN_INVALID,
                          "kiln_get: needs a function, %zu arguments (at most %u) and a pointer for the executable",
                          count, (unsigned)KILN_MOST_ARGUMENTS);
#ifdef KILN_DEBUG
    if (function->flags & KILN_RECLAIM && !kiln__is_inside())
        kiln__misused(": kiln_get() of a function with KILN_RECLAIM outside of kiln_enter() and kiln_leave()",
                      function->memo.name);
#endif
    const struct kiln_environment *environment = kiln__environment();
    if (!device && !(device = kiln__device_current_in(environment, err))) return KILN_INVALID;
    const struct call call = {function, args, count, device, environment};
    kiln_status status = get_once(&call, executable, err);
    return __builtin_expect((int)status == CHANGED, 0) ? get_again(call, executable, err) : status;
}

kiln_status kiln_get(kiln_function *function, const kiln_arg *args, size_t count, kiln_device *device,
                     void **executable, kiln_error *err)
{
    kiln_status status = get(function, args, count, device, executable, err);
    if (__builtin_expect(status != KILN_OK, 0)) kiln__go_on_leaving();
    return status;
}

kiln_status kiln_get_values(kiln_function *function, const void *const *values, size_t count, kiln_device *device,
                            void **executable, kiln_error *err)
{
    enum { FEW = 16 };
    if (!function || (count && !values))
        return kiln__fail(err, KILN_INVALID, "kiln_get_values: needs a function and %zu values", count);
    const struct kiln_parameters *parameters = atomic_load_explicit(&function->parameters, memory_order_acquire);
    if (!parameters)
        return kiln__fail(err, KILN_INVALID,
                          "kiln_get_values: the types were not declared; call kiln_function_declare() first");
    if (count != parameters->count)
        return kiln__fail(err, KILN_INVALID, "kiln_get_values: %zu values were given, %zu parameters are declared",
                          count, parameters->count);
    kiln_arg few[FEW], *args = count <= FEW ? few : malloc(count * sizeof *args);
    if (!args) return kiln__no_memory(err, "a list of arguments");
    few[0].type = NULL; /* also when there are none */
    for (size_t i = 0; i < count; i++) args[i] = (kiln_arg){parameters->types[i], values[i]};
    kiln_status status = get(function, args, count, device, executable, err);
    if (args != few) free(args);
    if (status) kiln__go_on_leaving();
    return status;
}
