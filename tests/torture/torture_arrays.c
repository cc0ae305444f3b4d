/*
 * torture_arrays.c - threads that build, evaluate, read, share and free lazy arrays and compiled functions, all at
 * once.
 *
 * The world is a table of slots. Each holds an array and what its elements must be: element j is a * j + b, whole
 * numbers that float32 holds exactly; or that it can't be made, since an index is out of range somewhere below it. A
 * thread takes a handle of its own from a slot, and from there on shares nothing but the array behind it. So whatever
 * is read is right or wrong, whoever evaluated it, together with what, and in which order.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "mlx/c/mlx.h"
#include "torture/torture.h"

enum { SLOTS = 24, THREADS = 6, LIST = 5, LARGEST = 1 << 20 };

struct value {
    int64_t a, b;
    bool has_failed; /* it can't be made */
};

struct slot {
    pthread_mutex_t lock; /* guards the others; the array's bytes need none */
    mlx_array array;
    struct value value;
};

static struct {
    struct slot slots[SLOTS];
    uint64_t seed;
    int length, steps;
    mlx_stream stream;
    mlx_closure compiled; /* (x, y) -> (x + y, reversed x - y) */
    _Atomic unsigned number;
    _Atomic uint64_t reads, failures;
} world;

static _Thread_local char error_text[1024];
static _Thread_local int error_count;

static void remember_error(const char *text, void *unused)
{
    (void)unused;
    error_count++;
    snprintf(error_text, sizeof error_text, "%s", text);
}

/* ---- arrays and what they are -------------------------------------------------------------------------------------
 */

struct item {
    mlx_array array; /* a handle of this thread's own */
    struct value value;
};

static struct item leaf(uint64_t *state)
{
    struct item out = {{0}, {(int64_t)torture_below(state, 7) - 3, (int64_t)torture_below(state, 100), false}};
    float *values = malloc((size_t)world.length * sizeof *values);
    for (int j = 0; j < world.length; j++) values[j] = (float)(out.value.a * j + out.value.b);
    if (torture_below(state, 2)) {
        out.array = mlx_array_new_data_managed(values, &world.length, 1, MLX_FLOAT32, free);
    } else {
        out.array = mlx_array_new_data(values, &world.length, 1, MLX_FLOAT32);
        free(values);
    }
    return out;
}

static struct item take(uint64_t *state)
{
    struct slot *slot = &world.slots[torture_below(state, SLOTS)];
    struct item out = {mlx_array_new(), {0}};
    pthread_mutex_lock(&slot->lock);
    TORTURE_REQUIRE(!mlx_array_set(&out.array, slot->array), "%s", error_text);
    out.value = slot->value;
    pthread_mutex_unlock(&slot->lock);
    return out;
}

/* The slot's old array goes here, on this thread, outside of the lock. */
static void put(uint64_t *state, struct item item)
{
    struct slot *slot = &world.slots[torture_below(state, SLOTS)];
    pthread_mutex_lock(&slot->lock);
    mlx_array old = slot->array;
    slot->array = item.array;
    slot->value = item.value;
    pthread_mutex_unlock(&slot->lock);
    mlx_array_free(old);
}

static bool is_too_large(struct value value)
{
    int64_t most = llabs(value.a) * world.length + llabs(value.b);
    return most > LARGEST;
}

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

static int reverse(mlx_array *res, mlx_array x)
{
    int start = world.length - 1, stop = -world.length - 1, step = -1;
    return mlx_slice(res, x, &start, 1, &stop, 1, &step, 1, world.stream);
}

static struct value reversed(struct value x)
{
    return (struct value){-x.a, x.b + x.a * (world.length - 1), x.has_failed};
}

static struct value sum(struct value x, struct value y, int sign)
{
    return (struct value){x.a + sign * y.a, x.b + sign * y.b, x.has_failed || y.has_failed};
}

static int both(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new(), out[2] = {{0}};
    int code = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&y, in, 1) ||
               mlx_add(&out[0], x, y, world.stream) || reverse(&out[1], x) ||
               mlx_subtract(&out[1], out[1], y, world.stream) || mlx_vector_array_set_data(res, out, 2);
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(out[0]), mlx_array_free(out[1]);
    return code;
}

