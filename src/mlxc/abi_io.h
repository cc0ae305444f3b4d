/*
 * abi_io.h - readers and writers of the caller's: a table of functions and what they work on, counted.
 */
#ifndef KILN_MLXC_ABI_IO_H
#define KILN_MLXC_ABI_IO_H

#include <stdatomic.h>

#include "mlxc/handle.h"
#include "run/io/sink.h"
#include "run/io/source.h"

struct kiln_io {
    _Atomic uint32_t refs;
    void *desc;
    mlx_io_vtable table;
};

static inline struct kiln_io *kiln__unwrap_io(void *ctx)
{
    return ctx;
}

void kiln__io_unref(struct kiln_io *io); /* the last one calls the table's free */
/* A source over a reader; takes a reference. */
kiln_status kiln__io_source(struct kiln_io *io, struct kiln_source **out, kiln_error *err);
/* The same of a reader that must be open and good; asks it how many bytes there are. */
kiln_status kiln__io_open(struct kiln_io *io, struct kiln_source **out, kiln_error *err);
/* Writes all of `what` to a writer; errors begin with "[name] ". */
kiln_status kiln__save_io(const char *name, struct kiln_io *io, kiln_saver *save, const void *what, kiln_error *err);

#endif
