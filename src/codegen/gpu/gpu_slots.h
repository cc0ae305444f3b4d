/*
 * gpu_slots.h - values that threads of a GPU keep from one pass over a row to later ones. Inside the codegen layer.
 *
 * Every element has a slot of 4 bytes in shared memory, which only the element's thread accesses. A value is kept in
 * the slot from the pass that computes it to the last that reads it. Values that do not fit are computed again.
 */
#ifndef KILN_CODEGEN_GPU_GPU_SLOTS_H
#define KILN_CODEGEN_GPU_GPU_SLOTS_H

#include "codegen/stages.h"

enum { KILN_SLOT_BYTES = 4 };

struct kiln_slots {
    struct kiln_stages *stages;
    uint8_t *held;  /* of each value: 0, or 1 + its first byte in the slots, where earlier passes kept it */
    uint8_t *keeps; /* the same for later passes */
    bool *used;     /* of each value: a later pass computes something from it */
    bool is_closed; /* nothing is kept */
    bool has_kept;  /* something is, in some pass */
    bool has_words; /* something of 4 bytes */
};

/* Whatever it returns, the slots are released afterwards. */
kiln_status kiln__slots_init(struct kiln_slots *slots, struct kiln_stages *stages, kiln_error *err);
void kiln__slots_release(struct kiln_slots *slots);

bool kiln__slots_hold_any(const struct kiln_slots *slots);
/* Fills `keeps`: what `pass` keeps. Uses the stages' marks. */
void kiln__slots_choose(struct kiln_slots *slots, uint32_t pass);
/* The pass is over: what it keeps is held. */
void kiln__slots_turn(struct kiln_slots *slots);

#endif