/* Two results of a compiled function; a plan may run at once, and then it fails at once. */
static bool call_compiled(struct item x, struct item y, struct item out[2])
{
    mlx_vector_array in = mlx_vector_array_new_data((mlx_array[]){x.array, y.array}, 2), results = {0};
    out[0] = (struct item){mlx_array_new(), sum(x.value, y.value, 1)};
    out[1] = (struct item){mlx_array_new(), sum(reversed(x.value), y.value, -1)};
    int code = mlx_closure_apply(&results, world.compiled, in);
    TORTURE_REQUIRE(!code || out[0].value.has_failed, "apply: %s", error_text);
    for (size_t i = 0; !code && i < 2; i++)
        TORTURE_REQUIRE(!mlx_vector_array_get(&out[i].array, results, i), "%s", error_text);
    mlx_vector_array_free(in), mlx_vector_array_free(results);
    return !code;
}

/* x[index], at an index that is not there, spread over the length: it fails when it is evaluated. */
static struct item poison(struct item x)
{
    mlx_array index = mlx_array_new_int(world.length), one = mlx_array_new();
    struct item out = {mlx_array_new(), {0, 0, true}};
    int code = mlx_take(&one, x.array, index, world.stream) ||
               mlx_broadcast_to(&out.array, one, &world.length, 1, world.stream);
    TORTURE_REQUIRE(!code, "take: %s", error_text);
    mlx_array_free(index), mlx_array_free(one);
    return out;
}

static struct item combine(uint64_t *state, struct item x, struct item y)
{
    struct item out = {mlx_array_new(), {0}};
    int code = 0;
    switch (torture_below(state, 5)) {
    case 0:
        code = mlx_add(&out.array, x.array, y.array, world.stream);
        out.value = sum(x.value, y.value, 1);
        break;
    case 1:
        code = mlx_subtract(&out.array, x.array, y.array, world.stream);
        out.value = sum(x.value, y.value, -1);
        break;
    case 2:
        code = reverse(&out.array, x.array);
        out.value = reversed(x.value);
        break;
    case 3: /* y, written over x where nobody holds x any more */
        code = mlx_slice_update(&out.array, x.array, y.array, (int[]){0}, 1, &world.length, 1, (int[]){1}, 1,
                                world.stream);
        out.value = sum(sum(x.value, x.value, -1), y.value, 1);
        break;
    default:
        code = reverse(&out.array, x.array) || mlx_add(&out.array, out.array, y.array, world.stream);
        out.value = sum(reversed(x.value), y.value, 1);
    }
    TORTURE_REQUIRE(!code, "an operation: %s", error_text);
    return out;
}

/* ---- reading -------------------------------------------------------------------------------------------------------
 */

static void check_bytes(struct item item, const char *how)
{
    error_count = 0;
    const float *data = mlx_array_data_float32(item.array);
    if (item.value.has_failed) {
        TORTURE_REQUIRE(!data && error_count == 1 && strstr(error_text, "out of range"), "%s: %s", how, error_text);
        world.failures++;
        return;
    }
    TORTURE_REQUIRE(data, "%s: no data: %s", how, error_text);
    int64_t stride = world.length > 1 ? (int64_t)mlx_array_strides(item.array)[0] : 0;
    for (int j = 0; j < world.length; j++)
        TORTURE_REQUIRE(data[j * stride] == (float)(item.value.a * j + item.value.b),
                        "%s: element %d of %d is %g, expected %lld * %d + %lld", how, j, world.length,
                        (double)data[j * stride], (long long)item.value.a, j, (long long)item.value.b);
    world.reads++;
}

static void evaluate(struct item item)
{
    error_count = 0;
    int code = mlx_array_eval(item.array);
    TORTURE_REQUIRE(code == item.value.has_failed && error_count == code, "eval gave %d: %s", code, error_text);
    check_bytes(item, "after eval");
}

