/*
 * test_mlxc_linalg.c - factorizations, inverses and equations: what they are made of gives back the matrix, computed in
 * float64. All dtypes, layouts, batches and shapes; plain and compiled give the same bits.
 */
#include "support/matrices.h"

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static struct numbers random_numbers(mlx_dtype dtype, const struct shape *shape)
{
    struct numbers out = numbers_new(dtype, shape);
    for (int i = 0; i < out.size; i++) {
        char *at = out.data + (size_t)i * (size_t)facts[dtype].size;
        if (dtype == MLX_FLOAT64)
            *(double *)at = uniform();
        else
            for (int part = 0; part <= (dtype == MLX_COMPLEX64); part++) ((float *)at)[part] = (float)uniform();
    }
    return out;
}

/* Adds to the diagonals. */
static void shift(struct numbers *a, double by)
{
    int n = a->shape.dims[a->shape.ndim - 1], m = a->shape.dims[a->shape.ndim - 2];
    for (int i = 0; i < a->size; i++) {
        char *at = a->data + (size_t)i * (size_t)facts[a->dtype].size;
        if (i % (m * n) / n != i % n) continue;
        if (a->dtype == MLX_FLOAT64)
            *(double *)at += by;
        else
            *(float *)at += (float)by;
    }
}

/* Element (i, j) becomes the conjugate of element (j, i) where i > j; imaginary parts of the diagonal 0. */
static void mirror(struct numbers *a)
{
    int n = a->shape.dims[a->shape.ndim - 1], size = facts[a->dtype].size;
    for (int first = 0; first < a->size; first += n * n)
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                char *to = a->data + (first + i * n + j) * size, *from = a->data + (first + j * n + i) * size;
                memcpy(to, from, (size_t)size);
                if (a->dtype == MLX_COMPLEX64) ((float *)to)[1] = i == j ? 0 : -((float *)to)[1];
            }
}

static const struct shape shapes[] = {{2, {1, 1}},       {2, {2, 2}},       {2, {5, 5}},          {2, {7, 3}},
                                      {2, {3, 7}},       {2, {40, 40}},     {3, {4, 6, 6}},       {3, {6, 6, 6}},
                                      {4, {2, 3, 5, 4}}, {4, {2, 1, 4, 5}}, {5, {2, 1, 3, 3, 3}}, {3, {60, 33, 33}}};
static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT64, MLX_COMPLEX64};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static bool is_square(const struct shape *shape)
{
    return shape->dims[shape->ndim - 1] == shape->dims[shape->ndim - 2];
}

static int batch_of(const struct shape *shape)
{
    int count = 1;
    for (int i = 0; i + 2 < shape->ndim; i++) count *= shape->dims[i];
    return count;
}

/* A function of linalg.h, called for every dtype, shape and layout that it has. */
struct function {
    const char *name;
    array_function *call;
    int outputs;
    bool has_complex, needs_square;
    void (*prepare)(struct numbers *a); /* NULL: any numbers */
    void (*check)(const struct numbers *a, const struct numbers *out, int batch, double bound);
};

static struct matrix a_, left, middle, right, product, other, turned;

/* ---- what is called ---------------------------------------------------------------------------------------------- */

static int new_outputs(mlx_array *outputs, int count)
{
    for (int i = 0; i < count; i++) outputs[i] = mlx_array_new();
    return count;
}

static int call_qr(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 2);
    return mlx_linalg_qr(&out[0], &out[1], in[0], stream);
}

static int call_lu_factor(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 2);
    return mlx_linalg_lu_factor(&out[0], &out[1], in[0], stream);
}

static int call_eigh(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 3);
    return mlx_linalg_eigh(&out[0], &out[1], in[0], "L", stream) || mlx_linalg_eigvalsh(&out[2], in[0], "U", stream);
}

static int call_eig(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 3);
    return mlx_linalg_eig(&out[0], &out[1], in[0], stream) || mlx_linalg_eigvals(&out[2], in[0], stream);
}

static int take_all(mlx_array *out, int count, mlx_vector_array results)
{
    int code = mlx_vector_array_size(results) != (size_t)count;
    for (int i = 0; i < count && !code; i++) code = mlx_vector_array_get(&out[i], results, (size_t)i);
    return mlx_vector_array_free(results), code;
}

