/*
 * lock.c - see lock.h.
 *
 * Invariants: a lock's text is written under another name, which is then linked to the lock's: so a lock has its whole
 * text from the moment it is there, it never changes, and two reads with the same text are of one holding. Whoever
 * removes or replaces a lock, its holder or a breaker, has an advisory lock on that very file (flock(2), which ends
 * with the process), and has seen that the name still leads to it. So of several breakers one takes a dead lock over,
 * and nobody removes a newer one. Where flock is not to be had, two may compile.
 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "base/process/process_id.h"
#include "store/beat.h"
#include "store/claim.h"

enum {
    TEXT_SIZE = 160,
    DEFAULT_WAIT_MS = 10000,
    DEFAULT_STALE_MS = 5000,
    BEATS_BEFORE_STALE = 10, /* a busy machine may well delay a few */
    COMPILES_TO_WAIT = 10,
    FIRST_DELAY_US = 1000,
    LAST_DELAY_US = 20000,
    RELEASE_TRIES = 50,
};

struct kiln_lock {
    struct kiln_claim claim; /* first: a kiln_claim * is a kiln_lock * */
    char *path;
    int fd;                /* open until released: the file's number is not given to another meanwhile */
    uint64_t since_ns;     /* what it is held for began then; 0: that says nothing about compiles */
    unsigned forks;        /* kiln__forks() when it was taken: a child of the holder does not hold it */
    struct kiln_beat beat; /* without it a long compile is done twice; no more than that */
};

static _Atomic uint64_t wait_limit_ms = DEFAULT_WAIT_MS, stale_limit_ms = DEFAULT_STALE_MS;
static _Atomic uint64_t longest_ns; /* that a lock was held by this process */

void kiln__lock_set_limits(uint64_t wait_ms, uint64_t stale_ms)
{
    atomic_store(&wait_limit_ms, wait_ms ? wait_ms : DEFAULT_WAIT_MS);
    atomic_store(&stale_limit_ms, stale_ms ? stale_ms : DEFAULT_STALE_MS);
}

/* What follows the ending of a lock's name: "", or "-<process>-<number>" of one being made; NULL: no lock. */
static const char *after_ending(const char *name)
{
    static const char ending[] = ".lock";
    const char *found = strstr(name, ending);
    if (!found) return NULL;
    found += sizeof ending - 1;
    return !*found || *found == '-' ? found : NULL;
}

bool kiln__lock_is_name(const char *name)
{
    return after_ending(name);
}

