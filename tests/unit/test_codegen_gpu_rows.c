/*
 * test_codegen_gpu_rows.c - reductions and fused rows on GPUs, run by the emulator: bit for bit what scalar C gives in
 * the order of the contract, and what the kernels of the CPU give, for every number of warps per row.
 */
#include <math.h>
#include <stdio.h>

#include "gpu_support.h"

#include "support/reduction.h"
#include "support/values.h"

_Static_assert((int)MLX_BOOL == (int)KILN_BOOL && (int)MLX_COMPLEX64 == (int)KILN_COMPLEX64 &&
                   (int)MLX_FLOAT16 == (int)KILN_FLOAT16 && (int)MLX_BFLOAT16 == (int)KILN_BFLOAT16,
               "one numbering of dtypes");

enum { MOST = 64 };

/* A group under construction; values are numbered as in group.h, so operands come first, then constants. */
struct recipe {
    struct kiln_group group;
    uint8_t operands[MOST], constants[MOST];
    struct kiln_instr instrs[MOST];
    uint32_t outputs[MOST];
    char layouts[MOST + 1];
    uint64_t bits[MOST]; /* of the constants */
};

static void start(struct recipe *r)
{
    memset(r, 0, sizeof *r);
    r->group.operand_dtypes = r->operands;
    r->group.constant_dtypes = r->constants;
    r->group.instrs = r->instrs;
    r->group.outputs = r->outputs;
}

/* 'c', 'v', 's', or 'w' for 'c' with the same elements in every row */
static uint32_t operand(struct recipe *r, enum kiln_dtype dtype, char layout)
{
    uint32_t index = r->group.operand_count++;
    r->operands[index] = (uint8_t)dtype;
    r->layouts[index] = layout;
    return index;
}

static uint32_t constant(struct recipe *r, float value)
{
    uint32_t bits, index = r->group.constant_count++;
    memcpy(&bits, &value, sizeof bits);
    r->constants[index] = KILN_FLOAT32;
    r->bits[index] = bits;
    return r->group.operand_count + index;
}

static uint32_t apply(struct recipe *r, enum kiln_op op, enum kiln_dtype dtype, uint32_t a, uint32_t b)
{
    uint32_t index = r->group.instr_count++;
    CHECK_LT(index, MOST);
    r->instrs[index] = (struct kiln_instr){(uint16_t)op, (uint8_t)dtype, {a, b, 0}};
    return r->group.operand_count + r->group.constant_count + index;
}

static void output(struct recipe *r, uint32_t value)
{
    r->outputs[r->group.output_count++] = value;
}

static enum kiln_dtype dtype_of(const struct recipe *r, uint32_t value)
{
    uint32_t first = r->group.operand_count + r->group.constant_count;
    return value < r->group.operand_count ? r->operands[value]
           : value < first                ? r->constants[value - r->group.operand_count]
                                          : r->instrs[value - first].dtype;
}

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

struct rows {
    char *data;
    int64_t row, inner; /* strides, in bytes */
    size_t bytes;
};

static struct rows make_rows(enum kiln_dtype dtype, char layout, int rows, int n)
{
    int64_t size = (int64_t)kiln__dtype_size(dtype), step = layout == 'v' ? 3 : 1;
    struct rows out = {.inner = layout == 's' ? 0 : step * size};
    out.row = layout == 'w' ? 0 : layout == 's' ? size : step * size * (n + 1);
    out.bytes = (size_t)(size * step * (n + 1) * rows);
    out.data = calloc(out.bytes + 1, 1);
    CHECK_NOT_NULL(out.data);
    return out;
}

/* Many magnitudes and special values, or modest numbers that keep exponentials and products finite. */
static void fill_rows(struct rows *rows, enum kiln_dtype dtype, bool modest, uint64_t *state)
{
    size_t size = kiln__dtype_size(dtype);
    for (size_t i = 0; i < rows->bytes / size; i++) {
        struct scalar x = random_value((mlx_dtype)dtype, state);
        if (modest && kiln__dtypes[dtype].kind >= KILN_KIND_FLOAT) {
            struct scalar f = make_float((float)random_below(state, 4000) / 1000.0f - 2.0f, MLX_FLOAT32);
            x = scalar_cast(f, (mlx_dtype)dtype);
            if (dtype == KILN_COMPLEX64) x.imaginary = (float)random_below(state, 4000) / 1000.0f - 2.0f;
        }
        scalar_store(rows->data + i * size, x);
    }
}

