/*
 * warm.c - a warm call of a compiled function with its result. The floor is the same expression as a C function, called
 * through a pointer, into memory from malloc that is freed again.
 */
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "bench.h"

enum { CALLS = 2000, MAX_LENGTH = 1024, CHAIN_PAIRS = 25 };

struct by_hand {
    float a[MAX_LENGTH], b[MAX_LENGTH];
    int length;
    void (*loop)(float *out, const float *a, const float *b, int length);
    float last;
};

static void loop_multiply(float *restrict out, const float *restrict a, const float *restrict b, int length)
{
    for (int i = 0; i < length; i++) out[i] = a[i] * b[i];
}

static void loop_chain(float *restrict out, const float *restrict a, const float *restrict b, int length)
{
    for (int i = 0; i < length; i++) {
        float value = a[i];
        for (int k = 0; k < CHAIN_PAIRS; k++) value = value + b[i] - b[i];
        out[i] = value;
    }
}

static void call_by_hand(void *ctx)
{
    struct by_hand *work = ctx;
    float *out = malloc((size_t)work->length * sizeof *out);
    if (!out) return;
    work->loop(out, work->a, work->b, work->length);
    work->last = out[work->length - 1];
    free(out);
}

struct call {
    struct compiled compiled;
    int failures;
};

static void call_compiled(void *ctx)
{
    struct call *call = ctx;
    call->failures += !compiled_call(&call->compiled);
}

/* What is fast must also be right: the values are those of the loop by hand, bit for bit. */
static bool has_same_values(struct call *call, const struct by_hand *work)
{
    static float expected[MAX_LENGTH];
    const float *values = compiled_call(&call->compiled);
    work->loop(expected, work->a, work->b, work->length);
    return values && memcmp(values, expected, (size_t)work->length * sizeof *expected) == 0;
}

static struct row measure_warm(const char *name, const char *aim, enum expression expression, int length, int repeats)
{
    static struct by_hand work;
    struct row row = {.name = name, .floor_name = "C function, malloc and free", .aim = aim};
    struct call call = {.failures = 0};
    fill_inputs(work.a, work.b, length);
    work.length = length;
    work.loop = expression == EXPRESSION_CHAIN ? loop_chain : loop_multiply;
    row.is_missing =
        !compiled_init(&call.compiled, expression, work.a, work.b, length) || !has_same_values(&call, &work);
    if (!row.is_missing) {
        struct work works[] = {{call_compiled, &call, 0}, {call_by_hand, &work, 0}};
        measure(works, 2, CALLS, repeats);
        row.ns = works[0].ns;
        row.floor_ns = works[1].ns;
        row.is_missing = call.failures > 0;
    }
    compiled_release(&call.compiled);
    return row;
}

int bench_warm(struct row *rows, int repeats)
{
    static const struct {
        const char *name, *aim;
        enum expression expression;
        int length;
    } kinds[] = {{"warm call with result, 16 floats, 1 op", "0.4 us", EXPRESSION_MULTIPLY, 16},
                 {"warm call with result, 16 floats, 50 ops", "0.4 us", EXPRESSION_CHAIN, 16},
                 {"warm call with result, 1024 floats, 1 op", "1 us", EXPRESSION_MULTIPLY, MAX_LENGTH}};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_wanted(kinds[i].name))
            rows[count++] = measure_warm(kinds[i].name, kinds[i].aim, kinds[i].expression, kinds[i].length, repeats);
    return count;
}
