/*
 * test_mlxc_vmap_random.c - random functions: vmap gives bit for bit what a loop over slices gives.
 *
 * Each kind of step of steps.h, and so every operation of ops.def that a program can name, is mapped by itself and with
 * steps before and after it; over any axis of any of its operands, and by vmap of vmap. Products have whole numbers, so
 * that their sums are exact in any order. Seeds are fixed; a failure names its own.
 */
#include "support/steps.h"
#include "vmap_support.h"

enum { MAX_STEPS = 3, MAX_INPUTS = 3, SIZE = 3, TRIES = 40 };

struct program {
    uint64_t seed;
    int input_count, step_count;
    struct step steps[MAX_STEPS];
};

static int run_program(const void *payload, const mlx_array *in, mlx_array *out)
{
    const struct program *program = payload;
    mlx_array values[MAX_INPUTS + MAX_STEPS];
    int failed = 0, count = program->input_count;
    for (int i = 0; i < count; i++) values[i] = mlx_array_new(), failed = failed || mlx_array_set(&values[i], in[i]);
    for (int i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        const mlx_array operands[] = {values[step->in[0]], values[step->in[1]], values[step->in[2]]};
        values[count] = mlx_array_new();
        failed = failed || step->kind->run(step, operands, &values[count], stream);
        count++;
    }
    failed = failed || mlx_array_set(out, values[count - 1]);
    for (int i = 0; i < count; i++) mlx_array_free(values[i]);
    return failed;
}

static mlx_array random_input(uint64_t *state, const int *shape, int ndim, mlx_dtype dtype)
{
    float numbers[1024];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int i = 0; i < size; i++) numbers[i] = (float)((int)torture_below(state, 65) - 32) / 8;
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    CHECK_EQ(mlx_astype(&out, plain, dtype, stream) || mlx_array_eval(out), 0);
    mlx_array_free(plain);
    return out;
}

struct sample {
    mlx_array whole[MAX_INPUTS], slices[MAX_INPUTS];
    int axes[MAX_INPUTS];
};

/* Slices of up to three axes, most of them of `n`; a mapped input has one axis more, anywhere. */
static void make_sample(struct sample *sample, uint64_t *state, int count, int n)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT32, MLX_FLOAT32, MLX_INT32};
    bool any = false;
    for (int i = 0; i < count; i++) {
        int shape[MAX_AXES], ndim = (int)torture_below(state, 4), wide = 0;
        bool is_mapped = torture_below(state, 3) || (i + 1 == count && !any);
        int at = is_mapped ? (int)torture_below(state, (uint64_t)ndim + 1) : -1;
        any |= is_mapped;
        for (int k = 0; k < ndim + is_mapped; k++) shape[wide++] = k == at ? SIZE : torture_below(state, 6) ? n : 1;
        sample->whole[i] = random_input(state, shape, wide, dtypes[torture_below(state, 4)]);
        sample->axes[i] = at;
        if (at >= 0 && at < ndim && torture_below(state, 2)) sample->axes[i] = at - wide; /* -2 and below */
    }
    CHECK_EQ(slices_of(sample->slices, sample->whole, count, sample->axes, 0), 0);
}

static void free_sample(struct sample *sample, int count)
{
    for (int i = 0; i < count; i++) mlx_array_free(sample->whole[i]), mlx_array_free(sample->slices[i]);
}

/* Adds a step that the library accepts; reports whether there is one. */
static bool add_step(struct program *program, const struct kind *kind, mlx_array *values, int *count, int n,
                     uint64_t *state)
{
    struct step step = {.kind = kind, .seed = torture_next(state)};
    for (int k = 0; k < 3; k++) step.in[k] = (int)torture_below(state, (uint64_t)*count);
    if (program->step_count && torture_below(state, 2)) step.in[0] = *count - 1;
    const mlx_array operands[] = {values[step.in[0]], values[step.in[1]], values[step.in[2]]};
    const struct choice choice = {state, n, operands};
    if (kind->choose && !kind->choose(&choice, &step)) return false;
    mlx_array out = mlx_array_new();
    bool fits = !kind->run(&step, operands, &out, stream) && !mlx_array_eval(out) && mlx_array_size(out) <= 2000 &&
                mlx_array_ndim(out) <= MAX_AXES - 1;
    error_count = 0, error_text[0] = '\0';
    if (!fits) return mlx_array_free(out), false;
    values[(*count)++] = out;
    program->steps[program->step_count++] = step;
    return true;
}

/* A program in which `kind` occurs. */
static bool make_program(struct program *program, const struct kind *kind, struct sample *sample, int n,
                         uint64_t *state)
{
    mlx_array values[MAX_INPUTS + MAX_STEPS];
    int count = program->input_count, want = (int)torture_below(state, MAX_STEPS);
    for (int i = 0; i < count; i++) values[i] = sample->slices[i];
    for (int i = 0; i <= want; i++) {
        const struct kind *next = i == want / 2 ? kind : random_kind(state, false);
        if (!add_step(program, next, values, &count, n, state) && next == kind) break;
    }
    bool found = false;
    for (int i = 0; i < program->step_count; i++) found |= program->steps[i].kind == kind;
    for (int i = program->input_count; i < count; i++) mlx_array_free(values[i]);
    return found;
}

