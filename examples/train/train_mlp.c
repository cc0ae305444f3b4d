/*
 * train_mlp.c - two layers of neurons and a linear one: which spiral is a point of?
 */
#include "train.h"

static int dense(mlx_array *x, mlx_array weight, mlx_array bias, mlx_stream stream)
{
    return mlx_matmul(x, *x, weight, stream) || mlx_add(x, *x, bias, stream);
}

static int run_loss(mlx_array *loss, const mlx_array *p, const mlx_array *batch, mlx_stream stream)
{
    mlx_array x = mlx_array_new();
    int failed = mlx_array_set(&x, batch[0]) || dense(&x, p[WEIGHT_1], p[BIAS_1], stream) || mlx_tanh(&x, x, stream) ||
                 dense(&x, p[WEIGHT_2], p[BIAS_2], stream) || mlx_tanh(&x, x, stream) ||
                 dense(&x, p[WEIGHT_3], p[BIAS_3], stream) || cross_entropy(loss, x, batch[1], stream);
    return mlx_array_free(x), failed;
}

static void make_batch(int step, mlx_array *batch)
{
    float points[POINTS][2];
    int labels[POINTS];
    (void)step;
    make_points(points, labels);
    batch[0] = mlx_array_new_data(points, (const int[]){POINTS, 2}, 2, MLX_FLOAT32);
    batch[1] = mlx_array_new_data(labels, (const int[]){POINTS, 1}, 2, MLX_INT32);
}

const struct model mlp = {"mlp", mlp_parameters, MLP_PARAMETERS, 2, MLP_RATE, run_loss, make_batch};
