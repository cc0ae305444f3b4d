/*
 * tracked_file.c - see tracked_file.h.
 *
 * A record's digest is read without a lock, as a kiln_var is: its epoch is odd while it is written, and a reader that
 * met a writer digests the file itself. Records are found by path under a lock, and freed with the last reference.
 */
#include "key/tracked_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/process/fork.h"

enum { STAMP_WORDS = sizeof(struct kiln_file_stamp) / 8, DIGEST_WORDS = KILN_DIGEST_SIZE / 8 };

/* What was found out last. Only of files with content, and only when it can be believed. */
struct memory {
    _Atomic uint64_t epoch; /* 0: nothing yet; odd: it is being written */
    _Atomic uint64_t stamp[STAMP_WORDS], digest[DIGEST_WORDS];
};

struct kiln_tracked_file {
    struct kiln_tracked_file *next;
    uint32_t refs;
    uint64_t hash;
    struct memory memory;
    char path[];
};

enum { BUCKETS = 1024 };
KILN_LEAF_LOCK(lock); /* guards the records' list and counts, and writing their memory */
static struct kiln_tracked_file *buckets[BUCKETS];
static _Atomic uint64_t digested;

/* ---- records -------------------------------------------------------------------------------------------------- */

static struct kiln_tracked_file *find(const char *path, uint64_t hash)
{
    struct kiln_tracked_file *file = buckets[hash % BUCKETS];
    while (file && (file->hash != hash || strcmp(file->path, path) != 0)) file = file->next;
    return file;
}

static struct kiln_tracked_file *add(const char *path, uint64_t hash)
{
    struct kiln_tracked_file *file = calloc(1, sizeof *file + strlen(path) + 1);
    if (!file) return NULL;
    strcpy(file->path, path);
    file->hash = hash;
    file->next = buckets[hash % BUCKETS];
    return buckets[hash % BUCKETS] = file;
}

struct kiln_tracked_file *kiln__tracked_ref(const char *path)
{
    uint64_t hash = kiln__hash(path, strlen(path));
    pthread_mutex_lock(&lock);
    struct kiln_tracked_file *file = find(path, hash);
    if (!file) file = add(path, hash);
    if (file) file->refs++;
    pthread_mutex_unlock(&lock);
    return file;
}

void kiln__tracked_share(struct kiln_tracked_file *file)
{
    pthread_mutex_lock(&lock);
    file->refs++;
    pthread_mutex_unlock(&lock);
}

void kiln__tracked_unref(struct kiln_tracked_file *file)
{
    if (!file) return;
    pthread_mutex_lock(&lock);
    bool is_last = --file->refs == 0;
    if (is_last) {
        struct kiln_tracked_file **link = &buckets[file->hash % BUCKETS];
        while (*link != file) link = &(*link)->next;
        *link = file->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) free(file);
}

const char *kiln__tracked_path(const struct kiln_tracked_file *file)
{
    return file->path;
}

/* ---- what is remembered --------------------------------------------------------------------------------------- */

static bool recall(const struct memory *memory, const struct kiln_file_stamp *stamp, struct kiln_digest *out)
{
    uint64_t words[STAMP_WORDS], digest[DIGEST_WORDS];
    uint64_t epoch = atomic_load_explicit(&memory->epoch, memory_order_acquire);
    if (!epoch || epoch & 1) return false;
    for (int i = 0; i < STAMP_WORDS; i++) words[i] = atomic_load_explicit(&memory->stamp[i], memory_order_acquire);
    for (int i = 0; i < DIGEST_WORDS; i++) digest[i] = atomic_load_explicit(&memory->digest[i], memory_order_acquire);
    if (atomic_load_explicit(&memory->epoch, memory_order_relaxed) != epoch || memcmp(words, stamp, sizeof *stamp) != 0)
        return false;
    memcpy(out, digest, sizeof *out);
    return true;
}

static void remember(struct memory *memory, const struct kiln_file_stamp *stamp, const struct kiln_digest *of)
{
    uint64_t words[STAMP_WORDS], digest[DIGEST_WORDS];
    memcpy(words, stamp, sizeof words);
    memcpy(digest, of, sizeof digest);
    pthread_mutex_lock(&lock);
    uint64_t epoch = atomic_load_explicit(&memory->epoch, memory_order_relaxed);
    atomic_store_explicit(&memory->epoch, epoch + 1, memory_order_relaxed);
    for (int i = 0; i < STAMP_WORDS; i++) atomic_store_explicit(&memory->stamp[i], words[i], memory_order_release);
    for (int i = 0; i < DIGEST_WORDS; i++) atomic_store_explicit(&memory->digest[i], digest[i], memory_order_release);
    atomic_store_explicit(&memory->epoch, epoch + 2, memory_order_release);
    pthread_mutex_unlock(&lock);
}

/* ---- times ---------------------------------------------------------------------------------------------------- */

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t kiln__file_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds(now);
}

static struct kiln_file_stamp stamp_of(const struct stat *info)
{
    return (struct kiln_file_stamp){.device = info->st_dev,
                                    .inode = info->st_ino,
                                    .size = (uint64_t)info->st_size,
                                    .modified_ns = nanoseconds(info->st_mtim),
                                    .changed_ns = nanoseconds(info->st_ctim)};
}

/*
 * Was the last change so long before `now` that a later one has another time? The system's clock ticks every 1 to 10
 * ms; a file system may keep whole seconds, or every second one. The time of a change can't be set by programs, unlike
 * that of a modification.
 */
