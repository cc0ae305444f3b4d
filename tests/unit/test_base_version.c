/*
 * test_base_version.c - the numbers, the text and the library agree.
 */
#include "kiln.h"
#include "support/check.h"

static void header_and_library_agree(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH);
    CHECK_STR(KILN_VERSION, text);
    CHECK_STR(kiln_version(), KILN_VERSION);
    CHECK_EQ(kiln_version_number(), KILN_VERSION_NUMBER);
    CHECK_GE(KILN_VERSION_NUMBER, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(header_and_library_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
