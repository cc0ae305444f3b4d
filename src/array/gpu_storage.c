/*
 * gpu_storage.c - see gpu_storage.h.
 *
 * Four size classes per power of two, from 512 bytes on. Lists and sums are guarded by the lock; the driver is called
 * without it.
 *
 * Of memory that fits, that with the lowest address is used next. So where a loop's arrays lie follows from what is
 * held when an iteration begins, and not from the order in which the one before gave memory back: addresses come again
 * after an iteration or two, and with them launch graphs (run/gpu/launch_graph.c).
 */
#include "array/gpu_storage.h"

#include <stdbool.h>
#include <stdlib.h>

#include "array/block.h"
#include "base/process/fork.h"
#include "device/gpu.h"

enum {
    SMALLEST = 512,
    FIRST_EXPONENT = 8,
    CLASSES = 224,
    SORTED = 64 /* of a list at least, from its beginning on: a long one takes no time to put something in */
};

KILN_LEAF_LOCK(lock);
static struct kiln_storage *kept[KILN_MAX_GPUS][CLASSES]; /* linked through `payload` */
static size_t kept_bytes, kept_count;

static uint32_t class_of(size_t size, size_t *capacity)
{
    if (size < SMALLEST) size = SMALLEST;
    unsigned exponent = 63u - (unsigned)__builtin_clzll(size - 1);
    size_t quarters = ((size - 1) >> (exponent - 2)) + 1; /* 5 to 8 */
    *capacity = quarters << (exponent - 2);
    return (exponent - FIRST_EXPONENT) * 4 + (uint32_t)(quarters - 5);
}

/* What this thread freed between kiln__storage_hold(true) and kiln__storage_hold(false). */
static _Thread_local struct {
    bool holds;
    struct kiln_storage *first; /* linked through `payload` */
} mine;

static struct kiln_storage **next_of(struct kiln_storage *storage)
{
    return (struct kiln_storage **)&storage->payload;
}

static void put_in_order(struct kiln_storage **list, struct kiln_storage *storage)
{
    for (int i = 0; *list && (*list)->data < storage->data && i < SORTED; i++) list = next_of(*list);
    storage->payload = *list;
    *list = storage;
}

/* The first of a list that the current stream wrote last; as a rule, the first. */
static struct kiln_storage *take(struct kiln_storage **link, uint32_t device_index, uint32_t size_class)
{
    for (; *link; link = next_of(*link)) {
        struct kiln_storage *storage = *link;
        if (storage->device_index != device_index || storage->size_class != size_class ||
            kiln__gpu_stream_written(&storage->use) != kiln__gpu_stream())
            continue;
        *link = storage->payload;
        return storage;
    }
    return NULL;
}

static struct kiln_storage *take_kept(uint32_t device_index, uint32_t size_class)
{
    struct kiln_storage *freed = take(&mine.first, device_index, size_class);
    if (freed) return freed;
    pthread_mutex_lock(&lock);
    struct kiln_storage *storage = take(&kept[device_index - 1][size_class], device_index, size_class);
    if (storage) {
        kept_bytes -= storage->size;
        kept_count--;
    }
    pthread_mutex_unlock(&lock);
    return storage;
}

static kiln_status make(const struct kiln_gpu *gpu, size_t capacity, struct kiln_storage **out, kiln_error *err)
{
    struct kiln_storage *storage = kiln__block_new(sizeof *storage);
    char *data = NULL;
    if (!storage) return kiln__no_memory(err, "the header of storage");
    kiln_status status = kiln__gpu_alloc(gpu, capacity, &data, err);
    if (status == KILN_NO_MEMORY) {
        kiln__gpu_storage_clear();
        status = kiln__gpu_alloc(gpu, capacity, &data, err);
    }
    if (status) {
        kiln__block_free(storage, sizeof *storage);
        return status;
    }
    *storage = (struct kiln_storage){.data = data};
    *out = storage;
    return KILN_OK;
}

/* Copies wait for what was launched before them, so nothing still uses the bytes when they go. They are on stream 0. */
static kiln_status enter(const struct kiln_storage *storage, struct kiln_gpu **out, kiln_error *err)
{
    kiln_status status = kiln__gpu_get(storage->device_index - 1, out, err);
    return status ? status : kiln__gpu_enter(*out, err);
}

/* The driver waits for running work before it gives memory back. */
static void give_back(struct kiln_storage *storage)
{
    struct kiln_gpu *gpu;
    if (!enter(storage, &gpu, NULL)) kiln__gpu_free(gpu, storage->data);
    kiln__block_free(storage, sizeof *storage);
}

