/*
 * llama_main.c - the command: token ids in, token ids out, one line for each as soon as it is known.
 *
 * The next step is recorded and begun before the last token is read: its input is an array, which the library may
 * still be computing. So the host prepares a step while the device works at the one before.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kiln.h"
#include "kiln/gpu.h"
#include "llama.h"

enum { DEFAULT_COUNT = 32 };

struct options {
    const char *folder;
    int *tokens;
    size_t token_count;
    int count, bits; /* tokens to make; 0: not quantized */
    float temperature;
    uint64_t seed;
    mlx_device_type device;
    bool prints_stats;
};

int llama_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("llama: ", stderr), vfprintf(stderr, format, list), fputc('\n', stderr);
    va_end(list);
    return 1;
}

static void report(const char *text, void *unused)
{
    (void)unused;
    llama_fail("%s", text);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: llama FOLDER [OPTION]... [TOKEN]...\n"
          "  FOLDER             config.json and model.safetensors, or shards with model.safetensors.index.json\n"
          "  TOKEN              ids of the prompt; from standard input when there is none here\n"
          "  --count N          tokens to make, 32 when not given; fewer when the model ends the text\n"
          "  --quantize BITS    4 or 8: weights as codes, in groups of 64\n"
          "  --temperature T    draw each token by its probability; 0, the likeliest one, when not given\n"
          "  --seed N           of what is drawn; 0 when not given\n"
          "  --device NAME      cpu or gpu; the library's default when not given\n"
          "  --stats            what it took, to standard error\n",
          stderr);
    return 2;
}

static int add_token(struct options *options, const char *word)
{
    char *end;
    long token = strtol(word, &end, 10);
    int *tokens = realloc(options->tokens, (options->token_count + 1) * sizeof *tokens);
    if (!tokens) return llama_fail("out of memory");
    options->tokens = tokens;
    if (*end || end == word || token < 0 || token > INT32_MAX)
        return llama_fail("'%.40s' is no token id; expected a number from 0 on", word);
    tokens[options->token_count++] = (int)token;
    return 0;
}

static int read_tokens(struct options *options)
{
    char word[64];
    int failed = 0;
    while (!failed && scanf("%63s", word) == 1) failed = add_token(options, word);
    return failed;
}

static int set_device(struct options *options, const char *name)
{
    if (strcmp(name, "cpu") != 0 && strcmp(name, "gpu") != 0)
        return llama_fail("--device is '%s'; expected cpu or gpu", name);
    options->device = strcmp(name, "gpu") == 0 ? MLX_GPU : MLX_CPU;
    return 0;
}

/* A number that is all of `word` and in range, or llama_fail(). */
static int read_number(const char *option, const char *word, double smallest, double largest, double *out)
{
    char *end;
    *out = strtod(word, &end);
    if (end != word && !*end && *out >= smallest && *out <= largest) return 0;
    return llama_fail("%s is '%s'; expected a number from %g to %g", option, word, smallest, largest);
}

static int set_option(struct options *options, const char *option, const char *value)
{
    double number;
    if (strcmp(option, "--device") == 0) return set_device(options, value);
    if (strcmp(option, "--count") == 0 && !read_number(option, value, 1, 1 << 20, &number))
        return options->count = (int)number, 0;
    if (strcmp(option, "--temperature") == 0 && !read_number(option, value, 0, 1000, &number))
        return options->temperature = (float)number, 0;
    if (strcmp(option, "--seed") == 0 && !read_number(option, value, 0, 0x1p53, &number))
        return options->seed = (uint64_t)number, 0;
    if (strcmp(option, "--quantize") == 0 && !read_number(option, value, 4, 8, &number))
        return options->bits = (int)number, options->bits == 4 || options->bits == 8 ? 0 : usage();
    return usage();
}

