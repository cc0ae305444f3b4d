/*
 * llama.h - a decoder of the Llama family: its shape, its weights, its cache, and one step.
 *
 * Functions that return int return 0, or 1 after llama_fail() was told why; what they make is then released. A model
 * and its caches are used by one thread at a time.
 */
#ifndef EXAMPLES_LLAMA_LLAMA_H
#define EXAMPLES_LLAMA_LLAMA_H

#include <stdbool.h>
#include <stddef.h>

#include "mlx/c/mlx.h"

/* Prints "llama: " and the text to stderr. Returns 1. */
int llama_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- config.json ------------------------------------------------------------------------------------------------ */

enum { LLAMA_MAX_STOPS = 16 };

struct llama_config {
    int layers, width, hidden, vocabulary;
    int heads, shared_heads, head; /* of queries; of keys and values; numbers in each */
    int context;                   /* positions it was trained for */
    float norm_eps, rope_base, rope_scale;
    /* rope_type llama3: low frequencies are divided by `factor`; 0: they are not. */
    float factor, low_factor, high_factor, original_context;
    bool ties_embeddings; /* the table of embeddings is the last matrix too */
    int stops[LLAMA_MAX_STOPS], stop_count;
};

int llama_config_read(struct llama_config *out, const char *folder);

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* x @ weight'. Quantized: weight holds codes. */
struct llama_matrix {
    mlx_array weight, scales, biases; /* scales and biases are empty where it is not quantized */
};

struct llama_layer {
    mlx_array norm_1, norm_2;
    struct llama_matrix query, key, value, out, gate, up, down;
};

struct llama {
    struct llama_config config;
    mlx_stream stream;
    int bits; /* 0: not quantized */
    mlx_dtype dtype;
    mlx_array embeddings, norm, turns; /* turns: empty, or the wave lengths of llama3's positions */
    struct llama_layer *layers;
    struct llama_matrix head;
    mlx_closure activation;
    size_t step_bytes; /* of weights that one step reads */
};

/* All tensors of model.safetensors, or of the shards that model.safetensors.index.json names. */
int llama_weights_read(mlx_map_string_to_array *out, const char *folder);

/* From tensors by the names that Hugging Face gives them; each is checked against the shape that config asks for, and
 * quantized when bits is not 0. `weights` stays the caller's, without the tensors that layers have taken. */
int llama_init(struct llama *out, const struct llama_config *config, mlx_map_string_to_array weights, int bits,
               mlx_stream stream);
int llama_open(struct llama *out, const char *folder, int bits, mlx_stream stream);
void llama_release(struct llama *model);

/* ---- one step --------------------------------------------------------------------------------------------------- */

/* Keys and values of each layer, (batch, shared heads, capacity, head); positions from `length` on are free. */
struct llama_cache {
    int batch, capacity, length;
    mlx_array *keys, *values;
};

int llama_cache_init(struct llama_cache *out, const struct llama *model, int batch, int capacity);
void llama_cache_release(struct llama_cache *cache, const struct llama *model);

/* Reads tokens, (batch, count) of int32, behind those that the cache holds. *logits becomes (batch, vocabulary), those
 * of the last token. Nothing is computed before somebody evaluates them. */
int llama_step(mlx_array *logits, const struct llama *model, struct llama_cache *cache, const mlx_array tokens);

/* The next token of each row, (batch, 1) of int32: the likeliest one, or with a temperature a random one. */
int llama_sample(mlx_array *token, const mlx_array logits, float temperature, mlx_stream stream);

#endif