bool kiln__lock_is_abandoned(const char *name)
{
    const char *after = after_ending(name);
    return after && *after && kiln__process_is_gone(after + 1);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- heartbeat ------------------------------------------------------------------------------------------------ */

static void beat(void *context)
{
    const struct kiln_lock *lock = context;
    futimens(lock->fd, NULL);
}

static uint64_t beat_ms(void)
{
    return atomic_load(&stale_limit_ms) / BEATS_BEFORE_STALE + 1;
}

/* ---- make ----------------------------------------------------------------------------------------------------- */

/* "kiln-lock 1 <process> <random>\n": no two holdings have the same text. */
static void holder_text(char out[TEXT_SIZE])
{
    char process[KILN_PROCESS_TEXT];
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = kiln__clock_ns();
    kiln__process_text(process);
    snprintf(out, TEXT_SIZE, "kiln-lock 1 %s %016llx\n", process, (unsigned long long)random);
}

static enum kiln_outcome fail_io(kiln_error *err, const char *path)
{
    char reason[128];
    int code = errno;
    kiln__fail(err, KILN_IO, "can't make the lock %s: %s", path, strerror_r(code, reason, sizeof reason));
    errno = code;
    return KILN_FAILED;
}

static void lock_free(struct kiln_lock *lock)
{
    if (!lock) return;
    if (lock->fd >= 0) close(lock->fd);
    free(lock->path);
    free(lock);
}

/* The name under which this thread writes a lock; NULL: out of memory. */
static char *name_of_own(const char *path)
{
    static _Atomic unsigned count;
    char *own, process[KILN_PROCESS_TEXT];
    kiln__process_text(process);
    return asprintf(&own, "%s-%s-%u", path, process, atomic_fetch_add(&count, 1)) < 0 ? NULL : own;
}

static struct kiln_lock *lock_new(const char *path)
{
    struct kiln_lock *lock = calloc(1, sizeof *lock);
    if (!lock) return NULL;
    *lock = (struct kiln_lock){.path = strdup(path), .fd = -1, .since_ns = kiln__clock_ns(), .forks = kiln__forks()};
    if (lock->path) return lock;
    lock_free(lock);
    return NULL;
}

/* The lock's file, under the name `own`. */
static enum kiln_outcome write_own(struct kiln_lock *lock, const char *own, kiln_error *err)
{
    char text[TEXT_SIZE];
    do lock->fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (lock->fd < 0 && errno == EINTR);
    if (lock->fd < 0) return fail_io(err, lock->path);
    holder_text(text);
    if (!kiln__write_all(lock->fd, text, strlen(text))) return fail_io(err, lock->path);
    int second = dup(lock->fd); /* closing a descriptor makes a network file system send what was written */
    if (second >= 0) close(second);
    return KILN_DONE;
}

/* KILN_MISS: the name is taken. File systems without hard links may know how to rename without replacing. */
static enum kiln_outcome take_lock(const char *own, const char *path, kiln_error *err)
{
    if (link(own, path) == 0) return KILN_DONE;
    if (errno != EEXIST && errno != ENOENT && renameat2(AT_FDCWD, own, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return KILN_DONE;
    return errno == EEXIST ? KILN_MISS : fail_io(err, path);
}

/* ---- hold ----------------------------------------------------------------------------------------------------- */

static void remember_longest(uint64_t ns)
{
    uint64_t known = atomic_load(&longest_ns);
    while (ns > known && !atomic_compare_exchange_weak(&longest_ns, &known, ns)) {
    }
}

/* False: another process is about to remove or replace this very file. */
static bool guard(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Explicitly: a child that was forked meanwhile has the descriptor too. */
static void unguard(int fd)
{
    flock(fd, LOCK_UN);
}

static void sleep_us(unsigned us)
{
    struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL); /* a signal only makes us look earlier */
}

/* Unless the name leads to another's by now. */
static void remove_file(void *context)
{
    const struct kiln_lock *lock = context;
    for (unsigned i = 0; i < RELEASE_TRIES && !guard(lock->fd); i++) sleep_us(FIRST_DELAY_US);
    if (kiln__file_is_open_at(lock->fd, lock->path)) unlink(lock->path);
    unguard(lock->fd);
}

void kiln__lock_release(struct kiln_lock *lock)
{
    if (!lock) return;
    kiln__claim_remove(&lock->claim);
    if (lock->forks != kiln__forks()) {
        lock_free(lock);
        return;
    }
    if (lock->since_ns) remember_longest(kiln__clock_ns() - lock->since_ns);
    kiln__beat_stop(&lock->beat);
    remove_file(lock);
    lock_free(lock);
}

void kiln__lock_expire_at(struct kiln_lock *lock, uint64_t until_ns)
{
    if (lock) kiln__beat_expire_at(&lock->beat, until_ns, remove_file);
}

void kiln__lock_detach(struct kiln_lock *lock)
{
    if (!lock) return;
    kiln__claim_remove(&lock->claim);
    lock->since_ns = 0;
}

void kiln__lock_restart(struct kiln_lock *lock)
{
    if (lock) lock->since_ns = kiln__clock_ns();
}

static void release(struct kiln_claim *claim)
{
    kiln__lock_release((struct kiln_lock *)claim);
}

/* ---- look ----------------------------------------------------------------------------------------------------- */

/* What was last seen under the lock's name, and since when it has been like that. */
struct sight {
    char text[TEXT_SIZE];
    bool is_empty; /* and no more: otherwise what has no text could not be read */
    struct timespec beat;
    uint64_t since_ns;
};

static void look_at(int fd, struct sight *out)
{
    struct stat info;
    ssize_t got = read(fd, out->text, TEXT_SIZE - 1);
    out->text[got > 0 ? got : 0] = '\0';
    out->is_empty = got == 0;
    if (fstat(fd, &info) == 0) out->beat = info.st_mtim;
}

/* Opened anew each time, which makes network file systems ask the server. What can't be read has no text and no
 * heartbeat. False: there is no lock. *fd is the caller's, or negative. */
static bool look(const char *path, struct sight *out, int *fd)
{
    *out = (struct sight){.since_ns = kiln__clock_ns()};
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0) return errno != ENOENT;
    look_at(*fd, out);
    return true;
}

static bool is_same_beat(const struct sight *a, const struct sight *b)
{
    return a->beat.tv_sec == b->beat.tv_sec && a->beat.tv_nsec == b->beat.tv_nsec && !strcmp(a->text, b->text);
}

/* Nobody writes an empty lock: it was one of version 0.1, whose holder was killed before it had written the text. */
static bool is_abandoned(const struct sight *sight)
{
    static const char head[] = "kiln-lock 1 ";
    if (sight->is_empty) return true;
    if (!strncmp(sight->text, head, sizeof head - 1) && kiln__process_is_gone(sight->text + sizeof head - 1))
        return true;
    return kiln__clock_ns() - sight->since_ns > atomic_load(&stale_limit_ms) * 1000000;
}

/* ---- take ----------------------------------------------------------------------------------------------------- */

/* Puts `own` in the place of the lock that was judged. KILN_MISS: another one is there now, or about to be. */
static enum kiln_outcome replace(const char *own, const char *path, const struct sight *judged, kiln_error *err)
{
    struct sight now;
    int fd;
    bool is_there = look(path, &now, &fd), is_guarded = fd >= 0 && guard(fd);
    bool is_judged =
        is_there && is_same_beat(&now, judged) && (fd < 0 || (is_guarded && kiln__file_is_open_at(fd, path)));
    enum kiln_outcome outcome = KILN_MISS;
    if (is_judged) outcome = rename(own, path) == 0 ? KILN_DONE : fail_io(err, path);
    if (outcome == KILN_DONE)
        kiln__log(KILN_LOG_FAULT, "took the lock %s over: its holder is gone or stands still", path);
    if (is_guarded) unguard(fd);
    if (fd >= 0) close(fd);
    return outcome;
}

/* Takes the lock: where there is none, or, given what was judged, from a holder that is gone. KILN_MISS: it is held. */
static enum kiln_outcome claim(const char *path, const struct sight *judged, struct kiln_lock **out, kiln_error *err)
{
    struct kiln_lock *lock = lock_new(path);
    char *own = name_of_own(path);
    enum kiln_outcome outcome =
        lock && own ? write_own(lock, own, err) : kiln__outcome(kiln__no_memory(err, "a lock"), err);
    if (outcome == KILN_DONE) outcome = judged ? replace(own, path, judged, err) : take_lock(own, path, err);
    int code = errno;
    if (own) unlink(own); /* a second name of the lock, or nothing */
    free(own);
    if (outcome != KILN_DONE) {
        lock_free(lock);
        errno = code;
        return outcome;
    }
    kiln__beat_start(&lock->beat, beat, lock, beat_ms);
    lock->claim.release = release;
    kiln__claim_add(&lock->claim);
    *out = lock;
    return KILN_DONE;
}

/* The same without writing anything while there is one, which is most of the time of a wait. */
static enum kiln_outcome claim_free(const char *path, struct kiln_lock **out, kiln_error *err)
{
    struct stat info;
    if (lstat(path, &info) != 0) return claim(path, NULL, out, err);
    if (S_ISREG(info.st_mode)) return KILN_MISS;
    /* Not a lock of ours, whatever it is. */
    return remove(path) == 0 || errno == ENOENT ? claim(path, NULL, out, err) : fail_io(err, path);
}

uint64_t kiln__lock_wait_ns(void)
{
    uint64_t least = atomic_load(&wait_limit_ms) * 1000000, usual = COMPILES_TO_WAIT * atomic_load(&longest_ns);
    return usual > least ? usual : least;
}

uint64_t kiln__lock_until(bool is_last)
{
    return kiln__claim() && !is_last ? 0 : kiln__clock_ns() + kiln__lock_wait_ns();
}

static bool see(const char *path, struct sight *out)
{
    int fd;
    bool is_there = look(path, out, &fd);
    if (fd >= 0) close(fd);
    return is_there;
}

/* Until the lock is ours, the artifact is there, or the bound is reached. */
static enum kiln_outcome take_or_wait(const char *path, const char *artifact, uint64_t until_ns, struct kiln_lock **out,
                                      kiln_error *err)
{
    struct sight last = {.text = ""}, now;
    unsigned delay_us = FIRST_DELAY_US;
    for (;;) {
        enum kiln_outcome outcome = claim_free(path, out, err);
        if (outcome != KILN_MISS || exists(artifact)) return outcome;
        if (see(path, &now) && (!last.since_ns || !is_same_beat(&now, &last))) last = now;
        if (last.since_ns && is_abandoned(&last)) {
            outcome = claim(path, &last, out, err);
            if (outcome != KILN_MISS) return outcome;
            last.since_ns = 0;
            delay_us = FIRST_DELAY_US;
        }
        if (kiln__clock_ns() >= until_ns) {
            kiln__log(KILN_LOG_FAULT, "%s is held for longer than anybody waits here: going on without it", path);
            return KILN_MISS;
        }
        sleep_us(delay_us);
        delay_us += delay_us / 2;
        if (delay_us > LAST_DELAY_US) delay_us = LAST_DELAY_US;
    }
}

enum kiln_outcome kiln__lock_take(const char *path, const char *artifact, uint64_t until_ns, struct kiln_lock **out,
                                  kiln_error *err)
{
    *out = NULL;
    enum kiln_outcome outcome =
        until_ns ? take_or_wait(path, artifact, until_ns, out, err) : claim_free(path, out, err);
    if (outcome == KILN_FAILED) return outcome;
    return exists(artifact) ? KILN_DONE : KILN_MISS;
}