static int call_svd(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 4);
    mlx_vector_array all = mlx_vector_array_new(), values = mlx_vector_array_new();
    int code = mlx_linalg_svd(&all, in[0], true, stream) || mlx_linalg_svd(&values, in[0], false, stream);
    return take_all(out, 3, all) || take_all(out + 3, 1, values) || code;
}

static int call_lu(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 3);
    mlx_vector_array all = mlx_vector_array_new();
    int code = mlx_linalg_lu(&all, in[0], stream);
    return take_all(out, 3, all) || code;
}

static int call_cholesky(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 4);
    return mlx_linalg_cholesky(&out[0], in[0], false, stream) || mlx_linalg_cholesky(&out[1], in[0], true, stream) ||
           mlx_linalg_cholesky_inv(&out[2], out[0], false, stream) ||
           mlx_linalg_cholesky_inv(&out[3], out[1], true, stream);
}

static int call_inv(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 3);
    return mlx_linalg_inv(&out[0], in[0], stream) || mlx_linalg_tri_inv(&out[1], in[0], false, stream) ||
           mlx_linalg_tri_inv(&out[2], in[0], true, stream);
}

static int call_pinv(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    (void)count, (void)context, new_outputs(out, 1);
    return mlx_linalg_pinv(&out[0], in[0], stream);
}

/* With the matrix itself for the right side, and with its first column. */
static int call_solve(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    mlx_array turned_in = mlx_array_new();
    (void)count, (void)context, new_outputs(out, 3);
    int code = mlx_swapaxes(&turned_in, in[0], -1, -2, stream) || mlx_linalg_solve(&out[0], in[0], turned_in, stream) ||
               mlx_linalg_solve_triangular(&out[1], in[0], turned_in, false, stream) ||
               mlx_linalg_solve_triangular(&out[2], in[0], turned_in, true, stream);
    return mlx_array_free(turned_in), code;
}

/* ---- what is true of the results --------------------------------------------------------------------------------- */

static void expect_triangle(const struct matrix *a, bool is_lower, const char *what)
{
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->columns; j++)
            if ((is_lower ? j > i : j < i) && a->at[i * a->columns + j] != 0)
                CHECK_FAIL("%s: element %d, %d should be 0", what, i, j);
}

static void check_qr(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], false, batch, &left);
    matrix_of(&out[1], false, batch, &right);
    CHECK_EQ(left.columns, a_.rows < a_.columns ? a_.rows : a_.columns);
    expect_orthonormal(&left, bound, "Q");
    expect_triangle(&right, false, "R");
    matrix_product(&left, &right, &product);
    expect_matrix_near(&product, &a_, bound, "Q R");
}

static void check_lu(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], true, batch, &middle);
    matrix_of(&out[1], false, batch, &left);
    matrix_of(&out[2], false, batch, &right);
    CHECK_EQ(out[0].dtype, MLX_UINT32);
    CHECK_EQ(middle.rows, a_.rows);
    expect_triangle(&left, true, "L");
    expect_triangle(&right, false, "U");
    for (int i = 0; i < left.columns; i++) CHECK_TRUE(left.at[i * left.columns + i] == 1);
    for (int i = 0; i < left.rows * left.columns; i++)
        CHECK_LE(cabs(left.at[i]), 1 + bound); /* the pivot was largest */
    matrix_product(&left, &right, &product);
    other = product;
    for (int i = 0; i < a_.rows; i++)
        for (int j = 0; j < a_.columns; j++)
            other.at[i * a_.columns + j] = product.at[(int)creal(middle.at[i]) * a_.columns + j];
    expect_matrix_near(&other, &a_, bound, "rows of L U");
}

