/*
 * test_mlxc_gradient_random.c - random functions: a compiled gradient is bit for bit the plain one, and so is that of a
 * compiled function.
 *
 * Each kind of step of steps.h, and so every operation of ops.def that a program can name, is differentiated by itself
 * and with steps before and after it. A kind without a gradient says so. Seeds are fixed; a failure names its own.
 */
#include "support/steps.h"
#include "vmap_support.h"

enum { MAX_STEPS = 4, MAX_INPUTS = 3, TRIES = 40 };

struct program {
    int input_count, step_count;
    struct step steps[MAX_STEPS];
};

/* The sum of the squares of the last value's elements. */
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
    failed = failed || mlx_astype(out, values[count - 1], MLX_FLOAT32, stream) || mlx_square(out, *out, stream) ||
             mlx_sum(out, *out, false, stream);
    for (int i = 0; i < count; i++) mlx_array_free(values[i]);
    return failed;
}

/* Every second input is a float32, the others are any. */
static mlx_array random_input(uint64_t *state, int i, int n)
{
    static const mlx_dtype dtypes[] = {MLX_FLOAT32, MLX_FLOAT16, MLX_BFLOAT16, MLX_INT32};
    float numbers[1024];
    int shape[MAX_AXES], ndim = (int)torture_below(state, 4), size = 1;
    for (int k = 0; k < ndim; k++) shape[k] = torture_below(state, 6) ? n : 1, size *= shape[k];
    for (int k = 0; k < size; k++) numbers[k] = (float)((int)torture_below(state, 65) - 32) / 8;
    mlx_array out = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32);
    CHECK_EQ(mlx_astype(&out, out, i % 2 ? dtypes[torture_below(state, 4)] : MLX_FLOAT32, stream), 0);
    CHECK_EQ(mlx_array_eval(out), 0);
    return out;
}

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
                mlx_array_ndim(out) < MAX_AXES;
    error_count = 0, error_text[0] = '\0';
    if (!fits) return mlx_array_free(out), false;
    values[(*count)++] = out;
    program->steps[program->step_count++] = step;
    return true;
}

/* A program in which `kind` occurs. */
static bool make_program(struct program *program, const struct kind *kind, const mlx_array *inputs, int n,
                         uint64_t *state)
{
    mlx_array values[MAX_INPUTS + MAX_STEPS];
    int count = program->input_count, want = (int)torture_below(state, MAX_STEPS);
    memcpy(values, inputs, (size_t)count * sizeof *values);
    for (int i = 0; i <= want; i++) {
        const struct kind *next = i == want / 2 ? kind : random_kind(state, false);
        if (!add_step(program, next, values, &count, n, state) && next == kind) break;
    }
    bool found = false;
    for (int i = 0; i < program->step_count; i++) found |= program->steps[i].kind == kind;
    for (int i = program->input_count; i < count; i++) mlx_array_free(values[i]);
    return found;
}

/* Value and gradients of a closure, as a closure. */
struct gradient {
    mlx_closure closure;
    int count, argnums[MAX_INPUTS];
    char failure[sizeof error_text]; /* that there is no rule is the one reason */
};

static int run_gradient(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    struct gradient *gradient = payload;
    mlx_closure_value_and_grad made = mlx_closure_value_and_grad_new();
    mlx_vector_array values = mlx_vector_array_new();
    int failed = mlx_value_and_grad(&made, gradient->closure, gradient->argnums, (size_t)gradient->count) ||
                 mlx_closure_value_and_grad_apply(&values, res, made, in);
    if (failed) snprintf(gradient->failure, sizeof gradient->failure, "%s", error_text);
    mlx_closure_value_and_grad_free(made);
    mlx_vector_array_free(values);
    return failed;
}

static void expect_same_lists(mlx_vector_array got, mlx_vector_array want)
{
    CHECK_EQ(mlx_vector_array_size(got), mlx_vector_array_size(want));
    for (size_t i = 0; i < mlx_vector_array_size(want); i++) {
        mlx_array a = mlx_array_new(), b = mlx_array_new();
        CHECK_EQ(mlx_vector_array_get(&a, got, i) || mlx_vector_array_get(&b, want, i), 0);
        expect_same_arrays(a, b);
        mlx_array_free(a);
        mlx_array_free(b);
    }
}
#define expect_same_lists(...) CHECK_CALL(expect_same_lists, __VA_ARGS__)

static void apply_compiled(mlx_closure closure, bool shapeless, mlx_vector_array in, mlx_vector_array *out)
{
    mlx_closure compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, closure, shapeless) || mlx_closure_apply(out, compiled, in), 0);
    mlx_closure_free(compiled);
}

/* Reports whether it has a gradient. */
static bool check_program(const struct program *program, mlx_vector_array in, struct gradient gradient)
{
    struct mapped_function function = {run_program, program, 0};
    mlx_closure plain = closure_of(&function), inner = mlx_closure_new();
    mlx_vector_array want = mlx_vector_array_new(), got = mlx_vector_array_new();
    gradient.closure = plain;
    mlx_closure derivative = mlx_closure_new_func_payload(run_gradient, &gradient, NULL);
    bool has_gradient = !mlx_closure_apply(&want, derivative, in);
    if (has_gradient) {
        apply_compiled(derivative, false, in, &got);
        expect_same_lists(got, want);
        CHECK_EQ(mlx_compile(&inner, plain, false), 0);
        gradient.closure = inner;
        CHECK_EQ(mlx_closure_apply(&got, derivative, in), 0);
        expect_same_lists(got, want);
    } else {
        if (!strstr(gradient.failure, "has no gradient here") && !strstr(gradient.failure, "not differentiated"))
            CHECK_FAIL("no gradient: %s", gradient.failure);
        error_count = 0;
    }
    mlx_closure_free(derivative);
    mlx_closure_free(inner);
    mlx_closure_free(plain);
    mlx_vector_array_free(want);
    mlx_vector_array_free(got);
    return has_gradient;
}

/* Reports whether there is a program for this seed. */
static bool check_kind(const struct kind *kind, uint64_t seed)
{
    uint64_t state = seed;
    static const int sizes[] = {4, 2, 6};
    int n = sizes[torture_below(&state, 3)];
    struct program program = {.input_count = 1 + (int)torture_below(&state, MAX_INPUTS)};
    struct gradient gradient = {.count = 0};
    mlx_array inputs[MAX_INPUTS];
    CHECK_CONTEXT("%s, seed %llu", kind->name, (unsigned long long)seed);
    for (int i = 0; i < program.input_count; i++) {
        inputs[i] = random_input(&state, i, n);
        if (mlx_array_dtype(inputs[i]) != MLX_INT32) gradient.argnums[gradient.count++] = i;
    }
    mlx_vector_array in = mlx_vector_array_new_data(inputs, (size_t)program.input_count);
    bool made = make_program(&program, kind, inputs, n, &state) && check_program(&program, in, gradient);
    mlx_vector_array_free(in);
    for (int i = 0; i < program.input_count; i++) mlx_array_free(inputs[i]);
    return made;
}

static void test_every_kind_of_step(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        int wanted = kinds[i].is_rare ? 1 : 4, made = 0;
        for (int t = 0; t < TRIES && made < wanted; t++) made += check_kind(&kinds[i], (uint64_t)(i * 1000 + t));
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
