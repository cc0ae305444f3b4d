/*
 * train_adam.c - one step of Adam as a function of arrays, which is compiled as a whole: the loss, its gradients, and
 * the next parameters.
 */
#include "train.h"

/* In and out of the step: all parameters, then m of each, then v of each. In: the rate and the batch behind them. Out:
 * the loss in front of them. */
struct training {
    const struct model *model;
    mlx_stream stream;
    mlx_closure_value_and_grad gradient;
};

static int read_all(mlx_array *arrays, mlx_vector_array from, size_t first, int count)
{
    int failed = 0;
    for (int i = 0; i < count; i++) {
        arrays[i] = mlx_array_new();
        failed = failed || mlx_vector_array_get(&arrays[i], from, first + (size_t)i);
    }
    return failed;
}

static void free_all(mlx_array *arrays, int count)
{
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
}

/* ---- the loss -----------------------------------------------------------------------------------------------------
 */

int cross_entropy(mlx_array *loss, mlx_array scores, mlx_array labels, mlx_stream stream)
{
    mlx_array total = mlx_array_new();
    int failed = mlx_logsumexp_axis(&total, scores, -1, true, stream) ||
                 mlx_take_along_axis(loss, scores, labels, -1, stream) || mlx_subtract(loss, total, *loss, stream) ||
                 mlx_mean(loss, *loss, false, stream);
    return mlx_array_free(total), failed;
}

/* Parameters, then the batch. */
static int run_loss(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct training *training = payload;
    const struct model *model = training->model;
    mlx_array all[MOST_PARAMETERS + BATCH_ARRAYS], loss = mlx_array_new();
    int count = model->parameter_count + model->batch_count;
    int failed = read_all(all, in, 0, count) ||
                 model->loss(&loss, all, all + model->parameter_count, training->stream) ||
                 mlx_vector_array_set_value(res, loss);
    free_all(all, count);
    mlx_array_free(loss);
    return failed;
}

/* ---- the update ---------------------------------------------------------------------------------------------------
 */

/* *mean = beta * *mean + (1 - beta) * value */
static int follow(mlx_array *mean, mlx_array value, double beta, mlx_stream stream)
{
    mlx_array old = mlx_array_new_float((float)beta), new = mlx_array_new_float((float)(1 - beta));
    int failed = mlx_multiply(mean, *mean, old, stream) || mlx_multiply(&new, value, new, stream) ||
                 mlx_add(mean, *mean, new, stream);
    return mlx_array_free(old), mlx_array_free(new), failed;
}

static int update(mlx_array *parameter, mlx_array *m, mlx_array *v, mlx_array gradient, mlx_array rate,
                  mlx_stream stream)
{
    mlx_array square = mlx_array_new(), step = mlx_array_new(), epsilon = mlx_array_new_float((float)EPSILON);
    int failed = mlx_square(&square, gradient, stream) || follow(m, gradient, BETA_1, stream) ||
                 follow(v, square, BETA_2, stream) || mlx_sqrt(&step, *v, stream) ||
                 mlx_add(&step, step, epsilon, stream) || mlx_divide(&step, *m, step, stream) ||
                 mlx_multiply(&step, step, rate, stream) || mlx_subtract(parameter, *parameter, step, stream);
    return mlx_array_free(square), mlx_array_free(step), mlx_array_free(epsilon), failed;
}

static int update_all(mlx_array *state, int count, const mlx_array *gradients, mlx_array rate, mlx_stream stream)
{
    int failed = 0;
    for (int i = 0; i < count && !failed; i++)
        failed = update(&state[i], &state[count + i], &state[2 * count + i], gradients[i], rate, stream);
    return failed;
}

static int differentiate(const struct training *training, const mlx_array *parameters, const mlx_array *batch,
                         mlx_vector_array *loss, mlx_vector_array *gradients)
{
    mlx_vector_array in = mlx_vector_array_new_data(parameters, (size_t)training->model->parameter_count);
    int failed = mlx_vector_array_append_data(in, batch, (size_t)training->model->batch_count) ||
                 mlx_closure_value_and_grad_apply(loss, gradients, training->gradient, in);
    return mlx_vector_array_free(in), failed;
}

static int run_step(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const struct training *training = payload;
    int count = training->model->parameter_count, extra = 1 + training->model->batch_count;
    mlx_array state[3 * MOST_PARAMETERS], more[1 + BATCH_ARRAYS], gradients[MOST_PARAMETERS];
    mlx_vector_array loss = mlx_vector_array_new(), made = mlx_vector_array_new();
    int failed = read_all(state, in, 0, 3 * count);
    failed = read_all(more, in, 3 * (size_t)count, extra) || failed;
    failed = failed || differentiate(training, state, more + 1, &loss, &made);
    failed = read_all(gradients, made, 0, failed ? 0 : count) || failed;
    int read = failed ? 0 : count;
    failed = failed || update_all(state, count, gradients, more[0], training->stream);
    failed = failed || mlx_vector_array_append_data(loss, state, 3 * (size_t)count) || mlx_vector_array_set(res, loss);
    free_all(state, 3 * count);
    free_all(more, extra);
    free_all(gradients, read);
    return mlx_vector_array_free(loss), mlx_vector_array_free(made), failed;
}

/* ---- as one compiled function -------------------------------------------------------------------------------------
 */

static void free_training(void *payload)
{
    struct training *training = payload;
    mlx_closure_value_and_grad_free(training->gradient);
    free(training);
}

mlx_closure new_training_step(const struct model *model, mlx_stream stream)
{
    int numbers[MOST_PARAMETERS];
    struct training *training = malloc(sizeof *training);
    mlx_closure compiled = mlx_closure_new();
    if (!training) exit(2);
    *training = (struct training){model, stream, mlx_closure_value_and_grad_new()};
    for (int i = 0; i < model->parameter_count; i++) numbers[i] = i;
    mlx_closure loss = mlx_closure_new_func_payload(run_loss, training, NULL);
    mlx_closure step = mlx_closure_new_func_payload(run_step, training, free_training);
    if (mlx_value_and_grad(&training->gradient, loss, numbers, (size_t)model->parameter_count) ||
        mlx_compile(&compiled, step, false))
        exit(1);
    mlx_closure_free(loss);
    mlx_closure_free(step);
    return compiled;
}
