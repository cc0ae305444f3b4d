/*
 * base_pack.c - see base_pack.h, and kiln_inspect_base_pack() of kiln/inspect.h.
 */
#include "cache/base_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"
#include "base/config.h"
#include "base/process/callback.h"
#include "cache/kernels/toolchain.h"
#include "kiln/inspect.h"

static const char file_beside[] = "kiln/base.kilnpack";

/* What the setting names; NULL: nothing, so the one beside the library counts. "": none is wanted. */
static const char *named_pack(void)
{
    const char *value = kiln__config("KILN_BASE_PACK");
    return value && !strcmp(value, "0") ? "" : value;
}

void kiln__base_pack_path(struct kiln_buffer *out)
{
    const char *named = named_pack();
    char *beside = named ? NULL : kiln__path_beside(file_beside);
    if (named || beside) kiln__buffer_printf(out, "%s", named ? named : beside);
    free(beside);
}

enum kiln_outcome kiln__base_pack_tier(struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err)
{
    const char *named = named_pack();
    if (named && *named) return kiln__outcome(kiln__tier_read_only(named, events, out, err), err);
    char *beside = named ? NULL : kiln__path_beside(file_beside);
    if (!beside) return KILN_MISS;
    enum kiln_outcome outcome = kiln__outcome(kiln__tier_pack(beside, true, events, out, err), err);
    free(beside);
    return outcome;
}

/* ---- for tools ------------------------------------------------------------------------------------------------ */

/* What caches look kernels up by, where no folder says otherwise. */
static void find_toolchain(char *out, size_t size)
{
    char path[4096];
    if (kiln__plugin_path(path, sizeof path, NULL) == KILN_OK)
        kiln__toolchain_digest(out, size);
    else
        snprintf(out, size, "%s", kiln__toolchain_built());
}

static kiln_status check(const char *path, kiln_error *err)
{
    char line[KILN_TOOLCHAIN_SIZE], here[KILN_TOOLCHAIN_SIZE];
    kiln_status status = kiln_inspect_check_read_only(path, err);
    if (!status) status = kiln_inspect_toolchain(path, line, sizeof line, err);
    if (status) return status;
    find_toolchain(here, sizeof here);
    if (strcmp(line, here) == 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s was built with another tool chain, so nothing in it fits: build it again",
                      path);
}

kiln_status kiln_inspect_base_pack(char *path, size_t size, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_buffer found = {0};
    kiln_status status;
    if (!path || !size) return kiln__fail(err, KILN_INVALID, "kiln_inspect_base_pack: needs room for a path");
    *path = '\0';
    kiln__base_pack_path(&found);
    const char *text = found.size ? (const char *)found.data : "";
    if (found.failed)
        status = kiln__no_memory(err, "a path");
    else if ((size_t)snprintf(path, size, "%s", text) >= size)
        status = kiln__fail(err, KILN_INVALID, "the path %s is too long", text);
    else
        status = *path ? check(path, err) : KILN_OK;
    kiln__buffer_release(&found);
    return status;
}
