/*
 * gguf_model.c - a random model of the shape that bench/model.c measures, as a GGUF file, for engines that read those.
 *
 *     gguf_model FILE f32|bf16|q4_0
 *
 * GGUF 3: magic, version, counts; pairs of names and typed values; a name, sizes (columns first), type and offset of
 * each tensor; then their bytes, each at a multiple of 32. Norms are float32 in every format. Q4_0: blocks of 32
 * numbers, a float16 scale and 16 bytes of codes, code - 8 times the scale.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, WIDTH = 1024, HIDDEN = 2816, VOCABULARY = 8192, HEADS = 16, SHARED = 8, HEAD = 64, CONTEXT = 32768 };
enum { MAX_TENSORS = 64, ALIGNMENT = 32, BLOCK = 32 };
enum gguf_value { GGUF_UINT32 = 4, GGUF_FLOAT32 = 6, GGUF_STRING = 8 };
enum gguf_type { GGUF_F32 = 0, GGUF_Q4_0 = 2, GGUF_BF16 = 30 };

static struct tensor {
    char name[48];
    uint64_t rows, columns; /* no rows: a vector */
    enum gguf_type type;
} tensors[MAX_TENSORS];
static int tensor_count;
static FILE *out;

static void put(const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, out) == count) return;
    perror("gguf_model");
    exit(1);
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

static void put_text(const char *text)
{
    put_u64(strlen(text));
    put(text, strlen(text));
}

static void pad(void)
{
    static const char zeros[ALIGNMENT];
    long at = ftell(out);
    put(zeros, (size_t)((ALIGNMENT - at % ALIGNMENT) % ALIGNMENT));
}

/* ---- what it says ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t value;
} numbers[] = {{"llama.block_count", LAYERS},         {"llama.context_length", CONTEXT},
               {"llama.embedding_length", WIDTH},     {"llama.feed_forward_length", HIDDEN},
               {"llama.attention.head_count", HEADS}, {"llama.attention.head_count_kv", SHARED},
               {"llama.rope.dimension_count", HEAD},  {"llama.vocab_size", VOCABULARY}};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void put_values(void)
{
    static const float epsilon = 1e-5f, base = 10000;
    put_text("general.architecture"), put_u32(GGUF_STRING), put_text("llama");
    put_text("tokenizer.ggml.model"), put_u32(GGUF_STRING), put_text("no_vocab");
    for (int i = 0; i < NUMBERS; i++) put_text(numbers[i].name), put_u32(GGUF_UINT32), put_u32(numbers[i].value);
    put_text("llama.attention.layer_norm_rms_epsilon"), put_u32(GGUF_FLOAT32), put(&epsilon, sizeof epsilon);
    put_text("llama.rope.freq_base"), put_u32(GGUF_FLOAT32), put(&base, sizeof base);
}

static void add_tensor(const char *name, int layer, uint64_t rows, uint64_t columns, enum gguf_type type)
{
    struct tensor *tensor = &tensors[tensor_count++];
    *tensor = (struct tensor){.rows = rows, .columns = columns, .type = rows ? type : GGUF_F32};
    if (layer < 0)
        snprintf(tensor->name, sizeof tensor->name, "%s.weight", name);
    else
        snprintf(tensor->name, sizeof tensor->name, "blk.%d.%s.weight", layer, name);
}

static void add_tensors(enum gguf_type type)
{
    add_tensor("token_embd", -1, VOCABULARY, WIDTH, type);
    add_tensor("output_norm", -1, 0, WIDTH, type);
    add_tensor("output", -1, VOCABULARY, WIDTH, type);
    for (int i = 0; i < LAYERS; i++) {
        add_tensor("attn_norm", i, 0, WIDTH, type);
        add_tensor("attn_q", i, HEADS * HEAD, WIDTH, type);
        add_tensor("attn_k", i, SHARED * HEAD, WIDTH, type);
        add_tensor("attn_v", i, SHARED * HEAD, WIDTH, type);
        add_tensor("attn_output", i, WIDTH, HEADS * HEAD, type);
        add_tensor("ffn_norm", i, 0, WIDTH, type);
        add_tensor("ffn_gate", i, HIDDEN, WIDTH, type);
        add_tensor("ffn_up", i, HIDDEN, WIDTH, type);
        add_tensor("ffn_down", i, WIDTH, HIDDEN, type);
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static uint64_t number_count(const struct tensor *tensor)
{
    return (tensor->rows ? tensor->rows : 1) * tensor->columns;
}

static uint64_t byte_count(const struct tensor *tensor)
{
    uint64_t count = number_count(tensor);
    return tensor->type == GGUF_F32 ? count * 4 : tensor->type == GGUF_BF16 ? count * 2 : count / BLOCK * 18;
}

static uint32_t state = 1;

static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Between -0.03 and 0.03; in Q4_0 a scale of 2^-8 and random codes, which is as much. */
static void put_tensor(const struct tensor *tensor)
{
    static const uint16_t scale = 0x1c00;
    for (uint64_t i = 0, count = number_count(tensor); i < count; i++) {
        float value = tensor->rows ? ((float)draw() / (1 << 23) - 1) * 0.03f : 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits += tensor->type == GGUF_BF16 ? 0x7fff + (bits >> 16 & 1) : 0;
        uint16_t high = (uint16_t)(bits >> 16), codes = (uint16_t)draw();
        if (tensor->type == GGUF_F32) put(&bits, sizeof bits);
        if (tensor->type == GGUF_BF16) put(&high, sizeof high);
        if (tensor->type == GGUF_Q4_0 && i % BLOCK == 0) put(&scale, sizeof scale);
        if (tensor->type == GGUF_Q4_0 && i % 4 == 0) put(&codes, sizeof codes);
    }
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        enum gguf_type type;
    } formats[] = {{"f32", GGUF_F32}, {"bf16", GGUF_BF16}, {"q4_0", GGUF_Q4_0}};
    int format = 0;
    uint64_t offset = 0;
    while (count == 3 && format < 3 && strcmp(words[2], formats[format].name) != 0) format++;
    if (count != 3 || format == 3) return fputs("usage: gguf_model FILE f32|bf16|q4_0\n", stderr), 2;
    out = fopen(words[1], "wb");
    if (!out) return perror(words[1]), 1;
    add_tensors(formats[format].type);
    put("GGUF", 4), put_u32(3), put_u64((uint64_t)tensor_count), put_u64(NUMBERS + 4);
    put_values();
    for (int i = 0; i < tensor_count; i++) {
        const struct tensor *tensor = &tensors[i];
        put_text(tensor->name), put_u32(tensor->rows ? 2 : 1), put_u64(tensor->columns);
        if (tensor->rows) put_u64(tensor->rows);
        put_u32((uint32_t)tensor->type), put_u64(offset);
        offset += (byte_count(tensor) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (int i = 0; i < tensor_count; i++) pad(), put_tensor(&tensors[i]);
    if (fclose(out)) return perror(words[1]), 1;
    return 0;
}
