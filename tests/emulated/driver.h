/*
 * driver.h - NVIDIA's driver, emulated: a libcuda.so.1 for machines without a GPU, so that the host's side of the path
 * to GPUs (places, copies, launches, replays, machine code in artifacts) is tested everywhere.
 *
 * It has exactly the functions of device/cuda.h. Kernels run on the CPU through gpu_emulator.h; what a GPU would do
 * later is queued, in each stream by itself, and runs when somebody waits for it. The GPU's memory can't be touched by
 * the host; fresh memory is garbage. What a driver would refuse is refused here, and said on stderr.
 *
 * For tests, read anew on each call:
 *   KILN_TEST_CUDA_FAIL=launch:3,memory_new:1+   the third launch fails, and every allocation; counted from the moment
 *                                                the variable has this value; names are the fields of struct kiln_cuda
 *   KILN_TEST_CUDA_MEMORY=1000000                bytes there are
 *   KILN_TEST_CUDA_QUEUE=0                       everything runs at once
 *   KILN_TEST_CUDA_NO_EVENTS=1                   no stream waits for another: what a test of events must notice
 * and read once:
 *   KILN_TEST_CUDA_IDLE=1                        launches do nothing, so that only the host's work is measured
 *
 * One lock guards everything: emulated_enter() takes it, emulated_leave() gives it back.
 */
#ifndef KILN_TESTS_EMULATED_DRIVER_H
#define KILN_TESTS_EMULATED_DRIVER_H

#include <stdbool.h>

#include "device/cuda.h"

/* Every function of the table, under the symbol that the table names: what is missing here does not link. */
#define DECLARE_FUNCTION(field, symbol, parameters) int emulated_##field parameters __asm__(symbol);
KILN_CUDA_FUNCTIONS(DECLARE_FUNCTION)
#undef DECLARE_FUNCTION

enum emulated_call {
#define NAME_CALL(field, symbol, parameters) CALL_##field,
    KILN_CUDA_FUNCTIONS(NAME_CALL)
#undef NAME_CALL
        CALL_COUNT
};

/* One row per result: its number at NVIDIA, its name there, what it says. */
#define EMULATED_RESULTS(R)                                                                                            \
    R(SUCCESS, 0, "CUDA_SUCCESS", "no error")                                                                          \
    R(INVALID_VALUE, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                                \
    R(OUT_OF_MEMORY, 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                                   \
    R(INVALID_DEVICE, 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                                      \
    R(INVALID_IMAGE, 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid")                                \
    R(INVALID_CONTEXT, 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                                    \
    R(INVALID_PTX, 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed")                                      \
    R(INVALID_HANDLE, 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                                     \
    R(NOT_FOUND, 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                                \
    R(ILLEGAL_ADDRESS, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")                  \
    R(LAUNCH_FAILED, 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")                                    \
    R(CAPTURE_UNSUPPORTED, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",                                               \
      "operation not permitted when stream is capturing")                                                              \
    R(UNKNOWN, 999, "CUDA_ERROR_UNKNOWN", "unknown error")

enum emulated_result {
#define NAME_RESULT(label, number, name, text) label = number,
    EMULATED_RESULTS(NAME_RESULT)
#undef NAME_RESULT
};

/* ---- driver.c ---------------------------------------------------------------------------------------------------- */

/* Takes the lock. Not 0: the call fails with this, because a test or the state of this thread wants it. */
int emulated_enter(enum emulated_call call);
int emulated_leave(int result);                        /* gives the lock back; returns `result` */
int emulated_refuse(int result, const char *why, ...); /* says why on stderr; returns `result` */
bool emulated_is_idle(void);

/* ---- memory.c, with the lock held ------------------------------------------------------------------------------- */

size_t emulated_memory_total(void);
/* [address, address + size) lies in one allocation. */
bool emulated_memory_has(uint64_t address, size_t size);
/* The host may touch the GPU's memory from here to there: only what runs in the GPU's place does. */
void emulated_memory_open(void);
void emulated_memory_close(void);
/* False: something was written between allocations. */
bool emulated_memory_is_sound(void);

/* ---- code.c ------------------------------------------------------------------------------------------------------ */

struct emulated_function; /* a CUfunction */

/* What is wrong with a launch of it; NULL: nothing. */
const char *emulated_function_check(const struct emulated_function *function, uint32_t grid, uint32_t block,
                                    size_t words);
/* Runs it, with the lock held and memory open. */
int emulated_function_run(const struct emulated_function *function, uint32_t grid, uint32_t block, size_t shared_bytes,
                          const uint64_t *words);

/* ---- stream.c, with the lock held ---------------------------------------------------------------------------------
 */

/* Everything that waits in all streams, or in the default one; the first fault is the result, then and ever after. */
int emulated_run_all(void);
int emulated_run_default_stream(void);
bool emulated_is_capturing(void);

#endif
