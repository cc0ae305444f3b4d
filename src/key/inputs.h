/*
 * inputs.h - what compile() turned out to depend on besides its content key: a set of names.
 *
 * A name means the same in every process. What it stands for is asked anew by everybody who wants the code: the set's
 * names and their values make the content key longer (kiln__request_inputs_content), and that longer key is the
 * artifact's. A set is a run of bytes, sorted and with each name once, so equal sets are equal bytes.
 * Encoding: docs/formats/manifest.md.
 */
#ifndef KILN_KEY_INPUTS_H
#define KILN_KEY_INPUTS_H

#include <pthread.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/table.h"

enum kiln_input_kind {
    KILN_INPUT_ENVIRONMENT = 1, /* what kiln_request_env(name) answers */
    KILN_INPUT_WATCHED = 2,     /* what kiln_request_watched(module, name) answers */
    KILN_INPUT_FILE = 3,        /* what a file holds; the module is a root, the name what is below it (roots.h) */
    KILN_INPUT_KINDS,
};

struct kiln_input {
    enum kiln_input_kind kind;
    const char *module; /* "" when there is none */
    const char *name;
};

enum { KILN_MOST_INPUTS = 1 << 16 }; /* of one set */

/* Walks a set that kiln__inputs_check() accepted, or that was encoded here: false at its end. Start with *offset = 0.
 * Strings point into the set. */
bool kiln__input_next(kiln_bytes set, size_t *offset, struct kiln_input *out);
/* Is this a set: known kinds, whole names, sorted, each once? */
bool kiln__inputs_check(kiln_bytes set);

/* The names while they are collected: compile() may ask from several threads. Zero is empty, but for the lock. */
struct kiln_inputs {
    pthread_mutex_t lock;
    struct kiln_buffer bytes; /* inputs in the order in which they came */
    size_t *offsets;          /* of each in `bytes`, and where the last one ends */
    size_t count, cap;
    struct kiln_table table;
    kiln_status status; /* KILN_NO_MEMORY or, for too many, KILN_INVALID: what is here is not complete */
};

void kiln__inputs_init(struct kiln_inputs *inputs);
void kiln__inputs_release(struct kiln_inputs *inputs);
/* Adds a name, unless it is there. Returns the status, which also stays. */
kiln_status kiln__inputs_add(struct kiln_inputs *inputs, const struct kiln_input *input);
/* Appends the set. */
void kiln__inputs_encode(const struct kiln_inputs *inputs, struct kiln_buffer *out);

#endif
