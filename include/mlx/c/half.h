/*
 * half.h - 16-bit float types: the compiler's own on Arm, raw bits elsewhere.
 */
#ifndef MLX_C_HALF_H
#define MLX_C_HALF_H

#if defined(__aarch64__)
#include <arm_bf16.h>
#include <arm_fp16.h>
#else
#include <stdint.h>

typedef uint16_t float16_t;
typedef uint16_t bfloat16_t;
#endif

#endif
