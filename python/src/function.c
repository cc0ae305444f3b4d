/*
 * function.c - see function.h. The recipe of a call:
 *
 *     stands: place, arguments, what is read: as in the last call? -------------------- yes --> call what was linked
 *     write: the words of all of it -> the owners' table ------------------------- found --> call
 *     miss: the words in fields for people -> kiln_get (lower, compile, link) -> keep --> call
 */
#include "function.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "cache.h"
#include "kernel.h"
#include "leave_out.h"
#include "native.h"
#include "state.h"
#include "value.h"

PyObject *function_wrapped(PyObject *function)
{
    PyObject *wrapped = ((struct function *)function)->wrapped;
    return wrapped ? wrapped : Py_None;
}

PyObject *function_name(const struct function *function)
{
    return function->name;
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */

struct arguments {
    PyObject *const *values;
    Py_ssize_t count;
    PyObject *names; /* of the last ones: a tuple, or NULL */
};

static enum outcome put_dynamic(struct sink *sink, const struct parameter *parameter, PyObject *value)
{
    static const struct tensor_rule rule = {.is_dynamic = true, .align = 1, .dim_count = -1, .stride_count = -1};
    const struct type_kind *kind = kind_of(Py_TYPE(value));
    if (kind->kind == KIND_NUMPY || kind->kind == KIND_EXCHANGE || kind->kind == KIND_JAX)
        return tensor_put(sink, value, kind, &rule);
    int is = parameter->type == Py_None ? 1 : PyObject_IsInstance(value, parameter->type);
    if (!is && parameter->type == (PyObject *)&PyLong_Type) is = PyIndex_Check(value);
    if (!is)
        PyErr_Format(PyExc_TypeError, "%s was given, and it is declared as kiln.Dynamic[%s]", Py_TYPE(value)->tp_name,
                     ((PyTypeObject *)parameter->type)->tp_name);
    if (is <= 0) return FAILED;
    enum outcome outcome = sink_word(sink, sink_header(TAG_DYNAMIC, 0));
    return outcome ? outcome : sink_holder(sink, TAG_CLASS, (PyObject *)Py_TYPE(value));
}

/* A raw handle, None for the default one, or an object of a library that has one. */
static enum outcome put_stream(struct sink *sink, PyObject *value)
{
    bool is = PyLong_Check(value) || value == Py_None || Py_TYPE(value) == (PyTypeObject *)state.Stream;
    if (!is) {
        PyObject *handle = PyObject_GetAttrString(value, "cuda_stream");
        is = handle != NULL;
        Py_XDECREF(handle);
        PyErr_Clear();
    }
    if (is) return sink_word(sink, sink_header(TAG_STREAM, 0));
    PyErr_Format(PyExc_TypeError,
                 "%s was given, and it is declared as kiln.Stream: an int, None, or an object with cuda_stream",
                 Py_TYPE(value)->tp_name);
    return FAILED;
}

static enum outcome put_ruled(struct sink *sink, const struct parameter *parameter, PyObject *value)
{
    const struct type_kind *kind = kind_of(Py_TYPE(value));
    if (kind->kind == KIND_NUMPY || kind->kind == KIND_EXCHANGE || kind->kind == KIND_JAX)
        return tensor_put(sink, value, kind, &parameter->rule);
    PyErr_Format(PyExc_TypeError, "%s was given, and it is declared as kiln.Tensor", Py_TYPE(value)->tp_name);
    return FAILED;
}

static enum outcome put_argument(struct sink *sink, const struct function *function, size_t i, PyObject *value)
{
    const struct parameter *parameter = i < function->parameter_count ? &function->parameters[i] : NULL;
    enum parameter_kind kind = parameter ? parameter->kind : PARAMETER_VALUE;
    if (kind == PARAMETER_DYNAMIC) return put_dynamic(sink, parameter, value);
    if (kind == PARAMETER_STREAM) return put_stream(sink, value);
    if (kind == PARAMETER_TENSOR) return put_ruled(sink, parameter, value);
    sink->takes_state = function->is_method && i == 0;
    enum outcome outcome = value_put(sink, value);
    sink->takes_state = false;
    return outcome;
}

static size_t index_of(const struct function *function, PyObject *name)
{
    size_t i = 0;
    while (i < function->parameter_count && function->parameters[i].name != name &&
           PyUnicode_Compare(function->parameters[i].name, name))
        i++;
    return i;
}

/* Of what was given by name: the value of parameter i, or NULL. */
static PyObject *named(const struct function *function, const struct arguments *arguments, size_t i)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arguments->names); k++)
        if (index_of(function, PyTuple_GET_ITEM(arguments->names, k)) == i)
            return arguments->values[arguments->count + k];
    return NULL;
}

