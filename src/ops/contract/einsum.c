/*
 * einsum.c - see einsum.h. First each operand by itself: diagonals, axes that are repeated are dropped, letters that
 * nobody else has are summed over. Then two at a time, in the order of einsum_order.h: as a product of matrices with
 * the letters that both have and that stay as its batch; element by element where nothing is summed, and for integers.
 */
#include "ops/contract/einsum.h"

#include <stdlib.h>
#include <string.h>

#include "ops/contract/einsum_notation.h"
#include "ops/contract/einsum_order.h"
#include "ops/expression.h"
#include "ops/reductions.h"
#include "ops/replay.h"
#include "ops/shapes.h"

/* An operand, or a product of some: the array, a reference, and a letter for each of its axes, none twice. */
struct factor {
    struct kiln_array *array;
    struct kiln_letters letters;
};

static void take_array(struct factor *factor, struct kiln_array *array)
{
    kiln__array_unref(factor->array);
    factor->array = array;
}

static void drop_letter(struct kiln_letters *letters, size_t at)
{
    letters->count--;
    memmove(letters->axes + at, letters->axes + at + 1, letters->count - at);
}

/* ---- one operand ------------------------------------------------------------------------------------------------- */

/* Axes of size 1 whose letter has another size: broadcasting brings them back. */
static kiln_status drop_repeated(struct factor *factor, const int *sizes, kiln_error *err)
{
    for (size_t i = factor->letters.count; i-- > 0;) {
        struct kiln_array *next = NULL;
        if (factor->array->dims[i] == sizes[factor->letters.axes[i]]) continue;
        kiln_status status = kiln__squeeze_axis(factor->array, (int)i, &next, err);
        if (status) return status;
        take_array(factor, next);
        drop_letter(&factor->letters, i);
    }
    return KILN_OK;
}

/* Two axes with one letter. */
static bool find_twice(const struct kiln_letters *letters, size_t *first, size_t *second)
{
    for (*first = 0; *first < letters->count; ++*first)
        for (*second = *first + 1; *second < letters->count; ++*second)
            if (letters->axes[*first] == letters->axes[*second]) return true;
    return false;
}

/* A letter that stands twice: the diagonal of both axes, which becomes the last axis. */
static kiln_status take_diagonals(struct factor *factor, kiln_error *err)
{
    struct kiln_letters *letters = &factor->letters;
    size_t first, second;
    while (find_twice(letters, &first, &second)) {
        struct kiln_array *next = NULL;
        uint8_t letter = letters->axes[first];
        kiln_status status = kiln__diagonal(factor->array, 0, (int)first, (int)second, &next, err);
        if (status) return status;
        take_array(factor, next);
        drop_letter(letters, second);
        drop_letter(letters, first);
        letters->axes[letters->count++] = letter;
    }
    return KILN_OK;
}

/* Sums over letters that are not in `kept`. */
static kiln_status sum_out(struct factor *factor, uint64_t kept, kiln_error *err)
{
    int axes[KILN_MAX_NDIM];
    size_t count = 0;
    for (size_t i = 0; i < factor->letters.count; i++)
        if (!(kept >> factor->letters.axes[i] & 1)) axes[count++] = (int)i;
    if (!count) return KILN_OK;
    struct kiln_array *next = NULL;
    kiln_status status = kiln__reduce(KILN_OP_SUM, factor->array, (struct kiln_axes){axes, count, false}, &next, err);
    if (status) return status;
    take_array(factor, next);
    while (count) drop_letter(&factor->letters, (size_t)axes[--count]);
    return KILN_OK;
}

/* ---- two operands ------------------------------------------------------------------------------------------------ */

/* Adds the letters of `from` that are in `set`, in their order. */
static void add_letters(struct kiln_letters *out, const struct kiln_letters *from, uint64_t set)
{
    for (size_t i = 0; i < from->count; i++)
        if (set >> from->axes[i] & 1) out->axes[out->count++] = from->axes[i];
}

/* The array with its axes in the order of `letters`; a letter that it lacks is an axis of size 1. */
static struct kiln_array *arrange(struct kiln_expression *e, const struct factor *factor,
                                  const struct kiln_letters *letters)
{
    int64_t order[KILN_MAX_NDIM];
    size_t count = 0;
    for (size_t i = 0; i < letters->count; i++)
        for (size_t k = 0; k < factor->letters.count; k++)
            if (factor->letters.axes[k] == letters->axes[i]) order[count++] = (int64_t)k;
    struct kiln_array *a = count ? kiln__e_transpose(e, factor->array, order) : factor->array;
    uint64_t own = kiln__letter_set(&factor->letters);
    for (size_t i = 0; i < letters->count; i++)
        if (!(own >> letters->axes[i] & 1))
            a = kiln__e_apply(e, KILN_OP_EXPAND_DIMS, &a, 1, (int64_t[]){(int64_t)i}, 1);
    return a;
}

