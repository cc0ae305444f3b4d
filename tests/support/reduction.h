/*
 * reduction.h - what every reduction has to give, in plain C and in the order of the contract: chunks of 1024, in each
 * of them 16 lanes, element i in lane i mod 16, combined in pairs; then the totals of the chunks in the same way.
 *
 * Shares no code with the library.
 */
#ifndef KILN_TESTS_SUPPORT_REDUCTION_H
#define KILN_TESTS_SUPPORT_REDUCTION_H

#include "support/scalar.h"

enum reduction_start { FROM_ZERO, FROM_ONE, FROM_LOWEST, FROM_HIGHEST };
enum reduction_result { SUMMED, AS_INPUT, TRUTH };
enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MIN, REDUCE_MAX, REDUCE_ALL, REDUCE_ANY, REDUCTIONS };
enum { REDUCTION_LANES = 16, REDUCTION_CHUNK = 1024 };

static const struct reduction_rule {
    const char *name;
    exact_function *combine;
    enum reduction_start start;
    enum reduction_result result;
} reduction_rules[REDUCTIONS] = {
    [REDUCE_SUM] = {"sum", exact_add, FROM_ZERO, SUMMED},
    [REDUCE_PROD] = {"prod", exact_multiply, FROM_ONE, SUMMED},
    [REDUCE_MIN] = {"min", exact_minimum, FROM_HIGHEST, AS_INPUT},
    [REDUCE_MAX] = {"max", exact_maximum, FROM_LOWEST, AS_INPUT},
    [REDUCE_ALL] = {"all", exact_and, FROM_ONE, TRUTH},
    [REDUCE_ANY] = {"any", exact_or, FROM_ZERO, TRUTH},
};

static inline mlx_dtype reduction_result(const struct reduction_rule *rule, mlx_dtype in)
{
    if (rule->result == TRUTH) return MLX_BOOL;
    if (rule->result == AS_INPUT || facts[in].size >= 4 || facts[in].kind == IS_FLOAT) return in;
    return facts[in].kind == IS_UNSIGNED ? MLX_UINT32 : MLX_INT32;
}

static inline mlx_dtype reduction_lane(mlx_dtype out)
{
    return out == MLX_FLOAT16 || out == MLX_BFLOAT16 ? MLX_FLOAT32 : out;
}

static inline struct scalar reduction_start(enum reduction_start start, mlx_dtype dtype)
{
    bool highest = start == FROM_HIGHEST;
    if (start == FROM_ZERO || start == FROM_ONE) return scalar_cast(make_bool(start == FROM_ONE), dtype);
    if (dtype == MLX_BOOL) return make_bool(highest);
    if (facts[dtype].kind == IS_UNSIGNED) return make_wrapped(highest ? UINT64_MAX : 0, dtype);
    if (facts[dtype].kind == IS_SIGNED) {
        uint64_t top = UINT64_C(1) << (8 * facts[dtype].size - 1);
        return make_wrapped(highest ? top - 1 : top, dtype);
    }
    if (dtype == MLX_FLOAT64) return make_double(highest ? INFINITY : -INFINITY);
    struct scalar x = make_float(highest ? INFINITY : -INFINITY, dtype);
    x.imaginary = x.f;
    return x;
}

static inline struct scalar reduce_chunk(const struct reduction_rule *rule, const struct scalar *list, int n,
                                         mlx_dtype lane)
{
    struct scalar lanes[REDUCTION_LANES];
    for (int k = 0; k < REDUCTION_LANES; k++) lanes[k] = reduction_start(rule->start, lane);
    for (int i = 0; i < n; i++) lanes[i % REDUCTION_LANES] = rule->combine(lanes[i % REDUCTION_LANES], list[i]);
    for (int half = REDUCTION_LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lanes[k] = rule->combine(lanes[k], lanes[k + half]);
    return lanes[0];
}

/* Elements are of the lanes' dtype. Level by level; totals replace elements that are done with. */
static inline struct scalar reduce_list(const struct reduction_rule *rule, struct scalar *list, int n, mlx_dtype lane)
{
    while (n > REDUCTION_CHUNK) {
        int chunks = (n + REDUCTION_CHUNK - 1) / REDUCTION_CHUNK;
        for (int c = 0; c < chunks; c++) {
            int left = n - c * REDUCTION_CHUNK;
            list[c] =
                reduce_chunk(rule, list + c * REDUCTION_CHUNK, left < REDUCTION_CHUNK ? left : REDUCTION_CHUNK, lane);
        }
        n = chunks;
    }
    return reduce_chunk(rule, list, n, lane);
}

#endif
