/*
 * report_bandwidth.c - what this machine's memory gives: the best of several passes of all cores over arrays that no
 * cache holds, half of it read and half written.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

enum { BYTES = 64 << 20, PASSES = 3, MOST_THREADS = 64 };

struct part {
    pthread_t thread;
    char *to;
    const char *from;
    size_t size;
};

static void *copy(void *context)
{
    const struct part *part = context;
    memcpy(part->to, part->from, part->size);
    return NULL;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double pass(char *to, const char *from, unsigned threads)
{
    struct part parts[MOST_THREADS];
    double start = now_s();
    unsigned started = 0;
    size_t size = BYTES / threads;
    for (; started < threads; started++) {
        parts[started] = (struct part){.to = to + started * size, .from = from + started * size, .size = size};
        if (pthread_create(&parts[started].thread, NULL, copy, &parts[started])) break;
    }
    for (unsigned i = 0; i < started; i++) pthread_join(parts[i].thread, NULL);
    return started ? 2.0 * (double)size * started / (now_s() - start) : 0;
}

double report_bandwidth(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores;
    char *to = malloc(BYTES), *from = malloc(BYTES);
    double best = 0;
    if (to && from) {
        memset(from, 1, BYTES);
        memset(to, 2, BYTES);
        for (int i = 0; i < PASSES; i++) {
            double bytes = pass(to, from, threads);
            if (bytes > best) best = bytes;
        }
    }
    free(to);
    free(from);
    return best;
}
