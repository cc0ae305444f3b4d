/*
 * call_key.c - see call_key.h. What is cheap to compare stands first: where it runs, then arguments, then what is read.
 */
#include "call_key.h"

#include <string.h>

#include "leave_out.h"
#include "state.h"
#include "value.h"

/* ---- where it runs --------------------------------------------------------------------------------------------- */

/* A new reference: the compiler's identity as it is now. */
static PyObject *identity_now(struct function *function)
{
    if (function->is_llvm) return Py_NewRef(function->identity);
    PyObject *identity = PyObject_GetAttr(function->compiler, state.identity_name);
    if (identity && !PyUnicode_CheckExact(identity)) {
        PyErr_Format(PyExc_TypeError, "compiler: its identity is %s, and must be a str", Py_TYPE(identity)->tp_name);
        Py_CLEAR(identity);
    }
    return identity;
}

static enum outcome match_identity(struct function *function, const struct entry *entry)
{
    if (function->is_llvm || leaves_out("identity")) return SAME;
    PyObject *identity = identity_now(function);
    if (!identity) return FAILED;
    bool same = identity == entry->identity || !PyUnicode_Compare(identity, entry->identity);
    Py_DECREF(identity);
    return same ? SAME : DIFFERENT;
}

static enum outcome match_place(struct function *function, const struct entry *entry)
{
    uint64_t version = environment_version();
    bool stands = variables_stand(&function->variables, version) && entry->variables_stamp == function->variables.stamp;
    if (!stands && !leaves_out("environment")) return DIFFERENT;
    struct device_name *name = &function->device;
    kiln_device *device = name->name && name->version == version ? name->found : device_now(name, version);
    if (!device) return FAILED;
    bool is_here = device == entry->device || leaves_out("device");
    return is_here && (options_now() == entry->options || leaves_out("options")) ? match_identity(function, entry)
                                                                                 : DIFFERENT;
}

static int see_place(struct function *function, struct place *place)
{
    if (variables_see(&function->variables)) return -1;
    place->device = device_now(&function->device, function->variables.version);
    if (!place->device) return -1;
    place->identity = identity_now(function);
    if (!place->identity) return -1;
    Py_XSETREF(function->identity, Py_NewRef(place->identity));
    place->options = Py_XNewRef(options_now());
    return 0;
}

static enum outcome write_place(struct sink *sink, const struct function *function, const struct place *place)
{
    enum outcome outcome = sink_two(sink, sink_header(TAG_PLACE, 0), (uint64_t)(uintptr_t)place->device);
    if (!outcome) outcome = value_put(sink, place->options ? place->options : Py_None);
    if (!outcome) outcome = variables_put(sink, &function->variables);
    return outcome ? outcome : value_put(sink, place->identity);
}

static void release_place(struct place *place)
{
    Py_CLEAR(place->options);
    Py_CLEAR(place->identity);
}

/* ---- the last call --------------------------------------------------------------------------------------------- */

static enum outcome match_arguments(const struct function *function, struct entry *entry,
                                    const struct arguments *arguments)
{
    struct sink sink;
    size_t at;
    sink_expect(&sink, entry->words, entry->argument_count);
    enum outcome outcome = arguments_put(&sink, function, arguments, &at);
    return outcome == SAME && sink.at != sink.count ? DIFFERENT : outcome;
}

/* Arguments' own code may run in between, and free what is not held. */
enum outcome call_key_stands(struct function *function, struct owner *owner, struct entry *entry,
                             const struct arguments *arguments)
{
    Py_INCREF(owner);
    entry_ref(entry);
    enum outcome outcome = match_place(function, entry);
    if (!outcome) outcome = match_arguments(function, entry, arguments);
    if (!outcome) outcome = watches_match(&owner->watches);
    if (!outcome && entry->block_version != owner->block_version) outcome = DIFFERENT;
    entry_unref(entry);
    Py_DECREF(owner);
    return outcome;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

void call_key_release(struct call_key *key)
{
    sink_release(&key->sink);
    release_place(&key->place);
    Py_CLEAR(key->owner);
    Py_CLEAR(key->block);
}

/* The owners among what the arguments brought; a tuple. */
static PyObject *owners_among(PyObject *holders)
{
    return PyList_GET_SIZE(holders) && !leaves_out("owners") ? PyObject_CallMethod(state.fields, "owners", "O", holders)
                                                             : PyTuple_New(0);
}

static enum outcome append_read(struct call_key *key)
{
    size_t count = (size_t)PyBytes_GET_SIZE(key->block) / 8;
    if (sink_grow(&key->sink, count)) return FAILED;
    memcpy(key->sink.words + key->sink.count, PyBytes_AS_STRING(key->block), count * 8);
    key->sink.count += count;
    return SAME;
}

enum outcome call_key_write_rest(struct call_key *key, struct function *function)
{
    key->sink.count = key->argument_count;
    if (write_place(&key->sink, function, &key->place)) return FAILED;
    key->place_count = key->sink.count;
    key->variables_stamp = function->variables.stamp;
    return append_read(key);
}

enum outcome call_key_write(struct call_key *key, struct function *function, const struct arguments *arguments)
{
    size_t at;
    if (!(key->sink.holders = PyList_New(0))) return FAILED;
    if (arguments_put(&key->sink, function, arguments, &at)) return arguments_name_failed(function, at), FAILED;
    key->argument_count = key->sink.count;
    PyObject *holders = owners_among(key->sink.holders);
    Py_CLEAR(key->sink.holders);
    if (holders) key->owner = owner_find(function, holders);
    Py_XDECREF(holders);
    if (!key->owner || owner_update(key->owner) || see_place(function, &key->place)) return FAILED;
    key->block = Py_NewRef(key->owner->watches.block);
    key->block_version = key->owner->block_version;
    key->generation = key->owner->watches.generation;
    return call_key_write_rest(key, function);
}

/* What the key holds, in words: a list of str. */
PyObject *call_key_fields(const struct function *function, const struct call_key *key)
{
    const struct variables *variables = &function->variables;
    PyObject *list = PyList_New(0), *told = NULL;
    for (size_t i = 0; list && i < variables->count; i++) {
        const char *value = variables->all[i].copy;
        PyObject *text =
            value ? PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "surrogateescape") : Py_NewRef(Py_None);
        PyObject *pair = text ? PyTuple_Pack(2, variables->all[i].name, text) : NULL;
        if (!pair || PyList_Append(list, pair)) Py_CLEAR(list);
        Py_XDECREF(pair);
        Py_XDECREF(text);
    }
    if (list)
        told = PyObject_CallMethod(
            state.fields, "fields", "Oy#sOOOO", (PyObject *)function, (const char *)key->sink.words,
            (Py_ssize_t)(key->argument_count * 8), kiln_device_name(key->place.device),
            key->place.options ? key->place.options : Py_None, list, key->place.identity, key->block);
    Py_XDECREF(list);
    if (told && !PyList_Check(told)) Py_CLEAR(told);
    return told;
}
