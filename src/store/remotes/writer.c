/*
 * writer.c - see writer.h.
 *
 * Invariant: a job is in the queue, or at hand, or gone; it has a reference to its remotes and its artifact until then.
 * The lock is held for a few instructions at a time, never while a driver is called or something is freed.
 */
#include "store/remotes/writer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/compress.h"
#include "base/log.h"
#include "base/process/exit.h"
#include "base/process/fork.h"
#include "base/process/own_thread.h"

enum { MOST_JOBS = 4096 };
static const size_t most_bytes = (size_t)256 << 20;

struct job {
    struct job *next;
    struct kiln_remotes *remotes;
    struct kiln_artifact *artifact; /* NULL: only the lease is to be ended */
    size_t size;
    bool is_offer;
    struct kiln_lease *lease;
};

KILN_LEAF_LOCK(lock); /* guards the queue */
static struct {
    pthread_cond_t added, moved_on;
    struct job *first, **last;
    struct job *at_hand; /* what the thread works at */
    size_t count, bytes; /* of artifacts, at hand included */
    bool has_thread;
    unsigned forks; /* kiln__forks() when all this was true */
} queue = {.added = PTHREAD_COND_INITIALIZER, .moved_on = PTHREAD_COND_INITIALIZER, .last = &queue.first};
static _Atomic uint64_t leaving_ns; /* the process is leaving: nothing may take longer than until then; 0: it isn't */
static _Atomic size_t most_jobs = MOST_JOBS;

void kiln__writer_set_limit(size_t most)
{
    atomic_store(&most_jobs, most ? most : MOST_JOBS);
}

/* ---- jobs ----------------------------------------------------------------------------------------------------- */

static void job_free(struct job *job)
{
    kiln__artifact_unref(job->artifact);
    kiln__remotes_unref(job->remotes);
    free(job);
}

/* In a child: what the parent's thread works at, and will. The list is the caller's to free. */
static struct job *forget_parent(void)
{
    struct job *jobs = queue.first, *at_hand = queue.at_hand;
    if (at_hand) at_hand->next = jobs, jobs = at_hand;
    queue.added = queue.moved_on = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    queue.first = queue.at_hand = NULL;
    queue.last = &queue.first;
    queue.count = queue.bytes = 0;
    queue.has_thread = false;
    queue.forks = kiln__forks();
    return jobs;
}

static void lock_queue(void)
{
    pthread_mutex_lock(&lock);
    while (queue.forks != kiln__forks()) {
        struct job *jobs = forget_parent(), *next;
        pthread_mutex_unlock(&lock);
        for (; jobs; jobs = next) {
            next = jobs->next;
            if (jobs->lease) kiln__lease_end(jobs->lease, 1); /* not ours: only its memory */
            job_free(jobs);
        }
        pthread_mutex_lock(&lock);
    }
}

