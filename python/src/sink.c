/*
 * sink.c - see sink.h. The last word of bytes is padded with zeros.
 */
#include "sink.h"

#include <string.h>

#include "state.h"

enum { MOST_WORDS = 1 << 20 };

void sink_init(struct sink *sink)
{
    sink->words = sink->few;
    sink->capacity = sizeof sink->few / sizeof *sink->few;
    sink->count = sink->at = 0;
    sink->is_matching = sink->takes_state = false;
    sink->is_fixed = true;
    sink->holders = NULL;
    sink->depth = 0;
}

void sink_expect(struct sink *sink, uint64_t *words, size_t count)
{
    sink->words = words;
    sink->count = count;
    sink->at = 0;
    sink->is_matching = true;
    sink->takes_state = false;
    sink->is_fixed = true;
    sink->holders = NULL;
    sink->depth = 0;
}

void sink_release(struct sink *sink)
{
    if (!sink->is_matching && sink->words != sink->few) PyMem_Free(sink->words);
    Py_CLEAR(sink->holders);
}

enum outcome sink_grow(struct sink *sink, size_t more)
{
    size_t needed = sink->count + more, capacity = sink->capacity;
    if (needed <= capacity) return SAME;
    if (needed > MOST_WORDS) {
        PyErr_SetString(state.UnsignedError,
                        "a value takes more than 8 MiB, which is more than a key can hold; give its type a "
                        "__cache_signature__(), or pass it as an argument that signs itself");
        return FAILED;
    }
    while (capacity < needed) capacity *= 2;
    bool is_few = sink->words == sink->few;
    uint64_t *words = PyMem_Realloc(is_few ? NULL : sink->words, capacity * sizeof *words);
    if (!words) {
        PyErr_NoMemory();
        return FAILED;
    }
    if (is_few) memcpy(words, sink->few, sink->count * sizeof *words);
    sink->words = words;
    sink->capacity = capacity;
    return SAME;
}

enum outcome sink_bytes(struct sink *sink, enum tag tag, const void *data, size_t size)
{
    size_t whole = size / 8, rest = size % 8, count = whole + (rest != 0);
    enum outcome outcome = sink_word(sink, sink_header(tag, size));
    if (outcome) return outcome;
    if (sink->is_matching) {
        if (count > sink->count - sink->at || memcmp(sink->words + sink->at, data, size)) return DIFFERENT;
        sink->at += count;
        return SAME;
    }
    if (sink_grow(sink, count)) return FAILED;
    if (rest) sink->words[sink->count + whole] = 0;
    memcpy(sink->words + sink->count, data, size);
    sink->count += count;
    return SAME;
}

/* Module and name, for people and for other processes; the address for this one. */
static enum outcome write_holder(struct sink *sink, enum tag tag, PyObject *holder)
{
    size_t at = sink->count;
    if (sink_two(sink, 0, (uint64_t)(uintptr_t)holder)) return FAILED;
    PyObject *names = PyObject_CallOneArg(state.name_of, holder);
    if (!names) return FAILED;
    Py_ssize_t size;
    enum outcome outcome = FAILED;
    const char *text = PyUnicode_Check(names) ? PyUnicode_AsUTF8AndSize(names, &size) : NULL;
    if (text) outcome = sink_bytes(sink, TAG_STRING, text, (size_t)size);
    Py_DECREF(names);
    if (outcome) return FAILED;
    sink->words[at] = sink_header(tag, sink->count - at - 1);
    return sink->holders && PyList_Append(sink->holders, holder) ? FAILED : SAME;
}

enum outcome sink_holder(struct sink *sink, enum tag tag, PyObject *holder)
{
    if (!sink->is_matching) return write_holder(sink, tag, holder);
    if (sink->count - sink->at < 2) return DIFFERENT;
    uint64_t header = sink->words[sink->at], info = header & ((1ull << 56) - 1);
    if (header >> 56 != tag || sink->words[sink->at + 1] != (uint64_t)(uintptr_t)holder) return DIFFERENT;
    sink->at += 1 + info;
    return SAME;
}
