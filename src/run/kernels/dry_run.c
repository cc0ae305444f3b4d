/*
 * dry_run.c - see dry_run.h.
 *
 * A variant belongs to its choice until it is published. Threads of the pool only compile; what they compile with is
 * in the choice, since options and current device are the calling thread's. The compiler is always ours: of the
 * client's code only a log callback runs on them. They work for the caller's level of the memo tables
 * (cache/memo/memo_table.h), so that they never wait for the plan that waits for them.
 */
#include "run/kernels/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "cache/kernels/kernel.h"
#include "cache/memo/memo_table.h"
#include "run/cpu/pool.h"

struct kiln_choice {
    struct kiln_group_kernels *kernels;
    struct kiln_variant *variant;
    bool is_made; /* the variant has its kernel */
    kiln_status status;
    kiln_error error;
};

_Thread_local struct kiln_dry_run *kiln__dry_run;

static bool is_same(const struct kiln_choice *choice, const struct kiln_group_kernels *kernels,
                    const struct kiln_variant *variant)
{
    const struct kiln_variant *other = choice->variant;
    bool is_shared = kernels->same && kernels->same == choice->kernels->same;
    return (kernels == choice->kernels || is_shared) && other->device == variant->device &&
           other->flags == variant->flags &&
           memcmp(other->layouts, variant->layouts, kernels->group.operand_count) == 0;
}

static bool make_room(struct kiln_dry_run *dry_run)
{
    if (dry_run->count < dry_run->cap) return true;
    size_t cap = dry_run->cap ? 2 * dry_run->cap : 8;
    struct kiln_choice *choices = realloc(dry_run->choices, cap * sizeof *choices);
    if (!choices) return false;
    dry_run->choices = choices;
    dry_run->cap = cap;
    return true;
}

kiln_status kiln__dry_run_note(struct kiln_group_kernels *kernels, struct kiln_variant *variant, kiln_error *err)
{
    struct kiln_dry_run *dry_run = kiln__dry_run;
    bool is_noted = false;
    for (size_t i = 0; i < dry_run->count && !is_noted; i++) is_noted = is_same(&dry_run->choices[i], kernels, variant);
    if (is_noted || !make_room(dry_run)) {
        kiln__variant_free(variant);
        return is_noted ? KILN_OK : kiln__no_memory(err, "the kernels of a plan");
    }
    dry_run->choices[dry_run->count++] = (struct kiln_choice){.kernels = kernels, .variant = variant};
    return KILN_OK;
}

struct job {
    struct kiln_choice *choices;
    unsigned level;          /* that the caller works for */
    bool only_loads;         /* what is at hand */
    _Atomic bool has_failed; /* the rest is left alone */
};

static kiln_status load(struct kiln_choice *choice)
{
    enum kiln_outcome outcome = kiln__variant_load(choice->kernels, choice->variant, &choice->error);
    return outcome == KILN_MISS ? KILN_WOULD_COMPILE : kiln__outcome_status(outcome, &choice->error);
}

static kiln_status make_at(const struct job *job, struct kiln_choice *choice)
{
    struct kiln_thread *thread = kiln__thread();
    if (!thread) return kiln__no_memory(&choice->error, "a thread record");
    unsigned before = thread->in_flight_level;
    thread->in_flight_level = job->level;
    kiln_status status =
        job->only_loads ? load(choice) : kiln__variant_compile(choice->kernels, choice->variant, &choice->error);
    thread->in_flight_level = before;
    return status;
}

static void make_one(void *context, int64_t i)
{
    struct job *job = context;
    struct kiln_choice *choice = &job->choices[i];
    if (choice->is_made || atomic_load_explicit(&job->has_failed, memory_order_relaxed)) return;
    kiln_status status = make_at(job, choice);
    choice->is_made = !status;
    if (!job->only_loads) choice->status = status;
    if (status) atomic_store_explicit(&job->has_failed, true, memory_order_relaxed);
}

/* Who makes a kernel may hold a lock file, and must wait for no other then (store/lock.h), nor let others wait. Loading
 * a few is done before other threads are awake, which would also have to hear of each page that becomes executable. */
static void make_all(struct job *job, size_t count)
{
    enum { FEW = 16 };
    if (job->level < KILN_LEVEL_KERNEL && !(job->only_loads && count <= FEW))
        kiln__pool_run(make_one, job, (int64_t)count);
    else
        for (size_t i = 0; i < count; i++) make_one(job, (int64_t)i);
}

/* Remotes are asked for all kernels together, so that the plan costs one round trip. A text that can't be printed is
 * found out again, and told, where it is compiled. */
