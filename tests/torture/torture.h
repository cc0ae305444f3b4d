/*
 * torture.h - attacks that are repeated with random choices, each round in a process of its own.
 *
 * A program of this folder is a table of attacks. A round gets a seed, makes all its choices from it, and returns 0, or
 * prints what it found and returns 1. The frame (torture.c) runs each round in a new process, because a crash, a hang
 * or a leak into the next round is what we look for; it prints program, attack and seed of every round that failed, and
 * at the end how many rounds each attack had.
 *
 *     torture_exit                          three rounds of each attack (what `make test` runs)
 *     torture_exit --seconds 60 --seed 7    rounds for a minute, seeds from 7 on (what `make torture` runs)
 *     torture_exit --attack NAME --seed 7 --here    this one round, in this process, for a debugger
 */
#ifndef TESTS_TORTURE_TORTURE_H
#define TESTS_TORTURE_TORTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct torture_attack {
    const char *name;
    int (*round)(uint64_t seed);
    unsigned seconds; /* after which a round has hung; 0: 30. Sanitizers get five times as many. */
    int signal;       /* the signal that ends a round as planned; 0: a round exits with 0 */
};

/* Runs what the command line asks for; the result is main's. */
int torture_main(int argc, char **argv, const struct torture_attack *attacks, size_t count);

/* For main: the GPU of this process is the emulated one. The loader finds its driver when a program starts, so the
 * program starts once more. */
void torture_use_emulated_driver(char **argv);

/* A round's random numbers: the same seed gives the same ones everywhere. */
static inline uint64_t torture_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static inline uint64_t torture_below(uint64_t *state, uint64_t bound)
{
    return torture_next(state) % bound;
}

/* Inside of a round: says what is not so, with values, and gives the round up as failed. */
#define TORTURE_REQUIRE(condition, ...)                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                                    \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            fflush(stderr);                                                                                            \
            _Exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
