/*
 * trust.c - see trust.h. Invariant: what may change while the process runs (its user, its namespace) is asked for each
 * time; what can't is read once.
 */
#include "base/trust.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *kiln__getenv_trusted(const char *name)
{
    return secure_getenv(name);
}

/* ---- owners --------------------------------------------------------------------------------------------------- */

static uid_t overflow = 65534; /* the kernel's default; written once, by read_overflow() */

static void read_overflow(void)
{
    unsigned found;
    FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
    if (file && fscanf(file, "%u", &found) == 1) overflow = found;
    if (file) fclose(file);
}

/* Of the namespace we are in now: one line that maps all ids there are. Not known: no. */
static bool every_user_is_mapped(void)
{
    unsigned inside, outside, count;
    FILE *file = fopen("/proc/self/uid_map", "re");
    bool found = file && fscanf(file, "%u %u %u", &inside, &outside, &count) == 3;
    if (file) fclose(file);
    return found && inside == 0 && count == UINT32_MAX;
}

bool kiln__identity_trusts(const struct kiln_identity *identity, uid_t owner, bool root_is_fine)
{
    if (owner == identity->overflow && !identity->every_user_has) return false;
    return owner == identity->user || (root_is_fine && owner == 0);
}

bool kiln__user_is_trusted(uid_t owner, bool root_is_fine)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct kiln_identity identity = {.user = geteuid()};
    pthread_once(&once, read_overflow);
    identity.overflow = overflow;
    identity.every_user_has = owner == overflow && every_user_is_mapped(); /* of others it decides nothing */
    return kiln__identity_trusts(&identity, owner, root_is_fine);
}

bool kiln__file_is_trusted(const struct stat *info, bool root_is_fine)
{
    return (info->st_mode & (S_IWGRP | S_IWOTH)) == 0 && kiln__user_is_trusted(info->st_uid, root_is_fine);
}

/* ---- paths ---------------------------------------------------------------------------------------------------- */

char *kiln__path_absolute(const char *path, const char *folder)
{
    char *absolute = NULL, *current = NULL;
    if (path[0] == '/') return strdup(path);
    if (!folder) folder = current = getcwd(NULL, 0);
    if (folder && folder[0] == '/' && asprintf(&absolute, "%s/%s", folder[1] ? folder : "", path) < 0) absolute = NULL;
    free(current);
    return absolute;
}

static char *folder_at_load; /* written once, by note_folder() */

__attribute__((constructor)) static void note_folder(void)
{
    folder_at_load = getcwd(NULL, 0);
}

const char *kiln__folder_at_load(void)
{
    return folder_at_load ? folder_at_load : "";
}
