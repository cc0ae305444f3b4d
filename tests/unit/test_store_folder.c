/*
 * test_store_folder.c - the folder tier: hits, damage, trust, bounds; the memory tier and the chain beside it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "store/tier.h"
#include "support/check.h"

enum { NO_BOUND = 0 };

struct world {
    char folder[64];
    struct kiln_tier_events events;
    struct kiln_tier *tier;
};

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct kiln_tier *open_folder(struct world *world, bool writable, uint64_t max_bytes, uint64_t max_files)
{
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    if (kiln__tier_folder(world->folder, writable, max_bytes, max_files, &world->events, &tier, &err) != KILN_OK) {
        CHECK_FAIL("%s", err.text);
    }
    return tier;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    strcpy(world->folder, "/tmp/kiln-test-XXXXXX");
    if (!mkdtemp(world->folder)) return -1;
    strcat(world->folder, "/cache");
    world->tier = open_folder(world, true, NO_BOUND, NO_BOUND);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kiln__chain_free(world->tier);
    *strrchr(world->folder, '/') = '\0';
    remove_tree(world->folder);
    free(world);
    return 0;
}

static struct kiln_artifact *make_artifact(const char *key, size_t payload_size)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    char *payload = calloc(1, payload_size + 1);
    kiln_artifact_put(artifact, "object", payload, payload_size);
    free(payload);
    kiln__buffer_append(&artifact->key, key, strlen(key));
    artifact->digest = kiln__digest(key, strlen(key));
    return artifact;
}

static kiln_status put(struct kiln_tier *tier, const char *key, size_t payload_size, kiln_error *err)
{
    struct kiln_artifact *artifact = make_artifact(key, payload_size);
    kiln_status status = tier->methods->put(tier, artifact, err);
    kiln__artifact_unref(artifact);
    return status;
}

/* Gets and lets go. The outcome; of a failure its status, which is negative. */
static int look_up(struct kiln_tier *tier, const char *key, kiln_error *err)
{
    kiln_error unread;
    struct kiln_artifact *artifact = NULL;
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    if (!err) err = &unread;
    enum kiln_outcome outcome = tier->methods->get(tier, &digest, (kiln_bytes){key, strlen(key)}, &artifact, err);
    CHECK_EQ(outcome == KILN_DONE, artifact != NULL);
    if (artifact) CHECK_MEM(artifact->key.data, key, strlen(key));
    kiln__artifact_unref(artifact);
    return outcome == KILN_FAILED ? (int)err->status : (int)outcome;
}

static const char *path_of(const struct world *world, const char *key, const char *suffix)
{
    static char path[256];
    char hex[KILN_DIGEST_HEX];
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    kiln__digest_hex(&digest, hex);
    snprintf(path, sizeof(path), "%s/%.2s/%s%s", world->folder, hex, hex, suffix);
    return path;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put_then_get(void **state)
{
    struct world *world = *state;
    struct stat info;
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_MISS);
    CHECK_STATUS(put(world->tier, "a", 100, NULL), KILN_OK);
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_DONE);
    CHECK_EQ(look_up(world->tier, "b", NULL), KILN_MISS);
    CHECK_TRUE(exists(path_of(world, "a", ".kiln")));
    CHECK_EQ(stat(world->folder, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0700);
    struct kiln_tier *other = open_folder(world, false, NO_BOUND, NO_BOUND);
    CHECK_EQ(look_up(other, "a", NULL), KILN_DONE);
    kiln__chain_free(other);
    CHECK_EQ(world->events.corrupt, 0);
}

static void artifact_outlives_tier_and_file(void **state)
{
    struct world *world = *state;
    struct kiln_artifact *artifact = NULL;
    kiln_error err;
    struct kiln_digest digest = kiln__digest("a", 1);
    struct kiln_tier *other = open_folder(world, true, NO_BOUND, NO_BOUND);
    CHECK_STATUS(put(other, "a", 5000, NULL), KILN_OK);
    CHECK_EQ(other->methods->get(other, &digest, (kiln_bytes){"a", 1}, &artifact, &err), KILN_DONE);
    kiln__chain_free(other);
    unlink(path_of(world, "a", ".kiln"));
    kiln_bytes object = kiln_artifact_get(artifact, "object");
    CHECK_EQ(object.size, 5000);
    CHECK_EQ(((const char *)object.data)[4999], 0);
    kiln__artifact_unref(artifact);
}

