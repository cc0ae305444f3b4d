/*
 * file_looks.h - files as they were found when something asked for them, and whether they are so still.
 *
 * Looks are collected while a callback runs, or while a key is chosen: each file is looked at once, and the first look
 * counts, so that everything that is made from a collection is made from one state of each file. Contents are what an
 * entry keeps of it: paths and values, looked at again by every call that would use the entry.
 *
 * Collecting is safe for many threads; contents are immutable.
 */
#ifndef KILN_KEY_FILE_LOOKS_H
#define KILN_KEY_FILE_LOOKS_H

#include <pthread.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/table.h"
#include "key/tracked_file.h"

struct kiln_file_look {
    struct kiln_tracked_file *file; /* a reference */
    struct kiln_file_value value;
    struct kiln_file_stamp stamp;
    int error; /* errno of KILN_FILE_DENIED and KILN_FILE_UNKNOWN */
};

struct kiln_file_looks {
    pthread_mutex_t lock; /* guards what follows while it is collected; never held while a file is looked at */
    struct kiln_file_look *data;
    size_t count, cap;
    struct kiln_table table;
};

void kiln__looks_init(struct kiln_file_looks *looks);
void kiln__looks_release(struct kiln_file_looks *looks);

/* Looks at the file of an absolute path, unless it was looked at before. *out gets the look, whose reference stays the
 * collection's. KILN_NO_MEMORY. */
kiln_status kiln__looks_take(struct kiln_file_looks *looks, const char *path, struct kiln_file_look *out);

/*
 * Were the files all the time since `since_ns` (of the files' clock) what was found, also if a file was looked at only
 * after it was read? They are so still, and their last change was before; of a file that is not there it is enough that
 * `earlier`, which may be NULL, found none either, and of one whose times lie in the future that it found the same.
 * What appears and goes again meanwhile is not seen then.
 */
bool kiln__looks_stand(const struct kiln_file_looks *looks, const struct kiln_file_looks *earlier, int64_t since_ns);
/* Waits until changes that come later are sure to be told from those up to now: kiln__tracked_settle(). */
void kiln__looks_settle(const struct kiln_file_looks *looks);

struct kiln_file_contents {
    bool is_unsure; /* files changed while they were read: never what they were */
    size_t count;
    struct kiln_file_content {
        struct kiln_tracked_file *file; /* a reference */
        struct kiln_file_value value;
    } items[];
};

/* Room for `count` items, none of which is there yet. NULL: out of memory. */
struct kiln_file_contents *kiln__contents_new(size_t count);
void kiln__contents_add(struct kiln_file_contents *contents, const struct kiln_file_look *look);
void kiln__contents_free(struct kiln_file_contents *contents); /* NULL is fine */
/* Do all files still hold it? One stat() for each. */
bool kiln__contents_hold(const struct kiln_file_contents *contents);

#endif
