/*
 * value.h - puts Python values into a sink: constants by exact type and value, containers item by item, tensors by
 * metadata.
 */
#ifndef KILN_PYTHON_VALUE_H
#define KILN_PYTHON_VALUE_H

#include "sink.h"

/* FAILED with UnsignedError, whose text says what to write, when the type of the value or of something in it can't be
 * signed. */
enum outcome value_put(struct sink *sink, PyObject *value);

/* Of a variable that may not be there: NULL is absent. */
enum outcome value_put_or_absent(struct sink *sink, PyObject *value);

#endif
