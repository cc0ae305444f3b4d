/*
 * watch.c - see watch.h; and kiln_var, a value with an epoch.
 *
 * A kiln_var is a seqlock: it is signed without a lock, on every call; its epoch is odd while a setter writes, and a
 * reader copies again when the epoch has changed meanwhile, so no key holds a torn value. A value that outgrows its
 * buffer moves to a new one; the old buffers stay until the variable is freed, since a reader may be in one: together
 * they are no larger than the last.
 */
#include "key/watch.h"

#include <errno.h>
#include <pthread.h>

#include "base/process/gate.h"
#include "base/process/nap.h"

struct buffer {
    struct buffer *older;
    uint32_t cap;             /* words */
    _Atomic uint64_t size;    /* bytes of the value */
    _Atomic uint64_t words[]; /* zeros behind the value up to a whole word */
};

struct kiln_var {
    pthread_mutex_t lock; /* one setter at a time */
    _Atomic uint64_t epoch;
    _Atomic(struct buffer *) buffer;
    char name[];
};

/* ---- kiln_var ------------------------------------------------------------------------------------------------- */

enum { LARGEST_VALUE = 1 << 22 }; /* bytes: a key could not hold more */

static uint32_t words_of(size_t size)
{
    return (uint32_t)((size + 7) / 8);
}

static uint64_t word_at(const void *data, size_t size, uint32_t i)
{
    uint64_t word = 0;
    memcpy(&word, (const char *)data + (size_t)i * 8, size - (size_t)i * 8 < 8 ? size - (size_t)i * 8 : 8);
    return word;
}

static void fill(struct buffer *buffer, const void *data, size_t size)
{
    atomic_store_explicit(&buffer->size, size, memory_order_release);
    for (uint32_t i = 0; i < words_of(size); i++)
        atomic_store_explicit(&buffer->words[i], word_at(data, size, i), memory_order_release);
}

static struct buffer *buffer_new(struct buffer *older, const void *data, size_t size)
{
    uint32_t cap = older ? older->cap * 2 : 1;
    if (cap < words_of(size)) cap = words_of(size);
    struct buffer *buffer = calloc(1, sizeof *buffer + cap * sizeof *buffer->words);
    if (!buffer) return NULL;
    buffer->older = older;
    buffer->cap = cap;
    fill(buffer, data, size);
    return buffer;
}

kiln_status kiln_var_new(const char *name, const void *data, size_t size, kiln_var **out, kiln_error *err)
{
    if (!name || !*name || !out || (!data && size) || size > LARGEST_VALUE)
        return kiln__fail(
            err, KILN_INVALID,
            "kiln_var_new: needs a name, a pointer for the result, and data for its %zu bytes (at most %d)", size,
            (int)LARGEST_VALUE);
    kiln_var *var = malloc(sizeof *var + strlen(name) + 1);
    struct buffer *buffer = buffer_new(NULL, data, size);
    if (!var || !buffer) {
        free(var);
        free(buffer);
        return kiln__no_memory(err, "a variable");
    }
    pthread_mutex_init(&var->lock, NULL);
    atomic_init(&var->buffer, buffer);
    atomic_init(&var->epoch, 0);
    strcpy(var->name, name);
    *out = var;
    return KILN_OK;
}

static bool holds(const struct buffer *buffer, const void *data, size_t size)
{
    bool same = atomic_load_explicit(&buffer->size, memory_order_relaxed) == size;
    for (uint32_t i = 0; same && i < words_of(size); i++)
        same = atomic_load_explicit(&buffer->words[i], memory_order_relaxed) == word_at(data, size, i);
    return same;
}

/* With the lock held. The stores of the value stand between those of an odd and of the next even epoch. */
static void replace(kiln_var *var, struct buffer *buffer, const void *data, size_t size)
{
    uint64_t epoch = atomic_load_explicit(&var->epoch, memory_order_relaxed);
    if (words_of(size) > buffer->cap) {
        struct buffer *larger = buffer_new(buffer, data, size);
        if (!larger) return; /* the old value stays */
        atomic_store_explicit(&var->buffer, larger, memory_order_release);
    } else {
        atomic_store_explicit(&var->epoch, epoch + 1, memory_order_relaxed);
        fill(buffer, data, size);
    }
    atomic_store_explicit(&var->epoch, epoch + 2, memory_order_release);
}

void kiln_var_set(kiln_var *var, const void *data, size_t size)
{
    if (!var || (!data && size) || size > LARGEST_VALUE) return;
    kiln__mutex_lock(&var->lock);
    struct buffer *buffer = atomic_load_explicit(&var->buffer, memory_order_relaxed);
    if (!holds(buffer, data, size)) replace(var, buffer, data, size);
    kiln__mutex_unlock(&var->lock);
}

