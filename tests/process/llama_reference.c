/*
 * llama_reference.c - what examples/llama is compared with: a tiny random model in a folder, and the same decoder in
 * float64, written as loops, without a cache.
 *
 *     llama_reference make FOLDER DTYPE SHARDS SEED [tied] [llama3]   writes config.json and safetensors
 *     llama_reference run FOLDER BITS NEAREST COUNT TOKEN...          prints COUNT tokens, the likeliest one each time
 *
 * With BITS, matrices are what the codes of mlx_quantize() stand for, code * scale + bias in float64. Where the two
 * likeliest tokens are nearer to each other than NEAREST of the logits' spread, rounding could choose, and `run` fails:
 * such a model can't serve as a test.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx/c/mlx.h"

enum {
    LAYERS = 3,
    WIDTH = 128,
    HIDDEN = 192,
    VOCABULARY = 96,
    HEADS = 4,
    SHARED = 2,
    HEAD = 32,
    GROUP = 64,
    LENGTH = 256,
};
enum weight { NORM_1, QUERY, KEY, VALUE, OUT, NORM_2, GATE, UP, DOWN, LAYER_WEIGHTS };

static const struct {
    const char *name;
    int rows, columns; /* 0 rows: a vector */
} shapes[LAYER_WEIGHTS] = {
    [NORM_1] = {"input_layernorm", 0, WIDTH},          [QUERY] = {"self_attn.q_proj", HEADS *HEAD, WIDTH},
    [KEY] = {"self_attn.k_proj", SHARED *HEAD, WIDTH}, [VALUE] = {"self_attn.v_proj", SHARED *HEAD, WIDTH},
    [OUT] = {"self_attn.o_proj", WIDTH, HEADS *HEAD},  [NORM_2] = {"post_attention_layernorm", 0, WIDTH},
    [GATE] = {"mlp.gate_proj", HIDDEN, WIDTH},         [UP] = {"mlp.up_proj", HIDDEN, WIDTH},
    [DOWN] = {"mlp.down_proj", WIDTH, HIDDEN},
};

static mlx_stream stream;
static double nearest;

static void need(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "llama_reference: %s\n", what);
    exit(1);
}

/* ---- make ------------------------------------------------------------------------------------------------------- */

static uint64_t state;

/* Between -1 and 1, the same in every run. */
static float draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

static void add(mlx_map_string_to_array map, const char *name, int rows, int columns, mlx_dtype dtype)
{
    static float values[(HIDDEN + VOCABULARY) * HIDDEN];
    const int shape[] = {rows ? rows : columns, columns};
    int count = (rows ? rows : 1) * columns;
    for (int i = 0; i < count; i++) values[i] = rows ? draw() * 2.5f / sqrtf((float)columns) : 1 + draw() / 4;
    if (strstr(name, "embed"))
        for (int i = 0; i < count; i++) values[i] *= 4;
    mlx_array array = mlx_array_new_data(values, shape, rows ? 2 : 1, MLX_FLOAT32);
    need(!mlx_astype(&array, array, dtype, stream) && !mlx_map_string_to_array_insert(map, name, array), name);
    mlx_array_free(array);
}

static void write_config(const char *folder, bool is_tied, bool is_llama3)
{
    char path[512];
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    need(file, path);
    fprintf(file,
            "{\"model_type\": \"llama\", \"hidden_act\": \"silu\", \"num_hidden_layers\": %d, \"hidden_size\": %d,\n"
            " \"intermediate_size\": %d, \"vocab_size\": %d, \"num_attention_heads\": %d,\n"
            " \"num_key_value_heads\": %d, \"rms_norm_eps\": 1e-5, \"rope_theta\": 1e3, \"rope_scaling\": %s,\n"
            " \"max_position_embeddings\": %d, \"tie_word_embeddings\": %s, \"eos_token_id\": [200, 201]}\n",
            LAYERS, WIDTH, HIDDEN, VOCABULARY, HEADS, SHARED,
            is_llama3 ? "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"original_max_position_embeddings\": 64}"
                      : "null",
            LENGTH, is_tied ? "true" : "false");
    need(!fclose(file), path);
}

