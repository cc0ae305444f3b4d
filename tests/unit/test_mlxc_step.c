/*
 * test_mlxc_step.c - a step of a model as one compiled function whose caches go in and come out: what it computes, what
 * it copies, and that nobody else's values change, whoever else refers to a cache and however often it is donated.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kiln/gpu.h"
#include "support/step_model.h"

enum { BOTH = 2 * CACHE * (int)sizeof(float), ONE = BOTH / 2 };

static mlx_stream stream;
static struct model model;
static mlx_closure step;

/* What is read of a GPU's array is a copy, which lies anywhere. */
#ifdef mlx_default_cpu_stream_new
enum { ON_GPU = true };
#else
enum { ON_GPU = false };
#endif

static int set_up(void **state)
{
    if (!stream.ctx) stream = mlx_default_cpu_stream_new();
    int failed = install_handler(state);
    model_init(&model, stream);
    step = model_compile(&model);
    return failed;
}

static int tear_down(void **state)
{
    (void)state;
    mlx_closure_free(step);
    model_free(&model);
    return 0;
}

/* What a step has and gives: its handles. */
struct caches {
    mlx_array keys, values;
};

static struct caches make_caches(void)
{
    return (struct caches){make_cache(0, stream), make_cache(1, stream)};
}

static void free_caches(struct caches *caches)
{
    mlx_array_free(caches->keys), mlx_array_free(caches->values);
}

enum how { DONATED, FREED, HELD };

/* A step at `position`; `caches` become those that it gave. HELD: the old ones stay in *old, the caller's. */
static mlx_array run_step(struct caches *caches, int position, enum how how, struct caches *old)
{
    const bool donate[] = {false, false, how == DONATED, how == DONATED};
    mlx_array x = make_hidden(position), at = mlx_array_new_int(position), out = mlx_array_new();
    const mlx_array inputs[] = {x, at, caches->keys, caches->values};
    mlx_vector_array res = mlx_vector_array_new();
    CHECK_EQ(kiln_call_donating(&res, step, inputs, 4, donate), 0);
    mlx_array_free(x), mlx_array_free(at);
    if (how == HELD)
        *old = *caches;
    else
        free_caches(caches);
    *caches = (struct caches){mlx_array_new(), mlx_array_new()};
    CHECK_EQ(mlx_vector_array_get(&out, res, 0) || mlx_vector_array_get(&caches->keys, res, 1) ||
                 mlx_vector_array_get(&caches->values, res, 2) || mlx_eval(res),
             0);
    mlx_vector_array_free(res);
    return out;
}
#define run_step(...) CHECK_CALL(run_step, __VA_ARGS__)

static void expect_step(mlx_array hidden, const struct caches *caches, const struct reference *reference)
{
    expect_near(hidden, reference->hidden, WIDTH, "hidden");
    expect_near(caches->keys, reference->keys, CACHE, "keys");
    expect_near(caches->values, reference->values, CACHE, "values");
}
#define expect_step(...) CHECK_CALL(expect_step, __VA_ARGS__)

/* The caches as they were made. */
static void expect_untouched(mlx_array cache, int which)
{
    double want[CACHE];
    for (int i = 0; i < CACHE; i++) want[i] = (double)cached_at(which, i);
    expect_near(cache, want, CACHE, which ? "old values" : "old keys");
}
#define expect_untouched(...) CHECK_CALL(expect_untouched, __VA_ARGS__)

/* ---- what is computed and copied --------------------------------------------------------------------------------- */

/* Donated, or let go of before evaluation: the caches stay where they are, and nothing is copied or compiled again. */
static void nothing_is_copied(void **state)
{
    (void)state;
    for (enum how how = DONATED; how <= FREED; how++) {
        struct caches caches = make_caches();
        struct reference reference;
        reference_init(&reference);
        int64_t before = bytes_copied(), compiles = 0;
        const float *keys = NULL;
        for (int position = 0; position < LENGTH; position++) {
            mlx_array hidden = run_step(&caches, position, how, NULL);
            reference_step(&reference, position);
            expect_step(hidden, &caches, &reference);
            mlx_array_free(hidden);
            if (position == 1) keys = mlx_array_data_float32(caches.keys);
            if (position == 1) compiles = (int64_t)all_counters().compiles;
            if (position > 1 && !ON_GPU) CHECK_EQ(mlx_array_data_float32(caches.keys), keys);
        }
        CHECK_EQ(bytes_copied() - before, 0);
        CHECK_EQ(all_counters().compiles - (uint64_t)compiles, 0);
        CHECK_EQ(model.traces, 1);
        free_caches(&caches);
    }
}

