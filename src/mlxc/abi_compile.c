/*
 * abi_compile.c - compile.h of the ABI, on top of run/compiled.h.
 *
 * mlx_compile: one compiled function per call, which owns the closure it was made from. mlx_detail_compile: closures
 * made under one (function id, shapeless, constants) share a compiled function, which the table below keeps until it is
 * erased; the closures keep their own source, so that a payload never outlives its last closure. A trace of a shared
 * function calls the source of the closure that is being applied: `applied` names it, on the thread that traces.
 * _mlx_kiln_compile, which the functions of kiln/compile.h call: mlx_compile of a function that has a name.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/process/fork.h"
#include "kiln/compile.h"
#include "mlxc/abi_closure.h"
#include "run/compiled.h"

static _Thread_local struct kiln_closure *applied;

/* ---- the callback of a trace ---------------------------------------------------------------------------------- */

kiln_status kiln__take_outputs(mlx_vector_array res, struct kiln_array ***outputs, size_t *output_count,
                               kiln_error *err)
{
    size_t count = kiln__vector_size(res);
    struct kiln_array *const *arrays = kiln__vector_data(res);
    struct kiln_array **list = malloc(count * sizeof *list + 1);
    if (!list) return kiln__no_memory(err, "the outputs of a closure");
    for (size_t i = 0; i < count; i++) list[i] = kiln__array_ref(arrays[i]);
    *outputs = list;
    *output_count = count;
    return KILN_OK;
}

kiln_status kiln__closure_callback(void *payload, struct kiln_array *const *inputs, size_t count,
                                   struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    mlx_vector_array res = {NULL};
    struct kiln_closure *source =
        kiln__closure_ref(payload ? payload : applied->source); /* it may free its own handle */
    kiln_status status = kiln__closure_run(source, inputs, count, &res, err);
    if (status == KILN_OK) status = kiln__take_outputs(res, outputs, output_count, err);
    mlx_vector_array_free(res);
    kiln__closure_unref(source);
    return status;
}

static void free_source(void *payload)
{
    kiln__closure_unref(payload);
}

kiln_status kiln__closure_run_compiled(struct kiln_closure *closure, struct kiln_array *const *inputs, size_t count,
                                       const bool *donated, mlx_vector_array *res, kiln_error *err)
{
    struct kiln_output_list out;
    struct kiln_closure *outer = applied;
    applied = closure;
    kiln_status status = kiln__compiled_call_donating(closure->compiled, inputs, count, donated, &out, err);
    applied = outer;
    if (status != KILN_OK) return status;
    /* The references move into the vector; only the list itself is left to free. */
    size_t output_count = out.count;
    out.count = 0;
    int code = kiln__give_arrays(res, out.arrays, output_count);
    kiln__output_list_release(&out);
    return code ? kiln__no_memory(err, "the outputs of a compiled closure") : KILN_OK;
}

/* ---- shared functions ----------------------------------------------------------------------------------------- */

struct shared {
    struct shared *next;            /* in its bucket */
    struct kiln_compiled *compiled; /* a reference */
    uintptr_t function_id;
    bool shapeless;
    size_t constant_count;
    uint64_t constants[];
};

enum { BUCKETS = 4096 }; /* some clients compile anew for every value of a constant */

KILN_LEAF_LOCK(lock); /* guards the buckets and the lists behind them */
static struct shared *buckets[BUCKETS];

static struct shared **bucket_of(uintptr_t function_id, bool shapeless, const uint64_t *constants, size_t count)
{
    uint64_t hash = count ? kiln__hash(constants, count * sizeof *constants) : 0;
    const uint64_t words[] = {function_id, shapeless, hash};
    return &buckets[kiln__hash(words, sizeof words) % BUCKETS];
}

static bool is_same(const struct shared *entry, uintptr_t function_id, bool shapeless, const uint64_t *constants,
                    size_t count)
{
    return entry->function_id == function_id && entry->shapeless == shapeless && entry->constant_count == count &&
           (count == 0 || !memcmp(entry->constants, constants, count * sizeof *constants));
}

/* With the lock held: a reference for the caller, or NULL. */
static struct kiln_compiled *find(uintptr_t function_id, bool shapeless, const uint64_t *constants, size_t count)
{
    struct shared *entry = *bucket_of(function_id, shapeless, constants, count);
    while (entry && !is_same(entry, function_id, shapeless, constants, count)) entry = entry->next;
    if (!entry) return NULL;
    kiln__compiled_ref(entry->compiled);
    return entry->compiled;
}