void kiln_var_free(kiln_var *var)
{
    if (!var) return;
    for (struct buffer *buffer = atomic_load(&var->buffer), *older; buffer; buffer = older) {
        older = buffer->older;
        free(buffer);
    }
    pthread_mutex_destroy(&var->lock);
    free(var);
}

/* Copies the value behind what is in the key. False: a setter was at work; nothing was added. */
static bool try_sign(kiln_var *var, struct kiln_signature *signature)
{
    uint32_t start = signature->count;
    uint64_t epoch = atomic_load_explicit(&var->epoch, memory_order_acquire);
    struct buffer *buffer = atomic_load_explicit(&var->buffer, memory_order_acquire);
    uint64_t size = atomic_load_explicit(&buffer->size, memory_order_acquire);
    if (epoch & 1 || words_of(size) > buffer->cap) return false;
    uint64_t *words = kiln__signature_grow(signature, 1 + words_of(size));
    if (!words) return true; /* the key says so itself */
    words[0] = kiln__item(KILN_ITEM_VARIABLE, (uint32_t)(size & 7), words_of(size));
    for (uint32_t i = 0; i < words_of(size); i++)
        words[1 + i] = atomic_load_explicit(&buffer->words[i], memory_order_acquire);
    if (atomic_load_explicit(&var->epoch, memory_order_relaxed) == epoch) return true;
    signature->count = start;
    return false;
}

