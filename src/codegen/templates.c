/*
 * templates.c - see templates.h: the element-wise operations that are neither one LLVM instruction nor a call of a
 * helper.
 *
 * Rounding to a 16-bit float follows a template, except where the result is a value that is rounded already: `exact`.
 */
#include "codegen/templates.h"

#include <stddef.h>
#include <string.h>

#define INFINITY_BITS "0x7FF0000000000000" /* of a float too: LLVM writes them as doubles */
/* What divides by zero, or the lowest number by -1, divides by 1 instead; the quotient is chosen afterwards. */
#define SAFE_DIVISOR                                                                                                   \
    "$r.z = icmp eq $T $1, 0;$r.m = icmp eq $T $1, -1;$r.u = or i1 $r.z, $r.m;$r.d = select i1 $r.u, $T 1, $T $1;"

/* Both parts times a number: a float, written as a double. */
#define COMPLEX_SCALE(by) "$rr = fmul float $0r, " by ";$ri = fmul float $0i, " by

static const struct kiln_template templates[] = {
    {"fcopy", "$r = bitcast $T $0 to $T", true},
    {"zero", "$r = bitcast $T zeroinitializer to $T", true},
    {"false", "$r = icmp ne $T $0, $0", true},
    {"true", "$r = icmp eq $T $0, $0", true},
    {"invert", "$r = xor $T $0, -1", true},
    {"cabs", /* in double, where nothing overflows; an infinite part counts more than a NaN */
     "$r.a = fpext float $0r to double;$r.b = fpext float $0i to double;$r.c = fmul double $r.a, $r.a;"
     "$r.d = fmul double $r.b, $r.b;$r.e = fadd double $r.c, $r.d;$r.f = call double @llvm.sqrt.f64(double $r.e);"
     "$r.g = fptrunc double $r.f to float;$r.h = call float @llvm.fabs.f32(float $0r);"
     "$r.j = call float @llvm.fabs.f32(float $0i);$r.k = fcmp oeq float $r.h, " INFINITY_BITS ";"
     "$r.l = fcmp oeq float $r.j, " INFINITY_BITS ";$r.m = or i1 $r.k, $r.l;"
     "$r = select i1 $r.m, float " INFINITY_BITS ", float $r.g",
     true},
    {"ffloor", "$r = call $T @llvm.floor.$M($T $0)", true},
    {"fceil", "$r = call $T @llvm.ceil.$M($T $0)", true},
    {"fround", "$r = call $T @llvm.roundeven.$M($T $0)", true},
    {"cround", "$rr = call float @llvm.roundeven.f32(float $0r);$ri = call float @llvm.roundeven.f32(float $0i)", true},
    {"sign", "$r.a = icmp sgt $T $0, 0;$r.b = zext i1 $r.a to $T;$r.c = ashr $T $0, $L;$r = or $T $r.b, $r.c", true},
    {"usign", "$r.a = icmp ne $T $0, 0;$r = zext i1 $r.a to $T", true},
    {"fsign", /* NaN gives 0 */
     "$r.a = fcmp ogt $T $0, 0.0;$r.b = fcmp olt $T $0, 0.0;$r.c = select i1 $r.a, $T 1.0, $T 0.0;"
     "$r = select i1 $r.b, $T -1.0, $T $r.c",
     true},
    {"csign", /* x / |x|, and 0 for 0 */
     "$r.a = fpext float $0r to double;$r.b = fpext float $0i to double;$r.c = fmul double $r.a, $r.a;"
     "$r.d = fmul double $r.b, $r.b;$r.e = fadd double $r.c, $r.d;$r.f = call double @llvm.sqrt.f64(double $r.e);"
     "$r.z = fcmp oeq double $r.e, 0.0;$r.n = select i1 $r.z, double 1.0, double $r.f;$r.g = fdiv double $r.a, $r.n;"
     "$r.h = fdiv double $r.b, $r.n;$rr = fptrunc double $r.g to float;$ri = fptrunc double $r.h to float",
     true},
    {"freciprocal", "$r = fdiv $T 1.0, $0", false},
    {"cdegrees", COMPLEX_SCALE("0x404CA5DC20000000"), true},
    {"cradians", COMPLEX_SCALE("0x3F91DF46A0000000"), true},
    {"fisnan", "$r = fcmp uno $T $0, $0", true},
    {"fisinf", "$r.a = call $T @llvm.fabs.$M($T $0);$r = fcmp oeq $T $r.a, " INFINITY_BITS, true},
    {"fisfinite", "$r.a = call $T @llvm.fabs.$M($T $0);$r = fcmp olt $T $r.a, " INFINITY_BITS, true},
    {"fisposinf", "$r = fcmp oeq $T $0, " INFINITY_BITS, true},
    {"fisneginf", "$r.a = fneg $T $0;$r = fcmp oeq $T $r.a, " INFINITY_BITS, true},
    {"cisnan", "$r = fcmp uno float $0r, $0i", true},
    {"cisinf",
     "$r.a = call float @llvm.fabs.f32(float $0r);$r.b = call float @llvm.fabs.f32(float $0i);"
     "$r.c = fcmp oeq float $r.a, " INFINITY_BITS ";$r.d = fcmp oeq float $r.b, " INFINITY_BITS
     ";$r = or i1 $r.c, $r.d",
     true},
    {"cisfinite",
     "$r.a = call float @llvm.fabs.f32(float $0r);$r.b = call float @llvm.fabs.f32(float $0i);"
     "$r.c = fcmp olt float $r.a, " INFINITY_BITS ";$r.d = fcmp olt float $r.b, " INFINITY_BITS
     ";$r = and i1 $r.c, $r.d",
     true},
    {"cisposinf", "$r.a = fcmp oeq float $0r, " INFINITY_BITS ";$r.b = fcmp oeq float $0i, 0.0;$r = and i1 $r.a, $r.b",
     true},
    {"cisneginf",
     "$r.n = fneg float $0r;$r.a = fcmp oeq float $r.n, " INFINITY_BITS
     ";$r.b = fcmp oeq float $0i, 0.0;$r = and i1 $r.a, $r.b",
     true},
    {"creal", "$r = bitcast float $0r to float", true},
    {"cimag", "$r = bitcast float $0i to float", true},
    {"cconjugate", "$rr = bitcast float $0r to float;$ri = fneg float $0i", true},
    {"sfloordivide", /* cut towards zero; 0 for a division by zero */
     SAFE_DIVISOR "$r.q = sdiv $T $0, $r.d;$r.n = sub $T 0, $0;$r.s = select i1 $r.m, $T $r.n, $T $r.q;"
                  "$r = select i1 $r.z, $T 0, $T $r.s",
     true},
    {"ufloordivide",
     "$r.z = icmp eq $T $1, 0;$r.d = select i1 $r.z, $T 1, $T $1;$r.q = udiv $T $0, $r.d;"
     "$r = select i1 $r.z, $T 0, $T $r.q",
     true},
    {"ffloordivide", "$r.q = fdiv $T $0, $1;$r = call $T @llvm.floor.$M($T $r.q)", false},
    {"sremainder", /* the divisor's sign; 0 for a division by zero, as by 1 and by -1 */
     SAFE_DIVISOR "$r.e = srem $T $0, $r.d;$r.n = icmp ne $T $r.e, 0;$r.x = xor $T $r.e, $1;$r.s = icmp slt $T $r.x, 0;"
                  "$r.c = and i1 $r.n, $r.s;$r.f = select i1 $r.c, $T $1, $T 0;$r = add $T $r.e, $r.f",
     true},
    {"uremainder", "$r.z = icmp eq $T $1, 0;$r.d = select i1 $r.z, $T 1, $T $1;$r = urem $T $0, $r.d", true},
    {"bpower", "$r.a = xor i1 $1, true;$r = or i1 $0, $r.a", true},
    {"leftshift", /* by the width or more, or by a negative number: nothing is left */
     "$r.a = icmp ult $T $1, $W;$r.b = select i1 $r.a, $T $1, $T 0;$r.c = shl $T $0, $r.b;"
     "$r = select i1 $r.a, $T $r.c, $T 0",
     true},
    {"urightshift",
     "$r.a = icmp ult $T $1, $W;$r.b = select i1 $r.a, $T $1, $T 0;$r.c = lshr $T $0, $r.b;"
     "$r = select i1 $r.a, $T $r.c, $T 0",
     true},
    {"srightshift", "$r.a = icmp ult $T $1, $W;$r.b = select i1 $r.a, $T $1, $T $L;$r = ashr $T $0, $r.b", true},
    {"copy", "$r = or $T $0, $0", true},
    {"abs", "$r.a = sub $T 0, $0;$r.b = icmp slt $T $0, 0;$r = select i1 $r.b, $T $r.a, $T $0", true},
    {"fabs", "$r = call $T @llvm.fabs.$M($T $0)", true},
    {"neg", "$r = sub $T 0, $0", true},
    {"fneg", "$r = fneg $T $0", true},
    {"cneg", "$rr = fneg float $0r;$ri = fneg float $0i", true},
    {"square", "$r = mul $T $0, $0", true},
    {"fsquare", "$r = fmul $T $0, $0", false},
    {"csquare", COMPLEX_MULTIPLY("$0", "$0"), true},
    {"fsqrt", "$r = call $T @llvm.sqrt.$M($T $0)", false},
    {"frsqrt", "$r.a = call $T @llvm.sqrt.$M($T $0);$r = fdiv $T 1.0, $r.a", false},
    {"not", "$r = xor i1 $0, true", true},
    {"cadd", COMPLEX_ADD, true},
    {"csub", "$rr = fsub float $0r, $1r;$ri = fsub float $0i, $1i", true},
    {"cmul", COMPLEX_MULTIPLY("$0", "$1"), true},
    {"smaximum", "$r = call $T @llvm.smax.$M($T $0, $T $1)", true},
    {"sminimum", "$r = call $T @llvm.smin.$M($T $0, $T $1)", true},
    {"umaximum", "$r = call $T @llvm.umax.$M($T $0, $T $1)", true},
    {"uminimum", "$r = call $T @llvm.umin.$M($T $0, $T $1)", true},
    {"fmaximum", FLOAT_CHOOSE("ogt"), true},
    {"fminimum", FLOAT_CHOOSE("olt"), true},
    {"cmaximum", COMPLEX_CHOOSE("ogt"), true},
    {"cminimum", COMPLEX_CHOOSE("olt"), true},
    {"ceq", "$r.a = fcmp oeq float $0r, $1r;$r.b = fcmp oeq float $0i, $1i;$r = and i1 $r.a, $r.b", true},
    {"cne", "$r.a = fcmp une float $0r, $1r;$r.b = fcmp une float $0i, $1i;$r = or i1 $r.a, $r.b", true},
    {"clt", COMPLEX_COMPARE("olt", "olt"), true},
    {"cle", COMPLEX_COMPARE("olt", "ole"), true},
    {"cgt", COMPLEX_COMPARE("ogt", "ogt"), true},
    {"cge", COMPLEX_COMPARE("ogt", "oge"), true},
    {"select", "$r = select i1 $0, $T $1, $T $2", true},
    {"cselect", "$rr = select i1 $0, float $1r, float $2r;$ri = select i1 $0, float $1i, float $2i", true},
};

const struct kiln_template *kiln__template_find(const char *name)
{
    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++)
        if (strcmp(templates[i].name, name) == 0) return &templates[i];
    return NULL;
}
