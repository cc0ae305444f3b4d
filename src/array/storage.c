/*
 * storage.c - see storage.h.
 *
 * Two paths. Small storage (up to 16 KiB) is one allocation, header and bytes, kept in lists of the thread that freed
 * it and counted there, so that a warm call writes no line that another thread uses. Large storage goes through the
 * memory lock, with four size classes per power of two, so at most a quarter is unused.
 *
 * Numbers: active = shared.active + the sum of every thread's `active`: exact. The peak is exact while one thread
 * allocates, wherever its storage is freed. With several, each thread's highest point is combined with what the others
 * hold when it is settled; a thread folds before its part exceeds 256 KiB, so the peak is off by less than that each.
 * The cache counts the bytes that freed storage held when it was live, so that freeing moves bytes from active to
 * cache.
 *
 * Clearing the cache raises `epoch`; a thread that finds its lists older gives them back before it uses them. What an
 * idle thread still holds (576 KiB at most) is no longer counted, because it will not be reused.
 */
#include "array/storage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array/block.h"
#include "array/gpu_storage.h"
#include "array/local.h"

enum {
    ALIGNMENT = 64,
    HEADER = 64,   /* in front of the bytes of small storage */
    SMALLEST = 64, /* capacity of class 0 */
    SMALL_MAX = SMALLEST << (KILN_SMALL_CLASSES - 1),
    KEPT_BYTES_PER_CLASS = 64 * 1024, /* of one thread */
    FOLD_BYTES = 256 * 1024,
    SMALL_CACHE_MIN = 1024 * 1024, /* threads keep small storage only when the cache limit is above */
    CLASS_COUNT = 256,
    HUGE_PAGE = 2 * 1024 * 1024
};

#define FOREIGN_CLASS UINT32_MAX

_Static_assert(sizeof(struct kiln_storage) <= HEADER, "the header of small storage fits in front of its bytes");

/* Guarded by the memory lock, but for the atomic fields, which are also read without it. */
static struct {
    int64_t active, peak, cache;
    struct kiln_storage *free[CLASS_COUNT]; /* linked through `payload` */
    _Atomic size_t cache_limit, limit;      /* SIZE_MAX: not asked for yet, use the machine's */
    _Atomic uint64_t epoch;
} shared = {.cache_limit = SIZE_MAX, .limit = SIZE_MAX};

static size_t machine_bytes(void)
{
    static _Atomic size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes) return bytes;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 40;
    atomic_store_explicit(&known, bytes, memory_order_relaxed);
    return bytes;
}

static size_t cache_limit(void)
{
    size_t limit = atomic_load_explicit(&shared.cache_limit, memory_order_relaxed);
    return limit == SIZE_MAX ? machine_bytes() / 4 : limit;
}

/* Unless a limit was set, a GPU's freed memory is kept until the GPU has no more. */
static size_t gpu_cache_limit(void)
{
    return atomic_load_explicit(&shared.cache_limit, memory_order_relaxed);
}

size_t kiln__memory_limit(void)
{
    size_t limit = atomic_load_explicit(&shared.limit, memory_order_relaxed);
    return limit == SIZE_MAX ? machine_bytes() : limit;
}

/* ---- size classes ------------------------------------------------------------------------------------------------ */

static unsigned floor_log2(size_t value)
{
    return 63u - (unsigned)__builtin_clzll(value);
}

static uint32_t small_class(size_t size)
{
    return size <= SMALLEST ? 0 : floor_log2(size - 1) - 5;
}

/* The class of a large size, and the bytes that storage of this class has. */
static uint32_t large_class(size_t size, size_t *capacity)
{
    unsigned exponent = floor_log2(size - 1);
    size_t quarters = ((size - 1) >> (exponent - 2)) + 1; /* 5 to 8 */
    *capacity = quarters << (exponent - 2);
    return KILN_SMALL_CLASSES + (exponent - 14) * 4 + (uint32_t)(quarters - 5);
}

/* ---- to and from the system -------------------------------------------------------------------------------------- */

static struct kiln_storage *small_from_system(uint32_t size_class)
{
    struct kiln_storage *storage = aligned_alloc(ALIGNMENT, HEADER + ((size_t)SMALLEST << size_class));
    if (!storage) return NULL;
    storage->size_class = size_class;
    storage->data = (char *)storage + HEADER;
    storage->free_foreign = NULL;
    atomic_init(&storage->device_copy, NULL);
    storage->device_index = 0;
    return storage;
}

