/*
 * templates.h - operations as lines of LLVM IR: of element-wise operations (a table), and those that reductions
 * (combine.c) share with them.
 *
 * $r is the result's name, $0 $1 $2 are the inputs' names, $T is their type, $B the type of a comparison; for vectors
 * both are vector types. In the table also: $M the suffix of $T in names of intrinsics, $W its bits, $L one less. Lines
 * are separated by ';'. Of a complex number $rr and $ri, $0r and $0i are the parts. Complex numbers are ordered by
 * their real parts, then by their imaginary parts. A maximum or minimum with a NaN is NaN.
 */
#ifndef KILN_CODEGEN_TEMPLATES_H
#define KILN_CODEGEN_TEMPLATES_H

#include <stdbool.h>

struct kiln_template {
    const char *name; /* in the columns of graph/ops.def */
    const char *lines;
    bool exact; /* the result is one of the inputs, or one with its sign changed: no rounding */
};

/* NULL: there is none of that name. */
const struct kiln_template *kiln__template_find(const char *name);

#define FLOAT_CHOOSE(strict)                                                                                           \
    "$r.a = fcmp " strict " $T $0, $1;$r.b = fcmp uno $T $0, $0;$r.c = or $B $r.a, $r.b;"                              \
    "$r = select $B $r.c, $T $0, $T $1"

#define COMPLEX_ADD "$rr = fadd $T $0r, $1r;$ri = fadd $T $0i, $1i"
#define COMPLEX_MULTIPLY(a, b)                                                                                         \
    "$r.a = fmul $T " a "r, " b "r;$r.b = fmul $T " a "i, " b "i;$rr = fsub $T $r.a, $r.b;"                            \
    "$r.c = fmul $T " a "r, " b "i;$r.d = fmul $T " a "i, " b "r;$ri = fadd $T $r.c, $r.d"

/* $r.a: the real parts decide; $r.d: they are equal and the imaginary parts decide. */
#define COMPLEX_ORDER(strict, last)                                                                                    \
    "$r.a = fcmp " strict " $T $0r, $1r;$r.b = fcmp oeq $T $0r, $1r;$r.c = fcmp " last " $T $0i, $1i;"                 \
    "$r.d = and $B $r.b, $r.c;"
#define COMPLEX_COMPARE(strict, last) COMPLEX_ORDER(strict, last) "$r = or $B $r.a, $r.d"
#define COMPLEX_CHOOSE(strict)                                                                                         \
    COMPLEX_ORDER(strict, strict)                                                                                      \
    "$r.e = or $B $r.a, $r.d;$r.f = fcmp ord $T $1r, $1i;$r.g = and $B $r.e, $r.f;"                                    \
    "$r.h = fcmp uno $T $0r, $0i;$r.k = or $B $r.g, $r.h;"                                                             \
    "$rr = select $B $r.k, $T $0r, $T $1r;$ri = select $B $r.k, $T $0i, $T $1i"

#endif