static void flip_byte(const char *path, off_t at)
{
    char byte = 0;
    int fd = open(path, O_RDWR);
    CHECK_TRUE(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 1;
    CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}
#define flip_byte(...) CHECK_CALL(flip_byte, __VA_ARGS__)

static void damaged_entry_is_put_aside_and_replaced(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    put(world->tier, "a", 100, NULL);
    flip_byte(path_of(world, "a", ".kiln"), 150);
    CHECK_STATUS(look_up(world->tier, "a", &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "checksum");
    CHECK_EQ(world->events.corrupt, 1);
    CHECK_FALSE(exists(path_of(world, "a", ".kiln")));
    CHECK_TRUE(exists(path_of(world, "a", ".bad")));
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_MISS);
    put(world->tier, "a", 100, NULL);
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_DONE);
    CHECK_EQ(truncate(path_of(world, "a", ".kiln"), 0), 0);
    CHECK_STATUS(look_up(world->tier, "a", NULL), KILN_INVALID);
    CHECK_EQ(world->events.corrupt, 2);
}

static void misplaced_entry_is_refused(void **state)
{
    struct world *world = *state;
    char from[256];
    kiln_error err = {0};
    put(world->tier, "a", 100, NULL);
    put(world->tier, "b", 100, NULL);
    strcpy(from, path_of(world, "a", ".kiln"));
    CHECK_EQ(rename(from, path_of(world, "b", ".kiln")), 0);
    CHECK_STATUS(look_up(world->tier, "b", &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "misplaced");
    CHECK_EQ(world->events.corrupt, 1);
}

/* A file that asks for one level more than this machine has, right in every other respect. */
static void foreign_entry_is_refused(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    struct kiln_buffer bytes = {0};
    uint64_t compared;
    put(world->tier, "a", 10, NULL);
    CHECK_EQ(kiln__file_read(path_of(world, "a", ".kiln"), 1 << 20, &bytes, NULL), KILN_DONE);
    memcpy(&compared, bytes.data + 16, sizeof(compared));
    bytes.data[15] = (unsigned char)(kiln__isa_host() + 1);
    struct kiln_digest digest = kiln__digest(bytes.data, compared - KILN_DIGEST_SIZE);
    memcpy(bytes.data + compared - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
    CHECK_STATUS(kiln__file_publish(path_of(world, "a", ".kiln"), bytes.data, bytes.size, NULL), KILN_OK);
    kiln__buffer_release(&bytes);
    CHECK_STATUS(look_up(world->tier, "a", &err), KILN_INVALID, &err);
    bool is_highest = kiln__isa_host() == KILN_ISA_X86_64_V4;
    CHECK_CONTAINS(err.text, is_highest ? "unknown instruction set" : "foreign artifact");
    CHECK_EQ(world->events.corrupt, 1);
}

static void read_only_tier_writes_nothing(void **state)
{
    struct world *world = *state;
    struct kiln_tier *tier = open_folder(world, false, NO_BOUND, NO_BOUND);
    put(world->tier, "a", 100, NULL);
    flip_byte(path_of(world, "a", ".kiln"), 150);
    CHECK_STATUS(look_up(tier, "a", NULL), KILN_INVALID);
    CHECK_TRUE(exists(path_of(world, "a", ".kiln")));
    CHECK_STATUS(put(tier, "b", 100, NULL), KILN_IO);
    CHECK_FALSE(exists(path_of(world, "b", ".kiln")));
    kiln__chain_free(tier);
}

static void expect_unusable(struct world *world, const char *path, bool writable, const char *text)
{
    struct kiln_tier *tier = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln__tier_folder(path, writable, NO_BOUND, NO_BOUND, &world->events, &tier, &err), KILN_IO, &err);
    CHECK_NULL(tier);
    if (!strstr(err.text, text)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, text);
}
#define expect_unusable(...) CHECK_CALL(expect_unusable, __VA_ARGS__)

static void untrusted_folders_are_refused(void **state)
{
    struct world *world = *state;
    char path[128];
    CHECK_EQ(chmod(world->folder, 0770), 0);
    expect_unusable(world, world->folder, true, "neither group nor others may write");
    expect_unusable(world, world->folder, false, "or root");
    CHECK_STATUS(put(world->tier, "a", 10, NULL), KILN_IO); /* opened before it was opened up */
    CHECK_EQ(chmod(world->folder, 0755), 0);
    CHECK_STATUS(put(world->tier, "a", 10, NULL), KILN_OK);
    snprintf(path, sizeof(path), "%s/file", world->folder);
    CHECK_STATUS(kiln__file_publish(path, "x", 1, NULL), KILN_OK);
    expect_unusable(world, path, true, "not a folder");
    expect_unusable(world, path, false, "not a folder");
    expect_unusable(world, "", true, "empty path");
    snprintf(path, sizeof(path), "%s/missing", world->folder);
    expect_unusable(world, path, false, "No such file");
    CHECK_EQ(chmod(path_of(world, "a", ".kiln"), 0666), 0);
    CHECK_STATUS(look_up(world->tier, "a", NULL), KILN_IO);
    if (geteuid() != 0)
        expect_unusable(world, "/usr", true, "must belong to user");
    else {
        CHECK_EQ(chown(world->folder, 12345, 12345), 0);
        expect_unusable(world, world->folder, true, "owner 12345");
        expect_unusable(world, world->folder, false, "owner 12345");
    }
}

static void deleted_folder_comes_back(void **state)
{
    struct world *world = *state;
    put(world->tier, "a", 10, NULL);
    remove_tree(world->folder);
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_MISS);
    CHECK_STATUS(put(world->tier, "a", 10, NULL), KILN_OK);
    CHECK_EQ(look_up(world->tier, "a", NULL), KILN_DONE);
}

