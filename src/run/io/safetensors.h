/*
 * safetensors.h - the header of a safetensors file.
 *
 *     file     = length (8 bytes, little endian), header (`length` bytes of JSON), data
 *     header   = { "__metadata__": { name: text, ... } or null, name: tensor, ... }
 *     tensor   = { "dtype": "F32", "shape": [2, 3], "data_offsets": [first, end] }       offsets count from the data
 *
 * The types of the format that no dtype of ours is (F8_E4M3 and the other 8-bit floats, F6_E2M3, F6_E3M2, F4) are read
 * as uint8. Where elements are smaller than a byte, the last axis then counts bytes; it must be whole ones.
 *
 * Nothing of a header is trusted: lengths are bounded, offsets lie inside the data and fit dtype and shape, names are
 * unique, and what is not JSON of this form is refused, with the byte where it stops to be. Other fields of a tensor
 * are passed over; gaps between tensors, and tensors that share bytes, are read as they are. Only a file that can't be
 * sound is called damaged: a type that is not known, or a shape that no array can have, is an error that says so.
 */
#ifndef KILN_RUN_IO_SAFETENSORS_H
#define KILN_RUN_IO_SAFETENSORS_H

#include "array/array.h"
#include "base/arena.h"
#include "base/buffer.h"

enum { KILN_SAFETENSORS_MAX_HEADER = 100000000 }; /* of the format */

struct kiln_tensor {
    const char *name;
    enum kiln_dtype dtype;
    size_t ndim;
    int dims[KILN_MAX_NDIM];
    uint64_t offset; /* from the start of the data */
};

struct kiln_text_pair {
    const char *name, *text;
};

/* All of it lives in the arena. */
struct kiln_safetensors {
    struct kiln_arena arena;
    struct kiln_tensor *tensors; /* in the order of the header */
    size_t tensor_count;
    struct kiln_text_pair *metadata;
    size_t metadata_count;
};

/* `data_size`: bytes behind the header. On failure there is nothing to release. */
kiln_status kiln__safetensors_parse(const char *header, size_t size, uint64_t data_size, struct kiln_safetensors *out,
                                    kiln_error *err);
void kiln__safetensors_release(struct kiln_safetensors *file);

/* Appends the header, with names sorted. `offset` of the tensors is read. KILN_NO_MEMORY only. */
kiln_status kiln__safetensors_print(const struct kiln_tensor *tensors, size_t tensor_count,
                                    const struct kiln_text_pair *metadata, size_t metadata_count,
                                    struct kiln_buffer *out, kiln_error *err);

#endif
