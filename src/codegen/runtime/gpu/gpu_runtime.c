/*
 * gpu_runtime.c - kernels of GPUs that are C as one unit: products, attention, and what moves or orders elements. The
 * texts of codegen/gpu call them with constants for what a kernel depends on; inlined there, only what these choose is
 * left, and their short loops are unrolled. So this unit is made into bitcode without any pass.
 *
 * The tests' emulated GPU runs the same C on a CPU, where lanes.h calls the emulator.
 */
#include "codegen/runtime/runtime.h"

/* In this order: later files use what earlier ones define. */
/* clang-format off */
#include "codegen/runtime/gpu/attention_kernels.c"
#include "codegen/runtime/gpu/product_kernels.c"
#include "codegen/runtime/gpu/scan_kernels.c"
#include "codegen/runtime/gpu/scatter_kernels.c"
#include "codegen/runtime/gpu/series_kernels.c"
#include "codegen/runtime/gpu/sort_kernels.c"
/* clang-format on */
