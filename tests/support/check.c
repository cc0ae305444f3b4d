/*
 * check.c - what a check prints, and the stack of calls and contexts around it.
 *
 * A failure leaves the test by longjmp(), which runs no cleanup: whoever ends a test empties the stack first.
 */
#include "support/check.h"

#include <math.h>

/* ---- the stack -------------------------------------------------------------------------------------------------- */

enum { MOST_DEPTH = 24, CONTEXT_TEXT = 160 };

struct entry {
    struct check_site site; /* of the call; file is NULL for a context */
    const char *helper;
    char context[CONTEXT_TEXT];
};

static _Thread_local struct entry stack[MOST_DEPTH];
static _Thread_local int stack_depth; /* may exceed MOST_DEPTH: what is deeper is not printed */

_Thread_local const char *check_note;

/* A new entry, or NULL when the stack is full. */
static struct entry *enter(void)
{
    int depth = stack_depth++;
    return depth < MOST_DEPTH ? &stack[depth] : NULL;
}

int check_enter_context(const char *format, ...)
{
    struct entry *entry = enter();
    va_list words;
    va_start(words, format);
    if (entry) {
        entry->site.file = NULL;
        vsnprintf(entry->context, sizeof entry->context, format, words);
    }
    va_end(words);
    return stack_depth - 1;
}

int check_enter_call(const char *file, int line, const char *helper)
{
    struct entry *entry = enter();
    if (entry) entry->site = (struct check_site){file, line}, entry->helper = helper;
    return stack_depth - 1;
}

void check_leave(const int *depth)
{
    stack_depth = *depth;
}

static int printed_depth(void)
{
    return stack_depth < MOST_DEPTH ? stack_depth : MOST_DEPTH;
}

/* The line of the test: of the outermost call, or of the check itself. */
static struct check_site outermost(struct check_site site)
{
    for (int i = 0; i < printed_depth(); i++)
        if (stack[i].site.file) return stack[i].site;
    return site;
}

