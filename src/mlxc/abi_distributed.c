/*
 * abi_distributed.c - distributed.h and distributed_group.h of the ABI, without a transport: the only group is that of
 * this process alone.
 *
 * In a group of one every collective gives its input, and there is nobody to send to. A handle's ctx is the address of
 * `alone`; freeing it does nothing.
 */
#include <string.h>

#include "mlxc/handle.h"

static const char alone[] = "a group of one process";

mlx_distributed_group mlx_distributed_group_new(void)
{
    return (mlx_distributed_group){NULL};
}

int mlx_distributed_group_free(mlx_distributed_group group)
{
    (void)group;
    return 0;
}

/* The back ends that the reference knows. */
static const char *const backends[] = {"any", "mpi", "nccl", "jaccl", "ring"};
enum { BACKENDS = sizeof backends / sizeof *backends };

static bool is_backend(const char *name)
{
    for (int i = 0; i < BACKENDS; i++)
        if (!strcmp(name, backends[i])) return true;
    return false;
}

/* Without `strict` a program that could run on many hosts runs on one. */
int mlx_distributed_init(mlx_distributed_group *res, bool strict, const char *bk)
{
    const char *name = bk ? bk : "any";
    if (KILN_NO_POINTER(res)) return 1;
    if (!is_backend(name)) {
        _mlx_error(__FILE__, __LINE__,
                   "[distributed_init] expected the back end \"any\", \"mpi\", \"nccl\", \"jaccl\" or \"ring\", got "
                   "\"%.100s\"",
                   name);
        return 1;
    }
    if (strict) {
        _mlx_error(__FILE__, __LINE__,
                   "[distributed_init] the back end \"%s\" is not there: this library talks to no other process. "
                   "Without strict, init gives the group of this process alone",
                   name);
        return 1;
    }
    res->ctx = (void *)(uintptr_t)alone;
    return 0;
}

bool mlx_distributed_is_available(const char *bk)
{
    (void)bk; /* whichever it is */
    return false;
}

int mlx_distributed_group_rank(mlx_distributed_group group)
{
    return KILN_NO_HANDLE(group, "mlx_distributed_group") ? -1 : 0;
}

int mlx_distributed_group_size(mlx_distributed_group group)
{
    return KILN_NO_HANDLE(group, "mlx_distributed_group") ? -1 : 1;
}

int mlx_distributed_group_split(mlx_distributed_group *res, mlx_distributed_group group, int color, int key)
{
    (void)color, (void)key;
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(group, "mlx_distributed_group")) return 1;
    return KILN_FAIL_TEXT("[distributed_group_split] a group of one process can't be split further");
}

/* ---- collectives ------------------------------------------------------------------------------------------------ */

/* `stream`: what the header calls it. */
#define KILN_COLLECTIVE(name, stream)                                                                                  \
    int mlx_distributed_##name(mlx_array *res, const mlx_array x, const mlx_distributed_group group,                   \
                               const mlx_stream stream)                                                                \
    {                                                                                                                  \
        (void)group; /* the one group, given or not */                                                                 \
        if (KILN_NO_ARRAY(x) || KILN_NO_STREAM(stream) || KILN_NO_POINTER(res)) return 1;                              \
        return kiln__give(res, kiln__array_ref(kiln__unwrap(x)));                                                      \
    }

KILN_COLLECTIVE(all_gather, S)
KILN_COLLECTIVE(all_max, s)
KILN_COLLECTIVE(all_min, s)
KILN_COLLECTIVE(all_sum, s)
KILN_COLLECTIVE(sum_scatter, s)

static int fail_alone(const char *name)
{
    _mlx_error(__FILE__, __LINE__, "[distributed_%s] a group of one process has nobody to send to or receive from",
               name);
    return 1;
}

int mlx_distributed_send(mlx_array *res, const mlx_array x, int dst, const mlx_distributed_group group,
                         const mlx_stream s)
{
    (void)dst, (void)group;
    return KILN_NO_ARRAY(x) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res) ? 1 : fail_alone("send");
}

int mlx_distributed_recv(mlx_array *res, const int *shape, size_t shape_num, mlx_dtype dtype, int src,
                         const mlx_distributed_group group, const mlx_stream s)
{
    (void)src, (void)group;
    if (KILN_NO_ELEMENTS(shape, shape_num) || KILN_NO_DTYPE("distributed_recv", dtype) || KILN_NO_STREAM(s) ||
        KILN_NO_POINTER(res))
        return 1;
    return fail_alone("recv");
}

int mlx_distributed_recv_like(mlx_array *res, const mlx_array x, int src, const mlx_distributed_group group,
                              const mlx_stream s)
{
    (void)src, (void)group;
    return KILN_NO_ARRAY(x) || KILN_NO_STREAM(s) || KILN_NO_POINTER(res) ? 1 : fail_alone("recv_like");
}
