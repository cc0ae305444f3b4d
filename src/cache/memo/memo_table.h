/*
 * memo_table.h - a memo table of this process: call key -> an opaque value, made once.
 *
 * Used for executables of kiln_get, plans of compile, kernels and artifacts by content key. Look-up order:
 * the thread cache, then the table of the process; both without a lock. A miss is worked on by one thread,
 * the others that ask for the same key wait for it (single flight); no lock is held while a maker runs; a failure
 * wakes the waiters with the error and leaves nothing behind.
 *
 * Levels keep waiting free of cycles: a maker may ask other memo tables for values, and a thread waits for another's
 * in-flight compile only at a higher level than it works for itself. At the same or a lower level it makes the value
 * on its own instead.
 */
#ifndef KILN_CACHE_MEMO_MEMO_TABLE_H
#define KILN_CACHE_MEMO_MEMO_TABLE_H

#include <pthread.h>

#include "base/hash.h"
#include "cache/memo/held.h"
#include "cache/memo/memo_entries.h"
#include "cache/memo/thread_cache.h"
#include "device/device.h"
#include "key/request.h"

enum kiln_level { KILN_LEVEL_CALL = 1, KILN_LEVEL_RECORD, KILN_LEVEL_KERNEL, KILN_LEVEL_ARTIFACT, KILN_LEVEL_RUNTIME };

/* What becomes of a value whose key is forgotten (evicted, or made anew because what it read has changed). */
enum kiln_forgetting {
    KILN_FORGET_UNPINNED, /* released when no thread pins it */
    KILN_FORGET_HELD,     /* callers use it without a pin: held until clear, reset or release */
    KILN_FORGET_RETIRED,  /* callers use it between kiln_enter() and kiln_leave(): released when they have left */
};

struct kiln_memo_table {
    uint64_t id;                 /* never reused; first word of every key */
    _Atomic uint32_t generation; /* second word; bumped by clear */
    _Atomic uint32_t epoch;      /* bumped when entries are dropped: slots of thread caches then match no more */
    uint32_t cache;              /* index of the cache, for hit counts */
    enum kiln_level level;
    enum kiln_forgetting forgetting;
    void (*release)(void *value);
    void (*acquire)(void *value); /* NULL, or takes a reference for each caller that peek or make hands the value to */
    void (*keep)(void *value);    /* takes a reference that release() gives back; needed when audited */
    bool audited;                 /* thread caches are not used, and some hits are audited; see audit.h */
    void *(*expose)(
        void *value);     /* NULL, or what look-up, make and thread caches hand out instead of the value itself */
    pthread_mutex_t lock; /* guards what follows, and writing of `table` */
    _Atomic(struct kiln_entries *) table; /* read without the lock */
    struct kiln_entries *old_tables;      /* outgrown; a reader may still walk them */
    struct kiln_in_flight *in_flight;
    struct kiln_limbo *limbo; /* forgotten values that may be pinned, or that are retired */
    struct kiln_held held;    /* forgotten values that are held */
    size_t count;
    size_t limit;                /* entries; 0: any number. The least recently used eighth goes when it is reached. */
    char name[64];               /* for the one line that says so */
    _Atomic uint64_t *evictions; /* counts what the limit dropped; may be NULL */
    uint32_t next_order;
};

void kiln__memo_init(struct kiln_memo_table *memo, uint32_t cache, enum kiln_level level, void (*release)(void *value));
/* Nobody may be using it. Releases all values. */
void kiln__memo_release(struct kiln_memo_table *memo);
/* Removes everything: no later look-up finds it, on any thread. Values in use are released when no longer used. */
void kiln__memo_clear(struct kiln_memo_table *memo);
/* The same, but what was handed out stays: each value is forgotten as by eviction. */
void kiln__memo_forget(struct kiln_memo_table *memo);
/* What eviction does from here on. */
void kiln__memo_set_forgetting(struct kiln_memo_table *memo, enum kiln_forgetting forgetting);

/* Starts a key: HEAD item with id, generation and device (NULL: none). */
static inline void kiln__memo_begin(const struct kiln_memo_table *memo, const kiln_device *device,
                                    struct kiln_signature *signature)
{
    kiln__signature_init(signature);
    uint64_t *words = signature->few;
    words[0] = memo->id;
    words[1] = atomic_load_explicit(&memo->generation, memory_order_acquire);
    words[2] =
        device ? (uint64_t)device->id << 32 | atomic_load_explicit(&device->generation, memory_order_acquire) : 0;
    signature->count = 3;
    signature->epoch = atomic_load_explicit(&memo->epoch, memory_order_acquire);
}

/* Starts the key of a call: the options stand above the generation. */
static inline void kiln__memo_begin_call(const struct kiln_memo_table *memo, const kiln_device *device,
                                         uint32_t options, struct kiln_signature *signature)
{
    kiln__memo_begin(memo, KILN_SEGMENT_DEVICE ? device : NULL, signature);
    if (!KILN_SEGMENT_IDENTITY) signature->few[0] = 1;
    if (!KILN_SEGMENT_GENERATION) signature->few[1] = 0;
    if (KILN_SEGMENT_OPTIONS) signature->few[1] |= (uint64_t)options << 32;
}

