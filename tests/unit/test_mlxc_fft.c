/*
 * test_mlxc_fft.c - Fourier transforms against their definition in float64: every small length and some large ones, all
 * norms, layouts and axes, cut and padded; plain and compiled give the same bits.
 */
#include "support/matrices.h"

static const double pi = 3.14159265358979323846;
static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static struct numbers random_numbers(mlx_dtype dtype, const struct shape *shape)
{
    struct numbers out = numbers_new(dtype, shape);
    for (int i = 0; i < out.size * (dtype == MLX_COMPLEX64 ? 2 : 1); i++) ((float *)out.data)[i] = (float)uniform();
    return out;
}

/* ---- the definition ---------------------------------------------------------------------------------------------- */

enum { LARGEST = 1200 };

/* Numbers of any shape. */
struct wide {
    struct shape shape;
    double complex *at;
};

static struct wide wide_new(const struct shape *shape)
{
    struct wide out = {*shape, calloc((size_t)shape_size(shape) + 1, sizeof *out.at)};
    CHECK_NOT_NULL(out.at);
    return out;
}
#define wide_new(...) CHECK_CALL(wide_new, __VA_ARGS__)

static struct wide widened(const struct numbers *a)
{
    struct wide out = wide_new(&a->shape);
    for (int i = 0; i < a->size; i++) out.at[i] = number_at(a, i);
    return out;
}

enum way { FORWARD, INVERSE, FROM_HALF };

static double factor(enum way way, int norm, int n)
{
    if (norm == MLX_FFT_NORM_ORTHO) return 1 / sqrt(n);
    return (way == FORWARD) == (norm == MLX_FFT_NORM_FORWARD) ? 1.0 / n : 1;
}

/* Element i of a row; of n / 2 + 1 terms the others are conjugates, and what has to be real is taken to be. */
static double complex element(const double complex *row, int step, int size, int n, int i, enum way way)
{
    if (way == FROM_HALF && i > n / 2) return conj(element(row, step, size, n, n - i, way));
    double complex value = i < size ? row[i * step] : 0;
    return way == FROM_HALF && (i == 0 || 2 * i == n) ? creal(value) : value;
}

