/*
 * cublas.c - see cublas.h. cuBLAS counts columns first: the transpose of the product is made, from the transposes.
 *
 * One handle per GPU, used under the lock: calls only start work. The current stream orders it with our kernels.
 */
#include "run/gpu/cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/process/fork.h"
#include "run/gpu/gpu_launch.h"
#include "run/kernels/dry_run.h"
#include "run/placement.h"

enum { NONE = -1, COMPUTE_32F = 68, COMPUTE_64F = 70, DEFAULT_ALGORITHM = -1 };

/* cudaDataType and cublasComputeType_t of each dtype. */
static const struct {
    int type, compute;
} types[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = {NONE, 0},
    [KILN_UINT8] = {NONE, 0},
    [KILN_UINT16] = {NONE, 0},
    [KILN_UINT32] = {NONE, 0},
    [KILN_UINT64] = {NONE, 0},
    [KILN_INT8] = {NONE, 0},
    [KILN_INT16] = {NONE, 0},
    [KILN_INT32] = {NONE, 0},
    [KILN_INT64] = {NONE, 0},
    [KILN_FLOAT16] = {2, COMPUTE_32F},
    [KILN_FLOAT32] = {0, COMPUTE_32F},
    [KILN_FLOAT64] = {1, COMPUTE_64F},
    [KILN_BFLOAT16] = {14, COMPUTE_32F},
    [KILN_COMPLEX64] = {4, COMPUTE_32F},
};

static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*multiply)(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, const void *a,
                    int a_type, int lead_a, long long step_a, const void *b, int b_type, int lead_b, long long step_b,
                    const void *beta, void *c, int c_type, int lead_c, long long step_c, int count, int compute,
                    int algorithm);
} library;
static bool is_open; /* written once, by open_library() */
static pthread_once_t once = PTHREAD_ONCE_INIT;

KILN_LEAF_LOCK(lock); /* guards the handles and their use */
static void *handles[KILN_MAX_GPUS];

static void open_library(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
    void *opened = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !opened; i++)
        opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    void *create = opened ? dlsym(opened, "cublasCreate_v2") : NULL;
    void *set_stream = opened ? dlsym(opened, "cublasSetStream_v2") : NULL;
    void *multiply = opened ? dlsym(opened, "cublasGemmStridedBatchedEx") : NULL;
    memcpy(&library.create, &create, sizeof create);
    memcpy(&library.multiply, &multiply, sizeof multiply);
    memcpy(&library.set_stream, &set_stream, sizeof set_stream);
    is_open = create && set_stream && multiply;
}

bool kiln__cublas_can(enum kiln_dtype dtype)
{
    pthread_once(&once, open_library);
    return is_open && types[dtype].type != NONE;
}

static int multiply(void *handle, const struct kiln_gpu_product *p)
{
    static const float one[2] = {1, 0}, zero[2] = {0, 0};
    static const double one_double = 1, zero_double = 0;
    bool is_double = p->dtype == KILN_FLOAT64;
    int type = types[p->dtype].type;
    const void *alpha = is_double ? (const void *)&one_double : one;
    const void *beta = is_double ? (const void *)&zero_double : zero;
    return library.multiply(handle, p->b_is_transposed, p->a_is_transposed, p->n, p->m, p->k, alpha, p->b, type,
                            p->b_lead, p->b_step, p->a, type, p->a_lead, p->a_step, beta, p->c, type, p->n,
                            (long long)p->m * p->n, p->count, types[p->dtype].compute, DEFAULT_ALGORITHM);
}

kiln_status kiln__cublas_multiply(const struct kiln_gpu_product *product, kiln_error *err)
{
    void **handle = &handles[kiln__active.device_index - 1];
    void *stream = NULL;
    int result = 0;
    if (kiln__dry_run) return KILN_OK;
    kiln_status status = kiln__launch_graph_flush(err); /* what it reads is made by launches before */
    if (status || kiln__active.device->gpu->is_absent) return status;
    status = kiln__gpu_stream_handle(kiln__active.device->gpu, &stream, err);
    if (status) return status;
    pthread_mutex_lock(&lock);
    if (!*handle) result = library.create(handle);
    if (!result && atomic_load(&kiln__gpu_has_streams)) result = library.set_stream(*handle, stream);
    if (!result) result = multiply(*handle, product);
    pthread_mutex_unlock(&lock);
    kiln__gpu_stream_launched(kiln__active.device->gpu);
    return result ? kiln__fail(err, KILN_IO, "[matmul] cuBLAS failed with status %d", result) : KILN_OK;
}