static void print_entry(const struct entry *entry)
{
    if (entry->site.file)
        fprintf(stderr, "%s:%d: %s\n", entry->site.file, entry->site.line, entry->helper);
    else
        fprintf(stderr, "  with %s\n", entry->context);
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

/* Prints the stack and the first line of a failure, as for printf; the caller adds values and calls end_test(). */
__attribute__((format(printf, 2, 3))) static void begin_failure(struct check_site site, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    for (int i = 0; i < printed_depth(); i++) print_entry(&stack[i]);
    fprintf(stderr, "%s:%d: ", site.file, site.line);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    va_end(words);
}

__attribute__((noreturn)) static void end_test(struct check_site site)
{
    if (check_note && *check_note) fprintf(stderr, "  note: %s\n", check_note);
    site = outermost(site);
    stack_depth = 0;
    _fail(site.file, site.line);
    abort(); /* not reached: cmocka jumps out of the test */
}

void check_fail(struct check_site site, const char *format, ...)
{
    char message[4096];
    va_list words;
    va_start(words, format);
    vsnprintf(message, sizeof message, format, words);
    va_end(words);
    begin_failure(site, "%s", message);
    end_test(site);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

enum { VALUE_TEXT = 40 };

/* As many digits as tell the number from its neighbours in the smallest type that holds it. */
static const char *real_text(double a, char *out)
{
    snprintf(out, VALUE_TEXT, "%.*g", (double)(float)a == a ? 9 : 17, a);
    return out;
}

static const char *value_text(struct check_value a, char *out)
{
    switch (a.kind) {
    case CHECK_KIND_SIGNED:
        snprintf(out, VALUE_TEXT, "%jd", a.integer);
        return out;
    case CHECK_KIND_UNSIGNED:
        snprintf(out, VALUE_TEXT, "%ju", a.natural);
        return out;
    case CHECK_KIND_REAL:
        return real_text(a.real, out);
    case CHECK_KIND_POINTER:
        if (!a.pointer) return "NULL";
        snprintf(out, VALUE_TEXT, "%p", (const void *)a.pointer);
        return out;
    }
    return "?";
}

/* "expression = value"; a literal stands for itself. */
static void print_text(const char *expression, const char *value)
{
    if (strcmp(expression, value) == 0)
        fprintf(stderr, "    %s\n", value);
    else
        fprintf(stderr, "    %s = %s\n", expression, value);
}

static void print_value(const char *expression, struct check_value a)
{
    char text[VALUE_TEXT];
    print_text(expression, value_text(a, text));
}

static long double as_real(struct check_value a)
{
    switch (a.kind) {
    case CHECK_KIND_SIGNED:
        return (long double)a.integer;
    case CHECK_KIND_REAL:
        return (long double)a.real;
    default:
        return (long double)a.natural;
    }
}

static uintmax_t as_bits(struct check_value a)
{
    return a.kind == CHECK_KIND_POINTER ? (uintptr_t)a.pointer : a.natural;
}

static bool is_negative(struct check_value a)
{
    return a.kind == CHECK_KIND_SIGNED && a.integer < 0;
}

/* The order of two values, as a set of one relation, so that a check can name the relations it accepts. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static int order_reals(long double a, long double b)
{
    return a < b ? LESS : a > b ? GREATER : a == b ? EQUAL : UNORDERED;
}

static int order(struct check_value a, struct check_value b)
{
    if (a.kind == CHECK_KIND_REAL || b.kind == CHECK_KIND_REAL) return order_reals(as_real(a), as_real(b));
    if (is_negative(a) != is_negative(b)) return is_negative(a) ? LESS : GREATER;
    return as_bits(a) < as_bits(b) ? LESS : as_bits(a) > as_bits(b) ? GREATER : EQUAL;
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int accepts;
} relations[] = {
    [CHECK_RELATION_EQ] = {"CHECK_EQ", EQUAL},   [CHECK_RELATION_NE] = {"CHECK_NE", LESS | GREATER | UNORDERED},
    [CHECK_RELATION_LT] = {"CHECK_LT", LESS},    [CHECK_RELATION_LE] = {"CHECK_LE", LESS | EQUAL},
    [CHECK_RELATION_GT] = {"CHECK_GT", GREATER}, [CHECK_RELATION_GE] = {"CHECK_GE", GREATER | EQUAL},
};

void check_compare(struct check_site site, enum check_relation relation, const char *a_text, struct check_value a,
                   const char *b_text, struct check_value b)
{
    if (order(a, b) & relations[relation].accepts) return;
    begin_failure(site, "%s(%s, %s)", relations[relation].name, a_text, b_text);
    print_value(a_text, a);
    print_value(b_text, b);
    end_test(site);
}

void check_between(struct check_site site, const char *a_text, struct check_value a, const char *low_text,
                   struct check_value low, const char *high_text, struct check_value high)
{
    if ((order(low, a) & (LESS | EQUAL)) && (order(a, high) & (LESS | EQUAL))) return;
    begin_failure(site, "CHECK_BETWEEN(%s, %s, %s)", a_text, low_text, high_text);
    print_value(a_text, a);
    print_value(low_text, low);
    print_value(high_text, high);
    end_test(site);
}

void check_near(struct check_site site, const char *a_text, double a, const char *b_text, double b, double tolerance)
{
    if (a == b || fabs(a - b) <= tolerance) return;
    begin_failure(site, "CHECK_NEAR(%s, %s, %g)", a_text, b_text, tolerance);
    print_value(a_text, check_real(a));
    print_value(b_text, check_real(b));
    end_test(site);
}

void check_truth(struct check_site site, const char *name, const char *text, struct check_value a, bool expected)
{
    bool is_true = a.kind == CHECK_KIND_REAL ? a.real != 0 : as_bits(a) != 0;
    if (is_true == expected) return;
    begin_failure(site, "%s(%s)", name, text);
    print_value(text, a);
    end_test(site);
}

/* A text that is none is told apart from an empty one, and a literal stands for itself. */
static void print_quoted(const char *expression, const char *a)
{
    if (!a)
        print_text(expression, "NULL");
    else if (*expression == '"')
        fprintf(stderr, "    \"%s\"\n", a);
    else
        fprintf(stderr, "    %s = \"%s\"\n", expression, a);
}

void check_string(struct check_site site, const char *a_text, const char *a, const char *b_text, const char *b)
{
    if (a == b || (a && b && strcmp(a, b) == 0)) return;
    begin_failure(site, "CHECK_STR(%s, %s)", a_text, b_text);
    print_quoted(a_text, a);
    print_quoted(b_text, b);
    size_t same = 0;
    while (a && b && a[same] == b[same]) same++;
    if (same) fprintf(stderr, "    the first %zu bytes are the same\n", same);
    end_test(site);
}

void check_contains(struct check_site site, const char *a_text, const char *a, const char *part)
{
    if (a && strstr(a, part)) return;
    begin_failure(site, "CHECK_CONTAINS(%s, \"%s\")", a_text, part);
    print_quoted(a_text, a);
    end_test(site);
}

void check_memory(struct check_site site, const char *a_text, const void *a, const char *b_text, const void *b,
                  size_t size)
{
    const unsigned char *left = a, *right = b;
    size_t same = 0;
    while (same < size && left[same] == right[same]) same++;
    if (same == size) return;
    begin_failure(site, "CHECK_MEM(%s, %s, %zu)", a_text, b_text, size);
    fprintf(stderr, "    byte %zu is %d, expected %d\n", same, left[same], right[same]);
    end_test(site);
}

static void fail_bits(struct check_site site, const char *a_text, double a, uint64_t a_bits, const char *b_text,
                      double b, uint64_t b_bits)
{
    char text[VALUE_TEXT];
    begin_failure(site, "CHECK_BITS(%s, %s)", a_text, b_text);
    fprintf(stderr, "    %s = %s, bits %#jx\n", a_text, real_text(a, text), (uintmax_t)a_bits);
    fprintf(stderr, "    %s = %s, bits %#jx\n", b_text, real_text(b, text), (uintmax_t)b_bits);
    end_test(site);
}

void check_float_bits(struct check_site site, const char *a_text, float a, const char *b_text, float b)
{
    uint32_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    if (a_bits != b_bits) fail_bits(site, a_text, (double)a, a_bits, b_text, (double)b, b_bits);
}

void check_double_bits(struct check_site site, const char *a_text, double a, const char *b_text, double b)
{
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    if (a_bits != b_bits) fail_bits(site, a_text, a, a_bits, b_text, b, b_bits);
}

void check_status(struct check_site site, const char *text, kiln_status got, kiln_status expected,
                  const kiln_error *err, const char *(*name)(kiln_status))
{
    if (got == expected) return;
    begin_failure(site, "CHECK_STATUS(%s, %s)", text, name(expected));
    fprintf(stderr, "    %s = %d (%s)\n", text, got, name(got));
    if (err && *err->text) fprintf(stderr, "    error: %s\n", err->text);
    end_test(site);
}
