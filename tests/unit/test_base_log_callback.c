/*
 * test_base_log_callback.c - kiln_set_log: who gets which line, when a context is freed, and threads that replace the
 * function.
 */
#include <stdatomic.h>

#include <pthread.h>

#include "base/log.h"
#include "support/check.h"

struct heard {
    unsigned kinds;
    char text[200];
    _Atomic int lines, frees;
    bool logs_itself;
};

static void hear(void *context, kiln_log_kind kind, const char *text)
{
    struct heard *heard = context;
    heard->kinds |= (unsigned)kind;
    snprintf(heard->text, sizeof heard->text, "%s", text);
    atomic_fetch_add(&heard->lines, 1);
    if (heard->logs_itself) kiln__log(KILN_LOG_MISS, "inside");
}

static void count_free(void *context)
{
    struct heard *heard = context;
    atomic_fetch_add(&heard->frees, 1);
}

/* The first line of the process: the callback calls Kiln while KILN_LOG, which is wrong, is told. */
static void a_wrong_variable_is_told(void **state)
{
    (void)state;
    struct heard heard = {.logs_itself = true};
    setenv("KILN_LOG", "mis", 1);
    CHECK_EQ(kiln_set_log(KILN_LOG_FAULT, hear, &heard, NULL), KILN_OK);
    CHECK_TRUE(kiln__log_on(KILN_LOG_FAULT));
    CHECK_EQ(heard.lines, 1);
    CHECK_STR(heard.text, "KILN_LOG=mis is not one of miss, fault, all; not used");
    CHECK_EQ(kiln_set_log(0, NULL, NULL, NULL), KILN_OK);
}

static void kinds_choose(void **state)
{
    (void)state;
    struct heard heard = {0};
    CHECK_FALSE(kiln__log_on(KILN_LOG_MISS));
    CHECK_STATUS(kiln_set_log(KILN_LOG_MISS, hear, &heard, count_free), KILN_OK);
    CHECK_TRUE(kiln__log_on(KILN_LOG_MISS));
    CHECK_FALSE(kiln__log_on(KILN_LOG_FAULT));
    kiln__log(KILN_LOG_MISS, "a miss: %d\nof %s", 7, "f\x1b");
    CHECK_STR(heard.text, "a miss: 7 of f\\x1b");
    kiln__log(KILN_LOG_FAULT, "not asked for");
    CHECK_EQ(heard.lines, 1);
    kiln__log_once("a fault"); /* told in any case */
    CHECK_STR(heard.text, "a fault");
    CHECK_EQ(heard.kinds, KILN_LOG_MISS | KILN_LOG_FAULT);
    CHECK_STATUS(kiln_set_log(0, NULL, NULL, NULL), KILN_OK);
    CHECK_EQ(heard.frees, 1);
    CHECK_FALSE(kiln__log_on(KILN_LOG_MISS));
    kiln__log(KILN_LOG_MISS, "nobody");
    CHECK_EQ(heard.lines, 2);
}

static void wrong_kinds_change_nothing(void **state)
{
    (void)state;
    struct heard heard = {0};
    CHECK_STATUS(kiln_set_log(KILN_LOG_MISS, hear, &heard, count_free), KILN_OK);
    CHECK_STATUS(kiln_set_log(8, hear, NULL, count_free), KILN_INVALID);
    kiln__log(KILN_LOG_MISS, "still here");
    CHECK_EQ(heard.lines, 1);
    CHECK_EQ(heard.frees, 0);
    CHECK_STATUS(kiln_set_log(0, NULL, NULL, NULL), KILN_OK);
}

static void what_the_function_logs_does_not_come_back(void **state)
{
    (void)state;
    struct heard heard = {.logs_itself = true};
    CHECK_STATUS(kiln_set_log(KILN_LOG_MISS, hear, &heard, NULL), KILN_OK);
    kiln__log(KILN_LOG_MISS, "outside");
    CHECK_EQ(heard.lines, 1);
    CHECK_STR(heard.text, "outside");
    CHECK_STATUS(kiln_set_log(0, NULL, NULL, NULL), KILN_OK);
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

enum { THREADS = 4, ROUNDS = 2000 };

struct slot {
    _Atomic int in_use, frees;
    _Atomic bool is_freed;
};
static struct slot slots[ROUNDS];

static void use(void *context, kiln_log_kind kind, const char *text)
{
    struct slot *slot = context;
    (void)kind, (void)text;
    atomic_fetch_add(&slot->in_use, 1);
    if (atomic_load(&slot->is_freed)) abort();
    atomic_fetch_sub(&slot->in_use, 1);
}

static void free_slot(void *context)
{
    struct slot *slot = context;
    if (atomic_load(&slot->in_use)) abort();
    atomic_store(&slot->is_freed, true);
    atomic_fetch_add(&slot->frees, 1);
}

static _Atomic bool is_over;

static void *speak(void *unused)
{
    while (!atomic_load(&is_over)) kiln__log(KILN_LOG_MISS, "a line");
    return unused;
}

static void a_context_is_freed_once_and_after_its_last_call(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    CHECK_STATUS(kiln_set_log(KILN_LOG_MISS, use, &slots[0], free_slot), KILN_OK);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, speak, NULL), 0);
    for (int i = 1; i < ROUNDS; i++) CHECK_STATUS(kiln_set_log(KILN_LOG_MISS, use, &slots[i], free_slot), KILN_OK);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_STATUS(kiln_set_log(0, NULL, NULL, NULL), KILN_OK);
    for (int i = 0; i < ROUNDS; i++) CHECK_EQ(slots[i].frees, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_variable_is_told),
        cmocka_unit_test(kinds_choose),
        cmocka_unit_test(wrong_kinds_change_nothing),
        cmocka_unit_test(what_the_function_logs_does_not_come_back),
        cmocka_unit_test(a_context_is_freed_once_and_after_its_last_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
