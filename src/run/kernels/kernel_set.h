/*
 * kernel_set.h - variants that the plans of one function share: a plan for other sizes has mostly the same groups, and
 * so finds their kernels without printing and digesting a text.
 */
#ifndef KILN_RUN_KERNELS_KERNEL_SET_H
#define KILN_RUN_KERNELS_KERNEL_SET_H

#include "run/kernels/launch.h"

/* Groups that plans of a function had, and the variants they asked for. Zero is empty. Safe for many threads. */
struct kiln_kernel_set {
    struct kiln_shared_kernels *first;
    uint32_t count;
};

/*
 * Lets `kernels`, which have no variants yet, use those of an equal group of the set, to which it is added if there is
 * none: kernels->same. They stay on their own when memory runs out, or the set is full.
 */
void kiln__shared_join(struct kiln_kernel_set *set, struct kiln_group_kernels *kernels);
void kiln__shared_leave(struct kiln_group_kernels *kernels);
void kiln__kernel_set_release(struct kiln_kernel_set *set);

#endif
