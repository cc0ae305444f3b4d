/*
 * convolution.h - convolutions over one, two or three axes. Same contract as kiln__apply().
 */
#ifndef KILN_OPS_CONVOLUTION_H
#define KILN_OPS_CONVOLUTION_H

#include "graph/node.h"

enum { KILN_CONV_AXES = 3 };

struct kiln_conv {
    int axes; /* 1 to KILN_CONV_AXES; so many of each list count */
    int stride[KILN_CONV_AXES], padding[KILN_CONV_AXES], dilation[KILN_CONV_AXES];
    int groups;
};

/* input (batch, sizes..., channels), weight (outputs, widths..., channels / groups). Error texts begin with "[conv1d] "
 * and so on. */
kiln_status kiln__conv(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv *how,
                       struct kiln_array **out, kiln_error *err);

#endif
