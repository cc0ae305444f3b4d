/*
 * stream.c - launches and copies on the emulated GPU: queued, captured, replayed.
 *
 * Invariant: what is in a list has copies of its words, so that what the caller does to them later changes nothing. The
 * queue runs in order, only in emulated_run_queue(): a host that forgets to wait reads what was there before.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"

enum { LONGEST = 4096 }; /* a queue that is longer runs by itself, as a GPU's does */

struct operation {
    const struct emulated_function *function; /* NULL: a copy */
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

/* A stream other than the default one; used to capture. */
struct stream {
    struct stream *next;
    bool is_capturing;
    pthread_t thread; /* that captures */
    struct list list;
};

static struct stream *streams;
static struct list queue;
static int fault; /* of something that ran; stays */

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

static int run(const struct operation *operation)
{
    const uint64_t *words = queue.words + operation->words;
    if (operation->function)
        return emulated_function_run(operation->function, operation->grid, operation->block, operation->shared_bytes,
                                     words);
    memmove((void *)(uintptr_t)words[0], (const void *)(uintptr_t)words[1], operation->bytes);
    return SUCCESS;
}

int emulated_run_queue(void)
{
    if (fault || !queue.count) return fault;
    emulated_memory_open();
    for (size_t i = 0; i < queue.count && !fault; i++) fault = run(&queue.items[i]);
    if (!fault && !emulated_memory_is_sound())
        fault = emulated_refuse(ILLEGAL_ADDRESS, "a kernel wrote beyond an allocation");
    emulated_memory_close();
    empty(&queue);
    return fault;
}

/* After something was added. */
static int run_if_wanted(int result)
{
    const char *queued = getenv("KILN_TEST_CUDA_QUEUE");
    bool at_once = queue.count >= LONGEST || (queued && queued[0] == '0');
    return !result && at_once ? emulated_run_queue() : result;
}

/* ---- streams and captures ------------------------------------------------------------------------------------------
 */

/* NULL: the default stream, or a stream that is none. */
static struct stream *find_stream(const void *handle)
{
    struct stream *stream = streams;
    while (stream && stream != handle) stream = stream->next;
    return stream;
}

bool emulated_is_capturing(void)
{
    for (const struct stream *stream = streams; stream; stream = stream->next)
        if (stream->is_capturing && pthread_equal(stream->thread, pthread_self())) return true;
    return false;
}

/* What a call on this stream adds to; NULL: there is no such stream. */
static struct list *list_of(void *handle)
{
    struct stream *stream = find_stream(handle);
    if (handle && !stream) return NULL;
    return stream && stream->is_capturing ? &stream->list : &queue;
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

int emulated_stream_wait(void *stream)
{
    int result = emulated_enter(CALL_stream_wait);
    if (!result && stream && !find_stream(stream)) result = INVALID_HANDLE;
    if (!result) result = emulated_run_queue();
    return emulated_leave(result);
}

int emulated_capture_begin(void *handle, int mode)
{
    (void)mode;
    int result = emulated_enter(CALL_capture_begin);
    struct stream *stream = find_stream(handle);
    if (!result && (!stream || stream->is_capturing)) result = CAPTURE_UNSUPPORTED;
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
        *captured = stream->list;
    else
        release(&stream->list);
    stream->list = (struct list){0};
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
        last = (void *)(uintptr_t)stream->list.count;
        *status = 1, *id = 1, *graph = stream, *nodes = &last, *count = stream->list.count > 0;
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

int emulated_graph_launch(void *replay, void *stream)
{
    if (emulated_is_idle()) return SUCCESS;
    int result = emulated_enter(CALL_graph_launch);
    struct list *list = list_of(stream);
    if (!result && !list) result = INVALID_HANDLE;
    if (!result) result = fault;
    if (!result) result = add_all(list, replay);
    return emulated_leave(run_if_wanted(result));
}

/* ---- launches and copies --------------------------------------------------------------------------------------------
 */

static int add_to_stream(void *stream, struct operation operation, const uint64_t *words)
{
    struct list *list = list_of(stream);
    if (!list) return INVALID_HANDLE;
    return run_if_wanted(fault ? fault : add(list, operation, words));
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
