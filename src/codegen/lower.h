/*
 * lower.h - one value at a time: how a dtype looks in LLVM IR, and the lines that compute, convert, load and store it.
 *
 * A value is known by its name, such as "%v0": one SSA value, or for complex64 two, "%v0r" and "%v0i".
 * In memory bool is i8 and 16-bit floats are i16; in values bool is i1 and 16-bit floats are float, already rounded to
 * their dtype, with their bits beside them as "%v0.bits". `lanes` is 0 for scalars and 16 for the vectors of
 * reductions.
 */
#ifndef KILN_CODEGEN_LOWER_H
#define KILN_CODEGEN_LOWER_H

#include "array/dtype.h"
#include "codegen/print_ir.h"
#include "graph/ops.h"

/* "float": the type of one part of a value; "i16": of one part of an element in memory. */
const char *kiln__ir_value_type(enum kiln_dtype dtype);
const char *kiln__ir_memory_type(enum kiln_dtype dtype);
/* Parts of a value: 2 for complex64, else 1. `kiln__ir_part` is the suffix of its name. */
int kiln__ir_parts(enum kiln_dtype dtype);
const char *kiln__ir_part(enum kiln_dtype dtype, int part);

/* Is it a 16-bit float? */
bool kiln__ir_is_narrow(enum kiln_dtype dtype);

/* "float", or "<16 x float>" */
struct kiln_name kiln__ir_type(struct kiln_ir *ir, const char *type, int lanes);

/* name = from's value converted to `to`. */
void kiln__ir_cast(struct kiln_ir *ir, const char *name, enum kiln_dtype to, const char *source, enum kiln_dtype from,
                   int lanes);
/*
 * name = op(inputs), rounded to `dtype`. There are three inputs, of which the operation reads as many as its arity.
 * `in_dtype` picks the column of ops.def. KILN_INVALID: not defined for it.
 */
kiln_status kiln__ir_apply(struct kiln_ir *ir, const char *name, enum kiln_op op, enum kiln_dtype dtype,
                           enum kiln_dtype in_dtype, const char *const *inputs, kiln_error *err);
/* The same before it is rounded to a 16-bit float; is_exact: there is nothing to round. */
kiln_status kiln__ir_compute(struct kiln_ir *ir, const char *name, enum kiln_op op, enum kiln_dtype in_dtype,
                             const char *const *inputs, kiln_error *err);
bool kiln__ir_is_exact(enum kiln_op op, enum kiln_dtype in_dtype);
/* name = the element at %pointer; `tail` follows the instructions (metadata). */
void kiln__ir_load(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *pointer, const char *tail);
void kiln__ir_store(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *pointer, const char *tail);
/*
 * The two halves of a load and of a store, for elements that are loaded or stored as vectors. A raw element is one
 * register per part, of the memory type. kiln__ir_raw() names the registers that must be loaded before
 * kiln__ir_from_raw() converts them to the value; kiln__ir_to_raw() converts the value to what is stored, with
 * temporaries that begin with `prefix`.
 */
struct kiln_name kiln__ir_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, int part);
void kiln__ir_from_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype);
struct kiln_name kiln__ir_to_raw(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, int part,
                                 const char *prefix);
/* name = the value whose bits are in the i64 `bits`. */
void kiln__ir_constant(struct kiln_ir *ir, const char *name, enum kiln_dtype dtype, const char *bits);

#endif
