/*
 * factorizations.c - see linalg.h. Several results of a factorization are cut out of one node (graph/factors.h).
 */
#include <stdlib.h>
#include <string.h>

#include "ops/linalg/linalg.h"
#include "ops/replay.h"

static kiln_status expect_matrix(const struct kiln_array *a, const char *name, kiln_error *err)
{
    if (!a) return kiln__fail(err, KILN_INVALID, "[%s] input is empty.", name);
    if (a->ndim >= 2) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] Arrays must have >= 2 dimensions. Received array with %d dimensions.",
                      name, a->ndim);
}

kiln_status kiln__cholesky(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err)
{
    return kiln__apply(KILN_OP_CHOLESKY, &a, 1, (int64_t[]){upper}, 1, out, err);
}

kiln_status kiln__inverse(struct kiln_array *a, enum kiln_triangle triangle, struct kiln_array **out, kiln_error *err)
{
    return kiln__apply(KILN_OP_INVERSE, &a, 1, (int64_t[]){triangle}, 1, out, err);
}

kiln_status kiln__tri_inv(struct kiln_array *a, bool upper, struct kiln_array **out, kiln_error *err)
{
    return kiln__inverse(a, upper ? KILN_UPPER : KILN_LOWER, out, err);
}

/* ---- several results -----------------------------------------------------------------------------------------------
 */

static kiln_status record_factor(struct kiln_array *a, struct kiln_factoring how, enum kiln_factor factor,
                                 struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_FACTOR);
    kiln__record_array(&record, a);
    kiln__record_number(&record, factor);
    kiln__record_number(&record, how.with_vectors);
    kiln__record_number(&record, how.upper);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_factor(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *a = kiln__recorded_array(record);
    enum kiln_factor factor = (enum kiln_factor)kiln__recorded_number(record);
    struct kiln_factoring how = {.with_vectors = kiln__recorded_number(record)};
    how.upper = kiln__recorded_number(record);
    return kiln__factorize(a, how, &factor, 1, out, err);
}

static kiln_status pack(struct kiln_array *a, enum kiln_op op, struct kiln_factoring how, struct kiln_array **out,
                        kiln_error *err)
{
    const int64_t attrs[] = {how.with_vectors, how.upper};
    size_t count = op == KILN_OP_EIGH ? 2 : op == KILN_OP_SVD || op == KILN_OP_EIG;
    return kiln__apply(op, &a, 1, attrs, count, out, err);
}

kiln_status kiln__factorize(struct kiln_array *a, struct kiln_factoring how, const enum kiln_factor *wanted,
                            size_t count, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *packed = NULL, *made[KILN_FACTORS] = {NULL};
    enum kiln_op op = kiln__factor_op(wanted[0]);
    kiln_status status = expect_matrix(a, kiln__ops[op].name, err);
    bool is_recorded = kiln__is_recorded(a);
    if (!status && !is_recorded) status = pack(a, op, how, &packed, err);
    for (size_t i = 0; !status && i < count; i++) {
        const int64_t attrs[] = {wanted[i], a->dims[a->ndim - 2], a->dims[a->ndim - 1]};
        status = is_recorded ? record_factor(a, how, wanted[i], &made[i], err)
                             : kiln__apply(KILN_OP_FACTOR, &packed, 1, attrs, 3, &made[i], err);
    }
    kiln__array_unref(packed);
    for (size_t i = 0; i < count; i++) {
        if (status)
            kiln__array_unref(made[i]);
        else
            out[i] = made[i];
    }
    return status;
}

kiln_status kiln__parse_triangle(const char *name, const char *uplo, bool *upper, kiln_error *err)
{
    bool is_upper = uplo[0] == 'U' || uplo[0] == 'u', is_lower = uplo[0] == 'L' || uplo[0] == 'l';
    *upper = is_upper;
    if (is_upper || is_lower) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[%s] UPLO must be \"U\" or \"L\", got \"%.40s\".", name, uplo);
}

kiln_status kiln__eigvals(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    const enum kiln_factor values = KILN_FACTOR_VALUES;
    return kiln__factorize(a, (struct kiln_factoring){.with_vectors = false}, &values, 1, out, err);
}

kiln_status kiln__eigvalsh(struct kiln_array *a, const char *uplo, struct kiln_array **out, kiln_error *err)
{
    const enum kiln_factor values = KILN_FACTOR_REAL_VALUES;
    struct kiln_factoring how = {.with_vectors = false};
    kiln_status status = kiln__parse_triangle("eigvalsh", uplo, &how.upper, err);
    return status ? status : kiln__factorize(a, how, &values, 1, out, err);
}
