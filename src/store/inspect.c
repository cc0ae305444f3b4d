/*
 * inspect.c - see kiln/inspect.h: lists the artifacts of a folder or a pack and opens them, without writing anything
 * but the name of what kiln_inspect_put_aside() is told to put aside.
 *
 * A file counts as an artifact when its name is a digest (64 hexadecimal digits) and the artifact suffix; temporary
 * files, locks and files that were put aside have other names. Folders are walked two levels deep, so that fanning out
 * by the first digits of the digest is seen as well. Contents are trusted only after kiln__artifact_decode().
 */
#include "kiln/inspect.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/process/callback.h"
#include "base/trust.h"
#include "key/content.h"
#include "kiln/trust.h"
#include "store/inspect.h"
#include "store/keys/trusted_keys.h"
#include "store/pack/pack.h"
#include "store/prune.h"
#include "store/settings.h"
#include "store/signing.h"
#include "store/tier.h"
#include "store/usage.h"

enum {
    DIGEST_DIGITS = KILN_INSPECT_DIGEST - 1,
    MAX_DEPTH = 2,
    FRESH_MS = 200,
    LOOKS = 8, /* at a file that changes */
};

struct found {
    char *path; /* of its file, or of the pack */
    char digest[KILN_INSPECT_DIGEST];
    struct stat info;             /* when it was listed */
    _Atomic bool is_gone;         /* found out by the last call that needed it */
    _Atomic bool is_other_format; /* found out by the last kiln_entry_open() */
    struct kiln_pack_row row;     /* in a pack */
};

struct kiln_inspector {
    char *folder;
    struct found *files;
    size_t count, cap;
    bool is_pack;
    struct kiln_buffer manifest; /* of a pack */
};

struct kiln_entry {
    struct kiln_artifact *artifact;
    char *path;
    struct stat info; /* of the file that was read */
};

/* ---- folders ------------------------------------------------------------------------------------------------- */

kiln_status kiln_inspect_default_folder(char *path, size_t size, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    struct kiln_buffer folder = {0};
    kiln_status status = KILN_OK;
    if (!path) return kiln__fail(err, KILN_INVALID, "kiln_inspect_default_folder: needs room for a path");
    kiln__default_folder(&folder);
    if (folder.failed)
        status = kiln__no_memory(err, "a path");
    else if (folder.size == 0)
        status = kiln__fail(err, KILN_INVALID, "no cache folder: %s",
                            kiln__config("KILN_CACHE_DIR") ? "KILN_CACHE_DIR is empty, so caches are in memory only"
                                                           : "none of KILN_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
    else if (folder.size >= size)
        status = kiln__fail(err, KILN_INVALID, "the path %s is too long", (const char *)folder.data);
    else
        snprintf(path, size, "%s", (const char *)folder.data);
    kiln__buffer_release(&folder);
    return status;
}

/* The nearest folder above `path` that exists decides whether it can be made. */
static kiln_status check_can_make(const char *path, kiln_error *err)
{
    char *above = strdup(path);
    if (!above) return kiln__no_memory(err, "a path");
    struct stat info;
    bool is_found = false;
    for (char *slash; !is_found && (slash = strrchr(above, '/'));) {
        slash[slash == above] = '\0';
        is_found = stat(above, &info) == 0 || slash == above;
    }
    const char *parent = is_found ? above : ".";
    kiln_status status = KILN_OK;
    if (access(parent, W_OK | X_OK) != 0)
        status = kiln__fail(err, KILN_IO, "%s does not exist and can't be made: %s: %s", path, parent, strerror(errno));
    free(above);
    return status;
}

kiln_status kiln_inspect_check_folder(const char *path, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!path || !*path) return kiln__fail(err, KILN_INVALID, "no folder was named");
    struct stat info;
    if (lstat(path, &info) != 0 && errno == ENOENT) return check_can_make(path, err);
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    kiln_status status = kiln__tier_folder(path, true, 0, 0, &events, &tier, err); /* it is there: nothing is made */
    if (!status) tier->methods->free(tier);
    if (!status && access(path, R_OK | W_OK | X_OK) != 0)
        status = kiln__fail(err, KILN_IO, "%s: %s", path, strerror(errno));
    return status;
}

