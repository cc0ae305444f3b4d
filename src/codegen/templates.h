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
/* $r.p.z: the number less itself, NaN for one that is not finite; $r.p.f: it is infinite */
#define IS_INFINITE(p, x)                                                                                              \
    "$r." p ".z = fsub $T " x ", " x ";$r." p ".n = fcmp uno $T $r." p ".z, $r." p ".z;"                               \
    "$r." p ".o = fcmp ord $T " x ", " x ";$r." p ".f = and $B $r." p ".n, $r." p ".o;"
/* $r.p.v: for a number that has an infinite part 1 or -1 for that and 0 for another; else the part, 0 for NaN */
#define COMPLEX_BOX(p, x, number)                                                                                      \
    "$r." p ".g = fcmp ogt $T " x ", zeroinitializer;$r." p ".s = select $B $r." p ".g, $T $r.one, $T $r.minus;"       \
    "$r." p ".b = select $B $r." p ".f, $T $r." p ".s, $T zeroinitializer;"                                            \
    "$r." p ".c = select $B $r." p ".o, $T " x ", $T zeroinitializer;"                                                 \
    "$r." p ".v = select $B $r." number ".f, $T $r." p ".b, $T $r." p ".c;"
#define EITHER(p, a, b) "$r." p ".f = or $B $r." a ".f, $r." b ".f;"
#define COMPLEX_PRODUCTS(ar, ai, br, bi, p)                                                                            \
    "$r." p "a = fmul $T " ar ", " br ";$r." p "b = fmul $T " ai ", " bi ";$r." p "x = fsub $T $r." p "a, $r." p "b;"  \
    "$r." p "c = fmul $T " ar ", " bi ";$r." p "d = fmul $T " ai ", " br ";$r." p "y = fadd $T $r." p "c, $r." p "d;"
/*
 * C's Annex G: where both parts are NaN and a factor or a product of parts is infinite, the result is, too. Constants
 * are made of zeroinitializer, which is one of vectors as well.
 */
/* clang-format off */
#define COMPLEX_MULTIPLY(a, b)                                                                                         \
    COMPLEX_PRODUCTS(a "r", a "i", b "r", b "i", "")                                                                   \
    IS_INFINITE("ar", a "r") IS_INFINITE("ai", a "i") IS_INFINITE("br", b "r") IS_INFINITE("bi", b "i")                \
    IS_INFINITE("pa", "$r.a") IS_INFINITE("pb", "$r.b") IS_INFINITE("pc", "$r.c") IS_INFINITE("pd", "$r.d")            \
    EITHER("fa", "ar", "ai") EITHER("fb", "br", "bi") EITHER("px", "pa", "pb") EITHER("py", "pc", "pd")                \
    EITHER("factor", "fa", "fb") EITHER("product", "px", "py") EITHER("any", "factor", "product")                      \
    "$r.true = fcmp oeq $T zeroinitializer, zeroinitializer;$r.one = uitofp $B $r.true to $T;"                         \
    "$r.minus = fneg $T $r.one;$r.most = fdiv $T $r.one, zeroinitializer;"                                             \
    COMPLEX_BOX("ar", a "r", "fa") COMPLEX_BOX("ai", a "i", "fa")                                                      \
    COMPLEX_BOX("br", b "r", "fb") COMPLEX_BOX("bi", b "i", "fb")                                                      \
    COMPLEX_PRODUCTS("$r.ar.v", "$r.ai.v", "$r.br.v", "$r.bi.v", "box.")                                               \
    "$r.xx = fmul $T $r.box.x, $r.most;$r.yy = fmul $T $r.box.y, $r.most;"                                             \
    "$r.xn = fcmp uno $T $r.x, $r.x;$r.yn = fcmp uno $T $r.y, $r.y;$r.both = and $B $r.xn, $r.yn;"                     \
    "$r.again = and $B $r.both, $r.any.f;"                                                                             \
    "$rr = select $B $r.again, $T $r.xx, $T $r.x;$ri = select $B $r.again, $T $r.yy, $T $r.y"
/* clang-format on */

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
