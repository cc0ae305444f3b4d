/*
 * fuzz_signature.c - structured arguments from any bytes: what is signed can be read back, and two different argument
 * lists never encode alike.
 *
 * Bytes become a list of arguments and, beside it, a text that describes it without ambiguity. The list is signed; the
 * words are read back into a text by the format alone (docs/formats/key.md), and both texts must be the same. Two lists
 * from the two halves of the input have equal words exactly when they have equal texts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "key/dlpack.h"
#include "key/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ARGS = 12, DEEPEST = 4, MOST_DIMS = 5 };

struct source {
    const uint8_t *data;
    size_t size;
};

static uint8_t take(struct source *source)
{
    if (!source->size) return 0;
    source->size--;
    return *source->data++;
}

static uint64_t take_word(struct source *source)
{
    uint64_t word = 0;
    for (int bytes = take(source) % 9; bytes > 0; bytes--) word = word << 8 | take(source);
    return word;
}

static void *take_memory(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) abort();
    return memory;
}

/* ---- arguments from bytes ------------------------------------------------------------------------------------- */

static const kiln_type *const types[] = {
    &kiln_const_i64,  &kiln_const_f64,    &kiln_const_bool, &kiln_const_string, &kiln_const_bytes,
    &kiln_scalar_i64, &kiln_scalar_f64,   &kiln_pointer,    &kiln_stream,       &kiln_none,
    &kiln_tensor,     &kiln_tensor_ruled, &kiln_list,
};
enum { TYPES = sizeof types / sizeof *types };

static void describe_bytes(const void *data, size_t size, struct kiln_buffer *out)
{
    kiln__buffer_printf(out, " %zu:", size);
    for (size_t i = 0; i < size; i++) kiln__buffer_printf(out, "%02x", ((const uint8_t *)data)[i]);
}

static void describe_word(uint64_t word, struct kiln_buffer *out)
{
    kiln__buffer_printf(out, " %016llx", (unsigned long long)word);
}

struct tensor {
    struct kiln_dltensor tensor;
    int64_t shape[MOST_DIMS], strides[MOST_DIMS];
    kiln_rule rules[2][MOST_DIMS];
    kiln_tensor_spec spec;
};

static uint64_t rule_value(const kiln_rule *rule, int64_t value)
{
    return rule->kind == KILN_STATIC      ? (uint64_t)value
           : rule->kind == KILN_DIVISIBLE ? value % (int64_t)rule->divisor == 0
                                          : 0;
}

static void describe_tensor(const struct tensor *t, bool ruled, struct kiln_buffer *out)
{
    const struct kiln_dltensor *tensor = &t->tensor;
    uint64_t address = (uint64_t)(uintptr_t)tensor->data;
    kiln__buffer_printf(out, " %d %d.%d.%d on %d aligned %d rank %d", ruled, tensor->dtype.code, tensor->dtype.bits,
                        tensor->dtype.lanes, tensor->device.type, __builtin_ctzll(address | 64), tensor->ndim);
    for (int i = 0; i < tensor->ndim; i++) {
        if (!ruled) kiln__buffer_printf(out, " %lld/%lld", (long long)t->shape[i], (long long)t->strides[i]);
        for (int which = 0; ruled && which < 2; which++)
            kiln__buffer_printf(
                out, " %u.%u.%llu", t->rules[which][i].kind, t->rules[which][i].divisor,
                (unsigned long long)rule_value(&t->rules[which][i], which ? t->strides[i] : t->shape[i]));
    }
}

