/*
 * safetensors.c - see safetensors.h. The header is JSON (base/json.h), read forward in one pass: a tensor is checked
 * and listed when its object ends.
 */
#include "run/io/safetensors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/table.h"

/* Every type of the format. A dtype is saved as the first row that has it; the rows from F8_E4M3 on are only read, as
 * bytes. */
static const struct stored_type {
    const char *name;
    enum kiln_dtype dtype;
    unsigned bits;
} types[] = {
    {"BOOL", KILN_BOOL, 8},         {"U8", KILN_UINT8, 8},       {"U16", KILN_UINT16, 16},
    {"U32", KILN_UINT32, 32},       {"U64", KILN_UINT64, 64},    {"I8", KILN_INT8, 8},
    {"I16", KILN_INT16, 16},        {"I32", KILN_INT32, 32},     {"I64", KILN_INT64, 64},
    {"F16", KILN_FLOAT16, 16},      {"F32", KILN_FLOAT32, 32},   {"F64", KILN_FLOAT64, 64},
    {"BF16", KILN_BFLOAT16, 16},    {"C64", KILN_COMPLEX64, 64}, {"F8_E4M3", KILN_UINT8, 8},
    {"F8_E5M2", KILN_UINT8, 8},     {"F8_E8M0", KILN_UINT8, 8},  {"F8_E4M3FNUZ", KILN_UINT8, 8},
    {"F8_E5M2FNUZ", KILN_UINT8, 8}, {"F6_E2M3", KILN_UINT8, 6},  {"F6_E3M2", KILN_UINT8, 6},
    {"F4", KILN_UINT8, 4},
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

struct reader {
    struct kiln_json_reader json;
    struct kiln_buffer text; /* of the string that was read last */
    struct kiln_safetensors *out;
    size_t tensor_cap, metadata_cap;
    uint64_t data_size;
    struct kiln_table names;
    kiln_error *err;
};

static size_t offset_of(const struct reader *reader)
{
    return (size_t)(reader->json.at - reader->json.text);
}

static kiln_status refuse(const struct reader *reader, const char *expected)
{
    return kiln__fail(reader->err, KILN_INVALID, "[load_safetensors] the header is damaged at byte %zu: expected %s",
                      offset_of(reader), expected);
}

/* After a call of json.h that failed. */
static kiln_status refuse_json(const struct reader *reader)
{
    return reader->json.expected ? refuse(reader, reader->json.expected) : kiln__no_memory(reader->err, "a header");
}

static bool accept(struct reader *reader, char wanted)
{
    return kiln__json_accept(&reader->json, wanted);
}

/* A string into reader->text. */
static kiln_status read_text(struct reader *reader)
{
    if (!kiln__json_read_text(&reader->json, &reader->text)) return refuse_json(reader);
    if (!memchr(reader->text.data, '\0', reader->text.size)) return KILN_OK;
    return kiln__fail(reader->err, KILN_INVALID,
                      "[load_safetensors] the text that ends at byte %zu holds a NUL; a C string can't",
                      offset_of(reader));
}

/* A string that lives as long as the result. */
static kiln_status read_string(struct reader *reader, const char **out)
{
    kiln_status status = read_text(reader);
    if (status) return status;
    *out = kiln__arena_copy(&reader->out->arena, reader->text.data, reader->text.size + 1);
    return *out ? KILN_OK : kiln__no_memory(reader->err, "a header");
}

static kiln_status read_number(struct reader *reader, uint64_t *out)
{
    return kiln__json_read_number(&reader->json, out) ? KILN_OK : refuse_json(reader);
}

/* ---- a tensor ---------------------------------------------------------------------------------------------------- */

struct entry {
    struct kiln_tensor tensor;
    const struct stored_type *type; /* NULL: not read yet */
    uint64_t end;
    bool has_shape, has_offsets;
};

/* The file may be sound and only newer than this version. */
static kiln_status refuse_type(const struct reader *reader, const struct entry *entry, const char *name)
{
    char known[300] = "";
    size_t used = 0;
    for (int i = 0; i < TYPE_COUNT; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", types[i].name);
    return kiln__fail(reader->err, KILN_INVALID,
                      "[load_safetensors] tensor \"%.200s\" has the unknown dtype \"%.40s\"; known are %s",
                      entry->tensor.name, name, known);
}

static kiln_status read_dtype(struct reader *reader, struct entry *entry)
{
    kiln_status status = read_text(reader);
    const char *name = (const char *)reader->text.data;
    for (int i = 0; status == KILN_OK && !entry->type && i < TYPE_COUNT; i++)
        if (strcmp(name, types[i].name) == 0) entry->type = &types[i];
    return status || entry->type ? status : refuse_type(reader, entry, name);
}

static kiln_status read_shape(struct reader *reader, struct entry *entry)
{
    uint64_t dim;
    if (!accept(reader, '[')) return refuse(reader, "a list of sizes");
    entry->has_shape = true;
    if (accept(reader, ']')) return KILN_OK;
    do {
        kiln_status status = read_number(reader, &dim);
        if (status) return status;
        if (dim > INT_MAX || entry->tensor.ndim == KILN_MAX_NDIM)
            return kiln__fail(reader->err, KILN_INVALID,
                              "[load_safetensors] tensor \"%.200s\" has more than %d axes or one of 2^31 or more "
                              "elements; an array can't",
                              entry->tensor.name, KILN_MAX_NDIM);
        entry->tensor.dims[entry->tensor.ndim++] = (int)dim;
    } while (accept(reader, ','));
    return accept(reader, ']') ? KILN_OK : refuse(reader, "']'");
}

static kiln_status read_offsets(struct reader *reader, struct entry *entry)
{
    if (!accept(reader, '[')) return refuse(reader, "two offsets");
    kiln_status status = read_number(reader, &entry->tensor.offset);
    if (!status && !accept(reader, ',')) status = refuse(reader, "','");
    if (!status) status = read_number(reader, &entry->end);
    if (!status && !accept(reader, ']')) status = refuse(reader, "']'");
    entry->has_offsets = true;
    return status;
}

static kiln_status skip_value(struct reader *reader)
{
    return kiln__json_skip(&reader->json, &reader->text) ? KILN_OK : refuse_json(reader);
}

static kiln_status read_field(struct reader *reader, struct entry *entry)
{
    kiln_status status = read_text(reader);
    if (!status && !accept(reader, ':')) status = refuse(reader, "':'");
    if (status) return status;
    const char *name = (const char *)reader->text.data;
    bool is_dtype = !strcmp(name, "dtype"), is_shape = !strcmp(name, "shape"),
         is_offsets = !strcmp(name, "data_offsets");
    if ((is_dtype && entry->type) || (is_shape && entry->has_shape) || (is_offsets && entry->has_offsets))
        return refuse(reader, "dtype, shape and data_offsets once each, before this byte");
    if (is_dtype) return read_dtype(reader, entry);
    if (is_shape) return read_shape(reader, entry);
    return is_offsets ? read_offsets(reader, entry) : skip_value(reader);
}

/* Of elements smaller than a byte the last axis counts bytes. */
static kiln_status count_bytes(const struct reader *reader, struct entry *entry)
{
    struct kiln_tensor *tensor = &entry->tensor;
    char shape[KILN_SHAPE_TEXT];
    int *last = tensor->ndim ? &tensor->dims[tensor->ndim - 1] : NULL;
    tensor->dtype = entry->type->dtype;
    if (entry->type->bits >= 8) return KILN_OK;
    if (!last || (uint64_t)*last * entry->type->bits % 8)
        return kiln__fail(reader->err, KILN_INVALID,
                          "[load_safetensors] tensor \"%.200s\" is %s of shape %s: its rows are no whole bytes, so it "
                          "can't be read as uint8",
                          tensor->name, entry->type->name, kiln__shape_text(tensor->dims, tensor->ndim, shape));
    *last = (int)((uint64_t)*last * entry->type->bits / 8);
    return KILN_OK;
}

static kiln_status check_entry(const struct reader *reader, struct entry *entry)
{
    const struct kiln_tensor *tensor = &entry->tensor;
    int64_t size = 0;
    if (!entry->type || !entry->has_shape || !entry->has_offsets)
        return kiln__fail(reader->err, KILN_INVALID,
                          "[load_safetensors] tensor \"%.200s\" needs dtype, shape and data_offsets", tensor->name);
    kiln_status status = count_bytes(reader, entry);
    if (!status) status = kiln__shape_check(tensor->dims, tensor->ndim, tensor->dtype, &size, reader->err);
    if (status) return status;
    uint64_t bytes = (uint64_t)size * kiln__dtype_size(tensor->dtype);
    if (tensor->offset <= entry->end && entry->end <= reader->data_size && entry->end - tensor->offset == bytes)
        return KILN_OK;
    return kiln__fail(reader->err, KILN_INVALID,
                      "[load_safetensors] tensor \"%.200s\" of %llu bytes lies at %llu to %llu of %llu bytes of data: "
                      "the file is damaged or cut off",
                      tensor->name, (unsigned long long)bytes, (unsigned long long)tensor->offset,
                      (unsigned long long)entry->end, (unsigned long long)reader->data_size);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* `list` with memory for one more; a list that was too short stays in the arena. */
static void *grow(struct reader *reader, void *list, size_t count, size_t *cap, size_t item)
{
    if (count < *cap) return list;
    size_t more = *cap ? 2 * *cap : 16;
    void *longer = kiln__arena_array(&reader->out->arena, more, item);
    if (!longer) return NULL;
    if (count) memcpy(longer, list, count * item);
    *cap = more;
    return longer;
}

static bool same_name(const void *context, uint32_t index)
{
    const void *const *pair = context; /* reader, name */
    return strcmp(((const struct reader *)pair[0])->out->tensors[index].name, pair[1]) == 0;
}

static kiln_status add_tensor(struct reader *reader, const struct kiln_tensor *tensor)
{
    struct kiln_safetensors *out = reader->out;
    const void *pair[] = {reader, tensor->name};
    uint32_t *slot = kiln__table_slot(&reader->names, kiln__hash(tensor->name, strlen(tensor->name)), same_name, pair);
    void *list = grow(reader, out->tensors, out->tensor_count, &reader->tensor_cap, sizeof *tensor);
    if (!slot || !list) return kiln__no_memory(reader->err, "a header");
    if (*slot != KILN_TABLE_EMPTY)
        return kiln__fail(reader->err, KILN_INVALID, "[load_safetensors] tensor \"%.200s\" appears twice",
                          tensor->name);
    *slot = (uint32_t)out->tensor_count;
    out->tensors = list;
    out->tensors[out->tensor_count++] = *tensor;
    return KILN_OK;
}

static kiln_status read_tensor(struct reader *reader, const char *name)
{
    struct entry entry = {.tensor.name = name};
    if (!accept(reader, '{')) return refuse(reader, "'{'");
    do {
        kiln_status status = read_field(reader, &entry);
        if (status) return status;
    } while (accept(reader, ','));
    if (!accept(reader, '}')) return refuse(reader, "'}'");
    kiln_status status = check_entry(reader, &entry);
    return status ? status : add_tensor(reader, &entry.tensor);
}

static kiln_status read_metadata(struct reader *reader)
{
    struct kiln_safetensors *out = reader->out;
    struct kiln_json_reader *json = &reader->json;
    if (kiln__json_peek(json) == 'n' && json->end - json->at >= 4 && memcmp(json->at, "null", 4) == 0) {
        json->at += 4;
        return KILN_OK;
    }
    if (!accept(reader, '{')) return refuse(reader, "'{'");
    if (accept(reader, '}')) return KILN_OK;
    do {
        struct kiln_text_pair pair = {0};
        kiln_status status = read_string(reader, &pair.name);
        if (!status && !accept(reader, ':')) status = refuse(reader, "':'");
        if (!status) status = read_string(reader, &pair.text);
        if (status) return status;
        void *list = grow(reader, out->metadata, out->metadata_count, &reader->metadata_cap, sizeof pair);
        if (!list) return kiln__no_memory(reader->err, "a header");
        out->metadata = list;
        out->metadata[out->metadata_count++] = pair;
    } while (accept(reader, ','));
    return accept(reader, '}') ? KILN_OK : refuse(reader, "'}'");
}

static kiln_status read_header(struct reader *reader)
{
    if (!accept(reader, '{')) return refuse(reader, "'{'");
    if (!accept(reader, '}')) {
        do {
            const char *name = NULL;
            kiln_status status = read_string(reader, &name);
            if (!status && !accept(reader, ':')) status = refuse(reader, "':'");
            if (!status) status = strcmp(name, "__metadata__") == 0 ? read_metadata(reader) : read_tensor(reader, name);
            if (status) return status;
        } while (accept(reader, ','));
        if (!accept(reader, '}')) return refuse(reader, "'}'");
    }
    kiln__json_peek(&reader->json);
    return reader->json.at == reader->json.end ? KILN_OK : refuse(reader, "the end");
}

kiln_status kiln__safetensors_parse(const char *header, size_t size, uint64_t data_size, struct kiln_safetensors *out,
                                    kiln_error *err)
{
    memset(out, 0, sizeof *out);
    struct reader reader = {
        .json = {.text = header, .at = header, .end = header + size}, .out = out, .data_size = data_size, .err = err};
    kiln_status status = read_header(&reader);
    kiln__table_release(&reader.names);
    kiln__buffer_release(&reader.text);
    if (status) kiln__safetensors_release(out);
    return status;
}

void kiln__safetensors_release(struct kiln_safetensors *file)
{
    kiln__arena_release(&file->arena);
    memset(file, 0, sizeof *file);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct kiln_text_pair *)a)->name, ((const struct kiln_text_pair *)b)->name);
}

