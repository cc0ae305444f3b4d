/*
 * function.h - kiln.Function: a Python function that prints kernel text, with the cache in front of it.
 *
 * A call goes from its arguments to the callable in C: the words of the last call of this function are compared in
 * place (function.c); a table of keys follows (owner.h); then kiln_get (native.h), where the function itself, the
 * compiler and the linker run, once for everybody who asks. All fields are guarded by the GIL, which kiln_get and its
 * waiting do not hold.
 */
#ifndef KILN_PYTHON_FUNCTION_H
#define KILN_PYTHON_FUNCTION_H

#include "environment.h"
#include "owner.h"
#include "place.h"
#include "tensor.h"

enum parameter_kind { PARAMETER_VALUE, PARAMETER_DYNAMIC, PARAMETER_STREAM, PARAMETER_TENSOR };

struct parameter {
    PyObject *name;
    enum parameter_kind kind;
    PyObject *type; /* of a dynamic one: None, or the class that it must be */
    struct tensor_rule rule;
};

struct native;

struct function {
    PyObject_HEAD vectorcallfunc call;
    PyObject *wrapped, *compiler, *cache, *dict, *weak;
    PyObject *name;
    PyObject *signature;          /* C declaration for kiln.llvm, or None */
    PyObject *packages, *ignored; /* tuples of str */
    PyObject *labels;             /* list: the names of watches, by index */
    PyObject *identity;           /* of the compiler, as it was seen last: str */
    struct parameter *parameters;
    size_t parameter_count;
    struct device_name device;
    struct variables variables;
    struct owner *owners; /* all of them; no references (owner.h) */
    PyObject *kept;       /* list: those that hang on no class */
    struct owner *last;   /* of the last call; borrowed, cleared when it goes */
    struct native *natives;
    bool is_method, raises_on_drift, is_llvm, is_dynamic;
    uint64_t calls, hits, lowers, compiles, discoveries;
};

extern PyTypeObject function_type;

PyObject *function_wrapped(PyObject *function);           /* borrowed */
PyObject *function_name(const struct function *function); /* its __qualname__ when it was made; borrowed, a str */

#endif