/* One file, or one for each layer and one for the rest, with an index. */
static void make(const char *folder, mlx_dtype dtype, bool is_sharded, bool is_tied, bool is_llama3)
{
    char path[512], name[128];
    mlx_map_string_to_string none = mlx_map_string_to_string_new();
    mlx_map_string_to_array map = mlx_map_string_to_array_new();
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    FILE *index = is_sharded ? fopen(path, "w") : NULL;
    if (index) fputs("{\"metadata\": {}, \"weight_map\": {\n", index);
    for (int layer = 0; layer <= LAYERS; layer++) {
        char file[64] = "model.safetensors";
        if (is_sharded) snprintf(file, sizeof file, "model-%05d-of-%05d.safetensors", layer + 1, LAYERS + 1);
        for (int w = 0; w < (layer < LAYERS ? (int)LAYER_WEIGHTS : 3 - is_tied); w++) {
            static const char *const ends[] = {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"};
            if (layer < LAYERS)
                snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, shapes[w].name);
            else
                snprintf(name, sizeof name, "%s", ends[w]);
            add(map, name,
                layer < LAYERS ? shapes[w].rows
                : w == 1       ? 0
                               : VOCABULARY,
                layer < LAYERS ? shapes[w].columns : WIDTH, dtype);
            if (index) fprintf(index, "%s\"%s\": \"%s\"", layer + w ? ",\n" : "", name, file);
        }
        if (!is_sharded && layer < LAYERS) continue;
        snprintf(path, sizeof path, "%s/%s", folder, file);
        need(!mlx_save_safetensors(path, map, none), path);
        mlx_map_string_to_array_free(map);
        map = mlx_map_string_to_array_new();
    }
    if (index) fputs("}}\n", index), fclose(index);
    mlx_map_string_to_array_free(map), mlx_map_string_to_string_free(none);
    write_config(folder, is_tied, is_llama3);
}

/* ---- run -------------------------------------------------------------------------------------------------------- */

struct model {
    double *layers[LAYERS][LAYER_WEIGHTS], *embeddings, *norm, *head;
    double lengths[HEAD / 2]; /* of waves */
};

static const float *floats_of(mlx_array *array)
{
    need(!mlx_astype(array, *array, MLX_FLOAT32, stream) && !mlx_array_eval(*array), "a tensor can't be read");
    return mlx_array_data_float32(*array);
}

/* Codes of 4 or 8 bits, from the low end of each word on. */
static void dequantize(double *out, mlx_array weight, int bits)
{
    mlx_optional_int group = {GROUP, true}, width = {bits, true};
    mlx_vector_array parts = mlx_vector_array_new();
    mlx_array codes = mlx_array_new(), scales = mlx_array_new(), biases = mlx_array_new();
    need(!mlx_quantize(&parts, weight, group, width, "affine", mlx_array_empty, stream) &&
             !mlx_vector_array_get(&codes, parts, 0) && !mlx_vector_array_get(&scales, parts, 1) &&
             !mlx_vector_array_get(&biases, parts, 2) && !mlx_array_eval(codes),
         "a matrix can't be quantized");
    const uint32_t *words = mlx_array_data_uint32(codes);
    const float *scale = floats_of(&scales), *bias = floats_of(&biases);
    size_t count = mlx_array_size(weight), per_word = 32 / (size_t)bits;
    for (size_t i = 0; i < count; i++) {
        uint32_t code = words[i / per_word] >> i % per_word * (size_t)bits & ((1u << bits) - 1);
        out[i] = code * (double)scale[i / GROUP] + (double)bias[i / GROUP];
    }
    mlx_vector_array_free(parts), mlx_array_free(codes), mlx_array_free(scales), mlx_array_free(biases);
}

static double *read_weight(mlx_map_string_to_array map, const char *name, int bits)
{
    mlx_array array = mlx_array_new();
    need(!mlx_map_string_to_array_get(&array, map, name), name);
    size_t count = mlx_array_size(array);
    double *out = calloc(count, sizeof *out);
    need(out, "no memory");
    if (bits && mlx_array_ndim(array) == 2) {
        dequantize(out, array, bits);
    } else {
        const float *values = floats_of(&array);
        for (size_t i = 0; i < count; i++) out[i] = (double)values[i];
    }
    mlx_array_free(array);
    return out;
}