/* Rows of bytes, which nothing else here copies: a row is written at a position, and one from there is read. */
static int write_bytes(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x[3] = {{0}}, row = mlx_array_new();
    int code = 0;
    (void)payload;
    for (size_t i = 0; i < 3 && !code; i++) code = mlx_vector_array_get(&x[i], in, i);
    code = code || mlx_slice_update_dynamic(&x[0], x[0], x[1], x[2], (int[]){1}, 1, stream) ||
           mlx_slice_dynamic(&row, x[0], x[2], (int[]){1}, 1, (int[]){8, 1}, 2, stream) ||
           mlx_vector_array_set_data(res, (mlx_array[]){x[0], row}, 2);
    for (int i = 0; i < 3; i++) mlx_array_free(x[i]);
    mlx_array_free(row);
    return code;
}

/* What updates and slices launch is found and compiled when they are traced; nothing is left for their evaluation. */
static void evaluation_compiles_nothing(void **state)
{
    (void)state;
    const uint8_t bytes[8] = {0};
    mlx_array cache = mlx_array_new(), at = mlx_array_new_int(3);
    mlx_array row = mlx_array_new_data(bytes, (int[]){8, 1}, 2, MLX_UINT8);
    CHECK_EQ(mlx_ones(&cache, (int[]){8, 8}, 2, MLX_UINT8, stream), 0);
    CHECK_EQ(mlx_add(&cache, cache, cache, stream) || mlx_array_eval(cache), 0);
    const mlx_array inputs[] = {cache, row, at};
    mlx_closure function = mlx_closure_new();
    mlx_vector_array res = mlx_vector_array_new();
    CHECK_EQ(kiln_compile(&function, "bytes", write_bytes, NULL, NULL, false), 0);
    CHECK_EQ(kiln_call_donating(&res, function, inputs, 3, NULL), 0);
    kiln_counters before = all_counters();
    mlx_array_free(cache);
    CHECK_EQ(mlx_eval(res), 0);
    kiln_counters now = all_counters();
    CHECK_EQ(now.disk_hits - before.disk_hits, 0);
    CHECK_EQ(now.compiles - before.compiles, 0);
    CHECK_EQ(now.links - before.links, 0);
    mlx_vector_array_free(res), mlx_array_free(row), mlx_array_free(at), mlx_closure_free(function);
}

/* Whoever keeps the old caches has them as they were, and each step copies both. */
static void what_is_held_is_copied(void **state)
{
    (void)state;
    struct caches caches = make_caches(), old[LENGTH];
    struct reference reference[LENGTH + 1];
    reference_init(&reference[0]);
    for (int position = 0; position < LENGTH; position++) {
        int64_t before = bytes_copied();
        mlx_array hidden = run_step(&caches, position, HELD, &old[position]);
        CHECK_EQ(bytes_copied() - before, BOTH);
        reference[position + 1] = reference[position];
        reference_step(&reference[position + 1], position);
        expect_step(hidden, &caches, &reference[position + 1]);
        mlx_array_free(hidden);
    }
    for (int position = 0; position < LENGTH; position++) {
        expect_near(old[position].keys, reference[position].keys, CACHE, "old keys");
        expect_near(old[position].values, reference[position].values, CACHE, "old values");
        free_caches(&old[position]);
    }
    free_caches(&caches);
}

/* ---- whoever else refers to them --------------------------------------------------------------------------------- */

static mlx_array other_handle(mlx_array cache)
{
    mlx_array other = mlx_array_new();
    mlx_array_set(&other, cache);
    return other;
}

static mlx_array view_of(mlx_array cache)
{
    mlx_array view = mlx_array_new();
    CHECK_EQ(mlx_reshape(&view, cache, cache_shape, 4, stream), 0);
    CHECK_EQ(mlx_expand_dims(&view, view, 0, stream) || mlx_array_eval(view), 0);
    return view;
}

static mlx_array lazy_on(mlx_array cache)
{
    mlx_array lazy = mlx_array_new(), zero = mlx_array_new_float(0);
    CHECK_EQ(mlx_add(&lazy, cache, zero, stream), 0);
    mlx_array_free(zero);
    return lazy;
}

