/*
 * test_run_attention.c - the kernels of attention on the CPU: numbers against float64, the same bits for every number
 * of threads and every target with fused multiply-adds, and no memory but the result's.
 */
#include <math.h>

#include "array/storage.h"
#include "codegen/cpu/attention_kernel.h"
#include "device/device.h"
#include "ops/layers.h"
#include "ops/shapes.h"
#include "run/cpu/pool.h"
#include "unit/run_support.h"

enum mask { NO_MASK, CAUSAL, BOOL_MASK, FLOAT_MASK, HEAD_MASK, MASKS };

struct shape {
    int batch, heads, shared, queries, keys, features, values;
};

struct call {
    struct shape s;
    enum kiln_dtype dtype;
    enum mask mask;
    bool has_sinks, is_turned; /* turned: (batch, length, heads, features), seen as the other order */
    struct kiln_array *q, *k, *v, *masks, *sinks;
    double *numbers[5];
};

static uint32_t state_of_random = 7;

static double draw(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (double)(state_of_random >> 8) / (1 << 23) - 1;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static uint16_t narrow(float value, enum kiln_dtype dtype)
{
    uint32_t bits;
    if (dtype == KILN_FLOAT16) {
        _Float16 half = (_Float16)value;
        uint16_t out;
        memcpy(&out, &half, sizeof out);
        return out;
    }
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double widen(const void *from, enum kiln_dtype dtype)
{
    uint16_t narrow_bits;
    float value;
    memcpy(&narrow_bits, from, sizeof narrow_bits);
    if (dtype == KILN_FLOAT16) {
        _Float16 half;
        memcpy(&half, &narrow_bits, sizeof half);
        return (double)half;
    }
    uint32_t bits = (uint32_t)narrow_bits << 16;
    memcpy(&value, dtype == KILN_FLOAT32 ? from : &bits, sizeof value);
    return (double)value;
}

/* Random numbers of `dtype`, and what they are in float64, in *numbers. A bool is true for two of three. */
static struct kiln_array *random_array(enum kiln_dtype dtype, size_t ndim, const int *dims, double **numbers)
{
    size_t count = 1, item = kiln__dtype_size(dtype);
    for (size_t i = 0; i < ndim; i++) count *= (size_t)dims[i];
    char *data = calloc(count, item);
    *numbers = calloc(count, sizeof **numbers);
    for (size_t i = 0; i < count; i++) {
        float value = (float)draw();
        uint16_t bits = narrow(value, dtype);
        if (dtype == KILN_BOOL)
            data[i] = draw() < 0.3;
        else
            memcpy(data + i * item, dtype == KILN_FLOAT32 ? (void *)&value : (void *)&bits, item);
        (*numbers)[i] = dtype == KILN_BOOL ? data[i] : widen(data + i * item, dtype);
    }
    struct kiln_array *array = from_data(data, dtype, ndim, dims);
    free(data);
    return array;
}

/* As (batch, heads, length, features), whose heads and length are exchanged in memory when `is_turned`. */
static struct kiln_array *make_heads(const struct call *call, int heads, int length, int features, double **numbers)
{
    const int dims[] = {call->s.batch, heads, length, features};
    struct kiln_array *made = random_array(call->dtype, 4, dims, numbers);
    if (!call->is_turned) return made;
    struct kiln_array *other = transpose(made, (int64_t[]){0, 2, 1, 3}), *packed = unary(KILN_OP_CONTIGUOUS, other);
    struct kiln_array *turned = transpose(packed, (int64_t[]){0, 2, 1, 3});
    eval(turned);
    unref_all((struct kiln_array *[]){made, other, packed}, 3);
    return turned;
}

static void make_inputs(struct call *call)
{
    const struct shape *s = &call->s;
    const int plain[] = {s->queries, s->keys}, by_head[] = {s->batch, s->heads, s->queries, s->keys};
    call->q = make_heads(call, s->heads, s->queries, s->features, &call->numbers[0]);
    call->k = make_heads(call, s->shared, s->keys, s->features, &call->numbers[1]);
    call->v = make_heads(call, s->shared, s->keys, s->values, &call->numbers[2]);
    if (call->mask >= BOOL_MASK)
        call->masks = random_array(call->mask == BOOL_MASK ? KILN_BOOL : call->dtype, call->mask == HEAD_MASK ? 4 : 2,
                                   call->mask == HEAD_MASK ? by_head : plain, &call->numbers[3]);
    if (call->has_sinks) call->sinks = random_array(call->dtype, 1, &s->heads, &call->numbers[4]);
}

static void release_inputs(struct call *call)
{
    unref_all((struct kiln_array *[]){call->q, call->k, call->v, call->masks, call->sinks}, 5);
    for (int i = 0; i < 5; i++) free(call->numbers[i]);
}

static struct kiln_array *attend(const struct call *call)
{
    static const char *const modes[MASKS] = {"", "causal", "array", "array", "array"};
    struct kiln_attention a = {.q = call->q,
                               .k = call->k,
                               .v = call->v,
                               .scale = 0.3f,
                               .mask_mode = modes[call->mask],
                               .mask = call->masks,
                               .sinks = call->sinks};
    struct kiln_array *out = NULL;
    must_be(kiln__attention(&a, &out, &err));
    eval(out);
    return out;
}
#define attend(...) CHECK_CALL(attend, __VA_ARGS__)

/* ---- float64 ----------------------------------------------------------------------------------------------------- */

static void expected_row(const struct call *call, int batch, int head, int query, double *scores, double *out)
{
    const struct shape *s = &call->s;
    const int shared = batch * s->shared + head / (s->heads / s->shared);
    const double *q = call->numbers[0] + ((batch * s->heads + head) * s->queries + query) * s->features;
    double most = call->has_sinks ? call->numbers[4][head] : -INFINITY, total = 0;
    for (int j = 0; j < s->keys; j++) {
        const double *k = call->numbers[1] + (shared * s->keys + j) * s->features;
        scores[j] = 0;
        for (int f = 0; f < s->features; f++) scores[j] += (double)0.3f * q[f] * k[f];
        if (call->mask == CAUSAL && j > query + s->keys - s->queries) scores[j] = -1e30;
        if (call->mask >= BOOL_MASK) {
            int row = call->mask == HEAD_MASK ? (batch * s->heads + head) * s->queries + query : query;
            double mask = call->numbers[3][row * s->keys + j];
            scores[j] = call->mask != BOOL_MASK ? scores[j] + mask : mask != 0 ? scores[j] : -1e30;
        }
        most = fmax(most, scores[j]);
    }
    for (int j = 0; j < s->keys; j++) total += scores[j] = exp(scores[j] - most);
    if (call->has_sinks) total += exp(call->numbers[4][head] - most);
    for (int f = 0; f < s->values; f++) {
        out[f] = 0;
        for (int j = 0; j < s->keys; j++)
            out[f] += scores[j] / total * call->numbers[2][(shared * s->keys + j) * s->values + f];
    }
}

/*
 * Values lie between -1 and 1. Everything is computed in float32, the sum over a block of keys first: 4e-6 for up to
 * 2048 keys; a 16-bit result is rounded once.
 */
static double bound_of(enum kiln_dtype dtype, double want)
{
    return 4e-6 + fabs(want) * (dtype == KILN_FLOAT16 ? 0x1p-11 : dtype == KILN_BFLOAT16 ? 0x1p-8 : 0);
}

static void check_numbers(const struct call *call, struct kiln_array *got)
{
    const struct shape *s = &call->s;
    double *scores = calloc((size_t)s->keys, sizeof *scores), *want = calloc((size_t)s->values, sizeof *want);
    for (int row = 0; row < s->batch * s->heads * s->queries; row++) {
        expected_row(call, row / (s->heads * s->queries), row / s->queries % s->heads, row % s->queries, scores, want);
        for (int f = 0; f < s->values; f++) {
            double value = widen(element(got, (int64_t)row * s->values + f), call->dtype);
            if (!(fabs(value - want[f]) <= bound_of(call->dtype, want[f])))
                CHECK_FAIL("row %d, feature %d is %.9g, expected %.9g", row, f, value, want[f]);
        }
    }
    free(scores), free(want);
}
#define check_numbers(...) CHECK_CALL(check_numbers, __VA_ARGS__)

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1},       {2, 4, 2, 3, 5, 32, 40},      {1, 8, 2, 1, 700, 64, 64},  {2, 2, 1, 70, 70, 80, 33},
    {1, 16, 1, 1, 1300, 128, 7}, {1, 8, 8, 1, 130, 48, 80},    {2, 4, 4, 3, 600, 32, 32},  {1, 6, 2, 2, 65, 16, 128},
    {1, 3, 3, 40, 129, 96, 96},  {1, 2, 2, 33, 513, 256, 256}, {3, 24, 8, 5, 64, 17, 128},
};
static const enum kiln_dtype dtypes[] = {KILN_FLOAT32, KILN_FLOAT16, KILN_BFLOAT16};

