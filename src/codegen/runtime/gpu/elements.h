/*
 * elements.h - floats of 16 or 32 bits in registers, a word of 32 bits at a time, and codes of a few bits
 * (ops/quantize.h has their formats). What is called a type or a mode is a constant of the kernel.
 */
#ifndef KILN_CODEGEN_RUNTIME_GPU_ELEMENTS_H
#define KILN_CODEGEN_RUNTIME_GPU_ELEMENTS_H

#include "codegen/runtime/bits.h"
#include "codegen/runtime/fused.h"
#include "codegen/runtime/gpu/lanes.h"
#include "codegen/runtime/runtime.h"

/* As in codegen/gpu/gpu_product.c. */
enum { TYPE_F32, TYPE_F16, TYPE_BF16 };
enum { CODES_NONE, CODES_AFFINE, CODES_MXFP4, CODES_MXFP8, CODES_NVFP4 };

typedef uint32_t words2 __attribute__((vector_size(8)));
typedef uint32_t words4 __attribute__((vector_size(16)));

static inline int type_bytes(int type)
{
    return type == TYPE_F32 ? 4 : 2;
}

/* `count` words; `wide`: they are aligned to the widest access that divides them, of 16 bytes at most. */
static inline void load_words(uint32_t *words, const char *from, int count, int wide)
{
    if (wide && count % 4 == 0) {
        EACH(i, count / 4)
        {
            words4 four = *(const words4 *)(from + 16 * i);
            EACH(part, 4) words[4 * i + part] = four[part];
        }
    } else if (wide && count % 2 == 0) {
        EACH(i, count / 2)
        {
            words2 two = *(const words2 *)(from + 8 * i);
            words[2 * i] = two[0], words[2 * i + 1] = two[1];
        }
    } else {
        EACH(i, count) words[i] = *(const uint32_t *)(from + 4 * i);
    }
}

/* 8 elements, of which the first `left` are there and the others are 0; with `wide` all of them, aligned to 16 bytes.
 */
static inline void load_eight(uint32_t *words, const char *from, int type, int64_t left, int wide)
{
    if (wide) {
        load_words(words, from, 2 * type_bytes(type), 1);
    } else if (type == TYPE_F32) {
        EACH(i, 8) words[i] = i < left ? *(const uint32_t *)(from + 4 * i) : 0;
    } else {
        EACH(i, 4)
        {
            uint32_t low = 2 * i < left ? *(const uint16_t *)(from + 4 * i) : 0;
            uint32_t high = 2 * i + 1 < left ? *(const uint16_t *)(from + 4 * i + 2) : 0;
            words[i] = low | high << 16;
        }
    }
}

static inline float element_of(const uint32_t *words, int i, int type)
{
    if (type == TYPE_F32) return f32_of_bits(words[i]);
    if (type == TYPE_BF16) return f32_of_bits(i % 2 ? words[i / 2] & 0xffff0000u : words[i / 2] << 16);
    return kiln_widen_f16((uint16_t)(i % 2 ? words[i / 2] >> 16 : words[i / 2]));
}

static inline float load_element(const char *from, int type)
{
    if (type == TYPE_F32) return *(const float *)from;
    return type == TYPE_BF16 ? kiln_widen_bf16(*(const uint16_t *)from) : kiln_widen_f16(*(const uint16_t *)from);
}

/* A NaN is the one that all kernels store. */
static inline void store_element(char *to, float value, int type)
{
    if (type == TYPE_F32)
        *(float *)to = value == value ? value : f32_of_bits(0x7fc00000u);
    else
        *(uint16_t *)to = type == TYPE_BF16 ? kiln_narrow_bf16(value) : kiln_narrow_f16(value);
}

/* ---- codes --------------------------------------------------------------------------------------------------------
 */

/* Code i of a row of them, which begins at a word. */
static inline uint32_t code_of(const uint32_t *words, int i, int bits)
{
    const int at = i * bits / 32, shift = i * bits % 32;
    uint32_t code = words[at] >> shift;
    if (shift + bits > 32) code |= words[at + 1] << (32 - shift);
    return code & ((1u << bits) - 1);
}

/* A code with a sign and `magnitude` bits below it, as a float whose exponent has the same digits; exact. */
static inline float small_float(uint32_t code, int magnitude, int mantissa, float unit)
{
    const uint32_t sizes = (1u << magnitude) - 1;
    uint32_t size = code & sizes, sign = code >> magnitude;
    float value = f32_of_bits(size << (23 - mantissa) | sign << 31) * unit;
    return magnitude == 7 && size == sizes ? f32_of_bits(0x7fc00000u) : value;
}

static inline float e4m3_of(uint32_t code)
{
    return small_float(code, 7, 3, 0x1p120f);
}

/* The number that a code stands for before its group's scale. 2^23 plus a whole number has it in its last bits. */
static inline float code_value(uint32_t code, int mode)
{
    if (mode == CODES_AFFINE) return f32_of_bits(0x4b000000u | code) - 0x1p23f;
    return mode == CODES_MXFP8 ? e4m3_of(code) : small_float(code, 3, 1, 0x1p126f);
}

/*
 * Code i where it stands in its word, as the bits of a float: below the exponents it is a number already, 2^(place -
 * 149) times the code. Bits too high for that are those of the upper half of the word, moved down once for all its
 * codes.
 */
static inline int field_place(int i, int bits)
{
    const int shift = i * bits % 32;
    return shift + bits > 32 ? 0 : shift + bits > 23 ? shift - 16 : shift;
}

static inline float field_of(const uint32_t *words, int i, int bits)
{
    const int at = i * bits / 32, shift = i * bits % 32;
    if (shift + bits > 32) return f32_of_bits(code_of(words, i, bits));
    const uint32_t word = shift + bits > 23 ? words[at] >> 16 : words[at];
    return f32_of_bits(word & ((1u << bits) - 1) << field_place(i, bits));
}

/* 2^(code - 127): the exponent of a float32, but for the first, which is a denormal one. */
static inline float e8m0_of(uint32_t code)
{
    return f32_of_bits(code ? code << 23 : 0x400000u);
}

/* The scale of group `group`. `factor` belongs to nvfp4. */
static inline float load_scale(const char *scales, int64_t group, int mode, int type, float factor)
{
    if (mode == CODES_AFFINE) return load_element(scales + group * type_bytes(type), type);
    uint32_t code = *(const uint8_t *)(scales + group);
    return mode == CODES_NVFP4 ? e4m3_of(code) * factor : e8m0_of(code);
}

#endif
