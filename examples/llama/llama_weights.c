/*
 * llama_weights.c - safetensors to weights. Only headers are read when a file is opened; the bytes of a tensor are read
 * when it is evaluated. The map lets go of each tensor that was taken, so a model that is quantized never lies in
 * memory as floats as a whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_tree.h"
#include "kiln/compile.h"
#include "llama.h"

enum { GROUP = 64, PATH = 4096 };

/* ---- files ------------------------------------------------------------------------------------------------------ */

static int read_shard(mlx_map_string_to_array all, const char *path)
{
    mlx_map_string_to_array tensors = mlx_map_string_to_array_new();
    mlx_map_string_to_string metadata = mlx_map_string_to_string_new();
    mlx_array tensor = mlx_array_new();
    mlx_stream stream = mlx_default_cpu_stream_new();
    const char *name;
    int failed = access(path, R_OK)
                     ? llama_fail("%s is missing or can't be read", path)
                     : mlx_load_safetensors(&tensors, &metadata, path, stream) && llama_fail("%s cannot be used", path);
    mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(tensors);
    while (!failed && mlx_map_string_to_array_iterator_next(&name, &tensor, it) == 0)
        failed = mlx_map_string_to_array_insert(all, name, tensor);
    mlx_map_string_to_array_iterator_free(it), mlx_stream_free(stream), mlx_array_free(tensor);
    mlx_map_string_to_array_free(tensors), mlx_map_string_to_string_free(metadata);
    return failed;
}

/* Each shard once, in the order in which its first tensor stands. */
static int read_shards(mlx_map_string_to_array all, const char *folder, const struct json *index)
{
    const struct json *map = json_get(index, "weight_map");
    char path[PATH];
    int failed = 0;
    if (!map || map->kind != JSON_OBJECT)
        return llama_fail("model.safetensors.index.json of %s has no weight_map", folder);
    for (size_t i = 0; i < map->count && !failed; i++) {
        const char *file = map->items[i].kind == JSON_TEXT ? map->items[i].text : "";
        bool is_read = false;
        for (size_t k = 0; k < i; k++) is_read |= strcmp(map->items[k].text, file) == 0;
        if (is_read) continue;
        if (!*file || strchr(file, '/'))
            return llama_fail("weight_map of %s names no file of this folder for %s", folder, map->names[i]);
        snprintf(path, sizeof path, "%s/%s", folder, file);
        failed = read_shard(all, path);
    }
    return failed;
}

