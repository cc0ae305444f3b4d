/*
 * compiled.c - see compiled.h. A call follows the recipe of cache/call.h, and then runs the plan or returns one lazy
 * node. The steps of a miss:
 *
 *     trace -> captured arrays ready -> simplify -> push views -> fuse -> plan -> its kernels: at hand, or compiled
 *
 * Kernels that are not at hand are compiled side by side while the call waits; or, where the kernels of the operations
 * are at hand, in the background, while a plan of those serves (run/background.h).
 *
 * A shapeless function is traced for dtypes and ranks alone, and that trace is kept as a record. For a plan, replaying
 * the record takes the place of the trace.
 *
 * A plan is pinned by this thread's hazard pointer while it runs, so a hit writes nothing that another thread reads.
 */
#include "run/compiled.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/process/fork.h"
#include "base/process/timeline.h"
#include "cache/audit.h"
#include "cache/call.h"
#include "graph/default_device.h"
#include "graph/marking.h"
#include "run/background.h"
#include "run/eval.h"
#include "run/placement.h"
#include "run/plan.h"
#include "run/trace_audit.h"

struct kiln_compiled {
    _Atomic uint32_t refs;
    bool shapeless;
    bool uses_name;
    struct kiln_memo_table memo;    /* signature -> plan */
    struct kiln_memo_table records; /* of a shapeless function: dtypes and ranks -> struct record */
    kiln_callback callback;
    void *payload;
    void (*free_payload)(void *payload);
    struct kiln_kernel_set kernels;     /* of all its plans */
    struct kiln_trace_texts texts;      /* when audited */
    struct kiln_compiled *next, **link; /* all compiled functions */
    char name[];
};

/* What a shapeless function gave when it was traced; plans for sizes at hand are made from it. */
struct record {
    _Atomic uint32_t refs;
    struct kiln_tape *tape;
};

enum {
    SHAPES = 256
}; /* plans of a shapeless function that are kept: making one again needs no trace and no compiler */

KILN_LEAF_LOCK(lock); /* guards the list of all */
static struct kiln_compiled *all;

static _Atomic int compile_mode = KILN_COMPILE_ENABLED;

int kiln__compile_mode(void)
{
    return atomic_load_explicit(&compile_mode, memory_order_relaxed);
}

void kiln__set_compile_mode(int mode)
{
    atomic_store_explicit(&compile_mode, mode, memory_order_relaxed);
}

static void keep_plan(void *plan)
{
    kiln__plan_ref(plan);
}

static void keep_record(void *value)
{
    struct record *record = value;
    atomic_fetch_add_explicit(&record->refs, 1, memory_order_relaxed);
}

static void drop_record(void *value)
{
    struct record *record = value;
    if (!record || atomic_fetch_sub_explicit(&record->refs, 1, memory_order_acq_rel) != 1) return;
    kiln__tape_free(record->tape);
    free(record);
}

/* ---- life ----------------------------------------------------------------------------------------------------- */

/* What is dropped and needs a trace to come back is counted. */
static void bound_results(struct kiln_compiled *compiled, struct kiln_cache *cache)
{
    size_t shapes = cache->max_results && cache->max_results < SHAPES ? cache->max_results : SHAPES;
    struct kiln_memo_table *traced = compiled->shapeless ? &compiled->records : &compiled->memo;
    kiln__memo_bound(traced, cache->max_results, compiled->name, &cache->counts.evictions);
    if (compiled->shapeless) kiln__memo_bound(&compiled->memo, shapes, compiled->name, NULL);
}

kiln_status kiln__compiled_new(const char *name, kiln_callback callback, void *payload, void (*free_payload)(void *),
                               bool shapeless, struct kiln_compiled **out, kiln_error *err)
{
    kiln_cache *cache = kiln_cache_default();
    struct kiln_compiled *compiled = calloc(1, sizeof *compiled + strlen(name) + 1);
    if (!cache || !compiled) {
        free(compiled);
        return kiln__no_memory(err, "a compiled function");
    }
    atomic_init(&compiled->refs, 1);
    compiled->shapeless = shapeless;
    compiled->callback = callback;
    compiled->payload = payload;
    compiled->free_payload = free_payload;
    strcpy(compiled->name, name);
    kiln__memo_init(&compiled->memo, cache->index, KILN_LEVEL_CALL, kiln__plan_unref);
    compiled->memo.keep = keep_plan;
    kiln__memo_init(&compiled->records, cache->index, KILN_LEVEL_RECORD, drop_record);
    compiled->records.acquire = keep_record;
    bound_results(compiled, cache);
    pthread_mutex_lock(&lock);
    compiled->next = all;
    compiled->link = &all;
    if (all) all->link = &compiled->next;
    all = compiled;
    pthread_mutex_unlock(&lock);
    *out = compiled;
    return KILN_OK;
}

