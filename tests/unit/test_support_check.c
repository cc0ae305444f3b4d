/*
 * test_support_check.c - the checks of tests/support/check.h: what holds passes, and a failure prints the line of the
 * test, the helpers, the context, both expressions and both values.
 *
 * Each failing check runs in a process of its own, this program with the name of the check, whose output is compared.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

enum colour { RED = 3, BLUE = -5 };

/* ---- checks that fail ------------------------------------------------------------------------------------------- */

static void expect_small(int number)
{
    CHECK_LT(number, 10);
}
#define expect_small(...) CHECK_CALL(expect_small, __VA_ARGS__)

static void expect_all_small(const int *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK_CONTEXT("element %d", i);
        expect_small(numbers[i]);
    }
}
#define expect_all_small(...) CHECK_CALL(expect_all_small, __VA_ARGS__)

static void fail_signed(void)
{
    int8_t count = -3;
    CHECK_EQ(count, 4);
}

static void fail_unsigned(void)
{
    uint64_t most = UINT64_MAX;
    CHECK_EQ(most, -1);
}

static void fail_enum(void)
{
    enum colour colour = BLUE;
    CHECK_EQ(colour, RED);
}

static void fail_bool(void)
{
    bool is_ready = false;
    CHECK_TRUE(is_ready);
}

static void fail_float(void)
{
    float third = 1.0f / 3;
    CHECK_EQ(third, 0.25);
}

static void fail_pointer(void)
{
    const char *text = NULL;
    CHECK_NE(text, NULL);
}

static void fail_order(void)
{
    size_t size = 2;
    CHECK_GE(size, sizeof(int64_t));
}

static void fail_range(void)
{
    CHECK_BETWEEN(7 * 7, 50, 60);
}

static void fail_string(void)
{
    const char *name = "float16";
    CHECK_STR(name, "float32");
}

static void fail_part(void)
{
    CHECK_CONTAINS("no such file", "memory");
}

static void fail_memory(void)
{
    const unsigned char a[] = {1, 2, 3}, b[] = {1, 2, 4};
    CHECK_MEM(a, b, sizeof a);
}

static void fail_bits(void)
{
    float zero = 0.0f;
    CHECK_BITS(-zero, zero);
}

static kiln_status refuse(kiln_error *err)
{
    snprintf(err->text, sizeof err->text, "the axis is 3, the array has 2");
    return err->status = KILN_INVALID;
}

static void fail_status(void)
{
    kiln_error err = {0};
    CHECK_OK(refuse(&err), &err);
}

static void fail_other_status(void)
{
    CHECK_STATUS(refuse(&(kiln_error){0}), KILN_IO);
}

static void fail_with_note(void)
{
    check_note = "mlx_add: shapes do not broadcast";
    CHECK_EQ(1 + 0, 0);
}

static void fail_message(void)
{
    CHECK_CONTEXT("%s [%d,%d] %s", "float16", 2, 3, "add");
    CHECK_FAIL("element %d is %g", 5, 0.5);
}

/* The line of the test is that of the outermost call. */
static void fail_in_helper(void)
{
    CHECK_CONTEXT("float16 [2] add");
    expect_all_small((const int[]){4, 12}, 2);
}

/* A context ends with its block, also when that is left early. */
static void fail_after_context(void)
{
    for (int i = 0; i < 3; i++) {
        CHECK_CONTEXT("round %d", i);
        if (i == 1) break;
    }
    expect_small(3);
    CHECK_FALSE(1);
}

/* ---- what they print -------------------------------------------------------------------------------------------- */

static const struct failure {
    const char *name;
    void (*run)(void);
    const char *text; /* what is printed, without folders and with # for the numbers of lines */
} failures[] = {
    {"signed", fail_signed, "test_support_check.c:#: CHECK_EQ(count, 4)\n    count = -3\n    4\n"},
    {"unsigned", fail_unsigned,
     "test_support_check.c:#: CHECK_EQ(most, -1)\n    most = 18446744073709551615\n    -1\n"},
    {"enum", fail_enum, "test_support_check.c:#: CHECK_EQ(colour, RED)\n    colour = -5\n    RED = 3\n"},
    {"bool", fail_bool, "test_support_check.c:#: CHECK_TRUE(is_ready)\n    is_ready = 0\n"},
    {"float", fail_float, "test_support_check.c:#: CHECK_EQ(third, 0.25)\n    third = 0.333333343\n    0.25\n"},
    {"pointer", fail_pointer, "test_support_check.c:#: CHECK_NE(text, NULL)\n    text = NULL\n    NULL\n"},
    {"order", fail_order,
     "test_support_check.c:#: CHECK_GE(size, sizeof(int64_t))\n    size = 2\n    sizeof(int64_t) = 8\n"},
    {"range", fail_range, "test_support_check.c:#: CHECK_BETWEEN(7 * 7, 50, 60)\n    7 * 7 = 49\n    50\n    60\n"},
    {"string", fail_string,
     "test_support_check.c:#: CHECK_STR(name, \"float32\")\n    name = \"float16\"\n    \"float32\"\n"
     "    the first 5 bytes are the same\n"},
    {"part", fail_part, "test_support_check.c:#: CHECK_CONTAINS(\"no such file\", \"memory\")\n    \"no such file\"\n"},
    {"memory", fail_memory, "test_support_check.c:#: CHECK_MEM(a, b, 3)\n    byte 2 is 3, expected 4\n"},
    {"bits", fail_bits,
     "test_support_check.c:#: CHECK_BITS(-zero, zero)\n    -zero = -0, bits 0x80000000\n    zero = 0, bits 0\n"},
    {"status", fail_status,
     "test_support_check.c:#: CHECK_STATUS(refuse(&err), KILN_OK)\n    refuse(&err) = -1 (KILN_INVALID)\n"
     "    error: the axis is 3, the array has 2\n"},
    {"other_status", fail_other_status,
     "test_support_check.c:#: CHECK_STATUS(refuse(&(kiln_error){0}), KILN_IO)\n"
     "    refuse(&(kiln_error){0}) = -1 (KILN_INVALID)\n"},
    {"note", fail_with_note,
     "test_support_check.c:#: CHECK_EQ(1 + 0, 0)\n    1 + 0 = 1\n    0\n  note: mlx_add: shapes do not broadcast\n"},
    {"message", fail_message, "  with float16 [2,3] add\ntest_support_check.c:#: element 5 is 0.5\n"},
    {"helper", fail_in_helper,
     "  with float16 [2] add\ntest_support_check.c:#: expect_all_small\n  with element 1\n"
     "test_support_check.c:#: expect_small\ntest_support_check.c:#: CHECK_LT(number, 10)\n    number = 12\n    10\n"},
    {"after_context", fail_after_context, "test_support_check.c:#: CHECK_FALSE(1)\n    1\n"},
};
enum { FAILURES = sizeof failures / sizeof *failures };

