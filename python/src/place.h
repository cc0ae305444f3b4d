/*
 * place.h - where and how a call compiles: the device and the pushed options of the calling thread, and its running
 * lowerings.
 */
#ifndef KILN_PYTHON_PLACE_H
#define KILN_PYTHON_PLACE_H

#include "sink.h"
#include "state.h"

/* A device by its name (NULL: the thread's current one, "cpu" at first); "cpu" follows KILN_TARGET, so what was found
 * for a name holds for one version of the environment. */
struct device_name {
    char *name; /* NULL: the thread's */
    kiln_device *found;
    uint64_t version;
};
kiln_device *device_now(struct device_name *wanted, uint64_t version); /* NULL with an exception */

/* The options this thread has pushed, as one text: NULL, none. Borrowed until the next push or pop; compare by pointer,
 * then by text. */
PyObject *options_now(void);

extern PyMethodDef place_methods[];

#endif
