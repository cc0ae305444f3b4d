/*
 * module.c - kiln._core: types, exceptions, and what C and the Python half of the package tell each other.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "function.h"
#include "kernel.h"
#include "native.h"
#include "state.h"
#include "store.h"
#include "tensor.h"
#include "value.h"

struct state state;

/* ---- exceptions ------------------------------------------------------------------------------------------------ */

PyObject *state_raise(kiln_status status, const char *text)
{
    PyObject *type = status == KILN_INVALID          ? PyExc_ValueError
                     : status == KILN_UNSIGNED       ? state.UnsignedError
                     : status == KILN_DRIFTED        ? state.DriftError
                     : status == KILN_LOWER_FAILED   ? state.LowerError
                     : status == KILN_COMPILE_FAILED ? state.CompileError
                     : status == KILN_LINK_FAILED    ? state.LinkError
                     : status == KILN_NO_COMPILER    ? state.NoCompilerError
                     : status == KILN_WOULD_COMPILE  ? state.WouldCompileError
                                                     : state.Error;
    if (status == KILN_NO_MEMORY) return PyErr_NoMemory();
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message) PyErr_SetObject(type, message);
    Py_XDECREF(message);
    return NULL;
}

const char *state_text(const char *what, PyObject *value)
{
    Py_ssize_t size;
    if (!PyUnicode_Check(value))
        return PyErr_Format(PyExc_TypeError, "%s: a str, not %s", what, Py_TYPE(value)->tp_name), NULL;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (!text || strlen(text) == (size_t)size) return text;
    return PyErr_Format(PyExc_ValueError, "%s: holds a NUL", what), NULL;
}

static const struct exception {
    const char *name;
    size_t at;
    const char *doc;
} exceptions[] = {
#define EXCEPTION(name, doc) {"kiln." #name, offsetof(struct state, name), doc}
    EXCEPTION(Error, "What Kiln raises of its own. Wrong arguments are TypeError and ValueError; what a callback "
                     "raises arrives as it is."),
    EXCEPTION(UnsignedError, "The type of a value can't sign itself."),
    EXCEPTION(DriftError, "What a function reads is not what it was (drift=\"raise\"), or it kept changing."),
    EXCEPTION(LowerError, "The function failed in another thread, which this one waited for."),
    EXCEPTION(CompileError, "compile() failed."),
    EXCEPTION(LinkError, "link() failed."),
    EXCEPTION(NoCompilerError, "The compiler is not installed, or the process is leaving."),
    EXCEPTION(WouldCompileError, "KILN_MODE=no-compile, and nothing that is stored fits."),
#undef EXCEPTION
};

static PyObject **exception_at(size_t i)
{
    return (PyObject **)(void *)((char *)&state + exceptions[i].at);
}

static int add_exceptions(PyObject *module)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        PyObject *made = PyErr_NewExceptionWithDoc(exceptions[i].name, exceptions[i].doc, i ? state.Error : NULL, NULL);
        if (!made || PyModule_AddObjectRef(module, exceptions[i].name + strlen("kiln."), made)) return -1;
        *exception_at(i) = made;
    }
    return 0;
}

/* ---- the Python half -------------------------------------------------------------------------------------------- */

static const struct helper {
    const char *module, *name;
    size_t at;
} helpers[] = {
#define HELPER(module, name, field) {module, name, offsetof(struct state, field)}
    HELPER("kiln._values", "name_of", name_of),
    HELPER("kiln._values", "dtype_name", dtype_name),
    HELPER("kiln._values", "reduce", reduce),
    HELPER("kiln._values", "jax_layout", jax_layout),
    HELPER("kiln._values", "tensor_layout", tensor_layout),
    HELPER("kiln._values", "slots_of", slots_of),
    HELPER("kiln._values", "is_library", is_library),
    HELPER("kiln._values", "versions", versions),
    HELPER("kiln._values", "CacheInfo", CacheInfo),
    HELPER("kiln._discover", "resolve", resolve),
    HELPER("kiln._parameters", "Stream", Stream),
    HELPER("kiln._parameters", "placeholders", placeholders),
    HELPER("kiln._log", "log", log),
    HELPER("enum", "EnumMeta", EnumMeta),
    HELPER("kiln", "_describe", fields),
#undef HELPER
};

static PyObject *set_helpers(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        PyObject *from = PyImport_ImportModule(helpers[i].module),
                 *found = from ? PyObject_GetAttrString(from, helpers[i].name) : NULL;
        Py_XDECREF(from);
        if (!found) return NULL;
        Py_XSETREF(*(PyObject **)(void *)((char *)&state + helpers[i].at), found);
    }
    Py_RETURN_NONE;
}

