/*
 * load.c - the operation `load`: elements from a source (source.h), in one of the forms that files have.
 *
 * A form reads what it needs in pieces that fit the first-level cache and turns each into elements of the array, so no
 * more memory than the array's is taken. Plain elements that lie in a file at an address of their alignment are not
 * read at all: the file's pages are the array's memory.
 */
#include <string.h>

#include "run/io/source.h"
#include "run/ops/operation.h"

enum { BLOCK = 32, PIECE = 256 }; /* elements of a block; blocks of a piece */

/* One row per form: how many bytes a block has, and what becomes of one at `from`. `to` is the result of its first
 * element: 4 bits or 8 for each of its codes, or one float16. */
struct form {
    size_t block_size, result_size;
    void (*turn)(const unsigned char *from, unsigned char *to);
};

/* A byte has the codes of elements i and i + 16; words want those of 2 i and 2 i + 1. */
static void turn_nibbles(const unsigned char *codes, unsigned char *to)
{
    for (int i = 0; i < BLOCK / 4; i++) {
        to[i] = (unsigned char)((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
        to[BLOCK / 4 + i] = (unsigned char)(codes[2 * i] >> 4 | (codes[2 * i + 1] & 0xf0));
    }
}

static void q4_0_codes(const unsigned char *from, unsigned char *to)
{
    turn_nibbles(from + 2, to);
}

static void q4_1_codes(const unsigned char *from, unsigned char *to)
{
    turn_nibbles(from + 4, to);
}

/* From -128 ... 127 to 0 ... 255. */
static void q8_0_codes(const unsigned char *from, unsigned char *to)
{
    for (int i = 0; i < BLOCK; i++) to[i] = from[2 + i] ^ 0x80;
}

static void first_half(const unsigned char *from, unsigned char *to)
{
    memcpy(to, from, 2);
}

static void second_half(const unsigned char *from, unsigned char *to)
{
    memcpy(to, from + 2, 2);
}

/* A float16 times -factor, a power of two. */
static void scale_half(const unsigned char *from, unsigned char *to, int factor)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    bits = kiln__float_to_half(kiln__half_to_float(bits) * (float)-factor);
    memcpy(to, &bits, sizeof bits);
}

static void q4_0_biases(const unsigned char *from, unsigned char *to)
{
    scale_half(from, to, 8);
}

static void q8_0_biases(const unsigned char *from, unsigned char *to)
{
    scale_half(from, to, 128);
}

static const struct form forms[KILN_LOAD_FORMS] = {
    [KILN_LOAD_Q4_0_CODES] = {18, BLOCK / 2, q4_0_codes}, [KILN_LOAD_Q4_0_SCALES] = {18, 2, first_half},
    [KILN_LOAD_Q4_0_BIASES] = {18, 2, q4_0_biases},       [KILN_LOAD_Q4_1_CODES] = {20, BLOCK / 2, q4_1_codes},
    [KILN_LOAD_Q4_1_SCALES] = {20, 2, first_half},        [KILN_LOAD_Q4_1_BIASES] = {20, 2, second_half},
    [KILN_LOAD_Q8_0_CODES] = {34, BLOCK, q8_0_codes},     [KILN_LOAD_Q8_0_SCALES] = {34, 2, first_half},
    [KILN_LOAD_Q8_0_BIASES] = {34, 2, q8_0_biases},
};

static kiln_status read_blocks(const struct kiln_source *source, uint64_t offset, const struct form *form,
                               struct kiln_array *out, size_t size, kiln_error *err)
{
    char piece[PIECE * 34];
    unsigned char *to = (unsigned char *)out->data;
    kiln_status status = KILN_OK;
    for (size_t left = size / form->result_size; left > 0 && !status;) {
        size_t count = left < PIECE ? left : PIECE;
        status = source->read(source, offset, piece, count * form->block_size, err);
        for (size_t i = 0; i < count && !status; i++, to += form->result_size)
            form->turn((unsigned char *)piece + i * form->block_size, to);
        offset += count * form->block_size;
        left -= count;
    }
    return status;
}

static void swap_bytes(char *data, size_t size, size_t width)
{
    for (size_t at = 0; at < size; at += width)
        for (size_t i = 0; i < width / 2; i++) {
            char byte = data[at + i];
            data[at + i] = data[at + width - 1 - i];
            data[at + width - 1 - i] = byte;
        }
}

/* The file's pages become the storage, if the source can do that and elements are aligned there. */
static bool map(const struct kiln_source *source, uint64_t offset, struct kiln_array *out, size_t size)
{
    if (!source->map || offset % kiln__dtype_size(out->dtype)) return false;
    out->storage = source->map(source, offset, size);
    if (out->storage) out->data = out->storage->data;
    return out->storage;
}

/* Attributes: the offset, the dtype, the form, the dims. A bool may be any byte in a file; here it is 0 or 1. */
kiln_status kiln__run_load(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_source *source = (const struct kiln_source *)(const void *)node->inputs[0]->data;
    const struct form *form = &forms[node->attrs[2]];
    uint64_t offset = (uint64_t)node->attrs[0];
    size_t size = (size_t)out->size * kiln__dtype_size(out->dtype);
    bool is_plain = node->attrs[2] == KILN_LOAD_PLAIN && out->dtype != KILN_BOOL;
    if (is_plain && size > 0 && map(source, offset, out, size)) return KILN_OK;
    kiln_status status = kiln__output_alloc(out, err);
    if (status == KILN_OK && size > 0)
        status = form->turn ? read_blocks(source, offset, form, out, size, err)
                            : source->read(source, offset, out->data, size, err);
    if (status == KILN_OK && node->attrs[2] == KILN_LOAD_SWAPPED)
        swap_bytes(out->data, size, out->dtype == KILN_COMPLEX64 ? 4 : kiln__dtype_size(out->dtype));
    for (size_t i = 0; status == KILN_OK && out->dtype == KILN_BOOL && i < size; i++) out->data[i] = out->data[i] != 0;
    return status;
}
