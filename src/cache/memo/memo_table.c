/*
 * memo_table.c - see memo_table.h. The table itself: memo_entries.h.
 *
 * Readers load the table pointer and probe; writers, under the lock, publish an entry into an empty slot, or a whole
 * other table. A reader that races with growth may miss a new entry; it then takes the slow path, which looks again
 * under the lock. Outgrown tables are kept until clear or release: together they are no larger than the current one.
 */
#include "cache/memo/memo_table.h"

#include <stdio.h>

#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/gate.h"
#include "cache/audit.h"
#include "cache/memo/epoch.h"
#include "cache/memo/in_flight.h"
#include "cache/memo/memo_entries.h"

struct kiln_limbo {
    struct kiln_limbo *next;
    void *value;
    uint64_t epoch; /* that began when it was retired; 0: it may be pinned */
    uint32_t device;
};

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

static void free_tables(struct kiln_entries *table)
{
    while (table) {
        struct kiln_entries *older = table->older;
        kiln__entries_free(table);
        table = older;
    }
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

/* A hit, which never comes from a thread cache. When it is its turn to be audited the value is put aside, and NULL
 * returned.
 */
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

static void limbo_add(struct kiln_memo_table *memo, void *value, uint64_t epoch, uint32_t device)
{
    struct kiln_limbo *limbo = malloc(sizeof *limbo);
    if (!limbo) return; /* never released: better than released in use */
    *limbo = (struct kiln_limbo){memo->limbo, value, epoch, device};
    memo->limbo = limbo;
}

static uint32_t device_of(const uint64_t *key)
{
    return (uint32_t)(key[2] >> 32);
}

/* With the lock held: the key of a value is forgotten. Returns a reference that is one too many, or NULL. */
static void *forget(struct kiln_memo_table *memo, void *value, const uint64_t *key)
{
    if (memo->forgetting == KILN_FORGET_HELD) return kiln__held_add(&memo->held, value, device_of(key)) ? NULL : value;
    limbo_add(memo, value, memo->forgetting == KILN_FORGET_RETIRED ? kiln__epoch_begin() : 0, device_of(key));
    return NULL;
}

/* ---- removal -------------------------------------------------------------------------------------------------- */

/* Without the lock: releasing may run code of the user's, and takes as long as that takes. */
static void release_or_limbo(struct kiln_memo_table *memo, void *value)
{
    if (!kiln__is_used(value)) {
        memo->release(value);
        return;
    }
    kiln__mutex_lock(&memo->lock);
    limbo_add(memo, value, 0, 0);
    kiln__mutex_unlock(&memo->lock);
}

static void limbo_return(struct kiln_memo_table *memo, struct kiln_limbo *limbo)
{
    kiln__mutex_lock(&memo->lock);
    limbo->next = memo->limbo;
    memo->limbo = limbo;
    kiln__mutex_unlock(&memo->lock);
}

/* `oldest`: no thread that entered before that epoch is inside. */
static void drop_limbo(struct kiln_memo_table *memo, struct kiln_limbo *limbo, uint64_t oldest)
{
    for (struct kiln_limbo *next; limbo; limbo = next) {
        next = limbo->next;
        if (limbo->epoch ? limbo->epoch > oldest : kiln__is_used(limbo->value)) {
            limbo_return(memo, limbo);
            continue;
        }
        memo->release(limbo->value);
        free(limbo);
    }
}

static void drop_table(struct kiln_memo_table *memo, struct kiln_entries *table)
{
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry || entry == &kiln__entry_moved) continue;
        if (entry->value) release_or_limbo(memo, entry->value);
        kiln__entry_free(entry);
    }
    kiln__entries_free(table);
}

/* The same where nobody pins anything. */
static void release_table(struct kiln_entries *table, void (*release)(void *value))
{
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry || entry == &kiln__entry_moved) continue;
        release(entry->value);
        kiln__entry_free(entry);
    }
    kiln__entries_free(table);
}

static void release_limbo(struct kiln_limbo *limbo, void (*release)(void *value))
{
    for (struct kiln_limbo *next; limbo; limbo = next) {
        next = limbo->next;
        release(limbo->value);
        free(limbo);
    }
}

/* Survivors move to a table of their own, so that readers see the old one or the new one, whole. */
static struct kiln_entries *survivors(struct kiln_entries *table,
                                      bool (*matches)(const struct kiln_entry *, const void *), const void *context,
                                      size_t *count)
{
    struct kiln_entries *kept = kiln__entries_new(table->mask + 1);
    if (!kept) return NULL;
    for (size_t i = 0; i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry || matches(entry, context)) continue;
        kiln__entries_insert(kept, entry);
        ++*count;
        kiln__entry_take(table, i);
    }
    return kept;
}