static void age(const char *path, int seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}
#define age(...) CHECK_CALL(age, __VA_ARGS__)

static time_t modified(const char *path)
{
    struct stat info;
    CHECK_EQ(stat(path, &info), 0);
    return info.st_mtime;
}

static void hits_keep_an_entry_young(void **state)
{
    struct world *world = *state;
    put(world->tier, "a", 10, NULL);
    age(path_of(world, "a", ".kiln"), 1800);
    time_t before = modified(path_of(world, "a", ".kiln"));
    look_up(world->tier, "a", NULL);
    CHECK_EQ(modified(path_of(world, "a", ".kiln")), before);
    age(path_of(world, "a", ".kiln"), 7200);
    look_up(world->tier, "a", NULL);
    CHECK_GE(modified(path_of(world, "a", ".kiln")), before + 1700);
}

static void files_are_bounded_oldest_first(void **state)
{
    struct world *world = *state;
    char key[32];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "old%d", i);
        put(world->tier, key, 10, NULL);
        age(path_of(world, key, ".kiln"), 10000 - 100 * i);
    }
    struct kiln_tier *bounded = open_folder(world, true, NO_BOUND, 10);
    put(bounded, "new", 10, NULL);
    CHECK_EQ(world->events.evictions, 12); /* 21 files, nine tenths of ten stay */
    CHECK_EQ(look_up(bounded, "old11", NULL), KILN_MISS);
    CHECK_EQ(look_up(bounded, "old12", NULL), KILN_DONE);
    CHECK_EQ(look_up(bounded, "new", NULL), KILN_DONE);
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof(key), "more%d", i);
        put(bounded, key, 10, NULL);
    }
    int left = 0;
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof(key), "more%d", i);
        left += exists(path_of(world, key, ".kiln"));
    }
    CHECK_TRUE(left <= 10 && left >= 8);
    kiln__chain_free(bounded);
}

