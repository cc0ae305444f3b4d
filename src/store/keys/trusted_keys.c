/*
 * trusted_keys.c - see trusted_keys.h.
 *
 * Invariant: what is kept of a file is what a file of this name, owner and time held; a file that was written to a
 * moment ago is read again, because a second write might not show in its time.
 */
#include "store/keys/trusted_keys.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/config.h"
#include "base/process/gate.h"
#include "base/trust.h"
#include "store/keys/trust_library.h"

enum { SETTLED_NS = 50000000 }; /* file systems count time in steps of up to 10 ms */

struct source {
    char *path;       /* as it was read; NULL: nothing is */
    struct stat info; /* of the file that was read; all zero: there was none */
    bool is_settled;  /* its time was old enough when it was read */
    enum kiln_outcome outcome;
    kiln_error error; /* when it is KILN_FAILED */
    struct kiln_key_lines lines;
};

enum { NAMED, USER, SYSTEM, LISTS, SIGNING = LISTS, SOURCES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct source sources[SOURCES];
static uint8_t own_signer[KILN_SIGNER_SIZE]; /* the public half of the key that signs */

/* ---- where ---------------------------------------------------------------------------------------------------- */

/* Looked up before the lock is taken: settings may have something to log, and the program's function may call us. */
struct places {
    char *paths[SOURCES]; /* absolute, in memory of their own; NULL: none, or out of memory */
    bool is_set[SOURCES];
};

static void find_named(const char *variable, struct places *out, int idx)
{
    const char *value = kiln__config(variable);
    out->is_set[idx] = value && *value;
    if (out->is_set[idx]) out->paths[idx] = kiln__path_absolute(value, kiln__folder_at_load());
}

/* NULL: the user has no folder of settings. */
static char *user_path(void)
{
    char *path = NULL;
    const char *folder = kiln__getenv_trusted("XDG_CONFIG_HOME"), *home = kiln__getenv_trusted("HOME");
    int size = -1;
    if (folder && *folder == '/')
        size = asprintf(&path, "%s/kiln/trusted_keys", folder);
    else if (home && *home == '/')
        size = asprintf(&path, "%s/.config/kiln/trusted_keys", home);
    return size < 0 ? NULL : path;
}

static struct places find_places(void)
{
    struct places places = {.paths = {[USER] = user_path(), [SYSTEM] = strdup("/etc/kiln/trusted_keys")}};
    places.is_set[USER] = places.paths[USER] != NULL;
    places.is_set[SYSTEM] = true;
    find_named("KILN_TRUSTED_KEYS", &places, NAMED);
    find_named("KILN_SIGN_KEY", &places, SIGNING);
    return places;
}

static void release_places(struct places *places)
{
    for (int i = 0; i < SOURCES; i++) free(places->paths[i]);
}

char *kiln__own_list(void)
{
    struct places places = find_places();
    int idx = places.is_set[NAMED] ? NAMED : USER;
    char *path = places.paths[idx];
    places.paths[idx] = NULL;
    release_places(&places);
    return path;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static void forget(struct source *source)
{
    free(source->path);
    kiln__key_lines_release(&source->lines);
    *source = (struct source){.outcome = KILN_MISS};
}

static bool is_same(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A folder that we may not even enter, such as root's when HOME was not changed with the user, holds no list of ours.
 */
static bool is_absent(int code)
{
    return code == ENOENT || code == ENOTDIR || code == EACCES;
}

static bool stands(const struct source *source, const char *path)
{
    struct stat now = {0};
    const struct stat *then = &source->info;
    if (!source->path || strcmp(source->path, path) != 0 || !source->is_settled) return false;
    if (stat(path, &now) != 0) return source->outcome == KILN_MISS && is_absent(errno);
    return now.st_dev == then->st_dev && now.st_ino == then->st_ino && now.st_size == then->st_size &&
           now.st_mode == then->st_mode && now.st_uid == then->st_uid && is_same(&now.st_mtim, &then->st_mtim) &&
           is_same(&now.st_ctim, &then->st_ctim);
}

static bool is_settled(const struct stat *info)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (now.tv_sec - info->st_ctim.tv_sec) * 1000000000ll + now.tv_nsec - info->st_ctim.tv_nsec;
    return age > SETTLED_NS;
}

/* Takes the path. True: the file was read anew, or there is none any more. */
static bool refresh(struct places *places, int idx, enum kiln_key_use use)
{
    struct source *source = &sources[idx];
    char *path = places->paths[idx];
    if (path && stands(source, path)) return false;
    forget(source);
    if (!places->is_set[idx]) return true;
    struct stat info;
    bool is_out_of_reach = idx == USER && path && stat(path, &info) != 0 && is_absent(errno);
    if (is_out_of_reach)
        source->outcome = KILN_MISS;
    else if (path)
        source->outcome = kiln__key_file_read(path, use, &source->lines, &source->info, &source->error);
    else
        source->outcome = kiln__outcome(kiln__no_memory(&source->error, "a path"), &source->error);
    source->path = path;
    places->paths[idx] = NULL;
    source->is_settled = source->outcome == KILN_MISS || is_settled(&source->info);
    return true;
}

static kiln_status fail_missing(const struct source *source, const char *variable, kiln_error *err)
{
    return kiln__fail(err, KILN_IO, "%s, which %s names, is not there", source->path, variable);
}

/* With the lock. */
static kiln_status refresh_lists(struct places *places, kiln_error *err)
{
    for (int i = 0; i < LISTS; i++) {
        refresh(places, i, KILN_KEYS_LIST);
        if (sources[i].outcome == KILN_FAILED) return *err = sources[i].error, err->status;
    }
    if (places->is_set[NAMED] && sources[NAMED].outcome == KILN_MISS)
        return fail_missing(&sources[NAMED], "KILN_TRUSTED_KEYS", err);
    return KILN_OK;
}

static kiln_status derive_signer(const struct source *source, kiln_error *err)
{
    const struct kiln_trust_plugin *library;
    kiln_status status = kiln__trust_library(&library, err);
    if (status != KILN_OK) return status;
    if (library->public_key(source->lines.lines[0].key, own_signer)) return KILN_OK;
    return kiln__fail(err, KILN_IO, "%s: its public half can't be computed", source->path);
}

/* With the lock. KILN_DONE: there is a key that signs, and own_signer is its public half. */
static enum kiln_outcome refresh_signing(struct places *places, kiln_error *err)
{
    struct source *source = &sources[SIGNING];
    bool is_new = refresh(places, SIGNING, KILN_KEYS_SECRET);
    if (places->is_set[SIGNING] && source->outcome == KILN_MISS)
        return kiln__outcome(fail_missing(source, "KILN_SIGN_KEY", err), err);
    if (source->outcome == KILN_FAILED) *err = source->error;
    if (source->outcome != KILN_DONE || !is_new) return source->outcome;
    enum kiln_outcome outcome = kiln__outcome(derive_signer(source, err), err);
    if (outcome != KILN_DONE) forget(source); /* the library may be installed later */
    return outcome;
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static void note_line(const struct source *source, const struct kiln_key_line *line, bool may_trust,
                      struct kiln_known_key *out)
{
    bool is_revoked = line->kind == KILN_KEY_REVOKED;
    if (!is_revoked && !may_trust) return;
    bool decides = is_revoked ? !out->is_revoked : !out->is_revoked && !out->is_listed;
    if (decides) snprintf(out->where, sizeof out->where, "%s:%u", source->path, line->line);
    if (*line->comment && !*out->comment) strcpy(out->comment, line->comment);
    out->is_revoked |= is_revoked;
    out->is_listed |= !is_revoked;
}

/* With the lock, after both were refreshed. */
static void describe(const uint8_t key[KILN_SIGNER_SIZE], bool has_own, struct kiln_known_key *out)
{
    *out = (struct kiln_known_key){0};
    memcpy(out->key, key, KILN_SIGNER_SIZE);
    for (int i = 0; i < LISTS; i++)
        for (size_t k = 0; k < sources[i].lines.count; k++) {
            const struct kiln_key_line *line = &sources[i].lines.lines[k];
            if (memcmp(line->key, key, KILN_SIGNER_SIZE) == 0)
                note_line(&sources[i], line, i == NAMED || !sources[NAMED].path, out);
        }
    out->signs = has_own && memcmp(own_signer, key, KILN_SIGNER_SIZE) == 0;
    if (!out->signs) return;
    if (!*out->comment) strcpy(out->comment, sources[SIGNING].lines.lines[0].comment);
    if (!*out->where) snprintf(out->where, sizeof out->where, "%s", sources[SIGNING].path);
}

/* With the lock. Nobody would believe what a revoked key signs, we ourselves included. */
static enum kiln_outcome check_own(struct places *places, kiln_error *err)
{
    kiln_error unusable; /* such a list is told where somebody must be believed */
    struct kiln_known_key known;
    if (refresh_lists(places, &unusable) != KILN_OK) return KILN_DONE;
    describe(own_signer, true, &known);
    if (!known.is_revoked) return KILN_DONE;
    return kiln__outcome(kiln__fail(err, KILN_INVALID, "the key of %s is revoked by %s; 'kiln key new' makes another",
                                    sources[SIGNING].path, known.where),
                         err);
}

enum kiln_outcome kiln__signing_key(uint8_t secret[KILN_SECRET_SIZE], uint8_t signer[KILN_SIGNER_SIZE], kiln_error *err)
{
    struct places places = find_places();
    kiln__mutex_lock(&lock);
    enum kiln_outcome outcome = refresh_signing(&places, err);
    if (outcome == KILN_DONE) outcome = check_own(&places, err);
    if (outcome == KILN_DONE) {
        memcpy(secret, sources[SIGNING].lines.lines[0].key, KILN_SECRET_SIZE);
        memcpy(signer, own_signer, KILN_SIGNER_SIZE);
    }
    kiln__mutex_unlock(&lock);
    release_places(&places);
    return outcome;
}

kiln_status kiln__key_look_up(const uint8_t key[KILN_SIGNER_SIZE], struct kiln_known_key *out, kiln_error *err)
{
    kiln_error unusable; /* a signing key that can't be used is told where it would sign */
    struct places places = find_places();
    kiln__mutex_lock(&lock);
    kiln_status status = refresh_lists(&places, err);
    if (status == KILN_OK) describe(key, refresh_signing(&places, &unusable) == KILN_DONE, out);
    kiln__mutex_unlock(&lock);
    release_places(&places);
    return status;
}

bool kiln__key_is_revoked(const uint8_t key[KILN_SIGNER_SIZE], struct kiln_known_key *out)
{
    kiln_error unusable; /* such a list is told where somebody must be believed */
    struct places places = find_places();
    *out = (struct kiln_known_key){0};
    kiln__mutex_lock(&lock);
    if (refresh_lists(&places, &unusable) == KILN_OK) describe(key, false, out);
    kiln__mutex_unlock(&lock);
    release_places(&places);
    return out->is_revoked;
}

static bool is_there(const struct kiln_known_key *keys, size_t count, const uint8_t key[KILN_SIGNER_SIZE])
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(keys[i].key, key, KILN_SIGNER_SIZE) == 0) return true;
    return false;
}

/* With the lock. Room for every line and our own key. */
static size_t collect(bool has_own, struct kiln_known_key *out)
{
    size_t count = 0;
    if (has_own) describe(own_signer, has_own, &out[count++]);
    for (int i = 0; i < LISTS; i++)
        for (size_t k = 0; k < sources[i].lines.count; k++)
            if (!is_there(out, count, sources[i].lines.lines[k].key)) {
                describe(sources[i].lines.lines[k].key, has_own, &out[count]);
                count += out[count].is_listed || out[count].is_revoked;
            }
    return count;
}

kiln_status kiln__keys_all(struct kiln_known_key **out, size_t *count, kiln_error *err)
{
    kiln_error unusable;
    struct places places = find_places();
    *out = NULL;
    kiln__mutex_lock(&lock);
    kiln_status status = refresh_lists(&places, err);
    if (status == KILN_OK) {
        bool has_own = refresh_signing(&places, &unusable) == KILN_DONE;
        size_t most = 1;
        for (int i = 0; i < LISTS; i++) most += sources[i].lines.count;
        *out = calloc(most, sizeof **out);
        if (*out)
            *count = collect(has_own, *out);
        else
            status = kiln__no_memory(err, "a list of keys");
    }
    kiln__mutex_unlock(&lock);
    release_places(&places);
    return status;
}
