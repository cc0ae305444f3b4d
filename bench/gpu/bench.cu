/*
 * bench.cu - Kiln on a GPU against kernels written by hand, in the same run; one line of JSON per row.
 *
 *     bench [PART-OF-A-NAME]   all rows, or those whose name has it
 *     bench --first START      what a next process does: one compiled call; prints ms until CUDA was up, and in all
 *
 * Both sides start their work on the default stream. Times on the GPU are those of events, with the GPU kept busy while
 * the host queues, so that they hold no host time. Ours, the variants by hand and a copy alternate; medians; the better
 * variant counts. Results are compared before anything is timed. A row that fails says so and the next one runs.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "kernels.cuh"
#include "kiln/compile.h"
#include "kiln/gpu.h"
#include "mlx/c/mlx.h"

enum {
    MAX_SETS = 8,  /* sets of inputs used in turn, so that none is in the L2 cache when its turn comes */
    VARIANTS = 3,  /* by hand */
    REPEATS = 25,  /* of which the median counts */
    CALLS = 8,     /* between two events */
    SMALL = 32,    /* side of the small arrays */
    BATCHES = 41,  /* of small launches */
    PROCESSES = 5, /* warm ones */
};
static const long long SPIN_CYCLES = 1000 * 1000; /* half a millisecond: longer than CALLS calls take the host */

static mlx_stream stream;
static char last_error[400];

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void on_error(const char *text, void *)
{
    snprintf(last_error, sizeof last_error, "%s", text);
}

static bool fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return false;
}

static bool cuda_ok(cudaError_t error, const char *what)
{
    return error == cudaSuccess || fail("%s: %s", what, cudaGetErrorString(error));
}

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar((unsigned char)*text < ' ' ? ' ' : *text);
    putchar('"');
}

static void print_failure(const char *name)
{
    printf("{\"row\": ");
    print_string(name);
    printf(", \"error\": ");
    print_string(*last_error ? last_error : "unknown");
    printf("}\n");
    fflush(stdout);
    *last_error = 0;
}

static kiln_gpu_counters counters(void)
{
    kiln_gpu_counters now;
    memset(&now, 0, sizeof now);
    now.struct_size = sizeof now;
    kiln_gpu_counters_read(&now);
    return now;
}

/* ---- functions of arrays ----------------------------------------------------------------------------------------- */

typedef int (*expression)(mlx_array *res, const mlx_array a, const mlx_array b, void *payload);

static int with_number(mlx_array *res,
                       int (*operation)(mlx_array *, const mlx_array, const mlx_array, const mlx_stream), mlx_array a,
                       float number)
{
    mlx_array scalar = mlx_array_new_float(number), same = mlx_array_new();
    int failed = mlx_astype(&same, scalar, mlx_array_dtype(a), stream) || operation(res, a, same, stream);
    mlx_array_free(scalar);
    mlx_array_free(same);
    return failed;
}

static int do_product_and_sum(mlx_array *res, const mlx_array a, const mlx_array b, void *)
{
    mlx_array sum = mlx_array_new();
    int failed = mlx_multiply(res, a, b, stream) || mlx_add(&sum, a, b, stream) || mlx_multiply(res, *res, sum, stream);
    mlx_array_free(sum);
    return failed;
}

static int do_swiglu(mlx_array *res, const mlx_array a, const mlx_array b, void *)
{
    return mlx_sigmoid(res, a, stream) || mlx_multiply(res, a, *res, stream) || mlx_multiply(res, *res, b, stream);
}

static int do_gelu(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    return with_number(res, mlx_multiply, a, 0.70710678118654752440f) || mlx_erf(res, *res, stream) ||
           with_number(res, mlx_add, *res, 1) || mlx_multiply(res, a, *res, stream) ||
           with_number(res, mlx_multiply, *res, 0.5f);
}

