/*
 * memo_table.c - see memo_table.h. The table itself: memo_entries.h.
 *
 * Readers load the table pointer and probe; writers, under the lock, publish an entry into an empty slot, or a whole
 * other table. A reader that races with growth may miss a new entry; it then takes the slow path, which looks again
 * under the lock. Outgrown tables are kept until clear or release: together they are no larger than the current one.
 */
#include "cache/memo_table.h"

#include <stdio.h>

#include "base/callback.h"
#include "base/gate.h"
#include "base/log.h"
#include "cache/audit.h"
#include "cache/epoch.h"
#include "cache/in_flight.h"
#include "cache/memo_entries.h"

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

void kiln__results_init(struct kiln_results *results, uint32_t cache, enum kiln_level level,
                        void (*release)(void *value))
{
    memset(results, 0, sizeof *results);
    results->id = atomic_fetch_add(&next_id, 1);
    results->cache = cache;
    results->level = level;
    results->release = release;
    results->audited = level == KILN_LEVEL_CALL && kiln__audit_on();
    pthread_mutex_init(&results->lock, NULL);
}

void kiln__results_bound(struct kiln_results *results, size_t limit, const char *name, _Atomic uint64_t *evictions)
{
    snprintf(results->name, sizeof results->name, "%s", name);
    results->limit = limit;
    results->evictions = evictions;
}

/* At most half full, so probing ends. */
static bool make_room(struct kiln_results *results)
{
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
    size_t size = table ? table->mask + 1 : 0;
    if (results->count + 1 <= size / 2) return true;
    size_t larger = size ? size * 2 : 8;
    struct kiln_entries *grown = kiln__entries_new(larger);
    if (!grown) return false;
    for (size_t i = 0; i < size; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) kiln__entries_insert(grown, entry);
    }
    if (table) {
        table->older = results->old_tables;
        results->old_tables = table;
    }
    atomic_store_explicit(&results->table, grown, memory_order_release);
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

struct kiln_entry *kiln__results_find(struct kiln_results *results, const struct kiln_signature *signature,
                                      uint64_t hash)
{
    return kiln__entries_probe(atomic_load_explicit(&results->table, memory_order_acquire), signature->words,
                               signature->count, hash);
}

static void *hand_out(const struct kiln_results *results, void *value)
{
    if (results->acquire) results->acquire(value);
    return results->expose ? results->expose(value) : value;
}

/* What callers get, made while `reading` keeps a concurrent clear from freeing entries and tables. */
static void *find_value(struct kiln_results *results, const struct kiln_signature *signature, uint64_t hash,
                        struct kiln_thread *thread, bool *has_reads)
{
    atomic_store_explicit(&thread->reading, results, memory_order_relaxed);
    kiln__light_barrier();
    struct kiln_entry *entry = kiln__results_find(results, signature, hash);
    void *value = NULL;
    if (entry && kiln__reads_hold(entry->reads)) {
        value = hand_out(results, entry->value);
        *has_reads = entry->reads != NULL;
        if (!atomic_load_explicit(&entry->recent, memory_order_relaxed))
            atomic_store_explicit(&entry->recent, true, memory_order_relaxed);
    }
    atomic_store_explicit(&thread->reading, NULL, memory_order_release);
    return value;
}

/* A hit, which never comes from a front. When it is its turn to be audited the value is put aside, and NULL returned.
 */
static void *audited_lookup(struct kiln_results *results, const struct kiln_signature *signature,
                            struct kiln_thread *thread)
{
    atomic_store_explicit(&thread->reading, results, memory_order_relaxed);
    kiln__light_barrier();
    struct kiln_entry *entry = kiln__results_find(results, signature, hash_of(signature));
    void *value = NULL;
    if (entry && kiln__reads_hold(entry->reads)) {
        kiln__count(&thread->process_hits[results->cache]);
        if (!atomic_load_explicit(&entry->recent, memory_order_relaxed))
            atomic_store_explicit(&entry->recent, true, memory_order_relaxed);
        if (results->keep && kiln__audit_is_due(atomic_fetch_add_explicit(&entry->hits, 1, memory_order_relaxed) + 1)) {
            results->keep(entry->value);
            thread->audited = entry->value;
        } else {
            value = hand_out(results, entry->value);
        }
    }
    atomic_store_explicit(&thread->reading, NULL, memory_order_release);
    return value;
}