/* It belongs to the current stream from here on, which waits for others that still read what was there. */
static kiln_status begin_use(struct kiln_storage *storage, kiln_error *err)
{
    struct kiln_gpu *gpu;
    kiln_status status = enter(storage, &gpu, err);
    if (!status) status = kiln__gpu_before_write(gpu, &storage->use, err);
    if (!status) kiln__gpu_after_write(gpu, &storage->use);
    return status;
}

kiln_status kiln__gpu_storage_new(uint32_t device_index, size_t size, struct kiln_storage **out, kiln_error *err)
{
    struct kiln_gpu *gpu;
    size_t capacity = 0;
    if (size > (size_t)1 << 46) return kiln__fail(err, KILN_NO_MEMORY, "no GPU has %zu bytes", size);
    uint32_t size_class = class_of(size, &capacity);
    struct kiln_storage *storage = take_kept(device_index, size_class);
    kiln_status status = KILN_OK;
    if (!storage) {
        status = kiln__gpu_get(device_index - 1, &gpu, err);
        if (!status) status = kiln__gpu_enter(gpu, err);
        if (!status) status = make(gpu, capacity, &storage, err);
        if (status) return status;
        storage->size_class = size_class;
        storage->device_index = device_index;
    }
    if (__builtin_expect(atomic_load(&kiln__gpu_has_streams), 0)) status = begin_use(storage, err);
    if (status) {
        give_back(storage);
        return status;
    }
    atomic_store_explicit(&storage->refs, 1, memory_order_relaxed);
    storage->size = size;
    *out = storage;
    return KILN_OK;
}

void kiln__gpu_storage_hold(bool hold, size_t limit)
{
    mine.holds = hold;
    for (struct kiln_storage *next; !hold && mine.first; mine.first = next) {
        next = mine.first->payload;
        kiln__gpu_storage_free(mine.first, limit);
    }
}

void kiln__gpu_storage_free(struct kiln_storage *storage, size_t limit)
{
    if (mine.holds) {
        put_in_order(&mine.first, storage);
        return;
    }
    pthread_mutex_lock(&lock);
    bool keep = storage->size <= limit && kept_bytes <= limit - storage->size;
    if (keep) {
        put_in_order(&kept[storage->device_index - 1][storage->size_class], storage);
        kept_bytes += storage->size;
        kept_count++;
    }
    pthread_mutex_unlock(&lock);
    if (!keep) give_back(storage);
}

void kiln__gpu_storage_settle(const struct kiln_storage *storage)
{
    struct kiln_gpu *gpu;
    if (!enter(storage, &gpu, NULL)) kiln__gpu_settle(gpu, &storage->use);
}

kiln_status kiln__gpu_storage_write(struct kiln_storage *storage, const char *from, kiln_error *err)
{
    struct kiln_gpu *gpu;
    uint32_t before = kiln__gpu_stream_use(0);
    kiln_status status = enter(storage, &gpu, err);
    if (!status) status = kiln__gpu_before_write(gpu, &storage->use, err);
    if (!status) status = kiln__gpu_upload(gpu, storage->data, from, storage->size, err);
    if (!status) kiln__gpu_after_write(gpu, &storage->use);
    kiln__gpu_stream_use(before);
    return status;
}

kiln_status kiln__gpu_storage_read(const struct kiln_storage *storage, size_t offset, size_t size, char *to,
                                   kiln_error *err)
{
    struct kiln_gpu *gpu;
    uint32_t before = kiln__gpu_stream_use(0);
    kiln_status status = enter(storage, &gpu, err);
    if (!status) status = kiln__gpu_before_read(gpu, &storage->use, err);
    if (!status) status = kiln__gpu_download(gpu, to, storage->data + offset, size, err); /* done when it returns */
    kiln__gpu_stream_use(before);
    return status;
}

size_t kiln__gpu_storage_cached(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = kept_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

static struct kiln_storage *detach_all(void)
{
    struct kiln_storage *all = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < (size_t)KILN_MAX_GPUS * CLASSES && kept_count > 0; i++) {
        struct kiln_storage **list = &kept[i / CLASSES][i % CLASSES];
        while (*list) {
            struct kiln_storage *storage = *list;
            *list = storage->payload;
            kept_count--;
            storage->payload = all;
            all = storage;
        }
    }
    kept_bytes = 0;
    pthread_mutex_unlock(&lock);
    return all;
}

void kiln__gpu_storage_clear(void)
{
    for (struct kiln_storage *storage = detach_all(), *next; storage; storage = next) {
        next = storage->payload;
        give_back(storage);
    }
}