/* f(x, n=3) has the key of f(x, 3); what a name can't place so stands behind, with its name. */
static enum outcome put_named(struct sink *sink, const struct function *function, const struct arguments *arguments,
                              size_t placed)
{
    enum outcome outcome = SAME;
    for (Py_ssize_t k = 0; !outcome && k < PyTuple_GET_SIZE(arguments->names); k++) {
        PyObject *name = PyTuple_GET_ITEM(arguments->names, k);
        size_t i = index_of(function, name);
        if (i < placed && i >= (size_t)arguments->count) continue;
        outcome = value_put(sink, name);
        if (!outcome) outcome = put_argument(sink, function, i, arguments->values[arguments->count + k]);
    }
    return outcome;
}

/* `at` gets the index of the argument that failed. */
static enum outcome put_arguments(struct sink *sink, const struct function *function, const struct arguments *arguments,
                                  size_t *at)
{
    size_t count = (size_t)arguments->count, placed = count;
    if (arguments->names)
        while (placed < function->parameter_count && named(function, arguments, placed)) placed++;
    enum outcome outcome = sink_word(sink, sink_header(TAG_TUPLE, placed));
    for (*at = 0; !outcome && *at < placed; *at += !outcome)
        outcome =
            put_argument(sink, function, *at, *at < count ? arguments->values[*at] : named(function, arguments, *at));
    if (outcome || !arguments->names) return outcome;
    outcome = sink_word(sink, sink_header(TAG_DICT, (size_t)PyTuple_GET_SIZE(arguments->names) - (placed - count)));
    return outcome ? outcome : put_named(sink, function, arguments, placed);
}

