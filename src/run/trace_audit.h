/*
 * trace_audit.h - a tape as text, to compare a second trace of a function with its first; for KILN_AUDIT
 * (cache/audit.h).
 */
#ifndef KILN_RUN_TRACE_AUDIT_H
#define KILN_RUN_TRACE_AUDIT_H

#include "base/buffer.h"
#include "run/plan.h"

/* Texts of the plans of one function; a zeroed struct holds none. For audited functions only. */
struct kiln_trace_texts {
    struct kiln_trace_text *first;
};

/*
 * One line per value, by position: operations with their attributes, captured scalars by their bits, captured arrays by
 * a hash of their elements once these are there. Equal traces give equal text.
 */
void kiln__tape_print(const struct kiln_tape *tape, bool shapeless, struct kiln_buffer *out);

/* Keeps the text of the trace that became `plan`; it is compared by address, and the last text for one counts. */
void kiln__trace_text_keep(struct kiln_trace_texts *texts, const struct kiln_plan *plan, struct kiln_buffer *text);
/* In words what differs from the text of `plan`; nothing when it is the same or not known. */
void kiln__trace_text_compare(struct kiln_trace_texts *texts, const struct kiln_plan *plan,
                              const struct kiln_buffer *text, struct kiln_buffer *difference);
void kiln__trace_texts_release(struct kiln_trace_texts *texts);

#endif
