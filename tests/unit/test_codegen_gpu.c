/*
 * test_codegen_gpu.c - kernels for GPUs, run by the emulator.
 */
#include <stdio.h>

#include "gpu_support.h"

/* ---- the emulator ---------------------------------------------------------------------------------------------- */

/* out[block * 256 + i] = in[block * 256 + 255 - i] + the sum of i over the lanes of the warp, through the neighbours.
 */
static const char mirror[] =
    "@memory = internal addrspace(3) global [256 x i32] undef, align 16\n"
    "define ptx_kernel void @kernel(ptr addrspace(1) %o, ptr addrspace(1) %p, i64 %less) {\nentry:\n"
    "  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "  %from = mul i32 %block, 256\n  %i = add i32 %from, %thread\n"
    "  %p.at = getelementptr i32, ptr addrspace(1) %p, i32 %i\n  %x = load i32, ptr addrspace(1) %p.at\n"
    "  %m.at = getelementptr i32, ptr addrspace(3) @memory, i32 %thread\n  store i32 %x, ptr addrspace(3) %m.at\n"
    "  %limit = trunc i64 %less to i32\n  %stays = icmp ult i32 %thread, %limit\n"
    "  br i1 %stays, label %wait, label %exit\n\nwait:\n"
    "  call void @llvm.nvvm.barrier0()\n"
    "  %s1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)\n"
    "  %t1 = add i32 %thread, %s1\n"
    "  %s2 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %t1, i32 2, i32 31)\n"
    "  %s3 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %s2, i32 0, i32 31)\n"
    "  %s4 = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 %s3, i32 31, i32 0)\n"
    "  %other = sub i32 255, %thread\n"
    "  %n.at = getelementptr i32, ptr addrspace(3) @memory, i32 %other\n  %y = load i32, ptr addrspace(3) %n.at\n"
    "  %z = add i32 %y, %s4\n"
    "  %o.at = getelementptr i32, ptr addrspace(1) %o, i32 %i\n  store i32 %z, ptr addrspace(1) %o.at\n"
    "  br label %exit\n\nexit:\n  ret void\n}\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "declare void @llvm.nvvm.barrier0()\ndeclare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)\n"
    "!nvvm.annotations = !{!0}\n!0 = !{ptr @kernel, !\"maxntidx\", i32 256}\n";

static void emulator_runs_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 3, COUNT = 3 * 256 };
    static int32_t in[COUNT], out[COUNT];
    struct kiln_buffer text = {0};
    for (int i = 0; i < COUNT; i++) in[i] = i * 1000;
    kiln__buffer_append(&text, mirror, strlen(mirror));
    gpu_emulator_thread kernel = load_gpu_text(&text);
    uint64_t words[3] = {(uint64_t)(uintptr_t)out, (uint64_t)(uintptr_t)in, 256};
    launch_gpu(kernel, BLOCKS, words);
    for (int i = 0; i < COUNT; i++) {
        int thread = i % 256, warp = thread / 32 * 32;
        assert_int_equal(out[i], (i - thread + 255 - thread) * 1000 + (warp + 2) + (warp + 3));
    }
    words[2] = 255; /* one thread leaves, the others wait for it */
    assert_non_null(gpu_emulator_launch(kernel, BLOCKS, KILN_GPU_BLOCK, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emulator_runs_blocks),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
