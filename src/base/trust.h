/*
 * trust.h - whom this process believes: variables of the environment, owners of files, paths that are relative.
 *
 * Variables. A process whose rights are not those of the user who started it (set-user-id, set-group-id, file
 * capabilities: AT_SECURE) must not let that user say which code it loads or which files it reads and writes. So every
 * variable that names a file, a folder or code is read with kiln__getenv_trusted(), which answers as if it were unset
 * there. Variables that choose among what the process has anyway (KILN_MODE, KILN_TARGET, ...) are read with getenv().
 *
 * Owners. Where users are not mapped (user namespaces, containers, idmapped mounts), files of every one of them are
 * shown as the overflow user's, 65534, and a process that is not mapped itself has that id too. So the overflow user
 * owns nothing and nobody owns what is his, except in a namespace that maps every user: there he is one like any other.
 *
 * Paths. What a relative path names changes with chdir(), which any part of the program may call at any time. So paths
 * that are used later are made absolute first.
 */
#ifndef KILN_BASE_TRUST_H
#define KILN_BASE_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

/* getenv(), but NULL in a process whose rights are not those of who started it. */
const char *kiln__getenv_trusted(const char *name);

/* What decides whose a file is. */
struct kiln_identity {
    uid_t user;          /* the effective one */
    uid_t overflow;      /* as whom users without a mapping are shown */
    bool every_user_has; /* a mapping: nobody is shown as another */
};

/* May we believe what a user wrote: are we this user, or is it root, where `root_is_fine`? */
bool kiln__identity_trusts(const struct kiln_identity *identity, uid_t owner, bool root_is_fine);
/* The same of this process as it is now. */
bool kiln__user_is_trusted(uid_t owner, bool root_is_fine);
/* What is to be said of a file whose owner has our id and is not trusted; its argument is that id. */
#define KILN_ANYBODY "in this user namespace user %u stands for everybody who has no id in it"

/* And nobody else may write the file. */
bool kiln__file_is_trusted(const struct stat *info, bool root_is_fine);

/* `path` as seen from `folder` (NULL: the current one), in memory of its own. NULL: out of memory, or the current
 * folder is gone. Links are not followed. */
char *kiln__path_absolute(const char *path, const char *folder);

/* The folder in which the process was when the library was loaded; "" when it was gone. */
const char *kiln__folder_at_load(void);

#endif
