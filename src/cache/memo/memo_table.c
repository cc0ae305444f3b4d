/*
 * memo_table.c - see memo_table.h: look-up, and making values. The table itself: memo_entries.h; what leaves it:
 * memo_removal.h.
 *
 * Readers load the table pointer and probe; writers, under the lock, publish an entry into an empty slot, or a whole
 * other table. A reader that races with growth may miss a new entry; it then takes the slow path, which looks again
 * under the lock. Outgrown tables are kept until clear or release: together they are no larger than the current one.
 */
#include "cache/memo/memo_table.h"

#include <stdio.h>

#include "base/process/callback.h"
#include "base/process/gate.h"
#include "cache/audit.h"
#include "cache/memo/in_flight.h"
#include "cache/memo/memo_removal.h"

static _Atomic uint64_t next_id = 1;

static uint64_t hash_of(const struct kiln_signature *signature)
{
    return kiln__hash(signature->words, (size_t)signature->count * sizeof *signature->words);
}

void kiln__memo_init(struct kiln_memo_table *memo, uint32_t cache, enum kiln_level level, void (*release)(void *value))
{
    memset(memo, 0, sizeof *memo);
    memo->id = atomic_fetch_add(&next_id, 1);
    memo->cache = cache;
    memo->level = level;
    memo->release = release;
    memo->audited = level == KILN_LEVEL_CALL && kiln__audit_on();
    pthread_mutex_init(&memo->lock, NULL);
}

void kiln__memo_bound(struct kiln_memo_table *memo, size_t limit, const char *name, _Atomic uint64_t *evictions)
{
    snprintf(memo->name, sizeof memo->name, "%s", name);
    memo->limit = limit;
    memo->evictions = evictions;
}

/* At most half full, so probing ends. */
static bool make_room(struct kiln_memo_table *memo)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t size = table ? table->mask + 1 : 0;
    if (memo->count + 1 <= size / 2) return true;
    size_t larger = size ? size * 2 : 8;
    struct kiln_entries *grown = kiln__entries_new(larger);
    if (!grown) return false;
    for (size_t i = 0; i < size; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) kiln__entries_insert(grown, entry);
    }
    if (table) {
        table->older = memo->old_tables;
        memo->old_tables = table;
    }
    atomic_store_explicit(&memo->table, grown, memory_order_release);
    return true;
}

/* ---- look-up -------------------------------------------------------------------------------------------------- */

struct kiln_entry *kiln__memo_find(struct kiln_memo_table *memo, const struct kiln_signature *signature, uint64_t hash)
{
    return kiln__entries_probe(atomic_load_explicit(&memo->table, memory_order_acquire), signature->words,
                               signature->count, hash);
}

static void *hand_out(const struct kiln_memo_table *memo, void *value)
{
    if (memo->acquire) memo->acquire(value);
    return memo->expose ? memo->expose(value) : value;
}

/* What callers get, made while `reading` keeps a concurrent clear from freeing entries and tables. */
static void *find_value(struct kiln_memo_table *memo, const struct kiln_signature *signature, uint64_t hash,
                        struct kiln_thread *thread, bool *has_reads)
{
    atomic_store_explicit(&thread->reading, memo, memory_order_relaxed);
    kiln__light_barrier();
    struct kiln_entry *entry = kiln__memo_find(memo, signature, hash);
    void *value = NULL;
    if (entry && kiln__reads_hold(entry->reads)) {
        value = hand_out(memo, entry->value);
        *has_reads = entry->reads != NULL;
        if (!atomic_load_explicit(&entry->recent, memory_order_relaxed))
            atomic_store_explicit(&entry->recent, true, memory_order_relaxed);
    }
    atomic_store_explicit(&thread->reading, NULL, memory_order_release);
    return value;
}

/* For a memo table that is audited, whose values are in no thread cache. A hit whose audit is due puts the value aside,
 * for kiln__memo_audited(), and returns NULL. */