void *kiln__results_lookup_slow(struct kiln_results *results, const struct kiln_signature *signature)
{
    struct kiln_thread *thread = kiln__thread();
    if (!thread || signature->status) return NULL;
    if (__builtin_expect(thread->making != NULL, 0)) kiln__flights_lost(thread, kiln__frame());
    if (results->audited) return audited_lookup(results, signature, thread);
    __builtin_prefetch(atomic_load_explicit(&results->table, memory_order_relaxed)); /* its mask; while we hash */
    uint64_t hash = hash_of(signature);
    struct kiln_front_slot *slot = kiln__front_find(thread, signature, hash);
    if (slot) {
        kiln__count(&thread->front_hits[slot->cache]);
        if (__builtin_expect(thread->making != NULL, 0)) thread->last = &thread->none;
        return slot->value;
    }
    bool has_reads = false;
    void *value = find_value(results, signature, hash, thread, &has_reads);
    if (!value) return NULL;
    kiln__count(&thread->process_hits[results->cache]);
    if (!has_reads) kiln__front_put(thread, signature, hash, results->cache, value);
    return value;
}

void *kiln__results_peek(struct kiln_results *results, const struct kiln_signature *signature)
{
    struct kiln_thread *thread = kiln__thread();
    bool has_reads;
    return thread && !signature->status ? find_value(results, signature, hash_of(signature), thread, &has_reads) : NULL;
}

static void limbo_add(struct kiln_results *results, void *value, uint64_t epoch, uint32_t device)
{
    struct kiln_limbo *limbo = malloc(sizeof *limbo);
    if (!limbo) return; /* never released: better than released in use */
    *limbo = (struct kiln_limbo){results->limbo, value, epoch, device};
    results->limbo = limbo;
}

static uint32_t device_of(const uint64_t *key)
{
    return (uint32_t)(key[2] >> 32);
}

/* With the lock held: the key of a value is forgotten. Returns a reference that is one too many, or NULL. */
static void *forget(struct kiln_results *results, void *value, const uint64_t *key)
{
    if (results->forgetting == KILN_FORGET_HELD)
        return kiln__held_add(&results->held, value, device_of(key)) ? NULL : value;
    limbo_add(results, value, results->forgetting == KILN_FORGET_RETIRED ? kiln__epoch_begin() : 0, device_of(key));
    return NULL;
}

/* ---- removal -------------------------------------------------------------------------------------------------- */

/* Without the lock: releasing may run code of the user's, and takes as long as that takes. */
static void release_or_limbo(struct kiln_results *results, void *value)
{
    if (!kiln__is_used(value)) {
        results->release(value);
        return;
    }
    kiln__mutex_lock(&results->lock);
    limbo_add(results, value, 0, 0);
    kiln__mutex_unlock(&results->lock);
}

static void limbo_return(struct kiln_results *results, struct kiln_limbo *limbo)
{
    kiln__mutex_lock(&results->lock);
    limbo->next = results->limbo;
    results->limbo = limbo;
    kiln__mutex_unlock(&results->lock);
}

/* `oldest`: no thread that entered before that epoch is inside. */
static void drop_limbo(struct kiln_results *results, struct kiln_limbo *limbo, uint64_t oldest)
{
    for (struct kiln_limbo *next; limbo; limbo = next) {
        next = limbo->next;
        if (limbo->epoch ? limbo->epoch > oldest : kiln__is_used(limbo->value)) {
            limbo_return(results, limbo);
            continue;
        }
        results->release(limbo->value);
        free(limbo);
    }
}