static int compare_tensors(const void *a, const void *b)
{
    return strcmp((*(const struct kiln_tensor *const *)a)->name, (*(const struct kiln_tensor *const *)b)->name);
}

static void print_metadata(struct kiln_json *json, const struct kiln_text_pair *pairs, size_t count)
{
    if (!count) {
        kiln__json_null(json, "__metadata__");
        return;
    }
    kiln__json_open(json, "__metadata__", '{');
    for (size_t i = 0; i < count; i++) kiln__json_text(json, pairs[i].name, pairs[i].text);
    kiln__json_close(json, '}');
}

static const char *type_name(enum kiln_dtype dtype)
{
    const struct stored_type *type = types;
    while (type->dtype != dtype) type++;
    return type->name;
}

static void print_tensor(struct kiln_json *json, const struct kiln_tensor *tensor)
{
    uint64_t size = kiln__dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor->ndim; i++) size *= (uint64_t)tensor->dims[i];
    kiln__json_open(json, tensor->name, '{');
    kiln__json_open(json, "data_offsets", '[');
    kiln__json_number(json, NULL, tensor->offset);
    kiln__json_number(json, NULL, tensor->offset + size);
    kiln__json_close(json, ']');
    kiln__json_text(json, "dtype", type_name(tensor->dtype));
    kiln__json_open(json, "shape", '[');
    for (size_t i = 0; i < tensor->ndim; i++) kiln__json_number(json, NULL, (uint64_t)tensor->dims[i]);
    kiln__json_close(json, ']');
    kiln__json_close(json, '}');
}

