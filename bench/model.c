/*
 * model.c - whole programs: the decoder of examples/llama with random weights, by dtype, layers, rows and context.
 *
 * A decode step can't be faster than reading its weights and its cache once: that floor is the best of several loops
 * by hand over as many bytes, on all cores. A prefill can't be faster than its multiplications: that floor is the rate
 * of OpenBLAS for matrices of 2048 x 2048. Each floor takes turns with what it is compared with.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arrays.h"
#include "bench.h"
#include "child.h"
#include "floors.h"
#include "llama.h"

enum { SIDE = 2048, PROMPT = 64, MAX_CONTEXT = 32768 };

int llama_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list), fputc('\n', stderr);
    va_end(list);
    return 1;
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    mlx_dtype dtype;
    int bits;
    const char *decode_text, *prefill_text;
};

static const struct kind kinds[] = {
    {"float32", MLX_FLOAT32, 0, .decode_text = "0.85 of the floor", .prefill_text = "0.9 of the floor"},
    {"bfloat16", MLX_BFLOAT16, 0, .decode_text = "0.85 of the floor", .prefill_text = "0.9 of the floor"},
    {"4 bits", MLX_FLOAT32, 4, .decode_text = "0.6 of the floor", .prefill_text = "0.8 of the floor"},
    {"8 bits", MLX_FLOAT32, 8, .decode_text = "0.6 of the floor", .prefill_text = "0.8 of the floor"},
};

/* 64 million weights where layers is 4. */
static struct llama_config shape_of(int layers)
{
    return (struct llama_config){.layers = layers,
                                 .width = 1024,
                                 .hidden = 2816,
                                 .vocabulary = 8192,
                                 .heads = 16,
                                 .shared_heads = 8,
                                 .head = 64,
                                 .context = MAX_CONTEXT,
                                 .norm_eps = 1e-5f,
                                 .rope_base = 10000,
                                 .rope_scale = 1};
}

static bool add_random(mlx_map_string_to_array map, const char *name, int rows, int columns, mlx_dtype dtype)
{
    const int shape[] = {rows, columns};
    mlx_array low = mlx_array_new_float32(-0.03f), high = mlx_array_new_float32(0.03f), array = mlx_array_new();
    bool is_vector = rows == 0;
    bool is_made =
        is_vector ? !mlx_ones(&array, shape + 1, 1, dtype, bench_stream())
                  : !mlx_random_uniform(&array, low, high, shape, 2, MLX_FLOAT32, mlx_array_empty, bench_stream()) &&
                        !mlx_astype(&array, array, dtype, bench_stream());
    is_made = is_made && !mlx_map_string_to_array_insert(map, name, array);
    mlx_array_free(low), mlx_array_free(high), mlx_array_free(array);
    return is_made;
}

static bool add_layer(mlx_map_string_to_array map, const struct llama_config *c, int layer, mlx_dtype dtype)
{
    const int keys = c->shared_heads * c->head;
    const struct {
        const char *name;
        int rows, columns;
    } parts[] = {{"input_layernorm", 0, c->width},
                 {"self_attn.q_proj", c->heads * c->head, c->width},
                 {"self_attn.k_proj", keys, c->width},
                 {"self_attn.v_proj", keys, c->width},
                 {"self_attn.o_proj", c->width, c->heads * c->head},
                 {"post_attention_layernorm", 0, c->width},
                 {"mlp.gate_proj", c->hidden, c->width},
                 {"mlp.up_proj", c->hidden, c->width},
                 {"mlp.down_proj", c->width, c->hidden}};
    char name[128];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, parts[i].name);
        if (!add_random(map, name, parts[i].rows, parts[i].columns, dtype)) return false;
    }
    return true;
}