struct job {
    const struct recipe *recipe;
    int rows, n;
    struct rows in[MOST], gpu[MOST], cpu[MOST];
};

static void make_job(struct job *job, const struct recipe *recipe, int rows, int n, bool modest, uint64_t *state)
{
    *job = (struct job){.recipe = recipe, .rows = rows, .n = n};
    for (uint32_t i = 0; i < recipe->group.operand_count; i++) {
        job->in[i] = make_rows(recipe->operands[i], recipe->layouts[i], rows, n);
        fill_rows(&job->in[i], recipe->operands[i], modest, state);
    }
    for (uint32_t i = 0; i < recipe->group.output_count; i++) {
        job->gpu[i] = make_rows(dtype_of(recipe, recipe->outputs[i]), 'c', rows, n);
        job->cpu[i] = make_rows(dtype_of(recipe, recipe->outputs[i]), 'c', rows, n);
    }
}
#define make_job(...) CHECK_CALL(make_job, __VA_ARGS__)

static void free_job(struct job *job)
{
    for (uint32_t i = 0; i < job->recipe->group.operand_count; i++) free(job->in[i].data);
    for (uint32_t i = 0; i < job->recipe->group.output_count; i++) free(job->gpu[i].data), free(job->cpu[i].data);
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static void layouts_of(const struct recipe *recipe, char *layouts)
{
    strcpy(layouts, recipe->layouts);
    for (char *at = layouts; (at = strchr(at, 'w'));) *at = 'c';
}

static gpu_emulator_thread gpu_kernel(const struct recipe *recipe, const struct kiln_gpu_config *config)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    char layouts[MOST + 1];
    layouts_of(recipe, layouts);
    CHECK_OK(kiln__gpu_print(&recipe->group, layouts, config, &text, &err), &err);
    return load_gpu_text(&text);
}

static kernel_entry cpu_kernel(const struct recipe *recipe)
{
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    char layouts[MOST + 1];
    layouts_of(recipe, layouts);
    CHECK_OK(kiln__group_print(&recipe->group, layouts, KILN_GROUP_ROWS, &text, &err), &err);
    return load_text(&text, "x86-64-v2");
}

