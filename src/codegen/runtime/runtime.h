/*
 * runtime.h - the math helpers that kernels call: kiln_<op>_<abbreviation of the dtype>.
 *
 * Every helper is plain C without branches, calls or state, so that it vectorises once it is inlined into a kernel's
 * loop. Not so: powers of integers and the remainder in float64, which loop (power.c), and sin, cos and tan in float64,
 * which read a table (trig.c), and what
 * has an angle in float64, powers of complex numbers and their logaddexp. Nothing that rounds otherwise on some
 * processor is used, and multiply-adds are fused only where the source says so (fused.h) and then everywhere, so that a
 * result is the same on every target, CPU or GPU. Errors: 2 ulp or better (logaddexp: 2 ulp of the larger of 1 and the
 * result); infinities, NaN, denormals and signed zeros are right.
 */
#ifndef KILN_CODEGEN_RUNTIME_RUNTIME_H
#define KILN_CODEGEN_RUNTIME_RUNTIME_H

#include <stdint.h>

float kiln_exp_f32(float x);
float kiln_log_f32(float x);
float kiln_erf_f32(float x);
float kiln_sigmoid_f32(float x);
float kiln_tanh_f32(float x);
float kiln_logaddexp_f32(float a, float b);
float kiln_expm1_f32(float x);
float kiln_log1p_f32(float x);
float kiln_log2_f32(float x);
float kiln_log10_f32(float x);
float kiln_sin_f32(float x);
float kiln_cos_f32(float x);
float kiln_tan_f32(float x);
float kiln_arcsin_f32(float x);
float kiln_arccos_f32(float x);
float kiln_arctan_f32(float x);
float kiln_sinh_f32(float x);
float kiln_cosh_f32(float x);
float kiln_arcsinh_f32(float x);
float kiln_arccosh_f32(float x);
float kiln_arctanh_f32(float x);
float kiln_erfinv_f32(float x);
float kiln_degrees_f32(float x);
float kiln_radians_f32(float x);
float kiln_power_f32(float a, float b);
float kiln_remainder_f32(float a, float b);
float kiln_arctan2_f32(float y, float x);
/* exp(x) for x of -86 to 88, where it is a normal number. */
float kiln_exp_near_f32(float x);
/* x / d; `inverse` is 1 / d, rounded. For d of 2^-60 to 2^25, and x of 2^-100 to 2^66 or +0. */
float kiln_quotient_f32(float x, float d, float inverse);

/* For bfloat16 numbers; rounded to bfloat16, the result is that of the float32 helper. */
float kiln_exp_bf16(float x);
float kiln_erf_bf16(float x);
float kiln_sigmoid_bf16(float x);
float kiln_tanh_bf16(float x);

double kiln_exp_f64(double x);
double kiln_log_f64(double x);
double kiln_erf_f64(double x);
double kiln_sigmoid_f64(double x);
double kiln_tanh_f64(double x);
double kiln_logaddexp_f64(double a, double b);
double kiln_expm1_f64(double x);
double kiln_log1p_f64(double x);
double kiln_log2_f64(double x);
double kiln_log10_f64(double x);
double kiln_sin_f64(double x);
double kiln_cos_f64(double x);
double kiln_tan_f64(double x);
double kiln_arcsin_f64(double x);
double kiln_arccos_f64(double x);
double kiln_arctan_f64(double x);
double kiln_sinh_f64(double x);
double kiln_cosh_f64(double x);
double kiln_arcsinh_f64(double x);
double kiln_arccosh_f64(double x);
double kiln_arctanh_f64(double x);
double kiln_erfinv_f64(double x);
double kiln_degrees_f64(double x);
double kiln_radians_f64(double x);
double kiln_power_f64(double a, double b);
double kiln_remainder_f64(double a, double b);
double kiln_arctan2_f64(double y, double x);

/*
 * complex64: a result's bits, the real part in the low half. Each part is within 1 ulp; of a power within 1 ulp of the
 * larger part, of logaddexp of the largest of 1, the operands and the result. Infinities, NaN, zeros and branch cuts
 * are those of C's Annex G.
 */