/* Does it hold this value, and in which epoch? False also while a setter is at work. */
static bool is_held(kiln_var *var, const void *data, size_t size, uint64_t *epoch)
{
    *epoch = atomic_load_explicit(&var->epoch, memory_order_acquire);
    bool same = !(*epoch & 1) && holds(atomic_load_explicit(&var->buffer, memory_order_acquire), data, size);
    atomic_thread_fence(memory_order_acquire);
    return same && atomic_load_explicit(&var->epoch, memory_order_relaxed) == *epoch;
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

static struct kiln_watch *find(const struct kiln_watches *watches, enum kiln_item kind, const char *module,
                               const char *name)
{
    struct kiln_watch *watch = atomic_load_explicit(&watches->first, memory_order_acquire);
    while (watch && (watch->kind != kind || strcmp(watch->module, module) || strcmp(watch->name, name)))
        watch = atomic_load_explicit(&watch->next, memory_order_acquire);
    return watch;
}

/* Takes what a watch holds on to. */
static kiln_status refer(struct kiln_watch *watch, kiln_error *err)
{
    if (watch->kind == KILN_ITEM_FILE)
        return (watch->file = kiln__tracked_ref(watch->name)) ? KILN_OK : kiln__no_memory(err, "a watch");
    if (watch->kind != KILN_ITEM_MEMORY) return KILN_OK;
    watch->width = kiln__memory_width(watch->address, watch->size);
    return kiln__module_ref(watch->module, &watch->owner, err);
}

kiln_status kiln__watches_add(struct kiln_watches *watches, enum kiln_item kind, const char *module, const char *name,
                              const void *address, size_t size, kiln_var *var, kiln_error *err)
{
    if (kind == KILN_ITEM_VARIABLE) name = var->name;
    const struct kiln_watch *known = find(watches, kind, module, name);
    if (known && known->address == address && known->size == size && known->var == var) return KILN_OK;
    if (known)
        return kiln__fail(err, KILN_INVALID, "%s in %s is watched already, at another address or size", name, module);
    uint32_t index = kind == KILN_ITEM_ENVIRONMENT ? kiln__environment_index(name) : 0;
    if (index == UINT32_MAX) return kiln__no_memory(err, "a watch");
    size_t module_size = strlen(module) + 1, name_size = strlen(name) + 1;
    struct kiln_watch *watch = malloc(sizeof *watch + module_size + name_size);
    if (!watch) return kiln__no_memory(err, "a watch");
    *watch = (struct kiln_watch){.kind = kind, .index = index, .address = address, .size = size, .var = var};
    memcpy(watch->module, module, module_size);
    watch->name = watch->module + module_size;
    memcpy(watch->name, name, name_size);
    kiln_status status = refer(watch, err);
    if (status) {
        free(watch);
        return status;
    }
    if (watches->last)
        atomic_store_explicit(&watches->last->next, watch, memory_order_release);
    else
        atomic_store_explicit(&watches->first, watch, memory_order_release);
    watches->last = watch;
    return KILN_OK;
}

void kiln__watches_set_kind(struct kiln_watches *watches, const char *module, const char *name, kiln_watched_kind kind)
{
    for (struct kiln_watch *watch = atomic_load(&watches->first); watch; watch = atomic_load(&watch->next))
        if (watch->kind == KILN_ITEM_MEMORY && !strcmp(watch->module, module) && !strcmp(watch->name, name))
            atomic_store_explicit(&watch->value_kind, (uint8_t)kind, memory_order_relaxed);
}

kiln_status kiln__watches_copy(struct kiln_watches *to, const struct kiln_watches *from, kiln_error *err)
{
    for (struct kiln_watch *watch = atomic_load(&from->first); watch; watch = atomic_load(&watch->next)) {
        kiln_status status = kiln__watches_add(to, watch->kind, watch->module, watch->name, watch->address, watch->size,
                                               watch->var, err);
        if (status) return status;
        if (watch->kind == KILN_ITEM_MEMORY)
            kiln__watches_set_kind(to, watch->module, watch->name, (kiln_watched_kind)atomic_load(&watch->value_kind));
    }
    return KILN_OK;
}

void kiln__watches_release(struct kiln_watches *watches)
{
    struct kiln_watch *watch = atomic_load(&watches->first);
    while (watch) {
        struct kiln_watch *next = atomic_load(&watch->next);
        kiln__module_unref(watch->owner);
        kiln__tracked_unref(watch->file);
        free(watch);
        watch = next;
    }
    atomic_store(&watches->first, NULL);
    watches->last = NULL;
}

/* ---- signing -------------------------------------------------------------------------------------------------- */

/* On every call: variables of one word or less are the usual ones, and a call of memcpy costs more than they do. */
static inline void sign_memory(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    if (!KILN_SEGMENT_WATCHES) {
        kiln__signature_word(signature, kiln__item(KILN_ITEM_MEMORY, 0, 0));
    } else if (watch->width) {
        uint64_t *words = kiln__signature_grow(signature, 2);
        if (!words) return;
        words[0] = kiln__item(KILN_ITEM_MEMORY, watch->width & 7, 1);
        words[1] = kiln__memory_word(watch->address, watch->width);
    } else {
        kiln__signature_bytes(signature, KILN_ITEM_MEMORY, 0, watch->address, watch->size);
    }
}

/* A set variable keeps its NUL, so the key itself can be read as a string. */
static void sign_environment_slowly(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    const char *value = KILN_SEGMENT_ENVIRONMENT ? getenv(watch->name) : NULL;
    if (value)
        kiln__signature_bytes(signature, KILN_ITEM_ENVIRONMENT, 1, value, strlen(value) + 1);
    else
        kiln__signature_word(signature, kiln__item(KILN_ITEM_ENVIRONMENT, 0, 0));
}

static inline void sign_environment(const struct kiln_watch *watch, const struct kiln_environment *environment,
                                    struct kiln_signature *signature)
{
    const struct kiln_variable *variable =
        KILN_SEGMENT_ENVIRONMENT && environment ? kiln__environment_variable(environment, watch->index) : NULL;
    if (__builtin_expect(!variable, 0)) {
        sign_environment_slowly(watch, signature);
        return;
    }
    uint32_t size = variable->size, count = (size + 7) / 8;
    uint64_t *words = kiln__signature_grow(signature, 1 + count);
    if (!words) return;
    words[0] = kiln__item(KILN_ITEM_ENVIRONMENT, size ? 1u << 8 | (size & 7) : 0, count);
    for (uint32_t i = 0; i < count; i++) words[1 + i] = variable->words[i];
}

static void sign_variable(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    if (!KILN_SEGMENT_WATCHES) {
        kiln__signature_word(signature, kiln__item(KILN_ITEM_VARIABLE, 0, 0));
        return;
    }
    for (unsigned tries = 0; !try_sign(watch->var, signature); tries++) kiln__nap(tries); /* a setter is at work */
}

static void sign_file(const struct kiln_watch *watch, struct kiln_signature *signature)
{
    struct kiln_file_value value = {0};
    if (KILN_SEGMENT_FILES) kiln__tracked_look(watch->file, &value, NULL);
    if (value.kind == KILN_FILE_CONTENT)
        kiln__signature_bytes(signature, KILN_ITEM_FILE, 0, &value.digest, sizeof value.digest);
    else
        kiln__signature_word(signature, kiln__item(KILN_ITEM_FILE, 0, 0));
    if (value.kind > KILN_FILE_CONTENT && !signature->status) signature->status = KILN_INVALID;
}

kiln_status kiln__watch_refuse(const struct kiln_watch *watch, const char *function, kiln_error *err)
{
    struct kiln_file_value value;
    int error = watch->kind == KILN_ITEM_FILE ? kiln__tracked_look(watch->file, &value, NULL) : 0;
    bool is_folder = watch->kind == KILN_ITEM_FILE && value.kind == KILN_FILE_FOLDER;
    if (!error && !is_folder) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "%s: the watched file %s can't be read: %s", function, watch->name,
                      is_folder         ? "it is a folder"
                      : error == EINVAL ? "it is no regular file"
                                        : strerror(error));
}

