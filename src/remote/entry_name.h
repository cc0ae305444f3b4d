/*
 * entry_name.h - names of entries: 64 lower-case hexadecimal digits, which stand in paths and commands as they are.
 */
#ifndef KILN_REMOTE_ENTRY_NAME_H
#define KILN_REMOTE_ENTRY_NAME_H

#include <string.h>

#include "base/status.h"
#include "kiln/remote.h"

enum { KILN_ENTRY_NAME = 64 };

static inline kiln_status kiln__entry_name_check(const char *name, kiln_error *err)
{
    if (name && strspn(name, "0123456789abcdef") == KILN_ENTRY_NAME && !name[KILN_ENTRY_NAME]) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "the name of an entry is 64 lower-case hexadecimal digits");
}

static inline kiln_status kiln__entry_put_check(const char *name, kiln_bytes bytes, kiln_error *err)
{
    if (bytes.size <= KILN_REMOTE_MAX_BYTES) return kiln__entry_name_check(name, err);
    return kiln__fail(err, KILN_INVALID, "an entry has at most %zu MiB", KILN_REMOTE_MAX_BYTES >> 20);
}

#endif
