/*
 * rng_state.h - the process-wide sequence of random keys, for calls that name none.
 */
#ifndef KILN_ARRAY_RNG_STATE_H
#define KILN_ARRAY_RNG_STATE_H

#include <stdint.h>

/* The sequence starts again from `seed`; before that it starts from the clock. */
void kiln__random_seed(uint64_t seed);
/* The next key; two threads never get the same one. */
void kiln__rng_state_next(uint32_t key[2]);

#endif
