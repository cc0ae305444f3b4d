/*
 * demo_work.h - the work of one process of `kiln demo`: three functions, called for the first time, again, and from two
 * threads at once. Rows travel to the demo as lines of text on stdout.
 */
#ifndef KILN_CLI_DEMO_WORK_H
#define KILN_CLI_DEMO_WORK_H

#include "cli.h"

enum { DEMO_FUNCTIONS = 3, DEMO_LENGTH = 4096, DEMO_REPEATS = 2000 };

extern const char *const demo_function_names[DEMO_FUNCTIONS];

struct demo_row {
    char name[16];                    /* "first", "warm", "threads" */
    uint64_t call_ns[DEMO_FUNCTIONS]; /* of one call with its result */
    kiln_counters counters;           /* what this row added */
    bool is_right;                    /* results agree with scalar C */
};

void demo_row_print(FILE *out, const struct demo_row *row);
bool demo_row_parse(const char *line, struct demo_row *row);

#endif
