/*
 * plugin.c - the one symbol this library exports, and the notes that say which tool chain it is; see plugin.h.
 */
#include "compiler/internal.h"

#include <llvm/Config/llvm-config.h>

#include "kiln_toolchain.h" /* generated */

extern const struct kiln_plugin kiln_llvm_plugin;
const struct kiln_plugin kiln_llvm_plugin = {
    .version = KILN_PLUGIN_VERSION,
    .runtime_digest = KILN_RUNTIME_DIGEST,
    .prepare = kiln__runtime_prepare,
    .compile = kiln__compile,
};

/* TYPE is a number in text, so that the assembler can read it. */
#define NOTE(type, text)                                                                                               \
    __asm__(".pushsection .note.kiln, \"a\", @note\n"                                                                  \
            ".balign 4\n"                                                                                              \
            ".long 5, 2f - 1f, " type "\n" /* size of the owner's name, of the content */                              \
            ".asciz \"" KILN_PLUGIN_NOTE "\"\n"                                                                        \
            ".balign 4\n"                                                                                              \
            "1: .ascii \"" text "\"\n"                                                                                 \
            "2: .balign 4\n"                                                                                           \
            ".popsection\n")

_Static_assert(sizeof KILN_PLUGIN_NOTE == 5, "size of the owner's name");
_Static_assert(KILN_PLUGIN_HAS_LLVM == 1 && KILN_PLUGIN_IS == 2 && KILN_PLUGIN_HAS_LLVM_ID == 3, "types below");
NOTE("2", KILN_PLUGIN_ID);
#ifdef KILN_STATIC_LLVM
NOTE("1", LLVM_VERSION_STRING);
NOTE("3", KILN_LLVM_ID);
#endif
