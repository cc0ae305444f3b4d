/*
 * machine.c - target machines: making one costs milliseconds, so those that are not in use are kept.
 *
 * A compile takes one out of the list and puts it back; so there are as many as compiles ran at once, none belongs to a
 * thread, and none is freed: a thread may end, and compile, while the process leaves.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "compiler/internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `idle`; fork waits for compiles, which take it */
static struct kiln_machine *idle;

static struct kiln_machine *take_idle(const char *target, unsigned opt_level)
{
    pthread_mutex_lock(&lock);
    struct kiln_machine **link = &idle;
    while (*link && ((*link)->opt_level != opt_level || strcmp((*link)->target, target) != 0)) link = &(*link)->next;
    struct kiln_machine *found = *link;
    if (found) *link = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

void kiln__machine_put(struct kiln_machine *machine)
{
    if (!machine) return;
    pthread_mutex_lock(&lock);
    machine->next = idle;
    idle = machine;
    pthread_mutex_unlock(&lock);
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
                              struct kiln_machine **out, kiln_error *err)
{
    if ((*out = take_idle(target, opt_level))) return KILN_OK;
    struct kiln_machine *made = calloc(1, sizeof *made + strlen(target) + 1);
    if (!made) return kiln__no_memory(err, "a target machine");
    kiln_status status = make(family, target, opt_level, &made->llvm, err);
    if (status) {
        free(made);
        return status;
    }
    made->opt_level = opt_level;
    strcpy(made->target, target);
    *out = made;
    return KILN_OK;
}
