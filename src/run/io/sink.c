/*
 * sink.c - see sink.h. The temporary file has a name that no other thread or process uses, in the folder of the file
 * that it becomes; of a link, in the folder that it leads to.
 */
#include "run/io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process/callback.h"
#include "run/ops/operation.h"

kiln_status kiln__sink_write(const struct kiln_sink *sink, const void *data, size_t size, kiln_error *err)
{
    if (size == 0 || sink->write(sink->context, data, size)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] writing failed: %s", sink->name, strerror(errno));
}

static kiln_status write_packed(const struct kiln_sink *sink, const struct kiln_array *array, kiln_error *err)
{
    size_t size = (size_t)array->size * kiln__dtype_size(array->dtype);
    if (array->row_contiguous || size == 0) return kiln__sink_write(sink, array->data, size, err);
    char *packed = malloc(size);
    if (!packed) return kiln__no_memory(err, "saving");
    kiln_status status = kiln__copy_packed(array, packed, err);
    if (status == KILN_OK) status = kiln__sink_write(sink, packed, size, err);
    free(packed);
    return status;
}

kiln_status kiln__sink_write_array(const struct kiln_sink *sink, struct kiln_array *array, kiln_error *err)
{
    struct kiln_array *here = NULL;
    kiln_status status = kiln__array_at(array, 0, &here, err);
    if (status == KILN_OK) status = write_packed(sink, here, err);
    kiln__array_unref(here);
    return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static bool write_to_file(void *context, const void *data, size_t size)
{
    return kiln__write_all(*(const int *)context, data, size);
}

static kiln_status refuse(const char *name, const char *path, kiln_error *err)
{
    return kiln__fail(err, KILN_INVALID, "[%s] \"%.400s\" can't be written: %s", name, path, strerror(errno));
}

/* A new file beside `path`; its name, malloc'ed, in *name. -1: errno says why. */
static int open_beside(const char *path, char **name)
{
    static _Atomic unsigned count;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0, file = -1;
    do {
        unsigned number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
        if (asprintf(name, "%.*s.kiln-%ld-%u.part", folder, path, (long)getpid(), number) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
        free(*name); /* of a process that ended here with our number */
    } while (true);
}

static kiln_status write_and_rename(const char *name, const char *path, kiln_saver *save, const void *what,
                                    kiln_error *err)
{
    char *temporary = NULL;
    int file = open_beside(path, &temporary);
    if (file < 0) {
        kiln_status failed = refuse(name, path, err);
        free(temporary);
        return failed;
    }
    struct kiln_sink sink = {name, write_to_file, &file};
    kiln_status status = save(&sink, what, err);
    bool is_whole = !status && fsync(file) == 0;
    is_whole = close(file) == 0 && is_whole;
    if (!status && (!is_whole || rename(temporary, path) != 0)) status = refuse(name, path, err);
    if (status) unlink(temporary);
    free(temporary);
    return status;
}

kiln_status kiln__save_file(const char *name, const char *path, const char *ending, kiln_saver *save, const void *what,
                            kiln_error *err)
{
    KILN_HOLD_CANCEL;
    char *full = NULL;
    size_t size = strlen(path), tail = strlen(ending);
    bool is_named = size >= tail && strcmp(path + size - tail, ending) == 0;
    if (asprintf(&full, "%s%s", path, is_named ? "" : ending) < 0) return kiln__no_memory(err, "a file name");
    char *target = realpath(full, NULL); /* NULL: there is no such file yet */
    kiln_status status = write_and_rename(name, target ? target : full, save, what, err);
    free(target);
    free(full);
    return status;
}