static void *audited_lookup(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                            struct kiln_thread *thread)
{
    atomic_store_explicit(&thread->reading, memo, memory_order_relaxed);
    kiln__light_barrier();
    struct kiln_entry *entry = kiln__memo_find(memo, signature, hash_of(signature));
    void *value = NULL;
    if (entry && kiln__reads_hold(entry->reads)) {
        kiln__count(&thread->process_hits[memo->cache]);
        if (!atomic_load_explicit(&entry->recent, memory_order_relaxed))
            atomic_store_explicit(&entry->recent, true, memory_order_relaxed);
        if (memo->keep && kiln__audit_is_due(atomic_fetch_add_explicit(&entry->hits, 1, memory_order_relaxed) + 1)) {
            memo->keep(entry->value);
            thread->audited = entry->value;
        } else {
            value = hand_out(memo, entry->value);
        }
    }
    atomic_store_explicit(&thread->reading, NULL, memory_order_release);
    return value;
}

void *kiln__memo_lookup_slow(struct kiln_memo_table *memo, const struct kiln_signature *signature)
{
    struct kiln_thread *thread = kiln__thread();
    if (!thread || signature->status) return NULL;
    if (__builtin_expect(thread->making != NULL, 0)) kiln__in_flight_lost(thread, kiln__frame());
    if (memo->audited) return audited_lookup(memo, signature, thread);
    __builtin_prefetch(atomic_load_explicit(&memo->table, memory_order_relaxed)); /* its mask; while we hash */
    uint64_t hash = hash_of(signature);
    struct kiln_thread_cache_slot *slot = kiln__thread_cache_find(thread, signature, hash);
    if (slot) {
        kiln__count(&thread->front_hits[slot->cache]);
        if (__builtin_expect(thread->making != NULL, 0)) thread->last = &thread->none;
        return slot->value;
    }
    bool has_reads = false;
    void *value = find_value(memo, signature, hash, thread, &has_reads);
    if (!value) return NULL;
    kiln__count(&thread->process_hits[memo->cache]);
    if (!has_reads) kiln__thread_cache_put(thread, signature, hash, memo->cache, value);
    return value;
}

void *kiln__memo_peek(struct kiln_memo_table *memo, const struct kiln_signature *signature)
{
    struct kiln_thread *thread = kiln__thread();
    bool has_reads;
    return thread && !signature->status ? find_value(memo, signature, hash_of(signature), thread, &has_reads) : NULL;
}

/* ---- making --------------------------------------------------------------------------------------------------- */

/* Replaces an entry whose reads hold no more, or that has a better value, and forgets its value. Returns a reference
 * that is one too many. Who signs after the epoch has changed finds the new entry; who pins before that is seen. */
static void *replace(struct kiln_memo_table *memo, struct kiln_entry *known, struct kiln_entry *entry)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t i = known->hash & table->mask;
    while (kiln__entry_at(table, i) != known) i = (i + 1) & table->mask;
    entry->order = known->order;
    kiln__entry_publish(table, i, entry);
    if (!known->reads) atomic_fetch_add_explicit(&memo->epoch, 1, memory_order_acq_rel); /* it is in thread caches */
    void *unwanted = kiln__memo_forget_value(memo, known->value, known->key);
    kiln__wait_for_readers(memo);
    kiln__entry_free(known);
    return unwanted;
}

/*
 * With the lock held: publishes a made value, unless the table was cleared meanwhile (the value is then handed out
 * and its key forgotten at once) or somebody else published first (then theirs is used). `*unwanted` is what the
 * caller releases once it has given up the lock: releasing may run code of the user's.
 */