void kiln__watches_sign(const struct kiln_watches *watches, const struct kiln_environment *environment,
                        struct kiln_signature *signature)
{
    const struct kiln_watch *watch = atomic_load_explicit(&watches->first, memory_order_acquire);
    for (; watch; watch = atomic_load_explicit(&watch->next, memory_order_acquire)) {
        if (watch->kind == KILN_ITEM_MEMORY)
            sign_memory(watch, signature);
        else if (watch->kind == KILN_ITEM_ENVIRONMENT)
            sign_environment(watch, environment, signature);
        else if (watch->kind == KILN_ITEM_VARIABLE)
            sign_variable(watch, signature);
        else
            sign_file(watch, signature);
    }
}

struct kiln_watched kiln__watched_read(const struct kiln_watch *watch, const uint64_t *words, uint32_t *at)
{
    uint64_t header = words[*at];
    uint32_t count = kiln__item_words(header), rest = kiln__item_info(header) & 7;
    struct kiln_watched watched = {
        .watch = watch, .data = words + *at + 1, .size = (size_t)count * 8 - (rest ? 8 - rest : 0)};
    if (watch->kind == KILN_ITEM_ENVIRONMENT && !(kiln__item_info(header) >> 8)) watched.data = NULL;
    if (watch->kind == KILN_ITEM_FILE && !count) watched.data = NULL;
    *at += 1 + count;
    return watched;
}

/* ---- around lower() ------------------------------------------------------------------------------------------- */

enum { NO_EPOCH = 1 }; /* odd: no value is read in it */

static bool is_value(const struct kiln_watched *watched, const struct kiln_file_value *value)
{
    if (value->kind == KILN_FILE_ABSENT) return !watched->data;
    return value->kind == KILN_FILE_CONTENT && watched->data &&
           !memcmp(watched->data, &value->digest, sizeof value->digest);
}

void kiln__watched_begin(struct kiln_watched *watched)
{
    const struct kiln_watch *watch = watched->watch;
    if (watch->kind == KILN_ITEM_VARIABLE) {
        if (!is_held(watch->var, watched->data, watched->size, &watched->epoch)) watched->epoch = NO_EPOCH;
    } else if (watch->kind == KILN_ITEM_FILE) {
        struct kiln_file_value value;
        kiln__tracked_settle(watch->file);
        kiln__tracked_look(watch->file, &value, &watched->stamp);
        watched->has_changed = !is_value(watched, &value);
    }
}

/* The stamp too: a file that was written and holds the same again may have held something else meanwhile. */
static bool was_not_written(const struct kiln_watched *watched)
{
    struct kiln_file_stamp now = kiln__tracked_stamp(watched->watch->file);
    return !watched->has_changed && kiln__file_stamps_equal(&now, &watched->stamp);
}

static bool is_in_environment(const struct kiln_watched *watched)
{
    const struct kiln_watch *watch = watched->watch;
    const char *value = getenv(watch->name);
    return value && watched->data ? !strcmp(value, watched->data) : !value && !watched->data;
}

static bool was_not_set(const struct kiln_watched *watched)
{
    kiln_var *var = watched->watch->var;
    uint64_t epoch;
    if (!KILN_SEGMENT_EPOCHS) return is_held(var, watched->data, watched->size, &epoch);
    atomic_thread_fence(memory_order_acquire); /* what lower() read was read before */
    return atomic_load_explicit(&var->epoch, memory_order_relaxed) == watched->epoch;
}

bool kiln__watched_stands(const struct kiln_watched *watched)
{
    const struct kiln_watch *watch = watched->watch;
    if (__atomic_load_n(&watched->is_taken, __ATOMIC_RELAXED)) return true;
    if (watch->kind == KILN_ITEM_ENVIRONMENT) return !KILN_SEGMENT_ENVIRONMENT || is_in_environment(watched);
    if (watch->kind == KILN_ITEM_FILE) return !KILN_SEGMENT_FILES || was_not_written(watched);
    if (!KILN_SEGMENT_WATCHES) return true;
    if (watch->kind == KILN_ITEM_VARIABLE) return was_not_set(watched);
    return kiln__memory_holds(watch->address, watched->data, watched->size);
}
