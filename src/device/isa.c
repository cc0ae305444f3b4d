/*
 * isa.c - what this CPU can run, and what each known target needs.
 *
 * Invariant: a target counts as runnable only when the CPU has, and the operating system saves, everything LLVM may
 * use for that CPU name; a level alone is not enough (znver4 code uses VBMI, which an older v4 machine lacks).
 */
#include "device/isa.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/cpu.h"

/* Instructions beyond a level that LLVM uses on its own for the CPUs in the table below. */
enum feature {
    SSE4A = 1u << 0,
    GFNI = 1u << 1,
    VBMI = 1u << 2,
    VBMI2 = 1u << 3,
    IFMA = 1u << 4,
    VNNI = 1u << 5,
    BITALG = 1u << 6,
    POPCNT512 = 1u << 7,
    BF16 = 1u << 8,
    FP16 = 1u << 9,
    AVX_VNNI = 1u << 10,
    ICELAKE = GFNI | VBMI | VBMI2 | IFMA | VNNI | BITALG | POPCNT512,
};

static const struct {
    const char *name; /* an LLVM CPU name */
    enum kiln_isa isa;
    unsigned features;
} targets[] = {
    {"x86-64", KILN_ISA_X86_64_V1, 0},
    {"x86-64-v2", KILN_ISA_X86_64_V2, 0},
    {"x86-64-v3", KILN_ISA_X86_64_V3, 0},
    {"x86-64-v4", KILN_ISA_X86_64_V4, 0},
    {"nehalem", KILN_ISA_X86_64_V2, 0},
    {"westmere", KILN_ISA_X86_64_V2, 0},
    {"silvermont", KILN_ISA_X86_64_V2, 0},
    {"goldmont", KILN_ISA_X86_64_V2, 0},
    {"haswell", KILN_ISA_X86_64_V3, 0},
    {"broadwell", KILN_ISA_X86_64_V3, 0},
    {"skylake", KILN_ISA_X86_64_V3, 0},
    {"alderlake", KILN_ISA_X86_64_V3, GFNI | AVX_VNNI},
    {"raptorlake", KILN_ISA_X86_64_V3, GFNI | AVX_VNNI},
    {"znver1", KILN_ISA_X86_64_V3, SSE4A},
    {"znver2", KILN_ISA_X86_64_V3, SSE4A},
    {"znver3", KILN_ISA_X86_64_V3, SSE4A},
    {"skylake-avx512", KILN_ISA_X86_64_V4, 0},
    {"cascadelake", KILN_ISA_X86_64_V4, VNNI},
    {"cooperlake", KILN_ISA_X86_64_V4, VNNI | BF16},
    {"icelake-client", KILN_ISA_X86_64_V4, ICELAKE},
    {"icelake-server", KILN_ISA_X86_64_V4, ICELAKE},
    {"tigerlake", KILN_ISA_X86_64_V4, ICELAKE},
    {"rocketlake", KILN_ISA_X86_64_V4, ICELAKE},
    {"sapphirerapids", KILN_ISA_X86_64_V4, ICELAKE | BF16 | FP16 | AVX_VNNI},
    {"emeraldrapids", KILN_ISA_X86_64_V4, ICELAKE | BF16 | FP16 | AVX_VNNI},
    {"graniterapids", KILN_ISA_X86_64_V4, ICELAKE | BF16 | FP16 | AVX_VNNI},
    {"znver4", KILN_ISA_X86_64_V4, ICELAKE | BF16 | SSE4A},
};

enum { TARGET_COUNT = sizeof(targets) / sizeof(targets[0]) };

/* Rows of one level, each with all it adds. Levels: the x86-64 psABI, table 3.1. */
static const struct {
    enum kiln_isa isa;
    struct kiln_cpu_bit at;
} level_bits[] = {
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 0}},        /* SSE3 */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 9}},        /* SSSE3 */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 13}},       /* CMPXCHG16B */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 19}},       /* SSE4.1 */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 20}},       /* SSE4.2 */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_1, 2, 23}},       /* POPCNT */
    {KILN_ISA_X86_64_V2, {CPUID_INDEX_80000001, 2, 0}}, /* LAHF, SAHF */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_1, 2, 12}},       /* FMA */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_1, 2, 22}},       /* MOVBE */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_1, 2, 27}},       /* OSXSAVE */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_1, 2, 28}},       /* AVX */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_1, 2, 29}},       /* F16C */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_7, 1, 3}},        /* BMI1 */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_7, 1, 5}},        /* AVX2 */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_7, 1, 8}},        /* BMI2 */
    {KILN_ISA_X86_64_V3, {CPUID_INDEX_80000001, 2, 5}}, /* LZCNT */
    {KILN_ISA_X86_64_V4, {CPUID_INDEX_7, 1, 16}},       /* AVX512F */
    {KILN_ISA_X86_64_V4, {CPUID_INDEX_7, 1, 17}},       /* AVX512DQ */
    {KILN_ISA_X86_64_V4, {CPUID_INDEX_7, 1, 28}},       /* AVX512CD */
    {KILN_ISA_X86_64_V4, {CPUID_INDEX_7, 1, 30}},       /* AVX512BW */
    {KILN_ISA_X86_64_V4, {CPUID_INDEX_7, 1, 31}},       /* AVX512VL */
};

