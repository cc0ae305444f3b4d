/*
 * attention_launch.c - attention on the CPU: rows and keys in parts, which threads share, each by one launch of a
 * kernel (codegen/cpu/attention_kernel.h).
 *
 * A row is one query of one head; the rows of all heads that share keys and values are numbered by head, then query,
 * and cut into blocks of as many rows as the kernel has lanes. Where there are few blocks, keys are cut into ranges
 * too, and a second launch combines what these gave. Cuts follow from shapes alone, so results do not depend on the
 * number of threads. Scratch is a few kilobytes for each part, whatever the lengths.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/attention_kernel.h"
#include "graph/attention_attrs.h"
#include "run/kernels/dry_run.h"
#include "run/kernels/launch.h"
#include "run/ops/axis.h"
#include "run/ops/operation.h"

enum {
    MAX_LANES = KILN_ATTENTION_MAX_LANES,
    FEW_BLOCKS = 64, /* with fewer of them keys are cut as well, */
    RANGE = 512,     /* into ranges of so many */
    INPUTS = 5
};

struct attention {
    struct kiln_array *inputs[INPUTS]; /* q, k, v, mask, sinks; NULL: none; references */
    struct kiln_array *out;
    kiln_kernel_entry entry, combine;
    int64_t rows, blocks, ranges, range; /* of one batch and shared head: rows, blocks of them, ranges of keys */
    int64_t heads;                       /* shared ones of all batches */
    int lanes, group, width;             /* width: of a value */
    float scale;
    bool is_causal;
    float *partial; /* of each block and range: 2 rows of state and `width` rows of sums; NULL: one range */
    atomic_bool failed;
};

