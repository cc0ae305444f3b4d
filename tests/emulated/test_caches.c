/*
 * test_caches.c - a step of a model on a GPU: its launches are one graph whose params change with the caches, its
 * position may be made by the GPU, and an index out of range is told by what reads results next.
 */
#include "gpu_program.h"
#include "support/step_model.h"

/* The products of one head, without a library, so that all of it is kernels: inputs and outputs as of model_step(). */
static int kernel_step(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct model *model = payload;
    mlx_array x[4] = {{0}}, row = mlx_array_new(), scores = mlx_array_new(), out = mlx_array_new(),
              mask = mlx_array_new();
    const mlx_optional_float base = {10000, true};
    const int axis = 2;
    int code = 0;
    model->traces++;
    for (size_t i = 0; i < 4 && !code; i++) code = mlx_vector_array_get(&x[i], in, i);
    code = code || mlx_reshape(&row, x[0], (int[]){1, HEADS, 1, FEATURES}, 4, gpu) ||
           mlx_slice_update_dynamic(&x[3], x[3], row, x[1], &axis, 1, gpu) ||
           mlx_fast_rope_dynamic(&row, row, FEATURES, false, base, 1, x[1], (mlx_array){0}, gpu) ||
           mlx_slice_update_dynamic(&x[2], x[2], row, x[1], &axis, 1, gpu) || mlx_multiply(&scores, x[2], row, gpu) ||
           mlx_sum_axis(&scores, scores, 3, true, gpu) ||
           mlx_reshape(&mask, model->steps, (int[]){1, 1, LENGTH, 1}, 4, gpu) ||
           mlx_less_equal(&mask, mask, x[1], gpu) || mlx_multiply(&scores, scores, mask, gpu) ||
           mlx_multiply(&out, x[3], scores, gpu) || mlx_sum_axis(&out, out, 2, false, gpu) ||
           mlx_reshape(&out, out, hidden_shape, 2, gpu) ||
           mlx_vector_array_set_data(res, (mlx_array[]){out, x[2], x[3]}, 3);
    for (int i = 0; i < 4; i++) mlx_array_free(x[i]);
    mlx_array_free(row), mlx_array_free(scores), mlx_array_free(out), mlx_array_free(mask);
    return code;
}

struct run {
    struct model model;
    mlx_closure step;
    mlx_array keys, values, out;
};

static void run_init(struct run *run)
{
    model_init(&run->model, gpu);
    run->step = mlx_closure_new();
    CHECK_EQ(kiln_compile(&run->step, "step", kernel_step, &run->model, NULL, false), 0);
    run->keys = make_cache(0, gpu), run->values = make_cache(1, gpu), run->out = mlx_array_new();
}

static void run_free(struct run *run)
{
    model_free(&run->model);
    mlx_closure_free(run->step);
    mlx_array_free(run->keys), mlx_array_free(run->values), mlx_array_free(run->out);
}

/* One step at `at`, whose caches are donated. */
static void take_step(struct run *run, int position, mlx_array at)
{
    mlx_array x = make_hidden(position);
    mlx_vector_array res = mlx_vector_array_new();
    const mlx_array inputs[] = {x, at, run->keys, run->values};
    CHECK_EQ(kiln_call_donating(&res, run->step, inputs, 4, (bool[]){false, false, true, true}), 0);
    CHECK_EQ(mlx_vector_array_get(&run->out, res, 0) || mlx_vector_array_get(&run->keys, res, 1) ||
                 mlx_vector_array_get(&run->values, res, 2),
             0);
    mlx_array_free(x), mlx_vector_array_free(res);
}
#define take_step(...) CHECK_CALL(take_step, __VA_ARGS__)