void kiln__compiled_use_name(struct kiln_compiled *compiled)
{
    compiled->uses_name = true;
}

void kiln__compiled_ref(struct kiln_compiled *compiled)
{
    atomic_fetch_add_explicit(&compiled->refs, 1, memory_order_relaxed);
}

void kiln__compiled_unref(struct kiln_compiled *compiled)
{
    if (!compiled || atomic_fetch_sub_explicit(&compiled->refs, 1, memory_order_acq_rel) != 1) return;
    pthread_mutex_lock(&lock);
    *compiled->link = compiled->next;
    if (compiled->next) compiled->next->link = compiled->link;
    pthread_mutex_unlock(&lock);
    kiln__memo_release(&compiled->memo);
    kiln__memo_release(&compiled->records);
    kiln__kernel_set_release(&compiled->kernels);
    kiln__trace_texts_release(&compiled->texts);
    if (compiled->free_payload) compiled->free_payload(compiled->payload);
    free(compiled);
}

/* Records first: a call that still finds one has begun before plans are cleared, and its plan is found no more. */
void kiln__compiled_clear(struct kiln_compiled *compiled)
{
    kiln__memo_clear(&compiled->records);
    kiln__memo_clear(&compiled->memo);
}

/* A reference, unless the last one has gone already. */
static bool try_ref(struct kiln_compiled *compiled)
{
    uint32_t refs = atomic_load_explicit(&compiled->refs, memory_order_relaxed);
    while (refs && !atomic_compare_exchange_weak_explicit(&compiled->refs, &refs, refs + 1, memory_order_acquire,
                                                          memory_order_relaxed)) {
    }
    return refs != 0;
}

/* References to all functions; NULL: out of memory. */
static struct kiln_compiled **list_all(size_t *count)
{
    size_t size = 0;
    pthread_mutex_lock(&lock);
    for (const struct kiln_compiled *compiled = all; compiled; compiled = compiled->next) size++;
    struct kiln_compiled **list = malloc((size + 1) * sizeof *list);
    *count = 0;
    for (struct kiln_compiled *compiled = all; compiled && list; compiled = compiled->next)
        if (try_ref(compiled)) list[(*count)++] = compiled;
    pthread_mutex_unlock(&lock);
    return list;
}

/* Without the lock: what a plan holds may run code of the user's when it goes. */
kiln_status kiln__compiled_clear_all(kiln_error *err)
{
    size_t count;
    struct kiln_compiled **list = list_all(&count);
    if (!list) return kiln__no_memory(err, "the list of compiled functions");
    for (size_t i = 0; i < count; i++) {
        kiln__compiled_clear(list[i]);
        kiln__compiled_unref(list[i]);
    }
    free(list);
    return KILN_OK;
}

static bool is_same(const struct kiln_compiled *compiled, const struct kiln_compiled_id *id)
{
    return compiled == id->compiled && compiled->memo.id == id->memo;
}

/* With the lock held. */
static struct kiln_compiled *find_by_id(const struct kiln_compiled_id *id)
{
    struct kiln_compiled *compiled = all;
    while (compiled && !is_same(compiled, id)) compiled = compiled->next;
    return compiled;
}

bool kiln__compiled_is_there(const struct kiln_compiled_id *id)
{
    pthread_mutex_lock(&lock);
    bool is_there = find_by_id(id) != NULL;
    pthread_mutex_unlock(&lock);
    return is_there;
}

