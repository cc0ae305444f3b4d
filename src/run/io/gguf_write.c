/*
 * gguf_write.c - see gguf.h. All that stands before the tensors' bytes is printed at once; each tensor is then written
 * as it lies, and padded.
 */
#include <string.h>

#include "base/buffer.h"
#include "run/io/gguf.h"

/* Arrays of rank 5 and more are not GGUF's. */
enum { VERSION = 3, MOST_AXES = 4 };

static kiln_status check_value(const struct kiln_gguf_value *value, kiln_error *err)
{
    if (!strcmp(value->name, "general.alignment"))
        return kiln__fail(err, KILN_INVALID, "[save_gguf] general.alignment says how the file lies, and is 32 here");
    if (!value->array) return KILN_OK;
    if (value->array->ndim > 1)
        return kiln__fail(err, KILN_INVALID, "[save_gguf] the value \"%.200s\" has %u axes: expected none or one",
                          value->name, value->array->ndim);
    if (kiln__gguf_value_type((enum kiln_dtype)value->array->dtype) >= 0) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[save_gguf] the value \"%.200s\" is %s: expected bool, an integer, float32 or float64",
                      value->name, kiln__dtypes[value->array->dtype].name);
}

kiln_status kiln__gguf_check(const struct kiln_gguf_content *content, kiln_error *err)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < content->value_count && !status; i++) status = check_value(&content->values[i], err);
    for (size_t i = 0; i < content->array_count && !status; i++) {
        const struct kiln_array *array = content->arrays[i];
        if (!kiln__gguf_type_of((enum kiln_dtype)array->dtype))
            status = kiln__fail(err, KILN_INVALID,
                                "[save_gguf] the array \"%.200s\" is %s: expected a float, or int8, int16, int32 or "
                                "int64",
                                content->names[i], kiln__dtypes[array->dtype].name);
        else if (array->ndim > MOST_AXES)
            status = kiln__fail(err, KILN_INVALID, "[save_gguf] the array \"%.200s\" has %u axes: the format has 4",
                                content->names[i], array->ndim);
    }
    return status;
}

static void print_text(struct kiln_buffer *out, const char *text)
{
    kiln__buffer_u64(out, strlen(text));
    kiln__buffer_append(out, text, strlen(text));
}

/* An array through a sink, into the buffer. */
static bool append(void *context, const void *data, size_t size)
{
    kiln__buffer_append(context, data, size);
    return true;
}

static kiln_status print_value(struct kiln_buffer *out, const struct kiln_gguf_value *value, kiln_error *err)
{
    const struct kiln_sink sink = {"save_gguf", append, out};
    print_text(out, value->name);
    if (value->text) {
        kiln__buffer_u32(out, KILN_GGUF_TEXT);
        print_text(out, value->text);
        return KILN_OK;
    }
    uint32_t type =
        value->array ? (uint32_t)kiln__gguf_value_type((enum kiln_dtype)value->array->dtype) : KILN_GGUF_TEXT;
    if (!value->array || value->array->ndim == 1) {
        kiln__buffer_u32(out, KILN_GGUF_LIST);
        kiln__buffer_u32(out, type);
        kiln__buffer_u64(out, value->array ? (uint64_t)value->array->size : value->text_count);
    } else {
        kiln__buffer_u32(out, type);
    }
    if (value->array) return kiln__sink_write_array(&sink, value->array, err);
    for (size_t i = 0; i < value->text_count; i++) print_text(out, value->texts[i]);
    return KILN_OK;
}

static uint64_t padded(uint64_t size)
{
    return (size + KILN_GGUF_ALIGNMENT - 1) / KILN_GGUF_ALIGNMENT * KILN_GGUF_ALIGNMENT;
}

static uint64_t bytes_of(const struct kiln_array *array)
{
    return (uint64_t)array->size * kiln__dtype_size(array->dtype);
}

static void print_tensor(struct kiln_buffer *out, const char *name, const struct kiln_array *array, uint64_t offset)
{
    print_text(out, name);
    kiln__buffer_u32(out, array->ndim);
    for (size_t i = array->ndim; i-- > 0;) kiln__buffer_u64(out, (uint64_t)array->dims[i]);
    kiln__buffer_u32(out, kiln__gguf_type_of((enum kiln_dtype)array->dtype)->type);
    kiln__buffer_u64(out, offset);
}

static kiln_status print_header(struct kiln_buffer *out, const struct kiln_gguf_content *content, kiln_error *err)
{
    static const char zeros[KILN_GGUF_ALIGNMENT];
    kiln_status status = KILN_OK;
    uint64_t offset = 0;
    kiln__buffer_append(out, "GGUF", 4);
    kiln__buffer_u32(out, VERSION);
    kiln__buffer_u64(out, content->array_count);
    kiln__buffer_u64(out, content->value_count);
    for (size_t i = 0; i < content->value_count && !status; i++) status = print_value(out, &content->values[i], err);
    for (size_t i = 0; i < content->array_count; i++) {
        print_tensor(out, content->names[i], content->arrays[i], offset);
        offset += padded(bytes_of(content->arrays[i]));
    }
    kiln__buffer_append(out, zeros, (size_t)(padded(out->size) - out->size));
    return status || !out->failed ? status : kiln__no_memory(err, "a header");
}

kiln_status kiln__gguf_write(const struct kiln_sink *sink, const void *what, kiln_error *err)
{
    static const char zeros[KILN_GGUF_ALIGNMENT];
    const struct kiln_gguf_content *content = what;
    struct kiln_buffer header = {0};
    kiln_status status = print_header(&header, content, err);
    if (!status) status = kiln__sink_write(sink, header.data, header.size, err);
    kiln__buffer_release(&header);
    for (size_t i = 0; i < content->array_count && !status; i++) {
        uint64_t size = bytes_of(content->arrays[i]);
        status = kiln__sink_write_array(sink, content->arrays[i], err);
        if (!status) status = kiln__sink_write(sink, zeros, (size_t)(padded(size) - size), err);
    }
    return status;
}
