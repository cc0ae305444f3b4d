/*
 * gpu_streams.c - see gpu_streams.h.
 *
 * Invariant: `launched` grows after a launch has begun, and is read before an event is recorded. So an event that was
 * recorded after `launched` was n comes after the first n launches; a launch that is not counted yet is waited for by
 * nobody who knows of it, as its memory is not marked yet either. The flag and `launched` are read and written in one
 * order of all threads: a thread that did not see the flag had counted its launch when the first event was recorded.
 */
#include "device/gpu_streams.h"

#include <pthread.h>

#include "base/process/fork.h"
#include "device/cuda.h"

struct stream {
    _Atomic(void *) handle; /* of stream 0: NULL */
    _Atomic(void *) event;
    _Atomic uint64_t launched;
    _Atomic uint64_t waited[KILN_GPU_STREAMS]; /* launches of each other stream that come before what this one gets
                                                  now, and one more; 0: it never waited for that stream */
};

_Atomic bool kiln__gpu_has_streams;
KILN_LEAF_LOCK(lock);         /* guards making handles and events */
KILN_LEAF_LOCK(foreign_lock); /* an event of foreign_events is recorded and waited for by one thread at a time */
static _Atomic(void *) foreign_events[KILN_MAX_GPUS];
static struct stream streams[KILN_MAX_GPUS][KILN_GPU_STREAMS];
static _Thread_local uint32_t current;

uint32_t kiln__gpu_stream(void)
{
    return current;
}

uint32_t kiln__gpu_stream_use(uint32_t stream)
{
    uint32_t before = current;
    if (stream && !atomic_load(&kiln__gpu_has_streams)) atomic_store(&kiln__gpu_has_streams, true);
    current = stream;
    return before;
}

/* ---- handles and events ----------------------------------------------------------------------------------------- */

static const struct kiln_cuda *driver(void)
{
    const struct kiln_cuda *cuda = NULL;
    kiln__cuda(&cuda, NULL);
    return cuda;
}

static int make_event(void **out)
{
    return driver()->event_new(out, KILN_CUDA_EVENT_WITHOUT_TIME);
}

static int make_stream(void **out)
{
    return driver()->stream_new(out, KILN_CUDA_NON_BLOCKING);
}

static int get(_Atomic(void *) *made, int (*make)(void **out), void **out)
{
    int result = 0;
    *out = atomic_load_explicit(made, memory_order_acquire);
    if (*out) return 0;
    pthread_mutex_lock(&lock);
    *out = atomic_load_explicit(made, memory_order_relaxed);
    if (!*out) result = make(out);
    if (!result) atomic_store_explicit(made, *out, memory_order_release);
    pthread_mutex_unlock(&lock);
    return result;
}

static int handle_of(const struct kiln_gpu *gpu, uint32_t stream, void **out)
{
    *out = NULL;
    return stream ? get(&streams[gpu->index][stream].handle, make_stream, out) : 0;
}

kiln_status kiln__gpu_stream_handle(const struct kiln_gpu *gpu, void **out, kiln_error *err)
{
    int result = gpu->is_absent ? 0 : handle_of(gpu, current, out);
    return result ? kiln__cuda_fail(err, KILN_IO, result, "a stream can't be made") : KILN_OK;
}

