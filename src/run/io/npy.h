/*
 * npy.h - the format .npy, versions 1 to 3: one array behind a header that is a dictionary in Python's notation.
 *
 *     "\x93NUMPY", the version as two bytes, the header's length (2 bytes little-endian; from version 2 on 4), the
 * header, the elements
 *
 * Reading checks untrusted bytes; an error says at which of them the file is wrong. What is written is version 1, in
 * C order and little-endian, padded so that the elements begin at a multiple of 64.
 */
#ifndef KILN_RUN_IO_NPY_H
#define KILN_RUN_IO_NPY_H

#include "array/array.h"
#include "base/buffer.h"
#include "run/io/source.h"

enum {
    KILN_NPY_START = 12,           /* bytes from which kiln__npy_header() knows how long the header is */
    KILN_NPY_MAX_HEADER = 1 << 20, /* one of a few axes has about 100 */
};

struct kiln_npy {
    enum kiln_dtype dtype;
    enum kiln_load_form form;
    bool is_fortran; /* the first axis is packed: elements are those of the transposed array */
    size_t ndim;
    int dims[KILN_MAX_NDIM];
};

/* `start` holds the first `size` bytes of a file of `file_size`, all or KILN_NPY_START of them. *header and *data:
 * where the dictionary and the elements begin. */
kiln_status kiln__npy_header(const unsigned char *start, size_t size, uint64_t file_size, uint64_t *header,
                             uint64_t *data, kiln_error *err);
/* The dictionary, which lies at byte `header` of the file and ends at `data`. */
kiln_status kiln__npy_parse(const char *text, uint64_t header, uint64_t data, uint64_t file_size, struct kiln_npy *out,
                            kiln_error *err);
/* Appends all that stands before the elements. */
void kiln__npy_print(const struct kiln_array *array, struct kiln_buffer *out);

#endif
