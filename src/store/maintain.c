/*
 * maintain.c - pruning and clearing a folder on request; see kiln/maintain.h.
 *
 * Invariant: artifacts go through kiln__prune_now() only, which knows our names; here the files of the folder itself
 * and empty sub-folders are removed, and only in a folder that holds nothing but what a cache folder holds.
 */
#include "kiln/maintain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process/callback.h"
#include "base/status.h"
#include "store/ledger.h"
#include "store/prune.h"
#include "store/usage.h"

enum { LONGEST_PATH = 4096, LONGEST_LINE = 4096 };

/* Opens `folder`, or the default one, whose path is put into `path`. */
static kiln_status open_folder(const char *folder, char path[LONGEST_PATH], DIR **out, kiln_error *err)
{
    if (!folder) {
        kiln_status status = kiln_inspect_default_folder(path, LONGEST_PATH, err);
        if (status != KILN_OK) return status;
    } else if (strlen(folder) >= LONGEST_PATH || *folder == '\0') {
        return kiln__fail(err, KILN_INVALID, "the path of a folder has 1 to %d bytes", LONGEST_PATH - 1);
    } else {
        strcpy(path, folder);
    }
    *out = opendir(path);
    if (!*out) return kiln__fail(err, KILN_IO, "%s: %s", path, strerror(errno));
    return KILN_OK;
}

/* Files of the folder itself, and the most bytes they may have to be what we take them for. */
static const struct {
    const char *name;
    off_t size;
} own_files[] = {{KILN_TOOLCHAIN_FILE, LONGEST_LINE},
                 {KILN_LEDGER_FILE, KILN_LEDGER_LIMIT},
                 {KILN_TAG_FILE, LONGEST_LINE},
                 {KILN_USAGE_FILE, KILN_USAGE_LIMIT}};

/* One of them, or one that was being written under another name, where `is_temporary` says so. */
static bool is_own_file(const char *name, const struct stat *info, bool *is_temporary)
{
    static const char mark[] = ".tmp-";
    for (size_t i = 0; i < sizeof own_files / sizeof *own_files; i++) {
        size_t size = strlen(own_files[i].name);
        *is_temporary = strncmp(name + strnlen(name, size), mark, sizeof mark - 1) == 0;
        if (strncmp(name, own_files[i].name, size) == 0 && (name[size] == '\0' || *is_temporary))
            return S_ISREG(info->st_mode) && info->st_size <= own_files[i].size;
    }
    return false;
}

/* The file itself stays, as artifacts do; what goes is what a writer left behind that is gone. */
static void remove_left_overs(DIR *list)
{
    time_t now = time(NULL);
    for (struct dirent *item; (item = readdir(list));) {
        struct stat info;
        bool is_temporary;
        bool is_left = fstatat(dirfd(list), item->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                       is_own_file(item->d_name, &info, &is_temporary) && is_temporary &&
                       kiln__is_left_over(item->d_name, &info, now);
        if (is_left) unlinkat(dirfd(list), item->d_name, 0);
    }
}

kiln_status kiln_prune(const char *folder, const kiln_prune_options *options, kiln_prune_report *report,
                       kiln_error *err)
{
    KILN_HOLD_CANCEL;
    char path[LONGEST_PATH];
    DIR *list;
    if (!options || !report || options->struct_size != sizeof(*options))
        return kiln__fail(err, KILN_INVALID, "kiln_prune: needs options with their struct_size, and a report");
    kiln_status status = open_folder(folder, path, &list, err);
    if (status != KILN_OK) return status;
    if (!options->dry_run) remove_left_overs(list);
    closedir(list);
    int64_t now = time(NULL);
    bool has_age = options->max_age_s > 0 && options->max_age_s < (uint64_t)now;
    const struct kiln_prune_keep keep = {
        .bytes = options->max_bytes > 0 ? options->max_bytes : UINT64_MAX,
        .files = options->max_files > 0 ? options->max_files : UINT64_MAX,
        .used_since = has_age ? now - (int64_t)options->max_age_s : INT64_MIN,
        .dry_run = options->dry_run,
    };
    return kiln__prune_now(path, &keep, &options->progress, report, err);
}

/* A cache folder holds sub-folders of two digits, the name of a tool chain, a ledger and a tag. Files that the system
 * leaves behind begin with a dot. */
static kiln_status check_names(const char *path, DIR *list, kiln_error *err)
{
    for (struct dirent *item; (item = readdir(list));) {
        struct stat info = {0};
        bool is_dot = strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0;
        bool is_hidden = strncmp(item->d_name, ".nfs", 4) == 0;
        if (is_dot || is_hidden) continue;
        if (fstatat(dirfd(list), item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) continue;
        bool is_temporary, is_ours = (kiln__is_sub_folder_name(item->d_name) && S_ISDIR(info.st_mode)) ||
                                     is_own_file(item->d_name, &info, &is_temporary);
        if (!is_ours)
            return kiln__fail(err, KILN_INVALID, "%s is not a cache folder: Kiln would not have made '%s' in it", path,
                              item->d_name);
    }
    return KILN_OK;
}

bool kiln__holds_ours_only(const char *folder)
{
    DIR *list = opendir(folder);
    if (!list) return false;
    bool is_ours = check_names(folder, list, NULL) == KILN_OK;
    closedir(list);
    return is_ours;
}

/* Sub-folders that somebody has put something else into stay, as rmdir() refuses them; so does what a writer is at. */
static void remove_rest(DIR *list)
{
    rewinddir(list);
    for (struct dirent *item; (item = readdir(list));) {
        struct stat info;
        bool is_temporary;
        if (kiln__is_sub_folder_name(item->d_name))
            unlinkat(dirfd(list), item->d_name, AT_REMOVEDIR);
        else if (fstatat(dirfd(list), item->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                 is_own_file(item->d_name, &info, &is_temporary) && !is_temporary)
            unlinkat(dirfd(list), item->d_name, 0);
    }
    rewinddir(list);
    remove_left_overs(list);
}

static kiln_status clear(const char *folder, bool dry_run, const kiln_progress *progress, kiln_prune_report *report,
                         kiln_error *err)
{
    char path[LONGEST_PATH];
    DIR *list;
    if (!report) return kiln__fail(err, KILN_INVALID, "kiln_clear: needs a report");
    kiln_status status = open_folder(folder, path, &list, err);
    if (status != KILN_OK) return status;
    const struct kiln_prune_keep nothing = {.used_since = INT64_MAX, .dry_run = dry_run};
    status = check_names(path, list, err);
    if (status == KILN_OK) status = kiln__prune_now(path, &nothing, progress, report, err);
    if (status == KILN_OK && !dry_run) remove_rest(list);
    closedir(list);
    return status;
}

kiln_status kiln_clear_check(const char *folder, kiln_prune_report *report, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    return clear(folder, true, NULL, report, err);
}

kiln_status kiln_clear(const char *folder, const kiln_progress *progress, kiln_prune_report *report, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    return clear(folder, false, progress, report, err);
}