static size_t bytes_of(const struct kiln_array *array)
{
    return (size_t)array->size * kiln__dtype_size(array->dtype);
}

/* Shapes, dtypes and masks; each with one thread and with all of them. */
static void numbers_are_those_of_float64(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int how = 0; how < MASKS * 2; how++) {
            struct call call = {.s = shapes[i],
                                .dtype = dtypes[(i + (size_t)how) % 3],
                                .mask = how % MASKS,
                                .has_sinks = how >= MASKS,
                                .is_turned = (i + (size_t)how) % 2};
            CHECK_CONTEXT("shape %zu, %s, mask %d%s", i, kiln__dtypes[call.dtype].name, call.mask,
                          call.has_sinks ? ", sinks" : "");
            make_inputs(&call);
            struct kiln_array *got = attend(&call);
            check_numbers(&call, got);
            kiln__pool_limit(1);
            struct kiln_array *alone = attend(&call);
            kiln__pool_limit(0);
            CHECK_MEM(got->data, alone->data, bytes_of(got));
            unref_all((struct kiln_array *[]){got, alone}, 2);
            release_inputs(&call);
        }
}

/* A row of lanes computes each row by itself, so the width of vectors does not show; x86-64-v2 rounds more often. */
static void targets_agree(void **state)
{
    static const char *const targets[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct call call = {.s = shapes[i], .dtype = dtypes[i % 3], .mask = i % MASKS, .has_sinks = i % 2};
        CHECK_CONTEXT("shape %zu", i);
        make_inputs(&call);
        struct kiln_array *first = NULL;
        for (size_t t = 0; t < COUNT(targets); t++) {
            if ((int)kiln__isa_host() < KILN_ISA_X86_64_V4 - (int)t) continue;
            setenv("KILN_TARGET", targets[t], 1);
            struct kiln_array *got = attend(&call);
            check_numbers(&call, got);
            if (first && t < 2) CHECK_MEM(got->data, first->data, bytes_of(got));
            if (first)
                kiln__array_unref(got);
            else
                first = got;
        }
        unsetenv("KILN_TARGET");
        kiln__array_unref(first);
        release_inputs(&call);
    }
}

