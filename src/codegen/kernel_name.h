/*
 * kernel_name.h - the name of a kernel's entry, as profilers of GPUs show it and objects have it as their symbol:
 *
 *     kiln_mul_add_f32_1a2b3c4d
 *
 * After "kiln_" come the operations in the order in which they are computed, the dtype of the first result, and the
 * first 8 digits of the SHA-256 of the text without the name. So the name follows from the text: equal bodies have
 * equal names, in every process, and share one artifact.
 *
 * An operation has its name of ops.def, and a shorter one where everybody knows that: mul, sub, div, neg, pow. A cast
 * that changes no dtype is a copy. A chain that takes more than 40 characters has its first operations, how many are
 * left out, and its last: mul_add_exp_44_more_div.
 */
#ifndef KILN_CODEGEN_KERNEL_NAME_H
#define KILN_CODEGEN_KERNEL_NAME_H

#include "codegen/group.h"
#include "codegen/print_ir.h"

enum { KILN_KERNEL_OPERATIONS = 40, KILN_KERNEL_NAME = 60 }; /* characters of operations; of a name, with its NUL */

/* Names the entry of a text that is printed but for it. `moves`: what a kernel of a group without instructions does. */
void kiln__print_kernel_name(struct kiln_ir *ir, const struct kiln_group *group, const char *moves);
/* The same for a kernel that is one operation, by at most KILN_KERNEL_OPERATIONS characters. */
void kiln__print_operation_name(struct kiln_ir *ir, const char *operation, enum kiln_dtype result);

#endif
