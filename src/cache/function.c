/*
 * function.c - making, binding, redefining and freeing functions, and declaring what they read.
 *
 * Invariant: whatever changes what a function is (definition, watches, dependencies) clears its results, which bumps
 * the generation in its keys and in the keys of all that depend on it; so no old entry can match afterwards.
 */
#include "cache/function.h"

#include "base/gate.h"

/* ---- definitions ---------------------------------------------------------------------------------------------- */

static kiln_status check_options(const kiln_function_options *options, kiln_error *err)
{
    if (!options || options->struct_size != sizeof *options)
        return kiln__fail(err, KILN_INVALID, "function options: struct_size is %zu, expected %zu", options ? options->struct_size : 0, sizeof *options);
    if (!options->name || !*options->name) return kiln__fail(err, KILN_INVALID, "function options: a function needs a name");
    if (!options->lower == !options->text.data)
        return kiln__fail(err, KILN_INVALID, "%s: give text or lower(), one of them", options->name);
    if (options->flags & ~(unsigned)KILN_STRICT)
        return kiln__fail(err, KILN_INVALID, "%s: unknown flags %#x", options->name, options->flags & ~(unsigned)KILN_STRICT);
    const kiln_compiler *compiler = options->compiler;
    if (compiler && (compiler->struct_size != sizeof *compiler || !compiler->name || !compiler->digest || !compiler->compile || !compiler->link))
        return kiln__fail(err, KILN_INVALID, "%s: a compiler needs struct_size %zu, name, digest, compile and link", options->name, sizeof *compiler);
    return KILN_OK;
}

static kiln_status definition_new(const kiln_function_options *options, struct kiln_definition **out, kiln_error *err)
{
    kiln_status status = check_options(options, err);
    if (status) return status;
    struct kiln_definition *definition = calloc(1, sizeof *definition);
    if (!definition) return kiln__no_memory(err, "a function");
    atomic_init(&definition->refs, 1);
    definition->name = strdup(options->name);
    definition->compiler = options->compiler ? options->compiler : kiln_compiler_llvm();
    definition->lower = options->lower;
    if (options->text.data) kiln__buffer_append(&definition->text, options->text.data, options->text.size);
    if (!definition->name || definition->text.failed) {
        kiln__definition_unref(definition);
        return kiln__no_memory(err, "a function");
    }
    definition->payload = options->payload; /* from here on it is ours to free */
    definition->free_payload = options->free_payload;
    *out = definition;
    return KILN_OK;
}

struct kiln_definition *kiln__definition_ref(struct kiln_function *function)
{
    kiln__mutex_lock(&function->lock);
    struct kiln_definition *definition = function->definition;
    atomic_fetch_add_explicit(&definition->refs, 1, memory_order_relaxed);
    kiln__mutex_unlock(&function->lock);
    return definition;
}

void kiln__definition_unref(struct kiln_definition *definition)
{
    if (!definition || atomic_fetch_sub_explicit(&definition->refs, 1, memory_order_acq_rel) != 1) return;
    if (definition->free_payload) definition->free_payload(definition->payload);
    kiln__buffer_release(&definition->text);
    free(definition->name);
    free(definition);
}

/* ---- functions ------------------------------------------------------------------------------------------------ */

static void *expose_executable(void *kernel)
{
    return ((struct kiln_kernel *)kernel)->executable;
}

static struct kiln_function *function_new(kiln_cache *cache, struct kiln_definition *definition, unsigned flags)
{
    struct kiln_function *function = calloc(1, sizeof *function);
    if (!function) return NULL;
    atomic_init(&function->refs, 1);
    atomic_init(&function->plain, true);
    function->cache = cache;
    function->flags = flags;
    function->definition = definition;
    kiln__results_init(&function->results, cache->index, KILN_LEVEL_CALL, kiln__kernel_unref);
    function->results.expose = expose_executable;
    pthread_mutex_init(&function->lock, NULL);
    kiln__mutex_lock(&cache->functions_lock);
    function->next = cache->functions;
    function->link = &cache->functions;
    if (function->next) function->next->link = &function->next;
    cache->functions = function;
    kiln__mutex_unlock(&cache->functions_lock);
    return function;
}

static void delist(struct kiln_function *function)
{
    kiln__mutex_lock(&function->cache->functions_lock);
    *function->link = function->next;
    if (function->next) function->next->link = function->link;
    kiln__mutex_unlock(&function->cache->functions_lock);
}

kiln_status kiln_function_new(kiln_cache *cache, const kiln_function_options *options, kiln_function **out, kiln_error *err)
{
    if (!cache || !out) return kiln__fail(err, KILN_INVALID, "kiln_function_new: needs a cache and a place for the result");
    struct kiln_definition *definition = NULL;
    kiln_status status = definition_new(options, &definition, err);
    if (status) return status;
    struct kiln_function *function = function_new(cache, definition, options->flags);
    if (!function) {
        definition->free_payload = NULL; /* a failed call leaves the payload with the caller */
        kiln__definition_unref(definition);
        return kiln__no_memory(err, "a function");
    }
    *out = function;
    return KILN_OK;
}

