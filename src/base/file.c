/*
 * file.c - whole files: read, publish.
 *
 * Invariant: a name that readers look for only ever appears by rename(2), so it always names a whole file. Whatever a
 * call opened or created and did not hand over is closed and removed on its one way out.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process/process_id.h"
#include "base/process/signal.h"

static kiln_status fail_io(kiln_error *err, const char *verb, const char *path)
{
    int code = errno;
    char text[128];
    kiln__fail(err, KILN_IO, "can't %s %s: %s", verb, path, strerror_r(code, text, sizeof(text)));
    errno = code;
    return KILN_IO;
}

/* A folder, a pipe or a device is KILN_IO; what is not there is KILN_MISS. */
enum kiln_outcome kiln__file_open_parts(const char *path, int *out, struct stat *info, kiln_error *err)
{
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return KILN_MISS;
    if (fd < 0) return kiln__outcome(fail_io(err, "open", path), err);
    kiln_status status = KILN_OK;
    if (fstat(fd, info) != 0)
        status = fail_io(err, "look at", path);
    else if (!S_ISREG(info->st_mode))
        status = kiln__fail(err, KILN_IO, "%s is not a regular file", path);
    if (status)
        close(fd);
    else
        *out = fd;
    return kiln__outcome(status, err);
}

/* `size` bytes, or as many as are there; the rest stays zero. */
static bool read_all(int fd, char *data, size_t size)
{
    while (size > 0) {
        ssize_t got = read(fd, data, size);
        if (got < 0 && errno != EINTR) return false;
        if (got == 0) return true;
        if (got > 0) data += got, size -= (size_t)got;
    }
    return true;
}

/* A copy and no mapping of the file: touching a mapped page that somebody has cut off the file kills the process, and
 * bytes that were checked must not change afterwards. */
static void *copy_of(int fd, size_t size)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED || read_all(fd, data, size)) return data;
    int code = errno;
    munmap(data, size);
    errno = code;
    return MAP_FAILED;
}

enum kiln_outcome kiln__file_open_bounded(const char *path, uint64_t limit, struct kiln_file *out, kiln_error *err)
{
    enum kiln_outcome outcome = kiln__file_open_parts(path, &out->fd, &out->info, err);
    if (outcome != KILN_DONE) return outcome;
    size_t size = (size_t)out->info.st_size;
    kiln_status status = KILN_OK;
    void *data = (void *)"";
    if (size > limit)
        status =
            kiln__fail(err, KILN_IO, "%s has %zu bytes; at most %llu are read", path, size, (unsigned long long)limit);
    else if (size > 0 && (data = copy_of(out->fd, size)) == MAP_FAILED)
        status = fail_io(err, "read", path);
    if (status != KILN_OK) close(out->fd);
    out->bytes = (kiln_bytes){data, size};
    return kiln__outcome(status, err);
}

enum kiln_outcome kiln__file_open(const char *path, struct kiln_file *out, kiln_error *err)
{
    return kiln__file_open_bounded(path, UINT64_MAX, out, err);
}

void kiln__file_close(const struct kiln_file *file)
{
    close(file->fd);
}

enum kiln_outcome kiln__file_map(const char *path, kiln_bytes *out, kiln_error *err)
{
    struct kiln_file file;
    enum kiln_outcome outcome = kiln__file_open(path, &file, err);
    if (outcome != KILN_DONE) return outcome;
    *out = file.bytes;
    kiln__file_close(&file);
    return KILN_DONE;
}

