/*
 * gpu_gather.c - see gpu_gather.h. From a node to the regions of one launch.
 *
 * The axes of the index space are those of the result. Each input's axes stand in one run or two among them; along all
 * others its stride is 0. Storage on GPUs begins at 256 bytes and views move by whole elements, so every element is
 * aligned to its size.
 */
#include "run/gpu/gpu_gather.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "run/gpu/gpu_launch.h"
#include "run/gpu/gpu_operations.h"
#include "run/gpu/gpu_params.h"
#include "run/ops/indices.h"

bool kiln__reads_through(enum kiln_op op, size_t input)
{
    return input > 0 && kiln__ops[op].kind == KILN_OP_INDEXED;
}

/* ---- checks ---------------------------------------------------------------------------------------------------- */

/* Index array `i`, counted from 0, is about that axis of the data. */
static size_t axis_of(const struct kiln_node *node, size_t i)
{
    return (size_t)node->attrs[node->op == KILN_OP_GATHER ? i : 0];
}

/* Elements that are read from an index on. */
static int64_t extent_of(const struct kiln_node *node, size_t i)
{
    return node->op == KILN_OP_GATHER ? node->attrs[node->input_count - 1u + axis_of(node, i)] : 1;
}

static bool is_on_host(const struct kiln_array *array)
{
    return !array->storage || kiln__storage_is_at(array->storage, 0);
}

/* Not when kernels are compiled only: what a GPU would have made is what its memory held before. */
static bool is_computed(const struct kiln_array *array)
{
    return is_on_host(array) || kiln_cache_default()->mode != KILN_MODE_COMPILE_ONLY;
}

static kiln_status check_indices(const struct kiln_node *node, size_t i, kiln_error *err)
{
    struct kiln_array *indices = node->inputs[1 + i], *host = NULL;
    int64_t *values = NULL, size = node->inputs[0]->dims[axis_of(node, i)];
    kiln_status status = KILN_OK;
    if (indices->size == 0 || !is_computed(indices)) return KILN_OK;
    if (!is_on_host(indices)) status = kiln__launch_graph_flush(err);
    if (!status) status = kiln__array_fetch(indices, &host, err);
    if (!status) status = kiln__indices_read(kiln__ops[node->op].name, host, size, extent_of(node, i), &values, err);
    free(values);
    kiln__array_unref(host);
    return status;
}

kiln_status kiln__indexed_check(const struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (!kiln__reads_through(node->op, 1)) return status;
    for (size_t i = 0; i + 1 < node->input_count && !status; i++) status = check_indices(node, i, err);
    return status;
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

enum { MAX_INDICES = KILN_MAX_NDIM }; /* each is about another axis */

struct indexed {
    struct kiln_loop loop;
    struct kiln_region regions[2 + MAX_INDICES]; /* result, data, indices */
    int64_t sizes[MAX_INDICES], steps[MAX_INDICES];
    uint8_t dtypes[1 + MAX_INDICES]; /* of data and indices */
    size_t count;                    /* of index arrays */
};

static void init_region(struct kiln_region *region, const struct kiln_array *array)
{
    *region = (struct kiln_region){.data = array->data, .item = (int64_t)kiln__dtype_size(array->dtype)};
}

/* Axes `first` to before `end` of the array are axes of the loop, from `to` on. */
static void put_axes(struct kiln_region *region, size_t to, const struct kiln_array *array, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) region->strides[to++] = array->strides[i] * region->item;
}

static void place_data(struct kiln_region *data, const struct kiln_node *node)
{
    const struct kiln_array *in = node->inputs[0];
    size_t before = node->input_count > 1 ? node->inputs[1]->ndim : 0;
    if (node->op == KILN_OP_GATHER) {
        put_axes(data, before, in, 0, in->ndim);
    } else if (node->op == KILN_OP_TAKE) {
        put_axes(data, 0, in, 0, axis_of(node, 0));
        put_axes(data, axis_of(node, 0) + before, in, axis_of(node, 0) + 1, in->ndim);
    } else {
        put_axes(data, 0, in, 0, in->ndim);
        data->strides[axis_of(node, 0)] = 0;
    }
}

static void describe(struct indexed *indexed, const struct kiln_node *node, const struct kiln_array *out)
{
    const struct kiln_array *in = node->inputs[0];
    struct kiln_region *regions = indexed->regions;
    indexed->count = node->input_count - 1u;
    kiln__loop_init(&indexed->loop, out->ndim, out->dims, regions, 2 + indexed->count);
    init_region(&regions[0], out);
    put_axes(&regions[0], 0, out, 0, out->ndim);
    init_region(&regions[1], in);
    place_data(&regions[1], node);
    for (size_t i = 0; i < indexed->count; i++) {
        const struct kiln_array *indices = node->inputs[1 + i];
        size_t axis = axis_of(node, i);
        init_region(&regions[2 + i], indices);
        put_axes(&regions[2 + i], node->op == KILN_OP_TAKE ? axis : 0, indices, 0, indices->ndim);
        indexed->sizes[i] = in->dims[axis];
        indexed->steps[i] = in->dims[axis] == 1 ? 0 : in->strides[axis] * regions[1].item;
        indexed->dtypes[1 + i] = indices->dtype;
    }
    kiln__loop_collapse(&indexed->loop);
}

/* ---- accesses -------------------------------------------------------------------------------------------------- */