kiln_status kiln_inspect_check_read_only(const char *path, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (!path || !*path) return kiln__fail(err, KILN_INVALID, "no folder was named");
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    char line[KILN_TOOLCHAIN_SIZE];
    kiln_error unread;
    if (!err) err = &unread;
    kiln_status status = kiln__tier_read_only(path, &events, &tier, err);
    if (status) return status;
    if (tier->methods->toolchain(tier, line, err) == KILN_FAILED) status = err->status; /* a pack is read here */
    tier->methods->free(tier);
    if (!status && access(path, R_OK) != 0) status = kiln__fail(err, KILN_IO, "%s: %s", path, strerror(errno));
    return status;
}

kiln_status kiln_inspect_toolchain(const char *folder, char *line, size_t size, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    char path[4096], found[KILN_TOOLCHAIN_SIZE];
    struct kiln_tier_events events = {0};
    struct kiln_tier *tier = NULL;
    if (!line) return kiln__fail(err, KILN_INVALID, "kiln_inspect_toolchain: needs room for a line");
    kiln_status status = folder ? KILN_OK : kiln_inspect_default_folder(path, sizeof path, err);
    if (status == KILN_OK) status = kiln__tier_read_only(folder ? folder : path, &events, &tier, err);
    if (status != KILN_OK) return status;
    kiln_error unread;
    if (!err) err = &unread;
    enum kiln_outcome outcome = tier->methods->toolchain(tier, found, err);
    if (outcome == KILN_MISS)
        status = kiln__fail(err, KILN_INVALID, "%s names no tool chain", tier->label);
    else if (outcome == KILN_FAILED)
        status = err->status;
    else if (strlen(found) >= size)
        status = kiln__fail(err, KILN_INVALID, "the name of a tool chain needs %zu bytes", strlen(found) + 1);
    else
        strcpy(line, found);
    tier->methods->free(tier);
    return status;
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static bool digest_of_name(const char *name, char out[KILN_INSPECT_DIGEST])
{
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != DIGEST_DIGITS || strcmp(name + digits, KILN_ARTIFACT_SUFFIX) != 0) return false;
    memcpy(out, name, digits);
    out[digits] = '\0';
    return true;
}

/* What is not known of it yet is zero; NULL: out of memory. */
static struct found *add_found(kiln_inspector *inspector, const char *path, const struct stat *info)
{
    if (inspector->count == inspector->cap) {
        size_t cap = inspector->cap ? inspector->cap * 2 : 64;
        struct found *grown = realloc(inspector->files, cap * sizeof *grown);
        if (!grown) return NULL;
        inspector->files = grown;
        inspector->cap = cap;
    }
    struct found *file = &inspector->files[inspector->count];
    *file = (struct found){.path = strdup(path), .info = *info};
    if (!file->path) return NULL;
    inspector->count++;
    return file;
}

static kiln_status add_file(kiln_inspector *inspector, const char *path, const char *name, const struct stat *info,
                            kiln_error *err)
{
    char digest[KILN_INSPECT_DIGEST];
    if (!digest_of_name(name, digest)) return KILN_OK;
    struct found *file = add_found(inspector, path, info);
    if (!file) return kiln__no_memory(err, "a list of artifacts");
    memcpy(file->digest, digest, sizeof digest);
    return KILN_OK;
}

static kiln_status walk(kiln_inspector *inspector, const char *folder, int depth, kiln_error *err);

static kiln_status visit(kiln_inspector *inspector, const char *folder, const char *name, int depth, kiln_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return kiln__no_memory(err, "a path");
    struct stat info;
    kiln_status status = KILN_OK;
    if (lstat(path, &info) != 0) {
        status = KILN_OK; /* removed since it was listed */
    } else if (S_ISREG(info.st_mode)) {
        status = add_file(inspector, path, name, &info, err);
    } else if (S_ISDIR(info.st_mode) && depth < MAX_DEPTH) {
        status = walk(inspector, path, depth + 1, err);
    }
    free(path);
    return status;
}

static kiln_status walk(kiln_inspector *inspector, const char *folder, int depth, kiln_error *err)
{
    DIR *list = opendir(folder);
    if (!list) {
        if (depth > 0 && errno == ENOENT) return KILN_OK;
        return kiln__fail(err, KILN_IO, "%s: %s", folder, strerror(errno));
    }
    kiln_status status = KILN_OK;
    for (struct dirent *item; status == KILN_OK && (item = readdir(list));)
        if (item->d_name[0] != '.') status = visit(inspector, folder, item->d_name, depth, err);
    closedir(list);
    return status;
}

