/*
 * cores.c - see cores.h.
 *
 * /proc/self/cgroup has a line for each hierarchy, "<number>:<controllers>:<path>". Version 2 is number 0 without
 * controllers and has its quota in cpu.max, version 1 in two files of the controller cpu. A limit of any group on the
 * way to the root holds. In a container the path may be that of the host and not be there: what can't be read limits
 * nothing.
 */
#include "run/cpu/cores.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(out, (int)size, file);
    if (file) fclose(file);
    return is_read;
}

/* Processors' worth of a quota, rounded up; INT_MAX: no limit. */
static int whole(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return INT_MAX;
    long long cores = quota / period + (quota % period != 0);
    return cores < INT_MAX ? (int)cores : INT_MAX;
}

/* "200000 100000", or "max 100000" */
static int quota_2(const char *folder)
{
    char path[PATH_SIZE + 32], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_line(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2 ? whole(quota, period)
                                                                                                 : INT_MAX;
}

static int quota_1(const char *folder)
{
    char path[PATH_SIZE + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota)) return INT_MAX;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, period, sizeof period)) return INT_MAX;
    return whole(atoll(quota), atoll(period));
}

/* The least limit from the group at `path` up to the root of its hierarchy, which is mounted at `mount`. */
static int least(const char *mount, char *path, int (*quota)(const char *folder))
{
    char folder[PATH_SIZE];
    int limit = INT_MAX;
    if (!strcmp(path, "/")) *path = '\0';
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", mount, path);
        int found = quota(folder);
        if (found < limit) limit = found;
        char *slash = strrchr(path, '/');
        if (!slash || !*path) return limit;
        *slash = '\0';
    }
}

static bool has_controller(const char *list, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list, *end = list + size; at < end; at += strcspn(at, ",:") + 1)
        if (strcspn(at, ",:") == length && !strncmp(at, name, length)) return true;
    return false;
}

/* One line of /proc/self/cgroup. */
static int limit_of(const char *root, char *line)
{
    char mount[PATH_SIZE];
    line[strcspn(line, "\n")] = '\0';
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path) return INT_MAX;
    list++, path++;
    if (!strncmp(line, "0::", 3)) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return least(mount, path, quota_2);
    }
    if (!has_controller(list, (size_t)(path - 1 - list), "cpu")) return INT_MAX;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    return least(mount, path, quota_1);
}

static int limit_of_groups(const char *root)
{
    char path[PATH_SIZE], line[PATH_SIZE];
    int limit = INT_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        int found = limit_of(root, line);
        if (found < limit) limit = found;
    }
    if (file) fclose(file);
    return limit;
}

int kiln__cores(const char *root)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    int limit = limit_of_groups(root);
    if (limit < count) count = limit;
    return count < 1 ? 1 : count;
}
