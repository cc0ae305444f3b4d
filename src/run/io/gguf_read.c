/*
 * gguf_read.c - see gguf.h. The file is read forward through a window; nothing is allocated that is longer than what is
 * left of the file, whatever a length says.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "run/io/gguf.h"

enum { WINDOW = 1 << 16 };

struct reader {
    const struct kiln_source *source;
    uint64_t at; /* of the next byte */
    uint64_t window_at;
    size_t window_size;
    char *window;
    struct kiln_gguf *out;
    size_t array_cap;
    uint64_t alignment;
    struct kiln_table names; /* of values, then of arrays */
    kiln_error *err;
};

static kiln_status refuse(const struct reader *reader, uint64_t at, const char *expected)
{
    return kiln__fail(reader->err, KILN_INVALID, "[load_gguf] the file is damaged at byte %llu: expected %s",
                      (unsigned long long)at, expected);
}

static uint64_t bytes_left(const struct reader *reader)
{
    return reader->source->size - reader->at;
}

/* Reads `size` bytes; what fits is read through the window. */
static kiln_status take(struct reader *reader, void *to, size_t size)
{
    if (size > bytes_left(reader)) return refuse(reader, reader->at, "more bytes: it is cut off");
    if (size > WINDOW / 2) {
        reader->at += size;
        return reader->source->read(reader->source, reader->at - size, to, size, reader->err);
    }
    if (reader->at < reader->window_at || reader->at + size > reader->window_at + reader->window_size) {
        uint64_t left = bytes_left(reader);
        reader->window_at = reader->at;
        reader->window_size = left < WINDOW ? (size_t)left : WINDOW;
        kiln_status status =
            reader->source->read(reader->source, reader->at, reader->window, reader->window_size, reader->err);
        if (status) return status;
    }
    memcpy(to, reader->window + (reader->at - reader->window_at), size);
    reader->at += size;
    return KILN_OK;
}

/* Little-endian, as this machine is (base/config.h). */
static kiln_status take_u32(struct reader *reader, uint32_t *out)
{
    return take(reader, out, sizeof *out);
}

static kiln_status take_u64(struct reader *reader, uint64_t *out)
{
    return take(reader, out, sizeof *out);
}

/* A number of things that take `least` bytes each. */
static kiln_status take_count(struct reader *reader, uint64_t least, uint64_t *out)
{
    uint64_t at = reader->at;
    kiln_status status = take_u64(reader, out);
    if (status || *out <= bytes_left(reader) / least) return status;
    return kiln__fail(reader->err, KILN_INVALID,
                      "[load_gguf] the file is damaged at byte %llu: %llu of something do not fit the %llu bytes left",
                      (unsigned long long)at, (unsigned long long)*out, (unsigned long long)bytes_left(reader));
}

