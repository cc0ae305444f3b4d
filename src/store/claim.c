/*
 * claim.c - see claim.h.
 */
#include "store/claim.h"

#include <stddef.h>

static _Thread_local struct kiln_claim *innermost;

struct kiln_claim *kiln__claim(void)
{
    return innermost;
}

void kiln__claim_add(struct kiln_claim *claim)
{
    claim->outer = innermost;
    innermost = claim;
}

void kiln__claim_remove(struct kiln_claim *claim)
{
    struct kiln_claim **link = &innermost;
    while (*link && *link != claim) link = &(*link)->outer;
    if (*link) *link = claim->outer;
    claim->outer = NULL;
}
