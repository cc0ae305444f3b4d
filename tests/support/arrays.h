/*
 * arrays.h - arrays of the library, made in a given layout and read back, and calls made plainly and compiled.
 *
 * A test holds its numbers packed, in C memory. A layout says how they lie in the array the library gets: the logical
 * content is the same in each. Reading goes through the strides of the evaluated array.
 */
#ifndef KILN_TESTS_SUPPORT_ARRAYS_H
#define KILN_TESTS_SUPPORT_ARRAYS_H

#include "support/check.h"
#include "support/values.h"

enum { MAX_RANK = 12 };

static mlx_stream stream;
static _Thread_local int error_count;
static _Thread_local char error_text[2048];

static void remember_error(const char *text, void *data)
{
    (void)data;
    error_count++;
    snprintf(error_text, sizeof error_text, "%s", text);
}

static inline int set_up(void **state)
{
    (void)state;
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    mlx_set_error_handler(remember_error, NULL, NULL);
    error_count = 0;
    error_text[0] = '\0';
    check_note = error_text;
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    mlx_stream_free(stream);
    stream = (mlx_stream){0};
    return 0;
}

static inline void expect_ok(int code, const char *what)
{
    if (code || error_count) CHECK_FAIL("%s gave %d: %s", what, code, error_text);
}
#define expect_ok(...) CHECK_CALL(expect_ok, __VA_ARGS__)

/* The call gave 1 with a text, and left `res` as it was: empty. */
static inline void expect_refusal(int code, mlx_array res, const char *what)
{
    if (code != 1 || error_count != 1 || !error_text[0] || res.ctx)
        CHECK_FAIL("%s should be refused, gave %d and %d errors: %s", what, code, error_count, error_text);
    error_count = 0;
    error_text[0] = '\0';
}
#define expect_refusal(...) CHECK_CALL(expect_refusal, __VA_ARGS__)

/* ---- shapes -------------------------------------------------------------------------------------------------------
 */

struct shape {
    int ndim;
    int dims[MAX_RANK];
};

static inline int shape_size(const struct shape *shape)
{
    int size = 1;
    for (int i = 0; i < shape->ndim; i++) size *= shape->dims[i];
    return size;
}

static inline struct shape shape_of(mlx_array array)
{
    struct shape shape = {(int)mlx_array_ndim(array), {0}};
    CHECK_LE(shape.ndim, MAX_RANK);
    for (int i = 0; i < shape.ndim; i++) shape.dims[i] = mlx_array_shape(array)[i];
    return shape;
}
#define shape_of(...) CHECK_CALL(shape_of, __VA_ARGS__)

static inline bool same_shapes(const struct shape *a, const struct shape *b)
{
    return a->ndim == b->ndim && (a->ndim == 0 || memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) == 0);
}

struct shape_text {
    char text[8 * MAX_RANK];
};

/* "[2,3]", for contexts: shape_text(&shape).text */
static inline struct shape_text shape_text(const struct shape *shape)
{
    struct shape_text out = {"["};
    size_t length = 1;
    for (int i = 0; i < shape->ndim; i++)
        length += (size_t)snprintf(out.text + length, sizeof out.text - length, i ? ",%d" : "%d", shape->dims[i]);
    snprintf(out.text + length, sizeof out.text - length, "]");
    return out;
}

/* The index of flat position `at`. */
static inline void unravel(int at, const struct shape *shape, int *index)
{
    for (int i = shape->ndim; i-- > 0;) {
        index[i] = at % shape->dims[i];
        at /= shape->dims[i];
    }
}

/* The flat position of `index`, cut to the last axes of `shape`, with axes of size one repeated. */
static inline int ravel(const int *index, int ndim, const struct shape *shape)
{
    int at = 0;
    for (int i = 0; i < shape->ndim; i++)
        at = at * shape->dims[i] + (shape->dims[i] == 1 ? 0 : index[ndim - shape->ndim + i]);
    return at;
}

static inline struct shape broadcast(const struct shape *a, const struct shape *b)
{
    struct shape out = a->ndim >= b->ndim ? *a : *b;
    const struct shape *other = a->ndim >= b->ndim ? b : a;
    int missing = out.ndim - other->ndim;
    for (int i = 0; i < other->ndim; i++)
        if (out.dims[missing + i] == 1) out.dims[missing + i] = other->dims[i];
    return out;
}

/* ---- packed numbers -----------------------------------------------------------------------------------------------
 */

struct numbers {
    mlx_dtype dtype;
    struct shape shape;
    int size;
    char *data; /* packed; owned */
};

static inline struct numbers numbers_new(mlx_dtype dtype, const struct shape *shape)
{
    struct numbers out = {dtype, *shape, shape_size(shape), NULL};
    out.data = calloc((size_t)out.size + 1, 8);
    CHECK_NOT_NULL(out.data);
    return out;
}
#define numbers_new(...) CHECK_CALL(numbers_new, __VA_ARGS__)

static inline void numbers_free(struct numbers *numbers)
{
    free(numbers->data);
    numbers->data = NULL;
}