static void function_unref(struct kiln_function *function)
{
    if (atomic_fetch_sub_explicit(&function->refs, 1, memory_order_acq_rel) != 1) return;
    struct kiln_dependency *dependency = atomic_load(&function->dependencies);
    while (dependency) {
        struct kiln_dependency *next = atomic_load(&dependency->next);
        function_unref(dependency->callee);
        free(dependency);
        dependency = next;
    }
    kiln__definition_unref(function->definition);
    kiln__watches_release(&function->watches);
    pthread_mutex_destroy(&function->lock);
    free(function->baseline);
    free(function);
}

void kiln_function_free(kiln_function *function)
{
    if (!function) return;
    delist(function);
    kiln__results_clear(&function->results);
    kiln__results_release(&function->results);
    kiln__kernels_sweep(function->cache);
    function_unref(function);
}

void kiln_function_trim(kiln_function *function)
{
    if (!function) return;
    kiln__results_clear(&function->results);
    kiln__kernels_sweep(function->cache);
}

kiln_status kiln_function_bind(kiln_function *base, void *payload, void (*free_payload)(void *), kiln_function **out, kiln_error *err)
{
    if (!base || !out) return kiln__fail(err, KILN_INVALID, "kiln_function_bind: needs a function and a place for the result");
    struct kiln_definition *of_base = kiln__definition_ref(base), *definition = NULL;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = of_base->name, .compiler = of_base->compiler, .lower = of_base->lower,
        .text = {of_base->lower ? NULL : of_base->text.data ? (void *)of_base->text.data : "", of_base->text.size},
    };
    kiln_status status = definition_new(&options, &definition, err);
    kiln__definition_unref(of_base);
    if (status) return status;
    struct kiln_function *function = function_new(base->cache, definition, 0);
    if (!function) {
        kiln__definition_unref(definition);
        return kiln__no_memory(err, "a function");
    }
    kiln__mutex_lock(&base->lock);
    function->flags = base->flags;
    status = kiln__watches_copy(&function->watches, &base->watches, err);
    atomic_store(&function->plain, atomic_load(&base->plain));
    kiln__mutex_unlock(&base->lock);
    for (struct kiln_dependency *d = atomic_load(&base->dependencies); d && !status; d = atomic_load(&d->next))
        status = kiln_depends(function, d->callee, err);
    if (status) {
        kiln_function_free(function);
        return status;
    }
    definition->payload = payload;
    definition->free_payload = free_payload;
    *out = function;
    return KILN_OK;
}

/* With the lock held: what the next call sees is what later ones are compared with. */
static void forget_baseline(struct kiln_function *function)
{
    free(function->baseline);
    function->baseline = NULL;
}

kiln_status kiln_function_redefine(kiln_function *function, const kiln_function_options *options, kiln_error *err)
{
    if (!function) return kiln__fail(err, KILN_INVALID, "kiln_function_redefine: needs a function");
    struct kiln_definition *definition = NULL;
    kiln_status status = definition_new(options, &definition, err);
    if (status) return status;
    kiln__mutex_lock(&function->lock);
    struct kiln_definition *old = function->definition;
    function->definition = definition;
    function->flags = options->flags;
    forget_baseline(function);
    kiln__mutex_unlock(&function->lock);
    kiln__results_clear(&function->results);
    kiln__kernels_sweep(function->cache);
    kiln__definition_unref(old);
    return KILN_OK;
}

/* ---- what it reads -------------------------------------------------------------------------------------------- */

static kiln_status add_watch(kiln_function *function, enum kiln_item kind, const char *module, const char *name, const void *address,
                             size_t size, kiln_var *var, kiln_error *err)
{
    kiln__mutex_lock(&function->lock);
    const struct kiln_watch *last = function->watches.last;
    kiln_status status = kiln__watches_add(&function->watches, kind, module, name, address, size, var, err);
    bool added = function->watches.last != last; /* a known one changes nothing, and drops nothing */
    if (added) {
        atomic_store_explicit(&function->plain, false, memory_order_release);
        forget_baseline(function); /* another set of watches, another baseline */
    }
    kiln__mutex_unlock(&function->lock);
    if (added) kiln__results_clear(&function->results);
    return status;
}

kiln_status kiln_watch(kiln_function *function, const char *module, const char *name, const void *address, size_t size, kiln_error *err)
{
    if (!function || !module || !name || !*name || !address || !size)
        return kiln__fail(err, KILN_INVALID, "kiln_watch: needs a function, a module, a name, an address and a size above 0");
    return add_watch(function, KILN_ITEM_MEMORY, module, name, address, size, NULL, err);
}

