/*
 * stream.c - launches and copies on the emulated GPU: streams, events, captures, replays.
 *
 * Invariant: what is in a list has copies of its words, so that what the caller does to them later changes nothing.
 * Each stream has a queue, which runs in order, only when somebody waits for it: a host that forgets to wait reads what
 * was there before. Of other streams no more runs than what stands before an event that is waited for, so whoever
 * forgets such an event reads what was there before, too.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"

enum { LONGEST = 4096 }; /* a queue that is longer runs by itself, as a GPU's does */

struct stream;

struct operation {
    const struct emulated_function *function; /* NULL: a copy, or a wait */
    struct stream *other;                     /* that is waited for: */
    size_t position;                          /* until so many of its operations have run */
    uint32_t grid, block;
    size_t shared_bytes;
    size_t bytes;        /* of a copy; its words are to, from */
    size_t words, count; /* where they begin in the list, and how many */
};

/* Emptied, it keeps its memory: a driver that allocates would disturb those who count the host's allocations. */
struct list {
    struct operation *items;
    uint64_t *words;
    size_t count, capacity, word_count, word_capacity;
};

struct stream {
    struct stream *next;
    bool is_capturing;
    pthread_t thread;     /* that captures */
    struct list captured; /* so far */
    struct list queue;
    size_t at;   /* in the queue: what runs next */
    size_t base; /* operations that ran before those in the queue */
};

struct event {
    struct stream *stream; /* NULL: it was never recorded */
    size_t position;
};

static struct stream standard; /* what NULL stands for */
static struct stream *streams; /* the others */
static int fault;              /* of something that ran; stays */

/* ---- lists ---------------------------------------------------------------------------------------------------------
 */

/* Room for `more` after `count` items of `size` bytes; false: no memory. */
static bool grow(void *items, size_t *capacity, size_t count, size_t more, size_t size)
{
    size_t wanted = *capacity ? *capacity : 64;
    void *larger;
    while (wanted < count + more) wanted *= 2;
    if (wanted == *capacity) return true;
    memcpy(&larger, items, sizeof larger);
    larger = realloc(larger, wanted * size);
    if (!larger) return false;
    memcpy(items, &larger, sizeof larger);
    *capacity = wanted;
    return true;
}

static int add(struct list *list, struct operation operation, const uint64_t *words)
{
    if (!grow(&list->items, &list->capacity, list->count, 1, sizeof *list->items) ||
        !grow(&list->words, &list->word_capacity, list->word_count, operation.count, sizeof *list->words))
        return OUT_OF_MEMORY;
    memcpy(list->words + list->word_count, words, operation.count * sizeof *words);
    operation.words = list->word_count;
    list->word_count += operation.count;
    list->items[list->count++] = operation;
    return SUCCESS;
}

static int add_all(struct list *list, const struct list *others)
{
    int result = SUCCESS;
    for (size_t i = 0; i < others->count && !result; i++)
        result = add(list, others->items[i], others->words + others->items[i].words);
    return result;
}

static void empty(struct list *list)
{
    list->count = list->word_count = 0;
}

static void release(struct list *list)
{
    free(list->items);
    free(list->words);
    *list = (struct list){0};
}

/* ---- running -------------------------------------------------------------------------------------------------------
 */

static void run_until(struct stream *stream, size_t position);

static int run(const struct stream *stream, const struct operation *operation)
{
    const uint64_t *words = stream->queue.words + operation->words;
    if (operation->other) {
        run_until(operation->other, operation->position);
        return fault;
    }
    if (operation->function)
        return emulated_function_run(operation->function, operation->grid, operation->block, operation->shared_bytes,
                                     words);
    memmove((void *)(uintptr_t)words[0], (const void *)(uintptr_t)words[1], operation->bytes);
    return SUCCESS;
}

static void run_until(struct stream *stream, size_t position)
{
    while (!fault && stream->at < stream->queue.count && stream->base + stream->at < position)
        fault = run(stream, &stream->queue.items[stream->at++]);
    if (stream->at < stream->queue.count && !fault) return;
    stream->base += stream->queue.count;
    stream->at = 0;
    empty(&stream->queue);
}

/* What stands in the queue of a stream, and what that waits for. */
static int run_stream(struct stream *stream)
{
    if (fault || !stream->queue.count) return fault;
    emulated_memory_open();
    run_until(stream, SIZE_MAX);
    if (!fault && !emulated_memory_is_sound())
        fault = emulated_refuse(ILLEGAL_ADDRESS, "a kernel wrote beyond an allocation");
    emulated_memory_close();
    return fault;
}

