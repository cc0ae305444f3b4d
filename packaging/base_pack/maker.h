/*
 * maker.h - what the parts of the base pack's program share: arrays of all layouts, and the evaluation that compiles.
 *
 * The program calls what programs call, through the interface of libmlxc.so, and forgets the results. Under
 * KILN_MODE=compile-only that fills a folder with the kernels of these calls for the target that KILN_TARGET, or
 * KILN_DEVICE and KILN_GPU_TARGET, name; in any other mode the same calls look these kernels up, which is how tests
 * check a pack. It knows no kernel's text, name or schedule: operations come from graph/ops.def and mlxc/abi.tsv,
 * layouts and sizes are those that callers have.
 *
 * One thread, always in the same order, so that two runs store the same artifacts but for their times.
 */
#ifndef KILN_BASE_PACK_MAKER_H
#define KILN_BASE_PACK_MAKER_H

#include <stdbool.h>
#include <stddef.h>

#include "mlx/c/mlx.h"

enum { ROWS = 32, COLUMNS = 64 }; /* of small arrays; enough for a tile of a GPU */

/* How an operand lies in memory. */
enum layout {
    PACKED,     /* (ROWS, COLUMNS) */
    SCALAR,     /* () */
    ROW,        /* (COLUMNS), the same for each row */
    COLUMN,     /* (ROWS, 1), one element for each row */
    TRANSPOSED, /* (ROWS, COLUMNS), packed along its rows */
    STRIDED,    /* (ROWS, COLUMNS), every other element */
    LARGE,      /* so many elements that they do not fit caches */
    LAYOUTS
};

struct maker {
    mlx_stream stream;
    bool is_short;
    bool has_large; /* CPUs write large results past their caches, by other kernels; GPUs do not */
    mlx_array operands[MLX_COMPLEX64 + 1][LAYOUTS]; /* made when they are first asked for */
    size_t calls, failures;
};

/* The dtypes that people use, in the order in which they are gone through; a short run has the first one only. */
extern const mlx_dtype maker_dtypes[];
size_t maker_dtype_count(const struct maker *maker);
const char *dtype_name(mlx_dtype dtype);
bool is_float(mlx_dtype dtype);

/* Borrowed, until maker_release(). */
mlx_array maker_operand(struct maker *maker, mlx_dtype dtype, enum layout layout);
/* Packed, of any shape; the caller's. Its elements are not 0. */
mlx_array maker_array(mlx_dtype dtype, const int *shape, int ndim);
/* Ends a call: evaluates its result, if it has not failed, and frees it. Failures are printed and counted. */
void maker_take(struct maker *maker, const char *what, int failed, mlx_array result);

void maker_init(struct maker *maker, bool is_short);
void maker_release(struct maker *maker);

/* The parts. */
void make_elementwise(struct maker *maker);
void make_casts_and_copies(struct maker *maker);
void make_reductions(struct maker *maker);
void make_layers(struct maker *maker);
void make_functions(struct maker *maker);

#endif
