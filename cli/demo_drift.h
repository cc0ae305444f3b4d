/*
 * demo_drift.h - the part of the demo in which a watched variable changes.
 */
#ifndef KILN_DEMO_DRIFT_H
#define KILN_DEMO_DRIFT_H

#include <stdbool.h>

enum { DRIFT_STEPS = 3 };

struct drift_step {
    int value; /* of the watched variable */
    bool is_compiled, is_refused, is_right;
    char text[128]; /* of the error */
};

/* Calls a function with the variable at 1, 2 and 1 again. False: it could not be made. */
bool demo_drift(bool strict, struct drift_step steps[DRIFT_STEPS]);

#endif