int emulated_run_default_stream(void)
{
    return run_stream(&standard);
}

int emulated_run_all(void)
{
    for (struct stream *stream = streams; stream; stream = stream->next) run_stream(stream);
    return run_stream(&standard);
}

/* After something was added to it. */
static int run_if_wanted(struct stream *stream, int result)
{
    const char *queued = getenv("KILN_TEST_CUDA_QUEUE");
    if (result || !stream) return result;
    bool at_once = stream->queue.count >= LONGEST || (queued && queued[0] == '0');
    return at_once ? run_stream(stream) : result;
}

/* ---- streams and captures ------------------------------------------------------------------------------------------
 */

/* NULL: there is no such stream. */
static struct stream *find_stream(const void *handle)
{
    struct stream *stream = streams;
    while (stream && stream != handle) stream = stream->next;
    return handle ? stream : &standard;
}

bool emulated_is_capturing(void)
{
    for (const struct stream *stream = streams; stream; stream = stream->next)
        if (stream->is_capturing && pthread_equal(stream->thread, pthread_self())) return true;
    return false;
}

/* What a call on this stream adds to. */
static struct list *list_of(struct stream *stream)
{
    return stream->is_capturing ? &stream->captured : &stream->queue;
}

int emulated_stream_new(void **out, unsigned flags)
{
    (void)flags;
    int result = emulated_enter(CALL_stream_new);
    struct stream *stream = result ? NULL : calloc(1, sizeof *stream);
    if (stream) {
        stream->next = streams;
        streams = stream;
        *out = stream;
    }
    return emulated_leave(result || stream ? result : OUT_OF_MEMORY);
}

int emulated_stream_wait(void *handle)
{
    int result = emulated_enter(CALL_stream_wait);
    struct stream *stream = find_stream(handle);
    if (!result && !stream) result = INVALID_HANDLE;
    if (!result) result = run_stream(stream);
    return emulated_leave(result);
}

int emulated_event_new(void **out, unsigned flags)
{
    (void)flags;
    int result = emulated_enter(CALL_event_new);
    struct event *event = result ? NULL : calloc(1, sizeof *event);
    if (event) *out = event;
    return emulated_leave(result || event ? result : OUT_OF_MEMORY);
}

int emulated_event_record(void *handle, void *stream)
{
    struct event *event = handle;
    int result = emulated_enter(CALL_event_record);
    struct stream *of = find_stream(stream);
    if (!result && (!of || !event || of->is_capturing)) result = INVALID_HANDLE;
    if (!result) *event = (struct event){of, of->base + of->queue.count};
    return emulated_leave(result);
}

/* An event that was never recorded is waited for by nobody, as at the driver. */
int emulated_stream_wait_event(void *handle, void *waited_for, unsigned flags)
{
    (void)flags;
    static const uint64_t none[1];
    const struct event *event = waited_for;
    int result = emulated_enter(CALL_stream_wait_event);
    struct stream *stream = find_stream(handle);
    if (!result && (!stream || !event || stream->is_capturing)) result = INVALID_HANDLE;
    if (!result && event->stream && !getenv("KILN_TEST_CUDA_NO_EVENTS"))
        result = add(&stream->queue, (struct operation){.other = event->stream, .position = event->position}, none);
    return emulated_leave(result);
}

int emulated_capture_begin(void *handle, int mode)
{
    (void)mode;
    int result = emulated_enter(CALL_capture_begin);
    struct stream *stream = find_stream(handle);
    if (!result && (!handle || !stream || stream->is_capturing)) result = CAPTURE_UNSUPPORTED;
    if (!result) stream->is_capturing = true, stream->thread = pthread_self();
    return emulated_leave(result);
}

/* A call that is to fail ends the capture all the same, as the driver's does. */
int emulated_capture_end(void *handle, void **graph)
{
    int result = emulated_enter(CALL_capture_end);
    struct stream *stream = find_stream(handle);
    struct list *captured = NULL;
    if (!stream || !stream->is_capturing) return emulated_leave(INVALID_HANDLE);
    if (!result && !(captured = malloc(sizeof *captured))) result = OUT_OF_MEMORY;
    if (captured)
        *captured = stream->captured;
    else
        release(&stream->captured);
    stream->captured = (struct list){0};
    stream->is_capturing = false;
    if (!result) *graph = captured;
    return emulated_leave(result);
}

