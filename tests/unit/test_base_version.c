/*
 * test_base_version.c - the numbers, the text and the library agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kiln.h"

static void header_and_library_agree(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH);
    assert_string_equal(KILN_VERSION, text);
    assert_string_equal(kiln_version(), KILN_VERSION);
    assert_int_equal(kiln_version_number(), KILN_VERSION_NUMBER);
    assert_true(KILN_VERSION_NUMBER >= 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(header_and_library_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