/* n terms along one axis of what is cut or padded to n elements; `kept` of them. */
static struct wide definition(const struct wide *a, int axis, int n, int kept, enum way way, int norm)
{
    static double complex roots[LARGEST];
    struct shape shape = a->shape;
    int step = 1, size = shape.dims[axis];
    CHECK_LE(n, LARGEST);
    shape.dims[axis] = kept;
    struct wide out = wide_new(&shape);
    for (int i = axis + 1; i < shape.ndim; i++) step *= shape.dims[i];
    for (int i = 0; i < n; i++) roots[i] = cexp((way == FORWARD ? -2 : 2) * I * pi * i / n) * factor(way, norm, n);
    for (int i = 0; i < shape_size(&shape); i++) {
        const double complex *row = a->at + i / (step * kept) * step * size + i % step;
        int64_t k = i / step % kept;
        for (int j = 0; j < n; j++) out.at[i] += element(row, step, size, n, j, way) * roots[k * j % n];
    }
    return out;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

enum transform { ALL_COMPLEX, FROM_REAL, TO_REAL };

struct call {
    enum transform kind;
    bool is_inverse;
    int norm, count, n[3], axes[3];
};

static int call_fft(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    const struct call *call = context;
    size_t axes = (size_t)call->count;
    mlx_fft_norm norm = (mlx_fft_norm)call->norm;
    (void)count;
    out[0] = mlx_array_new();
    if (call->kind == FROM_REAL) return mlx_fft_rfftn(out, in[0], call->n, axes, call->axes, axes, norm, stream);
    if (call->kind == TO_REAL) return mlx_fft_irfftn(out, in[0], call->n, axes, call->axes, axes, norm, stream);
    if (call->is_inverse) return mlx_fft_ifftn(out, in[0], call->n, axes, call->axes, axes, norm, stream);
    return mlx_fft_fftn(out, in[0], call->n, axes, call->axes, axes, norm, stream);
}

static int call_one_axis(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    const struct call *call = context;
    mlx_fft_norm norm = (mlx_fft_norm)call->norm;
    (void)count;
    out[0] = mlx_array_new();
    if (call->kind == FROM_REAL) return mlx_fft_rfft(out, in[0], call->n[0], call->axes[0], norm, stream);
    if (call->kind == TO_REAL) return mlx_fft_irfft(out, in[0], call->n[0], call->axes[0], norm, stream);
    if (call->is_inverse) return mlx_fft_ifft(out, in[0], call->n[0], call->axes[0], norm, stream);
    return mlx_fft_fft(out, in[0], call->n[0], call->axes[0], norm, stream);
}

static struct wide expected(const struct numbers *a, const struct call *call)
{
    struct wide out = widened(a);
    bool inverse = call->is_inverse || call->kind == TO_REAL;
    for (int i = call->kind == TO_REAL ? 0 : call->count - 1, left = call->count; left > 0; left--) {
        int n = call->n[i], axis = call->axes[i] < 0 ? call->axes[i] + a->shape.ndim : call->axes[i];
        bool is_last = i == call->count - 1;
        enum way way = is_last && call->kind == TO_REAL ? FROM_HALF : inverse ? INVERSE : FORWARD;
        struct wide before = out;
        out = definition(&before, axis, n, is_last && call->kind == FROM_REAL ? n / 2 + 1 : n, way, call->norm);
        free(before.at);
        i += call->kind == TO_REAL ? 1 : -1;
    }
    return out;
}

/*
 * The bound: each axis rounds to float32 once, so that an error is below axes * 2^-24 times the sum of magnitudes that
 * a term is computed from, divided as the term is. Along one axis only the result is rounded: half of its last place,
 * but for the errors of float64.
 */
static void expect_transform(const struct numbers *got, const struct wide *want, const struct numbers *a,
                             const struct call *call)
{
    double sum = 0, scale = 1;
    bool inverse = call->is_inverse || call->kind == TO_REAL;
    CHECK_EQ(got->dtype, call->kind == TO_REAL ? MLX_FLOAT32 : MLX_COMPLEX64);
    if (!same_shapes(&got->shape, &want->shape))
        CHECK_FAIL("got %s, expected %s", shape_text(&got->shape).text, shape_text(&want->shape).text);
    for (int i = 0; i < a->size; i++) sum += cabs(number_at(a, i));
    for (int i = 0; i < call->count; i++) scale *= factor(inverse ? INVERSE : FORWARD, call->norm, call->n[i]);
    sum *= scale * (call->kind == TO_REAL ? 2 : 1);
    for (int i = 0; i < got->size; i++) {
        double complex value = number_at(got, i), right = want->at[i];
        double wide = 1e-14 * sum, real = wide + 0x1p-24 * fabs(creal(right)),
               imag = wide + 0x1p-24 * fabs(cimag(right));
        if (call->count > 1) real = imag = call->count * 0x1p-24 * sum;
        if (!(fabs(creal(value - right)) <= real && fabs(cimag(value - right)) <= imag))
            CHECK_FAIL("term %d is %.9g%+.9gi, expected %.9g%+.9gi within %g", i, creal(value), cimag(value),
                       creal(right), cimag(right), fmax(real, imag));
    }
}
#define expect_transform(...) CHECK_CALL(expect_transform, __VA_ARGS__)

static void check(const struct shape *shape, const struct call *call, enum layout layout)
{
    struct numbers got, a = random_numbers(call->kind == FROM_REAL ? MLX_FLOAT32 : MLX_COMPLEX64, shape);
    mlx_array in = make_array(&a, layout);
    CHECK_CONTEXT("kind %d%s of %s, %d axes, the first %d with n %d, norm %d, layout %d", call->kind,
                  call->is_inverse ? " inverse" : "", shape_text(shape).text, call->count, call->axes[0], call->n[0],
                  call->norm, layout);
    struct wide want = expected(&a, call);
    run_both_ways(call_fft, call, &in, 1, &got, 1, 1, "fftn");
    expect_transform(&got, &want, &a, call);
    if (call->count == 1) {
        struct numbers same;
        run_both_ways(call_one_axis, call, &in, 1, &same, 1, 0, "fft");
        expect_same_bits(&same, &got, "fft and fftn");
        numbers_free(&same);
    }
    numbers_free(&got), numbers_free(&a);
    free(want.at);
    mlx_array_free(in);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* One row of as many elements as the transform has, then five, which are not transformed one by one. */
static void check_length(int n)
{
    for (int rows = 1; rows <= 5; rows += 4)
        for (int way = 0; way < 4; way++) {
            struct call call = {.kind = way < 2 ? ALL_COMPLEX : way == 2 ? FROM_REAL : TO_REAL, .is_inverse = way == 1};
            struct shape shape = {2, {rows, way == 3 ? n / 2 + 1 : n}};
            call.count = 1, call.n[0] = n, call.axes[0] = -1, call.norm = (n + way) % 3;
            check(&shape, &call, PACKED);
        }
}

static void test_lengths(void **context)
{
    static const int more[] = {49,  64,  67,  81,  97,  100, 121, 125, 128,  131,  169,
                               210, 243, 256, 263, 360, 509, 512, 720, 1009, 1024, 1155};
    (void)context;
    for (int n = 1; n <= 32; n++) check_length(n);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) check_length(more[i]);
}

/* A large one comes back, and its first and last terms are sums. */
static void check_long(int n)
{
    struct shape shape = {1, {n}};
    struct numbers a = random_numbers(MLX_COMPLEX64, &shape), terms, back;
    mlx_array in = make_array(&a, PACKED), there = mlx_array_new(), again = mlx_array_new();
    double complex sum = 0;
    CHECK_CONTEXT("n is %d", n);
    expect_ok(mlx_fft_fft(&there, in, n, 0, MLX_FFT_NORM_BACKWARD, stream), "fft");
    expect_ok(mlx_fft_ifft(&again, there, n, 0, MLX_FFT_NORM_BACKWARD, stream), "ifft");
    terms = read_array(there), back = read_array(again);
    for (int i = 0; i < n; i++) sum += number_at(&a, i);
    CHECK_NEAR(cabs(number_at(&terms, 0) - sum), 0, 1e-6 * cabs(sum) + 1e-7 * sqrt(n));
    for (int i = 0; i < n; i++)
        if (!(cabs(number_at(&back, i) - number_at(&a, i)) < 1e-6)) CHECK_FAIL("element %d does not come back", i);
    numbers_free(&a), numbers_free(&terms), numbers_free(&back);
    mlx_array_free(in), mlx_array_free(there), mlx_array_free(again);
}
#define check_long(...) CHECK_CALL(check_long, __VA_ARGS__)

static void test_long(void **context)
{
    (void)context;
    check_long(65536), check_long(100003), check_long(99999), check_long(46341);
}

/* ---- axes, layouts, sizes ---------------------------------------------------------------------------------------- */

static void test_axes_and_layouts(void **context)
{
    static const struct shape shapes[] = {{1, {12}}, {2, {6, 5}}, {3, {4, 5, 6}}, {3, {1, 7, 2}}, {4, {2, 3, 4, 3}}};
    (void)context;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int turn = 0; turn < 24; turn++) {
            int ndim = shapes[s].ndim, count = 1 + turn % (ndim < 3 ? ndim : 3);
            struct call call = {
                .kind = (enum transform)(turn / 2 % 3), .is_inverse = turn % 2, .norm = turn % 3, .count = count};
            for (int i = 0; i < count; i++) {
                int axis = (turn + i * (ndim > 2 && turn % 5 ? ndim - 1 : 1)) % ndim; /* different ones, in any order */
                call.axes[i] = turn % 2 ? axis - ndim : axis;
                call.n[i] =
                    shapes[s].dims[axis] + (turn % 4 == 1) * (i + 1) * 2 - (turn % 4 == 2 && shapes[s].dims[axis] > 2);
            }
            if (call.kind) call.is_inverse = false;
            check(&shapes[s], &call, (enum layout)(turn % LAYOUT_COUNT));
        }
}

