/*
 * plugin.c - the one symbol this library exports, and the note that says whether LLVM is inside; see plugin.h.
 */
#include "compiler/internal.h"

#include <llvm/Config/llvm-config.h>

#include "kiln_runtime_digest.h"

extern const struct kiln_plugin kiln_llvm_plugin;
const struct kiln_plugin kiln_llvm_plugin = {
    .version = KILN_PLUGIN_VERSION,
    .runtime_digest = KILN_RUNTIME_DIGEST,
    .prepare = kiln__runtime_prepare,
    .compile = kiln__compile,
};

#ifdef KILN_STATIC_LLVM
__asm__(".pushsection .note.kiln, \"a\", @note\n"
        ".balign 4\n"
        ".long 5, 2f - 1f, 1\n" /* size of the owner's name, of the content; KILN_PLUGIN_HAS_LLVM */
        ".asciz \"" KILN_PLUGIN_NOTE "\"\n"
        ".balign 4\n"
        "1: .ascii \"" LLVM_VERSION_STRING "\"\n"
        "2: .balign 4\n"
        ".popsection\n");
_Static_assert(sizeof KILN_PLUGIN_NOTE == 5 && KILN_PLUGIN_HAS_LLVM == 1, "what the note says");
#endif
