/*
 * prune.c - see prune.h.
 *
 * Invariant: whoever has put an artifact knows a sum that is not below what the folder holds, or counts; and removes
 * before it puts the next one. Nothing is locked meanwhile, so a fork finds nothing taken.
 */
#include "store/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "store/ledger.h"
#include "store/lock.h"

enum {
    SUB_FOLDERS = 256,
    STALE_S = 3600, /* a writer that left this behind is gone */
};

struct file {
    char *path;
    uint64_t size_bytes;
    struct timespec used;
    bool is_artifact; /* otherwise something put aside */
};

struct listing {
    struct file *files;
    size_t count, cap;
    uint64_t size_bytes;
    struct file stuck; /* the first folder in a file's place that can't be removed */
    uint64_t stuck_count;
    int stuck_errno;
    bool failed; /* out of memory: what is here is not all */
};

static const char digits[] = "0123456789abcdef";

bool kiln__is_sub_folder_name(const char *name)
{
    return strspn(name, digits) == 2 && name[2] == '\0';
}

/* What follows the digest that every name of ours starts with; NULL: not ours. */
static const char *after_digest(const char *name)
{
    size_t size = strspn(name, digits);
    return size == KILN_DIGEST_HEX - 1 ? name + size : NULL;
}

static void add_file(struct listing *listing, const char *folder, const char *name, const struct stat *info)
{
    if (listing->count == listing->cap) {
        size_t cap = listing->cap > 0 ? listing->cap * 2 : 64;
        struct file *files = realloc(listing->files, cap * sizeof(*files));
        if (!files) {
            listing->failed = true;
            return;
        }
        listing->files = files, listing->cap = cap;
    }
    struct file *file = &listing->files[listing->count];
    if (asprintf(&file->path, "%s/%s", folder, name) < 0) {
        listing->failed = true;
        return;
    }
    file->size_bytes = (uint64_t)info->st_size;
    file->used = info->st_mtim;
    file->is_artifact = strcmp(after_digest(name), KILN_ARTIFACT_SUFFIX) == 0;
    listing->count++;
    listing->size_bytes += file->size_bytes;
}

bool kiln__is_left_over(const char *name, const struct stat *info, time_t now)
{
    return now - info->st_mtime > STALE_S || kiln__temporary_is_abandoned(name) || kiln__lock_is_abandoned(name);
}

/* A folder of a name of ours is nothing that we made: it goes when it is empty. */
static void remove_folder(struct listing *listing, DIR *entries, const char *folder, const char *name)
{
    if (unlinkat(dirfd(entries), name, AT_REMOVEDIR) == 0 || errno == ENOENT) return;
    if (listing->stuck_count++ > 0) return;
    listing->stuck_errno = errno;
    if (asprintf(&listing->stuck.path, "%s/%s", folder, name) < 0) listing->stuck.path = NULL;
}

/* Lists artifacts and what was put aside, unless `listing` is NULL; removes what writers left that are gone. Other
 * names are not ours. */
static void list_folder(const char *folder, struct listing *listing)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* a link leads to what is not ours */
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (!entries) {
        if (fd >= 0) close(fd);
        return;
    }
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat info;
        const char *ending = after_digest(entry->d_name);
        if (!ending) continue;
        bool is_temporary = strstr(ending, ".tmp-") || kiln__lock_is_name(entry->d_name);
        bool is_kept = strcmp(ending, KILN_ARTIFACT_SUFFIX) == 0 || strcmp(ending, KILN_ASIDE_SUFFIX) == 0;
        if (!is_temporary && (!is_kept || !listing)) continue;
        if (fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(info.st_mode) && listing) remove_folder(listing, entries, folder, entry->d_name);
        if (!S_ISREG(info.st_mode)) continue;
        if (!is_temporary)
            add_file(listing, folder, entry->d_name, &info);
        else if (kiln__is_left_over(entry->d_name, &info, now))
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
}

static void tell(const kiln_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (progress && progress->report) progress->report(progress->context, what, done, total);
}

static void list_everything(const char *folder, struct listing *listing, const kiln_progress *progress)
{
    for (unsigned i = 0; i < SUB_FOLDERS; i++) {
        char *sub_folder;
        if (asprintf(&sub_folder, "%s/%02x", folder, i) < 0) {
            listing->failed = true;
            return;
        }
        list_folder(sub_folder, listing);
        free(sub_folder);
        tell(progress, "looking", i + 1, SUB_FOLDERS);
    }
}

