/*
 * bits.h - floats as integers of the same bits, and back.
 */
#ifndef KILN_CODEGEN_RUNTIME_BITS_H
#define KILN_CODEGEN_RUNTIME_BITS_H

#include <stdint.h>

static inline uint32_t bits_of_f32(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float f32_of_bits(uint32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of_f64(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64_of_bits(uint64_t bits)
{
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
