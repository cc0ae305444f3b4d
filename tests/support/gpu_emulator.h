/*
 * gpu_emulator.h - runs kernels for GPUs on this machine, so that their results can be compared without a GPU.
 *
 * A kernel's text is translated into text for the CPU with the interface of group.h, and compiled and loaded as any
 * other kernel is. A call of that kernel is one thread of a launch; gpu_emulator_launch() makes all of them: blocks in
 * turn, the threads of a block as fibers, so that barriers, shuffles and shared memory work as they do on a GPU.
 * One launch at a time.
 */
#ifndef KILN_TESTS_GPU_EMULATOR_H
#define KILN_TESTS_GPU_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

typedef void (*gpu_emulator_thread)(const uint64_t *words, const int64_t *unused, int64_t, int64_t);

/* The name of the kernel that the text defines, which has *length characters; NULL: it defines none. */
const char *gpu_emulator_entry(const char *text, size_t *length);

/*
 * Appends the text for the CPU; its entry is @kernel. Returns NULL, or what stands in the way. Shared memory has a
 * place in the emulator, the same for all kernels; one variable may have as much as the launch gives. Understood:
 * threads' and blocks' numbers, barrier0, bar.warp.sync, shfl.sync of i32 and f32, and nanosleep, which does nothing.
 */
const char *gpu_emulator_translate(const char *text, struct kiln_buffer *out);

/*
 * Runs `grid` blocks of `block` threads, with `shared_bytes` of shared memory that the launch gives; `words` are the
 * kernel's parameters. Returns NULL, or what a GPU would have hung or gone wrong at: threads that wait for one that is
 * gone or waits elsewhere, or that write behind that memory.
 */
const char *gpu_emulator_launch(gpu_emulator_thread kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
                                const uint64_t *words);

/* The threads of this text wait for each other. Those of others need no fibers, and are launched faster. */
bool gpu_emulator_waits(const char *text);
const char *gpu_emulator_launch_apart(gpu_emulator_thread kernel, uint32_t grid, uint32_t block, const uint64_t *words);

#endif