static int do_rms_norm(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    return mlx_multiply(res, a, a, stream) || mlx_mean_axis(res, *res, -1, true, stream) ||
           with_number(res, mlx_add, *res, 1e-5f) || mlx_rsqrt(res, *res, stream) || mlx_multiply(res, a, *res, stream);
}

static int do_softmax(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    mlx_array sum = mlx_array_new();
    int failed = mlx_max_axis(res, a, -1, true, stream) || mlx_subtract(res, a, *res, stream) ||
                 mlx_exp(res, *res, stream) || mlx_sum_axis(&sum, *res, -1, true, stream) ||
                 mlx_divide(res, *res, sum, stream);
    mlx_array_free(sum);
    return failed;
}

static int do_add(mlx_array *res, const mlx_array a, const mlx_array b, void *)
{
    return mlx_add(res, a, b, stream);
}

static int do_transpose(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    return mlx_transpose(res, a, stream) || mlx_contiguous(res, *res, false, stream);
}

/* The indices are the host's, as tokens are. */
static int do_take(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    static mlx_array rows;
    static int numbers[TAKEN_ROWS];
    const int shape[] = {TAKEN_ROWS};
    for (int i = 0; i < TAKEN_ROWS && !rows.ctx; i++) numbers[i] = taken_row(i);
    if (!rows.ctx) rows = mlx_array_new_data(numbers, shape, 1, MLX_INT32);
    return mlx_take_axis(res, a, rows, 0, stream);
}

static int do_sum(mlx_array *res, const mlx_array a, const mlx_array, void *)
{
    return mlx_sum(res, a, false, stream);
}

/* Five kernels: a product, then twice a reduction and what follows it. */
static int do_chain(mlx_array *res, const mlx_array a, const mlx_array b, void *)
{
    mlx_array sum = mlx_array_new();
    int failed = mlx_multiply(res, a, b, stream);
    for (int i = 0; i < 2 && !failed; i++)
        failed = mlx_sum_axis(&sum, *res, 0, true, stream) || mlx_subtract(res, *res, sum, stream) ||
                 mlx_tanh(res, *res, stream);
    mlx_array_free(sum);
    return failed;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    expression ours;
    bool is_compiled, is_binary, is_bfloat16;
    struct problem problem;
    double passes; /* arrays of the problem's size that are read or written */
    double aim;    /* smallest ratio; 0: none is stated */
    bool is_aim_of_copy;
    hand_written by_hand[VARIANTS];
};

#define MAP(type, function, is_binary)                                                                                 \
    {launch_map<type, function, is_binary, 1>, launch_map<type, function, is_binary, 2>,                               \
     launch_map<type, function, is_binary, 4>}
#define ROWS(function) {function<2>, function<4>, function<8>}
static const struct kind kinds[] = {
    {"(a*b)*(a+b), 256 MiB each",
     do_product_and_sum,
     true,
     true,
     false,
     {8192, 8192},
     3,
     0.97,
     false,
     MAP(float, product_and_sum, true)},
    {"x*sigmoid(x)*y, 256 MiB each",
     do_swiglu,
     true,
     true,
     false,
     {8192, 8192},
     3,
     0.97,
     false,
     MAP(float, swiglu, true)},
    {"gelu, 256 MiB", do_gelu, true, false, false, {8192, 8192}, 2, 0.97, false, MAP(float, gelu, false)},
    {"x*sigmoid(x)*y, bfloat16, 256 MiB each",
     do_swiglu,
     true,
     true,
     true,
     {16384, 8192},
     3,
     0.97,
     false,
     MAP(__nv_bfloat16, swiglu, true)},
    {"gelu, bfloat16, 256 MiB",
     do_gelu,
     true,
     false,
     true,
     {16384, 8192},
     2,
     0.97,
     false,
     MAP(__nv_bfloat16, gelu, false)},
    {"softmax, 16384 x 8192", do_softmax, true, false, false, {16384, 8192}, 2, 0.9, true, ROWS(launch_softmax)},
    {"softmax, 4096 x 4096", do_softmax, true, false, false, {4096, 4096}, 2, 0.9, true, ROWS(launch_softmax)},
    {"rms norm, 16384 x 8192", do_rms_norm, true, false, false, {16384, 8192}, 2, 0.9, true, ROWS(launch_rms_norm)},
    {"rms norm, 4096 x 4096", do_rms_norm, true, false, false, {4096, 4096}, 2, 0.9, true, ROWS(launch_rms_norm)},
    {"a + b, not compiled, 256 MiB each", do_add, false, true, false, {8192, 8192}, 3, 0, false, MAP(float, add, true)},
    {"transposed copy, 8192 x 8192",
     do_transpose,
     false,
     false,
     false,
     {8192, 8192},
     2,
     0,
     false,
     {launch_transpose<32>, launch_transpose<64>, NULL}},
    {"take of 8192 rows of 4096 floats from 65536",
     do_take,
     false,
     false,
     false,
     {TABLE_ROWS, 4096},
     2.0 * TAKEN_ROWS / TABLE_ROWS,
     0,
     false,
     {launch_take<1>, launch_take<2>, launch_take<4>}},
    {"sum of all, 256 MiB", do_sum, false, false, false, {8192, 8192}, 1, 0, false, ROWS(launch_sum)},
};
#undef MAP
#undef ROWS

