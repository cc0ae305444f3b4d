/*
 * cpu.h - bits of cpuid, as the C library read them when the process started.
 *
 * The instruction itself is not used: in a virtual machine each one leaves the guest, and the some sixty that a target
 * check needs cost 0.3 ms, as much as a whole warm start.
 */
#ifndef KILN_BASE_CPU_H
#define KILN_BASE_CPU_H

#include <stdbool.h>
#include <sys/platform/x86.h>

/* Where cpuid says it: `leaf` is one of CPUID_INDEX_*, the register 0 for eax to 3 for edx. */
struct kiln_cpu_bit {
    unsigned leaf, reg, bit;
};

static inline bool kiln__cpu_has(struct kiln_cpu_bit at)
{
    return __x86_get_cpuid_feature_leaf(at.leaf)->cpuid_array[at.reg] >> at.bit & 1u;
}

#endif
