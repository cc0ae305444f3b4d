/*
 * process_id.c - see process_id.h. What can't be read from /proc makes a process look alive: nobody acts on a guess.
 */
#include "base/process/process_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"

enum { HOST_DIGITS = 16 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char host[HOST_DIGITS + 1]; /* all zeros when it can't be told: no process is known to be of it then */

static bool read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0) close(fd);
    if (got <= 0) return false;
    out[got] = '\0';
    return true;
}

static void find_host(void)
{
    char text[256] = "", names[128] = "", hex[KILN_DIGEST_HEX];
    memset(host, '0', HOST_DIGITS);
    if (!read_text("/proc/sys/kernel/random/boot_id", text, 128)) return;
    if (readlink("/proc/self/ns/pid", names, sizeof names - 1) <= 0) return;
    strcat(text, names);
    struct kiln_digest digest = kiln__digest(text, strlen(text));
    kiln__digest_hex(&digest, hex);
    memcpy(host, hex, HOST_DIGITS);
}

/* State and start time of a process; false when they can't be read. The name before them may hold anything but ends in
 * ')'. */
static bool look_at(long pid, char *state, unsigned long long *start)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!read_text(path, text, sizeof text)) return false;
    const char *field = strrchr(text, ')');
    if (!field || field[1] != ' ') return false;
    *state = field[2];
    field += 2;
    for (int number = 3; number < 22 && field; number++) { /* 3: the state; 22: the start, in ticks since boot */
        field = strchr(field, ' ');
        if (field) field++;
    }
    return field && sscanf(field, "%llu", start) == 1;
}

/* The first thread of a process may end before the others: it then looks like a process that ended. */
static bool has_other_threads(long pid)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));) count += entry->d_name[0] != '.';
    if (threads) closedir(threads);
    return count > 1;
}

void kiln__process_text(char out[KILN_PROCESS_TEXT])
{
    char state;
    unsigned long long start = 0;
    pthread_once(&once, find_host);
    if (!look_at((long)getpid(), &state, &start)) start = 0;
    snprintf(out, KILN_PROCESS_TEXT, "%s-%ld-%llu", host, (long)getpid(), start);
}

bool kiln__process_is_gone(const char *text)
{
    char state, *end;
    unsigned long long start, now_start;
    pthread_once(&once, find_host);
    if (strspn(host, "0") == HOST_DIGITS || strncmp(text, host, HOST_DIGITS) || text[HOST_DIGITS] != '-') return false;
    long pid = strtol(text + HOST_DIGITS + 1, &end, 10);
    if (pid <= 0 || *end != '-') return false;
    start = strtoull(end + 1, &end, 10);
    if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
    if (!look_at(pid, &state, &now_start)) return false;
    if (start != 0 && start != now_start) return true;
    return (state == 'Z' || state == 'X') && !has_other_threads(pid);
}
