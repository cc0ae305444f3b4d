/*
 * rng_state.c - see rng_state.h. Each step splits the state into the next state and the key handed out, as
 * random.split() does, so that a seed gives the same keys in every process.
 */
#include "array/rng_state.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "array/threefry.h"
#include "base/process/fork.h"

KILN_LEAF_LOCK(lock); /* guards both */
static uint32_t state[2];
static bool seeded;

static void seed_state(uint64_t seed)
{
    state[0] = (uint32_t)(seed >> 32);
    state[1] = (uint32_t)seed;
    seeded = true;
}

void kiln__random_seed(uint64_t seed)
{
    pthread_mutex_lock(&lock);
    seed_state(seed);
    pthread_mutex_unlock(&lock);
}

static uint64_t clock_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void kiln__rng_state_next(uint32_t key[2])
{
    uint32_t words[4];
    pthread_mutex_lock(&lock);
    if (!seeded) seed_state(clock_seed());
    kiln__threefry_fill(state, words, 4);
    state[0] = words[0];
    state[1] = words[1];
    pthread_mutex_unlock(&lock);
    key[0] = words[2];
    key[1] = words[3];
}
