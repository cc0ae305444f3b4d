/*
 * runtime.c - the run-time library as one unit: the build makes it into bitcode, the tests build it for the host.
 */
#include "runtime.h"

#include "bits.h"

/* In this order: later files use what earlier ones define. */
/* clang-format off */
#include "convert.c"
#include "pairs.c"
#include "math_f32.c"
#include "math_bf16.c"
#include "math_f64.c"
#include "inverse.c"
#include "logs.c"
#include "order_keys.c"
#include "power.c"
#include "random_bits.c"
#include "trig.c"
#include "complex.c"
/* clang-format on */
