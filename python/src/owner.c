/*
 * owner.c - see owner.h. Invariant: last is an entry of the table, or NULL; an entry in use is held by whoever uses it.
 */
#include "owner.h"

#include <string.h>

#include "function.h"
#include "state.h"

/* ---- entries --------------------------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 4096 };

uint64_t owner_hash(const uint64_t *words, size_t count)
{
    uint64_t hash = count * 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ words[i]) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    }
    return hash;
}

void entry_unref(struct entry *entry)
{
    if (!entry || --entry->refs) return;
    Py_CLEAR(entry->callable);
    Py_CLEAR(entry->options);
    Py_CLEAR(entry->identity);
    PyMem_Free(entry);
}

/* Taken out first, released afterwards: what goes may run Python code. */
void owner_clear_entries(struct owner *owner)
{
    struct entry **slots = owner->slots;
    size_t count = owner->slot_count;
    owner->slots = NULL;
    owner->slot_count = owner->entry_count = 0;
    owner->last = NULL;
    for (size_t i = 0; i < count; i++) entry_unref(slots[i]);
    PyMem_Free(slots);
}

static struct entry **slot_of(struct entry **slots, size_t slot_count, uint64_t hash, const uint64_t *words,
                              size_t count)
{
    size_t i = hash & (slot_count - 1);
    for (; slots[i]; i = (i + 1) & (slot_count - 1))
        if (slots[i]->hash == hash && slots[i]->count == count &&
            !memcmp(slots[i]->words, words, count * sizeof *words))
            break;
    return &slots[i];
}

struct entry *owner_lookup(struct owner *owner, uint64_t hash, const uint64_t *words, size_t count)
{
    return owner->slot_count ? *slot_of(owner->slots, owner->slot_count, hash, words, count) : NULL;
}

static int grow(struct owner *owner)
{
    size_t count = owner->slot_count ? owner->slot_count * 2 : 16;
    struct entry **slots = PyMem_Calloc(count, sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < owner->slot_count; i++)
        if (owner->slots[i])
            *slot_of(slots, count, owner->slots[i]->hash, owner->slots[i]->words, owner->slots[i]->count) =
                owner->slots[i];
    PyMem_Free(owner->slots);
    owner->slots = slots;
    owner->slot_count = count;
    return 0;
}

/* Too many: all are forgotten. Those in use come back from kiln_get, which keeps the most recent ones, without a
 * lowering. */
struct entry *owner_keep(struct owner *owner, uint64_t hash, const uint64_t *words, size_t count, size_t argument_count,
                         PyObject *callable)
{
    if (owner->entry_count == MOST_ENTRIES) owner_clear_entries(owner);
    if (owner->entry_count * 2 >= owner->slot_count && grow(owner)) return NULL;
    struct entry *entry = PyMem_Malloc(sizeof *entry + count * sizeof *words);
    if (!entry) {
        PyErr_NoMemory();
        return NULL;
    }
    *entry = (struct entry){
        .refs = 1, .hash = hash, .count = count, .argument_count = argument_count, .callable = Py_NewRef(callable)};
    memcpy(entry->words, words, count * sizeof *words);
    struct entry **slot = slot_of(owner->slots, owner->slot_count, hash, words, count), *before = *slot;
    *slot = entry;
    owner->entry_count += !before;
    if (owner->last == before) owner->last = NULL;
    entry_ref(entry); /* what goes may run Python code, and that may clear the table */
    entry_unref(before);
    return entry;
}

/* ---- owners ---------------------------------------------------------------------------------------------------- */

static int owner_traverse(struct owner *owner, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(owner));
    Py_VISIT(owner->holders);
    Py_VISIT(owner->baseline_values);
    for (size_t i = 0; i < owner->slot_count; i++)
        if (owner->slots[i]) Py_VISIT(owner->slots[i]->callable);
    return watches_traverse(&owner->watches, visit, arg);
}

static void leave_function(struct owner *owner)
{
    struct function *function = owner->function;
    if (!function) return;
    if (function->last == owner) function->last = NULL;
    if (owner->previous)
        owner->previous->next = owner->next;
    else
        function->owners = owner->next;
    if (owner->next) owner->next->previous = owner->previous;
    owner->function = NULL;
}

