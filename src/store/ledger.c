/*
 * ledger.c - see ledger.h.
 *
 * Invariant: the estimate is the last count plus every addition that was appended after that count's scan started; so
 * what was published while files were counted is in the sum at least once. A ledger that has grown long is replaced by
 * its sum. What was appended to the old file until then is carried over; a writer that appends to it later sees that
 * the name leads to another file, and appends again.
 */
#include "store/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

struct record {
    uint64_t kind; /* one of the two below, which are text in a dump */
    uint64_t bytes, files;
    uint64_t from; /* of a count: how long the ledger was when it began */
    uint64_t at_s; /* seconds as of time() */
};

#define ADDED   0x0a6465646461206bull /* "k added\n" */
#define COUNTED 0x0a746e756f63206bull /* "k count\n" */

enum {
    LONG_ENOUGH = 64 << 10, /* bytes, to be replaced */
    COUNT_AFTER_S = 3600,   /* somebody may have copied files into the folder */
    TRIES = 8,
};

static int open_ledger(const char *folder, char **path)
{
    if (asprintf(path, "%s/%s", folder, KILN_LEDGER_FILE) < 0) {
        *path = NULL;
        return -1;
    }
    int fd;
    do fd = open(*path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Half a record would misplace all that follow. */
static bool append(int fd, const struct record *record)
{
    return kiln__write_all(fd, record, sizeof *record);
}

/* The whole ledger, to be freed. NULL: it can't be read, or is not one. */
static struct record *read_ledger(int fd, size_t *count)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size % (off_t)sizeof(struct record) != 0 ||
        info.st_size > KILN_LEDGER_LIMIT)
        return NULL;
    size_t size = (size_t)info.st_size;
    struct record *records = malloc(size + 1);
    bool is_read = records && pread(fd, records, size, 0) == (ssize_t)size;
    *count = size / sizeof *records;
    for (size_t i = 0; is_read && i < *count; i++) is_read = records[i].kind == ADDED || records[i].kind == COUNTED;
    if (is_read) return records;
    free(records);
    return NULL;
}

static void add_since(const struct record *records, size_t count, uint64_t from, struct kiln_total *out)
{
    for (size_t i = from / sizeof *records; i < count; i++) {
        if (records[i].kind != ADDED) continue;
        out->bytes += records[i].bytes;
        out->files += records[i].files;
    }
}

/* False: there is no count, or none that is worth something. */
static bool sum_up(const struct record *records, size_t count, struct kiln_total *out)
{
    size_t last = count;
    while (last > 0 && records[last - 1].kind != COUNTED) last--;
    if (last == 0 || (uint64_t)time(NULL) - records[last - 1].at_s > COUNT_AFTER_S) return false;
    *out = (struct kiln_total){records[last - 1].bytes, records[last - 1].files};
    add_since(records, count, records[last - 1].from, out);
    return true;
}

bool kiln__ledger_add(const char *folder, uint64_t size_bytes, struct kiln_total *out)
{
    const struct record added = {.kind = ADDED, .bytes = size_bytes, .files = 1, .at_s = (uint64_t)time(NULL)};
    bool is_known = false, is_added = false;
    for (unsigned i = 0; i < TRIES && !is_added; i++) {
        char *path;
        size_t count;
        int fd = open_ledger(folder, &path);
        bool is_written = fd >= 0 && append(fd, &added);
        is_added = !is_written || kiln__file_is_open_at(fd, path);
        struct record *records = is_written && is_added ? read_ledger(fd, &count) : NULL;
        is_known = records && sum_up(records, count, out);
        free(records);
        if (fd >= 0) close(fd);
        free(path);
    }
    return is_known;
}

void kiln__ledger_begin(const char *folder, struct kiln_count *count)
{
    char *path;
    struct stat info;
    count->fd = open_ledger(folder, &path);
    count->from = count->fd >= 0 && fstat(count->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    free(path);
}

/* One record in the place of the ledger, which was `records` a moment ago (NULL: nothing that counts). */
static void renew(int fd, const char *path, struct record sum, const struct record *records, size_t count)
{
    size_t now_count;
    struct kiln_total since = {0, 0}, late = {0, 0};
    if (records) add_since(records, count, sum.from, &since);
    sum.bytes += since.bytes, sum.files += since.files, sum.from = 0;
    if (kiln__file_publish(path, &sum, sizeof sum, NULL) != KILN_OK) return;
    struct record *now = records ? read_ledger(fd, &now_count) : NULL;
    if (now) add_since(now, now_count, count * sizeof *now, &late);
    free(now);
    const struct record carried = {.kind = ADDED, .bytes = late.bytes, .files = late.files, .at_s = sum.at_s};
    int new_fd = late.files ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (new_fd >= 0) append(new_fd, &carried);
    if (new_fd >= 0) close(new_fd);
}

void kiln__ledger_end(const char *folder, const struct kiln_count *count, const struct kiln_total *total)
{
    char *path;
    size_t known;
    if (count->fd < 0) return;
    const struct record sum = {COUNTED, total->bytes, total->files, count->from, (uint64_t)time(NULL)};
    if (asprintf(&path, "%s/%s", folder, KILN_LEDGER_FILE) < 0) path = NULL;
    if (path && kiln__file_is_open_at(count->fd, path)) { /* otherwise another one has begun, with a count of its own */
        struct record *records = read_ledger(count->fd, &known);
        if (!records || known * sizeof *records > LONG_ENOUGH)
            renew(count->fd, path, sum, records, known);
        else
            append(count->fd, &sum);
        free(records);
    }
    close(count->fd);
    free(path);
}
