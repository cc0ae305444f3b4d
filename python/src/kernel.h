/*
 * kernel.h - what kiln.llvm gives: machine code behind a C signature, called with tensors as pointers.
 *
 * The x86-64 and AArch64 conventions of Linux place numbers and pointers in one row of registers, floating point in
 * another, and what is left on the stack in order. So one prototype, with all registers of both rows and a fixed part
 * of the stack, calls them all.
 */
#ifndef KILN_PYTHON_KERNEL_H
#define KILN_PYTHON_KERNEL_H

#include "state.h"

extern PyTypeObject kernel_type;

/* `types`: (result, parameters) as _signature.py makes them. NULL with an exception. */
PyObject *kernel_make(PyObject *address, PyObject *name, PyObject *types);

#endif
