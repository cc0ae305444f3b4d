/*
 * state.h - what the module holds once per process: its exceptions, and the functions of the package's Python half that
 * C calls.
 *
 * All are strong references that live as long as the process; the package is for the main interpreter only.
 */
#ifndef KILN_PYTHON_STATE_H
#define KILN_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include "kiln.h"

struct state {
    PyObject *Error, *UnsignedError, *DriftError, *LowerError, *CompileError, *LinkError, *NoCompilerError,
        *WouldCompileError;
    PyObject *Stream, *CacheInfo, *EnumMeta;
    PyObject *name_of;       /* holder -> "module.qualname", or for code a digest of what it does */
    PyObject *resolve;       /* (function, holders, packages) -> list of watches */
    PyObject *dtype_name;    /* dtype -> what tells it from every other */
    PyObject *reduce;        /* object -> what __reduce_ex__ says, or None */
    PyObject *jax_layout;    /* array -> (dtype, sharding, ...) */
    PyObject *tensor_layout; /* the same for a tensor that DLPack can't describe */
    PyObject *fields;        /* what a key holds, in words for people */
    PyObject *explain;       /* two lists of fields -> the text of why() */
    PyObject *versions;      /* names of packages -> text */
    PyObject *placeholders;  /* (function, args, kwargs) -> (args, kwargs) as lowering sees them */
    PyObject *log;           /* (kind, text) */
    PyObject *slots_of;      /* class -> list of the names of its slots */
    PyObject *is_library;    /* class -> bool: code that was installed, which is not looked into */
    /* interned */
    PyObject *signature_name, *fields_name, *dict_name, *identity_name, *compile_name, *link_name, *owned_name,
        *wrapped_name, *exchange_name, *dataclass_name, *name_name, *value_name;
};
extern struct state state;

/* UTF-8 of a str without a NUL; NULL with an exception that begins with what it is. Borrowed from the str. */
const char *state_text(const char *what, PyObject *value);

/* The exception of a status that is no KILN_OK. Returns NULL always. */
PyObject *state_raise(kiln_status status, const char *text);

#endif
