/*
 * times.c - see fleet.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fleet.h"

double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void print_times(double *ns, size_t count, double total_ns, double bytes)
{
    qsort(ns, count, sizeof *ns, compare);
    printf("%.0f %.1f %.1f %.0f\n", (double)count / total_ns * 1e9, ns[count / 2] / 1e3, ns[count * 99 / 100] / 1e3,
           bytes);
}
