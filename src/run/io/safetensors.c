/*
 * safetensors.c - see safetensors.h: a reader of just the JSON that headers are made of, and the printer.
 *
 * The reader walks forward through the text and never backs up; every step checks the end before it looks.
 */
#include "run/io/safetensors.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"

/* Every type of the format. A dtype of ours is saved as the first row that has it; the rows after those are codes that
 * are read as bytes. */
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
    const char *text, *at, *end;
    struct kiln_safetensors *out;
    size_t tensor_cap, metadata_cap;
    uint64_t data_size;
    struct kiln_table names;
    kiln_error *err;
};

static kiln_status refuse(const struct reader *reader, const char *expected)
{
    return kiln__fail(reader->err, KILN_INVALID, "[load_safetensors] the header is damaged at byte %zu: expected %s",
                      (size_t)(reader->at - reader->text), expected);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4)) reader->at++;
}

/* How many of the next bytes are among `accepted`. */
static size_t count_among(const struct reader *reader, const char *accepted)
{
    const char *at = reader->at;
    while (at < reader->end && *at && strchr(accepted, *at)) at++;
    return (size_t)(at - reader->at);
}

/* The next byte that is not space, or 0. */
static char peek(struct reader *reader)
{
    skip_space(reader);
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool accept(struct reader *reader, char wanted)
{
    bool is_there = peek(reader) == wanted && reader->at < reader->end;
    reader->at += is_there;
    return is_there;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex(struct reader *reader, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        int digit = reader->at < reader->end ? hex_digit(*reader->at) : -1;
        if (digit < 0) return false;
        *out = *out * 16 + (unsigned)digit;
    }
    return true;
}

static void append_utf8(char **to, unsigned code)
{
    if (code < 0x80) {
        *(*to)++ = (char)code;
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    *(*to)++ = (char)(heads[more] | code >> 6 * more);
    while (more-- > 0) *(*to)++ = (char)(0x80 | (code >> 6 * more & 0x3f));
}

/* Behind the backslash. */
static bool read_escape(struct reader *reader, char **to)
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = reader->at < reader->end && *reader->at ? strchr(plain, *reader->at) : NULL;
    unsigned code, low;
    if (found) {
        *(*to)++ = meant[found - plain];
        reader->at++;
        return true;
    }
    if (reader->at >= reader->end || *reader->at++ != 'u' || !read_hex(reader, &code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u') return false;
        reader->at += 2;
        if (!read_hex(reader, &low) || low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return false;
    }
    append_utf8(to, code);
    return true;
}

/* *out: NUL-terminated, in the arena; what was escaped never gets longer. */
static kiln_status read_string(struct reader *reader, const char **out)
{
    if (!accept(reader, '"')) return refuse(reader, "a string");
    const char *close = reader->at;
    while (close < reader->end && *close != '"') close += *close == '\\' ? 2 : 1;
    if (close >= reader->end) return refuse(reader, "the end of a string");
    char *text = kiln__arena_array(&reader->out->arena, (size_t)(close - reader->at) + 1, 1), *to = text;
    if (!text) return kiln__no_memory(reader->err, "a header");
    while (reader->at < close) {
        char c = *reader->at;
        if ((unsigned char)c < 0x20) return refuse(reader, "a string without control characters");
        reader->at++;
        if (c != '\\')
            *to++ = c;
        else if (!read_escape(reader, &to))
            return refuse(reader, "a valid escape");
    }
    reader->at = close + 1;
    if (memchr(text, '\0', (size_t)(to - text)))
        return kiln__fail(reader->err, KILN_INVALID,
                          "[load_safetensors] the text that ends at byte %zu holds a NUL; a C string can't",
                          (size_t)(reader->at - reader->text));
    *to = '\0';
    *out = text;
    return KILN_OK;
}

static kiln_status read_number(struct reader *reader, uint64_t *out)
{
    char c = peek(reader);
    *out = 0;
    if (c < '0' || c > '9') return refuse(reader, "a whole number");
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        if (__builtin_mul_overflow(*out, (uint64_t)10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*reader->at - '0'), out))
            return refuse(reader, "a smaller number");
    return KILN_OK;
}

/* ---- a tensor ---------------------------------------------------------------------------------------------------- */

struct entry {
    struct kiln_tensor tensor;
    const struct stored_type *type; /* NULL: not read yet */
    uint64_t end;
    bool has_shape, has_offsets;
};

/* A file may be sound and yet hold what this version does not know. */
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
    const char *name = NULL;
    kiln_status status = read_string(reader, &name);
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

/* A value that nobody asked for. Brackets are counted, not matched: enough to find its end. */
static kiln_status skip_value(struct reader *reader)
{
    size_t depth = 0;
    const char *unused;
    do {
        char c = peek(reader);
        bool is_close = c == ']' || c == '}', is_open = c == '[' || c == '{';
        size_t word = count_among(reader, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
        if (c == '"') {
            kiln_status status = read_string(reader, &unused);
            if (status) return status;
        } else if (is_open || (depth > 0 && (is_close || c == ',' || c == ':'))) {
            reader->at++;
            depth += is_open;
            depth -= is_close;
        } else if (word > 0) {
            reader->at += word;
        } else {
            return refuse(reader, "a value");
        }
    } while (depth > 0);
    return KILN_OK;
}

static kiln_status read_field(struct reader *reader, struct entry *entry)
{
    const char *name = NULL;
    kiln_status status = read_string(reader, &name);
    if (!status && !accept(reader, ':')) status = refuse(reader, "':'");
    if (status) return status;
    bool is_dtype = !strcmp(name, "dtype"), is_shape = !strcmp(name, "shape"),
         is_offsets = !strcmp(name, "data_offsets");
    if ((is_dtype && entry->type) || (is_shape && entry->has_shape) || (is_offsets && entry->has_offsets))
        return refuse(reader, "dtype, shape and data_offsets once each, before this byte");
    if (is_dtype) return read_dtype(reader, entry);
    if (is_shape) return read_shape(reader, entry);
    return is_offsets ? read_offsets(reader, entry) : skip_value(reader);
}

/* Codes of less than a byte: the last axis counts bytes. */
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

/* `list` with room for one more; the arena frees the old one at its end. */
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
    if (peek(reader) == 'n' && reader->end - reader->at >= 4 && memcmp(reader->at, "null", 4) == 0) {
        reader->at += 4;
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
    skip_space(reader);
    return reader->at == reader->end ? KILN_OK : refuse(reader, "the end");
}

kiln_status kiln__safetensors_parse(const char *header, size_t size, uint64_t data_size, struct kiln_safetensors *out,
                                    kiln_error *err)
{
    memset(out, 0, sizeof *out);
    struct reader reader = {
        .text = header, .at = header, .end = header + size, .out = out, .data_size = data_size, .err = err};
    kiln_status status = read_header(&reader);
    kiln__table_release(&reader.names);
    if (status) kiln__safetensors_release(out);
    return status;
}

void kiln__safetensors_release(struct kiln_safetensors *file)
{
    kiln__arena_release(&file->arena);
    memset(file, 0, sizeof *file);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_string(struct kiln_buffer *out, const char *text)
{
    kiln__buffer_append(out, "\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            kiln__buffer_printf(out, "\\%c", c);
        else if (c < 0x20)
            kiln__buffer_printf(out, "\\u%04x", c);
        else
            kiln__buffer_append(out, text, 1);
    }
    kiln__buffer_append(out, "\"", 1);
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct kiln_text_pair *)a)->name, ((const struct kiln_text_pair *)b)->name);
}

static int compare_tensors(const void *a, const void *b)
{
    return strcmp((*(const struct kiln_tensor *const *)a)->name, (*(const struct kiln_tensor *const *)b)->name);
}

static void print_metadata(struct kiln_buffer *out, const struct kiln_text_pair *pairs, size_t count)
{
    kiln__buffer_printf(out, "\"__metadata__\":%s", count ? "{" : "null");
    for (size_t i = 0; i < count; i++) {
        if (i) kiln__buffer_append(out, ",", 1);
        print_string(out, pairs[i].name);
        kiln__buffer_append(out, ":", 1);
        print_string(out, pairs[i].text);
    }
    if (count) kiln__buffer_append(out, "}", 1);
}

static const char *type_name(enum kiln_dtype dtype)
{
    const struct stored_type *type = types;
    while (type->dtype != dtype) type++;
    return type->name;
}

static void print_tensor(struct kiln_buffer *out, const struct kiln_tensor *tensor)
{
    uint64_t size = kiln__dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor->ndim; i++) size *= (uint64_t)tensor->dims[i];
    print_string(out, tensor->name);
    kiln__buffer_printf(out, ":{\"data_offsets\":[%llu,%llu],\"dtype\":\"%s\",\"shape\":[",
                        (unsigned long long)tensor->offset, (unsigned long long)(tensor->offset + size),
                        type_name(tensor->dtype));
    for (size_t i = 0; i < tensor->ndim; i++) kiln__buffer_printf(out, i ? ",%d" : "%d", tensor->dims[i]);
    kiln__buffer_printf(out, "]}");
}

/* "__metadata__" sorts among the names as they do. */
static void print_all(struct kiln_buffer *out, const struct kiln_tensor *const *tensors, size_t count,
                      const struct kiln_text_pair *metadata, size_t metadata_count)
{
    bool is_done = false;
    kiln__buffer_append(out, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (!is_done && strcmp(tensors[i]->name, "__metadata__") > 0) {
            print_metadata(out, metadata, metadata_count);
            kiln__buffer_append(out, ",", 1);
            is_done = true;
        }
        print_tensor(out, tensors[i]);
        if (i + 1 < count || !is_done) kiln__buffer_append(out, ",", 1);
    }
    if (!is_done) print_metadata(out, metadata, metadata_count);
    kiln__buffer_append(out, "}", 1);
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
