/*
 * demo_work.c - see demo_work.h. Uses the array interface as any client would; the only thing asked of kiln.h is the
 * counters of the default cache, which the array engine compiles through.
 */
#include "demo_work.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mlx/c/mlx.h"

const char *const demo_function_names[DEMO_FUNCTIONS] = {"(a*b)*(a+b)", "swiglu", "gelu"};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

void demo_row_print(FILE *out, const struct demo_row *row)
{
    kiln_counters counters = row->counters;
    fprintf(out, "%s %d", row->name, row->is_right);
    for (int i = 0; i < DEMO_FUNCTIONS; i++) fprintf(out, " %" PRIu64, row->call_ns[i]);
    for (const struct counter *at = kiln_counter_list; at->name; at++)
        fprintf(out, " %" PRIu64, *counter_in(at, &counters));
    fputs("\n", out);
}

static bool take_number(const char **at, uint64_t *value)
{
    char *end;
    *value = strtoull(*at, &end, 10);
    bool is_number = end != *at;
    *at = end;
    return is_number;
}

bool demo_row_parse(const char *line, struct demo_row *row)
{
    uint64_t is_right;
    size_t length = strcspn(line, " ");
    if (length >= sizeof row->name) return false;
    *row = (struct demo_row){0};
    memcpy(row->name, line, length);
    const char *at = line + length;
    if (!take_number(&at, &is_right)) return false;
    row->is_right = is_right == 1;
    for (int i = 0; i < DEMO_FUNCTIONS; i++)
        if (!take_number(&at, &row->call_ns[i])) return false;
    for (const struct counter *counter = kiln_counter_list; counter->name; counter++)
        if (!take_number(&at, counter_in(counter, &row->counters))) return false;
    return *at == '\n' || *at == '\0';
}

/* ---- the functions, as callbacks and as scalar C ------------------------------------------------------------- */

static mlx_stream stream;

static int product_and_sum(mlx_array *res, mlx_array a, mlx_array b)
{
    mlx_array product = mlx_array_new(), sum = mlx_array_new();
    int failed =
        mlx_multiply(&product, a, b, stream) || mlx_add(&sum, a, b, stream) || mlx_multiply(res, product, sum, stream);
    mlx_array_free(product);
    mlx_array_free(sum);
    return failed;
}

static int swiglu(mlx_array *res, mlx_array x, mlx_array y)
{
    mlx_array gate = mlx_array_new();
    int failed =
        mlx_sigmoid(&gate, x, stream) || mlx_multiply(&gate, x, gate, stream) || mlx_multiply(res, gate, y, stream);
    mlx_array_free(gate);
    return failed;
}

static int gelu(mlx_array *res, mlx_array x, mlx_array unused)
{
    (void)unused;
    mlx_array root = mlx_array_new_float(sqrtf(0.5f)), one = mlx_array_new_float(1), half = mlx_array_new_float(0.5f);
    mlx_array inner = mlx_array_new();
    int failed = mlx_multiply(&inner, x, root, stream) || mlx_erf(&inner, inner, stream) ||
                 mlx_add(&inner, one, inner, stream) || mlx_multiply(&inner, x, inner, stream) ||
                 mlx_multiply(res, half, inner, stream);
    mlx_array_free(root);
    mlx_array_free(one);
    mlx_array_free(half);
    mlx_array_free(inner);
    return failed;
}

static float product_and_sum_scalar(float a, float b)
{
    return (a * b) * (a + b);
}

static float swiglu_scalar(float x, float y)
{
    return x / (1 + expf(-x)) * y;
}

static float gelu_scalar(float x, float unused)
{
    (void)unused;
    return 0.5f * (x * (1 + erff(x * sqrtf(0.5f))));
}

static const struct function {
    int (*traced)(mlx_array *res, mlx_array a, mlx_array b);
    float (*scalar)(float a, float b);
} functions[DEMO_FUNCTIONS] = {
    {product_and_sum, product_and_sum_scalar},
    {swiglu, swiglu_scalar},
    {gelu, gelu_scalar},
};

static int callback(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct function *function = payload;
    mlx_array a = mlx_array_new(), b = mlx_array_new(), out = mlx_array_new();
    int failed = mlx_vector_array_get(&a, in, 0) || mlx_vector_array_get(&b, in, 1) || function->traced(&out, a, b) ||
                 mlx_vector_array_set_value(res, out);
    mlx_array_free(a);
    mlx_array_free(b);
    mlx_array_free(out);
    return failed;
}

/* ---- the work ------------------------------------------------------------------------------------------------ */

struct work {
    mlx_closure compiled[DEMO_FUNCTIONS];
    mlx_vector_array inputs;
    float a[DEMO_LENGTH], b[DEMO_LENGTH];
};

static bool is_close(float got, float expected)
{
    return fabsf(got - expected) <= 1e-5f * (1 + fabsf(expected));
}