static void bytes_are_bounded(void **state)
{
    struct world *world = *state;
    kiln_error err = {0};
    char key[32];
    struct kiln_tier *bounded = open_folder(world, true, 100000, NO_BOUND);
    uint64_t kept = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        CHECK_STATUS(put(bounded, key, 10000, NULL), KILN_OK);
        CHECK_TRUE(exists(path_of(world, key, ".kiln"))); /* never what was just put */
    }
    for (int i = 0; i < 40; i++) {
        struct stat info;
        snprintf(key, sizeof(key), "k%d", i);
        if (stat(path_of(world, key, ".kiln"), &info) == 0) kept += (uint64_t)info.st_size;
    }
    CHECK_TRUE(kept <= 100000 && kept >= 60000);
    CHECK_STATUS(put(bounded, "huge", 200000, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "larger than the cache");
    kiln__chain_free(bounded);
}

static void stale_temporary_files_go(void **state)
{
    struct world *world = *state;
    char stale[300], fresh[300];
    struct kiln_tier *bounded = open_folder(world, true, NO_BOUND, 1); /* the second put counts the files */
    put(bounded, "a", 10, NULL);
    snprintf(stale, sizeof(stale), "%s.tmp-aaaaaa", path_of(world, "a", ".kiln"));
    snprintf(fresh, sizeof(fresh), "%s.tmp-bbbbbb", path_of(world, "a", ".kiln"));
    kiln__file_publish(stale, "x", 1, NULL);
    kiln__file_publish(fresh, "x", 1, NULL);
    age(stale, 7200);
    put(bounded, "a", 10, NULL);
    CHECK_FALSE(exists(stale));
    CHECK_TRUE(exists(fresh));
    kiln__chain_free(bounded);
}

static void *work(void *argument)
{
    struct world *world = argument;
    char key[32];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 30; i++) {
            snprintf(key, sizeof(key), "shared%d", i);
            if (put(world->tier, key, 2000, NULL) != KILN_OK || look_up(world->tier, key, NULL) != KILN_DONE)
                return world;
        }
    }
    return NULL;
}

static void threads_share_a_folder(void **state)
{
    pthread_t threads[4];
    void *failed = NULL;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, *state);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        CHECK_NULL(failed);
    }
}

static void memory_is_a_tier(void **state)
{
    struct world *world = *state;
    struct kiln_tier *memory = NULL;
    char key[32];
    CHECK_STATUS(kiln__tier_memory(0, 0, &world->events, &memory, NULL), KILN_OK);
    CHECK_EQ(look_up(memory, "k0", NULL), KILN_MISS);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "k%d", i % 500); /* each twice */
        CHECK_STATUS(put(memory, key, 10, NULL), KILN_OK);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        CHECK_EQ(look_up(memory, key, NULL), KILN_DONE);
    }
    CHECK_EQ(look_up(memory, "k500", NULL), KILN_MISS);
    kiln__chain_free(memory);
}

