/*
 * gpu_launch_indexed.c - see gpu_launch_indexed.h. Storage on GPUs begins at 256 bytes and views move by whole
 * elements, so every element is aligned to its size.
 */
#include "run/gpu/gpu_launch_indexed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu_sites.h"
#include "run/gpu/gpu_params.h"
#include "run/kernels/dry_run.h"
#include "run/ops/indices.h"
#include "run/placement.h"

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* Is the last axis packed in result and data, and do all indices stay along it? */
static bool ends_in_blocks(const struct kiln_indexed *indexed)
{
    const struct kiln_loop *loop = &indexed->loop;
    bool is_block = loop->ndim > 0;
    for (size_t i = 0; is_block && i < loop->count; i++)
        is_block = loop->regions[i].strides[loop->ndim - 1] == (i < 2 ? loop->regions[i].item : 0);
    return is_block;
}

/* Do the blocks of result and data consist of aligned parts of that many bytes? */
static bool are_blocks_of(const struct kiln_indexed *indexed, int64_t bytes)
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
static void widen(struct kiln_indexed *indexed)
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

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/*
 * One for each operation and list of dtypes that was needed; the list only grows, and nothing in it is released. Two
 * threads may both add theirs; either is right.
 */
struct known {
    struct known *next;
    const char *name;
    struct kiln_group_kernels kernels;
    uint32_t output; /* of the group: operand 0 */
    uint8_t dtypes[];
};

static _Atomic(struct known *) known_kernels;

static struct known *make_known(const char *name, const uint8_t *dtypes, size_t count)
{
    struct known *mine = calloc(1, sizeof *mine + count);
    if (!mine) return NULL;
    memcpy(mine->dtypes, dtypes, count);
    mine->name = name;
    mine->kernels.group = (struct kiln_group){
        .operand_count = (uint32_t)count, .output_count = 1, .operand_dtypes = mine->dtypes, .outputs = &mine->output};
    snprintf(mine->kernels.name, sizeof mine->kernels.name, "%s", name);
    mine->next = atomic_load_explicit(&known_kernels, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&known_kernels, &mine->next, mine, memory_order_acq_rel,
                                                  memory_order_acquire)) {
    }
    return mine;
}

static bool is_for(const struct known *known, const char *name, const uint8_t *dtypes, size_t count)
{
    return known->name == name && known->kernels.group.operand_count == count &&
           memcmp(known->dtypes, dtypes, count) == 0;
}

/* `name` is that of a row of ops.def, compared by address. */
static struct known *find_kernels(const char *name, const uint8_t *dtypes, size_t count)
{
    struct known *known = atomic_load_explicit(&known_kernels, memory_order_acquire);
    while (known && !is_for(known, name, dtypes, count)) known = known->next;
    return known ? known : make_known(name, dtypes, count);
}

static kiln_status fail(const struct kiln_gpu_site *site, int64_t value, kiln_error *err)
{
    return kiln__index_refuse(site->name, site->is_unsigned, value, site->size, site->extent, err);
}

kiln_status kiln__gpu_index_record(const char *name, bool is_unsigned, int64_t size, int64_t extent, int64_t *out,
                                   kiln_error *err)
{
    const struct kiln_gpu_site site = {
        .fail = fail, .name = name, .size = size, .extent = extent, .is_unsigned = is_unsigned};
    uint64_t address = 0;
    kiln_status status =
        kiln__dry_run ? KILN_OK : kiln__gpu_site_address(kiln__active.device->gpu, &site, &address, err);
    *out = (int64_t)address;
    return status;
}

/* The params of index array `i`. */
static kiln_status add_index(struct kiln_gpu_params *params, const struct kiln_indexed *indexed, size_t i,
                             const char *name, kiln_error *err)
{
    int64_t record;
    kiln_status status = kiln__gpu_index_record(name, indexed->dtypes[1 + i] == KILN_UINT64, indexed->sizes[i],
                                                indexed->extents[i], &record, err);
    kiln__params_add(params, indexed->sizes[i]);
    kiln__params_add(params, indexed->steps[i]);
    kiln__params_add(params, indexed->sizes[i] - indexed->extents[i] + 1);
    kiln__params_add(params, record);
    return status;
}

/* With `wide` elements of output and data have 16 bytes. */
static kiln_status launch(struct known *known, enum kiln_gpu_schedule schedule, struct kiln_indexed *indexed, bool wide,
                          kiln_error *err)
{
    struct kiln_group_kernels *kernels = &known->kernels;
    struct kiln_loop *loop = &indexed->loop;
    size_t indices = indexed->count, room = 1 + 4 * indices + kiln__params_needed(&kernels->group, loop->ndim);
    int64_t total = kiln__loop_size(loop);
    kiln_status status = KILN_OK;
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
        .schedule = schedule, .axes = (uint8_t)loop->ndim, .wide = wide, .is_long = total > KILN_GPU_LONGEST};
    kiln__params_add_pointers(params, loop);
    kiln__params_add(params, total);
    for (size_t i = 0; i < indices && !status; i++) status = add_index(params, indexed, i, known->name, err);
    if (status) return status;
    kiln__params_add_axes(params, loop);
    return kiln__gpu_start(kernels, layouts, &config, kiln__full_blocks(kiln__divide_up(total, KILN_GPU_BLOCK)), params,
                           err);
}

void kiln__indexed_region(struct kiln_region *region, const struct kiln_array *array)
{
    *region = (struct kiln_region){.data = array->data, .item = (int64_t)kiln__dtype_size(array->dtype)};
}

void kiln__indexed_axes(struct kiln_region *region, size_t to, const struct kiln_array *array, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) region->strides[to++] = array->strides[i] * region->item;
}

void kiln__indexed_about(struct kiln_indexed *indexed, size_t i, const struct kiln_array *array, size_t axis,
                         int64_t extent)
{
    indexed->extents[i] = extent;
    indexed->sizes[i] = array->dims[axis];
    indexed->steps[i] = array->dims[axis] == 1 ? 0 : array->strides[axis] * (int64_t)kiln__dtype_size(array->dtype);
}

kiln_status kiln__gpu_launch_indexed(enum kiln_op op, enum kiln_gpu_schedule schedule, struct kiln_indexed *indexed,
                                     kiln_error *err)
{
    kiln__loop_collapse(&indexed->loop);
    widen(indexed);
    int64_t bytes = indexed->regions[0].item;
    indexed->dtypes[0] = dtype_of(bytes);
    struct known *known = find_kernels(kiln__ops[op].name, indexed->dtypes, 1 + indexed->count);
    if (!known) return kiln__no_memory(err, "the kernels of an operation");
    return launch(known, schedule, indexed, bytes == KILN_GPU_WIDE, err);
}