static struct tensor *take_tensor(struct source *source, bool ruled, struct kiln_buffer *out)
{
    struct tensor *t = take_memory(sizeof *t);
    t->tensor = (struct kiln_dltensor){.data = (void *)(uintptr_t)(take(source) << 1),
                                       .device = {take(source), 0},
                                       .ndim = take(source) % (MOST_DIMS + 1),
                                       .dtype = {take(source), take(source), take(source)},
                                       .shape = t->shape,
                                       .strides = t->strides};
    bool packed = take(source) & 1;
    int64_t stride = 1;
    for (int i = t->tensor.ndim; i-- > 0;) {
        t->shape[i] = (int64_t)(take_word(source) & 0xffff) - 8;
        t->strides[i] = packed ? stride : (int64_t)take_word(source);
        stride = (int64_t)((uint64_t)stride * (uint64_t)t->shape[i]);
        for (int which = 0; which < 2; which++) {
            t->rules[which][i].kind = take(source) % 3;
            t->rules[which][i].divisor = t->rules[which][i].kind == KILN_DIVISIBLE ? 1u + take(source) : 0;
        }
    }
    if (packed) t->tensor.strides = NULL; /* the same as packed ones written out */
    t->spec = (kiln_tensor_spec){&t->tensor, t->rules[0], t->rules[1], (size_t)t->tensor.ndim};
    describe_tensor(t, ruled, out);
    return t;
}

static void take_args(struct source *source, unsigned depth, kiln_args *out, struct kiln_buffer *text);

static void take_arg(struct source *source, unsigned depth, kiln_arg *out, struct kiln_buffer *text)
{
    unsigned kind = take(source) % TYPES;
    if (types[kind] == &kiln_list && depth >= DEEPEST) kind = 0;
    out->type = types[kind];
    out->value = NULL;
    kiln__buffer_printf(text, " (%u", kind);
    if (kind == 0 || kind == 1) {
        uint64_t word = take_word(source);
        out->value = memcpy(take_memory(sizeof word), &word, sizeof word);
        describe_word(word, text);
    } else if (kind == 2) {
        bool value = take(source) & 1;
        out->value = memcpy(take_memory(sizeof value), &value, sizeof value);
        describe_word(value, text);
    } else if (kind == 3 || kind == 4) {
        size_t size = take(source) % 20, used = 0;
        char *bytes = take_memory(size + 1);
        for (; used < size; used++) bytes[used] = (char)take(source);
        if (kind == 3) used = strlen(bytes);
        describe_bytes(bytes, used, text);
        kiln_bytes *value = take_memory(sizeof *value);
        *value = (kiln_bytes){bytes, used};
        out->value = kind == 3 ? (const void *)bytes : value;
        if (kind == 3) free(value);
    } else if (types[kind] == &kiln_tensor || types[kind] == &kiln_tensor_ruled) {
        struct tensor *t = take_tensor(source, types[kind] == &kiln_tensor_ruled, text);
        out->value = types[kind] == &kiln_tensor_ruled ? (const void *)&t->spec : t;
    } else if (types[kind] == &kiln_list) {
        kiln_args *args = take_memory(sizeof *args);
        take_args(source, depth + 1, args, text);
        out->value = args;
    }
    kiln__buffer_printf(text, ")");
}

static void take_args(struct source *source, unsigned depth, kiln_args *out, struct kiln_buffer *text)
{
    size_t count = take(source) % (MOST_ARGS + 1);
    kiln_arg *args = take_memory(count * sizeof *args);
    for (size_t i = 0; i < count; i++) take_arg(source, depth, &args[i], text);
    *out = (kiln_args){args, count};
}

static void free_args(const kiln_args *args)
{
    for (size_t i = 0; i < args->count; i++) {
        const kiln_arg *arg = &args->data[i];
        if (arg->type == &kiln_const_bytes) free((void *)((const kiln_bytes *)arg->value)->data);
        if (arg->type == &kiln_list) free_args(arg->value);
        if (arg->type == &kiln_tensor_ruled)
            free((char *)(uintptr_t)arg->value - offsetof(struct tensor, spec));
        else
            free((void *)arg->value);
    }
    free((void *)args->data);
}

/* ---- words read back ------------------------------------------------------------------------------------------ */

static void read_args(const uint64_t *words, uint32_t count, struct kiln_buffer *out);

