/*
 * quantize.h - weights as codes of a few bits: rows are cut into groups, each with a scale of its own.
 *
 *     mode     group size    bits             scales           a code stands for
 *     affine   32 64* 128    2 3 4* 5 6 8     as the weights   code * scale + bias
 *     mxfp4    32            4                uint8, e8m0      e2m1 * scale
 *     mxfp8    32            8                uint8, e8m0      e4m3 * scale
 *     nvfp4    16            4                uint8, e4m3      e2m1 * scale [* global / (448 * 6)]
 *
 * The codes of a row are one stream of bits from the low end of its first uint32 on; with 3, 5 and 6 bits, codes run
 * from one word into the next. Same contract as kiln__apply(): inputs borrowed, *out is the caller's reference,
 * untouched on failure. `name` is the caller's, for error texts, which begin with "[name] ".
 */
#ifndef KILN_OPS_QUANTIZE_H
#define KILN_OPS_QUANTIZE_H

#include "graph/node.h"

/* Recorded as numbers (graph/deferred.h): the values must not change. */
enum kiln_quantize_mode { KILN_AFFINE, KILN_MXFP4, KILN_MXFP8, KILN_NVFP4, KILN_QUANTIZE_MODES };

struct kiln_quantization {
    enum kiln_quantize_mode mode;
    int group_size, bits;
};

/* What a matrix was quantized to. */
struct kiln_quantized {
    struct kiln_array *w, *scales;
    struct kiln_array *biases;       /* affine only, else NULL */
    struct kiln_array *global_scale; /* nvfp4 only; may be NULL: one float32, the largest magnitude of all weights */
};

/* The mode by its name; NULL for a size takes the mode's own. */
kiln_status kiln__quantization(const char *name, const char *mode, const int *group_size, const int *bits,
                               struct kiln_quantization *out, kiln_error *err);

/* What a record has of it: three numbers. */
struct kiln_record;
struct kiln_quantization kiln__recorded_quantization(struct kiln_record *record);

/* Do dtypes and shapes of `q` fit each other? */
kiln_status kiln__check_quantized(const char *name, const struct kiln_quantized *q, const struct kiln_quantization *how,
                                  kiln_error *err);

/* out[] = codes, scales and, with affine, biases; out[2] is left alone in the other modes. Float32 arithmetic. */
kiln_status kiln__quantize(const char *name, struct kiln_array *w, struct kiln_array *global_scale,
                           struct kiln_quantization how, struct kiln_array *out[3], kiln_error *err);
/* As `dtype`; KILN_DTYPE_COUNT means that of scales and biases together, and bfloat16 in the other modes. */
kiln_status kiln__dequantize(const char *name, const struct kiln_quantized *q, struct kiln_quantization how,
                             enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);

/* e4m3: floats to uint8, and back. */
kiln_status kiln__to_fp8(struct kiln_array *a, struct kiln_array **out, kiln_error *err);
kiln_status kiln__from_fp8(struct kiln_array *a, enum kiln_dtype dtype, struct kiln_array **out, kiln_error *err);

#endif
