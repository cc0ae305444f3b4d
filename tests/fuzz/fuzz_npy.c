/*
 * fuzz_npy.c - any bytes as a .npy file: refused, or its elements lie inside of it; and the header that we would write
 * for it is read to the same array.
 */
#include <stdlib.h>
#include <string.h>

#include "run/io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kiln_status read_npy(const uint8_t *data, size_t size, struct kiln_npy *out, uint64_t *elements)
{
    kiln_error err;
    uint64_t header = 0;
    size_t start = size < KILN_NPY_START ? size : KILN_NPY_START;
    if (kiln__npy_header(data, start, size, &header, elements, &err)) return KILN_INVALID;
    if (header > *elements || *elements > size) abort();
    return kiln__npy_parse((const char *)data + header, header, *elements, size, out, &err);
}

static uint64_t count_bytes(const struct kiln_npy *npy)
{
    uint64_t bytes = kiln__dtype_size(npy->dtype);
    for (size_t i = 0; i < npy->ndim; i++) bytes *= (uint64_t)npy->dims[i];
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_npy npy, again;
    struct kiln_buffer text = {0};
    struct kiln_array *array = NULL;
    uint64_t elements = 0;
    if (read_npy(data, size, &npy, &elements) != KILN_OK) return 0;
    if (count_bytes(&npy) > size - elements) abort();
    if (kiln__array_new(npy.dtype, npy.ndim, npy.dims, &array, NULL)) abort();
    kiln__npy_print(array, &text);
    size_t header = text.size;
    if (!kiln__buffer_grow(&text, count_bytes(&npy))) abort();
    if (header % 64 || read_npy(text.data, text.size, &again, &elements) || elements != header) abort();
    if (again.dtype != npy.dtype || again.ndim != npy.ndim || memcmp(again.dims, npy.dims, sizeof npy.dims)) abort();
    kiln__array_unref(array);
    kiln__buffer_release(&text);
    return 0;
}