static kiln_status add_rows(kiln_inspector *inspector, const struct kiln_pack *pack, kiln_error *err)
{
    struct kiln_pack_row *rows = NULL;
    kiln_status status = kiln__pack_manifest(pack, &inspector->manifest, err);
    if (status == KILN_OK) status = kiln__pack_rows(pack, &rows, err);
    for (uint64_t i = 0; status == KILN_OK && i < pack->count; i++) {
        struct found *found = add_found(inspector, pack->path, &pack->info);
        if (!found) {
            status = kiln__no_memory(err, "a list of artifacts");
        } else {
            found->row = rows[i];
            kiln__digest_hex(&rows[i].digest, found->digest);
        }
    }
    free(rows);
    return status;
}

static kiln_status list_pack(kiln_inspector *inspector, const char *path, kiln_error *err)
{
    struct kiln_pack pack;
    kiln_error error;
    enum kiln_outcome outcome = kiln__pack_open(path, &pack, &error);
    if (outcome == KILN_MISS) return kiln__fail(err, KILN_IO, "%s: %s", path, strerror(ENOENT));
    if (outcome == KILN_FAILED) return kiln__fail(err, error.status, "%s", error.text);
    inspector->is_pack = true;
    kiln_status status = add_rows(inspector, &pack, err);
    kiln__pack_close(&pack);
    return status;
}

static int by_digest(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->digest, ((const struct found *)b)->digest);
}

kiln_status kiln_inspect_open(const char *folder, kiln_inspector **out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    char path[4096];
    if (!out) return kiln__fail(err, KILN_INVALID, "kiln_inspect_open: needs a pointer for the result");
    if (!folder) {
        kiln_status status = kiln_inspect_default_folder(path, sizeof path, err);
        if (status != KILN_OK) return status;
        folder = path;
    }
    kiln_inspector *inspector = calloc(1, sizeof *inspector);
    if (!inspector || !(inspector->folder = strdup(folder))) {
        free(inspector);
        return kiln__no_memory(err, "an inspector");
    }
    kiln_status status =
        kiln__is_pack_name(folder) ? list_pack(inspector, folder, err) : walk(inspector, folder, 0, err);
    if (status != KILN_OK) {
        kiln_inspect_close(inspector);
        return status;
    }
    if (inspector->count) qsort(inspector->files, inspector->count, sizeof *inspector->files, by_digest);
    *out = inspector;
    return KILN_OK;
}

void kiln_inspect_close(kiln_inspector *inspector)
{
    if (!inspector) return;
    for (size_t i = 0; i < inspector->count; i++) free(inspector->files[i].path);
    free(inspector->files);
    free(inspector->folder);
    kiln__buffer_release(&inspector->manifest);
    free(inspector);
}

const char *kiln_inspect_folder(const kiln_inspector *inspector)
{
    return inspector ? inspector->folder : "";
}

size_t kiln_inspect_count(const kiln_inspector *inspector)
{
    return inspector ? inspector->count : 0;
}

uint64_t kiln_inspect_size_bytes(const kiln_inspector *inspector, size_t index)
{
    if (index >= kiln_inspect_count(inspector)) return 0;
    const struct found *found = &inspector->files[index];
    return inspector->is_pack ? found->row.stored_size : (uint64_t)found->info.st_size;
}

const char *kiln_inspect_manifest(const kiln_inspector *inspector)
{
    return inspector && inspector->is_pack ? (const char *)inspector->manifest.data : NULL;
}

void kiln_inspect_usage(const kiln_inspector *inspector, kiln_usage *out)
{
    kiln_usage usage = {.struct_size = sizeof usage};
    if (!inspector || !out || out->struct_size < sizeof usage) return;
    if (!inspector->is_pack) kiln__usage_read(kiln_inspect_folder(inspector), &usage);
    *out = usage;
}

uint64_t kiln__inspect_used_unix_s(const kiln_inspector *inspector, size_t index)
{
    return (uint64_t)inspector->files[index].info.st_mtime;
}

const char *kiln_inspect_digest(const kiln_inspector *inspector, size_t index)
{
    return index < kiln_inspect_count(inspector) ? inspector->files[index].digest : NULL;
}

static kiln_status refuse_index(const kiln_inspector *inspector, size_t index, kiln_error *err)
{
    if (!inspector) return kiln__fail(err, KILN_INVALID, "an artifact of no inspector was asked for");
    return kiln__fail(err, KILN_INVALID, "artifact %zu was asked for, there are %zu", index, inspector->count);
}