/* The triangles of one matrix, and exchanges in their order. */
static void check_lu_factor(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], false, batch, &other);
    matrix_of(&out[1], true, batch, &middle);
    CHECK_EQ(middle.rows, a_.rows < a_.columns ? a_.rows : a_.columns);
    left = right = other;
    left.columns = right.rows = middle.rows;
    for (int i = 0; i < other.rows; i++)
        for (int j = 0; j < other.columns; j++) {
            double complex element = other.at[i * other.columns + j];
            if (j < left.columns) left.at[i * left.columns + j] = i == j ? 1 : j < i ? element : 0;
            if (i < right.rows) right.at[i * right.columns + j] = j < i ? 0 : element;
        }
    matrix_product(&left, &right, &product);
    for (int i = 0; i < middle.rows; i++)
        for (int j = 0; j < a_.columns; j++) {
            int k = (int)creal(middle.at[i]);
            double complex kept = a_.at[i * a_.columns + j];
            a_.at[i * a_.columns + j] = a_.at[k * a_.columns + j], a_.at[k * a_.columns + j] = kept;
        }
    expect_matrix_near(&product, &a_, bound, "L U");
}

static void check_svd(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], false, batch, &left);
    matrix_of(&out[1], true, batch, &middle);
    matrix_of(&out[2], false, batch, &right);
    CHECK_EQ(left.columns, a_.rows);
    CHECK_EQ(right.rows, a_.columns);
    CHECK_EQ(out[1].dtype, a->dtype == MLX_FLOAT64 ? MLX_FLOAT64 : MLX_FLOAT32);
    expect_orthonormal(&left, bound, "U");
    matrix_adjoint(&right, &turned);
    expect_orthonormal(&turned, bound, "V");
    for (int i = 1; i < middle.rows; i++) CHECK_TRUE(creal(middle.at[i - 1]) >= creal(middle.at[i]));
    other.rows = a_.rows, other.columns = a_.columns;
    for (int i = 0; i < a_.rows; i++)
        for (int j = 0; j < a_.columns; j++) other.at[i * a_.columns + j] = i == j ? middle.at[i] : 0;
    matrix_product(&left, &other, &product);
    matrix_product(&product, &right, &other);
    expect_matrix_near(&other, &a_, bound, "U S V'");
    matrix_of(&out[3], true, batch, &other);
    expect_matrix_near(&other, &middle, bound, "singular values alone");
}

static void expect_eigenvectors(bool is_symmetric, double bound)
{
    matrix_product(&a_, &right, &product);
    other = right;
    for (int i = 0; i < a_.rows * a_.columns; i++) other.at[i] *= middle.at[i % a_.columns];
    expect_matrix_near(&product, &other, bound, "A V = V W");
    if (is_symmetric) expect_orthonormal(&right, bound, "V");
    for (int j = 0; j < right.columns; j++) {
        double sum = 0;
        for (int i = 0; i < right.rows; i++) sum += pow(cabs(right.at[i * right.columns + j]), 2);
        CHECK_NEAR(sum, 1, bound);
    }
}

static void check_eigh(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], true, batch, &middle);
    matrix_of(&out[1], false, batch, &right);
    CHECK_EQ(out[0].dtype, a->dtype == MLX_FLOAT64 ? MLX_FLOAT64 : MLX_FLOAT32);
    for (int i = 1; i < middle.rows; i++) CHECK_TRUE(creal(middle.at[i - 1]) <= creal(middle.at[i]));
    expect_eigenvectors(true, bound);
    matrix_of(&out[2], true, batch, &other);
    expect_matrix_near(&other, &middle, bound, "eigenvalues alone, of the other triangle");
}

static void check_eig(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    double complex sum = 0, trace = 0;
    (void)bound;
    bound = 30 * (double)FLT_EPSILON * a->shape.dims[a->shape.ndim - 1]; /* results are complex64 */
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], true, batch, &middle);
    matrix_of(&out[1], false, batch, &right);
    CHECK_EQ(out[0].dtype, MLX_COMPLEX64);
    CHECK_EQ(out[1].dtype, MLX_COMPLEX64);
    expect_eigenvectors(false, bound);
    matrix_of(&out[2], true, batch, &other);
    for (int i = 0; i < a_.rows; i++) trace += a_.at[i * a_.rows + i], sum += other.at[i];
    if (!(cabs(trace - sum) < bound * a_.rows)) CHECK_FAIL("the eigenvalues' sum is not the trace");
}

