/*
 * fft_plan.c - see fft_plan.h. A short list, the most recently used first, under one lock; plans are made and freed
 * without it. `refs` counts the list as one.
 */
#include "run/fft/fft_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/process/fork.h"
#include "pocketfft/pocketfft.h"

KILN_LEAF_LOCK(lock); /* guards all below, and the refs of all plans */
static struct kiln_fft_plan *kept[KILN_FFT_PLANS];
static struct kiln_fft_plan_counts counts;

static void free_plan(struct kiln_fft_plan *plan)
{
    if (!plan) return;
    pocketfft_free(plan->transform);
    free(plan);
}

/* Under the lock. Who gets the last reference frees the plan, after it. */
static struct kiln_fft_plan *unref_locked(struct kiln_fft_plan *plan)
{
    return --plan->refs ? NULL : plan;
}

/* Under the lock: puts it in front. */
static void move_to_front(int at)
{
    struct kiln_fft_plan *plan = kept[at];
    memmove(&kept[1], &kept[0], (size_t)at * sizeof *kept);
    kept[0] = plan;
}

static struct kiln_fft_plan *find_locked(int n, bool is_real)
{
    for (int i = 0; i < counts.kept; i++)
        if (kept[i]->n == n && kept[i]->is_real == is_real) {
            move_to_front(i);
            kept[0]->refs++;
            return kept[0];
        }
    return NULL;
}

/* Under the lock: takes the last one off the list; to be freed, or NULL. */
static struct kiln_fft_plan *evict_locked(void)
{
    struct kiln_fft_plan *last = kept[--counts.kept];
    counts.numbers -= last->n;
    return unref_locked(last);
}

/* Under the lock. `evicted` gets what is to be freed. A plan that is too long for the list stays off it. */
static int keep_locked(struct kiln_fft_plan *plan, struct kiln_fft_plan *evicted[KILN_FFT_PLANS])
{
    int count = 0;
    if (plan->n > KILN_FFT_PLANNED_NUMBERS) return 0;
    while (counts.kept == KILN_FFT_PLANS || counts.numbers + plan->n > KILN_FFT_PLANNED_NUMBERS)
        evicted[count++] = evict_locked();
    kept[counts.kept++] = plan;
    counts.numbers += plan->n;
    plan->refs++;
    move_to_front(counts.kept - 1);
    return count;
}

static struct kiln_fft_plan *make_plan(int n, bool is_real)
{
    struct kiln_fft_plan *plan = malloc(sizeof *plan);
    if (!plan) return NULL;
    *plan = (struct kiln_fft_plan){1, n, is_real, pocketfft_new((size_t)n, is_real)};
    if (plan->transform) return plan;
    free(plan);
    return NULL;
}

kiln_status kiln__fft_plan_get(int n, bool is_real, struct kiln_fft_plan **out, kiln_error *err)
{
    struct kiln_fft_plan *evicted[KILN_FFT_PLANS];
    pthread_mutex_lock(&lock);
    struct kiln_fft_plan *plan = find_locked(n, is_real);
    pthread_mutex_unlock(&lock);
    if (!plan) {
        struct kiln_fft_plan *made = make_plan(n, is_real);
        if (!made) return kiln__no_memory(err, "the plan of a Fourier transform");
        pthread_mutex_lock(&lock);
        counts.made++;
        plan = find_locked(n, is_real); /* another thread may have been faster */
        int count = plan ? 0 : keep_locked(made, evicted);
        pthread_mutex_unlock(&lock);
        if (plan)
            free_plan(made);
        else
            plan = made;
        for (int i = 0; i < count; i++) free_plan(evicted[i]);
    }
    *out = plan;
    return KILN_OK;
}

void kiln__fft_plan_put(struct kiln_fft_plan *plan)
{
    pthread_mutex_lock(&lock);
    struct kiln_fft_plan *last = unref_locked(plan);
    pthread_mutex_unlock(&lock);
    free_plan(last);
}

struct kiln_fft_plan_counts kiln__fft_plan_counts(void)
{
    pthread_mutex_lock(&lock);
    struct kiln_fft_plan_counts out = counts;
    pthread_mutex_unlock(&lock);
    return out;
}
