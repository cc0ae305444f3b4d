/*
 * fft_attrs.h - the attributes of operation fft, one transform along one axis.
 */
#ifndef KILN_GRAPH_FFT_ATTRS_H
#define KILN_GRAPH_FFT_ATTRS_H

#include <stdbool.h>
#include <stdint.h>

/* Attributes of nodes: the numbers must not change. */
enum kiln_fft_kind {
    KILN_FFT_COMPLEX, /* complex64 to complex64 */
    KILN_FFT_REAL,    /* float32 to the first n / 2 + 1 of n terms; the others are their conjugates */
    KILN_FFT_HALF,    /* n / 2 + 1 terms to n numbers of float32 */
    KILN_FFT_KINDS
};

/* Which direction is divided by n; with ortho both are by its root. As mlx_fft_norm. */
enum kiln_fft_norm { KILN_FFT_BACKWARD, KILN_FFT_ORTHO, KILN_FFT_FORWARD, KILN_FFT_NORMS };

enum { KILN_FFT_ATTRS = 5 };

struct kiln_fft_attrs {
    int axis;
    enum kiln_fft_kind kind;
    bool is_inverse;
    enum kiln_fft_norm norm;
    int n; /* of KILN_FFT_HALF the numbers that it makes, else 0 */
};

static inline struct kiln_fft_attrs kiln__fft_attrs(const int64_t attrs[KILN_FFT_ATTRS])
{
    return (struct kiln_fft_attrs){.axis = (int)attrs[0],
                                   .kind = (enum kiln_fft_kind)attrs[1],
                                   .is_inverse = attrs[2],
                                   .norm = (enum kiln_fft_norm)attrs[3],
                                   .n = (int)attrs[4]};
}

#endif