static uint64_t word(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void run_cpu(struct job *job, kernel_entry kernel)
{
    uint64_t args[3 * MOST];
    int64_t strides[4 * MOST];
    uint32_t next = 0;
    const struct kiln_group *group = &job->recipe->group;
    for (uint32_t i = 0; i < group->output_count + group->operand_count; i++, next++) {
        const struct rows *rows = i < group->output_count ? &job->cpu[i] : &job->in[i - group->output_count];
        args[next] = word(rows->data);
        strides[2 * next] = rows->row;
        strides[2 * next + 1] = rows->inner;
    }
    for (uint32_t i = 0; i < group->constant_count; i++) args[next++] = job->recipe->bits[i];
    kernel(args, strides, job->rows, job->n);
}

/* The rows as one axis, or as two of which the outer one has the stride of `rows / inner` rows. */
static void run_gpu(struct job *job, gpu_emulator_thread kernel, int team, int axes)
{
    uint64_t words[8 * MOST];
    uint32_t next = 0;
    const struct kiln_group *group = &job->recipe->group;
    int outer = axes > 1 ? 2 : 1, sizes[2] = {axes > 1 ? outer : job->rows, job->rows / outer};
    CHECK_EQ(job->rows % outer, 0);
    for (uint32_t i = 0; i < group->output_count; i++) words[next++] = word(job->gpu[i].data);
    for (uint32_t i = 0; i < group->operand_count; i++) words[next++] = word(job->in[i].data);
    for (uint32_t i = 0; i < group->constant_count; i++) words[next++] = job->recipe->bits[i];
    words[next++] = (uint64_t)job->rows;
    words[next++] = (uint64_t)job->n;
    words[next++] = (uint64_t)team;
    words[next++] = (uint64_t)job->rows; /* shows nowhere */
    for (uint32_t i = 0; i < group->operand_count; i++) words[next++] = (uint64_t)job->in[i].inner;
    for (int a = 0; a < axes; a++) {
        int64_t step = a < axes - 1 ? sizes[1] : 1;
        words[next++] = (uint64_t)sizes[a];
        for (uint32_t i = 0; i < group->output_count; i++) words[next++] = (uint64_t)(job->gpu[i].row * step);
        for (uint32_t i = 0; i < group->operand_count; i++) words[next++] = (uint64_t)(job->in[i].row * step);
    }
    uint32_t warps = kiln__gpu_row_block((uint32_t)team), rows = warps / (uint32_t)team;
    const char *fault = gpu_emulator_launch(kernel, ((uint32_t)job->rows + rows - 1) / rows, warps * KILN_GPU_WARP,
                                            (size_t)warps * kiln__gpu_row_kept(group), words);
    if (fault) CHECK_FAIL("%s", fault);
}
#define run_gpu(...) CHECK_CALL(run_gpu, __VA_ARGS__)

static void expect_equal(const struct job *job, const char *what, int team)
{
    for (uint32_t i = 0; i < job->recipe->group.output_count; i++)
        for (size_t k = 0; k < job->cpu[i].bytes; k++)
            if (job->gpu[i].data[k] != job->cpu[i].data[k])
                CHECK_FAIL("%s: %d rows of %d, %d warps each: byte %zu of output %u is wrong", what, job->rows, job->n,
                           team, k, i);
}
#define expect_equal(...) CHECK_CALL(expect_equal, __VA_ARGS__)

/* ---- single reductions ----------------------------------------------------------------------------------------- */

static const enum kiln_op reduction_ops[REDUCTIONS] = {KILN_OP_SUM, KILN_OP_PROD, KILN_OP_MIN,
                                                       KILN_OP_MAX, KILN_OP_ALL,  KILN_OP_ANY};

static void make_reduction(struct recipe *recipe, int which, enum kiln_dtype in, char layout)
{
    start(recipe);
    operand(recipe, in, layout);
    enum kiln_dtype out = (enum kiln_dtype)reduction_result(&reduction_rules[which], (mlx_dtype)in);
    output(recipe, apply(recipe, reduction_ops[which], out, 0, 0));
}
#define make_reduction(...) CHECK_CALL(make_reduction, __VA_ARGS__)

static void check_reduction(struct job *job, gpu_emulator_thread kernel, int which, int team)
{
    const struct reduction_rule *rule = &reduction_rules[which];
    mlx_dtype in = (mlx_dtype)job->recipe->operands[0], out = reduction_result(rule, in), lane = reduction_lane(out);
    struct scalar *list = malloc(((size_t)job->n + 1) * sizeof *list);
    CHECK_NOT_NULL(list);
    run_gpu(job, kernel, team, 1);
    for (int row = 0; row < job->rows; row++) {
        for (int i = 0; i < job->n; i++)
            list[i] = scalar_cast(scalar_load(job->in[0].data + row * job->in[0].row + i * job->in[0].inner, in), lane);
        struct scalar want = scalar_cast(reduce_list(rule, list, job->n, lane), out),
                      got = scalar_load(job->gpu[0].data + row * job->gpu[0].row, out);
        if (!same_scalar(got, want))
            CHECK_FAIL("%s of %d elements of %s, %d warps: row %d is wrong", rule->name, job->n, facts[in].name, team,
                       row);
    }
    free(list);
}
#define check_reduction(...) CHECK_CALL(check_reduction, __VA_ARGS__)

static const int lengths[] = {0, 1, 15, 16, 17, 31, 33, 300, 1000, 1023, 1024, 1025, 4096, 5000};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

/* Each reduction and dtype with every length; the numbers of warps and the layouts by turns. */
static void reductions_of_every_dtype(void **state)
{
    (void)state;
    struct recipe recipe;
    struct job job;
    uint64_t seed = 7;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    for (int which = 0; which < REDUCTIONS; which++) {
        for (int dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            if (reduction_rules[which].result == TRUTH && dtype == KILN_COMPLEX64) continue;
            make_reduction(&recipe, which, (enum kiln_dtype)dtype, "cv"[(which + dtype) % 2]);
            gpu_emulator_thread kernel = gpu_kernel(&recipe, &config);
            for (int i = 0; i < LENGTHS; i++) {
                int team = 1 << (i + dtype + which) % 4;
                make_job(&job, &recipe, lengths[i] > 2000 ? 1 : 3, lengths[i], i % 2, &seed);
                check_reduction(&job, kernel, which, team);
                free_job(&job);
            }
        }
    }
}

/* More chunks than lanes, every number of warps. */
static void long_rows(void **state)
{
    (void)state;
    struct recipe recipe;
    struct job job;
    uint64_t seed = 8;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1, .wide = true, .is_long = true};
    make_reduction(&recipe, REDUCE_SUM, KILN_FLOAT32, 'c');
    gpu_emulator_thread kernel = gpu_kernel(&recipe, &config);
    for (int team = 1; team <= 8; team *= 2) {
        make_job(&job, &recipe, 2, 20000 + team, true, &seed);
        check_reduction(&job, kernel, REDUCE_SUM, team);
        free_job(&job);
    }
}

