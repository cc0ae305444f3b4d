/*
 * test_codegen_print_ir.c - the printer of LLVM IR: what placeholders become, and that nothing is cut or left out.
 */
#include <limits.h>

#include "codegen/print_ir.h"
#include "support/check.h"

/* A printer with a text of its own. */
struct page {
    struct kiln_buffer text;
    struct kiln_ir ir;
};

static struct kiln_ir *open_page(struct page *page)
{
    *page = (struct page){0};
    page->ir.text = &page->text;
    return &page->ir;
}

static void expect_text(struct page *page, const char *text)
{
    kiln_error err = {0};
    CHECK_OK(kiln__ir_finish(&page->ir, KILN_OK, &err), &err);
    CHECK_STR((const char *)page->text.data, text);
    kiln__buffer_release(&page->text);
}
#define expect_text(...) CHECK_CALL(expect_text, __VA_ARGS__)

/* The text has failed, and the message has `word`. */
static void expect_problem(struct page *page, const char *word)
{
    kiln_error err = {0};
    CHECK_TRUE(page->text.failed);
    CHECK_STATUS(kiln__ir_finish(&page->ir, KILN_OK, &err), KILN_LOWER_FAILED, &err);
    CHECK_CONTAINS(err.text, word);
    kiln__buffer_release(&page->text);
}
#define expect_problem(...) CHECK_CALL(expect_problem, __VA_ARGS__)