/* What kernel_step() gives at the last position, in plain C. */
static void expect_run(struct run *run, int last)
{
    double keys[CACHE], values[CACHE], want[WIDTH] = {0};
    for (int i = 0; i < CACHE; i++) {
        int head = i / (LENGTH * FEATURES), at = i / FEATURES % LENGTH, k = i % FEATURES, half = FEATURES / 2;
        double angle = at * pow(10000, -(double)(k % half) / half);
        double a = (double)hidden_at(at, head * FEATURES + k % half),
               b = (double)hidden_at(at, head * FEATURES + k % half + half);
        double turned = k < half ? a * cos(angle) - b * sin(angle) : a * sin(angle) + b * cos(angle);
        keys[i] = at <= last ? turned : (double)cached_at(0, i);
        values[i] = at <= last ? (double)hidden_at(at, head * FEATURES + k) : (double)cached_at(1, i);
    }
    for (int head = 0; head < HEADS; head++)
        for (int at = 0; at <= last; at++) {
            const double *row = keys + (head * LENGTH + at) * FEATURES,
                         *newest = keys + (head * LENGTH + last) * FEATURES;
            double score = 0;
            for (int k = 0; k < FEATURES; k++) score += row[k] * newest[k];
            for (int k = 0; k < FEATURES; k++)
                want[head * FEATURES + k] += score * values[(head * LENGTH + at) * FEATURES + k];
        }
    expect_near(run->out, want, WIDTH, "out");
    expect_near(run->keys, keys, CACHE, "keys");
    expect_near(run->values, values, CACHE, "values");
}
#define expect_run(...) CHECK_CALL(expect_run, __VA_ARGS__)

static void a_step_is_one_graph(void **state)
{
    (void)state;
    struct run run;
    run_init(&run);
    kiln_gpu_counters before = {0};
    int64_t copied = bytes_copied();
    for (int position = 0; position < LENGTH; position++) {
        mlx_array at = mlx_array_new_int(position);
        if (position == 6) before = gpu_counters();
        take_step(&run, position, at);
        mlx_array_free(at);
    }
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.replays - before.replays, LENGTH - 6);
    CHECK_EQ(now.launches, before.launches);
    CHECK_EQ(now.graphs, before.graphs);
    CHECK_EQ(now.bytes_to_host, before.bytes_to_host); /* nobody waits */
    CHECK_EQ(now.host_operations, before.host_operations);
    CHECK_EQ(bytes_copied(), copied);
    CHECK_EQ(run.model.traces, 1);
    expect_run(&run, LENGTH - 1);
    run_free(&run);
}

/* Each position is the one before and 1, added by the GPU. */
static void the_gpu_makes_the_position(void **state)
{
    (void)state;
    struct run run;
    run_init(&run);
    mlx_array at = mlx_array_new_int(-1), one = mlx_array_new_int(1);
    kiln_gpu_counters before = {0};
    for (int position = 0; position < LENGTH; position++) {
        if (position == 6) before = gpu_counters();
        CHECK_EQ(mlx_add(&at, at, one, gpu) || mlx_array_eval(at), 0);
        take_step(&run, position, at);
    }
    CHECK_EQ(gpu_counters().replays - before.replays, LENGTH - 6);
    CHECK_EQ(gpu_counters().graphs, before.graphs);
    CHECK_EQ(gpu_counters().bytes_to_host, before.bytes_to_host);
    expect_run(&run, LENGTH - 1);
    CHECK_EQ(mlx_add(&at, at, one, gpu) || mlx_array_eval(at), 0); /* one too far */
    take_step(&run, 0, at);
    CHECK_EQ(mlx_array_eval(run.out), 1);
    expect_error("[slice_update_dynamic] Index 12 is out of range for an axis of size 12: expected -12 to 11.");
    mlx_array_free(at), mlx_array_free(one);
    run_free(&run);
}

/* From the host a position is checked before anything starts, and the caches are as they were. */
static void a_position_of_the_host_is_checked_first(void **state)
{
    (void)state;
    struct run run;
    run_init(&run);
    mlx_array at = mlx_array_new_int(0), bad = mlx_array_new_int(LENGTH), x = make_hidden(0);
    mlx_vector_array res = mlx_vector_array_new();
    take_step(&run, 0, at);
    const mlx_array inputs[] = {x, bad, run.keys, run.values};
    CHECK_EQ(kiln_call_donating(&res, run.step, inputs, 4, (bool[]){false, false, true, true}), 1);
    expect_error("[slice_update_dynamic] Index 12 is out of range");
    expect_run(&run, 0);
    mlx_array_free(at), mlx_array_free(bad), mlx_array_free(x), mlx_vector_array_free(res);
    run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_step_is_one_graph, set_up),
        cmocka_unit_test_setup(the_gpu_makes_the_position, set_up),
        cmocka_unit_test_setup(a_position_of_the_host_is_checked_first, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
