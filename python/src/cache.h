/*
 * cache.h - kiln.Cache: a folder with artifacts. Functions hold theirs, so it is closed after the last of them.
 */
#ifndef KILN_PYTHON_CACHE_H
#define KILN_PYTHON_CACHE_H

#include "state.h"

extern PyTypeObject cache_type;

/* Of a Cache, or of None, which is the process's own. NULL with an exception. */
kiln_cache *cache_handle(PyObject *cache);

#endif
