/*
 * device.h - devices and targets as plain values.
 *
 * A target is what code is generated for, by its resolved name: "x86-64-v3", "znver4". A device is where code runs:
 * several devices may have one target and then share artifacts. Devices live as long as the process and are
 * compared by pointer. Every function may be called from any thread.
 */
#ifndef KILN_DEVICE_DEVICE_H
#define KILN_DEVICE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/environment.h"
#include "base/status.h"
#include "device/gpu.h"

/* Instruction set levels of x86-64, in order: each has all of those before it. */
enum kiln_isa { KILN_ISA_X86_64_V1 = 1, KILN_ISA_X86_64_V2, KILN_ISA_X86_64_V3, KILN_ISA_X86_64_V4 };

struct kiln_target {
    char name[48];     /* resolved: the LLVM CPU name, never "native"; of a GPU "sm_90" */
    enum kiln_isa isa; /* the least instruction set of a machine that can run it; code for GPUs asks for none */
};

struct kiln_device {
    char name[64]; /* canonical: "cpu:x86-64-v4#1" is one device however it was asked for */
    struct kiln_target target;
    struct kiln_gpu *gpu;        /* NULL: a CPU */
    uint32_t id;                 /* small, unique in the process; enters call keys */
    _Atomic uint32_t generation; /* bumped by a reset; enters call keys, so old entries match no more */
    struct kiln_device *next;
};

/* What this machine can run, probed once. */
enum kiln_isa kiln__isa_host(void);
/* Has it AVX-512 BF16, AVX-512 VNNI beside the level x86-64-v4? No target but named CPUs stands for that:
 * codegen/cpu/product.h. */
bool kiln__isa_host_has_bf16(void);
bool kiln__isa_host_has_vnni(void);
const char *kiln__isa_name(enum kiln_isa isa);

/* Resolves "native", "x86-64-v2" to "-v4", or an LLVM CPU name. KILN_INVALID names what would be right. */
kiln_status kiln__target_resolve(const char *name, struct kiln_target *out, kiln_error *err);

/* The calling thread's device, "cpu" at first (which KILN_TARGET resolves). NULL only when that failed: see err. */
kiln_device *kiln__device_current(kiln_error *err);
/* The same for one who has just looked at the environment (NULL: could not). */
kiln_device *kiln__device_current_in(const struct kiln_environment *environment, kiln_error *err);

/* NULL: there is none. */
kiln_device *kiln__device_by_id(uint32_t id);

#endif
