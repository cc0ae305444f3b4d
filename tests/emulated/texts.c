/*
 * texts.c - see texts.h.
 *
 * Every file of the folders is read once and remembered by its path; a folder whose time did not change has nothing
 * new. That time is coarse, so what is not found is looked for once more in all of them.
 */
#include "emulated/texts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/table.h"
#include "store/artifact.h"
#include "store/settings.h"

enum { PARTS = 256, PATH = 512, MAX_FOLDERS = 16 };

struct known {
    char *path;
    struct kiln_digest ptx; /* zeros: no kernel of a GPU */
};

static struct known *list;
static uint32_t count, capacity;
static struct kiln_table by_path, by_ptx;

static struct folder {
    char path[PATH];
    struct timespec times[PARTS];
} folders[MAX_FOLDERS];
static size_t folder_count;

/* ---- what is known -------------------------------------------------------------------------------------------------
 */

static uint64_t hash_of(const void *data, size_t size)
{
    uint64_t hash;
    struct kiln_digest digest = kiln__digest(data, size);
    memcpy(&hash, digest.bytes, sizeof hash);
    return hash;
}

static bool has_path(const void *path, uint32_t index)
{
    return strcmp(path, list[index].path) == 0;
}

static bool has_ptx(const void *ptx, uint32_t index)
{
    return memcmp(ptx, &list[index].ptx, sizeof list[index].ptx) == 0;
}

static uint64_t ptx_hash(const struct kiln_digest *ptx)
{
    return hash_of(ptx->bytes, sizeof ptx->bytes);
}

static struct kiln_artifact *read_artifact(const char *path)
{
    kiln_bytes bytes;
    struct kiln_artifact *artifact = NULL;
    if (kiln__file_map(path, &bytes, NULL)) return NULL;
    if (kiln__artifact_decode(bytes, true, &artifact, NULL)) kiln__file_unmap(bytes);
    return artifact;
}

static void learn(const char *path)
{
    uint32_t *slot = kiln__table_slot(&by_path, hash_of(path, strlen(path)), has_path, path);
    if (!slot || *slot != KILN_TABLE_EMPTY) return;
    if (count == capacity) {
        uint32_t wanted = capacity ? 2 * capacity : 256;
        struct known *larger = realloc(list, wanted * sizeof *larger);
        if (!larger) abort();
        list = larger, capacity = wanted;
    }
    struct kiln_artifact *artifact = read_artifact(path);
    kiln_bytes ptx = artifact ? kiln_artifact_get(artifact, "ptx") : (kiln_bytes){NULL, 0};
    *slot = count;
    list[count] = (struct known){.path = strdup(path)};
    if (ptx.data) {
        list[count].ptx = kiln__digest(ptx.data, ptx.size);
        slot = kiln__table_slot(&by_ptx, ptx_hash(&list[count].ptx), has_ptx, &list[count].ptx);
        if (slot && *slot == KILN_TABLE_EMPTY) *slot = count;
    }
    count++;
    kiln__artifact_unref(artifact);
}

/* ---- looking --------------------------------------------------------------------------------------------------------
 */

static void look_into_part(struct folder *folder, unsigned part, bool always)
{
    char path[PATH + 300];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/%02x", folder->path, part);
    struct timespec *time = &folder->times[part];
    if (stat(path, &info) != 0) return;
    if (!always && info.st_mtim.tv_sec == time->tv_sec && info.st_mtim.tv_nsec == time->tv_nsec) return;
    DIR *opened = opendir(path);
    *time = info.st_mtim;
    for (struct dirent *entry; opened && (entry = readdir(opened));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".kiln") != 0) continue;
        snprintf(path + length, sizeof path - (size_t)length, "/%s", entry->d_name);
        learn(path);
    }
    if (opened) closedir(opened);
}

static void look_into(const char *path, bool always)
{
    size_t i = 0;
    while (i < folder_count && strcmp(folders[i].path, path) != 0) i++;
    if (i == MAX_FOLDERS || !*path) return;
    if (i == folder_count) snprintf(folders[folder_count++].path, PATH, "%s", path);
    for (unsigned part = 0; part < PARTS; part++) look_into_part(&folders[i], part, always);
}

static void look_into_all(bool always)
{
    struct kiln_buffer folder = {0};
    char *others = strdup(getenv("KILN_CACHE_PATH") ? getenv("KILN_CACHE_PATH") : ""), *rest = NULL;
    kiln__default_folder(&folder);
    if (folder.data) look_into((const char *)folder.data, always);
    for (char *path = strtok_r(others, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) look_into(path, always);
    kiln__buffer_release(&folder);
    free(others);
}

/* Appends a section, with its end. */
static bool append_section(struct kiln_buffer *out, const struct kiln_artifact *artifact, const char *name)
{
    kiln_bytes bytes = artifact ? kiln_artifact_get(artifact, name) : (kiln_bytes){NULL, 0};
    kiln__buffer_append(out, bytes.data, bytes.size);
    kiln__buffer_append(out, "", 1);
    return bytes.data != NULL;
}

bool emulated_text_find(const struct kiln_digest *digest, struct kiln_buffer *text, struct kiln_buffer *ptx)
{
    uint32_t found = kiln__table_find(&by_ptx, ptx_hash(digest), has_ptx, digest);
    for (int always = 0; always < 2 && found == KILN_TABLE_EMPTY; always++) {
        look_into_all(always);
        found = kiln__table_find(&by_ptx, ptx_hash(digest), has_ptx, digest);
    }
    struct kiln_artifact *artifact = found == KILN_TABLE_EMPTY ? NULL : read_artifact(list[found].path);
    bool is_found = append_section(text, artifact, "text") && append_section(ptx, artifact, "ptx");
    kiln__artifact_unref(artifact);
    return is_found;
}