/* In front of what is wrong with an argument: which one. */
static void name_failed(const struct function *function, size_t at)
{
    if (!PyErr_ExceptionMatches(state.UnsignedError) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    PyObject *type, *value, *trace, *name;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    bool is_ours = trace == NULL; /* one of Python code is left as it is */
    name = at < function->parameter_count ? PyUnicode_FromFormat("argument %R", function->parameters[at].name)
                                          : PyUnicode_FromFormat("argument %zu", at + 1);
    if (is_ours && name)
        PyErr_Format(type, "%U: %U: %S", function->name, name, value);
    else
        PyErr_Restore(Py_NewRef(type), Py_XNewRef(value), Py_XNewRef(trace));
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

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

struct place {
    kiln_device *device;
    PyObject *options, *identity; /* strong; options may be NULL */
};

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
    enum outcome outcome = put_arguments(&sink, function, arguments, &at);
    return outcome == SAME && sink.at != sink.count ? DIFFERENT : outcome;
}

/* Arguments' own code may run in between, and free what is not held. */
static enum outcome stands(struct function *function, struct owner *owner, struct entry *entry,
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

/* ---- keys ------------------------------------------------------------------------------------------------------ */

struct key {
    struct sink sink;
    size_t argument_count, place_count; /* of the words, from the start */
    struct owner *owner;
    struct place place;
    PyObject *block;
    uint64_t block_version, generation, variables_stamp;
};

static void release_key(struct key *key)
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

static enum outcome append_read(struct key *key)
{
    size_t count = (size_t)PyBytes_GET_SIZE(key->block) / 8;
    if (sink_grow(&key->sink, count)) return FAILED;
    memcpy(key->sink.words + key->sink.count, PyBytes_AS_STRING(key->block), count * 8);
    key->sink.count += count;
    return SAME;
}

static enum outcome write_rest(struct key *key, struct function *function)
{
    key->sink.count = key->argument_count;
    if (write_place(&key->sink, function, &key->place)) return FAILED;
    key->place_count = key->sink.count;
    key->variables_stamp = function->variables.stamp;
    return append_read(key);
}

static enum outcome write_key(struct key *key, struct function *function, const struct arguments *arguments)
{
    size_t at;
    if (!(key->sink.holders = PyList_New(0))) return FAILED;
    if (put_arguments(&key->sink, function, arguments, &at)) return name_failed(function, at), FAILED;
    key->argument_count = key->sink.count;
    PyObject *holders = owners_among(key->sink.holders);
    Py_CLEAR(key->sink.holders);
    if (holders) key->owner = owner_find(function, holders);
    Py_XDECREF(holders);
    if (!key->owner || owner_update(key->owner) || see_place(function, &key->place)) return FAILED;
    key->block = Py_NewRef(key->owner->watches.block);
    key->block_version = key->owner->block_version;
    key->generation = key->owner->watches.generation;
    return write_rest(key, function);
}

/* What the key holds, in words: a list of str. */
static PyObject *fields_of(const struct function *function, const struct key *key)
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

/* ---- a miss ---------------------------------------------------------------------------------------------------- */

static PyObject *kernel_of(struct function *function, PyObject *address, PyObject *args)
{
    PyObject *types = PyObject_CallMethod(state.fields, "signature", "OO", function->signature, args);
    PyObject *kernel = types ? kernel_make(address, function->name, types) : NULL;
    Py_XDECREF(types);
    return kernel;
}

static int unpack(const struct arguments *arguments, PyObject **args, PyObject **kwargs)
{
    *kwargs = NULL;
    *args = PyTuple_New(arguments->count);
    for (Py_ssize_t i = 0; *args && i < arguments->count; i++)
        PyTuple_SET_ITEM(*args, i, Py_NewRef(arguments->values[i]));
    if (!*args || !arguments->names || !PyTuple_GET_SIZE(arguments->names)) return *args ? 0 : -1;
    *kwargs = PyDict_New();
    int failed = !*kwargs;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(arguments->names); i++)
        failed =
            PyDict_SetItem(*kwargs, PyTuple_GET_ITEM(arguments->names, i), arguments->values[arguments->count + i]);
    return failed ? -1 : 0;
}

/* A new reference to something callable; None: compiled only; NULL without an exception: the key has to be made again.
 */
static PyObject *make(struct function *function, struct key *key, const struct arguments *arguments)
{
    struct miss miss = {.function = function,
                        .owner = key->owner,
                        .block = key->block,
                        .generation = key->generation,
                        .variables_stamp = key->variables_stamp,
                        .device = key->place.device};
    PyObject *made = NULL;
    miss.fields = fields_of(function, key);
    if (miss.fields && !unpack(arguments, &miss.args, &miss.kwargs)) {
        PyObject *noted = PyObject_CallMethod(state.fields, "note_miss", "OOOO", (PyObject *)function, miss.fields,
                                              miss.args, miss.kwargs ? miss.kwargs : Py_None);
        if (noted) made = native_get(&miss);
        Py_XDECREF(noted);
    }
    if (made && made != Py_None && function->is_llvm) Py_SETREF(made, kernel_of(function, made, miss.args));
    function->hits += made && !miss.has_lowered;
    if (made && miss.variables_stamp != function->variables.stamp)
        Py_CLEAR(made); /* another thread's lowering found one more */
    Py_XDECREF(miss.fields);
    Py_XDECREF(miss.args);
    Py_XDECREF(miss.kwargs);
    return made;
}

/* New names of variables may have been found meanwhile: they are in the key that is kept. */
static struct entry *keep(struct function *function, struct key *key, PyObject *callable)
{
    if (write_rest(key, function)) return NULL;
    uint64_t hash = owner_hash(key->sink.words, key->sink.count);
    return owner_keep(key->owner, hash, key->sink.words, key->sink.count, key->argument_count, callable);
}

static void set_last(struct function *function, struct key *key, struct entry *entry)
{
    entry->device = key->place.device;
    entry->variables_stamp = key->variables_stamp;
    entry->block_version = key->block_version;
    Py_XSETREF(entry->options, Py_XNewRef(key->place.options));
    Py_XSETREF(entry->identity, Py_NewRef(key->place.identity));
    key->owner->last = entry;
    function->last = key->owner;
}

/* SAME: *callable is a new reference. DIFFERENT: once more. */
static enum outcome try_to_find(struct function *function, const struct arguments *arguments, PyObject **callable)
{
    struct key key = {.owner = NULL};
    sink_init(&key.sink);
    enum outcome outcome = write_key(&key, function, arguments);
    if (!outcome) {
        uint64_t hash = owner_hash(key.sink.words, key.sink.count);
        struct entry *entry = owner_lookup(key.owner, hash, key.sink.words, key.sink.count);
        if (entry) {
            function->hits++;
            *callable = Py_NewRef(entry->callable);
        } else if ((*callable = make(function, &key, arguments)) && *callable != Py_None) {
            entry = keep(function, &key, *callable);
            if (!entry) Py_CLEAR(*callable);
        }
        if (entry) set_last(function, &key, entry);
        outcome = *callable ? SAME : PyErr_Occurred() ? FAILED : DIFFERENT;
    }
    release_key(&key);
    return outcome;
}

static PyObject *find(struct function *function, const struct arguments *arguments)
{
    enum { MOST_TRIES = 16 };
    PyObject *callable = NULL;
    enum outcome outcome = DIFFERENT;
    if (!function->wrapped) return PyErr_Format(PyExc_ReferenceError, "a function that is being freed can't be called");
    for (int tries = 0; outcome == DIFFERENT && tries < MOST_TRIES; tries++)
        outcome = try_to_find(function, arguments, &callable);
    if (outcome != DIFFERENT) return callable;
    return PyErr_Format(
        state.DriftError,
        "%U: what it reads was something else after each of %d lowerings; a function must not change what it reads",
        function->name, MOST_TRIES);
}

/* ---- the call -------------------------------------------------------------------------------------------------- */

/* Arguments by name are passed by their place, as in the key: what was linked has no names of parameters. Those without
 * one keep theirs. */
static PyObject *run_named(const struct function *function, PyObject *callable, const struct arguments *arguments)
{
    size_t count = (size_t)arguments->count, placed = count, named_count = (size_t)PyTuple_GET_SIZE(arguments->names);
    while (placed < function->parameter_count && named(function, arguments, placed)) placed++;
    PyObject **values = PyMem_Malloc((count + named_count + 1) * sizeof *values);
    PyObject *rest = PyTuple_New((Py_ssize_t)(named_count - (placed - count))), *result = NULL;
    if (!values) PyErr_NoMemory();
    for (size_t i = 0; values && i < placed; i++)
        values[i] = i < count ? arguments->values[i] : named(function, arguments, i);
    for (size_t k = 0, at = 0; values && rest && k < named_count; k++) {
        PyObject *name = PyTuple_GET_ITEM(arguments->names, (Py_ssize_t)k);
        size_t i = index_of(function, name);
        if (i < placed && i >= count) continue;
        values[placed + at] = arguments->values[count + k];
        PyTuple_SET_ITEM(rest, (Py_ssize_t)at++, Py_NewRef(name));
    }
    if (values && rest) result = PyObject_Vectorcall(callable, values, placed, PyTuple_GET_SIZE(rest) ? rest : NULL);
    PyMem_Free(values);
    Py_XDECREF(rest);
    return result;
}

static PyObject *run(const struct function *function, PyObject *callable, const struct arguments *arguments,
                     size_t flags)
{
    PyObject *result = PyBytes_CheckExact(callable) || callable == Py_None ? Py_NewRef(callable)
                       : arguments->names                                  ? run_named(function, callable, arguments)
                                          : PyObject_Vectorcall(callable, arguments->values, flags, NULL);
    Py_DECREF(callable);
    return result;
}

static PyObject *function_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    struct function *function = (struct function *)self;
    const struct arguments arguments = {args, PyVectorcall_NARGS(flags),
                                        names && PyTuple_GET_SIZE(names) ? names : NULL};
    struct owner *owner = function->last;
    function->calls++;
    if (owner && owner->last) {
        struct entry *entry = owner->last;
        PyObject *callable = Py_NewRef(entry->callable);
        enum outcome outcome = stands(function, owner, entry, &arguments);
        if (__builtin_expect(outcome == SAME, 1)) {
            function->hits++;
            return run(function, callable, &arguments, flags);
        }
        Py_DECREF(callable);
        if (outcome == FAILED) PyErr_Clear(); /* said again, with the argument's name */
    }
    PyObject *callable = find(function, &arguments);
    return callable ? run(function, callable, &arguments, flags) : NULL;
}

