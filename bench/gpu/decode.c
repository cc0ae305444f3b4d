/*
 * decode.c - whole programs on a GPU: steps of a decoder with 1.2 billion weights, compiled, and their parts; one line
 * of JSON per row.
 *
 *     decode [PART-OF-A-NAME]    all rows, or those whose name has it
 *     decode --few [PART]        the same with few numbers: to try the program, also on the emulated GPU
 *
 * Needs the driver and our libraries only, and no compiler where kernels were compiled ahead: KILN_MODE=compile-only
 * runs through all rows where no GPU is. The floor is what a copy by the driver takes, in the same run, to move as many
 * bytes as a step has to read. A time is the median of some batches of calls, each from an idle GPU until it is idle
 * again; host time is what the calls take while the GPU is busy.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "decoder.h"
#include "kiln/gpu.h"

enum { BATCHES = 7, COPIES = 10, PROMPT = 512, LENGTH = 576, MOST_LAYERS = DECODER_LAYERS };

static mlx_stream stream;
static bool is_small;
static double copy_rate; /* bytes per second, read and written */
static char last_error[400];

static void on_error(const char *text, void *data)
{
    (void)data;
    snprintf(last_error, sizeof last_error, "%s", text);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static kiln_gpu_counters counters(void)
{
    kiln_gpu_counters now_counted = {.struct_size = sizeof now_counted};
    kiln_gpu_counters_read(&now_counted);
    return now_counted;
}

static int print_failure(const char *name)
{
    for (char *c = last_error; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') *c = ' ';
    printf("{\"row\": \"%s\", \"error\": \"%s\"}\n", name, *last_error ? last_error : "unknown");
    fflush(stdout);
    return *last_error = 0, 1;
}

/* ---- the floor -------------------------------------------------------------------------------------------------- */

/* The driver's functions, as of cuda.h. */
static struct {
    int (*init)(unsigned flags);
    int (*device)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*enter)(void *context);
    int (*alloc)(unsigned long long *out, size_t size);
    int (*release)(unsigned long long data);
    int (*copy)(unsigned long long to, unsigned long long from, size_t size, void *queue);
    int (*wait)(void *queue);
} driver;

static int open_driver(void)
{
    const struct {
        void *function;
        const char *name;
    } wanted[] = {{&driver.init, "cuInit"},
                  {&driver.device, "cuDeviceGet"},
                  {&driver.retain, "cuDevicePrimaryCtxRetain"},
                  {&driver.enter, "cuCtxSetCurrent"},
                  {&driver.alloc, "cuMemAlloc_v2"},
                  {&driver.release, "cuMemFree_v2"},
                  {&driver.copy, "cuMemcpyDtoDAsync_v2"},
                  {&driver.wait, "cuStreamSynchronize"}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = library ? dlsym(library, wanted[i].name) : NULL;
        if (!symbol) return 1;
        memcpy(wanted[i].function, &symbol, sizeof symbol);
    }
    return 0;
}

/* Memory is of the context that the thread has, and a thread that has evaluated nothing has none. */
static int enter_device(void)
{
    void *context = NULL;
    int device = 0;
    return open_driver() || driver.init(0) || driver.device(&device, 0) || driver.retain(&context, device) ||
           driver.enter(context);
}

/* Copies are queued, one behind the other, on the default stream; who waits for that stream waits for all of them. */
static int time_copies(unsigned long long to, unsigned long long from, size_t size)
{
    double times[BATCHES];
    int failed = 0;
    for (int i = -1; i < BATCHES && !failed; i++) {
        failed = driver.wait(NULL);
        double start = now();
        for (int k = 0; k < COPIES && !failed; k++) failed = driver.copy(to, from, size, NULL);
        failed = failed || driver.wait(NULL);
        if (i >= 0) times[i] = (now() - start) / COPIES;
    }
    if (!failed) copy_rate = 2.0 * (double)size / median(times, BATCHES);
    return failed;
}

static int measure_copy(void)
{
    const size_t size = (size_t)1 << (is_small ? 20 : 30);
    unsigned long long a = 0, b = 0;
    if (enter_device()) return 1;
    int failed = driver.alloc(&a, size) || driver.alloc(&b, size) || time_copies(b, a, size);
    if (a) driver.release(a);
    if (b) driver.release(b);
    return failed;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Something that is called again and again. */
struct work {
    int (*call)(void *context);
    void *context;
    int calls;    /* of a batch */
    double bytes; /* that a call has to read */
    int parts;    /* a call is so many of what the row tells about */
    const char *aim;
};

static int measure(const char *name, const struct work *work)
{
    double times[BATCHES], hosts[BATCHES];
    kiln_gpu_counters before = counters();
    const int batches = is_small ? 1 : BATCHES;
    for (int i = -2; i < batches; i++) {
        if (i == 0) before = counters();
        mlx_synchronize(stream);
        double start = now();
        for (int k = 0; k < work->calls; k++)
            if (work->call(work->context)) return print_failure(name);
        double called = now();
        mlx_synchronize(stream);
        if (i >= 0) hosts[i] = (called - start) / work->calls, times[i] = (now() - start) / work->calls;
    }
    const kiln_gpu_counters after = counters();
    const double time = median(times, batches) / work->parts,
                 floor = copy_rate > 0 ? work->bytes / work->parts / copy_rate : 0;
    const double calls = (double)work->calls * batches;
    printf("{\"row\": \"%s\", \"unit\": \"us\", \"ours\": %.2f, \"copy\": %.2f, \"ratio\": %.3f, \"of\": \"copy\", "
           "\"aim\": \"%s\", \"host_us\": %.1f, \"launches\": %.1f, \"replays\": %.1f, \"updates\": %.1f, "
           "\"host_operations\": %.1f}\n",
           name, time * 1e6, floor * 1e6, floor / time, work->aim ? work->aim : "", median(hosts, batches) * 1e6,
           (double)(after.launches - before.launches) / calls, (double)(after.replays - before.replays) / calls,
           (double)(after.graph_updates - before.graph_updates) / calls,
           (double)(after.host_operations - before.host_operations) / calls);
    fflush(stdout);
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

struct steps {
    struct decoder *decoder;
    struct decoder_state state;
    mlx_closure function;
};

static int call_step(void *context)
{
    struct steps *steps = context;
    return decoder_go_on(&steps->state, steps->function);
}

/* A prompt begins with its tokens again each time, but in the caches of the last. */
static int call_prefill(void *context)
{
    struct steps *steps = context;
    mlx_array tokens = mlx_array_new(), position = mlx_array_new();
    int failed = mlx_array_set(&tokens, steps->state.arrays[0]) || mlx_array_set(&position, steps->state.arrays[1]) ||
                 decoder_go_on(&steps->state, steps->function) || mlx_array_set(&steps->state.arrays[0], tokens) ||
                 mlx_array_set(&steps->state.arrays[1], position);
    mlx_array_free(tokens), mlx_array_free(position);
    return failed;
}

static double cache_bytes(const struct decoder_shape *s)
{
    return 2.0 * s->layers * s->batch * s->shared * s->capacity * s->head * (double)mlx_dtype_size(s->dtype);
}

static int measure_steps(const char *name, struct decoder *d, bool is_prompt)
{
    struct steps steps = {.decoder = d, .function = is_prompt ? d->prefill : d->step};
    const struct decoder_shape *s = &d->shape;
    const int first = s->capacity - 10 * (BATCHES + 2) - 1;
    int failed = decoder_begin(d, &steps.state, is_prompt ? PROMPT * s->capacity / LENGTH : 1,
                               is_prompt   ? 0
                               : first > 0 ? first
                                           : 0);
    const struct work work = {is_prompt ? call_prefill : call_step,
                              &steps,
                              is_small    ? 1
                              : is_prompt ? 3
                                          : 10,
                              d->weight_bytes + (is_prompt ? 0 : cache_bytes(s)),
                              1,
                              is_prompt || s->batch > 1 ? NULL
                              : s->bits                 ? ">= 0.4"
                                                        : ">= 0.6"};
    failed = failed ? print_failure(name) : measure(name, &work);
    decoder_end(&steps.state);
    mlx_clear_cache();
    return failed;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

/* The same part of every layer, so that no weight is in a cache when its turn comes. */
struct parts {
    struct decoder *decoder;
    const struct decoder_matrix *matrices; /* NULL: attention */
    int count, inputs;
    mlx_array x, caches[2 * MOST_LAYERS];
    mlx_closure function;
    mlx_vector_array in, out;
};

static int apply_parts(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct parts *p = payload;
    mlx_array x = mlx_array_new(), y[MOST_LAYERS], none = {NULL};
    int failed = mlx_vector_array_get(&x, in, 0);
    for (int i = 0; i < p->count; i++) y[i] = mlx_array_new();
    for (int i = 0; i < p->count && !failed; i++)
        failed = p->matrices ? decoder_multiply(p->decoder, &y[i], x, &p->matrices[i])
                             : mlx_fast_scaled_dot_product_attention(&y[i], x, p->caches[2 * i], p->caches[2 * i + 1],
                                                                     0.125f, "", none, none, false, stream);
    failed = failed || mlx_vector_array_set_data(res, y, (size_t)p->count);
    for (int i = 0; i < p->count; i++) mlx_array_free(y[i]);
    return mlx_array_free(x), failed;
}

static int call_parts(void *context)
{
    struct parts *p = context;
    return mlx_closure_apply(&p->out, p->function, p->in);
}

static int measure_parts(const char *name, struct parts *p, const int *dims, int ndim, double bytes)
{
    const mlx_dtype dtype = p->decoder->shape.dtype;
    p->x = mlx_array_new(), p->function = mlx_closure_new(), p->out = mlx_vector_array_new();
    int failed = mlx_ones(&p->x, dims, (size_t)ndim, dtype, stream) || mlx_array_eval(p->x) ||
                 kiln_compile(&p->function, "parts", apply_parts, p, NULL, false);
    p->in = mlx_vector_array_new_value(p->x);
    const struct work work = {call_parts, p, is_small ? 1 : 5, bytes * p->count, p->count};
    failed = failed ? print_failure(name) : measure(name, &work);
    mlx_array_free(p->x), mlx_closure_free(p->function), mlx_vector_array_free(p->in), mlx_vector_array_free(p->out);
    mlx_clear_cache();
    return failed;
}

static int measure_matrix(const char *name, struct decoder *d, const struct decoder_matrix *matrices, int count,
                          int inner, int outer)
{
    const double width =
        d->shape.bits ? d->shape.bits / 8.0 + 2.0 * 2 / DECODER_GROUP : (double)mlx_dtype_size(d->shape.dtype);
    struct parts parts = {.decoder = d, .matrices = matrices, .count = count};
    return measure_parts(name, &parts, (int[]){d->shape.batch, 1, inner}, 3, (double)inner * outer * width);
}

static int measure_attention(const char *name, struct decoder *d)
{
    const struct decoder_shape *s = &d->shape;
    const int cache[] = {s->batch, s->shared, s->capacity, s->head};
    struct parts parts = {.decoder = d, .count = s->layers};
    int failed = 0;
    for (int i = 0; i < 2 * s->layers; i++) {
        parts.caches[i] = mlx_array_new();
        failed = failed || mlx_ones(&parts.caches[i], cache, 4, s->dtype, stream) || mlx_array_eval(parts.caches[i]);
    }
    failed = failed
                 ? print_failure(name)
                 : measure_parts(name, &parts, (int[]){s->batch, s->heads, 1, s->head}, 4, cache_bytes(s) / s->layers);
    for (int i = 0; i < 2 * s->layers; i++) mlx_array_free(parts.caches[i]);
    return failed;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static struct decoder_shape shape_of(int bits, int batch)
{
    if (is_small) return (struct decoder_shape){2, 128, 4, 2, 32, 192, 256, batch, 45, bits, MLX_BFLOAT16};
    return (struct decoder_shape){16, 2048, 32, 8, 64, 8192, 128256, batch, LENGTH, bits, MLX_BFLOAT16};
}

static char name_text[80];

static const char *wanted(const char *part, const char *kind, const char *what)
{
    snprintf(name_text, sizeof name_text, "%s, %s", kind, what);
    return strstr(name_text, part) ? name_text : NULL;
}

/* The same weights with other batches: closures are of one decoder, which is told its batch before they are traced. */
static int measure_batches(struct decoder *d, const char *kind, const char *part)
{
    static const struct {
        int batch;
        const char *name;
    } batches[] = {{1, "decode"}, {8, "decode, batch of 8"}, {64, "decode, batch of 64"}};
    int failures = 0;
    for (size_t i = 0; i < (is_small ? 1 : sizeof batches / sizeof *batches); i++) {
        const char *name = wanted(part, kind, batches[i].name);
        d->shape.batch = batches[i].batch;
        if (name) failures += measure_steps(name, d, false);
    }
    d->shape.batch = 1;
    return failures;
}

static int measure_kind(const char *kind, int bits, const char *part)
{
    struct decoder *d = calloc(1, sizeof *d);
    const struct decoder_shape s = shape_of(bits, 1);
    const char *name;
    int failures = 0;
    if (decoder_init(d, &s, stream)) return print_failure(kind);
    failures += measure_batches(d, kind, part);
    if ((name = wanted(part, kind, "prefill of 512"))) failures += measure_steps(name, d, true);
    if ((name = wanted(part, kind, "qkv")))
        failures += measure_matrix(name, d, d->qkv, s.layers, s.width, (s.heads + 2 * s.shared) * s.head);
    if ((name = wanted(part, kind, "out"))) failures += measure_matrix(name, d, d->out, s.layers, s.width, s.width);
    if ((name = wanted(part, kind, "gate and up")))
        failures += measure_matrix(name, d, d->gate_up, s.layers, s.width, 2 * s.hidden);
    if ((name = wanted(part, kind, "down"))) failures += measure_matrix(name, d, d->down, s.layers, s.hidden, s.width);
    if ((name = wanted(part, kind, "head"))) failures += measure_matrix(name, d, &d->last, 1, s.width, s.vocabulary);
    if (!bits && (name = wanted(part, kind, "attention at 576 keys"))) failures += measure_attention(name, d);
    decoder_release(d);
    free(d);
    return failures;
}

int main(int argc, char **argv)
{
    bool is_available = false;
    mlx_set_error_handler(on_error, NULL, NULL);
    mlx_cuda_is_available(&is_available);
    if (!is_available) {
        fprintf(stderr, "decode: there is no GPU\n");
        return 77;
    }
    is_small = argc > 1 && strcmp(argv[1], "--few") == 0;
    const char *part = argc > 1 + is_small ? argv[1 + is_small] : "";
    stream = mlx_default_gpu_stream_new();
    if (measure_copy()) fprintf(stderr, "decode: copies can't be measured, so there are no floors\n");
    int failures = measure_kind("bfloat16", 0, part) + measure_kind("4 bits", 4, part);
    mlx_stream_free(stream);
    return failures ? 1 : 0;
}