/* A row's arrays on both sides, and how they are used in turn. */
struct row {
    const struct kind *kind;
    size_t length, bytes; /* of one array */
    int sets, turn;
    mlx_closure compiled;
    mlx_array a[MAX_SETS], b[MAX_SETS];
    mlx_vector_array inputs[MAX_SETS], pending;
    void *hand_a[MAX_SETS], *hand_b[MAX_SETS], *hand_out;
    float *scratch;
    int failures;
};

static uint32_t scramble(uint32_t number)
{
    number = (number ^ number >> 16) * 0x7feb352du;
    number = (number ^ number >> 15) * 0x846ca68bu;
    return number ^ number >> 16;
}

static uint16_t to_bfloat16(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bfloat16(uint16_t number)
{
    float value;
    uint32_t bits = (uint32_t)number << 16;
    memcpy(&value, &bits, 4);
    return value;
}

/* Numbers from -6 to 10, so that a sum does not cancel. */
static void *new_numbers(const struct row *row, uint32_t seed)
{
    char *data = (char *)malloc(row->bytes);
    for (size_t i = 0; data && i < row->length; i++) {
        float number = (float)(scramble((uint32_t)i + seed) >> 8) * (16.0f / (1 << 24)) - 6;
        uint16_t half = to_bfloat16(number);
        if (row->kind->is_bfloat16)
            memcpy(data + i * 2, &half, 2);
        else
            memcpy(data + i * 4, &number, 4);
    }
    return data;
}

/* The same numbers on both sides; ours come out of an operation on the GPU, so that they are there. */
static bool make_input(const struct row *row, const void *numbers, mlx_array *ours, void **by_hand)
{
    const int shape[] = {(int)row->kind->problem.rows, (int)row->kind->problem.columns};
    mlx_array host = mlx_array_new_data(numbers, shape, 2, row->kind->is_bfloat16 ? MLX_BFLOAT16 : MLX_FLOAT32);
    bool ok = cuda_ok(cudaMalloc(by_hand, row->bytes), "memory for an input") &&
              cuda_ok(cudaMemcpy(*by_hand, numbers, row->bytes, cudaMemcpyHostToDevice), "an input") &&
              with_number(ours, mlx_multiply, host, 1) == 0 && mlx_array_eval(*ours) == 0;
    mlx_array_free(host);
    return ok;
}

static bool make_inputs(struct row *row)
{
    void *a = new_numbers(row, 0), *b = row->kind->is_binary ? new_numbers(row, 77777) : NULL;
    bool ok = a && (b || !row->kind->is_binary) ? true : fail("no memory on the host");
    for (int i = 0; i < row->sets && ok; i++) {
        ok = make_input(row, a, &row->a[i], &row->hand_a[i]) && (!b || make_input(row, b, &row->b[i], &row->hand_b[i]));
        const mlx_array both[] = {row->a[i], row->b[i]};
        row->inputs[i] = mlx_vector_array_new_data(both, b ? 2 : 1);
    }
    free(a);
    free(b);
    return ok;
}

static int as_unary(mlx_array *res, const mlx_array x, void *kind)
{
    return ((const struct kind *)kind)->ours(res, x, x, NULL);
}

static bool row_init(struct row *row, const struct kind *kind)
{
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->length = kind->problem.rows * kind->problem.columns;
    row->bytes = row->length * (kind->is_bfloat16 ? 2 : 4);
    row->sets = row->bytes >= (size_t)256 << 20 ? 2 : MAX_SETS;
    row->compiled = mlx_closure_new();
    row->pending = mlx_vector_array_new();
    for (int i = 0; i < MAX_SETS; i++) row->a[i] = mlx_array_new(), row->b[i] = mlx_array_new();
    if (kind->is_compiled &&
        (kind->is_binary ? kiln_compile_binary(&row->compiled, "bench", kind->ours, NULL, NULL, false)
                         : kiln_compile_unary(&row->compiled, "bench", as_unary, (void *)kind, NULL, false)))
        return false;
    return cuda_ok(cudaMalloc(&row->hand_out, row->bytes), "memory for a result") &&
           cuda_ok(cudaMalloc((void **)&row->scratch, SUM_BLOCKS * sizeof(float)), "scratch memory") &&
           make_inputs(row);
}

static void row_release(struct row *row)
{
    mlx_closure_free(row->compiled);
    mlx_vector_array_free(row->pending);
    for (int i = 0; i < MAX_SETS; i++) {
        mlx_array_free(row->a[i]);
        mlx_array_free(row->b[i]);
        if (row->inputs[i].ctx) mlx_vector_array_free(row->inputs[i]);
        cudaFree(row->hand_a[i]);
        cudaFree(row->hand_b[i]);
    }
    cudaFree(row->hand_out);
    cudaFree(row->scratch);
    mlx_clear_cache();
}

static int take_turn(struct row *row)
{
    return row->turn = (row->turn + 1) % row->sets;
}

/* Compiled work is started; nobody waits for it here. The rest is started by finish_ours(). */
static bool call_ours(struct row *row, int set, mlx_array *res)
{
    const struct kind *kind = row->kind;
    if (!kind->is_compiled)
        return kind->ours(res, row->a[set], row->b[set], NULL) == 0 &&
               mlx_vector_array_append_value(row->pending, *res) == 0;
    mlx_vector_array outputs = mlx_vector_array_new();
    bool ok =
        mlx_closure_apply(&outputs, row->compiled, row->inputs[set]) == 0 && mlx_vector_array_get(res, outputs, 0) == 0;
    mlx_vector_array_free(outputs);
    return ok;
}

/* What is not compiled runs in one go, since an evaluation waits for its end. */
static bool finish_ours(struct row *row)
{
    bool ok = mlx_eval(row->pending) == 0;
    mlx_vector_array_free(row->pending);
    row->pending = mlx_vector_array_new();
    return ok;
}

/* ---- what is fast must also be right ----------------------------------------------------------------------------- */

static float number_at(const struct row *row, const void *data, size_t index)
{
    return row->kind->is_bfloat16 ? from_bfloat16(((const uint16_t *)data)[index]) : ((const float *)data)[index];
}

/* Every operation of ours rounds to its dtype, which by hand happens once: a few roundings apart, of the usual size. */
static bool are_near(const struct row *row, const void *ours, const void *by_hand, size_t length)
{
    const double tolerance = row->kind->is_bfloat16 ? 2e-2 : 2e-5;
    double usual = 0;
    for (size_t i = 0; i < length; i++) usual += fabs((double)number_at(row, by_hand, i)) / (double)length;
    for (size_t i = 0; i < length; i++) {
        double x = number_at(row, ours, i), y = number_at(row, by_hand, i);
        if (!(fabs(x - y) <= tolerance * (fabs(y) + usual))) return fail("element %zu is %.9g, by hand %.9g", i, x, y);
    }
    return true;
}

static bool is_right(struct row *row, const void *ours, size_t length)
{
    const size_t bytes = length * (row->kind->is_bfloat16 ? 2 : 4);
    void *host = malloc(bytes);
    bool ok = host ? true : fail("no memory on the host");
    for (int i = 0; i < VARIANTS && ok; i++) {
        if (!row->kind->by_hand[i]) continue;
        row->kind->by_hand[i](&row->kind->problem, row->hand_a[0], row->hand_b[0], row->hand_out, row->scratch);
        ok = cuda_ok(cudaGetLastError(), "a kernel by hand") &&
             cuda_ok(cudaMemcpy(host, row->hand_out, bytes, cudaMemcpyDeviceToHost), "a result by hand") &&
             are_near(row, ours, host, length);
    }
    free(host);
    return ok;
}

static bool check_row(struct row *row)
{
    mlx_array res = mlx_array_new();
    const uint64_t on_host = counters().host_operations;
    bool ok = call_ours(row, 0, &res) && finish_ours(row) && mlx_array_eval(res) == 0 &&
              (counters().host_operations == on_host || fail("it ran on the CPU"));
    const void *data = ok ? mlx_array_data_uint8(res) : NULL;
    ok = ok && (data ? is_right(row, data, mlx_array_size(res)) : fail("the result has no data"));
    mlx_array_free(res);
    return ok;
}

/* ---- times on the GPU -------------------------------------------------------------------------------------------- */

static void run_ours(struct row *row, int)
{
    mlx_array res = mlx_array_new();
    row->failures += !call_ours(row, take_turn(row), &res);
    mlx_array_free(res);
}

static void run_by_hand(struct row *row, int variant)
{
    const int set = take_turn(row);
    row->kind->by_hand[variant](&row->kind->problem, row->hand_a[set], row->hand_b[set], row->hand_out, row->scratch);
}

static void run_copy(struct row *row, int)
{
    cudaMemcpyAsync(row->hand_out, row->hand_a[take_turn(row)], row->bytes, cudaMemcpyDeviceToDevice, 0);
}

struct work {
    void (*run)(struct row *row, int variant);
    int variant;
    double ms[REPEATS];
};

static double median(double *values, int count)
{
    std::sort(values, values + count);
    return values[count / 2];
}

static bool time_once(struct row *row, const struct work *work, const cudaEvent_t events[2], double *ms)
{
    float elapsed = 0;
    spin<<<1, 1>>>(SPIN_CYCLES);
    cudaEventRecord(events[0], 0);
    for (int i = 0; i < CALLS; i++) work->run(row, work->variant);
    row->failures += !finish_ours(row);
    cudaEventRecord(events[1], 0);
    if (!cuda_ok(cudaEventSynchronize(events[1]), "timed work") ||
        !cuda_ok(cudaEventElapsedTime(&elapsed, events[0], events[1]), "a time"))
        return false;
    *ms = (double)elapsed / CALLS;
    return row->failures == 0; /* the library said why */
}

static bool time_works(struct row *row, struct work *works, int count)
{
    cudaEvent_t events[2];
    double ignored;
    bool ok = cuda_ok(cudaEventCreate(&events[0]), "an event") && cuda_ok(cudaEventCreate(&events[1]), "an event");
    for (int i = 0; i < 2 * count && ok; i++) ok = time_once(row, &works[i % count], events, &ignored);
    for (int i = 0; i < REPEATS && ok; i++)
        for (int k = 0; k < count && ok; k++) ok = time_once(row, &works[k], events, &works[k].ms[i]);
    cudaEventDestroy(events[0]);
    cudaEventDestroy(events[1]);
    return ok;
}

static bool measure_row(struct row *row)
{
    static struct work works[VARIANTS + 2];
    int count = 0;
    works[count++] = {run_ours, 0, {0}};
    works[count++] = {run_copy, 0, {0}};
    for (int i = 0; i < VARIANTS; i++)
        if (row->kind->by_hand[i]) works[count++] = {run_by_hand, i, {0}};
    if (!time_works(row, works, count)) return false;
    double ms[VARIANTS + 2];
    for (int i = 0; i < count; i++) ms[i] = median(works[i].ms, REPEATS);
    const double bytes = (double)row->bytes * row->kind->passes, ours = bytes / ms[0] / 1e9,
                 copy = 2.0 * (double)row->bytes / ms[1] / 1e9,
                 hand = bytes / *std::min_element(ms + 2, ms + count) / 1e9;
    printf("{\"row\": ");
    print_string(row->kind->name);
    printf(", \"unit\": \"TB/s\", \"ours\": %.3f, \"hand\": %.3f, \"copy\": %.3f, \"ratio\": %.3f, \"of\": \"%s\"",
           ours, hand, copy, ours / (row->kind->is_aim_of_copy ? copy : hand),
           row->kind->is_aim_of_copy ? "copy" : "hand");
    if (row->kind->aim > 0) printf(", \"aim\": \">= %g\"", row->kind->aim);
    printf("}\n");
    fflush(stdout);
    return true;
}

/* ---- small launches: time on the host ---------------------------------------------------------------------------- */

typedef int (*launch_function)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               void *stream, void **parameters, void **extra);

