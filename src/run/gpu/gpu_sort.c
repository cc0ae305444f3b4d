/*
 * gpu_sort.c - sort and argsort on a GPU (codegen/gpu/gpu_ordered.h): tiles of each row, then runs of tiles merged in
 * pairs, a launch for each doubling, then the elements or their positions.
 */
#include "array/storage.h"
#include "run/gpu/gpu_launch_ordered.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/placement.h"

/* Keys and positions of all rows, twice: a merge reads one and makes the other. */
struct sorting {
    const struct kiln_node *node;
    struct kiln_array *in;
    struct kiln_gpu_rows rows;
    struct kiln_storage *storage;
    int64_t keys[2], positions[2];
};

static kiln_status alloc_entries(struct sorting *sorting, kiln_error *err)
{
    const int64_t total = sorting->in->size;
    const bool merges = sorting->rows.n > KILN_GPU_SORT_TILE;
    const int64_t entry = (int64_t)(sizeof(uint64_t) + sizeof(uint32_t));
    char *data = NULL;
    kiln_status status = kiln__output_bytes((size_t)(total * entry * (merges ? 2 : 1)), &sorting->storage, &data, err);
    sorting->keys[0] = kiln__gpu_address(data);
    sorting->keys[1] = sorting->keys[0] + (merges ? total * (int64_t)sizeof(uint64_t) : 0);
    sorting->positions[0] = sorting->keys[1] + total * (int64_t)sizeof(uint64_t);
    sorting->positions[1] = sorting->positions[0] + total * (int64_t)sizeof(uint32_t);
    return status;
}

static kiln_status sort_tiles(const struct sorting *sorting, kiln_error *err)
{
    const int64_t tiles = kiln__divide_up(sorting->rows.n, KILN_GPU_SORT_TILE);
    const struct kiln_gpu_ordered launch = {.op = sorting->node->op,
                                            .dtype = (enum kiln_dtype)sorting->in->dtype,
                                            .config = {KILN_GPU_SORT_TILES, {sorting->in->dtype}},
                                            .params = {sorting->keys[0], sorting->positions[0],
                                                       kiln__gpu_address(sorting->in->data), sorting->rows.n,
                                                       sorting->rows.inner, tiles}};
    return kiln__gpu_launch_ordered(&launch, sorting->rows.rows * tiles, err);
}

/* Which of the two is sorted then is *from. */
static kiln_status merge_runs(const struct sorting *sorting, int *from, kiln_error *err)
{
    const int64_t total = sorting->in->size;
    kiln_status status = KILN_OK;
    for (int64_t run = KILN_GPU_SORT_TILE; run < sorting->rows.n && !status; run *= 2, *from = !*from) {
        const struct kiln_gpu_ordered launch = {.op = sorting->node->op,
                                                .dtype = KILN_UINT64,
                                                .config = {KILN_GPU_SORT_MERGE, {0}},
                                                .params = {sorting->keys[!*from], sorting->positions[!*from],
                                                           sorting->keys[*from], sorting->positions[*from], total,
                                                           sorting->rows.n, run}};
        status = kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(total), err);
    }
    return status;
}

static kiln_status take(const struct sorting *sorting, struct kiln_array *out, int from, kiln_error *err)
{
    const struct kiln_gpu_ordered launch = {
        .op = sorting->node->op,
        .dtype = (enum kiln_dtype)out->dtype,
        .config = {KILN_GPU_SORT_TAKE, {sorting->in->dtype, sorting->node->op == KILN_OP_SORT}},
        .params = {kiln__gpu_address(out->data), kiln__gpu_address(sorting->in->data), sorting->positions[from],
                   out->size, sorting->rows.n, sorting->rows.inner}};
    return kiln__gpu_launch_ordered(&launch, kiln__gpu_thread_blocks(out->size), err);
}

kiln_status kiln__gpu_sort(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct sorting sorting = {.node = node, .rows = kiln__gpu_rows_along(out, (size_t)node->attrs[0])};
    int from = 0;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    status = kiln__gpu_take_packed(node->inputs[0], &sorting.in, err);
    if (!status) status = alloc_entries(&sorting, err);
    if (!status) status = sort_tiles(&sorting, err);
    if (!status) status = merge_runs(&sorting, &from, err);
    if (!status) status = take(&sorting, out, from, err);
    kiln__storage_unref(sorting.storage);
    kiln__array_unref(sorting.in);
    return status;
}
