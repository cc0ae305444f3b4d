/*
 * source.c - see source.h. A handle is an array over foreign memory, the source itself, so that the graph's references
 * keep the source without the graph knowing of it.
 */
#include "run/io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/callback.h"
#include "graph/node.h"

struct file_source {
    struct kiln_source base;
    int file;
};

void kiln__source_unref(struct kiln_source *source)
{
    if (source && atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) == 1) source->free(source);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static kiln_status read_file(const struct kiln_source *source, uint64_t offset, char *to, size_t count, kiln_error *err)
{
    int file = ((const struct file_source *)source)->file;
    while (count > 0) {
        ssize_t got = pread(file, to, count, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return kiln__fail(err, KILN_INVALID, "[load] the file can't be read at byte %llu: %s",
                              (unsigned long long)offset, got < 0 ? strerror(errno) : "it has become shorter");
        to += got;
        offset += (uint64_t)got;
        count -= (size_t)got;
    }
    return KILN_OK;
}

struct mapping {
    void *start;
    size_t size;
};

static void unmap(void *payload)
{
    struct mapping *mapping = payload;
    munmap(mapping->start, mapping->size);
    free(mapping);
}

/* Whole pages around the bytes. A file that others make shorter later ends the process that reads there (SIGBUS), as
 * with every mapping; the files of sink.h are replaced instead. */
static struct kiln_storage *map_file(const struct kiln_source *source, uint64_t offset, size_t size)
{
    int file = ((const struct file_source *)source)->file;
    size_t before = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
    struct stat info;
    struct kiln_storage *storage = NULL;
    if (fstat(file, &info) != 0 || (uint64_t)info.st_size < offset + size) return NULL;
    struct mapping *mapping = malloc(sizeof *mapping);
    if (!mapping) return NULL;
    mapping->size = size + before;
    mapping->start = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - before));
    if (mapping->start == MAP_FAILED) {
        free(mapping);
        return NULL;
    }
    if (kiln__storage_foreign((char *)mapping->start + before, size, unmap, mapping, &storage, NULL)) unmap(mapping);
    return storage;
}

static void close_file(struct kiln_source *source)
{
    close(((struct file_source *)source)->file);
    free(source);
}

kiln_status kiln__source_open(const char *path, struct kiln_source **out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        kiln__fail(err, KILN_INVALID, "[load] \"%.400s\" can't be opened: %s", path,
                   file < 0 ? strerror(errno) : "it is not a file");
        if (file >= 0) close(file);
        return KILN_INVALID;
    }
    struct file_source *source = calloc(1, sizeof *source);
    if (!source) {
        close(file);
        return kiln__no_memory(err, "a file");
    }
    source->base =
        (struct kiln_source){.refs = 1, .size = (uint64_t)info.st_size, .read = read_file, .free = close_file};
    source->file = file;
    *out = &source->base;
    return KILN_OK;
}

kiln_status kiln__source_open_mapped(const char *path, struct kiln_source **out, kiln_error *err)
{
    kiln_status status = kiln__source_open(path, out, err);
    if (status == KILN_OK) (*out)->map = map_file;
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

static void release(void *payload)
{
    kiln__source_unref(payload);
}

kiln_status kiln__source_array(struct kiln_source *source, struct kiln_array **out, kiln_error *err)
{
    struct kiln_storage *storage = NULL;
    struct kiln_array *array = NULL;
    kiln_status status = kiln__array_new(KILN_UINT8, 0, NULL, &array, err);
    if (status == KILN_OK) status = kiln__storage_foreign(source, sizeof *source, release, source, &storage, err);
    if (status != KILN_OK) {
        kiln__array_unref(array);
        return status;
    }
    atomic_fetch_add_explicit(&source->refs, 1, memory_order_relaxed);
    array->storage = storage;
    array->data = storage->data;
    *out = array;
    return KILN_OK;
}

kiln_status kiln__source_load(struct kiln_array *handle, uint64_t offset, enum kiln_load_form form,
                              enum kiln_dtype dtype, const int *dims, size_t ndim, struct kiln_array **out,
                              kiln_error *err)
{
    int64_t attrs[3 + KILN_MAX_NDIM] = {(int64_t)offset, dtype, form}, size;
    kiln_status status = kiln__shape_check(dims, ndim, dtype, &size, err);
    if (status != KILN_OK) return status;
    for (size_t i = 0; i < ndim; i++) attrs[3 + i] = dims[i];
    return kiln__apply(KILN_OP_LOAD, &handle, 1, attrs, 3 + ndim, out, err);
}