/* Rows whose largest and smallest elements are zeros of both signs: the last one wins, in the order of the contract. */
static void fill_zeros(struct rows *rows, enum kiln_dtype dtype, int which, bool has_nan, uint64_t *state)
{
    size_t size = kiln__dtype_size(dtype);
    for (size_t i = 0; i < rows->bytes / size; i++) {
        float other = which == REDUCE_MAX ? -1.0f : 1.0f, zero = random_below(state, 2) ? 0.0f : -0.0f;
        float x = random_below(state, 3) ? other : zero;
        if (has_nan && random_below(state, 400) == 0) x = NAN;
        scalar_store(rows->data + i * size, scalar_cast(make_float(x, MLX_FLOAT32), (mlx_dtype)dtype));
    }
}

static void zeros_keep_the_sign_of_the_last_one(void **state)
{
    (void)state;
    static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64};
    static const int counts[] = {1, 2, 17, 33, 511, 512, 700, 1024, 1025, 3000, 9000};
    struct recipe recipe;
    struct job job;
    uint64_t seed = 12;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    for (int k = 0; k < 8; k++) {
        int which = k % 2 ? REDUCE_MAX : REDUCE_MIN;
        make_reduction(&recipe, which, dtypes[k / 2], "cv"[k / 2 % 2]);
        gpu_emulator_thread kernel = gpu_kernel(&recipe, &config);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            make_job(&job, &recipe, 4, counts[i], true, &seed);
            fill_zeros(&job.in[0], dtypes[k / 2], which, i % 3 == 2, &seed);
            check_reduction(&job, kernel, which, 1 << (i + (size_t)k) % 4);
            free_job(&job);
        }
    }
}

/* ---- fused rows ------------------------------------------------------------------------------------------------ */

static void make_softmax(struct recipe *r, enum kiln_dtype dtype)
{
    start(r);
    uint32_t x = operand(r, dtype, 'c'), m = apply(r, KILN_OP_MAX, dtype, x, 0);
    uint32_t e = apply(r, KILN_OP_EXP, dtype, apply(r, KILN_OP_SUBTRACT, dtype, x, m), 0);
    output(r, apply(r, KILN_OP_DIVIDE, dtype, e, apply(r, KILN_OP_SUM, dtype, e, 0)));
}
#define make_softmax(...) CHECK_CALL(make_softmax, __VA_ARGS__)

static void make_logsumexp(struct recipe *r, enum kiln_dtype dtype)
{
    start(r);
    uint32_t x = operand(r, dtype, 'v'), m = apply(r, KILN_OP_MAX, dtype, x, 0);
    uint32_t e = apply(r, KILN_OP_EXP, dtype, apply(r, KILN_OP_SUBTRACT, dtype, x, m), 0);
    uint32_t l = apply(r, KILN_OP_LOG, dtype, apply(r, KILN_OP_SUM, dtype, e, 0), 0);
    output(r, apply(r, KILN_OP_ADD, dtype, l, m));
}

