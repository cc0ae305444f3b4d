/*
 * test_mlxc_shapeless_random.c - random programs of operations that follow sizes, each compiled shapeless and traced
 * once, then called with twenty other sizes: bit for bit what the plain program gives, and never a second trace.
 *
 * A program is made without looking at sizes: each axis of a value has a tag, and axes of one tag have one size in
 * every call. Two values are combined only when their tags fit, so a program works for (nearly) all sizes; where it
 * does not, the compiled one has to refuse the call like the plain one. KILN_SEED=n runs one program and prints it.
 */
#include "kiln.h"
#include "support/bodies.h"

enum { INPUTS = 3, STEPS = 14, CALLS = 20, RANK = 4, ONE_TAG = -1 };

struct value {
    int ndim, tags[RANK + 1];
};

struct step {
    int kind, a, b, axis, number;
};

struct program {
    bool is_used[INPUTS + STEPS]; /* by an output: a compiled program leaves out the others */
    int ndim, step_count, next_tag, product_count;
    struct value values[INPUTS + STEPS];
    struct step steps[STEPS];
};

static uint64_t random_state;

static int below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* ---- kinds of steps ------------------------------------------------------------------------------------------- */

#define MAKE(op, ...)                                                                                                  \
    do {                                                                                                               \
        if (!made_code && mlx_##op(res, __VA_ARGS__, stream)) made_code = 1;                                           \
    } while (0)
#define INTS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

typedef void run_step(const struct step *step, mlx_array a, mlx_array b, mlx_array *res);
/* The tags of the result, in `out`, which has those of a; false: not for such a value. */
typedef bool tag_step(struct program *program, struct step *step, struct value *out);

static int fresh(struct program *program)
{
    return 1000 + program->next_tag++;
}

static void drop_tag(struct value *value, int axis)
{
    for (int i = axis; i + 1 < value->ndim; i++) value->tags[i] = value->tags[i + 1];
    value->ndim--;
}

static void add_tag(struct value *value, int axis, int tag)
{
    for (int i = value->ndim++; i > axis; i--) value->tags[i] = value->tags[i - 1];
    value->tags[axis] = tag;
}

static bool tags_stay(struct program *program, struct step *step, struct value *out)
{
    (void)program, (void)step, (void)out;
    return true;
}

static bool tags_with_axis(struct program *program, struct step *step, struct value *out)
{
    (void)program, (void)step;
    return out->ndim > 0;
}

static bool tags_axis_changes(struct program *program, struct step *step, struct value *out)
{
    if (out->ndim == 0) return false;
    out->tags[step->axis] = fresh(program);
    return true;
}

static bool tags_axis_is_one(struct program *program, struct step *step, struct value *out)
{
    (void)program;
    if (out->ndim == 0) return false;
    out->tags[step->axis] = ONE_TAG;
    return true;
}

static bool tags_axis_goes(struct program *program, struct step *step, struct value *out)
{
    (void)program;
    if (out->ndim == 0) return false;
    drop_tag(out, step->axis);
    return true;
}

static bool tags_all_one(struct program *program, struct step *step, struct value *out)
{
    (void)program, (void)step;
    for (int i = 0; i < out->ndim; i++) out->tags[i] = ONE_TAG;
    return true;
}

static bool tags_all_go(struct program *program, struct step *step, struct value *out)
{
    (void)program, (void)step;
    out->ndim = 0;
    return true;
}

static bool tags_flat(struct program *program, struct step *step, struct value *out)
{
    (void)step;
    out->ndim = 1;
    out->tags[0] = fresh(program);
    return true;
}

static bool tags_one_more(struct program *program, struct step *step, struct value *out)
{
    (void)program;
    if (out->ndim >= RANK) return false;
    add_tag(out, step->axis, ONE_TAG);
    return true;
}

static bool tags_pair(struct program *program, struct step *step, struct value *out)
{
    if (out->ndim >= RANK) return false;
    add_tag(out, step->axis, fresh(program));
    return true;
}

static bool tags_squeezed(struct program *program, struct step *step, struct value *out)
{
    (void)program;
    if (out->ndim == 0 || out->tags[step->axis] != ONE_TAG) return false;
    drop_tag(out, step->axis);
    return true;
}

static bool tags_matrix(struct program *program, struct step *step, struct value *out)
{
    (void)program, (void)step;
    return out->ndim >= 2;
}

static bool tags_reversed(struct program *program, struct step *step, struct value *out)
{
    struct value in = *out;
    (void)program, (void)step;
    for (int i = 0; i < in.ndim; i++) out->tags[i] = in.tags[in.ndim - 1 - i];
    return true;
}

static bool tags_swapped(struct program *program, struct step *step, struct value *out)
{
    (void)program;
    if (out->ndim == 0) return false;
    int tag = out->tags[0];
    out->tags[0] = out->tags[step->axis];
    out->tags[step->axis] = tag;
    return true;
}

static bool tags_joined(struct program *program, struct step *step, struct value *out)
{
    if (out->ndim < 2) return false;
    (void)step;
    drop_tag(out, 0);
    out->tags[0] = fresh(program);
    return true;
}

static bool tags_diagonal(struct program *program, struct step *step, struct value *out)
{
    (void)step;
    if (out->ndim != 2) return false;
    out->ndim = 1;
    out->tags[0] = fresh(program);
    return true;
}

/* x @ transposed x. A product's elements depend on more than its row, so that programs have one each at most. */
static bool tags_product(struct program *program, struct step *step, struct value *out)
{
    (void)step;
    if (out->ndim < 2 || program->product_count) return false;
    program->product_count++;
    out->tags[out->ndim - 1] = out->tags[out->ndim - 2];
    return true;
}

/* Value b broadcasts with a. */
static bool tags_together(struct program *program, struct step *step, struct value *out)
{
    const struct value *b = &program->values[step->b];
    for (int i = 1; i <= out->ndim && i <= b->ndim; i++) {
        int x = out->tags[out->ndim - i], y = b->tags[b->ndim - i];
        if (x != y && x != ONE_TAG && y != ONE_TAG) return false;
        if (x == ONE_TAG) out->tags[out->ndim - i] = y;
    }
    while (out->ndim < b->ndim) add_tag(out, 0, b->tags[b->ndim - 1 - out->ndim]);
    return true;
}

#define STEP(name) static void name(const struct step *step, mlx_array a, mlx_array b, mlx_array *res)
#define USED       (void)step, (void)a, (void)b
#define SIMPLE(name, ...)                                                                                              \
    STEP(name)                                                                                                         \
    {                                                                                                                  \
        USED;                                                                                                          \
        MAKE(__VA_ARGS__);                                                                                             \
    }

SIMPLE(run_negative, negative, a)
SIMPLE(run_tanh, tanh, a)
SIMPLE(run_square, square, a)
SIMPLE(run_add, add, a, b)
SIMPLE(run_multiply, multiply, a, b)
SIMPLE(run_maximum, maximum, a, b)
SIMPLE(run_sum, sum_axis, a, step->axis, true)
SIMPLE(run_sum_away, sum_axis, a, step->axis, false)
SIMPLE(run_max, max_axis, a, step->axis, true)
SIMPLE(run_min_away, min_axis, a, step->axis, false)
SIMPLE(run_mean, mean_axis, a, step->axis, true)
SIMPLE(run_mean_away, mean_axis, a, step->axis, false)
SIMPLE(run_mean_all, mean, a, true)
SIMPLE(run_sum_all, sum, a, false)
SIMPLE(run_var, var_axis, a, step->axis, true, step->number % 2)
SIMPLE(run_softmax, softmax_axis, a, step->axis, false)
SIMPLE(run_logsumexp, logsumexp_axis, a, step->axis, true)
SIMPLE(run_layer_norm, fast_layer_norm, a, (mlx_array){0}, (mlx_array){0}, 1e-3f)
SIMPLE(run_rms_norm, fast_rms_norm, a, (mlx_array){0}, 1e-3f)
SIMPLE(run_cumsum, cumsum, a, step->axis, step->number & 1, step->number & 2)
SIMPLE(run_cummax, cummax, a, step->axis, step->number & 1, true)
SIMPLE(run_sort, sort_axis, a, step->axis)
SIMPLE(run_topk, topk_axis, a, 1, step->axis)
SIMPLE(run_transpose, transpose, a)
SIMPLE(run_swap, swapaxes, a, 0, step->axis)
SIMPLE(run_flatten, flatten, a, 0, -1)
SIMPLE(run_join, flatten, a, 0, 1)
SIMPLE(run_vector, reshape, a, INTS(-1))
SIMPLE(run_expand, expand_dims, a, step->axis)
SIMPLE(run_unflatten, unflatten, a, step->axis, INTS(1, -1))
SIMPLE(run_squeeze, squeeze_axis, a, step->axis)
SIMPLE(run_repeat, repeat_axis, a, 1 + step->number % 3, step->axis)
SIMPLE(run_roll, roll_axis, a, INTS(step->number - 3), step->axis)
SIMPLE(run_pad, pad, a, INTS(step->axis), INTS(step->number % 3), INTS(1), number(2), "constant")
SIMPLE(run_pad_edge, pad, a, INTS(step->axis), INTS(1), INTS(step->number % 3), (mlx_array){0}, "edge")
SIMPLE(run_tril, tril, a, step->number % 3 - 1)
SIMPLE(run_triu, triu, a, step->number % 3 - 1)
SIMPLE(run_diagonal, diagonal, a, 0, 0, 1)
SIMPLE(run_ones_like, ones_like, a)

STEP(run_slice)
{
    static const int slices[][3] = {{1, 1 << 30, 1},  {0, -1, 1}, {0, 1 << 30, 2}, {-1, -(1 << 30), -1},
                                    {-2, 1 << 30, 1}, {0, 2, 1},  {1, -1, 3}};
    int start[RANK + 1], stop[RANK + 1], strides[RANK + 1];
    size_t ndim = mlx_array_ndim(a);
    for (size_t i = 0; i < ndim; i++) start[i] = 0, stop[i] = 1 << 30, strides[i] = 1;
    const int *slice = slices[step->number % 7];
    (void)b;
    start[step->axis] = slice[0], stop[step->axis] = slice[1], strides[step->axis] = slice[2];
    MAKE(slice, a, start, ndim, stop, ndim, strides, ndim);
}

STEP(run_slice_update)
{
    int start[RANK + 1] = {0}, stop[RANK + 1], strides[RANK + 1];
    size_t ndim = mlx_array_ndim(a);
    for (size_t i = 0; i < ndim; i++) stop[i] = 1 << 30, strides[i] = 1 + step->number % 2;
    (void)b;
    start[step->axis] = 1;
    MAKE(slice_update, a, number(-3), start, ndim, stop, ndim, strides, ndim);
}

/* One number at the last place along the axis, or the one before; where there is none, plain and compiled refuse. */
STEP(run_update_dynamic)
{
    int back = 1 + step->number % 2;
    mlx_array update = number(7), start = mlx_array_new_int(-back);
    (void)b;
    MAKE(slice_update_dynamic, a, update, start, &step->axis, 1);
    mlx_array_free(start);
}

STEP(run_concatenate)
{
    mlx_vector_array twice = mlx_vector_array_new_data((mlx_array[]){a, a}, 2);
    (void)b;
    MAKE(concatenate_axis, twice, step->axis);
    mlx_vector_array_free(twice);
}

STEP(run_stack)
{
    mlx_vector_array twice = mlx_vector_array_new_data((mlx_array[]){a, a}, 2);
    (void)b;
    MAKE(stack_axis, twice, step->axis);
    mlx_vector_array_free(twice);
}

STEP(run_split)
{
    mlx_vector_array parts = {NULL};
    (void)b;
    if (!made_code && mlx_split_sections(&parts, a, INTS(1 + step->number % 3), step->axis, stream)) made_code = 1;
    if (!made_code && mlx_vector_array_get(res, parts, (size_t)(step->number & 1))) made_code = 1;
    mlx_vector_array_free(parts);
}

STEP(run_broadcast)
{
    mlx_vector_array pair = mlx_vector_array_new_data((mlx_array[]){a, b}, 2), both = {NULL};
    (void)step;
    if (!made_code && mlx_broadcast_arrays(&both, pair, stream)) made_code = 1;
    if (!made_code && mlx_vector_array_get(res, both, 0)) made_code = 1;
    mlx_vector_array_free(pair), mlx_vector_array_free(both);
}

STEP(run_take)
{
    mlx_array places = keep(mlx_array_new_data((const int[]){0, -1, 0}, (const int[]){3}, 1, MLX_INT32));
    (void)b;
    MAKE(take_axis, a, places, step->axis);
}

STEP(run_argsort)
{
    mlx_array *order = next_made();
    (void)b;
    if (!made_code && mlx_argsort_axis(order, a, step->axis, stream)) made_code = 1;
    MAKE(astype, *order, MLX_FLOAT32);
}

STEP(run_argmax)
{
    mlx_array *place = next_made();
    (void)b;
    if (!made_code && mlx_argmax_axis(place, a, step->axis, true, stream)) made_code = 1;
    MAKE(astype, *place, MLX_FLOAT32);
}

STEP(run_take_along)
{
    mlx_array *order = next_made();
    (void)b;
    if (!made_code && mlx_argsort_axis(order, a, step->axis, stream)) made_code = 1;
    MAKE(take_along_axis, a, *order, step->axis);
}

STEP(run_put_along)
{
    mlx_array *place = next_made();
    (void)b;
    if (!made_code && mlx_argmin_axis(place, a, step->axis, true, stream)) made_code = 1;
    MAKE(put_along_axis, a, *place, number(9), step->axis);
}

STEP(run_tile)
{
    int reps[RANK + 1];
    size_t ndim = mlx_array_ndim(a);
    for (size_t i = 0; i < ndim; i++) reps[i] = (int)i == step->axis ? 2 : 1;
    (void)b;
    MAKE(tile, a, reps, ndim);
}

STEP(run_product)
{
    mlx_array *turned = next_made();
    (void)step, (void)b;
    if (!made_code && mlx_swapaxes(turned, a, -1, -2, stream)) made_code = 1;
    MAKE(matmul, a, *turned);
}

/* The sum of a row less its mean, in steps: they become part of one kernel. */
STEP(run_centred)
{
    mlx_array *mean = next_made();
    (void)b;
    if (!made_code && mlx_mean_axis(mean, a, step->axis, true, stream)) made_code = 1;
    MAKE(subtract, a, *mean);
}

static const struct {
    const char *name;
    run_step *run;
    tag_step *tag;
} kinds[] = {
    {"negative", run_negative, tags_stay},
    {"tanh", run_tanh, tags_stay},
    {"square", run_square, tags_stay},
    {"add", run_add, tags_together},
    {"multiply", run_multiply, tags_together},
    {"maximum", run_maximum, tags_together},
    {"sum", run_sum, tags_axis_is_one},
    {"sum away", run_sum_away, tags_axis_goes},
    {"max", run_max, tags_axis_is_one},
    {"min away", run_min_away, tags_axis_goes},
    {"mean", run_mean, tags_axis_is_one},
    {"mean away", run_mean_away, tags_axis_goes},
    {"mean of all", run_mean_all, tags_all_one},
    {"sum of all", run_sum_all, tags_all_go},
    {"var", run_var, tags_axis_is_one},
    {"softmax", run_softmax, tags_with_axis},
    {"logsumexp", run_logsumexp, tags_axis_is_one},
    {"layer norm", run_layer_norm, tags_with_axis},
    {"rms norm", run_rms_norm, tags_with_axis},
    {"cumsum", run_cumsum, tags_with_axis},
    {"cummax", run_cummax, tags_with_axis},
    {"sort", run_sort, tags_with_axis},
    {"topk", run_topk, tags_axis_is_one},
    {"transpose", run_transpose, tags_reversed},
    {"swapaxes", run_swap, tags_swapped},
    {"flatten", run_flatten, tags_flat},
    {"flatten two", run_join, tags_joined},
    {"reshape", run_vector, tags_flat},
    {"expand_dims", run_expand, tags_one_more},
    {"unflatten", run_unflatten, tags_one_more},
    {"squeeze", run_squeeze, tags_squeezed},
    {"repeat", run_repeat, tags_axis_changes},
    {"roll", run_roll, tags_with_axis},
    {"pad", run_pad, tags_axis_changes},
    {"pad with edges", run_pad_edge, tags_axis_changes},
    {"tril", run_tril, tags_matrix},
    {"triu", run_triu, tags_matrix},
    {"diagonal", run_diagonal, tags_diagonal},
    {"ones_like", run_ones_like, tags_stay},
    {"slice", run_slice, tags_axis_changes},
    {"slice_update", run_slice_update, tags_with_axis},
    {"slice_update_dynamic", run_update_dynamic, tags_with_axis},
    {"concatenate", run_concatenate, tags_axis_changes},
    {"stack", run_stack, tags_pair},
    {"split", run_split, tags_axis_changes},
    {"broadcast_arrays", run_broadcast, tags_together},
    {"take", run_take, tags_axis_changes},
    {"argsort", run_argsort, tags_with_axis},
    {"argmax", run_argmax, tags_axis_is_one},
    {"take_along", run_take_along, tags_with_axis},
    {"put_along", run_put_along, tags_with_axis},
    {"tile", run_tile, tags_axis_changes},
    {"product", run_product, tags_product},
    {"centred", run_centred, tags_with_axis},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- programs ------------------------------------------------------------------------------------------------- */

/* The last values are used most, so that steps build on each other. */
static int choose_value(const struct program *program)
{
    int count = INPUTS + program->step_count;
    return below(3) ? count - 1 - below(count < 4 ? count : 4) : below(count);
}

static void add_step(struct program *program)
{
    for (;;) {
        struct step step = {.kind = below(KINDS), .a = choose_value(program), .b = choose_value(program)};
        struct value value = program->values[step.a];
        bool adds = kinds[step.kind].tag == tags_one_more || kinds[step.kind].tag == tags_pair;
        if (kinds[step.kind].run == run_unflatten && value.ndim == 0) continue;
        step.axis = value.ndim || adds ? below(value.ndim + (adds && kinds[step.kind].run != run_unflatten)) : 0;
        step.number = below(12);
        if (!kinds[step.kind].tag(program, &step, &value)) continue;
        program->values[INPUTS + program->step_count] = value;
        program->steps[program->step_count++] = step;
        return;
    }
}

enum { OUTPUTS = 3 };

static void mark_used(struct program *program)
{
    for (int i = program->step_count; i-- > 0;) {
        const struct step *step = &program->steps[i];
        bool reads_both = kinds[step->kind].tag == tags_together;
        program->is_used[INPUTS + i] |= i >= program->step_count - OUTPUTS;
        program->is_used[step->a] |= program->is_used[INPUTS + i];
        program->is_used[step->b] |= program->is_used[INPUTS + i] && reads_both;
    }
}

static void make_program(struct program *program, uint64_t seed)
{
    random_state = seed * 0x9E3779B97F4A7C15u + 1;
    *program = (struct program){.ndim = 1 + below(3)};
    for (int i = 0; i < INPUTS; i++) {
        struct value *value = &program->values[i];
        value->ndim = i == 0 ? program->ndim : 1 + below(program->ndim);
        for (int k = 0; k < value->ndim; k++) value->tags[k] = program->ndim - value->ndim + k;
    }
    int steps = 3 + below(STEPS - 3);
    while (program->step_count < steps) add_step(program);
    mark_used(program);
}

static void print_program(const struct program *program)
{
    for (int i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        printf("v%d = %s(v%d, v%d) axis %d number %d\n", INPUTS + i, kinds[step->kind].name, step->a, step->b,
               step->axis, step->number);
    }
}

BODY(run_program)
{
    const struct program *program = context;
    mlx_array values[INPUTS + STEPS];
    for (int i = 0; i < count; i++) values[i] = in[i];
    for (int i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        mlx_array *res = next_made();
        if (!made_code && program->is_used[INPUTS + i])
            kinds[step->kind].run(step, values[step->a], values[step->b], res);
        values[INPUTS + i] = *res;
    }
    for (int i = 0; i < OUTPUTS; i++) give(&out[i], values[INPUTS + program->step_count - 1 - i]);
    return done();
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

/* Sizes of the base, the first call's included: some of one element, some rows long enough for a kernel with rows. */
static void choose_sizes(const struct program *program, int call, int *sizes)
{
    for (int i = 0; i < program->ndim; i++)
        sizes[i] = below(5) == 0 || call == 1 ? 1 : below(6) == 0 ? 32 + below(20) : 1 + below(7);
}

static mlx_array make_input(const struct value *value, const int *sizes, int shift)
{
    int dims[RANK + 1];
    for (int i = 0; i < value->ndim; i++) dims[i] = below(6) == 0 ? 1 : sizes[value->tags[i]];
    struct shape shape = {value->ndim, {0}};
    for (int i = 0; i < value->ndim; i++) shape.dims[i] = dims[i];
    struct numbers numbers = numbers_new(MLX_FLOAT32, &shape);
    for (int i = 0; i < numbers.size; i++) ((float *)(void *)numbers.data)[i] = (float)((i * 7 + shift) % 23) / 8 - 1;
    mlx_array array = packed_array(&numbers);
    numbers_free(&numbers);
    return array;
}

/* Indices are looked at when they are read: some calls fail only here. */
static bool can_be_read(const mlx_array *arrays)
{
    bool can = true;
    for (int i = 0; i < OUTPUTS; i++) can &= mlx_array_eval(arrays[i]) == 0;
    return can;
}

static bool call_compiled(mlx_closure fun, const mlx_array *in, mlx_array *out)
{
    mlx_vector_array args = mlx_vector_array_new_data(in, INPUTS), res = mlx_vector_array_new();
    bool works = mlx_closure_apply(&res, fun, args) == 0;
    for (size_t i = 0; works && i < OUTPUTS; i++) mlx_vector_array_get(&out[i], res, i);
    mlx_vector_array_free(args), mlx_vector_array_free(res);
    return works && can_be_read(out);
}

/* Returns whether the plain program worked. */
static bool check_call(const struct program *program, mlx_closure fun, const mlx_array *in, const char *what)
{
    mlx_array plain[OUTPUTS] = {{0}}, got[OUTPUTS] = {{0}};
    bool works = run_program(in, INPUTS, plain, program) == 0 && can_be_read(plain);
    error_count = 0;
    if (call_compiled(fun, in, got) != works)
        CHECK_FAIL("%s: plainly it %s: %s", what, works ? "works" : "is refused", error_text);
    error_count = 0;
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (works) {
            struct numbers want = read_array(plain[i]), numbers = read_array(got[i]);
            expect_same_bits(&numbers, &want, what);
            numbers_free(&want), numbers_free(&numbers);
        }
        mlx_array_free(plain[i]), mlx_array_free(got[i]);
    }
    return works;
}

static bool make_and_check(const struct program *program, mlx_closure fun, uint64_t seed, int call)
{
    int sizes[RANK];
    char what[80];
    mlx_array in[INPUTS];
    choose_sizes(program, call, sizes);
    for (int i = 0; i < INPUTS; i++) in[i] = make_input(&program->values[i], sizes, i + call);
    snprintf(what, sizeof what, "KILN_SEED=%llu, call %d", (unsigned long long)seed, call);
    bool works = check_call(program, fun, in, what);
    for (int i = 0; i < INPUTS; i++) mlx_array_free(in[i]);
    return works;
}

/* Returns how many of the calls worked. */
static int check_program(uint64_t seed)
{
    static struct program program;
    make_program(&program, seed);
    if (getenv("KILN_SEED")) print_program(&program);
    struct traced_call traced = {run_program, &program, OUTPUTS, 0};
    mlx_closure fun = compile_call(&traced, true);
    kiln_counters before, after;
    int worked = 0, first = 0;
    while (first < CALLS && !make_and_check(&program, fun, seed, first)) first++; /* until a trace works */
    kiln_cache_counters(kiln_cache_default(), &before);
    int traces = traced.calls;
    for (int call = first + 1; first < CALLS && call <= first + CALLS; call++)
        worked += make_and_check(&program, fun, seed, call);
    kiln_cache_counters(kiln_cache_default(), &after);
    CHECK_EQ(traced.calls, traces);
    CHECK_EQ(after.traces, before.traces);
    mlx_closure_free(fun);
    return worked;
}

static void test_random_programs(void **state)
{
    enum { PROGRAMS = 300 };
    int worked = 0;
    (void)state;
    if (getenv("KILN_SEED")) {
        check_program(strtoull(getenv("KILN_SEED"), NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) worked += check_program(seed);
    CHECK_GT(worked, PROGRAMS * CALLS * 3 / 4);
    printf("%d of %d calls worked\n", worked, PROGRAMS * CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_random_programs, set_up)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
