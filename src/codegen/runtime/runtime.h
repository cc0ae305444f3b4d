/*
 * runtime.h - the math helpers that kernels call: kiln_<op>_<abbreviation of the dtype>.
 *
 * Every helper is plain C without branches, calls, tables or state, so that it vectorises once it is inlined into a
 * kernel's loop. No fused multiply-add is used, so that a result is the same on every target. Errors: 2 ulp or better
 * (logaddexp: 2 ulp of the larger of 1 and the result); infinities, NaN, denormals and signed zeros are right.
 */
#ifndef KILN_CODEGEN_RUNTIME_H
#define KILN_CODEGEN_RUNTIME_H

#include <stdint.h>

float kiln_exp_f32(float x);
float kiln_log_f32(float x);
float kiln_erf_f32(float x);
float kiln_sigmoid_f32(float x);
float kiln_tanh_f32(float x);
float kiln_logaddexp_f32(float a, float b);

double kiln_exp_f64(double x);
double kiln_log_f64(double x);
double kiln_erf_f64(double x);
double kiln_sigmoid_f64(double x);
double kiln_tanh_f64(double x);
double kiln_logaddexp_f64(double a, double b);

/* 16-bit floats: widening is exact, narrowing rounds to nearest even and keeps NaN a NaN. */
float kiln_widen_f16(uint16_t bits);
float kiln_widen_bf16(uint16_t bits);
uint16_t kiln_narrow_f16(float value);
uint16_t kiln_narrow_bf16(float value);

#endif