static void load_file(mlx_map_string_to_array all, const char *path)
{
    mlx_map_string_to_array part = mlx_map_string_to_array_new();
    mlx_map_string_to_string metadata = mlx_map_string_to_string_new();
    mlx_array array = mlx_array_new();
    const char *name;
    need(!mlx_load_safetensors(&part, &metadata, path, stream), path);
    mlx_map_string_to_array_iterator it = mlx_map_string_to_array_iterator_new(part);
    while (!mlx_map_string_to_array_iterator_next(&name, &array, it)) mlx_map_string_to_array_insert(all, name, array);
    mlx_map_string_to_array_iterator_free(it), mlx_array_free(array);
    mlx_map_string_to_array_free(part), mlx_map_string_to_string_free(metadata);
}

static bool config_has(const char *folder, const char *words)
{
    char path[512], text[2048] = "";
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "r");
    need(file && fread(text, 1, sizeof text - 1, file) > 0, path);
    fclose(file);
    return strstr(text, words);
}

/* Llama 3's: what turns less than once in 64 positions is 8 times as long, what turns more than 4 times as it was. */
static void make_lengths(struct model *model, bool is_llama3)
{
    for (int i = 0; i < HEAD / 2; i++) {
        double length = pow(1000, 2.0 * i / HEAD), turns = 64 / (2 * M_PI * length);
        double share = fmin(fmax((turns - 1) / 3, 0), 1);
        model->lengths[i] = is_llama3 ? 1 / ((1 - share) / length / 8 + share / length) : length;
    }
}

static void load(struct model *model, const char *folder, int bits)
{
    char path[512], name[128];
    mlx_map_string_to_array map = mlx_map_string_to_array_new();
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *single = fopen(path, "rb");
    if (single) fclose(single), load_file(map, path);
    for (int i = 1; i <= LAYERS + 1 && !single; i++) {
        snprintf(path, sizeof path, "%s/model-%05d-of-%05d.safetensors", folder, i, LAYERS + 1);
        load_file(map, path);
    }
    for (int layer = 0; layer < LAYERS; layer++)
        for (int w = 0; w < LAYER_WEIGHTS; w++) {
            snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, shapes[w].name);
            model->layers[layer][w] = read_weight(map, name, bits);
        }
    bool is_tied = config_has(folder, "\"tie_word_embeddings\": true");
    model->embeddings = read_weight(map, "model.embed_tokens.weight", 0);
    model->norm = read_weight(map, "model.norm.weight", 0);
    model->head = read_weight(map, is_tied ? "model.embed_tokens.weight" : "lm_head.weight", bits);
    make_lengths(model, config_has(folder, "llama3"));
    mlx_map_string_to_array_free(map);
}

static void times(double *out, const double *x, const double *matrix, int rows, int columns)
{
    for (int i = 0; i < rows; i++) {
        out[i] = 0;
        for (int k = 0; k < columns; k++) out[i] += x[k] * matrix[i * columns + k];
    }
}

static void normalize(double *out, const double *x, const double *weight)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += x[i] * x[i];
    for (int i = 0; i < WIDTH; i++) out[i] = x[i] / sqrt(sum / WIDTH + 1e-5) * weight[i];
}

static void rotate(const struct model *model, double *x, int heads, int position)
{
    for (int i = 0; i < heads * HEAD; i++) {
        int pair = i % HEAD;
        if (pair >= HEAD / 2) continue;
        double angle = position / model->lengths[pair], a = x[i], b = x[i + HEAD / 2];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + HEAD / 2] = a * sin(angle) + b * cos(angle);
    }
}

static double queries[LENGTH][HEADS * HEAD], keys[LENGTH][SHARED * HEAD], values[LENGTH][SHARED * HEAD];

static void attend(double *out, int position)
{
    for (int head = 0; head < HEADS; head++) {
        const int shared = head / (HEADS / SHARED) * HEAD;
        double weights[LENGTH], sum = 0;
        for (int t = 0; t <= position; t++) {
            double score = 0;
            for (int i = 0; i < HEAD; i++) score += queries[position][head * HEAD + i] * keys[t][shared + i];
            sum += weights[t] = exp(score / sqrt(HEAD));
        }
        for (int i = 0; i < HEAD; i++) {
            out[head * HEAD + i] = 0;
            for (int t = 0; t <= position; t++) out[head * HEAD + i] += weights[t] / sum * values[t][shared + i];
        }
    }
}