static int read_options(struct options *options, int count, char **words)
{
    int failed = 0;
    for (int i = 1; i < count && !failed; i++) {
        if (strcmp(words[i], "--stats") == 0)
            options->prints_stats = true;
        else if (strncmp(words[i], "--", 2) == 0)
            failed = i + 1 < count ? set_option(options, words[i], words[i + 1]) : usage(), i++;
        else if (!options->folder)
            options->folder = words[i];
        else
            failed = add_token(options, words[i]);
    }
    if (!failed && !options->folder) return usage();
    if (!failed && !options->token_count) failed = read_tokens(options);
    if (!failed && !options->token_count) failed = llama_fail("the prompt is empty");
    return failed;
}

/* ---- the text --------------------------------------------------------------------------------------------------- */

struct times {
    double start, opened, first, last;
    int tokens; /* that were made */
};

static bool ends_text(const struct llama_config *config, int token)
{
    for (int i = 0; i < config->stop_count; i++)
        if (config->stops[i] == token) return true;
    return false;
}

/* Begins the step after `tokens` and goes on without waiting for it; *next becomes its token. */
static int begin_step(mlx_array *next, const struct llama *model, struct llama_cache *cache, const mlx_array tokens,
                      float temperature)
{
    mlx_array logits = mlx_array_new();
    int failed = llama_step(&logits, model, cache, tokens) || llama_sample(next, logits, temperature, model->stream);
    if (!failed) {
        mlx_vector_array wanted = mlx_vector_array_new_value(*next);
        failed = mlx_async_eval(wanted);
        mlx_vector_array_free(wanted);
    }
    return mlx_array_free(logits), failed;
}

static int generate(const struct llama *model, struct llama_cache *cache, const mlx_array prompt,
                    const struct options *options, struct times *times)
{
    mlx_array token = mlx_array_new(), next = mlx_array_new();
    int failed = begin_step(&token, model, cache, prompt, options->temperature);
    for (int i = 0; i < options->count && !failed; i++) {
        int id = 0;
        if (i + 1 < options->count) failed = begin_step(&next, model, cache, token, options->temperature);
        failed = failed || mlx_array_item_int32(&id, token);
        if (failed) break;
        times->last = now();
        if (i == 0) times->first = times->last;
        times->tokens++;
        printf("%d\n", id);
        fflush(stdout);
        if (ends_text(&model->config, id)) break;
        failed = i + 1 < options->count && mlx_array_set(&token, next);
    }
    return mlx_array_free(token), mlx_array_free(next), failed;
}

