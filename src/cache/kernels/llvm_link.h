/*
 * llvm_link.h - link() and unlink() of kiln_compiler_llvm(). Inside the cache layer.
 */
#ifndef KILN_CACHE_KERNELS_LLVM_LINK_H
#define KILN_CACHE_KERNELS_LLVM_LINK_H

#include "kiln.h"

kiln_status kiln__llvm_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                            kiln_error *err);
void kiln__llvm_unlink(void *self, void *executable);

#endif
