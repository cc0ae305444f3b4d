/*
 * gpu_call.h - the text of a kernel that is C (codegen/runtime/gpu): a call of a function of the run-time library, with
 * the kernel's params, a block's memory, and constants for all that the kernel depends on. Inside the codegen layer.
 */
#ifndef KILN_CODEGEN_GPU_GPU_CALL_H
#define KILN_CODEGEN_GPU_GPU_CALL_H

#include "array/dtype.h"
#include "codegen/print_ir.h"

struct kiln_gpu_function {
    const char *what, *name; /* for people; of the C function */
    uint32_t pointers;       /* params: first pointers, then words of 64 bits; between them the C function takes */
    uint32_t words;
    uint32_t shared; /* floats that the threads of a block share */
    const int *constants;
    size_t constant_count;
    uint32_t blocks; /* resident blocks per multiprocessor, which bounds the registers; 0: no bound */
};

/* The whole text, with a name (kernel_name.h) made of `operation` and `dtype`. */
void kiln__gpu_print_call(struct kiln_ir *ir, const struct kiln_gpu_function *function, const char *operation,
                          enum kiln_dtype dtype);

#endif