/* "__metadata__" sorts among the names as they do. Names are bytes here, so that what was loaded is saved. */
static void print_all(struct kiln_buffer *out, const struct kiln_tensor *const *tensors, size_t count,
                      const struct kiln_text_pair *metadata, size_t metadata_count)
{
    struct kiln_json json = {.out = out, .keeps_bytes = true};
    size_t i = 0;
    kiln__json_open(&json, NULL, '{');
    for (; i < count && strcmp(tensors[i]->name, "__metadata__") < 0; i++) print_tensor(&json, tensors[i]);
    print_metadata(&json, metadata, metadata_count);
    for (; i < count; i++) print_tensor(&json, tensors[i]);
    kiln__json_close(&json, '}');
}

kiln_status kiln__safetensors_print(const struct kiln_tensor *tensors, size_t tensor_count,
                                    const struct kiln_text_pair *metadata, size_t metadata_count,
                                    struct kiln_buffer *out, kiln_error *err)
{
    const struct kiln_tensor **sorted = malloc((tensor_count + 1) * sizeof *sorted);
    struct kiln_text_pair *pairs = malloc((metadata_count + 1) * sizeof *pairs);
    if (sorted && pairs) {
        for (size_t i = 0; i < tensor_count; i++) sorted[i] = &tensors[i];
        if (metadata_count) memcpy(pairs, metadata, metadata_count * sizeof *pairs);
        qsort(sorted, tensor_count, sizeof *sorted, compare_tensors);
        qsort(pairs, metadata_count, sizeof *pairs, compare_pairs);
        print_all(out, sorted, tensor_count, pairs, metadata_count);
    }
    bool done = sorted && pairs && !out->failed;
    free(sorted);
    free(pairs);
    return done ? KILN_OK : kiln__no_memory(err, "a header");
}
