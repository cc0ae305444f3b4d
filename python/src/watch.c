/*
 * watch.c - see watch.h.
 */
#include "watch.h"

#include <string.h>

#include "leave_out.h"
#include "value.h"

/* ---- the list -------------------------------------------------------------------------------------------------- */

static void release_all(struct watch *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Py_XDECREF(all[i].container);
        Py_XDECREF(all[i].key);
        Py_XDECREF(all[i].builtins);
        Py_XDECREF(all[i].value);
    }
    PyMem_Free(all);
}

static bool fits(enum watch_kind kind, PyObject *container, PyObject *builtins)
{
    switch (kind) {
    case WATCH_DICT:
        return PyDict_Check(container);
    case WATCH_GLOBAL:
        return PyDict_Check(container) && builtins && PyDict_Check(builtins);
    case WATCH_CELL:
        return PyCell_Check(container);
    case WATCH_TYPE:
        return PyType_Check(container);
    default:
        return PyFunction_Check(container);
    }
}

static int set_one(struct watch *watch, PyObject *told)
{
    int kind;
    PyObject *container, *key, *builtins;
    unsigned label;
    if (!PyTuple_Check(told) || !PyArg_ParseTuple(told, "iOOOI", &kind, &container, &key, &builtins, &label)) return -1;
    builtins = builtins == Py_None ? NULL : builtins;
    if (kind < 0 || kind >= WATCH_KINDS || !PyUnicode_Check(key) || !fits((enum watch_kind)kind, container, builtins)) {
        PyErr_SetString(PyExc_TypeError, "a watch is (kind, container, key, builtins, label)");
        return -1;
    }
    *watch = (struct watch){.kind = (enum watch_kind)kind,
                            .label = label,
                            .container = Py_NewRef(container),
                            .key = Py_NewRef(key),
                            .builtins = builtins ? Py_NewRef(builtins) : NULL};
    return 0;
}

int watches_set(struct watches *watches, PyObject *list)
{
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "discovery returns a list");
        return -1;
    }
    size_t count = (size_t)PyList_GET_SIZE(list), i = 0;
    struct watch *all = PyMem_Calloc(count + 1, sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    while (i < count && !set_one(&all[i], PyList_GET_ITEM(list, (Py_ssize_t)i))) i++;
    if (i < count) {
        release_all(all, count);
        return -1;
    }
    struct watch *before = watches->all;
    size_t before_count = watches->count;
    watches->all = all;
    watches->count = count;
    watches->generation++;
    release_all(before, before_count);
    return 0;
}

void watches_release(struct watches *watches)
{
    struct watches gone = *watches;
    *watches = (struct watches){NULL};
    release_all(gone.all, gone.count);
    Py_XDECREF(gone.block);
    Py_XDECREF(gone.holders);
}

int watches_traverse(struct watches *watches, visitproc visit, void *arg)
{
    for (size_t i = 0; i < watches->count; i++) {
        Py_VISIT(watches->all[i].container);
        Py_VISIT(watches->all[i].value);
        Py_VISIT(watches->all[i].builtins);
    }
    Py_VISIT(watches->holders);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static PyObject *in_dict(PyObject *dict, PyObject *key)
{
    Py_hash_t hash = ((PyASCIIObject *)key)->hash;
    return hash == -1 ? PyDict_GetItemWithError(dict, key) : _PyDict_GetItem_KnownHash(dict, key, hash);
}

/* Borrowed; NULL: absent, or an exception. */
static inline PyObject *fetch(const struct watch *watch)
{
    PyObject *value;
    switch (watch->kind) {
    case WATCH_DICT:
        return in_dict(watch->container, watch->key);
    case WATCH_GLOBAL:
        value = in_dict(watch->container, watch->key);
        return value || PyErr_Occurred() ? value : in_dict(watch->builtins, watch->key);
    case WATCH_CELL:
        return PyCell_GET(watch->container);
    case WATCH_TYPE:
        return _PyType_Lookup((PyTypeObject *)watch->container, watch->key);
    case WATCH_CODE:
        return PyFunction_GET_CODE(watch->container);
    case WATCH_DEFAULTS:
        return PyFunction_GET_DEFAULTS(watch->container);
    default:
        return PyFunction_GET_KW_DEFAULTS(watch->container);
    }
}

static enum outcome put_watch(struct sink *sink, const struct watch *watch, PyObject *value)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_LABEL, watch->label));
    return outcome ? outcome : value_put_or_absent(sink, value);
}

/* Items of one block: a value is matched with the words of its own only. */
static enum outcome match_words(const struct watch *watch, PyObject *value, uint64_t *words, size_t count)
{
    struct sink sink;
    sink_expect(&sink, words, count);
    sink.takes_state = true;
    enum outcome outcome = put_watch(&sink, watch, value);
    return outcome == SAME && sink.at != count ? DIFFERENT : outcome;
}

