/*
 * deferred.h - deferred operations: recorded as the caller gave them, replayed for other sizes.
 *
 * A reshape with -1, an open slice, the divisor of a mean, the batch dims of a product: all of them depend on sizes.
 * While a shapeless function is traced, such an operation becomes one node, KILN_OP_DEFERRED, which keeps what the
 * caller gave: its arrays and its parameters. A deferred operation is never evaluated. For each new shape the trace
 * layer replays all of them, outside of a shapeless trace, where the same functions make plain nodes for the new
 * sizes, or report an error (trace/shapeless.c).
 *
 * This is the record: what is written to it and read from it. How each operation is replayed is in src/ops: see
 * ops/replay.h.
 */
#ifndef KILN_GRAPH_DEFERRED_H
#define KILN_GRAPH_DEFERRED_H

#include "graph/node.h"

enum kiln_deferred {
#define KILN_DEFERRED(ID, name) KILN_DEFERRED_##ID,
#include "graph/deferred.def"
    KILN_DEFERRED_COUNT
};

enum { KILN_RECORD_ARRAYS = 40, KILN_RECORD_NUMBERS = 160 };

struct kiln_record {
    struct kiln_array *const *arrays; /* `few`, or the caller's */
    size_t array_count, number_count;
    size_t next_array, next_number; /* to be read */
    bool is_too_long;
    bool is_checked;          /* its numbers may be any: lists are filled up with zeros */
    bool is_damaged;          /* while it was read: something was missing, or can't be */
    unsigned required_arrays; /* of those still to be read; in the place of a missing one stands the first */
    struct kiln_array *few[KILN_RECORD_ARRAYS];
    int64_t numbers[KILN_RECORD_NUMBERS]; /* first the operation */
};

/* Set by the trace layer while a shapeless function runs on this thread. */
extern _Thread_local bool kiln__records_deferred;

/* Is it an array of a shapeless trace, so that operations on it are recorded? NULL is fine. */
static inline bool kiln__is_recorded(const struct kiln_array *array)
{
    return __builtin_expect(kiln__records_deferred, 0) && array && array->trace;
}

struct kiln_record kiln__record_begin(enum kiln_deferred op);
void kiln__record_array(struct kiln_record *record, struct kiln_array *array); /* NULL is kept */
/* All arrays of a record that has no others; any number. The list is borrowed. */
void kiln__record_arrays(struct kiln_record *record, struct kiln_array *const *arrays, size_t count);
void kiln__record_number(struct kiln_record *record, int64_t number);
void kiln__record_real(struct kiln_record *record, float number);
void kiln__record_numbers(struct kiln_record *record, const int *numbers, size_t count);

struct kiln_array *kiln__recorded_array(struct kiln_record *record);
int64_t kiln__recorded_number(struct kiln_record *record);
/* A number from 0 to count - 1. */
int kiln__recorded_choice(struct kiln_record *record, int64_t count);
float kiln__recorded_real(struct kiln_record *record);
/* Points into the caller's `numbers`, or is as long as KILN_RECORD_NUMBERS; returns how many there are. */
size_t kiln__recorded_numbers(struct kiln_record *record, int numbers[KILN_RECORD_NUMBERS]);

/* The operation's name, or the deferred operation's. */
const char *kiln__operation_name(enum kiln_op op, const int64_t *attrs);

#endif
