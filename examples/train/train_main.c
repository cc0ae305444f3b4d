/*
 * train_main.c - train MODEL [STEPS [--times]]: trains "mlp" or "decoder" from the same first values in every run, and
 * prints the loss of each step; or one line with the seconds of the first step, the median milliseconds of the others
 * and the last loss.
 */
#include <string.h>
#include <time.h>

#include "kiln.h"
#include "train.h"

struct training_state {
    mlx_array arrays[3 * MOST_PARAMETERS];
    int count;
};

static mlx_array first_array(const struct parameter *parameter, uint32_t seed, int is_zero)
{
    float *values = calloc((size_t)parameter_size(parameter), sizeof *values);
    if (!values) exit(2);
    if (!is_zero) first_values(parameter, seed, values);
    mlx_array made = mlx_array_new_data(values, parameter->dims, parameter->ndim, MLX_FLOAT32);
    free(values);
    return made;
}

static void begin(struct training_state *state, const struct model *model)
{
    int count = model->parameter_count;
    state->count = 3 * count;
    for (int i = 0; i < state->count; i++)
        state->arrays[i] = first_array(&model->parameters[i % count], (uint32_t)i, i >= count);
}

/* *loss = that before the step. */
static int step(const struct model *model, mlx_closure training, struct training_state *state, int number, float *loss)
{
    mlx_array more[1 + BATCH_ARRAYS] = {mlx_array_new_float((float)adam_rate(model->rate, number))};
    mlx_array first = mlx_array_new();
    model->make_batch(number, more + 1);
    mlx_vector_array in = mlx_vector_array_new_data(state->arrays, (size_t)state->count), out = mlx_vector_array_new();
    int failed =
        mlx_vector_array_append_data(in, more, 1 + (size_t)model->batch_count) || mlx_closure_apply(&out, training, in);
    mlx_vector_array_free(in);
    for (int i = 0; i < state->count && !failed; i++)
        failed = mlx_vector_array_get(&state->arrays[i], out, 1 + (size_t)i);
    failed = failed || mlx_vector_array_get(&first, out, 0) || mlx_eval(out) || mlx_array_item_float32(loss, first);
    for (int i = 0; i <= model->batch_count; i++) mlx_array_free(more[i]);
    return mlx_array_free(first), mlx_vector_array_free(out), failed;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(double *seconds, int steps, float loss)
{
    double first = seconds[0];
    qsort(seconds + 1, (size_t)steps - 1, sizeof *seconds, ascending);
    printf("%.6f %.4f %.9g\n", first, steps > 1 ? seconds[1 + (steps - 1) / 2] * 1e3 : 0, (double)loss);
}

int main(int argc, char **argv)
{
    const struct model *model = argc > 1 && !strcmp(argv[1], "mlp") ? &mlp : &decoder;
    int steps = argc > 2 ? atoi(argv[2]) : 50, failed = 0;
    bool has_times = argc > 3 && !strcmp(argv[3], "--times");
    struct training_state state;
    if (argc < 2 || strcmp(argv[1], model->name) != 0 || steps < 1) {
        fprintf(stderr, "usage: train mlp|decoder [STEPS [--times]]\n");
        return 2;
    }
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_closure training = new_training_step(model, stream);
    begin(&state, model);
    double *seconds = calloc((size_t)steps, sizeof *seconds);
    float loss = 0;
    if (!seconds) exit(2);
    for (int number = 1; number <= steps && !failed; number++) {
        double start = now();
        failed = step(model, training, &state, number, &loss);
        seconds[number - 1] = now() - start;
        if (!failed && !has_times) printf("%d %.9g\n", number, (double)loss);
        if (!failed && number == 1 && getenv("KILN_STATS")) failed = kiln_stats_write() != KILN_OK;
    }
    if (!failed && has_times) print_times(seconds, steps, loss);
    free(seconds);
    for (int i = 0; i < state.count; i++) mlx_array_free(state.arrays[i]);
    mlx_closure_free(training);
    mlx_stream_free(stream);
    return failed;
}
