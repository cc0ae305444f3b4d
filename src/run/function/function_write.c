/*
 * function_write.c - see function_file.h. The body is printed twice: once to learn its size and digest, which stand
 * before it, and once into the file; so constants are never copied.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "graph/deferred.h"
#include "run/function/function_file.h"

/* One constant of the file; equal ones are one. */
struct constant {
    struct kiln_array *array; /* borrowed */
    struct kiln_digest digest;
};

struct writer {
    const struct kiln_function_file *file;
    struct constant *constants;
    uint32_t *numbers; /* of each constant of each tape, in order */
    size_t constant_count;
};

/* ---- constants --------------------------------------------------------------------------------------------------- */

static bool digest_bytes(void *context, const void *data, size_t size)
{
    kiln__sha256_update(context, data, size);
    return true;
}

static kiln_status digest_array(struct kiln_array *array, struct kiln_digest *out, kiln_error *err)
{
    struct kiln_sha256 sha;
    const struct kiln_sink sink = {"export_function", digest_bytes, &sha};
    kiln__sha256_init(&sha);
    kiln_status status = kiln__sink_write_array(&sink, array, err);
    kiln__sha256_final(&sha, out);
    return status;
}

static bool is_same(const struct constant *a, const struct constant *b)
{
    return a->array == b->array ||
           (a->array->dtype == b->array->dtype && a->array->ndim == b->array->ndim &&
            (a->array->ndim == 0 || !memcmp(a->array->dims, b->array->dims, a->array->ndim * sizeof *a->array->dims)) &&
            !memcmp(&a->digest, &b->digest, sizeof a->digest));
}

static kiln_status add_constant(struct writer *writer, struct kiln_array *array, uint32_t *number, kiln_error *err)
{
    struct constant *made = &writer->constants[writer->constant_count];
    size_t i = 0;
    made->array = array;
    kiln_status status = digest_array(array, &made->digest, err);
    if (status) return status;
    while (!is_same(&writer->constants[i], made)) i++; /* itself at the latest */
    if (i == writer->constant_count) writer->constant_count++;
    *number = (uint32_t)i;
    return KILN_OK;
}

