/*
 * thread_cache.h - what each thread keeps: a cache of hits, its hazard pointers, its hit counts.
 *
 * The thread cache is direct-mapped, of fixed size, with the key bytes inline. Nothing in a slot is dereferenced before
 * the whole key matches, and a key begins with an id that is never reused and a generation that removal bumps; so
 * removing a result needs no visit to other threads: their slots simply match no more.
 *
 * What another thread may be reading is protected by hazard pointers (`reading`, `using`), whose cost is the remover's:
 * readers store to their own with a compiler barrier only, removers run membarrier() and then look at all of them.
 * Where that call is refused, readers use a real fence. Records are reused when a thread ends and never freed, so
 * 10,000 short threads cost the memory of those alive at once. (In a process without a free thread-specific key, that
 * of all threads: base/process/thread_state.h.)
 */
#ifndef KILN_CACHE_MEMO_THREAD_CACHE_H
#define KILN_CACHE_MEMO_THREAD_CACHE_H

#include <stdatomic.h>

#include "key/signature.h"

/* A slot is an odd number of cache lines, so that slots do not compete for the same few sets of a cache. */
enum { KILN_THREAD_CACHE_SLOTS = 256, KILN_THREAD_CACHE_WORDS = 69, KILN_MAX_CACHES = 64 };

struct kiln_thread_cache_slot {
    uint32_t count; /* words of key; 0: empty */
    uint32_t cache; /* index of the cache that counts the hit */
    uint32_t
        epoch; /* of the memo table, when it was put here: dropping entries bumps it, and the slot matches no more */
    uint32_t hash; /* its upper half: most slots that do not match are known by it, without a look at the key */
    void *value;
    uint64_t key[KILN_THREAD_CACHE_WORDS];
};

struct kiln_thread {
    struct kiln_thread_cache_slot *last; /* the last hit, or the empty slot `none` */
    _Atomic(const void *) reading;       /* the memo table that this thread is walking */
    _Atomic(const void *) using;         /* value this thread is running */
    _Atomic uint64_t entered;            /* the epoch at which this thread entered, see epoch.h; 0: it is outside */
    unsigned enter_depth;                /* how often it entered and did not leave yet */
    _Atomic uint64_t unlinking;          /* see unlinking.h; 0: this thread unlinks nothing */
    unsigned in_flight_level;      /* the highest level of single flight this thread works for; see memo_table.h */
    struct kiln_in_flight *making; /* the innermost key that this thread makes; see memo_table.c */
    void *audited;                 /* a reference to the value whose turn it is to be audited; see memo_table.h */
    _Atomic uint64_t front_hits[KILN_MAX_CACHES];
    _Atomic uint64_t process_hits[KILN_MAX_CACHES];
    _Atomic bool in_use;
    struct kiln_thread *next; /* in the registry; set once */
    struct kiln_thread_cache_slot none;
    struct kiln_thread_cache_slot slots[KILN_THREAD_CACHE_SLOTS];
};

extern _Thread_local struct kiln_thread *kiln__this_thread __attribute__((tls_model("initial-exec")));

/* Makes or reuses a record for this thread; NULL when out of memory. */
struct kiln_thread *kiln__thread_attach(void);

static inline struct kiln_thread *kiln__thread(void)
{
    struct kiln_thread *thread = kiln__this_thread;
    return __builtin_expect(thread != NULL, 1) ? thread : kiln__thread_attach();
}

/* A counter that only this thread writes: no atomic read-modify-write. */
static inline void kiln__count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline struct kiln_thread_cache_slot *kiln__thread_cache_slot(struct kiln_thread *thread, uint64_t hash)
{
    return &thread->slots[hash % KILN_THREAD_CACHE_SLOTS];
}

/* The last hit again? The common case, without a hash. */
static inline struct kiln_thread_cache_slot *kiln__thread_cache_last(struct kiln_thread *thread,
                                                                     const struct kiln_signature *signature)
{
    struct kiln_thread_cache_slot *slot = thread->last;
    bool matches = slot->count == signature->count && slot->epoch == signature->epoch &&
                   kiln__key_equal(slot->key, signature->words, slot->count);
    return matches ? slot : NULL;
}

static inline struct kiln_thread_cache_slot *
kiln__thread_cache_find(struct kiln_thread *thread, const struct kiln_signature *signature, uint64_t hash)
{
    struct kiln_thread_cache_slot *slot = kiln__thread_cache_slot(thread, hash);
    if (slot->hash != (uint32_t)(hash >> 32) || slot->count != signature->count || slot->epoch != signature->epoch ||
        !kiln__key_equal(slot->key, signature->words, slot->count))
        return NULL;
    thread->last = slot;
    return slot;
}

/* The thread ends, or has jumped out of all frames below `frame` (base/process/callback.h): gives up what they were
 * making. */
void kiln__in_flight_lost(struct kiln_thread *thread, uintptr_t frame);

/* Remembers a result. Keys of more than KILN_THREAD_CACHE_WORDS are left to the memo table of the process. */
void kiln__thread_cache_put(struct kiln_thread *thread, const struct kiln_signature *signature, uint64_t hash,
                            uint32_t cache, void *value);

/* All threads that ever attached; for summing counters. */
struct kiln_thread *kiln__threads(void);

/* Where the system refuses membarrier(), threads fence themselves. Written once, when that is found out. */
extern _Atomic bool kiln__fences;

/* Between a store to a hazard slot and the loads it protects. The flag is read after the store: see thread_cache.c. */
static inline void kiln__light_barrier(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&kiln__fences, memory_order_relaxed), 0))
        atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
}

/* After this, every thread's earlier stores to its hazard slots are visible here. */
void kiln__heavy_barrier(void);
/* Returns when no thread walks what `memo` held before the call. */
void kiln__wait_for_readers(const void *memo);
/* Is some thread running `value`? Call kiln__heavy_barrier() first. */
bool kiln__is_used(const void *value);

#endif
