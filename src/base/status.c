/*
 * status.c - see status.h; and the names of the public statuses.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"

static const char *const status_names[] = {
    "KILN_OK",           "KILN_INVALID",        "KILN_NO_MEMORY",   "KILN_UNSIGNED",    "KILN_DRIFTED",
    "KILN_LOWER_FAILED", "KILN_COMPILE_FAILED", "KILN_LINK_FAILED", "KILN_NO_COMPILER", "KILN_WOULD_COMPILE",
    "KILN_IO",
};
static const char *const other_names[] = {"KILN_COMPILED", "KILN_REMOTE_ABSENT", "KILN_REMOTE_LEASE_LOST",
                                          "KILN_STORE_MISS", "KILN_STORE_BUSY"};

const char *kiln_status_name(kiln_status status)
{
    if (status >= KILN_COMPILED && status <= KILN_STORE_BUSY) return other_names[status - KILN_COMPILED];
    size_t idx = (size_t)-(int64_t)status;
    return idx < sizeof status_names / sizeof *status_names ? status_names[idx] : "unknown status";
}

enum kiln_outcome kiln__outcome(kiln_status status, kiln_error *err)
{
    if (status && err) err->status = status;
    return status ? KILN_FAILED : KILN_DONE;
}

kiln_status kiln__fail(kiln_error *err, kiln_status status, const char *format, ...)
{
    if (err) {
        va_list list;
        va_start(list, format);
        err->status = status;
        kiln__vformat(err->text, sizeof err->text, format, list);
        va_end(list);
    }
    return status;
}

kiln_status kiln__fail_as(kiln_error *err, kiln_status status, const char *name)
{
    if (err) {
        char text[sizeof err->text];
        memcpy(text, err->text, sizeof text);
        size_t room = sizeof text - 1, used = strnlen(name, room / 2);
        snprintf(err->text, sizeof err->text, "%.*s: %.*s", (int)used, name, (int)(room - used - 2), text);
    }
    return status;
}

kiln_status kiln__no_memory(kiln_error *err, const char *what)
{
    return kiln__fail(err, KILN_NO_MEMORY, "out of memory for %s", what);
}
