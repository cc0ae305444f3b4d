/*
 * test_base_log.c - what reaches stderr. KILN_LOG is read once, so each case runs in a child of its own.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "support/check.h"

/* Runs `speak` with KILN_LOG set to `words` and keeps what it wrote to stderr. */
static const char *output_of(const char *words, void (*speak)(void))
{
    static char text[16384];
    int ends[2];
    size_t used = 0;
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        if (words)
            setenv("KILN_LOG", words, 1);
        else
            unsetenv("KILN_LOG");
        dup2(ends[1], STDERR_FILENO);
        speak();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0;) used += (size_t)got;
    close(ends[0]);
    waitpid(child, NULL, 0);
    text[used] = '\0';
    return text;
}

static void speak_both(void)
{
    kiln__log(KILN_LOG_MISS, "a miss: %d", 7);
    kiln__log(KILN_LOG_FAULT, "a fault");
}

static void words_choose(void **state)
{
    (void)state;
    CHECK_STR(output_of(NULL, speak_both), "");
    CHECK_STR(output_of("", speak_both), "");
    CHECK_STR(output_of("miss", speak_both), "kiln: a miss: 7\n");
    CHECK_STR(output_of("fault", speak_both), "kiln: a fault\n");
    CHECK_STR(output_of("fault,miss", speak_both), "kiln: a miss: 7\nkiln: a fault\n");
    CHECK_STR(output_of("all", speak_both), "kiln: a miss: 7\nkiln: a fault\n");
    CHECK_STR(output_of("mis", speak_both), "kiln: KILN_LOG=mis is not one of miss, fault, all; not used\n");
}

static void speak_twice(void)
{
    kiln__log_once("broken: %s", "a");
    kiln__log_once("broken: %s", "b");
    kiln__log_once("broken: %s", "a");
}

static void once_is_once_per_text(void **state)
{
    (void)state;
    CHECK_STR(output_of(NULL, speak_twice), "kiln: broken: a\nkiln: broken: b\n");
}

static void speak_many(void)
{
    kiln__log_once("first");
    for (int i = 0; i < 64; i++) kiln__log_once("%d", i);
    kiln__log_once("63");
    kiln__log_once("first"); /* pushed out by the 64 */
}

static void sixty_four_texts_are_remembered(void **state)
{
    (void)state;
    const char *text = output_of(NULL, speak_many);
    CHECK_STR(text + strlen(text) - strlen("kiln: 63\nkiln: first\n"), "kiln: 63\nkiln: first\n");
    CHECK_NULL(strstr(text, "63\nkiln: 63"));
}

static void speak_long(void)
{
    char text[9000];
    memset(text, 'x', sizeof(text));
    text[10] = '\n';
    text[sizeof(text) - 1] = '\0';
    kiln__log(KILN_LOG_MISS, "%s", text);
}

static void a_line_is_one_line(void **state)
{
    (void)state;
    const char *text = output_of("miss", speak_long);
    CHECK_EQ(strlen(text), 4096);
    CHECK_EQ(strchr(text, '\n'), text + 4095);
    CHECK_EQ(text[6 + 10], ' ');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_choose),
        cmocka_unit_test(once_is_once_per_text),
        cmocka_unit_test(sixty_four_texts_are_remembered),
        cmocka_unit_test(a_line_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
