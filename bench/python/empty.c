/*
 * empty.c - the floor of bench-python: a call of a C extension that takes the same arguments and does nothing, and a
 * loop over calls.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <time.h>

static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    Py_RETURN_NONE;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* time_calls(f, args, n): seconds for n calls, each by vectorcall as the interpreter does it. */
static PyObject *time_calls(PyObject *module, PyObject *given)
{
    PyObject *f, *args;
    long n;
    (void)module;
    if (!PyArg_ParseTuple(given, "OO!l", &f, &PyTuple_Type, &args, &n)) return NULL;
    PyObject *values[16];
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count > 15) return PyErr_Format(PyExc_ValueError, "args: at most 15");
    for (Py_ssize_t i = 0; i < count; i++) values[i + 1] = PyTuple_GET_ITEM(args, i);
    double start = seconds();
    for (long i = 0; i < n; i++) {
        PyObject *result = PyObject_Vectorcall(f, values + 1, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (!result) return NULL;
        Py_DECREF(result);
    }
    return PyFloat_FromDouble(seconds() - start);
}

static PyMethodDef methods[] = {
    {"empty", (PyCFunction)(void (*)(void))empty, METH_FASTCALL, NULL},
    {"time_calls", time_calls, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "kiln_bench_empty", .m_size = -1,
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_kiln_bench_empty(void);

PyMODINIT_FUNC PyInit_kiln_bench_empty(void)
{
    return PyModule_Create(&definition);
}