static struct kiln_prefetch *prefetch(const struct kiln_dry_run *dry_run)
{
    kiln_cache *cache = kiln_cache_default();
    if (!kiln__cache_has_remotes(cache) || dry_run->count < 2) return NULL;
    struct kiln_buffer *texts = calloc(dry_run->count, sizeof *texts);
    struct kiln_kernel_text *kernels = calloc(dry_run->count, sizeof *kernels);
    struct kiln_prefetch *prefetch = NULL;
    size_t count = 0;
    for (size_t i = 0; texts && kernels && i < dry_run->count; i++) {
        const struct kiln_choice *choice = &dry_run->choices[i];
        const struct kiln_variant *variant = choice->variant;
        if (choice->is_made || kiln__variant_print(choice->kernels, variant, &texts[i], NULL) || texts[i].failed)
            continue;
        kernels[count++] = (struct kiln_kernel_text){
            variant->device, variant->options, choice->kernels->name, {texts[i].data, texts[i].size}};
    }
    prefetch = kernels ? kiln__kernels_prefetch(cache, kiln_compiler_llvm(), kernels, count) : NULL;
    for (size_t i = 0; texts && i < dry_run->count; i++) kiln__buffer_release(&texts[i]);
    free(texts);
    free(kernels);
    return prefetch;
}

static unsigned level_of_caller(void)
{
    return kiln__this_thread ? kiln__this_thread->in_flight_level : 0;
}

bool kiln__dry_run_load(struct kiln_dry_run *dry_run)
{
    struct job job = {.choices = dry_run->choices, .level = level_of_caller(), .only_loads = true};
    make_all(&job, dry_run->count);
    return !job.has_failed;
}

kiln_status kiln__dry_run_publish(struct kiln_dry_run *dry_run, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < dry_run->count; i++) {
        struct kiln_choice *choice = &dry_run->choices[i];
        if (choice->is_made && choice->variant) {
            kiln__variant_publish(choice->kernels, choice->variant);
            choice->variant = NULL;
        } else if (choice->status && !status) {
            status = choice->status;
            if (err) *err = choice->error;
        }
    }
    return status;
}

kiln_status kiln__dry_run_compile(struct kiln_dry_run *dry_run, kiln_error *err)
{
    struct job job = {.choices = dry_run->choices, .level = level_of_caller()};
    struct kiln_prefetch *prefetched = prefetch(dry_run);
    make_all(&job, dry_run->count);
    kiln__prefetch_end(prefetched);
    return kiln__dry_run_publish(dry_run, err);
}

bool kiln__dry_run_compile_alone(struct kiln_dry_run *dry_run, bool (*goes_on)(const void *context),
                                 const void *context)
{
    struct job job = {.choices = dry_run->choices, .level = level_of_caller()};
    struct kiln_prefetch *prefetched = prefetch(dry_run);
    bool is_done = true;
    for (size_t i = 0; i < dry_run->count && is_done && !job.has_failed; i++) {
        is_done = goes_on(context);
        if (is_done) make_one(&job, (int64_t)i);
    }
    kiln__prefetch_end(prefetched);
    return is_done;
}

void kiln__dry_run_release(struct kiln_dry_run *dry_run)
{
    for (size_t i = 0; i < dry_run->count; i++)
        if (dry_run->choices[i].variant) kiln__variant_free(dry_run->choices[i].variant);
    free(dry_run->choices);
    *dry_run = (struct kiln_dry_run){0};
}

/* ---- several at once --------------------------------------------------------------------------------------------- */

/* Notes what is missing of `flags`; nothing, unless the first of them is, or `all` are asked for. */
static kiln_status note_variants(struct kiln_group_kernels *kernels, const char *layouts, const unsigned *flags,
                                 size_t count, bool all, kiln_kernel_entry *out, kiln_error *err)
{
    kiln_status status = kiln__variant_get(kernels, layouts, flags[0], out, err);
    for (size_t i = 1; i < count && !status && (all || kiln__dry_run->count > 0); i++)
        status = kiln__variant_get(kernels, layouts, flags[i], out, err);
    return status;
}

kiln_status kiln__variants_get(struct kiln_group_kernels *kernels, const char *layouts, const unsigned *flags,
                               size_t count, kiln_kernel_entry *out, kiln_error *err)
{
    struct kiln_dry_run missing = {0};
    if (kiln__dry_run) return note_variants(kernels, layouts, flags, count, true, out, err);
    kiln__dry_run = &missing;
    kiln_status status = note_variants(kernels, layouts, flags, count, false, out, err);
    kiln__dry_run = NULL;
    if (!status && missing.count > 0) status = kiln__dry_run_compile(&missing, err);
    kiln__dry_run_release(&missing);
    return status ? status : kiln__variant_get(kernels, layouts, flags[0], out, err);
}
