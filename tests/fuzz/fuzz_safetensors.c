/*
 * fuzz_safetensors.c - any bytes as the header of a safetensors file: refused, or read, printed, and read again to the
 * same tensors and texts, all of them inside the data.
 */
#include <stdlib.h>
#include <string.h>

#include "run/io/safetensors.h"

enum { DATA_SIZE = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tensor(const struct kiln_tensor *tensor)
{
    uint64_t bytes = kiln__dtype_size(tensor->dtype);
    for (size_t i = 0; i < tensor->ndim; i++) bytes *= (uint64_t)tensor->dims[i];
    if (tensor->offset > DATA_SIZE || bytes > DATA_SIZE - tensor->offset) abort();
}

static const struct kiln_tensor *find(const struct kiln_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    abort();
}

static void check_again(const struct kiln_safetensors *file)
{
    struct kiln_buffer text = {0};
    struct kiln_safetensors again;
    kiln_error err;
    if (kiln__safetensors_print(file->tensors, file->tensor_count, file->metadata, file->metadata_count, &text, &err))
        abort();
    if (kiln__safetensors_parse((const char *)text.data, text.size, DATA_SIZE, &again, &err)) abort();
    if (again.tensor_count != file->tensor_count || again.metadata_count != file->metadata_count) abort();
    for (size_t i = 0; i < again.tensor_count; i++) {
        const struct kiln_tensor *a = &again.tensors[i], *b = find(file, a->name);
        if (a->dtype != b->dtype || a->ndim != b->ndim || a->offset != b->offset) abort();
        if (memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) != 0) abort();
    }
    kiln__safetensors_release(&again);
    kiln__buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_safetensors file;
    kiln_error err;
    if (kiln__safetensors_parse((const char *)data, size, DATA_SIZE, &file, &err) != KILN_OK) return 0;
    for (size_t i = 0; i < file.tensor_count; i++) check_tensor(&file.tensors[i]);
    check_again(&file);
    kiln__safetensors_release(&file);
    return 0;
}
