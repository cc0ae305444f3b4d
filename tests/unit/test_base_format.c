/*
 * test_base_format.c - text that does not depend on the locale, and can be printed. Whole programs in a locale with a
 * comma: tests/process/locale.sh.
 */
#include <locale.h>

#include "base/buffer.h"
#include "base/format.h"
#include "support/check.h"

static void escapes_as(const char *text, size_t size, const char *expected)
{
    char out[64];
    size_t length = kiln__escape(out, sizeof out, text, size);
    CHECK_EQ(length, strlen(expected));
    CHECK_MEM(out, expected, length);
}
#define escapes_as(...) CHECK_CALL(escapes_as, __VA_ARGS__)

static void test_escape(void **state)
{
    (void)state;
    escapes_as("", 0, "");
    escapes_as("plain text", 10, "plain text");
    escapes_as("\033[2J\a\0\x7f", 7, "\\x1b[2J\\x07\\x00\\x7f");
    escapes_as("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80", 14, "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80");
    escapes_as("\xc2\x9b", 2, "\\xc2\\x9b"); /* a control character of two bytes */
    escapes_as("\xc2\xa0", 2, "\xc2\xa0");   /* the first behind them */
    escapes_as("\x9b\xff", 2, "\\x9b\\xff"); /* no UTF-8 */
    escapes_as("\xc0\x9b", 2, "\\xc0\\x9b"); /* too long a form of one */
    escapes_as("\xe0\x82\x9b", 3, "\\xe0\\x82\\x9b");
    escapes_as("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* half of a pair */
    escapes_as("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
    escapes_as("\xe2\x82", 2, "\\xe2\\x82"); /* cut */
}

static void test_escape_ends_with_the_room(void **state)
{
    (void)state;
    char out[8];
    memset(out, '.', sizeof out);
    CHECK_EQ(kiln__escape(out, 5, "ab\033c", 4), 2); /* an escape is there or not */
    CHECK_MEM(out, "ab......", 8);
    CHECK_EQ(kiln__escape(out, 6, "ab\033c", 4), 6);
    CHECK_EQ(kiln__escape(out, 1, "\xc3\xbc", 2), 0);
}

/* The program's locale is as before, also its thread's own. */
static void test_format(void **state)
{
    (void)state;
    struct kiln_buffer text = {0};
    locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0), before = uselocale((locale_t)0);
    if (own) uselocale(own);
    kiln__buffer_printf(&text, "%g %d %s", 0.5, 7, "x");
    if (own) CHECK_EQ(uselocale(before), own);
    CHECK_STR((const char *)text.data, "0.5 7 x");
    kiln__buffer_release(&text);
    if (own) freelocale(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_escape_ends_with_the_room),
        cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
