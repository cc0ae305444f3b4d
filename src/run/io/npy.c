/*
 * npy.c - see npy.h. The dictionary is read forward in one pass, and the end is looked for before each byte.
 */
#include "run/io/npy.h"

#include <limits.h>
#include <string.h>

/* Each dtype as it is written; the first character is '|' where bytes have no order. numpy has no bfloat16: others save
 * it as two bytes of anything, and so do we. */
static const char *const type_names[KILN_DTYPE_COUNT] = {
    [KILN_BOOL] = "|b1",     [KILN_UINT8] = "|u1",     [KILN_UINT16] = "<u2",  [KILN_UINT32] = "<u4",
    [KILN_UINT64] = "<u8",   [KILN_INT8] = "|i1",      [KILN_INT16] = "<i2",   [KILN_INT32] = "<i4",
    [KILN_INT64] = "<i8",    [KILN_FLOAT16] = "<f2",   [KILN_FLOAT32] = "<f4", [KILN_FLOAT64] = "<f8",
    [KILN_BFLOAT16] = "<V2", [KILN_COMPLEX64] = "<c8",
};

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
static const unsigned char zip_magic[] = {'P', 'K', 3, 4};

kiln_status kiln__npy_header(const unsigned char *start, size_t size, uint64_t file_size, uint64_t *header,
                             uint64_t *data, kiln_error *err)
{
    if (size >= sizeof zip_magic && !memcmp(start, zip_magic, sizeof zip_magic))
        return kiln__fail(err, KILN_INVALID,
                          "[load] at byte 0 a zip archive begins, as .npz files are: unpack it, and load the .npy "
                          "files in it");
    if (size < 10 || memcmp(start, magic, sizeof magic) != 0)
        return kiln__fail(err, KILN_INVALID,
                          "[load] the file is no .npy file: at byte 0 expected \"\\x93NUMPY\" and a header");
    if (start[6] < 1 || start[6] > 3)
        return kiln__fail(err, KILN_INVALID, "[load] at byte 6 version %d: known are 1, 2 and 3", start[6]);
    *header = start[6] == 1 ? 10 : 12;
    uint64_t length = (uint64_t)start[8] | (uint64_t)start[9] << 8;
    if (start[6] > 1 && size >= KILN_NPY_START) length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    *data = *header + length;
    if (length <= KILN_NPY_MAX_HEADER && *header <= file_size && *data <= file_size) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[load] at byte 8 a header of %llu bytes in a file of %llu: the file is damaged or cut off",
                      (unsigned long long)length, (unsigned long long)file_size);
}

/* ---- the dictionary --------------------------------------------------------------------------------------------- */

struct reader {
    const char *start, *at, *end;
    uint64_t header; /* where `start` lies in the file */
    struct kiln_npy *out;
    bool has_descr, has_order, has_shape;
    kiln_error *err;
};

static kiln_status refuse(const struct reader *reader, const char *at, const char *expected)
{
    return kiln__fail(reader->err, KILN_INVALID, "[load] the header is damaged at byte %llu: expected %s",
                      (unsigned long long)(reader->header + (uint64_t)(at - reader->start)), expected);
}

static char peek(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at) reader->at++;
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool accept(struct reader *reader, char wanted)
{
    if (peek(reader) != wanted || reader->at == reader->end) return false;
    reader->at++;
    return true;
}

/* A string of up to 39 characters without escapes; text[0] stays 0 where a longer one stands. */
static bool read_text(struct reader *reader, char text[40])
{
    char quote = peek(reader);
    if (quote != '\'' && quote != '"') return false;
    const char *first = reader->at + 1, *last = memchr(first, quote, (size_t)(reader->end - first));
    if (!last) return false;
    size_t size = (size_t)(last - first);
    text[0] = '\0';
    if (size < 40) memcpy(text, first, size), text[size] = '\0';
    reader->at = last + 1;
    return true;
}

static bool accept_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    peek(reader);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0) return false;
    reader->at += size;
    return true;
}

static kiln_status refuse_type(const struct reader *reader, const char *at, const char *name)
{
    return kiln__fail(reader->err, KILN_INVALID,
                      "[load] at byte %llu elements are \"%s\", which no dtype here is: expected booleans, integers of "
                      "up to 8 bytes, floats of 2, 4 or 8, complex numbers of 8, or bfloat16 as \"<V2\"; not objects, "
                      "texts, dates or structures",
                      (unsigned long long)(reader->header + (uint64_t)(at - reader->start)), name);
}

static kiln_status read_descr(struct reader *reader)
{
    char name[40];
    peek(reader);
    const char *at = reader->at;
    if (!read_text(reader, name)) {
        bool is_list = reader->at < reader->end && *reader->at == '[';
        return is_list ? refuse_type(reader, at, "structures") : refuse(reader, at, "the type of the elements");
    }
    reader->has_descr = true;
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        bool has_order = strchr("<>=|", name[0]) && name[0];
        if (strcmp(name + has_order, type_names[i] + 1) != 0) continue;
        bool is_swapped = name[0] == '>' && kiln__dtype_size((enum kiln_dtype)i) > 1;
        reader->out->dtype = (enum kiln_dtype)i;
        reader->out->form = is_swapped ? KILN_LOAD_SWAPPED : KILN_LOAD_PLAIN;
        return KILN_OK;
    }
    for (char *c = name; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return refuse_type(reader, at, name);
}