/* ---- methods --------------------------------------------------------------------------------------------------- */

static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

static PyObject *set_name(PyObject *self, PyObject *args)
{
    (void)args;
    ((struct function *)self)->is_method = true;
    Py_RETURN_NONE;
}

static PyObject *cache_info(PyObject *self, PyObject *none)
{
    const struct function *function = (const struct function *)self;
    (void)none;
    return PyObject_CallFunction(state.CacheInfo, "KKKKK", function->calls, function->hits, function->lowers,
                                 function->compiles, function->discoveries);
}

static PyObject *cache_clear(PyObject *self, PyObject *none)
{
    struct function *function = (struct function *)self;
    PyObject *owners = owners_of(function);
    (void)none;
    if (!owners) return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(owners); i++) {
        struct owner *owner = (struct owner *)PyList_GET_ITEM(owners, i);
        owner_clear_entries(owner);
        Py_CLEAR(owner->baseline);
        Py_CLEAR(owner->baseline_values);
    }
    Py_DECREF(owners);
    if (!function->is_llvm) native_trim(function); /* machine code may be running on another thread */
    Py_RETURN_NONE;
}

static PyObject *key_of(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    struct function *function = (struct function *)self;
    const struct arguments arguments = {args, count, names && PyTuple_GET_SIZE(names) ? names : NULL};
    if (!function->wrapped) return PyErr_Format(PyExc_ReferenceError, "a function that is being freed has no key");
    struct key key = {.owner = NULL};
    sink_init(&key.sink);
    PyObject *fields = write_key(&key, function, &arguments) ? NULL : fields_of(function, &key);
    PyObject *line = fields ? PyUnicode_FromString("\n") : NULL, *text = line ? PyUnicode_Join(line, fields) : NULL;
    Py_XDECREF(line);
    Py_XDECREF(fields);
    release_key(&key);
    return text;
}

