/*
 * lanes.h - threads of a block: who one is, and what it exchanges with others. A block has 256 threads.
 */
#ifndef KILN_CODEGEN_RUNTIME_GPU_LANES_H
#define KILN_CODEGEN_RUNTIME_GPU_LANES_H

#include <stdint.h>

enum { BLOCK = 256, WARP = 32, WARPS = BLOCK / WARP };

/* For loops of a constant number of rounds, which go away. */
#define EACH(i, count) _Pragma("clang loop unroll(full)") for (int i = 0; i < (count); i++)

#ifdef __NVPTX__

static inline uint32_t this_thread(void)
{
    return __nvvm_read_ptx_sreg_tid_x();
}

static inline uint32_t this_block(void)
{
    return __nvvm_read_ptx_sreg_ctaid_x();
}

/* All threads of the block wait for each other. */
static inline void wait_for_block(void)
{
    __syncthreads();
}

/* The value of the lane whose number differs in these bits. */
static inline float swap_lanes(float value, uint32_t bits)
{
    return __nvvm_shfl_sync_bfly_f32(0xffffffffu, value, (int)bits, WARP - 1);
}

#else

/* tests/support/gpu_emulator.c */
uint32_t kiln_emulated_thread(void);
uint32_t kiln_emulated_block(void);
void kiln_emulated_barrier(void);
float kiln_emulated_swap(float value, uint32_t bits);

static inline uint32_t this_thread(void)
{
    return kiln_emulated_thread();
}

static inline uint32_t this_block(void)
{
    return kiln_emulated_block();
}

static inline void wait_for_block(void)
{
    kiln_emulated_barrier();
}

static inline float swap_lanes(float value, uint32_t bits)
{
    return kiln_emulated_swap(value, bits);
}

#endif

/*
 * Some values of a lane, each to be added up over lanes: values[0] to before values[size], from number `first` on. The
 * sizes are constants, the first lane number is not.
 */
struct lane_sums {
    float *values;
    int size;
    uint32_t first;
};

/*
 * Adds what the lane has whose number differs in `bit`. With several values half of them go to the other side, so that
 * no lane adds what another one does too; the sum of a value is the same tree whatever their number is.
 */
static inline void add_other_lane(struct lane_sums *sums, uint32_t bit)
{
    float *values = sums->values;
    if (sums->size == 1) {
        values[0] += swap_lanes(values[0], bit);
        return;
    }
    const int is_upper = (this_thread() & bit) != 0, half = sums->size / 2;
    EACH(i, half)
    {
        float low = values[i], high = values[i + half]; /* read before the choice, which else is one of addresses */
        values[i] = (is_upper ? high : low) + swap_lanes(is_upper ? low : high, bit);
    }
    sums->first += is_upper ? (uint32_t)half : 0;
    sums->size = half;
}

/* Over the lanes whose numbers differ in the bits from 16 down to `last`. `size` is a power of two. */
static inline void sum_lanes(struct lane_sums *sums, uint32_t last)
{
    add_other_lane(sums, 16);
    if (last <= 8) add_other_lane(sums, 8);
    if (last <= 4) add_other_lane(sums, 4);
    if (last <= 2) add_other_lane(sums, 2);
    if (last <= 1) add_other_lane(sums, 1);
}

#endif
