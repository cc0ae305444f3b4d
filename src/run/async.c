/*
 * async.c - evaluation behind the caller's back: one worker thread with a queue, made on first use.
 *
 * A task holds references to its arrays, so callers may free theirs. Errors stay in the graph: a later eval of the same
 * arrays meets them. After fork the child's queue is empty: what was queued is lazy there and evaluated when asked for.
 */
#include <pthread.h>
#include <stdlib.h>

#include "device/device.h"
#include "run/eval.h"
#include "run/pool.h"

struct task {
    struct task *next;
    kiln_device *device; /* the caller's */
    size_t count;
    struct kiln_array *arrays[];
};

static struct {
    pthread_mutex_t lock; /* guards all below; taken before eval.c's lock, never after it */
    pthread_cond_t added, idle;
    struct task *first, **last;
    size_t unfinished;
    bool started;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .added = PTHREAD_COND_INITIALIZER,
           .idle = PTHREAD_COND_INITIALIZER,
           .last = &queue.first};

static void before_fork(void)
{
    pthread_mutex_lock(&queue.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&queue.lock);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.added, NULL);
    pthread_cond_init(&queue.idle, NULL);
    queue.first = NULL;
    queue.last = &queue.first;
    queue.unfinished = 0;
    queue.started = false;
}

static void register_fork(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void task_free(struct task *task)
{
    for (size_t i = 0; i < task->count; i++) kiln__array_unref(task->arrays[i]);
    free(task);
}

static struct task *next_task(void)
{
    pthread_mutex_lock(&queue.lock);
    while (!queue.first) pthread_cond_wait(&queue.added, &queue.lock);
    struct task *task = queue.first;
    queue.first = task->next;
    if (!queue.first) queue.last = &queue.first;
    pthread_mutex_unlock(&queue.lock);
    return task;
}

static void *worker(void *unused)
{
    (void)unused;
    kiln__thread_quiet();
    for (;;) {
        struct task *task = next_task();
        if (task->device) kiln_set_current_device(task->device);
        kiln__eval(task->arrays, task->count, NULL);
        task_free(task);
        pthread_mutex_lock(&queue.lock);
        if (--queue.unfinished == 0) pthread_cond_broadcast(&queue.idle);
        pthread_mutex_unlock(&queue.lock);
    }
    return NULL;
}

/* With the lock held. */
static bool start_worker(void)
{
    if (queue.started) return true;
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    queue.started = pthread_create(&thread, &attr, worker, NULL) == 0;
    pthread_attr_destroy(&attr);
    return queue.started;
}

static bool enqueue(struct task *task)
{
    pthread_mutex_lock(&queue.lock);
    bool started = start_worker();
    if (started) {
        *queue.last = task;
        queue.last = &task->next;
        queue.unfinished++;
        pthread_cond_signal(&queue.added);
    }
    pthread_mutex_unlock(&queue.lock);
    return started;
}

kiln_status kiln__eval_async(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kiln_status status = kiln__eval_check(arrays, count, err);
    if (status != KILN_OK || count == 0) return status;
    pthread_once(&once, register_fork);
    struct task *task = malloc(sizeof *task + count * sizeof *task->arrays);
    if (!task) return kiln__no_memory(err, "an evaluation");
    task->next = NULL;
    task->count = count;
    task->device = kiln__device_current(NULL);
    for (size_t i = 0; i < count; i++) task->arrays[i] = kiln__array_ref(arrays[i]);
    if (enqueue(task)) return KILN_OK;
    status = kiln__eval(arrays, count, err); /* no thread to be had: do it now */
    task_free(task);
    return status;
}

void kiln__eval_synchronize(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.unfinished > 0) pthread_cond_wait(&queue.idle, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}
