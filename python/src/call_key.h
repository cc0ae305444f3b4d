/*
 * call_key.h - the key of a call: arguments, where it runs, what is read; in words (docs/python/key.md).
 *
 * call_key_stands() compares the last key in place; a new one is written when it does not stand.
 */
#ifndef KILN_PYTHON_CALL_KEY_H
#define KILN_PYTHON_CALL_KEY_H

#include "arguments.h"

struct place {
    kiln_device *device;
    PyObject *options, *identity; /* strong; options may be NULL */
};

struct call_key {
    struct sink sink;
    size_t argument_count, place_count; /* of the words, from the start */
    struct owner *owner;
    struct place place;
    PyObject *block;
    uint64_t block_version, generation, variables_stamp;
};

/* SAME: the entry, the owner's last, is that of these arguments, here and now. Both are held meanwhile. */
enum outcome call_key_stands(struct function *function, struct owner *owner, struct entry *entry,
                             const struct arguments *arguments);

/* Into an empty key whose sink has been set up; to be released in any case. FAILED with an exception. */
enum outcome call_key_write(struct call_key *key, struct function *function, const struct arguments *arguments);
/* Once more what stands behind the arguments: the environment may have more names. */
enum outcome call_key_write_rest(struct call_key *key, struct function *function);
void call_key_release(struct call_key *key);

/* What the key holds, in words for people: a list of str. */
PyObject *call_key_fields(const struct function *function, const struct call_key *key);

#endif
