/*
 * train.h - training of a model by gradients: its loss is a function of parameters and a batch, and forward pass,
 * backward pass and update are one compiled function.
 */
#ifndef EXAMPLES_TRAIN_H
#define EXAMPLES_TRAIN_H

#include <stdio.h>
#include <stdlib.h>

#include "mlx/c/mlx.h"
#include "train_model.h"

enum { MOST_PARAMETERS = 32, BATCH_ARRAYS = 2 };

struct model {
    const char *name;
    const struct parameter *parameters;
    int parameter_count, batch_count;
    double rate;
    /* *loss = a scalar. Not 0: an operation failed. */
    int (*loss)(mlx_array *loss, const mlx_array *parameters, const mlx_array *batch, mlx_stream stream);
    void (*make_batch)(int step, mlx_array *batch);
};

extern const struct model mlp, decoder;

/* Loss and parameters after the step that takes `state`: parameters, m, v, the rate and the batch (adam.c). */
mlx_closure new_training_step(const struct model *model, mlx_stream stream);

/* The mean of -log(softmax(scores)[label]) over all rows. scores (rows, classes), labels (rows, 1) integers. */
int cross_entropy(mlx_array *loss, mlx_array scores, mlx_array labels, mlx_stream stream);

#endif
