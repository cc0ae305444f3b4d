/*
 * gpu_call.c - see gpu_call.h.
 */
#include "codegen/gpu/gpu_call.h"

#include "codegen/gpu/gpu_schedule.h"
#include "codegen/kernel_name.h"

static void print_head(struct kiln_ir *ir, const struct kiln_gpu_function *function)
{
    kiln__print(ir, "; kiln gpu kernel, $0\n@shared = internal addrspace(3) global [$1 x float] undef, align 16\n\n",
                function->what, function->shared);
    kiln__print(ir, "declare void @$0(", function->name);
    for (uint32_t i = 0; i <= function->pointers; i++) kiln__print(ir, "$0ptr", i ? ", " : "");
    for (uint32_t i = 0; i < function->words; i++) kiln__print(ir, ", i64");
    for (size_t i = 0; i < function->constant_count; i++) kiln__print(ir, ", i32");
    kiln__print(ir, ")\n\ndefine ptx_kernel void $@(");
    for (uint32_t i = 0; i < function->pointers; i++)
        kiln__print(ir, "$0ptr addrspace(1) %p$1.global", i ? ", " : "", i);
    for (uint32_t i = 0; i < function->words; i++) kiln__print(ir, ", i64 %k$0", i);
    kiln__print(ir, ") {\n");
}

static void print_body(struct kiln_ir *ir, const struct kiln_gpu_function *function)
{
    for (uint32_t i = 0; i < function->pointers; i++)
        kiln__print(ir, "  %p$0 = addrspacecast ptr addrspace(1) %p$0.global to ptr\n", i);
    kiln__print(ir, "  %own = addrspacecast ptr addrspace(3) @shared to ptr\n  call void @$0(", function->name);
    for (uint32_t i = 0; i < function->pointers; i++) kiln__print(ir, "$0ptr %p$1", i ? ", " : "", i);
    kiln__print(ir, ", ptr %own");
    for (uint32_t i = 0; i < function->words; i++) kiln__print(ir, ", i64 %k$0", i);
    for (size_t i = 0; i < function->constant_count; i++) kiln__print(ir, ", i32 $0", function->constants[i]);
    kiln__print(ir, ")\n  ret void\n}\n");
}

void kiln__gpu_print_call(struct kiln_ir *ir, const struct kiln_gpu_function *function, const char *operation,
                          enum kiln_dtype dtype)
{
    print_head(ir, function);
    print_body(ir, function);
    kiln__print(ir, "\n!nvvm.annotations = !{!0}\n!0 = !{ptr $@, !\"maxntidx\", i32 $0", KILN_GPU_BLOCK);
    if (function->blocks) kiln__print(ir, ", !\"minctasm\", i32 $0", function->blocks);
    kiln__print(ir, "}\n");
    kiln__print_operation_name(ir, operation, dtype);
}
