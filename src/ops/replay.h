/*
 * replay.h - recording deferred operations (graph/deferred.h) and replaying them.
 *
 * Recording and replaying are written as a pair, side by side; the replayer, kiln__replay_<name>(), reads what was
 * recorded, in the same order, and calls the operation:
 *
 *     if (kiln__is_recorded(a)) {
 *         struct kiln_record record = kiln__record_begin(KILN_DEFERRED_REPEAT);
 *         kiln__record_array(&record, a);
 *         kiln__record_number(&record, repeats);
 *         return kiln__record_end(&record, out, err);
 *     }
 */
#ifndef KILN_OPS_REPLAY_H
#define KILN_OPS_REPLAY_H

#include "graph/deferred.h"

/* Replays it for the sizes of the trace, and makes a node of it. As kiln__apply(). */
kiln_status kiln__record_end(struct kiln_record *record, struct kiln_array **out, kiln_error *err);
/* The same for a record whose last array is a random key: NULL draws one now, so that each replay has the same. */
kiln_status kiln__record_end_random(struct kiln_record *record, struct kiln_array *key, struct kiln_array **out,
                                    kiln_error *err);

/* Replays what a node of KILN_OP_DEFERRED has kept, with `inputs` for its inputs. */
kiln_status kiln__deferred_replay(struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                                  size_t attr_count, struct kiln_array **out, kiln_error *err);

/* The same for a record that comes from a file, whose numbers may be any: what is missing or left over is KILN_INVALID.
 * `count` is at least 1. */
kiln_status kiln__deferred_replay_checked(struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                                          size_t attr_count, struct kiln_array **out, kiln_error *err);

typedef kiln_status kiln_replayer(struct kiln_record *record, struct kiln_array **out, kiln_error *err);
#define KILN_DEFERRED(ID, name) kiln_replayer kiln__replay_##name;
#include "graph/deferred.def"

/* Derivatives of operations whose sizes are not known: what they are is known to transform/grad/gradient_replay.c,
 * which sets these when the library is loaded. */
extern kiln_replayer *kiln__gradient_replayer, *kiln__tangent_replayer;

#endif