struct small {
    mlx_closure compiled;
    mlx_vector_array inputs;
    launch_function launch; /* cuLaunchKernel */
    void *function;
    float *memory;
    int kernels, failures;
};

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void call_small(struct small *small)
{
    mlx_vector_array outputs = mlx_vector_array_new();
    small->failures += mlx_closure_apply(&outputs, small->compiled, small->inputs) != 0;
    mlx_vector_array_free(outputs);
}

static void launch_small(struct small *small)
{
    float *a = small->memory, *b = a + SMALL * SMALL, *out = b + SMALL * SMALL;
    long long count = SMALL * SMALL;
    void *parameters[] = {&out, &a, &b, &count};
    for (int i = 0; i < small->kernels; i++)
        small->failures += small->launch(small->function, 1, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL) != 0;
}

/* The queue of the GPU has room for a batch, so a launch never waits for it. */
static double time_batch(struct small *small, void (*call)(struct small *))
{
    const int calls = small->kernels > 1 ? 100 : 200;
    const double start = now_us();
    for (int i = 0; i < calls; i++) call(small);
    const double us = (now_us() - start) / calls;
    cudaDeviceSynchronize();
    return us;
}

static bool small_init(struct small *small, expression function)
{
    const int shape[] = {SMALL, SMALL};
    float numbers[SMALL * SMALL];
    for (int i = 0; i < SMALL * SMALL; i++) numbers[i] = (float)(i % 61) / 61;
    mlx_array host = mlx_array_new_data(numbers, shape, 2, MLX_FLOAT32);
    mlx_array both[] = {mlx_array_new(), mlx_array_new()};
    bool ok = kiln_compile_binary(&small->compiled, "small", function, NULL, NULL, false) == 0 &&
              with_number(&both[0], mlx_multiply, host, 1) == 0 && with_number(&both[1], mlx_multiply, host, 2) == 0 &&
              mlx_array_eval(both[0]) == 0 && mlx_array_eval(both[1]) == 0;
    small->inputs = mlx_vector_array_new_data(both, 2);
    mlx_array_free(host);
    mlx_array_free(both[0]);
    mlx_array_free(both[1]);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    small->launch = driver ? (launch_function)dlsym(driver, "cuLaunchKernel") : NULL;
    if (ok && !small->launch) return fail("no cuLaunchKernel in libcuda.so.1");
    return ok && cuda_ok(cudaGetFuncBySymbol((cudaFunction_t *)&small->function, (const void *)trivial), "a kernel") &&
           cuda_ok(cudaMalloc((void **)&small->memory, 3 * sizeof numbers), "memory");
}

