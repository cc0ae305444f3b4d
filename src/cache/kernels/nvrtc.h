/*
 * nvrtc.h - NVIDIA's run-time compiler behind the compiler interface: CUDA C++ to PTX.
 *
 * libnvrtc is opened when a kernel in source form is first asked for, where the dynamic loader finds it; nothing else
 * needs it. A text begins with the line "// kiln cuda kernel NAME", where NAME is the function with C linkage that
 * becomes the artifact's entry. It can include no files: what is compiled is the text and nothing besides, so a key is
 * complete with the text, the target, the options and the tool chain: NVRTC's version and its library's build id.
 */
#ifndef KILN_CACHE_KERNELS_NVRTC_H
#define KILN_CACHE_KERNELS_NVRTC_H

#include "base/status.h"

#define KILN_NVRTC_FIRST_LINE "// kiln cuda kernel "

/* KILN_NO_COMPILER: there is none, and why. A failure is remembered. From every thread. */
kiln_status kiln__nvrtc(const kiln_compiler **out, kiln_error *err);

#endif
