/*
 * stages.h - in which pass over the row each value of a row kernel is known, for every target. Inside the codegen
 * layer.
 *
 * A kernel makes several passes over a row. A reduction runs in the first pass in which its operands are known; its
 * result, and whatever is computed from values of the whole row only, is known after that pass. After the last
 * reduction the element outputs are computed, in a pass whose number is `passes`.
 */
#ifndef KILN_CODEGEN_STAGES_H
#define KILN_CODEGEN_STAGES_H

#include "codegen/combine.h"
#include "codegen/printer.h"

struct kiln_stages {
    struct kiln_printer *p;
    uint32_t first;  /* number of the first instruction's value */
    uint32_t *stage; /* of each value: passes that must be over before it can be known */
    bool *needed;    /* of each value, in the current pass; the printer's too */
    uint32_t passes;
};

/* Whatever it returns, the stages are released afterwards. */
kiln_status kiln__stages_init(struct kiln_stages *stages, struct kiln_printer *p, kiln_error *err);
void kiln__stages_release(struct kiln_stages *stages);

bool kiln__is_reduction(const struct kiln_instr *instr);
bool kiln__is_reduced_in(const struct kiln_stages *stages, uint32_t index, uint32_t pass);
/* Are there outputs with an element per element of the row? */
bool kiln__has_element_outputs(const struct kiln_stages *stages);

/* What is printed for reduction `index`; its declarations are empty. */
struct kiln_reducer kiln__stages_reducer(const struct kiln_stages *stages, uint32_t index);

/*
 * Adds to `needed` what `pass` reduces (or the element outputs, after the last), and all values that is computed from.
 * Values marked in `held`, which may be NULL, are available already, so their inputs are not added.
 */
void kiln__stages_need(struct kiln_stages *stages, uint32_t pass, const uint8_t *held);
void kiln__stages_need_nothing(struct kiln_stages *stages);

/* Instructions whose result the row shares and that can be known once `stage` passes are over. */
kiln_status kiln__print_stage(struct kiln_stages *stages, uint32_t stage, kiln_error *err);

#endif