static bool measure_small(struct small *small, const char *name, const char *aim)
{
    double ours[BATCHES], floor[BATCHES];
    for (int i = 0; i < 5; i++) time_batch(small, call_small), time_batch(small, launch_small);
    const kiln_gpu_counters before = counters();
    for (int i = 0; i < BATCHES; i++) {
        ours[i] = time_batch(small, call_small);
        floor[i] = time_batch(small, launch_small);
    }
    const kiln_gpu_counters after = counters();
    if (small->failures) return *last_error ? false : fail("%d launches failed", small->failures);
    const double us = median(ours, BATCHES), floor_us = median(floor, BATCHES);
    printf("{\"row\": ");
    print_string(name);
    printf(", \"unit\": \"us\", \"ours\": %.3f, \"hand\": %.3f, \"ratio\": %.3f, \"of\": \"cuLaunchKernel\"", us,
           floor_us, us / floor_us);
    printf(", \"launches\": %llu, \"replays\": %llu", (unsigned long long)(after.launches - before.launches),
           (unsigned long long)(after.replays - before.replays));
    if (aim) printf(", \"aim\": \"%s\"", aim);
    printf("}\n");
    fflush(stdout);
    return true;
}

static bool run_small(const char *name, expression function, int kernels, const char *aim)
{
    struct small small = {mlx_closure_new(), {NULL}, NULL, NULL, NULL, kernels, 0};
    bool ok = small_init(&small, function) && measure_small(&small, name, aim);
    mlx_closure_free(small.compiled);
    if (small.inputs.ctx) mlx_vector_array_free(small.inputs);
    cudaFree(small.memory);
    return ok;
}

