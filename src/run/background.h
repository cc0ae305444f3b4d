/*
 * background.h - fused kernels are compiled while an unfused plan serves.
 *
 * A call whose fused kernels have to be compiled, but whose operations' kernels are all at hand, runs those: the
 * results are the same bits. One thread compiles the fused kernels, plan after plan, and puts the fused plan into the
 * memo table in the place of the unfused one. What is asked for next runs it; calls that run the other one finish.
 *
 * A plan is compiled once. When that fails, it is said and counted (tier_faults), and the unfused plan stays. A
 * function that was freed is compiled for no more. After fork the child's plans stay unfused until one of them is
 * called there: its own thread then takes up what was left. exit() waits for the kernel that is being compiled, as for
 * any other; so that a short process neither loads the compiler nor waits for it, the thread begins 50 ms after it is
 * first needed.
 */
#ifndef KILN_RUN_BACKGROUND_H
#define KILN_RUN_BACKGROUND_H

#include "key/signature.h"
#include "run/compiled.h"
#include "run/kernels/dry_run.h"
#include "run/plan.h"

/* What is to be swapped, and where. */
struct kiln_better_plan {
    struct kiln_plan *unfused, *fused;
    struct kiln_dry_run missing;   /* of the fused one; it may have loaded some */
    struct kiln_compiled_id owner; /* the function, which may be freed meanwhile */
    const struct kiln_signature *signature;
};

/* KILN_TIER is not 0, and kernels are compiled so that fused ones give the same bits. */
bool kiln__background_is_on(void);
/* Takes references to both plans, copies the signature, and owns what is missing from here on. False: no thread or
 * memory was to be had, and everything is as before. */
bool kiln__background_compile(const struct kiln_better_plan *better);
/* An unfused plan was called. */
void kiln__background_called(void);
/* Returns when all that was asked for is compiled and swapped, or failed. For tests. */
void kiln__background_wait(void);

#endif
