/*
 * attention_kernel.h - the kernels of scaled dot product attention on CPUs: an online softmax over blocks of keys, for
 * a few rows that share keys and values. Scores never lie in memory as a whole.
 *
 * A row is one query of one head. Rows stand side by side in the lanes of vectors, so that every number of a row is
 * computed by itself: its bits depend on its own query, keys, values and mask, and on the range of keys; not on lanes,
 * on the rows beside it, or on how they are cut. Queries, scores and sums are kept as `rows` numbers for each feature
 * or key: a key's feature is one number that all lanes are multiplied with.
 *
 * With few rows most lanes would be empty. There DOT features stand in a vector (`dots`), and what a row adds up is
 * added up in another order.
 *
 * One ABI, that of group.h, where args[] is numbered by enum kiln_attention_arg. Tables have as many entries as the
 * kernel has lanes; those behind the last row repeat it. strides: from one key to the next, of keys, values and mask,
 * in bytes. rows: that are stored. n: keys; of the kernel that combines, ranges.
 *
 * The first kernel reads and writes the state: the largest score so far of each row and, relative to it, the sum of
 * exponentials; sums of values go to SUMS. With FINISHES they are divided and stored. The other one combines what the
 * first gave for several ranges of keys, in their order.
 */
#ifndef KILN_CODEGEN_CPU_ATTENTION_KERNEL_H
#define KILN_CODEGEN_CPU_ATTENTION_KERNEL_H

#include "array/dtype.h"
#include "base/buffer.h"
#include "base/status.h"

enum {
    KILN_ATTENTION_BLOCK = 64,     /* keys whose scores are kept */
    KILN_ATTENTION_TOGETHER = 8,   /* keys, or features of values, whose sums are kept in registers */
    KILN_ATTENTION_MAX_LANES = 32, /* of all vectors */
    KILN_ATTENTION_DOT = 16,       /* features of a vector, where there are few rows */
    KILN_ATTENTION_MAX_DOTS = 8,   /* rows that are few */
    KILN_ATTENTION_SCORE_ROWS = 1 + KILN_ATTENTION_BLOCK + KILN_ATTENTION_TOGETHER
};

/* Pointers, but for the last five. Scratch is float32, `lanes` numbers for each row of it. */
enum kiln_attention_arg {
    KILN_ATTENTION_QUERIES,  /* table: where each row's query is */
    KILN_ATTENTION_OUTPUTS,  /* table: where its result goes */
    KILN_ATTENTION_MASKS,    /* table: where its mask begins */
    KILN_ATTENTION_LIMITS,   /* int32: how many keys it sees, of this range */
    KILN_ATTENTION_KEYS,     /* the first key; when combining, a table of the states */
    KILN_ATTENTION_VALUES,   /* the first value; when combining, a table of the sums */
    KILN_ATTENTION_STATE,    /* 2 rows: largest scores, sums of exponentials */
    KILN_ATTENTION_TURNED,   /* scratch: the queries, a row for each feature */
    KILN_ATTENTION_SUMS,     /* scratch: a row for each feature of a value */
    KILN_ATTENTION_SCORES,   /* scratch: SCORE_ROWS rows; when combining, as many as there are ranges */
    KILN_ATTENTION_WIDENED,  /* scratch: BLOCK keys or values as float32; 16-bit floats only */
    KILN_ATTENTION_FEATURES, /* of a key */
    KILN_ATTENTION_WIDTH,    /* features of a value */
    KILN_ATTENTION_SCALE,    /* of scores, the bits of a float32 */
    KILN_ATTENTION_VISIBLE,  /* keys that all rows see: the smallest limit */
    KILN_ATTENTION_FINISHES, /* not 0: the result is stored */
    KILN_ATTENTION_ARGS
};

/* What a kernel's text depends on, besides the dtype of queries, keys, values and results. */
struct kiln_attention_config {
    uint8_t lanes;   /* of a vector: 8 or 16 */
    uint8_t vectors; /* 1 or 2 of them are the rows */
    bool is_fused;   /* the target has fused multiply-adds */
    bool combines;   /* the second kernel */
    uint8_t dots;    /* 1, 2, 4 or 8: at most so many rows, and both kinds of features are multiples of DOT; else 0 */
    bool has_mask;   /* of mask_dtype: bool, what is false is not seen; or a float that is added */
    uint8_t mask_dtype; /* enum kiln_dtype */
};

/* The config as the flags of a variant (run/kernels/launch.h), and back. */
unsigned kiln__attention_pack(const struct kiln_attention_config *config);
struct kiln_attention_config kiln__attention_unpack(unsigned flags);

/* `dtype` is float32, float16 or bfloat16. */
kiln_status kiln__attention_print(enum kiln_dtype dtype, const struct kiln_attention_config *config,
                                  struct kiln_buffer *text, kiln_error *err);

#endif