/* Rows beside each other have the bits that each has alone, on whatever thread. */
static void test_rows_do_not_depend_on_others(void **context)
{
    enum { ROWS = 1003, N = 60 };
    const struct shape all = {2, {ROWS, N}}, one = {1, {N}};
    struct numbers a = random_numbers(MLX_COMPLEX64, &all), together, alone;
    (void)context;
    mlx_array in = make_array(&a, PACKED), out = mlx_array_new();
    expect_ok(mlx_fft_fft(&out, in, N, 1, MLX_FFT_NORM_ORTHO, stream), "fft");
    together = read_array(out);
    for (int row = 0; row < ROWS; row += 77) {
        struct numbers part = numbers_new(MLX_COMPLEX64, &one);
        memcpy(part.data, a.data + (size_t)row * N * 8, N * 8);
        mlx_array single = make_array(&part, PACKED);
        expect_ok(mlx_fft_fft(&out, single, N, 0, MLX_FFT_NORM_ORTHO, stream), "fft");
        alone = read_array(out);
        CHECK_EQ(memcmp(alone.data, together.data + (size_t)row * N * 8, N * 8), 0);
        numbers_free(&alone), numbers_free(&part);
        mlx_array_free(single);
    }
    numbers_free(&a), numbers_free(&together);
    mlx_array_free(in), mlx_array_free(out);
}

