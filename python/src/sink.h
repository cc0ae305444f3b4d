/*
 * sink.h - the canonical words of a value: written into a key, or compared in place with the words of a key.
 *
 * Every value that enters a key passes through one function (value.h), which puts words into a sink. A sink that
 * matches compares each word with the one that is expected there and stops at the first that differs, so a warm call
 * allocates nothing, and there is no second definition of what equal means. Words: docs/python/key.md. Under the GIL,
 * like all of this extension.
 *
 * Functions, classes and modules are holders: what can be read through them is watched apart (watch.h), so their word
 * is their address, followed by their name for people. Who keeps a key keeps its holders.
 */
#ifndef KILN_PYTHON_SINK_H
#define KILN_PYTHON_SINK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

enum tag {
    TAG_NONE = 1,
    TAG_BOOL,
    TAG_INT,     /* one word follows */
    TAG_LONG,    /* beyond 64 bits: the hexadecimal digits */
    TAG_FLOAT,   /* the bits */
    TAG_COMPLEX, /* twice */
    TAG_STRING,  /* info: bytes of UTF-8 */
    TAG_BYTES,   /* info: bytes */
    TAG_BYTEARRAY,
    TAG_TUPLE, /* info: items */
    TAG_LIST,
    TAG_DICT, /* info: pairs, in their order, which code may depend on */
    TAG_SET,  /* info: items, sorted by their words */
    TAG_FROZENSET,
    TAG_ENUM,     /* class, name, value */
    TAG_RECORD,   /* a named tuple: class, tuple */
    TAG_OBJECT,   /* class, dict, tuple of slots */
    TAG_SIGNED,   /* class, what __cache_signature__ returned */
    TAG_REDUCED,  /* class, what __reduce_ex__ returned */
    TAG_NAMED,    /* a value of a library that is its name: type, name */
    TAG_SCALAR,   /* of numpy: dtype, bytes */
    TAG_DTYPE,    /* one word follows, or a string */
    TAG_TENSOR,   /* see tensor.c */
    TAG_CONTENT,  /* a tensor that is no argument: its bytes follow the tensor */
    TAG_FUNCTION, /* holders: info words follow, the first is the address */
    TAG_CLASS,
    TAG_MODULE,
    TAG_BUILTIN,
    TAG_CODE,
    TAG_METHOD,  /* self, function */
    TAG_WRAPPER, /* staticmethod, property and the like: a tuple of what they wrap */
    TAG_ABSENT,
    TAG_DYNAMIC, /* its type only */
    TAG_STREAM,
    TAG_BACK,  /* info: how far out the container is that contains itself */
    TAG_LABEL, /* info: index of a watch's name */
    TAG_PLACE, /* one word: device or options by address */
};

enum outcome { SAME = 0, DIFFERENT = 1, FAILED = -1 };

struct sink {
    uint64_t *words;
    size_t count;    /* written, or expected */
    size_t capacity; /* writing only */
    size_t at;       /* matching: the next word */
    bool is_matching;
    bool takes_state;  /* objects without __cache_signature__ are taken by their attributes, tensors by their content */
    bool is_fixed;     /* whatever was put since this was set can't change as long as it is the same object */
    PyObject *holders; /* a list that gets the holders; NULL: not wanted */
    PyObject *outer[64]; /* containers that are being put, for those that contain themselves */
    int depth;
    uint64_t few[96];
};

void sink_init(struct sink *sink);
void sink_expect(struct sink *sink, uint64_t *words, size_t count); /* borrowed */
void sink_release(struct sink *sink);

/* FAILED with an exception: no memory, or more words than a key can hold. */
enum outcome sink_grow(struct sink *sink, size_t more);
enum outcome sink_bytes(struct sink *sink, enum tag tag, const void *data, size_t size);
enum outcome sink_holder(struct sink *sink, enum tag tag, PyObject *holder);

static inline uint64_t sink_header(enum tag tag, uint64_t info)
{
    return (uint64_t)tag << 56 | info;
}

static inline enum outcome sink_word(struct sink *sink, uint64_t word)
{
    if (sink->is_matching) return sink->at < sink->count && sink->words[sink->at++] == word ? SAME : DIFFERENT;
    if (sink->count == sink->capacity && sink_grow(sink, 1)) return FAILED;
    sink->words[sink->count++] = word;
    return SAME;
}

static inline enum outcome sink_two(struct sink *sink, uint64_t header, uint64_t word)
{
    enum outcome outcome = sink_word(sink, header);
    return outcome ? outcome : sink_word(sink, word);
}

#endif