static void read_tensor(const uint64_t *item, struct kiln_buffer *out)
{
    uint64_t facts = item[1];
    bool ruled = kiln__item_info(*item) == KILN_TENSOR_RULED;
    int rank = (int)(facts & 0xff);
    kiln__buffer_printf(out, " %d %d.%d.%d on %d aligned %d rank %d", ruled, (int)(facts >> 56),
                        (int)(facts >> 48 & 0xff), (int)(facts >> 32 & 0xffff), (int)(facts >> 16 & 0xffff),
                        (int)(facts >> 8 & 0xff), rank);
    for (int i = 0; i < rank; i++) {
        const uint64_t *axis = item + 2 + 4 * i;
        if (!ruled) kiln__buffer_printf(out, " %lld/%lld", (long long)item[2 + i], (long long)item[2 + rank + i]);
        for (int which = 0; ruled && which < 2; which++)
            kiln__buffer_printf(out, " %u.%u.%llu", (unsigned)(axis[2 * which] >> 32), (unsigned)axis[2 * which],
                                (unsigned long long)axis[2 * which + 1]);
    }
}

static void read_arg(const uint64_t *item, struct kiln_buffer *out)
{
    unsigned kind = 0;
    if (kiln__item_tag(*item) != KILN_ITEM_ARGUMENT) abort();
    while (kind < TYPES && (uint64_t)(uintptr_t)types[kind] != item[1]) kind++;
    kiln__buffer_printf(out, " (%u", kind);
    if (kiln__item_words(*item) > 1) {
        const uint64_t *inner = item + 2;
        uint32_t words = kiln__item_words(*inner), rest = kiln__item_info(*inner) & 7;
        if (words + 2 != kiln__item_words(*item)) abort();
        if (kiln__item_tag(*inner) == KILN_ITEM_U64) describe_word(inner[1], out);
        if (kiln__item_tag(*inner) == KILN_ITEM_BYTES)
            describe_bytes(inner + 1, (size_t)words * 8 - (rest ? 8 - rest : 0), out);
        if (kiln__item_tag(*inner) == KILN_ITEM_TENSOR) read_tensor(inner, out);
        if (kiln__item_tag(*inner) == KILN_ITEM_LIST) read_args(inner + 1, words, out);
    }
    kiln__buffer_printf(out, ")");
}

static void read_args(const uint64_t *words, uint32_t count, struct kiln_buffer *out)
{
    for (uint32_t at = 0; at < count; at += 1 + kiln__item_words(words[at])) read_arg(words + at, out);
}

/* ---- one input ------------------------------------------------------------------------------------------------ */

static bool is_same(const struct kiln_buffer *a, const struct kiln_buffer *b)
{
    return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

static void sign_and_read(const uint8_t *data, size_t size, struct kiln_signature *signature, struct kiln_buffer *text)
{
    struct source source = {data, size};
    struct kiln_buffer again = {0};
    kiln_args args;
    take_args(&source, 0, &args, text);
    kiln__signature_init(signature);
    for (size_t i = 0; i < args.count; i++)
        if (kiln__signature_argument(signature, &args.data[i], i, NULL)) abort();
    read_args(signature->words, signature->count, &again);
    if (!is_same(text, &again)) abort();
    kiln__buffer_release(&again);
    free_args(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_signature keys[2];
    struct kiln_buffer texts[2] = {{0}, {0}};
    sign_and_read(data, size / 2, &keys[0], &texts[0]);
    sign_and_read(data + size / 2, size - size / 2, &keys[1], &texts[1]);
    bool same_words =
        keys[0].count == keys[1].count && !memcmp(keys[0].words, keys[1].words, keys[0].count * sizeof *keys[0].words);
    if (same_words != is_same(&texts[0], &texts[1])) abort();
    for (int i = 0; i < 2; i++) {
        kiln__signature_release(&keys[i]);
        kiln__buffer_release(&texts[i]);
    }
    return 0;
}
