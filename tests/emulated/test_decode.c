/*
 * test_decode.c - whole programs on a GPU: the decoder of bench/gpu with few numbers. A compiled step is one graph,
 * runs nothing on the CPU, and gives the tokens and caches of the same step that is not compiled, bit for bit.
 */
#include "../../bench/gpu/decoder.h"
#include "gpu_program.h"

static const struct decoder_shape with_floats = {2, 128, 4, 2, 32, 192, 300, 1, 24, 0, MLX_BFLOAT16};
static const struct decoder_shape with_codes = {2, 128, 4, 2, 32, 192, 256, 2, 24, 4, MLX_BFLOAT16};

/*
 * A layer's launches: 2 norms with the sums that they begin with, 4 products, the turns of queries and keys, 2 updates
 * of caches, attention, the activation. Around the layers: what a token stands for, angles, the mask, the last norm and
 * product, the token.
 */
enum { OF_A_LAYER = 11, AROUND = 12 };

static int plain_step(struct decoder *d, struct decoder_state *state)
{
    mlx_vector_array in = mlx_vector_array_new_data(state->arrays, state->count), res = mlx_vector_array_new();
    int failed = decoder_apply(&res, in, d) || mlx_eval(res);
    for (size_t i = 0; i < state->count && !failed; i++) failed = mlx_vector_array_get(&state->arrays[i], res, i);
    mlx_vector_array_free(in), mlx_vector_array_free(res);
    return failed;
}

static void expect_same(const struct decoder_state *a, const struct decoder_state *b)
{
    for (size_t i = 0; i < a->count; i++) {
        CHECK_CONTEXT("array %zu of the state", i);
        CHECK_EQ(mlx_array_eval(a->arrays[i]) || mlx_array_eval(b->arrays[i]), 0);
        size_t bytes = mlx_array_nbytes(a->arrays[i]);
        CHECK_MEM(mlx_array_data_uint8(a->arrays[i]), mlx_array_data_uint8(b->arrays[i]), bytes);
    }
}
#define expect_same(...) CHECK_CALL(expect_same, __VA_ARGS__)

static void check_decoder(const struct decoder_shape *shape)
{
    struct decoder *d = malloc(sizeof *d);
    struct decoder_state fast, slow;
    CHECK_EQ(decoder_init(d, shape, gpu), 0);
    CHECK_EQ(decoder_begin(d, &fast, 5, 0) || decoder_begin(d, &slow, 5, 0), 0);
    CHECK_EQ(decoder_go_on(&fast, d->prefill) || plain_step(d, &slow), 0);
    expect_same(&fast, &slow);
    for (int step = 0; step < 4; step++) {
        CHECK_CONTEXT("step %d", step);
        CHECK_EQ(plain_step(d, &slow), 0);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(decoder_go_on(&fast, d->step), 0);
        if (step == 0) CHECK_LE(gpu_counters().launches - before.launches, AROUND + shape->layers * OF_A_LAYER);
        expect_same(&fast, &slow);
    }
    for (int step = 0; step < 12; step++) {
        CHECK_CONTEXT("step %d of a loop", step);
        kiln_gpu_counters before = gpu_counters();
        CHECK_EQ(decoder_go_on(&fast, d->step), 0);
        kiln_gpu_counters after = gpu_counters();
        CHECK_EQ(after.host_operations, before.host_operations);
        if (step < 8) continue; /* then arrays lie where they did two steps ago */
        CHECK_EQ(after.replays - before.replays, 1);
        CHECK_EQ(after.launches, before.launches);
        CHECK_EQ(after.graph_updates, before.graph_updates);
    }
    decoder_end(&fast), decoder_end(&slow);
    decoder_release(d);
    free(d);
}
#define check_decoder(...) CHECK_CALL(check_decoder, __VA_ARGS__)

static void in_floats(void **state)
{
    (void)state;
    check_decoder(&with_floats);
}

static void in_codes(void **state)
{
    (void)state;
    check_decoder(&with_codes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(in_floats, set_up),
                                       cmocka_unit_test_setup(in_codes, set_up)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
