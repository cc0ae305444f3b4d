/*
 * memo_removal.c - see memo_removal.h. What memo_table.h says about clearing, forgetting, evicting and releasing.
 *
 * Entries leave by a change of the whole table: survivors move to a new one, and readers see either. The values of
 * those that left are released without the lock, since releasing may run code of the user's.
 */
#include "cache/memo/memo_removal.h"

#include "base/log.h"
#include "base/process/gate.h"
#include "cache/memo/epoch.h"
#include "cache/memo/in_flight.h"

/* ---- limbo ---------------------------------------------------------------------------------------------------- */

struct kiln_limbo {
    struct kiln_limbo *next;
    void *value;
    uint64_t epoch; /* that began when it was retired; 0: it may be pinned */
    uint32_t device;
};

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

void *kiln__memo_forget_value(struct kiln_memo_table *memo, void *value, const uint64_t *key)
{
    if (memo->forgetting == KILN_FORGET_HELD) return kiln__held_add(&memo->held, value, device_of(key)) ? NULL : value;
    limbo_add(memo, value, memo->forgetting == KILN_FORGET_RETIRED ? kiln__epoch_begin() : 0, device_of(key));
    return NULL;
}

/* ---- dropping ------------------------------------------------------------------------------------------------- */

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

void kiln__memo_drop(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    drop_limbo(memo, removed->limbo, removed->oldest);
    drop_table(memo, removed->table);
    kiln__held_release(&removed->held, memo->release);
}

/* With the lock held: `table` was replaced. Forgets its values, where callers use them without a pin. */
static void forget_table(struct kiln_memo_table *memo, struct kiln_entries *table)
{
    if (memo->forgetting == KILN_FORGET_UNPINNED || !table) return;
    for (size_t i = 0; i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry && entry != &kiln__entry_moved)
            entry->value = kiln__memo_forget_value(memo, entry->value, entry->key);
    }
}

/* Entries that no longer match, because a reader that still walked the old table took a reference: they stay. */
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
    /* What a reader of the old table has put into its thread cache meanwhile must match no more once it may be gone. */
    if (memo->forgetting != KILN_FORGET_HELD) atomic_fetch_add_explicit(&memo->epoch, 1, memory_order_acq_rel);
    kiln__wait_for_readers(memo);
    memo->count = count + take_back(table, kept, matches, context);
    removed->table = table;
    return true;
}

void kiln__memo_take_limbo(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    removed->limbo = memo->limbo;
    memo->limbo = NULL;
    if (memo->forgetting == KILN_FORGET_RETIRED) removed->oldest = kiln__epoch_oldest();
}

/* ---- eviction ------------------------------------------------------------------------------------------------- */

/* The order of eviction: what was not found since the period began, then the rest; the older first. */
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

size_t kiln__memo_leaving(const struct kiln_memo_table *memo)
{
    return memo->limit / 8 ? memo->limit / 8 : 1;
}

void kiln__memo_begin_period(struct kiln_memo_table *memo)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    for (size_t i = 0; table && i <= table->mask; i++) {
        struct kiln_entry *entry = kiln__entry_at(table, i);
        if (entry) atomic_store_explicit(&entry->recent, false, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&memo->epoch, 1, memory_order_acq_rel);
}

void kiln__memo_evict(struct kiln_memo_table *memo, struct kiln_removed *removed)
{
    struct kiln_entries *table = atomic_load_explicit(&memo->table, memory_order_relaxed);
    struct kiln_entry **entries = malloc(memo->count * sizeof *entries);
    size_t count = 0, leaving = kiln__memo_leaving(memo);
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
    kiln__memo_begin_period(memo);
    if (!take_out(memo, is_dropped, NULL, removed)) return;
    forget_table(memo, removed->table);
    kiln__memo_take_limbo(memo, removed);
    if (!memo->evictions) return;
    atomic_fetch_add_explicit(memo->evictions, leaving < count ? leaving : count, memory_order_relaxed);
    kiln__log_once("%s has more than %zu signatures in use; the least recently used results are dropped, and made "
                   "again when asked "
                   "for (evictions counts them)",
                   memo->name, memo->limit);
}

/* ---- clearing ------------------------------------------------------------------------------------------------- */

static void free_tables(struct kiln_entries *table)
{
    while (table) {
        struct kiln_entries *older = table->older;
        kiln__entries_free(table);
        table = older;
    }
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
    kiln__memo_drop(memo, &removed);
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
    kiln__memo_drop(memo, &removed);
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
