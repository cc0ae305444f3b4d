/*
 * fuzz_gguf.c - any bytes as a GGUF file: refused, or every array lies inside of it; and what was read is written and
 * read again to the same values and names.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "run/io/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
    struct kiln_source base;
    const uint8_t *data;
};

static kiln_status read_memory(const struct kiln_source *source, uint64_t offset, char *to, size_t count,
                               kiln_error *err)
{
    (void)err;
    if (offset > source->size || count > source->size - offset) abort();
    memcpy(to, ((const struct memory *)source)->data + offset, count);
    return KILN_OK;
}

static kiln_status read_gguf(const uint8_t *data, size_t size, struct kiln_gguf *out)
{
    kiln_error err;
    const struct memory memory = {{.refs = 1, .size = size, .read = read_memory}, data};
    return kiln__gguf_read(&memory.base, out, &err);
}

static void check_array(const struct kiln_gguf_array *array, size_t size)
{
    uint64_t bytes = array->form == KILN_LOAD_PLAIN ? kiln__dtype_size(array->dtype) : 1;
    for (size_t i = 0; i < array->ndim; i++) bytes *= (uint64_t)array->dims[i];
    if (bytes && (array->offset > size || bytes > size - array->offset)) abort();
}

static bool append(void *context, const void *data, size_t size)
{
    kiln__buffer_append(context, data, size);
    return true;
}

/* The values alone. */
static void check_again(const struct kiln_gguf *file)
{
    struct kiln_buffer text = {0};
    struct kiln_gguf again;
    const struct kiln_sink sink = {"fuzz", append, &text};
    const struct kiln_gguf_content content = {file->values, NULL, NULL, file->value_count, 0};
    if (kiln__gguf_check(&content, NULL)) return; /* general.alignment is not written */
    if (kiln__gguf_write(&sink, &content, NULL) || read_gguf(text.data, text.size, &again)) abort();
    if (again.value_count != file->value_count) abort();
    for (size_t i = 0; i < again.value_count; i++) {
        const struct kiln_gguf_value *a = &again.values[i], *b = &file->values[i];
        if (strcmp(a->name, b->name) || a->text_count != b->text_count || !a->array != !b->array) abort();
        if (a->text && strcmp(a->text, b->text)) abort();
        if (a->array && (a->array->dtype != b->array->dtype || a->array->size != b->array->size)) abort();
    }
    kiln__gguf_release(&again);
    kiln__buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_gguf file;
    if (read_gguf(data, size, &file) != KILN_OK) return 0;
    for (size_t i = 0; i < file.array_count; i++) check_array(&file.arrays[i], size);
    check_again(&file);
    kiln__gguf_release(&file);
    return 0;
}