static kiln_status new_shared(uintptr_t function_id, bool shapeless, const uint64_t *constants, size_t count,
                              struct shared **out, kiln_error *err)
{
    size_t size_bytes;
    struct shared *entry = NULL;
    if (__builtin_mul_overflow(count, sizeof *constants, &size_bytes) ||
        __builtin_add_overflow(size_bytes, sizeof *entry, &size_bytes) || !(entry = malloc(size_bytes)))
        return kiln__no_memory(err, "a compiled closure");
    kiln_status status =
        kiln__compiled_new("closure", kiln__closure_callback, NULL, NULL, shapeless, &entry->compiled, err);
    if (status != KILN_OK) {
        free(entry);
        return status;
    }
    entry->function_id = function_id;
    entry->shapeless = shapeless;
    entry->constant_count = count;
    if (count) memcpy(entry->constants, constants, count * sizeof *constants);
    *out = entry;
    return KILN_OK;
}

static void free_shared(struct shared *entry)
{
    kiln__compiled_unref(entry->compiled);
    free(entry);
}

/* *out: a reference for the caller. An entry is made without the lock; when two threads make one, the first is kept. */
static kiln_status find_or_add(uintptr_t function_id, bool shapeless, const uint64_t *constants, size_t count,
                               struct kiln_compiled **out, kiln_error *err)
{
    struct shared *entry = NULL;
    pthread_mutex_lock(&lock);
    *out = find(function_id, shapeless, constants, count);
    pthread_mutex_unlock(&lock);
    if (*out) return KILN_OK;
    kiln_status status = new_shared(function_id, shapeless, constants, count, &entry, err);
    if (status != KILN_OK) return status;
    pthread_mutex_lock(&lock);
    *out = find(function_id, shapeless, constants, count);
    if (!*out) {
        struct shared **bucket = bucket_of(function_id, shapeless, constants, count);
        entry->next = *bucket;
        *bucket = entry;
        kiln__compiled_ref(entry->compiled);
        *out = entry->compiled;
        entry = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (entry) free_shared(entry);
    return KILN_OK;
}

/* With the lock held: moves the entries of one id, or all, from a bucket to *gone. */
static void take_out(struct shared **bucket, bool all, uintptr_t function_id, struct shared **gone)
{
    for (struct shared **link = bucket; *link;) {
        struct shared *entry = *link;
        if (all || entry->function_id == function_id) {
            *link = entry->next;
            entry->next = *gone;
            *gone = entry;
        } else {
            link = &entry->next;
        }
    }
}

/* Drops the entries of one id, or all. Closures that hold such a function keep it, with its plans cleared. */
static void erase(bool all, uintptr_t function_id)
{
    struct shared *gone = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS; i++) take_out(&buckets[i], all, function_id, &gone);
    pthread_mutex_unlock(&lock);
    while (gone) {
        struct shared *next = gone->next;
        kiln__compiled_clear(gone->compiled);
        free_shared(gone);
        gone = next;
    }
}

/* ---- the ABI -------------------------------------------------------------------------------------------------- */

/* Takes over both references; `source` may be NULL. */
static int give_compiled(mlx_closure *res, struct kiln_compiled *compiled, struct kiln_closure *source)
{
    struct kiln_closure *closure = kiln__closure_new();
    if (!closure) {
        kiln__compiled_unref(compiled);
        kiln__closure_unref(source);
        return KILN_FAIL_TEXT("out of memory: a compiled closure");
    }
    closure->compiled = compiled;
    closure->source = source;
    return kiln__give_closure(res, closure);
}

int mlx_compile(mlx_closure *res, const mlx_closure fun, bool shapeless)
{
    kiln_error err;
    struct kiln_compiled *compiled = NULL;
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun)) return 1;
    struct kiln_closure *source = kiln__closure_ref(kiln__unwrap_closure(fun));
    if (kiln__compile_mode() == MLX_COMPILE_MODE_DISABLED) return kiln__give_closure(res, source);
    if (kiln__compiled_new("closure", kiln__closure_callback, source, free_source, shapeless, &compiled, &err) !=
        KILN_OK) {
        kiln__closure_unref(source);
        return KILN_FAIL(&err);
    }
    return give_compiled(res, compiled, NULL);
}

int mlx_detail_compile(mlx_closure *res, const mlx_closure fun, uintptr_t fun_id, bool shapeless,
                       const uint64_t *constants, size_t constants_num)
{
    kiln_error err;
    struct kiln_compiled *compiled = NULL;
    if (KILN_NO_POINTER(res) || KILN_NO_CLOSURE(fun) || KILN_NO_ELEMENTS(constants, constants_num)) return 1;
    struct kiln_closure *source = kiln__unwrap_closure(fun);
    if (kiln__compile_mode() == MLX_COMPILE_MODE_DISABLED) return kiln__give_closure(res, kiln__closure_ref(source));
    if (find_or_add(fun_id, shapeless, constants, constants_num, &compiled, &err) != KILN_OK) return KILN_FAIL(&err);
    return give_compiled(res, compiled, kiln__closure_ref(source));
}

