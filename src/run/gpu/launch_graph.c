/*
 * launch_graph.c - the launches of a plan as one graph of the driver's.
 *
 * A plan launches the same functions each time, with grids that follow from shapes; only params differ, where arrays
 * lie elsewhere. When such a list comes for the second time it is captured as a graph, and from then on one call of the
 * driver starts all of it. That takes half the time of one launch, so it pays for a single kernel too. In a loop that
 * frees its results the arrays have the same addresses again, and the list is the same bit for bit; in another the
 * launches whose params are others get those before the graph starts, and nothing is captured again. The last few lists
 * are kept, since a loop may hold one result while it makes the next. What runs is always the list that was collected
 * in this call.
 *
 * No launch of a list starts before the list ends. So storage that is freed meanwhile is reused by this thread only
 * (kiln__storage_hold()): launches of another thread would start first. A copy, or work of another library, that
 * depends on a launch ends the list first: kiln__launch_graph_flush().
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "array/storage.h"
#include "base/buffer.h"
#include "run/gpu/gpu_launch.h"

/*
 * Calls and their params, one after the other; `params` of a call in a list is its offset in `params` of the list. In
 * front stands the device's generation: after a reset a function may have the address of one that is gone.
 */
struct list {
    struct kiln_buffer calls, params;
};

/* A list that came before. */
struct past {
    struct list list;
    struct kiln_gpu_graph *graph; /* of it; NULL: it came once */
    uint64_t used;                /* when: of two, the larger is the later */
};

enum {
    KEPT = 4,
    ALIKE = 2,      /* of them may be */
    FEW_UPDATES = 8 /* cost less than another graph */
};

struct kiln_launch_graph {
    _Atomic bool is_used; /* by the thread that collects */
    const struct kiln_gpu *gpu;
    struct list now;
    struct past past[KEPT];
    uint64_t now_used;
};

static _Thread_local struct kiln_launch_graph *collecting;

struct kiln_launch_graph *kiln__launch_graph_new(void)
{
    return calloc(1, sizeof(struct kiln_launch_graph));
}

static void list_release(struct list *list)
{
    kiln__buffer_release(&list->calls);
    kiln__buffer_release(&list->params);
}

void kiln__launch_graph_free(struct kiln_launch_graph *launch_graph)
{
    if (!launch_graph) return;
    for (unsigned i = 0; i < KEPT; i++) {
        kiln__gpu_graph_free(launch_graph->past[i].graph);
        list_release(&launch_graph->past[i].list);
    }
    list_release(&launch_graph->now);
    free(launch_graph);
}

void kiln__launch_graph_begin(struct kiln_launch_graph *launch_graph, const kiln_device *device)
{
    if (!launch_graph || collecting || atomic_exchange_explicit(&launch_graph->is_used, true, memory_order_acquire))
        return;
    uint64_t generation = atomic_load_explicit(&device->generation, memory_order_relaxed);
    launch_graph->gpu = device->gpu;
    launch_graph->now.calls.size = launch_graph->now.params.size = 0;
    kiln__buffer_append(&launch_graph->now.params, &generation, sizeof generation);
    collecting = launch_graph;
    kiln__storage_hold(true);
}

kiln_status kiln__launch_graph_launch(const struct kiln_gpu *gpu, const struct kiln_gpu_call *call, kiln_error *err)
{
    struct kiln_launch_graph *launch_graph = collecting;
    if (!launch_graph) return kiln__gpu_launch(gpu, call, err);
    struct kiln_gpu_call kept = *call;
    kept.params = (const uint64_t *)(uintptr_t)launch_graph->now.params.size;
    kiln__buffer_append(&launch_graph->now.params, call->params, call->param_count * sizeof *call->params);
    kiln__buffer_append(&launch_graph->now.calls, &kept, sizeof kept);
    bool failed = launch_graph->now.params.failed || launch_graph->now.calls.failed;
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
    call.params = (const uint64_t *)(const void *)(list->params.data + (uintptr_t)call.params);
    return call;
}

static bool are_equal(const struct kiln_buffer *a, const struct kiln_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static kiln_status launch_all(const struct kiln_launch_graph *launch_graph, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count_of(&launch_graph->now) && !status; i++) {
        struct kiln_gpu_call call = call_at(&launch_graph->now, i);
        status = kiln__gpu_launch(launch_graph->gpu, &call, err);
    }
    return status;
}

/* A graph of `past`; none when the driver refuses. */
static void capture(const struct kiln_launch_graph *launch_graph, struct past *past)
{
    size_t count = count_of(&past->list);
    struct kiln_gpu_call *calls = malloc(count * sizeof *calls);
    if (!calls) return;
    for (size_t i = 0; i < count; i++) calls[i] = call_at(&past->list, i);
    kiln__gpu_graph_new(launch_graph->gpu, calls, count, &past->graph, NULL);
    free(calls);
}

