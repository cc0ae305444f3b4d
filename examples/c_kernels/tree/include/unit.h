/*
 * unit.h - of which the scale is a multiple.
 */
#define UNIT 1