/* The product of the sizes of letters first to end. */
static kiln_status size_of(const struct kiln_letters *letters, size_t first, size_t end, const int *sizes, int *out,
                           kiln_error *err)
{
    *out = 1;
    for (size_t i = first; i < end; i++)
        if (__builtin_mul_overflow(*out, sizes[letters->axes[i]], out))
            return kiln__fail(err, KILN_INVALID, "[einsum] Axes that become one have more than 2^31 - 1 elements.");
    return KILN_OK;
}

/* Letters in three runs, as an array of three axes. */
static struct kiln_array *merge_letters(struct kiln_expression *e, const struct factor *factor,
                                        const struct kiln_letters *letters, size_t first, size_t second,
                                        const int *sizes)
{
    int dims[3] = {0};
    if (e->status) return NULL;
    e->status = size_of(letters, 0, first, sizes, &dims[0], e->err);
    if (!e->status) e->status = size_of(letters, first, second, sizes, &dims[1], e->err);
    if (!e->status) e->status = size_of(letters, second, letters->count, sizes, &dims[2], e->err);
    return e->status ? NULL : kiln__e_reshape(e, arrange(e, factor, letters), dims, 3);
}

/* (batch, rows, inner) @ (batch, inner, columns) */
static struct kiln_array *multiply_matrices(struct kiln_expression *e, const struct factor *a, const struct factor *b,
                                            uint64_t kept, const int *sizes, struct kiln_letters *result)
{
    uint64_t in_a = kiln__letter_set(&a->letters), in_b = kiln__letter_set(&b->letters), both = in_a & in_b;
    struct kiln_letters left = {.count = 0}, right = {.count = 0};
    int dims[KILN_MAX_NDIM];
    add_letters(&left, &a->letters, both & kept);
    right = *result = left;
    size_t batch = left.count;
    add_letters(&left, &a->letters, in_a & ~both);
    size_t rows = left.count;
    add_letters(&left, &a->letters, both & ~kept);
    add_letters(&right, &a->letters, both & ~kept);
    size_t inner = right.count;
    add_letters(&right, &b->letters, in_b & ~both);
    add_letters(result, &a->letters, in_a & ~both);
    add_letters(result, &b->letters, in_b & ~both);
    for (size_t i = 0; i < result->count; i++) dims[i] = sizes[result->axes[i]];
    struct kiln_array *product = kiln__e_matmul(e, merge_letters(e, a, &left, batch, rows, sizes),
                                                merge_letters(e, b, &right, batch, inner, sizes));
    return kiln__e_reshape(e, product, dims, result->count);
}

/* Every letter of both, none summed over yet. */
static struct kiln_array *multiply_elements(struct kiln_expression *e, const struct factor *a, const struct factor *b,
                                            struct kiln_letters *result)
{
    uint64_t in_a = kiln__letter_set(&a->letters);
    *result = a->letters;
    add_letters(result, &b->letters, ~in_a);
    return kiln__e_binary(e, KILN_OP_MULTIPLY, arrange(e, a, result), arrange(e, b, result));
}

/* *a becomes the product, without the letters that are not kept. */
static kiln_status multiply(struct factor *a, const struct factor *b, uint64_t kept, const int *sizes, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    struct kiln_letters letters;
    struct kiln_array *product = NULL;
    uint64_t in_a = kiln__letter_set(&a->letters), in_b = kiln__letter_set(&b->letters);
    bool by_matrices = (in_a & in_b & ~kept) && kiln__dtypes[a->array->dtype].kind >= KILN_KIND_FLOAT;
    uint64_t axes = by_matrices ? (in_a | in_b) & kept : in_a | in_b;
    if (__builtin_popcountll(axes) > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[einsum] A product of two operands has more than %d dimensions.",
                          KILN_MAX_NDIM);
    struct kiln_array *made =
        by_matrices ? multiply_matrices(&e, a, b, kept, sizes, &letters) : multiply_elements(&e, a, b, &letters);
    kiln_status status = kiln__e_end(&e, made, &product);
    if (status) return status;
    take_array(a, product);
    a->letters = letters;
    return sum_out(a, kept, err);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Letters of the output and of all factors that there are but `left` and `right`. */
static uint64_t letters_outside(const struct factor *factors, size_t count, size_t left, size_t right, uint64_t output)
{
    for (size_t i = 0; i < count; i++)
        if (i != left && i != right && factors[i].array) output |= kiln__letter_set(&factors[i].letters);
    return output;
}

static kiln_status prepare(struct factor *factors, size_t count, const struct kiln_notation *notation, kiln_error *err)
{
    uint64_t output = kiln__letter_set(&notation->output);
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < count && !status; i++) {
        status = drop_repeated(&factors[i], notation->sizes, err);
        if (!status) status = take_diagonals(&factors[i], err);
    }
    for (size_t i = 0; i < count && !status; i++)
        status = sum_out(&factors[i], letters_outside(factors, count, i, i, output), err);
    return status;
}

