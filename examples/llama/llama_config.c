/*
 * llama_config.c - config.json: the shape of a model. What this program can't compute is refused here, by name, so
 * that no model runs with a part of it left out.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_tree.h"
#include "llama.h"

static bool is_given(const struct json *value)
{
    return value && value->kind != JSON_NULL;
}

/* A positive whole number; `otherwise` where it is missing, 0 for one that must be there. */
static int read_size(const struct json *config, const char *name, int otherwise, int *out)
{
    const struct json *value = json_get(config, name);
    if (!is_given(value) && otherwise) return *out = otherwise, 0;
    if (!is_given(value)) return llama_fail("config.json has no %s; is this the folder of a Llama model?", name);
    if (value->kind != JSON_NUMBER || value->number < 1 || value->number > INT_MAX / 2 ||
        value->number != floor(value->number))
        return llama_fail("%s of config.json must be a positive whole number", name);
    *out = (int)value->number;
    return 0;
}

static int read_real(const struct json *config, const char *name, float otherwise, float *out)
{
    const struct json *value = json_get(config, name);
    *out = otherwise;
    if (!is_given(value)) return 0;
    if (value->kind != JSON_NUMBER || !(value->number > 0))
        return llama_fail("%s of config.json must be a positive number", name);
    *out = (float)value->number;
    return 0;
}

static int read_sizes(struct llama_config *out, const struct json *config)
{
    return read_size(config, "num_hidden_layers", 0, &out->layers) ||
           read_size(config, "hidden_size", 0, &out->width) ||
           read_size(config, "intermediate_size", 0, &out->hidden) ||
           read_size(config, "vocab_size", 0, &out->vocabulary) ||
           read_size(config, "num_attention_heads", 0, &out->heads) ||
           read_size(config, "num_key_value_heads", out->heads, &out->shared_heads) ||
           read_size(config, "head_dim", out->width / out->heads ? out->width / out->heads : 1, &out->head) ||
           read_size(config, "max_position_embeddings", 2048, &out->context);
}

static int check_sizes(const struct llama_config *config)
{
    if (config->heads % config->shared_heads)
        return llama_fail("config.json has %d heads and %d of keys; the first must be a multiple of the second",
                          config->heads, config->shared_heads);
    if (config->head % 2) return llama_fail("heads of config.json have %d numbers; expected an even one", config->head);
    return 0;
}

/* "rope_scaling": null, {"rope_type": "linear", "factor": 2} or llama3's. */
static int read_scaling(struct llama_config *out, const struct json *config)
{
    const struct json *scaling = json_get(config, "rope_scaling"), *type = json_get(scaling, "rope_type");
    out->rope_scale = 1;
    if (!is_given(scaling)) return 0;
    if (!type) type = json_get(scaling, "type");
    const char *name = type && type->kind == JSON_TEXT ? type->text : "?";
    if (strcmp(name, "default") == 0) return 0;
    if (read_real(scaling, "factor", 1, &out->factor)) return 1;
    if (strcmp(name, "linear") == 0) return out->rope_scale = 1 / out->factor, out->factor = 0, 0;
    if (strcmp(name, "llama3") == 0)
        return read_real(scaling, "low_freq_factor", 1, &out->low_factor) ||
               read_real(scaling, "high_freq_factor", 4, &out->high_factor) ||
               read_real(scaling, "original_max_position_embeddings", 8192, &out->original_context);
    return llama_fail("rope_type of config.json is \"%s\"; this program knows default, linear and llama3", name);
}

static int refuse_unknown(const struct json *config)
{
    static const char *const flags[] = {"attention_bias", "mlp_bias"};
    const struct json *type = json_get(config, "model_type"), *activation = json_get(config, "hidden_act");
    if (!type || type->kind != JSON_TEXT || (strcmp(type->text, "llama") != 0 && strcmp(type->text, "mistral") != 0))
        return llama_fail("model_type of config.json is \"%s\"; this program knows llama and mistral",
                          type && type->kind == JSON_TEXT ? type->text : "");
    if (is_given(activation) && (activation->kind != JSON_TEXT || strcmp(activation->text, "silu") != 0))
        return llama_fail("hidden_act of config.json must be \"silu\"");
    if (is_given(json_get(config, "sliding_window")))
        return llama_fail("config.json asks for a sliding window, which this program does not have");
    if (is_given(json_get(config, "quantization_config")))
        return llama_fail("the weights are quantized already; this program reads floats and has --quantize");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const struct json *flag = json_get(config, flags[i]);
        if (flag && flag->kind == JSON_TRUE)
            return llama_fail("config.json has %s, which this program does not", flags[i]);
    }
    return 0;
}

/* "eos_token_id": a number, or a list of them. */
static int read_stops(struct llama_config *out, const struct json *config)
{
    const struct json *stops = json_get(config, "eos_token_id");
    if (!is_given(stops)) return 0;
    bool is_list = stops->kind == JSON_LIST;
    size_t count = is_list ? stops->count : 1;
    if (count > LLAMA_MAX_STOPS) return llama_fail("config.json has more than %d eos_token_id", LLAMA_MAX_STOPS);
    for (size_t i = 0; i < count; i++) {
        const struct json *stop = is_list ? &stops->items[i] : stops;
        if (stop->kind != JSON_NUMBER) return llama_fail("eos_token_id of config.json must be numbers");
        out->stops[out->stop_count++] = (int)stop->number;
    }
    return 0;
}

static int read_config(struct llama_config *out, const struct json *config)
{
    const struct json *ties = json_get(config, "tie_word_embeddings");
    out->ties_embeddings = ties && ties->kind == JSON_TRUE;
    return refuse_unknown(config) || read_sizes(out, config) || check_sizes(out) ||
           read_real(config, "rms_norm_eps", 1e-6f, &out->norm_eps) ||
           read_real(config, "rope_theta", 10000, &out->rope_base) || read_scaling(out, config) ||
           read_stops(out, config);
}

int llama_config_read(struct llama_config *out, const char *folder)
{
    char path[4096];
    *out = (struct llama_config){0};
    if ((size_t)snprintf(path, sizeof path, "%s/config.json", folder) >= sizeof path)
        return llama_fail("the folder's name is too long");
    struct json *config = json_read(path);
    int failed = !config || read_config(out, config);
    json_free(config);
    return failed;
}
