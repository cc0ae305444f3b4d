/*
 * status.h - what functions inside the library return, and how they report a failure.
 *
 * Most return a kiln_status (kiln.h): KILN_OK, or a failure whose text is in a kiln_error. A function that can also end
 * in a way that is neither returns an enum kiln_outcome; these are two types, and the compiler warns where they mix.
 */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include "kiln.h" /* kiln_status, kiln_error */

enum kiln_outcome {
    KILN_DONE,
    KILN_FAILED,    /* the status and the text are in the kiln_error, when the caller passed one */
    KILN_MISS,      /* nothing has this name or key */
    KILN_CHANGED,   /* the key no longer describes the values it was signed from: sign again */
    KILN_RECURSIVE, /* this thread is making the value of this very key, or too many values inside of one another */
    KILN_ABANDONED, /* the thread that was making the value left: whoever waited looks again */
};

/* KILN_DONE for KILN_OK; else KILN_FAILED, and `err` (may be NULL) has the status. */
enum kiln_outcome kiln__outcome(kiln_status status, kiln_error *err);
/* The reverse, for KILN_DONE and KILN_FAILED. `err` is what the function that returned `outcome` was given. */
static inline kiln_status kiln__outcome_status(enum kiln_outcome outcome, const kiln_error *err)
{
    return outcome == KILN_DONE ? KILN_OK : err->status;
}

/*
 * Writes `status` and the formatted text to `err` (may be NULL) and returns `status`, so that a failing function can
 * end in `return kiln__fail(...)`. Text from outside is passed as "%s", never as the format. Cut at 1019 bytes.
 */
kiln_status kiln__fail(kiln_error *err, kiln_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "name: " in front of the text of `err` (may be NULL), whose end is cut when it gets too long. Returns `status`.
 */
kiln_status kiln__fail_as(kiln_error *err, kiln_status status, const char *name);

/* KILN_NO_MEMORY with a text that names `what` could not be allocated. */
kiln_status kiln__no_memory(kiln_error *err, const char *what);

#endif