static kiln_status read_order(struct reader *reader)
{
    reader->has_order = true;
    reader->out->is_fortran = accept_word(reader, "True");
    if (reader->out->is_fortran || accept_word(reader, "False")) return KILN_OK;
    return refuse(reader, reader->at, "True or False");
}

static kiln_status read_dim(struct reader *reader)
{
    uint64_t dim = 0;
    peek(reader);
    const char *at = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' && dim <= INT_MAX)
        dim = dim * 10 + (uint64_t)(*reader->at++ - '0');
    if (reader->at == at) return refuse(reader, at, "a size");
    if (dim > INT_MAX || reader->out->ndim == KILN_MAX_NDIM)
        return refuse(reader, at, "at most 32 sizes, each less than 2^31: an array can't have others");
    if (reader->at < reader->end && *reader->at == 'L') reader->at++; /* as Python 2 wrote them */
    reader->out->dims[reader->out->ndim++] = (int)dim;
    return KILN_OK;
}

static kiln_status read_shape(struct reader *reader)
{
    reader->has_shape = true;
    if (!accept(reader, '(')) return refuse(reader, reader->at, "a list of sizes in round brackets");
    while (!accept(reader, ')')) {
        kiln_status status = read_dim(reader);
        if (status) return status;
        if (!accept(reader, ',') && peek(reader) != ')') return refuse(reader, reader->at, "',' or ')'");
    }
    return KILN_OK;
}

static kiln_status read_entry(struct reader *reader)
{
    char name[40];
    peek(reader);
    const char *at = reader->at;
    if (!read_text(reader, name)) return refuse(reader, at, "'descr', 'fortran_order' or 'shape'");
    bool is_descr = !strcmp(name, "descr"), is_order = !strcmp(name, "fortran_order"),
         is_shape = !strcmp(name, "shape");
    if ((is_descr && reader->has_descr) || (is_order && reader->has_order) || (is_shape && reader->has_shape) ||
        !(is_descr || is_order || is_shape))
        return refuse(reader, at, "'descr', 'fortran_order' and 'shape', each once, and nothing else");
    if (!accept(reader, ':')) return refuse(reader, reader->at, "':'");
    return is_descr ? read_descr(reader) : is_order ? read_order(reader) : read_shape(reader);
}

static kiln_status read_entries(struct reader *reader)
{
    if (!accept(reader, '{')) return refuse(reader, reader->at, "'{'");
    while (!accept(reader, '}')) {
        kiln_status status = read_entry(reader);
        if (status) return status;
        if (!accept(reader, ',') && peek(reader) != '}') return refuse(reader, reader->at, "',' or '}'");
    }
    peek(reader);
    if (reader->at != reader->end) return refuse(reader, reader->at, "the end");
    if (reader->has_descr && reader->has_order && reader->has_shape) return KILN_OK;
    return refuse(reader, reader->end, "'descr', 'fortran_order' and 'shape' before");
}

kiln_status kiln__npy_parse(const char *text, uint64_t header, uint64_t data, uint64_t file_size, struct kiln_npy *out,
                            kiln_error *err)
{
    struct reader reader = {
        .start = text, .at = text, .end = text + (data - header), .header = header, .out = out, .err = err};
    int64_t size = 0;
    memset(out, 0, sizeof *out);
    kiln_status status = read_entries(&reader);
    if (!status) status = kiln__shape_check(out->dims, out->ndim, out->dtype, &size, err);
    if (status) return status;
    uint64_t bytes = (uint64_t)size * kiln__dtype_size(out->dtype);
    if (bytes <= file_size - data) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[load] the elements take %llu bytes from byte %llu on, and the file has %llu: it is cut off",
                      (unsigned long long)bytes, (unsigned long long)data, (unsigned long long)file_size);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

void kiln__npy_print(const struct kiln_array *array, struct kiln_buffer *out)
{
    struct kiln_buffer text = {0};
    kiln__buffer_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type_names[array->dtype]);
    for (size_t i = 0; i < array->ndim; i++) kiln__buffer_printf(&text, "%s%d", i ? ", " : "", (int)array->dims[i]);
    kiln__buffer_printf(&text, "%s), }", array->ndim == 1 ? "," : "");
    while ((text.size + 11) % 64 && !text.failed) kiln__buffer_append(&text, " ", 1);
    kiln__buffer_append(&text, "\n", 1);
    kiln__buffer_append(out, magic, sizeof magic);
    kiln__buffer_append(out, (unsigned char[]){1, 0, (unsigned char)text.size, (unsigned char)(text.size >> 8)}, 4);
    kiln__buffer_append(out, text.data, text.size);
    if (text.failed) out->failed = true;
    kiln__buffer_release(&text);
}