/* x * rsqrt(mean(x * x)) * w, in float32 */
static void make_rms_norm(struct recipe *r, enum kiln_dtype dtype)
{
    start(r);
    uint32_t x = operand(r, dtype, 'c'), w = operand(r, dtype, 'w'), share = operand(r, KILN_FLOAT32, 's');
    uint32_t epsilon = constant(r, 1e-5f), wide = apply(r, KILN_OP_CAST, KILN_FLOAT32, x, 0);
    uint32_t sum = apply(r, KILN_OP_SUM, KILN_FLOAT32, apply(r, KILN_OP_SQUARE, KILN_FLOAT32, wide, 0), 0);
    uint32_t mean = apply(r, KILN_OP_MULTIPLY, KILN_FLOAT32, sum, share);
    uint32_t scale = apply(r, KILN_OP_RSQRT, KILN_FLOAT32, apply(r, KILN_OP_ADD, KILN_FLOAT32, mean, epsilon), 0);
    uint32_t out = apply(r, KILN_OP_CAST, dtype, apply(r, KILN_OP_MULTIPLY, KILN_FLOAT32, wide, scale), 0);
    output(r, apply(r, KILN_OP_MULTIPLY, dtype, out, w));
}

/* With the mean and a count of what is large as outputs of one element per row. */
static void make_layer_norm(struct recipe *r, enum kiln_dtype dtype)
{
    start(r);
    uint32_t x = operand(r, dtype, 'c'), w = operand(r, dtype, 'w'), b = operand(r, dtype, 'v');
    uint32_t share = operand(r, dtype, 's');
    uint32_t mean = apply(r, KILN_OP_MULTIPLY, dtype, apply(r, KILN_OP_SUM, dtype, x, 0), share);
    uint32_t d = apply(r, KILN_OP_SUBTRACT, dtype, x, mean);
    uint32_t sum = apply(r, KILN_OP_SUM, dtype, apply(r, KILN_OP_MULTIPLY, dtype, d, d), 0);
    uint32_t large = apply(r, KILN_OP_GREATER, KILN_BOOL, d, share);
    uint32_t count = apply(r, KILN_OP_SUM, KILN_INT32, large, 0), some = apply(r, KILN_OP_ANY, KILN_BOOL, large, 0);
    uint32_t scale = apply(r, KILN_OP_RSQRT, dtype, apply(r, KILN_OP_MULTIPLY, dtype, sum, share), 0);
    uint32_t y = apply(r, KILN_OP_MULTIPLY, dtype, apply(r, KILN_OP_MULTIPLY, dtype, d, scale), w);
    output(r, count);
    output(r, apply(r, KILN_OP_ADD, dtype, y, b));
    output(r, mean);
    output(r, large);
    output(r, some);
}

static void check_recipe(const char *what, const struct recipe *recipe, uint64_t *seed)
{
    struct job job;
    kernel_entry cpu = cpu_kernel(recipe);
    const struct kiln_gpu_config configs[2] = {{.schedule = KILN_GPU_ROWS, .axes = 1},
                                               {.schedule = KILN_GPU_ROWS, .axes = 2, .wide = true, .is_long = true}};
    for (int f = 0; f < 2; f++) {
        gpu_emulator_thread gpu = gpu_kernel(recipe, &configs[f]);
        for (int i = f; i < LENGTHS; i += 1 + 2 * f) {
            for (int k = i % 2; k < 4; k += 2) {
                int team = 1 << k;
                make_job(&job, recipe, lengths[i] > 2000 ? 2 : 4, lengths[i], true, seed);
                run_cpu(&job, cpu);
                run_gpu(&job, gpu, team, configs[f].axes);
                expect_equal(&job, what, team);
                free_job(&job);
            }
        }
    }
}

