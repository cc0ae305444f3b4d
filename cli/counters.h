/*
 * counters.h - the sum of a file that KILN_STATS wrote.
 */
#ifndef KILN_CLI_COUNTERS_H
#define KILN_CLI_COUNTERS_H

#include "cli.h"

struct counter_sums {
    kiln_counters counters;
    uint64_t lines, bad; /* objects, and lines that are none */
};

/* False: it can't be read to its end. */
bool sum_counters(FILE *file, struct counter_sums *out);

#endif
