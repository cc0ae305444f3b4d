/*
 * depends.c - the graph of functions that use other functions: what it adds to a key, and which functions are freed.
 *
 * Edges are added under the graph's lock and freed with the function they start at. Cycles are allowed: two functions
 * that use each other have each other's watches and generation in their keys. For signing, each function keeps a flat
 * list of all functions that it reaches. A list may be out of date, but no entry is made from such a list: a miss
 * checks it first, and adding an edge then bumps the generation of the function it starts at, which is in the keys of
 * all that reach it. A function whose handle was freed is kept while one with a handle reaches it: references are
 * counted, and those within a cycle do not keep it alive.
 */
#include "base/process/gate.h"
#include "cache/function.h"

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before any other lock */
static uint64_t walks; /* a number for each walk, so that marks need no clearing */

/* ---- walking, with the graph's lock held ---------------------------------------------------------------------- */

static bool enter(struct kiln_function *function, uint64_t walk)
{
    if (function->walk == walk) return false;
    function->walk = walk;
    function->walk_next = NULL;
    return true;
}

/* Appends what the functions of a list reach to the list, each once. Returns how many it has then. */
static uint32_t extend(struct kiln_function *first, struct kiln_function *last, uint64_t walk)
{
    uint32_t count = 0;
    for (struct kiln_function *function = first; function; function = function->walk_next) {
        count++;
        for (struct kiln_dependency *edge = function->dependencies; edge; edge = edge->next) {
            if (!enter(edge->callee, walk)) continue;
            last->walk_next = edge->callee;
            last = edge->callee;
        }
    }
    return count;
}

static uint32_t reach(struct kiln_function *function)
{
    enter(function, ++walks);
    return extend(function, function, walks);
}

/* ---- the list in a key ---------------------------------------------------------------------------------------- */

static bool is_listed(const struct kiln_callees *callees, const struct kiln_function *function)
{
    uint32_t i = 0, count = callees ? callees->count : 0;
    for (function = function->walk_next; function && i < count && callees->functions[i] == function;
         function = function->walk_next)
        i++;
    return !function && i == count;
}

enum kiln_outcome kiln__callees_update(struct kiln_function *function, kiln_error *err)
{
    kiln__mutex_lock(&graph_lock);
    uint32_t count = reach(function) - 1;
    struct kiln_callees *old = atomic_load_explicit(&function->callees, memory_order_relaxed), *new = NULL;
    bool is_complete = is_listed(old, function);
    if (!is_complete) new = malloc(sizeof *new + count * sizeof *new->functions);
    if (new) {
        new->older = old; /* somebody may be signing with it */
        new->count = 0;
        for (struct kiln_function *callee = function->walk_next; callee; callee = callee->walk_next)
            new->functions[new->count++] = callee;
        atomic_store_explicit(&function->callees, new, memory_order_release);
    }
    kiln__mutex_unlock(&graph_lock);
    if (is_complete) return KILN_DONE;
    return new ? KILN_CHANGED : kiln__outcome(kiln__no_memory(err, "a list of callees"), err);
}

/* A callee's generation stands in front of its watches: redefining it is a new key here too. */
void kiln__function_sign(struct kiln_function *function, const struct kiln_environment *environment,
                         struct kiln_signature *signature)
{
    kiln__watches_sign(&function->watches, environment, signature);
    const struct kiln_callees *callees = atomic_load_explicit(&function->callees, memory_order_acquire);
    for (uint32_t i = 0; callees && i < callees->count; i++) {
        const struct kiln_memo_table *memo = &callees->functions[i]->memo;
        uint64_t *words = kiln__signature_grow(signature, 3);
        if (!words) return;
        words[0] = kiln__item(KILN_ITEM_DEPENDENCY, 0, 2);
        words[1] = memo->id;
        words[2] = KILN_SEGMENT_GENERATION ? atomic_load_explicit(&memo->generation, memory_order_acquire) : 0;
        kiln__watches_sign(&callees->functions[i]->watches, environment, signature);
    }
}

static void visit_watches(const struct kiln_function *function,
                          void (*visit)(void *context, const struct kiln_watch *watch), void *context)
{
    struct kiln_watch *watch = atomic_load_explicit(&function->watches.first, memory_order_acquire);
    for (; watch; watch = atomic_load_explicit(&watch->next, memory_order_acquire)) visit(context, watch);
}

void kiln__function_each_watch(struct kiln_function *function,
                               void (*visit)(void *context, const struct kiln_watch *watch),
                               void (*enter_callee)(void *context, struct kiln_function *callee), void *context)
{
    visit_watches(function, visit, context);
    const struct kiln_callees *callees = atomic_load_explicit(&function->callees, memory_order_acquire);
    for (uint32_t i = 0; callees && i < callees->count; i++) {
        enter_callee(context, callees->functions[i]);
        visit_watches(callees->functions[i], visit, context);
    }
}

struct refusal {
    const char *function;
    kiln_error *err;
    kiln_status status;
};

