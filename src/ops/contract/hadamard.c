/*
 * hadamard.c - products with Hadamard's matrix of size m * 2^k: the Kronecker product of a matrix of size m and of k
 * matrices of size 2, each of which is applied by itself. So it takes k sums of two elements, and m products, for each.
 *
 * The matrices of size 12, 20 and 28 are those that the reference has; a bit is set where an element is -1.
 */
#include <math.h>
#include <string.h>

#include "ops/contract/structured_products.h"
#include "ops/expression.h"
#include "ops/replay.h"

static const char name[] = "hadamard_transform";

enum { LARGEST = 28 };

static const struct {
    int size;
    uint32_t negative[LARGEST]; /* rows; column j is bit j */
} matrices[] = {
    {1, {0}},
    {12, {0x002, 0xaab, 0x3c8, 0x96e, 0xf20, 0x5ba, 0xc8c, 0x6e6, 0x23c, 0xb96, 0x8f0, 0xe5a}},
    {20, {0x933de, 0x2e3bd, 0x5477b, 0xa0ef7, 0x499ef, 0x637c1, 0xc6ba2, 0x8d764, 0x1aee8, 0x359f0,
          0x0fa53, 0x174a7, 0x26d4e, 0x45e9c, 0x83d39, 0xf7a6d, 0xef4fa, 0xdedd5, 0xbdf8b, 0x7bf36}},
    {28, {0xcd69e7e, 0x9ad7c7d, 0x37ab8fb, 0x6d571f7, 0xd8ae3ef, 0xb3587df, 0x66b4f3f, 0xb467f43, 0x6acbe87, 0xd593d8e,
          0xab27b9c, 0x564f7b8, 0xac9aff0, 0x5b31fe1, 0x87fb325, 0x0ff66ca, 0x1decd95, 0x39ddb2a, 0x71bf654, 0xe17eca9,
          0xc2fd9d2, 0xfcf1299, 0xfbe2532, 0xf7c4ae4, 0xef8d549, 0xdf1ea13, 0xbe3d4a6, 0x7e7a94c}},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* Which matrix a size has; MATRICES: none. *two gets the power of two that is left. */
static int find_matrix(int size, int *two)
{
    int which = MATRICES;
    for (int i = 0; i < MATRICES; i++) {
        int left = size / matrices[i].size;
        if (size % matrices[i].size == 0 && (left & (left - 1)) == 0) which = i, *two = left;
    }
    return which;
}

/* The last axes of x, (..., size), as other ones, whose product is the same. */
static struct kiln_array *fold_last(struct kiln_expression *e, struct kiln_array *x, const int *shape, size_t batch,
                                    const int *last, size_t count)
{
    int dims[KILN_MAX_NDIM];
    if (batch) memcpy(dims, shape, batch * sizeof *dims);
    memcpy(dims + batch, last, count * sizeof *dims);
    return kiln__e_reshape(e, x, dims, batch + count);
}

/* a + b and a - b for elements that are `apart`. */
static struct kiln_array *add_pairs(struct kiln_expression *e, struct kiln_array *x, const int *shape, size_t batch,
                                    int size, int apart, struct kiln_array *signs)
{
    x = fold_last(e, x, shape, batch, (int[]){size / (2 * apart), 2, apart}, 3);
    struct kiln_array *first = kiln__e_cut(e, x, (int)batch + 1, 0, 1, 1);
    struct kiln_array *second = kiln__e_cut(e, x, (int)batch + 1, 1, 2, 1);
    return kiln__e_binary(e, KILN_OP_ADD, first, kiln__e_binary(e, KILN_OP_MULTIPLY, second, signs));
}

static struct kiln_array *multiply_matrix(struct kiln_expression *e, struct kiln_array *x, const int *shape,
                                          size_t batch, int which, int two)
{
    float elements[LARGEST * LARGEST];
    int m = matrices[which].size;
    for (int i = 0; i < m * m; i++) elements[i] = matrices[which].negative[i / m] >> i % m & 1 ? -1 : 1;
    if (!x) return NULL;
    struct kiln_array *matrix = kiln__e_data(e, elements, KILN_FLOAT32, (int[]){m, m}, 2);
    matrix = kiln__e_astype(e, matrix, (enum kiln_dtype)x->dtype);
    return kiln__e_matmul(e, matrix, fold_last(e, x, shape, batch, (int[]){m, two}, 2));
}

static kiln_status record_transform(struct kiln_array *a, const float *scale, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_HADAMARD_TRANSFORM);
    kiln__record_array(&record, a);
    kiln__record_number(&record, scale != NULL);
    kiln__record_real(&record, scale ? *scale : 0);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_hadamard_transform(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    bool has_scale = kiln__recorded_number(record);
    float scale = kiln__recorded_real(record);
    return kiln__hadamard_transform(a, has_scale ? &scale : NULL, out, err);
}

kiln_status kiln__hadamard_transform(struct kiln_array *a, const float *scale, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    if (kiln__is_recorded(a)) return record_transform(a, scale, out, err);
    if (!a || a->size == 0) return kiln__fail(err, KILN_INVALID, "[%s] Does not support empty arrays.", name);
    int size = a->ndim ? a->dims[a->ndim - 1] : 1, two = 0, which = find_matrix(size, &two);
    if (which == MATRICES || a->ndim + 2 > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID,
                          "[%s] Only supports n = m*2^k where m in (1, 12, 20, 28), got n = %d of %d dimensions.", name,
                          size, a->ndim);
    bool is_float = kiln__dtype_is_float((enum kiln_dtype)a->dtype);
    enum kiln_dtype dtype = is_float ? (enum kiln_dtype)a->dtype : KILN_FLOAT32;
    enum kiln_dtype wide = dtype == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    size_t batch = a->ndim ? a->ndim - 1u : 0;
    struct kiln_array *x = kiln__e_astype(&e, a, wide);
    struct kiln_array *signs = kiln__e_data(&e, (float[]){1, -1}, KILN_FLOAT32, (int[]){2, 1}, 2);
    signs = kiln__e_astype(&e, signs, wide);
    for (int apart = 1; apart < two; apart *= 2) x = add_pairs(&e, x, a->dims, batch, size, apart, signs);
    if (which > 0) x = multiply_matrix(&e, x, a->dims, batch, which, two);
    x = kiln__e_reshape(&e, x, a->dims, a->ndim);
    double factor = scale ? (double)*scale : 1 / sqrt(size);
    x = kiln__e_binary(&e, KILN_OP_MULTIPLY, x, kiln__e_number(&e, factor, wide));
    return kiln__e_end(&e, kiln__e_astype(&e, x, dtype), out);
}