bool kiln__compiled_swap(const struct kiln_compiled_id *id, const struct kiln_signature *signature,
                         const struct kiln_plan *from, struct kiln_plan *to)
{
    pthread_mutex_lock(&lock);
    struct kiln_compiled *compiled = find_by_id(id);
    bool is_held = compiled && try_ref(compiled);
    pthread_mutex_unlock(&lock);
    if (!is_held) return false;
    kiln__plan_ref(to);
    bool is_swapped = kiln__memo_swap(&compiled->memo, signature, from, to);
    if (!is_swapped) kiln__plan_unref(to);
    kiln__compiled_unref(compiled);
    return is_swapped;
}

/* ---- outputs -------------------------------------------------------------------------------------------------- */

void kiln__output_list_release(struct kiln_output_list *list)
{
    for (size_t i = 0; i < list->count; i++) kiln__array_unref(list->arrays[i]);
    if (list->arrays != list->few) free(list->arrays);
    list->count = 0;
    list->arrays = list->few;
}

static kiln_status make_room(struct kiln_output_list *list, size_t count, kiln_error *err)
{
    bool fits = count <= sizeof list->few / sizeof *list->few;
    list->arrays = fits ? list->few : malloc(count * sizeof *list->arrays);
    return list->arrays ? KILN_OK : kiln__no_memory(err, "the outputs of a call");
}

/* ---- keys ----------------------------------------------------------------------------------------------------- */

/* dtype, rank, and, if asked for, dims, two to a word. */
static void sign_input(struct kiln_signature *signature, const struct kiln_array *array, bool with_dims)
{
    uint32_t ndim = array->ndim, count = with_dims ? (ndim + 1) / 2 : 0;
    uint64_t *words = kiln__signature_grow(signature, 1 + count);
    if (!words) return;
    words[0] = kiln__item(KILN_ITEM_ARRAY, (uint32_t)array->dtype << 8 | ndim, count);
    if (!count) return;
    words[count] = 0;
    memcpy(words + 1, array->dims, ndim * sizeof *array->dims);
}

/* ---- a miss --------------------------------------------------------------------------------------------------- */

struct arguments {
    struct kiln_compiled *compiled;
    struct kiln_array *const *inputs;
    size_t count;
    kiln_device *device; /* of the key */
    const bool *donated; /* NULL: no input is */
};

struct miss {
    struct kiln_call call; /* first: a kiln_call * is a struct miss * */
    const struct arguments *arguments;
    struct kiln_better_plan better; /* that is to take the place of the plan that was made; has plans, or is empty */
};

/* Scalars are read by the passes to come, on the CPU. */
static kiln_status bring_scalar_here(struct kiln_array **array, kiln_error *err)
{
    struct kiln_array *here = NULL;
    if ((*array)->size != 1 || kiln__array_device_index(*array) == 0) return KILN_OK;
    kiln_status status = kiln__array_at(*array, 0, &here, err);
    if (status) return status;
    kiln__array_unref(*array);
    *array = here;
    return KILN_OK;
}

/* Captured arrays are computed once, here, and then belong to the plan. */
static kiln_status make_constants_ready(const struct kiln_tape *tape, kiln_error *err)
{
    for (uint32_t i = 0; i < tape->count; i++) {
        struct kiln_array **array = &tape->values[i].array;
        if (!*array) continue;
        kiln_status status = kiln__array_is_ready(*array) ? KILN_OK : kiln__eval(array, 1, err);
        if (!status) status = bring_scalar_here(array, err);
        if (status) return status;
    }
    return KILN_OK;
}

static kiln_status plan_from_tape(struct kiln_tape *tape, struct kiln_kernel_set *kernels, struct kiln_plan **out,
                                  kiln_error *err)
{
    enum {
        MEMBERS = 256
    }; /* of one kernel; a longer chain becomes several kernels, since compile time grows faster than linearly */
    int mode = kiln__compile_mode();
    uint64_t recorded_ns = kiln__timeline_begin();
    kiln_status status = make_constants_ready(tape, err);
    if (!status && mode == KILN_COMPILE_NO_SIMPLIFY) kiln__tape_mark(tape);
    if (!status && mode != KILN_COMPILE_NO_SIMPLIFY) status = kiln__tape_simplify(tape, err);
    if (!status && mode == KILN_COMPILE_ENABLED) status = kiln__tape_push_views(tape, err);
    if (!status) status = kiln__tape_fuse(tape, mode == KILN_COMPILE_NO_FUSE ? 1 : MEMBERS, err);
    if (!status) status = kiln__plan_new(tape, kernels, out, err);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "plan",
                                                         .function = tape->name,
                                                         .outcome = status ? "failed" : NULL,
                                                         .count = status ? 0 : (*out)->step_count});
    return status;
}