static void refuse_watch(void *context, const struct kiln_watch *watch)
{
    struct refusal *refusal = context;
    if (!refusal->status) refusal->status = kiln__watch_refuse(watch, refusal->function, refusal->err);
}

static void pass_callee(void *context, struct kiln_function *callee)
{
    (void)context, (void)callee;
}

kiln_status kiln__function_refuse(struct kiln_function *function, kiln_status status, kiln_error *err)
{
    if (status != KILN_INVALID) return kiln__fail(err, status, "kiln_get: the key is too large");
    struct kiln_definition *definition = kiln__definition_ref(function);
    struct refusal refusal = {.function = definition->name, .err = err};
    kiln__function_each_watch(function, refuse_watch, pass_callee, &refusal);
    if (!refusal.status) kiln__fail(err, status, "%s: a watched file could not be read", definition->name);
    kiln__definition_unref(definition);
    return status;
}

/* ---- adding an edge ------------------------------------------------------------------------------------------- */

static bool depends_directly(const struct kiln_function *function, const struct kiln_function *callee)
{
    const struct kiln_dependency *edge = function->dependencies;
    while (edge && edge->callee != callee) edge = edge->next;
    return edge != NULL;
}

static kiln_status add_edge(struct kiln_function *function, struct kiln_function *callee, bool *added, kiln_error *err)
{
    if (depends_directly(function, callee)) return KILN_OK;
    struct kiln_dependency *edge = malloc(sizeof *edge);
    if (!edge) return kiln__no_memory(err, "a dependency");
    *edge = (struct kiln_dependency){function->dependencies, callee};
    function->dependencies = edge;
    callee->refs++;
    *added = true;
    return KILN_OK;
}

kiln_status kiln_depends(kiln_function *function, kiln_function *callee, kiln_error *err)
{
    if (!function || !callee) return kiln__fail(err, KILN_INVALID, "kiln_depends: needs two functions");
    if (function == callee) return KILN_OK;
    bool added = false;
    kiln__mutex_lock(&graph_lock);
    kiln_status status = add_edge(function, callee, &added, err);
    kiln__mutex_unlock(&graph_lock);
    if (added) kiln__function_changed(function);
    return status;
}

kiln_status kiln__dependencies_copy(struct kiln_function *to, struct kiln_function *from, kiln_error *err)
{
    kiln_status status = KILN_OK;
    bool added = false;
    kiln__mutex_lock(&graph_lock);
    for (struct kiln_dependency *edge = from->dependencies; edge && !status; edge = edge->next)
        if (edge->callee != to) status = add_edge(to, edge->callee, &added, err);
    kiln__mutex_unlock(&graph_lock);
    if (added) kiln__function_changed(to);
    return status;
}

/* ---- going ---------------------------------------------------------------------------------------------------- */

/* Of those that a function reaches, who is referred to from outside of them, and what these reach in turn, stays. */
static uint64_t mark_those_that_stay(struct kiln_function *from)
{
    struct kiln_function *first = NULL, *last = NULL, *next;
    reach(from);
    for (struct kiln_function *function = from; function; function = function->walk_next) function->inner_refs = 0;
    for (struct kiln_function *function = from; function; function = function->walk_next)
        for (struct kiln_dependency *edge = function->dependencies; edge; edge = edge->next) edge->callee->inner_refs++;
    for (struct kiln_function *function = from; function; function = function->walk_next)
        function->reached_next = function->walk_next;
    uint64_t stays = ++walks;
    for (struct kiln_function *function = from; function; function = next) {
        next = function->reached_next;
        if (function->refs == function->inner_refs) continue;
        enter(function, stays);
        if (last) last->walk_next = function;
        if (!first) first = function;
        last = function;
    }
    if (first) extend(first, last, stays);
    return stays;
}

/* Takes those that may go out of the graph. A list, linked by walk_next. */
static struct kiln_function *take_out(struct kiln_function *from)
{
    uint64_t stays = mark_those_that_stay(from);
    struct kiln_function *gone = NULL, *next;
    for (struct kiln_function *function = from; function; function = next) {
        next = function->reached_next;
        if (function->walk == stays) continue;
        for (struct kiln_dependency *edge = function->dependencies; edge; edge = edge->next) edge->callee->refs--;
        function->walk_next = gone;
        gone = function;
    }
    return gone;
}

struct kiln_function *kiln__function_let_go(struct kiln_function *function)
{
    kiln__mutex_lock(&graph_lock);
    function->refs--;
    struct kiln_function *gone = take_out(function);
    kiln__mutex_unlock(&graph_lock);
    return gone;
}

void kiln__dependencies_release(struct kiln_function *function)
{
    for (struct kiln_dependency *edge = function->dependencies, *next; edge; edge = next) {
        next = edge->next;
        free(edge);
    }
    for (struct kiln_callees *callees = atomic_load(&function->callees), *older; callees; callees = older) {
        older = callees->older;
        free(callees);
    }
}