static void fused_rows_are_as_on_the_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*make)(struct recipe *recipe, enum kiln_dtype dtype);
    } makers[] = {{"softmax", make_softmax},
                  {"logsumexp", make_logsumexp},
                  {"rms norm", make_rms_norm},
                  {"layer norm", make_layer_norm}};
    static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16, KILN_FLOAT64};
    struct recipe recipe;
    uint64_t seed = 9;
    for (size_t m = 0; m < sizeof makers / sizeof makers[0]; m++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            if (dtypes[d] == KILN_FLOAT64 && makers[m].make == make_rms_norm) continue; /* float64 is not narrowed */
            makers[m].make(&recipe, dtypes[d]);
            check_recipe(makers[m].name, &recipe, &seed);
        }
    }
}

/* Rows around the borders of spans, chunks and what slots hold; with the number of warps that they are launched with.
 */
static void rows_of_every_length(void **state)
{
    (void)state;
    static const int more[] = {127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4096, 8192, 8193, 20000};
    enum { SHORT = 40, MORE = sizeof more / sizeof more[0] };
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    struct recipe recipe;
    struct job job;
    uint64_t seed = 13;
    void (*const makers[])(struct recipe *, enum kiln_dtype) = {make_softmax, make_rms_norm, make_layer_norm};
    for (int m = 0; m < 3; m++) {
        makers[m](&recipe, m == 1 ? KILN_BFLOAT16 : KILN_FLOAT32);
        kernel_entry cpu = cpu_kernel(&recipe);
        gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
        for (int i = 0; i < SHORT + MORE; i++) {
            int n = i < SHORT ? i + 1 : more[i - SHORT], team = (int)kiln__gpu_row_warps(n);
            make_job(&job, &recipe, n > 1024 ? 1 : 9, n, true, &seed);
            run_cpu(&job, cpu);
            run_gpu(&job, gpu, team, 1);
            expect_equal(&job, "a row", team);
            free_job(&job);
        }
    }
}

/* ---- division by what a row shares ------------------------------------------------------------------------------ */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Any float with an exponent from `low` to `high`, biased; 0 has zeros and subnormal numbers, 255 infinities and NaN.
 */
static float float_between(int low, int high, uint64_t *state)
{
    uint32_t exponent = (uint32_t)(low + random_below(state, high - low + 1)), sign = (uint32_t)random_below(state, 2);
    uint32_t fraction = (uint32_t)random_below(state, 1 << 23);
    if (random_below(state, 4) == 0) fraction = random_below(state, 2) ? 0x7fffff : 0;
    return from_bits(sign << 31 | exponent << 23 | fraction);
}

/* Stretches of 64 elements, so that a thread's elements are often of one kind: common, zeros among them, anything. */
static void fill_quotients(struct job *job, uint64_t *state)
{
    static const int divisors[][2] = {{120, 140}, {67, 151}, {66, 153}, {0, 255}};
    for (int row = 0; row < job->rows; row++) {
        const int *range = divisors[random_below(state, 4)];
        float d = float_between(range[0], range[1], state);
        if (random_below(state, 4)) d = fabsf(d);
        memcpy(job->in[1].data + row * job->in[1].row, &d, sizeof d);
        int mode = random_below(state, 4);
        for (int i = 0; i < job->n; i++) {
            float x = mode < 3 ? float_between(27, 192, state) : float_between(0, 255, state);
            if (mode > 0 && random_below(state, 4) == 0) x = mode == 1 ? 0.0f : copysignf(0.0f, x);
            if (mode == 2 && random_below(state, 16) == 0) x = float_between(25, 29, state);
            memcpy(job->in[0].data + row * job->in[0].row + i * job->in[0].inner, &x, sizeof x);
        }
    }
}

static void quotients_are_those_of_division(void **state)
{
    (void)state;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    struct recipe recipe;
    struct job job;
    uint64_t seed = 14;
    start(&recipe);
    uint32_t x = operand(&recipe, KILN_FLOAT32, 'c'), d = operand(&recipe, KILN_FLOAT32, 's');
    output(&recipe, apply(&recipe, KILN_OP_DIVIDE, KILN_FLOAT32, x, d));
    output(&recipe, apply(&recipe, KILN_OP_ANY, KILN_BOOL, x, 0));
    kernel_entry cpu = cpu_kernel(&recipe);
    gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
    for (int round = 0; round < 60; round++) {
        make_job(&job, &recipe, 16, 600 + round, true, &seed);
        fill_quotients(&job, &seed);
        run_cpu(&job, cpu);
        run_gpu(&job, gpu, 1, 1);
        expect_equal(&job, "a division", 1);
        free_job(&job);
    }
}