static int owner_clear(struct owner *owner)
{
    owner_clear_entries(owner);
    watches_release(&owner->watches);
    Py_CLEAR(owner->holders);
    Py_CLEAR(owner->baseline);
    Py_CLEAR(owner->baseline_values);
    return 0;
}

static void owner_dealloc(struct owner *owner)
{
    PyObject_GC_UnTrack(owner);
    leave_function(owner);
    owner_clear(owner);
    PyObject_GC_Del(owner);
}

PyTypeObject owner_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln._core.Owner",
    .tp_doc = "What a function reads and has compiled for one set of owners.",
    .tp_basicsize = sizeof(struct owner),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)owner_traverse,
    .tp_clear = (inquiry)owner_clear,
    .tp_dealloc = (destructor)owner_dealloc,
};

static struct owner *new_owner(struct function *function, PyObject *holders)
{
    struct owner *owner = PyObject_GC_New(struct owner, &owner_type);
    if (!owner) return NULL;
    memset((char *)owner + sizeof(PyObject), 0, sizeof *owner - sizeof(PyObject));
    owner->function = function;
    owner->next = function->owners;
    if (owner->next) owner->next->previous = owner;
    function->owners = owner;
    owner->holders = Py_NewRef(holders);
    PyObject_GC_Track((PyObject *)owner);
    return owner;
}

static bool is_for(const struct owner *owner, PyObject *holders)
{
    if (!owner->holders || PyTuple_GET_SIZE(owner->holders) != PyTuple_GET_SIZE(holders)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(holders); i++)
        if (PyTuple_GET_ITEM(owner->holders, i) != PyTuple_GET_ITEM(holders, i)) return false;
    return true;
}

/* A class that can be written to: its state hangs on it. */
static PyObject *class_among(PyObject *holders)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(holders); i++) {
        PyObject *holder = PyTuple_GET_ITEM(holders, i);
        if (PyType_Check(holder) && ((PyTypeObject *)holder)->tp_flags & Py_TPFLAGS_HEAPTYPE) return holder;
    }
    return NULL;
}

static int hang_on(PyObject *class, struct owner *owner)
{
    PyObject *list = PyDict_GetItemWithError(((PyTypeObject *)class)->tp_dict, state.owned_name);
    if (!list && PyErr_Occurred()) return -1;
    if (list && PyList_Check(list)) return PyList_Append(list, (PyObject *)owner);
    if (!(list = Py_BuildValue("[O]", owner))) return -1;
    int failed = PyType_Type.tp_setattro(class, state.owned_name, list);
    Py_DECREF(list);
    return failed;
}

/* Functions that are passed may be new ones at each call: those kept are bounded, the oldest goes. */
static int remember(struct function *function, struct owner *owner)
{
    enum { MOST_KEPT = 256 };
    PyObject *class = class_among(owner->holders), *kept = function->kept;
    if (class && !hang_on(class, owner)) return 0;
    PyErr_Clear(); /* a class that takes no attributes */
    if (PyList_GET_SIZE(kept) >= MOST_KEPT && PyTuple_GET_SIZE(owner->holders) && PyList_SetSlice(kept, 0, 1, NULL))
        return -1;
    return PyList_Append(kept, (PyObject *)owner);
}

struct owner *owner_find(struct function *function, PyObject *holders)
{
    for (struct owner *owner = function->owners; owner; owner = owner->next)
        if (is_for(owner, holders)) return (struct owner *)Py_NewRef((PyObject *)owner);
    struct owner *owner = new_owner(function, holders);
    if (owner && remember(function, owner)) Py_CLEAR(owner);
    return owner;
}

PyObject *owners_of(struct function *function)
{
    PyObject *list = PyList_New(0);
    int failed = 0;
    for (struct owner *owner = function->owners; list && !failed && owner; owner = owner->next)
        failed = PyList_Append(list, (PyObject *)owner);
    if (failed) Py_CLEAR(list);
    return list;
}

