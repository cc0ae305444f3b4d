/*
 * abi_stream.c - stream.h of the ABI. Streams are numbers of the process, valid on every thread.
 *
 * A stream names the device that work runs on. The CPU works in the order of data dependencies, whatever the stream. On
 * a GPU each stream is a queue of its own: work of two streams runs side by side, but for arrays that cross them.
 * Without a GPU the default GPU stream is the default CPU stream, so that programs that ask for one run.
 *
 * Each device has a default stream of the process, its first one, which never changes. mlx_set_default_stream() sets
 * another one for the calling thread and nobody else, until that thread ends. The default device is the process's.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "device/gpu.h"
#include "mlxc/abi_device.h"
#include "run/eval.h"
#include "run/placement.h"

static _Atomic int last_index;                  /* of the newest stream; 0 is the CPU's default */
static _Atomic int gpu_defaults[KILN_MAX_GPUS]; /* of the process; 0: not asked for yet */

/* 1 + the index of this thread's default stream; 0: the process's. The CPU's comes first, then the GPUs'. */
static _Thread_local int chosen[1 + KILN_MAX_GPUS];

static struct kiln_stream_box unwrap(mlx_stream handle)
{
    return *(struct kiln_stream_box *)handle.ctx;
}

static int give(mlx_stream *res, struct kiln_stream_box stream)
{
    struct kiln_stream_box *box = res->ctx ? res->ctx : kiln__box_new(KILN_BOX_SMALL);
    if (!box) return KILN_FAIL_TEXT("out of memory: a handle for a stream");
    *box = stream;
    res->ctx = box;
    return 0;
}

static int *choice(struct kiln_device_box device)
{
    return &chosen[kiln__device_index(device)];
}

static int gpu_default(int gpu)
{
    int none = 0;
    _Atomic int *index = &gpu_defaults[gpu];
    if (!atomic_load(index)) atomic_compare_exchange_strong(index, &none, atomic_fetch_add(&last_index, 1) + 1);
    return atomic_load(index);
}

static struct kiln_stream_box stream_of(struct kiln_device_box device, int index)
{
    bool has_queue = device.type == MLX_GPU && index != gpu_default(device.index);
    uint32_t queue = has_queue ? 1 + (uint32_t)index % (KILN_GPU_STREAMS - 1) : 0;
    return (struct kiln_stream_box){device, index, queue};
}

static struct kiln_stream_box default_stream(struct kiln_device_box device)
{
    int mine = *choice(device);
    int index = mine ? mine - 1 : device.type == MLX_GPU ? gpu_default(device.index) : 0;
    return stream_of(device, index);
}

mlx_stream mlx_stream_new(void)
{
    return (mlx_stream){NULL};
}

mlx_stream mlx_stream_new_device(mlx_device dev)
{
    mlx_stream made = {NULL};
    if (KILN_NO_DEVICE(dev)) return made;
    struct kiln_device_box device = kiln__unwrap_device(dev);
    if (!kiln__device_exists(device))
        kiln__no_device("new_stream", device);
    else
        give(&made, stream_of(device, atomic_fetch_add(&last_index, 1) + 1));
    return made;
}

int mlx_stream_set(mlx_stream *stream, const mlx_stream src)
{
    if (KILN_NO_POINTER(stream) || KILN_NO_STREAM(src)) return 1;
    return give(stream, unwrap(src));
}

int mlx_stream_free(mlx_stream stream)
{
    kiln__box_free(KILN_BOX_SMALL, stream.ctx);
    return 0;
}

int mlx_stream_tostring(mlx_string *str, mlx_stream stream)
{
    char device[40], text[80];
    if (KILN_NO_POINTER(str) || KILN_NO_STREAM(stream)) return 1;
    kiln__device_print(unwrap(stream).device, device, sizeof device);
    snprintf(text, sizeof text, "Stream(%s, %d)", device, unwrap(stream).index);
    return kiln__give_text(str, text, strlen(text));
}

bool mlx_stream_equal(mlx_stream lhs, mlx_stream rhs)
{
    if (KILN_NO_HANDLE(lhs, "mlx_stream") || KILN_NO_HANDLE(rhs, "mlx_stream")) return false;
    return unwrap(lhs).index == unwrap(rhs).index;
}

int mlx_stream_get_device(mlx_device *dev, mlx_stream stream)
{
    if (KILN_NO_POINTER(dev) || KILN_NO_STREAM(stream)) return 1;
    return kiln__give_device(dev, unwrap(stream).device);
}

int mlx_stream_get_index(int *index, mlx_stream stream)
{
    if (KILN_NO_POINTER(index) || KILN_NO_STREAM(stream)) return 1;
    *index = unwrap(stream).index;
    return 0;
}

int mlx_synchronize(mlx_stream stream)
{
    if (KILN_NO_STREAM(stream)) return 1;
    kiln_error err;
    kiln__eval_synchronize();
    /* The current device is that of the stream. */
    uint32_t before = kiln__gpu_stream_use(kiln__current_stream());
    kiln_status status = kiln__wait_for_device(kiln__current_device_index(), &err);
    kiln__gpu_stream_use(before);
    return status ? KILN_FAIL(&err) : 0;
}

int mlx_get_default_stream(mlx_stream *stream, mlx_device dev)
{
    if (KILN_NO_POINTER(stream) || KILN_NO_DEVICE(dev)) return 1;
    struct kiln_device_box device = kiln__unwrap_device(dev);
    if (!kiln__device_exists(device)) return kiln__no_device("default_stream", device);
    return give(stream, default_stream(device));
}

int mlx_set_default_stream(mlx_stream stream)
{
    if (KILN_NO_STREAM(stream)) return 1;
    *choice(unwrap(stream).device) = 1 + unwrap(stream).index;
    return 0;
}

mlx_stream mlx_default_cpu_stream_new(void)
{
    mlx_stream made = {NULL};
    give(&made, default_stream((struct kiln_device_box){MLX_CPU, 0}));
    return made;
}

mlx_stream mlx_default_gpu_stream_new(void)
{
    mlx_stream made = {NULL};
    struct kiln_device_box first = {MLX_GPU, 0};
    if (!kiln__device_exists(first)) {
        kiln__log_once("mlx_default_gpu_stream_new(): there is no GPU; the CPU is used (kiln doctor says why)");
        return mlx_default_cpu_stream_new();
    }
    give(&made, default_stream(first));
    return made;
}