static void feed_forward(double *x, double *const *w)
{
    double norm[WIDTH], gate[HIDDEN], up[HIDDEN], down[WIDTH];
    normalize(norm, x, w[NORM_2]);
    times(gate, norm, w[GATE], HIDDEN, WIDTH), times(up, norm, w[UP], HIDDEN, WIDTH);
    for (int i = 0; i < HIDDEN; i++) gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    times(down, gate, w[DOWN], WIDTH, HIDDEN);
    for (int i = 0; i < WIDTH; i++) x[i] += down[i];
}

static int next_token(const struct model *model, const int *tokens, int count)
{
    static double x[LENGTH][WIDTH];
    double norm[WIDTH], mixed[HEADS * HEAD], logits[VOCABULARY], square = 0, second = -INFINITY;
    int best = 0;
    for (int t = 0; t < count; t++) memcpy(x[t], &model->embeddings[tokens[t] * WIDTH], sizeof x[t]);
    for (int layer = 0; layer < LAYERS; layer++) {
        double *const *w = model->layers[layer];
        for (int t = 0; t < count; t++) {
            normalize(norm, x[t], w[NORM_1]);
            times(queries[t], norm, w[QUERY], HEADS * HEAD, WIDTH), rotate(model, queries[t], HEADS, t);
            times(keys[t], norm, w[KEY], SHARED * HEAD, WIDTH), rotate(model, keys[t], SHARED, t);
            times(values[t], norm, w[VALUE], SHARED * HEAD, WIDTH);
        }
        for (int t = 0; t < count; t++) {
            attend(mixed, t);
            times(norm, mixed, w[OUT], WIDTH, HEADS * HEAD);
            for (int i = 0; i < WIDTH; i++) x[t][i] += norm[i];
            feed_forward(x[t], w);
        }
    }
    normalize(norm, x[count - 1], model->norm);
    times(logits, norm, model->head, VOCABULARY, WIDTH);
    for (int i = 0; i < VOCABULARY; i++) {
        square += logits[i] * logits[i] / VOCABULARY;
        if (logits[i] > logits[best]) best = i;
    }
    for (int i = 0; i < VOCABULARY; i++)
        if (i != best) second = fmax(second, logits[i]);
    if (logits[best] - second < nearest * sqrt(square)) {
        fprintf(stderr, "llama_reference: two tokens are too near: %g\n", (logits[best] - second) / sqrt(square));
        exit(1);
    }
    return best;
}

static void run(const char *folder, int bits, int wanted, char **words, int count)
{
    static struct model model;
    int tokens[LENGTH];
    need(count + wanted <= LENGTH, "too many tokens");
    load(&model, folder, bits);
    for (int i = 0; i < count; i++) tokens[i] = atoi(words[i]);
    for (int i = count; i < count + wanted; i++) printf("%d\n", tokens[i] = next_token(&model, tokens, i));
}

int main(int count, char **words)
{
    stream = mlx_default_cpu_stream_new();
    if (count > 6 && strcmp(words[1], "run") == 0) {
        nearest = atof(words[4]);
        run(words[2], atoi(words[3]), atoi(words[5]), words + 6, count - 6);
    } else {
        need(count > 5 && strcmp(words[1], "make") == 0, "see its source for how it is called");
        mlx_dtype dtype = strcmp(words[3], "float16") == 0    ? MLX_FLOAT16
                          : strcmp(words[3], "bfloat16") == 0 ? MLX_BFLOAT16
                                                              : MLX_FLOAT32;
        bool is_tied = false, is_llama3 = false;
        for (int i = 6; i < count; i++) {
            is_tied |= strcmp(words[i], "tied") == 0;
            is_llama3 |= strcmp(words[i], "llama3") == 0;
        }
        state = strtoull(words[5], NULL, 10);
        make(words[2], dtype, strcmp(words[4], "sharded") == 0, is_tied, is_llama3);
    }
    mlx_stream_free(stream);
    return 0;
}