static inline struct scalar get(const struct numbers *numbers, int at)
{
    return scalar_load(numbers->data + at * facts[numbers->dtype].size, numbers->dtype);
}

static inline void put(struct numbers *numbers, int at, struct scalar value)
{
    scalar_store(numbers->data + at * facts[numbers->dtype].size, value);
}

typedef struct scalar value_source(mlx_dtype dtype, uint64_t *state);

static inline struct numbers numbers_filled(mlx_dtype dtype, const struct shape *shape, value_source *source,
                                            uint64_t *state)
{
    struct numbers out = numbers_new(dtype, shape);
    for (int i = 0; i < out.size; i++) put(&out, i, source(dtype, state));
    return out;
}
#define numbers_filled(...) CHECK_CALL(numbers_filled, __VA_ARGS__)

/* Reads an evaluated or lazy array through its strides. */
static inline struct numbers read_array(mlx_array array)
{
    struct shape shape = shape_of(array);
    expect_ok(mlx_array_eval(array), "eval");
    struct numbers out = numbers_new(mlx_array_dtype(array), &shape);
    const char *data = (const char *)mlx_array_data_uint8(array);
    const size_t *strides = mlx_array_strides(array);
    int size = facts[out.dtype].size, index[MAX_RANK];
    for (int i = 0; i < out.size; i++) {
        int64_t at = 0;
        unravel(i, &shape, index);
        for (int axis = 0; axis < shape.ndim; axis++) at += index[axis] * (int64_t)strides[axis];
        memcpy(out.data + i * size, data + at * size, (size_t)size);
    }
    return out;
}
#define read_array(...) CHECK_CALL(read_array, __VA_ARGS__)

/* "bit for bit", a NaN for a NaN of the same bits. */
static inline void expect_same_bits(const struct numbers *got, const struct numbers *want, const char *what)
{
    if (got->dtype != want->dtype || !same_shapes(&got->shape, &want->shape))
        CHECK_FAIL("%s: dtype or shape differ: %s of rank %d, expected %s of rank %d", what, facts[got->dtype].name,
                   got->shape.ndim, facts[want->dtype].name, want->shape.ndim);
    int size = facts[got->dtype].size;
    for (int i = 0; i < got->size; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, got->data + i * size, (size_t)size);
        memcpy(&b, want->data + i * size, (size_t)size);
        if (a != b)
            CHECK_FAIL("%s: %s element %d of %d is %#llx, expected %#llx", what, facts[got->dtype].name, i, got->size,
                       (unsigned long long)a, (unsigned long long)b);
    }
}
#define expect_same_bits(...) CHECK_CALL(expect_same_bits, __VA_ARGS__)

static inline void expect_same_values(const struct numbers *got, const struct numbers *want, const char *what)
{
    if (got->dtype != want->dtype || !same_shapes(&got->shape, &want->shape))
        CHECK_FAIL("%s: dtype or shape differ: %s of rank %d, expected %s of rank %d", what, facts[got->dtype].name,
                   got->shape.ndim, facts[want->dtype].name, want->shape.ndim);
    for (int i = 0; i < got->size; i++)
        if (!same_scalar(get(got, i), get(want, i)))
            CHECK_FAIL("%s: %s element %d of %d is %.17g, expected %.17g", what, facts[got->dtype].name, i, got->size,
                       to_double(get(got, i)), to_double(get(want, i)));
}
#define expect_same_values(...) CHECK_CALL(expect_same_values, __VA_ARGS__)

/* ---- layouts ------------------------------------------------------------------------------------------------------
 */

enum layout { PACKED, TRANSPOSED, REVERSED, SPREAD, LAYOUT_COUNT };

static inline mlx_array packed_array(const struct numbers *numbers)
{
    mlx_array array = mlx_array_new_data(numbers->data, numbers->shape.dims, numbers->shape.ndim, numbers->dtype);
    CHECK_NOT_NULL(array.ctx);
    return array;
}
#define packed_array(...) CHECK_CALL(packed_array, __VA_ARGS__)

/* Element `index` of the result lies at `index` of the memory, reversed or, in the last three axes, spread on the way.
 */
