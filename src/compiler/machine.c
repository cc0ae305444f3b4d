/*
 * machine.c - target machines: making one costs milliseconds, so each thread keeps those it used.
 *
 * LLVM prints to stderr when it does not know a CPU, so names are checked against the list of x86-64 CPUs of LLVM 19
 * first. A thread's machines are freed when it ends; those of the main thread stay until the process does, because
 * other exit handlers may still compile.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "compiler/internal.h"

#define TRIPLE "x86_64-pc-linux-gnu"

static const char *const known_cpus[] = {
    "alderlake",
    "amdfam10",
    "arrowlake",
    "arrowlake-s",
    "atom",
    "barcelona",
    "bdver1",
    "bdver2",
    "bdver3",
    "bdver4",
    "bonnell",
    "broadwell",
    "btver1",
    "btver2",
    "cannonlake",
    "cascadelake",
    "clearwaterforest",
    "cooperlake",
    "core-avx-i",
    "core-avx2",
    "core2",
    "corei7",
    "corei7-avx",
    "emeraldrapids",
    "goldmont",
    "goldmont-plus",
    "gracemont",
    "grandridge",
    "graniterapids",
    "graniterapids-d",
    "haswell",
    "icelake-client",
    "icelake-server",
    "ivybridge",
    "k8",
    "k8-sse3",
    "knl",
    "knm",
    "lunarlake",
    "meteorlake",
    "nehalem",
    "nocona",
    "opteron",
    "opteron-sse3",
    "pantherlake",
    "penryn",
    "raptorlake",
    "rocketlake",
    "sandybridge",
    "sapphirerapids",
    "sierraforest",
    "silvermont",
    "skx",
    "skylake",
    "skylake-avx512",
    "slm",
    "tigerlake",
    "tremont",
    "westmere",
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
    "znver5",
};

struct machine {
    struct machine *next;
    LLVMTargetMachineRef machine;
    unsigned opt_level;
    char target[];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t machines; /* the thread's list */

static void free_machines(void *list)
{
    for (struct machine *m = list, *next; m; m = next) {
        next = m->next;
        LLVMDisposeTargetMachine(m->machine);
        free(m);
    }
}

static void start(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    pthread_key_create(&machines, free_machines);
}

void kiln__machine_forget(void)
{
    struct machine *list = pthread_getspecific(machines);
    pthread_setspecific(machines, NULL);
    for (struct machine *m = list, *next; m; m = next) {
        next = m->next;
        free(m); /* what LLVM made is in an unknown state: lost, not freed */
    }
}

kiln_status kiln__machine_check(const char *target, kiln_error *err)
{
    pthread_once(&once, start);
    for (size_t i = 0; target && i < sizeof known_cpus / sizeof known_cpus[0]; i++)
        if (strcmp(target, known_cpus[i]) == 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "target \"%s\" is no x86-64 CPU that LLVM 19 knows; for example x86-64-v3 or znver4 is",
                      target ? target : "");
}

static kiln_status make(const char *target, unsigned opt_level, LLVMTargetMachineRef *out, kiln_error *err)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    LLVMTargetRef found = NULL;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &found, &message)) {
        kiln__fail(err, KILN_COMPILE_FAILED, "LLVM has no code generator for %s: %s", TRIPLE, message);
        LLVMDisposeMessage(message);
        return KILN_COMPILE_FAILED;
    }
    *out = LLVMCreateTargetMachine(found, TRIPLE, target, "", levels[opt_level > 3 ? 3 : opt_level], LLVMRelocPIC,
                                   LLVMCodeModelSmall);
    if (!*out) return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM cannot make a code generator for %s", target);
    return KILN_OK;
}

kiln_status kiln__machine_get(const char *target, unsigned opt_level, LLVMTargetMachineRef *out, kiln_error *err)
{
    kiln_status status = kiln__machine_check(target, err);
    if (status) return status;
    struct machine *list = pthread_getspecific(machines);
    for (struct machine *m = list; m; m = m->next)
        if (m->opt_level == opt_level && strcmp(m->target, target) == 0) return *out = m->machine, KILN_OK;
    struct machine *m = calloc(1, sizeof *m + strlen(target) + 1);
    if (!m) return kiln__no_memory(err, "a target machine");
    status = make(target, opt_level, &m->machine, err);
    if (status) {
        free(m);
        return status;
    }
    m->opt_level = opt_level;
    strcpy(m->target, target);
    m->next = list;
    pthread_setspecific(machines, m);
    *out = m->machine;
    return KILN_OK;
}
