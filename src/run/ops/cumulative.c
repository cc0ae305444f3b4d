/*
 * cumulative.c - cumulative sums, products, maxima and minima along an axis.
 *
 * Each row is worked off from its first element to its last (reversed: from the last), so the order never varies.
 * Integers wrap at the width of their dtype; 16-bit floats accumulate in float32, and each result is rounded once.
 * An exclusive scan begins with the identity element.
 */
#include <math.h>
#include <string.h>

#include "codegen/runtime/complex_number.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

typedef void scan(enum kiln_op op, const char *in, int64_t in_step, char *out, int64_t out_step, int64_t n,
                  bool inclusive);

#define LARGER(a, b)        ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b)       ((a) < (b) || (a) != (a) ? (a) : (b))
#define PLUS(a, b)          ((a) + (b))
#define TIMES(a, b)         ((a) * (b))
/* Wraps: signed numbers are added as unsigned ones. */
#define WRAPPED_PLUS(a, b)  ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define WRAPPED_TIMES(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define SAME(x)             (x)
/* Every NaN is stored as one, as kernels do. */
#define SETTLED(x)          ((x) == (x) ? (x) : NAN)
#define SETTLED_HALF(x)     kiln__float_to_half(SETTLED(x))
#define SETTLED_BFLOAT(x)   kiln__float_to_bfloat(SETTLED(x))

#define SCAN(wide, memory, FROM, TO, STEP, start)                                                                      \
    do {                                                                                                               \
        wide sum = start;                                                                                              \
        for (int64_t i = 0; i < n; i++, in += in_step, out += out_step) {                                              \
            memory element;                                                                                            \
            memcpy(&element, in, sizeof element);                                                                      \
            wide value = FROM(element), before = sum;                                                                  \
            sum = inclusive && i == 0 ? value : STEP(sum, value);                                                      \
            element = (memory)TO((inclusive ? sum : before));                                                          \
            memcpy(out, &element, sizeof element);                                                                     \
        }                                                                                                              \
    } while (0)

#define DEFINE_SCAN(name, memory, wide, FROM, TO, ADD, MULTIPLY, MOST, LEAST, lowest, highest, zero, one)              \
    static void scan_##name(enum kiln_op op, const char *in, int64_t in_step, char *out, int64_t out_step, int64_t n,  \
                            bool inclusive)                                                                            \
    {                                                                                                                  \
        if (op == KILN_OP_CUMSUM)                                                                                      \
            SCAN(wide, memory, FROM, TO, ADD, zero);                                                                   \
        else if (op == KILN_OP_CUMPROD)                                                                                \
            SCAN(wide, memory, FROM, TO, MULTIPLY, one);                                                               \
        else if (op == KILN_OP_CUMMAX)                                                                                 \
            SCAN(wide, memory, FROM, TO, MOST, lowest);                                                                \
        else                                                                                                           \
            SCAN(wide, memory, FROM, TO, LEAST, highest);                                                              \
    }
#define DEFINE_UNSIGNED(name, memory, highest)                                                                         \
    DEFINE_SCAN(name, memory, uint64_t, SAME, SAME, PLUS, TIMES, LARGER, SMALLER, 0, highest, 0, 1)
#define DEFINE_SIGNED(name, memory, lowest, highest)                                                                   \
    DEFINE_SCAN(name, memory, int64_t, SAME, SAME, WRAPPED_PLUS, WRAPPED_TIMES, LARGER, SMALLER, lowest, highest, 0, 1)
#define DEFINE_FLOAT(name, memory, wide, FROM, TO)                                                                     \
    DEFINE_SCAN(name, memory, wide, FROM, TO, PLUS, TIMES, LARGER, SMALLER, -INFINITY, INFINITY, 0, 1)

#define COMPLEX(real, imaginary) ((struct complex_number){real, imaginary})

DEFINE_UNSIGNED(truth, uint8_t, 1)
DEFINE_UNSIGNED(u8, uint8_t, UINT8_MAX)
DEFINE_UNSIGNED(u16, uint16_t, UINT16_MAX)
DEFINE_UNSIGNED(u32, uint32_t, UINT32_MAX)
DEFINE_UNSIGNED(u64, uint64_t, UINT64_MAX)
DEFINE_SIGNED(i8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_SIGNED(i16, int16_t, INT16_MIN, INT16_MAX)
DEFINE_SIGNED(i32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_SIGNED(i64, int64_t, INT64_MIN, INT64_MAX)
DEFINE_FLOAT(f16, uint16_t, float, kiln__half_to_float, SETTLED_HALF)
DEFINE_FLOAT(bf16, uint16_t, float, kiln__bfloat_to_float, SETTLED_BFLOAT)
DEFINE_FLOAT(f32, float, float, SAME, SETTLED)
DEFINE_FLOAT(f64, double, double, SAME, SETTLED)
DEFINE_SCAN(c64, struct complex_number, struct complex_number, SAME, complex_settled, complex_plus, complex_times,
            complex_larger, complex_smaller, COMPLEX(-INFINITY, -INFINITY), COMPLEX(INFINITY, INFINITY), COMPLEX(0, 0),
            COMPLEX(1, 0))

static scan *const scans[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = scan_truth,    [KILN_UINT8] = scan_u8,      [KILN_UINT16] = scan_u16,  [KILN_UINT32] = scan_u32,
    [KILN_UINT64] = scan_u64,    [KILN_INT8] = scan_i8,       [KILN_INT16] = scan_i16,   [KILN_INT32] = scan_i32,
    [KILN_INT64] = scan_i64,     [KILN_FLOAT16] = scan_f16,   [KILN_FLOAT32] = scan_f32, [KILN_FLOAT64] = scan_f64,
    [KILN_BFLOAT16] = scan_bf16, [KILN_COMPLEX64] = scan_c64,
};

struct rows {
    const struct kiln_node *node;
    const struct kiln_array *in;
    struct kiln_array *out;
    struct kiln_axis from, to;
};

static void scan_rows(void *ctx, int64_t first, int64_t end)
{
    const struct rows *rows = ctx;
    bool reverse = rows->node->attrs[1], inclusive = rows->node->attrs[2];
    int64_t n = rows->from.n, last = reverse ? n - 1 : 0, sign = reverse ? -1 : 1;
    for (int64_t row = first; row < end; row++) {
        const char *in = rows->in->data + kiln__axis_offset(&rows->from, row) + last * rows->from.stride;
        char *out = rows->out->data + kiln__axis_offset(&rows->to, row) + last * rows->to.stride;
        scans[rows->in->dtype](rows->node->op, in, sign * rows->from.stride, out, sign * rows->to.stride, n, inclusive);
    }
}

kiln_status kiln__run_cumulative(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK || out->size == 0) return status;
    struct rows rows = {.node = node, .in = node->inputs[0], .out = out};
    kiln__axis_init(&rows.from, rows.in, (size_t)node->attrs[0]);
    kiln__axis_init(&rows.to, out, (size_t)node->attrs[0]);
    kiln__rows_run(scan_rows, &rows, rows.from.rows, out->size);
    return KILN_OK;
}