/* Rows of a prompt are those of the same tokens one by one, bit for bit, where both stand in lanes. */
static void a_query_alone_equals_the_query_in_a_prompt(void **state)
{
    (void)state;
    struct call call = {.s = {1, 4, 2, 50, 50, 40, 40}, .dtype = KILN_FLOAT32, .mask = CAUSAL};
    make_inputs(&call);
    struct kiln_array *all = attend(&call);
    for (int query = 0; query < 50; query += 7) {
        struct call one = {.mask = NO_MASK};
        const int steps[] = {1, 1, 1, 1};
        must_be(kiln__slice(call.q, (int[]){0, 0, query, 0}, (int[]){1, 4, query + 1, 40}, steps, 4, &one.q, &err));
        must_be(kiln__slice(call.k, (int[]){0, 0, 0, 0}, (int[]){1, 2, query + 1, 40}, steps, 4, &one.k, &err));
        must_be(kiln__slice(call.v, (int[]){0, 0, 0, 0}, (int[]){1, 2, query + 1, 40}, steps, 4, &one.v, &err));
        struct kiln_array *got = attend(&one);
        for (int head = 0; head < 4; head++)
            CHECK_MEM(got->data + head * 160, all->data + (head * 50 + query) * 160, 160);
        unref_all((struct kiln_array *[]){one.q, one.k, one.v, got}, 4);
    }
    kiln__array_unref(all);
    release_inputs(&call);
}

