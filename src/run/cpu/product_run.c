/*
 * product_run.c - see product_run.h. A unit of work is a range of columns of one product; threads take one after the
 * other. With panels each thread has room for one.
 */
#include "run/cpu/product_run.h"

#include <stdlib.h>
#include <string.h>

#include "run/cpu/pool.h"
#include "run/kernels/launch.h"

enum {
    PART_BYTES = 64 << 10,   /* of the weight: below that waking a thread costs more than it saves */
    PARTS_PER_THREAD = 4,    /* so that a thread that is late has less to do */
    STEP = 128,              /* columns: whole lines of every dtype, and whole groups of codes */
    NEAR_BYTES = 256 << 10,  /* rows after the first eight find the columns in the second-level cache */
    PANEL_BYTES = 256 << 10, /* of floats */
    PANEL_STEP = 24,         /* columns, when rows of a panel are columns: blocks of 2 and 3 */
    ALIGNMENT = 64
};

bool kiln__product_knows(enum kiln_dtype dtype)
{
    const kiln_device *device = kiln__device_current(NULL);
    bool is_known = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16;
    return is_known && device && device->target.isa >= KILN_ISA_X86_64_V3;
}

bool kiln__product_has_wide_vectors(void)
{
    const kiln_device *device = kiln__device_current(NULL);
    return device && device->target.isa >= KILN_ISA_X86_64_V4;
}

bool kiln__product_takes_bf16(const struct kiln_product_run *run)
{
    return !run->codes && run->weight_dtype == KILN_BFLOAT16 && run->is_transposed && run->out_dtype == KILN_BFLOAT16 &&
           kiln__product_has_wide_vectors() && kiln__isa_host_has_bf16();
}

int kiln__product_digits(const struct kiln_product_run *run)
{
    bool is_known = run->codes == KILN_CODES_AFFINE && (run->bits == 4 || run->bits == 8) && run->is_transposed &&
                    run->m <= KILN_PRODUCT_FEW;
    if (!is_known || !kiln__product_has_wide_vectors() || !kiln__isa_host_has_vnni()) return 0;
    return run->out_dtype == KILN_FLOAT32 ? 3 : 2;
}

