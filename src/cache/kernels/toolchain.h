/*
 * toolchain.h - where the compiler plug-in is, and which one it is, without opening it.
 */
#ifndef KILN_CACHE_KERNELS_TOOLCHAIN_H
#define KILN_CACHE_KERNELS_TOOLCHAIN_H

#include <stddef.h>

#include "base/status.h"

/*
 * KILN_PLUGIN, seen from the folder in which the process was when the library was loaded; else libkiln-llvm.so beside
 * the library this code is in, where that was when it was loaded. Always absolute. KILN_NO_COMPILER when there is no
 * such file.
 */
kiln_status kiln__plugin_path(char *out, size_t size, kiln_error *err);

/*
 * "plugin:<id> llvm:<id>" of what is installed; a file that can't be found gives "none", so that its coming is a new
 * key.
 */
void kiln__toolchain_digest(char *out, size_t size);

/* The same of the plug-in that was built together with this library, and of the LLVM it was linked with. */
const char *kiln__toolchain_built(void);

#endif
