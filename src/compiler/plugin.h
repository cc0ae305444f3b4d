/*
 * plugin.h - the table through which libkiln opens libkiln-llvm.so.
 *
 * The plug-in is the only part that links LLVM. It keeps target machines, as many as compiles ran at once, and no other
 * state. Every call may come from any thread, several at once. Text and bitcode are data: a fault in them is an error.
 */
#ifndef KILN_COMPILER_PLUGIN_H
#define KILN_COMPILER_PLUGIN_H

#include "base/buffer.h"
#include "base/status.h"

enum { KILN_PLUGIN_VERSION = 4 };
#define KILN_PLUGIN_SYMBOL "kiln_llvm_plugin" /* const struct kiln_plugin kiln_llvm_plugin */

/*
 * ELF notes of the plug-in, of this owner, so that it is known without being opened; their contents are text. The ids
 * are digests of what can change code (toolchain.cmake); a plug-in that needs a libLLVM is known together with that
 * one.
 */
#define KILN_PLUGIN_NOTE "Kiln"
enum {
    KILN_PLUGIN_HAS_LLVM = 1,    /* LLVM is inside, and this is its version: "19.1.7" */
    KILN_PLUGIN_IS = 2,          /* the plug-in's own id */
    KILN_PLUGIN_HAS_LLVM_ID = 3, /* which LLVM is inside */
};

struct kiln_plugin_job {
    kiln_bytes text;    /* LLVM IR */
    kiln_bytes runtime; /* bitcode made by prepare() for this target; its helpers are linked in where used */
    const char *target; /* an LLVM CPU name: "x86-64-v3", or "sm_90" */
    unsigned opt_level; /* 0 to 3 */
    bool fast_math;     /* allow contraction and reassociation */
    bool lines;         /* of a CPU's code: instructions have the lines of the text, and frames can be walked */
    /* Told when a phase ends: "target machine", "parse", "helpers", "optimize", "emit". NULL: nobody asks. */
    void (*phase_ended)(const char *phase, void *context);
    void *context;
};

struct kiln_plugin {
    uint32_t version;
    /* Digest of the run-time libraries' source bitcode that is built into the plug-in, as hexadecimal text. */
    const char *runtime_digest;
    /* The run-time library of math helpers, made ready for one target, as bitcode. Deterministic. */
    kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err);
    /*
     * For a CPU an ELF object: position-independent, self-contained, no undefined symbol. For a GPU ("sm_...") PTX, as
     * text without a zero at its end, that defines the entry and needs no function or variable from outside.
     * Deterministic.
     *
     * The entry is @kernel, or in a text without it the only function that the text defines and that is not internal or
     * private; for a GPU a ptx_kernel. It alone stays visible. `entry` gets its name, with a NUL.
     */
    kiln_status (*compile)(const struct kiln_plugin_job *job, struct kiln_buffer *code, struct kiln_buffer *entry,
                           kiln_error *err);
};

#endif