/* Captured arrays are made ready first, so that their elements are part of the text. */
static kiln_status print_trace(const struct kiln_compiled *compiled, const struct kiln_tape *tape,
                               struct kiln_buffer *text, kiln_error *err)
{
    kiln_status status = make_constants_ready(tape, err);
    if (!status) kiln__tape_print(tape, compiled->shapeless, text);
    return status;
}

/* Calls the function, on placeholders. */
static kiln_status trace(const struct arguments *arguments, struct kiln_tape **out, kiln_error *err)
{
    const struct kiln_compiled *compiled = arguments->compiled;
    const struct kiln_traced function = {.callback = compiled->callback,
                                         .payload = compiled->payload,
                                         .name = compiled->uses_name ? compiled->name : NULL,
                                         .shapeless = compiled->shapeless};
    struct kiln_cache *cache = kiln_cache_default();
    uint64_t start = kiln__clock_ns(), recorded_ns = kiln__timeline_begin();
    kiln_status status = kiln__trace_function(&function, arguments->inputs, arguments->count, out, err);
    kiln__add(&cache->counts.traces, 1);
    kiln__add(&cache->counts.trace_ns, kiln__clock_ns() - start);
    kiln__timeline_end(
        recorded_ns,
        &(struct kiln_event){.kind = "trace", .function = compiled->name, .outcome = status ? "failed" : NULL});
    return status;
}

static enum kiln_outcome make_record(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    const struct miss *miss = context;
    struct kiln_tape *tape = NULL;
    struct record *record = NULL;
    kiln_status status = trace(miss->arguments, &tape, err);
    if (!status) status = make_constants_ready(tape, err);
    if (!status && !(record = calloc(1, sizeof *record))) status = kiln__no_memory(err, "a trace");
    if (status) {
        kiln__tape_free(tape);
        return kiln__outcome(status, err);
    }
    atomic_init(&record->refs, 1);
    record->tape = tape;
    *value = record;
    return KILN_DONE;
}

static const struct kiln_call_steps record_steps = {
    .maker = "the function", .explain = kiln__call_explain, .make = make_record};

/* A miss in `memo`. */
static struct miss miss_of(const struct arguments *arguments, const struct kiln_call_steps *steps,
                           struct kiln_memo_table *memo, const struct kiln_signature *signature, bool is_counted)
{
    const struct kiln_call call = {.steps = steps,
                                   .cache = kiln_cache_default(),
                                   .memo = memo,
                                   .signature = signature,
                                   .name = arguments->compiled->name,
                                   .is_counted = is_counted};
    return (struct miss){.call = call, .arguments = arguments};
}

/* A reference to what the function gave for these dtypes and ranks. A part of the call that needs a plan. */
static kiln_status find_or_make_record(struct miss *of_plan, struct record **out, kiln_error *err)
{
    const struct arguments *arguments = of_plan->arguments;
    struct kiln_memo_table *records = &arguments->compiled->records;
    struct kiln_signature signature;
    kiln__memo_begin(records, arguments->device, &signature);
    for (size_t i = 0; i < arguments->count; i++) sign_input(&signature, arguments->inputs[i], false);
    enum kiln_outcome outcome = signature.status ? kiln__outcome(kiln__no_memory(err, "a call key"), err) : KILN_DONE;
    void *record = kiln__memo_peek(records, &signature);
    struct miss miss = miss_of(arguments, &record_steps, records, &signature, true);
    if (!record && outcome == KILN_DONE) outcome = kiln__call_make(&miss.call, &record, err);
    kiln__signature_release(&signature);
    of_plan->call.is_from_kept = outcome == KILN_DONE && !miss.call.is_made;
    *out = record;
    return kiln__outcome_status(outcome, err);
}

