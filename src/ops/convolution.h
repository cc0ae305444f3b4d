/*
 * convolution.h - convolutions over one, two or three axes. Same contract as kiln__apply().
 */
#ifndef KILN_OPS_CONVOLUTION_H
#define KILN_OPS_CONVOLUTION_H

#include "graph/node.h"

enum { KILN_CONV_AXES = 3 };

enum kiln_conv_kind { KILN_CONV_PLAIN, KILN_CONV_GENERAL, KILN_CONV_TRANSPOSE, KILN_CONV_KINDS };

/* What is left out is zero, and means what conv1d, conv2d and conv3d mean. */
struct kiln_conv {
    int axes; /* 1 to KILN_CONV_AXES; so many of each list count */
    int stride[KILN_CONV_AXES], padding[KILN_CONV_AXES], dilation[KILN_CONV_AXES];
    int groups;
    enum kiln_conv_kind kind;
    int more_padding[KILN_CONV_AXES]; /* behind the input there is so much more than `padding` */
    int gaps[KILN_CONV_AXES];         /* zeros between two elements of the input */
    bool flip;                        /* windows are read backwards */
};

/*
 * input (batch, sizes..., channels), weight (outputs, widths..., channels / groups). Padding may
 * be negative, which cuts the input. KILN_CONV_TRANSPOSE is what takes the result of a convolution with these numbers
 * back to its input: `stride` spreads the input, `padding` is taken away from the result, and `more_padding` is added
 * to its end. Error texts begin with "[conv1d] " and so on.
 */
kiln_status kiln__conv(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv *how,
                       struct kiln_array **out, kiln_error *err);

/* Lists of one number for each axis, of one number for all, or of none: 1, and 0 for padding. */
struct kiln_conv_lists {
    const int *stride, *padding_low, *padding_high, *kernel_dilation, *input_dilation;
    size_t stride_count, padding_low_count, padding_high_count, kernel_dilation_count, input_dilation_count;
};

kiln_status kiln__conv_general(struct kiln_array *input, struct kiln_array *weight, const struct kiln_conv_lists *lists,
                               int groups, bool flip, struct kiln_array **out, kiln_error *err);

#endif