bool kiln_inspect_is_gone(const kiln_inspector *inspector, size_t index)
{
    return index < kiln_inspect_count(inspector) && atomic_load(&inspector->files[index].is_gone);
}

bool kiln_inspect_is_other_format(const kiln_inspector *inspector, size_t index)
{
    return index < kiln_inspect_count(inspector) && atomic_load(&inspector->files[index].is_other_format);
}

static kiln_status fail_gone(struct found *file, const char *what, kiln_error *err)
{
    atomic_store(&file->is_gone, true);
    return kiln__fail(err, KILN_IO, "%s %s", file->path, what);
}

static bool is_as_listed(const struct found *found, const struct stat *now)
{
    const struct stat *then = &found->info;
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino && now->st_size == then->st_size &&
           now->st_mtim.tv_sec == then->st_mtim.tv_sec && now->st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

static kiln_status open_found(struct found *found, struct kiln_file *out, kiln_error *err)
{
    kiln_error error;
    enum kiln_outcome outcome = kiln__file_open(found->path, out, &error);
    if (outcome == KILN_MISS) return fail_gone(found, "is gone", err);
    if (outcome == KILN_FAILED && err) *err = error;
    return kiln__outcome_status(outcome, &error);
}

static char *aside_of(const char *path)
{
    char *aside;
    int size = (int)(strlen(path) - strlen(KILN_ARTIFACT_SUFFIX));
    return asprintf(&aside, "%.*s%s", size, path, KILN_ASIDE_SUFFIX) < 0 ? NULL : aside;
}

kiln_status kiln_inspect_put_aside(const kiln_inspector *inspector, size_t index, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (index >= kiln_inspect_count(inspector)) return refuse_index(inspector, index, err);
    if (inspector->is_pack)
        return kiln__fail(err, KILN_IO, "%s is a pack, of which nothing is removed: make it anew with kiln export",
                          inspector->folder);
    struct found *found = &inspector->files[index];
    struct kiln_file file;
    kiln_status status = open_found(found, &file, err);
    if (status) return status;
    char *aside = aside_of(found->path);
    if (!aside)
        status = kiln__no_memory(err, "a path");
    else if (!is_as_listed(found, &file.info))
        status = fail_gone(found, "was replaced since it was listed", err);
    else if (!kiln__file_move(&file, found->path, aside))
        status = kiln__file_is_at(&file, found->path) ? kiln__fail(err, KILN_IO, "%s: %s", found->path, strerror(errno))
                                                      : fail_gone(found, "was replaced since it was listed", err);
    free(aside);
    kiln__file_unmap(file.bytes);
    kiln__file_close(&file);
    return status;
}

kiln_status kiln_inspect_find(const kiln_inspector *inspector, const char *prefix, size_t *index, kiln_error *err)
{
    if (!inspector || !prefix || !index)
        return kiln__fail(err, KILN_INVALID,
                          "kiln_inspect_find: needs an inspector, a prefix and a pointer for the index");
    size_t length = strlen(prefix), matches = 0, first = 0;
    if (length == 0 || length > DIGEST_DIGITS || strspn(prefix, "0123456789abcdef") != length)
        return kiln__fail(err, KILN_INVALID, "'%s' is not a digest: give 1 to 64 of the digits 0-9 and a-f", prefix);
    for (size_t i = 0; i < inspector->count; i++)
        if (strncmp(inspector->files[i].digest, prefix, length) == 0 && matches++ == 0) first = i;
    if (matches == 0)
        return kiln__fail(err, KILN_INVALID, "no artifact in %s begins with %s", inspector->folder, prefix);
    if (matches > 1)
        return kiln__fail(err, KILN_INVALID, "%zu artifacts begin with %s; give more digits", matches, prefix);
    *index = first;
    return KILN_OK;
}

/* ---- one artifact -------------------------------------------------------------------------------------------- */

/* A file that is whole, but nothing for this version of the library. */
static kiln_status check_format(struct found *found, kiln_bytes bytes, kiln_error *err)
{
    bool is_earlier = kiln__artifact_is_earlier(bytes), is_other = is_earlier || kiln__artifact_is_newer(bytes);
    atomic_store(&found->is_other_format, is_other);
    if (!is_other) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s format, not used", is_earlier ? "an earlier" : "a later");
}

static kiln_status decode(struct found *found, const struct kiln_file *file, struct kiln_artifact **out,
                          kiln_error *err)
{
    kiln_status status = check_format(found, file->bytes, err);
    if (status == KILN_OK) status = kiln__artifact_decode(file->bytes, true, out, err);
    if (status != KILN_OK) {
        kiln__file_unmap(file->bytes);
        return status;
    }
    char digest[KILN_DIGEST_HEX];
    kiln__digest_hex(&(*out)->digest, digest);
    if (strcmp(digest, found->digest) == 0) return KILN_OK;
    kiln__artifact_unref(*out);
    *out = NULL;
    return kiln__fail(err, KILN_INVALID, "misplaced: the file holds the artifact %s", digest);
}

/* Written to a moment ago: maybe not for the last time. */
static bool is_fresh(const struct stat *info)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = (now.tv_sec - info->st_mtim.tv_sec) * 1000ll + (now.tv_nsec - info->st_mtim.tv_nsec) / 1000000;
    return ms >= 0 && ms < FRESH_MS;
}

