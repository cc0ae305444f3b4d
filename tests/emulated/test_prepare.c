/*
 * test_prepare.c - the kernels of a plan on a GPU are compiled and loaded before anything else of the call is done.
 */
#include "cache/cache.h"

#include "gpu_program.h"

static mlx_closure compile_chain(void)
{
    mlx_closure compiled = mlx_closure_new();
    assert_int_equal(kiln_compile_unary(&compiled, "chain", chain, NULL, NULL, false), 0);
    return compiled;
}

static void expect_nothing_done(const kiln_gpu_counters *before)
{
    kiln_gpu_counters now = gpu_counters();
    assert_int_equal(now.launches, before->launches);
    assert_int_equal(now.replays, before->replays);
    assert_int_equal(now.bytes_to_device, before->bytes_to_device);
}

/* Not even the input is copied, and the next call tries again. */
static void a_compile_error_comes_first(void **state)
{
    (void)state;
    mlx_closure compiled = compile_chain();
    mlx_array x = make_rows(20, 1), res = mlx_array_new();
    kiln_gpu_counters before = gpu_counters();
    kiln_cache_default()->mode = KILN_MODE_NO_COMPILE;
    assert_int_not_equal(kiln_call_unary(&res, compiled, x), 0);
    expect_error("KILN_MODE=no-compile");
    kiln_cache_default()->mode = KILN_MODE_NORMAL;
    expect_nothing_done(&before);
    assert_int_equal(kiln_call_unary(&res, compiled, x), 0);
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
