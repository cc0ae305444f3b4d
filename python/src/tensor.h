/*
 * tensor.h - what a key holds of numpy's, torch's and JAX's arrays: metadata, read the quickest way each library has.
 *
 * numpy: the C struct, whose layout is part of its stable ABI; checked against its attributes when numpy is first seen.
 * torch, and others with DLPack's exchange functions (a capsule on the type): a DLTensor without a copy, a reference or
 * a synchronisation. JAX: attributes. Nothing here calls __dlpack__ or reads data.
 */
#ifndef KILN_PYTHON_TENSOR_H
#define KILN_PYTHON_TENSOR_H

#include "sink.h"

enum kind_of_type {
    KIND_OTHER, /* not of a library that is known here */
    KIND_NUMPY,
    KIND_EXCHANGE,
    KIND_JAX,
    KIND_NUMPY_SCALAR,
    KIND_NUMPY_DTYPE,
    KIND_NAMED, /* torch.dtype and the like: str() is exact */
};

struct type_kind {
    PyTypeObject *type; /* strong */
    enum kind_of_type kind;
    uint32_t index; /* in keys; names: kind_name */
    int (*exchange)(void *object, void *tensor);
};

/* NULL with an exception; KIND_OTHER is not remembered, and `type` is NULL there. */
const struct type_kind *kind_of(PyTypeObject *type);
PyObject *kind_name(uint32_t index); /* a new reference: "numpy.ndarray"; None: no such kind */

/* A rule for the dims and strides of a parameter's tensor, as in kiln.h: divisor 0 is dynamic, 1 is static. */
struct tensor_rule {
    bool is_dynamic;                    /* dtype, rank and stride classes only */
    uint32_t align;                     /* at most this is kept of the alignment */
    Py_ssize_t dim_count, stride_count; /* -1: all static */
    uint32_t *dims, *strides;
};

/* `rule` may be NULL: all static. */
enum outcome tensor_put(struct sink *sink, PyObject *tensor, const struct type_kind *kind,
                        const struct tensor_rule *rule);
/* Also the bytes: for tensors that are read as global variables. */
enum outcome tensor_put_content(struct sink *sink, PyObject *tensor, const struct type_kind *kind);
enum outcome tensor_put_dtype(struct sink *sink, PyObject *dtype);

/* For launches: the data of a tensor in memory of the CPU. -1 with an exception: no tensor of a known kind, or on
 * another device. */
struct tensor_view {
    void *data;
    char code; /* 'i' 'u' 'f' 'b' 'c', or '?' for what has no C type */
    uint32_t bits;
    bool is_writable;
};
int tensor_view(PyObject *object, struct tensor_view *out);

#endif