/* What was looked up least goes, a tenth more than needed; what is put stays, and nothing is counted twice. */
static void memory_has_bounds(void **state)
{
    struct world *world = *state;
    struct kiln_tier *memory = NULL;
    char key[32];
    CHECK_STATUS(kiln__tier_memory(0, 100, &world->events, &memory, NULL), KILN_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        CHECK_STATUS(put(memory, key, 10, NULL), KILN_OK);
    }
    CHECK_EQ(world->events.evictions, 0);
    CHECK_EQ(look_up(memory, "k0", NULL), KILN_DONE);
    CHECK_STATUS(put(memory, "one more", 10, NULL), KILN_OK);
    CHECK_EQ(world->events.evictions, 11); /* down to nine tenths of 100 */
    CHECK_EQ(look_up(memory, "k0", NULL), KILN_DONE);
    CHECK_EQ(look_up(memory, "one more", NULL), KILN_DONE);
    CHECK_EQ(look_up(memory, "k11", NULL), KILN_MISS);
    CHECK_EQ(look_up(memory, "k12", NULL), KILN_DONE);
    kiln__chain_free(memory);

    CHECK_STATUS(kiln__tier_memory(5000, 0, &world->events, &memory, NULL), KILN_OK);
    CHECK_STATUS(put(memory, "a", 2000, NULL), KILN_OK);
    CHECK_STATUS(put(memory, "b", 1000, NULL), KILN_OK);
    CHECK_STATUS(put(memory, "a", 100, NULL), KILN_OK); /* what is replaced takes no room */
    CHECK_STATUS(put(memory, "c", 2400, NULL), KILN_OK);
    CHECK_EQ(world->events.evictions, 11);
    CHECK_STATUS(put(memory, "d", 1800, NULL), KILN_OK);
    CHECK_EQ(world->events.evictions, 12);
    CHECK_EQ(look_up(memory, "b", NULL), KILN_MISS);
    CHECK_EQ(look_up(memory, "a", NULL), KILN_DONE);
    CHECK_EQ(look_up(memory, "c", NULL), KILN_DONE);
    kiln_error err = {0};
    CHECK_STATUS(put(memory, "e", 6000, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "larger than the cache may be");
    CHECK_EQ(look_up(memory, "d", NULL), KILN_DONE);
    kiln__chain_free(memory);
}

static int chain_look_up(struct kiln_tier *first, const char *key)
{
    struct kiln_digest digest = kiln__digest(key, strlen(key));
    struct kiln_artifact *artifact = kiln__chain_find(first, &digest, (kiln_bytes){key, strlen(key)}, NULL, NULL);
    kiln__artifact_unref(artifact);
    return artifact ? KILN_DONE : KILN_MISS;
}

static void chain_asks_in_order_and_counts_faults(void **state)
{
    struct world *world = *state;
    struct kiln_tier_events first_events = {0};
    struct kiln_tier *read_only = NULL;
    put(world->tier, "both", 10, NULL);
    put(world->tier, "mine", 10, NULL);
    char other[128];
    snprintf(other, sizeof(other), "%s/other", world->folder);
    CHECK_STATUS(kiln__tier_folder(other, true, 0, 0, &first_events, &read_only, NULL), KILN_OK);
    put(read_only, "both", 10, NULL);
    put(read_only, "theirs", 10, NULL);
    kiln__chain_free(read_only);
    CHECK_STATUS(kiln__tier_folder(other, false, 0, 0, &first_events, &read_only, NULL), KILN_OK);
    read_only->next = world->tier;
    world->tier = read_only;
    CHECK_EQ(chain_look_up(world->tier, "both"), KILN_DONE);
    CHECK_EQ(chain_look_up(world->tier, "mine"), KILN_DONE);
    CHECK_EQ(chain_look_up(world->tier, "theirs"), KILN_DONE);
    CHECK_EQ(chain_look_up(world->tier, "none"), KILN_MISS);
    struct kiln_artifact *artifact = make_artifact("added", 10);
    kiln__chain_put(world->tier, artifact, NULL);
    CHECK_TRUE(exists(path_of(world, "added", ".kiln")));
    /* A damaged entry in the first tier: counted there, and the second answers. */
    char folder[64];
    strcpy(folder, world->folder);
    strcpy(world->folder, other);
    flip_byte(path_of(world, "both", ".kiln"), 100);
    strcpy(world->folder, folder);
    CHECK_EQ(chain_look_up(world->tier, "both"), KILN_DONE);
    CHECK_EQ(first_events.corrupt, 1);
    CHECK_EQ(world->events.corrupt, 0);
    /* A put that fails is a fault, not an error. */
    CHECK_EQ(chmod(world->folder, 0777), 0);
    kiln__chain_put(world->tier, artifact, NULL);
    CHECK_EQ(world->events.faults, 1);
    kiln__chain_put(NULL, artifact, NULL);
    CHECK_EQ(chain_look_up(NULL, "both"), KILN_MISS);
    kiln__artifact_unref(artifact);
}

/* ---- tool chain ---- */

static const char *toolchain_path(const struct world *world)
{
    static char path[96];
    snprintf(path, sizeof(path), "%s/toolchain", world->folder);
    return path;
}

static void write_toolchain(const struct world *world, const char *text, size_t size)
{
    CHECK_STATUS(kiln__file_publish(toolchain_path(world), text, size, NULL), KILN_OK);
}
#define write_toolchain(...) CHECK_CALL(write_toolchain, __VA_ARGS__)

static void a_tool_chain_is_named(void **state)
{
    struct world *world = *state;
    struct stat before, after;
    char line[KILN_TOOLCHAIN_SIZE];
    CHECK_FALSE(kiln__chain_toolchain(world->tier, line));
    kiln__chain_set_toolchain(world->tier, "plugin:1 llvm:2");
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_STR(line, "plugin:1 llvm:2");
    /* The same is not written again, and another is; permissions are those of artifacts. */
    CHECK_EQ(stat(toolchain_path(world), &before), 0);
    CHECK_EQ(before.st_mode & 0777, 0600);
    kiln__chain_set_toolchain(world->tier, "plugin:1 llvm:2");
    CHECK_EQ(stat(toolchain_path(world), &after), 0);
    CHECK_EQ(before.st_ino, after.st_ino);
    kiln__chain_set_toolchain(world->tier, "plugin:3");
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_STR(line, "plugin:3");
    /* A folder that was deleted comes back. */
    remove_tree(world->folder);
    kiln__chain_set_toolchain(world->tier, "plugin:3");
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_EQ(world->events.faults, 0);
}

static void what_is_no_line_names_no_tool_chain(void **state)
{
    struct world *world = *state;
    char line[KILN_TOOLCHAIN_SIZE], text[KILN_TOOLCHAIN_SIZE + 1];
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {{"", 0},
               {"\n", 1},
               {"plugin:1", 8},
               {"plugin:1\nllvm:2\n", 16},
               {"plugin:\0\n", 9},
               {"plug\tin\n", 8},
               {"pl\xc3\xbcgin\n", 8},
               {"plugin\x7f\n", 8}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        write_toolchain(world, bad[i].text, bad[i].size);
        CHECK_FALSE(kiln__chain_toolchain(world->tier, line));
    }
    memset(text, 'a', sizeof(text));
    text[KILN_TOOLCHAIN_SIZE - 1] = text[KILN_TOOLCHAIN_SIZE] = '\n';
    write_toolchain(world, text, KILN_TOOLCHAIN_SIZE); /* the longest */
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_EQ(strlen(line), KILN_TOOLCHAIN_SIZE - 1);
    text[KILN_TOOLCHAIN_SIZE - 1] = 'a';
    write_toolchain(world, text, KILN_TOOLCHAIN_SIZE + 1);
    CHECK_FALSE(kiln__chain_toolchain(world->tier, line));
    CHECK_EQ(world->events.faults, 0);
    /* Nor is any such thing written. */
    text[KILN_TOOLCHAIN_SIZE] = '\0';
    remove(toolchain_path(world));
    CHECK_STATUS(world->tier->methods->set_toolchain(world->tier, text, NULL), KILN_INVALID);
    CHECK_STATUS(world->tier->methods->set_toolchain(world->tier, "two\nlines", NULL), KILN_INVALID);
    CHECK_STATUS(world->tier->methods->set_toolchain(world->tier, "", NULL), KILN_INVALID);
    CHECK_FALSE(exists(toolchain_path(world)));
}

static void faults_of_a_tool_chain_are_counted(void **state)
{
    struct world *world = *state;
    char line[KILN_TOOLCHAIN_SIZE];
    kiln__chain_set_toolchain(world->tier, "plugin:1");
    CHECK_EQ(chmod(toolchain_path(world), 0622), 0);
    CHECK_FALSE(kiln__chain_toolchain(world->tier, line));
    CHECK_EQ(world->events.faults, 1);
    kiln__chain_set_toolchain(world->tier, "plugin:1"); /* replaces it */
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_EQ(remove(toolchain_path(world)), 0);
    CHECK_EQ(mkdir(toolchain_path(world), 0700), 0);
    kiln__chain_set_toolchain(world->tier, "plugin:1");
    CHECK_EQ(world->events.faults, 2);
    CHECK_EQ(chmod(world->folder, 0777), 0);
    kiln__chain_set_toolchain(world->tier, "plugin:1");
    CHECK_EQ(world->events.faults, 3);
    kiln__chain_set_toolchain(NULL, "plugin:1");
    CHECK_FALSE(kiln__chain_toolchain(NULL, line));
}

static void the_first_tier_names_the_tool_chain(void **state)
{
    struct world *world = *state;
    struct kiln_tier *memory = NULL, *other = NULL;
    char line[KILN_TOOLCHAIN_SIZE], folder[128];
    snprintf(folder, sizeof(folder), "%s/other", world->folder);
    kiln__chain_set_toolchain(world->tier, "plugin:last");
    CHECK_STATUS(kiln__tier_memory(0, 0, &world->events, &memory, NULL), KILN_OK);
    CHECK_STATUS(kiln__tier_folder(folder, true, 0, 0, &world->events, &other, NULL), KILN_OK);
    memory->writable = other->writable = false;
    memory->next = other, other->next = world->tier, world->tier = memory;
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_STR(line, "plugin:last");
    CHECK_STATUS(other->methods->set_toolchain(other, "plugin:first", NULL), KILN_OK);
    CHECK_TRUE(kiln__chain_toolchain(world->tier, line));
    CHECK_STR(line, "plugin:first");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* What is whole, but earlier, is a miss, and the next put takes its place. */
static void an_earlier_format_is_a_miss(void **state)
{
    struct world *world = *state;
    struct kiln_buffer bytes = {0};
    CHECK_STATUS(put(world->tier, "key", 100, NULL), KILN_OK);
    const char *path = path_of(world, "key", ".kiln");
    CHECK_EQ(kiln__file_read(KILN_CORPUS "/artifact/version1.kiln", 1 << 20, &bytes, NULL), KILN_DONE);
    CHECK_STATUS(kiln__file_publish(path, bytes.data, bytes.size, NULL), KILN_OK);
    CHECK_EQ(look_up(world->tier, "key", NULL), KILN_MISS);
    CHECK_EQ(world->events.corrupt, 0);
    CHECK_TRUE(exists(path_of(world, "key", ".kiln")) && !exists(path_of(world, "key", ".bad")));
    CHECK_STATUS(put(world->tier, "key", 100, NULL), KILN_OK);
    CHECK_EQ(look_up(world->tier, "key", NULL), KILN_DONE);
    kiln__buffer_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(put_then_get),
        WITH_FOLDER(artifact_outlives_tier_and_file),
        WITH_FOLDER(damaged_entry_is_put_aside_and_replaced),
        WITH_FOLDER(misplaced_entry_is_refused),
        WITH_FOLDER(foreign_entry_is_refused),
        WITH_FOLDER(read_only_tier_writes_nothing),
        WITH_FOLDER(untrusted_folders_are_refused),
        WITH_FOLDER(deleted_folder_comes_back),
        WITH_FOLDER(hits_keep_an_entry_young),
        WITH_FOLDER(files_are_bounded_oldest_first),
        WITH_FOLDER(bytes_are_bounded),
        WITH_FOLDER(stale_temporary_files_go),
        WITH_FOLDER(threads_share_a_folder),
        WITH_FOLDER(memory_is_a_tier),
        WITH_FOLDER(memory_has_bounds),
        WITH_FOLDER(chain_asks_in_order_and_counts_faults),
        WITH_FOLDER(a_tool_chain_is_named),
        WITH_FOLDER(what_is_no_line_names_no_tool_chain),
        WITH_FOLDER(faults_of_a_tool_chain_are_counted),
        WITH_FOLDER(the_first_tier_names_the_tool_chain),
        cmocka_unit_test_setup_teardown(an_earlier_format_is_a_miss, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
