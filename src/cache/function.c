/*
 * function.c - making, binding, redefining and freeing functions, and declaring what they read. Dependencies:
 * depends.c.
 *
 * Invariant: whatever changes what a function is (definition, watches, dependencies) clears its memo table, which bumps
 * the generation in its keys and in the keys of all that depend on it; so no old entry can match afterwards.
 */
#include "cache/function.h"

#include "base/process/callback.h"
#include "base/process/gate.h"
#include "cache/kernels/unlinking.h"

/* ---- definitions ---------------------------------------------------------------------------------------------- */

enum { KNOWN_FLAGS = KILN_STRICT | KILN_RECLAIM | KILN_KEY_REQUEST };

static kiln_status check_options(const kiln_function_options *options, kiln_error *err)
{
    if (!options || options->struct_size != sizeof *options)
        return kiln__fail(err, KILN_INVALID, "function options: struct_size is %zu, expected %zu",
                          options ? options->struct_size : 0, sizeof *options);
    if (!options->name || !*options->name)
        return kiln__fail(err, KILN_INVALID, "function options: a function needs a name");
    if (!options->lower == !options->text.data)
        return kiln__fail(err, KILN_INVALID, "%s: give text or lower(), one of them", options->name);
    if (options->flags & ~(unsigned)KNOWN_FLAGS)
        return kiln__fail(err, KILN_INVALID, "%s: unknown flags %#x", options->name,
                          options->flags & ~(unsigned)KNOWN_FLAGS);
    const kiln_compiler *compiler = options->compiler;
    if (compiler && (compiler->struct_size != sizeof *compiler || !compiler->name || !compiler->digest ||
                     !compiler->compile || !compiler->link))
        return kiln__fail(err, KILN_INVALID, "%s: a compiler needs struct_size %zu, name, digest, compile and link",
                          options->name, sizeof *compiler);
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
    definition->keyed = options->flags & KILN_KEY_REQUEST ? KILN_KEYED_REQUEST
                        : options->lower                  ? KILN_KEYED_TEXT
                                                          : KILN_KEYED_ARGUMENTS;
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

static enum kiln_forgetting forgetting_of(unsigned flags)
{
    return flags & KILN_RECLAIM ? KILN_FORGET_RETIRED : KILN_FORGET_HELD;
}

static struct kiln_function *function_new(kiln_cache *cache, struct kiln_definition *definition, unsigned flags)
{
    struct kiln_function *function = calloc(1, sizeof *function);
    if (!function) return NULL;
    function->refs = 1;
    atomic_init(&function->plain, true);
    function->cache = cache;
    function->flags = flags;
    function->definition = definition;
    kiln__memo_init(&function->memo, cache->index, KILN_LEVEL_CALL, kiln__kernel_unref);
    function->memo.expose = expose_executable;
    function->memo.keep = kiln__kernel_acquire;
    function->memo.forgetting = forgetting_of(flags);
    kiln__memo_bound(&function->memo, cache->max_results, definition->name, &cache->counts.evictions);
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

kiln_status kiln_function_new(kiln_cache *cache, const kiln_function_options *options, kiln_function **out,
                              kiln_error *err)
{
    if (!cache || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_function_new: needs a cache and a pointer for the result");
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

static void destroy(struct kiln_function *function)
{
    kiln__dependencies_release(function);
    kiln__definition_unref(function->definition);
    kiln__watches_release(&function->watches);
    pthread_mutex_destroy(&function->lock);
    free(function->baseline);
    for (struct kiln_parameters *parameters = atomic_load(&function->parameters), *older; parameters;
         parameters = older) {
        older = parameters->older;
        free(parameters);
    }
    free(function);
}

void kiln_function_free(kiln_function *function)
{
    KILN_HOLD_CANCEL;
    if (!function) return;
    delist(function);
    kiln__memo_clear(&function->memo);
    kiln__memo_release(&function->memo);
    kiln__kernels_sweep(function->cache, false);
    kiln__unlinking_wait(); /* its compiler may go next */
    for (struct kiln_function *gone = kiln__function_let_go(function), *next; gone; gone = next) {
        next = gone->walk_next;
        destroy(gone);
    }
}

void kiln_function_trim(kiln_function *function)
{
    KILN_HOLD_CANCEL;
    if (!function) return;
    kiln__memo_clear(&function->memo);
    kiln__kernels_sweep(function->cache, false);
}

kiln_status kiln_function_bind(kiln_function *base, void *payload, void (*free_payload)(void *), kiln_function **out,
                               kiln_error *err)
{
    if (!base || !out)
        return kiln__fail(err, KILN_INVALID, "kiln_function_bind: needs a function and a pointer for the result");
    struct kiln_definition *of_base = kiln__definition_ref(base), *definition = NULL;
    const kiln_function_options options = {
        .struct_size = sizeof options,
        .name = of_base->name,
        .compiler = of_base->compiler,
        .lower = of_base->lower,
        .text = {of_base->lower       ? NULL
                 : of_base->text.data ? (void *)of_base->text.data
                                      : "",
                 of_base->text.size},
        .flags = of_base->keyed == KILN_KEYED_REQUEST ? KILN_KEY_REQUEST : 0,
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
    kiln__memo_set_forgetting(&function->memo, forgetting_of(base->flags));
    status = kiln__watches_copy(&function->watches, &base->watches, err);
    atomic_store(&function->plain, atomic_load(&base->plain));
    kiln__mutex_unlock(&base->lock);
    const struct kiln_parameters *parameters = atomic_load(&base->parameters);
    if (!status && parameters) status = kiln_function_declare(function, parameters->types, parameters->count, err);
    if (!status) status = kiln__dependencies_copy(function, base, err);
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

void kiln__function_changed(struct kiln_function *function)
{
    kiln__mutex_lock(&function->lock);
    atomic_store_explicit(&function->plain, false, memory_order_release);
    forget_baseline(function); /* another set of watches, another baseline */
    kiln__mutex_unlock(&function->lock);
    kiln__memo_forget(&function->memo); /* nobody asked to drop what callers have */
}

kiln_status kiln_function_redefine(kiln_function *function, const kiln_function_options *options, kiln_error *err)
{
    KILN_HOLD_CANCEL;
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
    kiln__memo_set_forgetting(&function->memo, forgetting_of(options->flags));
    kiln__memo_clear(&function->memo);
    kiln__kernels_sweep(function->cache, false);
    kiln__unlinking_wait(); /* the old compiler may go next */
    kiln__definition_unref(old);
    return KILN_OK;
}

kiln_status kiln_function_declare(kiln_function *function, const kiln_type *const *types, size_t count, kiln_error *err)
{
    if (!function || count > (types ? KILN_MOST_ARGUMENTS : 0))
        return kiln__fail(err, KILN_INVALID, "kiln_function_declare: needs a function and %zu types (at most %u)",
                          count, (unsigned)KILN_MOST_ARGUMENTS);
    for (size_t i = 0; i < count; i++)
        if (!types[i])
            return kiln__fail(err, KILN_INVALID,
                              "kiln_function_declare: type %zu is NULL; kiln_none stands for nothing", i);
    struct kiln_parameters *parameters = malloc(sizeof *parameters + count * sizeof *types);
    if (!parameters) return kiln__no_memory(err, "a declaration");
    parameters->count = count;
    for (size_t i = 0; i < count; i++) parameters->types[i] = types[i];
    kiln__mutex_lock(&function->lock);
    parameters->older = atomic_load(&function->parameters);
    atomic_store_explicit(&function->parameters, parameters, memory_order_release);
    kiln__mutex_unlock(&function->lock);
    return KILN_OK;
}

/* ---- what it reads -------------------------------------------------------------------------------------------- */

static kiln_status add_watch(kiln_function *function, enum kiln_item kind, const char *module, const char *name,
                             const void *address, size_t size, kiln_var *var, kiln_error *err)
{
    kiln__mutex_lock(&function->lock);
    const struct kiln_watch *last = function->watches.last;
    kiln_status status = kiln__watches_add(&function->watches, kind, module, name, address, size, var, err);
    bool added = function->watches.last != last; /* a known one changes nothing, and drops nothing */
    kiln__mutex_unlock(&function->lock);
    if (added) kiln__function_changed(function);
    return status;
}

kiln_status kiln_watch(kiln_function *function, const char *module, const char *name, const void *address, size_t size,
                       kiln_error *err)
{
    return kiln_watch_as(function, module, name, address, size, KILN_WATCHED_BYTES, err);
}

kiln_status kiln_watch_as(kiln_function *function, const char *module, const char *name, const void *address,
                          size_t size, kiln_watched_kind kind, kiln_error *err)
{
    enum { LARGEST = KILN_SIGNATURE_LARGEST * sizeof(uint64_t) };
    if (!function || !module || !name || !*name || !address || !size || size > LARGEST)
        return kiln__fail(
            err, KILN_INVALID,
            "kiln_watch: needs a function, a module, a name, an address and a size of 1 to %zu bytes, not %zu",
            (size_t)LARGEST, size);
    if ((unsigned)kind > KILN_WATCHED_BOOL)
        return kiln__fail(err, KILN_INVALID, "kiln_watch_as: kind %d is none of kiln_watched_kind, 0 to %d", (int)kind,
                          KILN_WATCHED_BOOL);
    kiln_status status = add_watch(function, KILN_ITEM_MEMORY, module, name, address, size, NULL, err);
    if (!status) kiln__watches_set_kind(&function->watches, module, name, kind);
    return status;
}

kiln_status kiln_watch_env(kiln_function *function, const char *name, kiln_error *err)
{
    if (!function || !name || !*name || strchr(name, '='))
        return kiln__fail(err, KILN_INVALID,
                          "kiln_watch_env: needs a function and the name of a variable, without '='");
    return add_watch(function, KILN_ITEM_ENVIRONMENT, "", name, NULL, 0, NULL, err);
}

kiln_status kiln_watch_var(kiln_function *function, kiln_var *var, kiln_error *err)
{
    if (!function || !var) return kiln__fail(err, KILN_INVALID, "kiln_watch_var: needs a function and a variable");
    return add_watch(function, KILN_ITEM_VARIABLE, "", NULL, NULL, 0, var, err);
}

kiln_status kiln_watch_file(kiln_function *function, const char *path, kiln_error *err)
{
    if (!function || !path || !*path)
        return kiln__fail(err, KILN_INVALID, "kiln_watch_file: needs a function and a path");
    char *absolute = kiln__path_simple(path);
    if (!absolute) return kiln__no_memory(err, "a path");
    kiln_status status = add_watch(function, KILN_ITEM_FILE, "", absolute, NULL, 0, NULL, err);
    free(absolute);
    return status;
}