static const struct {
    const char *text;
    size_t at;
} names[] = {
#define NAME(text, field) {text, offsetof(struct state, field)}
    NAME("__cache_signature__", signature_name),
    NAME("_fields", fields_name),
    NAME("__dict__", dict_name),
    NAME("identity", identity_name),
    NAME("compile", compile_name),
    NAME("link", link_name),
    NAME("__kiln_owned__", owned_name),
    NAME("__wrapped__", wrapped_name),
    NAME("__dlpack_c_exchange_api__", exchange_name),
    NAME("__dataclass_fields__", dataclass_name),
    NAME("_name_", name_name),
    NAME("_value_", value_name),
#undef NAME
};

static int intern_names(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *text = PyUnicode_InternFromString(names[i].text);
        if (!text) return -1;
        *(PyObject **)(void *)((char *)&state + names[i].at) = text;
    }
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

static PyObject *holders_of(PyObject *module, PyObject *value)
{
    struct sink sink;
    (void)module;
    sink_init(&sink);
    sink.takes_state = true;
    sink.holders = PyList_New(0);
    PyObject *holders = sink.holders && !value_put(&sink, value) ? Py_NewRef(sink.holders) : NULL;
    sink_release(&sink);
    return holders;
}

static PyObject *type_lookup(PyObject *module, PyObject *args)
{
    PyObject *type, *name, *otherwise;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!UO:type_lookup", &PyType_Type, &type, &name, &otherwise)) return NULL;
    PyObject *found = _PyType_Lookup((PyTypeObject *)type, name);
    return Py_NewRef(found ? found : otherwise);
}

static PyObject *name_of_kind(PyObject *module, PyObject *index)
{
    (void)module;
    unsigned long at = PyLong_AsUnsignedLong(index);
    return PyErr_Occurred() ? NULL : kind_name((uint32_t)at);
}

static PyObject *version(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyUnicode_FromString(kiln_version());
}

static PyObject *write_stats(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    kiln_status status = kiln_stats_write();
    if (status) return state_raise(status, "the line that KILN_STATS asks for could not be written");
    Py_RETURN_NONE;
}

/* On whatever thread has something to say. Without an interpreter to say it to, it is lost. */
static void log_line(void *context, kiln_log_kind kind, const char *text)
{
    (void)context;
    if (!Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *done = line ? PyObject_CallFunction(state.log, "iO", (int)kind, line) : NULL;
    if (!done) PyErr_WriteUnraisable(state.log);
    Py_XDECREF(done);
    Py_XDECREF(line);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(gil);
}

static PyObject *take_log(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    kiln_status status = kiln_set_log(0, log_line, NULL, NULL);
    if (status) return state_raise(status, "the log could not be taken");
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_helpers", set_helpers, METH_NOARGS, "Imports what C calls in Python."},
    {"holders_of", holders_of, METH_O, "holders_of(value): the functions, classes and modules in a value."},
    {"type_lookup", type_lookup, METH_VARARGS,
     "type_lookup(type, name, otherwise): the attribute as the MRO finds it, unbound."},
    {"kind_name", name_of_kind, METH_O, "kind_name(index): the name of a type of a library, by its index in keys."},
    {"version", version, METH_NOARGS, "version(): of libkiln.so."},
    {"write_stats", write_stats, METH_NOARGS, "write_stats(): writes the line that KILN_STATS asks for now."},
    {"take_log", take_log, METH_NOARGS, "take_log(): hands Kiln's messages to logging."},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module)
{
    static const struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {{"Function", &function_type}, {"Owner", &owner_type},     {"Cache", &cache_type},
                 {"Ticket", &ticket_type},     {"Request", &request_type}, {"Kernel", &kernel_type}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (PyType_Ready(types[i].type) || PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type))
            return -1;
    return 0;
}

static int fill(PyObject *module)
{
    return intern_names() || add_exceptions(module) || add_types(module) ||
                   PyModule_AddFunctions(module, place_methods) || PyModule_AddFunctions(module, native_methods)
               ? -1
               : 0;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "kiln._core", .m_doc = "The C half of kiln.",
                                        .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        return PyErr_Format(PyExc_ImportError, "kiln works in the main interpreter only");
    if (state.Error) return PyErr_Format(PyExc_ImportError, "kiln can't be imported a second time");
    PyObject *module = PyModule_Create(&definition);
    if (module && fill(module)) Py_CLEAR(module);
    return module;
}