static bool make_model(struct llama *model, const struct kind *kind, int layers)
{
    struct llama_config c = shape_of(layers);
    mlx_map_string_to_array map = mlx_map_string_to_array_new();
    bool is_made = add_random(map, "model.embed_tokens.weight", c.vocabulary, c.width, kind->dtype) &&
                   add_random(map, "lm_head.weight", c.vocabulary, c.width, kind->dtype) &&
                   add_random(map, "model.norm.weight", 0, c.width, kind->dtype);
    for (int layer = 0; layer < layers && is_made; layer++) is_made = add_layer(map, &c, layer, kind->dtype);
    is_made = is_made && !llama_init(model, &c, map, kind->bits, bench_stream());
    mlx_map_string_to_array_free(map);
    mlx_clear_cache();
    return is_made;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

struct steps {
    struct llama model;
    struct llama_cache cache;
    mlx_array prompt, token; /* of `batch` rows */
    int at;                  /* where the next decode step stands */
    int failures;
};

static bool steps_init(struct steps *steps, int batch, int context)
{
    const int shape[] = {batch, context};
    int *tokens = calloc((size_t)batch * (size_t)context, sizeof *tokens);
    if (!tokens || llama_cache_init(&steps->cache, &steps->model, batch, context + PROMPT)) return free(tokens), false;
    for (int i = 0; i < batch * context; i++) tokens[i] = (int)((unsigned)i * 2654435761u % 8192);
    steps->prompt = mlx_array_new_data(tokens, shape, 2, MLX_INT32);
    steps->token = mlx_array_new();
    steps->at = context;
    steps->failures = 0;
    return free(tokens), true;
}

static void steps_release(struct steps *steps)
{
    mlx_array_free(steps->prompt), mlx_array_free(steps->token);
    llama_cache_release(&steps->cache, &steps->model);
}

static void step(struct steps *steps, int at, mlx_array tokens)
{
    mlx_array logits = mlx_array_new();
    steps->cache.length = at;
    bool is_done = !llama_step(&logits, &steps->model, &steps->cache, tokens) &&
                   !llama_sample(&steps->token, logits, 0, steps->model.stream) && !mlx_array_eval(steps->token);
    steps->failures += !is_done;
    mlx_array_free(logits);
}

static void prefill(void *ctx)
{
    struct steps *steps = ctx;
    step(steps, 0, steps->prompt);
}

/* Always at the same position, so that all samples do the same work. */
static void decode(void *ctx)
{
    struct steps *steps = ctx;
    step(steps, steps->at, steps->token);
}

/* ---- floors ----------------------------------------------------------------------------------------------------- */

typedef void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

struct product {
    sgemm run;
    float *a, *b, *out;
};

static void multiply(void *ctx)
{
    const struct product *p = ctx;
    p->run(101, 111, 111, SIDE, SIDE, SIDE, 1, p->a, SIDE, p->b, SIDE, 0, p->out, SIDE);
}

static bool product_init(struct product *product)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library) product->run = (sgemm)(uintptr_t)dlsym(library, "cblas_sgemm");
    product->a = new_floats(SIDE * SIDE), product->b = new_floats(SIDE * SIDE), product->out = new_floats(SIDE * SIDE);
    if (!product->run || !product->a || !product->b || !product->out) return false;
    fill_inputs(product->a, product->b, SIDE * SIDE);
    return true;
}

static void product_release(struct product *product)
{
    free(product->a), free(product->b), free(product->out);
}

/* Multiplications and additions of a prefill: matrices for each token, the last one for one token of each row, and
 * both products of attention for the keys that each query sees. */
static double prefill_work(const struct llama_config *c, int batch, int context)
{
    double queries = (double)c->heads * c->head, keys = (double)c->shared_heads * c->head;
    double layer = (double)c->width * (2 * queries + 2 * keys + 3.0 * c->hidden);
    double seen = (double)context * (context + 1) / 2;
    return 2.0 * batch * (c->layers * (layer * context + 2 * seen * queries) + (double)c->vocabulary * c->width);
}

