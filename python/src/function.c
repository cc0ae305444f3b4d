/*
 * function.c - see function.h. The recipe of a call:
 *
 *     call_key_stands: place, arguments, what is read: as in the last call? ------ yes --> call what was linked
 * linked call_key_write: the words of all of it -> the owners' table ------------------------- found --> call miss: the
 * words in fields for people -> kiln_get (lower, compile, link) -> keep --> call
 */
#include "function.h"

#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "cache.h"
#include "call_key.h"
#include "kernel.h"
#include "native.h"
#include "state.h"

PyObject *function_wrapped(PyObject *function)
{
    PyObject *wrapped = ((struct function *)function)->wrapped;
    return wrapped ? wrapped : Py_None;
}

PyObject *function_name(const struct function *function)
{
    return function->name;
}

/* ---- a miss ---------------------------------------------------------------------------------------------------- */

static PyObject *kernel_of(struct function *function, PyObject *address, PyObject *args)
{
    PyObject *types = PyObject_CallMethod(state.fields, "signature", "OO", function->signature, args);
    PyObject *kernel = types ? kernel_make(address, function->name, types) : NULL;
    Py_XDECREF(types);
    return kernel;
}

/* A new reference to something callable; None: compiled only; NULL without an exception: the key has to be made again.
 */
static PyObject *make(struct function *function, struct call_key *key, const struct arguments *arguments)
{
    struct miss miss = {.function = function,
                        .owner = key->owner,
                        .block = key->block,
                        .generation = key->generation,
                        .variables_stamp = key->variables_stamp,
                        .device = key->place.device};
    PyObject *made = NULL;
    miss.fields = call_key_fields(function, key);
    if (miss.fields && !arguments_unpack(arguments, &miss.args, &miss.kwargs)) {
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
static struct entry *keep(struct function *function, struct call_key *key, PyObject *callable)
{
    if (call_key_write_rest(key, function)) return NULL;
    uint64_t hash = owner_hash(key->sink.words, key->sink.count);
    return owner_keep(key->owner, hash, key->sink.words, key->sink.count, key->argument_count, callable);
}

static void set_last(struct function *function, struct call_key *key, struct entry *entry)
{
    entry->device = key->place.device;
    entry->variables_stamp = key->variables_stamp;
    entry->block_version = key->block_version;
    Py_XSETREF(entry->options, Py_XNewRef(key->place.options));
    Py_XSETREF(entry->identity, Py_NewRef(key->place.identity));
    if (entry->refs < 2) return; /* the table has been cleared meanwhile */
    key->owner->last = entry;
    function->last = key->owner;
}

/* SAME: *callable is a new reference. DIFFERENT: once more. */
static enum outcome try_to_find(struct function *function, const struct arguments *arguments, PyObject **callable)
{
    struct call_key key = {.owner = NULL};
    sink_init(&key.sink);
    enum outcome outcome = call_key_write(&key, function, arguments);
    if (!outcome) {
        uint64_t hash = owner_hash(key.sink.words, key.sink.count);
        struct entry *entry = owner_lookup(key.owner, hash, key.sink.words, key.sink.count);
        if (entry) {
            entry_ref(entry);
            function->hits++;
            *callable = Py_NewRef(entry->callable);
        } else if ((*callable = make(function, &key, arguments)) && *callable != Py_None) {
            entry = keep(function, &key, *callable);
            if (!entry) Py_CLEAR(*callable);
        }
        if (entry) set_last(function, &key, entry);
        entry_unref(entry);
        outcome = *callable ? SAME : PyErr_Occurred() ? FAILED : DIFFERENT;
    }
    call_key_release(&key);
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

static PyObject *run(const struct function *function, PyObject *callable, const struct arguments *arguments,
                     size_t flags)
{
    PyObject *result = PyBytes_CheckExact(callable) || callable == Py_None ? Py_NewRef(callable)
                       : arguments->names ? arguments_call(function, callable, arguments)
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
        enum outcome outcome = call_key_stands(function, owner, entry, &arguments);
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
    struct call_key key = {.owner = NULL};
    sink_init(&key.sink);
    PyObject *fields = call_key_write(&key, function, &arguments) ? NULL : call_key_fields(function, &key);
    PyObject *line = fields ? PyUnicode_FromString("\n") : NULL, *text = line ? PyUnicode_Join(line, fields) : NULL;
    Py_XDECREF(line);
    Py_XDECREF(fields);
    call_key_release(&key);
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
    static const char *const always[] = {"KILN_TARGET", "KILN_OPT_LEVEL", "KILN_FAST_MATH", "KILN_LINES"};
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
    function->identity = is_llvm ? PyUnicode_FromString("llvm") : PyObject_GetAttr(compiler, state.identity_name);
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
