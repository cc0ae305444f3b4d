/*
 * plugin.c - the one symbol this library exports; see plugin.h.
 */
#include "compiler/internal.h"

#include "kiln_runtime_digest.h"

extern const struct kiln_plugin kiln_llvm_plugin;
const struct kiln_plugin kiln_llvm_plugin = {
    .version = KILN_PLUGIN_VERSION,
    .runtime_digest = KILN_RUNTIME_DIGEST,
    .prepare = kiln__runtime_prepare,
    .compile = kiln__compile,
};