static void check_cholesky(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    for (int upper = 0; upper < 2; upper++) {
        matrix_of(a, false, batch, &a_);
        matrix_of(&out[upper], false, batch, &left);
        expect_triangle(&left, !upper, "the triangle");
        matrix_adjoint(&left, &turned);
        if (upper)
            matrix_product(&turned, &left, &product);
        else
            matrix_product(&left, &turned, &product);
        expect_matrix_near(&product, &a_, bound, "L L'");
        matrix_of(&out[2 + upper], false, batch, &right);
        matrix_product(&a_, &right, &product);
        identity(a_.rows, &other);
        expect_matrix_near(&product, &other, bound, "A times its inverse");
    }
}

static void keep_triangle(struct matrix *a, int part) /* 0: all of it, 1: lower, 2: upper */
{
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->columns; j++)
            if ((part == 1 && j > i) || (part == 2 && j < i)) a->at[i * a->columns + j] = 0;
}

static void check_inv(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    for (int part = 0; part < 3; part++) {
        matrix_of(a, false, batch, &a_);
        keep_triangle(&a_, part);
        matrix_of(&out[part], false, batch, &right);
        if (part) expect_triangle(&right, part == 1, "an inverse triangle");
        identity(a_.rows, &other);
        matrix_product(&a_, &right, &product);
        expect_matrix_near(&product, &other, bound, "A inv(A)");
        matrix_product(&right, &a_, &product);
        expect_matrix_near(&product, &other, bound, "inv(A) A");
    }
}

/* The four conditions of Penrose. */
static void check_pinv(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    matrix_of(a, false, batch, &a_);
    matrix_of(&out[0], false, batch, &right);
    bound *= 10 * fmax(1, matrix_largest(&right)) * fmax(1, matrix_largest(&right));
    matrix_product(&a_, &right, &product);
    matrix_adjoint(&product, &turned);
    expect_matrix_near(&product, &turned, bound, "A P is symmetric");
    matrix_product(&product, &a_, &other);
    expect_matrix_near(&other, &a_, bound, "A P A");
    matrix_product(&right, &a_, &product);
    matrix_adjoint(&product, &turned);
    expect_matrix_near(&product, &turned, bound, "P A is symmetric");
    matrix_product(&product, &right, &other);
    expect_matrix_near(&other, &right, bound, "P A P");
}