/* Stretches of common numbers, of those around the bounds, and of anything; whoever is beyond takes the others along.
 */
static void fill_exponents(struct job *job, uint64_t *state)
{
    static const float ends[] = {-104.0f, -87.4f, -86.1f, -86.0f, -85.9f, 87.9f, 88.0f, 88.1f, 88.8f, -INFINITY, NAN};
    for (int row = 0; row < job->rows; row++) {
        int mode = row % 3;
        for (int i = 0; i < job->n; i++) {
            float x = (float)(random_below(state, 174000) - 86000) / 1000.0f;
            if (mode == 1 && random_below(state, 24) == 0)
                x = ends[random_below(state, (int)(sizeof ends / sizeof *ends))];
            if (mode == 2) x = float_between(0, 255, state);
            memcpy(job->in[0].data + row * job->in[0].row + i * job->in[0].inner, &x, sizeof x);
        }
    }
}

static void exponentials_together_are_those_alone(void **state)
{
    (void)state;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    struct recipe recipe;
    struct job job;
    uint64_t seed = 16;
    start(&recipe);
    uint32_t x = operand(&recipe, KILN_FLOAT32, 'c');
    output(&recipe, apply(&recipe, KILN_OP_EXP, KILN_FLOAT32, x, 0));
    output(&recipe, apply(&recipe, KILN_OP_ANY, KILN_BOOL, x, 0));
    kernel_entry cpu = cpu_kernel(&recipe);
    gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
    for (int round = 0; round < 30; round++) {
        make_job(&job, &recipe, 12, 600 + round, true, &seed);
        fill_exponents(&job, &seed);
        run_cpu(&job, cpu);
        run_gpu(&job, gpu, 1, 1);
        expect_equal(&job, "an exponential", 1);
        free_job(&job);
    }
}

/* Exponentials of minus infinity are zeros, which the division has a way for. */
static void masked_softmax(void **state)
{
    (void)state;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    struct recipe recipe;
    struct job job;
    uint64_t seed = 15;
    make_softmax(&recipe, KILN_FLOAT32);
    kernel_entry cpu = cpu_kernel(&recipe);
    gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
    for (int n = 900; n < 5000; n += 1300) {
        make_job(&job, &recipe, 4, n, true, &seed);
        for (int row = 0; row < 4; row++)
            for (int i = row * n / 4; i < n; i++) {
                float x = row == 3 ? -70.0f - (float)i : -INFINITY;
                memcpy(job.in[0].data + row * job.in[0].row + i * 4, &x, sizeof x);
            }
        run_cpu(&job, cpu);
        run_gpu(&job, gpu, (int)kiln__gpu_row_warps(n), 1);
        expect_equal(&job, "a masked softmax", (int)kiln__gpu_row_warps(n));
        free_job(&job);
    }
}

/* A value of `dtype`, among those there are. */
static uint32_t some_value(const struct recipe *r, uint32_t count, enum kiln_dtype dtype, uint64_t *seed)
{
    for (;;) {
        uint32_t value = (uint32_t)random_below(seed, (int)count);
        if (dtype_of(r, value) == dtype) return value;
    }
}