static mlx_array lazy_view_of(mlx_array cache)
{
    mlx_array view = mlx_array_new();
    CHECK_EQ(mlx_expand_dims(&view, cache, 0, stream), 0);
    return view;
}

static void others_keep_their_values(void **state)
{
    (void)state;
    mlx_array (*const refer[])(mlx_array) = {other_handle, view_of, lazy_on, lazy_view_of};
    for (size_t i = 0; i < sizeof refer / sizeof *refer; i++)
        for (enum how how = DONATED; how <= FREED; how++) {
            struct caches caches = make_caches();
            struct reference reference;
            mlx_array other = refer[i](caches.keys);
            int64_t before = bytes_copied();
            reference_init(&reference);
            reference_step(&reference, 0);
            mlx_array hidden = run_step(&caches, 0, how, NULL);
            CHECK_EQ(bytes_copied() - before, ONE); /* the other one is updated in place */
            expect_step(hidden, &caches, &reference);
            expect_untouched(other, 0);
            mlx_array_free(hidden), mlx_array_free(other);
            free_caches(&caches);
        }
}

/* One array is both caches: as one handle that is donated twice or once, and as two handles. */
static void one_array_for_both(void **state)
{
    (void)state;
    for (int way = 0; way < 5; way++) {
        const bool donate[] = {false, false, way != 1, way != 2};
        struct reference reference;
        mlx_array x = make_hidden(3), at = mlx_array_new_int(3), cache = make_cache(0, stream), out = mlx_array_new();
        mlx_array second = way > 2 ? other_handle(cache) : cache;
        const mlx_array inputs[] = {x, at, cache, second};
        struct caches got = {mlx_array_new(), mlx_array_new()};
        mlx_vector_array res = mlx_vector_array_new();
        reference_init(&reference);
        memcpy(reference.values, reference.keys, sizeof reference.values);
        reference_step(&reference, 3);
        int64_t before = bytes_copied();
        CHECK_EQ(kiln_call_donating(&res, step, inputs, 4, way == 4 ? NULL : donate), 0);
        CHECK_EQ(mlx_vector_array_get(&out, res, 0) || mlx_vector_array_get(&got.keys, res, 1) ||
                     mlx_vector_array_get(&got.values, res, 2) || mlx_eval(res),
                 0);
        CHECK_EQ(bytes_copied() - before, BOTH);
        expect_step(out, &got, &reference);
        if (way == 4) expect_untouched(cache, 0), expect_untouched(second, 0);
        mlx_vector_array_free(res), mlx_array_free(x), mlx_array_free(at), mlx_array_free(cache), mlx_array_free(out);
        if (way > 2) mlx_array_free(second);
        free_caches(&got);
    }
}

/* The function has captured the array that is donated to it. */
static int add_row_to_captured(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), at = mlx_array_new(), one = mlx_array_new_float(1), sum = mlx_array_new();
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&at, in, 1) ||
               mlx_slice_update_dynamic(&x, x, one, at, (int[]){2}, 1, stream) ||
               mlx_add(&sum, x, *(mlx_array *)payload, stream) ||
               mlx_vector_array_set_data(res, (mlx_array[]){x, sum}, 2);
    mlx_array_free(x), mlx_array_free(at), mlx_array_free(one), mlx_array_free(sum);
    return code;
}

static void donated_and_captured(void **state)
{
    (void)state;
    mlx_array captured = make_cache(0, stream), at = mlx_array_new_int(2), first = make_cache(1, stream);
    mlx_closure function = mlx_closure_new();
    CHECK_EQ(kiln_compile(&function, "captures", add_row_to_captured, &captured, NULL, false), 0);
    for (int call = 0; call < 2; call++) {
        mlx_array given = call ? other_handle(captured) : first, sum = mlx_array_new(), updated = mlx_array_new();
        mlx_vector_array res = mlx_vector_array_new();
        double want[CACHE];
        for (int i = 0; i < CACHE; i++) {
            bool is_new = i / FEATURES % LENGTH == 2;
            want[i] = (is_new ? 1 : (double)cached_at(!call, i)) + (double)cached_at(0, i);
        }
        CHECK_EQ(kiln_call_donating(&res, function, (mlx_array[]){given, at}, 2, (bool[]){true, false}), 0);
        CHECK_EQ(mlx_vector_array_get(&updated, res, 0) || mlx_vector_array_get(&sum, res, 1), 0);
        expect_near(sum, want, CACHE, "sum");
        expect_untouched(captured, 0);
        mlx_vector_array_free(res), mlx_array_free(given), mlx_array_free(sum), mlx_array_free(updated);
    }
    mlx_array_free(captured), mlx_array_free(at), mlx_closure_free(function);
}

