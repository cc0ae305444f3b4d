/*
 * call.h - a call of something that has a memo table: the one recipe of kiln_get() and of compiled functions.
 *
 *     sign the arguments -> thread cache -> memo table of the process            a hit, counted by the look-up
 *       | an audit is due: make again and compare                                a hit, counted by the look-up
 *       | a miss: prepare -> explain -> make
 *           | this thread makes the value, or the call fails                     a miss
 *           | another thread made it meanwhile, or it is made from what is kept  a hit of the process
 *           | the values that were signed have changed                           not counted: the retry is
 *
 * The caller signs (signature.h) and looks up with kiln__memo_lookup(), which is all that a hit does and is inlined.
 * After a look-up that gave NULL it calls kiln__call_make(). A call is counted once, when it is known what it was.
 */
#ifndef KILN_CACHE_CALL_H
#define KILN_CACHE_CALL_H

#include "cache/cache.h"

struct kiln_call;

/* What differs between kinds of calls. The makers' context is the call; a kind's own struct begins with it. */
struct kiln_call_steps {
    const char *maker; /* names the code of the user's that makes a value, for errors */
    /* Before the value is made; NULL: nothing to do. KILN_DONE, KILN_FAILED or KILN_CHANGED. Sets `name`. */
    enum kiln_outcome (*prepare)(struct kiln_call *call, kiln_error *err);
    void (*explain)(struct kiln_call *call); /* NULL: another call explains the miss */
    kiln_maker *make;
    void (*audit)(struct kiln_call *call, void *value); /* makes again and compares; `value` is borrowed */
};

struct kiln_call {
    const struct kiln_call_steps *steps;
    struct kiln_cache *cache; /* counts it */
    struct kiln_memo_table *memo;
    const struct kiln_signature *signature;
    const char *name;  /* for errors and kiln_why() */
    bool is_counted;   /* set before: it is part of a call that is counted elsewhere, or was counted already */
    bool is_made;      /* the maker ran here */
    bool is_from_kept; /* set by the maker: it ran no code of the user's, so the call is a hit of the process */
};

/* Audits or makes the value. KILN_DONE; KILN_CHANGED: sign again; KILN_FAILED: `err`, which is not NULL, says why. */
enum kiln_outcome kiln__call_make(struct kiln_call *call, void **value, kiln_error *err);

/* The `explain` of calls whose key has words for everything that was signed. */
void kiln__call_explain(struct kiln_call *call);

/* Counts a call that failed before its look-up, or that was given up after KILN_CHANGED. */
static inline void kiln__call_failed(struct kiln_cache *cache)
{
    kiln__add(&cache->counts.calls, 1);
}

#endif
