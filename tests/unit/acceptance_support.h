/*
 * acceptance_support.h - what the tests of the acceptance list of compile share. Lines of the list that other tests
 * hold (test_mlxc_compile*.c, test_mlxc_closure.c, test_run_compiled_*.c, test_trace_*.c) are not in these again.
 */
#ifndef KILN_TESTS_ACCEPTANCE_SUPPORT_H
#define KILN_TESTS_ACCEPTANCE_SUPPORT_H

#include "kiln.h"
#include "support/bodies.h"

/* Plainly and compiled, twice: bit for bit. The inputs are freed. */
static inline void both_ways(array_function *body, const void *context, mlx_array *in, int count, int outputs,
                             const char *what)
{
    struct numbers got[MAX_OUTPUTS];
    run_both_ways(body, context, in, count, got, outputs, 2, what);
    for (int i = 0; i < outputs; i++) numbers_free(&got[i]);
    for (int i = 0; i < count; i++) mlx_array_free(in[i]);
}
#define both_ways(...) CHECK_CALL(both_ways, __VA_ARGS__)

#define BOTH_WAYS(body, outputs, ...)                                                                                  \
    both_ways((body), NULL, (mlx_array[]){__VA_ARGS__}, (int)(sizeof((mlx_array[]){__VA_ARGS__}) / sizeof(mlx_array)), \
              (outputs), #body)

static inline void expect_values(mlx_array array, const float *values, int count)
{
    struct numbers got = read_array(array);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++)
        if (!same_float(to_double(get(&got, i)), (double)values[i]))
            CHECK_FAIL("element %d is %g, expected %g", i, to_double(get(&got, i)), (double)values[i]);
    numbers_free(&got);
}
#define expect_values(...) CHECK_CALL(expect_values, __VA_ARGS__)

/* One output of a compiled function; the caller's. */
static inline mlx_array call(mlx_closure fun, const mlx_array *in, int count)
{
    mlx_array res;
    apply_compiled(fun, in, count, &res, 1, "a call");
    return res;
}
#define call(...) CHECK_CALL(call, __VA_ARGS__)

static inline void expect_call(mlx_closure fun, const mlx_array *in, int count, const float *values, int size)
{
    mlx_array res = call(fun, in, count);
    expect_values(res, values, size);
    mlx_array_free(res);
}
#define expect_call(...) CHECK_CALL(expect_call, __VA_ARGS__)

static inline void free_all(mlx_array *arrays, int count)
{
    for (int i = 0; i < count; i++) mlx_array_free(arrays[i]);
}

static inline uint64_t compiles(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now.compiles + now.disk_hits;
}

/* ---- functions that several of them compile ------------------------------------------------------------------ */

struct captured {
    mlx_array arrays[3];
};

__attribute__((unused)) BODY(inner_and_final)
{
    UNUSED;
    mlx_array inner = b(mlx_multiply, in[0], number(2));
    give(&out[1], b(mlx_add, inner, number(1)));
    give(&out[0], inner);
    return done();
}

static inline void divmod(mlx_array a, mlx_array c, mlx_array both[2])
{
    mlx_vector_array res = mlx_vector_array_new();
    if (mlx_divmod(&res, a, c, stream)) made_code = 1;
    for (size_t i = 0; i < 2; i++) mlx_vector_array_get(&both[i], res, i);
    mlx_vector_array_free(res);
}

/* 68: four results of two equal calls, stacked in order. */
__attribute__((unused)) BODY(divmod_stacked)
{
    mlx_array all[4] = {mlx_array_new(), mlx_array_new(), mlx_array_new(), mlx_array_new()};
    UNUSED;
    divmod(in[0], in[1], all), divmod(in[0], in[1], all + 2);
    mlx_vector_array parts = mlx_vector_array_new_data(all, 4);
    if (mlx_stack(out, parts, stream)) made_code = 1;
    mlx_vector_array_free(parts);
    free_all(all, 4);
    return done();
}

__attribute__((unused)) BODY(minus_times)
{
    UNUSED;
    give(out, b(mlx_multiply, b(mlx_subtract, in[0], in[1]), in[0]));
    return done();
}

#endif