/* The tape for the sizes at hand, and the text that an audit compares with. */
static kiln_status tape_from_record(struct miss *miss, struct kiln_tape **out, struct kiln_buffer *text,
                                    kiln_error *err)
{
    struct record *record = NULL;
    kiln_status status = find_or_make_record(miss, &record, err);
    if (status) return status;
    const struct arguments *arguments = miss->arguments;
    if (arguments->compiled->memo.audited) kiln__tape_print(record->tape, true, text);
    status = kiln__tape_replay(record->tape, arguments->inputs, arguments->count, out, err);
    drop_record(record);
    return status;
}

/* ---- the kernels of a new plan --------------------------------------------------------------------------------- */

/* A plan of operations as they run outside of traces, if all their kernels are at hand. NULL: something is missing. */
static struct kiln_plan *unfused_plan(struct kiln_tape *tape, struct kiln_array *const *inputs)
{
    struct kiln_plan *plan = NULL;
    struct kiln_dry_run needed = {0};
    bool is_complete = false;
    kiln__tape_unfuse(tape);
    kiln_status status = kiln__plan_new(tape, NULL, &plan, NULL);
    if (!status) status = kiln__plan_load(plan, inputs, &needed, &is_complete, NULL);
    if (!status && is_complete) status = kiln__dry_run_publish(&needed, NULL);
    kiln__dry_run_release(&needed);
    if (!status && is_complete) {
        plan->traits |= KILN_PLAN_UNFUSED;
        return plan;
    }
    kiln__plan_unref(plan);
    return NULL;
}

/* An audit compares texts that belong to one plan, and who fills a cache wants all of it now. */
static bool may_serve_unfused(const struct kiln_compiled *compiled)
{
    return !compiled->memo.audited && kiln_cache_default()->mode != KILN_MODE_COMPILE_ONLY && kiln__background_is_on();
}

/*
 * Kernels for *plan. Where it would have to wait for the compiler, *plan may become one that is not fused; the fused
 * one then goes to `better`, if there is a compiler.
 */
static kiln_status prepare_plan(struct miss *miss, struct kiln_tape *tape, struct kiln_plan **plan, kiln_error *err)
{
    struct kiln_array *const *inputs = miss->arguments->inputs;
    struct kiln_compiled *compiled = miss->arguments->compiled;
    if (!may_serve_unfused(compiled)) return kiln__plan_prepare(*plan, inputs, err);
    struct kiln_dry_run missing = {0};
    bool is_complete = false;
    struct kiln_plan *unfused = NULL;
    kiln_status status = kiln__plan_load(*plan, inputs, &missing, &is_complete, err);
    if (!status && !is_complete) unfused = unfused_plan(tape, inputs);
    if (!status && !unfused) status = kiln__dry_run_compile(&missing, err);
    if (unfused && kiln_cache_default()->mode == KILN_MODE_NO_COMPILE) {
        kiln__plan_unref(*plan);
    } else if (unfused) {
        kiln__plan_ref(unfused);
        miss->better = (struct kiln_better_plan){.unfused = unfused,
                                                 .fused = *plan,
                                                 .missing = missing,
                                                 .owner = {compiled, compiled->memo.id},
                                                 .signature = miss->call.signature};
        missing = (struct kiln_dry_run){0};
    }
    if (unfused) {
        unfused->is_shapeless = compiled->shapeless;
        *plan = unfused;
    }
    kiln__dry_run_release(&missing);
    return status;
}

/* The plan can be found now, and so can what takes its place. A plan that another thread was first with is not ours. */
static void begin_background(struct miss *miss, const void *plan)
{
    struct kiln_better_plan *better = &miss->better;
    if (!better->fused) return;
    if (plan != better->unfused || !kiln__background_compile(better)) kiln__dry_run_release(&better->missing);
    kiln__plan_unref(better->fused);
    kiln__plan_unref(better->unfused);
}

static enum kiln_outcome make_plan(void *context, void **value, struct kiln_read_record **reads, kiln_error *err)
{
    (void)reads;
    struct miss *miss = context;
    struct kiln_compiled *compiled = miss->arguments->compiled;
    bool audited = compiled->memo.audited;
    struct kiln_tape *tape = NULL;
    struct kiln_plan *plan = NULL;
    struct kiln_buffer text = {0};
    kiln_status status =
        compiled->shapeless ? tape_from_record(miss, &tape, &text, err) : trace(miss->arguments, &tape, err);
    if (!status && audited && !compiled->shapeless) status = print_trace(compiled, tape, &text, err);
    if (!status) status = plan_from_tape(tape, &compiled->kernels, &plan, err);
    if (!status) plan->is_shapeless = compiled->shapeless;
    if (!status) status = prepare_plan(miss, tape, &plan, err);
    if (!status) kiln__plan_place_constants(plan);
    if (!status && audited) kiln__trace_text_keep(&compiled->texts, plan, &text);
    kiln__buffer_release(&text);
    kiln__tape_free(tape);
    if (status) {
        kiln__plan_unref(plan);
        return kiln__outcome(status, err);
    }
    *value = plan;
    return KILN_DONE;
}

