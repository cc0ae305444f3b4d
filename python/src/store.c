/*
 * store.c - see store.h. Whoever ends a ticket takes it out of its object first, under the GIL, so that two threads
 * never end it twice.
 */
#include "store.h"

#include <math.h>
#include <string.h>

#include "cache.h"

struct ticket {
    PyObject_HEAD PyObject *cache, *key; /* bytes */
    PyObject *value;                     /* bytes, or NULL: nothing is stored */
    kiln_store_ticket *handle;           /* NULL: others make it, or it is over */
};

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static int check_key(PyObject *key)
{
    if (!PyBytes_Check(key)) {
        PyErr_Format(PyExc_TypeError, "key: bytes, not %s", Py_TYPE(key)->tp_name);
        return -1;
    }
    if (PyBytes_GET_SIZE(key) && (size_t)PyBytes_GET_SIZE(key) <= KILN_STORE_MAX_KEY) return 0;
    PyErr_Format(PyExc_ValueError, "key: 1 to %zu bytes, not %zd", KILN_STORE_MAX_KEY, PyBytes_GET_SIZE(key));
    return -1;
}

static kiln_bytes bytes_of(PyObject *bytes)
{
    return (kiln_bytes){PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)};
}

static int read_name(PyObject *name, kiln_store_options *options)
{
    if (name != Py_None && !(options->name = state_text("name", name))) return -1;
    return 0;
}

/* Seconds; None leaves 0. */
static int read_seconds(const char *what, PyObject *given, uint32_t *ms)
{
    if (given == Py_None) return 0;
    double seconds = PyFloat_Check(given) || PyLong_Check(given) ? PyFloat_AsDouble(given) : -1;
    if (!PyFloat_Check(given) && !PyLong_Check(given))
        PyErr_Format(PyExc_TypeError, "%s: seconds or None, not %s", what, Py_TYPE(given)->tp_name);
    else if (PyErr_Clear(), !(seconds >= 0 && seconds * 1000 <= UINT32_MAX))
        PyErr_Format(PyExc_ValueError, "%s: 0 to %u seconds, not %R", what, UINT32_MAX / 1000, given);
    else
        return *ms = (uint32_t)ceil(seconds * 1000), 0;
    return -1;
}

/* Lines of a name, a tab and a value, as kiln.h has them; NULL with an exception. */
static PyObject *lines_of(PyObject *about)
{
    if (!PyDict_Check(about))
        return PyErr_Format(PyExc_TypeError, "about: a dict or None, not %s", Py_TYPE(about)->tp_name);
    PyObject *lines = PyUnicode_FromString(""), *name, *value;
    for (Py_ssize_t at = 0; lines && PyDict_Next(about, &at, &name, &value);) {
        const char *texts[] = {state_text("about", name), NULL};
        if (texts[0]) texts[1] = state_text("about", value);
        if (texts[1] && (!*texts[0] || strpbrk(texts[0], "\t\n") || strpbrk(texts[1], "\t\n")))
            PyErr_Format(PyExc_ValueError, "about: %R: %R: a name is not empty, and neither holds a tab or a new line",
                         name, value);
        Py_XSETREF(lines, PyErr_Occurred() ? NULL : PyUnicode_FromFormat("%U%s\t%s\n", lines, texts[0], texts[1]));
    }
    Py_ssize_t size = 0;
    if (lines && PyUnicode_AsUTF8AndSize(lines, &size) && (size_t)size > KILN_STORE_MAX_ABOUT) {
        PyErr_Format(PyExc_ValueError, "about: at most %zu bytes, not %zd", KILN_STORE_MAX_ABOUT, size);
        Py_CLEAR(lines);
    }
    return lines;
}

/* ---- put ------------------------------------------------------------------------------------------------------- */

