/*
 * group.h - a fused expression, and the text of the kernel that computes it.
 *
 * One kernel ABI for everything generated:
 *
 *     void NAME(const uint64_t *args, const int64_t *strides, int64_t rows, int64_t n)
 *
 * args: data pointers of the outputs, then of the operands, then the constants by their bits (zero-extended).
 * strides: for each output, then each operand: row stride and inner stride, in bytes.
 * An element-wise kernel computes `rows` rows of `n` elements. A reduction makes `rows` outputs from `n` elements each.
 *
 * What the text depends on: the expression, dtypes, the layouts and flags; never a shape, an address or the
 * value of a constant. Equal input gives equal bytes, in every process.
 */
#ifndef KILN_CODEGEN_GROUP_H
#define KILN_CODEGEN_GROUP_H

#include "array/dtype.h"
#include "base/buffer.h"
#include "base/status.h"
#include "graph/ops.h"

/*
 * Layout of an operand along the inner loop:
 * 'c' inner stride is one element, 's' inner stride is 0 (one element per row), 'v' inner stride is whatever strides
 * say. Outputs are always 'c'. 'r': the row stride is one element, in reductions of columns. On GPUs 't' is packed
 * along rows of a tile (KILN_GPU_TILED), and 'i' is an operand of indices, through which another one is read.
 */
enum {
    KILN_LAYOUT_PACKED = 'c',
    KILN_LAYOUT_SCALAR = 's',
    KILN_LAYOUT_STRIDED = 'v',
    KILN_LAYOUT_ROWS = 'r',
    KILN_LAYOUT_TRANSPOSED = 't',
    KILN_LAYOUT_INDEX = 'i'
};

/* The word for a layout in texts: "packed", "scalar", "strided", "rows", "transposed" or "indices"; "?" for none. */
const char *kiln__layout_word(char layout);

enum {
    /* Non-temporal stores. Without KILN_GROUP_ROWS only with rows == 1 and all layouts 'c' or 's'. */
    KILN_GROUP_STREAMING = 1u << 0,
    KILN_GROUP_ROWS = 1u << 1,  /* reductions along the row, and outputs of one element per row; layouts may be mixed */
    KILN_GROUP_SHORT = 1u << 2, /* with rows: n is at most KILN_SHORT_ROW, so that a row of values fits the stack */
    KILN_GROUP_ALONE = 1u << 3  /* one instruction, whose operation has a schedule of its own: that checks it */
};

enum { KILN_SHORT_ROW = 8192 };

/*
 * A kernel with rows (KILN_GROUP_ROWS) may have instructions of kind REDUCE, whose result is one value for each row,
 * like operands with the layout 's' and whatever is computed from such values alone; they are computed once per row.
 */

/* Values are numbered: operands first, then constants, then instructions in order. */
struct kiln_instr {
    uint16_t op;    /* enum kiln_op, element-wise or a reduction */
    uint8_t dtype;  /* of the result; the inputs' dtypes are those of the values */
    uint32_t in[3]; /* value numbers, as many as the op's arity */
};

struct kiln_group {
    uint32_t operand_count, constant_count, instr_count, output_count;
    uint8_t *operand_dtypes;
    uint8_t *constant_dtypes;
    struct kiln_instr *instrs;
    uint32_t *outputs; /* value numbers */
};

/* Do they give the same text for the same layouts and flags? */
bool kiln__group_equal(const struct kiln_group *a, const struct kiln_group *b);

/* Can KILN_GROUP_SHORT make a difference? */
bool kiln__group_may_keep(const struct kiln_group *group);

/* Prints the kernel's LLVM IR into an empty `text`; kernel_name.h says what its entry is called. `layouts` has one
 * layout per operand. */
kiln_status kiln__group_print(const struct kiln_group *group, const char *layouts, unsigned flags,
                              struct kiln_buffer *text, kiln_error *err);

/*
 * The order of a reduction R depends on n only; it is the same for every layout, number of threads and target:
 *
 *     n <= 1024:  16 lanes, element i in lane i mod 16, each lane from the identity element in order of i;
 *                 then lanes k and k + 8 are combined, k and k + 4, k and k + 2, k and k + 1.
 *     n > 1024:   R of the totals of the chunks [0, 1024), [1024, 2048), ..., the last of which may be shorter.
 *
 * 16-bit floats accumulate in float32, also from level to level, and are rounded once at the end.
 */
enum { KILN_REDUCE_CHUNK = 1024 };

/* What totals are held in between the levels. */
enum kiln_dtype kiln__reduction_total_dtype(enum kiln_dtype out);

/*
 * Prints a reduction (an operation of kind REDUCE) of one operand of dtype `in` to dtype `out`, for n up to
 * KILN_REDUCE_CHUNK; of longer ones it is the kernel of one level. `layout` is 'c' or 'v' for the operand along the
 * reduced axis; 'r' when the operand and the output both have a row stride of one element.
 */
kiln_status kiln__reduction_print(enum kiln_op op, enum kiln_dtype in, enum kiln_dtype out, char layout,
                                  struct kiln_buffer *text, kiln_error *err);

#endif
