/*
 * kernels.cuh - the same functions written by hand, as well as we can: what Kiln's kernels are measured against.
 *
 * Accesses have 16 bytes. Each function comes in variants (vectors of 16 bytes per thread, or the side of a tile); the
 * fastest one counts. Sizes divide evenly: arrays have a power of two of elements, and rows 4096 or 8192 of them.
 */
#ifndef KILN_BENCH_GPU_KERNELS_CUH
#define KILN_BENCH_GPU_KERNELS_CUH

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstring>

enum { BLOCK = 256, WARP = 32, SUM_BLOCKS = 2048 };

struct problem {
    size_t rows, columns;
};

/* Starts the kernel on the default stream. `scratch` has room for SUM_BLOCKS floats. */
typedef void (*hand_written)(const struct problem *problem, const void *a, const void *b, void *out, float *scratch);

/* ---- element-wise ------------------------------------------------------------------------------------------------ */

struct product_and_sum {
    static __device__ float of(float a, float b)
    {
        return (a * b) * (a + b);
    }
};

struct add {
    static __device__ float of(float a, float b)
    {
        return a + b;
    }
};

struct swiglu {
    static __device__ float of(float x, float y)
    {
        return __fdividef(x, 1.0f + __expf(-x)) * y;
    }
};

struct gelu {
    static __device__ float of(float x, float)
    {
        return 0.5f * (x * (1.0f + erff(x * 0.70710678118654752440f)));
    }
};

template <typename T> struct vector {
    T items[16 / sizeof(T)];
};

template <typename T, typename Function> __device__ uint4 apply(uint4 a_bits, uint4 b_bits)
{
    vector<T> a, b, out;
    uint4 out_bits;
    memcpy(&a, &a_bits, 16);
    memcpy(&b, &b_bits, 16);
    for (int i = 0; i < (int)(16 / sizeof(T)); i++)
        out.items[i] = (T)Function::of((float)a.items[i], (float)b.items[i]);
    memcpy(&out_bits, &out, 16);
    return out_bits;
}

template <typename T, typename Function, bool IS_BINARY, int VECTORS>
__global__ void __launch_bounds__(BLOCK)
    map(const uint4 *__restrict__ a, const uint4 *__restrict__ b, uint4 *__restrict__ out)
{
    const size_t first = (size_t)blockIdx.x * BLOCK * VECTORS + threadIdx.x;
    uint4 from_a[VECTORS], from_b[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        from_a[i] = a[first + (size_t)i * BLOCK];
        from_b[i] = IS_BINARY ? b[first + (size_t)i * BLOCK] : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < VECTORS; i++) out[first + (size_t)i * BLOCK] = apply<T, Function>(from_a[i], from_b[i]);
}