kiln_status kiln_watch_env(kiln_function *function, const char *name, kiln_error *err)
{
    if (!function || !name || !*name || strchr(name, '='))
        return kiln__fail(err, KILN_INVALID, "kiln_watch_env: needs a function and the name of a variable, without '='");
    return add_watch(function, KILN_ITEM_ENVIRONMENT, "", name, NULL, 0, NULL, err);
}

kiln_status kiln_watch_var(kiln_function *function, kiln_var *var, kiln_error *err)
{
    if (!function || !var) return kiln__fail(err, KILN_INVALID, "kiln_watch_var: needs a function and a variable");
    return add_watch(function, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, err);
}

static bool reaches(struct kiln_function *from, const struct kiln_function *to, unsigned depth)
{
    if (from == to) return true;
    if (depth > 64) return true; /* deeper than anybody nests: treat as a cycle */
    for (struct kiln_dependency *d = atomic_load(&from->dependencies); d; d = atomic_load(&d->next))
        if (reaches(d->callee, to, depth + 1)) return true;
    return false;
}

/* Guards adding dependencies, in all functions: two threads must not close a cycle between them. Taken first of all locks. */
static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static kiln_status refuse_cycle(struct kiln_function *function, struct kiln_function *callee, kiln_error *err)
{
    struct kiln_definition *caller_definition = kiln__definition_ref(function), *callee_definition = kiln__definition_ref(callee);
    kiln__fail(err, KILN_INVALID, "kiln_depends: %s depends on %s already; a cycle is not supported", callee_definition->name,
               caller_definition->name);
    kiln__definition_unref(caller_definition);
    kiln__definition_unref(callee_definition);
    return KILN_INVALID;
}

static bool depends_directly(struct kiln_function *function, const struct kiln_function *callee)
{
    struct kiln_dependency *dependency = atomic_load(&function->dependencies);
    while (dependency && dependency->callee != callee) dependency = atomic_load(&dependency->next);
    return dependency != NULL;
}

static kiln_status add_dependency(struct kiln_function *function, struct kiln_function *callee, bool *added, kiln_error *err)
{
    if (depends_directly(function, callee)) return KILN_OK;
    if (reaches(callee, function, 0)) return refuse_cycle(function, callee, err);
    struct kiln_dependency *dependency = calloc(1, sizeof *dependency);
    if (!dependency) return kiln__no_memory(err, "a dependency");
    atomic_fetch_add_explicit(&callee->refs, 1, memory_order_relaxed);
    dependency->callee = callee;
    kiln__mutex_lock(&function->lock);
    atomic_store(&dependency->next, atomic_load(&function->dependencies));
    atomic_store_explicit(&function->dependencies, dependency, memory_order_release);
    atomic_store_explicit(&function->plain, false, memory_order_release);
    forget_baseline(function);
    kiln__mutex_unlock(&function->lock);
    *added = true;
    return KILN_OK;
}

kiln_status kiln_depends(kiln_function *function, kiln_function *callee, kiln_error *err)
{
    if (!function || !callee) return kiln__fail(err, KILN_INVALID, "kiln_depends: needs two functions");
    if (function == callee) return KILN_OK;
    bool added = false;
    kiln__mutex_lock(&graph_lock);
    kiln_status status = add_dependency(function, callee, &added, err);
    kiln__mutex_unlock(&graph_lock);
    if (added) kiln__results_clear(&function->results);
    return status;
}

/* A callee's generation stands in front of its watches: redefining it is a new key here too. */
void kiln__function_sign(struct kiln_function *function, const struct kiln_environment *environment, struct kiln_signature *signature)
{
    kiln__watches_sign(&function->watches, environment, signature);
    struct kiln_dependency *dependency = atomic_load_explicit(&function->dependencies, memory_order_acquire);
    for (; dependency; dependency = atomic_load_explicit(&dependency->next, memory_order_acquire)) {
        const struct kiln_results *results = &dependency->callee->results;
        uint64_t *words = kiln__signature_grow(signature, 3);
        if (!words) return;
        words[0] = kiln__item(KILN_ITEM_DEPENDENCY, 0, 2);
        words[1] = results->id;
        words[2] = atomic_load_explicit(&results->generation, memory_order_acquire);
        kiln__function_sign(dependency->callee, environment, signature);
    }
}

void kiln__function_each_watch(struct kiln_function *function, void (*visit)(void *context, const struct kiln_watch *watch),
                               void (*enter)(void *context, const struct kiln_results *callee), void *context)
{
    struct kiln_watch *watch = atomic_load_explicit(&function->watches.first, memory_order_acquire);
    for (; watch; watch = atomic_load_explicit(&watch->next, memory_order_acquire)) visit(context, watch);
    struct kiln_dependency *dependency = atomic_load_explicit(&function->dependencies, memory_order_acquire);
    for (; dependency; dependency = atomic_load_explicit(&dependency->next, memory_order_acquire)) {
        enter(context, &dependency->callee->results);
        kiln__function_each_watch(dependency->callee, visit, enter, context);
    }
}