static void take_off_class(struct owner *owner)
{
    PyObject *class = owner->holders ? class_among(owner->holders) : NULL;
    PyObject *list = class ? PyDict_GetItemWithError(((PyTypeObject *)class)->tp_dict, state.owned_name) : NULL;
    Py_ssize_t i = list && PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
    while (i-- > 0 && PyList_GET_ITEM(list, i) != (PyObject *)owner) continue;
    if (i >= 0) PyList_SetSlice(list, i, i + 1, NULL);
}

void owners_leave(struct function *function)
{
    while (function->owners) {
        struct owner *owner = (struct owner *)Py_NewRef((PyObject *)function->owners);
        leave_function(owner);
        take_off_class(owner);
        owner_clear(owner);
        Py_DECREF(owner);
    }
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static int discover(struct owner *owner)
{
    struct function *function = owner->function;
    PyObject *list = PyObject_CallFunctionObjArgs(state.resolve, (PyObject *)function, owner->holders, NULL);
    int failed = !list || watches_set(&owner->watches, list);
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

/* In front of what could not be signed: which variable it is. */
static void name_failed(const struct owner *owner, size_t i)
{
    if (!PyErr_ExceptionMatches(state.UnsignedError) || i >= owner->watches.count) return;
    PyObject *type, *value, *trace, *label = PyList_GetItem(owner->function->labels, owner->watches.all[i].label);
    if (!label) return PyErr_Clear();
    PyErr_Fetch(&type, &value, &trace);
    PyErr_Format(state.UnsignedError, "%U reads %S: %S", function_name(owner->function), label,
                 value ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static PyObject *values_in_words(const struct owner *owner)
{
    PyObject *block = Py_NewRef(owner->watches.block);
    PyObject *told = PyObject_CallMethod(state.fields, "watched", "OO", owner->function->labels, block);
    Py_DECREF(block);
    return told;
}

/* SAME: they are what the baseline has. Otherwise an exception that names variable, module, old and new value. */
static enum outcome check_drift(struct owner *owner)
{
    if (!owner->function->raises_on_drift) return SAME;
    if (!owner->baseline) {
        owner->baseline_values = values_in_words(owner);
        if (!owner->baseline_values) return FAILED;
        owner->baseline = Py_NewRef(owner->watches.block);
        return SAME;
    }
    int same = PyObject_RichCompareBool(owner->baseline, owner->watches.block, Py_EQ);
    if (same) return same < 0 ? FAILED : SAME;
    PyObject *now = values_in_words(owner);
    PyObject *text = now ? PyObject_CallMethod(state.fields, "drift", "OOO", (PyObject *)owner->function,
                                               owner->baseline_values, now)
                         : NULL;
    if (text) PyErr_SetObject(state.DriftError, text);
    Py_XDECREF(now);
    Py_XDECREF(text);
    return FAILED;
}

/* Values that bring other code change what is to be watched, which may bring other code again. */
enum outcome owner_update(struct owner *owner)
{
    enum { MOST_ROUNDS = 100 };
    enum outcome outcome = DIFFERENT;
    size_t failed = 0;
    if (owner->watches.block && (outcome = watches_match(&owner->watches)) != DIFFERENT) {
        if (outcome == SAME) return check_drift(owner);
        PyErr_Clear();
    }
    bool is_new = !owner->watches.generation;
    if (is_new && discover(owner)) return FAILED;
    owner->block_version++;
    outcome = DIFFERENT;
    for (int round = 0; outcome == DIFFERENT && round < MOST_ROUNDS; round++) {
        outcome = watches_write(&owner->watches, &failed);
        if (outcome != FAILED && !is_new && check_drift(owner)) return FAILED;
        if (outcome == DIFFERENT && !(is_new && round == 0) && discover(owner)) outcome = FAILED;
    }
    if (outcome == DIFFERENT) {
        PyErr_SetString(state.DriftError,
                        "the functions and classes that are read kept changing while they were looked through");
        outcome = FAILED;
    }
    if (outcome == FAILED) name_failed(owner, failed);
    return outcome == SAME ? check_drift(owner) : outcome;
}