static const struct {
    enum feature feature;
    struct kiln_cpu_bit at;
} feature_bits[] = {
    {SSE4A, {CPUID_INDEX_80000001, 2, 6}},   {GFNI, {CPUID_INDEX_7, 2, 8}},       {VBMI, {CPUID_INDEX_7, 2, 1}},
    {VBMI2, {CPUID_INDEX_7, 2, 6}},          {IFMA, {CPUID_INDEX_7, 1, 21}},      {VNNI, {CPUID_INDEX_7, 2, 11}},
    {BITALG, {CPUID_INDEX_7, 2, 12}},        {POPCNT512, {CPUID_INDEX_7, 2, 14}}, {BF16, {CPUID_INDEX_7_ECX_1, 0, 5}},
    {AVX_VNNI, {CPUID_INDEX_7_ECX_1, 0, 4}}, {FP16, {CPUID_INDEX_7, 3, 23}},
};

static struct {
    enum kiln_isa isa;
    unsigned features;
} host; /* written once, by probe() */
static pthread_once_t probe_once = PTHREAD_ONCE_INIT;

/* The register state that the operating system saves for a thread (XCR0). */
static uint64_t saved_state(void)
{
    uint32_t low, high;
    if (!kiln__cpu_has((struct kiln_cpu_bit){CPUID_INDEX_1, 2, 27})) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_level(enum kiln_isa isa, uint64_t saved)
{
    static const uint64_t needed_state[] = {
        [KILN_ISA_X86_64_V3] = 0x06, /* xmm, ymm */
        [KILN_ISA_X86_64_V4] = 0xe6, /* and the masks, zmm */
    };
    if ((saved & needed_state[isa]) != needed_state[isa]) return false;
    for (size_t i = 0; i < sizeof(level_bits) / sizeof(level_bits[0]); i++) {
        if (level_bits[i].isa == isa && !kiln__cpu_has(level_bits[i].at)) return false;
    }
    return true;
}

static void probe(void)
{
    uint64_t saved = saved_state();
    host.isa = KILN_ISA_X86_64_V1;
    while (host.isa < KILN_ISA_X86_64_V4 && has_level(host.isa + 1, saved)) host.isa++;
    for (size_t i = 0; i < sizeof(feature_bits) / sizeof(feature_bits[0]); i++) {
        if (kiln__cpu_has(feature_bits[i].at)) host.features |= feature_bits[i].feature;
    }
}

enum kiln_isa kiln__isa_host(void)
{
    pthread_once(&probe_once, probe);
    return host.isa;
}

bool kiln__isa_host_has_bf16(void)
{
    return kiln__isa_host() >= KILN_ISA_X86_64_V4 && host.features & BF16;
}

bool kiln__isa_host_has_vnni(void)
{
    return kiln__isa_host() >= KILN_ISA_X86_64_V4 && host.features & VNNI;
}

const char *kiln__isa_name(enum kiln_isa isa)
{
    bool is_known = isa >= KILN_ISA_X86_64_V1 && isa <= KILN_ISA_X86_64_V4;
    return is_known ? targets[isa - KILN_ISA_X86_64_V1].name : "unknown";
}

static bool runs_here(size_t idx)
{
    return targets[idx].isa <= kiln__isa_host() && (targets[idx].features & ~host.features) == 0;
}

/* The names of the table, all or those this machine can run, separated by commas. */
static void list_targets(char *out, size_t size, bool only_runnable)
{
    size_t used = (size_t)snprintf(out, size, "native");
    for (size_t i = 0; i < TARGET_COUNT && used < size; i++) {
        if (only_runnable && !runs_here(i)) continue;
        used += (size_t)snprintf(out + used, size - used, ", %s", targets[i].name);
    }
}

static size_t find_target(const char *name)
{
    size_t idx = 0;
    while (idx < TARGET_COUNT && strcmp(targets[idx].name, name) != 0) idx++;
    return idx;
}

kiln_status kiln__target_resolve(const char *name, struct kiln_target *out, kiln_error *err)
{
    if (strcmp(name, "native") == 0) name = kiln__isa_name(kiln__isa_host());
    size_t idx = find_target(name);
    if (idx == TARGET_COUNT) {
        char known[700];
        list_targets(known, sizeof(known), false);
        return kiln__fail(err, KILN_INVALID, "unknown target \"%.64s\"; known are %s", name, known);
    }
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "%s", targets[idx].name);
    out->isa = targets[idx].isa;
    return KILN_OK;
}

bool kiln__target_runs_here(const struct kiln_target *target)
{
    size_t idx = find_target(target->name);
    return idx < TARGET_COUNT && runs_here(idx);
}

kiln_status kiln__target_check_host(const struct kiln_target *target, kiln_error *err)
{
    const char *mode = kiln__config("KILN_MODE");
    if (kiln__target_runs_here(target) || (mode && !strcmp(mode, "compile-only"))) return KILN_OK;
    char known[700];
    list_targets(known, sizeof(known), true);
    return kiln__fail(err, KILN_INVALID, "this machine (%s) can't run code for \"%s\"; it can run %s",
                      kiln__isa_name(kiln__isa_host()), target->name, known);
}