static void placeholders_become_arguments(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    char side = 'p';
    kiln__print(ir, "entry:\n");
    kiln__print(ir, "  %x$0 = load $1, ptr %$2$0, align $3\n", 3u, "float", side, sizeof(float));
    kiln__print(ir, "  %y = add i64 $0, $1 ; $1 and $0\n", LONG_MIN, -7);
    kiln__print(ir, "$0$1$2$3$4$5$6$7$8$9\n", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    expect_text(&page, "entry:\n  %x3 = load float, ptr %p3, align 4\n"
                       "  %y = add i64 -9223372036854775808, -7 ; -7 and -9223372036854775808\n0123456789\n");
}

static void arguments_are_evaluated_once(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    int number = 0;
    kiln__print(ir, "$0$0", number++);
    CHECK_EQ(number, 1);
    expect_text(&page, "00");
}

static void a_placeholder_without_an_argument_fails(void **state)
{
    (void)state;
    struct page page;
    kiln__print(open_page(&page), "  %x = add i64 $0, $1\n", 1);
    expect_problem(&page, "$1");
    kiln__print(open_page(&page), "  %x = add i64 $T, 1\n");
    expect_problem(&page, "$T");
    kiln__print(open_page(&page), "  %x$");
    expect_problem(&page, "has no argument");
    kiln__print_lines(open_page(&page), "r0", "$r = fneg $T $0", "%x", "%y");
    expect_problem(&page, "$T");
    kiln__declare(open_page(&page), "declare void @$0()\n");
    expect_problem(&page, "$0");
}

static void an_argument_without_a_placeholder_fails(void **state)
{
    (void)state;
    struct page page;
    kiln__print(open_page(&page), "  %x = add i64 $0, 1\n", 1, 2);
    expect_problem(&page, "add i64");
    kiln__print(open_page(&page), "  %x = add i64 $1, 1\n", 1, 2);
    expect_problem(&page, "add i64");
}

/* A name takes the bytes of its buffer but one, which ends it; a longer one is no name. */
static void a_name_is_never_cut(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    char stem[KILN_IR_NAME] = "";
    memset(stem, 'a', sizeof stem - 3);
    kiln__print(ir, "text");
    struct kiln_name longest = kiln__name(ir, "%$0$1", stem, 1);
    CHECK_EQ(strlen(longest.text), KILN_IR_NAME - 1);
    CHECK_STR(kiln__name(ir, "%v$0$1", 12, ".out").text, "%v12.out");
    expect_text(&page, "text");

    ir = open_page(&page);
    CHECK_STR(kiln__name(ir, "%$0$1", stem, 12).text, "");
    expect_problem(&page, "too long");
}

static void the_first_problem_is_told(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    kiln__print(ir, "first $0");
    kiln__print(ir, "second $1", 1);
    expect_problem(&page, "first");
}

static void declarations_stand_once(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    kiln__print(ir, "ret void\n");
    kiln__print_declarations(ir);
    for (int i = 0; i < 3; i++) {
        kiln__declare(ir, "declare float @f$0(float)\n", i % 2);
        kiln__declare(ir, "declare float @f(float)\n");
    }
    kiln__print_declarations(ir);
    expect_text(&page, "ret void\n\ndeclare float @f0(float)\ndeclare float @f(float)\ndeclare float @f1(float)\n");
}

static void lines_have_letters(void **state)
{
    (void)state;
    struct page page;
    kiln__print_lines(open_page(&page), "r01TW", "$r.a = icmp ult $T $1, $W;$r = select i1 $r.a, $T $0, $T 0", "%v2",
                      "%v0", "%v1", "i32", 32);
    expect_text(&page, "  %v2.a = icmp ult i32 %v1, 32\n  %v2 = select i1 %v2.a, i32 %v0, i32 0\n");
}

/* It is put in the place of each $@ once the rest of the text is there. */
static void the_entry_gets_its_name_at_the_end(void **state)
{
    (void)state;
    struct page page;
    struct kiln_ir *ir = open_page(&page);
    kiln__print(ir, "define void $@(ptr %$0) {\n}\n", "args");
    kiln__print(ir, "!0 = !{ptr $@, i32 $0}\n", 256);
    CHECK_STR((const char *)page.text.data, "define void @(ptr %args) {\n}\n!0 = !{ptr @, i32 256}\n");
    kiln__ir_put_entry(ir, "a_name");
    expect_text(&page, "define void @a_name(ptr %args) {\n}\n!0 = !{ptr @a_name, i32 256}\n");

    ir = open_page(&page);
    for (int i = 0; i < KILN_IR_ENTRIES; i++) kiln__print(ir, "$@");
    kiln__ir_put_entry(ir, "");
    expect_text(&page, "@@");

    ir = open_page(&page);
    for (int i = 0; i <= KILN_IR_ENTRIES; i++) kiln__print(ir, "$@");
    expect_problem(&page, "too many places");
    kiln__name(open_page(&page), "%$@");
    expect_problem(&page, "has no argument");
    kiln__declare(open_page(&page), "declare void $@()\n");
    expect_problem(&page, "has no argument");
}

static void memory_and_statuses_are_told(void **state)
{
    (void)state;
    struct page page;
    kiln_error err = {0};
    struct kiln_ir *ir = open_page(&page);
    page.text.failed = true; /* as if out of memory */
    kiln__print(ir, "$0", 1);
    CHECK_STR(kiln__name(ir, "%v$0", 1).text, "");
    CHECK_STATUS(kiln__ir_finish(ir, KILN_OK, &err), KILN_NO_MEMORY, &err);
    ir = open_page(&page);
    kiln__print(ir, "$0");
    CHECK_STATUS(kiln__ir_finish(ir, KILN_INVALID, &err), KILN_INVALID, &err);
    kiln__buffer_release(&page.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_become_arguments),
        cmocka_unit_test(arguments_are_evaluated_once),
        cmocka_unit_test(a_placeholder_without_an_argument_fails),
        cmocka_unit_test(an_argument_without_a_placeholder_fails),
        cmocka_unit_test(a_name_is_never_cut),
        cmocka_unit_test(the_first_problem_is_told),
        cmocka_unit_test(declarations_stand_once),
        cmocka_unit_test(lines_have_letters),
        cmocka_unit_test(the_entry_gets_its_name_at_the_end),
        cmocka_unit_test(memory_and_statuses_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
