/*
 * abi_io.c - io_types.h of the ABI: readers and writers. An array that is loaded lazily holds a reference to its
 * reader.
 */
#include "mlxc/abi_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/callback.h"

void kiln__io_unref(struct kiln_io *io)
{
    if (!io || atomic_fetch_sub_explicit(&io->refs, 1, memory_order_acq_rel) != 1) return;
    if (io->table.free) io->table.free(io->desc);
    free(io);
}

/* ---- a source over a reader -------------------------------------------------------------------------------------- */

struct io_source {
    struct kiln_source base;
    struct kiln_io *io;
};

struct reading {
    const struct kiln_io *io;
    uint64_t offset;
    char *to;
    size_t count;
    bool is_good;
};

static void call_reader(void *context)
{
    struct reading *reading = context;
    const struct kiln_io *io = reading->io;
    io->table.read_at_offset(io->desc, reading->to, reading->count, (size_t)reading->offset);
    reading->is_good = io->table.good(io->desc);
}

static kiln_status read_io(const struct kiln_source *source, uint64_t offset, char *to, size_t count, kiln_error *err)
{
    struct reading reading = {.io = ((const struct io_source *)source)->io, .offset = offset, .to = to, .count = count};
    bool returned = kiln__call_client(call_reader, &reading);
    if (returned && reading.is_good) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[load] the %s at byte %llu",
                      returned ? "reader failed" : "thread left the reader", (unsigned long long)offset);
}

static void free_source(struct kiln_source *source)
{
    kiln__io_unref(((struct io_source *)source)->io);
    free(source);
}

kiln_status kiln__io_source(struct kiln_io *io, struct kiln_source **out, kiln_error *err)
{
    struct io_source *source = calloc(1, sizeof *source);
    if (!source) return kiln__no_memory(err, "a reader");
    atomic_fetch_add_explicit(&io->refs, 1, memory_order_relaxed);
    source->io = io;
    source->base = (struct kiln_source){.refs = 1, .read = read_io, .free = free_source};
    *out = &source->base;
    return KILN_OK;
}

kiln_status kiln__io_open(struct kiln_io *io, struct kiln_source **out, kiln_error *err)
{
    const struct mlx_io_vtable_ *table = &io->table;
    if (!table->good(io->desc) || !table->is_open(io->desc))
        return kiln__fail(err, KILN_INVALID, "[load] the reader is not open");
    kiln_status status = kiln__io_source(io, out, err);
    if (status) return status;
    table->seek(io->desc, 0, SEEK_END);
    (*out)->size = table->tell(io->desc);
    return KILN_OK;
}

/* ---- a sink over a writer ---------------------------------------------------------------------------------------- */

struct writing {
    const struct kiln_io *io;
    const char *data;
    size_t size;
    bool is_good;
};

static void call_writer(void *context)
{
    struct writing *writing = context;
    const struct kiln_io *io = writing->io;
    io->table.write(io->desc, writing->data, writing->size);
    writing->is_good = io->table.good(io->desc);
}

static bool write_io(void *context, const void *data, size_t size)
{
    struct writing writing = {.io = context, .data = data, .size = size};
    errno = EIO;
    bool returned = kiln__call_client(call_writer, &writing);
    return returned && writing.is_good;
}

kiln_status kiln__save_io(const char *name, struct kiln_io *io, kiln_saver *save, const void *what, kiln_error *err)
{
    if (!io->table.good(io->desc) || !io->table.is_open(io->desc))
        return kiln__fail(err, KILN_INVALID, "[%s] the writer is not open", name);
    const struct kiln_sink sink = {name, write_io, io};
    return save(&sink, what, err);
}

/* ---- the ABI ----------------------------------------------------------------------------------------------------- */

static struct kiln_io *new_io(void *desc, mlx_io_vtable vtable, bool is_complete, const char *text)
{
    struct kiln_io *io = is_complete ? malloc(sizeof *io) : NULL;
    if (!io) {
        KILN_FAIL_TEXT(is_complete ? "out of memory: a reader or writer" : text);
        return NULL;
    }
    atomic_init(&io->refs, 1);
    io->desc = desc;
    io->table = vtable;
    return io;
}

mlx_io_reader mlx_io_reader_new(void *desc, mlx_io_vtable vtable)
{
    bool is_complete =
        vtable.is_open && vtable.good && vtable.tell && vtable.seek && vtable.read && vtable.read_at_offset;
    return (mlx_io_reader){new_io(desc, vtable, is_complete,
                                  "[io_reader] the table needs is_open, good, tell, seek, read and read_at_offset")};
}

mlx_io_writer mlx_io_writer_new(void *desc, mlx_io_vtable vtable)
{
    bool is_complete = vtable.is_open && vtable.good && vtable.write;
    return (mlx_io_writer){new_io(desc, vtable, is_complete, "[io_writer] the table needs is_open, good and write")};
}

#define KILN_IO(kind)                                                                                                  \
    int mlx_io_##kind##_descriptor(void **desc_, mlx_io_##kind io)                                                     \
    {                                                                                                                  \
        if (KILN_NO_POINTER(desc_) || KILN_NO_HANDLE(io, "mlx_io_" #kind)) return 1;                                   \
        *desc_ = kiln__unwrap_io(io.ctx)->desc;                                                                        \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int mlx_io_##kind##_tostring(mlx_string *str_, mlx_io_##kind io)                                                   \
    {                                                                                                                  \
        if (KILN_NO_POINTER(str_) || KILN_NO_HANDLE(io, "mlx_io_" #kind)) return 1;                                    \
        const struct kiln_io *given = kiln__unwrap_io(io.ctx);                                                         \
        const char *label = given->table.label ? given->table.label(given->desc) : NULL;                               \
        if (!label) label = "";                                                                                        \
        return kiln__give_text(str_, label, strlen(label));                                                            \
    }                                                                                                                  \
    int mlx_io_##kind##_free(mlx_io_##kind io)                                                                         \
    {                                                                                                                  \
        kiln__io_unref(io.ctx);                                                                                        \
        return 0;                                                                                                      \
    }

KILN_IO(reader)
KILN_IO(writer)
