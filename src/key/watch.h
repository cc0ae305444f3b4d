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
#include "key/live_memory.h"
#include "key/roots.h"
#include "key/segments.h"
#include "key/signature.h"
#include "key/tracked_file.h"

struct kiln_watch {
    _Atomic(struct kiln_watch *) next;
    enum kiln_item kind;        /* KILN_ITEM_MEMORY, _ENVIRONMENT, _VARIABLE or _FILE */
    uint32_t index;             /* environment: of base/environment.h */
    uint32_t width;             /* memory: of key/live_memory.h */
    _Atomic uint8_t value_kind; /* memory: kiln_watched_kind */
    const void *address;        /* memory */
    size_t size;
    kiln_var *var;
    struct kiln_tracked_file *file; /* a reference; the name is its path */
    struct kiln_module *owner;      /* memory: a reference, so that no other module is known by the same name */
    char *name;                     /* points behind module */
    char module[];                  /* as given; "" for all but memory */
};

struct kiln_watches {
    _Atomic(struct kiln_watch *) first;
    struct kiln_watch *last;
};

/* Adds a watch; one for the same thing is a no-op. A memory watch under a known (module, name) with another address or
 * size is KILN_INVALID; so is a module that is known by the name of another one. */
kiln_status kiln__watches_add(struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name,
                              const void *address, size_t size, kiln_var *var, kiln_error *err);
/* How a memory watch's value is said. From every thread: what prints it meanwhile says it in one way or the other. */
void kiln__watches_set_kind(struct kiln_watches *watches, const char *module, const char *name, kiln_watched_kind kind);
kiln_status kiln__watches_copy(struct kiln_watches *to, const struct kiln_watches *from, kiln_error *err);
void kiln__watches_release(struct kiln_watches *watches);

/* Appends one item per watch. `environment`: as kiln__environment() gave it in this call. A file that can't be read
 * makes the key's status KILN_INVALID; kiln__watch_refuse() says why. */
void kiln__watches_sign(const struct kiln_watches *watches, const struct kiln_environment *environment,
                        struct kiln_signature *signature);

/* KILN_INVALID, with a text for `function`, when the watch is a file that can't be read; else KILN_OK. */
kiln_status kiln__watch_refuse(const struct kiln_watch *watch, const char *function, kiln_error *err);

/* A value of a watch as it stands in a key, for content keys, drift texts and what lower() asks the request for. */
struct kiln_watched {
    const struct kiln_watch *watch;
    const void *data; /* NULL: unset; there is no such file */
    size_t size;
    uint64_t epoch;               /* of a kiln_var, see kiln__watched_begin() */
    struct kiln_file_stamp stamp; /* of a file, see there */
    bool is_taken;                /* lower() asked the request for it */
    bool has_changed;             /* a file held something else when `begin` looked */
};
/* Reads the item at words[*at] that belongs to `watch` and moves *at behind it. */
struct kiln_watched kiln__watched_read(const struct kiln_watch *watch, const uint64_t *words, uint32_t *at);

/*
 * Around lower(), which may read the program's variables themselves, later than the key did. `begin` remembers in which
 * epoch a kiln_var holds the key's value, and a file's stamp. `stands`: lower() can't have met another value. What it
 * took from the request is the key's own copy; else a kiln_var was not set and a file not written since `begin`, not
 * even back and forth, and memory and environment hold what the key says.
 */
void kiln__watched_begin(struct kiln_watched *watched);
bool kiln__watched_stands(const struct kiln_watched *watched);

/* Adds watched values to a content key, sorted by (module, name), with modules as they are known (roots.h). */
kiln_status kiln__watched_content(const struct kiln_watched *watched, size_t count, struct kiln_content_key *key,
                                  kiln_error *err);

#endif