static inline mlx_array rearranged(const struct numbers *numbers, enum layout layout)
{
    struct shape memory = numbers->shape;
    int ndim = memory.ndim, start[MAX_RANK], stop[MAX_RANK], step[MAX_RANK], index[MAX_RANK], place[MAX_RANK];
    for (int i = 0; i < ndim; i++) {
        int n = numbers->shape.dims[i];
        bool spread = layout == SPREAD && ndim - i <= 3;
        memory.dims[layout == TRANSPOSED ? ndim - 1 - i : i] = spread ? 2 * n + 1 : n;
        step[i] = layout == REVERSED ? -1 : spread ? 2 : 1;
        start[i] = layout == REVERSED ? n - 1 : spread;
        stop[i] = layout == REVERSED ? -n - 1 : memory.dims[i];
    }
    struct numbers stored = numbers_new(numbers->dtype, &memory);
    for (int i = 0; i < stored.size; i++) put(&stored, i, chosen(numbers->dtype, i)); /* what nobody may read */
    for (int i = 0; i < numbers->size; i++) {
        unravel(i, &numbers->shape, index);
        for (int k = 0; k < ndim; k++) {
            int at = layout == REVERSED ? numbers->shape.dims[k] - 1 - index[k] : index[k];
            if (layout == SPREAD && ndim - k <= 3) at = 2 * at + 1;
            place[layout == TRANSPOSED ? ndim - 1 - k : k] = at;
        }
        memcpy(stored.data + ravel(place, ndim, &memory) * facts[numbers->dtype].size,
               numbers->data + i * facts[numbers->dtype].size, (size_t)facts[numbers->dtype].size);
    }
    mlx_array base = packed_array(&stored), view = mlx_array_new();
    size_t count = (size_t)ndim;
    expect_ok(layout == TRANSPOSED ? mlx_transpose(&view, base, stream)
                                   : mlx_slice(&view, base, start, count, stop, count, step, count, stream),
              "a view");
    mlx_array_free(base);
    numbers_free(&stored);
    return view;
}
#define rearranged(...) CHECK_CALL(rearranged, __VA_ARGS__)

static inline mlx_array make_array(const struct numbers *numbers, enum layout layout)
{
    bool plain = layout == PACKED || numbers->size == 0 || numbers->shape.ndim == 0;
    return plain ? packed_array(numbers) : rearranged(numbers, layout);
}
#define make_array(...) CHECK_CALL(make_array, __VA_ARGS__)

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

/* A function of arrays: fills outputs[0..], returns 0 or the code of what failed. */
typedef int array_function(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context);

enum { MAX_OUTPUTS = 40, MAX_INPUTS = 80 };

struct traced_call {
    array_function *function;
    const void *context;
    int output_count, calls;
};

static int closure_body(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct traced_call *call = payload;
    mlx_array inputs[MAX_INPUTS] = {{0}}, outputs[MAX_OUTPUTS] = {{0}};
    int count = (int)mlx_vector_array_size(in);
    call->calls++;
    for (int i = 0; i < count; i++) mlx_vector_array_get(&inputs[i], in, (size_t)i);
    int code = call->function(inputs, count, outputs, call->context);
    if (!code) code = mlx_vector_array_set_data(res, outputs, (size_t)call->output_count);
    for (int i = 0; i < count; i++) mlx_array_free(inputs[i]);
    for (int i = 0; i < call->output_count; i++) mlx_array_free(outputs[i]);
    return code;
}

static inline mlx_closure compile_call(struct traced_call *call, bool shapeless)
{
    mlx_closure plain = mlx_closure_new_func_payload(closure_body, call, NULL), compiled = mlx_closure_new();
    expect_ok(mlx_compile(&compiled, plain, shapeless), "compile");
    mlx_closure_free(plain);
    return compiled;
}
#define compile_call(...) CHECK_CALL(compile_call, __VA_ARGS__)

static inline void apply_compiled(mlx_closure compiled, const mlx_array *inputs, int input_count, mlx_array *outputs,
                                  int output_count, const char *what)
{
    mlx_vector_array in = mlx_vector_array_new_data(inputs, (size_t)input_count), out = mlx_vector_array_new();
    expect_ok(mlx_closure_apply(&out, compiled, in), what);
    CHECK_EQ(mlx_vector_array_size(out), output_count);
    for (int i = 0; i < output_count; i++) {
        outputs[i] = mlx_array_new();
        mlx_vector_array_get(&outputs[i], out, (size_t)i);
    }
    mlx_vector_array_free(in), mlx_vector_array_free(out);
}
#define apply_compiled(...) CHECK_CALL(apply_compiled, __VA_ARGS__)

/*
 * Runs `function` plainly, then compiled `times` times: all must agree bit for bit, and it is traced once.
 * outputs[] gets what the plain call gave; the caller frees it.
 */
static inline void run_both_ways(array_function *function, const void *context, const mlx_array *inputs,
                                 int input_count, struct numbers *outputs, int output_count, int times,
                                 const char *what)
{
    CHECK_CONTEXT("%s", what);
    struct traced_call call = {function, context, output_count, 0};
    mlx_array plain[MAX_OUTPUTS] = {{0}};
    expect_ok(function(inputs, input_count, plain, context), what);
    for (int i = 0; i < output_count; i++) outputs[i] = read_array(plain[i]), mlx_array_free(plain[i]);
    mlx_closure compiled = compile_call(&call, false);
    for (int run = 0; run < times; run++) {
        mlx_array results[MAX_OUTPUTS];
        apply_compiled(compiled, inputs, input_count, results, output_count, what);
        for (int i = 0; i < output_count; i++) {
            char text[256];
            snprintf(text, sizeof text, "%s, compiled, output %d, run %d", what, i, run);
            struct numbers got = read_array(results[i]);
            expect_same_bits(&got, &outputs[i], text);
            numbers_free(&got);
            mlx_array_free(results[i]);
        }
    }
    CHECK_EQ(call.calls, times ? 1 : 0);
    mlx_closure_free(compiled);
}
#define run_both_ways(...) CHECK_CALL(run_both_ways, __VA_ARGS__)

#endif
