/*
 * factors.c - see factors.h. The layout of a packed array is written here once, for the rules and for what runs them.
 */
#include "graph/factors.h"

#include "graph/rules.h"

/* Sizes in terms of the matrix: its rows, its columns, the smaller of both, and one. */
enum extent { M, N, K, ONE };

struct factor {
    uint8_t op, rows, columns;
    uint8_t skipped; /* what stands before it: see skipped_size() */
    uint8_t dtype;   /* AS_PACKED and so on */
};

enum { NOTHING, FIRST_VECTOR, U_TOO, Q_TOO };
enum { AS_PACKED, ITS_REAL_PART, INDEX };

static const struct factor factors[KILN_FACTORS] = {
    [KILN_FACTOR_Q] = {KILN_OP_QR, M, K, NOTHING, AS_PACKED},
    [KILN_FACTOR_R] = {KILN_OP_QR, K, N, Q_TOO, AS_PACKED},
    [KILN_FACTOR_SINGULAR] = {KILN_OP_SVD, K, ONE, NOTHING, ITS_REAL_PART},
    [KILN_FACTOR_U] = {KILN_OP_SVD, M, M, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_VT] = {KILN_OP_SVD, N, N, U_TOO, AS_PACKED},
    [KILN_FACTOR_REAL_VALUES] = {KILN_OP_EIGH, N, ONE, NOTHING, ITS_REAL_PART},
    [KILN_FACTOR_REAL_VECTORS] = {KILN_OP_EIGH, N, N, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_VALUES] = {KILN_OP_EIG, N, ONE, NOTHING, AS_PACKED},
    [KILN_FACTOR_VECTORS] = {KILN_OP_EIG, N, N, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_LU] = {KILN_OP_LU, M, N, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_LOWER] = {KILN_OP_LU, M, K, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_UPPER] = {KILN_OP_LU, K, N, FIRST_VECTOR, AS_PACKED},
    [KILN_FACTOR_PIVOTS] = {KILN_OP_LU, K, ONE, NOTHING, INDEX},
    [KILN_FACTOR_ORDER] = {KILN_OP_LU, M, ONE, NOTHING, INDEX},
    [KILN_FACTOR_PERMUTATION] = {KILN_OP_LU, M, ONE, NOTHING, INDEX},
};

static int smaller(int m, int n)
{
    return m < n ? m : n;
}

static int extent(enum extent extent, int m, int n)
{
    const int extents[] = {[M] = m, [N] = n, [K] = smaller(m, n), [ONE] = 1};
    return extents[extent];
}

static int64_t skipped_size(uint8_t skipped, int m, int n)
{
    int64_t k = smaller(m, n);
    const int64_t sizes[] = {[NOTHING] = 0, [FIRST_VECTOR] = k, [U_TOO] = k + (int64_t)m * m, [Q_TOO] = (int64_t)m * k};
    return sizes[skipped];
}

enum kiln_op kiln__factor_op(enum kiln_factor factor)
{
    return (enum kiln_op)factors[factor].op;
}

enum kiln_dtype kiln__factor_dtype(enum kiln_factor factor, enum kiln_dtype packed)
{
    if (factors[factor].dtype == INDEX) return KILN_UINT32;
    bool is_real = factors[factor].dtype == ITS_REAL_PART && packed == KILN_COMPLEX64;
    return is_real ? KILN_FLOAT32 : packed;
}

struct kiln_factor_place kiln__factor_place(enum kiln_factor which, int m, int n)
{
    const struct factor *factor = &factors[which];
    return (struct kiln_factor_place){.offset = skipped_size(factor->skipped, m, n),
                                      .rows = extent((enum extent)factor->rows, m, n),
                                      .columns = extent((enum extent)factor->columns, m, n),
                                      .is_vector = factor->columns == ONE};
}

