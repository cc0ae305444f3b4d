/*
 * launch_graph.c - the launches of a plan as one graph of the driver's.
 *
 * A plan launches the same functions each time; when the arrays lie where they lay before, as they do in a loop that
 * frees its results, the whole list of launches is the same, word for word. The second time a list comes it is captured
 * as a graph, and from then on one call of the driver starts all of it. That takes half the time of one launch, so it
 * pays for a single kernel too. The last few lists are known, since a loop may keep one result while it makes the next.
 * What runs is always the list that was collected now.
 *
 * Nothing of a list runs before its end. So what is freed meanwhile is kept for this thread (array/storage.h): another
 * thread's launches would come first. And what must come after a launch, a copy or another library's work, first ends
 * the list: kiln__replay_flush().
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/storage.h"
#include "base/buffer.h"
#include "run/gpu/gpu_launch.h"

/*
 * Calls and their words, one after the other; `words` of a call in a list is its offset in `words` of the list. In
 * front stands the device's generation: after a reset a function may have the address of one that is gone.
 */
struct list {
    struct kiln_buffer calls, words;
};

/* A list that came before. */
struct past {
    struct list list;
    void *graph; /* of it; NULL: it came once */
};

enum { KEPT = 4 };

struct kiln_replay {
    _Atomic bool is_used; /* by the thread that collects */
    const struct kiln_gpu *gpu;
    struct list now;
    struct past past[KEPT];
    unsigned oldest; /* of `past` */
};

static _Thread_local struct kiln_replay *collecting;

struct kiln_replay *kiln__replay_new(void)
{
    return calloc(1, sizeof(struct kiln_replay));
}

static void list_release(struct list *list)
{
    kiln__buffer_release(&list->calls);
    kiln__buffer_release(&list->words);
}

void kiln__replay_free(struct kiln_replay *replay)
{
    if (!replay) return;
    for (unsigned i = 0; i < KEPT; i++) {
        if (replay->past[i].graph) kiln__gpu_replay_free(replay->gpu, replay->past[i].graph);
        list_release(&replay->past[i].list);
    }
    list_release(&replay->now);
    free(replay);
}

void kiln__replay_begin(struct kiln_replay *replay, const kiln_device *device)
{
    if (!replay || collecting || atomic_exchange_explicit(&replay->is_used, true, memory_order_acquire)) return;
    uint64_t generation = atomic_load_explicit(&device->generation, memory_order_relaxed);
    replay->gpu = device->gpu;
    replay->now.calls.size = replay->now.words.size = 0;
    kiln__buffer_append(&replay->now.words, &generation, sizeof generation);
    collecting = replay;
    kiln__storage_hold(true);
}

kiln_status kiln__replay_launch(const struct kiln_gpu *gpu, const struct kiln_gpu_call *call, kiln_error *err)
{
    struct kiln_replay *replay = collecting;
    if (!replay) return kiln__gpu_launch(gpu, call, err);
    struct kiln_gpu_call kept = *call;
    kept.words = (const uint64_t *)(uintptr_t)replay->now.words.size;
    kiln__buffer_append(&replay->now.words, call->words, call->word_count * sizeof *call->words);
    kiln__buffer_append(&replay->now.calls, &kept, sizeof kept);
    bool failed = replay->now.words.failed || replay->now.calls.failed;
    return failed ? kiln__no_memory(err, "a list of launches") : KILN_OK;
}

static size_t count_of(const struct list *list)
{
    return list->calls.size / sizeof(struct kiln_gpu_call);
}

static struct kiln_gpu_call call_at(const struct list *list, size_t index)
{
    struct kiln_gpu_call call;
    memcpy(&call, list->calls.data + index * sizeof call, sizeof call);
    call.words = (const uint64_t *)(const void *)(list->words.data + (uintptr_t)call.words);
    return call;
}

static bool are_equal(const struct kiln_buffer *a, const struct kiln_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static kiln_status launch_all(const struct kiln_replay *replay, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count_of(&replay->now) && !status; i++) {
        struct kiln_gpu_call call = call_at(&replay->now, i);
        status = kiln__gpu_launch(replay->gpu, &call, err);
    }
    return status;
}

/* A graph of `past`; none when the driver refuses. */
static void capture(const struct kiln_replay *replay, struct past *past)
{
    size_t count = count_of(&past->list);
    struct kiln_gpu_call *calls = malloc(count * sizeof *calls);
    if (!calls) return;
    for (size_t i = 0; i < count; i++) calls[i] = call_at(&past->list, i);
    kiln__gpu_replay_new(replay->gpu, calls, count, &past->graph, NULL);
    free(calls);
}

static struct past *find_past(struct kiln_replay *replay)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct list *list = &replay->past[i].list;
        if (are_equal(&list->calls, &replay->now.calls) && are_equal(&list->words, &replay->now.words))
            return &replay->past[i];
    }
    return NULL;
}

/* `now` takes the place of the oldest list. */
static void keep(struct kiln_replay *replay)
{
    struct past *past = &replay->past[replay->oldest];
    struct list old = past->list;
    if (past->graph) kiln__gpu_replay_free(replay->gpu, past->graph);
    *past = (struct past){.list = replay->now};
    replay->now = old;
    replay->oldest = (replay->oldest + 1) % KEPT;
}

static kiln_status start(struct kiln_replay *replay, kiln_error *err)
{
    struct past *past = find_past(replay);
    if (past && !past->graph) capture(replay, past);
    if (past && past->graph) return kiln__gpu_replay(replay->gpu, past->graph, err);
    kiln_status status = launch_all(replay, err);
    if (!past) keep(replay);
    return status;
}

static void end(struct kiln_replay *replay)
{
    collecting = NULL;
    kiln__storage_hold(false);
    replay->now.calls.failed = replay->now.words.failed = false;
    atomic_store_explicit(&replay->is_used, false, memory_order_release);
}

kiln_status kiln__replay_end(bool launch, kiln_error *err)
{
    struct kiln_replay *replay = collecting;
    kiln_status status = KILN_OK;
    if (!replay) return status;
    if (launch && count_of(&replay->now) > 0) status = start(replay, err);
    end(replay);
    return status;
}

kiln_status kiln__replay_flush(kiln_error *err)
{
    struct kiln_replay *replay = collecting;
    if (__builtin_expect(!replay, 1)) return KILN_OK;
    kiln_status status = launch_all(replay, err);
    end(replay);
    return status;
}