struct job {
    const struct kiln_product_run *run;
    kiln_kernel_entry multiply, expand; /* expand: a panel to floats; NULL: it is read as it lies */
    kiln_kernel_entry split;            /* x to digits */
    bool has_panels;
    int64_t rows;        /* of one call of multiply */
    int64_t step, parts; /* columns of a unit; units of one product */
    char *digits;        /* of x, for each row of each product; NULL: x is floats */
    int64_t digits_row;  /* bytes */
    char *panels;        /* one for each thread, of panel_bytes */
    int64_t panel_bytes;
    _Atomic int64_t next; /* unit, with panels */
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t round_up(int64_t a, int64_t step)
{
    return divide_up(a, step) * step;
}

static int64_t size_of(enum kiln_dtype dtype)
{
    return (int64_t)kiln__dtype_size(dtype);
}

/* ---- one unit -------------------------------------------------------------------------------------------------------
 */

/* A range of columns of one product. */
struct unit {
    int64_t columns;
    const char *x, *weight[3];
    char *out;
};

/* Bytes from the start of a row of the weight's part to a column, whose number is a multiple of STEP or the first. */
static int64_t column_offset(const struct kiln_product_run *run, int part, int64_t column)
{
    if (run->is_transposed) return column * run->weight[part].row;
    if (!run->codes) return column * size_of(run->weight_dtype);
    if (part == 0) return column * run->bits / 8;
    int64_t scale = run->codes == KILN_CODES_AFFINE ? size_of(run->scale_dtype) : 1;
    return column / run->group_size * scale;
}

static struct unit unit_at(const struct job *job, int64_t index)
{
    const struct kiln_product_run *run = job->run;
    int64_t batch = index / job->parts, column = index % job->parts * job->step;
    const struct kiln_place *place = &run->places[batch];
    struct unit unit = {.columns = smaller(job->step, run->n - column),
                        .x = run->x + place->x,
                        .out = run->out + (batch * run->m * run->n + column) * size_of(run->out_dtype)};
    if (job->digits) unit.x = job->digits + batch * run->m * job->digits_row;
    for (int part = 0; part < 3 && run->weight[part].data; part++)
        unit.weight[part] = run->weight[part].data + place->parts[part] + column_offset(run, part, column);
    return unit;
}

static uint64_t factor_bits(float factor)
{
    union {
        float value;
        uint32_t bits;
    } factor_of = {.value = factor};
    return factor_of.bits;
}

/* All rows; `weight` and its rows' strides as the kernel reads them. */
static void multiply(const struct job *job, const struct unit *unit, const char *const weight[3], const int64_t row[3])
{
    const struct kiln_product_run *run = job->run;
    int64_t out_row = run->n * size_of(run->out_dtype), x_row = job->digits ? job->digits_row : run->x_row;
    const int64_t strides[] = {out_row, 0, x_row, 0, row[0], 0, row[1], 0, row[2], 0};
    for (int64_t first = 0; first < run->m; first += job->rows) {
        const uint64_t args[] = {(uintptr_t)(unit->out + first * out_row),
                                 (uintptr_t)(unit->x + first * x_row),
                                 (uintptr_t)weight[0],
                                 (uintptr_t)weight[1],
                                 (uintptr_t)weight[2],
                                 (uint64_t)run->k,
                                 factor_bits(run->factor)};
        job->multiply(args, strides, smaller(job->rows, run->m - first), unit->columns);
    }
}

static void run_unit(void *ctx, int64_t index)
{
    const struct job *job = ctx;
    const struct kiln_product_run *run = job->run;
    struct unit unit = unit_at(job, index);
    const int64_t row[] = {run->weight[0].row, run->weight[1].row, run->weight[2].row};
    multiply(job, &unit, unit.weight, row);
}

/* ---- panels ---------------------------------------------------------------------------------------------------------
 */

/* Codes by a kernel of ours; 16-bit floats by the kernel of the operation astype, whose ABI differs. */
static void expand(const struct job *job, const struct unit *unit, char *panel, int64_t panel_row)
{
    const struct kiln_product_run *run = job->run;
    int64_t rows = run->is_transposed ? unit->columns : run->k, n = run->is_transposed ? run->k : unit->columns;
    if (!run->codes) {
        const uint64_t args[] = {(uintptr_t)panel, (uintptr_t)unit->weight[0]};
        const int64_t strides[] = {panel_row, sizeof(float), run->weight[0].row, size_of(run->weight_dtype)};
        job->expand(args, strides, rows, n);
        return;
    }
    const uint64_t args[] = {(uintptr_t)panel,           0,
                             (uintptr_t)unit->weight[0], (uintptr_t)unit->weight[1],
                             (uintptr_t)unit->weight[2], (uint64_t)run->k,
                             factor_bits(run->factor)};
    const int64_t strides[] = {panel_row, 0, 0, 0, run->weight[0].row, 0, run->weight[1].row, 0, run->weight[2].row, 0};
    job->expand(args, strides, rows, n);
}

static void run_panels(void *ctx, int64_t thread)
{
    struct job *job = ctx;
    const struct kiln_product_run *run = job->run;
    char *panel = job->panels + thread * job->panel_bytes;
    int64_t count = job->parts * run->batches, index;
    while ((index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < count) {
        struct unit unit = unit_at(job, index);
        int64_t row = (run->is_transposed ? run->k : unit.columns) * (int64_t)sizeof(float);
        if (!job->expand) {
            multiply(job, &unit, unit.weight, (const int64_t[]){run->weight[0].row, 0, 0});
            continue;
        }
        expand(job, &unit, panel, row);
        multiply(job, &unit, (const char *const[]){panel, NULL, NULL}, (const int64_t[]){row, 0, 0});
    }
}

static kiln_status run_with_panels(struct job *job, kiln_error *err)
{
    const struct kiln_product_run *run = job->run;
    int64_t step = run->is_transposed ? PANEL_STEP : STEP, column = run->k * (int64_t)sizeof(float);
    int64_t threads = kiln__pool_width();
    job->step = PANEL_BYTES / column / step * step;
    if (job->step == 0) job->step = step;
    job->step = smaller(job->step, round_up(divide_up(run->n * run->batches, threads), step));
    job->parts = divide_up(run->n, job->step);
    threads = smaller(threads, job->parts * run->batches);
    job->panel_bytes = round_up(smaller(job->step, run->n) * column, ALIGNMENT);
    job->panels = aligned_alloc(ALIGNMENT, (size_t)(threads * job->panel_bytes));
    if (!job->panels) return kiln__no_memory(err, "the panels of a product");
    kiln__pool_run(run_panels, job, threads);
    free(job->panels);
    return KILN_OK;
}

/* ---- few rows -------------------------------------------------------------------------------------------------------
 */

static int64_t bytes_of_column(const struct kiln_product_run *run)
{
    return run->codes ? run->k * run->bits / 8 : run->k * size_of(run->weight_dtype);
}

/* A transposed weight is read from one end to the other, so its parts may be many; others are read best in long rows.
 */
static void cut(struct job *job)
{
    const struct kiln_product_run *run = job->run;
    int64_t column = bytes_of_column(run) > 0 ? bytes_of_column(run) : 1, bytes = column * run->n;
    job->step = run->n;
    if (bytes * run->batches >= 2 * PART_BYTES && run->batches < PARTS_PER_THREAD * kiln__pool_width()) {
        int64_t wanted = (run->is_transposed ? PARTS_PER_THREAD : 1) * (int64_t)kiln__pool_width();
        int64_t most = bytes / PART_BYTES;
        job->step = divide_up(run->n, smaller(wanted, most > 0 ? most : 1));
    }
    if (run->m > job->rows) job->step = smaller(job->step, NEAR_BYTES / column);
    if (job->step < run->n) job->step = round_up(job->step > 0 ? job->step : 1, STEP);
    job->parts = divide_up(run->n, job->step);
}

static void split_rows(void *ctx, int64_t batch)
{
    const struct job *job = ctx;
    const struct kiln_product_run *run = job->run;
    char *out = job->digits + batch * run->m * job->digits_row;
    const uint64_t args[] = {(uintptr_t)out, (uintptr_t)(run->x + run->places[batch].x), 0, 0, 0, (uint64_t)run->k, 0};
    const int64_t strides[] = {job->digits_row, 0, run->x_row, 0, 0, 0, 0, 0, 0, 0};
    memset(out, 0, (size_t)(run->m * job->digits_row));
    job->split(args, strides, run->m, run->k);
}

static kiln_status split_x(struct job *job, kiln_error *err)
{
    const struct kiln_product_run *run = job->run;
    job->digits = aligned_alloc(ALIGNMENT, (size_t)(run->batches * run->m * job->digits_row));
    if (!job->digits) return kiln__no_memory(err, "the digits of a product");
    if (run->batches * run->m * run->k >= PART_BYTES)
        kiln__pool_run(split_rows, job, run->batches);
    else
        for (int64_t batch = 0; batch < run->batches; batch++) split_rows(job, batch);
    return KILN_OK;
}

static kiln_status run_few_rows(struct job *job, kiln_error *err)
{
    kiln_status status = job->split ? split_x(job, err) : KILN_OK;
    if (status) return status;
    cut(job);
    if (job->parts * job->run->batches == 1)
        run_unit(job, 0);
    else
        kiln__pool_run(run_unit, job, job->parts * job->run->batches);
    free(job->digits);
    return KILN_OK;
}

/* ---- choosing -------------------------------------------------------------------------------------------------------
 */

static uint8_t rows_together(int64_t m)
{
    uint8_t rows = 1;
    while (rows < m && rows < KILN_PRODUCT_ROWS) rows *= 2;
    return rows;
}

static kiln_status get_kernel(enum kiln_op op, enum kiln_dtype weight, enum kiln_dtype out,
                              const struct kiln_product_config *config, kiln_kernel_entry *entry, kiln_error *err)
{
    static const char layouts[] = {KILN_LAYOUT_PACKED, KILN_LAYOUT_PACKED, '\0'};
    struct kiln_group_kernels *kernels;
    kiln_status status = kiln__op_kernels(op, weight, out, &kernels, err);
    if (status) return status;
    return kiln__variant_get(kernels, layouts, config ? kiln__product_pack(config) : 0, entry, err);
}

static kiln_status choose_few(struct job *job, const struct kiln_product_config *config, kiln_error *err)
{
    const struct kiln_product_run *run = job->run;
    kiln_status status = get_kernel(run->op, run->weight_dtype, run->out_dtype, config, &job->multiply, err);
    if (status || !config->digits) return status;
    struct kiln_product_config split = *config;
    split.is_splitting = true, split.rows = 0, split.scale_dtype = KILN_FLOAT32;
    job->digits_row = kiln__product_digits_bytes(config, run->k);
    return get_kernel(run->op, run->out_dtype, run->out_dtype, &split, &job->split, err);
}

static kiln_status choose(struct job *job, kiln_error *err)
{
    const struct kiln_product_run *run = job->run;
    const kiln_device *device = kiln__device_current(err);
    if (!device) return KILN_INVALID;
    job->has_panels = run->m > KILN_PRODUCT_FEW;
    struct kiln_product_config config = {.is_transposed = run->is_transposed,
                                         .has_bf16 = run->has_bf16,
                                         .rows = rows_together(run->m),
                                         .lanes = device->target.isa >= KILN_ISA_X86_64_V4 ? 16 : 8};
    struct kiln_product_config codes = config;
    codes.codes = run->codes, codes.bits = (uint8_t)run->bits, codes.group_size = (uint8_t)run->group_size;
    codes.scale_dtype = run->codes == KILN_CODES_AFFINE ? run->scale_dtype : KILN_FLOAT32;
    codes.digits = (uint8_t)run->digits;
    job->rows = config.rows;
    if (!job->has_panels) return choose_few(job, &codes, err);
    config.is_near = codes.is_expanding = true;
    config.rows = config.lanes == 16 ? KILN_PRODUCT_ROWS : KILN_PRODUCT_ROWS / 2;
    job->rows = config.rows;
    codes.is_transposed = false, codes.rows = 0;
    bool is_ready = run->has_bf16 || (!run->codes && run->weight_dtype == KILN_FLOAT32);
    enum kiln_dtype panel = run->has_bf16 ? KILN_BFLOAT16 : KILN_FLOAT32;
    kiln_status status = get_kernel(KILN_OP_MATMUL, panel, run->out_dtype, &config, &job->multiply, err);
    if (status || is_ready) return status;
    if (run->codes) return get_kernel(run->op, run->weight_dtype, KILN_FLOAT32, &codes, &job->expand, err);
    return get_kernel(KILN_OP_CAST, run->weight_dtype, KILN_FLOAT32, NULL, &job->expand, err);
}

kiln_status kiln__product_run(const struct kiln_product_run *run, kiln_error *err)
{
    struct job job = {.run = run};
    kiln_status status = choose(&job, err);
    if (status || !job.multiply) return status; /* compiled only, or a dry run: nothing is computed */
    if (job.has_panels) return run_with_panels(&job, err);
    return run_few_rows(&job, err);
}
