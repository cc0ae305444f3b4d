/*
 * block_masked.c - products some of whose blocks are masked out. Each mask is spread over the elements of its blocks,
 * so the product itself is an ordinary one.
 */
#include <limits.h>
#include <string.h>

#include "ops/contract/structured_products.h"
#include "ops/expression.h"
#include "ops/replay.h"

static const char name[] = "block_masked_mm";

static struct kiln_array *fail(struct kiln_expression *e, kiln_status status)
{
    e->status = status;
    return NULL;
}

/* Blocks of an axis; the last one may be cut. */
static int blocks_of(int size, int block_size)
{
    return (int)((size + (int64_t)block_size - 1) / block_size);
}

/* (..., blocks, blocks) as (..., rows, columns) of `a`. */
static struct kiln_array *spread_mask(struct kiln_expression *e, struct kiln_array *mask, const struct kiln_array *a,
                                      int block_size)
{
    int rows = a->dims[a->ndim - 2], columns = a->dims[a->ndim - 1], dims[KILN_MAX_NDIM + 2];
    int tall = blocks_of(rows, block_size), wide = blocks_of(columns, block_size), last = mask->ndim - 1;
    char text[KILN_SHAPE_TEXT];
    bool fits = mask->ndim >= 2 && mask->ndim <= KILN_MAX_NDIM - 2 && tall <= INT_MAX / block_size &&
                wide <= INT_MAX / block_size && (mask->dims[last - 1] == tall || mask->dims[last - 1] == 1) &&
                (mask->dims[last] == wide || mask->dims[last] == 1);
    if (!fits)
        return fail(e,
                    kiln__fail(e->err, KILN_INVALID,
                               "[%s] A mask of shape %s does not fit (%d,%d) blocks of %d rows and %d columns.", name,
                               kiln__shape_text(mask->dims, mask->ndim, text), tall, wide, block_size, block_size));
    memcpy(dims, mask->dims, mask->ndim * sizeof *dims);
    mask = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &mask, 1, (int64_t[]){last}, 1);
    mask = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &mask, 1, (int64_t[]){last + 2}, 1);
    dims[last - 1] = tall, dims[last] = block_size, dims[last + 1] = wide, dims[last + 2] = block_size;
    mask = kiln__e_broadcast(e, mask, dims, (size_t)last + 3);
    dims[last - 1] = tall * block_size, dims[last] = wide * block_size;
    mask = kiln__e_reshape(e, mask, dims, (size_t)last + 1);
    return kiln__e_cut(e, kiln__e_cut(e, mask, last - 1, 0, rows, 1), last, 0, columns, 1);
}

static struct kiln_array *apply_mask(struct kiln_expression *e, struct kiln_array *a, struct kiln_array *mask,
                                     int block_size)
{
    if (!mask || !a) return a;
    mask = spread_mask(e, mask, a, block_size);
    if (!mask) return NULL;
    if (mask->dtype == KILN_BOOL) return kiln__e_select(e, mask, a, kiln__e_number(e, 0, (enum kiln_dtype)a->dtype));
    return kiln__e_binary(e, KILN_OP_MULTIPLY, a, kiln__e_astype(e, mask, (enum kiln_dtype)a->dtype));
}

static bool records(const struct kiln_array *a, const struct kiln_array *b, const struct kiln_block_masks *masks)
{
    return kiln__is_recorded(a) || kiln__is_recorded(b) || kiln__is_recorded(masks->result) ||
           kiln__is_recorded(masks->left) || kiln__is_recorded(masks->right);
}

static kiln_status record_product(struct kiln_array *a, struct kiln_array *b, const struct kiln_block_masks *masks,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_BLOCK_MASKED_MM);
    kiln__record_array(&record, a);
    kiln__record_array(&record, b);
    kiln__record_array(&record, masks->result);
    kiln__record_array(&record, masks->left);
    kiln__record_array(&record, masks->right);
    kiln__record_number(&record, masks->block_size);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_block_masked_mm(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record), *b = kiln__recorded_array(record);
    struct kiln_block_masks masks = {.result = kiln__recorded_array(record)};
    masks.left = kiln__recorded_array(record);
    masks.right = kiln__recorded_array(record);
    masks.block_size = (int)kiln__recorded_number(record);
    return kiln__block_masked_mm(a, b, masks, out, err);
}

static kiln_status check(const struct kiln_array *a, const struct kiln_array *b, int block_size, kiln_error *err)
{
    char left[KILN_SHAPE_TEXT], right[KILN_SHAPE_TEXT];
    if (!a || !b) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    enum kiln_dtype dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    if (!kiln__dtype_is_float(dtype))
        return kiln__fail(err, KILN_INVALID,
                          "[%s] Only real floating point types are supported, but %s and %s give %s.", name,
                          kiln__dtypes[a->dtype].name, kiln__dtypes[b->dtype].name, kiln__dtypes[dtype].name);
    if (block_size != 32 && block_size != 64)
        return kiln__fail(err, KILN_INVALID, "[%s] Only block sizes 32 and 64 are supported, got %d.", name,
                          block_size);
    if (a->ndim >= 2 && b->ndim >= 2 && a->dims[a->ndim - 1] == b->dims[b->ndim - 2]) return KILN_OK;
    return kiln__fail(err, KILN_INVALID,
                      "[%s] Expected matrices, with as many columns of the first as rows of the second, got shapes %s "
                      "and %s.",
                      name, kiln__shape_text(a->dims, a->ndim, left), kiln__shape_text(b->dims, b->ndim, right));
}

kiln_status kiln__block_masked_mm(struct kiln_array *a, struct kiln_array *b, struct kiln_block_masks masks,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (records(a, b, &masks)) return record_product(a, b, &masks, out, err);
    kiln_status status = check(a, b, masks.block_size, err);
    if (status) return status;
    enum kiln_dtype dtype = kiln__dtype_promote((enum kiln_dtype)a->dtype, (enum kiln_dtype)b->dtype);
    struct kiln_array *left = apply_mask(&e, kiln__e_astype(&e, a, dtype), masks.left, masks.block_size);
    struct kiln_array *right = apply_mask(&e, kiln__e_astype(&e, b, dtype), masks.right, masks.block_size);
    struct kiln_array *product = kiln__e_matmul(&e, left, right);
    return kiln__e_end(&e, apply_mask(&e, product, masks.result, masks.block_size), out);
}
