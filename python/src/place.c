/*
 * place.c - see place.h. kiln.device() and kiln.options() of the package are context managers over these functions.
 */
#include "place.h"

#include <string.h>

#include "environment.h"

static _Thread_local struct device_name current;
static _Thread_local PyObject *options; /* a list of texts: each is all that is pushed up to there */

kiln_device *device_now(struct device_name *wanted, uint64_t version)
{
    if (!wanted->name) wanted = &current;
    if (wanted->found && wanted->version == version && version) return wanted->found;
    kiln_error error = {KILN_OK, ""};
    kiln_device *found;
    kiln_status status = kiln_device_find(wanted->name ? wanted->name : "cpu", &found, &error);
    if (status) {
        state_raise(status, error.text);
        return NULL;
    }
    wanted->found = found;
    wanted->version = version;
    return found;
}

PyObject *options_now(void)
{
    Py_ssize_t count = options ? PyList_GET_SIZE(options) : 0;
    return count ? PyList_GET_ITEM(options, count - 1) : NULL;
}

/* Returns the name of the device before: None, if there was none. */
static PyObject *set_device(PyObject *module, PyObject *name)
{
    (void)module;
    struct device_name wanted = {NULL, NULL, 0};
    if (name != Py_None) {
        const char *text = state_text("device", name);
        if (!text) return NULL;
        if (!(wanted.name = PyMem_RawMalloc(strlen(text) + 1))) return PyErr_NoMemory();
        strcpy(wanted.name, text);
        if (!device_now(&wanted, environment_version())) {
            PyMem_RawFree(wanted.name);
            return NULL;
        }
    }
    PyObject *before = current.name ? PyUnicode_FromString(current.name) : Py_NewRef(Py_None);
    PyMem_RawFree(current.name);
    current = wanted;
    return before;
}

static PyObject *current_device(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    kiln_device *device = device_now(&(struct device_name){NULL, NULL, 0}, environment_version());
    return device ? PyUnicode_FromString(kiln_device_name(device)) : NULL;
}

static PyObject *push_option(PyObject *module, PyObject *args)
{
    const char *name, *value;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss:push_option", &name, &value)) return NULL;
    if (!*name) return PyErr_Format(PyExc_ValueError, "name: an option needs a name");
    if (!options && !(options = PyList_New(0))) return NULL;
    PyObject *before = options_now();
    PyObject *text =
        before ? PyUnicode_FromFormat("%U, %s=%s", before, name, value) : PyUnicode_FromFormat("%s=%s", name, value);
    int failed = !text || PyList_Append(options, text);
    Py_XDECREF(text);
    if (failed) return NULL;
    kiln_status status = kiln_option_push(name, value);
    if (!status) Py_RETURN_NONE;
    PyList_SetSlice(options, PyList_GET_SIZE(options) - 1, PyList_GET_SIZE(options), NULL);
    return state_raise(status, "an option could not be pushed");
}

static PyObject *pop_option(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    Py_ssize_t count = options ? PyList_GET_SIZE(options) : 0;
    if (!count) return PyErr_Format(PyExc_RuntimeError, "no option is pushed on this thread");
    kiln_option_pop();
    if (PyList_SetSlice(options, count - 1, count, NULL)) return NULL;
    if (count == 1) Py_CLEAR(options);
    Py_RETURN_NONE;
}

PyMethodDef place_methods[] = {
    {"set_device", set_device, METH_O,
     "set_device(name): makes it this thread's device; returns the name of the one before."},
    {"current_device", current_device, METH_NOARGS,
     "current_device(): the name of this thread's device, with its target."},
    {"push_option", push_option, METH_VARARGS,
     "push_option(name, value): an option of code generation, on this thread."},
    {"pop_option", pop_option, METH_NOARGS, "pop_option(): drops the option that was pushed last."},
    {NULL, NULL, 0, NULL},
};