static int check_prompt(const struct options *options, const struct llama_config *config)
{
    for (size_t i = 0; i < options->token_count; i++)
        if (options->tokens[i] >= config->vocabulary)
            return llama_fail("token %d is none of the model's, which end at %d", options->tokens[i],
                              config->vocabulary - 1);
    if (options->token_count + (size_t)options->count <= (size_t)config->context) return 0;
    return llama_fail("%zu tokens and %d more are too many: the model has %d positions", options->token_count,
                      options->count, config->context);
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* `all` gets the largest number of each part of a matrix: to find it, the part is read once. */
static int read_matrix(mlx_vector_array all, const struct llama_matrix *matrix, mlx_stream stream)
{
    const mlx_array parts[] = {matrix->weight, matrix->scales, matrix->biases};
    mlx_array largest = mlx_array_new();
    int failed = 0;
    for (int i = 0; i < 3 && parts[i].ctx && !failed; i++)
        failed = mlx_max(&largest, parts[i], false, stream) || mlx_vector_array_append_value(all, largest);
    return mlx_array_free(largest), failed;
}

/* Every weight that a step reads, once. */
static int read_weights(const struct llama *model)
{
    mlx_vector_array all = mlx_vector_array_new();
    int failed = read_matrix(all, &model->head, model->stream);
    for (int i = 0; i < model->config.layers && !failed; i++) {
        const struct llama_layer *layer = &model->layers[i];
        const struct llama_matrix *matrices[] = {&layer->query, &layer->key, &layer->value, &layer->out,
                                                 &layer->gate,  &layer->up,  &layer->down};
        for (size_t k = 0; k < sizeof matrices / sizeof *matrices && !failed; k++)
            failed = read_matrix(all, matrices[k], model->stream);
    }
    failed = failed || mlx_eval(all);
    return mlx_vector_array_free(all), failed;
}

/* Seconds, the best of five; 0: it failed. */
static double time_of_reading(const struct llama *model)
{
    double best = 0;
    for (int pass = 0; pass < 5; pass++) {
        double begin = now();
        if (read_weights(model)) return 0;
        double seconds = now() - begin;
        if (!pass || seconds < best) best = seconds;
    }
    return best;
}

static void print_stats(const struct llama *model, const struct options *options, const struct times *times)
{
    kiln_counters cache;
    kiln_gpu_counters gpu = {.struct_size = sizeof gpu};
    size_t peak = 0;
    kiln_cache_counters(kiln_cache_default(), &cache);
    kiln_gpu_counters_read(&gpu);
    mlx_get_peak_memory(&peak);
    double floor = time_of_reading(model), first = times->first - times->opened;
    double step = times->tokens > 1 ? (times->last - times->first) / (times->tokens - 1) : 0;
    fprintf(stderr, "opened in        %.1f ms\n", (times->opened - times->start) * 1e3);
    fprintf(stderr, "first token      %.1f ms, %.1f tokens/s of the prompt\n", first * 1e3,
            (double)options->token_count / first);
    if (step > 0) {
        fprintf(stderr, "further tokens   %.2f ms each, %.1f tokens/s\n", step * 1e3, 1 / step);
        fprintf(stderr, "memory floor     %.2f of it: %.1f MB of weights are read in %.2f ms\n", floor / step,
                (double)model->step_bytes * 1e-6, floor * 1e3);
    }
    fprintf(stderr, "kernels          %" PRIu64 " compiled, %" PRIu64 " loaded\n", cache.compiles,
            cache.disk_hits + cache.remote_hits);
    fprintf(stderr, "calls            %" PRIu64 " of compiled functions, %" PRIu64 " traced, %" PRIu64 " replayed\n",
            cache.calls, cache.traces, cache.front_hits + cache.process_hits);
    if (gpu.launches + gpu.replays)
        fprintf(stderr, "gpu              %" PRIu64 " launches, %" PRIu64 " graphs replayed\n", gpu.launches,
                gpu.replays);
    fprintf(stderr, "peak memory      %.1f MB\n", (double)peak * 1e-6);
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static int run(const struct options *options, mlx_stream stream)
{
    struct times times = {.start = now()};
    struct llama model;
    struct llama_cache cache = {0};
    if (llama_open(&model, options->folder, options->bits, stream)) return 1;
    const int shape[] = {1, (int)options->token_count};
    int failed = check_prompt(options, &model.config) || llama_cache_init(&cache, &model, 1, shape[1] + options->count);
    mlx_array prompt = mlx_array_new_data(options->tokens, shape, 2, MLX_INT32);
    times.opened = now();
    failed = failed || mlx_random_seed(options->seed) || generate(&model, &cache, prompt, options, &times);
    if (!failed && options->prints_stats) print_stats(&model, options, &times);
    mlx_array_free(prompt);
    if (cache.keys) llama_cache_release(&cache, &model);
    llama_release(&model);
    return failed;
}

static int open_stream(mlx_stream *out, mlx_device_type type)
{
    mlx_device device = mlx_device_new_type(type, 0);
    bool is_there = false;
    int failed = mlx_device_is_available(&is_there, device);
    if (!failed && !is_there) failed = llama_fail("there is no GPU here; try --device cpu");
    failed = failed || mlx_set_default_device(device) || mlx_get_default_stream(out, device);
    return mlx_device_free(device), failed;
}

int main(int count, char **words)
{
    struct options options = {.count = DEFAULT_COUNT};
    mlx_device device = mlx_device_new();
    mlx_stream stream = mlx_stream_new();
    mlx_set_error_handler(report, NULL, NULL);
    int failed = mlx_get_default_device(&device) || mlx_device_get_type(&options.device, device);
    if (!failed) failed = read_options(&options, count, words);
    if (!failed) failed = open_stream(&stream, options.device) || run(&options, stream);
    mlx_stream_free(stream), mlx_device_free(device);
    free(options.tokens);
    return failed;
}
