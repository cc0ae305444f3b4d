/*
 * memory_io.h - a reader and writer of the program's over a piece of memory, which notes how it is called.
 */
#ifndef KILN_TESTS_SUPPORT_MEMORY_IO_H
#define KILN_TESTS_SUPPORT_MEMORY_IO_H

#include "mlx/c/mlx.h"
#include "support/check.h"

struct memory {
    char data[1024], calls[512];
    size_t size, at;
    bool is_bad, is_freed;
};

static void note(struct memory *memory, const char *format, size_t number)
{
    size_t used = strlen(memory->calls);
    snprintf(memory->calls + used, sizeof memory->calls - used, format, number);
}

static bool memory_is_open(void *desc)
{
    note(desc, "open ", 0);
    return true;
}

static bool memory_good(void *desc)
{
    return !((struct memory *)desc)->is_bad;
}

static size_t memory_tell(void *desc)
{
    note(desc, "tell ", 0);
    return ((struct memory *)desc)->at;
}

static void memory_seek(void *desc, int64_t offset, int whence)
{
    struct memory *memory = desc;
    note(desc, "seek ", 0);
    memory->at = (size_t)offset + (whence == SEEK_END ? memory->size : whence == SEEK_CUR ? memory->at : 0);
}

static void memory_read_at(void *desc, char *data, size_t n, size_t offset)
{
    struct memory *memory = desc;
    note(desc, "at%zu ", n);
    if (offset + n > memory->size)
        memory->is_bad = true;
    else
        memcpy(data, memory->data + offset, n);
}

static void memory_read(void *desc, char *data, size_t n)
{
    struct memory *memory = desc;
    note(desc, "read%zu ", n);
    if (memory->at + n > memory->size) {
        memory->is_bad = true;
        return;
    }
    memcpy(data, memory->data + memory->at, n);
    memory->at += n;
}

static void memory_write(void *desc, const char *data, size_t n)
{
    struct memory *memory = desc;
    note(desc, "write%zu ", n);
    CHECK_LE(memory->at + n, sizeof memory->data);
    memcpy(memory->data + memory->at, data, n);
    memory->size = memory->at += n;
}

static const char *memory_label(void *desc)
{
    (void)desc;
    return "some memory";
}

static void memory_free(void *desc)
{
    ((struct memory *)desc)->is_freed = true;
}

static const mlx_io_vtable memory_table = {memory_is_open, memory_good,  memory_tell,  memory_seek, memory_read,
                                           memory_read_at, memory_write, memory_label, memory_free};

#endif
