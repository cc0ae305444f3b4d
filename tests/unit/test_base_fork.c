/*
 * test_base_fork.c - the list of handlers around fork: its order, what joins it while a fork is under way, and how
 * often pthread_atfork() is called. Stages of layers that are not linked with this program are the test's.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/fork.h"
#include "base/process/gate.h"
#include "support/check.h"

/* What ran: capitals before the fork, small letters in the parent, digits in the child, which has its own copy. */
static char ran[64];
static size_t ran_count;

static void note(char letter)
{
    ran[ran_count++] = letter;
}

/* At once: to the thread sanitizer, the threads of the parent are ones that the child did not join. */
static void end_child(bool is_right)
{
    syscall(SYS_exit_group, is_right ? 0 : 1);
}

/* Forks; the child must have run `in_child`, the parent `in_parent`. */
static void check_fork(const char *in_parent, const char *in_child)
{
    int status = -1;
    memset(ran, 0, sizeof ran);
    ran_count = 0;
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) end_child(!strcmp(ran, in_child));
    CHECK_STR(ran, in_parent);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}
#define check_fork(...) CHECK_CALL(check_fork, __VA_ARGS__)

/* ---- registrations --------------------------------------------------------------------------------------------- */

static unsigned registrations;

int __wrap_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
int __real_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

int __wrap_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    registrations++;
    return __real_pthread_atfork(before, in_parent, in_child);
}

static void test_one_registration(void **state)
{
    (void)state;
    CHECK_EQ(registrations, 1);
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

KILN_LEAF_LOCK(leaf);

/* Of a stage, the leaf lock is free before and after: its stage is the last to begin and the first to end. */
static void note_with_leaf(char letter)
{
    note(letter);
    if (pthread_mutex_trylock(&leaf)) note('!');
    pthread_mutex_unlock(&leaf);
}

static void before_graph(void)
{
    note_with_leaf('G');
}

static void graph_in_parent(void)
{
    note_with_leaf('g');
}

static void graph_in_child(void)
{
    note_with_leaf('3');
}

static void before_queue(void)
{
    note_with_leaf('Q');
}

static void queue_in_parent(void)
{
    note_with_leaf('q');
}

static void queue_in_child(void)
{
    note_with_leaf('1');
}

static void before_blas(void)
{
    note_with_leaf('B');
}

/* In another order than the stages have. */
KILN_AT_FORK(KILN_FORK_GRAPH, before_graph, graph_in_parent, graph_in_child);
KILN_AT_FORK(KILN_FORK_BLAS, before_blas, NULL, NULL);
KILN_AT_FORK(KILN_FORK_QUEUE, before_queue, queue_in_parent, queue_in_child);

static void test_order(void **state)
{
    (void)state;
    unsigned forks = kiln__forks();
    check_fork("QBGgq", "QBG31");
    CHECK_EQ(kiln__forks(), forks);
    int status = -1;
    pid_t child = fork();
    if (child == 0) end_child(kiln__forks() == forks + 1);
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

/* ---- a library that is opened while another thread forks --------------------------------------------------------- */

static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static bool registers_late;

static void before_pool(void)
{
    note('P');
}

static void pool_in_parent(void)
{
    note('p');
}

static void pool_in_child(void)
{
    note('0');
}

/* Registered before the list was, so it runs when all stages have begun. */
static void after_the_list(void)
{
    static const struct kiln_fork_handlers pool = {before_pool, pool_in_parent, pool_in_child};
    if (!registers_late) return;
    registers_late = false;
    kiln__fork_register(KILN_FORK_POOL, &pool);
    kiln__fork_guard(&late_lock);
    pthread_mutex_lock(&late_lock);
}

__attribute__((constructor(101))) static void register_before_the_list(void)
{
    registrations = 0; /* a sanitizer has registered handlers of its own */
    __real_pthread_atfork(after_the_list, NULL, NULL);
}

static void test_registered_meanwhile(void **state)
{
    (void)state;
    registers_late = true;
    check_fork("QBGgq", "QBG31");
    int status = pthread_mutex_trylock(&late_lock);
    pthread_mutex_unlock(&late_lock);
    CHECK_EQ(status, EBUSY); /* the fork had not locked it, and did not unlock it */
    check_fork("PQBGgqp", "PQBG310");
    CHECK_EQ(pthread_mutex_trylock(&late_lock), 0);
    pthread_mutex_unlock(&late_lock);
}

/* ---- handlers of another library ------------------------------------------------------------------------------- */

static sem_t working, looked;
static bool found_work;

static void before_of_library(void)
{
    found_work = kiln__work_is_elsewhere();
    sem_post(&looked);
}

static void *work_until_looked_at(void *unused)
{
    CHECK_TRUE(kiln__work_begin());
    sem_post(&working);
    sem_wait(&looked);
    kiln__work_end();
    return unused;
}

static void *work_for_a_moment(void *unused)
{
    CHECK_TRUE(kiln__work_begin());
    sem_post(&working);
    usleep(50000);
    kiln__work_end();
    return unused;
}

static void fork_while_another_runs(void *(*function)(void *))
{
    int status = -1;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, function, NULL), 0);
    sem_wait(&working);
    pid_t child = fork();
    if (child == 0) end_child(kiln__work_begin());
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    pthread_join(thread, NULL);
    CHECK_TRUE(kiln__work_begin()); /* the gate is open again */
    kiln__work_end();
}
#define fork_while_another_runs(...) CHECK_CALL(fork_while_another_runs, __VA_ARGS__)

/* Its handlers run before ours and find another thread at work, until kiln__fork_wait_first() was called. */
static void test_library_opened_later(void **state)
{
    (void)state;
    sem_init(&working, 0, 0);
    sem_init(&looked, 0, 0);
    __real_pthread_atfork(before_of_library, NULL, NULL);
    fork_while_another_runs(work_until_looked_at);
    CHECK_TRUE(found_work);
    kiln__fork_wait_first();
    CHECK_EQ(registrations, 2);
    fork_while_another_runs(work_for_a_moment);
    CHECK_FALSE(found_work);
    check_fork("PQBGgqp", "PQBG310");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_registration),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_registered_meanwhile),
        cmocka_unit_test(test_library_opened_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