static kiln_status take_text(struct reader *reader, const char **out)
{
    uint64_t at = reader->at, size;
    kiln_status status = take_count(reader, 1, &size);
    if (status) return status;
    char *text = kiln__arena_alloc(&reader->out->arena, (size_t)size + 1);
    if (!text) return kiln__no_memory(reader->err, "a text of a file");
    status = take(reader, text, (size_t)size);
    if (status) return status;
    text[size] = '\0';
    *out = text;
    return memchr(text, '\0', (size_t)size) ? refuse(reader, at, "a text without NUL, as a C string is") : KILN_OK;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct named {
    const struct reader *reader;
    const char *name;
    bool is_value;
};

static bool same_name(const void *context, uint32_t index)
{
    const struct named *named = context;
    const struct kiln_gguf *out = named->reader->out;
    return !strcmp(named->name, named->is_value ? out->values[index].name : out->arrays[index].name);
}

/* `index` is that of the entry that gets the name. */
static kiln_status add_name(struct reader *reader, const char *name, bool is_value, size_t index, uint64_t at)
{
    const struct named named = {reader, name, is_value};
    uint32_t *slot = kiln__table_slot(&reader->names, kiln__hash(name, strlen(name)), same_name, &named);
    if (!slot) return kiln__no_memory(reader->err, "the names of a file");
    if (*slot != KILN_TABLE_EMPTY)
        return kiln__fail(reader->err, KILN_INVALID, "[load_gguf] at byte %llu the name \"%.200s\" appears again",
                          (unsigned long long)at, name);
    *slot = (uint32_t)index;
    return KILN_OK;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static kiln_status take_numbers(struct reader *reader, enum kiln_dtype dtype, size_t ndim, int count,
                                struct kiln_gguf_value *value)
{
    kiln_status status = kiln__array_alloc(dtype, ndim, &count, &value->array, reader->err);
    if (status) return status;
    size_t size = (size_t)value->array->size * kiln__dtype_size(dtype);
    if (size) status = take(reader, value->array->data, size);
    for (size_t i = 0; !status && dtype == KILN_BOOL && i < size; i++)
        value->array->data[i] = value->array->data[i] != 0;
    return status;
}

static kiln_status take_list(struct reader *reader, struct kiln_gguf_value *value)
{
    uint64_t at = reader->at, count = 0;
    uint32_t type;
    kiln_status status = take_u32(reader, &type);
    if (status) return status;
    int dtype = kiln__gguf_value_dtype(type);
    if (dtype < 0 && type != KILN_GGUF_TEXT)
        return refuse(reader, at, "a list of numbers or of texts; lists of lists can't be arrays");
    status = take_count(reader, dtype < 0 ? 8 : kiln__dtype_size((enum kiln_dtype)dtype), &count);
    if (!status && count > INT_MAX) status = refuse(reader, at, "a list of fewer than 2^31");
    if (status) return status;
    if (dtype >= 0) return take_numbers(reader, (enum kiln_dtype)dtype, 1, (int)count, value);
    value->texts = kiln__arena_array(&reader->out->arena, (size_t)count + 1, sizeof *value->texts);
    if (!value->texts) return kiln__no_memory(reader->err, "the texts of a file");
    for (; value->text_count < count && !status; value->text_count++)
        status = take_text(reader, &value->texts[value->text_count]);
    return status;
}

static kiln_status take_value(struct reader *reader, struct kiln_gguf_value *value)
{
    uint64_t at = reader->at;
    uint32_t type;
    kiln_status status = take_u32(reader, &type);
    if (status) return status;
    int dtype = kiln__gguf_value_dtype(type);
    if (dtype >= 0) return take_numbers(reader, (enum kiln_dtype)dtype, 0, 0, value);
    if (type == KILN_GGUF_TEXT) return take_text(reader, &value->text);
    return type == KILN_GGUF_LIST ? take_list(reader, value) : refuse(reader, at, "a type of values, 0 to 12");
}

static kiln_status check_alignment(struct reader *reader, const struct kiln_gguf_value *value, uint64_t at)
{
    uint32_t alignment = 0;
    if (strcmp(value->name, "general.alignment") != 0) return KILN_OK;
    if (value->array && value->array->dtype == KILN_UINT32 && value->array->ndim == 0)
        memcpy(&alignment, value->array->data, sizeof alignment);
    if (alignment == 0 || alignment & (alignment - 1) || alignment > 1 << 20)
        return refuse(reader, at, "general.alignment to be a power of two, as uint32");
    reader->alignment = alignment;
    return KILN_OK;
}

static kiln_status take_values(struct reader *reader, uint64_t count)
{
    struct kiln_gguf *out = reader->out;
    out->values = kiln__arena_array(&out->arena, (size_t)count + 1, sizeof *out->values);
    if (!out->values) return kiln__no_memory(reader->err, "the values of a file");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = reader->at;
        struct kiln_gguf_value *value = &out->values[i];
        *value = (struct kiln_gguf_value){0};
        kiln_status status = take_text(reader, &value->name);
        if (!status) status = add_name(reader, value->name, true, (size_t)i, at);
        if (status) return status;
        out->value_count++; /* from here on its array is released with the rest */
        status = take_value(reader, value);
        if (!status) status = check_alignment(reader, value, at);
        if (status) return status;
    }
    return KILN_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

struct tensor {
    const char *name;
    const struct kiln_gguf_type *type;
    size_t ndim;
    int dims[KILN_MAX_NDIM];
    uint64_t at; /* where its entry begins */
    uint64_t offset, size;
};

static kiln_status take_dims(struct reader *reader, struct tensor *tensor)
{
    uint64_t at = reader->at, dim;
    uint32_t ndim;
    kiln_status status = take_u32(reader, &ndim);
    if (!status && ndim > KILN_MAX_NDIM) status = refuse(reader, at, "at most 32 sizes");
    if (status) return status;
    tensor->ndim = ndim;
    for (size_t i = ndim; i-- > 0 && !status;) { /* the last axis comes first */
        at = reader->at;
        status = take_u64(reader, &dim);
        if (!status && dim > INT_MAX) status = refuse(reader, at, "a size of less than 2^31");
        if (!status) tensor->dims[i] = (int)dim;
    }
    return status;
}

static kiln_status take_type(struct reader *reader, struct tensor *tensor)
{
    uint64_t at = reader->at;
    uint32_t type;
    kiln_status status = take_u32(reader, &type);
    if (status) return status;
    tensor->type = kiln__gguf_type(type);
    if (tensor->type) return KILN_OK;
    return kiln__fail(
        reader->err, KILN_INVALID,
        "[load_gguf] at byte %llu tensor \"%.200s\" is of type %u; known are F32, F16, BF16, F64, I8, I16, "
        "I32, I64, Q4_0, Q4_1 and Q8_0",
        (unsigned long long)at, tensor->name, (unsigned)type);
}

static kiln_status count_bytes(const struct reader *reader, struct tensor *tensor)
{
    int64_t count;
    kiln_status status = kiln__shape_check(tensor->dims, tensor->ndim, KILN_FLOAT64, &count, reader->err);
    unsigned block = tensor->type->block;
    if (status) return status;
    if (block > 1 && (tensor->ndim == 0 || tensor->dims[tensor->ndim - 1] % (int)block))
        return kiln__fail(
            reader->err, KILN_INVALID,
            "[load_gguf] at byte %llu tensor \"%.200s\" of type %s has rows that are no whole blocks of %u",
            (unsigned long long)tensor->at, tensor->name, tensor->type->name, block);
    tensor->size = (uint64_t)count / block * tensor->type->bytes;
    return KILN_OK;
}

static kiln_status take_tensor(struct reader *reader, struct tensor *tensor)
{
    tensor->at = reader->at;
    kiln_status status = take_text(reader, &tensor->name);
    if (!status) status = take_dims(reader, tensor);
    if (!status) status = take_type(reader, tensor);
    if (!status) status = take_u64(reader, &tensor->offset);
    return status ? status : count_bytes(reader, tensor);
}

static struct kiln_gguf_array *add_array(struct reader *reader)
{
    struct kiln_gguf *out = reader->out;
    if (out->array_count == reader->array_cap) {
        size_t cap = reader->array_cap ? 2 * reader->array_cap : 16;
        void *longer = kiln__arena_array(&out->arena, cap, sizeof *out->arrays);
        if (!longer) return NULL;
        if (out->array_count) memcpy(longer, out->arrays, out->array_count * sizeof *out->arrays);
        out->arrays = longer;
        reader->array_cap = cap;
    }
    return memset(&out->arrays[out->array_count], 0, sizeof *out->arrays);
}

/* Part 0: plain elements or codes. 1, 2: scales and biases, whose names end so instead of in ".weight". */
static kiln_status add_part(struct reader *reader, const struct tensor *tensor, unsigned part)
{
    static const char weight[] = ".weight", *const endings[] = {"", ".scales", ".biases"};
    const struct kiln_gguf_type *type = tensor->type;
    size_t size = strlen(tensor->name), tail = sizeof weight - 1;
    if (part && size >= tail && !strcmp(tensor->name + size - tail, weight)) size -= tail;
    char *name = kiln__arena_alloc(&reader->out->arena, size + sizeof ".scales");
    struct kiln_gguf_array *array = add_array(reader);
    if (!name || !array) return kiln__no_memory(reader->err, "the arrays of a file");
    memcpy(name, tensor->name, size);
    strcpy(name + size, endings[part]);
    array->name = name;
    array->dtype = part ? KILN_FLOAT16 : type->dtype;
    array->form = (enum kiln_load_form)(type->form + part);
    array->ndim = tensor->ndim;
    memcpy(array->dims, tensor->dims, sizeof array->dims);
    array->offset = tensor->offset;
    if (type->block > 1) array->dims[tensor->ndim - 1] /= (int)(part ? type->block : type->codes);
    kiln_status status = add_name(reader, name, false, reader->out->array_count, tensor->at);
    reader->out->array_count += !status;
    return status;
}

/* The entries of all tensors stand before the first byte of data, so where that is is known after the last one. */
static kiln_status place_tensors(struct reader *reader, struct tensor *tensors, uint64_t count)
{
    uint64_t data = (reader->at + reader->alignment - 1) / reader->alignment * reader->alignment;
    uint64_t size = reader->source->size;
    for (uint64_t i = 0; i < count; i++) {
        struct tensor *tensor = &tensors[i];
        uint64_t space = size > data ? size - data : 0;
        if (tensor->size && (tensor->offset > space || tensor->size > space - tensor->offset))
            return kiln__fail(reader->err, KILN_INVALID,
                              "[load_gguf] at byte %llu tensor \"%.200s\" of %llu bytes lies at %llu of %llu bytes of "
                              "data: the file is damaged or cut off",
                              (unsigned long long)tensor->at, tensor->name, (unsigned long long)tensor->size,
                              (unsigned long long)tensor->offset, (unsigned long long)space);
        tensor->offset = tensor->size ? tensor->offset + data : 0;
        for (unsigned part = 0; part < (tensor->type->block > 1 ? 3u : 1u); part++) {
            kiln_status status = add_part(reader, tensor, part);
            if (status) return status;
        }
    }
    return KILN_OK;
}

static kiln_status take_tensors(struct reader *reader, uint64_t count)
{
    struct tensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
    kiln_status status = tensors ? KILN_OK : kiln__no_memory(reader->err, "the tensors of a file");
    for (uint64_t i = 0; i < count && !status; i++) status = take_tensor(reader, &tensors[i]);
    kiln__table_release(&reader->names);
    reader->names = (struct kiln_table){0};
    if (!status) status = place_tensors(reader, tensors, count);
    free(tensors);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static kiln_status read_all(struct reader *reader)
{
    char magic[4] = "";
    uint32_t version = 0;
    uint64_t tensor_count, value_count;
    if (bytes_left(reader) < sizeof magic || take(reader, magic, sizeof magic) || memcmp(magic, "GGUF", 4) != 0)
        return refuse(reader, 0, "\"GGUF\"; it is no GGUF file");
    kiln_status status = take_u32(reader, &version);
    if (!status && version != 2 && version != 3)
        status = refuse(reader, 4,
                        version >> 16 ? "version 2 or 3; this may be a big-endian file, which can't be read"
                                      : "version 2 or 3");
    if (!status) status = take_count(reader, 24, &tensor_count);
    if (!status) status = take_count(reader, 13, &value_count);
    if (!status) status = take_values(reader, value_count);
    return status ? status : take_tensors(reader, tensor_count);
}

kiln_status kiln__gguf_read(const struct kiln_source *source, struct kiln_gguf *out, kiln_error *err)
{
    struct reader reader = {.source = source, .out = out, .alignment = KILN_GGUF_ALIGNMENT, .err = err};
    memset(out, 0, sizeof *out);
    reader.window = malloc(WINDOW);
    if (!reader.window) return kiln__no_memory(err, "a file");
    kiln_status status = read_all(&reader);
    free(reader.window);
    kiln__table_release(&reader.names);
    if (status) kiln__gguf_release(out);
    return status;
}

void kiln__gguf_release(struct kiln_gguf *file)
{
    for (size_t i = 0; i < file->value_count; i++) kiln__array_unref(file->values[i].array);
    kiln__arena_release(&file->arena);
    memset(file, 0, sizeof *file);
}
