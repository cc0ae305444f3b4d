/*
 * test_run_pool.c - every part runs once, whoever runs it; busy pools, nested jobs, short jobs, fork.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/cpu/pool.h"
#include "unit/run_support.h"

enum { PARTS = 1000 };

static void count_part(void *ctx, int64_t i)
{
    atomic_fetch_add(&((atomic_int *)ctx)[i], 1);
}

static void expect_once(atomic_int *counts, int parts, int times)
{
    for (int i = 0; i < parts; i++) CHECK_EQ(atomic_load(&counts[i]), times);
}
#define expect_once(...) CHECK_CALL(expect_once, __VA_ARGS__)

/* How often the system was asked for processors, which reads several files. */
static int asked;
int __real_kiln__cores(const char *root);
int __wrap_kiln__cores(const char *root);
int __wrap_kiln__cores(const char *root)
{
    asked++;
    return __real_kiln__cores(root);
}

static void a_job_of_one_part_asks_for_nothing(void **state)
{
    (void)state;
    atomic_int counts[1] = {0};
    kiln__pool_run(count_part, counts, 1);
    expect_once(counts, 1, 1);
    CHECK_EQ(asked, 0);
}

static void every_part_runs_once(void **state)
{
    (void)state;
    for (int parts = 0; parts < 50; parts++) {
        atomic_int counts[50] = {0};
        kiln__pool_run(count_part, counts, parts);
        expect_once(counts, parts, 1);
        expect_once(counts + parts, 50 - parts, 0);
    }
}

static void *run_many(void *ctx)
{
    for (int i = 0; i < 200; i++) kiln__pool_run(count_part, ctx, PARTS);
    return NULL;
}

static void callers_that_find_it_busy_work_alone(void **state)
{
    (void)state;
    static atomic_int counts[4][PARTS];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, run_many, counts[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) expect_once(counts[i], PARTS, 200);
}

static void nested_part(void *ctx, int64_t i)
{
    (void)i;
    kiln__pool_run(count_part, ctx, 10);
}

static void a_part_may_run_a_job(void **state)
{
    (void)state;
    atomic_int counts[10] = {0};
    kiln__pool_run(nested_part, counts, 20);
    expect_once(counts, 10, 20);
}

static void note_thread(void *ctx, int64_t i)
{
    ((pthread_t *)ctx)[i] = pthread_self();
}

static void a_limit_of_one_keeps_to_the_caller(void **state)
{
    (void)state;
    pthread_t threads[PARTS];
    kiln__pool_limit(1);
    CHECK_EQ(kiln__pool_width(), 1);
    kiln__pool_run(note_thread, threads, PARTS);
    kiln__pool_limit(0);
    for (int i = 0; i < PARTS; i++) CHECK_TRUE(pthread_equal(threads[i], pthread_self()));
}

static void a_forked_child_makes_its_own(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    CHECK_SKIP(); /* it does not follow threads into a child */
#endif
    static atomic_int counts[PARTS];
    kiln__pool_run(count_part, counts, PARTS);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        kiln__pool_run(count_part, counts, PARTS);
        int wrong = 0;
        for (int i = 0; i < PARTS; i++) wrong |= atomic_load(&counts[i]) != 2;
        _exit(wrong);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_one_part_asks_for_nothing),   cmocka_unit_test(every_part_runs_once),
        cmocka_unit_test(callers_that_find_it_busy_work_alone), cmocka_unit_test(a_part_may_run_a_job),
        cmocka_unit_test(a_limit_of_one_keeps_to_the_caller),   cmocka_unit_test(a_forked_child_makes_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
