/*
 * gpu_support.h - for tests of kernels for GPUs: text to a kernel that the emulator runs here.
 */
#ifndef KILN_TESTS_GPU_SUPPORT_H
#define KILN_TESTS_GPU_SUPPORT_H

#include "codegen_support.h"

#include "codegen/gpu/gpu_schedule.h"
#include "support/gpu_emulator.h"

/* Empties `text`. */
static gpu_emulator_thread load_gpu_text_at(struct kiln_buffer *text, unsigned opt_level)
{
    struct kiln_buffer host = {0};
    const char *fault = gpu_emulator_translate((const char *)text->data, &host);
    if (fault) CHECK_FAIL("%s is not understood by the emulator\n%s", fault, (const char *)text->data);
    kiln__buffer_release(text);
    return load_text_at(&host, "x86-64-v2", opt_level);
}
#define load_gpu_text_at(...) CHECK_CALL(load_gpu_text_at, __VA_ARGS__)

static __attribute__((unused)) gpu_emulator_thread load_gpu_text(struct kiln_buffer *text)
{
    return load_gpu_text_at(text, 2);
}
#define load_gpu_text(...) CHECK_CALL(load_gpu_text, __VA_ARGS__)

static __attribute__((unused)) void launch_gpu(gpu_emulator_thread kernel, uint32_t grid, const uint64_t *words)
{
    const char *fault = gpu_emulator_launch(kernel, grid, KILN_GPU_BLOCK, 0, words);
    if (fault) CHECK_FAIL("%s", fault);
}
#define launch_gpu(...) CHECK_CALL(launch_gpu, __VA_ARGS__)

#endif