/* One call with its result; false when it failed or, with `check`, when a value is wrong. */
static bool call(struct work *work, int index, bool check)
{
    mlx_vector_array outputs = mlx_vector_array_new();
    mlx_array result = mlx_array_new();
    const float *values = NULL;
    if (mlx_closure_apply(&outputs, work->compiled[index], work->inputs) == 0 &&
        mlx_vector_array_get(&result, outputs, 0) == 0 && mlx_array_eval(result) == 0)
        values = mlx_array_data_float32(result);
    bool is_right = values;
    for (int i = 0; is_right && check && i < DEMO_LENGTH; i++)
        is_right = is_close(values[i], functions[index].scalar(work->a[i], work->b[i]));
    mlx_array_free(result);
    mlx_vector_array_free(outputs);
    return is_right;
}

static void start_row(struct demo_row *row, const char *name, kiln_counters *before)
{
    *row = (struct demo_row){.is_right = true};
    snprintf(row->name, sizeof row->name, "%s", name);
    kiln_cache_counters(kiln_cache_default(), before);
}

static void end_row(struct demo_row *row, kiln_counters *before)
{
    kiln_cache_counters(kiln_cache_default(), &row->counters);
    for (const struct counter *at = kiln_counter_list; at->name; at++)
        *counter_in(at, &row->counters) -= *counter_in(at, before);
    demo_row_print(stdout, row);
}

static void run_first(struct work *work)
{
    struct demo_row row;
    kiln_counters before;
    start_row(&row, "first", &before);
    for (int i = 0; i < DEMO_FUNCTIONS; i++) {
        uint64_t start = now_ns();
        row.is_right &= call(work, i, false);
        row.call_ns[i] = now_ns() - start;
    }
    for (int i = 0; i < DEMO_FUNCTIONS; i++) row.is_right &= call(work, i, true);
    end_row(&row, &before);
}

static bool repeat(struct work *work, uint64_t call_ns[DEMO_FUNCTIONS])
{
    bool is_right = true;
    for (int i = 0; i < DEMO_FUNCTIONS; i++) {
        uint64_t start = now_ns();
        for (int k = 0; k < DEMO_REPEATS; k++) is_right &= call(work, i, false);
        call_ns[i] = (now_ns() - start) / DEMO_REPEATS;
        is_right &= call(work, i, true);
    }
    return is_right;
}

static void run_warm(struct work *work)
{
    struct demo_row row;
    kiln_counters before;
    start_row(&row, "warm", &before);
    row.is_right = repeat(work, row.call_ns);
    end_row(&row, &before);
}

struct thread_work {
    struct work *work;
    uint64_t call_ns[DEMO_FUNCTIONS];
    bool is_right;
};

static void *thread_main(void *argument)
{
    struct thread_work *mine = argument;
    mine->is_right = repeat(mine->work, mine->call_ns);
    return NULL;
}

static void run_threads(struct work *work)
{
    struct demo_row row;
    kiln_counters before;
    struct thread_work mine[2] = {{.work = work}, {.work = work}};
    pthread_t threads[2];
    start_row(&row, "threads", &before);
    int started = 0;
    while (started < 2 && pthread_create(&threads[started], NULL, thread_main, &mine[started]) == 0) started++;
    row.is_right = started == 2;
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        row.is_right &= mine[i].is_right;
        for (int k = 0; k < DEMO_FUNCTIONS; k++) row.call_ns[k] += mine[i].call_ns[k] / 2;
    }
    end_row(&row, &before);
}

static void on_error(const char *text, void *data)
{
    (void)data;
    fprintf(stderr, "kiln demo: %s\n", text);
}

static bool prepare(struct work *work)
{
    const int shape[] = {DEMO_LENGTH};
    for (int i = 0; i < DEMO_LENGTH; i++) {
        work->a[i] = (float)(i % 257) / 64 - 2;
        work->b[i] = (float)(i % 127) / 32 - 2;
    }
    mlx_set_error_handler(on_error, NULL, NULL);
    stream = mlx_default_cpu_stream_new();
    const mlx_array arrays[] = {mlx_array_new_data(work->a, shape, 1, MLX_FLOAT32),
                                mlx_array_new_data(work->b, shape, 1, MLX_FLOAT32)};
    work->inputs = mlx_vector_array_new_data(arrays, 2);
    bool is_ready = work->inputs.ctx;
    for (int i = 0; i < DEMO_FUNCTIONS; i++) {
        mlx_closure plain = mlx_closure_new_func_payload(callback, (void *)&functions[i], NULL);
        work->compiled[i] = mlx_closure_new();
        is_ready &= mlx_compile(&work->compiled[i], plain, false) == 0;
        mlx_closure_free(plain);
    }
    mlx_array_free(arrays[0]);
    mlx_array_free(arrays[1]);
    return is_ready;
}

static void finish(struct work *work)
{
    for (int i = 0; i < DEMO_FUNCTIONS; i++) mlx_closure_free(work->compiled[i]);
    mlx_vector_array_free(work->inputs);
    mlx_stream_free(stream);
}

int run_demo_process(const struct command *command, int count, char **words)
{
    static struct work work;
    if (!prepare(&work)) return failure(command, "the functions could not be made");
    run_first(&work);
    if (count > 0 && strcmp(words[0], "all") == 0) {
        run_warm(&work);
        run_threads(&work);
    }
    finish(&work);
    return EXIT_FINE;
}