static void check_solve(const struct numbers *a, const struct numbers *out, int batch, double bound)
{
    for (int part = 0; part < 3; part++) {
        matrix_of(a, false, batch, &a_);
        for (int i = 0; i < a_.rows; i++)
            for (int j = 0; j < a_.rows; j++) turned.at[j * a_.rows + i] = a_.at[i * a_.rows + j];
        turned.rows = turned.columns = a_.rows;
        keep_triangle(&a_, part);
        matrix_of(&out[part], false, batch, &right);
        matrix_product(&a_, &right, &product);
        expect_matrix_near(&product, &turned, bound * 5, "A X");
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void make_symmetric(struct numbers *a)
{
    mirror(a);
}

static void make_positive(struct numbers *a)
{
    mirror(a);
    shift(a, 2 * a->shape.dims[a->shape.ndim - 1]);
}

/* Larger than the others together, on the diagonal: far from singular. */
static void make_dominant(struct numbers *a)
{
    shift(a, 1 + a->shape.dims[a->shape.ndim - 1]);
}

static const struct function functions[] = {
    {"qr", call_qr, 2, false, false, NULL, check_qr},
    {"lu", call_lu, 3, false, false, NULL, check_lu},
    {"lu_factor", call_lu_factor, 2, false, false, NULL, check_lu_factor},
    {"svd", call_svd, 4, true, false, NULL, check_svd},
    {"eigh", call_eigh, 3, true, true, make_symmetric, check_eigh},
    {"eig", call_eig, 3, true, true, NULL, check_eig},
    {"cholesky", call_cholesky, 4, false, true, make_positive, check_cholesky},
    {"inv", call_inv, 3, false, true, make_dominant, check_inv},
    {"pinv", call_pinv, 1, false, false, make_dominant, check_pinv},
    {"solve", call_solve, 3, false, true, make_dominant, check_solve},
};

static void check_function(const struct function *function, mlx_dtype dtype, const struct shape *shape,
                           enum layout layout)
{
    struct numbers out[4], a = random_numbers(dtype, shape);
    if (function->prepare) function->prepare(&a);
    mlx_array in = make_array(&a, layout);
    CHECK_CONTEXT("%s of %s %s, layout %d", function->name, facts[dtype].name, shape_text(shape).text, layout);
    run_both_ways(function->call, NULL, &in, 1, out, function->outputs, 1, function->name);
    /* sums of n terms of numbers below n */
    int n = shape->dims[shape->ndim - 1] + shape->dims[shape->ndim - 2];
    for (int i = 0; i < batch_of(shape); i++) function->check(&a, out, i, 8 * n * epsilon_of(dtype));
    for (int i = 0; i < function->outputs; i++) numbers_free(&out[i]);
    mlx_array_free(in);
    numbers_free(&a);
}
#define check_function(...) CHECK_CALL(check_function, __VA_ARGS__)

static void test_factors_give_back_the_matrix(void **context)
{
    (void)context;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (int d = 0; d < 2 + functions[f].has_complex; d++)
            for (int s = 0; s < SHAPES; s++) {
                if (functions[f].needs_square && !is_square(&shapes[s])) continue;
                check_function(&functions[f], dtypes[d], &shapes[s], (enum layout)((s + d) % LAYOUT_COUNT));
                if (s < 5)
                    check_function(&functions[f], dtypes[d], &shapes[s], (enum layout)((s + d + 1) % LAYOUT_COUNT));
            }
}

/* Of the matrix 1 / (i + j + 1), whose condition number is about exp(3.5 n). The factors are as good as of any other
 * matrix; of the inverse the residual is at most n * epsilon * condition. */
static void test_ill_conditioned(void **context)
{
    enum { N = 8 };
    static const char *const factors[] = {"qr", "lu", "svd", "eigh", "eig"};
    const struct shape shape = {2, {N, N}};
    struct numbers a = numbers_new(MLX_FLOAT64, &shape), out[4];
    (void)context;
    for (int i = 0; i < N * N; i++) ((double *)a.data)[i] = 1.0 / (i / N + i % N + 1);
    mlx_array in = make_array(&a, PACKED);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        bool is_factor = false, is_inverse = !strcmp(functions[f].name, "inv");
        for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
            is_factor |= !strcmp(functions[f].name, factors[i]);
        if (!is_factor && !is_inverse) continue;
        run_both_ways(functions[f].call, NULL, &in, 1, out, functions[f].outputs, 1, functions[f].name);
        functions[f].check(&a, out, 0, N * DBL_EPSILON * (is_inverse ? exp(3.5 * N) : 4));
        for (int i = 0; i < functions[f].outputs; i++) numbers_free(&out[i]);
    }
    mlx_array_free(in);
    numbers_free(&a);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static mlx_array matrix(const float *values, int rows, int columns)
{
    return mlx_array_new_data(values, (int[]){rows, columns}, 2, MLX_FLOAT32);
}

/* The call is fine, its evaluation says what was wrong. */
static void expect_failure(int code, const mlx_array *res, const char *part)
{
    expect_ok(code, part);
    CHECK_EQ(mlx_array_eval(*res), 1);
    if (error_count != 1 || !strstr(error_text, part)) CHECK_FAIL("expected \"%s\", got \"%s\"", part, error_text);
    error_count = 0, error_text[0] = '\0';
}
#define expect_failure(...) CHECK_CALL(expect_failure, __VA_ARGS__)

static void test_singular(void **context)
{
    (void)context;
    mlx_array a = matrix((float[]){1, 2, 2, 4}, 2, 2), b = matrix((float[]){1, 2}, 2, 1), res = mlx_array_new();
    mlx_array t = matrix((float[]){0, 1, 0, 1}, 2, 2), zero = matrix((float[]){0, 0, 0, 0}, 2, 2), second;
    expect_failure(mlx_linalg_inv(&res, a, stream), &res, "[inv] Matrix 0 is singular");
    expect_failure(mlx_linalg_solve(&res, a, b, stream), &res, "[lu] Matrix 0 is singular");
    expect_failure(mlx_linalg_tri_inv(&res, t, true, stream), &res, "singular");
    expect_failure(mlx_linalg_solve_triangular(&res, t, b, false, stream), &res, "singular");
    second = mlx_array_new();
    expect_failure(mlx_linalg_lu_factor(&res, &second, zero, stream), &res, "singular");
    mlx_array_free(a), mlx_array_free(b), mlx_array_free(t), mlx_array_free(zero), mlx_array_free(second);
    /* not positive definite: numbers without a meaning, as far as it went */
    a = matrix((float[]){1, 2, 2, 1}, 2, 2);
    expect_ok(mlx_linalg_cholesky(&res, a, false, stream), "cholesky");
    struct numbers got = read_array(res);
    CHECK_NEAR(creal(number_at(&got, 3)), -3, 0);
    numbers_free(&got);
    mlx_array_free(a), mlx_array_free(res);
}

/* The first singular matrix of a batch is named, whatever the threads. */
static void test_first_singular_of_a_batch(void **context)
{
    enum { COUNT = 2000 };
    const struct shape shape = {3, {COUNT, 3, 3}};
    (void)context;
    struct numbers a = random_numbers(MLX_FLOAT32, &shape);
    make_dominant(&a);
    for (int i = 700; i < COUNT; i += 100) memset(a.data + (size_t)i * 36, 0, 36);
    mlx_array in = make_array(&a, PACKED), res = mlx_array_new();
    expect_failure(mlx_linalg_inv(&res, in, stream), &res, "Matrix 700 is singular");
    mlx_array_free(in), mlx_array_free(res);
    numbers_free(&a);
}

static void test_not_finite(void **context)
{
    (void)context;
    mlx_array nan = matrix((float[]){1, NAN, NAN, 4}, 2, 2),
              infinite = matrix((float[]){1, INFINITY, INFINITY, 4}, 2, 2);
    mlx_array res = mlx_array_new(), second = mlx_array_new();
    struct numbers got;
    expect_failure(mlx_linalg_eigvals(&res, nan, stream), &res, "[eig] Matrix 0 has NaN");
    mlx_vector_array all = mlx_vector_array_new();
    expect_ok(mlx_linalg_svd(&all, nan, false, stream), "svd");
    mlx_vector_array_get(&res, all, 0);
    expect_failure(0, &res, "[svd] Matrix 0 has NaN");
    mlx_vector_array_free(all);
    for (int i = 0; i < 4; i++) {
        mlx_array in = i % 2 ? nan : infinite;
        if (i < 2) expect_ok(mlx_linalg_eigh(&res, &second, in, "L", stream), "eigh");
        if (i == 2) expect_ok(mlx_linalg_eigvals(&res, infinite, stream), "eigvals");
        if (i == 3) expect_ok(mlx_linalg_inv(&res, nan, stream), "inv");
        got = read_array(res);
        for (int k = 0; k < got.size; k++) CHECK_TRUE(isnan(creal(number_at(&got, k))));
        numbers_free(&got);
    }
    mlx_array_free(res), mlx_array_free(second), mlx_array_free(nan), mlx_array_free(infinite);
}

static void test_refusals(void **context)
{
    (void)context;
    mlx_array res = mlx_array_new(), second = mlx_array_new(), whole = mlx_array_new(), row, wide, square;
    row = mlx_array_new_data((float[]){1, 2, 3, 4}, (int[]){4}, 1, MLX_FLOAT32);
    wide = matrix((float[]){1, 2, 3, 4, 5, 6}, 2, 3), square = matrix((float[]){1, 2, 3, 4}, 2, 2);
    expect_ok(mlx_astype(&whole, square, MLX_INT32, stream), "astype");
    const mlx_array bad[] = {row, whole};
    for (int i = 0; i < 2; i++) {
        mlx_vector_array all = mlx_vector_array_new();
        expect_refusal(mlx_linalg_inv(&res, bad[i], stream), res, "inv");
        expect_refusal(mlx_linalg_tri_inv(&res, bad[i], true, stream), res, "tri_inv");
        expect_refusal(mlx_linalg_cholesky(&res, bad[i], true, stream), res, "cholesky");
        expect_refusal(mlx_linalg_cholesky_inv(&res, bad[i], true, stream), res, "cholesky_inv");
        expect_refusal(mlx_linalg_pinv(&res, bad[i], stream), res, "pinv");
        expect_refusal(mlx_linalg_qr(&res, &second, bad[i], stream), res, "qr");
        expect_refusal(mlx_linalg_lu_factor(&res, &second, bad[i], stream), res, "lu_factor");
        expect_refusal(mlx_linalg_eig(&res, &second, bad[i], stream), res, "eig");
        expect_refusal(mlx_linalg_eigh(&res, &second, bad[i], "L", stream), res, "eigh");
        expect_refusal(mlx_linalg_solve(&res, bad[i], square, stream), res, "solve");
        expect_refusal(mlx_linalg_svd(&all, bad[i], true, stream), res, "svd");
        CHECK_EQ(mlx_vector_array_size(all), 0);
        mlx_vector_array_free(all);
    }
    expect_refusal(mlx_linalg_inv(&res, wide, stream), res, "inv of a wide one");
    expect_refusal(mlx_linalg_cholesky(&res, wide, false, stream), res, "cholesky of a wide one");
    expect_refusal(mlx_linalg_eigvals(&res, wide, stream), res, "eigvals of a wide one");
    expect_refusal(mlx_linalg_eigvalsh(&res, square, "X", stream), res, "eigvalsh with X");
    expect_refusal(mlx_linalg_eigh(&res, &second, square, "", stream), res, "eigh without a triangle");
    expect_refusal(mlx_linalg_eigvalsh(&res, square, NULL, stream), res, "eigvalsh with NULL");
    expect_refusal(mlx_linalg_solve(&res, square, row, stream), res, "solve with another number of rows");
    expect_refusal(mlx_linalg_solve(&res, wide, square, stream), res, "solve of a wide one");
    CHECK_NULL(second.ctx);
    mlx_array_free(row), mlx_array_free(wide), mlx_array_free(square), mlx_array_free(whole);
}

static void expect_shape(mlx_array a, int ndim, const int *dims)
{
    struct shape want = {ndim, {0}};
    for (int i = 0; i < ndim; i++) want.dims[i] = dims[i];
    struct numbers got = read_array(a);
    if (!same_shapes(&got.shape, &want))
        CHECK_FAIL("got %s, expected %s", shape_text(&got.shape).text, shape_text(&want).text);
    numbers_free(&got);
    mlx_array_free(a);
}
#define expect_shape(...) CHECK_CALL(expect_shape, __VA_ARGS__)

static void test_empty(void **context)
{
    (void)context;
    mlx_array none = mlx_array_new_data("", (int[]){0, 0}, 2, MLX_FLOAT32), wide, batch, a = mlx_array_new(),
              b = mlx_array_new();
    wide = mlx_array_new_data("", (int[]){0, 3}, 2, MLX_FLOAT32);
    batch = mlx_array_new_data("", (int[]){0, 3, 3}, 3, MLX_FLOAT64);
    expect_ok(mlx_linalg_inv(&a, none, stream), "inv"), expect_shape(a, 2, (int[]){0, 0});
    expect_ok(mlx_linalg_inv((a = mlx_array_new(), &a), batch, stream), "inv"), expect_shape(a, 3, (int[]){0, 3, 3});
    expect_ok(mlx_linalg_pinv((a = mlx_array_new(), &a), wide, stream), "pinv"), expect_shape(a, 2, (int[]){3, 0});
    expect_ok(mlx_linalg_qr((a = mlx_array_new(), &a), &b, wide, stream), "qr");
    expect_shape(a, 2, (int[]){0, 0}), expect_shape(b, 2, (int[]){0, 3});
    expect_ok(mlx_linalg_eigh((a = mlx_array_new(), &a), (b = mlx_array_new(), &b), batch, "U", stream), "eigh");
    expect_shape(a, 2, (int[]){0, 3}), expect_shape(b, 3, (int[]){0, 3, 3});
    expect_ok(mlx_linalg_eig((a = mlx_array_new(), &a), (b = mlx_array_new(), &b), none, stream), "eig");
    expect_shape(a, 1, (int[]){0}), expect_shape(b, 2, (int[]){0, 0});
    mlx_vector_array all = mlx_vector_array_new();
    expect_ok(mlx_linalg_svd(&all, wide, true, stream), "svd");
    a = mlx_array_new(), mlx_vector_array_get(&a, all, 2); /* vectors of the identity */
    struct numbers got = read_array(a);
    CHECK_EQ(got.size, 9);
    for (int i = 0; i < 9; i++) CHECK_NEAR(creal(number_at(&got, i)), i % 4 == 0, 0);
    numbers_free(&got);
    mlx_vector_array_free(all), mlx_array_free(a);
    mlx_array_free(none), mlx_array_free(wide), mlx_array_free(batch);
}

/* ---- solving with batches that are broadcast, shapes that a trace does not know ------------------------------------
 */

static void test_solve_broadcasts(void **context)
{
    const struct shape matrices = {3, {4, 3, 3}}, one = {2, {3, 5}}, vector = {1, {3}};
    struct numbers a = random_numbers(MLX_FLOAT64, &matrices), b = random_numbers(MLX_FLOAT64, &one),
                   v = random_numbers(MLX_FLOAT64, &vector), got;
    (void)context;
    make_dominant(&a);
    mlx_array in = make_array(&a, PACKED), res = mlx_array_new();
    for (int with_vector = 0; with_vector < 2; with_vector++) {
        const struct numbers *side = with_vector ? &v : &b;
        mlx_array right_side = make_array(side, PACKED);
        expect_ok(mlx_linalg_solve(&res, in, right_side, stream), "solve");
        got = read_array(res);
        CHECK_EQ(got.shape.ndim, with_vector ? 2 : 3);
        for (int i = 0; i < 4; i++) {
            matrix_of(&a, false, i, &a_);
            matrix_of(&got, with_vector, i, &right);
            matrix_of(side, with_vector, 0, &other);
            matrix_product(&a_, &right, &product);
            expect_matrix_near(&product, &other, 1e-14, "A X");
        }
        numbers_free(&got);
        mlx_array_free(right_side);
    }
    mlx_array_free(in), mlx_array_free(res);
    numbers_free(&a), numbers_free(&b), numbers_free(&v);
}

static void test_shapeless(void **context)
{
    const struct shape sizes[] = {{2, {3, 3}}, {2, {6, 6}}, {2, {2, 2}}};
    (void)context;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        struct traced_call call = {functions[f].call, NULL, functions[f].outputs, 0};
        mlx_closure compiled = compile_call(&call, true);
        for (int s = 0; s < 3; s++) {
            struct numbers a = random_numbers(MLX_FLOAT64, &sizes[s]), out[4];
            if (functions[f].prepare) functions[f].prepare(&a);
            mlx_array in = make_array(&a, TRANSPOSED), results[4];
            CHECK_CONTEXT("%s, shapeless, size %d", functions[f].name, sizes[s].dims[0]);
            apply_compiled(compiled, &in, 1, results, functions[f].outputs, functions[f].name);
            for (int i = 0; i < functions[f].outputs; i++) out[i] = read_array(results[i]), mlx_array_free(results[i]);
            functions[f].check(&a, out, 0, 100 * DBL_EPSILON);
            for (int i = 0; i < functions[f].outputs; i++) numbers_free(&out[i]);
            mlx_array_free(in);
            numbers_free(&a);
        }
        CHECK_EQ(call.calls, 1);
        mlx_closure_free(compiled);
    }
}

/* Singular values that are kept do not keep the vectors. */
static void test_what_is_dropped_is_freed(void **context)
{
    enum { N = 64 };
    const struct shape shape = {2, {N, N}};
    size_t before = 0, after = 0;
    (void)context;
    struct numbers a = random_numbers(MLX_FLOAT64, &shape);
    mlx_array in = make_array(&a, PACKED), values = mlx_array_new();
    expect_ok(mlx_array_eval(in), "eval");
    mlx_get_active_memory(&before);
    mlx_vector_array all = mlx_vector_array_new();
    expect_ok(mlx_linalg_svd(&all, in, true, stream), "svd");
    expect_ok(mlx_eval(all), "eval");
    mlx_vector_array_get(&values, all, 1);
    mlx_vector_array_free(all);
    mlx_get_active_memory(&after);
    CHECK_LE(after - before, N * 8 + 4096);
    mlx_array_free(in), mlx_array_free(values);
    numbers_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors_give_back_the_matrix),
        cmocka_unit_test(test_ill_conditioned),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_first_singular_of_a_batch),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_solve_broadcasts),
        cmocka_unit_test(test_shapeless),
        cmocka_unit_test(test_what_is_dropped_is_freed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
