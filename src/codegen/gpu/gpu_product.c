/*
 * gpu_product.c - see gpu_product.h.
 */
#include "codegen/gpu/gpu_product.h"

#include "codegen/gpu/gpu_call.h"

enum {
    MANY_WARPS =
        2048,     /* enough for every GPU to have loads under way; not those of the one at hand, or bits would differ */
    BROAD = 8192, /* columns from which on each multiprocessor has warps enough with 8 columns each */
    FEW_CHUNKS = 2, /* of a lane: with fewer a warp has nothing to share */
    ACROSS = 4,     /* as in product_kernels.c */
    CHUNK_FLOATS = 8,
    MOST_CHUNK = 32,
    NAME = 40
};

/* ---- the config ----------------------------------------------------------------------------------------------------
 */

static unsigned log_of(unsigned number)
{
    unsigned log = 0;
    while (number >> log > 1) log++;
    return log;
}

uint32_t kiln__gpu_product_pack(const struct kiln_gpu_product_config *config)
{
    uint32_t form = (uint32_t)config->is_transposed | (uint32_t)config->wide << 1 | (uint32_t)config->has_global << 2 |
                    log_of(config->rows) << 3;
    if (!config->codes) return form;
    unsigned scale = config->scale_dtype == KILN_FLOAT32 ? 0 : config->scale_dtype == KILN_FLOAT16 ? 1 : 2;
    return form | (uint32_t)config->codes << 6 | (uint32_t)config->bits << 9 | log_of(config->group_size) << 13 |
           scale << 17 | (uint32_t)config->is_broad << 19;
}

struct kiln_gpu_product_config kiln__gpu_product_unpack(uint32_t form)
{
    static const enum kiln_dtype scales[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16, KILN_BFLOAT16};
    return (struct kiln_gpu_product_config){.is_transposed = form & 1,
                                            .wide = form >> 1 & 1,
                                            .has_global = form >> 2 & 1,
                                            .is_broad = form >> 19 & 1,
                                            .rows = (uint8_t)(1u << (form >> 3 & 7)),
                                            .codes = (enum kiln_product_codes)(form >> 6 & 7),
                                            .bits = form >> 9 & 15,
                                            .group_size = (uint8_t)(1u << (form >> 13 & 15)),
                                            .scale_dtype = scales[form >> 17 & 3]};
}

/* Sums that a lane keeps bound the rows: with dots there is one for each row and column of a warp, else for each row
 * and element of a chunk. */
uint8_t kiln__gpu_product_rows(const struct kiln_gpu_product_config *config, int64_t m)
{
    const uint8_t most = config->is_transposed ? (config->codes ? 8 : 16) : config->codes ? 2 : 8;
    uint8_t rows = 1;
    while (rows < m && rows < most) rows *= 2;
    return rows;
}

bool kiln__gpu_product_is_broad(const struct kiln_gpu_product_config *config, int64_t n)
{
    return config->is_transposed && config->codes == KILN_CODES_AFFINE && config->rows == 1 && n >= BROAD;
}

uint32_t kiln__gpu_product_chunk(const struct kiln_gpu_product_config *config)
{
    if (!config->codes) return CHUNK_FLOATS;
    return config->group_size < MOST_CHUNK ? config->group_size : MOST_CHUNK;
}

/* Columns of a warp, with dots. */
static uint32_t columns_together(const struct kiln_gpu_product_config *config)
{
    if (config->is_broad) return 8;
    if (config->codes) return config->rows > 4 && config->codes != KILN_CODES_AFFINE ? 2 : 4;
    return config->rows <= 2 || config->rows > 8 ? 2 : 4;
}

/* It counts as if warps had 2 columns each, or 4 with codes, whatever the rows are. */
uint32_t kiln__gpu_product_split(const struct kiln_gpu_product_config *config, int64_t n, int64_t k)
{
    const int64_t chunks = k / kiln__gpu_product_chunk(config);
    const int64_t few = config->codes ? 1 : FEW_CHUNKS, columns = config->codes ? 4 : 2;
    uint32_t split = 1;
    if (!config->is_transposed) return KILN_GPU_WARPS;
    while (split < KILN_GPU_WARPS && n / columns * split < MANY_WARPS &&
           chunks >= (int64_t)split * 2 * KILN_GPU_WARP * few)
        split *= 2;
    return split;
}

uint32_t kiln__gpu_product_columns(const struct kiln_gpu_product_config *config, uint32_t split)
{
    return config->is_transposed ? columns_together(config) * (KILN_GPU_WARPS / split)
                                 : ACROSS * kiln__gpu_product_chunk(config);
}

/* ---- the text ------------------------------------------------------------------------------------------------------
 */

static int type_of(enum kiln_dtype dtype)
{
    return dtype == KILN_FLOAT32 ? 0 : dtype == KILN_FLOAT16 ? 1 : 2;
}

static const char *name_of(const struct kiln_gpu_product_config *config)
{
    static const char *const names[] = {"matmul", "affine_matmul", "mxfp4_matmul", "mxfp8_matmul", "nvfp4_matmul"};
    return names[config->codes];
}

/* Without a bound ptxas saves registers by reading a chunk when the one before is used; with too high a one it spills.
 */
static uint32_t resident_blocks(enum kiln_dtype dtype, const struct kiln_gpu_product_config *config)
{
    if (!config->is_transposed) return config->rows * kiln__gpu_product_chunk(config) > MOST_CHUNK ? 2 : 3;
    if (config->rows > 8 || (config->rows == 8 && dtype == KILN_FLOAT32)) return 1;
    return config->rows == 1 && dtype != KILN_FLOAT32 && !config->is_broad ? 3 : 2;
}

kiln_status kiln__gpu_product_print(enum kiln_dtype dtype, const struct kiln_gpu_product_config *config,
                                    struct kiln_buffer *text, kiln_error *err)
{
    struct kiln_ir ir = {.text = text};
    const uint32_t columns = columns_together(config);
    const uint32_t sums = config->is_transposed
                              ? columns * config->rows * KILN_GPU_WARPS
                              : config->rows * kiln__gpu_product_chunk(config) * ACROSS * KILN_GPU_WARPS;
    const int constants[] = {type_of(dtype),
                             config->rows,
                             (int)columns,
                             (int)config->codes,
                             config->bits,
                             config->group_size,
                             type_of(config->scale_dtype),
                             config->has_global,
                             config->wide};
    const struct kiln_gpu_function function = {
        .what = config->is_transposed ? "product, a column is a row of the weight"
                                      : "product, a column is a column of the weight",
        .name = config->is_transposed ? "kiln_gpu_product_dots" : "kiln_gpu_product_columns",
        .pointers = KILN_GPU_PRODUCT_POINTERS,
        .words = KILN_GPU_PRODUCT_PARAMS - KILN_GPU_PRODUCT_POINTERS,
        .shared = sums,
        .constants = constants,
        .constant_count = sizeof constants / sizeof *constants,
        .blocks = resident_blocks(dtype, config)};
    kiln__gpu_print_call(&ir, &function, name_of(config), dtype);
    return kiln__ir_finish(&ir, KILN_OK, err);
}
