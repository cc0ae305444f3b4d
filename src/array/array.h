/*
 * array.h - an array: shape, dtype, and either bytes or the node that will make them.
 *
 * Reference counted and usable from every thread. dtype and shape never change. An array is ready (bytes are there),
 * lazy (`node` says how to make it), or a tracer (a placeholder or result of a running trace, never evaluated).
 * `node` goes from non-NULL to NULL once, with release order after the bytes are in place; whoever loads NULL
 * with acquire order may read data, strides and storage. Before that only run/eval.c writes them.
 */
#ifndef KILN_ARRAY_ARRAY_H
#define KILN_ARRAY_ARRAY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "array/dtype.h"
#include "array/storage.h"

enum { KILN_MAX_NDIM = 32 };

struct kiln_node; /* graph/node.h */

struct kiln_array {
    _Atomic uint32_t refs;
    uint8_t dtype;
    uint8_t ndim;
    bool row_contiguous;              /* packed, last axis fastest; size 0 and 1 count as packed */
    int64_t size;                     /* elements */
    _Atomic(struct kiln_node *) node; /* NULL: ready */
    uint64_t trace;                   /* id of the trace a tracer belongs to, else 0; ids are never reused */
    _Atomic uint64_t mark;            /* its place among what is being differentiated, or 0: graph/marking.h */
    struct kiln_storage *storage;
    char *data;                          /* first element of this view */
    _Atomic(struct kiln_storage *) part; /* host memory with what this view shows of a GPU's storage; NULL: not asked */
    int64_t *strides;                    /* in elements; points behind dims */
    int32_t dims[];                      /* [ndim], then the strides */
};

static inline bool kiln__array_is_ready(const struct kiln_array *array)
{
    return !atomic_load_explicit(&array->node, memory_order_acquire) && array->trace == 0;
}

/* Did a run take its storage (run/plan.h)? Only who held the one reference to such an array has it. */
static inline bool kiln__array_is_consumed(const struct kiln_array *array)
{
    return kiln__array_is_ready(array) && array->size > 0 && !array->storage;
}

static inline struct kiln_array *kiln__array_ref(struct kiln_array *array)
{
    atomic_fetch_add_explicit(&array->refs, 1, memory_order_relaxed);
    return array;
}

/* NULL is fine. Frees a graph of any depth without recursion. */
void kiln__array_unref(struct kiln_array *array);

/* Checks rank (at most KILN_MAX_NDIM), negative sizes and overflow of the product in bytes; *size gets the elements. */
kiln_status kiln__shape_check(const int *dims, size_t ndim, enum kiln_dtype dtype, int64_t *size, kiln_error *err);

/* A shape without bytes: data NULL, packed strides, no node. The caller gives it storage or a node. */
kiln_status kiln__array_new(enum kiln_dtype dtype, size_t ndim, const int *dims, struct kiln_array **out,
                            kiln_error *err);
/* The same for a shape that was checked before, with what kiln__shape_check() gave. */
kiln_status kiln__array_new_checked(enum kiln_dtype dtype, size_t ndim, const int *dims, int64_t size,
                                    struct kiln_array **out, kiln_error *err);
/* With storage of its own, uninitialised. */
kiln_status kiln__array_alloc(enum kiln_dtype dtype, size_t ndim, const int *dims, struct kiln_array **out,
                              kiln_error *err);
/* Copies `data` (packed). */
kiln_status kiln__array_from_data(const void *data, enum kiln_dtype dtype, size_t ndim, const int *dims,
                                  struct kiln_array **out, kiln_error *err);
/* A 0-d array of one element, `bytes` holding it. */
kiln_status kiln__array_scalar(enum kiln_dtype dtype, const void *bytes, struct kiln_array **out, kiln_error *err);
/* Another view of `base`'s storage; `base` must be ready. offset and strides in elements of base's dtype. */
kiln_status kiln__array_view(struct kiln_array *base, size_t ndim, const int *dims, const int64_t *strides,
                             int64_t offset, struct kiln_array **out, kiln_error *err);

/* The same elements and layout at `device_index` (storage.h): the array itself, or one over its storage's device copy.
 * `array` must be ready. *out is the caller's reference. */
kiln_status kiln__array_at(struct kiln_array *array, uint32_t device_index, struct kiln_array **out, kiln_error *err);
/* The same in host memory, for one look: of a view no more than it shows is copied, and that is not kept. */
kiln_status kiln__array_fetch(struct kiln_array *array, struct kiln_array **out, kiln_error *err);
/* Its first element in host memory, copied there if need be, of a view no more than it shows; valid as long as the
 * array. `array` must be ready. */
kiln_status kiln__array_host(struct kiln_array *array, const char **data, kiln_error *err);
/* Where its bytes are: 0 for an array without storage. */
static inline uint32_t kiln__array_device_index(const struct kiln_array *array)
{
    return array->storage ? array->storage->device_index : 0;
}

/* Recomputes row_contiguous from dims and strides. */
void kiln__array_update_layout(struct kiln_array *array);

/*
 * Releasing without recursion: an array whose last reference goes is put on the list `*pending` (linked through
 * `data`), and kiln__array_free_pending() works the list off, which may make it grow. Start with `pending` NULL.
 */
void kiln__array_unref_later(struct kiln_array *array, struct kiln_array **pending); /* NULL is fine */
void kiln__array_free_pending(struct kiln_array *pending);

/* The array layer does not know the graph: graph/node.c installs how a node is released. */
extern void (*kiln__array_free_node)(struct kiln_node *node, struct kiln_array **pending);

/* "(2,3)"; for error texts and tostring. Returns `text`. */
enum { KILN_SHAPE_TEXT = 400 };
const char *kiln__shape_text(const int *dims, size_t ndim, char text[KILN_SHAPE_TEXT]);

#endif