template <typename T, typename Function, bool IS_BINARY, int VECTORS>
void launch_map(const struct problem *problem, const void *a, const void *b, void *out, float *)
{
    const size_t vectors = problem->rows * problem->columns * sizeof(T) / 16;
    map<T, Function, IS_BINARY, VECTORS>
        <<<(unsigned)(vectors / (BLOCK * VECTORS)), BLOCK>>>((const uint4 *)a, (const uint4 *)b, (uint4 *)out);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct larger {
    static __device__ float of(float a, float b)
    {
        return fmaxf(a, b);
    }
};

template <typename Function> __device__ float reduce_warp(float value)
{
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = Function::of(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

/* Every thread of the block gets the result; `nothing` is the function's neutral element. */
template <typename Function> __device__ float reduce_block(float value, float nothing)
{
    __shared__ float totals[WARP];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    value = reduce_warp<Function>(value);
    __syncthreads(); /* totals of the reduction before this one were read */
    if (lane == 0) totals[warp] = value;
    __syncthreads();
    return reduce_warp<Function>(lane < warps ? totals[lane] : nothing);
}

/* A block has one row, in registers: it is read once and written once. */
template <int VECTORS> __device__ void load_row(float4 (&row)[VECTORS], const float4 *from)
{
#pragma unroll
    for (int i = 0; i < VECTORS; i++) row[i] = from[i * blockDim.x + threadIdx.x];
}

template <int VECTORS> __device__ void store_row_scaled(float4 *to, const float4 (&row)[VECTORS], float scale)
{
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        to[i * blockDim.x + threadIdx.x] =
            make_float4(row[i].x * scale, row[i].y * scale, row[i].z * scale, row[i].w * scale);
}

template <int VECTORS> __global__ void softmax_row(const float4 *__restrict__ in, float4 *__restrict__ out)
{
    const size_t start = (size_t)blockIdx.x * blockDim.x * VECTORS;
    float4 row[VECTORS];
    float top = -INFINITY, sum = 0;
    load_row(row, in + start);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) top = fmaxf(top, fmaxf(fmaxf(row[i].x, row[i].y), fmaxf(row[i].z, row[i].w)));
    top = reduce_block<larger>(top, -INFINITY);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        row[i] =
            make_float4(__expf(row[i].x - top), __expf(row[i].y - top), __expf(row[i].z - top), __expf(row[i].w - top));
        sum += (row[i].x + row[i].y) + (row[i].z + row[i].w);
    }
    store_row_scaled(out + start, row, 1.0f / reduce_block<add>(sum, 0));
}

template <int VECTORS> __global__ void rms_norm_row(const float4 *__restrict__ in, float4 *__restrict__ out)
{
    const size_t start = (size_t)blockIdx.x * blockDim.x * VECTORS;
    float4 row[VECTORS];
    float sum = 0;
    load_row(row, in + start);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        sum += (row[i].x * row[i].x + row[i].y * row[i].y) + (row[i].z * row[i].z + row[i].w * row[i].w);
    sum = reduce_block<add>(sum, 0);
    store_row_scaled(out + start, row, rsqrtf(sum / (float)(blockDim.x * VECTORS * 4) + 1e-5f));
}

template <int VECTORS>
void launch_softmax(const struct problem *problem, const void *a, const void *, void *out, float *)
{
    softmax_row<VECTORS>
        <<<(unsigned)problem->rows, (unsigned)(problem->columns / 4 / VECTORS)>>>((const float4 *)a, (float4 *)out);
}

template <int VECTORS>
void launch_rms_norm(const struct problem *problem, const void *a, const void *, void *out, float *)
{
    rms_norm_row<VECTORS>
        <<<(unsigned)problem->rows, (unsigned)(problem->columns / 4 / VECTORS)>>>((const float4 *)a, (float4 *)out);
}

/* ---- sum of all -------------------------------------------------------------------------------------------------- */

template <int VECTORS>
__global__ void __launch_bounds__(BLOCK) sum_parts(const float4 *__restrict__ in, size_t count, float *parts)
{
    float sums[VECTORS] = {0};
    for (size_t at = (size_t)blockIdx.x * BLOCK * VECTORS + threadIdx.x; at < count;
         at += (size_t)gridDim.x * BLOCK * VECTORS) {
        float4 item[VECTORS];
#pragma unroll
        for (int i = 0; i < VECTORS; i++) item[i] = in[at + (size_t)i * BLOCK];
#pragma unroll
        for (int i = 0; i < VECTORS; i++) sums[i] += (item[i].x + item[i].y) + (item[i].z + item[i].w);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) sum += sums[i];
    sum = reduce_block<add>(sum, 0);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

static __global__ void sum_totals(const float *parts, float *out)
{
    float sum = 0;
    for (int i = threadIdx.x; i < SUM_BLOCKS; i += BLOCK) sum += parts[i];
    sum = reduce_block<add>(sum, 0);
    if (threadIdx.x == 0) *out = sum;
}

template <int VECTORS>
void launch_sum(const struct problem *problem, const void *a, const void *, void *out, float *scratch)
{
    sum_parts<VECTORS><<<SUM_BLOCKS, BLOCK>>>((const float4 *)a, problem->rows * problem->columns / 4, scratch);
    sum_totals<<<1, BLOCK>>>(scratch, (float *)out);
}

/* ---- transpose --------------------------------------------------------------------------------------------------- */

template <int SIDE>
__global__ void __launch_bounds__(BLOCK)
    transpose_tile(const float *__restrict__ in, float *__restrict__ out, unsigned rows, unsigned columns)
{
    __shared__ float tile[SIDE][SIDE + 1]; /* one more, so that a column lies in different banks */
    const unsigned x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    const unsigned row = blockIdx.y * SIDE, column = blockIdx.x * SIDE;
#pragma unroll
    for (unsigned i = y; i < SIDE; i += BLOCK / SIDE) tile[i][x] = in[(size_t)(row + i) * columns + column + x];
    __syncthreads();
#pragma unroll
    for (unsigned i = y; i < SIDE; i += BLOCK / SIDE) out[(size_t)(column + i) * rows + row + x] = tile[x][i];
}

template <int SIDE>
void launch_transpose(const struct problem *problem, const void *a, const void *, void *out, float *)
{
    const dim3 grid((unsigned)(problem->columns / SIDE), (unsigned)(problem->rows / SIDE));
    transpose_tile<SIDE>
        <<<grid, BLOCK>>>((const float *)a, (float *)out, (unsigned)problem->rows, (unsigned)problem->columns);
}

/* ---- rows of a table --------------------------------------------------------------------------------------------- */

enum { TAKEN_ROWS = 8192, TABLE_ROWS = 65536 };

/* Scattered over the table, each once. */
static inline int taken_row(int i)
{
    return (int)((unsigned)i * 40503u % TABLE_ROWS);
}

template <int VECTORS>
__global__ void __launch_bounds__(BLOCK)
    take_row(const uint4 *__restrict__ table, const int *__restrict__ rows, uint4 *__restrict__ out, unsigned length)
{
    const unsigned first = blockIdx.y * BLOCK * VECTORS + threadIdx.x;
    const uint4 *from = table + (size_t)rows[blockIdx.x] * length + first;
    uint4 *to = out + (size_t)blockIdx.x * length + first, items[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) items[i] = from[i * BLOCK];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) to[i * BLOCK] = items[i];
}

/* Made once, before anything is timed: every kernel by hand is checked first. */
static inline const int *taken_rows(void)
{
    static int *rows;
    if (rows) return rows;
    static int numbers[TAKEN_ROWS];
    for (int i = 0; i < TAKEN_ROWS; i++) numbers[i] = taken_row(i);
    cudaMalloc((void **)&rows, sizeof numbers);
    cudaMemcpy(rows, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    return rows;
}

template <int VECTORS> void launch_take(const struct problem *problem, const void *a, const void *, void *out, float *)
{
    const unsigned length = (unsigned)(problem->columns / 4);
    const dim3 grid(TAKEN_ROWS, length / (BLOCK * VECTORS));
    take_row<VECTORS><<<grid, BLOCK>>>((const uint4 *)a, taken_rows(), (uint4 *)out, length);
}

/* ---- for the clocks ---------------------------------------------------------------------------------------------- */

/* Keeps the GPU busy while the host queues what is to be timed, so that no launch is waited for. */
static __global__ void spin(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) continue;
}

/* As many parameters as a kernel of two inputs has; does nothing. */
static __global__ void trivial(float *out, const float *a, const float *b, long long count)
{
    if (count < 0) *out = *a + *b;
}

#endif
