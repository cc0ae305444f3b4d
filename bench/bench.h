/*
 * bench.h - what the parts of the bench share: clocks, medians, rows with the floor they are compared with.
 *
 * A row's floor is the same job done by hand, measured in the same run on the same machine; the ratio says what Kiln
 * adds. Nothing here decides whether a build is good: there are no timed tests.
 */
#ifndef KILN_BENCH_H
#define KILN_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { MAX_SAMPLES = 64 };

struct samples {
    double ns[MAX_SAMPLES];
    int count;
};

struct row {
    const char *name;
    const char *floor_name;
    const char *aim; /* from the design: "40 ns", "0.85 of the floor" */
    double ns, floor_ns;
    double bytes;    /* not 0: shown as GB/s */
    double tokens;   /* not 0: shown as tokens/s */
    bool is_size;    /* ns and floor_ns are bytes, shown as MB */
    bool is_missing; /* it could not be measured; `why` says the reason */
    char why[256];
};

static inline double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void sample_add(struct samples *samples, double ns);
double sample_median(const struct samples *samples);

struct work {
    void (*run)(void *ctx);
    void *ctx;
    double ns; /* the result: median time of one call */
};

/*
 * Fills in the medians of all. The works take turns, sample by sample, so that whatever else the machine does meets
 * all of them alike; `calls` of one make a sample.
 */
void measure(struct work *works, int count, int calls, int repeats);

/* Is the row asked for? --only picks rows whose names hold its words; heavy rows need --all, or to be picked. */
bool is_wanted(const char *name);
bool is_heavy_wanted(const char *name);
/* The row could not be measured. */
void row_fail(struct row *row, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each fills rows and returns how many. */
int bench_look_up(struct row *rows, int repeats);
int bench_signatures(struct row *rows, int repeats);
int bench_processes(struct row *rows, int repeats);
int bench_cold(struct row *rows, int repeats);
int bench_many_kernels(struct row *rows, int repeats);
int bench_disk(struct row *rows, int repeats);
int bench_warm(struct row *rows, int repeats);
int bench_memory(struct row *rows, int repeats);
int bench_plain(struct row *rows, int repeats);
int bench_products(struct row *rows, int repeats);
int bench_fused(struct row *rows, int repeats);
int bench_gradients(struct row *rows, int repeats);
int bench_lasting(struct row *rows, int repeats);
int bench_growth(struct row *rows, int repeats);
int bench_model(struct row *rows, int repeats);

/* What the other processes of the bench do: each fills in up to three numbers, which are printed on stdout; false:
 * there is no such phase here, or it failed. */
bool processes_phase(const char *phase, double out[3]);
bool cold_phase(const char *phase, double out[3]);
bool disk_phase(const char *phase, double out[3]);
bool plain_phase(const char *phase, double out[3]);
bool model_phase(const char *phase, double out[3]);

#endif