static void unlock_queue(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- put ------------------------------------------------------------------------------------------------------ */

/* 0: there is no time left. */
static unsigned timeout_of(const struct kiln_remote *remote)
{
    uint64_t until = atomic_load(&leaving_ns), now = kiln__clock_ns();
    if (!until) return remote->timeout_ms;
    if (now >= until) return 0;
    uint64_t left_ms = (until - now) / 1000000 + 1;
    return left_ms < remote->timeout_ms ? (unsigned)left_ms : remote->timeout_ms;
}

static void put_to(struct kiln_remote *remote, const struct job *job, const char *name, kiln_bytes bytes)
{
    const char *token = job->lease && job->lease->remote == remote ? job->lease->token : NULL;
    unsigned timeout_ms = timeout_of(remote);
    if (!timeout_ms || (job->is_offer && kiln__remote_exists(remote, name, timeout_ms) != KILN_MISS)) return;
    if (kiln__remote_put(remote, name, bytes, token, timeout_ms) == KILN_MISS)
        kiln__log(KILN_LOG_FAULT, "%s is not put to remote %s: the lease is lost, another host has it", name,
                  remote->label);
}

static void put_to_all(const struct job *job)
{
    struct kiln_remotes *remotes = job->remotes;
    struct kiln_buffer raw = {0}, bytes = {0};
    kiln_error err = {.status = KILN_OK, .text = ""};
    char name[KILN_DIGEST_HEX];
    kiln__digest_hex(&job->artifact->digest, name);
    kiln_status status = kiln__artifact_encode(job->artifact, &raw, &err);
    if (!status) status = kiln__compress((kiln_bytes){raw.data, raw.size}, &bytes);
    if (!status && bytes.size > KILN_REMOTE_MAX_BYTES)
        status = kiln__fail(&err, KILN_INVALID, "%zu bytes are too many for a remote", bytes.size);
    for (size_t i = 0; i < remotes->count && !status; i++)
        put_to(&remotes->list[i], job, name, (kiln_bytes){bytes.data, bytes.size});
    if (status) {
        kiln__event(&remotes->events.faults, 1);
        kiln__log(KILN_LOG_FAULT, "%s is not put to remotes: %s", name, err.text);
    }
    kiln__buffer_release(&raw);
    kiln__buffer_release(&bytes);
}

/* ---- the thread ----------------------------------------------------------------------------------------------- */

static struct job *take(void)
{
    lock_queue();
    while (!queue.first) pthread_cond_wait(&queue.added, &lock);
    struct job *job = queue.at_hand = queue.first;
    queue.first = job->next;
    if (!queue.first) queue.last = &queue.first;
    unlock_queue();
    return job;
}

static void finish(struct job *job)
{
    lock_queue();
    queue.at_hand = NULL;
    queue.count -= job->artifact ? 1 : 0;
    queue.bytes -= job->size;
    pthread_cond_broadcast(&queue.moved_on);
    unlock_queue();
    job_free(job);
}

static void end_lease(struct kiln_lease *lease)
{
    unsigned timeout_ms = timeout_of(lease->remote);
    kiln__lease_end(lease, timeout_ms ? timeout_ms : 1);
}

static void *write_all(void *unused)
{
    (void)unused;
    for (;;) {
        struct job *job = take();
        if (job->artifact) put_to_all(job);
        if (job->lease) end_lease(job->lease);
        finish(job);
    }
    return NULL;
}

/* ---- add ------------------------------------------------------------------------------------------------------ */

static bool has_room(const struct job *job)
{
    return !job->artifact || (queue.count < atomic_load(&most_jobs) && job->size <= most_bytes - queue.bytes);
}

/* False: there can be no thread. */
static bool append(struct job *job)
{
    if (!queue.has_thread) queue.has_thread = kiln__own_thread_start(write_all, NULL, NULL);
    if (!queue.has_thread) return false;
    queue.count += job->artifact ? 1 : 0;
    queue.bytes += job->size;
    *queue.last = job;
    queue.last = &job->next;
    pthread_cond_signal(&queue.added);
    return true;
}

static struct job *job_new(struct kiln_remotes *remotes, struct kiln_artifact *artifact, bool is_offer,
                           struct kiln_lease *lease)
{
    struct job *job = malloc(sizeof *job);
    if (!job) return NULL;
    *job = (struct job){.remotes = remotes, .artifact = artifact, .is_offer = is_offer, .lease = lease};
    kiln__remotes_ref(remotes);
    if (artifact) kiln__artifact_ref(artifact);
    if (artifact) job->size = kiln__artifact_size(artifact);
    return job;
}

static void say_dropped(struct kiln_remotes *remotes)
{
    kiln__event(&remotes->events.faults, 1);
    kiln__log_once("remotes are slower than what is made for them: some of it is not put there");
}

/* The newest is what does not fit. Its lease is ended all the same. */
void kiln__writer_add(struct kiln_remotes *remotes, struct kiln_artifact *artifact, bool is_offer,
                      struct kiln_lease *lease)
{
    struct job *job = job_new(remotes, artifact, is_offer, lease);
    bool is_dropped = !job, is_added = false;
    if (job) {
        lock_queue();
        is_dropped = !has_room(job);
        if (is_dropped) job->size = 0, job->artifact = NULL;
        is_added = (!is_dropped || lease) && append(job);
        unlock_queue();
        if (is_dropped) kiln__artifact_unref(artifact);
    }
    if (artifact && (is_dropped || !is_added)) say_dropped(remotes);
    if (is_added) return;
    if (lease) kiln__lease_end(lease, 1);
    if (job) job_free(job);
}

/* ---- flush ---------------------------------------------------------------------------------------------------- */

static bool is_pending(const struct kiln_remotes *remotes)
{
    const struct job *job = queue.at_hand;
    if (job && (!remotes || job->remotes == remotes)) return true;
    for (job = queue.first; job; job = job->next)
        if (!remotes || job->remotes == remotes) return true;
    return false;
}

void kiln__writer_flush(const struct kiln_remotes *remotes, uint64_t patience_ns)
{
    uint64_t until = kiln__clock_ns() + patience_ns;
    struct timespec time = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    lock_queue();
    while (is_pending(remotes) && pthread_cond_clockwait(&queue.moved_on, &lock, CLOCK_MONOTONIC, &time) != ETIMEDOUT) {
    }
    unlock_queue();
}

/* Before exit() lets nobody call a driver any more. What began before may take its time; what follows gets the rest. */
static void flush_at_exit(uint64_t patience_ns)
{
    const uint64_t margin_ns = patience_ns / 10; /* so that the last put has ended when the patience has */
    atomic_store(&leaving_ns, kiln__clock_ns() + patience_ns - margin_ns);
    kiln__writer_flush(NULL, patience_ns);
}

__attribute__((constructor)) static void flush_before_exit(void)
{
    kiln__exit_add_flusher(flush_at_exit);
}
