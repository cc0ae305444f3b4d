/*
 * tracked_file.h - the content of a file as a value that can be looked at on every call.
 *
 * There is one record for each path in the process. It keeps the digest of the content, and what stat() said of the
 * file then: while stat() says the same, the digest stands, and a look is one system call. Files that are written while
 * they are looked at, or again within the grain of the file system's clock, are digested anew: a record is believed
 * only when the last change was some time before the digest. A change through a shared mapping is seen when the system
 * notes it in the file's times.
 *
 * Safe for many threads. A look takes no lock while the file does not change.
 */
#ifndef KILN_KEY_TRACKED_FILE_H
#define KILN_KEY_TRACKED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/digest.h"

enum kiln_file_kind {
    KILN_FILE_ABSENT, /* no such file: a value like others */
    KILN_FILE_CONTENT,
    KILN_FILE_FOLDER,
    KILN_FILE_DENIED,  /* it may not be read */
    KILN_FILE_UNKNOWN, /* anything else: a device, an error; nobody can say whether it is the same later */
};

struct kiln_file_value {
    enum kiln_file_kind kind;
    struct kiln_digest digest; /* of the content, else zeros */
};

/* By what it is told that nobody wrote to a file, nor put another one in its place. All zero: there is none. */
struct kiln_file_stamp {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

struct kiln_tracked_file;

/* The record of an absolute path, the caller's reference. NULL: out of memory. */
struct kiln_tracked_file *kiln__tracked_ref(const char *path);
void kiln__tracked_share(struct kiln_tracked_file *file); /* one reference more */
void kiln__tracked_unref(struct kiln_tracked_file *file); /* NULL is fine */
const char *kiln__tracked_path(const struct kiln_tracked_file *file);

/* What it holds now. Returns errno for KILN_FILE_DENIED and KILN_FILE_UNKNOWN, else 0. `stamp` may be NULL. */
int kiln__tracked_look(struct kiln_tracked_file *file, struct kiln_file_value *out, struct kiln_file_stamp *stamp);
/* Only the stamp. */
struct kiln_file_stamp kiln__tracked_stamp(const struct kiln_tracked_file *file);

/*
 * Waits until a change that comes later than this call is sure to give another stamp: until the clock that files get
 * their times from has gone on since the last change. At most some 20 ms; a file whose times can't be waited for, since
 * they lie in the future or are whole seconds, is not waited for.
 */
void kiln__tracked_settle(const struct kiln_tracked_file *file);
/* The clock that files get their times from. */
int64_t kiln__file_clock_ns(void);
/*
 * Was the file surely what it is, by its stamp, before that time of the clock? Where there is none, the nearest folder
 * that there is decides, since what goes changes its folder.
 */
bool kiln__tracked_precedes(const struct kiln_tracked_file *file, const struct kiln_file_stamp *stamp, int64_t time_ns);

static inline bool kiln__file_values_equal(const struct kiln_file_value *a, const struct kiln_file_value *b)
{
    return a->kind == b->kind && a->kind != KILN_FILE_UNKNOWN && !memcmp(&a->digest, &b->digest, sizeof a->digest);
}

static inline bool kiln__file_stamps_equal(const struct kiln_file_stamp *a, const struct kiln_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns;
}

/* For tests: how many files were digested by this process. */
uint64_t kiln__files_digested(void);

#endif
