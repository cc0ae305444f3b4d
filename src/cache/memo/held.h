/*
 * held.h - values that a memo table has forgotten while callers may still use them: a set, each value in it once.
 *
 * The set has one reference to each value. Adding takes constant time on average. Nothing here locks: the memo table
 * that owns a set guards it.
 */
#ifndef KILN_CACHE_MEMO_HELD_H
#define KILN_CACHE_MEMO_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero is empty. */
struct kiln_held {
    struct kiln_held_slot *slots;
    size_t size, count; /* of the slots, a power of two; of those in use, at most half */
};

/*
 * Puts a value and its reference into the set, with the device it is for. False: the set had it already, and this
 * reference is one too many. When out of memory the reference is given up for good: better than released in use.
 */
bool kiln__held_add(struct kiln_held *held, void *value, uint32_t device);
/* Moves the values of one device to `out`, which is only good for releasing. When out of memory they stay. */
void kiln__held_take(struct kiln_held *held, uint32_t device, struct kiln_held *out);
/* Releases each value, and leaves the set empty. */
void kiln__held_release(struct kiln_held *held, void (*release)(void *value));

#endif
