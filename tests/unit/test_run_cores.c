/*
 * test_run_cores.c - the pool is as wide as the control groups of the process allow; they are files of a folder here.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/cpu/cores.h"
#include "support/check.h"

static char root[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/kiln-cores-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    CHECK_NOT_NULL(file);
    fputs(text, file);
    fclose(file);
}
#define put(...) CHECK_CALL(put, __VA_ARGS__)

/* Without limits; the tests below need two. */
static int all(void)
{
    cpu_set_t set;
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static void without_groups(void **state)
{
    (void)state;
    CHECK_EQ(kiln__cores(root), all());
}

static void a_quota_of_version_2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK_EQ(kiln__cores(root), all());
    put("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
    CHECK_EQ(kiln__cores(root), 1);
    put("/sys/fs/cgroup/a/b/cpu.max", "1000 100000\n"); /* a hundredth of a processor is a thread */
    CHECK_EQ(kiln__cores(root), 1);
    put("/sys/fs/cgroup/a/b/cpu.max", "100001 100000\n"); /* a little more than one is two */
    CHECK_EQ(kiln__cores(root), all() < 2 ? 1 : 2);
}

static void a_quota_of_a_group_above(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    CHECK_EQ(kiln__cores(root), 1);
    put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n"); /* a container's own root */
    CHECK_EQ(kiln__cores(root), 1);
}

static void a_quota_of_version_1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/1\n3:cpuset:/y\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(kiln__cores(root), all());
    put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "90000\n");
    CHECK_EQ(kiln__cores(root), 1);
}

/* The path of the host, in a container that sees its own group as the root. */
static void a_group_that_is_not_there(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "4:cpuacct,cpu:/docker/1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(kiln__cores(root), 1);
}

static void nonsense_limits_nothing(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "\n:\n0:\n::::\n0::/a\n5:cpuset,cpus:/z\nno line end");
    put("/sys/fs/cgroup/a/cpu.max", "many\n");
    CHECK_EQ(kiln__cores(root), all());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quota_of_version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quota_of_a_group_above, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quota_of_version_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense_limits_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