int llama_weights_read(mlx_map_string_to_array *out, const char *folder)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    if (access(path, F_OK) == 0) {
        struct json *index = json_read(path);
        int failed = !index || read_shards(*out, folder, index);
        return json_free(index), failed;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (access(path, F_OK))
        return llama_fail("%s has neither model.safetensors nor model.safetensors.index.json", folder);
    return read_shard(*out, path);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static bool is_float(mlx_dtype dtype)
{
    return dtype == MLX_FLOAT32 || dtype == MLX_FLOAT16 || dtype == MLX_BFLOAT16;
}

/* One tensor of rows x columns, or of `columns` numbers when rows is 0, in the dtype of the model. */
static int take_tensor(mlx_array *out, const struct llama *model, mlx_map_string_to_array weights, const char *name,
                       int rows, int columns)
{
    bool is_there = mlx_map_string_to_array_get(out, weights, name) == 0;
    if (!is_there) return llama_fail("no file of the model has a tensor %s", name);
    const int *shape = mlx_array_shape(*out);
    size_t ndim = mlx_array_ndim(*out);
    bool fits = rows ? ndim == 2 && shape[0] == rows && shape[1] == columns : ndim == 1 && shape[0] == columns;
    if (!fits && rows) return llama_fail("%s must have shape (%d, %d) by config.json", name, rows, columns);
    if (!fits) return llama_fail("%s must have shape (%d) by config.json", name, columns);
    if (!is_float(mlx_array_dtype(*out))) return llama_fail("%s must be float32, float16 or bfloat16", name);
    return mlx_astype(out, *out, model->dtype, model->stream);
}

static int quantize(struct llama_matrix *out, const struct llama *model)
{
    const mlx_optional_int group = {GROUP, true}, bits = {model->bits, true};
    mlx_vector_array parts = mlx_vector_array_new();
    int failed = mlx_quantize(&parts, out->weight, group, bits, "affine", mlx_array_empty, model->stream) ||
                 mlx_vector_array_get(&out->weight, parts, 0) || mlx_vector_array_get(&out->scales, parts, 1) ||
                 mlx_vector_array_get(&out->biases, parts, 2) || mlx_eval(parts);
    return mlx_vector_array_free(parts), failed;
}

static int take_matrix(struct llama_matrix *out, struct llama *model, mlx_map_string_to_array weights, const char *name,
                       int rows, int columns)
{
    int failed = take_tensor(&out->weight, model, weights, name, rows, columns);
    if (!failed && model->bits && columns % GROUP)
        return llama_fail("%s has rows of %d numbers; --quantize needs a multiple of %d", name, columns, GROUP);
    failed = failed || (model->bits ? quantize(out, model) : mlx_array_eval(out->weight));
    if (failed) return 1;
    model->step_bytes += mlx_array_nbytes(out->weight);
    if (model->bits) model->step_bytes += mlx_array_nbytes(out->scales) + mlx_array_nbytes(out->biases);
    return 0;
}

/* The map's reference goes; it can hold no gap, so a number takes the place. */
static int let_go(mlx_map_string_to_array weights, const char *name)
{
    mlx_array nothing = mlx_array_new_int(0);
    int failed = mlx_map_string_to_array_insert(weights, name, nothing);
    return mlx_array_free(nothing), failed;
}

static int take_layer(struct llama *model, mlx_map_string_to_array weights, int number)
{
    struct llama_layer *layer = &model->layers[number];
    const struct llama_config *c = &model->config;
    const int queries = c->heads * c->head, keys = c->shared_heads * c->head;
    const struct {
        const char *name;
        int rows, columns;
        struct llama_matrix *matrix;
        mlx_array *vector;
    } parts[] = {{"input_layernorm", 0, c->width, NULL, &layer->norm_1},
                 {"self_attn.q_proj", queries, c->width, &layer->query, NULL},
                 {"self_attn.k_proj", keys, c->width, &layer->key, NULL},
                 {"self_attn.v_proj", keys, c->width, &layer->value, NULL},
                 {"self_attn.o_proj", c->width, queries, &layer->out, NULL},
                 {"post_attention_layernorm", 0, c->width, NULL, &layer->norm_2},
                 {"mlp.gate_proj", c->hidden, c->width, &layer->gate, NULL},
                 {"mlp.up_proj", c->hidden, c->width, &layer->up, NULL},
                 {"mlp.down_proj", c->width, c->hidden, &layer->down, NULL}};
    char name[128];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", number, parts[i].name);
        if (parts[i].matrix ? take_matrix(parts[i].matrix, model, weights, name, parts[i].rows, parts[i].columns)
                            : take_tensor(parts[i].vector, model, weights, name, 0, parts[i].columns))
            return 1;
        if (let_go(weights, name)) return 1;
    }
    return 0;
}

/* The table gives rows to tokens; only as the last matrix is it read as a whole, so only there it is quantized. */
static int take_ends(struct llama *model, mlx_map_string_to_array weights)
{
    static const char table[] = "model.embed_tokens.weight";
    const struct llama_config *c = &model->config;
    return take_tensor(&model->embeddings, model, weights, table, c->vocabulary, c->width) ||
           mlx_array_eval(model->embeddings) ||
           take_tensor(&model->norm, model, weights, "model.norm.weight", 0, c->width) ||
           take_matrix(&model->head, model, weights, c->ties_embeddings ? table : "lm_head.weight", c->vocabulary,
                       c->width);
}

/* Wave lengths of pairs, longer where Llama 3 stretches them: those that turn less than low_factor times in the
 * original context by `factor`, those that turn more than high_factor times not at all, in between in proportion. */