/*
 * Caches publish whole files, but people copy over them: what is wrong with a file is believed when it is still in its
 * place and nobody has just written to it.
 */
static kiln_status load(struct found *found, kiln_entry *entry, kiln_error *err)
{
    for (unsigned i = 0;; i++) {
        struct kiln_file file;
        kiln_status status = open_found(found, &file, err);
        if (status) return status;
        entry->info = file.info;
        status = decode(found, &file, &entry->artifact, err);
        bool is_there = kiln__file_is_at(&file, found->path), is_final = is_there && !is_fresh(&file.info);
        kiln__file_close(&file);
        if (status != KILN_INVALID || is_final) return status;
        if (i == LOOKS) return is_there ? status : fail_gone(found, "is being replaced", err);
        nanosleep(&(struct timespec){0, FRESH_MS / LOOKS * 1000000l}, NULL);
    }
}

static kiln_status load_from_pack(struct found *found, kiln_entry *entry, kiln_error *err)
{
    struct kiln_pack pack;
    kiln_error error;
    bool is_other_format;
    enum kiln_outcome outcome = kiln__pack_open(found->path, &pack, &error);
    if (outcome == KILN_MISS) return fail_gone(found, "is gone", err);
    if (outcome == KILN_FAILED) return kiln__fail(err, error.status, "%s", error.text);
    kiln_status status = KILN_OK;
    if (!is_as_listed(found, &pack.info)) {
        status = fail_gone(found, "was replaced since it was listed", err);
    } else {
        status = kiln__pack_read(&pack, &found->row, &entry->artifact, &is_other_format, err);
        atomic_store(&found->is_other_format, is_other_format);
    }
    entry->info = pack.info;
    entry->info.st_size = (off_t)found->row.raw_size;
    kiln__pack_close(&pack);
    return status;
}

kiln_status kiln_entry_open(const kiln_inspector *inspector, size_t index, kiln_entry **out, kiln_error *err)
{
    KILN_HOLD_CANCEL;
    if (index >= kiln_inspect_count(inspector)) return refuse_index(inspector, index, err);
    if (!out) return kiln__fail(err, KILN_INVALID, "kiln_entry_open: needs a pointer for the result");
    struct found *file = &inspector->files[index];
    atomic_store(&file->is_gone, false);
    atomic_store(&file->is_other_format, false);
    kiln_entry *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->path = strdup(file->path))) {
        free(entry);
        return kiln__no_memory(err, "an entry");
    }
    kiln_status status = inspector->is_pack ? load_from_pack(file, entry, err) : load(file, entry, err);
    if (status != KILN_OK) {
        kiln_entry_close(entry);
        return status;
    }
    *out = entry;
    return KILN_OK;
}

void kiln_entry_close(kiln_entry *entry)
{
    KILN_HOLD_CANCEL;
    if (!entry) return;
    kiln__artifact_unref(entry->artifact);
    free(entry->path);
    free(entry);
}

