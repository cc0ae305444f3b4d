/*
 * cpu_launch.h - launches and copies on the CPU: the entries of its backend, on as many cores as pay.
 */
#ifndef KILN_RUN_CPU_CPU_LAUNCH_H
#define KILN_RUN_CPU_CPU_LAUNCH_H

#include "run/kernels/launch.h"

kiln_launch kiln__cpu_launch_group;
kiln_launch_loop kiln__cpu_launch_loop;
kiln_launch_reduction kiln__cpu_launch_reduction;
kiln_launch_rows kiln__cpu_launch_rows;
kiln_status kiln__cpu_copy(struct kiln_loop *loop, kiln_error *err); /* transposed ones by tiles */

#endif
