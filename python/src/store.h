/*
 * store.h - bytes of others: Cache.get(), .find() and .put(), and kiln.Ticket, which get() gives.
 *
 * A Ticket holds its cache, and ends what kiln_store_get() gave exactly once: in put(), in abandon(), or when it is
 * freed. libkiln waits and writes without the GIL.
 */
#ifndef KILN_PYTHON_STORE_H
#define KILN_PYTHON_STORE_H

#include "state.h"

extern PyTypeObject ticket_type;

/* Methods of kiln.Cache. */
PyObject *store_get(PyObject *cache, PyObject *args, PyObject *kwargs);
PyObject *store_find(PyObject *cache, PyObject *args, PyObject *kwargs);
PyObject *store_put(PyObject *cache, PyObject *args, PyObject *kwargs);

#endif
