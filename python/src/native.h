/*
 * native.h - the way from a key to a callable: kiln_get, with the user's function, compiler and linker behind it.
 *
 * kiln_get runs without the GIL; each of its callbacks takes it. An exception of a callback is kept by the call that
 * caused it and raised, with its traceback, when kiln_get has returned; threads that waited for that call get its
 * message as a LowerError, CompileError or LinkError. A fork waits for what other threads compile, without the GIL, at
 * most ten seconds.
 */
#ifndef KILN_PYTHON_NATIVE_H
#define KILN_PYTHON_NATIVE_H

#include "function.h"

/* One call that missed. */
struct miss {
    struct function *function;
    struct owner *owner;
    PyObject *args, *kwargs; /* tuple; dict or NULL */
    PyObject *fields;        /* list of str: the key, for kiln_get and for people */
    PyObject *block;         /* bytes: what was read when the key was made */
    uint64_t generation, variables_stamp;
    kiln_device *device;
    bool has_lowered, has_changed, is_lowering;
    PyObject *error[3]; /* an exception of a callback, as PyErr_Fetch gives it */
    struct miss *outer;
};

/* A new reference to what link() gave, or NULL with an exception, or NULL without one: has_changed, make the key again.
 */
PyObject *native_get(struct miss *miss);

/* Frees the cache's functions of a function; results that nobody else has go at once. */
void native_free(struct function *function);
int native_traverse(struct function *function, visitproc visit, void *arg);
/* Drops their results. */
void native_trim(struct function *function);

/* kiln.env(): the value, noted as something the running lowerings of this thread depend on. */
PyObject *native_env(PyObject *module, PyObject *name);
int check_variable_name(PyObject *name); /* -1 with TypeError or ValueError */

extern PyTypeObject request_type;
extern PyMethodDef native_methods[];

#endif