/* Drops the folders of a file's name and the number of its line. */
static void shorten(const char *line, char *out, size_t size)
{
    const char *name = strstr(line, "test_support_check.c:"), *rest = name ? strchr(name, ':') + 1 : NULL;
    if (line[0] == ' ' || !name)
        snprintf(out, size, "%s", line);
    else
        snprintf(out, size, "test_support_check.c:#%s", rest + strspn(rest, "0123456789"));
}

/* What this program prints to stderr when it runs that check alone; cmocka's own lines are left out. */
static void output_of(const char *name, char *out, size_t size)
{
    char program[512] = "", command[640], line[512];
    CHECK_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    snprintf(command, sizeof command, "'%s' %s 2>&1 >/dev/null", program, name);
    FILE *pipe = popen(command, "r");
    CHECK_NOT_NULL(pipe);
    size_t length = 0;
    while (fgets(line, sizeof line, pipe) && line[0] != '[') {
        shorten(line, out + length, size - length);
        length += strlen(out + length);
    }
    while (fgets(line, sizeof line, pipe)) continue;
    int status = pclose(pipe);
    CHECK_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void test_failures(void **state)
{
    (void)state;
    for (int i = 0; i < FAILURES; i++) {
        CHECK_CONTEXT("%s", failures[i].name);
        char out[2048] = "";
        output_of(failures[i].name, out, sizeof out);
        CHECK_STR(out, failures[i].text);
    }
}

/* cmocka's own line names the test's line too, for editors that go there: that of the call in fail_in_helper. */
static void test_line_of_the_caller(void **state)
{
    (void)state;
    char program[512] = "", command[640], line[512];
    int lines[4] = {0}, count = 0;
    CHECK_GT(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    snprintf(command, sizeof command, "'%s' helper 2>&1 >/dev/null", program);
    FILE *pipe = popen(command, "r");
    while (fgets(line, sizeof line, pipe)) {
        const char *at = strstr(line, "test_support_check.c:");
        if (at && count < 4) lines[count++] = atoi(strchr(at, ':') + 1);
    }
    pclose(pipe);
    CHECK_EQ(count, 4); /* two calls, the check, and cmocka's */
    CHECK_EQ(lines[3], lines[0]);
    CHECK_LT(lines[2], lines[1]); /* the check stands above its caller in this file, and that above the test */
    CHECK_LT(lines[1], lines[0]);
}

/* ---- checks that hold ---------------------------------------------------------------------------------------------
 */

static int evaluations;

static int evaluated(void)
{
    return ++evaluations;
}

static void test_what_holds(void **state)
{
    (void)state;
    CHECK_EQ((uint8_t)200, 200L);
    CHECK_EQ(-1, (int64_t)-1);
    CHECK_NE(-1, UINT64_MAX);
    CHECK_NE((uint32_t)-1, -1);
    CHECK_LT(-1, 0u);
    CHECK_GT(UINT64_MAX, INT64_MIN);
    CHECK_LE(INT64_MIN, INT64_MIN + 1);
    CHECK_EQ(BLUE, -5);
    CHECK_EQ(1.0f, 1);
    CHECK_NE(NAN, NAN);
    CHECK_LT(INT64_MAX, 0x1p63);
    CHECK_EQ(state, (void *)state);
    CHECK_BETWEEN(-5, -5, 5u);
    CHECK_NEAR(0.1f, 0.1, 1e-7);
    CHECK_STR(NULL, NULL);
    CHECK_BITS(NAN, NAN);
    CHECK_MEM("ab", "ac", 1);
    CHECK_STATUS(refuse(&(kiln_error){0}), KILN_INVALID);
    CHECK_EQ(evaluated(), 1);
    CHECK_TRUE(evaluated() == 2);
    CHECK_EQ(evaluations, 2);
}

/* ---- a process for each failure -----------------------------------------------------------------------------------
 */

static const struct failure *wanted;

static void run_wanted(void **state)
{
    (void)state;
    wanted->run();
}

int main(int count, char **words)
{
    const struct CMUnitTest failing[] = {cmocka_unit_test(run_wanted)};
    for (int i = 0; i < FAILURES && count > 1; i++) {
        wanted = &failures[i];
        if (!strcmp(words[1], wanted->name)) return cmocka_run_group_tests(failing, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_line_of_the_caller),
        cmocka_unit_test(test_what_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
