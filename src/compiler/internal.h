/*
 * internal.h - what the files of the plug-in share. Not seen outside this room.
 */
#ifndef KILN_COMPILER_INTERNAL_H
#define KILN_COMPILER_INTERNAL_H

#include <setjmp.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "compiler/plugin.h"

/* runtime.c: the run-time library that is built in. */
kiln_bytes kiln__runtime_bitcode(void);
kiln_status kiln__runtime_prepare(const char *target, struct kiln_buffer *bitcode, kiln_error *err);

/* machine.c: this thread's target machine, kept until the thread ends. KILN_INVALID: LLVM 19 has no such CPU. */
kiln_status kiln__machine_check(const char *target, kiln_error *err);
kiln_status kiln__machine_get(const char *target, unsigned opt_level, LLVMTargetMachineRef *out, kiln_error *err);
void kiln__machine_forget(void); /* of this thread, without freeing them: LLVM failed while using them */

/*
 * session.c: one context, and every way in which LLVM can complain while it is used. A fatal error of LLVM jumps back
 * to the kiln__session_guard() of the thread; what LLVM had allocated is then lost, but the process lives.
 */
struct kiln_session {
    LLVMContextRef context;
    char diagnostic[512]; /* the first error LLVM reported; empty: none */
    jmp_buf escape;
};
kiln_status kiln__session_open(struct kiln_session *session, kiln_error *err);
void kiln__session_close(struct kiln_session *session);
/* Runs work(data) with the guard set. KILN_COMPILE_FAILED with LLVM's text after a fatal error. */
kiln_status kiln__session_guard(struct kiln_session *session, kiln_status (*work)(void *data, kiln_error *err),
                                void *data, kiln_error *err);
/* KILN_COMPILE_FAILED with `what`, LLVM's `message` (freed; may be NULL) and the diagnostic. */
kiln_status kiln__session_fail(struct kiln_session *session, const char *what, char *message, kiln_error *err);

/* object.c: refuses an object that needs something from outside, and names it. */
kiln_status kiln__object_check(const void *data, size_t size, const char *entry, kiln_error *err);

/* attributes.c: what every function of a kernel carries. */
void kiln__attributes_set(LLVMContextRef context, LLVMValueRef function, const char *target);
void kiln__attribute_add(LLVMContextRef context, LLVMValueRef function, const char *name);

/* compile.c */
kiln_status kiln__compile(const struct kiln_plugin_job *job, struct kiln_buffer *object, kiln_error *err);

#endif
