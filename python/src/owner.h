/*
 * owner.h - what one function reads, and the results it has, for one set of owners.
 *
 * Owners are the classes and functions that the arguments of a call bring along: the class of self, a function that is
 * passed. Each set has its own discovery, its own baseline of values and its own table of keys, so what a subclass
 * reads is in no key of its base. The state of a class hangs on the class, and the function holds no reference to it: a
 * class that nobody uses goes, with all of this.
 */
#ifndef KILN_PYTHON_OWNER_H
#define KILN_PYTHON_OWNER_H

#include "watch.h"

struct function;

/* The result of one key. */
struct entry {
    size_t refs;
    uint64_t hash;
    size_t count, argument_count; /* of the words: arguments, then where it runs, then what it reads */
    PyObject *callable;
    void *device; /* what was compared when it was found last: */
    uint64_t variables_stamp, block_version;
    PyObject *options, *identity;
    uint64_t words[];
};

struct owner {
    PyObject_HEAD struct function *function; /* borrowed; NULL: it has been freed */
    struct owner *previous, *next; /* of the function's, which holds no references: an owner takes itself out */
    PyObject *holders;             /* tuple */
    struct watches watches;
    PyObject *baseline;        /* bytes: the block that drift is measured against; NULL: none yet */
    PyObject *baseline_values; /* list of words per watch, for people */
    uint64_t block_version;
    struct entry *last;
    struct entry **slots; /* open addressing, a power of two */
    size_t slot_count, entry_count;
};

extern PyTypeObject owner_type;

/* The owner for these holders, made when there is none. A new reference, or NULL with an exception. */
struct owner *owner_find(struct function *function, PyObject *holders);
/* Forgets all results. */
void owner_clear_entries(struct owner *owner);
/* Every owner of the function, as a new list. */
PyObject *owners_of(struct function *function);
/* The function goes: its owners are emptied, and classes hold them no more. */
void owners_leave(struct function *function);

/*
 * Brings the watched values up to date, and runs discovery where they bring other code. FAILED: DriftError for a
 * function that raises, or what could not be signed.
 */
enum outcome owner_update(struct owner *owner);

uint64_t owner_hash(const uint64_t *words, size_t count);
struct entry *owner_lookup(struct owner *owner, uint64_t hash, const uint64_t *words, size_t count); /* borrowed */
/* Keeps the callable under the words; the entry is to be released. NULL with an exception. */
struct entry *owner_keep(struct owner *owner, uint64_t hash, const uint64_t *words, size_t count, size_t argument_count,
                         PyObject *callable);

static inline void entry_ref(struct entry *entry)
{
    entry->refs++;
}
void entry_unref(struct entry *entry);

#endif
