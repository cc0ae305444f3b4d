/*
 * product_printer.h - what the printers of product kernels share. Inside the codegen layer.
 *
 * Local values are allocas, which LLVM makes registers of; names of one block of columns begin with the block's name.
 */
#ifndef KILN_CODEGEN_CPU_PRODUCT_PRINTER_H
#define KILN_CODEGEN_CPU_PRODUCT_PRINTER_H

#include "codegen/cpu/product.h"
#include "codegen/print_ir.h"

struct kiln_product_printer {
    enum kiln_dtype weight, out;
    struct kiln_product_config config;
    struct kiln_ir *ir;
};

/* %name = a vector of `lanes` copies of the value of this type. */
void kiln__product_splat(struct kiln_product_printer *p, const char *name, const char *type, const char *value);
/* %name.on = which of `lanes` lanes are below the i64 %name.left */
void kiln__product_mask(struct kiln_product_printer *p, const char *name, int lanes);
/* %name = the vector of `dtype` at `pointer` as floats; `mask`: a name, lanes that are off are 0; NULL: all are on. */
void kiln__product_load(struct kiln_product_printer *p, const char *name, enum kiln_dtype dtype, const char *pointer,
                        const char *mask);
/* %name = <count x float> `value` as elements of `out` in memory; returns their type. */
const char *kiln__product_narrow(struct kiln_product_printer *p, const char *name, const char *value, int count);

/* product_codes.c: %name.scale and %name.bias = those of the group with this number in the row of scales whose name is
 * `row`, as vectors; biases are read for affine codes only. */
void kiln__product_print_scale(struct kiln_product_printer *p, const char *name, const char *row, const char *group);
/* %name = the vector of weights whose codes begin at `pointer`, with the scale and bias of `group`. */
void kiln__product_decode(struct kiln_product_printer *p, const char *name, const char *pointer, const char *group);
/* The byte where the code of the element `index` begins; a vector begins at a whole one. */
void kiln__product_code_offset(struct kiln_product_printer *p, const char *name, const char *index);
int kiln__product_group_shift(const struct kiln_product_config *config);
/* The body of a kernel that expands. */
void kiln__product_print_expansion(struct kiln_product_printer *p);

/* product_pairs.c, for config.has_bf16: vectors of 32 bfloat16, and *sum += x * w. */
void kiln__product_load_pairs(struct kiln_product_printer *p, const char *name, const char *pointer, const char *mask);
void kiln__product_add_pairs(struct kiln_product_printer *p, const char *sum, const char *x, const char *w);

/* product_digits.c, for config.digits: the body of a kernel that splits, */
void kiln__product_print_splitting(struct kiln_product_printer *p);
/* and of one that multiplies: what all columns share; then %sum.<row>.<column>.0 += all of k, which ends at the label
 * <block>.done. */
void kiln__product_print_digit_layout(struct kiln_product_printer *p);
void kiln__product_print_digit_sums(struct kiln_product_printer *p, const char *block, int columns);

/* product_dots.c: the body of a kernel whose weight is transposed. */
void kiln__product_print_dots(struct kiln_product_printer *p);
/* product_columns.c: of any other. */
void kiln__product_print_columns(struct kiln_product_printer *p);

#endif
