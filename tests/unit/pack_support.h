/*
 * pack_support.h - packs of small artifacts in a folder of the test's own.
 */
#ifndef KILN_TESTS_PACK_SUPPORT_H
#define KILN_TESTS_PACK_SUPPORT_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "key/content.h"
#include "store/pack/pack.h"
#include "store/pack/pack_manifest.h"
#include "store/pack/pack_writer.h"
#include "support/check.h"

/* A folder for the life of the test program. */
static inline const char *pack_folder(void)
{
    static char folder[] = "/tmp/kiln-pack-XXXXXX";
    static bool is_made;
    if (!is_made) is_made = mkdtemp(folder);
    return folder;
}

/* `name` below it; valid until the sixteenth call after this one. */
static inline const char *pack_path(const char *name)
{
    static char paths[16][128];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", pack_folder(), name);
    return path;
}

static inline void remove_pack_folder(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", pack_folder());
    if (system(command) != 0) CHECK_FAIL("%s", command);
}

/* A content key of LLVM's with this text in it. */
static inline void make_key(unsigned number, struct kiln_content_key *out)
{
    char text[32];
    snprintf(text, sizeof text, "kernel %u", number);
    *out = (struct kiln_content_key){0};
    kiln__content_text(out, "format", "3");
    kiln__content_text(out, "compiler", "llvm");
    kiln__content_text(out, "toolchain", "tool chain of the test");
    kiln__content_text(out, "target", "x86-64-v3");
    kiln__content_text(out, "text", text);
    kiln__content_finish(out, NULL);
}

static inline void replace_text(char **slot, const char *text)
{
    free(*slot);
    *slot = strdup(text);
}

/* Artifact `number`: its object is 100 bytes, and of every third one 20,000 that can be compressed. */
static inline struct kiln_artifact *make_artifact(unsigned number)
{
    struct kiln_content_key key;
    struct kiln_artifact *artifact = kiln__artifact_new();
    static char object[20000];
    memset(object, 'a' + (int)(number % 26), sizeof object);
    snprintf(object, sizeof object, "object %u", number);
    make_key(number, &key);
    kiln__buffer_append(&artifact->key, key.fields.data, key.fields.size);
    artifact->digest = key.digest;
    kiln__content_release(&key);
    replace_text(&artifact->target, number % 2 ? "x86-64-v3" : "x86-64-v2");
    replace_text(&artifact->function, number % 5 ? "common" : "rare\n");
    artifact->created_unix_s = 1700000000u + number;
    artifact->compile_ns = 1000;
    kiln_artifact_put(artifact, "object", object, number % 3 ? 100 : sizeof object);
    return artifact;
}

static inline int by_digest(const void *a, const void *b)
{
    return memcmp(&(*(struct kiln_artifact *const *)a)->digest, &(*(struct kiln_artifact *const *)b)->digest,
                  KILN_DIGEST_SIZE);
}

/* Artifacts 0 to count - 1, with a manifest about them. */
static inline void write_pack(const char *path, unsigned count)
{
    struct kiln_artifact **artifacts = calloc(count + 1, sizeof *artifacts);
    struct kiln_pack_writer writer;
    struct kiln_tally tally = {0};
    struct kiln_buffer manifest = {0};
    kiln_error err = {0};
    for (unsigned i = 0; i < count; i++) kiln__tally_add(&tally, artifacts[i] = make_artifact(i), 1000);
    qsort(artifacts, count, sizeof *artifacts, by_digest);
    kiln__manifest_print(&tally, 1700000000, SIZE_MAX, &manifest);
    CHECK_OK(kiln__pack_begin(&writer, path, count, (uint32_t)manifest.size, &err), &err);
    for (unsigned i = 0; i < count; i++) CHECK_OK(kiln__pack_add(&writer, artifacts[i], &err), &err);
    CHECK_OK(kiln__pack_finish(&writer, (kiln_bytes){manifest.data, manifest.size}, 0600, &err), &err);
    for (unsigned i = 0; i < count; i++) kiln__artifact_unref(artifacts[i]);
    free(artifacts);
    kiln__tally_release(&tally);
    kiln__buffer_release(&manifest);
}
#define write_pack(...) CHECK_CALL(write_pack, __VA_ARGS__)

static inline struct kiln_buffer read_whole(const char *path)
{
    struct kiln_buffer bytes = {0};
    CHECK_EQ(kiln__file_read(path, SIZE_MAX / 4, &bytes, NULL), KILN_DONE);
    return bytes;
}

static inline void write_whole(const char *path, const void *data, size_t size)
{
    CHECK_OK(kiln__file_publish(path, data, size, NULL), NULL);
}

/* Makes the digest at the end of `size` bytes that of those before, as somebody who means harm would. */
static inline void seal(uint8_t *bytes, size_t size)
{
    struct kiln_digest digest = kiln__digest(bytes, size - KILN_DIGEST_SIZE);
    memcpy(bytes + size - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
}

#endif
