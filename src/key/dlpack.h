/*
 * dlpack.h - the layout of a DLTensor, as far as signing reads it. Users bring their own DLPack header.
 */
#ifndef KILN_KEY_DLPACK_H
#define KILN_KEY_DLPACK_H

#include <stdint.h>

struct kiln_dltensor {
    void *data;
    struct {
        int32_t type;
        int32_t id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: packed, last axis fastest */
    uint64_t byte_offset;
};

#endif