/* Is the last axis packed in result and data, and do all indices stay along it? */
static bool ends_in_blocks(const struct indexed *indexed)
{
    const struct kiln_loop *loop = &indexed->loop;
    bool is_block = loop->ndim > 0;
    for (size_t i = 0; is_block && i < loop->count; i++)
        is_block = loop->regions[i].strides[loop->ndim - 1] == (i < 2 ? loop->regions[i].item : 0);
    return is_block;
}

/* Do the blocks of result and data consist of aligned parts of that many bytes? */
static bool are_blocks_of(const struct indexed *indexed, int64_t bytes)
{
    const struct kiln_loop *loop = &indexed->loop;
    size_t last = loop->ndim - 1;
    bool fits = loop->dims[last] * loop->regions[0].item % bytes == 0;
    for (size_t i = 0; i < 2; i++) {
        fits &= (uintptr_t)loop->regions[i].data % (uintptr_t)bytes == 0;
        for (size_t axis = 0; axis < last; axis++) fits &= loop->regions[i].strides[axis] % bytes == 0;
    }
    for (size_t i = 0; i < indexed->count; i++) fits &= indexed->steps[i] % bytes == 0;
    return fits;
}

/* Copies as many bytes at a time as alignment allows: that many are the elements from now on. */
static void widen(struct indexed *indexed)
{
    struct kiln_loop *loop = &indexed->loop;
    int64_t item = loop->regions[0].item, bytes = KILN_GPU_WIDE;
    if (!ends_in_blocks(indexed)) return;
    while (bytes > item && !are_blocks_of(indexed, bytes)) bytes /= 2;
    loop->dims[loop->ndim - 1] = loop->dims[loop->ndim - 1] * item / bytes;
    for (size_t i = 0; i < 2; i++) loop->regions[i].item = loop->regions[i].strides[loop->ndim - 1] = bytes;
    kiln__loop_collapse(loop); /* a block may be one element now */
}

/* Elements of 16 bytes go by another config of the kernel for those of 8. */
static uint8_t dtype_of(int64_t bytes)
{
    return bytes == 1 ? KILN_UINT8 : bytes == 2 ? KILN_UINT16 : bytes == 4 ? KILN_UINT32 : KILN_UINT64;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

/*
 * One for each list of dtypes that was needed; the list only grows, and nothing in it is released. Two threads may both
 * add theirs; either is right.
 */
struct known {
    struct known *next;
    struct kiln_group_kernels kernels;
    uint32_t output; /* of the group: operand 0 */
    uint8_t dtypes[];
};

static _Atomic(struct known *) known_kernels;

static struct known *make_known(const uint8_t *dtypes, size_t count)
{
    struct known *mine = calloc(1, sizeof *mine + count);
    if (!mine) return NULL;
    memcpy(mine->dtypes, dtypes, count);
    mine->kernels.group = (struct kiln_group){
        .operand_count = (uint32_t)count, .output_count = 1, .operand_dtypes = mine->dtypes, .outputs = &mine->output};
    strcpy(mine->kernels.name, kiln__ops[KILN_OP_GATHER].name);
    mine->next = atomic_load_explicit(&known_kernels, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&known_kernels, &mine->next, mine, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
    return mine;
}

static struct known *find_kernels(const uint8_t *dtypes, size_t count)
{
    struct known *known = atomic_load_explicit(&known_kernels, memory_order_acquire);
    while (known && (known->kernels.group.operand_count != count || memcmp(known->dtypes, dtypes, count) != 0))
        known = known->next;
    return known ? known : make_known(dtypes, count);
}

/* codegen/gpu/gpu_schedule.h, KILN_GPU_INDEXED. With `wide` elements of output and data have 16 bytes. */
static kiln_status launch(struct kiln_group_kernels *kernels, struct kiln_loop *loop, const int64_t *sizes,
                          const int64_t *steps, bool wide, kiln_error *err)
{
    size_t indices = loop->count - 2, room = 1 + 2 * indices + kiln__params_needed(&kernels->group, loop->ndim);
    int64_t total = kiln__loop_size(loop);
    if (total == 0) return KILN_OK;
    if (room > KILN_MAX_PARAMS) return kiln__gpu_cannot(kernels, err);
    if (loop->ndim == 0) kiln__loop_append_unit(loop);
    char layouts[indices + 2];
    uint64_t buffer[KILN_PARAMS_HEADER + room];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    layouts[0] = KILN_LAYOUT_STRIDED;
    memset(layouts + 1, KILN_LAYOUT_INDEX, indices);
    layouts[1 + indices] = '\0';
    struct kiln_gpu_config config = {
        .schedule = KILN_GPU_INDEXED, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = total > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add(params, total);
    for (size_t i = 0; i < indices; i++) {
        kiln__params_add(params, sizes[i]);
        kiln__params_add(params, steps[i]);
    }
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(kiln__divide_up(total, KILN_GPU_BLOCK)), params,
                           err);
}

kiln_status kiln__gpu_gather(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct indexed indexed;
    kiln_status status = kiln__output_alloc(out, err);
    if (status || out->size == 0) return status;
    describe(&indexed, node, out);
    widen(&indexed);
    int64_t bytes = indexed.regions[0].item;
    indexed.dtypes[0] = dtype_of(bytes);
    struct known *known = find_kernels(indexed.dtypes, 1 + indexed.count);
    if (!known) return kiln__no_memory(err, "the kernels of an operation");
    return launch(&known->kernels, &indexed.loop, indexed.sizes, indexed.steps, bytes == KILN_GPU_WIDE, err);
}
