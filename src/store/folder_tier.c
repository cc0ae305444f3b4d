/*
 * folder_tier.c - the folder tier: <folder>/<2 digits>/<64 digits>.kiln, named by the digest of the key.
 *
 * Invariants: a name ending in .kiln appears by rename only, so readers take no lock and see a whole file or none; an
 * artifact leaves here only when its checksum is right, its full key is the one asked for, this CPU can run it, and
 * either folder and file are ours (or root's) and nobody else may write them, or it is signed by a key that is trusted
 * here: its bytes are a copy of our own before anything is checked. Only the very file that was found bad is put aside,
 * whatever is published meanwhile. Other names: *.tmp-* is being written, *.lock is being made, *.bad was put aside;
 * <folder>/toolchain names who made it all, and <folder>/CACHEDIR.TAG tells backups to pass it over.
 */
#include "store/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/trust.h"
#include "store/prune.h"
#include "store/settings.h"
#include "store/signing.h"

enum {
    TOUCH_AFTER_S = 3600,       /* a hit rewrites a file's time, which orders eviction, at most this often */
    LARGEST_FOREIGN = 256 << 20 /* bytes of an artifact in a folder of others */
};

struct folder {
    struct kiln_tier tier; /* first: a kiln_tier * is a struct folder * */
    struct kiln_bounds bounds;
    unsigned mask;          /* KILN_CACHE_UMASK when it was opened */
    _Atomic bool is_tagged; /* nothing more is to be done about the tag */
    char path[];
};

/* ---- trust --------------------------------------------------------------------------------------------------- */

