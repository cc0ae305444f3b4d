/*
 * machine.c - target machines: making one costs milliseconds, so each thread keeps those it used.
 * A thread's machines are freed when it ends; those of the main thread stay until the process does, because other exit
 * handlers may still compile.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "compiler/internal.h"

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
    pthread_key_create(&machines, free_machines);
}

void kiln__machine_forget(void)
{
    pthread_once(&once, start);
    struct machine *list = pthread_getspecific(machines);
    pthread_setspecific(machines, NULL);
    for (struct machine *m = list, *next; m; m = next) {
        next = m->next;
        free(m); /* what LLVM made is in an unknown state: lost, not freed */
    }
}

static kiln_status make(const struct kiln_family *family, const char *target, unsigned opt_level,
                        LLVMTargetMachineRef *out, kiln_error *err)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    LLVMTargetRef found = NULL;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(family->triple, &found, &message)) {
        kiln__fail(err, KILN_COMPILE_FAILED, "LLVM has no code generator for %s: %s", family->triple, message);
        LLVMDisposeMessage(message);
        return KILN_COMPILE_FAILED;
    }
    *out = LLVMCreateTargetMachine(found, family->triple, target, family->features,
                                   levels[opt_level > 3 ? 3 : opt_level], LLVMRelocPIC, LLVMCodeModelSmall);
    if (!*out) return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM cannot make a code generator for %s", target);
    return KILN_OK;
}

kiln_status kiln__machine_get(const struct kiln_family *family, const char *target, unsigned opt_level,
                              LLVMTargetMachineRef *out, kiln_error *err)
{
    pthread_once(&once, start);
    struct machine *list = pthread_getspecific(machines);
    for (struct machine *m = list; m; m = m->next)
        if (m->opt_level == opt_level && strcmp(m->target, target) == 0) return *out = m->machine, KILN_OK;
    struct machine *m = calloc(1, sizeof *m + strlen(target) + 1);
    if (!m) return kiln__no_memory(err, "a target machine");
    kiln_status status = make(family, target, opt_level, &m->machine, err);
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
