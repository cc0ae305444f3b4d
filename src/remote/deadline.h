/*
 * deadline.h - the moment at which a call to a remote gives up.
 */
#ifndef KILN_REMOTE_DEADLINE_H
#define KILN_REMOTE_DEADLINE_H

#include "base/clock.h"

struct kiln_deadline {
    uint64_t at_ns;      /* of the monotonic clock */
    unsigned timeout_ms; /* what it was made of, for texts */
};

static inline struct kiln_deadline kiln__deadline_in(unsigned timeout_ms)
{
    return (struct kiln_deadline){kiln__clock_ns() + (uint64_t)timeout_ms * 1000000u, timeout_ms};
}

/* What is left, for poll(): rounded up, 0 once it has passed. */
static inline int kiln__deadline_left_ms(struct kiln_deadline deadline)
{
    uint64_t now = kiln__clock_ns();
    uint64_t left = deadline.at_ns > now ? (deadline.at_ns - now + 999999u) / 1000000u : 0;
    return left < 1u << 30 ? (int)left : 1 << 30;
}

#endif
