/*
 * key_write.c - see key_write.h. Invariant: what was written under a temporary name has reached the disk before it gets
 * the name that readers look for.
 */
#include "store/keys/key_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

static kiln_status fail_io(kiln_error *err, const char *verb, const char *path)
{
    char text[128];
    return kiln__fail(err, KILN_IO, "can't %s %s: %s", verb, path, strerror_r(errno, text, sizeof text));
}

static bool write_and_sync(int fd, mode_t mode, kiln_bytes text)
{
    return fchmod(fd, mode) == 0 && kiln__write_all(fd, text.data, text.size) && fsync(fd) == 0;
}

/* Writes it under a name of its own beside `path`; *out is in memory of the caller's. */
static kiln_status write_beside(const char *path, mode_t mode, kiln_bytes text, char **out, kiln_error *err)
{
    if (asprintf(out, "%s.XXXXXX", path) < 0) return *out = NULL, kiln__no_memory(err, path);
    int fd = mkostemp(*out, O_CLOEXEC);
    kiln_status status = fd < 0 ? fail_io(err, "create a file for", path) : KILN_OK;
    if (fd >= 0 && !write_and_sync(fd, mode, text)) status = fail_io(err, "write", *out);
    if (fd >= 0) close(fd);
    if (status == KILN_OK) return KILN_OK;
    if (fd >= 0) unlink(*out);
    free(*out);
    *out = NULL;
    return status;
}

static void sync_folder(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) slash[slash == folder] = '\0';
    int fd = folder ? open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

/* link() and not rename(): it fails where there is a file. */
kiln_status kiln__key_file_create(const char *path, mode_t mode, kiln_bytes text, kiln_error *err)
{
    char *temporary;
    kiln_status status = write_beside(path, mode, text, &temporary, err);
    if (status != KILN_OK) return status;
    if (link(temporary, path) == 0)
        sync_folder(path);
    else if (errno == EEXIST)
        status = kiln__fail(err, KILN_IO, "%s is there already; a key is never written over", path);
    else
        status = fail_io(err, "make", path);
    unlink(temporary);
    free(temporary);
    return status;
}

kiln_status kiln__key_file_replace(const char *path, mode_t mode, kiln_bytes text, kiln_error *err)
{
    char *temporary, *real = realpath(path, NULL);
    const char *target = real ? real : path;
    kiln_status status = write_beside(target, mode, text, &temporary, err);
    if (status == KILN_OK && rename(temporary, target) != 0) {
        status = fail_io(err, "write", target);
        unlink(temporary);
    }
    if (status == KILN_OK) sync_folder(target);
    free(temporary);
    free(real);
    return status;
}

kiln_status kiln__key_folder_lock(const char *path, int *out, kiln_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash > path ? (size_t)(slash - path) : 1);
    if (!folder) return kiln__no_memory(err, path);
    kiln_status status = kiln__folder_make(folder, err);
    *out = status == KILN_OK ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (status == KILN_OK && *out < 0) status = fail_io(err, "open", folder);
    while (*out >= 0 && flock(*out, LOCK_EX) != 0 && errno == EINTR) continue; /* without locks: as if alone */
    free(folder);
    return status;
}
