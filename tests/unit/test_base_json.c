/*
 * test_base_json.c - JSON as it is written, what is read back, and what is refused, with the byte where.
 */
#include <math.h>

#include "base/json.h"
#include "support/check.h"

static struct kiln_buffer out;

static struct kiln_json writer(void)
{
    kiln__buffer_clear(&out);
    return (struct kiln_json){.out = &out};
}

static void wrote(const char *expected)
{
    CHECK_FALSE(out.failed);
    CHECK_STR((const char *)out.data, expected);
}
#define wrote(...) CHECK_CALL(wrote, __VA_ARGS__)

static int release(void **state)
{
    (void)state;
    kiln__buffer_release(&out);
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static void test_commas_and_keys(void **state)
{
    struct kiln_json json = writer();
    (void)state;
    kiln__json_open(&json, NULL, '{');
    kiln__json_number(&json, "number", UINT64_MAX);
    kiln__json_signed(&json, "signed", INT64_MIN);
    kiln__json_open(&json, "empty", '[');
    kiln__json_close(&json, ']');
    kiln__json_open(&json, "list", '[');
    kiln__json_bool(&json, NULL, true);
    kiln__json_bool(&json, NULL, false);
    kiln__json_null(&json, NULL);
    kiln__json_open(&json, NULL, '{');
    kiln__json_close(&json, '}');
    kiln__json_close(&json, ']');
    kiln__json_text(&json, "text", "");
    kiln__json_close(&json, '}');
    wrote("{\"number\":18446744073709551615,\"signed\":-9223372036854775808,\"empty\":[],\"list\":[true,false,null,{}],"
          "\"text\":\"\"}");
}

static void test_lines(void **state)
{
    struct kiln_json json = writer();
    (void)state;
    kiln__json_open(&json, NULL, '[');
    for (uint64_t i = 0; i < 3; i++) {
        kiln__json_line(&json);
        kiln__json_number(&json, NULL, i);
    }
    kiln__json_line(&json);
    kiln__json_close(&json, ']');
    wrote("[0,\n1,\n2]");
}

static void test_decimals(void **state)
{
    struct kiln_json json = writer();
    (void)state;
    kiln__json_open(&json, NULL, '[');
    kiln__json_decimal(&json, NULL, 1.25, 1);
    kiln__json_decimal(&json, NULL, 1e15, 0);
    kiln__json_decimal(&json, NULL, (double)INFINITY, 1);
    kiln__json_decimal(&json, NULL, (double)NAN, 1);
    const uint64_t thousandths[] = {0, 5, 1500, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) kiln__json_thousandths(&json, NULL, thousandths[i]);
    kiln__json_close(&json, ']');
    wrote("[1.2,1000000000000000,null,null,0.000,0.005,1.500,18446744073709551.615]");
}

static void writes_as(const char *text, size_t size, bool keeps_bytes, const char *expected)
{
    struct kiln_json json = writer();
    json.keeps_bytes = keeps_bytes;
    kiln__json_bytes(&json, NULL, text, size);
    wrote(expected);
}
#define writes_as(...) CHECK_CALL(writes_as, __VA_ARGS__)

static void test_escapes(void **state)
{
    (void)state;
    writes_as("say \"a\\b\"\n", 10, false, "\"say \\\"a\\\\b\\\"\\u000a\"");
    writes_as("a\0b\x7f", 4, false, "\"a\\u0000b\\u007f\"");
    writes_as("gr\xc3\xbcn \xf0\x9f\x98\x80", 10, false, "\"gr\xc3\xbcn \xf0\x9f\x98\x80\"");
    writes_as("\xc2\x9b", 2, false, "\"\\u009b\"");                   /* a control character of two bytes */
    writes_as("\xff\xc3", 2, false, "\"\\ufffd\\ufffd\"");            /* no UTF-8; cut */
    writes_as("\xed\xa0\x80", 3, false, "\"\\ufffd\\ufffd\\ufffd\""); /* half of a pair */
    writes_as("\xff\xc3\n", 3, true, "\"\xff\xc3\\u000a\"");
}

static void test_keys_are_escaped(void **state)
{
    struct kiln_json json = writer();
    (void)state;
    kiln__json_open(&json, NULL, '{');
    kiln__json_null(&json, "a \"key\"");
    kiln__json_close(&json, '}');
    wrote("{\"a \\\"key\\\"\":null}");
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

static struct kiln_json_reader reader(const char *text, size_t size)
{
    return (struct kiln_json_reader){.text = text, .at = text, .end = text + size};
}

static void reads_as(const char *text, const char *expected, size_t size)
{
    struct kiln_json_reader json = reader(text, strlen(text));
    CHECK_TRUE(kiln__json_read_text(&json, &out));
    CHECK_EQ(out.size, size);
    CHECK_MEM(out.data, expected, size + 1);
    CHECK_EQ(json.at, json.end);
}
#define reads_as(...) CHECK_CALL(reads_as, __VA_ARGS__)

static void refuses(const char *text, const char *expected, size_t offset)
{
    struct kiln_json_reader json = reader(text, strlen(text));
    CHECK_FALSE(kiln__json_read_text(&json, &out));
    CHECK_STR(json.expected, expected);
    CHECK_EQ(json.at - json.text, offset);
}
#define refuses(...) CHECK_CALL(refuses, __VA_ARGS__)

static void test_read_text(void **state)
{
    (void)state;
    reads_as("\"\"", "", 0);
    reads_as(" \n\t\r\"a b\"", "a b", 3);
    reads_as("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    reads_as("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10);
    reads_as("\"a\\u0000b\"", "a\0b", 3);
    reads_as("\"\xff\"", "\xff", 1);
    refuses("", "a string", 0);
    refuses("x", "a string", 0);
    refuses("\"abc", "the end of a string", 1);
    refuses("\"abc\\\"", "the end of a string", 1);
    refuses("\"a\nb\"", "a string without control characters", 2);
    refuses("\"a\\x\"", "a valid escape", 4);
    refuses("\"\\u12\"", "a valid escape", 5);
    refuses("\"\\udc00\"", "a valid escape", 7);
    refuses("\"\\ud800x\"", "a valid escape", 7);
    refuses("\"\\ud800\\u0041\"", "a valid escape", 13);
}

static void test_read_number(void **state)
{
    uint64_t number;
    struct kiln_json_reader json = reader(" 18446744073709551615", 21);
    (void)state;
    CHECK_TRUE(kiln__json_read_number(&json, &number));
    CHECK_EQ(number, UINT64_MAX);
    json = reader("18446744073709551616", 20);
    CHECK_FALSE(kiln__json_read_number(&json, &number));
    CHECK_STR(json.expected, "a smaller number");
    json = reader("-1", 2);
    CHECK_FALSE(kiln__json_read_number(&json, &number));
    CHECK_STR(json.expected, "a whole number");
}

static void test_skip(void **state)
{
    static const char text[] = "{\"a\":[1,-2.5e3,\"]\\\"\",{}],\"b\":null} 7";
    struct kiln_json_reader json = reader(text, strlen(text));
    (void)state;
    CHECK_TRUE(kiln__json_skip(&json, &out));
    CHECK_TRUE(kiln__json_accept(&json, '7'));
    CHECK_FALSE(kiln__json_accept(&json, '7'));
    CHECK_EQ(kiln__json_peek(&json), 0);
    for (size_t size = 0; size < strlen(text) - 2; size++) { /* cut anywhere: exactly that much memory */
        char *cut = malloc(size + 1);
        memcpy(cut, text, size);
        json = reader(cut, size);
        CHECK_FALSE(kiln__json_skip(&json, &out));
        CHECK_LE(json.at, json.end);
        free(cut);
    }
}

static void test_depth_costs_no_stack(void **state)
{
    enum { DEPTH = 1 << 22 };
    char *text = malloc(2 * DEPTH);
    (void)state;
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    struct kiln_json_reader json = reader(text, 2 * DEPTH);
    CHECK_TRUE(kiln__json_skip(&json, &out));
    CHECK_EQ(json.at, json.end);
    json = reader(text, 2 * DEPTH - 1);
    CHECK_FALSE(kiln__json_skip(&json, &out));
    CHECK_STR(json.expected, "a value");
    free(text);
}

static void test_round_trip(void **state)
{
    char text[256], expected[256];
    (void)state;
    for (int i = 0; i < 256; i++) text[i] = expected[i] = (char)i;
    struct kiln_json json = writer();
    json.keeps_bytes = true;
    kiln__json_bytes(&json, NULL, text, sizeof text);
    struct kiln_buffer read = {0};
    struct kiln_json_reader back = reader((const char *)out.data, out.size);
    CHECK_TRUE(kiln__json_read_text(&back, &read));
    CHECK_EQ(read.size, sizeof expected);
    CHECK_MEM(read.data, expected, sizeof expected);
    kiln__buffer_release(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_and_keys),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_keys_are_escaped),
        cmocka_unit_test(test_read_text),
        cmocka_unit_test(test_read_number),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_depth_costs_no_stack),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
