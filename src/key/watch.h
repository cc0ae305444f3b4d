/*
 * watch.h - what a function reads besides its arguments, read live on every call.
 *
 * A list of watches belongs to one function and only grows. Signing appends each watched value to the call key, in the
 * order of registration; the content key sorts them by (module, name), so that order of registration does not matter
 * across processes. Registration is rare and made safe by the owner's lock; signing reads `first` with acquire order.
 *
 * The setenv rule: signing reads the environment as getenv() does (base/environment.h), so changing it while another
 * thread is inside Kiln is a race of the program's own.
 */
#ifndef KILN_KEY_WATCH_H
#define KILN_KEY_WATCH_H

#include <stdatomic.h>

#include "base/environment.h"
#include "key/content.h"
#include "key/segments.h"
#include "key/signature.h"

struct kiln_watch {
    _Atomic(struct kiln_watch *) next;
    enum kiln_item kind; /* KILN_ITEM_MEMORY, _ENVIRONMENT or _VARIABLE */
    uint32_t index;      /* environment: of base/environment.h */
    const void *address; /* memory */
    size_t size;
    kiln_var *var;
    char *name;    /* points behind module */
    char module[]; /* "" for the environment and variables */
};

struct kiln_watches {
    _Atomic(struct kiln_watch *) first;
    struct kiln_watch *last;
};

/* Adds a watch; one for the same thing is a no-op. A memory watch under a known (module, name) with another address or
 * size is KILN_INVALID. */
kiln_status kiln__watches_add(struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name,
                              const void *address, size_t size, kiln_var *var, kiln_error *err);
kiln_status kiln__watches_copy(struct kiln_watches *to, const struct kiln_watches *from, kiln_error *err);
void kiln__watches_release(struct kiln_watches *watches);

/* Appends one item per watch. `environment`: as kiln__environment() gave it in this call. */
void kiln__watches_sign(const struct kiln_watches *watches, const struct kiln_environment *environment,
                        struct kiln_signature *signature);

/* A value of a watch as it stands in a key, for content keys, drift texts and kiln_request_env(). */
struct kiln_watched {
    const struct kiln_watch *watch;
    const void *data; /* NULL: unset */
    size_t size;
};
/* Reads the item at words[*at] that belongs to `watch` and moves *at behind it. */
struct kiln_watched kiln__watched_read(const struct kiln_watch *watch, const uint64_t *words, uint32_t *at);

/* Adds watched values to a content key, sorted by (module, name). */
kiln_status kiln__watched_content(struct kiln_watched *watched, size_t count, struct kiln_content_key *key,
                                  kiln_error *err);

#endif
