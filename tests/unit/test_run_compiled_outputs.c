/*
 * test_run_compiled_outputs.c - what calls of compiled functions take and give: outputs, lazy inputs, storage taken
 * over.
 */
#include "compiled_support.h"

#include <pthread.h>

/* ---- outputs -------------------------------------------------------------------------------------------------- */

static size_t ten_outputs(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    for (int i = 0; i < 10; i++) out[i] = B(ADD, in[0], number((float)i));
    return 10;
}

static size_t no_outputs(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)in, (void)count, (void)out;
    return 0;
}

static void test_many_outputs_and_none(void **state)
{
    (void)state;
    struct function ten = {.body = ten_outputs}, none = {.body = no_outputs};
    struct kiln_compiled *many = compile(&ten, false), *empty = compile(&none, false);
    struct kiln_array *x = counting(0, SHAPE(3)), *lazy = unary(KILN_OP_ABS, x);
    struct kiln_output_list out;
    for (int i = 0; i < 2; i++) {
        must_be(kiln__compiled_call(many, &x, 1, &out, &err));
        CHECK_EQ(out.count, 10);
        for (int k = 0; k < 10; k++) CHECK_NEAR(element_f32(out.arrays[k], 1), 1 + (float)k, 0);
        kiln__output_list_release(&out);
        must_be(kiln__compiled_call(empty, i ? &lazy : &x, 1, &out, &err));
        CHECK_EQ(out.count, 0);
        kiln__output_list_release(&out);
    }
    kiln__array_unref(lazy);
    kiln__array_unref(x);
    kiln__compiled_unref(many);
    kiln__compiled_unref(empty);
}

/* ---- lazy inputs ---------------------------------------------------------------------------------------------- */

static void *eval_on_thread(void *array)
{
    eval(array);
    return NULL;
}

static void test_lazy_inputs_stay_lazy(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *base = counting(0, SHAPE(100)), *lazy = unary(KILN_OP_NEGATIVE, base);
    struct kiln_output_list first, second;
    size_t memory = active_memory();
    must_be(kiln__compiled_call(compiled, &lazy, 1, &first, &err));
    must_be(kiln__compiled_call(compiled, first.arrays, 1, &second, &err)); /* on a lazy output */
    CHECK_FALSE(kiln__array_is_ready(lazy));
    CHECK_FALSE(kiln__array_is_ready(first.arrays[0]));
    CHECK_EQ(active_memory(), memory);
    CHECK_EQ(function.calls, 1);
    struct kiln_array *got = kiln__array_ref(second.arrays[0]);
    kiln__output_list_release(&first);
    kiln__output_list_release(&second);
    kiln__array_unref(lazy);
    kiln__array_unref(base);
    kiln__compiled_unref(compiled); /* the function may be gone before its results are made */
    pthread_t thread;
    pthread_create(&thread, NULL, eval_on_thread, got);
    pthread_join(thread, NULL);
    CHECK_NEAR(element_f32(got, 99), 4 * -99.0f + 3, 0);
    kiln__array_unref(got);
}

static void test_large_calls_are_lazy(void **state)
{
    (void)state;
    struct function function = {.body = twice_plus_one};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *x = counting(0, SHAPE(KILN_RUN_AT_ONCE / 2 + 1)),
                      *big = counting(0, SHAPE(KILN_RUN_AT_ONCE + 1));
    struct kiln_output_list out;
    must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
    CHECK_TRUE(kiln__array_is_ready(out.arrays[0]));
    kiln__output_list_release(&out);
    must_be(kiln__compiled_call(compiled, &big, 1, &out, &err));
    CHECK_FALSE(kiln__array_is_ready(out.arrays[0]));
    must_be(kiln__eval_async(out.arrays, 1, &err));
    kiln__output_list_release(&out); /* at once, as clients do */
    kiln__eval_synchronize();
    kiln__array_unref(x);
    kiln__array_unref(big);
    kiln__compiled_unref(compiled);
}

/* Rows of 64: an output of the first pass over a row, outputs of a later pass, and the input read again there. */
static size_t rows_in_passes(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *squares = U(SQUARE, in[0]), *total = keep(sum_axis(squares, 1, true));
    out[0] = squares;
    out[1] = B(DIVIDE, squares, total);
    out[2] = B(SUBTRACT, in[0], total);
    out[3] = B(ADD, out[1], in[0]);
    return 4;
}

/* The input is the call's own and may lend its storage to an output: no pass may then find it overwritten. */
static void test_storage_of_an_input_is_taken_after_its_last_use(void **state)
{
    (void)state;
    struct function function = {.body = rows_in_passes};
    for (int columns = 8; columns <= 4096; columns *= 8) {
        struct kiln_compiled *compiled = compile(&function, false);
        struct kiln_array *base = counting(1, SHAPE(3, columns)), *x = unary(KILN_OP_NEGATIVE, base), *plain[4];
        struct kiln_array *lazy = unary(KILN_OP_NEGATIVE, base);
        struct kiln_output_list out;
        must_be(kiln__compiled_call(compiled, &lazy, 1, &out, &err));
        kiln__array_unref(lazy);
        eval(out.arrays[0]);
        size_t start = scratch_count;
        rows_in_passes(&x, 1, plain);
        for (int i = 0; i < 4; i++) {
            eval(plain[i]);
            CHECK_MEM(out.arrays[i]->data, plain[i]->data, (size_t)plain[i]->size * 4);
        }
        drop_scratch(start);
        kiln__output_list_release(&out);
        kiln__array_unref(x);
        kiln__array_unref(base);
        kiln__compiled_unref(compiled);
    }
}

/* Outputs that are freed while another thread makes them ready, one after the other: we begin at the other end. */
static void test_outputs_freed_during_evaluation(void **state)
{
    (void)state;
    struct function function = {.body = ten_outputs};
    struct kiln_compiled *compiled = compile(&function, false);
    struct kiln_array *base = counting(0, SHAPE(16));
    size_t memory = active_memory();
    for (int i = 0; i < 3000; i++) {
        struct kiln_array *lazy = unary(KILN_OP_ABS, base);
        struct kiln_output_list out;
        must_be(kiln__compiled_call(compiled, &lazy, 1, &out, &err));
        CHECK_FALSE(kiln__array_is_ready(out.arrays[0]));
        must_be(kiln__eval_async(out.arrays, 1, &err));
        if (i % 3) /* at times, before it begins */
            while (!kiln__array_is_ready(out.arrays[0])) sched_yield();
        while (out.count > 0) kiln__array_unref(out.arrays[--out.count]);
        kiln__output_list_release(&out);
        kiln__array_unref(lazy);
    }
    kiln__eval_synchronize();
    CHECK_EQ(active_memory(), memory);
    kiln__array_unref(base);
    kiln__compiled_unref(compiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_outputs_and_none),
        cmocka_unit_test(test_lazy_inputs_stay_lazy),
        cmocka_unit_test(test_large_calls_are_lazy),
        cmocka_unit_test(test_storage_of_an_input_is_taken_after_its_last_use),
        cmocka_unit_test(test_outputs_freed_during_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
