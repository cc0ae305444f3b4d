/*
 * scale.h - the scale of kernels, unless ../include has a header of this name, which is found first.
 */
#include <unit.h>

#define SCALE (2 * UNIT)
