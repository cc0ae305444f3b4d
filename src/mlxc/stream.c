/*
 * stream.c - stream.h of the ABI. Streams are numbers of the process, valid on every thread.
 *
 * All work runs on the CPU in an order that its data asks for, so a stream is an identity and no queue. The default GPU
 * stream is the default CPU stream: programs that insist on it run.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "mlxc/device.h"
#include "run/eval.h"

static _Atomic int last_index;    /* of the newest stream; 0 is the default at first */
static _Atomic int default_index; /* of the CPU */

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

static struct kiln_stream_box default_stream(void)
{
    return (struct kiln_stream_box){{MLX_CPU, 0}, atomic_load(&default_index)};
}

/* Reports that `device` cannot have streams, when it cannot. */
static int check_device(const char *what, struct kiln_device_box device)
{
    char text[40];
    if (kiln__device_exists(device)) return 0;
    kiln__device_print(device, text, sizeof text);
    _mlx_error(__FILE__, __LINE__, "[%s] there is no %s; Device(cpu, 0) is the only device", what, text);
    return 1;
}

mlx_stream mlx_stream_new(void)
{
    return (mlx_stream){NULL};
}

mlx_stream mlx_stream_new_device(mlx_device dev)
{
    mlx_stream made = {NULL};
    KILN_NEED_OR(dev, "mlx_device", made);
    struct kiln_device_box device = kiln__unwrap_device(dev);
    if (check_device("new_stream", device) == 0)
        give(&made, (struct kiln_stream_box){device, atomic_fetch_add(&last_index, 1) + 1});
    return made;
}

int mlx_stream_set(mlx_stream *stream, const mlx_stream src)
{
    KILN_NEED_POINTER(stream);
    KILN_NEED_STREAM(src);
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
    KILN_NEED_POINTER(str);
    KILN_NEED_STREAM(stream);
    kiln__device_print(unwrap(stream).device, device, sizeof device);
    snprintf(text, sizeof text, "Stream(%s, %d)", device, unwrap(stream).index);
    return kiln__give_text(str, text, strlen(text));
}

bool mlx_stream_equal(mlx_stream lhs, mlx_stream rhs)
{
    KILN_NEED_OR(lhs, "mlx_stream", false);
    KILN_NEED_OR(rhs, "mlx_stream", false);
    return unwrap(lhs).index == unwrap(rhs).index;
}

int mlx_stream_get_device(mlx_device *dev, mlx_stream stream)
{
    KILN_NEED_POINTER(dev);
    KILN_NEED_STREAM(stream);
    return kiln__give_device(dev, unwrap(stream).device);
}

int mlx_stream_get_index(int *index, mlx_stream stream)
{
    KILN_NEED_POINTER(index);
    KILN_NEED_STREAM(stream);
    *index = unwrap(stream).index;
    return 0;
}

int mlx_synchronize(mlx_stream stream)
{
    KILN_NEED_STREAM(stream);
    kiln__eval_synchronize();
    return 0;
}

int mlx_get_default_stream(mlx_stream *stream, mlx_device dev)
{
    KILN_NEED_POINTER(stream);
    KILN_NEED_DEVICE(dev);
    if (check_device("default_stream", kiln__unwrap_device(dev))) return 1;
    return give(stream, default_stream());
}

int mlx_set_default_stream(mlx_stream stream)
{
    KILN_NEED_STREAM(stream);
    atomic_store(&default_index, unwrap(stream).index);
    return 0;
}

mlx_stream mlx_default_cpu_stream_new(void)
{
    mlx_stream made = {NULL};
    give(&made, default_stream());
    return made;
}

mlx_stream mlx_default_gpu_stream_new(void)
{
    return mlx_default_cpu_stream_new();
}