/* What went out of the table and has to be dropped once the lock is given up. */
struct kiln_removed {
    struct kiln_entries *table;
    struct kiln_limbo *limbo;
    uint64_t oldest; /* of what is retired, what was before this epoch may go */
    struct kiln_held held;
    struct kiln_removed *next; /* for kiln__memo_take_device() */
    void (*release)(void *value);
};

static void drop_removed(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    drop_limbo(memo, removed->limbo, removed->oldest);
    drop_table(memo, removed->table);
    kiln__held_release(&removed->held, memo->release);
}

/* With the lock held: a table that went out holds no more values that callers may use without a pin. */
static void forget_table(struct kiln_memo_table *memo, struct kiln_entries *table)
{
    if (memo->forgetting == KILN_FORGET_UNPINNED || !table) return;
    for (size_t i = 0; i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry && entry != &kiln__entry_moved) entry->value = forget(memo, entry->value, entry->key);
    }
}

/* Entries that matched, until a reader that still walked the old table took a reference: they stay after all. */
static size_t take_back(struct kiln_entries *table, struct kiln_entries *kept,
                        bool (*matches)(const struct kiln_entry *, const void *), const void *context)
{
    size_t count = 0;
    for (size_t i = 0; i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry || entry == &kiln__entry_moved || matches(entry, context)) continue;
        kiln__entries_insert(kept, entry);
        count++;
        kiln__entry_take(table, i);
    }
    return count;
}

/* With the lock held: leaves only entries that do not match, in a new table. False: out of memory, nothing changed. */
static bool take_out(struct kiln_memo_table *memo, bool (*matches)(const struct kiln_entry *, const void *),
                     const void *context, struct kiln_removed *removed)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t count = 0;
    struct kiln_entries *kept = table ? survivors(table, matches, context, &count) : NULL;
    if (!kept) return false;
    atomic_store_explicit(&memo->table, kept, memory_order_release);
    kiln__wait_for_readers(memo);
    memo->count = count + take_back(table, kept, matches, context);
    removed->table = table;
    return true;
}

/* With the lock held, after a heavy barrier: forgotten values may go, but those that are still in use come back. */
static void take_limbo(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    removed->limbo = memo->limbo;
    memo->limbo = NULL;
    if (memo->forgetting == KILN_FORGET_RETIRED) removed->oldest = kiln__epoch_oldest();
}

/* Not found lately before found lately, and among equals the older first. */
static int by_age(const void *a, const void *b)
{
    const struct kiln_entry *left = *(struct kiln_entry *const *)a, *right = *(struct kiln_entry *const *)b;
    bool left_recent = atomic_load_explicit(&left->recent, memory_order_relaxed);
    bool right_recent = atomic_load_explicit(&right->recent, memory_order_relaxed);
    if (left_recent != right_recent) return left_recent ? 1 : -1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static bool is_dropped(const struct kiln_entry *entry, const void *context)
{
    (void)context;
    return entry->dropped;
}

static size_t leaving_of(const struct kiln_memo_table *memo)
{
    return memo->limit / 8 ? memo->limit / 8 : 1;
}

/*
 * What is used from here on counts as recent when entries are dropped next. Thread caches hide what they hit from the
 * table, so their slots are made void: what is in use is found in the table again at its next call.
 */
static void begin_period(struct kiln_memo_table *memo)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) atomic_store_explicit(&entry->recent, false, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&memo->epoch, 1, memory_order_acq_rel);
}

/* The limit is reached: the least recently used eighth goes. */
static void drop_oldest(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    struct kiln_entry **entries = malloc(memo->count * sizeof *entries);
    size_t count = 0, leaving = leaving_of(memo);
    if (!entries || !table) {
        free(entries);
        return;
    }
    for (size_t i = 0; i <= table->mask && count < memo->count; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) entries[count++] = entry;
    }
    qsort(entries, count, sizeof *entries, by_age);
    for (size_t i = 0; i < count; i++) entries[i]->dropped = i < leaving;
    free(entries);
    begin_period(memo);
    if (!take_out(memo, is_dropped, NULL, removed)) return;
    forget_table(memo, removed->table);
    take_limbo(memo, removed);
    if (!memo->evictions) return;
    atomic_fetch_add_explicit(memo->evictions, leaving < count ? leaving : count, memory_order_relaxed);
    kiln__log_once("%s has more than %zu signatures in use; the least recently used results are dropped, and made "
                   "again when asked "
                   "for (evictions counts them)",
                   memo->name, memo->limit);
}