static int call_shapeless(const mlx_array *in, int count, mlx_array *out, const void *context)
{
    const int axes[] = {0, 1};
    (void)count, (void)context;
    out[0] = mlx_array_new(), out[1] = mlx_array_new();
    return mlx_fft_fft(&out[0], in[0], 6, -1, MLX_FFT_NORM_ORTHO, stream) ||
           mlx_fft_fftshift(&out[1], in[0], axes, 2, stream);
}

static void test_shapeless(void **context)
{
    const int sizes[] = {5, 6, 9};
    struct traced_call call = {call_shapeless, NULL, 2, 0};
    mlx_closure compiled = compile_call(&call, true);
    (void)context;
    for (int s = 0; s < 3; s++) {
        const struct shape shape = {2, {3, sizes[s]}};
        const struct call fft = {.kind = ALL_COMPLEX, .norm = MLX_FFT_NORM_ORTHO, .count = 1, .n = {6}, .axes = {-1}};
        struct numbers a = random_numbers(MLX_COMPLEX64, &shape), got[2];
        mlx_array in = make_array(&a, PACKED), results[2];
        struct wide want = expected(&a, &fft);
        apply_compiled(compiled, &in, 1, results, 2, "shapeless");
        for (int i = 0; i < 2; i++) got[i] = read_array(results[i]), mlx_array_free(results[i]);
        expect_transform(&got[0], &want, &a, &fft);
        for (int i = 0; i < a.size; i++) {
            int row = (i / sizes[s] + 1) % 3, column = (i % sizes[s] + sizes[s] / 2) % sizes[s];
            CHECK_TRUE(number_at(&got[1], row * sizes[s] + column) == number_at(&a, i));
        }
        for (int i = 0; i < 2; i++) numbers_free(&got[i]);
        numbers_free(&a), free(want.at), mlx_array_free(in);
    }
    CHECK_EQ(call.calls, 1);
    mlx_closure_free(compiled);
}

/* ---- dtypes, frequencies, refusals ---------------------------------------------------------------------------------
 */

/* Everything becomes complex64 or float32, as in the reference; so does float64. */
static void test_dtypes(void **context)
{
    static const mlx_dtype dtypes[] = {MLX_BOOL, MLX_INT32, MLX_FLOAT16, MLX_FLOAT64, MLX_UINT8};
    const int n = 4;
    (void)context;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        mlx_array a = mlx_array_new_data((float[]){1, 0, 1, 1}, &n, 1, MLX_FLOAT32), out = mlx_array_new();
        expect_ok(mlx_astype(&a, a, dtypes[i], stream) || mlx_fft_rfft(&out, a, n, 0, MLX_FFT_NORM_BACKWARD, stream),
                  "rfft");
        struct numbers got = read_array(out);
        CHECK_EQ(got.dtype, MLX_COMPLEX64);
        CHECK_TRUE(number_at(&got, 0) == 3 && number_at(&got, 1) == I && number_at(&got, 2) == 1);
        numbers_free(&got);
        mlx_array_free(a), mlx_array_free(out);
    }
}

static void expect_frequencies(int code, mlx_array *res, const float *values, int count)
{
    expect_ok(code, "frequencies");
    struct numbers got = read_array(*res);
    CHECK_EQ(got.size, count);
    for (int i = 0; i < count; i++) CHECK_NEAR(creal(number_at(&got, i)), (double)values[i], 0);
    numbers_free(&got);
    mlx_array_free(*res);
    *res = mlx_array_new();
}
#define expect_frequencies(...) CHECK_CALL(expect_frequencies, __VA_ARGS__)

