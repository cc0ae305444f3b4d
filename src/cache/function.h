/*
 * function.h - function handles: what is compiled, what it watches, and its memo table.
 *
 * A definition (text or lower(), compiler, payload) is immutable and reference counted: redefining swaps it, and a miss
 * that runs meanwhile keeps the one it started with. A function that another depends on lives on inside until that one
 * goes.
 */
#ifndef KILN_CACHE_FUNCTION_H
#define KILN_CACHE_FUNCTION_H

#include "cache/cache.h"
#include "cache/kernels/kernel.h"

struct kiln_definition {
    _Atomic uint32_t refs;
    char *name;
    const kiln_compiler *compiler;
    enum kiln_keyed keyed;
    struct kiln_buffer text;
    kiln_status (*lower)(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err);
    void *payload;
    void (*free_payload)(void *payload);
};

struct kiln_dependency {
    struct kiln_dependency *next;
    struct kiln_function *callee; /* a reference */
};

/* All functions that one reaches through dependencies, each once, without itself; for signing. Immutable. */
struct kiln_callees {
    struct kiln_callees *older;
    uint32_t count;
    struct kiln_function *functions[];
};

/* Declared types of parameters; immutable. */
struct kiln_parameters {
    struct kiln_parameters *older; /* somebody may be signing with it */
    size_t count;
    const kiln_type *types[];
};

struct kiln_function {
    kiln_cache *cache;
    _Atomic unsigned flags; /* written with the lock held */
    _Atomic bool plain;     /* nothing watched, nothing depended on: the key is the arguments alone */
    struct kiln_memo_table memo;
    pthread_mutex_t lock; /* guards definition, adding to watches and dependencies, and the baseline */
    struct kiln_definition *definition;
    struct kiln_watches watches;
    _Atomic(struct kiln_callees *) callees;       /* NULL: none, or not listed yet */
    _Atomic(struct kiln_parameters *) parameters; /* NULL: not declared */
    uint64_t *baseline; /* watched part of the key of the first call, then of the last drift */
    uint32_t baseline_count;
    struct kiln_function *next, **link; /* functions of the cache that are not freed */
    /* The rest belongs to depends.c, under its lock. */
    uint32_t refs; /* the handle, and dependencies on this one */
    struct kiln_dependency *dependencies;
    uint64_t walk; /* the last walk that came here */
    struct kiln_function *walk_next, *reached_next;
    uint32_t inner_refs;
};

struct kiln_definition *kiln__definition_ref(struct kiln_function *function);
void kiln__definition_unref(struct kiln_definition *definition);

/* With a new set of watches or dependencies: its entries go, and with its generation those of all that depend on it. */
void kiln__function_changed(struct kiln_function *function);

/*
 * Appends what the function and those it depends on watch. `visit` is called for each watch in the same order, `enter`
 * for each function depended on, so that values can be found again in the key. Both lists may have grown since it was
 * signed.
 */
void kiln__function_sign(struct kiln_function *function, const struct kiln_environment *environment,
                         struct kiln_signature *signature);
void kiln__function_each_watch(struct kiln_function *function,
                               void (*visit)(void *context, const struct kiln_watch *watch),
                               void (*enter)(void *context, struct kiln_function *callee), void *context);

/* The error of a call whose key could not be signed: too large, or a watched file can't be read. */
kiln_status kiln__function_refuse(struct kiln_function *function, kiln_status status, kiln_error *err);

/* Writes the reason of a miss to kiln_why() and, when asked for, to the log; `key_text` gets the key in words. In
 * why.c. */
void kiln__explain_call(struct kiln_function *function, const struct kiln_signature *signature, const char *name,
                        struct kiln_buffer *key_text);

/* Before a miss is worked on: KILN_CHANGED when the list of callees that was signed was not complete; it is now.
 * KILN_FAILED: out of memory. */
enum kiln_outcome kiln__callees_update(struct kiln_function *function, kiln_error *err);
kiln_status kiln__dependencies_copy(struct kiln_function *to, struct kiln_function *from, kiln_error *err);
/* Gives up the handle. Returns a list, linked by walk_next, of functions that nobody needs any more: to be freed. */
struct kiln_function *kiln__function_let_go(struct kiln_function *function);
void kiln__dependencies_release(struct kiln_function *function);

#endif
