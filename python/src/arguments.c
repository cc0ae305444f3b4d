/*
 * arguments.c - see arguments.h. f(x, n=3) is f(x, 3) wherever a name has a place.
 */
#include "arguments.h"

#include "state.h"
#include "value.h"

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

enum outcome arguments_put(struct sink *sink, const struct function *function, const struct arguments *arguments,
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

void arguments_name_failed(const struct function *function, size_t at)
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

int arguments_unpack(const struct arguments *arguments, PyObject **args, PyObject **kwargs)
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

/* Arguments by name are passed by their place, as in the key: what was linked has no names of parameters. Those without
 * one keep theirs. */
PyObject *arguments_call(const struct function *function, PyObject *callable, const struct arguments *arguments)
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