uint64_t kiln_exp_c64(float re, float im);
uint64_t kiln_expm1_c64(float re, float im);
uint64_t kiln_log_c64(float re, float im);
uint64_t kiln_log1p_c64(float re, float im);
uint64_t kiln_log2_c64(float re, float im);
uint64_t kiln_log10_c64(float re, float im);
uint64_t kiln_sqrt_c64(float re, float im);
uint64_t kiln_rsqrt_c64(float re, float im);
uint64_t kiln_reciprocal_c64(float re, float im);
uint64_t kiln_sigmoid_c64(float re, float im);
uint64_t kiln_sin_c64(float re, float im);
uint64_t kiln_cos_c64(float re, float im);
uint64_t kiln_tan_c64(float re, float im);
uint64_t kiln_sinh_c64(float re, float im);
uint64_t kiln_cosh_c64(float re, float im);
uint64_t kiln_tanh_c64(float re, float im);
uint64_t kiln_arcsin_c64(float re, float im);
uint64_t kiln_arccos_c64(float re, float im);
uint64_t kiln_arctan_c64(float re, float im);
uint64_t kiln_arcsinh_c64(float re, float im);
uint64_t kiln_arccosh_c64(float re, float im);
uint64_t kiln_arctanh_c64(float re, float im);
uint64_t kiln_divide_c64(float ar, float ai, float br, float bi);
uint64_t kiln_power_c64(float ar, float ai, float br, float bi);
uint64_t kiln_logaddexp_c64(float ar, float ai, float br, float bi);

/* Powers of integers modulo 2^bits. A negative exponent gives 1 / x cut to a whole number; 0 for x = 0. */
int8_t kiln_spower_i8(int8_t x, int8_t y);
uint8_t kiln_upower_i8(uint8_t x, uint8_t y);
int16_t kiln_spower_i16(int16_t x, int16_t y);
uint16_t kiln_upower_i16(uint16_t x, uint16_t y);
int32_t kiln_spower_i32(int32_t x, int32_t y);
uint32_t kiln_upower_i32(uint32_t x, uint32_t y);
int64_t kiln_spower_i64(int64_t x, int64_t y);
uint64_t kiln_upower_i64(uint64_t x, uint64_t y);

/* 16-bit floats: widening is exact, narrowing rounds to nearest even and keeps NaN a NaN; rounding does both. */
float kiln_widen_f16(uint16_t bits);
float kiln_widen_bf16(uint16_t bits);
uint16_t kiln_narrow_f16(float value);
uint16_t kiln_narrow_bf16(float value);
float kiln_round_f16(float value);
float kiln_round_bf16(float value);

/*
 * Two 16-bit floats in one register, the first in the low half: GPUs compute with both at once. Narrowing and
 * arithmetic round to nearest even and give some NaN for NaN; settling their results makes it the one that is stored,
 * as kiln_narrow_ does.
 */
uint32_t kiln_pair_join(uint16_t low, uint16_t high);
uint32_t kiln_pair_narrow_f16(float low, float high);
uint32_t kiln_pair_narrow_bf16(float low, float high);
float kiln_pair_low_f16(uint32_t pair);
float kiln_pair_low_bf16(uint32_t pair);
float kiln_pair_high_f16(uint32_t pair);
float kiln_pair_high_bf16(uint32_t pair);
uint32_t kiln_pair_settle_f16(uint32_t pair);
uint32_t kiln_pair_settle_bf16(uint32_t pair);
uint32_t kiln_pair_add_f16(uint32_t a, uint32_t b);
uint32_t kiln_pair_add_bf16(uint32_t a, uint32_t b);
uint32_t kiln_pair_subtract_f16(uint32_t a, uint32_t b);
uint32_t kiln_pair_subtract_bf16(uint32_t a, uint32_t b);
uint32_t kiln_pair_multiply_f16(uint32_t a, uint32_t b);
uint32_t kiln_pair_multiply_bf16(uint32_t a, uint32_t b);

/* An element's bits to an unsigned number in the order of run/ops/sort_keys.h, of the same width. */
uint32_t kiln_order_b1(uint32_t bits);
uint32_t kiln_order_u8(uint32_t bits);
uint32_t kiln_order_u16(uint32_t bits);
uint32_t kiln_order_u32(uint32_t bits);
uint64_t kiln_order_u64(uint64_t bits);
uint32_t kiln_order_i8(uint32_t bits);
uint32_t kiln_order_i16(uint32_t bits);
uint32_t kiln_order_i32(uint32_t bits);
uint64_t kiln_order_i64(uint64_t bits);
uint32_t kiln_order_f16(uint32_t bits);
uint32_t kiln_order_f32(uint32_t bits);
uint64_t kiln_order_f64(uint64_t bits);
uint32_t kiln_order_bf16(uint32_t bits);
uint64_t kiln_order_c64(uint64_t bits);

/* array/threefry.h: two words from a key and a counter of two; the first of each is the low half. */
uint64_t kiln_threefry(uint64_t key, uint64_t counter);

#endif