/* Of one generation of the device, and launches that differ in params at most. */
static bool are_alike(const struct list *a, const struct list *b)
{
    return are_equal(&a->calls, &b->calls) && a->params.size == b->params.size &&
           memcmp(a->params.data, b->params.data, sizeof(uint64_t)) == 0;
}

/* Launches whose params differ; `a` and `b` are alike. */
static size_t count_updates(const struct list *a, const struct list *b)
{
    size_t count = 0;
    for (size_t i = 0; i < count_of(a); i++) {
        struct kiln_gpu_call before = call_at(a, i), call = call_at(b, i);
        count += memcmp(before.params, call.params, call.param_count * sizeof *call.params) != 0;
    }
    return count;
}

/*
 * The list itself, else one like it that was not used for the longest time. NULL: it is new, or worth a graph of its
 * own, since a loop that holds one result has its arrays at two places in turn.
 */
static struct past *find_past(struct kiln_launch_graph *launch_graph)
{
    struct past *found = NULL;
    unsigned alike = 0;
    for (unsigned i = 0; i < KEPT; i++) {
        struct past *past = &launch_graph->past[i];
        if (!past->used || !are_alike(&past->list, &launch_graph->now)) continue;
        if (are_equal(&past->list.params, &launch_graph->now.params)) return past;
        if (!found || past->used < found->used) found = past;
        alike++;
    }
    bool is_apart = found && found->graph && alike < ALIKE;
    return is_apart && count_updates(&found->list, &launch_graph->now) > FEW_UPDATES ? NULL : found;
}

/* `now` takes the place of the oldest list. */
static void keep(struct kiln_launch_graph *launch_graph)
{
    struct past *past = launch_graph->past;
    for (unsigned i = 1; i < KEPT; i++)
        if (launch_graph->past[i].used < past->used) past = &launch_graph->past[i];
    struct list old = past->list;
    kiln__gpu_graph_free(past->graph);
    *past = (struct past){.list = launch_graph->now, .used = ++launch_graph->now_used};
    launch_graph->now = old;
}

/* The graph gets the params of `now`, and so does the list of `past`. */
static kiln_status update(struct kiln_launch_graph *launch_graph, struct past *past, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count_of(&past->list) && !status; i++) {
        struct kiln_gpu_call before = call_at(&past->list, i), call = call_at(&launch_graph->now, i);
        size_t size = call.param_count * sizeof *call.params;
        if (memcmp(before.params, call.params, size) != 0) status = kiln__gpu_graph_update(past->graph, i, &call, err);
    }
    struct kiln_buffer params = past->list.params;
    past->list.params = launch_graph->now.params;
    launch_graph->now.params = params;
    return status;
}

static void forget(struct past *past)
{
    kiln__gpu_graph_free(past->graph);
    past->graph = NULL;
    past->used = 0;
}

/* A graph that could not be brought up to date in all its launches is none of a list any more. */
static kiln_status replay(struct kiln_launch_graph *launch_graph, struct past *past, kiln_error *err)
{
    kiln_status status = update(launch_graph, past, err);
    if (!status) return kiln__gpu_graph_launch(past->graph, err);
    struct kiln_buffer params = launch_graph->now.params;
    launch_graph->now.params = past->list.params;
    past->list.params = params;
    forget(past);
    return launch_all(launch_graph, err);
}

static kiln_status start(struct kiln_launch_graph *launch_graph, kiln_error *err)
{
    struct past *past = find_past(launch_graph);
    if (!past) {
        kiln_status status = launch_all(launch_graph, err);
        keep(launch_graph);
        return status;
    }
    past->used = ++launch_graph->now_used;
    if (!past->graph) capture(launch_graph, past);
    return past->graph ? replay(launch_graph, past, err) : launch_all(launch_graph, err);
}

static void end(struct kiln_launch_graph *launch_graph)
{
    collecting = NULL;
    kiln__storage_hold(false);
    launch_graph->now.calls.failed = launch_graph->now.params.failed = false;
    atomic_store_explicit(&launch_graph->is_used, false, memory_order_release);
}

kiln_status kiln__launch_graph_end(bool launch, kiln_error *err)
{
    struct kiln_launch_graph *launch_graph = collecting;
    kiln_status status = KILN_OK;
    if (!launch_graph) return status;
    if (launch && count_of(&launch_graph->now) > 0) status = start(launch_graph, err);
    end(launch_graph);
    return status;
}

kiln_status kiln__launch_graph_flush(kiln_error *err)
{
    struct kiln_launch_graph *launch_graph = collecting;
    if (__builtin_expect(!launch_graph, 1)) return KILN_OK;
    kiln_status status = launch_all(launch_graph, err);
    end(launch_graph);
    return status;
}
