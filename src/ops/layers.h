/*
 * layers.h - layers of neural networks as formulas. Computed in float32 at least, and rounded to the result's dtype
 * once.
 *
 * Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference, untouched on failure.
 */
#ifndef KILN_OPS_LAYERS_H
#define KILN_OPS_LAYERS_H

#include "graph/node.h"

/* Over the last axis; weight and bias may be NULL. */
kiln_status kiln__rms_norm(struct kiln_array *x, struct kiln_array *weight, float eps, struct kiln_array **out,
                           kiln_error *err);
kiln_status kiln__layer_norm(struct kiln_array *x, struct kiln_array *weight, struct kiln_array *bias, float eps,
                             struct kiln_array **out, kiln_error *err);

/* alpha * (a @ b) + beta * c */
kiln_status kiln__addmm(struct kiln_array *c, struct kiln_array *a, struct kiln_array *b, float alpha, float beta,
                        struct kiln_array **out, kiln_error *err);

struct kiln_rope {
    int dims;         /* features that are rotated, from the start of the last axis; the others are copied */
    bool traditional; /* a pair is two neighbours; else one feature of each half */
    const float *base;
    float scale;
    struct kiln_array *freqs; /* inverse frequencies, instead of `base` */
};

/* x (..., positions, features). offset: one integer, or one for each entry of x's first axis. */
kiln_status kiln__rope(struct kiln_array *x, struct kiln_rope how, struct kiln_array *offset, struct kiln_array **out,
                       kiln_error *err);

/* attention.c: q (batch, heads, length, features), k and v with as many heads or fewer; all but q, k, v may be NULL. */
struct kiln_attention {
    struct kiln_array *q, *k, *v;
    float scale;
    const char *mask_mode; /* "", "causal" or "array" */
    struct kiln_array *mask, *sinks;
};

kiln_status kiln__attention(const struct kiln_attention *a, struct kiln_array **out, kiln_error *err);
/* The same of single operations, which make all scores. Not in shapeless traces. */
kiln_status kiln__attention_formula(const struct kiln_attention *a, struct kiln_array **out, kiln_error *err);

#endif
