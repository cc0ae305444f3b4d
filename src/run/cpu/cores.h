/*
 * cores.h - how many processors this process may keep busy.
 */
#ifndef KILN_RUN_CPU_CORES_H
#define KILN_RUN_CPU_CORES_H

/*
 * Those it may run on, and no more than the time that its control groups give it, rounded up: a container with half of
 * a machine's time has threads for half of the machine. At least 1. `root` is put before /proc and /sys: "" but in
 * tests.
 */
int kiln__cores(const char *root);

#endif
