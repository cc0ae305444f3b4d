/*
 * fft.h - Fourier transforms, and what is used beside them.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure. Axes may be
 * negative. Error texts begin with "[name] ". Whatever comes in, transforms are of complex64 or float32.
 */
#ifndef KILN_OPS_FFT_FFT_H
#define KILN_OPS_FFT_FFT_H

#include "graph/fft_attrs.h"
#include "ops/compose.h"

struct kiln_fft {
    enum kiln_fft_kind kind; /* KILN_FFT_REAL is rfftn, KILN_FFT_HALF irfftn: along the last of the axes */
    bool is_inverse;
    int norm; /* enum kiln_fft_norm, from outside */
};

/* n[i] elements along axes[i], to which the array is cut or padded with zeros; of KILN_FFT_HALF the last n are those of
 * the result. No axes: the array itself. */
kiln_status kiln__fftn(struct kiln_fft how, struct kiln_array *a, const int *n, size_t n_count, const int *axes,
                       size_t axis_count, struct kiln_array **out, kiln_error *err);

/* Term 0 to the middle of these axes, or back. */
kiln_status kiln__fftshift(struct kiln_array *a, const int *axes, size_t count, bool is_inverse,
                           struct kiln_array **out, kiln_error *err);

/* The frequencies of the terms of n samples that are d apart: all, or those of KILN_FFT_REAL. float32. */
kiln_status kiln__fftfreq(int n, double d, bool is_real, struct kiln_array **out, kiln_error *err);

#endif