static bool is_long_before(const struct kiln_file_stamp *stamp, int64_t now, int64_t grain_ns)
{
    const int64_t coarse_grain_ns = 2000000000;
    bool has_whole_seconds = stamp->changed_ns % 1000000000 == 0;
    return now - stamp->changed_ns > (has_whole_seconds ? coarse_grain_ns : grain_ns);
}

static bool is_settled(const struct kiln_file_stamp *stamp, int64_t now)
{
    enum { GRAIN_NS = 50000000 };
    return is_long_before(stamp, now, GRAIN_NS);
}

struct kiln_file_stamp kiln__tracked_stamp(const struct kiln_tracked_file *file)
{
    struct stat info;
    return stat(file->path, &info) == 0 ? stamp_of(&info) : (struct kiln_file_stamp){0};
}

void kiln__tracked_settle(const struct kiln_tracked_file *file)
{
    enum { LONGEST_NS = 20000000, NAP_NS = 500000 };
    int64_t now = kiln__file_clock_ns(), first = now;
    int64_t changed = kiln__tracked_stamp(file).changed_ns;
    while (changed >= now && changed - now < LONGEST_NS && now - first < LONGEST_NS) {
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        now = kiln__file_clock_ns();
    }
}

/* Of the nearest folder above the path that there is; "/" is always there. */
static struct kiln_file_stamp stamp_above(const char *path)
{
    char *above = strdup(path);
    struct stat info;
    bool is_found = false;
    for (char *slash; above && !is_found && (slash = strrchr(above, '/'));) {
        slash[slash == above] = '\0';
        is_found = stat(above, &info) == 0;
        if (slash == above) break;
    }
    free(above);
    return is_found ? stamp_of(&info) : (struct kiln_file_stamp){.changed_ns = INT64_MAX};
}

bool kiln__tracked_precedes(const struct kiln_tracked_file *file, const struct kiln_file_stamp *stamp, int64_t time_ns)
{
    struct kiln_file_stamp it = stamp->inode ? *stamp : stamp_above(file->path);
    return is_long_before(&it, time_ns, 0);
}

/* ---- looking -------------------------------------------------------------------------------------------------- */

static int read_all(int fd, struct kiln_digest *out)
{
    enum { PIECE = 1 << 16 };
    struct kiln_sha256 sha;
    unsigned char *piece = malloc(PIECE);
    ssize_t count = piece ? 1 : -1;
    int error = ENOMEM;
    kiln__sha256_init(&sha);
    while (piece && count) {
        count = read(fd, piece, PIECE);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        kiln__sha256_update(&sha, piece, (size_t)count);
    }
    if (piece && count < 0) error = errno;
    kiln__sha256_final(&sha, out);
    free(piece);
    atomic_fetch_add_explicit(&digested, 1, memory_order_relaxed);
    return count < 0 ? error : 0;
}

/* Of the file that is there now. Again while it is being written; what is written all the time is digested as it comes.
 */
static int digest(struct kiln_tracked_file *file, struct kiln_digest *out, struct kiln_file_stamp *stamp)
{
    enum { MOST_TRIES = 4 };
    struct stat before, after;
    int error = 0;
    bool is_whole = false;
    for (int tries = 0; tries < MOST_TRIES && !error && !is_whole; tries++) {
        int64_t now = kiln__file_clock_ns();
        int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a fifo is not waited for */
        if (fd < 0) return errno;
        if (fstat(fd, &before) != 0)
            error = errno;
        else
            error = S_ISREG(before.st_mode) ? read_all(fd, out) : EINVAL;
        if (!error && fstat(fd, &after) != 0) error = errno;
        close(fd);
        if (error) return error;
        *stamp = stamp_of(&before);
        struct kiln_file_stamp then = stamp_of(&after);
        is_whole = kiln__file_stamps_equal(stamp, &then);
        if (is_whole && is_settled(stamp, now)) remember(&file->memory, stamp, out);
    }
    return error;
}

static enum kiln_file_kind kind_of(int error)
{
    return error == ENOENT || error == ENOTDIR ? KILN_FILE_ABSENT
           : error == EACCES || error == EPERM ? KILN_FILE_DENIED
                                               : KILN_FILE_UNKNOWN;
}

int kiln__tracked_look(struct kiln_tracked_file *file, struct kiln_file_value *out, struct kiln_file_stamp *stamp)
{
    struct stat info;
    struct kiln_file_stamp unread;
    int error = stat(file->path, &info) == 0 ? 0 : errno;
    if (!stamp) stamp = &unread;
    memset(out, 0, sizeof *out);
    *stamp = error ? (struct kiln_file_stamp){0} : stamp_of(&info);
    if (!error && S_ISDIR(info.st_mode)) {
        out->kind = KILN_FILE_FOLDER;
        return 0;
    }
    if (!error && !S_ISREG(info.st_mode)) error = EINVAL;
    if (!error && !recall(&file->memory, stamp, &out->digest)) error = digest(file, &out->digest, stamp);
    out->kind = error ? kind_of(error) : KILN_FILE_CONTENT;
    if (!error) return 0;
    memset(&out->digest, 0, sizeof out->digest);
    return out->kind == KILN_FILE_ABSENT ? 0 : error;
}

uint64_t kiln__files_digested(void)
{
    return atomic_load(&digested);
}
