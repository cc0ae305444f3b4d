/*
 * gpu_schedule.h - the same groups with a schedule for GPUs: the text of kernels for NVPTX.
 *
 * A kernel is `define ptx_kernel void @NAME(...)`; each parameter is 8 bytes, so a launch packs its params into one
 * buffer. First come the pointers of outputs and operands (ptr addrspace(1)), then the constants by their bits (i64),
 * then what the schedule needs (i64 each), in the order that stands at its name. Blocks are one-dimensional and have
 * KILN_GPU_BLOCK threads; the grid is one-dimensional.
 *
 * As on the CPU the text depends on the expression, dtypes, layouts and the schedule config; never on a shape, an
 * address or a value. Every operation gives the bits that the CPU's kernels give: it rounds to its dtype, nothing is
 * contracted, and reductions have the order of group.h.
 */
#ifndef KILN_CODEGEN_GPU_GPU_SCHEDULE_H
#define KILN_CODEGEN_GPU_GPU_SCHEDULE_H

#include "codegen/group.h"

enum { KILN_GPU_BLOCK = 256, KILN_GPU_WARP = 32, KILN_GPU_TILE = 32, KILN_GPU_MAX_AXES = 33 };
enum { KILN_GPU_WARPS = KILN_GPU_BLOCK / KILN_GPU_WARP };

/*
 * "axes": for each of `axes` axes, outermost first: its size, then the byte stride of each pointer (outputs, operands)
 * along it; 1 + pointers params per axis. Index spaces are collapsed before, so there are usually few axes.
 */