static void test_frequencies(void **context)
{
    mlx_array res = mlx_array_new();
    (void)context;
    expect_frequencies(mlx_fft_fftfreq(&res, 5, 0.5, stream), &res, (float[]){0, .4f, .8f, -.8f, -.4f}, 5);
    expect_frequencies(mlx_fft_fftfreq(&res, 4, 1, stream), &res, (float[]){0, .25f, -.5f, -.25f}, 4);
    expect_frequencies(mlx_fft_fftfreq(&res, 1, 3, stream), &res, (float[]){0}, 1);
    expect_frequencies(mlx_fft_rfftfreq(&res, 5, 0.5, stream), &res, (float[]){0, .4f, .8f}, 3);
    expect_frequencies(mlx_fft_rfftfreq(&res, 4, -1, stream), &res, (float[]){-0.0f, -.25f, -.5f}, 3);
    expect_refusal(mlx_fft_fftfreq(&res, 0, 1, stream), res, "no samples");
    expect_refusal(mlx_fft_rfftfreq(&res, 3, 0, stream), res, "no distance");
}

static void test_shifts(void **context)
{
    const struct shape shape = {2, {4, 5}};
    const int axes[] = {1, 0};
    struct numbers a = random_numbers(MLX_FLOAT32, &shape), got;
    (void)context;
    mlx_array in = make_array(&a, TRANSPOSED), there = mlx_array_new(), back = mlx_array_new();
    expect_ok(mlx_fft_fftshift(&there, in, axes, 2, stream), "fftshift");
    expect_ok(mlx_fft_ifftshift(&back, there, axes, 2, stream), "ifftshift");
    got = read_array(there);
    CHECK_TRUE(number_at(&got, 2 * 5 + 2) == number_at(&a, 0));
    numbers_free(&got);
    got = read_array(back);
    expect_same_bits(&got, &a, "there and back");
    numbers_free(&got), numbers_free(&a);
    mlx_array_free(in), mlx_array_free(there), mlx_array_free(back);
}

static void test_refusals(void **context)
{
    const struct shape shape = {2, {3, 4}};
    struct numbers a = random_numbers(MLX_FLOAT32, &shape);
    mlx_array in = make_array(&a, PACKED), scalar = mlx_array_new_float(1), res = mlx_array_new();
    mlx_array none = mlx_array_new_data("", (int[]){0, 3}, 2, MLX_FLOAT32);
    const mlx_fft_norm norm = MLX_FFT_NORM_BACKWARD;
    const int n[] = {3, 4}, same[] = {1, -1};
    (void)context;
    expect_refusal(mlx_fft_fft(&res, in, 0, 0, norm, stream), res, "n 0");
    expect_refusal(mlx_fft_irfft(&res, in, -1, 0, norm, stream), res, "n -1");
    expect_refusal(mlx_fft_fft(&res, in, 4, 2, norm, stream), res, "axis 2");
    expect_refusal(mlx_fft_rfft(&res, scalar, 1, 0, norm, stream), res, "a scalar");
    expect_refusal(mlx_fft_fft(&res, in, 4, 1, (mlx_fft_norm)7, stream), res, "norm 7");
    expect_refusal(mlx_fft_fftn(&res, in, n, 2, same, 2, norm, stream), res, "an axis twice");
    expect_refusal(mlx_fft_fftn(&res, in, n, 1, same, 2, norm, stream), res, "more axes than sizes");
    expect_refusal(mlx_fft_fftn(&res, in, NULL, 1, same, 1, norm, stream), res, "no sizes");
    expect_refusal(mlx_fft_fftshift(&res, in, (int[]){2}, 1, stream), res, "shift of axis 2");
    expect_refusal(mlx_fft_fft(&res, none, 0, 0, norm, stream), res, "no elements");
    expect_ok(mlx_fft_rfft(&res, none, 3, 1, norm, stream), "no rows");
    CHECK_EQ(mlx_array_eval(res), 0);
    CHECK_EQ(mlx_array_shape(res)[1], 2);
    expect_ok(mlx_fft_fft(&res, none, 2, 0, norm, stream), "zeros in place of no elements");
    struct numbers got = read_array(res);
    CHECK_EQ(got.size, 6);
    for (int i = 0; i < 6; i++) CHECK_TRUE(number_at(&got, i) == 0);
    numbers_free(&got);
    expect_ok(mlx_fft_fftn(&res, in, n, 0, same, 0, norm, stream), "no axes");
    got = read_array(res);
    expect_same_bits(&got, &a, "no axes");
    numbers_free(&got), numbers_free(&a);
    mlx_array_free(in), mlx_array_free(scalar), mlx_array_free(res), mlx_array_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),          cmocka_unit_test(test_long),
        cmocka_unit_test(test_axes_and_layouts), cmocka_unit_test(test_rows_do_not_depend_on_others),
        cmocka_unit_test(test_shapeless),        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_frequencies),      cmocka_unit_test(test_shifts),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
