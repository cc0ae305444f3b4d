/*
 * fft_plan.h - plans of Fourier transforms: what pocketfft computes ahead for one length, kept for the next call.
 *
 * A bounded number is kept, the most recently used; a plan that somebody uses lives until he gives it back. Safe for
 * any number of threads.
 */
#ifndef KILN_RUN_FFT_FFT_PLAN_H
#define KILN_RUN_FFT_FFT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct pocketfft_plan;

enum { KILN_FFT_PLANS = 32, KILN_FFT_PLANNED_NUMBERS = 1 << 21 }; /* together: some 64 MiB at the most */

struct kiln_fft_plan {
    uint32_t refs;
    int n;
    bool is_real;
    struct pocketfft_plan *transform;
};

/* *out is the caller's reference. */
kiln_status kiln__fft_plan_get(int n, bool is_real, struct kiln_fft_plan **out, kiln_error *err);
void kiln__fft_plan_put(struct kiln_fft_plan *plan);

struct kiln_fft_plan_counts {
    uint64_t made; /* since the process started */
    int kept;
    int64_t numbers; /* the lengths of those that are kept */
};

struct kiln_fft_plan_counts kiln__fft_plan_counts(void); /* for tests */

#endif
