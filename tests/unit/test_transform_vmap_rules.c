/*
 * test_transform_vmap_rules.c - every operation of ops.def has a row in the table of rules.
 */
#include "support/check.h"
#include "transform/vmap/vmap_rules.h"

static void test_every_operation_has_a_rule(void **state)
{
    (void)state;
    for (int op = 0; op < KILN_OP_COUNT; op++)
        if (!kiln__vmap_rules[op]) CHECK_FAIL("%s has no rule: vmap_rules.c", kiln__ops[op].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_operation_has_a_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
