/*
 * attention_attrs.h - the node of attention: queries, keys and values of one float dtype, which are not empty, then a
 * mask and float32 sinks if there are any. Attributes: the bits of the float32 scale, and these flags.
 */
#ifndef KILN_GRAPH_ATTENTION_ATTRS_H
#define KILN_GRAPH_ATTENTION_ATTRS_H

enum {
    KILN_ATTENTION_IS_CAUSAL = 1 << 0,
    KILN_ATTENTION_HAS_MASK = 1 << 1, /* bool or float, broadcast from the right to the scores */
    KILN_ATTENTION_HAS_SINKS = 1 << 2
};

enum { KILN_ATTENTION_GPU_FEATURES = 256 }; /* of a key or a value: the most that kernels of GPUs have lanes for */

#endif
