/*
 * exit.c - see exit.h. Invariant: on_exit() entries that are registered more than once do their work once.
 */
#include "base/process/exit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process/gate.h"

#define PATIENCE_NS 1000000000ull
enum { MOST_WRITERS = 4, MOST_AGAIN = 4096 };

static void (*writers[MOST_WRITERS])(void);
static size_t writer_count;
static void (*flush_work)(uint64_t patience_ns);

bool kiln__is_leaving(void)
{
    return kiln__work_is_closed();
}

void kiln__exit_add_writer(void (*write)(void))
{
    if (writer_count == MOST_WRITERS) abort(); /* a build with more of them needs a longer list */
    writers[writer_count++] = write;
}

void kiln__exit_add_flusher(void (*flush)(uint64_t patience_ns))
{
    if (flush_work) abort(); /* a build with more of them needs a list */
    flush_work = flush;
}

static void *flush(void *done)
{
    fflush(NULL);
    atomic_store((_Atomic bool *)done, true);
    return NULL;
}

/* On a thread of its own: a stream may be locked by a thread that never gives it back. */
static void flush_streams(void)
{
    static _Atomic bool done;
    uint64_t start = kiln__clock_ns();
    pthread_t thread;
    if (pthread_create(&thread, NULL, flush, &done) != 0) return;
    while (!atomic_load(&done) && kiln__clock_ns() - start < PATIENCE_NS)
        syscall(SYS_nanosleep, &(struct timespec){0, 50000}, NULL);
}

static void at_exit(int status, void *impatient)
{
    uint64_t start = kiln__clock_ns();
    if (!impatient && !kiln__is_leaving() && flush_work) flush_work(PATIENCE_NS);
    uint64_t spent = kiln__clock_ns() - start;
    if (kiln__work_close(impatient || spent > PATIENCE_NS ? 0 : PATIENCE_NS - spent)) return;
    for (size_t i = 0; i < writer_count; i++) writers[i]();
    flush_streams();
    _exit(status);
}

void kiln__exit_watch(void)
{
    on_exit(at_exit, NULL);
}

void kiln__exit_watch_loading(void)
{
    static char impatient;
    on_exit(at_exit, &impatient);
}

/* ---- the thread that calls exit() ------------------------------------------------------------------------------ */

extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

/*
 * Runs when a thread ends, and first of all when a thread calls exit(); the two can't be told apart. Each registration
 * takes a few bytes for good, so threads other than the first leave one only while somebody works.
 */
static void watch_again(void *unused)
{
    (void)unused;
    static _Atomic unsigned again;
    if (kiln__is_leaving()) return;
    bool is_first_thread = syscall(SYS_gettid) == getpid();
    if (is_first_thread || (kiln__work_is_elsewhere() && atomic_fetch_add(&again, 1) < MOST_AGAIN)) kiln__exit_watch();
}

void kiln__exit_know_thread(void)
{
    __cxa_thread_atexit_impl(watch_again, NULL, &__dso_handle);
}

/* The thread that loads the library is the first one, or may well be the one that leaves. */
__attribute__((constructor)) static void know_first_thread(void)
{
    kiln__exit_know_thread();
}