/* Scores of 4096 x 4096 would be 64 MiB. */
static void memory_is_that_of_the_result(void **state)
{
    (void)state;
    for (int length = 64; length <= 4096; length *= 8) {
        struct call call = {.s = {1, 1, 1, length, length, 64, 64}, .dtype = KILN_FLOAT32, .mask = CAUSAL};
        struct kiln_memory before, after;
        make_inputs(&call);
        kiln__memory_clear_cache();
        kiln__memory_reset_peak();
        kiln__memory_get(&before);
        struct kiln_array *got = attend(&call);
        kiln__memory_get(&after);
        if (after.peak - before.active > bytes_of(got) + 4096)
            CHECK_FAIL("%d keys took %zu bytes", length, after.peak - before.active);
        kiln__array_unref(got);
        release_inputs(&call);
    }
}

/* Minus infinity, and rows that see nothing, as the formula has them. */
static void what_is_not_seen(void **state)
{
    (void)state;
    const float zeros[4] = {0}, values[4] = {1, 2, 3, 10}, inf = INFINITY;
    const float none[4] = {-inf, -inf, -inf, -inf}, one[4] = {-inf, 0, -inf, -inf};
    const bool nothing[4] = {false};
    struct kiln_array *q = from_data(zeros, KILN_FLOAT32, SHAPE(1, 1, 1, 1)),
                      *k = from_data(zeros, KILN_FLOAT32, SHAPE(1, 1, 4, 1)),
                      *v = from_data(values, KILN_FLOAT32, SHAPE(1, 1, 4, 1)), *masks[3] = {NULL};
    masks[0] = from_data(none, KILN_FLOAT32, SHAPE(1, 4));
    masks[1] = from_data(one, KILN_FLOAT32, SHAPE(1, 4));
    masks[2] = from_data(nothing, KILN_BOOL, SHAPE(1, 4));
    for (int i = 0; i < 3; i++) {
        struct call call = {.mask = FLOAT_MASK, .q = q, .k = k, .v = v, .masks = masks[i]};
        struct kiln_array *got = attend(&call);
        float value = element_f32(got, 0);
        if (i == 0) CHECK_TRUE(isnan(value));
        if (i == 1) CHECK_EQ(value, 2.0f);
        if (i == 2) CHECK_EQ(value, 4.0f);
        kiln__array_unref(got);
    }
    unref_all((struct kiln_array *[]){q, k, v, masks[0], masks[1], masks[2]}, 6);
}

/* Flags keep the whole config; a dtype that no kernel computes with is refused by name. */
static void texts(void **state)
{
    static const struct kiln_attention_config configs[] = {
        {.lanes = 16, .vectors = 2, .is_fused = true},
        {.lanes = 8, .vectors = 1, .has_mask = true, .mask_dtype = KILN_BFLOAT16},
        {.lanes = 16, .vectors = 1, .is_fused = true, .dots = 8, .has_mask = true, .mask_dtype = KILN_BOOL},
        {.lanes = 8, .vectors = 2, .combines = true},
    };
    struct kiln_buffer all[COUNT(configs)] = {{0}}, again = {0};
    kiln_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(configs); i++) {
        const struct kiln_attention_config same = kiln__attention_unpack(kiln__attention_pack(&configs[i]));
        CHECK_OK(kiln__attention_print(KILN_FLOAT16, &configs[i], &all[i], &err), &err);
        CHECK_OK(kiln__attention_print(KILN_FLOAT16, &same, &again, &err), &err);
        CHECK_EQ(again.size, all[i].size);
        CHECK_MEM(again.data, all[i].data, again.size);
        for (size_t k = 0; k < i; k++)
            CHECK_TRUE(all[k].size != all[i].size || memcmp(all[k].data, all[i].data, all[i].size) != 0);
        kiln__buffer_clear(&again);
    }
    CHECK_EQ(kiln__attention_print(KILN_FLOAT64, &configs[0], &again, &err), KILN_INVALID);
    CHECK_TRUE(strstr(err.text, "float64"));
    for (size_t i = 0; i < COUNT(configs); i++) kiln__buffer_release(&all[i]);
    kiln__buffer_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_float64),
        cmocka_unit_test(targets_agree),
        cmocka_unit_test(a_query_alone_equals_the_query_in_a_prompt),
        cmocka_unit_test(memory_is_that_of_the_result),
        cmocka_unit_test(what_is_not_seen),
        cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
