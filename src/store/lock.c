/*
 * lock.c - see lock.h.
 *
 * Invariants: a lock file appears by O_EXCL only and its text never changes, so two reads with the same text are of one
 * holding; what a process removes under the lock's name is what it has looked at: a holder its own file, a breaker the
 * file whose text it judged. A rename decides between breakers, and one that caught a newer lock puts it back.
 */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/log.h"
#include "base/process.h"

enum {
    TEXT_SIZE = 160,
    DEFAULT_WAIT_MS = 10000,
    DEFAULT_STALE_MS = 5000,
    BEATS_BEFORE_STALE = 10, /* a busy machine may well delay a few */
    COMPILES_TO_WAIT = 10,
    FIRST_DELAY_US = 1000,
    LAST_DELAY_US = 20000,
    BEATER_STACK = 1 << 18,
};

struct kiln_lock {
    char *path;
    int fd; /* open until released: the file's number is not given to another meanwhile */
    uint64_t since_ns;
    unsigned forks; /* kiln__forks() when it was taken: a child of the holder does not hold it */
    bool has_beater;
    pthread_t beater;
    pthread_mutex_t mutex; /* guards `is_over` */
    pthread_cond_t over;
    bool is_over;
};

static _Atomic uint64_t wait_limit_ms = DEFAULT_WAIT_MS, stale_limit_ms = DEFAULT_STALE_MS;
static _Atomic uint64_t longest_ns; /* that a lock was held by this process */
static _Thread_local unsigned held; /* by this thread */

void kiln__lock_set_limits(uint64_t wait_ms, uint64_t stale_ms)
{
    atomic_store(&wait_limit_ms, wait_ms ? wait_ms : DEFAULT_WAIT_MS);
    atomic_store(&stale_limit_ms, stale_ms ? stale_ms : DEFAULT_STALE_MS);
}

/* What follows the ending of a lock's name: "", or "-<process>-<number>" when it is being broken; NULL: no lock. */
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
    return after_ending(name) != NULL;
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

static void add_ms(struct timespec *time, uint64_t ms)
{
    time->tv_sec += (time_t)(ms / 1000);
    time->tv_nsec += (long)(ms % 1000) * 1000000;
    if (time->tv_nsec >= 1000000000) time->tv_sec++, time->tv_nsec -= 1000000000;
}

static void *beat(void *context)
{
    struct kiln_lock *lock = context;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&lock->mutex);
    while (!lock->is_over) {
        add_ms(&next, atomic_load(&stale_limit_ms) / BEATS_BEFORE_STALE + 1);
        while (!lock->is_over && pthread_cond_timedwait(&lock->over, &lock->mutex, &next) != ETIMEDOUT) {
        }
        if (!lock->is_over) futimens(lock->fd, NULL);
    }
    pthread_mutex_unlock(&lock->mutex);
    return NULL;
}

/* Without a heartbeat a long compile is done twice; no more than that. */
static void start_beating(struct kiln_lock *lock)
{
    pthread_attr_t attributes;
    pthread_condattr_t clock;
    sigset_t all, before;
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&lock->over, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, BEATER_STACK);
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    lock->has_beater = pthread_create(&lock->beater, &attributes, beat, lock) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void stop_beating(struct kiln_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->is_over = true;
    pthread_cond_signal(&lock->over);
    pthread_mutex_unlock(&lock->mutex);
    if (lock->has_beater) pthread_join(lock->beater, NULL);
    pthread_cond_destroy(&lock->over);
    pthread_mutex_destroy(&lock->mutex);
}

/* ---- hold ----------------------------------------------------------------------------------------------------- */

/* "kiln-lock 1 <process> <random>\n": no two holdings have the same text. */
static void holder_text(char out[TEXT_SIZE])
{
    char process[KILN_PROCESS_TEXT];
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = kiln__clock_ns();
    kiln__process_text(process);
    snprintf(out, TEXT_SIZE, "kiln-lock 1 %s %016llx\n", process, (unsigned long long)random);
}

static void lock_free(struct kiln_lock *lock)
{
    if (!lock) return;
    if (lock->fd >= 0) close(lock->fd);
    free(lock->path);
    free(lock);
}

/* KILN_MISS: somebody else holds it. */
static kiln_status create(const char *path, struct kiln_lock **out, kiln_error *err)
{
    char text[TEXT_SIZE], reason[128];
    int fd;
    do fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && errno == EEXIST) return (kiln_status)KILN_MISS;
    if (fd < 0) return kiln__fail(err, KILN_IO, "can't create %s: %s", path, strerror_r(errno, reason, sizeof reason));
    holder_text(text);
    ssize_t written = write(fd, text, strlen(text)); /* on a full disk the lock says nothing; the heartbeat tells */
    (void)written;
    struct kiln_lock *lock = calloc(1, sizeof *lock);
    if (lock)
        *lock =
            (struct kiln_lock){.path = strdup(path), .fd = fd, .since_ns = kiln__clock_ns(), .forks = kiln__forks()};
    if (!lock || !lock->path) {
        unlink(path);
        if (!lock) close(fd);
        lock_free(lock);
        return kiln__no_memory(err, "a lock");
    }
    start_beating(lock);
    held++;
    *out = lock;
    return KILN_OK;
}