/* One block of rows. */
struct block {
    int64_t batch, shared, first, count; /* rows from `first` on */
    uint64_t queries[MAX_LANES], outputs[MAX_LANES], masks[MAX_LANES];
    int64_t seen[MAX_LANES]; /* how many keys each row sees */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- where rows are --------------------------------------------------------------------------------------------- */

static const char *at(const struct kiln_array *array, int64_t a, int64_t b, int64_t c)
{
    int64_t offset = a * array->strides[0] + b * array->strides[1] + c * array->strides[2];
    return array->data + offset * (int64_t)kiln__dtype_size(array->dtype);
}

/* Of the axis that is `back` from the end; 0 where the mask is repeated along it. */
static int64_t mask_stride(const struct kiln_array *mask, int back)
{
    int axis = mask->ndim - back;
    return axis < 0 || mask->dims[axis] == 1 ? 0 : mask->strides[axis] * (int64_t)kiln__dtype_size(mask->dtype);
}

static void find_block(const struct attention *attention, int64_t number, struct block *block)
{
    const struct kiln_array *q = attention->inputs[0], *k = attention->inputs[1], *mask = attention->inputs[3];
    int64_t queries = q->dims[2], keys = k->dims[2], head = number / attention->blocks;
    block->batch = head / k->dims[1];
    block->shared = head % k->dims[1];
    block->first = number % attention->blocks * attention->lanes;
    block->count = smaller(attention->lanes, attention->rows - block->first);
    for (int64_t i = 0; i < attention->lanes; i++) {
        int64_t row = block->first + smaller(i, block->count - 1), query = row % queries;
        int64_t own = block->shared * attention->group + row / queries;
        block->queries[i] = (uintptr_t)at(q, block->batch, own, query);
        block->outputs[i] = (uintptr_t)at(attention->out, block->batch, own, query);
        block->seen[i] = attention->is_causal ? query + 1 + keys - queries : keys;
        if (mask)
            block->masks[i] = (uintptr_t)(mask->data + block->batch * mask_stride(mask, 4) +
                                          own * mask_stride(mask, 3) + query * mask_stride(mask, 2));
    }
}

/* ---- one part ---------------------------------------------------------------------------------------------------- */

/* A sink is a score without a value, which the first range begins with. */
static void begin_state(const struct attention *attention, const struct block *block, int64_t range, float *state)
{
    static const float lowest = -0x1.fffffep127f;
    const struct kiln_array *sinks = attention->inputs[4];
    for (int64_t i = 0; i < attention->lanes; i++) {
        int64_t row = block->first + smaller(i, block->count - 1);
        int64_t own = block->shared * attention->group + row / attention->inputs[0]->dims[2];
        float sink = lowest;
        if (sinks && range == 0)
            memcpy(&sink, sinks->data + own * sinks->strides[0] * (int64_t)sizeof sink, sizeof sink);
        bool counts = sinks && range == 0 && !(sink < lowest); /* minus infinity adds nothing */
        state[i] = sink < lowest ? lowest : sink;
        state[attention->lanes + i] = counts ? 1 : 0;
    }
}

/* The keys of a range that any row of the block sees; the kernel is told how many each one does. */
static int64_t cut_keys(const struct block *block, int64_t first, int64_t end, int lanes, int32_t *limits,
                        int64_t *visible)
{
    int64_t most = 0;
    *visible = end - first;
    for (int i = 0; i < lanes; i++) {
        int64_t limit = smaller(block->seen[i], end) - first;
        limits[i] = (int32_t)(limit < 0 ? 0 : limit);
        if (limits[i] > most) most = limits[i];
        *visible = smaller(*visible, limits[i]);
    }
    return most;
}

static size_t scratch_floats(const struct attention *attention)
{
    const int features = attention->inputs[0]->dims[3], width = attention->width;
    size_t widest = (size_t)(features > width ? features : width);
    size_t rows = (size_t)features + (size_t)width + 2 + KILN_ATTENTION_SCORE_ROWS + (size_t)attention->ranges;
    return rows * (size_t)attention->lanes + widest * KILN_ATTENTION_BLOCK;
}

/* What the kernels are given of the scratch; partial results of a range lie in attention->partial instead. */
static void fill_args(const struct attention *attention, struct block *block, float *scratch, uint64_t *args)
{
    const size_t lanes = (size_t)attention->lanes, features = (size_t)attention->inputs[0]->dims[3];
    float *sums = scratch + 2 * lanes, *turned = sums + (size_t)attention->width * lanes;
    float *scores = turned + features * lanes;
    uint32_t scale;
    memcpy(&scale, &attention->scale, sizeof scale);
    args[KILN_ATTENTION_QUERIES] = (uintptr_t)block->queries;
    args[KILN_ATTENTION_OUTPUTS] = (uintptr_t)block->outputs;
    args[KILN_ATTENTION_MASKS] = (uintptr_t)block->masks;
    args[KILN_ATTENTION_STATE] = (uintptr_t)scratch;
    args[KILN_ATTENTION_SUMS] = (uintptr_t)sums;
    args[KILN_ATTENTION_TURNED] = (uintptr_t)turned;
    args[KILN_ATTENTION_SCORES] = (uintptr_t)scores;
    args[KILN_ATTENTION_WIDENED] =
        (uintptr_t)(scores + (KILN_ATTENTION_SCORE_ROWS + (size_t)attention->ranges) * lanes);
    args[KILN_ATTENTION_FEATURES] = features;
    args[KILN_ATTENTION_WIDTH] = (uint64_t)attention->width;
    args[KILN_ATTENTION_SCALE] = scale;
}

static float *partial_of(const struct attention *attention, int64_t block, int64_t range)
{
    size_t size = (size_t)(2 + attention->width) * (size_t)attention->lanes;
    return attention->partial + (size_t)(block * attention->ranges + range) * size;
}

static void attend(const struct attention *attention, int64_t number, int64_t range, float *scratch)
{
    const struct kiln_array *k = attention->inputs[1], *v = attention->inputs[2], *mask = attention->inputs[3];
    int64_t item = (int64_t)kiln__dtype_size(k->dtype), first = range * attention->range;
    int64_t end = smaller(first + attention->range, k->dims[2]), mask_step = mask ? mask_stride(mask, 1) : 0;
    const int64_t strides[] = {k->strides[2] * item, v->strides[2] * item, mask_step};
    uint64_t args[KILN_ATTENTION_ARGS];
    int32_t limits[MAX_LANES];
    int64_t visible;
    struct block block;
    find_block(attention, number, &block);
    fill_args(attention, &block, scratch, args);
    if (attention->partial) {
        args[KILN_ATTENTION_STATE] = (uintptr_t)partial_of(attention, number, range);
        args[KILN_ATTENTION_SUMS] = args[KILN_ATTENTION_STATE] + 2 * (size_t)attention->lanes * sizeof(float);
    }
    begin_state(attention, &block, range, (float *)(uintptr_t)args[KILN_ATTENTION_STATE]);
    int64_t count = cut_keys(&block, first, end, attention->lanes, limits, &visible);
    for (int i = 0; i < attention->lanes; i++) block.masks[i] += (uint64_t)(first * mask_step);
    args[KILN_ATTENTION_LIMITS] = (uintptr_t)limits;
    args[KILN_ATTENTION_KEYS] = (uintptr_t)at(k, block.batch, block.shared, first);
    args[KILN_ATTENTION_VALUES] = (uintptr_t)at(v, block.batch, block.shared, first);
    args[KILN_ATTENTION_VISIBLE] = (uint64_t)visible;
    args[KILN_ATTENTION_FINISHES] = !attention->partial;
    attention->entry(args, strides, block.count, count);
}

static void combine(const struct attention *attention, int64_t number, float *scratch, uint64_t *tables)
{
    static const int64_t strides[3] = {0};
    uint64_t args[KILN_ATTENTION_ARGS] = {0}, *states = tables, *sums = tables + attention->ranges;
    struct block block;
    find_block(attention, number, &block);
    fill_args(attention, &block, scratch, args);
    for (int64_t range = 0; range < attention->ranges; range++) {
        states[range] = (uintptr_t)partial_of(attention, number, range);
        sums[range] = states[range] + 2 * (size_t)attention->lanes * sizeof(float);
    }
    args[KILN_ATTENTION_KEYS] = (uintptr_t)states;
    args[KILN_ATTENTION_VALUES] = (uintptr_t)sums;
    args[KILN_ATTENTION_FINISHES] = 1;
    attention->combine(args, strides, block.count, attention->ranges);
}

/* ---- all parts --------------------------------------------------------------------------------------------------- */

static float *new_scratch(struct attention *attention)
{
    float *scratch = malloc(scratch_floats(attention) * sizeof *scratch);
    if (!scratch) atomic_store_explicit(&attention->failed, true, memory_order_relaxed);
    return scratch;
}

static void attend_parts(void *ctx, int64_t first, int64_t end)
{
    struct attention *attention = ctx;
    float *scratch = new_scratch(attention);
    for (int64_t i = first; scratch && i < end; i++)
        attend(attention, i / attention->ranges, i % attention->ranges, scratch);
    free(scratch);
}

static void combine_parts(void *ctx, int64_t first, int64_t end)
{
    struct attention *attention = ctx;
    float *scratch = new_scratch(attention);
    uint64_t *tables = malloc(2 * (size_t)attention->ranges * sizeof *tables);
    if (!tables) atomic_store_explicit(&attention->failed, true, memory_order_relaxed);
    for (int64_t i = first; scratch && tables && i < end; i++) combine(attention, i, scratch, tables);
    free(scratch);
    free(tables);
}

static kiln_status run(struct attention *attention, kiln_error *err)
{
    const struct kiln_array *k = attention->inputs[1];
    const int64_t blocks = attention->heads * attention->blocks, rows = attention->heads * attention->rows;
    struct kiln_array *partial = NULL;
    if (attention->ranges > 1) {
        const int dims[] = {(int)(blocks * attention->ranges), (2 + attention->width) * attention->lanes};
        kiln_status status = kiln__array_alloc(KILN_FLOAT32, 2, dims, &partial, err);
        if (status) return status;
        attention->partial = (float *)(void *)partial->data;
    }
    kiln__rows_run(attend_parts, attention, blocks * attention->ranges, rows * k->dims[2] * k->dims[3]);
    if (partial) kiln__rows_run(combine_parts, attention, blocks, blocks * attention->ranges * attention->width);
    kiln__array_unref(partial);
    return atomic_load(&attention->failed) ? kiln__no_memory(err, "attention") : KILN_OK;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* For the kernel of few rows: 1, 2, 4 or 8 of them. 0: there are more, features do not fill vectors, or the target, one
 * without fused multiply-adds, does not convert vectors of float16 either. */
static uint8_t rows_as_dots(const struct attention *attention, int64_t rows, bool is_fused)
{
    uint8_t together = 1;
    if (attention->inputs[0]->dtype == KILN_FLOAT16 && !is_fused) return 0;
    if (rows > KILN_ATTENTION_MAX_DOTS || attention->inputs[0]->dims[3] % KILN_ATTENTION_DOT ||
        attention->width % KILN_ATTENTION_DOT)
        return 0;
    while (together < rows) together *= 2;
    return together;
}

static struct kiln_attention_config config_for(const struct attention *attention, int64_t rows, enum kiln_isa isa)
{
    const struct kiln_array *mask = attention->inputs[3];
    struct kiln_attention_config config = {.lanes = isa >= KILN_ISA_X86_64_V4 ? 16 : 8,
                                           .is_fused = isa >= KILN_ISA_X86_64_V3,
                                           .has_mask = mask,
                                           .mask_dtype = mask ? mask->dtype : 0};
    config.vectors = rows > config.lanes ? 2 : 1;
    config.dots = rows_as_dots(attention, rows, config.is_fused);
    return config;
}

static unsigned combining(struct kiln_attention_config config)
{
    config.combines = true, config.has_mask = false, config.mask_dtype = config.dots = 0;
    return kiln__attention_pack(&config);
}

/* By lanes of the widest target, so that ranges are the same on all. */
static void cut(struct attention *attention, const struct kiln_attention_config *config)
{
    const int keys = attention->inputs[1]->dims[2];
    bool is_cut = attention->heads * ((attention->rows + MAX_LANES - 1) / MAX_LANES) < FEW_BLOCKS;
    attention->lanes = config->lanes * config->vectors;
    attention->blocks = (attention->rows + attention->lanes - 1) / attention->lanes;
    attention->range = is_cut ? RANGE : keys;
    attention->ranges = (keys + attention->range - 1) / attention->range;
}

/* After a prompt comes one token at a time, for which kernels are compiled together with those of the prompt. */
static kiln_status choose(struct attention *attention, kiln_error *err)
{
    static const char layouts[] = {KILN_LAYOUT_PACKED, '\0'};
    const enum kiln_dtype dtype = attention->inputs[0]->dtype;
    struct kiln_group_kernels *kernels;
    const kiln_device *device = kiln__device_current(err);
    if (!device) return KILN_INVALID;
    const struct kiln_attention_config config = config_for(attention, attention->rows, device->target.isa),
                                       one_token = config_for(attention, attention->group, device->target.isa);
    const unsigned flags[] = {kiln__attention_pack(&config), kiln__attention_pack(&one_token), combining(one_token),
                              combining(config)};
    cut(attention, &config);
    bool has_ranges = attention->ranges > 1;
    kiln_status status = kiln__op_kernels(KILN_OP_ATTENTION, dtype, dtype, &kernels, err);
    if (!status) status = kiln__variants_get(kernels, layouts, flags, has_ranges ? 4 : 3, &attention->entry, err);
    if (!status && has_ranges) status = kiln__variant_get(kernels, layouts, flags[3], &attention->combine, err);
    return status;
}

static kiln_status take_inputs(struct attention *attention, const struct kiln_node *node, kiln_error *err)
{
    kiln_status status = KILN_OK;
    uint32_t next = 3;
    for (int i = 0; i < 3 && !status; i++)
        status = kiln__take_side_by_side(node->inputs[i], &attention->inputs[i], err);
    if (status) return status;
    if (node->attrs[1] & KILN_ATTENTION_HAS_MASK) attention->inputs[3] = kiln__array_ref(node->inputs[next++]);
    if (node->attrs[1] & KILN_ATTENTION_HAS_SINKS) attention->inputs[4] = kiln__array_ref(node->inputs[next]);
    return KILN_OK;
}

kiln_status kiln__run_attention(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *q = node->inputs[0], *k = node->inputs[1];
    const uint32_t scale = (uint32_t)node->attrs[0];
    struct attention attention = {.out = out,
                                  .group = q->dims[1] / k->dims[1],
                                  .rows = (int64_t)q->dims[1] / k->dims[1] * q->dims[2],
                                  .heads = (int64_t)k->dims[0] * k->dims[1],
                                  .width = node->inputs[2]->dims[3],
                                  .is_causal = node->attrs[1] & KILN_ATTENTION_IS_CAUSAL};
    memcpy(&attention.scale, &scale, sizeof scale);
    kiln_status status = kiln__output_alloc(out, err);
    if (!status) status = take_inputs(&attention, node, err);
    if (!status) status = choose(&attention, err);
    if (!status && attention.entry && (attention.ranges == 1 || attention.combine)) status = run(&attention, err);
    for (int i = 0; i < INPUTS; i++) kiln__array_unref(attention.inputs[i]);
    return status;
}