/* Several at once, behind our back; then, in any order, some of them are waited for, all are read, all freed. */
static void evaluate_list(uint64_t *state)
{
    struct item items[LIST];
    mlx_vector_array list = mlx_vector_array_new();
    uint64_t first = torture_below(state, LIST), way = torture_below(state, 4);
    float value;
    for (int i = 0; i < LIST; i++) {
        items[i] = take(state);
        TORTURE_REQUIRE(!mlx_vector_array_append_value(list, items[i].array), "%s", error_text);
    }
    TORTURE_REQUIRE(!mlx_async_eval(list), "async_eval: %s", error_text);
    mlx_vector_array_free(list);
    if (way == 0) TORTURE_REQUIRE(!mlx_synchronize(world.stream), "synchronize: %s", error_text);
    if (way == 1) evaluate(items[first]);
    if (way == 2 && world.length == 1) mlx_array_item_float32(&value, items[first].array);
    for (uint64_t i = 0; way != 3 && i < LIST; i++) check_bytes(items[(first + i) % LIST], "after async_eval");
    for (int i = 0; i < LIST; i++) mlx_array_free(items[i].array);
}

/* ---- threads -------------------------------------------------------------------------------------------------------
 */

static void build(uint64_t *state)
{
    struct item x = take(state), y = take(state), out[2] = {{{0}, {0}}, {{0}, {0}}};
    uint64_t choice = torture_below(state, 12);
    int count = 1;
    if (is_too_large(x.value) || is_too_large(y.value) || x.value.has_failed)
        out[0] = leaf(state);
    else if (choice == 0)
        out[0] = poison(x);
    else if (choice < 5)
        count = call_compiled(x, y, out) ? 2 : 0;
    else
        out[0] = combine(state, x, y);
    for (int i = 0; i < count; i++) put(state, out[i]);
    for (int i = count; i < 2; i++) mlx_array_free(out[i].array);
    mlx_array_free(x.array), mlx_array_free(y.array);
}

static void evaluate_one(uint64_t *state)
{
    struct item item = take(state);
    evaluate(item);
    mlx_array_free(item.array);
}

static void *live(void *unused)
{
    uint64_t state = world.seed + atomic_fetch_add(&world.number, 1) * 1000003;
    for (int i = 0; i < world.steps; i++) {
        uint64_t choice = torture_below(&state, 16);
        error_count = 0;
        if (choice < 11)
            build(&state);
        else if (choice < 14)
            evaluate_list(&state);
        else
            evaluate_one(&state);
    }
    return unused;
}

/* Nothing is left of it at the end, whatever order it went in. */
static int live_together(uint64_t seed, mlx_stream stream, int longest, int steps)
{
    static const int lengths[] = {1, 2, 17, 300, 5000, 70000};
    uint64_t state = seed;
    size_t active = 1;
    pthread_t threads[THREADS];
    mlx_set_error_handler(remember_error, NULL, NULL);
    world.seed = seed;
    world.stream = stream;
    world.steps = steps;
    do world.length = lengths[torture_below(&state, sizeof lengths / sizeof *lengths)];
    while (world.length > longest);
    mlx_closure plain = mlx_closure_new_func(both);
    TORTURE_REQUIRE(!mlx_compile(&world.compiled, plain, false), "%s", error_text);
    mlx_closure_free(plain);
    for (int i = 0; i < SLOTS; i++) {
        struct item item = leaf(&state);
        pthread_mutex_init(&world.slots[i].lock, NULL);
        world.slots[i].array = item.array;
        world.slots[i].value = item.value;
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, live, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    TORTURE_REQUIRE(world.reads > 0, "nothing was read");
    for (int i = 0; i < SLOTS; i++) mlx_array_free(world.slots[i].array);
    mlx_closure_free(world.compiled);
    TORTURE_REQUIRE(!mlx_synchronize(stream) && !mlx_get_active_memory(&active), "%s", error_text);
    TORTURE_REQUIRE(active == 0, "%zu bytes are left", active);
    return 0;
}

static int round_on_cpu(uint64_t seed)
{
    return live_together(seed, mlx_default_cpu_stream_new(), 70000, 400);
}

static int round_on_gpu(uint64_t seed)
{
    setenv("KILN_OPT_LEVEL", "0", 1);
    return live_together(seed, mlx_default_gpu_stream_new(), 300, 60);
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "arrays_on_cpu", .round = round_on_cpu},
        {.name = "arrays_on_gpu", .round = round_on_gpu},
    };
    torture_use_emulated_driver(argv);
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
