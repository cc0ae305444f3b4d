/*
 * cpu_printer.h - what the printers of the CPU's kernels share: element-wise kernels and kernels with rows. Inside the
 * codegen layer.
 *
 * Pointers of outputs are %o0, ..., of operands %p0, ...; .row and .inner are their strides, .base is where the current
 * row starts.
 */
#ifndef KILN_CODEGEN_CPU_CPU_PRINTER_H
#define KILN_CODEGEN_CPU_CPU_PRINTER_H

#include "codegen/printer.h"

/* Accesses of an inner loop belong to group !0, which its loop !1 declares free of dependences. */
#define KILN_PARALLEL ", !llvm.access.group !0"

/* Loads the pointers, strides and constants from the kernel's arguments. */
void kiln__print_arguments(struct kiln_printer *p);
/* %oN.base or %pN.base for the row %row. */
void kiln__print_row_base(struct kiln_printer *p, char side, uint32_t index);
/* The operands that a row does not share, at %i, with the pass's suffix. */
void kiln__print_element_loads(struct kiln_printer *p);

/* What follows !2 in the metadata of an inner loop: how many iterations LLVM interleaves. */
const char *kiln__loop_hints(const struct kiln_printer *p);

/* rows.c: a kernel with reductions along the row. The dtypes are checked. */
kiln_status kiln__rows_print(struct kiln_printer *p, kiln_error *err);

#endif
