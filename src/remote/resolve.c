/*
 * resolve.c - see resolve.h. A lookup belongs to the caller and to its thread; who leaves last frees it.
 */
#include "remote/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct lookup {
    char *host, *port;
    struct addrinfo *found; /* written before `code`, and read after it */
    atomic_int code;        /* of getaddrinfo() */
    sem_t is_over;
    atomic_int users;
};

static int look_up(const char *host, const char *port, int flags, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(host, port, &hints, out);
}

static void leave(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->users, 1) > 1) return;
    if (lookup->found) freeaddrinfo(lookup->found);
    sem_destroy(&lookup->is_over);
    free(lookup->host);
    free(lookup->port);
    free(lookup);
}

static void *run(void *context)
{
    struct lookup *lookup = context;
    lookup->code = look_up(lookup->host, lookup->port, AI_ADDRCONFIG, &lookup->found);
    sem_post(&lookup->is_over);
    leave(lookup);
    return NULL;
}

/* One user so far. NULL: out of memory. */
static struct lookup *make_lookup(const char *host, const char *port)
{
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup) return NULL;
    lookup->host = strdup(host);
    lookup->port = strdup(port);
    sem_init(&lookup->is_over, 0, 0);
    lookup->users = 1;
    if (lookup->host && lookup->port) return lookup;
    leave(lookup);
    return NULL;
}

static bool start(struct lookup *lookup)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    atomic_fetch_add(&lookup->users, 1);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, &attributes, run, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (code) atomic_fetch_sub(&lookup->users, 1);
    return !code;
}

static bool wait_until(sem_t *semaphore, struct kiln_deadline deadline)
{
    struct timespec until = {(time_t)(deadline.at_ns / 1000000000u), (long)(deadline.at_ns % 1000000000u)};
    int code;
    while ((code = sem_clockwait(semaphore, CLOCK_MONOTONIC, &until)) && errno == EINTR) {
    }
    return !code;
}

kiln_status kiln__resolve(const char *host, const char *port, struct kiln_deadline deadline, struct addrinfo **out,
                          kiln_error *err)
{
    if (!look_up(host, port, AI_NUMERICHOST, out)) return KILN_OK;
    struct lookup *lookup = make_lookup(host, port);
    kiln_status status = KILN_OK;
    if (!lookup || !start(lookup))
        status = kiln__no_memory(err, "a thread that looks up a host");
    else if (!wait_until(&lookup->is_over, deadline))
        status = kiln__fail(err, KILN_IO, "the name %.200s could not be looked up within %u ms (KILN_REMOTE_TIMEOUT)",
                            host, deadline.timeout_ms);
    else if (lookup->code)
        status = kiln__fail(err, KILN_IO, "no host %.200s: %s", host, gai_strerror(lookup->code));
    else {
        *out = lookup->found;
        lookup->found = NULL;
    }
    if (lookup) leave(lookup);
    return status;
}
