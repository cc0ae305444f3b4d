/*
 * trace_support.h - for tests of tracing and compiled functions: functions written as short C bodies.
 *
 * A body says what the function computes and returns how many outputs it wrote. What it makes is held by a list of this
 * thread's and released as a group when the callback returns, so bodies can nest operations freely.
 */
#ifndef KILN_TESTS_TRACE_SUPPORT_H
#define KILN_TESTS_TRACE_SUPPORT_H

#include <stdlib.h>

#include "run_support.h"
#include "trace/trace.h"

enum { MOST_OUTPUTS = 16 };

typedef size_t function_body(struct kiln_array *const *in, size_t count, struct kiln_array **out);

struct function {
    function_body *body;
    _Atomic int calls;
    bool fails;
};

static _Thread_local struct kiln_array **scratch;
static _Thread_local size_t scratch_count, scratch_cap;

static inline struct kiln_array *keep(struct kiln_array *array)
{
    if (scratch_count == scratch_cap) {
        scratch_cap = scratch_cap ? scratch_cap * 2 : 64;
        scratch = realloc(scratch, scratch_cap * sizeof *scratch);
    }
    return scratch[scratch_count++] = array;
}

static inline void drop_scratch(size_t down_to)
{
    while (scratch_count > down_to) kiln__array_unref(scratch[--scratch_count]);
    if (scratch_count) return;
    free(scratch);
    scratch = NULL;
    scratch_cap = 0;
}

#define U(op, a)    keep(unary(KILN_OP_##op, (a)))
#define B(op, a, b) keep(binary(KILN_OP_##op, (a), (b)))

static inline struct kiln_array *number(float value)
{
    return keep(from_data(&value, KILN_FLOAT32, 0, NULL));
}
#define number(...) CHECK_CALL(number, __VA_ARGS__)

static inline struct kiln_array *cast(struct kiln_array *a, enum kiln_dtype dtype)
{
    return keep(apply(KILN_OP_CAST, &a, 1, (int64_t[]){dtype}, 1));
}
#define cast(...) CHECK_CALL(cast, __VA_ARGS__)

/* A kiln_callback around a body. */
static inline kiln_status call_body(void *payload, struct kiln_array *const *inputs, size_t count,
                                    struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    struct function *function = payload;
    struct kiln_array *made[MOST_OUTPUTS];
    size_t start = scratch_count;
    atomic_fetch_add(&function->calls, 1);
    size_t made_count = function->body(inputs, count, made);
    kiln_status status = KILN_OK;
    if (function->fails) {
        status = kiln__fail(err, KILN_LOWER_FAILED, "the function says no");
    } else {
        *outputs = malloc((made_count + 1) * sizeof **outputs);
        *output_count = made_count;
        for (size_t i = 0; i < made_count; i++) (*outputs)[i] = made[i] ? kiln__array_ref(made[i]) : NULL;
    }
    drop_scratch(start);
    return status;
}

/* The tape of a body on float32 inputs of one shape. */
static inline struct kiln_tape *tape_of(function_body *body, size_t count, size_t ndim, const int *dims)
{
    struct function function = {.body = body};
    struct kiln_array *inputs[8];
    struct kiln_tape *tape = NULL;
    for (size_t i = 0; i < count; i++) inputs[i] = counting(1, ndim, dims);
    must_be(kiln__trace(call_body, &function, inputs, count, &tape, &err));
    CHECK_EQ(function.calls, 1);
    CHECK_FALSE(kiln__trace_running());
    unref_all(inputs, count);
    return tape;
}
#define tape_of(...) CHECK_CALL(tape_of, __VA_ARGS__)

static inline uint32_t count_live(const struct kiln_tape *tape, int kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->count; i++) count += tape->values[i].is_live && tape->values[i].kind == kind;
    return count;
}

static inline uint32_t count_op(const struct kiln_tape *tape, enum kiln_op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->count; i++) {
        const struct kiln_value *value = &tape->values[i];
        count += value->is_live && value->kind == KILN_VALUE_NODE && value->op == op;
    }
    return count;
}

#endif
