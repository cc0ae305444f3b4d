/*
 * lower.h - one value at a time: how a dtype looks in LLVM IR, and the lines that compute, convert, load and store it.
 *
 * A value of number N is named by its text `name`, "%vN": one SSA value, or for complex64 two, "%vNr" and "%vNi".
 * In memory bool is i8 and 16-bit floats are i16; in values bool is i1 and 16-bit floats are float, already rounded to
 * their dtype, with their bits beside them as "%vN.bits". `lanes` is 0 for scalars and 16 for the vectors of
 * reductions.
 */
#ifndef KILN_CODEGEN_LOWER_H
#define KILN_CODEGEN_LOWER_H

#include "array/dtype.h"
#include "base/buffer.h"
#include "base/status.h"
#include "graph/ops.h"

enum { KILN_IR_NAME = 64 }; /* bytes of a name's buffer */

/* "float": the type of one part of a value; "i16": of one part of an element in memory. */
const char *kiln__ir_value_type(enum kiln_dtype dtype);
const char *kiln__ir_memory_type(enum kiln_dtype dtype);
/* Parts of a value: 2 for complex64, else 1. `kiln__ir_part` is the suffix of its name. */
int kiln__ir_parts(enum kiln_dtype dtype);
const char *kiln__ir_part(enum kiln_dtype dtype, int part);

/* Is it a 16-bit float? */
bool kiln__ir_is_narrow(enum kiln_dtype dtype);

/* Appends `declare RESULT @NAME(ARGUMENTS)` once per text. */
void kiln__ir_declare(struct kiln_buffer *declarations, const char *result, const char *name, const char *arguments);

/* name = from's value converted to `to`. */
void kiln__ir_cast(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name, enum kiln_dtype to,
                   const char *source, enum kiln_dtype from, int lanes);
/* name = op(inputs), rounded to `dtype`. `in_dtype` picks the column of ops.def. KILN_INVALID: not defined for it. */
kiln_status kiln__ir_apply(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                           enum kiln_op op, enum kiln_dtype dtype, enum kiln_dtype in_dtype, const char *const *inputs,
                           kiln_error *err);
/* The same before it is rounded to a 16-bit float; is_exact: there is nothing to round. */
kiln_status kiln__ir_compute(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                             enum kiln_op op, enum kiln_dtype in_dtype, const char *const *inputs, kiln_error *err);
bool kiln__ir_is_exact(enum kiln_op op, enum kiln_dtype in_dtype);
/* name = the element at %pointer; `tail` follows the instructions (metadata). */
void kiln__ir_load(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name, enum kiln_dtype dtype,
                   const char *pointer, const char *tail);
void kiln__ir_store(struct kiln_buffer *text, const char *name, enum kiln_dtype dtype, const char *pointer,
                    const char *tail);
/*
 * The two halves of a load and of a store, for elements that move together: an element as it lies in memory is one
 * register per part, of the memory type. kiln__ir_raw() names what a load must fill before kiln__ir_from_raw() makes
 * the value of it; kiln__ir_to_raw() makes what is stored, with temporaries that begin with `prefix`. `out` has
 * KILN_IR_NAME bytes or more and is returned.
 */
const char *kiln__ir_raw(char *out, const char *name, enum kiln_dtype dtype, int part);
void kiln__ir_from_raw(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                       enum kiln_dtype dtype);
const char *kiln__ir_to_raw(struct kiln_buffer *text, char *out, const char *name, enum kiln_dtype dtype, int part,
                            const char *prefix);
/* name = the value whose bits are in the i64 `bits`. */
void kiln__ir_constant(struct kiln_buffer *text, struct kiln_buffer *declarations, const char *name,
                       enum kiln_dtype dtype, const char *bits);

#endif