/* ---- the next process -------------------------------------------------------------------------------------------- */

/* In the child: CUDA first, since every program on a GPU pays for that, then one compiled call and its numbers. */
static int run_first(double start_us)
{
    if (!cuda_ok(cudaFree(NULL), "CUDA")) return 1;
    const double up_us = now_us();
    const int length = 1024;
    float numbers[length];
    for (int i = 0; i < length; i++) numbers[i] = (float)(i % 61) / 61;
    mlx_closure compiled = mlx_closure_new();
    mlx_array a = mlx_array_new_data(numbers, &length, 1, MLX_FLOAT32), res = mlx_array_new();
    bool ok = kiln_compile_binary(&compiled, "first", do_swiglu, NULL, NULL, false) == 0 &&
              kiln_call_binary(&res, compiled, a, a) == 0 && mlx_array_eval(res) == 0;
    const float *values = ok ? mlx_array_data_float32(res) : NULL;
    const double end_us = now_us(), x = numbers[1], expected = x / (1 + exp(-x)) * x;
    if (values && !(fabs(values[1] - expected) < 1e-5)) ok = fail("element 1 is %g, not %g", values[1], expected);
    ok = ok && values;
    if (ok) printf("%.3f %.3f\n", (up_us - start_us) / 1e3, (end_us - start_us) / 1e3);
    if (!ok) fprintf(stderr, "next process: %s\n", last_error);
    mlx_array_free(a);
    mlx_array_free(res);
    mlx_closure_free(compiled);
    return ok ? 0 : 1;
}

