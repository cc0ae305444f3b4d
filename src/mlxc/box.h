/*
 * box.h - the memory behind handles.
 *
 * A handle's ctx is a box; the box holds one reference to the object. Boxes come from a short list per thread, because
 * a warm call makes and frees about five of them; a box may be freed on another thread than it was made on. What a list
 * holds is freed when its thread ends.
 */
#ifndef KILN_MLXC_BOX_H
#define KILN_MLXC_BOX_H

#include <stddef.h>

enum kiln_box { KILN_BOX_SMALL, KILN_BOX_VECTOR, KILN_BOX_KINDS };

enum { KILN_BOX_SMALL_SIZE = 16, KILN_BOX_VECTOR_SIZE = 88 };

/* Uninitialised; NULL when out of memory. */
void *kiln__box_new(enum kiln_box kind);
void kiln__box_free(enum kiln_box kind, void *box); /* NULL is fine */

#endif