/* ---- a donated handle -------------------------------------------------------------------------------------------- */

static void expect_gone(mlx_array handle)
{
    mlx_array res = mlx_array_new();
    CHECK_EQ(mlx_array_ndim(handle), 4); /* what it was can be asked */
    CHECK_EQ(mlx_array_eval(handle), 1);
    expect_error("[donated] The array was donated to a call of a compiled function");
    CHECK_NULL(mlx_array_data_float32(handle));
    error_count = 0;
    CHECK_EQ(mlx_add(&res, handle, handle, stream), 0);
    CHECK_EQ(mlx_array_eval(res), 1);
    expect_error("[donated] The array was donated");
    mlx_array_free(res);
}
#define expect_gone(...) CHECK_CALL(expect_gone, __VA_ARGS__)

static void use_after_donation(void **state)
{
    (void)state;
    struct caches caches = make_caches(), given = caches;
    mlx_array x = make_hidden(0), at = mlx_array_new_int(0), again = mlx_array_new();
    mlx_vector_array res = mlx_vector_array_new(), next = mlx_vector_array_new();
    const mlx_array inputs[] = {x, at, caches.keys, caches.values};
    const bool donate[] = {false, false, true, true};
    CHECK_EQ(kiln_call_donating(&res, step, inputs, 4, donate), 0);
    expect_gone(given.keys);
    expect_gone(given.values);
    CHECK_EQ(kiln_call_donating(&next, step, inputs, 4, donate), 0); /* lazy: its inputs are */
    CHECK_EQ(mlx_eval(next), 1);
    expect_error("[donated] The array was donated");
    CHECK_EQ(mlx_vector_array_get(&again, res, 1) || mlx_array_set(&given.keys, again), 0);
    CHECK_EQ(mlx_array_eval(given.keys), 0); /* a handle like any other */
    mlx_vector_array_free(res), mlx_vector_array_free(next), mlx_array_free(again);
    mlx_array_free(x), mlx_array_free(at);
    free_caches(&given);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Before anything was written: the handles have their arrays again, or the lazy results can be tried again. */
static void a_bad_position_changes_nothing(void **state)
{
    (void)state;
    for (enum how how = DONATED; how <= FREED; how++) {
        struct caches caches = make_caches();
        mlx_array x = make_hidden(0), at = mlx_array_new_int(LENGTH);
        const mlx_array inputs[] = {x, at, caches.keys, caches.values};
        const bool donate[] = {false, false, how == DONATED, how == DONATED};
        mlx_vector_array res = mlx_vector_array_new();
        int code = kiln_call_donating(&res, step, inputs, 4, donate) || mlx_eval(res) || mlx_synchronize(stream);
        CHECK_EQ(code, 1);
        expect_error("[slice_update_dynamic] Index 12 is out of range for an axis of size 12: expected -12 to 11.");
        if (how == FREED || mlx_vector_array_size(res) == 0) {
            expect_untouched(caches.keys, 0);
            expect_untouched(caches.values, 1);
        }
        mlx_vector_array_free(res), mlx_array_free(x), mlx_array_free(at);
        free_caches(&caches);
    }
}

/* Rows of the first input are replaced at two places; the second may not exist. */
static int two_rows(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x[3] = {{0}}, one = mlx_array_new_float(1), sum = mlx_array_new();
    int code = 0;
    (void)payload;
    for (size_t i = 0; i < 3 && !code; i++) code = mlx_vector_array_get(&x[i], in, i);
    code = code || mlx_slice_update_dynamic(&x[0], x[0], one, x[1], (int[]){2}, 1, stream) ||
           mlx_take_axis(&sum, x[0], x[2], 2, stream) || mlx_vector_array_set_data(res, (mlx_array[]){x[0], sum}, 2);
    for (int i = 0; i < 3; i++) mlx_array_free(x[i]);
    mlx_array_free(one), mlx_array_free(sum);
    return code;
}

/* After it was written: the array is gone, and each later evaluation says why. */
static void a_failure_after_an_update(void **state)
{
    (void)state;
    mlx_closure function = mlx_closure_new();
    CHECK_EQ(kiln_compile(&function, "rows", two_rows, NULL, NULL, false), 0);
    for (enum how how = DONATED; how <= HELD; how++) {
        mlx_array cache = make_cache(0, stream), good = mlx_array_new_int(1), bad = mlx_array_new_int(LENGTH);
        mlx_array held = how == HELD ? other_handle(cache) : mlx_array_new();
        mlx_vector_array res = mlx_vector_array_new();
        const mlx_array inputs[] = {cache, good, bad};
        int code = kiln_call_donating(&res, function, inputs, 3, (bool[]){how == DONATED, false, false});
        if (how != DONATED) mlx_array_free(cache);
        if (!code) {
            CHECK_EQ(mlx_eval(res), 1);
            expect_error("[take] Index 12 is out of range");
            CHECK_EQ(mlx_eval(res), 1); /* again */
        }
        expect_error("[take] Index 12 is out of range");
        if (how == HELD) expect_untouched(held, 0);
        if (how == DONATED) mlx_array_free(cache);
        mlx_array_free(good), mlx_array_free(bad), mlx_array_free(held), mlx_vector_array_free(res);
    }
    mlx_closure_free(function);
}

static void refusals(void **state)
{
    (void)state;
    mlx_array x = make_hidden(0), empty = {0};
    mlx_vector_array res = mlx_vector_array_new();
    const mlx_array inputs[] = {x, empty};
    CHECK_EQ(kiln_call_donating(NULL, step, inputs, 1, NULL), 1);
    expect_error("pointer for res");
    CHECK_EQ(kiln_call_donating(&res, (mlx_closure){0}, inputs, 1, NULL), 1);
    expect_error("mlx_closure");
    CHECK_EQ(kiln_call_donating(&res, step, inputs, 2, (bool[]){true, true}), 1);
    expect_error("mlx_array");
    CHECK_EQ(kiln_call_donating(&res, step, NULL, 2, NULL), 1);
    expect_error("pointer for inputs");
    CHECK_EQ(kiln_call_donating(&res, step, inputs, 1, (bool[]){true}), 1); /* the function wants four */
    error_count = 0;
    CHECK_EQ(mlx_array_eval(x), 0);
    CHECK_NOT_NULL(mlx_array_data_float32(x));
    mlx_vector_array_free(res), mlx_array_free(x);
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* Outputs: old + 1, the updated cache and old, in the order of the payload. */
static int old_and_new(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    const char *order = payload;
    mlx_array old = mlx_array_new(), at = mlx_array_new(), one = mlx_array_new_float(1), outputs[3] = {{0}};
    int code = mlx_vector_array_get(&old, in, 0) || mlx_vector_array_get(&at, in, 1);
    for (int i = 0; order[i] && !code; i++) {
        if (order[i] == '+') code = mlx_add(&outputs[i], old, one, stream);
        if (order[i] == 'u') code = mlx_slice_update_dynamic(&outputs[i], old, one, at, (int[]){2}, 1, stream);
        if (order[i] == 'o') code = mlx_array_set(&outputs[i], old);
    }
    code = code || mlx_vector_array_set_data(res, outputs, strlen(order));
    mlx_array_free(old), mlx_array_free(at), mlx_array_free(one);
    for (int i = 0; i < 3; i++) mlx_array_free(outputs[i]);
    return code;
}

/* The old cache is read before the update or after it, or is an output itself. */
static void old_values_are_read(void **state)
{
    (void)state;
    const char *const orders[] = {"u", "+u", "u+", "uo", "ou", "u+o", "uu"};
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        for (enum how how = DONATED; how <= FREED; how++) {
            mlx_closure function = mlx_closure_new();
            mlx_array cache = make_cache(0, stream), at = mlx_array_new_int(4);
            mlx_vector_array res = mlx_vector_array_new();
            CHECK_EQ(kiln_compile(&function, "orders", old_and_new, (void *)(uintptr_t)orders[k], NULL, false), 0);
            CHECK_EQ(kiln_call_donating(&res, function, (mlx_array[]){cache, at}, 2, (bool[]){how == DONATED, false}),
                     0);
            mlx_array_free(cache);
            for (size_t i = 0; orders[k][i]; i++) {
                double want[CACHE];
                mlx_array got = mlx_array_new();
                for (int e = 0; e < CACHE; e++) {
                    bool is_new = e / FEATURES % LENGTH == 4;
                    want[e] = (double)cached_at(0, e) + (orders[k][i] == '+');
                    if (orders[k][i] == 'u' && is_new) want[e] = 1;
                }
                CHECK_EQ(mlx_vector_array_get(&got, res, i), 0);
                expect_near(got, want, CACHE, orders[k]);
                mlx_array_free(got);
            }
            mlx_vector_array_free(res), mlx_array_free(at), mlx_closure_free(function);
        }
}

/* All layers in one array: each updates its part and reads it. Payload: how many. */
static int layers_in_one(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    int layers = *(int *)payload, size[] = {1, HEADS, LENGTH, FEATURES};
    mlx_array cache = mlx_array_new(), at = mlx_array_new(), total = mlx_array_new_float(0), part = mlx_array_new();
    int code = mlx_vector_array_get(&cache, in, 0) || mlx_vector_array_get(&at, in, 1);
    code = code || mlx_reshape(&cache, cache, (int[]){layers, HEADS, LENGTH, FEATURES}, 4, stream);
    for (int i = 0; i < layers && !code; i++) {
        int start[] = {i, 0, 0, 0}, stop[] = {i + 1, size[1], size[2], size[3]}, stride[] = {1, 1, 1, 1};
        mlx_array layer = mlx_array_new_int(i), number = mlx_array_new_float((float)i + 1), start_at = mlx_array_new();
        mlx_array both[] = {layer, at};
        mlx_vector_array list = mlx_vector_array_new_data(both, 2);
        code = mlx_stack(&start_at, list, stream) || mlx_add(&number, total, number, stream) ||
               mlx_slice_update_dynamic(&cache, cache, number, start_at, (int[]){0, 2}, 2, stream) ||
               mlx_slice(&part, cache, start, 4, stop, 4, stride, 4, stream) || mlx_sum(&total, part, false, stream);
        mlx_array_free(layer), mlx_array_free(number), mlx_array_free(start_at), mlx_vector_array_free(list);
    }
    code = code || mlx_vector_array_set_data(res, (mlx_array[]){cache, total}, 2);
    mlx_array_free(cache), mlx_array_free(at), mlx_array_free(total), mlx_array_free(part);
    return code;
}

/* A chain of updates, behind a view of the input, with reads in between. */
static void chains_copy_nothing(void **state)
{
    (void)state;
    enum { LAYERS = 3 };
    int layers = LAYERS;
    mlx_closure function = mlx_closure_new();
    CHECK_EQ(kiln_compile(&function, "layers", layers_in_one, &layers, NULL, false), 0);
    for (enum how how = DONATED; how <= HELD; how++) {
        mlx_array cache = mlx_array_new(), at = mlx_array_new_int(1), total = mlx_array_new();
        mlx_vector_array res = mlx_vector_array_new();
        CHECK_EQ(mlx_zeros(&cache, (int[]){LAYERS * HEADS, LENGTH, FEATURES}, 3, MLX_FLOAT32, stream), 0);
        CHECK_EQ(mlx_array_eval(cache), 0);
        int64_t before = bytes_copied();
        CHECK_EQ(kiln_call_donating(&res, function, (mlx_array[]){cache, at}, 2, (bool[]){how == DONATED, false}), 0);
        if (how != HELD) mlx_array_free(cache);
        CHECK_EQ(mlx_vector_array_get(&total, res, 1) || mlx_eval(res), 0);
        CHECK_EQ(bytes_copied() - before, how == HELD ? LAYERS * CACHE * (int)sizeof(float) : 0);
        float sum;
        CHECK_EQ(mlx_array_item_float32(&sum, total), 0);
        CHECK_EQ((int)sum, 664); /* 8 elements each: 8 * 1, then 8 * (8 + 2), then 8 * (80 + 3) */
        if (how == HELD) mlx_array_free(cache);
        mlx_array_free(at), mlx_array_free(total), mlx_vector_array_free(res);
    }
    mlx_closure_free(function);
}

/* ---- captured arrays --------------------------------------------------------------------------------------------- */

enum { CAPTURES = 100, LONG = 16384, LONG_BYTES = LONG * (int)sizeof(float) };

/* x plus all of the payload. */
static int add_all(mlx_array *res, const mlx_array x, void *payload)
{
    const mlx_array *captured = payload;
    int code = mlx_add(res, x, captured[0], stream);
    for (int i = 1; i < CAPTURES && !code; i++) code = mlx_add(res, *res, captured[i], stream);
    return code;
}

static uint64_t bytes_to_device(void)
{
    kiln_gpu_counters counters = {.struct_size = sizeof counters};
    kiln_gpu_counters_read(&counters);
    return counters.bytes_to_device;
}

/* From the second call on a call takes memory for its results, those of three kernels, and copies nothing. */
static void captures_are_not_copied(void **state)
{
    (void)state;
    static float values[LONG];
    const int shape[] = {LONG};
    mlx_array captured[CAPTURES], x, res = mlx_array_new();
    mlx_closure function = mlx_closure_new();
    for (int i = 0; i < LONG; i++) values[i] = (float)(i % 8);
    for (int i = 0; i < CAPTURES; i++) captured[i] = mlx_array_new_data(values, shape, 1, MLX_FLOAT32);
    x = mlx_array_new_data(values, shape, 1, MLX_FLOAT32);
    CHECK_EQ(kiln_compile_unary(&function, "captures", add_all, captured, NULL, false), 0);
    for (int call = 0; call < 3; call++) {
        size_t active = 0, peak = 0;
        uint64_t sent = bytes_to_device();
        int64_t copied = bytes_copied();
        mlx_array_free(res), res = mlx_array_new();
        CHECK_EQ(mlx_get_active_memory(&active) || mlx_reset_peak_memory(), 0);
        CHECK_EQ(kiln_call_unary(&res, function, x) || mlx_array_eval(res), 0);
        CHECK_EQ(mlx_get_peak_memory(&peak), 0);
        if (call) CHECK_LE(peak - active, 3 * LONG_BYTES);
        if (call) CHECK_EQ(bytes_to_device() - sent, 0);
        CHECK_EQ(bytes_copied() - copied, 0);
        const float *data = mlx_array_data_float32(res);
        for (int i = 0; i < LONG; i++) CHECK_EQ((int)data[i], (CAPTURES + 1) * (i % 8));
    }
    for (int i = 0; i < CAPTURES; i++) mlx_array_free(captured[i]);
    mlx_array_free(x), mlx_array_free(res), mlx_closure_free(function);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static _Atomic bool is_over;

/* Reads what it was given all the time. */
static void *read_always(void *handle)
{
    mlx_array cache = *(mlx_array *)handle;
    intptr_t wrong = 0;
    while (!atomic_load(&is_over)) {
        const float *data = mlx_array_data_float32(cache);
        for (int i = 0; i < CACHE; i++) wrong += data[i] != cached_at(0, i);
    }
    return (void *)wrong;
}

static void *step_often(void *unused)
{
    (void)unused;
    install_handler(NULL);
    for (int round = 0; round < 20; round++) {
        struct caches caches = make_caches();
        struct reference reference;
        reference_init(&reference);
        for (int position = 0; position < 4; position++) {
            mlx_array hidden = run_step(&caches, position, round % 2 ? DONATED : FREED, NULL);
            reference_step(&reference, position);
            expect_step(hidden, &caches, &reference);
            mlx_array_free(hidden);
        }
        free_caches(&caches);
    }
    return NULL;
}

static void threads_step_and_read(void **state)
{
    (void)state;
    pthread_t readers[2], steppers[2];
    struct caches caches = make_caches();
    mlx_array held[2] = {other_handle(caches.keys), other_handle(caches.keys)};
    void *wrong;
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&readers[i], NULL, read_always, &held[i]), 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_create(&steppers[i], NULL, step_often, NULL), 0);
    for (int position = 0; position < LENGTH; position++) {
        mlx_array hidden = run_step(&caches, position, DONATED, NULL);
        mlx_array_free(hidden);
    }
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(steppers[i], NULL), 0);
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_join(readers[i], &wrong), 0);
        CHECK_EQ((intptr_t)wrong, 0);
        mlx_array_free(held[i]);
    }
    free_caches(&caches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(evaluation_compiles_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_held_is_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_keep_their_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_array_for_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(donated_and_captured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(use_after_donation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_position_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_after_an_update, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_values_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_copy_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(captures_are_not_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_step_and_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
