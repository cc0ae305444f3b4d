/*
 * drift.c - see drift.h. Invariant: a strict function's baseline is the one of its first miss; that of another function
 * is the one of its last miss that found other values.
 */
#include "cache/drift.h"

#include "base/config.h"
#include "base/process/gate.h"
#include "key/explain.h"

/* ---- values in a key ------------------------------------------------------------------------------------------ */

struct walk {
    const uint64_t *words;
    uint32_t at, end;
    struct kiln_values values;
    enum kiln_outcome outcome;
};

static void enter_dependency(void *context, struct kiln_function *callee)
{
    struct walk *walk = context;
    const uint64_t *words = walk->words + walk->at;
    if (walk->outcome != KILN_DONE) return;
    if (walk->end - walk->at < 3 || kiln__item_tag(words[0]) != KILN_ITEM_DEPENDENCY || words[1] != callee->memo.id)
        walk->outcome = KILN_CHANGED;
    else
        walk->at += 3;
}

static void take_value(void *context, const struct kiln_watch *watch)
{
    struct walk *walk = context;
    struct kiln_values *values = &walk->values;
    if (walk->outcome != KILN_DONE) return;
    if (walk->at >= walk->end || kiln__item_tag(walk->words[walk->at]) != watch->kind) {
        walk->outcome = KILN_CHANGED;
        return;
    }
    struct kiln_watched *grown = realloc(values->data, (values->count + 1) * sizeof *grown);
    if (!grown) {
        walk->outcome = KILN_FAILED;
        return;
    }
    values->data = grown;
    grown[values->count++] = kiln__watched_read(watch, walk->words, &walk->at);
}

enum kiln_outcome kiln__values_find(struct kiln_function *function, const uint64_t *words, uint32_t count,
                                    struct kiln_values *out, kiln_error *err)
{
    struct walk walk = {.words = words, .end = count};
    kiln__function_each_watch(function, take_value, enter_dependency, &walk);
    if (walk.outcome == KILN_DONE && walk.at != count) walk.outcome = KILN_CHANGED;
    if (walk.outcome == KILN_DONE)
        *out = walk.values;
    else
        free(walk.values.data);
    if (walk.outcome == KILN_FAILED) kiln__no_memory(err, "watched values");
    return walk.outcome;
}

/* ---- the baseline --------------------------------------------------------------------------------------------- */

static bool is_same(const struct kiln_watched *was, const struct kiln_watched *is)
{
    if (!was->data || !is->data) return !was->data == !is->data;
    return was->size == is->size && !memcmp(was->data, is->data, was->size);
}

/* One text for each value that changed: "module: name was 1, is 2; ..." */
static void compare_values(const struct kiln_values *was, const struct kiln_values *is, struct kiln_buffer *text)
{
    for (size_t i = 0; i < was->count; i++) {
        if (is_same(&was->data[i], &is->data[i])) continue;
        struct kiln_buffer old = {0}, new = {0};
        kiln__watched_print(&was->data[i], &old);
        kiln__watched_print(&is->data[i], &new);
        if (!old.failed && !new.failed) kiln__explain((const char *)old.data, (const char *)new.data, text);
        text->failed |= old.failed || new.failed;
        kiln__buffer_release(&old);
        kiln__buffer_release(&new);
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
    const char *value = kiln__config("KILN_DRIFT");
    return function->flags & KILN_STRICT || (value && !strcmp(value, "error"));
}

/* With the lock held; the key's words differ from the baseline's. That a function it depends on was redefined is no
 * drift. */
static kiln_status follow_or_refuse(struct kiln_function *function, const uint64_t *words, uint32_t count,
                                    const struct kiln_values *now, kiln_error *err)
{
    struct kiln_values was = {0};
    struct kiln_buffer text = {0};
    kiln_status status = KILN_OK;
    enum kiln_outcome outcome = kiln__values_find(function, function->baseline, function->baseline_count, &was, err);
    if (outcome == KILN_FAILED) return KILN_NO_MEMORY;
    if (outcome == KILN_DONE && was.count == now->count) compare_values(&was, now, &text);
    free(was.data);
    bool drifted = text.size || text.failed;
    if (drifted) kiln__add(&function->cache->counts.drifts, 1);
    if (drifted && is_strict(function))
        status = kiln__fail(err, KILN_DRIFTED, "%s: %s", function->definition->name,
                            text.failed ? "a watched value changed" : (const char *)text.data);
    else
        set_baseline(function, words, count);
    kiln__buffer_release(&text);
    return status;
}

kiln_status kiln__drift_check(struct kiln_function *function, const uint64_t *words, uint32_t count,
                              const struct kiln_values *now, kiln_error *err)
{
    if (!count) return KILN_OK;
    kiln_status status = KILN_OK;
    kiln__mutex_lock(&function->lock);
    if (!function->baseline)
        set_baseline(function, words, count);
    else if (count != function->baseline_count || !kiln__key_equal(words, function->baseline, count))
        status = follow_or_refuse(function, words, count, now, err);
    kiln__mutex_unlock(&function->lock);
    return status;
}
