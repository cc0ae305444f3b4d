/*
 * internal.h - what the files of the plug-in share. Not seen outside this layer.
 */
#ifndef KILN_COMPILER_INTERNAL_H
#define KILN_COMPILER_INTERNAL_H

#include <setjmp.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "compiler/plugin.h"

/*
 * family.c: the kinds of targets. A target is one of the names in `targets`; what differs between the kinds stands
 * here and nowhere else.
 */
struct kiln_family {
    const char *name; /* for messages */
    const char *triple, *features;
    const char *const *targets; /* CPU names of LLVM 19, then NULL */
    LLVMCodeGenFileType output;
    bool inlines_all;            /* every function of the text goes into the entry: a call is expensive there */
    const char *pipelines[2];    /* LLVM's passes, without and with optimisation */
    kiln_bytes (*runtime)(void); /* the run-time library as it is built in */
    /* Refuses output that has no such entry, or that needs something from outside, and names it. */
    kiln_status (*check)(const void *data, size_t size, const char *entry, kiln_error *err);
};
/* KILN_INVALID: no family has such a target. Also starts LLVM's code generators. */
kiln_status kiln__family_get(const char *target, const struct kiln_family **out, kiln_error *err);

/* runtime_library.c: the run-time libraries that are built in. */
kiln_bytes kiln__runtime_x86(void);
kiln_bytes kiln__runtime_x86_fused(void);
kiln_bytes kiln__runtime_nvptx(void);
kiln_bytes kiln__runtime_nvptx_bf16(void);
kiln_status kiln__runtime_prepare(const char *target, struct kiln_buffer *bitcode, kiln_error *err);

/* machine.c: a target machine, nobody else's until it is put back. One that LLVM failed with is not put back. */
struct kiln_machine {
    struct kiln_machine *next;
    LLVMTargetMachineRef llvm;
    unsigned opt_level;
    char target[];
};
kiln_status kiln__machine_get(const struct kiln_family *family, const char *target, unsigned opt_level,
                              struct kiln_machine **out, kiln_error *err);
void kiln__machine_put(struct kiln_machine *machine); /* NULL is fine */

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

/* object.c and ptx.c: the checks of the families. */
kiln_status kiln__object_check(const void *data, size_t size, const char *entry, kiln_error *err);
kiln_status kiln__ptx_check(const void *data, size_t size, const char *entry, kiln_error *err);

/* attributes.c: what every function of a kernel carries. */
void kiln__attributes_set(LLVMContextRef context, LLVMValueRef function, const char *target);
void kiln__attribute_add(LLVMContextRef context, LLVMValueRef function, const char *name);
void kiln__attribute_add_text(LLVMContextRef context, LLVMValueRef function, const char *name, const char *value);

/* lines.c: instructions get the lines of `text` that they stand on; frames are kept by all functions that have a body.
 */
void kiln__lines_set(LLVMModuleRef module, kiln_bytes text, const char *name);

/* compile.c */
kiln_status kiln__compile(const struct kiln_plugin_job *job, struct kiln_buffer *code, struct kiln_buffer *entry,
                          kiln_error *err);

#endif
