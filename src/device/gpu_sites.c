/*
 * gpu_sites.c - see gpu_sites.h.
 *
 * Launches are counted after they have begun. Who waits takes the count first, so whatever these launches report is
 * there when he looks; a launch that was not counted yet is looked at by who waits for it later. So no report is lost,
 * and a wait that no launch preceded looks at nothing.
 */
#include "device/gpu_sites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/fork.h"
#include "device/cuda.h"
#include "device/gpu_streams.h"

enum { MOST = 4096, RECORD = 2 }; /* words of a record: whether it was stored, the value */

struct sites {
    volatile uint64_t *records;
    _Atomic uint64_t begun, checked; /* launches */
    size_t count;
    struct kiln_gpu_site list[MOST];
};

KILN_LEAF_LOCK(lock); /* guards making them, lists and records */
static _Atomic(struct sites *) all[KILN_MAX_GPUS];

static struct sites *sites_of(const struct kiln_gpu *gpu)
{
    return gpu->is_absent ? NULL : atomic_load_explicit(&all[gpu->index], memory_order_acquire);
}

static kiln_status make_sites(const struct kiln_gpu *gpu, struct sites **out, kiln_error *err)
{
    const struct kiln_cuda *cuda;
    void *records = NULL;
    kiln_status status = kiln__cuda(&cuda, err);
    if (status) return status;
    struct sites *sites = calloc(1, sizeof *sites);
    if (!sites) return kiln__no_memory(err, "the reports of a GPU");
    int result = cuda->host_new(&records, MOST * RECORD * sizeof *sites->records, KILN_CUDA_HOST_FOR_ALL);
    if (result) {
        free(sites);
        return kiln__cuda_fail(err, KILN_NO_MEMORY, result, "memory for the reports of a GPU can't be allocated");
    }
    memset(records, 0, MOST * RECORD * sizeof *sites->records);
    sites->records = records;
    atomic_store_explicit(&all[gpu->index], sites, memory_order_release);
    *out = sites;
    return KILN_OK;
}

static bool is_same(const struct kiln_gpu_site *a, const struct kiln_gpu_site *b)
{
    return a->fail == b->fail && a->name == b->name && a->size == b->size && a->extent == b->extent &&
           a->is_unsigned == b->is_unsigned;
}

/* With the lock held. */
static size_t find_or_add(struct sites *sites, const struct kiln_gpu_site *site)
{
    size_t i = 0;
    while (i < sites->count && !is_same(&sites->list[i], site)) i++;
    if (i < sites->count) return i;
    if (i == MOST) return MOST - 1;
    sites->list[i] = *site;
    if (i == MOST - 1) sites->list[i].size = sites->list[i].extent = 0; /* from here on of all others */
    sites->count++;
    return i;
}

kiln_status kiln__gpu_site_address(const struct kiln_gpu *gpu, const struct kiln_gpu_site *site, uint64_t *out,
                                   kiln_error *err)
{
    kiln_status status = KILN_OK;
    *out = 0;
    if (gpu->is_absent) return KILN_OK;
    pthread_mutex_lock(&lock);
    struct sites *sites = sites_of(gpu);
    if (!sites) status = make_sites(gpu, &sites, err);
    if (!status) *out = (uint64_t)(uintptr_t)(sites->records + RECORD * find_or_add(sites, site));
    pthread_mutex_unlock(&lock);
    return status;
}

void kiln__gpu_sites_launched(const struct kiln_gpu *gpu)
{
    struct sites *sites = sites_of(gpu);
    if (sites) atomic_fetch_add_explicit(&sites->begun, 1, memory_order_acq_rel);
}

uint64_t kiln__gpu_sites_begun(const struct kiln_gpu *gpu)
{
    struct sites *sites = sites_of(gpu);
    return sites ? atomic_load_explicit(&sites->begun, memory_order_acquire) : 0;
}

/* With the lock held. */
static kiln_status fetch(struct sites *sites, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < sites->count; i++) {
        if (!sites->records[RECORD * i]) continue;
        sites->records[RECORD * i] = 0;
        if (!status) status = sites->list[i].fail(&sites->list[i], (int64_t)sites->records[RECORD * i + 1], err);
    }
    return status;
}

kiln_status kiln__gpu_sites_check(const struct kiln_gpu *gpu, uint64_t begun, kiln_error *err)
{
    struct sites *sites = sites_of(gpu);
    if (!sites || begun <= atomic_load_explicit(&sites->checked, memory_order_acquire)) return KILN_OK;
    pthread_mutex_lock(&lock);
    kiln_status status = fetch(sites, err);
    if (atomic_load(&kiln__gpu_has_streams)) begun = 0; /* launches on other streams may go on */
    if (begun > atomic_load_explicit(&sites->checked, memory_order_relaxed))
        atomic_store_explicit(&sites->checked, begun, memory_order_release);
    pthread_mutex_unlock(&lock);
    return status;
}