struct first {
    double up_ms, all_ms;
    long compiles, links, driver_compiles; /* -1: not in the line */
};

static long field(const char *line, const char *name)
{
    char key[60];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static bool read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    text[length] = 0;
    return length > 0 || fail("%s: nothing was written there", path);
}

static bool spawn_first(const char *output)
{
    extern char **environ;
    char start[40], program[] = "/proc/self/exe", flag[] = "--first";
    char *const args[] = {program, flag, start, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(start, sizeof start, "%.3f", now_us());
    int error = posix_spawn(&child, program, &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) return fail("a child can't be started: %s", strerror(error));
    waitpid(child, &status, 0);
    return status == 0 || fail("the child failed with status %d", status);
}

static bool run_child(const char *folder, struct first *first)
{
    char stats[300], output[300], text[4000];
    snprintf(stats, sizeof stats, "%s/stats", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    unlink(stats);
    setenv("KILN_STATS", stats, 1);
    bool ok = spawn_first(output) && read_text(output, text, sizeof text);
    unsetenv("KILN_STATS");
    if (!ok) return false;
    if (sscanf(text, "%lf %lf", &first->up_ms, &first->all_ms) != 2) return fail("the child printed \"%.40s\"", text);
    if (!read_text(stats, text, sizeof text)) return false;
    first->compiles = field(text, "compiles");
    first->links = field(text, "links");
    first->driver_compiles = field(text, "gpu_driver_compiles");
    return true;
}

static void print_first(const char *name, const struct first *first, const char *aim)
{
    printf("{\"row\": ");
    print_string(name);
    printf(", \"unit\": \"ms\", \"ours\": %.2f, \"cuda_start_ms\": %.2f, \"compiles\": %ld, \"links\": %ld",
           first->all_ms - first->up_ms, first->up_ms, first->compiles, first->links);
    if (first->driver_compiles >= 0) printf(", \"driver_compiles\": %ld", first->driver_compiles);
    if (aim) printf(", \"aim\": \"%s\"", aim);
    printf("}\n");
    fflush(stdout);
}

static bool is_faster(const struct first &a, const struct first &b)
{
    return a.all_ms - a.up_ms < b.all_ms - b.up_ms;
}

static bool measure_in(const char *folder, const char *cache, const char *cold_name, const char *warm_name)
{
    struct first runs[PROCESSES];
    setenv("KILN_CACHE_DIR", cache, 1);
    if (!run_child(folder, &runs[0])) return false;
    print_first(cold_name, &runs[0], NULL);
    for (int i = 0; i < PROCESSES; i++)
        if (!run_child(folder, &runs[i])) return false;
    std::sort(runs, runs + PROCESSES, is_faster);
    print_first(warm_name, &runs[PROCESSES / 2], "0 compiles");
    return true;
}

/* The last row: it leaves KILN_CACHE_DIR changed, which this process does not read again. */
static bool measure_processes(const char *cold_name, const char *warm_name)
{
    char folder[200], cache[230], command[300];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/kiln-bench-gpu-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) return fail("%s can't be made", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    bool ok = measure_in(folder, cache, cold_name, warm_name);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 && ok;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool run_kind(const struct kind *kind)
{
    static struct row row;
    bool ok = row_init(&row, kind) && check_row(&row) && measure_row(&row);
    row_release(&row);
    return ok;
}

int main(int argc, char **argv)
{
    static const char small[] = "small launch, host time", chain[] = "5 kernels, host time",
                      cold[] = "first result after CUDA, cold", warm[] = "first result after CUDA, next process";
    const char *part = argc > 1 ? argv[1] : "";
    bool available = false;
    mlx_set_error_handler(on_error, NULL, NULL);
    mlx_cuda_is_available(&available);
    if (!available) {
        fprintf(stderr, "bench: there is no GPU\n");
        return 77;
    }
    stream = mlx_default_gpu_stream_new();
    if (argc > 2 && strcmp(argv[1], "--first") == 0) return run_first(strtod(argv[2], NULL));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(kinds[i].name, part) && !run_kind(&kinds[i])) print_failure(kinds[i].name);
    if (strstr(small, part) && !run_small(small, do_product_and_sum, 1, "<= 1.15")) print_failure(small);
    if (strstr(chain, part) && !run_small(chain, do_chain, 5, NULL)) print_failure(chain);
    if ((strstr(cold, part) || strstr(warm, part)) && !measure_processes(cold, warm)) print_failure(warm);
    return 0;
}