/* Large enough bytes begin on a huge page, and ask for them: fewer faults and misses of the TLB. */
static char *large_bytes(size_t capacity)
{
    if (capacity < 4 * (size_t)HUGE_PAGE) return aligned_alloc(ALIGNMENT, capacity);
    char *data = aligned_alloc(HUGE_PAGE, capacity);
    if (data) madvise(data, capacity, MADV_HUGEPAGE); /* advice only: nothing depends on it */
    return data;
}

static struct kiln_storage *large_from_system(uint32_t size_class, size_t capacity)
{
    struct kiln_storage *storage = malloc(sizeof *storage);
    char *data = storage ? large_bytes(capacity) : NULL;
    if (!data) {
        free(storage);
        return NULL;
    }
    *storage = (struct kiln_storage){.size_class = size_class, .data = data};
    return storage;
}

static void to_system(struct kiln_storage *storage)
{
    if (storage->size_class >= KILN_SMALL_CLASSES) free(storage->data);
    free(storage);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static int64_t load(const _Atomic int64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void store(_Atomic int64_t *value, int64_t number)
{
    atomic_store_explicit(value, number, memory_order_relaxed);
}

/* With the lock held. */
static int64_t active_now(void)
{
    int64_t sum = shared.active;
    for (struct kiln_local *local = kiln__local_first(); local; local = local->next) sum += load(&local->active);
    return sum;
}

/* With the lock held: the peak takes in each thread's ceiling on top of what the others hold now. */
static void settle_peak(void)
{
    int64_t active = active_now();
    for (struct kiln_local *local = kiln__local_first(); local; local = local->next) {
        int64_t ceiling = load(&local->ceiling);
        int64_t total = ceiling == KILN_NO_CEILING ? 0 : active - load(&local->active) + ceiling;
        if (total > shared.peak) shared.peak = total;
    }
}

void kiln__storage_fold(struct kiln_local *local)
{
    settle_peak();
    shared.active += load(&local->active);
    store(&local->active, 0);
    store(&local->ceiling, KILN_NO_CEILING);
}

/* Bytes made (or, negative, freed) on the shared path. The peak is settled first, while the ceilings still fit. */
static void count_shared(int64_t bytes)
{
    kiln__local_lock();
    if (kiln__local_current)
        kiln__storage_fold(kiln__local_current);
    else
        settle_peak();
    shared.active += bytes;
    if (bytes > 0 && active_now() > shared.peak) shared.peak = active_now();
    kiln__local_unlock();
}

/*
 * A peak reset on another thread may set `ceiling` between our load and store. Either order is right: a ceiling stored
 * after the reset belongs to an allocation after it, and one that was not raised belongs to an allocation before it.
 */
static void count_small_new(struct kiln_local *local, size_t size)
{
    int64_t active = load(&local->active) + (int64_t)size;
    store(&local->active, active);
    if (active > load(&local->ceiling)) store(&local->ceiling, active);
    if (active > FOLD_BYTES) count_shared(0);
}

/* A thread that frees more than it made frees what another one made: counted in the shared part, at once. */
static void count_small_free(struct kiln_local *local, size_t size)
{
    int64_t active = load(&local->active) - (int64_t)size;
    if (active < 0)
        count_shared(-(int64_t)size);
    else
        store(&local->active, active);
}

/* Bytes of GPUs. Small ones are counted as small storage is, by this thread, so that a launch takes no lock. */
static void count_on_gpu(size_t size, bool is_new)
{
    struct kiln_local *local = size <= SMALL_MAX ? kiln__local() : NULL;
    if (!local)
        count_shared(is_new ? (int64_t)size : -(int64_t)size);
    else if (is_new)
        count_small_new(local, size);
    else
        count_small_free(local, size);
}

/* ---- small storage ----------------------------------------------------------------------------------------------- */

void kiln__storage_drain(struct kiln_local *local)
{
    for (size_t i = 0; i < KILN_SMALL_CLASSES; i++) {
        struct kiln_storage_list *list = &local->storage[i];
        while (list->head) {
            struct kiln_storage *storage = list->head;
            list->head = storage->payload;
            to_system(storage);
        }
        list->count = 0;
    }
    store(&local->cached, 0);
}

/* The lists are of this epoch of the cache, or empty. */
static void refresh(struct kiln_local *local)
{
    uint64_t epoch = atomic_load_explicit(&shared.epoch, memory_order_relaxed);
    if (__builtin_expect(epoch == atomic_load_explicit(&local->epoch, memory_order_relaxed), 1)) return;
    kiln__storage_drain(local);
    atomic_store_explicit(&local->epoch, epoch, memory_order_relaxed);
}

static struct kiln_storage *small_new(struct kiln_local *local, size_t size)
{
    uint32_t size_class = small_class(size);
    struct kiln_storage_list *list = &local->storage[size_class];
    refresh(local);
    struct kiln_storage *storage = list->head;
    if (storage) {
        list->head = storage->payload;
        list->count--;
        store(&local->cached, load(&local->cached) - (int64_t)storage->size);
    } else {
        storage = small_from_system(size_class);
    }
    if (storage) count_small_new(local, size);
    return storage;
}

static void small_free(struct kiln_local *local, struct kiln_storage *storage)
{
    struct kiln_storage_list *list = &local->storage[storage->size_class];
    refresh(local);
    count_small_free(local, storage->size);
    if ((list->count + 1) * ((size_t)SMALLEST << storage->size_class) > KEPT_BYTES_PER_CLASS ||
        cache_limit() < SMALL_CACHE_MIN) {
        to_system(storage);
        return;
    }
    storage->payload = list->head;
    list->head = storage;
    list->count++;
    store(&local->cached, load(&local->cached) + (int64_t)storage->size);
}

/* ---- large storage ----------------------------------------------------------------------------------------------- */

/* Takes all large storage out of the cache, with the lock held; free_list() gives it back without the lock. */
static struct kiln_storage *detach_cache(void)
{
    struct kiln_storage *all = NULL;
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        while (shared.free[i]) {
            struct kiln_storage *storage = shared.free[i];
            shared.free[i] = storage->payload;
            storage->payload = all;
            all = storage;
        }
    }
    shared.cache = 0;
    return all;
}

static void free_list(struct kiln_storage *storage)
{
    while (storage) {
        struct kiln_storage *next = storage->payload;
        to_system(storage);
        storage = next;
    }
}

static struct kiln_storage *reuse_large(uint32_t size_class, size_t size)
{
    struct kiln_storage *too_much = NULL;
    kiln__local_lock();
    struct kiln_storage *storage = shared.free[size_class];
    if (storage) {
        shared.free[size_class] = storage->payload;
        shared.cache -= (int64_t)storage->size;
    } else if ((uint64_t)active_now() + (uint64_t)shared.cache + size > kiln__memory_limit()) {
        too_much = detach_cache();
    }
    kiln__local_unlock();
    free_list(too_much);
    return storage;
}

static struct kiln_storage *make_storage(uint32_t size_class, size_t capacity)
{
    return size_class < KILN_SMALL_CLASSES ? small_from_system(size_class) : large_from_system(size_class, capacity);
}

/* Also small sizes, for a thread that is ending. */
static struct kiln_storage *shared_new(size_t size)
{
    size_t capacity = 0;
    uint32_t size_class = size <= SMALL_MAX ? small_class(size) : large_class(size, &capacity);
    struct kiln_storage *storage = reuse_large(size_class, size);
    if (!storage) storage = make_storage(size_class, capacity);
    if (!storage) {
        kiln__memory_clear_cache();
        storage = make_storage(size_class, capacity);
    }
    if (storage) count_shared((int64_t)size);
    return storage;
}

/* A cache that is full starts over, so that it follows a program whose sizes change. */
static void shared_free(struct kiln_storage *storage)
{
    size_t limit = cache_limit();
    struct kiln_storage *out = NULL;
    count_shared(-(int64_t)storage->size);
    kiln__local_lock();
    if (storage->size_class < KILN_SMALL_CLASSES || storage->size > limit) {
        storage->payload = NULL;
        out = storage;
    } else {
        if ((size_t)shared.cache + storage->size > limit) out = detach_cache();
        storage->payload = shared.free[storage->size_class];
        shared.free[storage->size_class] = storage;
        shared.cache += (int64_t)storage->size;
    }
    kiln__local_unlock();
    free_list(out);
}

/* ---- storage ----------------------------------------------------------------------------------------------------- */

static kiln_status too_large(size_t size, kiln_error *err)
{
    return kiln__fail(err, KILN_NO_MEMORY, "cannot allocate %zu bytes: this machine has %zu", size, machine_bytes());
}

kiln_status kiln__storage_new(size_t size, struct kiln_storage **out, kiln_error *err)
{
    struct kiln_local *local = size <= SMALL_MAX ? kiln__local() : NULL;
    if (size > machine_bytes()) return too_large(size, err);
    struct kiln_storage *storage = local ? small_new(local, size) : shared_new(size);
    if (!storage) return too_large(size, err);
    atomic_store_explicit(&storage->refs, 1, memory_order_relaxed);
    storage->size = size;
    *out = storage;
    return KILN_OK;
}

kiln_status kiln__storage_foreign_at(uint32_t device_index, void *data, size_t size, void (*free_foreign)(void *),
                                     void *payload, struct kiln_storage **out, kiln_error *err)
{
    struct kiln_storage *storage = kiln__block_new(sizeof *storage);
    if (!storage) return kiln__no_memory(err, "the header of foreign memory");
    *storage = (struct kiln_storage){.refs = 1,
                                     .size_class = FOREIGN_CLASS,
                                     .size = size,
                                     .data = data,
                                     .free_foreign = free_foreign,
                                     .payload = payload,
                                     .device_index = device_index};
    *out = storage;
    return KILN_OK;
}

kiln_status kiln__storage_foreign(void *data, size_t size, void (*free_foreign)(void *), void *payload,
                                  struct kiln_storage **out, kiln_error *err)
{
    return kiln__storage_foreign_at(0, data, size, free_foreign, payload, out, err);
}

static void foreign_free(struct kiln_storage *storage)
{
    if (storage->device_index) kiln__gpu_storage_settle(storage);
    if (storage->free_foreign) storage->free_foreign(storage->payload);
    kiln__block_free(storage, sizeof *storage);
}

/* The only owner needs no atomic subtraction: nobody else can take a reference. */
static bool is_last(_Atomic uint32_t *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

void kiln__storage_forget_copy(struct kiln_storage *storage)
{
    kiln__storage_unref(atomic_exchange_explicit(&storage->device_copy, NULL, memory_order_acq_rel));
}

void kiln__storage_unref(struct kiln_storage *storage)
{
    if (!storage || !is_last(&storage->refs)) return;
    if (__builtin_expect(!!atomic_load_explicit(&storage->device_copy, memory_order_acquire), 0))
        kiln__storage_forget_copy(storage);
    if (storage->size_class == FOREIGN_CLASS) {
        foreign_free(storage);
        return;
    }
    if (__builtin_expect(storage->device_index != 0, 0)) {
        count_on_gpu(storage->size, false);
        kiln__gpu_storage_free(storage, gpu_cache_limit());
        return;
    }
    struct kiln_local *local = storage->size_class < KILN_SMALL_CLASSES ? kiln__local() : NULL;
    if (local)
        small_free(local, storage);
    else
        shared_free(storage);
}

/* ---- other devices ----------------------------------------------------------------------------------------------- */

kiln_status kiln__storage_new_at(uint32_t device_index, size_t size, struct kiln_storage **out, kiln_error *err)
{
    if (!device_index) return kiln__storage_new(size, out, err);
    kiln_status status = kiln__gpu_storage_new(device_index, size, out, err);
    if (!status) count_on_gpu(size, true);
    return status;
}

void kiln__storage_hold(bool hold)
{
    kiln__gpu_storage_hold(hold, gpu_cache_limit());
}

static kiln_status copy_to(struct kiln_storage *to, const struct kiln_storage *from, kiln_error *err)
{
    struct kiln_storage *host = NULL;
    if (!from->size) return KILN_OK;
    if (!from->device_index) return kiln__gpu_storage_write(to, from->data, err);
    if (!to->device_index) return kiln__gpu_storage_read(from, 0, from->size, to->data, err);
    kiln_status status = kiln__storage_new(from->size, &host, err); /* from one GPU to another, through the host */
    if (!status) status = kiln__gpu_storage_read(from, 0, from->size, host->data, err);
    if (!status) status = kiln__gpu_storage_write(to, host->data, err);
    kiln__storage_unref(host);
    return status;
}

kiln_status kiln__storage_part(const struct kiln_storage *storage, size_t offset, size_t size,
                               struct kiln_storage **out, kiln_error *err)
{
    kiln_status status = kiln__storage_new(size, out, err);
    if (status) return status;
    status = kiln__gpu_storage_read(storage, offset, size, (*out)->data, err);
    if (status) kiln__storage_unref(*out);
    return status;
}

bool kiln__storage_is_at(struct kiln_storage *storage, uint32_t device_index)
{
    while (storage && storage->device_index != device_index)
        storage = atomic_load_explicit(&storage->device_copy, memory_order_acquire);
    return storage;
}

kiln_status kiln__storage_at(struct kiln_storage *storage, uint32_t device_index, struct kiln_storage **out,
                             kiln_error *err)
{
    struct kiln_storage *device_copy = NULL, *other = NULL;
    if (storage->device_index == device_index) {
        *out = storage;
        return KILN_OK;
    }
    for (;;) {
        device_copy = atomic_load_explicit(&storage->device_copy, memory_order_acquire);
        if (device_copy && device_copy->device_index == device_index) break;
        if (device_copy)
            return kiln__storage_at(device_copy, device_index, out,
                                    err); /* a chain of devices, each with its own device copy */
        kiln_status status = kiln__storage_new_at(device_index, storage->size, &device_copy, err);
        if (!status) status = copy_to(device_copy, storage, err);
        if (!status && atomic_compare_exchange_strong_explicit(&storage->device_copy, &other, device_copy,
                                                               memory_order_acq_rel, memory_order_acquire))
            break;
        kiln__storage_unref(device_copy); /* failed, or another thread was first */
        other = NULL;
        if (status) return status;
    }
    *out = device_copy;
    return KILN_OK;
}

/* ---- the numbers ------------------------------------------------------------------------------------------------- */

void kiln__memory_get(struct kiln_memory *out)
{
    kiln__local_lock();
    settle_peak();
    int64_t active = active_now(), cache = shared.cache;
    uint64_t epoch = atomic_load_explicit(&shared.epoch, memory_order_relaxed);
    for (struct kiln_local *local = kiln__local_first(); local; local = local->next)
        if (atomic_load_explicit(&local->epoch, memory_order_relaxed) == epoch) cache += load(&local->cached);
    *out = (struct kiln_memory){.active = (size_t)active, .peak = (size_t)shared.peak, .cache = (size_t)cache};
    kiln__local_unlock();
    out->cache += kiln__gpu_storage_cached();
}

void kiln__memory_reset_peak(void)
{
    kiln__local_lock();
    shared.peak = 0;
    for (struct kiln_local *local = kiln__local_first(); local; local = local->next)
        store(&local->ceiling, KILN_NO_CEILING);
    kiln__local_unlock();
}

void kiln__memory_clear_cache(void)
{
    struct kiln_local *local = kiln__local();
    kiln__local_lock();
    struct kiln_storage *all = detach_cache();
    atomic_fetch_add_explicit(&shared.epoch, 1, memory_order_relaxed);
    kiln__local_unlock();
    free_list(all);
    kiln__gpu_storage_clear();
    if (local) refresh(local);
}

static size_t exchange_limit(_Atomic size_t *current, size_t standard, size_t limit)
{
    size_t previous = atomic_exchange_explicit(current, limit, memory_order_relaxed);
    return previous == SIZE_MAX ? standard : previous;
}

size_t kiln__memory_set_cache_limit(size_t limit)
{
    struct kiln_memory memory;
    size_t previous = exchange_limit(&shared.cache_limit, machine_bytes() / 4, limit);
    kiln__memory_get(&memory);
    if (memory.cache > limit || limit < SMALL_CACHE_MIN) kiln__memory_clear_cache();
    return previous;
}

size_t kiln__memory_set_limit(size_t limit)
{
    return exchange_limit(&shared.limit, machine_bytes(), limit);
}