int mlx_detail_compile_erase(uintptr_t fun_id)
{
    erase(false, fun_id);
    return 0;
}

int mlx_detail_compile_clear_cache(void)
{
    kiln_error err;
    erase(true, 0);
    return kiln__compiled_clear_all(&err) == KILN_OK ? 0 : KILN_FAIL(&err);
}

int mlx_enable_compile(void)
{
    kiln__set_compile_mode(MLX_COMPILE_MODE_ENABLED);
    return 0;
}

int mlx_disable_compile(void)
{
    kiln__set_compile_mode(MLX_COMPILE_MODE_DISABLED);
    return 0;
}

int mlx_set_compile_mode(mlx_compile_mode mode)
{
    if ((int)mode < MLX_COMPILE_MODE_DISABLED || (int)mode > MLX_COMPILE_MODE_ENABLED)
        return KILN_FAIL_TEXT("[set_compile_mode] expected one of mlx_compile_mode (0 to 3)");
    kiln__set_compile_mode((int)mode);
    return 0;
}

/* ---- kiln/compile.h ------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strspn(name, allowed);
    return size > 0 && size <= KILN_COMPILE_NAME && !name[size];
}

/* The payload's destructor is set later, when nothing can fail any more. */
static struct kiln_closure *new_source(int arity, void (*fun)(void), void *payload)
{
    struct kiln_closure *source = kiln__closure_new();
    if (!source) return NULL;
    source->arity = (uint32_t)arity;
    source->payload = payload;
    source->run = arity ? kiln__closure_run_arrays : kiln__closure_run_payload;
    switch (arity) {
    case 0:
        source->function.with_payload = (int (*)(mlx_vector_array *, const mlx_vector_array, void *))fun;
        break;
    case 1:
        source->function.one = (int (*)(mlx_array *, const mlx_array, void *))fun;
        break;
    case 2:
        source->function.two = (int (*)(mlx_array *, const mlx_array, const mlx_array, void *))fun;
        break;
    default:
        source->function.three = (int (*)(mlx_array *, const mlx_array, const mlx_array, const mlx_array, void *))fun;
    }
    return source;
}

/* Takes over `source`; *out is a closure whose reference is the caller's. */
static kiln_status compile_named(const char *name, struct kiln_closure *source, bool shapeless,
                                 struct kiln_closure **out, kiln_error *err)
{
    struct kiln_closure *closure = kiln__closure_new();
    kiln_status status = closure ? KILN_OK : kiln__no_memory(err, "a compiled closure");
    if (!status)
        status =
            kiln__compiled_new(name, kiln__closure_callback, source, free_source, shapeless, &closure->compiled, err);
    if (status) {
        kiln__closure_unref(source);
        kiln__closure_unref(closure);
        return status;
    }
    kiln__compiled_use_name(closure->compiled);
    *out = closure;
    return KILN_OK;
}

int _mlx_kiln_compile(mlx_closure *res, const char *name, int arity, void (*fun)(void), void *payload,
                      void (*dtor)(void *), bool shapeless)
{
    kiln_error err;
    if (KILN_NO_POINTER(res) || KILN_NO_POINTER(name)) return 1;
    if (!is_name(name))
        return KILN_FAIL_TEXT("[kiln_compile] expected a name of 1 to 48 letters, digits, '_', '.' or '-'");
    if (!fun || arity < 0 || arity > 3)
        return KILN_FAIL_TEXT("[kiln_compile] expected a function of any number of arrays (0), or of 1, 2 or 3");
    struct kiln_closure *closure = NULL, *source = new_source(arity, fun, payload);
    if (!source) return KILN_FAIL_TEXT("out of memory: a closure");
    bool is_plain = kiln__compile_mode() == MLX_COMPILE_MODE_DISABLED;
    kiln_status status = KILN_OK;
    if (!is_plain) {
        status = compile_named(name, source, shapeless, &closure, &err);
    } else if (!(source->name = strdup(name))) {
        status = kiln__no_memory(&err, "a closure");
        kiln__closure_unref(source);
    } else {
        closure = source;
    }
    if (status) return KILN_FAIL(&err);
    kiln__closure_ref(source); /* the destructor is set below, so that a failure here does not run it */
    int code = kiln__give_closure(res, closure);
    if (!code) source->dtor = dtor;
    kiln__closure_unref(source);
    return code;
}