/* True: a folder has it. False: this process alone, as the folder could not take it, which libkiln counted. */
static PyObject *put_bytes(PyObject *cache, PyObject *key, PyObject *value, const kiln_store_options *options,
                           kiln_store_ticket *ticket)
{
    kiln_error error = {KILN_OK, ""};
    kiln_status status;
    kiln_cache *handle = cache_handle(cache);
    Py_BEGIN_ALLOW_THREADS status = kiln_store_put(handle, bytes_of(key), bytes_of(value), options, ticket, &error);
    Py_END_ALLOW_THREADS if (status && status != KILN_IO) return state_raise(status, error.text);
    return PyBool_FromLong(!status);
}

/* What put() is given, as bytes of its own; NULL with an exception. *lines is to be released, and `options` refers to
 * it. */
static PyObject *read_put(PyObject *value, PyObject *name, PyObject *about, PyObject **lines,
                          kiln_store_options *options)
{
    if (!PyObject_CheckBuffer(value))
        return PyErr_Format(PyExc_TypeError, "value: bytes, not %s", Py_TYPE(value)->tp_name);
    if (read_name(name, options)) return NULL;
    if (about != Py_None && (!(*lines = lines_of(about)) || !(options->about = PyUnicode_AsUTF8(*lines)))) return NULL;
    PyObject *bytes = PyBytes_FromObject(value);
    if (!bytes || (size_t)PyBytes_GET_SIZE(bytes) <= KILN_STORE_MAX_VALUE) return bytes;
    PyErr_Format(PyExc_ValueError, "value: at most %zu bytes, not %zd", KILN_STORE_MAX_VALUE, PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return NULL;
}

PyObject *store_put(PyObject *cache, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "value", "name", "about", NULL};
    PyObject *key, *value, *name = Py_None, *about = Py_None, *lines = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OO:put", names, &key, &value, &name, &about)) return NULL;
    if (check_key(key)) return NULL;
    kiln_store_options options = {.struct_size = sizeof options};
    PyObject *bytes = read_put(value, name, about, &lines, &options);
    PyObject *done = bytes ? put_bytes(cache, key, bytes, &options, NULL) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(lines);
    return done;
}

/* ---- tickets --------------------------------------------------------------------------------------------------- */

static kiln_store_ticket *take_out(struct ticket *self)
{
    kiln_store_ticket *handle = self->handle;
    self->handle = NULL;
    return handle;
}

static PyObject *ticket_put(struct ticket *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"value", "name", "about", NULL};
    PyObject *value, *name = Py_None, *about = Py_None, *lines = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:put", names, &value, &name, &about)) return NULL;
    kiln_store_options options = {.struct_size = sizeof options};
    PyObject *bytes = read_put(value, name, about, &lines, &options);
    PyObject *done = bytes ? put_bytes(self->cache, self->key, bytes, &options, take_out(self)) : NULL;
    if (done) Py_XSETREF(self->value, Py_NewRef(bytes));
    Py_XDECREF(bytes);
    Py_XDECREF(lines);
    return done;
}

static void end(struct ticket *self)
{
    kiln_store_ticket *handle = take_out(self);
    if (!handle) return;
    Py_BEGIN_ALLOW_THREADS kiln_store_abandon(handle);
    Py_END_ALLOW_THREADS
}

static PyObject *ticket_abandon(PyObject *self, PyObject *none)
{
    (void)none;
    end((struct ticket *)self);
    Py_RETURN_NONE;
}

static PyObject *ticket_enter(PyObject *self, PyObject *none)
{
    (void)none;
    return Py_NewRef(self);
}

static PyObject *ticket_exit(PyObject *self, PyObject *args)
{
    (void)args;
    end((struct ticket *)self);
    Py_RETURN_NONE;
}