/* The words of "extra": a buffer, its size, an end. NULL: something else is there. */
static const uint64_t *extra_words(void **extra, size_t *count)
{
    if (!extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return NULL;
    *count = *(const size_t *)extra[3] / sizeof(uint64_t);
    return extra[1];
}

/* ---- graphs: a list of operations, both as a graph and ready to run -------------------------------------------------
 */

int emulated_graph_free(void *graph)
{
    int result = emulated_enter(CALL_graph_free);
    release(graph);
    free(graph);
    return emulated_leave(result);
}

int emulated_graph_instantiate(void **replay, void *graph, unsigned long long flags)
{
    (void)flags;
    const struct list *from = graph;
    int result = emulated_enter(CALL_graph_instantiate);
    struct list *copy = result ? NULL : calloc(1, sizeof *copy);
    if (!result) result = copy ? add_all(copy, from) : OUT_OF_MEMORY;
    if (!result) *replay = copy;
    return emulated_leave(result);
}

/* A node is the number of its operation, from 1. */
int emulated_capture_info(void *handle, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *count)
{
    static _Thread_local void *last;
    int result = emulated_enter(CALL_capture_info);
    struct stream *stream = find_stream(handle);
    if (!result && (!stream || !stream->is_capturing)) result = INVALID_HANDLE;
    if (!result) {
        last = (void *)(uintptr_t)stream->captured.count;
        *status = 1, *id = 1, *graph = stream, *nodes = &last, *count = stream->captured.count > 0;
    }
    return emulated_leave(result);
}

/* The words are as many as before: the kernel is the same. */
int emulated_graph_exec_set(void *replay, void *node, const struct kiln_cuda_node *params)
{
    struct list *list = replay;
    size_t index = (uintptr_t)node - 1, count = 0;
    int result = emulated_enter(CALL_graph_exec_set);
    const uint64_t *words = extra_words(params->extra, &count);
    struct operation *operation = index < list->count ? &list->items[index] : NULL;
    bool fits = operation && words && operation->function == params->function && operation->count == count &&
                params->grid_y == 1 && params->grid_z == 1 && params->block_y == 1 && params->block_z == 1;
    if (!result && !fits) result = emulated_refuse(INVALID_VALUE, "a node is given another kernel");
    if (!result) {
        operation->grid = params->grid_x, operation->block = params->block_x;
        operation->shared_bytes = params->shared_bytes;
        memcpy(list->words + operation->words, words, count * sizeof *words);
    }
    return emulated_leave(result);
}

int emulated_graph_exec_free(void *replay)
{
    int result = emulated_enter(CALL_graph_exec_free);
    release(replay);
    free(replay);
    return emulated_leave(result);
}

int emulated_graph_launch(void *replay, void *handle)
{
    if (emulated_is_idle()) return SUCCESS;
    int result = emulated_enter(CALL_graph_launch);
    struct stream *stream = find_stream(handle);
    if (!result && !stream) result = INVALID_HANDLE;
    if (!result) result = fault;
    if (!result) result = add_all(list_of(stream), replay);
    return emulated_leave(run_if_wanted(stream, result));
}

/* ---- launches and copies --------------------------------------------------------------------------------------------
 */

static int add_to_stream(void *handle, struct operation operation, const uint64_t *words)
{
    struct stream *stream = find_stream(handle);
    if (!stream) return INVALID_HANDLE;
    return run_if_wanted(stream, fault ? fault : add(list_of(stream), operation, words));
}

int emulated_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                    void **extra)
{
    if (emulated_is_idle()) return SUCCESS;
    struct operation operation = {.function = function, .grid = grid_x, .block = block_x, .shared_bytes = shared_bytes};
    int result = emulated_enter(CALL_launch);
    const uint64_t *words = extra_words(extra, &operation.count);
    bool is_plain = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1 && !parameters;
    const char *wrong = words && is_plain ? emulated_function_check(function, grid_x, block_x, operation.count)
                                          : "a form that is not emulated";
    if (!result && wrong) result = emulated_refuse(INVALID_VALUE, "a launch with %s", wrong);
    if (!result) result = add_to_stream(stream, operation, words);
    return emulated_leave(result);
}

int emulated_copy_on_device(uint64_t to, uint64_t from, size_t size, void *stream)
{
    const uint64_t words[] = {to, from};
    struct operation operation = {.bytes = size, .count = 2};
    int result = emulated_enter(CALL_copy_on_device);
    if (!result && (!emulated_memory_has(to, size) || !emulated_memory_has(from, size)))
        result = emulated_refuse(INVALID_VALUE, "a copy of %zu bytes on the GPU leaves its allocation", size);
    if (!result) result = add_to_stream(stream, operation, words);
    return emulated_leave(result);
}
