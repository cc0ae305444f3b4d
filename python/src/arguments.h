/*
 * arguments.h - the arguments of a call: what of them is in the key, by the annotations of the parameters.
 */
#ifndef KILN_PYTHON_ARGUMENTS_H
#define KILN_PYTHON_ARGUMENTS_H

#include "function.h"

struct arguments {
    PyObject *const *values;
    Py_ssize_t count;
    PyObject *names; /* of the last ones: a tuple, or NULL */
};

/* `at` gets the index of the argument that failed. */
enum outcome arguments_put(struct sink *sink, const struct function *function, const struct arguments *arguments,
                           size_t *at);
/* In front of the exception that is set, if it is ours: which argument is wrong. */
void arguments_name_failed(const struct function *function, size_t at);

/* As a tuple and, where there are names, a dict; both the caller's. -1 with an exception. */
int arguments_unpack(const struct arguments *arguments, PyObject **args, PyObject **kwargs);
/* Calls it with those given by name in their places. */
PyObject *arguments_call(const struct function *function, PyObject *callable, const struct arguments *arguments);

#endif
