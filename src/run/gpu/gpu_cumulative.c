/*
 * gpu_cumulative.c - cumulative operations and series on a GPU (codegen/gpu/gpu_ordered.h). Each row is walked by one
 * thread, as by the CPU; many rows are walked at once.
 */
#include "ops/creation.h"
#include "run/gpu/gpu_launch_ordered.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"

enum { TILE_ROWS = 32, APART = 0, TILES_OF_ONE = 1, TILES_OF_MANY = 2 };

/* Tiles of one row are long, so a row gets on; with many rows a warp walks as many at once. */
static int tiling_of(const struct kiln_gpu_rows *rows)
{
    if (rows->inner > 1) return APART;
    return rows->rows < TILE_ROWS ? TILES_OF_ONE : TILES_OF_MANY;
}

kiln_status kiln__gpu_cumulative(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    static const uint8_t steps[] = {KILN_MERGE_ADD, KILN_MERGE_MULTIPLY, KILN_MERGE_MAX, KILN_MERGE_MIN};
    const struct kiln_gpu_rows rows = kiln__gpu_rows_along(out, (size_t)node->attrs[0]);
    const int tiling = tiling_of(&rows);
    const int64_t blocks = tiling == APART          ? kiln__gpu_thread_blocks(rows.rows)
                           : tiling == TILES_OF_ONE ? rows.rows
                                                    : kiln__divide_up(rows.rows, TILE_ROWS);
    struct kiln_array *in = NULL;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    status = kiln__gpu_take_packed(node->inputs[0], &in, err);
    if (status) return status;
    const struct kiln_gpu_ordered launch = {
        .op = node->op,
        .dtype = (enum kiln_dtype)out->dtype,
        .config = {KILN_GPU_SCAN, {out->dtype, steps[node->op - KILN_OP_CUMSUM], (uint8_t)tiling}},
        .params = {kiln__gpu_address(out->data), kiln__gpu_address(in->data), rows.rows, rows.n, rows.inner,
                   node->attrs[1], node->attrs[2]}};
    status = kiln__gpu_launch_ordered(&launch, blocks, err);
    kiln__array_unref(in);
    return status;
}

/* Windows begin on the host: their cosine is the C library's. */
bool kiln__gpu_knows_series(const struct kiln_node *node)
{
    return node->attrs[0] == KILN_SERIES_STEPS || node->attrs[0] == KILN_SERIES_SPACED;
}

kiln_status kiln__gpu_series(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    const struct kiln_gpu_ordered launch = {
        .op = node->op,
        .dtype = KILN_FLOAT64,
        .config = {KILN_GPU_SERIES, {node->attrs[0] == KILN_SERIES_SPACED}},
        .params = {kiln__gpu_address(out->data), out->size, node->attrs[1], node->attrs[2]}};
    return kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(out->size), err);
}
