/*
 * series.h - operation series: numbers that follow from their position alone, in float64. It has no inputs; its
 * attributes are a kind and two numbers by their bits. The run layer fills them when they are evaluated.
 */
#ifndef KILN_OPS_SERIES_H
#define KILN_OPS_SERIES_H

#include "graph/node.h"

enum kiln_series_kind {
    KILN_SERIES_STEPS,  /* first + i * step */
    KILN_SERIES_SPACED, /* from first to last, both included, at equal distances */
    KILN_SERIES_BARTLETT,
    KILN_SERIES_BLACKMAN,
    KILN_SERIES_HAMMING,
    KILN_SERIES_HANNING
};

/* `count` of them, as `dtype`. The numbers mean what the kind says; windows have none. */
kiln_status kiln__series(enum kiln_series_kind kind, const double numbers[2], int count, enum kiln_dtype dtype,
                         struct kiln_array **out, kiln_error *err);

#endif
