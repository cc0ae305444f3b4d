/*
 * printer.h - what the printers of kernels share: element-wise, rows, GPUs. Inside the codegen layer.
 *
 * Values have the names of graph_print.h and `kiln show`: operands are %a0, %a1, ..., constants %c0, ..., results of
 * instructions %v0, ...; a row kernel computes some of them once per pass over a row, and then a suffix of the pass
 * follows. What belongs to instruction N alone has its number too: %lanes3 and %kept3 are of %v3. Pointers of outputs
 * are %o0, ..., of operands %p0, ...; .row and .inner are their strides, .base is where the current row starts.
 */
#ifndef KILN_CODEGEN_PRINTER_H
#define KILN_CODEGEN_PRINTER_H

#include "codegen/group.h"
#include "codegen/lower.h"

struct kiln_printer {
    const struct kiln_group *group;
    const char *layouts;
    unsigned flags;
    uint8_t *dtypes;    /* of each value */
    bool *shared;       /* is the value the same for a whole row? */
    const bool *needed; /* NULL: all; else which values this pass computes */
    const char *pass;   /* suffix of names inside the current pass: "" or ".0", ".1", ... */
    uint32_t blocks;    /* on GPUs: resident blocks per multiprocessor, which bounds the registers; 0: no bound */
    struct kiln_ir *ir;
};

/* Operands, constants and instructions. */
uint32_t kiln__group_values(const struct kiln_group *group);

/* group.c: checks the group, whose layouts must be among `allowed`, and fills in dtypes. */
kiln_status kiln__group_check(struct kiln_printer *p, const char *allowed, kiln_error *err);

/* Checks the group, and fills in dtypes and shared. Whatever it returns, the printer is released afterwards. */
kiln_status kiln__printer_init(struct kiln_printer *p, const char *allowed, kiln_error *err);
void kiln__printer_release(struct kiln_printer *p);
/* shared: operands with `layout`, constants, reductions, and what is computed from nothing else. */
void kiln__printer_share(struct kiln_printer *p, char layout);

/* The group as comments, one per value. Tests read it back. */
void kiln__print_heading(struct kiln_printer *p);

/* "a0", "c0" or "v0". */
struct kiln_name kiln__value_label(const struct kiln_printer *p, uint32_t value);
/* The label behind a '%', with the pass unless the value is shared. */
struct kiln_name kiln__value_name(const struct kiln_printer *p, uint32_t value);

/* Operands that a whole row shares, from `base`: ".base" or "". */
void kiln__print_shared_loads(struct kiln_printer *p, const char *base);
/* The element-wise instructions whose results are shared, or the others. */
kiln_status kiln__print_instrs(struct kiln_printer *p, bool shared, kiln_error *err);
/* One element-wise instruction. */
kiln_status kiln__print_instr(struct kiln_printer *p, uint32_t index, kiln_error *err);

/* Is the result computed by a helper of codegen/runtime, a long chain of dependent instructions? */
bool kiln__is_expensive(const struct kiln_instr *instr);

#endif