static void remember_longest(uint64_t ns)
{
    uint64_t known = atomic_load(&longest_ns);
    while (ns > known && !atomic_compare_exchange_weak(&longest_ns, &known, ns)) {
    }
}

void kiln__lock_release(struct kiln_lock *lock)
{
    struct stat ours, there;
    if (!lock) return;
    held--;
    if (lock->forks != kiln__forks()) {
        lock_free(lock);
        return;
    }
    remember_longest(kiln__clock_ns() - lock->since_ns);
    stop_beating(lock);
    bool is_ours = fstat(lock->fd, &ours) == 0 && lstat(lock->path, &there) == 0 && ours.st_dev == there.st_dev &&
                   ours.st_ino == there.st_ino;
    if (is_ours) unlink(lock->path);
    lock_free(lock);
}

/* ---- wait ----------------------------------------------------------------------------------------------------- */

/* What was last seen under the lock's name, and since when it has been like that. */
struct sight {
    char text[TEXT_SIZE];
    struct timespec beat;
    uint64_t since_ns;
};

/* Opened anew each time, which makes network file systems ask the server. What can't be read has no text and no
 * heartbeat. False: there is no lock. */
static bool look(const char *path, struct sight *out)
{
    struct stat info;
    *out = (struct sight){.since_ns = kiln__clock_ns()};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno != ENOENT;
    ssize_t got = read(fd, out->text, TEXT_SIZE - 1);
    out->text[got > 0 ? got : 0] = '\0';
    if (fstat(fd, &info) == 0) out->beat = info.st_mtim;
    close(fd);
    return true;
}

static bool is_same_beat(const struct sight *a, const struct sight *b)
{
    return a->beat.tv_sec == b->beat.tv_sec && a->beat.tv_nsec == b->beat.tv_nsec && !strcmp(a->text, b->text);
}

static bool is_abandoned(const struct sight *sight)
{
    static const char head[] = "kiln-lock 1 ";
    if (!strncmp(sight->text, head, sizeof head - 1) && kiln__process_is_gone(sight->text + sizeof head - 1))
        return true;
    return kiln__clock_ns() - sight->since_ns > atomic_load(&stale_limit_ms) * 1000000;
}

static bool still_says(const char *path, const struct sight *judged)
{
    struct sight now;
    return look(path, &now) && !strcmp(now.text, judged->text);
}

/* Moves the lock away under a name of our own, unless somebody else was quicker. */
static void break_lock(const char *path, const struct sight *judged)
{
    char *aside, process[KILN_PROCESS_TEXT];
    static _Atomic unsigned count;
    kiln__process_text(process);
    if (asprintf(&aside, "%s-%s-%u", path, process, atomic_fetch_add(&count, 1)) < 0) return;
    if (still_says(path, judged) && rename(path, aside) == 0) {
        if (!still_says(aside, judged)) {
            int back = link(aside, path); /* fails when there is a newer one: then two compile */
            (void)back;
        }
        remove(aside);
        kiln__log(KILN_LOG_FAULT, "broke the lock %s: its holder is gone or stands still", path);
    }
    free(aside);
}

static uint64_t wait_limit_ns(void)
{
    uint64_t least = atomic_load(&wait_limit_ms) * 1000000, usual = COMPILES_TO_WAIT * atomic_load(&longest_ns);
    return usual > least ? usual : least;
}

static void sleep_us(unsigned us)
{
    struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL); /* a signal only makes us look earlier */
}

/* Until the lock is ours, the artifact is there, or the bound is reached. */
static kiln_status take_or_wait(const char *path, const char *artifact, struct kiln_lock **out, kiln_error *err)
{
    struct sight last = {.text = ""}, now;
    uint64_t start = kiln__clock_ns();
    unsigned delay_us = FIRST_DELAY_US;
    for (;;) {
        kiln_status status = create(path, out, err);
        if ((int)status != KILN_MISS || exists(artifact)) return status;
        if (look(path, &now) && (!last.since_ns || !is_same_beat(&now, &last))) last = now;
        if (last.since_ns && is_abandoned(&last)) {
            break_lock(path, &last);
            last.since_ns = 0;
            delay_us = FIRST_DELAY_US;
        }
        if (kiln__clock_ns() - start > wait_limit_ns()) {
            kiln__log(KILN_LOG_FAULT, "%s is held for too long: going on without it", path);
            return (kiln_status)KILN_MISS;
        }
        sleep_us(delay_us);
        delay_us += delay_us / 2;
        if (delay_us > LAST_DELAY_US) delay_us = LAST_DELAY_US;
    }
}

kiln_status kiln__lock_take(const char *path, const char *artifact, bool is_last, struct kiln_lock **out,
                            kiln_error *err)
{
    *out = NULL;
    kiln_status status = held && !is_last ? create(path, out, err) : take_or_wait(path, artifact, out, err);
    if (status < 0) return status;
    return exists(artifact) ? KILN_OK : (kiln_status)KILN_MISS;
}