static size_t end_of(const struct watches *watches, size_t i)
{
    return i + 1 < watches->count ? watches->all[i + 1].at : watches_word_count(watches);
}

/* Another object, or one that can change in place. Python code may run here, and set other watches. */
static enum outcome match_slowly(struct watches *watches, size_t i, PyObject *value)
{
    struct watch *watch = &watches->all[i];
    size_t at = watch->at, end = end_of(watches, i);
    PyObject *block = Py_NewRef(watches->block);
    Py_XINCREF(value);
    enum outcome outcome = match_words(watch, value, (uint64_t *)(void *)PyBytes_AS_STRING(block) + at, end - at);
    Py_XDECREF(value);
    Py_DECREF(block);
    return outcome;
}

enum outcome watches_match(struct watches *watches)
{
    for (size_t i = 0; i < watches->count && !leaves_out("watches"); i++) {
        const struct watch *watch = &watches->all[i];
        PyObject *value = fetch(watch);
        if (value == watch->value && (watch->is_fixed || leaves_out("content")) && (value || !PyErr_Occurred()))
            continue;
        if (!value && PyErr_Occurred()) return FAILED;
        enum outcome outcome = match_slowly(watches, i, value);
        if (outcome) return outcome;
    }
    return SAME;
}

enum outcome watches_match_block(struct watches *watches, uint64_t *block, size_t count)
{
    struct sink sink;
    sink_expect(&sink, block, count);
    sink.takes_state = true;
    enum outcome outcome = SAME;
    for (size_t i = 0; !outcome && i < watches->count; i++) {
        PyObject *value = fetch(&watches->all[i]);
        if (!value && PyErr_Occurred()) return FAILED;
        Py_XINCREF(value);
        outcome = put_watch(&sink, &watches->all[i], value);
        Py_XDECREF(value);
    }
    return outcome == SAME && sink.at != count ? DIFFERENT : outcome;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

struct seen {
    PyObject *value;
    size_t at;
    bool is_fixed;
};

static enum outcome write_one(struct sink *sink, const struct watch *watch, struct seen *seen)
{
    PyObject *value = fetch(watch);
    if (!value && PyErr_Occurred()) return FAILED;
    seen->value = Py_XNewRef(value);
    seen->at = sink->count;
    sink->is_fixed = true;
    enum outcome outcome = put_watch(sink, watch, value);
    seen->is_fixed = sink->is_fixed;
    return outcome;
}

static bool are_same_holders(PyObject *a, PyObject *b)
{
    if (!a || PyList_GET_SIZE(a) != PyList_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(a); i++)
        if (PyList_GET_ITEM(a, i) != PyList_GET_ITEM(b, i)) return false;
    return true;
}

/* Takes over what was seen. */
static int keep(struct watches *watches, const struct sink *sink, struct seen *seen)
{
    PyObject *block = PyBytes_FromStringAndSize((const char *)sink->words, (Py_ssize_t)(sink->count * 8));
    if (!block) return -1;
    Py_XSETREF(watches->block, block);
    for (size_t i = 0; i < watches->count; i++) {
        struct watch *watch = &watches->all[i];
        PyObject *before = watch->value;
        watch->value = seen[i].value;
        watch->at = seen[i].at;
        watch->is_fixed = seen[i].is_fixed;
        seen[i].value = before; /* released by the caller, when all is in place */
    }
    return 0;
}

enum outcome watches_write(struct watches *watches, size_t *failed)
{
    struct sink sink;
    sink_init(&sink);
    sink.takes_state = true;
    sink.holders = PyList_New(0);
    size_t count = watches->count;
    struct watch *all = watches->all;
    uint64_t generation = watches->generation;
    struct seen *seen = PyMem_Calloc(count + 1, sizeof *seen);
    enum outcome outcome = seen && sink.holders ? SAME : FAILED;
    if (!seen) PyErr_NoMemory();
    for (*failed = 0; !outcome && *failed < count && watches->generation == generation; *failed += !outcome)
        outcome = write_one(&sink, &all[*failed], &seen[*failed]);
    if (!outcome && watches->generation != generation)
        outcome = DIFFERENT; /* another thread has run discovery meanwhile */
    if (!outcome && keep(watches, &sink, seen)) outcome = FAILED;
    if (!outcome && !are_same_holders(watches->holders, sink.holders)) {
        Py_XSETREF(watches->holders, Py_NewRef(sink.holders));
        outcome = DIFFERENT;
    }
    for (size_t i = 0; seen && i < count; i++) Py_XDECREF(seen[i].value);
    PyMem_Free(seen);
    sink_release(&sink);
    return outcome;
}
