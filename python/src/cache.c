/*
 * cache.c - see cache.h.
 */
#include "cache.h"

#include <structmember.h>

#include "store.h"

struct cache {
    PyObject_HEAD kiln_cache *handle;
    PyObject *folder, *weak;
};

kiln_cache *cache_handle(PyObject *cache)
{
    kiln_cache *handle = cache == Py_None ? kiln_cache_default() : ((struct cache *)cache)->handle;
    if (!handle) PyErr_NoMemory();
    return handle;
}

/* Paths of folders and packs, NULL-terminated; the bytes live as long as *kept. */
static const char **paths_of(PyObject *sequence, PyObject **kept)
{
    if (PyUnicode_Check(sequence) || PyBytes_Check(sequence)) {
        PyErr_SetString(PyExc_TypeError, "read_only: a sequence of paths, not one path");
        return NULL;
    }
    PyObject *list = PySequence_List(sequence);
    const char **paths = list ? PyMem_Calloc((size_t)PyList_GET_SIZE(list) + 1, sizeof *paths) : NULL;
    for (Py_ssize_t i = 0; paths && i < PyList_GET_SIZE(list); i++) {
        PyObject *bytes = NULL;
        if (PyUnicode_FSConverter(PyList_GET_ITEM(list, i), &bytes)) {
            PyList_SetItem(list, i, bytes);
            paths[i] = PyBytes_AS_STRING(bytes);
        } else {
            PyMem_Free(paths);
            paths = NULL;
        }
    }
    *kept = list;
    return paths;
}

static int open_cache(struct cache *self, PyObject *read_only, unsigned long long max_bytes,
                      unsigned long long max_files)
{
    PyObject *kept = NULL;
    kiln_error error = {KILN_OK, ""};
    const char **paths = read_only ? paths_of(read_only, &kept) : NULL;
    int failed = read_only && !paths;
    if (!failed) {
        const kiln_cache_options options = {.struct_size = sizeof options,
                                            .folder = self->folder ? PyBytes_AS_STRING(self->folder) : NULL,
                                            .read_only_folders = paths,
                                            .max_bytes = max_bytes,
                                            .max_files = max_files};
        kiln_status status;
        Py_BEGIN_ALLOW_THREADS status = kiln_cache_open(&options, &self->handle, &error);
        Py_END_ALLOW_THREADS if (status) state_raise(status, error.text);
        failed = status != KILN_OK;
    }
    PyMem_Free(paths);
    Py_XDECREF(kept);
    return failed ? -1 : 0;
}

static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"folder", "read_only", "max_bytes", "max_files", NULL};
    PyObject *folder = Py_None, *read_only = NULL;
    long long max_bytes = 0, max_files = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$OLL:Cache", names, &folder, &read_only, &max_bytes, &max_files))
        return NULL;
    if (max_bytes < 0 || max_files < 0)
        return PyErr_Format(PyExc_ValueError, "%s: 0 or more", max_bytes < 0 ? "max_bytes" : "max_files");
    struct cache *self = (struct cache *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    if ((folder != Py_None && !PyUnicode_FSConverter(folder, &self->folder)) ||
        open_cache(self, read_only, (unsigned long long)max_bytes, (unsigned long long)max_files))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void cache_dealloc(struct cache *self)
{
    if (self->weak) PyObject_ClearWeakRefs((PyObject *)self);
    kiln_cache *handle = self->handle;
    if (handle) {
        Py_BEGIN_ALLOW_THREADS kiln_cache_close(handle);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(self->folder);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *cache_folder(struct cache *self, void *none)
{
    (void)none;
    return self->folder ? PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(self->folder)) : Py_NewRef(Py_None);
}

static const struct {
    const char *name;
    size_t at;
} counters[] = {
#define COUNTER(name) {#name, offsetof(kiln_counters, name)}
    COUNTER(calls),       COUNTER(front_hits),    COUNTER(process_hits),  COUNTER(traces),
    COUNTER(kernel_hits), COUNTER(disk_hits),     COUNTER(remote_hits),   COUNTER(compiles),
    COUNTER(links),       COUNTER(drifts),        COUNTER(corrupt),       COUNTER(cache_faults),
    COUNTER(evictions),   COUNTER(linked_bytes),  COUNTER(linked_images), COUNTER(remote_misses),
    COUNTER(remote_puts), COUNTER(remote_faults), COUNTER(remote_waits),  COUNTER(refused_signatures),
    COUNTER(trace_ns),    COUNTER(compile_ns),    COUNTER(link_ns),       COUNTER(saved_ns),
#undef COUNTER
};

static PyObject *cache_counters(struct cache *self, PyObject *unused)
{
    kiln_counters all;
    (void)unused;
    kiln_cache_counters(self->handle, &all);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < sizeof counters / sizeof *counters; i++) {
        PyObject *count =
            PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)((const char *)&all + counters[i].at));
        if (!count || PyDict_SetItemString(dict, counters[i].name, count)) Py_CLEAR(dict);
        Py_XDECREF(count);
    }
    return dict;
}

static PyGetSetDef attributes[] = {
    {"folder", (getter)cache_folder, NULL, "The folder that was given; None: the usual one.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"counters", (PyCFunction)cache_counters, METH_NOARGS,
     "counters(): a dict of exact counts since it was opened; kiln.h says what each counts."},
    {"get", (PyCFunction)(void (*)(void))store_get, METH_VARARGS | METH_KEYWORDS,
     "get(key, *, name=None, wait=None, deadline=None): a Ticket with the bytes under a key of the program's own, or, "
     "for one\nasker among threads, processes and hosts, with the right to make them. Others wait so many seconds "
     "(None: 10; 0: not at\nall), and then make them as well. deadline: others wait no longer for this ticket (None: "
     "600). name: for people."},
    {"find", (PyCFunction)(void (*)(void))store_find, METH_VARARGS | METH_KEYWORDS,
     "find(key): the bytes under a key, or None. Waits for nobody who makes them."},
    {"put", (PyCFunction)(void (*)(void))store_put, METH_VARARGS | METH_KEYWORDS,
     "put(key, value, *, name=None, about=None): stores bytes without a ticket, in place of others; as Ticket.put(). "
     "about: a dict\nof texts that kiln show prints."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject cache_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kiln.Cache",
    .tp_doc = "Cache(folder=None, *, read_only=(), max_bytes=0, max_files=0)\n--\n\n"
              "A cache in a folder of its own. folder: None is the usual one (KILN_CACHE_DIR, ~/.cache/kiln), \"\" is "
              "memory only.\n"
              "read_only: folders and packs that are searched first. 0: the usual bounds.\n\n"
              ">>> Cache(\"\").counters()[\"compiles\"]\n0\n",
    .tp_basicsize = sizeof(struct cache),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = cache_new,
    .tp_dealloc = (destructor)cache_dealloc,
    .tp_getset = attributes,
    .tp_methods = methods,
    .tp_weaklistoffset = offsetof(struct cache, weak),
};