static kiln_status publish(struct kiln_memo_table *memo, const struct kiln_signature *signature, uint64_t hash,
                           void **value, struct kiln_read_record *reads, void **unwanted, struct kiln_removed *removed,
                           kiln_error *err)
{
    bool current = (uint32_t)signature->words[1] == atomic_load_explicit(&memo->generation, memory_order_relaxed);
    struct kiln_entry *known = current ? kiln__memo_find(memo, signature, hash) : NULL;
    if (known && kiln__reads_hold(known->reads)) {
        *unwanted = *value;
        kiln__reads_free(reads);
        *value = known->value;
        return KILN_OK;
    }
    if (!current) {
        kiln__reads_free(reads);
        *unwanted = kiln__memo_forget_value(memo, *value, signature->words);
        return KILN_OK;
    }
    if (!known && memo->limit && memo->count >= memo->limit) kiln__memo_evict(memo, removed);
    struct kiln_entry *entry = kiln__entry_new(signature, hash, *value, reads);
    if (!entry || !make_room(memo)) {
        if (entry)
            kiln__entry_free(entry);
        else
            kiln__reads_free(reads);
        *unwanted = *value;
        return kiln__no_memory(err, "a result");
    }
    if (known) {
        *unwanted = replace(memo, known, entry);
        kiln__memo_take_limbo(memo, removed);
    } else {
        entry->order = memo->next_order++;
        kiln__entries_insert(atomic_load_explicit(&memo->table, memory_order_relaxed), entry);
        memo->count++;
        if (memo->limit && memo->count + kiln__memo_leaving(memo) == memo->limit) kiln__memo_begin_period(memo);
    }
    return KILN_OK;
}

bool kiln__memo_swap(struct kiln_memo_table *memo, const struct kiln_signature *signature, const void *from, void *to)
{
    struct kiln_removed removed = {NULL};
    void *unwanted = NULL;
    uint64_t hash = hash_of(signature);
    kiln__mutex_lock(&memo->lock);
    struct kiln_entry *known = kiln__memo_find(memo, signature, hash);
    bool is_there = known && known->value == from;
    struct kiln_entry *entry = is_there ? kiln__entry_new(signature, hash, to, NULL) : NULL;
    if (entry) {
        unwanted = replace(memo, known, entry);
        kiln__memo_take_limbo(memo, &removed);
    }
    kiln__mutex_unlock(&memo->lock);
    if (unwanted) memo->release(unwanted);
    kiln__memo_drop(memo, &removed);
    return entry;
}

/* Runs the maker, publishes its value and wakes those who wait. */
static enum kiln_outcome make_and_publish(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                          struct kiln_thread *thread, struct kiln_in_flight *in_flight,
                                          kiln_maker *make, void *context, void **value, kiln_error *err)
{
    struct kiln_read_record *reads = NULL;
    kiln_error error = {KILN_OK, ""};
    void *new_value = NULL, *unwanted = NULL;
    struct kiln_removed removed = {NULL};
    uint64_t hash = in_flight->hash;
    kiln__making_begin(thread, in_flight, kiln__frame());
    enum kiln_outcome outcome = make(context, &new_value, &reads, &error);
    kiln__making_end(thread, in_flight);
    bool left = outcome != KILN_DONE && kiln__thread_left();

    kiln__mutex_lock(&memo->lock);
    bool keeps_reads = reads != NULL;
    if (outcome == KILN_DONE)
        outcome = kiln__outcome(publish(memo, signature, hash, &new_value, reads, &unwanted, &removed, &error), &error);
    kiln__in_flight_land(memo, in_flight, left ? KILN_ABANDONED : outcome, new_value, &error);
    if (outcome == KILN_DONE) new_value = hand_out(memo, new_value);
    kiln__mutex_unlock(&memo->lock);

    if (unwanted) memo->release(unwanted);
    kiln__memo_drop(memo, &removed);
    if (outcome == KILN_DONE) {
        *value = new_value;
        if (!keeps_reads && memo->level == KILN_LEVEL_CALL && !memo->audited)
            kiln__thread_cache_put(thread, signature, hash, memo->cache, new_value);
    } else if (outcome == KILN_FAILED && err) {
        *err = error;
    }
    return outcome;
}

/* KILN_ABANDONED: its maker left, or the value no longer holds, as the maker read a variable that has changed since.
 * Only values without acquire() have reads. */