static PyObject *count_discovery(PyObject *self, PyObject *none)
{
    (void)none;
    ((struct function *)self)->discoveries++;
    Py_RETURN_NONE;
}

static PyObject *variables_of(PyObject *self, PyObject *none)
{
    const struct variables *variables = &((struct function *)self)->variables;
    PyObject *list = PyList_New(0);
    (void)none;
    for (size_t i = 0; list && i < variables->count; i++)
        if (PyList_Append(list, variables->all[i].name)) Py_CLEAR(list);
    return list;
}

static PyObject *function_reduce(PyObject *self, PyObject *none)
{
    (void)none;
    return Py_NewRef(((struct function *)self)->name); /* pickle finds it by its name, as it does functions */
}

static PyObject *function_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<kiln.Function %U>", ((struct function *)self)->name);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static int read_rule(PyObject *told, Py_ssize_t *count, uint32_t **rules)
{
    *count = -1;
    if (told == Py_None) return 0;
    *rules = PyMem_Calloc((size_t)PyTuple_GET_SIZE(told) + 1, sizeof **rules);
    if (!*rules) return PyErr_NoMemory(), -1;
    *count = PyTuple_GET_SIZE(told);
    for (Py_ssize_t i = 0; i < *count; i++) (*rules)[i] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(told, i));
    return PyErr_Occurred() ? -1 : 0;
}