/* Chains of element values and reductions of several dtypes, in any order; every third value is an output. */
static void make_random(struct recipe *r, uint64_t *seed)
{
    static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_INT32,
                                             KILN_UINT8,   KILN_BOOL,    KILN_COMPLEX64};
    static const enum kiln_op ops[] = {KILN_OP_ADD, KILN_OP_SUBTRACT, KILN_OP_MULTIPLY, KILN_OP_MAXIMUM};
    static const enum kiln_op reducers[] = {KILN_OP_MAX, KILN_OP_MIN, KILN_OP_SUM, KILN_OP_PROD};
    enum { KINDS = sizeof dtypes / sizeof dtypes[0] };
    start(r);
    for (int i = 0; i < KINDS; i++) operand(r, dtypes[i], "cvw"[random_below(seed, 3)]);
    for (int i = 0; i < 2; i++) operand(r, dtypes[random_below(seed, KINDS)], 's');
    uint32_t count = r->group.operand_count;
    for (int i = 0; i < 14; i++, count++) {
        enum kiln_dtype dtype = dtypes[random_below(seed, KINDS)], to = dtypes[random_below(seed, KINDS - 1)];
        uint32_t a = some_value(r, count, dtype, seed), b = some_value(r, count, dtype, seed);
        if (one_in(seed, 3))
            apply(r, reducers[random_below(seed, dtype == KILN_BOOL ? 2 : 4)], dtype, a, 0);
        else if (one_in(seed, 4))
            apply(r, KILN_OP_CAST, to, a, 0);
        else
            apply(r, ops[random_below(seed, 4)], dtype, a, b);
        if (one_in(seed, 3) || i == 13) output(r, count);
    }
}

static void random_rows_are_as_on_the_cpu(void **state)
{
    (void)state;
    struct recipe recipe;
    struct job job;
    uint64_t seed = 10;
    for (int round = 0; round < 20; round++) {
        const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
        make_random(&recipe, &seed);
        kernel_entry cpu = cpu_kernel(&recipe);
        gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
        for (int team = 1; team <= 8; team *= 2) {
            make_job(&job, &recipe, 3, random_below(&seed, 2500), true, &seed);
            run_cpu(&job, cpu);
            run_gpu(&job, gpu, team, 1);
            expect_equal(&job, "a random group", team);
            free_job(&job);
        }
    }
}

/* Outputs where operands lie: every element is read before it is written. */
static void outputs_may_take_the_place_of_operands(void **state)
{
    (void)state;
    struct recipe recipe;
    struct job job;
    uint64_t seed = 11;
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    make_softmax(&recipe, KILN_FLOAT32);
    kernel_entry cpu = cpu_kernel(&recipe);
    gpu_emulator_thread gpu = gpu_kernel(&recipe, &config);
    for (int team = 1; team <= 8; team *= 2) {
        make_job(&job, &recipe, 3, 3000, true, &seed);
        run_cpu(&job, cpu);
        struct rows in = job.in[0], out = job.gpu[0];
        job.gpu[0] = in;
        run_gpu(&job, gpu, team, 1);
        for (int row = 0; row < 3; row++)
            CHECK_MEM(in.data + row * in.row, job.cpu[0].data + row * in.row, 3000 * sizeof(float));
        job.gpu[0] = out;
        free_job(&job);
    }
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static void too_many_reductions_are_an_error(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    uint8_t operands[1] = {KILN_FLOAT32};
    static struct kiln_instr instrs[COUNT];
    static uint32_t outputs[COUNT];
    struct kiln_group group = {.operand_count = 1,
                               .instr_count = COUNT,
                               .output_count = COUNT,
                               .operand_dtypes = operands,
                               .instrs = instrs,
                               .outputs = outputs};
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_ROWS, .axes = 1};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        instrs[i] = (struct kiln_instr){KILN_OP_SUM, KILN_FLOAT32, {0}};
        outputs[i] = 1 + i;
    }
    CHECK_STATUS(kiln__gpu_print(&group, "c", &config, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "200 reductions");
    kiln__buffer_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_of_every_dtype),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(zeros_keep_the_sign_of_the_last_one),
        cmocka_unit_test(fused_rows_are_as_on_the_cpu),
        cmocka_unit_test(rows_of_every_length),
        cmocka_unit_test(quotients_are_those_of_division),
        cmocka_unit_test(exponentials_together_are_those_alone),
        cmocka_unit_test(masked_softmax),
        cmocka_unit_test(random_rows_are_as_on_the_cpu),
        cmocka_unit_test(outputs_may_take_the_place_of_operands),
        cmocka_unit_test(too_many_reductions_are_an_error),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
