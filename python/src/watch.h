/*
 * watch.h - what a function reads besides its arguments: places that discovery found, and the values that were there.
 *
 * A watch is a place: a name in a module, a cell of a closure, an attribute of a class, the code and defaults of a
 * function that is called. Its value is fetched at every call and compared: by address first, and, if it can change in
 * place, word by word with the block of words that were written when it was last seen. Names and labels come from the
 * package's Python half (_discover.py).
 */
#ifndef KILN_PYTHON_WATCH_H
#define KILN_PYTHON_WATCH_H

#include "sink.h"

enum watch_kind {
    WATCH_DICT,   /* container[key] of a module */
    WATCH_GLOBAL, /* the same, then builtins[key] */
    WATCH_CELL,
    WATCH_TYPE, /* an attribute of a class, as its MRO finds it */
    WATCH_CODE, /* of a function */
    WATCH_DEFAULTS,
    WATCH_KEYWORD_DEFAULTS,
    WATCH_KINDS
};

struct watch {
    enum watch_kind kind;
    bool is_fixed;                        /* the value is what it was as long as it is the same object */
    uint32_t label;                       /* index in the function's labels */
    size_t at;                            /* of its words in the block */
    PyObject *container, *key, *builtins; /* the last two may be NULL */
    PyObject *value;                      /* seen last; NULL: absent */
};

struct watches {
    struct watch *all;
    size_t count;
    uint64_t generation; /* grows when the list is another */
    PyObject *block;     /* bytes: the words of all values, in order. Whoever matches holds a reference */
    PyObject *holders;   /* list: functions, classes and modules among the values; they decide what is watched */
};

/* From what discovery returned: a list of (kind, container, key, builtins, label). -1 with an exception, and nothing
 * changed. */
int watches_set(struct watches *watches, PyObject *list);
void watches_release(struct watches *watches);
int watches_traverse(struct watches *watches, visitproc visit, void *arg);

static inline uint64_t *watches_words(const struct watches *watches)
{
    return (uint64_t *)(void *)PyBytes_AS_STRING(watches->block);
}

static inline size_t watches_word_count(const struct watches *watches)
{
    return (size_t)PyBytes_GET_SIZE(watches->block) / 8;
}

/* SAME: all values are what the block says. */
enum outcome watches_match(struct watches *watches);
/* The same for a block that is kept elsewhere, and without touching what was seen last. */
enum outcome watches_match_block(struct watches *watches, uint64_t *block, size_t count);
/* Writes the block anew. SAME; DIFFERENT: other holders than before, so discovery has to run again. FAILED: as it was.
 * `failed` gets the index of the watch that could not be signed. */
enum outcome watches_write(struct watches *watches, size_t *failed);

#endif
