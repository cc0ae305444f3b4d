/*
 * function_read.c - see function_file.h. Untrusted bytes: each number is checked before it is used, nothing is
 * allocated that is longer than what is left of the file, and every operation is applied once to placeholders, inside
 * of a trace, before the file is accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "graph/deferred.h"
#include "ops/replay.h"
#include "run/function/function_file.h"

struct reader {
    const unsigned char *start, *at, *end;
    struct kiln_array **constants; /* references */
    uint32_t constant_count, numbering;
    struct kiln_error *err;
};

static size_t offset_of(const struct reader *reader, const void *at)
{
    return (size_t)((const unsigned char *)at - reader->start);
}

static kiln_status refuse(const struct reader *reader, const void *at, const char *expected)
{
    return kiln__fail(reader->err, KILN_INVALID, "[import_function] the file is damaged at byte %zu: expected %s",
                      offset_of(reader, at), expected);
}

static size_t bytes_left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static kiln_status take(struct reader *reader, void *to, size_t size)
{
    if (size > bytes_left(reader)) return refuse(reader, reader->at, "more bytes: it is cut off");
    memcpy(to, reader->at, size);
    reader->at += size;
    return KILN_OK;
}

/* A number of things that take `least` bytes each. */
static kiln_status take_count(struct reader *reader, size_t least, uint32_t *out)
{
    const unsigned char *at = reader->at;
    kiln_status status = take(reader, out, sizeof *out);
    if (status || *out <= bytes_left(reader) / least) return status;
    return refuse(reader, at, "a number of things that fit what is left of the file");
}

static kiln_status take_text(struct reader *reader, char **out)
{
    const unsigned char *at = reader->at;
    uint32_t size;
    kiln_status status = take_count(reader, 1, &size);
    if (status) return status;
    *out = calloc((size_t)size + 1, 1);
    if (!*out) return kiln__no_memory(reader->err, "a text of a file");
    status = take(reader, *out, size);
    if (!status && memchr(*out, '\0', size)) status = refuse(reader, at, "a text without NUL");
    if (!status) return KILN_OK;
    free(*out);
    *out = NULL;
    return status;
}

