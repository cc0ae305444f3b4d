/*
 * call.c - see call.h.
 */
#include "cache/call.h"

#include <string.h>

#include "base/process/callback.h"
#include "base/process/timeline.h"

void kiln__call_explain(struct kiln_call *call)
{
    kiln__explain_miss(call->memo, call->signature, call->name);
}

/* The call gets the value that it would have got, whatever the audit finds. */
static enum kiln_outcome audit(struct kiln_call *call, void *kept, void **value, kiln_error *err)
{
    const struct kiln_memo_table *memo = call->memo;
    *value = memo->expose ? memo->expose(kept) : kept;
    call->steps->audit(call, kept);
    memo->release(kept);
    if (!kiln__thread_left()) return KILN_DONE;
    return kiln__outcome(kiln__fail(err, KILN_LOWER_FAILED, "the thread left %s", call->steps->maker), err);
}

static enum kiln_outcome make(struct kiln_call *call, void **value, kiln_error *err)
{
    const struct kiln_call_steps *steps = call->steps;
    enum kiln_outcome outcome = steps->prepare ? steps->prepare(call, err) : KILN_DONE;
    if (outcome != KILN_DONE) return outcome;
    if (steps->explain) steps->explain(call);
    outcome = kiln__memo_make(call->memo, call->signature, steps->make, call, value, &call->is_made, err);
    if (outcome != KILN_RECURSIVE) return outcome;
    return kiln__outcome(kiln__fail(err, KILN_INVALID, "%s: %s asks for the very entry it is making, or nests too deep",
                                    call->name, steps->maker),
                         err);
}

static void count(struct kiln_call *call, enum kiln_outcome outcome)
{
    if (call->is_counted || outcome == KILN_CHANGED) return;
    if (outcome == KILN_DONE && (!call->is_made || call->is_from_kept))
        kiln__count(&kiln__this_thread->process_hits[call->memo->cache]);
    else
        kiln__add(&call->cache->counts.calls, 1);
    call->is_counted = true;
}

static const char *outcome_of(const struct kiln_call *call, enum kiln_outcome outcome)
{
    if (outcome == KILN_FAILED) return "failed";
    if (outcome == KILN_CHANGED) return "changed";
    return call->is_made && !call->is_from_kept ? "made" : "found";
}

/* A call that made its value was explained just before, by itself or by a call that is part of it. */
static const char *reason_of(const struct kiln_call *call)
{
    const char *why = kiln_why();
    size_t size = strlen(call->name);
    return !strncmp(why, call->name, size) && why[size] == ':' ? why : NULL;
}

static void record(const struct kiln_call *call, uint64_t start_ns, enum kiln_outcome outcome)
{
    const char *words = outcome_of(call, outcome);
    const struct kiln_event event = {.kind = "call",
                                     .name = call->name,
                                     .function = call->name,
                                     .outcome = words,
                                     .reason = call->is_made && !call->is_from_kept ? reason_of(call) : NULL};
    kiln__timeline_end(start_ns, &event);
}

enum kiln_outcome kiln__call_make(struct kiln_call *call, void **value, kiln_error *err)
{
    void *kept = kiln__memo_audited(call->memo);
    if (kept) return audit(call, kept, value, err);
    uint64_t start_ns = kiln__timeline_begin();
    enum kiln_outcome outcome = make(call, value, err);
    count(call, outcome);
    if (start_ns) record(call, start_ns, outcome);
    return outcome;
}
