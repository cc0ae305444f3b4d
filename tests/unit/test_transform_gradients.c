/*
 * test_transform_gradients.c - every operation of ops.def has a row in gradients.def: a rule, or why there is none.
 */
#include "support/check.h"
#include "transform/grad/gradient_rules.h"

static void test_every_operation_has_a_row(void **state)
{
    (void)state;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        if (!kiln__gradient_rules[op].is_listed) CHECK_FAIL("gradients.def has no row for %s", kiln__ops[op].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operation_has_a_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