/* The result of a pair is the next factor. */
static kiln_status contract(struct factor *factors, size_t count, const struct kiln_notation *notation,
                            const struct kiln_pair *pairs, kiln_error *err)
{
    uint64_t output = kiln__letter_set(&notation->output);
    kiln_status status = KILN_OK;
    for (size_t made = count; made < 2 * count - 1 && !status; made++, pairs++) {
        struct factor *left = &factors[pairs->left], *right = &factors[pairs->right];
        uint64_t kept = letters_outside(factors, made, pairs->left, pairs->right, output);
        status = multiply(left, right, kept, notation->sizes, err);
        factors[made] = *left;
        left->array = NULL;
        take_array(right, NULL);
    }
    return status;
}

static kiln_status find_order(const struct factor *factors, size_t count, const struct kiln_notation *notation,
                              struct kiln_pair *pairs, kiln_error *err)
{
    double cost;
    uint64_t *sets = malloc(count * sizeof *sets);
    if (!sets) return kiln__no_memory(err, "the order of einsum");
    for (size_t i = 0; i < count; i++) sets[i] = kiln__letter_set(&factors[i].letters);
    kiln_status status =
        kiln__einsum_order(sets, count, kiln__letter_set(&notation->output), notation->sizes, pairs, &cost, err);
    free(sets);
    return status;
}

/* The result in the order of the output; letters that all operands repeat come back. */
static kiln_status finish(const struct factor *factor, const struct kiln_notation *notation, struct kiln_array **out,
                          kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int dims[KILN_MAX_NDIM];
    const struct kiln_letters *output = &notation->output;
    for (size_t i = 0; i < output->count; i++) dims[i] = notation->sizes[output->axes[i]];
    return kiln__e_end(&e, kiln__e_broadcast(&e, arrange(&e, factor, output), dims, output->count), out);
}

static kiln_status multiply_all(struct factor *factors, size_t count, const struct kiln_notation *notation,
                                struct kiln_array **out, kiln_error *err)
{
    struct kiln_pair *pairs = malloc(count * sizeof *pairs);
    kiln_status status = pairs ? prepare(factors, count, notation, err) : kiln__no_memory(err, "the order of einsum");
    if (!status) status = find_order(factors, count, notation, pairs, err);
    if (!status) status = contract(factors, count, notation, pairs, err);
    if (!status) status = finish(&factors[2 * count - 2], notation, out, err);
    free(pairs);
    return status;
}

/* Operands in one dtype. */
static kiln_status make_factors(struct kiln_array *const *operands, const struct kiln_notation *notation,
                                struct factor *factors, kiln_error *err)
{
    kiln_status status = KILN_OK;
    enum kiln_dtype dtype = (enum kiln_dtype)operands[0]->dtype;
    for (size_t i = 1; i < notation->operand_count; i++) dtype = kiln__dtype_promote(dtype, operands[i]->dtype);
    for (size_t i = 0; i < notation->operand_count && !status; i++) {
        factors[i].letters = notation->operands[i];
        status = kiln__astype(operands[i], dtype, &factors[i].array, err);
    }
    return status;
}

/* ---- shapeless functions ----------------------------------------------------------------------------------------- */

static bool any_recorded(struct kiln_array *const *operands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kiln__is_recorded(operands[i])) return true;
    return false;
}

static kiln_status record_einsum(const char *subscripts, struct kiln_array *const *operands, size_t count,
                                 struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_EINSUM);
    kiln__record_arrays(&record, operands, count);
    for (const char *at = subscripts; *at; at++) kiln__record_number(&record, *at);
    kiln__record_number(&record, 0);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_einsum(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    char subscripts[KILN_RECORD_NUMBERS];
    size_t length = 0;
    while ((subscripts[length] = (char)kiln__recorded_number(record))) length++;
    return kiln__einsum(subscripts, record->arrays, record->array_count, out, err);
}

kiln_status kiln__einsum(const char *subscripts, struct kiln_array *const *operands, size_t count,
                         struct kiln_array **out, kiln_error *err)
{
    struct kiln_notation notation;
    if (!subscripts) return kiln__fail(err, KILN_INVALID, "[einsum] expected subscripts, got NULL.");
    if (count == 0) return kiln__fail(err, KILN_INVALID, "[einsum] Must provide at least one operand.");
    for (size_t i = 0; i < count; i++)
        if (!operands[i]) return kiln__fail(err, KILN_INVALID, "[einsum] input %zu is empty.", i);
    if (any_recorded(operands, count)) return record_einsum(subscripts, operands, count, out, err);
    kiln_status status = kiln__notation_read(subscripts, operands, count, &notation, err);
    if (status) return status;
    struct factor *factors = calloc(2 * count, sizeof *factors); /* operands, then products */
    status = factors ? make_factors(operands, &notation, factors, err) : kiln__no_memory(err, "the operands of einsum");
    if (!status) status = multiply_all(factors, count, &notation, out, err);
    for (size_t i = 0; factors && i < 2 * count; i++) kiln__array_unref(factors[i].array);
    free(factors);
    free(notation.operands);
    return status;
}