kiln_status kiln_entry_check_usable(const kiln_entry *entry, kiln_error *err)
{
    if (!entry) return kiln__fail(err, KILN_INVALID, "kiln_entry_check_usable: needs an entry");
    const struct kiln_artifact *artifact = entry->artifact;
    struct stat info;
    if (stat(entry->path, &info) != 0) info = entry->info; /* gone since: what was read decides */
    kiln_error why;
    if (kiln__artifact_is_revoked(artifact, &why)) return kiln__fail(err, KILN_IO, "not used: %s", why.text);
    if (!kiln__file_is_trusted(&info, true) && kiln__artifact_verify(artifact, &why) != KILN_OK)
        return kiln__fail(err, KILN_IO,
                          "not used: owner %u, mode %03o; others own the file or may write it, and it is %s",
                          (unsigned)info.st_uid, (unsigned)info.st_mode & 07777, why.text);
    if (artifact->isa > kiln__isa_host())
        return kiln__fail(err, KILN_INVALID, "foreign: it needs %s, this machine is %s", kiln__isa_name(artifact->isa),
                          kiln__isa_name(kiln__isa_host()));
    return KILN_OK;
}

void kiln_entry_signer(const kiln_entry *entry, kiln_signer *out)
{
    KILN_HOLD_CANCEL;
    if (!out) return;
    *out = (kiln_signer){.key = ""};
    if (!entry || !entry->artifact->signing.is_signed) return;
    kiln_error err = {.text = ""};
    struct kiln_known_key known;
    const uint8_t *signer = entry->artifact->signing.signer;
    kiln__key_hex(signer, out->key);
    if (kiln__key_look_up(signer, &known, &err) == KILN_OK) strcpy(out->comment, known.comment);
    out->is_accepted = kiln__artifact_verify(entry->artifact, &err) == KILN_OK;
    if (!out->is_accepted) snprintf(out->problem, sizeof out->problem, "%.511s", err.text);
}

struct kiln_artifact *kiln__entry_artifact(kiln_entry *entry)
{
    return entry->artifact;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static kiln_bytes key_of(const kiln_entry *entry)
{
    return entry ? (kiln_bytes){entry->artifact->key.data, entry->artifact->key.size} : (kiln_bytes){NULL, 0};
}

void kiln_entry_describe(const kiln_entry *entry, kiln_entry_info *out)
{
    if (!out) return;
    *out = (kiln_entry_info){.path = "", .function = "", .target = "", .entry = ""};
    if (!entry) return;
    const struct kiln_artifact *artifact = entry->artifact;
    *out = (kiln_entry_info){
        .path = entry->path,
        .function = text_or_empty(artifact->function),
        .target = text_or_empty(artifact->target),
        .entry = text_or_empty(artifact->entry),
        .size_bytes = (uint64_t)entry->info.st_size,
        .created_unix_s = artifact->created_unix_s,
        .compile_ns = artifact->compile_ns,
        .section_count = artifact->section_count,
    };
    kiln__digest_hex(&artifact->digest, out->digest);
    struct kiln_field field;
    for (size_t offset = 0; kiln__content_next(key_of(entry), &offset, &field);) out->key_field_count++;
}

const char *kiln_entry_section(const kiln_entry *entry, size_t index, kiln_bytes *out)
{
    if (!entry || index >= entry->artifact->section_count) return NULL;
    const struct kiln_section *section = &entry->artifact->sections[index];
    if (out) *out = (kiln_bytes){section->data, section->size};
    return section->name;
}

kiln_bytes kiln_entry_get(const kiln_entry *entry, const char *name)
{
    kiln_bytes bytes;
    const char *found;
    for (size_t i = 0; name && (found = kiln_entry_section(entry, i, &bytes)); i++)
        if (strcmp(found, name) == 0) return bytes;
    return (kiln_bytes){0};
}

bool kiln_entry_key_field(const kiln_entry *entry, size_t index, kiln_bytes *name, kiln_bytes *value)
{
    struct kiln_field field;
    for (size_t offset = 0, i = 0; kiln__content_next(key_of(entry), &offset, &field); i++) {
        if (i != index) continue;
        if (name) *name = (kiln_bytes){field.name, field.name_size};
        if (value) *value = field.value;
        return true;
    }
    return false;
}

const char *kiln_entry_kind(const kiln_entry *entry)
{
    if (!entry) return "";
    if (kiln__content_is_of_bytes(key_of(entry))) return "bytes";
    bool is_manifest = kiln_entry_get(entry, "manifest").data && !kiln_entry_get(entry, "text").data;
    return is_manifest ? "manifest" : "code";
}

kiln_bytes kiln_entry_call(const kiln_entry *entry)
{
    return entry ? (kiln_bytes){entry->artifact->call_key.data, entry->artifact->call_key.size} : (kiln_bytes){NULL, 0};
}