static void ticket_dealloc(struct ticket *self)
{
    end(self);
    Py_XDECREF(self->cache);
    Py_XDECREF(self->key);
    Py_XDECREF(self->value);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *ticket_value(struct ticket *self, void *none)
{
    (void)none;
    return Py_NewRef(self->value ? self->value : Py_None);
}

static PyObject *ticket_is_held(struct ticket *self, void *none)
{
    (void)none;
    return PyBool_FromLong(self->handle != NULL);
}

static PyGetSetDef ticket_attributes[] = {
    {"value", (getter)ticket_value, NULL, "The bytes that are stored, or were put; None: make them.", NULL},
    {"is_held", (getter)ticket_is_held, NULL, "Others wait for this one to put or abandon.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef ticket_methods[] = {
    {"put", (PyCFunction)(void (*)(void))ticket_put, METH_VARARGS | METH_KEYWORDS,
     "put(value, *, name=None, about=None): stores bytes under the key and gives them to all who wait. False: the "
     "folder\ncould not take them (cache_faults), and only this process has them."},
    {"abandon", ticket_abandon, METH_NOARGS, "abandon(): nothing was made; one of those who wait goes on."},
    {"__enter__", ticket_enter, METH_NOARGS, "The ticket."},
    {"__exit__", ticket_exit, METH_VARARGS, "Abandons what was not put."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject ticket_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln.Ticket",
    .tp_doc = "What Cache.get() gives: the bytes of a key, or the right to make them. Belongs to the process; any "
              "thread may end it.\nOne that is freed, or left as a context, is abandoned.\n\n"
              ">>> with Cache(\"\").get(b\"key\") as entry:\n"
              "...     if entry.value is None:\n"
              "...         _ = entry.put(b\"made\")\n"
              ">>> entry.value\nb'made'\n",
    .tp_basicsize = sizeof(struct ticket),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)ticket_dealloc,
    .tp_getset = ticket_attributes,
    .tp_methods = ticket_methods,
};

/* ---- get ------------------------------------------------------------------------------------------------------- */

/* A new bytes object; the value is released. */
static PyObject *take_bytes(kiln_store_value *value)
{
    PyObject *bytes = PyBytes_FromStringAndSize(value->bytes.data, (Py_ssize_t)value->bytes.size);
    kiln_store_release(value);
    return bytes;
}

PyObject *store_get(PyObject *cache, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", "name", "wait", "deadline", NULL};
    PyObject *key, *name = Py_None, *wait = Py_None, *deadline = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOO:get", names, &key, &name, &wait, &deadline)) return NULL;
    kiln_store_options options = {.struct_size = sizeof options};
    if (check_key(key) || read_name(name, &options) || read_seconds("wait", wait, &options.wait_ms) ||
        read_seconds("deadline", deadline, &options.deadline_ms))
        return NULL;
    if (deadline != Py_None && !options.deadline_ms)
        return PyErr_Format(PyExc_ValueError, "deadline: more than 0 seconds");
    if (wait != Py_None && !options.wait_ms) options.flags = KILN_STORE_NO_WAIT;
    struct ticket *self = PyObject_New(struct ticket, &ticket_type);
    if (!self) return NULL;
    self->cache = Py_NewRef(cache);
    self->key = Py_NewRef(key);
    self->value = NULL;
    self->handle = NULL;
    kiln_cache *handle = cache_handle(cache);
    kiln_store_value value = {{NULL, 0}, NULL};
    kiln_error error = {KILN_OK, ""};
    kiln_status status;
    Py_BEGIN_ALLOW_THREADS status = kiln_store_get(handle, bytes_of(key), &options, &value, &self->handle, &error);
    Py_END_ALLOW_THREADS if (status < 0) state_raise(status, error.text);
    if (!status) self->value = take_bytes(&value);
    if (status < 0 || PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

PyObject *store_find(PyObject *cache, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"key", NULL};
    PyObject *key;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:find", names, &key) || check_key(key)) return NULL;
    kiln_cache *handle = cache_handle(cache);
    kiln_store_value value = {{NULL, 0}, NULL};
    kiln_error error = {KILN_OK, ""};
    kiln_status status;
    Py_BEGIN_ALLOW_THREADS status = kiln_store_get(handle, bytes_of(key), NULL, &value, NULL, &error);
    Py_END_ALLOW_THREADS if (status < 0) return state_raise(status, error.text);
    return status ? Py_NewRef(Py_None) : take_bytes(&value);
}