static kiln_status fail_owner(const char *path, bool writable, const struct stat *info, kiln_error *err)
{
    if (info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return kiln__fail(err, KILN_IO, "the cache folder %s may be anybody's: " KILN_ANYBODY, path,
                          (unsigned)info->st_uid);
    return kiln__fail(err, KILN_IO,
                      "the cache folder %s has owner %u and mode %03o; it must belong to user %u%s, and neither "
                      "group nor others may write it",
                      path, (unsigned)info->st_uid, (unsigned)info->st_mode & 07777, (unsigned)geteuid(),
                      writable ? "" : " or root");
}

/* A folder of others is fine where it is only read, and somebody is trusted who could have signed what is in it. */
static kiln_status check_folder(const char *path, bool writable, bool *is_foreign, kiln_error *err)
{
    struct stat info;
    kiln_error why;
    if (stat(path, &info) != 0) {
        char text[128];
        return kiln__fail(err, KILN_IO, "can't use the cache folder %s: %s", path,
                          strerror_r(errno, text, sizeof(text)));
    }
    if (!S_ISDIR(info.st_mode)) return kiln__fail(err, KILN_IO, "the cache folder %s is not a folder", path);
    *is_foreign = !kiln__file_is_trusted(&info, !writable);
    if (!*is_foreign || (!writable && kiln__trusts_anybody(&why))) return KILN_OK;
    kiln_status status = fail_owner(path, writable, &info, err);
    size_t size = err && !writable ? strlen(err->text) : 0;
    if (size)
        snprintf(err->text + size, sizeof err->text - size, "; or what is in it must be signed: %.600s", why.text);
    return status;
}

/* ---- names --------------------------------------------------------------------------------------------------- */

/* The entry's path in memory of its own; NULL: out of memory. */
static char *entry_path(const struct folder *folder, const struct kiln_digest *digest, const char *suffix)
{
    char hex[KILN_DIGEST_HEX], *path;
    kiln__digest_hex(digest, hex);
    return asprintf(&path, "%s/%.2s/%s%s", folder->path, hex, hex, suffix) < 0 ? NULL : path;
}

/* ---- get ----------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Gives it a name that the next put does not need, so that people can look at it. */
static void move_aside(const struct folder *folder, const struct kiln_digest *digest, const char *path,
                       const struct kiln_file *file)
{
    char *aside = folder->tier.writable ? entry_path(folder, digest, KILN_ASIDE_SUFFIX) : NULL;
    if (aside) kiln__file_move(file, path, aside);
    free(aside);
}

/* What is wrong with the file is wrong for everybody. False: it is no longer in its place, or is being written. */
static bool put_aside(const struct folder *folder, const struct kiln_digest *digest, const char *path,
                      const struct kiln_file *file)
{
    if (!kiln__file_is_at(file, path)) return false;
    atomic_fetch_add_explicit(&folder->tier.events->corrupt, 1, memory_order_relaxed);
    move_aside(folder, digest, path, file);
    return true;
}

/* Whom a file's bytes are from: the folder's and the file's owner, or else whoever signed them. */
static enum kiln_outcome check_origin(struct folder *folder, const char *path, const struct kiln_file *file,
                                      const struct kiln_artifact *artifact, kiln_error *err)
{
    kiln_error why;
    bool is_ours = !folder->tier.is_foreign && kiln__file_is_trusted(&file->info, true);
    if (is_ours || folder->tier.is_foreign) {
        enum kiln_outcome outcome = kiln__tier_check_origin(&folder->tier, path, is_ours, artifact);
        if (outcome != KILN_DONE) move_aside(folder, &artifact->digest, path, file);
        return outcome;
    }
    if (kiln__artifact_verify(artifact, &why) == KILN_OK) return KILN_DONE;
    return kiln__outcome(
        kiln__fail(err, KILN_IO, "%s: others own this entry or may write it, and it is %s", path, why.text), err);
}

/* Decodes and checks a file; its bytes become the artifact's or are given back. KILN_INVALID: nobody can use it. */
static enum kiln_outcome load(struct folder *folder, const char *path, const struct kiln_file *file,
                              const struct kiln_digest *digest, kiln_bytes key, struct kiln_artifact **out,
                              kiln_error *err)
{
    struct kiln_artifact *artifact = NULL;
    enum kiln_outcome outcome;
    if (kiln__artifact_is_newer(file->bytes)) {
        kiln__log(KILN_LOG_FAULT, "%s is of a later version of the library: left alone", path);
        outcome = KILN_MISS;
    } else if (kiln__artifact_is_earlier(file->bytes)) {
        kiln__log(KILN_LOG_FAULT, "%s is of an earlier format: not used", path);
        outcome = KILN_MISS;
    } else {
        outcome = kiln__outcome(kiln__artifact_decode(file->bytes, true, &artifact, err), err);
    }
    if (outcome != KILN_DONE) {
        kiln__file_unmap(file->bytes);
        return outcome;
    }
    outcome = kiln__tier_check(path, artifact, digest, key, err);
    if (outcome == KILN_DONE) outcome = check_origin(folder, path, file, artifact, err);
    if (outcome == KILN_DONE)
        *out = artifact;
    else
        kiln__artifact_unref(artifact);
    return outcome;
}

/* The file's time is when it was last wanted, to the hour. Failing to write it only makes it look older. */
static void touch(const struct folder *folder, const char *path, const struct stat *info)
{
    if (folder->tier.writable && time(NULL) - info->st_mtime > TOUCH_AFTER_S) utimensat(AT_FDCWD, path, NULL, 0);
}

/* What others wrote must not fill our memory. */
static enum kiln_outcome open_file(const struct folder *folder, const char *path, uint64_t limit, struct kiln_file *out,
                                   kiln_error *err)
{
    return kiln__file_open_bounded(path, folder->tier.is_foreign ? limit : UINT64_MAX, out, err);
}

static enum kiln_outcome get_at(struct folder *folder, const char *path, const struct kiln_digest *digest,
                                kiln_bytes key, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_file file;
    enum kiln_outcome outcome = open_file(folder, path, LARGEST_FOREIGN, &file, err);
    if (outcome == KILN_FAILED && is_folder(path)) {
        kiln__log(KILN_LOG_FAULT, "%s is a folder: passed over", path);
        outcome = KILN_MISS;
    }
    if (outcome != KILN_DONE) return outcome;
    outcome = load(folder, path, &file, digest, key, out, err);
    if (outcome == KILN_DONE) touch(folder, path, &file.info);
    if (outcome == KILN_FAILED && err->status == KILN_INVALID && !put_aside(folder, digest, path, &file))
        outcome = KILN_MISS;
    kiln__file_close(&file);
    return outcome;
}

static enum kiln_outcome no_path(kiln_error *err)
{
    return kiln__outcome(kiln__no_memory(err, "a path"), err);
}

static enum kiln_outcome folder_get(struct kiln_tier *tier, const struct kiln_digest *digest, kiln_bytes key,
                                    struct kiln_artifact **out, kiln_error *err)
{
    struct folder *folder = (struct folder *)tier;
    char *path = entry_path(folder, digest, KILN_ARTIFACT_SUFFIX);
    enum kiln_outcome outcome = path ? get_at(folder, path, digest, key, out, err) : no_path(err);
    free(path);
    return outcome;
}

/* Only while the file holds the very bytes that `artifact` was decoded from. */
static bool folder_discard(struct kiln_tier *tier, const struct kiln_artifact *artifact)
{
    struct folder *folder = (struct folder *)tier;
    struct kiln_file file;
    char *path = entry_path(folder, &artifact->digest, KILN_ARTIFACT_SUFFIX);
    bool is_put_aside = false;
    if (path && open_file(folder, path, LARGEST_FOREIGN, &file, NULL) == KILN_DONE) {
        bool is_it = file.bytes.size == artifact->mapping.size &&
                     memcmp(file.bytes.data, artifact->mapping.data, file.bytes.size) == 0;
        is_put_aside = is_it && put_aside(folder, &artifact->digest, path, &file);
        kiln__file_unmap(file.bytes);
        kiln__file_close(&file);
    }
    free(path);
    return is_put_aside;
}

/* ---- put ----------------------------------------------------------------------------------------------------- */

/* Somebody may have deleted the folder, or put another in its place, since it was opened. */
static kiln_status prepare_folder(const struct folder *folder, const char *path, kiln_error *err)
{
    char *parent = strndup(path, (size_t)(strrchr(path, '/') - path));
    if (!parent) return kiln__no_memory(err, "a path");
    kiln_status status = kiln__folder_make_as(parent, 0777 & ~folder->mask, err);
    free(parent);
    bool is_foreign;
    return status == KILN_OK ? check_folder(folder->path, true, &is_foreign, err) : status;
}

enum { TRIES = 64 }; /* at what `kiln clear` undoes again and again */

static enum kiln_outcome lock_at(const struct folder *folder, const char *path, const char *artifact, uint64_t until_ns,
                                 struct kiln_lock **out, kiln_error *err)
{
    enum kiln_outcome outcome = KILN_FAILED;
    errno = ENOENT;
    for (unsigned i = 0; i < TRIES && outcome == KILN_FAILED && errno == ENOENT; i++) {
        outcome = kiln__outcome(prepare_folder(folder, path, err), err);
        if (outcome == KILN_DONE) outcome = kiln__lock_take(path, artifact, until_ns, out, err);
    }
    return outcome;
}

static enum kiln_outcome folder_lock(struct kiln_tier *tier, const struct kiln_digest *digest, uint64_t until_ns,
                                     struct kiln_lock **out, kiln_error *err)
{
    struct folder *folder = (struct folder *)tier;
    char *artifact = entry_path(folder, digest, KILN_ARTIFACT_SUFFIX), *path = entry_path(folder, digest, ".lock");
    enum kiln_outcome outcome = artifact && path ? lock_at(folder, path, artifact, until_ns, out, err) : no_path(err);
    free(artifact);
    free(path);
    return outcome;
}

static kiln_status publish_bytes(const struct folder *folder, const char *path, const void *data, size_t size,
                                 kiln_error *err)
{
    kiln_status status = KILN_IO;
    errno = ENOENT;
    for (unsigned i = 0; i < TRIES && status == KILN_IO && errno == ENOENT; i++) {
        status = prepare_folder(folder, path, err);
        if (status == KILN_OK) status = kiln__file_publish_as(path, data, size, 0666 & ~folder->mask, err);
    }
    return status;
}

/* A later version of the library has the same key, and its own file. */
static bool holds_newer(const char *path)
{
    kiln_bytes bytes;
    if (kiln__file_map(path, &bytes, NULL) != KILN_DONE) return false;
    bool is_newer = kiln__artifact_is_newer(bytes);
    kiln__file_unmap(bytes);
    return is_newer;
}

/* A folder that somebody made where an artifact belongs goes, with what is in it, where damaged artifacts go. */
static void clear_path(const struct folder *folder, const char *path, const struct kiln_digest *digest)
{
    char *aside = rmdir(path) != 0 ? entry_path(folder, digest, KILN_ASIDE_SUFFIX) : NULL;
    if (aside && rename(path, aside) != 0) kiln__log(KILN_LOG_FAULT, "%s is a folder and can't be moved", path);
    free(aside);
}

static kiln_status publish(const struct folder *folder, const char *path, const struct kiln_digest *digest,
                           const struct kiln_buffer *bytes, kiln_error *err)
{
    if (bytes->size > folder->bounds.bytes) {
        return kiln__fail(err, KILN_IO, "an artifact of %zu bytes is larger than the cache may be (%llu bytes)",
                          bytes->size, (unsigned long long)folder->bounds.bytes);
    }
    if (holds_newer(path)) return KILN_OK;
    if (is_folder(path)) clear_path(folder, path, digest);
    return publish_bytes(folder, path, bytes->data, bytes->size, err);
}

/* Tells backups to pass the folder over, unless somebody keeps other things in it. */
static void tag(struct folder *folder)
{
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This folder holds what Kiln has compiled. It can be deleted at any time.\n";
    char *path;
    if (atomic_exchange_explicit(&folder->is_tagged, true, memory_order_relaxed)) return;
    if (asprintf(&path, "%s/%s", folder->path, KILN_TAG_FILE) < 0) return;
    if (access(path, F_OK) && kiln__holds_ours_only(folder->path))
        publish_bytes(folder, path, text, sizeof text - 1, NULL);
    free(path);
}

static kiln_status folder_put(struct kiln_tier *tier, const struct kiln_artifact *artifact, kiln_error *err)
{
    struct folder *folder = (struct folder *)tier;
    if (!tier->writable) return kiln__fail(err, KILN_IO, "the cache folder %s is read-only", folder->path);
    /* Not artifact->digest: a file in the wrong place would be found bad by everybody. */
    struct kiln_digest digest = kiln__digest(artifact->key.data, artifact->key.size);
    struct kiln_buffer bytes = {0};
    char *path = entry_path(folder, &digest, KILN_ARTIFACT_SUFFIX);
    kiln_status status = path ? kiln__artifact_encode(artifact, &bytes, err) : kiln__no_memory(err, "a path");
    if (status == KILN_OK) status = publish(folder, path, &digest, &bytes, err);
    if (status == KILN_OK) {
        uint64_t evicted = kiln__prune_after_put(&folder->bounds, folder->path, path, bytes.size);
        atomic_fetch_add_explicit(&tier->events->evictions, evicted, memory_order_relaxed);
        tag(folder);
    }
    kiln__buffer_release(&bytes);
    free(path);
    return status;
}

/* ---- tool chain ---------------------------------------------------------------------------------------------- */

static enum kiln_outcome read_line(const struct folder *folder, const char *path, char out[KILN_TOOLCHAIN_SIZE],
                                   kiln_error *err)
{
    struct kiln_file file;
    enum kiln_outcome outcome = open_file(folder, path, KILN_TOOLCHAIN_SIZE, &file, err);
    if (outcome != KILN_DONE) return outcome;
    if (!folder->tier.is_foreign && !kiln__file_is_trusted(&file.info, true)) {
        outcome = kiln__outcome(kiln__fail(err, KILN_IO, "%s: others own this file or may write it", path), err);
    } else if (!kiln__is_toolchain_line(file.bytes)) {
        kiln__log(KILN_LOG_FAULT, "%s does not name a tool chain: not used", path);
        outcome = KILN_MISS;
    } else {
        snprintf(out, KILN_TOOLCHAIN_SIZE, "%.*s", (int)file.bytes.size - 1, (const char *)file.bytes.data);
    }
    kiln__file_unmap(file.bytes);
    kiln__file_close(&file);
    return outcome;
}

/* The path in memory of its own; NULL: out of memory. */
static char *toolchain_path(const struct folder *folder)
{
    char *path;
    return asprintf(&path, "%s/%s", folder->path, KILN_TOOLCHAIN_FILE) < 0 ? NULL : path;
}

static enum kiln_outcome folder_toolchain(struct kiln_tier *tier, char out[KILN_TOOLCHAIN_SIZE], kiln_error *err)
{
    struct folder *folder = (struct folder *)tier;
    char *path = toolchain_path(folder);
    enum kiln_outcome outcome = path ? read_line(folder, path, out, err) : no_path(err);
    free(path);
    return outcome;
}

/* Two processes of different tool chains may take turns: the file names the last that put something. */
static kiln_status folder_set_toolchain(struct kiln_tier *tier, const char *line, kiln_error *err)
{
    struct folder *folder = (struct folder *)tier;
    char was[KILN_TOOLCHAIN_SIZE], is[KILN_TOOLCHAIN_SIZE + 1];
    char *path = toolchain_path(folder);
    if (!path) return kiln__no_memory(err, "a path");
    kiln_status status = KILN_OK;
    int size = snprintf(is, sizeof(is), "%s\n", line);
    if (!kiln__is_toolchain_line((kiln_bytes){is, (size_t)size}))
        status = kiln__fail(err, KILN_INVALID, "\"%s\" can't be the name of a tool chain", line);
    else if (read_line(folder, path, was, NULL) == KILN_DONE && strcmp(was, line) == 0)
        status = KILN_OK;
    else
        status = publish_bytes(folder, path, is, (size_t)size, err);
    free(path);
    return status;
}

/* ---- open and free ------------------------------------------------------------------------------------------- */

static void folder_free(struct kiln_tier *tier)
{
    free((struct folder *)tier);
}

static const struct kiln_tier_methods folder_methods = {.get = folder_get,
                                                        .put = folder_put,
                                                        .free = folder_free,
                                                        .lock = folder_lock,
                                                        .toolchain = folder_toolchain,
                                                        .set_toolchain = folder_set_toolchain,
                                                        .discard = folder_discard};

static kiln_status open_folder(const char *path, bool writable, uint64_t max_bytes, uint64_t max_files,
                               struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err)
{
    bool is_foreign = false;
    unsigned mask = kiln__cache_mask();
    kiln_status status = writable ? kiln__folder_make_as(path, 0777 & ~mask, err) : KILN_OK;
    if (status == KILN_OK) status = check_folder(path, writable, &is_foreign, err);
    if (status != KILN_OK) return status;
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    struct folder *folder = calloc(1, sizeof(*folder) + size + 1);
    if (!folder) return kiln__no_memory(err, "a cache folder");
    memcpy(folder->path, path, size);
    folder->mask = mask;
    folder->tier = (struct kiln_tier){&folder_methods, events, folder->path, writable, NULL, is_foreign};
    folder->bounds =
        (struct kiln_bounds){max_bytes > 0 ? max_bytes : UINT64_MAX, max_files > 0 ? max_files : UINT64_MAX};
    *out = &folder->tier;
    return KILN_OK;
}

/* A relative path would name another folder after chdir(). */
kiln_status kiln__tier_folder(const char *path, bool writable, uint64_t max_bytes, uint64_t max_files,
                              struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err)
{
    if (!path || path[0] == '\0') return kiln__fail(err, KILN_IO, "an empty path is no cache folder");
    char *absolute = kiln__path_absolute(path, NULL);
    if (!absolute)
        return kiln__fail(err, KILN_IO, "the cache folder %s is relative to the current folder, which can't be told",
                          path);
    kiln_status status = open_folder(absolute, writable, max_bytes, max_files, events, out, err);
    free(absolute);
    return status;
}