static enum kiln_outcome wait_for(struct kiln_memo_table *memo, struct kiln_in_flight *in_flight,
                                  const struct kiln_signature *signature, void **value, kiln_error *err)
{
    uint64_t hash = in_flight->hash;
    enum kiln_outcome outcome = kiln__in_flight_wait(memo, in_flight, value, err);
    struct kiln_entry *entry = outcome == KILN_DONE ? kiln__memo_find(memo, signature, hash) : NULL;
    return entry && !kiln__reads_hold(entry->reads) ? KILN_ABANDONED : outcome;
}

/* With the lock held, which waiting gives up meanwhile: the value that is there or that another thread makes; or *ours,
 * an in-flight compile of this thread. */
static enum kiln_outcome find_or_start(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                       uint64_t hash, struct kiln_thread *thread, void **value,
                                       struct kiln_in_flight **ours, kiln_error *err)
{
    struct kiln_entry *entry = kiln__memo_find(memo, signature, hash); /* again, now that nobody can add one */
    if (entry && kiln__reads_hold(entry->reads)) {
        *value = hand_out(memo, entry->value);
        return KILN_DONE;
    }
    if (kiln__is_making(thread, signature)) return KILN_RECURSIVE;
    struct kiln_in_flight *in_flight = kiln__in_flight_find(memo, signature, hash);
    if (in_flight && thread->in_flight_level < (unsigned)memo->level)
        return wait_for(memo, in_flight, signature, value, err);
    *ours = kiln__in_flight_start(memo, signature, hash, !in_flight); /* alone, when waiting could close a cycle */
    return *ours ? KILN_DONE : kiln__outcome(kiln__no_memory(err, "an in-flight compile"), err);
}

enum kiln_outcome kiln__memo_make(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                  kiln_maker *make, void *context, void **value, bool *made, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_thread *thread = kiln__thread();
    struct kiln_in_flight *ours = NULL;
    enum kiln_outcome outcome;
    if (made) *made = false;
    if (!thread) return kiln__outcome(kiln__no_memory(err, "a thread record"), err);
    kiln__in_flight_lost(thread, kiln__frame());
    uint64_t hash = hash_of(signature);
    kiln__mutex_lock(&memo->lock);
    do outcome = find_or_start(memo, signature, hash, thread, value, &ours, err);
    while (outcome == KILN_ABANDONED);
    kiln__mutex_unlock(&memo->lock);
    if (!ours) return outcome;
    if (made) *made = true;
    return make_and_publish(memo, signature, thread, ours, make, context, value, err);
}

/* ---- explaining ----------------------------------------------------------------------------------------------- */

/* From the start or from the end, whichever agrees more: an option pushed moves all that follows. */
static uint32_t common_words(const struct kiln_entry *entry, const struct kiln_signature *signature)
{
    uint32_t from_start = 0, from_end = 0, shorter = entry->count < signature->count ? entry->count : signature->count;
    for (uint32_t i = 0; i < shorter; i++) {
        from_start += entry->key[i] == signature->words[i];
        from_end += entry->key[entry->count - 1 - i] == signature->words[signature->count - 1 - i];
    }
    return from_start > from_end ? from_start : from_end;
}

const struct kiln_entry *kiln__memo_nearest(struct kiln_memo_table *memo, const struct kiln_signature *signature)
{
    enum { LOOK_AT = 256 }; /* a miss is explained against the nearest of a bounded number of entries */
    kiln__mutex_lock(&memo->lock);
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    const struct kiln_entry *best = NULL;
    uint32_t most = 0;
    for (size_t i = 0, seen = 0; table && i <= table->mask && seen < LOOK_AT; i++) {
        const struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry) continue;
        seen++;
        uint32_t common = common_words(entry, signature);
        if (best && common <= most) continue;
        best = entry;
        most = common;
    }
    return best;
}

void kiln__memo_nearest_done(struct kiln_memo_table *memo)
{
    kiln__mutex_unlock(&memo->lock);
}