static void release_listing(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) free(listing->files[i].path);
    free(listing->files);
    free(listing->stuck.path);
}

/* Oldest first; ties by name, so that the order is one and the same everywhere. */
static int compare_use(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Nine tenths of a bound, but room for one. */
static uint64_t reduced(uint64_t bound)
{
    uint64_t kept = bound - bound / 10;
    return kept == bound && bound > 1 ? bound - 1 : kept;
}

static void note_failure(const struct file *file, int code, kiln_prune_report *report)
{
    char text[128];
    if (report->failed_files++ > 0) return;
    snprintf(report->failure, sizeof(report->failure), "%.120s: %s", file->path, strerror_r(code, text, sizeof(text)));
}

/* Least recently used first, until the rest is what `keep` allows; `spared` may be NULL. Returns the artifacts removed.
 */
static uint64_t evict(const struct kiln_prune_keep *keep, struct listing *listing, const char *spared,
                      const kiln_progress *progress, kiln_prune_report *report)
{
    uint64_t evicted = 0;
    qsort(listing->files, listing->count, sizeof(*listing->files), compare_use);
    for (size_t i = 0; i < listing->count; i++) {
        const struct file *file = &listing->files[i];
        bool is_over = report->kept_bytes > keep->bytes || report->kept_files > keep->files;
        if (!is_over && file->used.tv_sec >= keep->used_since) break;
        if (spared && strcmp(file->path, spared) == 0) continue;
        if (keep->dry_run || unlink(file->path) == 0) {
            evicted += file->is_artifact;
            report->removed_bytes += file->size_bytes, report->removed_files += 1;
        } else if (errno != ENOENT) { /* otherwise somebody else removed it */
            note_failure(file, errno, report);
            continue;
        }
        report->kept_bytes -= file->size_bytes, report->kept_files -= 1;
        if (i % 64 == 0) tell(progress, "removing", i, listing->count);
    }
    return evicted;
}

kiln_status kiln__prune_now(const char *folder, const struct kiln_prune_keep *keep, const kiln_progress *progress,
                            kiln_prune_report *report, kiln_error *err)
{
    struct listing all = {0};
    list_everything(folder, &all, progress);
    *report = (kiln_prune_report){.kept_files = all.count, .kept_bytes = all.size_bytes};
    kiln_status status = all.failed ? kiln__no_memory(err, "a list of artifacts") : KILN_OK;
    if (status == KILN_OK && all.count > 0) evict(keep, &all, NULL, progress, report);
    if (all.stuck.path) note_failure(&all.stuck, all.stuck_errno, report);
    if (all.stuck_count > 1) report->failed_files += all.stuck_count - 1;
    release_listing(&all);
    return status;
}

static uint64_t count_and_evict(const struct kiln_bounds *bounds, const char *folder, const char *path)
{
    struct listing all = {0};
    struct kiln_count count;
    kiln__ledger_begin(folder, &count);
    list_everything(folder, &all, NULL);
    kiln_prune_report report = {.kept_files = all.count, .kept_bytes = all.size_bytes};
    const struct kiln_prune_keep keep = {reduced(bounds->bytes), reduced(bounds->files), INT64_MIN, false};
    bool is_over = report.kept_bytes > bounds->bytes || report.kept_files > bounds->files;
    uint64_t evicted = is_over ? evict(&keep, &all, path, NULL, &report) : 0;
    kiln__ledger_end(folder, &count, &(struct kiln_total){report.kept_bytes, report.kept_files});
    release_listing(&all);
    return evicted;
}

uint64_t kiln__prune_after_put(const struct kiln_bounds *bounds, const char *folder, const char *path,
                               uint64_t size_bytes)
{
    struct kiln_total total;
    char *sub_folder = strndup(path, (size_t)(strrchr(path, '/') - path));
    if (sub_folder) list_folder(sub_folder, NULL);
    free(sub_folder);
    if (bounds->bytes == UINT64_MAX && bounds->files == UINT64_MAX) return 0;
    if (kiln__ledger_add(folder, size_bytes, &total) && total.bytes <= bounds->bytes && total.files <= bounds->files)
        return 0;
    return count_and_evict(bounds, folder, path);
}