int64_t kiln__factors_size(enum kiln_op op, bool with_vectors, int m, int n)
{
    int64_t k = smaller(m, n), rows = m, columns = n;
    switch (op) {
    case KILN_OP_QR:
        return rows * k + k * columns;
    case KILN_OP_LU:
        return k + rows * columns;
    case KILN_OP_SVD:
        return k + (with_vectors ? rows * rows + columns * columns : 0);
    default:
        return k + (with_vectors ? rows * columns : 0);
    }
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* The input of a factorization is what it is: the functions of ops/linalg say which dtypes there are. */
static kiln_status refuse_dtype(const struct kiln_call *call, const char *wanted, kiln_error *err)
{
    return kiln__refuse(call, err, "Arrays must have type %s. Received array with type %s.", wanted,
                        kiln__dtypes[call->inputs[0]->dtype].name);
}

kiln_status kiln__dtype_real_matrix(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = (enum kiln_dtype)call->inputs[0]->dtype;
    out->first = out->rest = out->dtype = dtype;
    bool fits = dtype == KILN_FLOAT32 || dtype == KILN_FLOAT64;
    return fits ? KILN_OK : refuse_dtype(call, "float32 or float64", err);
}

kiln_status kiln__dtype_any_matrix(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    enum kiln_dtype dtype = (enum kiln_dtype)call->inputs[0]->dtype;
    if (dtype != KILN_COMPLEX64 && kiln__dtype_real_matrix(call, out, NULL))
        return refuse_dtype(call, "float32, float64 or complex64", err);
    out->first = out->rest = out->dtype = dtype;
    return KILN_OK;
}

/* eig: whatever comes in, eigenvalues are complex, and there is one complex dtype. */
kiln_status kiln__dtype_eig(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__dtype_any_matrix(call, out, err);
    out->dtype = KILN_COMPLEX64;
    return status;
}

kiln_status kiln__dtype_factor(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    if (call->attr_count != 3 || call->attrs[0] < 0 || call->attrs[0] >= KILN_FACTORS)
        return kiln__refuse(call, err, "expected a factor, rows and columns.");
    enum kiln_dtype dtype = (enum kiln_dtype)call->inputs[0]->dtype;
    out->first = out->rest = dtype;
    out->dtype = kiln__factor_dtype((enum kiln_factor)call->attrs[0], dtype);
    return KILN_OK;
}

static kiln_status expect_matrix(const struct kiln_call *call, bool is_square, kiln_error *err)
{
    const struct kiln_array *a = call->inputs[0];
    if (a->ndim < 2)
        return kiln__refuse(call, err, "Arrays must have >= 2 dimensions. Received array with %d dimensions.", a->ndim);
    if (!is_square || a->dims[a->ndim - 1] == a->dims[a->ndim - 2]) return KILN_OK;
    char text[KILN_SHAPE_TEXT];
    return kiln__refuse(call, err, "Only defined for square matrices. Received array with shape %s.",
                        kiln__input_text(call, 0, text));
}

/* cholesky: 1 for the upper triangle, else 0. inv: which part of the matrix is taken to be all of it, enum
 * kiln_triangle. */
kiln_status kiln__shape_square(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    kiln_status status = kiln__expect_attrs(call, 1, err);
    if (!status) status = expect_matrix(call, true, err);
    if (!status) kiln__same_shape(call->inputs[0], out);
    return status;
}

/* qr, lu: none. svd, eig: 1 if vectors are made, else 0. eigh: that, then 1 for the upper triangle. */
kiln_status kiln__shape_packed(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *a = call->inputs[0];
    bool is_square = call->op == KILN_OP_EIGH || call->op == KILN_OP_EIG;
    size_t attr_count = call->op == KILN_OP_EIGH ? 2 : is_square || call->op == KILN_OP_SVD;
    kiln_status status = kiln__expect_attrs(call, attr_count, err);
    if (!status) status = expect_matrix(call, is_square, err);
    if (status) return status;
    int m = a->dims[a->ndim - 2], n = a->dims[a->ndim - 1];
    int64_t size = kiln__factors_size(call->op, attr_count && call->attrs[0], m, n);
    if (size > INT32_MAX)
        return kiln__refuse(call, err, "The results for a matrix of %d rows and %d columns are too large.", m, n);
    kiln__same_shape(a, out);
    out->ndim--;
    out->dims[out->ndim - 1] = (int)size;
    return KILN_OK;
}

/* factor: which one (enum kiln_factor), and the rows and columns of the matrix that was factorized. */
kiln_status kiln__shape_factor(const struct kiln_call *call, struct kiln_result *out, kiln_error *err)
{
    const struct kiln_array *packed = call->inputs[0];
    enum kiln_factor factor = (enum kiln_factor)call->attrs[0];
    int64_t m = call->attrs[1], n = call->attrs[2];
    if (m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || packed->ndim < 1)
        return kiln__refuse(call, err, "There are no matrices of %lld rows and %lld columns.", (long long)m,
                            (long long)n);
    struct kiln_factor_place place = kiln__factor_place(factor, (int)m, (int)n);
    int64_t size = packed->dims[packed->ndim - 1];
    enum kiln_op op = kiln__factor_op(factor);
    if (size != kiln__factors_size(op, false, (int)m, (int)n) && size != kiln__factors_size(op, true, (int)m, (int)n))
        return kiln__refuse(call, err, "%lld elements are not what %s makes of %lld rows and %lld columns.",
                            (long long)size, kiln__ops[op].name, (long long)m, (long long)n);
    if (place.offset > 0 && place.offset >= size && (int64_t)place.rows * place.columns > 0)
        return kiln__refuse(call, err, "Vectors were not computed.");
    kiln__same_shape(packed, out);
    out->dims[out->ndim - 1] = place.rows;
    if (!place.is_vector) out->dims[out->ndim++] = place.columns;
    return KILN_OK;
}
