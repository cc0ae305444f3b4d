/*
 * keep.h - values of a row that are kept from one pass to later ones, instead of being computed again. Inside the
 * codegen layer.
 *
 * Only results of helpers of codegen/runtime are worth keeping: exp of a softmax is needed for the sum and for the
 * result. Kept values are stored as arrays store them, so the bits do not depend on it, except the payload of a NaN,
 * which the final store canonicalizes.
 */
#ifndef KILN_CODEGEN_KEEP_H
#define KILN_CODEGEN_KEEP_H

#include "codegen/stages.h"

enum { KILN_KEPT_MAX = 2 }; /* they share the nearest cache with the operands */

#define KILN_NEVER UINT32_MAX

struct kiln_keeping {
    uint32_t count, values[KILN_KEPT_MAX]; /* results of instructions */
    uint32_t passes[KILN_KEPT_MAX];        /* the first that needs the value: it computes and keeps it */
    uint8_t *held;                         /* of each value: see kiln__keeping_held() */
};

/* Chooses what is kept. Whatever it returns, the keeping is released afterwards. */
kiln_status kiln__keeping_init(struct kiln_keeping *keeping, struct kiln_stages *stages, kiln_error *err);
void kiln__keeping_release(struct kiln_keeping *keeping);

/* The pass that keeps `value`, or KILN_NEVER. */
uint32_t kiln__kept_in(const struct kiln_keeping *keeping, uint32_t value);
/* What passes before `pass` have kept, for kiln__stages_need(); until the next call. */
const uint8_t *kiln__keeping_held(struct kiln_keeping *keeping, uint32_t pass);

#endif
