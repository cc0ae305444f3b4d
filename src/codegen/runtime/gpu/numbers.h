/*
 * numbers.h - elements of every dtype in a word of 64 bits, in the type that arithmetic has: integers extended to 64
 * bits, 16-bit floats as float32, bool as 0 or 1. A dtype and an operation are constants of the kernel.
 *
 * The bits are those of the CPU (run/ops/cumulative.c, merge.c): integers wrap when they are stored, NaN wins over
 * numbers in maxima and minima, and every NaN is stored as one.
 */
#ifndef KILN_CODEGEN_RUNTIME_GPU_NUMBERS_H
#define KILN_CODEGEN_RUNTIME_GPU_NUMBERS_H

#include "array/dtype.h"
#include "codegen/runtime/bits.h"
#include "codegen/runtime/complex_number.h"
#include "codegen/runtime/gpu/lanes.h"
#include "codegen/runtime/runtime.h"

/* As in graph/ops.h, enum kiln_merge_mode. */
enum { STEP_SET, STEP_ADD, STEP_MULTIPLY, STEP_LARGER, STEP_SMALLER };

static inline int bytes_of_dtype(int dtype)
{
    switch (dtype) {
    case KILN_BOOL:
    case KILN_UINT8:
    case KILN_INT8:
        return 1;
    case KILN_UINT16:
    case KILN_INT16:
    case KILN_FLOAT16:
    case KILN_BFLOAT16:
        return 2;
    case KILN_UINT32:
    case KILN_INT32:
    case KILN_FLOAT32:
        return 4;
    default:
        return 8;
    }
}

static inline uint64_t element_bits(const char *from, int bytes)
{
    return bytes == 1   ? *(const uint8_t *)from
           : bytes == 2 ? *(const uint16_t *)from
           : bytes == 4 ? *(const uint32_t *)from
                        : *(const uint64_t *)from;
}

static inline uint64_t load_number(const char *from, int dtype)
{
    switch (dtype) {
    case KILN_INT8:
        return (uint64_t)(int64_t)*(const int8_t *)from;
    case KILN_INT16:
        return (uint64_t)(int64_t)*(const int16_t *)from;
    case KILN_INT32:
        return (uint64_t)(int64_t)*(const int32_t *)from;
    case KILN_FLOAT16:
        return bits_of_f32(kiln_widen_f16(*(const uint16_t *)from));
    case KILN_BFLOAT16:
        return bits_of_f32(kiln_widen_bf16(*(const uint16_t *)from));
    default:
        break;
    }
    return element_bits(from, bytes_of_dtype(dtype));
}

static inline float settled_float(uint64_t number)
{
    float value = f32_of_bits((uint32_t)number);
    return value == value ? value : f32_of_bits(0x7fc00000u);
}

static inline struct complex_number complex_of(uint64_t number)
{
    return (struct complex_number){f32_of_bits((uint32_t)number), f32_of_bits((uint32_t)(number >> 32))};
}

static inline uint64_t number_of_complex(struct complex_number value)
{
    return bits_of_f32(value.real) | (uint64_t)bits_of_f32(value.imaginary) << 32;
}

static inline void store_bits(char *to, uint64_t bits, int bytes)
{
    if (bytes == 1)
        *(uint8_t *)to = (uint8_t)bits;
    else if (bytes == 2)
        *(uint16_t *)to = (uint16_t)bits;
    else if (bytes == 4)
        *(uint32_t *)to = (uint32_t)bits;
    else
        *(uint64_t *)to = bits;
}

static inline void store_number(char *to, uint64_t number, int dtype)
{
    double wide = f64_of_bits(number);
    if (dtype == KILN_FLOAT16) number = kiln_narrow_f16(settled_float(number));
    if (dtype == KILN_BFLOAT16) number = kiln_narrow_bf16(settled_float(number));
    if (dtype == KILN_FLOAT32) number = bits_of_f32(settled_float(number));
    if (dtype == KILN_FLOAT64 && wide != wide) number = UINT64_C(0x7ff8000000000000);
    if (dtype == KILN_COMPLEX64) number = number_of_complex(complex_settled(complex_of(number)));
    store_bits(to, number, bytes_of_dtype(dtype));
}

/* As it is once stored: only 16-bit floats have lost something then that the next step would see. */
static inline uint64_t stored_number(uint64_t number, int dtype)
{
    if (dtype == KILN_FLOAT16) return bits_of_f32(kiln_round_f16(f32_of_bits((uint32_t)number)));
    if (dtype == KILN_BFLOAT16) return bits_of_f32(kiln_round_bf16(f32_of_bits((uint32_t)number)));
    return number;
}

#define LARGER_OF(a, b)  ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER_OF(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define STEP_OF(a, b, step)                                                                                            \
    ((step) == STEP_ADD        ? (a) + (b)                                                                             \
     : (step) == STEP_MULTIPLY ? (a) * (b)                                                                             \
     : (step) == STEP_LARGER   ? LARGER_OF(a, b)                                                                       \
                               : SMALLER_OF(a, b))

static inline uint64_t step_complex(struct complex_number a, struct complex_number b, int step)
{
    return number_of_complex(step == STEP_ADD        ? complex_plus(a, b)
                             : step == STEP_MULTIPLY ? complex_times(a, b)
                             : step == STEP_LARGER   ? complex_larger(a, b)
                                                     : complex_smaller(a, b));
}

/* Two numbers, in this order. */
static inline uint64_t step_numbers(uint64_t a, uint64_t b, int step, int dtype)
{
    const int is_order = step == STEP_LARGER || step == STEP_SMALLER;
    if (step == STEP_SET) return b;
    if (dtype == KILN_BOOL) return step == STEP_ADD || step == STEP_LARGER ? a | b : a & b;
    if (dtype == KILN_FLOAT64) return bits_of_f64(STEP_OF(f64_of_bits(a), f64_of_bits(b), step));
    if (dtype == KILN_COMPLEX64) return step_complex(complex_of(a), complex_of(b), step);
    if (dtype == KILN_FLOAT32 || dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16)
        return bits_of_f32(STEP_OF(f32_of_bits((uint32_t)a), f32_of_bits((uint32_t)b), step));
    if (is_order && dtype >= KILN_INT8 && dtype <= KILN_INT64) return (uint64_t)STEP_OF((int64_t)a, (int64_t)b, step);
    return STEP_OF(a, b, step);
}

/* Thread t of the grid. */
static inline int64_t grid_thread(void)
{
    return (int64_t)this_block() * BLOCK + this_thread();
}

/* For numbers of 31 bits, where `is_long` is not set. */
static inline int64_t quotient_of(int64_t a, int64_t b, int is_long)
{
    return is_long ? a / b : (int64_t)((uint32_t)a / (uint32_t)b);
}

#endif
