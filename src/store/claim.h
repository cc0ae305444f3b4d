/*
 * claim.h - what a thread holds so that others wait: lock files and leases, the last one taken first.
 *
 * A thread that holds something waits for nobody else's, since the other's holder might wait for this one. And what a
 * callback that jumped over our frames left behind is found here (cache/memo/in_flight.c). Only the thread itself reads
 * and changes its list.
 */
#ifndef KILN_STORE_CLAIM_H
#define KILN_STORE_CLAIM_H

/* The first field of what is held. */
struct kiln_claim {
    struct kiln_claim *outer;                  /* that this thread took before */
    void (*release)(struct kiln_claim *claim); /* gives it up, and takes it out of the list */
};

/* The last thing that this thread took and still holds; NULL: nothing. */
struct kiln_claim *kiln__claim(void);
/* `claim->release` is set. */
void kiln__claim_add(struct kiln_claim *claim);
/* This thread holds it no more; nothing happens where it never did. */
void kiln__claim_remove(struct kiln_claim *claim);

#endif
