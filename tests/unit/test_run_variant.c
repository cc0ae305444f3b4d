/*
 * test_run_variant.c - plans refer to the kernels they run: those stay linked, and kernels of plans that are gone are
 * unlinked under the cache's bound.
 */
#include "trace_support.h"

#include "cache/cache.h"
#include "run/compiled.h"

static unsigned length; /* of the chain that the next function traces; another length is another kernel */

static size_t chain(struct kiln_array *const *in, size_t count, struct kiln_array **out)
{
    (void)count;
    struct kiln_array *sum = B(ADD, in[0], in[0]);
    for (unsigned i = 0; i < length; i++) sum = B(MULTIPLY, B(ADD, sum, in[0]), in[0]);
    out[0] = sum;
    return 1;
}

static struct kiln_compiled *compile(struct function *function)
{
    struct kiln_compiled *compiled = NULL;
    must_be(kiln__compiled_new("chain", call_body, function, NULL, false, &compiled, &err));
    return compiled;
}

/* With all ones: 2, 3, 4, ... */
static void run(struct kiln_compiled *compiled, unsigned of_length)
{
    float ones[3] = {1, 1, 1};
    struct kiln_array *x = from_data(ones, KILN_FLOAT32, SHAPE(3));
    struct kiln_output_list out;
    length = of_length;
    must_be(kiln__compiled_call(compiled, &x, 1, &out, &err));
    eval(out.arrays[0]);
    for (int i = 0; i < 3; i++) CHECK_NEAR(element_f32(out.arrays[0], i), 2 + (float)of_length, 0);
    kiln__output_list_release(&out);
    kiln__array_unref(x);
}
#define run(...) CHECK_CALL(run, __VA_ARGS__)

static kiln_counters counters(void)
{
    kiln_counters now;
    kiln_cache_counters(kiln_cache_default(), &now);
    return now;
}

enum { KEPT = 5, GONE = 20 };

static void kernels_of_plans_that_are_gone_are_unlinked(void **state)
{
    (void)state;
    struct function function = {.body = chain};
    struct kiln_compiled *kept[KEPT];
    kiln_cache_default()->max_linked_bytes = 1;
    kiln_counters before = counters();
    for (unsigned i = 0; i < KEPT; i++) run(kept[i] = compile(&function), i);
    for (unsigned i = 0; i < GONE; i++) {
        struct kiln_compiled *compiled = compile(&function);
        run(compiled, KEPT + i);
        kiln__compiled_unref(compiled);
        CHECK_LE(counters().linked_images, before.linked_images + KEPT + 2);
    }
    kiln_counters now = counters();
    CHECK_EQ(now.links - before.links, KEPT + GONE);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < KEPT; i++) run(kept[i], i);
    CHECK_EQ(counters().links, now.links); /* what is referred to was not touched */
    for (unsigned i = 0; i < KEPT; i++) kiln__compiled_unref(kept[i]);
    struct kiln_compiled *last = compile(&function);
    run(last, KEPT + GONE); /* sweeps */
    kiln__compiled_unref(last);
    CHECK_LE(counters().linked_images, before.linked_images + 1);
}

/* Under the bound they wait to be asked for again. */
static void unused_kernels_are_found_again(void **state)
{
    (void)state;
    struct function function = {.body = chain};
    kiln_cache_default()->max_linked_bytes = 64 << 20;
    kiln_counters before = counters();
    for (unsigned i = 0; i < 4; i++) {
        struct kiln_compiled *compiled = compile(&function);
        run(compiled, 100);
        kiln__compiled_unref(compiled);
    }
    CHECK_EQ(counters().links - before.links, 1);
    CHECK_EQ(counters().kernel_hits - before.kernel_hits, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_plans_that_are_gone_are_unlinked),
        cmocka_unit_test(unused_kernels_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
