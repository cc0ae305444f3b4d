/*
 * why_run.h - why the last `kiln run` compiled.
 */
#ifndef KILN_CLI_WHY_RUN_H
#define KILN_CLI_WHY_RUN_H

#include "cli.h"

int why_last_run(const struct command *command, bool json); /* an exit code */

#endif
