/*
 * attention_printer.h - what the schedules of attention share: the printer, and the lines that both print. Inside the
 * codegen layer.
 *
 * Loops count in memory on the stack, and sums that live across a loop lie there too: LLVM makes registers of all of
 * it, and the printer needs no phis.
 */
#ifndef KILN_CODEGEN_CPU_ATTENTION_PRINTER_H
#define KILN_CODEGEN_CPU_ATTENTION_PRINTER_H

#include "codegen/cpu/attention_kernel.h"
#include "codegen/print_ir.h"

/* The lowest finite float32: what a score that is not seen becomes. */
#define KILN_ATTENTION_LOWEST "0xC7EFFFFFE0000000"

struct kiln_attention_printer {
    struct kiln_ir *ir;
    struct kiln_attention_config config;
    enum kiln_dtype dtype;
    struct kiln_name vector; /* "<16 x float>" */
    int lanes;               /* of such a vector */
    int rows;                /* entries of a table, and numbers of a row of the state and the sums */
};

/* attention_lanes.c: from queries, or from ranges, to the state and the sums. attention_dots.c: from queries. */
void kiln__attention_print_lanes(struct kiln_attention_printer *p);
void kiln__attention_print_combination(struct kiln_attention_printer *p);
void kiln__attention_print_dots(struct kiln_attention_printer *p);

/* Where loops of these names count: in the entry block, before its first label. */
void kiln__attention_counters(struct kiln_attention_printer *p, const char *const *names, size_t count);
/* %NAME counts from 0 to before `end` by `step`; what follows, up to the end, is its body. */
void kiln__attention_loop(struct kiln_attention_printer *p, const char *name, const char *end, int step);
void kiln__attention_end(struct kiln_attention_printer *p, const char *name);

/* name = base + index * size bytes. */
void kiln__attention_address(struct kiln_attention_printer *p, const char *name, const char *base, const char *index,
                             const char *size);
/* A vector of float32. */
void kiln__attention_load(struct kiln_attention_printer *p, const char *name, const char *pointer);
void kiln__attention_store(struct kiln_attention_printer *p, const char *value, const char *pointer);
void kiln__attention_splat(struct kiln_attention_printer *p, const char *name, const char *type, const char *value);
/* name = a * b + c, rounded once where the target can. */
void kiln__attention_multiply_add(struct kiln_attention_printer *p, const char *name, const char *a, const char *b,
                                  const char *c);
/* Of floats; NaN wins. */
void kiln__attention_greater(struct kiln_attention_printer *p, const char *name, const char *a, const char *b);
/* Of i64. */
void kiln__attention_smaller(struct kiln_attention_printer *p, const char *name, const char *a, const char *b);
/* The first `count` floats of %scores become their exponentials: one plain loop, which LLVM makes vectors of. */
void kiln__attention_exponentials(struct kiln_attention_printer *p, const char *count);

/* %b walks over blocks of keys: %count of them, of which %last is the last. */
void kiln__attention_begin_block(struct kiln_attention_printer *p);

#endif
