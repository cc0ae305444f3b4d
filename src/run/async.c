/*
 * async.c - asynchronous evaluation: one worker thread with a queue, made on first use.
 *
 * A task holds references to its arrays, so callers may free theirs. Errors stay in the graph: a later eval of the same
 * arrays meets them. After fork the child's queue is empty: what was queued is lazy there and evaluated when asked for.
 *
 * Tasks are numbered and worked off in order, so "task n is evaluated" is a comparison of two numbers. A task stays in
 * the queue until it is evaluated: who finds an array in a task there waits for that task. The worker waits for none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process/callback.h"
#include "base/process/fork.h"
#include "base/process/gate.h"
#include "device/device.h"
#include "run/cpu/pool.h"
#include "run/eval.h"

struct task {
    struct task *next;
    kiln_device *device; /* the caller's */
    uint64_t number;
    size_t count;
    struct kiln_array *arrays[];
};

static struct {
    pthread_mutex_t lock; /* guards all below; taken before eval.c's lock, never after it */
    pthread_cond_t added, moved_on;
    struct task *first, **last; /* what is not evaluated yet, oldest first; the worker is at the first */
    /* Numbers of the newest task, of the newest whose arrays are evaluated, and of the newest that let go of them. The
     * first two are also read without the lock, to see that nothing is to be waited for. */
    _Atomic uint64_t newest, evaluated;
    uint64_t finished;
    bool started;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .added = PTHREAD_COND_INITIALIZER,
           .moved_on = PTHREAD_COND_INITIALIZER,
           .last = &queue.first};

static _Thread_local bool is_worker;

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
    pthread_cond_init(&queue.added, NULL);
    pthread_cond_init(&queue.moved_on, NULL);
    queue.first = NULL;
    queue.last = &queue.first;
    queue.finished = queue.newest;
    queue.evaluated = queue.newest;
    queue.started = false;
    is_worker = false;
    pthread_mutex_unlock(&queue.lock);
}

KILN_AT_FORK(KILN_FORK_QUEUE, before_fork, after_fork_in_parent, after_fork_in_child);

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
    pthread_mutex_unlock(&queue.lock);
    return task;
}

static void leave_queue(struct task *task)
{
    pthread_mutex_lock(&queue.lock);
    queue.first = task->next;
    if (!queue.first) queue.last = &queue.first;
    queue.evaluated = task->number;
    pthread_cond_broadcast(&queue.moved_on);
    pthread_mutex_unlock(&queue.lock);
}

static void finish(uint64_t number)
{
    pthread_mutex_lock(&queue.lock);
    queue.finished = number;
    pthread_cond_broadcast(&queue.moved_on);
    pthread_mutex_unlock(&queue.lock);
}

static void *worker(void *unused)
{
    (void)unused;
    is_worker = true;
    kiln__thread_quiet();
    for (;;) {
        struct task *task = next_task();
        uint64_t number = task->number;
        if (task->device) kiln_set_current_device(task->device);
        kiln__eval(task->arrays, task->count, NULL);
        kiln__thread_stays(); /* a reader of the program's ends no thread of ours */
        leave_queue(task);
        task_free(task); /* may run the program's own destructors, for which no reader waits */
        finish(number);
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
        task->number = ++queue.newest;
        *queue.last = task;
        queue.last = &task->next;
        pthread_cond_signal(&queue.added);
    }
    pthread_mutex_unlock(&queue.lock);
    return started;
}

kiln_status kiln__eval_async(struct kiln_array *const *arrays, size_t count, kiln_error *err)
{
    kiln_status status = kiln__eval_check(arrays, count, err);
    if (status != KILN_OK || count == 0) return status;
    struct task *task = malloc(sizeof *task + count * sizeof *task->arrays);
    if (!task) return kiln__no_memory(err, "an evaluation");
    *task = (struct task){.device = kiln__device_current(NULL)};
    for (size_t i = 0; i < count; i++)
        if (!kiln__array_is_ready(arrays[i])) task->arrays[task->count++] = kiln__array_ref(arrays[i]);
    if (task->count && enqueue(task)) return KILN_OK;
    status = kiln__eval(arrays, count, err); /* nothing to do, or no thread to be had: do it now */
    task_free(task);
    return status;
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static bool has_nothing_to_wait_for(void)
{
    return is_worker || queue.evaluated == queue.newest;
}

/* With the lock held. The number of the first task that makes `array`; 0: none does. */
static uint64_t find_task(const struct kiln_array *array)
{
    for (const struct task *task = queue.first; task; task = task->next)
        for (size_t i = 0; i < task->count; i++)
            if (task->arrays[i] == array) return task->number;
    return 0;
}

void kiln__async_wait_together(struct kiln_array *const *arrays, size_t count)
{
    uint64_t last = 0;
    if (has_nothing_to_wait_for()) return;
    KILN_HOLD_CANCEL;
    pthread_mutex_lock(&queue.lock);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = find_task(arrays[i]);
        if (number > last) last = number;
    }
    while (queue.evaluated < last) pthread_cond_wait(&queue.moved_on, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

void kiln__async_wait_until_ready(const struct kiln_array *array)
{
    if (has_nothing_to_wait_for()) return;
    pthread_mutex_lock(&queue.lock);
    uint64_t last = queue.newest;
    while (!kiln__array_is_ready(array) && queue.evaluated < last) pthread_cond_wait(&queue.moved_on, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

void kiln__eval_synchronize(void)
{
    if (is_worker) return; /* a destructor of the program's: what waits for the worker would wait for itself */
    KILN_HOLD_CANCEL;
    pthread_mutex_lock(&queue.lock);
    uint64_t last = queue.newest;
    while (queue.finished < last) pthread_cond_wait(&queue.moved_on, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}
