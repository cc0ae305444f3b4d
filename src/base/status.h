/*
 * status.h - outcomes inside the library.
 *
 * 0 is done, negative failed, positive is a normal other outcome: a miss is no error. The public codes stand in
 * kiln.h; the positive ones below and up to 9 never leave the library.
 */
#ifndef KILN_BASE_STATUS_H
#define KILN_BASE_STATUS_H

#include "kiln.h" /* kiln_status, kiln_error */

enum { KILN_MISS = 1 }; /* nothing stored under this key */

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