static int make_turns(struct llama *model)
{
    const struct llama_config *c = &model->config;
    int half = c->head / 2;
    float *lengths = c->factor > 0 ? malloc((size_t)half * sizeof *lengths) : NULL;
    if (c->factor <= 0) return 0;
    if (!lengths) return llama_fail("out of memory");
    for (int i = 0; i < half; i++) {
        double length = pow((double)c->rope_base, (double)i / half);
        double turns = (double)c->original_context / (2 * M_PI * length);
        double share = (turns - (double)c->low_factor) / ((double)c->high_factor - (double)c->low_factor);
        share = share < 0 ? 0 : share > 1 ? 1 : share;
        lengths[i] = (float)(length / ((1 - share) / (double)c->factor + share));
    }
    int failed = mlx_array_set_data(&model->turns, lengths, &half, 1, MLX_FLOAT32);
    return free(lengths), failed;
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

/* silu(gate) * up: two matrices in, one out, and one kernel when it is compiled. */
static int swiglu(mlx_array *res, const mlx_array gate, const mlx_array up, void *stream)
{
    mlx_stream s = *(mlx_stream *)stream;
    return mlx_sigmoid(res, gate, s) || mlx_multiply(res, gate, *res, s) || mlx_multiply(res, *res, up, s);
}

/* The model computes in the dtype of its first matrix. */
static int read_dtype(struct llama *model, mlx_map_string_to_array weights)
{
    mlx_array first = mlx_array_new();
    int failed = mlx_map_string_to_array_get(&first, weights, "model.layers.0.self_attn.q_proj.weight");
    model->dtype = failed ? MLX_FLOAT32 : mlx_array_dtype(first);
    if (!failed && !is_float(model->dtype))
        failed = llama_fail("the weights must be float32, float16 or bfloat16");
    else if (failed)
        llama_fail("no file of the model has a tensor model.layers.0.self_attn.q_proj.weight");
    return mlx_array_free(first), failed;
}

static int load(struct llama *model, mlx_map_string_to_array weights)
{
    model->layers = calloc((size_t)model->config.layers, sizeof *model->layers);
    if (!model->layers) return llama_fail("out of memory");
    if (read_dtype(model, weights) || take_ends(model, weights) || make_turns(model)) return 1;
    for (int i = 0; i < model->config.layers; i++)
        if (take_layer(model, weights, i)) return 1;
    return kiln_compile_binary(&model->activation, "swiglu", swiglu, &model->stream, NULL, true);
}

int llama_init(struct llama *out, const struct llama_config *config, mlx_map_string_to_array weights, int bits,
               mlx_stream stream)
{
    *out = (struct llama){.config = *config, .bits = bits, .stream = mlx_stream_new()};
    out->activation = mlx_closure_new();
    int failed = mlx_stream_set(&out->stream, stream) || load(out, weights);
    if (failed) llama_release(out);
    return failed;
}

int llama_open(struct llama *out, const char *folder, int bits, mlx_stream stream)
{
    struct llama_config config;
    mlx_map_string_to_array weights = mlx_map_string_to_array_new();
    int failed = llama_config_read(&config, folder) || llama_weights_read(&weights, folder) ||
                 llama_init(out, &config, weights, bits, stream);
    return mlx_map_string_to_array_free(weights), failed;
}

static void free_matrix(struct llama_matrix *matrix)
{
    mlx_array_free(matrix->weight), mlx_array_free(matrix->scales), mlx_array_free(matrix->biases);
}

void llama_release(struct llama *model)
{
    for (int i = 0; model->layers && i < model->config.layers; i++) {
        struct llama_layer *layer = &model->layers[i];
        struct llama_matrix *matrices[] = {&layer->query, &layer->key, &layer->value, &layer->out,
                                           &layer->gate,  &layer->up,  &layer->down};
        for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++) free_matrix(matrices[k]);
        mlx_array_free(layer->norm_1), mlx_array_free(layer->norm_2);
    }
    free_matrix(&model->head);
    mlx_array_free(model->embeddings), mlx_array_free(model->norm), mlx_array_free(model->turns);
    mlx_closure_free(model->activation), mlx_stream_free(model->stream);
    free(model->layers);
    *model = (struct llama){0};
}