static kiln_status take_type(struct reader *reader, int *dtype, size_t *ndim, int dims[KILN_MAX_NDIM])
{
    const unsigned char *at = reader->at;
    unsigned char numbers[2];
    int64_t size;
    kiln_status status = take(reader, numbers, sizeof numbers);
    if (status) return status;
    if (!kiln__dtype_is_valid(numbers[0]) || numbers[1] > KILN_MAX_NDIM)
        return refuse(reader, at, "a dtype (0 to 13) and up to 32 axes");
    *dtype = numbers[0];
    *ndim = numbers[1];
    status = take(reader, dims, *ndim * sizeof *dims);
    if (status) return status;
    kiln_error unused;
    if (kiln__shape_check(dims, *ndim, (enum kiln_dtype) * dtype, &size, &unused))
        return refuse(reader, at, "a shape that an array can have");
    return KILN_OK;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static kiln_status take_constant(struct reader *reader, struct kiln_array **out)
{
    int dtype, dims[KILN_MAX_NDIM];
    size_t ndim;
    int64_t size;
    kiln_status status = take_type(reader, &dtype, &ndim, dims);
    if (!status) status = kiln__shape_check(dims, ndim, (enum kiln_dtype)dtype, &size, reader->err);
    if (status) return status;
    size_t bytes = (size_t)size * kiln__dtype_size((enum kiln_dtype)dtype);
    if (bytes > bytes_left(reader)) return refuse(reader, reader->at, "more bytes: it is cut off");
    for (size_t i = 0; dtype == KILN_BOOL && i < bytes; i++)
        if (reader->at[i] > 1) return refuse(reader, reader->at + i, "a bool, 0 or 1");
    status = kiln__array_from_data(reader->at, (enum kiln_dtype)dtype, ndim, dims, out, reader->err);
    reader->at += bytes;
    return status;
}

static kiln_status take_constants(struct reader *reader)
{
    uint32_t count;
    kiln_status status = take_count(reader, 2, &count);
    if (status) return status;
    reader->constants = calloc(count + 1u, sizeof *reader->constants);
    if (!reader->constants) return kiln__no_memory(reader->err, "the constants of a function");
    for (; reader->constant_count < count && !status; reader->constant_count += !status)
        status = take_constant(reader, &reader->constants[reader->constant_count]);
    return status;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool find_op(const char *name, bool is_deferred, uint8_t *op, int64_t *deferred)
{
    for (int64_t i = 0; is_deferred && i < KILN_DEFERRED_COUNT; i++)
        if (!strcmp(kiln__operation_name(KILN_OP_DEFERRED, &i), name)) {
            *op = KILN_OP_DEFERRED;
            *deferred = i;
            return true;
        }
    for (int i = 0; !is_deferred && i < KILN_OP_COUNT; i++)
        if (i != KILN_OP_DEFERRED && kiln__function_has_op((enum kiln_op)i) && !strcmp(kiln__ops[i].name, name)) {
            *op = (uint8_t)i;
            return true;
        }
    return false;
}

static kiln_status take_op(struct reader *reader, struct kiln_value *value, int64_t *deferred)
{
    const unsigned char *at = reader->at;
    unsigned char is_deferred = 0;
    char *name = NULL;
    kiln_status status = take(reader, &is_deferred, 1);
    if (!status && is_deferred && reader->numbering != kiln__function_numbering())
        return refuse(reader, at, "an operation as this version of Kiln records it; another version wrote the file");
    if (!status) status = take_text(reader, &name);
    if (status) return status;
    if (!find_op(name, is_deferred, &value->op, deferred)) {
        for (char *c = name; *c; c++)
            if (*c < ' ' || *c > '~') *c = '?';
        status =
            kiln__fail(reader->err, KILN_INVALID,
                       "[import_function] at byte %zu stands the operation \"%.100s\", which this version does not "
                       "have",
                       offset_of(reader, at), name);
    }
    free(name);
    return status;
}

static kiln_status take_inputs(struct reader *reader, const struct kiln_tape *tape, struct kiln_value *value)
{
    uint32_t count;
    kiln_status status = take_count(reader, 4, &count);
    if (status) return status;
    const unsigned char *at = reader->at;
    value->input_count = count;
    value->inputs = kiln__arena_array((struct kiln_arena *)(uintptr_t)&tape->arena, count + 1u, sizeof *value->inputs);
    if (!value->inputs) return kiln__no_memory(reader->err, "a function");
    status = take(reader, value->inputs, count * sizeof *value->inputs);
    for (uint32_t i = 0; i < count && !status; i++)
        if (value->inputs[i] >= tape->count) status = refuse(reader, at + 4 * (size_t)i, "an earlier value");
    return status;
}

static kiln_status take_attrs(struct reader *reader, struct kiln_tape *tape, struct kiln_value *value, int64_t deferred)
{
    const unsigned char *at = reader->at;
    uint32_t count;
    bool is_deferred = value->op == KILN_OP_DEFERRED;
    kiln_status status = take_count(reader, 8, &count);
    if (!status && count >= UINT16_MAX) status = refuse(reader, at, "fewer than 65535 attributes");
    if (status) return status;
    int64_t *attrs = kiln__arena_array(&tape->arena, count + 2u, sizeof *attrs);
    if (!attrs) return kiln__no_memory(reader->err, "a function");
    attrs[0] = deferred;
    value->attrs = attrs;
    value->attr_count = (uint16_t)(count + is_deferred);
    return take(reader, attrs + is_deferred, count * sizeof *attrs);
}

/* What stands behind the type of each kind of value. */
static kiln_status take_rest(struct reader *reader, struct kiln_tape *tape, struct kiln_value *value)
{
    const unsigned char *at = reader->at;
    int64_t deferred = 0;
    uint32_t number = 0;
    if (value->kind == KILN_VALUE_INPUT) return KILN_OK;
    if (value->kind == KILN_VALUE_CONSTANT) {
        kiln_status status = take(reader, &number, sizeof number);
        if (status) return status;
        if (number >= reader->constant_count) return refuse(reader, at, "the number of a constant");
        const struct kiln_array *array = reader->constants[number];
        if (array->dtype != value->dtype || array->ndim != value->ndim ||
            (array->ndim && memcmp(array->dims, value->dims, array->ndim * sizeof *array->dims) != 0))
            return refuse(reader, at, "a constant of this dtype and shape");
        value->array = kiln__array_ref(reader->constants[number]);
        return KILN_OK;
    }
    kiln_status status = take_op(reader, value, &deferred);
    if (!status) status = take_inputs(reader, tape, value);
    return status ? status : take_attrs(reader, tape, value, deferred);
}

static kiln_status take_value(struct reader *reader, struct kiln_tape *tape)
{
    const unsigned char *at = reader->at;
    struct kiln_value *value = &tape->values[tape->count];
    int dtype = 0, dims[KILN_MAX_NDIM];
    size_t ndim = 0;
    kiln_status status = take(reader, &value->kind, 1);
    if (!status &&
        (value->kind > KILN_VALUE_NODE || (value->kind == KILN_VALUE_INPUT) != (tape->count < tape->input_count)))
        status = refuse(reader, at, "first all inputs, then constants and operations");
    if (!status) status = take_type(reader, &dtype, &ndim, dims);
    if (status) return status;
    value->dtype = (uint8_t)dtype;
    value->ndim = (uint8_t)ndim;
    value->group = KILN_NO_GROUP;
    value->dims = kiln__arena_copy(&tape->arena, dims, ndim * sizeof *dims);
    if (!value->dims) return kiln__no_memory(reader->err, "a function");
    status = take_rest(reader, tape, value);
    if (!status) tape->count++;
    return status;
}

static kiln_status take_outputs(struct reader *reader, struct kiln_tape *tape)
{
    kiln_status status = take_count(reader, 4, &tape->output_count);
    if (status) return status;
    const unsigned char *at = reader->at;
    tape->outputs = kiln__arena_array(&tape->arena, tape->output_count + 1u, sizeof *tape->outputs);
    if (!tape->outputs) return kiln__no_memory(reader->err, "a function");
    status = take(reader, tape->outputs, tape->output_count * sizeof *tape->outputs);
    for (uint32_t i = 0; i < tape->output_count && !status; i++)
        if (tape->outputs[i] >= tape->count) status = refuse(reader, at + 4 * (size_t)i, "a value of the function");
    return status;
}

/* ---- applying it once -------------------------------------------------------------------------------------------- */

struct trial {
    const struct kiln_tape *tape;
    const unsigned char **starts; /* where each value stands in the file */
    const struct reader *reader;
};

static kiln_status try_node(const struct trial *trial, uint32_t number, struct kiln_array **arrays, kiln_error *err)
{
    const struct kiln_value *value = &trial->tape->values[number];
    kiln_error reason;
    struct kiln_array **inputs = calloc(value->input_count + 1u, sizeof *inputs);
    if (!inputs) return kiln__no_memory(err, "a function");
    for (uint32_t i = 0; i < value->input_count; i++) inputs[i] = arrays[value->inputs[i]];
    kiln_status status = value->op == KILN_OP_DEFERRED
                             ? kiln__deferred_replay_checked(inputs, value->input_count, value->attrs,
                                                             value->attr_count, &arrays[number], &reason)
                             : kiln__apply((enum kiln_op)value->op, inputs, value->input_count, value->attrs,
                                           value->attr_count, &arrays[number], &reason);
    free(inputs);
    if (status == KILN_NO_MEMORY) return kiln__no_memory(err, "a function");
    if (status)
        return kiln__fail(err, KILN_INVALID, "[import_function] the file is damaged at byte %zu: %.700s",
                          offset_of(trial->reader, trial->starts[number]), reason.text);
    const struct kiln_array *made = arrays[number];
    if (made->dtype == value->dtype && made->ndim == value->ndim &&
        (made->ndim == 0 || !memcmp(made->dims, value->dims, made->ndim * sizeof *made->dims)))
        return KILN_OK;
    return refuse(trial->reader, trial->starts[number], "the dtype and shape that the operation gives");
}

/* A kiln_callback. */
static kiln_status try_values(void *payload, struct kiln_array *const *inputs, size_t count,
                              struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    const struct trial *trial = payload;
    const struct kiln_tape *tape = trial->tape;
    struct kiln_array **arrays = calloc(tape->count + 1u, sizeof *arrays);
    kiln_status status = arrays ? KILN_OK : kiln__no_memory(err, "a function");
    (void)count;
    for (uint32_t i = 0; i < tape->count && !status; i++) {
        const struct kiln_value *value = &tape->values[i];
        if (value->kind == KILN_VALUE_NODE)
            status = try_node(trial, i, arrays, err);
        else
            arrays[i] = kiln__array_ref(value->kind == KILN_VALUE_INPUT ? inputs[i] : value->array);
    }
    for (uint32_t i = 0; arrays && i < tape->count; i++) kiln__array_unref(arrays[i]);
    free(arrays);
    *outputs = NULL;
    *output_count = 0;
    return status;
}

static kiln_status try_function(struct trial *trial, kiln_error *err)
{
    const struct kiln_tape *tape = trial->tape;
    struct kiln_array **inputs = calloc(tape->input_count + 1u, sizeof *inputs), **outputs = NULL;
    size_t output_count = 0;
    kiln_status status = inputs ? KILN_OK : kiln__no_memory(err, "a function");
    for (uint32_t i = 0; i < tape->input_count && !status; i++) {
        const struct kiln_value *value = &tape->values[i];
        status = kiln__array_new((enum kiln_dtype)value->dtype, value->ndim, value->dims, &inputs[i], err);
        if (!status) inputs[i]->trace = KILN_NEXT_TRACE;
    }
    if (!status)
        status = kiln__trace_nested(try_values, trial, inputs, tape->input_count, &outputs, &output_count, err);
    for (uint32_t i = 0; inputs && i < tape->input_count; i++) kiln__array_unref(inputs[i]);
    free(inputs);
    return status;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static kiln_status take_names(struct reader *reader, struct kiln_exported *out, uint32_t count)
{
    out->names = calloc(count + 1u, sizeof *out->names);
    if (!out->names) return kiln__no_memory(reader->err, "a function");
    for (; out->named < count; out->named++) {
        const unsigned char *at = reader->at;
        kiln_status status = take_text(reader, &out->names[out->named]);
        if (status) return status;
        if (out->named && strcmp(out->names[out->named - 1], out->names[out->named]) >= 0) {
            free(out->names[out->named]);
            return refuse(reader, at, "names in order");
        }
    }
    return KILN_OK;
}

static kiln_status take_tape(struct reader *reader, struct kiln_tape *tape, uint32_t input_count)
{
    const unsigned char *at = reader->at;
    struct trial trial = {.tape = tape, .reader = reader};
    uint32_t count = 0;
    kiln_status status = take_count(reader, 3, &count);
    if (!status && count < input_count) status = refuse(reader, at, "a value for each input");
    if (status) return status;
    tape->input_count = input_count;
    tape->cap = count;
    tape->values = kiln__arena_array(&tape->arena, count + 1u, sizeof *tape->values);
    trial.starts = calloc(count + 1u, sizeof *trial.starts);
    if (!tape->values || !trial.starts) status = kiln__no_memory(reader->err, "a function");
    for (uint32_t i = 0; i < count && !status; i++) {
        trial.starts[i] = reader->at;
        status = take_value(reader, tape);
    }
    if (!status) status = take_outputs(reader, tape);
    if (!status) status = try_function(&trial, reader->err);
    free(trial.starts);
    return status;
}

static kiln_status take_function(struct reader *reader, struct kiln_exported *out)
{
    unsigned char is_shapeless = 0;
    uint32_t listed = 0, named = 0;
    const unsigned char *at = reader->at;
    kiln_status status = take(reader, &is_shapeless, 1);
    if (!status && is_shapeless > 1) status = refuse(reader, at, "0, or 1 for a shapeless function");
    if (!status) status = take_count(reader, 3, &listed);
    if (!status) status = take_count(reader, 7, &named);
    if (!status) status = take_names(reader, out, named);
    if (status) return status;
    out->is_shapeless = is_shapeless;
    out->listed = listed;
    out->tape = calloc(1, sizeof *out->tape);
    return out->tape ? take_tape(reader, out->tape, listed + named) : kiln__no_memory(reader->err, "a function");
}

static kiln_status take_functions(struct reader *reader, struct kiln_function_file *out)
{
    uint32_t count;
    kiln_status status = take_count(reader, 17, &count);
    if (status) return status;
    out->functions = calloc(count + 1u, sizeof *out->functions);
    if (!out->functions) return kiln__no_memory(reader->err, "the functions of a file");
    while (out->count < count && !status) status = take_function(reader, &out->functions[out->count++]);
    if (!status && reader->at != reader->end) status = refuse(reader, reader->at, "the end");
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static kiln_status check_header(const struct reader *reader, size_t size)
{
    uint32_t version, reserved;
    uint64_t body;
    struct kiln_digest digest;
    if (size < KILN_FUNCTION_HEADER || memcmp(reader->start, kiln__function_magic, 8) != 0)
        return refuse(reader, reader->start, "\"KILNFUNC\"; it holds no function");
    memcpy(&version, reader->start + 8, 4);
    memcpy(&reserved, reader->start + 12, 4);
    memcpy(&body, reader->start + 16, 8);
    if (version != KILN_FUNCTION_VERSION || reserved != 0)
        return kiln__fail(reader->err, KILN_INVALID,
                          "[import_function] at byte 8 stands version %u; this is version %d", (unsigned)version,
                          KILN_FUNCTION_VERSION);
    if (body != size - KILN_FUNCTION_HEADER)
        return kiln__fail(reader->err, KILN_INVALID,
                          "[import_function] at byte 16 the file should have %llu bytes from byte 56 on, and has %zu",
                          (unsigned long long)body, size - KILN_FUNCTION_HEADER);
    digest = kiln__digest(reader->start + KILN_FUNCTION_HEADER, (size_t)body);
    if (memcmp(&digest, reader->start + 24, sizeof digest) != 0)
        return refuse(reader, reader->start + 24, "the digest of what follows");
    return KILN_OK;
}

kiln_status kiln__function_read(const unsigned char *bytes, size_t size, struct kiln_function_file *out,
                                kiln_error *err)
{
    struct reader reader = {.start = bytes, .at = bytes + KILN_FUNCTION_HEADER, .end = bytes + size, .err = err};
    *out = (struct kiln_function_file){0};
    kiln_status status = check_header(&reader, size);
    if (!status) status = take(&reader, &reader.numbering, sizeof reader.numbering);
    if (!status) status = take_constants(&reader);
    if (!status) status = take_functions(&reader, out);
    for (uint32_t i = 0; i < reader.constant_count; i++) kiln__array_unref(reader.constants[i]);
    free(reader.constants);
    if (status) kiln__function_release(out);
    return status;
}