/* ---- by itself, inside of another vmap, inside and outside of a compiled function ---------------------------------
 */

/* vmap of a program, as a function of the same arrays. */
struct nested {
    mlx_closure closure;
    int count, axes[MAX_INPUTS], out_axis;
};

static int run_nested(const void *payload, const mlx_array *in, mlx_array *out)
{
    const struct nested *nested = payload;
    return vmap_one(out, nested->closure, in, nested->count, nested->axes, nested->out_axis);
}

/* Each input of the sample once more along a new last axis, with other elements. */
static void widen(const struct sample *sample, int count, mlx_array *wide)
{
    for (int i = 0; i < count; i++) {
        const mlx_array both[] = {sample->whole[i], sample->whole[i]};
        mlx_array turned = mlx_array_new();
        mlx_vector_array list = mlx_vector_array_new();
        CHECK_EQ(mlx_negative(&turned, both[1], stream), 0);
        mlx_vector_array_append_value(list, both[0]), mlx_vector_array_append_value(list, turned);
        wide[i] = mlx_array_new();
        CHECK_EQ(mlx_stack_axis(&wide[i], list, -1, stream) || mlx_array_eval(wide[i]), 0);
        mlx_vector_array_free(list), mlx_array_free(turned);
    }
}

static void check_nested(const struct program *program, const struct sample *sample, bool is_compiled)
{
    int count = program->input_count, out_axes[MAX_INPUTS];
    struct mapped_function inner = {run_program, program, 0};
    struct nested nested = {.closure = closure_of(&inner), .count = count};
    struct mapped_function outer = {run_nested, &nested, 0};
    mlx_array wide[MAX_INPUTS];
    if (is_compiled) CHECK_EQ(mlx_compile(&nested.closure, nested.closure, false), 0);
    for (int i = 0; i < count; i++) {
        int axis = sample->axes[i], ndim = (int)mlx_array_ndim(sample->whole[i]);
        nested.axes[i] = axis < -1 ? axis + ndim : axis;
        out_axes[i] = ndim;
    }
    widen(sample, count, wide);
    expect_like_loop(&outer, wide, count, out_axes, 0);
    for (int i = 0; i < count; i++) mlx_array_free(wide[i]);
    mlx_closure_free(nested.closure);
}
#define check_nested(...) CHECK_CALL(check_nested, __VA_ARGS__)

static void check_compiled(const struct program *program, const struct sample *sample)
{
    struct mapped_function inner = {run_program, program, 0};
    struct nested nested = {.closure = closure_of(&inner), .count = program->input_count};
    struct mapped_function outer = {run_nested, &nested, 0};
    mlx_closure plain = closure_of(&outer), compiled = mlx_closure_new();
    memcpy(nested.axes, sample->axes, sizeof nested.axes);
    mlx_vector_array inputs = mlx_vector_array_new_data(sample->whole, (size_t)program->input_count),
                     res[2] = {mlx_vector_array_new(), mlx_vector_array_new()};
    mlx_array want = mlx_array_new(), got = mlx_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, false) || mlx_closure_apply(&res[0], plain, inputs) ||
                 mlx_closure_apply(&res[1], compiled, inputs),
             0);
    CHECK_EQ(mlx_vector_array_get(&want, res[0], 0) || mlx_vector_array_get(&got, res[1], 0), 0);
    expect_same_arrays(got, want);
    mlx_array_free(want), mlx_array_free(got), mlx_vector_array_free(inputs);
    mlx_vector_array_free(res[0]), mlx_vector_array_free(res[1]);
    mlx_closure_free(plain), mlx_closure_free(compiled), mlx_closure_free(nested.closure);
}
#define check_compiled(...) CHECK_CALL(check_compiled, __VA_ARGS__)

/* Reports whether there is a program for this seed. */
static bool check_kind(const struct kind *kind, uint64_t seed)
{
    uint64_t state = seed;
    static const int sizes[] = {4, 2, 6};
    int n = sizes[torture_below(&state, 3)];
    struct program program = {.seed = seed, .input_count = 1 + (int)torture_below(&state, MAX_INPUTS)};
    struct mapped_function function = {run_program, &program, 0};
    struct sample sample;
    CHECK_CONTEXT("%s, seed %llu", kind->name, (unsigned long long)seed);
    make_sample(&sample, &state, program.input_count, n);
    bool made = make_program(&program, kind, &sample, n, &state);
    if (made) {
        int axis = (int)torture_below(&state, 2) ? 0 : -1;
        expect_like_loop(&function, sample.whole, program.input_count, sample.axes, axis);
        if (!kind->is_rare) check_nested(&program, &sample, seed % 2);
        if (!kind->is_rare && seed % 3 == 0) check_compiled(&program, &sample);
    }
    free_sample(&sample, program.input_count);
    return made;
}

static void test_every_kind_of_step(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        int wanted = kinds[i].is_rare ? 1 : 6, made = 0;
        for (int t = 0; t < TRIES && made < wanted; t++) made += check_kind(&kinds[i], (uint64_t)(i * 1000 + t));
        if (!made) CHECK_FAIL("no program has a step %s", kinds[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_kind_of_step, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
