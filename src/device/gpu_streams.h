/*
 * gpu_streams.h - streams of a GPU: queues of the driver that run side by side, and events where memory crosses them.
 *
 * Stream 0 is the driver's default stream, on which copies from and to the host run too; the others are made when they
 * are first used, and do not wait for it. Each thread has a current stream, 0 at first: launches go there. As long as
 * only stream 0 was ever used, nothing here costs more than a look at one flag.
 *
 * Memory says who used it: the stream that wrote it last, with the number of launches of that stream by then, and the
 * streams that have read it since. Who reads it waits, on the GPU, for that write; who writes it also for those reads.
 * The host waits for nothing. An event stands for all that its stream was given so far, so a wait may be for more than
 * is needed, never for less; a stream that has waited for launch n of another waits for none before it again.
 */
#ifndef KILN_DEVICE_GPU_STREAMS_H
#define KILN_DEVICE_GPU_STREAMS_H

#include <stdatomic.h>

#include "device/gpu.h"

enum { KILN_GPU_STREAMS = 16 }; /* of one GPU, with the default one; further ones of a program share these */

/* How memory of a GPU was used. 0: written on stream 0. */
struct kiln_gpu_use {
    _Atomic uint64_t bits; /* from below: the stream that wrote it, of 4 bits; a bit for each stream that may still read
                              it; launches of the writing stream by then */
};
enum { KILN_GPU_USE_READERS = 4, KILN_GPU_USE_LAUNCHES = KILN_GPU_USE_READERS + KILN_GPU_STREAMS };

/* Was another stream than 0 ever used, on any GPU? */
extern _Atomic bool kiln__gpu_has_streams;

/* The current stream of this thread. */
uint32_t kiln__gpu_stream(void);
/* Makes it the current one, and returns the one before. */
uint32_t kiln__gpu_stream_use(uint32_t stream);
static inline uint32_t kiln__gpu_stream_written(const struct kiln_gpu_use *use)
{
    return atomic_load_explicit(&use->bits, memory_order_acquire) % KILN_GPU_STREAMS;
}

/* The driver's handle of the current stream, for who has entered the GPU; NULL is that of stream 0. */
kiln_status kiln__gpu_stream_handle(const struct kiln_gpu *gpu, void **out, kiln_error *err);
/* After a launch on the current stream has begun. */
void kiln__gpu_stream_launched(const struct kiln_gpu *gpu);

/* Before the current stream reads, or writes, memory that was used so: it waits for what must come first. */
kiln_status kiln__gpu_before_read(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, kiln_error *err);
kiln_status kiln__gpu_before_write(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, kiln_error *err);
/* After it was launched, and before anybody else learns of it. */
void kiln__gpu_after_read(struct kiln_gpu_use *use);
void kiln__gpu_after_write(const struct kiln_gpu *gpu, struct kiln_gpu_use *use);

/*
 * Memory that others share, whose streams are known by the driver's handles alone; the GPU was entered. A stream of
 * theirs waits for what has written memory that was used so; and who uses their memory here waits for all that their
 * stream was given so far.
 */
kiln_status kiln__gpu_show(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use, void *stream, kiln_error *err);
kiln_status kiln__gpu_adopt(const struct kiln_gpu *gpu, struct kiln_gpu_use *use, void *stream, kiln_error *err);
/* Before their memory goes back: the host waits until nothing here uses it. */
void kiln__gpu_settle(const struct kiln_gpu *gpu, const struct kiln_gpu_use *use);

#endif
