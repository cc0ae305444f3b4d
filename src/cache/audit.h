/*
 * audit.h - KILN_AUDIT: does a hit give what a miss would give now?
 *
 * With KILN_AUDIT=1 results of calls stay out of the thread caches, and hits 2, 4, 8, ... of an entry lower or trace
 * again and compare. A difference means that something the function reads is not in its key. It is logged and counted;
 * the call still returns the entry's value. KILN_AUDIT=FILE appends the lines to that file too, and at exit the number
 * of audits. When it is off it costs nothing: the decision is made on the slow path of a look-up.
 */
#ifndef KILN_CACHE_AUDIT_H
#define KILN_CACHE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

bool kiln__audit_on(void);
/* Test hook: for memo tables that are made from now on. */
void kiln__audit_set(bool on);

/* Is hit number `hits` of an entry audited? */
static inline bool kiln__audit_is_due(uint32_t hits)
{
    return hits >= 2 && (hits & (hits - 1)) == 0;
}

/* A hit was audited; `difference` is NULL, or says in words what is different now. */
void kiln__audit_report(const char *function, const char *difference);
void kiln__audit_counts(uint64_t *audits, uint64_t *differences);

#endif
