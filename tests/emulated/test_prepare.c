/*
 * test_prepare.c - the kernels of a plan on a GPU are compiled and loaded before anything else of the call is done.
 */
#include "cache/cache.h"

#include "gpu_program.h"

static mlx_closure compile_chain(void)
{
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(kiln_compile_unary(&compiled, "chain", chain, NULL, NULL, false), 0);
    return compiled;
}

static void expect_nothing_done(const kiln_gpu_counters *before)
{
    kiln_gpu_counters now = gpu_counters();
    CHECK_EQ(now.launches, before->launches);
    CHECK_EQ(now.replays, before->replays);
    CHECK_EQ(now.bytes_to_device, before->bytes_to_device);
}

/* Not even the input is copied, and the next call tries again. */
static void a_compile_error_comes_first(void **state)
{
    (void)state;
    mlx_closure compiled = compile_chain();
    mlx_array x = make_rows(20, 1), res = mlx_array_new();
    kiln_gpu_counters before = gpu_counters();
    kiln_cache_default()->mode = KILN_MODE_NO_COMPILE;
    CHECK_NE(kiln_call_unary(&res, compiled, x), 0);
    expect_error("KILN_MODE=no-compile");
    kiln_cache_default()->mode = KILN_MODE_NORMAL;
    expect_nothing_done(&before);
    CHECK_EQ(kiln_call_unary(&res, compiled, x), 0);
    expect_chain(res, 20, 1);
    mlx_array_free(x), mlx_array_free(res), mlx_closure_free(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compile_error_comes_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