static void drop_table(struct kiln_results *results, struct kiln_entries *table)
{
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (!entry || entry == &kiln__entry_moved) continue;
        if (entry->value) release_or_limbo(results, entry->value);
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

/* What went out of the results and has to be dropped once the lock is given up. */
struct kiln_removed {
    struct kiln_entries *table;
    struct kiln_limbo *limbo;
    uint64_t oldest; /* of what is retired, what was before this epoch may go */
    struct kiln_held held;
    struct kiln_removed *next; /* for kiln__results_take_device() */
    void (*release)(void *value);
};

static void drop_removed(struct kiln_results *results, struct kiln_removed *removed)
{
    drop_limbo(results, removed->limbo, removed->oldest);
    drop_table(results, removed->table);
    kiln__held_release(&removed->held, results->release);
}

/* With the lock held: a table that went out holds no more values that callers may use without a pin. */
static void forget_table(struct kiln_results *results, struct kiln_entries *table)
{
    if (results->forgetting == KILN_FORGET_UNPINNED || !table) return;
    for (size_t i = 0; i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry && entry != &kiln__entry_moved) entry->value = forget(results, entry->value, entry->key);
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
static bool take_out(struct kiln_results *results, bool (*matches)(const struct kiln_entry *, const void *),
                     const void *context, struct kiln_removed *removed)
{
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
    size_t count = 0;
    struct kiln_entries *kept = table ? survivors(table, matches, context, &count) : NULL;
    if (!kept) return false;
    atomic_store_explicit(&results->table, kept, memory_order_release);
    kiln__wait_for_readers(results);
    results->count = count + take_back(table, kept, matches, context);
    removed->table = table;
    return true;
}

/* With the lock held, after a heavy barrier: forgotten values may go, but those that are still in use come back. */
static void take_limbo(struct kiln_results *results, struct kiln_removed *removed)
{
    removed->limbo = results->limbo;
    results->limbo = NULL;
    if (results->forgetting == KILN_FORGET_RETIRED) removed->oldest = kiln__epoch_oldest();
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

static size_t leaving_of(const struct kiln_results *results)
{
    return results->limit / 8 ? results->limit / 8 : 1;
}

/*
 * What is used from here on counts as recent when results are dropped next. Fronts hide what they hit from the table,
 * so their slots are made void: what is in use is found in the table again at its next call.
 */
static void begin_period(struct kiln_results *results)
{
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) atomic_store_explicit(&entry->recent, false, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&results->epoch, 1, memory_order_acq_rel);
}

/* The limit is reached: the least recently used eighth goes. */
static void drop_oldest(struct kiln_results *results, struct kiln_removed *removed)
{
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
    struct kiln_entry **entries = malloc(results->count * sizeof *entries);
    size_t count = 0, leaving = leaving_of(results);
    if (!entries || !table) {
        free(entries);
        return;
    }
    for (size_t i = 0; i <= table->mask && count < results->count; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) entries[count++] = entry;
    }
    qsort(entries, count, sizeof *entries, by_age);
    for (size_t i = 0; i < count; i++) entries[i]->dropped = i < leaving;
    free(entries);
    begin_period(results);
    if (!take_out(results, is_dropped, NULL, removed)) return;
    forget_table(results, removed->table);
    take_limbo(results, removed);
    if (!results->evictions) return;
    atomic_fetch_add_explicit(results->evictions, leaving < count ? leaving : count, memory_order_relaxed);
    kiln__log_once("%s has more than %zu signatures in use; the least recently used results are dropped, and made "
                   "again when asked "
                   "for (evictions counts them)",
                   results->name, results->limit);
}

/* Replaces an entry whose reads hold no more, and forgets its value. Returns a reference that is one too many. */
static void *replace(struct kiln_results *results, struct kiln_entry *known, struct kiln_entry *entry)
{
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
    size_t i = known->hash & table->mask;
    while (kiln__entry_at(table, i) != known) i = (i + 1) & table->mask;
    kiln__entry_publish(table, i, entry);
    void *unwanted = forget(results, known->value, known->key);
    kiln__wait_for_readers(results);
    kiln__entry_free(known);
    return unwanted;
}

/*
 * With the lock held: publishes a made value, unless the results were cleared meanwhile (the value is then handed out
 * and its key forgotten at once) or somebody else published first (then theirs is used). `*unwanted` is what the
 * caller releases once it has given up the lock: releasing may run code of the user's.
 */
static kiln_status publish(struct kiln_results *results, const struct kiln_signature *signature, uint64_t hash,
                           void **value, struct kiln_read_record *reads, void **unwanted, struct kiln_removed *removed,
                           kiln_error *err)
{
    bool current = (uint32_t)signature->words[1] == atomic_load_explicit(&results->generation, memory_order_relaxed);
    struct kiln_entry *known = current ? kiln__results_find(results, signature, hash) : NULL;
    if (known && kiln__reads_hold(known->reads)) {
        *unwanted = *value;
        kiln__reads_free(reads);
        *value = known->value;
        return KILN_OK;
    }
    if (!current) {
        kiln__reads_free(reads);
        *unwanted = forget(results, *value, signature->words);
        return KILN_OK;
    }
    if (!known && results->limit && results->count >= results->limit) drop_oldest(results, removed);
    struct kiln_entry *entry = kiln__entry_new(signature, hash, *value, reads);
    if (!entry || !make_room(results)) {
        if (entry)
            kiln__entry_free(entry);
        else
            kiln__reads_free(reads);
        *unwanted = *value;
        return kiln__no_memory(err, "a result");
    }
    if (known) {
        *unwanted = replace(results, known, entry);
        take_limbo(results, removed);
    } else {
        entry->order = results->next_order++;
        kiln__entries_insert(atomic_load_explicit(&results->table, memory_order_relaxed), entry);
        results->count++;
        if (results->limit && results->count + leaving_of(results) == results->limit) begin_period(results);
    }
    return KILN_OK;
}

static kiln_status fly(struct kiln_results *results, const struct kiln_signature *signature, struct kiln_thread *thread,
                       struct kiln_flight *flight, kiln_maker *make, void *context, void **value, kiln_error *err)
{
    struct kiln_read_record *reads = NULL;
    kiln_error error = {KILN_OK, ""};
    void *new_value = NULL, *unwanted = NULL;
    struct kiln_removed removed = {NULL};
    uint64_t hash = flight->hash;
    kiln__making_begin(thread, flight, kiln__frame());
    kiln_status status = make(context, &new_value, &reads, &error);
    kiln__making_end(thread, flight);
    bool left = status && kiln__thread_left();

    kiln__mutex_lock(&results->lock);
    bool keeps_reads = reads != NULL;
    if (status == KILN_OK) status = publish(results, signature, hash, &new_value, reads, &unwanted, &removed, &error);
    kiln__flight_land(results, flight, left ? (kiln_status)KILN_AGAIN : status, new_value, &error);
    if (status == KILN_OK) new_value = hand_out(results, new_value);
    kiln__mutex_unlock(&results->lock);

    if (unwanted) results->release(unwanted);
    drop_removed(results, &removed);
    if (status == KILN_OK) {
        *value = new_value;
        if (!keeps_reads && results->level == KILN_LEVEL_CALL && !results->audited)
            kiln__front_put(thread, signature, hash, results->cache, new_value);
    } else if (err) {
        *err = error;
    }
    return status;
}

/* KILN_AGAIN: what was waited for was given up by its maker, or no longer holds, as that read a variable that has
 * changed since. Only values without acquire() have reads. */
static kiln_status wait_for(struct kiln_results *results, struct kiln_flight *flight,
                            const struct kiln_signature *signature, void **value, kiln_error *err)
{
    uint64_t hash = flight->hash;
    kiln_status status = kiln__flight_wait(results, flight, value, err);
    struct kiln_entry *entry = status ? NULL : kiln__results_find(results, signature, hash);
    return entry && !kiln__reads_hold(entry->reads) ? (kiln_status)KILN_AGAIN : status;
}

/* With the lock held, which waiting gives up meanwhile: the value that is there or comes from another thread, or our
 * own flight. */
static kiln_status find_or_start(struct kiln_results *results, const struct kiln_signature *signature, uint64_t hash,
                                 struct kiln_thread *thread, void **value, struct kiln_flight **ours, kiln_error *err)
{
    struct kiln_entry *entry = kiln__results_find(results, signature, hash); /* again, now that nobody can add one */
    if (entry && kiln__reads_hold(entry->reads)) {
        *value = hand_out(results, entry->value);
        return KILN_OK;
    }
    if (kiln__is_making(thread, signature)) return (kiln_status)KILN_RECURSIVE;
    struct kiln_flight *flight = kiln__flight_find(results, signature, hash);
    if (flight && thread->flight_level < (unsigned)results->level)
        return wait_for(results, flight, signature, value, err);
    *ours = kiln__flight_start(results, signature, hash, !flight); /* alone, when waiting could close a cycle */
    return *ours ? KILN_OK : kiln__no_memory(err, "a flight");
}

kiln_status kiln__results_make(struct kiln_results *results, const struct kiln_signature *signature, kiln_maker *make,
                               void *context, void **value, bool *made, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_thread *thread = kiln__thread();
    struct kiln_flight *ours = NULL;
    kiln_status status;
    if (made) *made = false;
    if (!thread) return kiln__no_memory(err, "a thread record");
    kiln__flights_lost(thread, kiln__frame());
    uint64_t hash = hash_of(signature);
    kiln__mutex_lock(&results->lock);
    do status = find_or_start(results, signature, hash, thread, value, &ours, err);
    while ((int)status == KILN_AGAIN);
    kiln__mutex_unlock(&results->lock);
    if (!ours) return status;
    if (made) *made = true;
    return fly(results, signature, thread, ours, make, context, value, err);
}

/* `forgets`: what callers use without a pin is held or retired, as by eviction. */
static void clear(struct kiln_results *results, bool forgets)
{
    kiln__mutex_lock(&results->lock);
    atomic_fetch_add_explicit(&results->generation, 1, memory_order_acq_rel);
    struct kiln_entries *old = results->old_tables;
    struct kiln_removed removed = {
        .table = atomic_exchange(&results->table, NULL), .limbo = results->limbo, .oldest = forgets ? 0 : UINT64_MAX};
    results->old_tables = NULL;
    results->limbo = NULL;
    results->count = 0;
    kiln__wait_for_readers(results);
    if (forgets) {
        forget_table(results, removed.table);
    } else {
        removed.held = results->held;
        results->held = (struct kiln_held){0};
    }
    kiln__mutex_unlock(&results->lock);
    drop_removed(results, &removed);
    free_tables(old);
}

void kiln__results_clear(struct kiln_results *results)
{
    clear(results, false);
}

void kiln__results_forget(struct kiln_results *results)
{
    clear(results, true);
}

void kiln__results_set_forgetting(struct kiln_results *results, enum kiln_forgetting forgetting)
{
    kiln__mutex_lock(&results->lock);
    results->forgetting = forgetting;
    kiln__mutex_unlock(&results->lock);
}

size_t kiln__results_remove(struct kiln_results *results,
                            bool (*matches)(const struct kiln_entry *entry, const void *context), const void *context)
{
    struct kiln_removed removed = {NULL};
    kiln__mutex_lock(&results->lock);
    size_t before = results->count;
    take_out(results, matches, context, &removed);
    size_t count = before - results->count;
    kiln__mutex_unlock(&results->lock);
    drop_removed(results, &removed);
    return count;
}

static bool is_of_device(const struct kiln_entry *entry, const void *device)
{
    return device_of(entry->key) == *(const uint32_t *)device;
}

/* With the lock held. */
static struct kiln_limbo *take_limbo_of(struct kiln_results *results, uint32_t device)
{
    struct kiln_limbo *taken = NULL;
    for (struct kiln_limbo **link = &results->limbo; *link;) {
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

struct kiln_removed *kiln__results_take_device(struct kiln_results *results, uint32_t device, struct kiln_removed *rest)
{
    struct kiln_removed *removed = calloc(1, sizeof *removed);
    if (!removed) return rest;
    removed->release = results->release;
    removed->next = rest;
    kiln__mutex_lock(&results->lock);
    take_out(results, is_of_device, &device, removed);
    kiln__held_take(&results->held, device, &removed->held);
    removed->limbo = take_limbo_of(results, device);
    kiln__mutex_unlock(&results->lock);
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

void kiln__results_release(struct kiln_results *results)
{
    kiln__flights_orphan(results);
    release_table(atomic_load(&results->table), results->release);
    free_tables(results->old_tables);
    release_limbo(results->limbo, results->release);
    kiln__held_release(&results->held, results->release);
    pthread_mutex_destroy(&results->lock);
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

const struct kiln_entry *kiln__results_nearest(struct kiln_results *results, const struct kiln_signature *signature)
{
    enum { LOOK_AT = 256 }; /* a miss is explained against the nearest of a bounded number of entries */
    kiln__mutex_lock(&results->lock);
    struct kiln_entries *table = atomic_load_explicit(&results->table, memory_order_relaxed);
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

void kiln__results_nearest_done(struct kiln_results *results)
{
    kiln__mutex_unlock(&results->lock);
}