/* The table of the process; counts nothing. NULL: not there. */
struct kiln_entry *kiln__memo_find(struct kiln_memo_table *memo, const struct kiln_signature *signature, uint64_t hash);

/* The table of the process only: nothing is counted, no thread cache is touched. NULL: not there. Acquired, when it has
 * that.
 */
void *kiln__memo_peek(struct kiln_memo_table *memo, const struct kiln_signature *signature);
/*
 * At most `limit` entries from now on; unless evictions is NULL, what goes is counted in it, and the first time said
 * with the function's name. Before the first look-up.
 */
void kiln__memo_bound(struct kiln_memo_table *memo, size_t limit, const char *name, _Atomic uint64_t *evictions);
/* Puts `to` in the place of `from`, a value that nobody depends on keeping: what asks next gets it, on every thread,
 * and `from` is forgotten. The memo table owns `to` then. False: the key has no such value, or no memory; nothing
 * changed. */
bool kiln__memo_swap(struct kiln_memo_table *memo, const struct kiln_signature *signature, const void *from, void *to);
/* Removes entries that match, and says how many. When out of memory they stay. */
size_t kiln__memo_remove(struct kiln_memo_table *memo,
                         bool (*matches)(const struct kiln_entry *entry, const void *context), const void *context);
/*
 * Takes out what is for one device, values whose keys were forgotten too, and puts it before `rest`, to be dropped when
 * no lock is held. For a memo table whose values nobody pins; they may be gone by then. When out of memory it stays.
 */
struct kiln_removed *kiln__memo_take_device(struct kiln_memo_table *memo, uint32_t device, struct kiln_removed *rest);
void kiln__removed_drop(struct kiln_removed *removed); /* the whole list; NULL is fine */

void *kiln__memo_lookup_slow(struct kiln_memo_table *memo, const struct kiln_signature *signature);

/*
 * After a look-up that gave NULL: the value of a hit whose turn it is to be audited, counted already, to be released;
 * or NULL: it was a miss.
 */
static inline void *kiln__memo_audited(const struct kiln_memo_table *memo)
{
    struct kiln_thread *thread = kiln__this_thread;
    void *value = memo->audited && thread ? thread->audited : NULL;
    if (value) thread->audited = NULL;
    return value;
}

/* The thread cache, then the table of the process. NULL is a miss, or an audit. Counts the hit. */
static inline void *kiln__memo_lookup(struct kiln_memo_table *memo, const struct kiln_signature *signature)
{
    struct kiln_thread *thread = kiln__thread();
    struct kiln_thread_cache_slot *slot =
        __builtin_expect(thread != NULL, 1) ? kiln__thread_cache_last(thread, signature) : NULL;
    if (__builtin_expect(!slot, 0)) return kiln__memo_lookup_slow(memo, signature);
    kiln__count(&thread->front_hits[slot->cache]);
    return slot->value;
}

/* Makes a value for a miss: KILN_DONE, KILN_FAILED or KILN_CHANGED. `*reads` may be set to what it depends on; the memo
 * table owns it after success. */
typedef enum kiln_outcome kiln_maker(void *context, void **value, struct kiln_read_record **reads, kiln_error *err);

/*
 * The value for the key: another thread's, or made now. *made (may be NULL) says whether `make` ran here. KILN_FAILED
 * and KILN_CHANGED are the maker's outcome, here or on the thread that was waited for; KILN_RECURSIVE.
 */
enum kiln_outcome kiln__memo_make(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                  kiln_maker *make, void *context, void **value, bool *made, kiln_error *err);

/* Writes the reason of a miss to kiln_why() and, when asked for, to the log: for a memo table of no function. In why.c.
 */
void kiln__explain_miss(struct kiln_memo_table *memo, const struct kiln_signature *signature, const char *name);

/* An entry other than the one for `signature` whose key is nearest to it, for explaining a miss; NULL: none. Call
 * `done` when it is no longer looked at. */
const struct kiln_entry *kiln__memo_nearest(struct kiln_memo_table *memo, const struct kiln_signature *signature);
void kiln__memo_nearest_done(struct kiln_memo_table *memo);

/*
 * Pins `value` for this thread while it runs it, so that a concurrent clear does not release it. False: it was removed
 * meanwhile; look up again.
 */
static inline bool kiln__memo_pin(struct kiln_memo_table *memo, const struct kiln_signature *signature,
                                  const void *value)
{
    struct kiln_thread *thread = kiln__this_thread;
    atomic_store_explicit(&thread->using, value, memory_order_relaxed);
    kiln__light_barrier();
    return atomic_load_explicit(&memo->generation, memory_order_acquire) == (uint32_t)signature->words[1] &&
           atomic_load_explicit(&memo->epoch, memory_order_acquire) == signature->epoch;
}

static inline void kiln__memo_unpin(void)
{
    atomic_store_explicit(&kiln__this_thread->using, NULL, memory_order_release);
}

#endif
