/*
 * abi_vector.h - the lists behind the four vector handles.
 *
 * An item is one word, so that all kinds share one implementation; a table says how items of a kind are copied and
 * dropped. Up to KILN_VECTOR_FEW items live inside the box. One owner; not for several threads at once.
 */
#ifndef KILN_MLXC_ABI_VECTOR_H
#define KILN_MLXC_ABI_VECTOR_H

#include "mlxc/handle.h"

enum { KILN_VECTOR_FEW = 8 };

union kiln_item {
    struct kiln_array *array;
    struct kiln_vector *vector;
    char *text;
    int number;
};

struct kiln_vector {
    size_t size, cap;
    union kiln_item *data; /* `few`, or malloc'ed */
    union kiln_item few[KILN_VECTOR_FEW];
};

_Static_assert(sizeof(struct kiln_vector) == KILN_BOX_VECTOR_SIZE, "box.h must know the size of a vector");
_Static_assert(sizeof(union kiln_item) == sizeof(struct kiln_array *), "a vector's data is an array of references");

/* The references in a vector of arrays, and their number; the handle must not be empty. They stay the vector's. */
static inline struct kiln_array *const *kiln__vector_data(mlx_vector_array handle)
{
    return (struct kiln_array *const *)((struct kiln_vector *)handle.ctx)->data;
}

static inline size_t kiln__vector_size(mlx_vector_array handle)
{
    return ((struct kiln_vector *)handle.ctx)->size;
}

/* Puts `count` references into *res, which is overwritten; they are the vector's then, and released on failure. */
int kiln__give_arrays(mlx_vector_array *res, struct kiln_array *const *arrays, size_t count);

#endif
