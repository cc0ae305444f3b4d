/*
 * test_train.c - training on a GPU: steps of examples/train, forward and backward pass and update, run nothing on the
 * CPU, and their losses are those of the same steps there.
 */
#include <math.h>

#define DECODER_SIZES WORDS = 24, WIDTH = 32, HEADS = 2, HIDDEN = 48, BATCH = 2, LENGTH = 16
#define main          train_main

int train_main(int count, char **arguments);

/* clang-format off */
#include "../../examples/train/train_adam.c"
#include "../../examples/train/train_main.c"
#undef main
#define run_loss   decoder_loss
#define make_batch make_decoder_batch
#include "../../examples/train/train_decoder.c"
#undef run_loss
#undef make_batch
#define run_loss   mlp_loss
#define make_batch make_mlp_batch
#include "../../examples/train/train_mlp.c"
#include "gpu_program.h"
/* clang-format on */

enum { STEPS = 4 };

static void train(const struct model *model, mlx_stream stream, float losses[STEPS])
{
    struct training_state state;
    mlx_closure training = new_training_step(model, stream);
    begin(&state, model);
    for (int number = 1; number <= STEPS; number++)
        CHECK_EQ(step(model, training, &state, number, &losses[number - 1]), 0);
    for (int i = 0; i < state.count; i++) mlx_array_free(state.arrays[i]);
    mlx_closure_free(training);
}
#define train(...) CHECK_CALL(train, __VA_ARGS__)

static void check_training(const struct model *model)
{
    float there[STEPS], here[STEPS];
    train(model, cpu, here);
    kiln_gpu_counters before = gpu_counters();
    train(model, gpu, there);
    kiln_gpu_counters after = gpu_counters();
    CHECK_GE(after.launches - before.launches, 20);
    CHECK_EQ(after.host_operations, before.host_operations);
    for (int i = 0; i < STEPS; i++)
        if (!(fabsf(there[i] - here[i]) <= 1e-5f * fabsf(here[i])))
            CHECK_FAIL("loss %d of %s is %.9g, not %.9g", i, model->name, (double)there[i], (double)here[i]);
    CHECK_LE(there[STEPS - 1], there[0]);
}
#define check_training(...) CHECK_CALL(check_training, __VA_ARGS__)

static void of_a_perceptron(void **state)
{
    (void)state;
    check_training(&mlp);
}

static void of_a_transformer(void **state)
{
    (void)state;
    check_training(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(of_a_perceptron, set_up),
                                       cmocka_unit_test_setup(of_a_transformer, set_up)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