/* Traces again and compares. */
static void audit(struct kiln_call *call, void *plan)
{
    const struct arguments *arguments = ((struct miss *)call)->arguments;
    struct kiln_compiled *compiled = arguments->compiled;
    struct kiln_tape *tape = NULL;
    struct kiln_buffer text = {0}, difference = {0};
    kiln_error error = {KILN_OK, ""};
    kiln_status status = trace(arguments, &tape, &error);
    if (!status) status = print_trace(compiled, tape, &text, &error);
    if (status)
        kiln__buffer_printf(&difference, "tracing again failed: %s", error.text);
    else
        kiln__trace_text_compare(&compiled->texts, plan, &text, &difference);
    kiln__audit_report(compiled->name, difference.size ? (const char *)difference.data : NULL);
    kiln__tape_free(tape);
    kiln__buffer_release(&text);
    kiln__buffer_release(&difference);
}

static const struct kiln_call_steps plan_steps = {
    .maker = "the function", .explain = kiln__call_explain, .make = make_plan, .audit = audit};
/* Of a shapeless function, the miss of the record is the one to explain. */
static const struct kiln_call_steps shapeless_plan_steps = {.maker = "the function", .make = make_plan, .audit = audit};

/* ---- the call ------------------------------------------------------------------------------------------------- */

/* Would it copy what it could consume if the caller let go of it first? */
static bool should_wait(const struct kiln_plan *plan, const bool *donated)
{
    for (uint32_t i = 0; plan->traits & KILN_PLAN_CONSUMES && i < plan->step_count; i++)
        if (plan->steps[i].consumes && !(donated && donated[plan->steps[i].inputs[0]])) return true;
    return false;
}

/* May it run at once? Most plans have no traits, and are not asked. */
__attribute__((noinline)) static bool look_at_traits(const struct kiln_plan *plan, const bool *donated)
{
    if (plan->traits & KILN_PLAN_UNFUSED) kiln__background_called();
    return !should_wait(plan, donated);
}

static kiln_status run_plan(struct kiln_plan *plan, const struct arguments *arguments, struct kiln_output_list *out,
                            kiln_error *err)
{
    struct kiln_array *const *inputs = arguments->inputs;
    kiln_status status = make_room(out, plan->output_count, err);
    if (status) return status;
    bool at_once = plan->device_index || plan->work <= KILN_RUN_AT_ONCE; /* a GPU only starts it */
    for (size_t i = 0; i < arguments->count && at_once; i++) at_once = kiln__array_is_ready(inputs[i]);
    if (__builtin_expect(plan->traits != 0, 0)) at_once &= look_at_traits(plan, arguments->donated);
    status = at_once ? kiln__plan_run_donated(plan, inputs, arguments->donated, out->arrays, err)
                     : kiln__plan_defer(plan, inputs, out->arrays, err);
    if (!status)
        out->count = plan->output_count;
    else
        kiln__output_list_release(out);
    return status;
}

/* Inside a trace or a transform: the function itself, so that it becomes part of that. */
static kiln_status call_plainly(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                struct kiln_output_list *out, kiln_error *err)
{
    size_t output_count = 0;
    struct kiln_array **outputs = NULL;
    kiln_status status = compiled->callback(compiled->payload, inputs, count, &outputs, &output_count, err);
    if (status) return status;
    out->arrays = outputs ? outputs : out->few;
    out->count = output_count;
    return KILN_OK;
}

static kiln_status check_inputs(struct kiln_array *const *inputs, size_t count, kiln_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (inputs[i]->trace)
            return kiln__fail(err, KILN_INVALID, "[compile] Input %zu belongs to a trace that has ended.", i);
    return KILN_OK;
}