void kiln__gpu_stream_launched(const struct kiln_gpu *gpu)
{
    atomic_fetch_add(&streams[gpu->index][current].launched, 1);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* The current stream waits for all that `other` was given so far. */
static int wait_for(const struct kiln_gpu *gpu, uint32_t other)
{
    struct stream *mine = &streams[gpu->index][current], *its = &streams[gpu->index][other];
    uint64_t launched = atomic_load(&its->launched);
    void *event = NULL, *from = NULL, *to = NULL;
    int result = get(&its->event, make_event, &event);
    if (!result) result = handle_of(gpu, other, &from);
    if (!result) result = handle_of(gpu, current, &to);
    if (!result) result = driver()->event_record(event, from);
    if (!result) result = driver()->stream_wait_event(to, event, 0);
    if (!result) atomic_store_explicit(&mine->waited[other], launched + 1, memory_order_release);
    return result;
}

static bool has_waited(const struct kiln_gpu *gpu, uint32_t other, uint64_t launches)
{
    return atomic_load_explicit(&streams[gpu->index][current].waited[other], memory_order_acquire) > launches;
}

static int wait_for_writer(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use)
{
    uint64_t bits = atomic_load_explicit(&use->bits, memory_order_acquire);
    uint32_t stream = bits % KILN_GPU_STREAMS;
    if (stream == current || has_waited(gpu, stream, bits >> KILN_GPU_USE_LAUNCHES)) return 0;
    return wait_for(gpu, stream);
}

static uint64_t reader_bit(uint32_t stream)
{
    return (uint64_t)1 << (KILN_GPU_USE_READERS + stream);
}

static int wait_for_readers(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use)
{
    uint64_t bits = atomic_load_explicit(&use->bits, memory_order_acquire);
    int result = 0;
    for (uint32_t stream = 0; stream < KILN_GPU_STREAMS && !result; stream++)
        if (stream != current && reader_bit(stream) & bits) result = wait_for(gpu, stream);
    return result;
}

static kiln_status outcome(int result, kiln_error *err)
{
    return result ? kiln__cuda_fail(err, KILN_IO, result, "a stream can't wait for another") : KILN_OK;
}

static bool is_alone(const struct kiln_gpu *gpu)
{
    return !atomic_load(&kiln__gpu_has_streams) || gpu->is_absent;
}

kiln_status kiln__gpu_before_read(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, kiln_error *err)
{
    return is_alone(gpu) ? KILN_OK : outcome(wait_for_writer(gpu, use), err);
}

kiln_status kiln__gpu_before_write(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, kiln_error *err)
{
    if (is_alone(gpu)) return KILN_OK;
    int result = wait_for_writer(gpu, use);
    if (!result) result = wait_for_readers(gpu, use);
    return outcome(result, err);
}

void kiln__gpu_after_read(struct kiln_gpu_use *use)
{
    if (!atomic_load(&kiln__gpu_has_streams)) return;
    if (kiln__gpu_stream_written(use) != current)
        atomic_fetch_or_explicit(&use->bits, reader_bit(current), memory_order_release);
}

void kiln__gpu_after_write(const struct kiln_gpu *gpu, struct kiln_gpu_use *use)
{
    if (is_alone(gpu)) return;
    uint64_t launched = atomic_load(&streams[gpu->index][current].launched);
    atomic_store_explicit(&use->bits, launched << KILN_GPU_USE_LAUNCHES | current, memory_order_release);
}

/* ---- streams of others ------------------------------------------------------------------------------------------- */

kiln_status kiln__gpu_show(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, void *stream, kiln_error *err)
{
    uint32_t writer = kiln__gpu_stream_written(use);
    void *event = NULL, *from = NULL;
    int result = get(&streams[gpu->index][writer].event, make_event, &event);
    if (!result) result = handle_of(gpu, writer, &from);
    if (!result) result = driver()->event_record(event, from);
    if (!result) result = driver()->stream_wait_event(stream, event, 0);
    return outcome(result, err);
}

/* Stream 0 waits, and what it has waited for counts as a launch of its own, for which the others wait in turn. */
kiln_status kiln__gpu_adopt(const struct kiln_gpu *gpu, struct kiln_gpu_use *use, void *stream, kiln_error *err)
{
    void *event = NULL;
    int result = get(&foreign_events[gpu->index], make_event, &event);
    pthread_mutex_lock(&foreign_lock);
    if (!result) result = driver()->event_record(event, stream);
    if (!result) result = driver()->stream_wait_event(NULL, event, 0);
    pthread_mutex_unlock(&foreign_lock);
    if (result) return outcome(result, err);
    uint64_t launched = atomic_fetch_add(&streams[gpu->index][0].launched, 1) + 1;
    atomic_store_explicit(&use->bits, launched << KILN_GPU_USE_LAUNCHES, memory_order_release);
    return KILN_OK;
}

void kiln__gpu_settle(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use)
{
    uint64_t bits = atomic_load_explicit(&use->bits, memory_order_acquire);
    uint32_t before = current;
    for (uint32_t stream = 0; stream < KILN_GPU_STREAMS; stream++) {
        if (stream != bits % KILN_GPU_STREAMS && !(reader_bit(stream) & bits)) continue;
        current = stream;
        kiln__gpu_wait(gpu, NULL); /* what failed there is told to whoever looks at a result */
    }
    current = before;
}
