/*
 * gpu_product_run.c - see gpu_product_run.h: from a product to its kernel, grid and params.
 */
#include "run/gpu/gpu_product_run.h"

#include "graph/few_rows.h"
#include "run/gpu/cublas.h"
#include "run/gpu/gpu_params.h"

bool kiln__gpu_product_knows(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 || dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
}

bool kiln__gpu_product_takes(enum kiln_dtype dtype, int64_t rows)
{
    return kiln__gpu_product_knows(dtype) && (rows <= KILN_FEW_ROWS || !kiln__cublas_can(dtype));
}

static bool is_even(const struct kiln_gpu_operand *operand)
{
    return ((uintptr_t)operand->data | (uintptr_t)operand->row | (uintptr_t)operand->step) % KILN_GPU_WIDE == 0;
}

/* Are accesses of 16 bytes possible, and no chunk cut off? */
static bool is_wide(const struct kiln_gpu_product_run *run)
{
    const int64_t along = run->config.is_transposed ? run->k : run->n;
    bool is_x = !run->config.is_transposed || is_even(&run->x);
    return is_x && is_even(&run->weight[0]) && along % kiln__gpu_product_chunk(&run->config) == 0;
}

/* A pointer that nobody reads is that of the weight. */
static void add_pointer(struct kiln_gpu_params *params, const char *pointer, const char *other)
{
    kiln__params_add(params, (int64_t)(intptr_t)(pointer ? pointer : other));
}

kiln_status kiln__gpu_product_run(const struct kiln_gpu_product_run *run, kiln_error *err)
{
    uint64_t buffer[KILN_PARAMS_HEADER + KILN_GPU_PRODUCT_PARAMS];
    struct kiln_gpu_params *params = kiln__params_init(buffer, false);
    struct kiln_gpu_product_config config = run->config;
    struct kiln_group_kernels *kernels;
    config.wide = is_wide(run);
    config.has_global = run->global_scale;
    config.rows = kiln__gpu_product_rows(&config, run->m);
    config.is_broad = kiln__gpu_product_is_broad(&config, run->n);
    const uint32_t split = kiln__gpu_product_split(&config, run->n, run->k);
    const int64_t blocks = kiln__divide_up(run->n, kiln__gpu_product_columns(&config, split));
    const int64_t tiles = kiln__divide_up(run->m, config.rows);
    const char *weight = run->weight[0].data;
    const struct kiln_gpu_operand *const operands[] = {&run->x, &run->weight[0], &run->weight[1], &run->weight[2]};
    kiln__params_add(params, (int64_t)(intptr_t)run->out);
    add_pointer(params, run->x.data, weight);
    for (int i = 0; i < 3; i++) add_pointer(params, run->weight[i].data, weight);
    add_pointer(params, run->global_scale, weight);
    kiln__params_add(params, run->m);
    kiln__params_add(params, run->n);
    kiln__params_add(params, run->k);
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) kiln__params_add(params, operands[i]->row);
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) kiln__params_add(params, operands[i]->step);
    kiln__params_add(params, blocks);
    kiln__params_add(params, tiles);
    kiln__params_add(params, split);
    const enum kiln_dtype weights = config.codes ? KILN_UINT32 : run->dtype;
    kiln_status status = kiln__op_kernels(run->op, weights, run->dtype, &kernels, err);
    if (status) return status;
    const struct kiln_gpu_config chosen = {.schedule = KILN_GPU_PRODUCT, .form = kiln__gpu_product_pack(&config)};
    return kiln__gpu_start(kernels, "cc", &chosen, kiln__full_blocks(blocks * tiles * run->batches), params, err);
}
