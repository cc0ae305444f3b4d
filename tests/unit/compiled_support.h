/*
 * compiled_support.h - what the tests of compiled functions share: calls, and what they count.
 */
#ifndef KILN_TESTS_COMPILED_SUPPORT_H
#define KILN_TESTS_COMPILED_SUPPORT_H

#include "trace_support.h"

#include "run/compiled.h"

static inline kiln_counters counters(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now;
}

/* What happened since `before`, of the counters that a compiled call moves. */
static inline void expect_since(const kiln_counters *before, uint64_t front_hits, uint64_t process_hits,
                                uint64_t traces)
{
    kiln_counters now = counters();
    CHECK_EQ(now.traces - before->traces, traces);
    CHECK_EQ(now.process_hits - before->process_hits, process_hits);
    CHECK_EQ(now.front_hits - before->front_hits, front_hits);
    CHECK_EQ(now.calls - before->calls, front_hits + process_hits + traces);
}
#define expect_since(...) CHECK_CALL(expect_since, __VA_ARGS__)

static inline size_t active_memory(void)
{
    struct kiln_memory memory;
    kiln__memory_get(&memory);
    return memory.active;
}

static inline struct kiln_compiled *compile(struct function *function, bool shapeless)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("test", call_body, function, NULL, shapeless, &compiled, &err));
    return compiled;
}

/* The only output, evaluated; the caller's. */
static inline struct kiln_array *call(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count)
{
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, inputs, count, &out, &err));
    CHECK_EQ(out.count, 1);
    struct kiln_array *array = kiln__array_ref(out.arrays[0]);
    kiln__output_list_release(&out);
    eval(array);
    return array;
}
#define call(...) CHECK_CALL(call, __VA_ARGS__)

static inline void expect_refused(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                  const char *part)
{
    struct kiln_output_list out;
    kiln_error err = {.text = ""};
    CHECK_NE(kiln__compiled_call(compiled, inputs, count, &out, &err), KILN_OK);
    CHECK_CONTAINS(err.text, part);
    CHECK_EQ(out.count, 0);
    kiln__output_list_release(&out); /* allowed, and nothing */
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static inline size_t twice_plus_one(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    out[0] = B(ADD, B(ADD, in[0], in[0]), number(1));
    return 1;
}

/* Calls it on a fresh array of this shape and checks 2x + 1. */
static inline void expect_twice_plus_one(struct kiln_compiled *compiled, size_t ndim, const int *dims)
{
    struct kiln_array *x = counting(3, ndim, dims), *got = call(compiled, &x, 1);
    CHECK_EQ(got->size, x->size);
    for (int64_t i = 0; i < x->size; i++) CHECK_NEAR(element_f32(got, i), 2 * (3 + (float)i) + 1, 0);
    kiln__array_unref(x);
    kiln__array_unref(got);
}
#define expect_twice_plus_one(...) CHECK_CALL(expect_twice_plus_one, __VA_ARGS__)

#endif