static kiln_status collect(struct writer *writer, kiln_error *err)
{
    size_t count = 0;
    const struct kiln_function_file *file = writer->file;
    for (size_t k = 0; k < file->count; k++) count += file->functions[k].tape->count;
    writer->constants = malloc((count + 1) * sizeof *writer->constants);
    writer->numbers = malloc((count + 1) * sizeof *writer->numbers);
    kiln_status status = writer->constants && writer->numbers ? KILN_OK : kiln__no_memory(err, "a function");
    uint32_t *number = writer->numbers;
    for (size_t k = 0; k < file->count && !status; k++) {
        const struct kiln_tape *tape = file->functions[k].tape;
        for (uint32_t i = 0; i < tape->count && !status; i++)
            if (tape->values[i].kind == KILN_VALUE_CONSTANT)
                status = add_constant(writer, tape->values[i].array, number++, err);
    }
    return status;
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

static void print_text(struct kiln_buffer *out, const char *text)
{
    kiln__buffer_u32(out, (uint32_t)strlen(text));
    kiln__buffer_append(out, text, strlen(text));
}

static void print_type(struct kiln_buffer *out, int dtype, size_t ndim, const int32_t *dims)
{
    kiln__buffer_u8(out, (uint8_t)dtype);
    kiln__buffer_u8(out, (uint8_t)ndim);
    for (size_t i = 0; i < ndim; i++) kiln__buffer_u32(out, (uint32_t)dims[i]);
}

/* The name of a deferred operation stands in the place of its first attribute. */
static void print_node(struct kiln_buffer *out, const struct kiln_value *value)
{
    bool is_deferred = value->op == KILN_OP_DEFERRED;
    kiln__buffer_u8(out, is_deferred);
    print_text(out, kiln__operation_name((enum kiln_op)value->op, value->attrs));
    kiln__buffer_u32(out, value->input_count);
    for (uint32_t i = 0; i < value->input_count; i++) kiln__buffer_u32(out, value->inputs[i]);
    kiln__buffer_u32(out, (uint32_t)(value->attr_count - is_deferred));
    for (size_t i = is_deferred; i < value->attr_count; i++) kiln__buffer_u64(out, (uint64_t)value->attrs[i]);
}

static void print_value(struct kiln_buffer *out, const struct kiln_value *value, uint32_t **number)
{
    kiln__buffer_u8(out, value->kind);
    print_type(out, value->dtype, value->ndim, value->dims);
    if (value->kind == KILN_VALUE_CONSTANT) kiln__buffer_u32(out, *(*number)++);
    if (value->kind == KILN_VALUE_NODE) print_node(out, value);
}

static void print_function(struct kiln_buffer *out, const struct kiln_exported *exported, uint32_t **number)
{
    const struct kiln_tape *tape = exported->tape;
    kiln__buffer_u8(out, exported->is_shapeless);
    kiln__buffer_u32(out, (uint32_t)exported->listed);
    kiln__buffer_u32(out, (uint32_t)exported->named);
    for (size_t i = 0; i < exported->named; i++) print_text(out, exported->names[i]);
    kiln__buffer_u32(out, tape->count);
    for (uint32_t i = 0; i < tape->count; i++) print_value(out, &tape->values[i], number);
    kiln__buffer_u32(out, tape->output_count);
    for (uint32_t i = 0; i < tape->output_count; i++) kiln__buffer_u32(out, tape->outputs[i]);
}

static kiln_status write_constant(const struct kiln_sink *sink, struct kiln_array *array, kiln_error *err)
{
    struct kiln_buffer type = {0};
    print_type(&type, array->dtype, array->ndim, array->dims);
    kiln_status status =
        type.failed ? kiln__no_memory(err, "a function") : kiln__sink_write(sink, type.data, type.size, err);
    kiln__buffer_release(&type);
    return status ? status : kiln__sink_write_array(sink, array, err);
}

static kiln_status write_body(const struct kiln_sink *sink, const struct writer *writer, kiln_error *err)
{
    struct kiln_buffer text = {0};
    uint32_t *number = writer->numbers;
    const uint32_t first[] = {kiln__function_numbering(), (uint32_t)writer->constant_count};
    kiln_status status = kiln__sink_write(sink, first, sizeof first, err);
    for (size_t i = 0; i < writer->constant_count && !status; i++)
        status = write_constant(sink, writer->constants[i].array, err);
    kiln__buffer_u32(&text, (uint32_t)writer->file->count);
    for (size_t k = 0; k < writer->file->count; k++) print_function(&text, &writer->file->functions[k], &number);
    if (!status && text.failed) status = kiln__no_memory(err, "a function");
    if (!status) status = kiln__sink_write(sink, text.data, text.size, err);
    kiln__buffer_release(&text);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* What the first pass over the body learns of it. */
struct measured {
    struct kiln_sha256 sha;
    uint64_t size;
};

static bool measure(void *context, const void *data, size_t size)
{
    struct measured *measured = context;
    kiln__sha256_update(&measured->sha, data, size);
    measured->size += size;
    return true;
}

static kiln_status write_header(const struct kiln_sink *sink, struct measured *body, kiln_error *err)
{
    struct kiln_digest digest;
    unsigned char header[KILN_FUNCTION_HEADER] = {0};
    const uint32_t version = KILN_FUNCTION_VERSION;
    kiln__sha256_final(&body->sha, &digest);
    memcpy(header, kiln__function_magic, 8);
    memcpy(header + 8, &version, 4);
    memcpy(header + 16, &body->size, 8);
    memcpy(header + 24, &digest, sizeof digest);
    return kiln__sink_write(sink, header, sizeof header, err);
}

kiln_status kiln__function_write(const struct kiln_sink *sink, const void *file, kiln_error *err)
{
    struct writer writer = {.file = file};
    struct measured body = {.size = 0};
    const struct kiln_sink measuring = {sink->name, measure, &body};
    kiln__sha256_init(&body.sha);
    kiln_status status = collect(&writer, err);
    if (!status) status = write_body(&measuring, &writer, err);
    if (!status) status = write_header(sink, &body, err);
    if (!status) status = write_body(sink, &writer, err);
    free(writer.constants);
    free(writer.numbers);
    return status;
}
