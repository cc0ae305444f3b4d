/*
 * gpu_rows.h - what the files of the schedule ROWS share. Inside the codegen layer.
 *
 *     gpu_rows.c           rows, teams and passes
 *     gpu_row_chunks.c     the loops over a warp's chunks in one pass
 *     gpu_row_lanes.c      combines the elements of those loops with lanes, and lanes into a chunk's total
 *     gpu_row_elements.c   loads, values, slots and stores of one element of a thread
 *     gpu_row_together.c   fast paths checked for several elements together: divisions, exponentials
 *
 * Names end in a tag. Of a pass: ".0", ".1", ..., ".out". Of a loop over a kind of chunk: the pass's tag and a letter,
 * ".0w". Of one element of a thread in that loop: the loop's tag and a number, ".0w3", which is the printer's `pass`.
 */
#ifndef KILN_CODEGEN_GPU_GPU_ROWS_H
#define KILN_CODEGEN_GPU_GPU_ROWS_H

#include "codegen/gpu/gpu_lanes.h"
#include "codegen/gpu/gpu_printer.h"
#include "codegen/gpu/gpu_slots.h"

enum {
    KILN_ROW_WARPS = KILN_GPU_BLOCK / KILN_GPU_WARP,
    KILN_ROW_LANES = KILN_REDUCE_LANES,
    KILN_ROW_CHUNK = KILN_REDUCE_CHUNK,
    KILN_ROW_SPAN = 16, /* elements of a thread in a span, at most: 8 loads in flight reached 0.86 of a copy's speed,
                           16 reached 0.91 */
};

struct kiln_rows {
    struct kiln_printer *p;
    struct kiln_ir *ir; /* the printer's */
    const struct kiln_gpu_config *config;
    struct kiln_stages stages;
    struct kiln_slots slots;
    uint32_t lanes_bytes; /* of shared memory in use */
    uint32_t pass;
    int span;                /* elements of a thread in a span: 1, 2, 4, 8 or 16 */
    bool is_split;           /* the two halves of a warp have a half of the span each; else neighbours */
    bool is_exact;           /* only quick reductions are printed, in order this time */
    struct kiln_name tag;    /* of the pass: ".0", or ".out" */
    struct kiln_name before; /* the block before it */
};

/* How a chunk is computed in a pass. */
struct kiln_chunk_kind {
    const char *suffix;    /* of its loop's tag */
    bool uses_held, keeps; /* slots */
    bool has_spans, has_rest;
};

/* Is there nothing left to reduce, so that the outputs are computed? */
bool kiln__rows_are_last(const struct kiln_rows *rows);
/* Goes to the next reduction of the pass, from `*index` on. */
bool kiln__rows_find_reduction(const struct kiln_rows *rows, uint32_t *index);

/* ---- gpu_row_elements.c: of the element %i of the row, word %s of the slots, with the printer's `pass` --------------
 */

int kiln__row_count_loads(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind);
int kiln__row_count_instrs(const struct kiln_rows *rows, const struct kiln_chunk_kind *kind);
void kiln__row_print_loads(struct kiln_rows *rows, const struct kiln_chunk_kind *kind);
/* Of all elements whose suffixes are `passes`, instruction by instruction; several may end in another block. */
kiln_status kiln__row_print_values(struct kiln_rows *rows, const struct kiln_chunk_kind *kind, const char *tag,
                                   const struct kiln_name *passes, int count, kiln_error *err);
void kiln__row_print_keeps(struct kiln_rows *rows, const struct kiln_chunk_kind *kind);
/* %eN = the element as reduction N sees it. */
void kiln__row_print_entries(struct kiln_rows *rows);
void kiln__row_print_stores(struct kiln_rows *rows, int copies);

/* ---- gpu_row_together.c ---------------------------------------------------------------------------------------------
 */

/* Does the instruction have a fast path that is checked for several elements together? */
bool kiln__row_is_together(const struct kiln_rows *rows, uint32_t index);
/* Are the NaNs of its result canonical then? */
bool kiln__row_is_settled(const struct kiln_rows *rows, uint32_t index);
/* The results of all elements. What follows is in another block. */
void kiln__row_print_together(struct kiln_rows *rows, uint32_t index, const char *tag, const struct kiln_name *passes,
                              int count);

/* ---- gpu_row_lanes.c ------------------------------------------------------------------------------------------------
 */

/* %lane.nextN = %laneN and the entries of a thread's `count` elements, whose suffixes are `passes`. */
void kiln__row_print_accumulation(struct kiln_rows *rows, const char *tag, const struct kiln_name *passes, int count);
/*
 * %rest.nextN = %restN and the entry of an element that may be past the end: %r.is says whether this thread's is there,
 * %r.other that of the thread 16 further on.
 */
void kiln__row_print_rest_accumulation(struct kiln_rows *rows, const char *tag);
/* %wholeN<suffix>, in every thread, = the lanes %allN<suffix> combined. */
void kiln__row_print_totals(struct kiln_rows *rows, const char *suffix);
bool kiln__row_has_quick(const struct kiln_rows *rows);
/* %is.zero = is a quick total a zero, whose sign is not certain? */
void kiln__row_print_zero(struct kiln_rows *rows);
/* %upN of the chunk's lane of the next level, with the chunk's total. */
void kiln__row_print_carry(struct kiln_rows *rows);

/* ---- gpu_row_chunks.c -----------------------------------------------------------------------------------------------
 */

/* Fills `span` and `is_split`. */
void kiln__row_plan(struct kiln_rows *rows);
/* %slots: the thread's first slot. */
void kiln__row_print_slots(struct kiln_rows *rows);
/* The chunks of this warp, from block `before` to the block chunks.end, which is open. */
kiln_status kiln__row_print_chunks(struct kiln_rows *rows, kiln_error *err);

#endif
