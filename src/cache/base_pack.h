/*
 * base_pack.h - the pack that is installed beside the library: kernels of what nearly every program calls, so that a
 * first process compiles little. docs/base-pack.md
 *
 * A cache asks it behind its folders and before remotes, so only on a miss, and nothing is opened before. It is
 * believed as every read-only pack is (store/pack/pack_tier.c). KILN_BASE_PACK names another one; empty or 0: none.
 */
#ifndef KILN_CACHE_BASE_PACK_H
#define KILN_CACHE_BASE_PACK_H

#include "store/tier.h"

/* Appends its path: what the setting says, or where it is when nobody says anything. Nothing: there is none. */
void kiln__base_pack_path(struct kiln_buffer *out);

/* As a tier. KILN_MISS: none is wanted. One beside the library may be missing; KILN_FAILED: one that the setting names
 * is. */
enum kiln_outcome kiln__base_pack_tier(struct kiln_tier_events *events, struct kiln_tier **out, kiln_error *err);

#endif
