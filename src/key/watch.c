/*
 * watch.c - see watch.h; and kiln_var, a value with an epoch.
 *
 * A kiln_var's value is replaced as a whole under its lock; signing copies it under the same lock, so no key holds half
 * of two values.
 */
#include "key/watch.h"

#include <pthread.h>

struct kiln_var {
    pthread_mutex_t lock; /* guards data and size */
    void *data;
    size_t size;
    _Atomic uint64_t epoch; /* bumped when the value changes */
    char name[];
};

/* ---- kiln_var ------------------------------------------------------------------------------------------------- */

static void *copy_bytes(const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy && size) memcpy(copy, data, size);
    return copy;
}

kiln_status kiln_var_new(const char *name, const void *data, size_t size, kiln_var **out, kiln_error *err)
{
    if (!name || !*name || !out || (!data && size))
        return kiln__fail(err, KILN_INVALID, "kiln_var_new: needs a name, a place for the result, and data for its %zu bytes", size);
    kiln_var *var = malloc(sizeof *var + strlen(name) + 1);
    void *copy = copy_bytes(data, size);
    if (!var || !copy) {
        free(var);
        free(copy);
        return kiln__no_memory(err, "a variable");
    }
    pthread_mutex_init(&var->lock, NULL);
    var->data = copy;
    var->size = size;
    atomic_init(&var->epoch, 1);
    strcpy(var->name, name);
    *out = var;
    return KILN_OK;
}

void kiln_var_set(kiln_var *var, const void *data, size_t size)
{
    if (!var || (!data && size)) return;
    void *copy = copy_bytes(data, size);
    if (!copy) return;
    pthread_mutex_lock(&var->lock);
    if (size != var->size || memcmp(copy, var->data, size)) {
        void *old = var->data;
        var->data = copy;
        var->size = size;
        copy = old;
        atomic_fetch_add_explicit(&var->epoch, 1, memory_order_release);
    }
    pthread_mutex_unlock(&var->lock);
    free(copy);
}

void kiln_var_free(kiln_var *var)
{
    if (!var) return;
    pthread_mutex_destroy(&var->lock);
    free(var->data);
    free(var);
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

static struct kiln_watch *find(const struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name)
{
    struct kiln_watch *watch = atomic_load_explicit(&watches->first, memory_order_acquire);
    while (watch && (watch->kind != kind || strcmp(watch->module, module) || strcmp(watch->name, name)))
        watch = atomic_load_explicit(&watch->next, memory_order_acquire);
    return watch;
}

kiln_status kiln__watches_add(struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name,
                              const void *address, size_t size, kiln_var *var, kiln_error *err)
{
    if (kind == KILN_ITEM_VARIABLE) name = var->name;
    const struct kiln_watch *known = find(watches, kind, module, name);
    if (known && known->address == address && known->size == size && known->var == var) return KILN_OK;
    if (known) return kiln__fail(err, KILN_INVALID, "%s in %s is watched already, at another address or size", name, module);
    size_t module_size = strlen(module) + 1, name_size = strlen(name) + 1;
    struct kiln_watch *watch = malloc(sizeof *watch + module_size + name_size);
    if (!watch) return kiln__no_memory(err, "a watch");
    *watch = (struct kiln_watch){.kind = kind, .address = address, .size = size, .var = var};
    memcpy(watch->module, module, module_size);
    watch->name = watch->module + module_size;
    memcpy(watch->name, name, name_size);
    if (watches->last)
        atomic_store_explicit(&watches->last->next, watch, memory_order_release);
    else
        atomic_store_explicit(&watches->first, watch, memory_order_release);
    watches->last = watch;
    return KILN_OK;
}

kiln_status kiln__watches_copy(struct kiln_watches *to, const struct kiln_watches *from, kiln_error *err)
{
    for (struct kiln_watch *watch = atomic_load(&from->first); watch; watch = atomic_load(&watch->next)) {
        kiln_status status = kiln__watches_add(to, watch->kind, watch->module, watch->name, watch->address, watch->size, watch->var, err);
        if (status) return status;
    }
    return KILN_OK;
}

void kiln__watches_release(struct kiln_watches *watches)
{
    struct kiln_watch *watch = atomic_load(&watches->first);
    while (watch) {
        struct kiln_watch *next = atomic_load(&watch->next);
        free(watch);
        watch = next;
    }
    atomic_store(&watches->first, NULL);
    watches->last = NULL;
}

/* ---- signing -------------------------------------------------------------------------------------------------- */

static void sign_memory(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    kiln__signature_bytes(signature, KILN_ITEM_MEMORY, 0, watch->address, watch->size);
}

/* A set variable keeps its NUL, so the key itself can be read as a string. */
static void sign_environment(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    const char *value = getenv(watch->name);
    if (value)
        kiln__signature_bytes(signature, KILN_ITEM_ENVIRONMENT, 1, value, strlen(value) + 1);
    else
        kiln__signature_word(signature, kiln__item(KILN_ITEM_ENVIRONMENT, 0, 0));
}

static void sign_variable(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    pthread_mutex_lock(&watch->var->lock);
    kiln__signature_bytes(signature, KILN_ITEM_VARIABLE, 0, watch->var->data, watch->var->size);
    pthread_mutex_unlock(&watch->var->lock);
}

void kiln__watches_sign(const struct kiln_watches *watches, struct kiln_signature *signature)
{
    const struct kiln_watch *watch = atomic_load_explicit(&watches->first, memory_order_acquire);
    for (; watch; watch = atomic_load_explicit(&watch->next, memory_order_acquire)) {
        if (watch->kind == KILN_ITEM_MEMORY) sign_memory(watch, signature);
        if (watch->kind == KILN_ITEM_ENVIRONMENT) sign_environment(watch, signature);
        if (watch->kind == KILN_ITEM_VARIABLE) sign_variable(watch, signature);
    }
}

struct kiln_watched kiln__watched_read(const struct kiln_watch *watch, const uint64_t *words, uint32_t *at)
{
    uint64_t header = words[*at];
    uint32_t count = kiln__item_words(header), rest = kiln__item_info(header) & 7;
    struct kiln_watched watched = {watch, words + *at + 1, (size_t)count * 8 - (rest ? 8 - rest : 0)};
    if (watch->kind == KILN_ITEM_ENVIRONMENT && !(kiln__item_info(header) >> 8)) watched.data = NULL;
    *at += 1 + count;
    return watched;
}

static int by_module_and_name(const void *a, const void *b)
{
    const struct kiln_watch *left = ((const struct kiln_watched *)a)->watch, *right = ((const struct kiln_watched *)b)->watch;
    int order = strcmp(left->module, right->module);
    if (!order) order = strcmp(left->name, right->name);
    return order ? order : (int)left->kind - (int)right->kind;
}

kiln_status kiln__watched_content(struct kiln_watched *watched, size_t count, struct kiln_content_key *key, kiln_error *err)
{
    if (count) qsort(watched, count, sizeof *watched, by_module_and_name);
    for (size_t i = 0; i < count; i++) {
        const struct kiln_watch *watch = watched[i].watch;
        struct kiln_buffer name = {0};
        kiln__buffer_printf(&name, "watch %s %s", watch->module, watch->name);
        if (name.failed) return kiln__no_memory(err, "a content key");
        /* unset and empty differ: a set value of the environment has at least its NUL */
        kiln__content_field(key, (const char *)name.data, watched[i].data ? watched[i].data : "", watched[i].data ? watched[i].size : 0);
        kiln__buffer_release(&name);
    }
    return KILN_OK;
}