/* Weights once, and keys and values of each row. */
static double decode_bytes(const struct steps *steps, int batch, int context)
{
    const struct llama_config *c = &steps->model.config;
    double item = (double)mlx_dtype_size(steps->model.dtype);
    return (double)steps->model.step_bytes + 2.0 * c->layers * batch * c->shared_heads * c->head * context * item;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* What is measured on one model. Growth is shown in full for one dtype, and for the others with the heavy rows. */
struct measured {
    int layers, batch, context;
    bool is_growth, is_heavy, has_prefill, has_decode, has_peak;
};

static const struct measured cases[] = {
    {.layers = 4, .batch = 1, .context = PROMPT, .has_prefill = true, .has_decode = true},
    {.layers = 4, .batch = 2, .context = PROMPT, .has_decode = true, .is_growth = true},
    {.layers = 4, .batch = 8, .context = PROMPT, .has_decode = true},
    {.layers = 4, .batch = 1, .context = 1024, .has_prefill = true, .has_decode = true, .has_peak = true},
    {.layers = 4,
     .batch = 1,
     .context = 4096,
     .is_growth = true,
     .has_prefill = true,
     .has_decode = true,
     .has_peak = true},
    {.layers = 4,
     .batch = 1,
     .context = 16384,
     .is_heavy = true,
     .has_prefill = true,
     .has_decode = true,
     .has_peak = true},
    {.layers = 4,
     .batch = 1,
     .context = 32768,
     .is_heavy = true,
     .has_prefill = true,
     .has_decode = true,
     .has_peak = true},
    {.layers = 1, .batch = 1, .context = PROMPT, .has_prefill = true, .has_decode = true, .is_growth = true},
    {.layers = 8, .batch = 1, .context = PROMPT, .has_prefill = true, .has_decode = true, .is_growth = true},
};
enum { CASES = sizeof cases / sizeof *cases, KINDS = sizeof kinds / sizeof *kinds, NAME = 48, ROWS = 128 };

static char names[ROWS][NAME];
static int name_count;

/* The row's name, kept; NULL: it is not wanted. */
static const char *name_row(const struct kind *kind, const struct measured *m, const char *what)
{
    char *name = names[name_count], more[NAME] = "";
    if (name_count == ROWS) return NULL;
    if (m->layers != 4) snprintf(more, sizeof more, " %d layer%s,", m->layers, m->layers > 1 ? "s" : "");
    if (m->batch != 1) snprintf(more, sizeof more, " %d rows,", m->batch);
    snprintf(name, NAME, "model, %s,%s %s %d", kind->name, more, what, m->context);
    bool is_heavy = m->is_heavy || (m->is_growth && kind != &kinds[0]);
    if (!(is_heavy ? is_heavy_wanted : is_wanted)(name)) return NULL;
    return names[name_count++];
}

static void finish(struct row *row, const struct steps *steps)
{
    if (steps->failures) row_fail(row, "%d steps failed", steps->failures);
}

static void measure_prefill(struct row *row, const struct kind *kind, struct steps *steps, const struct measured *m,
                            int repeats)
{
    struct product product = {.run = NULL};
    struct work works[] = {{prefill, steps, 0}, {multiply, &product, 0}};
    row->aim = kind->prefill_text, row->floor_name = "sgemm of 2048 cubed";
    row->tokens = (double)m->batch * m->context;
    if (product_init(&product)) {
        measure(works, 2, 1, m->context > PROMPT ? (repeats + 2) / 3 : repeats);
        row->ns = works[0].ns;
        row->floor_ns =
            works[1].ns * prefill_work(&steps->model.config, m->batch, m->context) / (2.0 * SIDE * SIDE * SIDE);
        finish(row, steps);
    } else {
        row_fail(row, "no memory, or libopenblas.so.0 could not be opened");
    }
    product_release(&product);
}

static void measure_decode(struct row *row, const struct kind *kind, struct steps *steps, const struct measured *m,
                           int repeats)
{
    size_t length = (size_t)(decode_bytes(steps, m->batch, m->context) / sizeof(float));
    struct floor loops[3] = {{floor_sum, NULL, NULL, NULL, length}};
    row->aim = kind->decode_text, row->floor_name = "weights and cache read once";
    row->tokens = m->batch;
    loops[0].a = loops[0].out = new_floats(length);
    loops[1] = loops[2] = loops[0];
    loops[1].run = floor_sum_ahead, loops[2].run = floor_sum_four;
    struct work works[] = {
        {decode, steps, 0}, {run_floor, &loops[0], 0}, {run_floor, &loops[1], 0}, {run_floor, &loops[2], 0}};
    if (loops[0].out) {
        memset(loops[0].out, 0, length * sizeof(float));
        measure(works, 4, 1, repeats);
        row->ns = works[0].ns;
        for (int i = 1; i < 4; i++)
            if (i == 1 || works[i].ns < row->floor_ns) row->floor_ns = works[i].ns;
        finish(row, steps);
    } else {
        row_fail(row, "no memory");
    }
    free(loops[0].out);
}

/* The most memory during a prefill, beside weights, cache and one row of hidden numbers for each token. */
static void measure_peak(struct row *row, struct steps *steps, const struct measured *m)
{
    size_t before = 0, peak = 0;
    mlx_clear_cache(), mlx_get_active_memory(&before), mlx_reset_peak_memory();
    prefill(steps);
    mlx_get_peak_memory(&peak);
    row->is_size = true, row->aim = "linear", row->floor_name = "hidden numbers of the prompt";
    row->ns = (double)(peak - before);
    row->floor_ns = (double)m->context * steps->model.config.hidden * (double)mlx_dtype_size(steps->model.dtype);
    finish(row, steps);
}

static int measure_case(struct row *rows, const struct kind *kind, struct llama *model, const struct measured *m,
                        int repeats)
{
    const char *wanted[] = {m->has_prefill ? name_row(kind, m, "prefill of") : NULL,
                            m->has_decode ? name_row(kind, m, "decode at") : NULL,
                            m->has_peak ? name_row(kind, m, "peak of") : NULL};
    int count = 0;
    if (!wanted[0] && !wanted[1] && !wanted[2]) return 0;
    if (!model->layers && !make_model(model, kind, m->layers)) {
        rows[0] = (struct row){.name = wanted[0] ? wanted[0] : wanted[1] ? wanted[1] : wanted[2]};
        return row_fail(&rows[0], "the model could not be made"), 1;
    }
    struct steps steps = {.model = *model};
    if (!steps_init(&steps, m->batch, m->context)) return 0;
    prefill(&steps);
    for (int i = 0; i < 3; i++) {
        if (!wanted[i]) continue;
        struct row *row = &rows[count++];
        *row = (struct row){.name = wanted[i]};
        if (i == 0) measure_prefill(row, kind, &steps, m, repeats);
        if (i == 1) measure_decode(row, kind, &steps, m, repeats);
        if (i == 2) measure_peak(row, &steps, m);
    }
    steps_release(&steps);
    return count;
}

/* ---- the first step after a prefill ----------------------------------------------------------------------------- */

/* Of a new process: prefill, the first decode step and the median of those that follow. */
bool model_phase(const char *phase, double out[3])
{
    struct steps steps = {.failures = 0};
    struct samples samples = {.count = 0};
    const struct kind *kind = NULL;
    for (int i = 0; i < KINDS; i++)
        if (strncmp(phase, "model ", 6) == 0 && strcmp(phase + 6, kinds[i].name) == 0) kind = &kinds[i];
    if (!kind || !make_model(&steps.model, kind, 4) || !steps_init(&steps, 1, PROMPT)) return false;
    for (int i = -1; i < 20; i++) {
        double start = now_ns();
        if (i < 0)
            prefill(&steps);
        else
            step(&steps, PROMPT + i, steps.token);
        if (i < 1)
            out[1 + i] = now_ns() - start;
        else
            sample_add(&samples, now_ns() - start);
    }
    out[2] = sample_median(&samples);
    steps_release(&steps);
    llama_release(&steps.model);
    return !steps.failures;
}

static int measure_first(struct row *row, const struct kind *kind, int repeats)
{
    static const struct measured plain = {.layers = 4, .batch = 1, .context = PROMPT};
    struct samples first = {.count = 0}, next = {.count = 0};
    char phase[NAME];
    double out[3];
    const char *name = name_row(kind, &plain, "first decode after");
    if (!name) return 0;
    *row = (struct row){.name = name, .aim = "1.0", .floor_name = "decode steps after it"};
    snprintf(phase, sizeof phase, "model %s", kind->name);
    for (int i = 0; i < (repeats + 2) / 3 + 1; i++) { /* the first run fills the folder */
        if (!run_child(phase, out)) return row_fail(row, "the other process failed"), 1;
        if (i) sample_add(&first, out[1]), sample_add(&next, out[2]);
    }
    row->ns = sample_median(&first), row->floor_ns = sample_median(&next);
    return 1;
}

/* What a record of everything costs: decode steps of a process with KILN_TRACE, beside those of one without. */
static int measure_traced(struct row *row, int repeats)
{
    struct samples traced = {.count = 0}, plain = {.count = 0};
    char file[] = "/tmp/kiln-bench-trace-XXXXXX";
    double out[3], untraced[3];
    int made;
    *row = (struct row){
        .name = "model, float32, decode after 64, traced", .aim = "1.03", .floor_name = "without KILN_TRACE"};
    if (!is_wanted(row->name)) return 0;
    if ((made = mkstemp(file)) < 0) return row_fail(row, "no file for the trace"), 1;
    close(made);
    for (int i = 0; i < (repeats + 2) / 3 + 1 && !row->is_missing; i++) { /* the first run fills the folder */
        bool is_done = run_child("model float32", untraced) && setenv("KILN_TRACE", file, 1) == 0 &&
                       run_child("model float32", out);
        unsetenv("KILN_TRACE");
        if (!is_done)
            row_fail(row, "the other process failed");
        else if (i)
            sample_add(&traced, out[2]), sample_add(&plain, untraced[2]);
    }
    unlink(file);
    row->ns = sample_median(&traced), row->floor_ns = sample_median(&plain);
    return 1;
}

int bench_model(struct row *rows, int repeats)
{
    int count = measure_traced(rows, repeats);
    for (int k = 0; k < KINDS; k++) {
        struct llama model = {.layers = NULL};
        for (int i = 0; i < CASES; i++) {
            if (i && cases[i].layers != cases[i - 1].layers && model.layers) llama_release(&model);
            count += measure_case(&rows[count], &kinds[k], &model, &cases[i], repeats);
        }
        if (model.layers) llama_release(&model);
        mlx_clear_cache();
        count += measure_first(&rows[count], &kinds[k], repeats);
    }
    return count;
}