/* Before code of the user's runs: it may free the last handle. A hit runs none, and so writes to no count. */
static void hold(struct kiln_compiled *compiled, bool *held)
{
    if (!*held) kiln__compiled_ref(compiled);
    *held = true;
}

/* The look-up gave nothing. `is_counted`: this is another try of a call that was counted. */
__attribute__((noinline)) static kiln_status audit_or_make_plan(const struct arguments *arguments,
                                                                const struct kiln_signature *signature, bool is_counted,
                                                                void **plan, kiln_error *err)
{
    struct kiln_compiled *compiled = arguments->compiled;
    const struct kiln_call_steps *steps = compiled->shapeless ? &shapeless_plan_steps : &plan_steps;
    struct miss miss = miss_of(arguments, steps, &compiled->memo, signature, is_counted);
    kiln_error error = {KILN_OK, ""};
    enum kiln_outcome outcome = kiln__call_make(&miss.call, plan, &error);
    begin_background(&miss, outcome == KILN_DONE ? *plan : NULL);
    if (outcome != KILN_DONE && err) *err = error;
    return kiln__outcome_status(outcome, &error);
}

static kiln_status refuse_key(bool is_counted, kiln_error *err)
{
    if (!is_counted) kiln__call_failed(kiln_cache_default());
    return kiln__no_memory(err, "a call key");
}

static kiln_status find_or_make_plan(const struct arguments *arguments, const struct kiln_signature *signature,
                                     bool is_counted, bool *held, void **plan, kiln_error *err)
{
    struct kiln_memo_table *memo = &arguments->compiled->memo;
    if (__builtin_expect(signature->status, 0)) return refuse_key(is_counted, err);
    *plan = is_counted ? kiln__memo_peek(memo, signature) : kiln__memo_lookup(memo, signature);
    if (__builtin_expect(*plan != NULL, 1)) return KILN_OK;
    hold(arguments->compiled, held);
    return audit_or_make_plan(arguments, signature, is_counted, plan, err);
}

static kiln_status call_plan(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                             const bool *donated, bool *held, struct kiln_output_list *out, kiln_error *err)
{
    struct kiln_signature signature;
    void *plan = NULL;
    kiln_device *device = NULL; /* the default one, if it is a GPU: what a trace does without a stream runs there */
    uint32_t device_index = kiln__default_device_index();
    kiln_status status = check_inputs(inputs, count, err);
    if (!status && device_index) status = kiln__device_at_index(device_index, &device, err);
    const struct arguments arguments = {compiled, inputs, count, device, donated};
    bool pinned = false, is_counted = false;
    while (!status && !pinned) { /* again when the plan was dropped before it could be pinned */
        kiln__memo_begin(&compiled->memo, device, &signature);
        for (size_t i = 0; i < count; i++) sign_input(&signature, inputs[i], true);
        status = find_or_make_plan(&arguments, &signature, is_counted, held, &plan, err);
        if (!status) pinned = kiln__memo_pin(&compiled->memo, &signature, plan);
        if (!status && !pinned) kiln__memo_unpin();
        is_counted = true;
        kiln__signature_release(&signature);
    }
    if (status) return status;
    status = run_plan(plan, &arguments, out, err);
    kiln__memo_unpin();
    return status;
}

kiln_status kiln__compiled_call_donating(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                         const bool *donated, struct kiln_output_list *out, kiln_error *err)
{
    out->count = 0;
    out->arrays = out->few;
    bool held = false;
    kiln_status status;
    if (__builtin_expect(kiln__trace_running() || kiln__marking_runs(), 0)) {
        hold(compiled, &held);
        status = call_plainly(compiled, inputs, count, out, err);
    } else {
        status = call_plan(compiled, inputs, count, donated, &held, out, err);
    }
    if (__builtin_expect(status != KILN_OK, 0) && compiled->uses_name) kiln__fail_as(err, status, compiled->name);
    if (__builtin_expect(held, 0)) kiln__compiled_unref(compiled);
    return status;
}

kiln_status kiln__compiled_call(struct kiln_compiled *compiled, struct kiln_array *const *inputs, size_t count,
                                struct kiln_output_list *out, kiln_error *err)
{
    return kiln__compiled_call_donating(compiled, inputs, count, NULL, out, err);
}
