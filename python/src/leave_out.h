/*
 * leave_out.h - test builds can leave a segment out of the key, to show that tests of stale code can fail.
 *
 * With -DKILN_LEAVE_OUT the environment variable KILN_LEAVE_OUT names the segment; otherwise nothing of this is in the
 * extension.
 */
#ifndef KILN_PYTHON_LEAVE_OUT_H
#define KILN_PYTHON_LEAVE_OUT_H

#include <stdbool.h>

#ifdef KILN_LEAVE_OUT
#include <stdlib.h>
#include <string.h>
static inline bool leaves_out(const char *segment)
{
    const char *wanted = getenv("KILN_LEAVE_OUT");
    return wanted && !strcmp(wanted, segment);
}
#else
#define leaves_out(segment) false
#endif

#endif
