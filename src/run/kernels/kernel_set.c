/*
 * kernel_set.c - see kernel_set.h. The set has a reference to what it holds, and so have all kernels that use it; what
 * only the set refers to goes when the set is full. One lock for all sets: it is taken when a plan is made or freed,
 * never when one runs.
 */
#include "run/kernels/kernel_set.h"

#include <stdlib.h>

#include "base/process/fork.h"

enum { MOST = 64 }; /* groups in one set */

struct kiln_shared_kernels {
    struct kiln_group_kernels kernels; /* first: this is what `same` points to */
    _Atomic uint32_t refs;
    struct kiln_shared_kernels *next;
};

KILN_LEAF_LOCK(lock); /* guards all sets */

static void unref(struct kiln_shared_kernels *shared)
{
    if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1) return;
    kiln__group_kernels_release(&shared->kernels);
    free(shared);
}

static void unref_list(struct kiln_shared_kernels *shared)
{
    for (struct kiln_shared_kernels *next; shared; shared = next) {
        next = shared->next;
        unref(shared);
    }
}

/* With the lock held. What is taken out is returned as a list. */
static struct kiln_shared_kernels *take_unused(struct kiln_kernel_set *set)
{
    struct kiln_shared_kernels *unused = NULL;
    for (struct kiln_shared_kernels **link = &set->first; *link;) {
        struct kiln_shared_kernels *shared = *link;
        if (atomic_load_explicit(&shared->refs, memory_order_acquire) > 1) {
            link = &shared->next;
            continue;
        }
        *link = shared->next;
        shared->next = unused;
        unused = shared;
        set->count--;
    }
    return unused;
}

/* With the lock held. NULL: the set is full. `room` is used up, and set to NULL, when the group is new. */
static struct kiln_shared_kernels *find_or_add(struct kiln_kernel_set *set, struct kiln_group *group,
                                               struct kiln_shared_kernels **room)
{
    for (struct kiln_shared_kernels *known = set->first; known; known = known->next)
        if (kiln__group_equal(&known->kernels.group, group)) return known;
    if (set->count >= MOST) return NULL;
    struct kiln_shared_kernels *added = *room;
    atomic_init(&added->refs, 1);
    added->kernels.group = *group;
    added->next = set->first;
    set->first = added;
    set->count++;
    *room = NULL;
    return added;
}

void kiln__shared_join(struct kiln_kernel_set *set, struct kiln_group_kernels *kernels)
{
    struct kiln_shared_kernels *room = calloc(1, sizeof *room), *unused = NULL;
    if (!room) return;
    struct kiln_group own = kernels->group;
    pthread_mutex_lock(&lock);
    if (set->count >= MOST) unused = take_unused(set);
    struct kiln_shared_kernels *shared = find_or_add(set, &kernels->group, &room);
    if (shared) {
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
        kernels->group = shared->kernels.group;
        kernels->same = &shared->kernels;
    }
    pthread_mutex_unlock(&lock);
    if (shared && room) kiln__group_release(&own); /* an equal one was there */
    free(room);
    unref_list(unused);
}

void kiln__shared_leave(struct kiln_group_kernels *kernels)
{
    unref((struct kiln_shared_kernels *)(void *)kernels->same);
}

void kiln__kernel_set_release(struct kiln_kernel_set *set)
{
    unref_list(set->first);
    *set = (struct kiln_kernel_set){0};
}