/* (name, kind, type, align, dims, strides) of each parameter, checked by jit(). */
static int read_parameter(struct parameter *parameter, PyObject *told)
{
    PyObject *name, *type, *dims, *strides;
    int kind;
    unsigned align;
    if (!PyArg_ParseTuple(told, "UiOIOO", &name, &kind, &type, &align, &dims, &strides)) return -1;
    parameter->name = Py_NewRef(name);
    parameter->kind = (enum parameter_kind)kind;
    parameter->type = Py_NewRef(type);
    parameter->rule.align = align;
    return read_rule(dims, &parameter->rule.dim_count, &parameter->rule.dims) ||
                   read_rule(strides, &parameter->rule.stride_count, &parameter->rule.strides)
               ? -1
               : 0;
}

static int read_parameters(struct function *function, PyObject *list)
{
    size_t count = (size_t)PyTuple_GET_SIZE(list);
    function->parameters = PyMem_Calloc(count + 1, sizeof *function->parameters);
    if (!function->parameters) return PyErr_NoMemory(), -1;
    for (; function->parameter_count < count; function->parameter_count++) {
        struct parameter *parameter = &function->parameters[function->parameter_count];
        if (read_parameter(parameter, PyTuple_GET_ITEM(list, (Py_ssize_t)function->parameter_count)))
            return function->parameter_count++, -1;
        function->is_dynamic |= parameter->kind == PARAMETER_DYNAMIC || parameter->kind == PARAMETER_STREAM;
    }
    return 0;
}

static int read_device(struct function *function, PyObject *device)
{
    if (device == Py_None) return 0;
    const char *text = state_text("device", device);
    if (!text || !(function->device.name = PyMem_RawMalloc(strlen(text) + 1)))
        return text ? (PyErr_NoMemory(), -1) : -1;
    strcpy(function->device.name, text);
    return device_now(&function->device, environment_version()) ? 0 : -1;
}

static int read_variables(struct function *function, PyObject *names)
{
    static const char *const always[] = {"KILN_TARGET", "KILN_OPT_LEVEL", "KILN_FAST_MATH"};
    int failed = 0;
    for (size_t i = 0; !failed && i < sizeof always / sizeof *always; i++) {
        PyObject *name = PyUnicode_InternFromString(always[i]);
        failed = !name || variables_add(&function->variables, name);
        Py_XDECREF(name);
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(names); i++)
        failed = check_variable_name(PyTuple_GET_ITEM(names, i)) ||
                 variables_add(&function->variables, PyTuple_GET_ITEM(names, i));
    return failed ? -1 : 0;
}

/* Called by kiln.jit, which has looked at each argument. */
static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *wrapped, *name, *compiler, *cache, *device, *signature, *packages, *ignored, *variables, *parameters;
    int raises, is_llvm;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "Function: made by kiln.jit");
    if (!PyArg_ParseTuple(args, "O!UOOOOO!O!O!O!ii;functions are made by kiln.jit", &PyFunction_Type, &wrapped, &name,
                          &compiler, &cache, &device, &signature, &PyTuple_Type, &packages, &PyTuple_Type, &ignored,
                          &PyTuple_Type, &variables, &PyTuple_Type, &parameters, &raises, &is_llvm))
        return NULL;
    if (cache != Py_None && !PyObject_TypeCheck(cache, &cache_type))
        return PyErr_Format(PyExc_TypeError, "cache: a kiln.Cache or None, not %s", Py_TYPE(cache)->tp_name);
    struct function *function = (struct function *)type->tp_alloc(type, 0);
    if (!function) return NULL;
    function->call = function_call;
    function->wrapped = Py_NewRef(wrapped);
    function->name = Py_NewRef(name);
    function->compiler = Py_NewRef(compiler);
    function->cache = Py_NewRef(cache);
    function->signature = Py_NewRef(signature);
    function->packages = Py_NewRef(packages);
    function->ignored = Py_NewRef(ignored);
    function->raises_on_drift = raises;
    function->is_llvm = is_llvm;
    function->labels = PyList_New(0);
    function->kept = PyList_New(0);
    function->identity = is_llvm ? PyUnicode_FromString("llvm") : identity_now(function);
    if (!function->labels || !function->kept || !function->identity || read_parameters(function, parameters) ||
        read_device(function, device) || read_variables(function, variables))
        Py_CLEAR(function);
    return (PyObject *)function;
}