bool kiln__file_map_copy(kiln_bytes bytes, kiln_bytes *out)
{
    void *data = (void *)"";
    if (bytes.size > 0)
        data = mmap(NULL, bytes.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (data == MAP_FAILED) return false;
    if (bytes.size > 0) memcpy(data, bytes.data, bytes.size);
    *out = (kiln_bytes){data, bytes.size};
    return true;
}

bool kiln__file_read_part(int fd, void *data, size_t size, uint64_t offset)
{
    char *at = data;
    while (size > 0) {
        ssize_t got = pread(fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        at += got, size -= (size_t)got, offset += (uint64_t)got;
    }
    return true;
}

bool kiln__file_is_open_at(int fd, const char *path)
{
    struct stat open_one, there;
    return fstat(fd, &open_one) == 0 && lstat(path, &there) == 0 && open_one.st_dev == there.st_dev &&
           open_one.st_ino == there.st_ino;
}

static bool leads_to(const char *path, const struct stat *info)
{
    struct stat there;
    return stat(path, &there) == 0 && there.st_dev == info->st_dev && there.st_ino == info->st_ino;
}

bool kiln__file_is_at(const struct kiln_file *file, const char *path)
{
    struct stat now;
    return fstat(file->fd, &now) == 0 && now.st_size == file->info.st_size &&
           now.st_mtim.tv_sec == file->info.st_mtim.tv_sec && now.st_mtim.tv_nsec == file->info.st_mtim.tv_nsec &&
           leads_to(path, &file->info);
}

void kiln__file_unmap(kiln_bytes bytes)
{
    if (bytes.size > 0) munmap((void *)(uintptr_t)bytes.data, bytes.size);
}

enum kiln_outcome kiln__file_read(const char *path, size_t limit, struct kiln_buffer *out, kiln_error *err)
{
    struct stat info;
    return kiln__file_read_as(path, limit, out, &info, err);
}

enum kiln_outcome kiln__file_read_as(const char *path, size_t limit, struct kiln_buffer *out, struct stat *info,
                                     kiln_error *err)
{
    enum { STEP = 16384 };
    int fd = -1;
    enum kiln_outcome outcome = kiln__file_open_parts(path, &fd, info, err);
    if (outcome != KILN_DONE) return outcome;
    kiln_status status = KILN_OK;
    while (limit > 0) {
        size_t wanted = limit < STEP ? limit : STEP;
        void *room = kiln__buffer_grow(out, wanted);
        if (!room) {
            status = kiln__no_memory(err, path);
            break;
        }
        ssize_t got;
        do got = read(fd, room, wanted);
        while (got < 0 && errno == EINTR);
        if (got < 0) status = fail_io(err, "read", path);
        size_t kept = got > 0 ? (size_t)got : 0;
        out->size -= wanted - kept;
        out->data[out->size] = '\0';
        limit -= kept;
        if (got <= 0) break;
    }
    close(fd);
    return kiln__outcome(status, err);
}

static const char temporary_mark[] = ".tmp-";

bool kiln__temporary_is_abandoned(const char *name)
{
    const char *mark = strstr(name, temporary_mark);
    return mark && kiln__process_is_gone(mark + sizeof(temporary_mark) - 1);
}

bool kiln__write_all(int fd, const void *data, size_t size)
{
    struct kiln_signal_hold hold;
    const char *at = data;
    bool is_written = true;
    kiln__signal_hold(&hold);
    while (size > 0 && is_written) {
        ssize_t written = write(fd, at, size);
        if (written > 0)
            at += written, size -= (size_t)written;
        else
            is_written = written < 0 && errno == EINTR;
    }
    kiln__signal_release(&hold);
    return is_written;
}

kiln_status kiln__file_publish(const char *path, const void *data, size_t size, kiln_error *err)
{
    return kiln__file_publish_as(path, data, size, 0600, err);
}

kiln_status kiln__file_publish_as(const char *path, const void *data, size_t size, mode_t mode, kiln_error *err)
{
    char *temporary = NULL, process[KILN_PROCESS_TEXT];
    kiln__process_text(process);
    if (asprintf(&temporary, "%s%s%s-XXXXXX", path, temporary_mark, process) < 0) return kiln__no_memory(err, path);
    kiln_status status = KILN_OK;
    int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600, a name nobody has */
    if (fd < 0) {
        status = fail_io(err, "create a file for", path);
    } else {
        if (mode != 0600 && fchmod(fd, mode) != 0) status = fail_io(err, "set the mode of", temporary);
        if (status == KILN_OK && !kiln__write_all(fd, data, size)) status = fail_io(err, "write", temporary);
        if (close(fd) != 0 && errno != EINTR && status == KILN_OK) status = fail_io(err, "write", temporary);
        if (status == KILN_OK && rename(temporary, path) != 0) status = fail_io(err, "rename a file to", path);
        int code = errno;
        if (status != KILN_OK) unlink(temporary);
        errno = code;
    }
    free(temporary);
    return status;
}

/* Another may be published under `path` between the look and the rename: what was caught is looked at again, under a
 * name that nobody else uses, and goes back when it is not the one; a newer one stays in its place. */
bool kiln__file_move(const struct kiln_file *file, const char *path, const char *to)
{
    static _Atomic unsigned count;
    char *caught, process[KILN_PROCESS_TEXT];
    kiln__process_text(process);
    if (!kiln__file_is_at(file, path)) return false;
    if (asprintf(&caught, "%s%s%s-%u", path, temporary_mark, process, atomic_fetch_add(&count, 1)) < 0) return false;
    bool is_it = rename(path, caught) == 0 && leads_to(caught, &file->info);
    bool is_moved = is_it && rename(caught, to) == 0;
    int back = is_it ? 0 : link(caught, path); /* fails when a newer one is there: then that one stays */
    (void)back;
    unlink(caught); /* the second name of what went back, or nothing */
    free(caught);
    return is_moved;
}

/* One write, so that lines of several processes do not mix. */
static bool write_once(int fd, const void *data, size_t size)
{
    struct kiln_signal_hold hold;
    ssize_t written;
    kiln__signal_hold(&hold);
    do written = write(fd, data, size);
    while (written < 0 && errno == EINTR);
    kiln__signal_release(&hold);
    return written >= 0;
}

kiln_status kiln__file_append(const char *path, const void *data, size_t size, kiln_error *err)
{
    int fd;
    do fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail_io(err, "append to", path);
    kiln_status status = write_once(fd, data, size) ? KILN_OK : fail_io(err, "append to", path);
    close(fd);
    return status;
}

kiln_status kiln__file_can_append(const char *path, kiln_error *err)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    if (!is_there && errno != ENOENT) return fail_io(err, "append to", path);
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
    if (!folder) return kiln__no_memory(err, "a path");
    bool can =
        is_there ? !S_ISDIR(info.st_mode) && access(path, W_OK) == 0 : access(slash ? folder : ".", W_OK | X_OK) == 0;
    if (is_there && S_ISDIR(info.st_mode)) errno = EISDIR;
    kiln_status status = can ? KILN_OK : fail_io(err, "append to", path);
    free(folder);
    return status;
}

/* Folders on the way are closed to others as well: who may write one of them could put another in our place. */
static kiln_status make_one(const char *path, mode_t mode, kiln_error *err)
{
    struct stat info;
    if (mkdir(path, mode) == 0) {
        /* What the process's umask took away is given back. */
        if (mode == 0700 || chmod(path, mode) == 0) return KILN_OK;
        return fail_io(err, "set the mode of", path);
    }
    int code = errno;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return KILN_OK;
        return kiln__fail(err, KILN_IO, "%s is not a folder", path);
    }
    errno = code == EEXIST ? errno : code; /* it was there, and somebody has removed it since: ENOENT */
    return fail_io(err, "make the folder", path);
}

kiln_status kiln__folder_make(const char *path, kiln_error *err)
{
    return kiln__folder_make_as(path, 0700, err);
}

kiln_status kiln__folder_make_as(const char *path, mode_t mode, kiln_error *err)
{
    struct stat info;
    if (path[0] == '\0') return kiln__fail(err, KILN_IO, "an empty path is not a folder");
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return KILN_OK; /* as nearly always */
    char *copy = strdup(path);
    if (!copy) return kiln__no_memory(err, path);
    kiln_status status = KILN_OK;
    for (char *slash = strchr(copy + 1, '/'); slash && status == KILN_OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(copy, mode, err);
        *slash = '/';
    }
    if (status == KILN_OK) status = make_one(copy, mode, err);
    free(copy);
    return status;
}
