/*
 * usage.c - see usage.h. Invariant: a file is whole records; one that is not is begun anew.
 */
#include "store/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Little-endian; "k hits1\n" in a dump. */
struct record {
    uint64_t kind, processes, calls, hits, compiles, disk_hits, remote_hits, saved_ns;
};
#define KIND 0x0a3173746968206bull

enum { LONG_ENOUGH = 64 << 10 };

static struct record record_of(const kiln_usage *usage)
{
    return (struct record){KIND,
                           usage->processes,
                           usage->calls,
                           usage->hits,
                           usage->compiles,
                           usage->disk_hits,
                           usage->remote_hits,
                           usage->saved_ns};
}

static void add(kiln_usage *sum, const struct record *record)
{
    sum->processes += record->processes;
    sum->calls += record->calls;
    sum->hits += record->hits;
    sum->compiles += record->compiles;
    sum->disk_hits += record->disk_hits;
    sum->remote_hits += record->remote_hits;
    sum->saved_ns += record->saved_ns;
}

/* False: it is no file of ours. */
static bool sum_up(int fd, kiln_usage *out)
{
    struct stat info;
    struct record record;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > KILN_USAGE_LIMIT ||
        info.st_size % (off_t)sizeof record)
        return false;
    for (off_t at = 0; at < info.st_size; at += (off_t)sizeof record) {
        if (pread(fd, &record, sizeof record, at) != (ssize_t)sizeof record || record.kind != KIND) return false;
        add(out, &record);
    }
    return true;
}

static int open_usage(const char *folder, int flags, char path[4200])
{
    if ((size_t)snprintf(path, 4200, "%s/%s", folder, KILN_USAGE_FILE) >= 4200) return -1;
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

void kiln__usage_add(const char *folder, const kiln_usage *usage)
{
    char path[4200];
    struct stat info;
    struct record record = record_of(usage);
    int fd = open_usage(folder, O_RDWR | O_APPEND | O_CREAT, path);
    if (fd < 0) return;
    bool is_ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size % (off_t)sizeof record == 0;
    if (is_ours && info.st_size < LONG_ENOUGH) {
        bool is_written = kiln__write_all(fd, &record, sizeof record);
        if (!is_written && !info.st_size) unlink(path); /* a full disk: no empty file is left */
    } else if (!is_ours || info.st_size >= LONG_ENOUGH) {
        kiln_usage sum = *usage;
        if (!sum_up(fd, &sum)) sum = *usage;
        record = record_of(&sum);
        kiln__file_publish(path, &record, sizeof record, NULL);
    }
    close(fd);
}

void kiln__usage_read(const char *folder, kiln_usage *out)
{
    char path[4200];
    *out = (kiln_usage){.struct_size = sizeof *out};
    int fd = open_usage(folder, O_RDONLY, path);
    if (fd < 0) return;
    if (!sum_up(fd, out)) *out = (kiln_usage){.struct_size = sizeof *out};
    close(fd);
}
