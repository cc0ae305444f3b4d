/*
 * test_base_thread_state.c - what a thread registered is given back when it ends: once, upper layers first, however it
 * ends and whatever runs meanwhile; and one pthread key serves all layers.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/process/thread_state.h"
#include "kiln.h"
#include "support/check.h"

static char given_back[64]; /* a digit for each part, in the order in which they were given back */
static size_t given_count;
static char values[KILN_THREAD_PARTS];

static int start(void **state)
{
    (void)state;
    memset(given_back, 0, sizeof given_back);
    given_count = 0;
    return 0;
}

static void note(void *value)
{
    given_back[given_count++] = (char)('0' + ((char *)value - values));
}

static bool set(int part)
{
    return kiln__thread_state_set(part, note, &values[part]);
}

static void in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, function, argument), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
#define in_thread(...) CHECK_CALL(in_thread, __VA_ARGS__)

/* The function must return 0 in a child: there the keys are as the test wants them. */
static void in_child(int (*function)(void))
{
    int status = -1;
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) _exit(function());
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}
#define in_child(...) CHECK_CALL(in_child, __VA_ARGS__)

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static size_t take_free_keys(pthread_key_t *keys)
{
    size_t count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    return count;
}

static size_t count_free_keys(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    size_t count = take_free_keys(keys);
    for (size_t i = 0; i < count; i++) pthread_key_delete(keys[i]);
    return count;
}

static void *set_without_key(void *refused)
{
    for (int part = 0; part < KILN_THREAD_PARTS; part++) *(int *)refused += !set(part);
    return NULL;
}

static int without_keys(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    int refused = 0;
    take_free_keys(keys);
    in_thread(set_without_key, &refused);
    return refused == KILN_THREAD_PARTS && given_count == 0 ? 0 : 1;
}

static void test_no_key_is_free(void **state)
{
    (void)state;
    in_child(without_keys);
}

static void *use_every_layer(void *unused)
{
    (void)unused;
    kiln__environment_read();
    kiln_option_push("unroll", "2");
    kiln_enter();
    kiln_leave();
    for (int part = 0; part < KILN_THREAD_RECORD; part++) set(part);
    return NULL;
}

static int one_key(void)
{
    size_t before = count_free_keys();
    in_thread(use_every_layer, NULL);
    return before - count_free_keys() == 1 ? 0 : 1;
}

static void test_one_key(void **state)
{
    (void)state;
    in_child(one_key);
}

/* ---- the end of a thread --------------------------------------------------------------------------------------- */

static void *set_in_some_order(void *unused)
{
    static const int order[] = {3, 0, 5, 2, 4, 1};
    (void)unused;
    for (int i = 0; i < KILN_THREAD_PARTS; i++) set(order[i]);
    return NULL;
}

static void test_upper_layers_first(void **state)
{
    (void)state;
    in_thread(set_in_some_order, NULL);
    CHECK_STR(given_back, "012345");
    in_thread(set_in_some_order, NULL);
    CHECK_STR(given_back, "012345012345");
}

static void *set_and_change(void *unused)
{
    (void)unused;
    set(1);
    set(2);
    kiln__thread_state_set(1, note, &values[4]);
    kiln__thread_state_set(2, note, NULL);
    return NULL;
}

static void test_last_value_counts(void **state)
{
    (void)state;
    in_thread(set_and_change, NULL);
    CHECK_STR(given_back, "4");
}

static void *set_and_exit(void *unused)
{
    set(0);
    pthread_exit(unused);
}

static void *set_and_pause(void *is_set)
{
    set(0);
    atomic_store((_Atomic bool *)is_set, true);
    for (;;) pause();
    return NULL;
}

static void test_exit_and_cancel(void **state)
{
    (void)state;
    pthread_t thread;
    _Atomic bool is_set = false;
    in_thread(set_and_exit, NULL);
    CHECK_STR(given_back, "0");
    CHECK_EQ(pthread_create(&thread, NULL, set_and_pause, &is_set), 0);
    while (!atomic_load(&is_set)) usleep(100);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    CHECK_STR(given_back, "00");
}

/* ---- use while a thread ends ----------------------------------------------------------------------------------- */

static void note_and_set_below(void *value)
{
    note(value);
    set(5);
}

static void note_and_set_above(void *value)
{
    note(value);
    set(0);
}

static void *set_nested(void *unused)
{
    (void)unused;
    kiln__thread_state_set(1, note_and_set_below, &values[1]);
    kiln__thread_state_set(4, note_and_set_above, &values[4]);
    return NULL;
}

/* Part 5 comes in the same round, part 0 in the next one. */
static void test_set_while_giving_back(void **state)
{
    (void)state;
    in_thread(set_nested, NULL);
    CHECK_STR(given_back, "1450");
}

/* ThreadSanitizer ends its own part of a thread in the last round, and nothing may run after that. */
#if !defined(__SANITIZE_THREAD__)
static void note_and_set_again(void *value)
{
    note(value);
    kiln__thread_state_set(3, note_and_set_again, value);
}

static void *set_for_ever(void *unused)
{
    (void)unused;
    kiln__thread_state_set(3, note_and_set_again, &values[3]);
    return NULL;
}

static void test_rounds_are_bounded(void **state)
{
    (void)state;
    in_thread(set_for_ever, NULL);
    CHECK_EQ(given_count, PTHREAD_DESTRUCTOR_ITERATIONS);
}
#endif

static pthread_key_t foreign_key;

static void use_late(void *unused)
{
    (void)unused;
    set(2);
    set(1);
}

static void *use_then_end(void *unused)
{
    (void)unused;
    set(0);
    pthread_setspecific(foreign_key, given_back);
    return NULL;
}

/* The destructors of younger keys run later: the thread has given everything back, and then calls us again. */
static void test_use_after_the_end(void **state)
{
    (void)state;
    CHECK_EQ(pthread_key_create(&foreign_key, use_late), 0);
    in_thread(use_then_end, NULL);
    CHECK_STR(given_back, "012");
    pthread_key_delete(foreign_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_key_is_free, start), /* these two need a process that has no key yet */
        cmocka_unit_test_setup(test_one_key, start),
        cmocka_unit_test_setup(test_upper_layers_first, start),
        cmocka_unit_test_setup(test_last_value_counts, start),
        cmocka_unit_test_setup(test_exit_and_cancel, start),
        cmocka_unit_test_setup(test_set_while_giving_back, start),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test_setup(test_rounds_are_bounded, start),
#endif
        cmocka_unit_test_setup(test_use_after_the_end, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