enum kiln_gpu_schedule {
    /*
     * params: n. Element i of every 'c' operand and output is i elements behind its pointer; 's' operands have one
     * element. A thread computes kiln__gpu_width() elements: neighbours, with accesses of up to 16 bytes, where the
     * config is `wide`; block b begins at element b * KILN_GPU_BLOCK * width.
     */
    KILN_GPU_PACKED,
    /*
     * params: total, axes. Thread t of the grid computes element t of the index space, in row-major order; with `wide`
     * it computes kiln__gpu_width() neighbours along the last axis, whose size is then a multiple of that, along which
     * outputs and 'c' operands are packed and aligned to 16 bytes, 's' operands have stride 0, and no operand is 'v'.
     */
    KILN_GPU_STRIDED,
    /*
     * params: tiles of rows, tiles of columns, axes (2 or more; the last two are rows and columns). Outputs are packed
     * along columns. Operands: 'c' packed along columns, 't' packed along rows (read through shared memory, so that
     * both sides are coalesced), 's' and 'v' by their strides. Block b computes one tile of 32 x 32 elements; tiles of
     * columns count fastest, then tiles of rows, then the outer axes.
     */
    KILN_GPU_TILED,
    /*
     * params: rows, n, warps per row (1, 2, 4 or 8), how many blocks have a staggered start (0: none), inner strides of
     * the operands in bytes (one param each), axes (the rows' index space; 1 or more). Groups with KILN_GROUP_ROWS, or
     * whose one instruction is a reduction: layouts 'c', 's', 'v' are along the row. A block has kiln__gpu_row_block()
     * warps, each with kiln__gpu_row_kept() bytes of dynamic shared memory, and as many rows as they make teams, block
     * b from row b * that. n is at most KILN_GPU_MAX_ROW. Neighbouring threads have neighbouring elements, one each, so
     * no config is `wide`.
     */
    KILN_GPU_ROWS,
    /*
     * params: columns, n, chunks, the operand's byte stride along the reduced axis, the output's byte stride from chunk
     * to chunk, blocks of columns, axes (the outer axes; 0 or more, strides of output and operand). One instruction,
     * a reduction of an operand that is packed along columns. A block reduces elements [c * 1024, (c + 1) * 1024) of
     * KILN_GPU_COLUMNS_BLOCK columns, for chunk c: the output has one element per column and chunk, packed along
     * columns; where there are several chunks, its dtype is kiln__reduction_total_dtype(). Block b: blocks of columns
     * count fastest, then chunks, then outer axes.
     */
    KILN_GPU_COLUMNS,
    /*
     * params: total, for each operand of indices the size of the axis it is about, the bytes that one step along that
     * axis moves in the data, how many indices there are from 0 on, and the address of a record, axes. No instruction:
     * the output is operand 0, the data ('v'), read through all others, which are indices ('i', integers; negative ones
     * of signed dtypes count from the end). Thread t of the grid copies element t of the index space, in row-major
     * order, from
     *
     *     data + sum over axes (position * stride of the data) + sum over indices (index at that position * step)
     *
     * Strides are 0 along axes that do not matter to an operand. A thread that meets an index that is none reads
     * nothing, stores zero bits, and the index to its record (device/gpu_sites.h). An element has the size of the
     * data's dtype, so that one kernel serves all dtypes of a size; with `wide` it has 16 bytes, to which everything is
     * aligned.
     */
    KILN_GPU_INDEXED,
    /*
     * The same, but that indices move the output: thread t copies element t of the data to
     *
     *     output + sum over axes (position * stride of the output) + sum over indices (index at that position * step)
     *
     * No two of these places are one. With an index that is none it stores that to its record, and nothing else.
     */
    KILN_GPU_PLACED,
    /*
     * params: pairs, half, the byte stride of the operand. One instruction, random_bits of uint32: n random words,
     * packed, from a key of two, as array/threefry.h lays them out; half = n / 2 and pairs = n - half. Thread t makes
     * words t and, where t is below half, pairs + t.
     */
    KILN_GPU_RANDOM,
    /*
     * params: rows, n, elements of a chunk, chunks of a row, the data's byte stride along the row, axes (the rows'
     * index space; 1 or more). One instruction, argmin or argmax, to uint32. Operand 0 is the data ('c' or 'v'),
     * operand 1 is uint32: 's' is not read; with 'i' a row's n elements are those at the positions it names, which
     * ascend and are packed. A warp, of KILN_GPU_WARPS in a block, searches one chunk of one row and stores the
     * position of what it finds in that row, behind those of the row's earlier chunks: the next launch reads through
     * them, until a row is one chunk.
     */
    KILN_GPU_ARGREDUCE,
    /* A product of few rows: gpu_product.h, whose config is `form`. */
    KILN_GPU_PRODUCT,
    /* Attention: gpu_attention.h, whose config is `form`. */
    KILN_GPU_ATTENTION,
    /* What goes by the order of elements: gpu_ordered.h, whose config is `form`. */
    KILN_GPU_ORDERED,
};

enum { KILN_GPU_MAX_ROW = 1024 * 1024, KILN_GPU_COLUMNS_BLOCK = 32 };

struct kiln_gpu_config {
    enum kiln_gpu_schedule schedule;
    uint8_t axes;  /* of the schedules that have them */
    bool wide;     /* 16-byte accesses are possible: see the schedule */
    bool is_long;  /* more than 2^31 - 1 elements: 64-bit indices */
    uint32_t form; /* of KILN_GPU_PRODUCT and those behind it, which have none of the above; less than 2^23 */
};

/*
 * Neighbours a thread computes: 16 bytes of the largest packed element, fewer in groups with many operands or
 * instructions; the same for equal groups.
 */
uint32_t kiln__gpu_width(const struct kiln_group *group, const char *layouts);

/* Warps per row for rows of n elements: as many as read the row once, 1024 elements each, up to 8. */
uint32_t kiln__gpu_row_warps(int64_t n);
/* Warps of a block, for rows of so many: those of one row, and not fewer than 4. */
uint32_t kiln__gpu_row_block(uint32_t row_warps);
/* Bytes of shared memory for each warp. */
uint32_t kiln__gpu_row_kept(const struct kiln_group *group);

/* Prints the kernel into an empty `text`; kernel_name.h says what its entry is called. `layouts` has one layout per
 * operand. */
kiln_status kiln__gpu_print(const struct kiln_group *group, const char *layouts, const struct kiln_gpu_config *config,
                            struct kiln_buffer *text, kiln_error *err);

#endif