/* Replaces an entry whose reads hold no more, and forgets its value. Returns a reference that is one too many. */
static void *replace(struct kiln_memo_table *memo, struct kiln_entry *known, struct kiln_entry *entry)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    size_t i = known->hash & table->mask;
    while (kiln__entry_at(table, i) != known) i = (i + 1) & table->mask;
    kiln__entry_publish(table, i, entry);
    void *unwanted = forget(memo, known->value, known->key);
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
        *unwanted = forget(memo, *value, signature->words);
        return KILN_OK;
    }
    if (!known && memo->limit && memo->count >= memo->limit) drop_oldest(memo, removed);
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
        take_limbo(memo, removed);
    } else {
        entry->order = memo->next_order++;
        kiln__entries_insert(atomic_load_explicit(&memo->table, memory_order_relaxed), entry);
        memo->count++;
        if (memo->limit && memo->count + leaving_of(memo) == memo->limit) begin_period(memo);
    }
    return KILN_OK;
}

static enum kiln_outcome fly(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                             struct kiln_thread *thread, struct kiln_in_flight *in_flight, kiln_maker *make,
                             void *context, void **value, kiln_error *err)
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
    drop_removed(memo, &removed);
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

/* With the lock held, which waiting gives up meanwhile: the value that is there or comes from another thread, or our
 * own in-flight compile. */
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
    return fly(memo, signature, thread, ours, make, context, value, err);
}

/* `forgets`: what callers use without a pin is held or retired, as by eviction. */
static void clear(struct kiln_memo_table *memo, bool forgets)
{
    kiln__mutex_lock(&memo->lock);
    atomic_fetch_add_explicit(&memo->generation, 1, memory_order_acq_rel);
    struct kiln_entries *old = memo->old_tables;
    struct kiln_removed removed = {
        .table = atomic_exchange(&memo->table, NULL), .limbo = memo->limbo, .oldest = forgets ? 0 : UINT64_MAX};
    memo->old_tables = NULL;
    memo->limbo = NULL;
    memo->count = 0;
    kiln__wait_for_readers(memo);
    if (forgets) {
        forget_table(memo, removed.table);
    } else {
        removed.held = memo->held;
        memo->held = (struct kiln_held){0};
    }
    kiln__mutex_unlock(&memo->lock);
    drop_removed(memo, &removed);
    free_tables(old);
}

void kiln__memo_clear(struct kiln_memo_table *memo)
{
    clear(memo, false);
}

void kiln__memo_forget(struct kiln_memo_table *memo)
{
    clear(memo, true);
}

void kiln__memo_set_forgetting(struct kiln_memo_table *memo, enum kiln_forgetting forgetting)
{
    kiln__mutex_lock(&memo->lock);
    memo->forgetting = forgetting;
    kiln__mutex_unlock(&memo->lock);
}

size_t kiln__memo_remove(struct kiln_memo_table *memo,
                         bool (*matches)(const struct kiln_entry *entry, const void *context), const void *context)
{
    struct kiln_removed removed = {NULL};
    kiln__mutex_lock(&memo->lock);
    size_t before = memo->count;
    take_out(memo, matches, context, &removed);
    size_t count = before - memo->count;
    kiln__mutex_unlock(&memo->lock);
    drop_removed(memo, &removed);
    return count;
}

static bool is_of_device(const struct kiln_entry *entry, const void *device)
{
    return device_of(entry->key) == *(const uint32_t *)device;
}

/* With the lock held. */
static struct kiln_limbo *take_limbo_of(struct kiln_memo_table *memo, uint32_t device)
{
    struct kiln_limbo *taken = NULL;
    for (struct kiln_limbo **link = &memo->limbo; *link;) {
        struct kiln_limbo *limbo = *link;
        if (limbo->device != device) {
            link = &limbo->next;
            continue;
        }
        *link = limbo->next;
        limbo->next = taken;
        taken = limbo;
    }
    return taken;
}

struct kiln_removed *kiln__memo_take_device(struct kiln_memo_table *memo, uint32_t device, struct kiln_removed *rest)
{
    struct kiln_removed *removed = calloc(1, sizeof *removed);
    if (!removed) return rest;
    removed->release = memo->release;
    removed->next = rest;
    kiln__mutex_lock(&memo->lock);
    take_out(memo, is_of_device, &device, removed);
    kiln__held_take(&memo->held, device, &removed->held);
    removed->limbo = take_limbo_of(memo, device);
    kiln__mutex_unlock(&memo->lock);
    return removed;
}

void kiln__removed_drop(struct kiln_removed *removed)
{
    for (struct kiln_removed *next; removed; removed = next) {
        next = removed->next;
        release_table(removed->table, removed->release);
        release_limbo(removed->limbo, removed->release);
        kiln__held_release(&removed->held, removed->release);
        free(removed);
    }
}

void kiln__memo_release(struct kiln_memo_table *memo)
{
    kiln__in_flight_orphan(memo);
    release_table(atomic_load(&memo->table), memo->release);
    free_tables(memo->old_tables);
    release_limbo(memo->limbo, memo->release);
    kiln__held_release(&memo->held, memo->release);
    pthread_mutex_destroy(&memo->lock);
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