static int function_traverse(struct function *function, visitproc visit, void *arg)
{
    Py_VISIT(function->wrapped);
    Py_VISIT(function->compiler);
    Py_VISIT(function->cache);
    Py_VISIT(function->dict);
    Py_VISIT(function->labels);
    Py_VISIT(function->kept);
    for (size_t i = 0; i < function->parameter_count; i++) Py_VISIT(function->parameters[i].type);
    return native_traverse(function, visit, arg);
}

static int function_clear(struct function *function)
{
    owners_leave(function);
    native_free(function);
    Py_CLEAR(function->kept);
    Py_CLEAR(function->wrapped);
    Py_CLEAR(function->compiler);
    Py_CLEAR(function->dict);
    return 0;
}

static void release_parameters(struct function *function)
{
    for (size_t i = 0; i < function->parameter_count; i++) {
        struct parameter *parameter = &function->parameters[i];
        Py_XDECREF(parameter->name);
        Py_XDECREF(parameter->type);
        PyMem_Free(parameter->rule.dims);
        PyMem_Free(parameter->rule.strides);
    }
    PyMem_Free(function->parameters);
}

static void function_dealloc(struct function *function)
{
    PyObject *type, *value, *trace;
    PyObject_GC_UnTrack(function);
    PyErr_Fetch(&type, &value, &trace);
    if (function->weak) PyObject_ClearWeakRefs((PyObject *)function);
    function_clear(function);
    release_parameters(function);
    variables_release(&function->variables);
    PyMem_RawFree(function->device.name);
    Py_XDECREF(function->cache);
    Py_XDECREF(function->name);
    Py_XDECREF(function->signature);
    Py_XDECREF(function->packages);
    Py_XDECREF(function->ignored);
    Py_XDECREF(function->labels);
    Py_XDECREF(function->identity);
    PyErr_Restore(type, value, trace);
    Py_TYPE(function)->tp_free((PyObject *)function);
}

static PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct function, wrapped), READONLY, "The Python function."},
    {"compiler", T_OBJECT, offsetof(struct function, compiler), READONLY, "The compiler that was given."},
    {"cache", T_OBJECT, offsetof(struct function, cache), READONLY, "Its kiln.Cache; None: the process's own."},
    {"_labels", T_OBJECT, offsetof(struct function, labels), READONLY, NULL},
    {"_ignored", T_OBJECT, offsetof(struct function, ignored), READONLY, NULL},
    {"_packages", T_OBJECT, offsetof(struct function, packages), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct function, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"cache_info", cache_info, METH_NOARGS,
     "cache_info(): calls, hits, lowers, compiles, discoveries; exact counts of this function in this process."},
    {"cache_clear", cache_clear, METH_NOARGS,
     "cache_clear(): forgets results, and the values that drift is measured against. Folders keep what they have."},
    {"key", (PyCFunction)(void (*)(void))key_of, METH_FASTCALL | METH_KEYWORDS,
     "key(*args): what a call with these arguments has in its key, a line for each field. The same in every process."},
    {"__set_name__", set_name, METH_VARARGS, NULL},
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {"_variables", variables_of, METH_NOARGS, NULL},
    {"_count_discovery", count_discovery, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject function_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln.Function",
    .tp_doc = "A Python function that prints kernel text; calling it calls the kernel. Made by kiln.jit.",
    .tp_basicsize = sizeof(struct function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = function_new,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_clear = (inquiry)function_clear,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(struct function, call),
    .tp_descr_get = function_get,
    .tp_repr = function_repr,
    .tp_members = members,
    .tp_getset = attributes,
    .tp_methods = methods,
    .tp_dictoffset = offsetof(struct function, dict),
    .tp_weaklistoffset = offsetof(struct function, weak),
};
