/*
 * rng_state.h - the process-wide sequence of random keys, for calls that name none.
 */
#ifndef KILN_OPS_RNG_STATE_H
#define KILN_OPS_RNG_STATE_H

#include <stdint.h>

/* The next key; two threads never get the same one. Seeded from the clock unless kiln__random_seed() was called. */
void kiln__rng_state_next(uint32_t key[2]);

#endif
