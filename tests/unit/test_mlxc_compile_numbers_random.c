/*
 * test_mlxc_compile_numbers_random.c - random functions: compiled gives bit for bit what uncompiled gives.
 *
 * Seeds are fixed. Each function runs plainly and three times compiled: a miss and two hits, the last one with other
 * numbers in other layouts. KILN_TEST_SEED=n runs only that one and prints it.
 */
#include "support/programs.h"

/* ---- what the programs were made of, so that a kind that no longer occurs is missed --------------------------- */

static struct {
    int dtypes[DTYPE_COUNT], ranks[MAX_RANK + 1]; /* of inputs */
    int empty, ones, backwards, turned, spread;   /* inputs with such axes, or laid out like that */
    int broadcasts;                               /* steps whose operands have other shapes than their result */
    int most_inputs;
} seen;

static void note_input(const struct value *value, enum layout layout)
{
    bool has_empty = false, has_one = false, has_many = false;
    for (int i = 0; i < value->shape.ndim; i++) {
        has_empty |= value->shape.dims[i] == 0;
        has_one |= value->shape.dims[i] == 1;
        has_many |= value->shape.dims[i] > 1;
    }
    seen.dtypes[value->dtype]++;
    seen.ranks[value->shape.ndim]++;
    seen.empty += has_empty;
    seen.ones += has_one;
    if (has_empty || !has_many) return;
    seen.backwards += layout == REVERSED;
    seen.turned += layout == TRANSPOSED && value->shape.ndim > 1;
    seen.spread += layout == SPREAD;
}

static void note_steps(const struct program *program)
{
    if (program->input_count > seen.most_inputs) seen.most_inputs = program->input_count;
    for (int i = 0; i < program->step_count; i++) {
        const struct step *step = &program->steps[i];
        const struct shape *result = &program->values[program->input_count + i].shape;
        for (int k = 0; k < step->in_count && step->op; k++)
            seen.broadcasts += !same_shapes(&program->values[step->in[k]].shape, result);
    }
}

static void make_inputs(const struct program *program, uint64_t seed, mlx_array *arrays, bool views)
{
    uint64_t state = seed * 7919 + 13;
    for (int i = 0; i < program->input_count; i++) {
        const struct value *value = &program->values[i];
        struct numbers numbers = numbers_filled(value->dtype, &value->shape, random_value, &state);
        enum layout layout = views && one_in(&state, 3) ? (enum layout)random_below(&state, LAYOUT_COUNT) : PACKED;
        arrays[i] = make_array(&numbers, layout);
        note_input(value, layout);
        numbers_free(&numbers);
    }
}
#define make_inputs(...) CHECK_CALL(make_inputs, __VA_ARGS__)

static void compare_run(const struct program *program, mlx_closure compiled, const mlx_array *inputs, const char *what)
{
    mlx_array plain[MAX_OUTPUTS] = {{0}}, results[MAX_OUTPUTS];
    expect_ok(program_run(inputs, program->input_count, plain, program), what);
    apply_compiled(compiled, inputs, program->input_count, results, program->output_count, what);
    for (int i = 0; i < program->output_count; i++) {
        char text[160];
        const struct value *value = &program->values[program->outputs[i]];
        struct numbers want = read_array(plain[i]), got = read_array(results[i]);
        snprintf(text, sizeof text, "seed %llu, %s, output %d (v%d)", (unsigned long long)program->seed, what, i,
                 program->outputs[i]);
        if (!program->elementwise && (want.dtype != value->dtype || !same_shapes(&want.shape, &value->shape)))
            CHECK_FAIL("%s: the uncompiled result has the wrong dtype or shape", text);
        expect_same_bits(&got, &want, text);
        numbers_free(&want), numbers_free(&got);
        mlx_array_free(plain[i]), mlx_array_free(results[i]);
    }
}
#define compare_run(...) CHECK_CALL(compare_run, __VA_ARGS__)

static const char *only_seed(void)
{
    return getenv("KILN_TEST_SEED");
}

static void check_program(uint64_t seed, int inputs, int steps)
{
    static struct program program;
    mlx_array arrays[MAX_INPUTS], others[MAX_INPUTS];
    if (only_seed() && strtoull(only_seed(), NULL, 10) != seed) return;
    program_make(&program, seed, inputs, steps, seed % 3 == 0);
    if (only_seed()) program_print(&program);
    struct traced_call call = {program_run, &program, program.output_count, 0};
    mlx_closure compiled = compile_call(&call, false);
    note_steps(&program);
    make_inputs(&program, seed, arrays, true);
    make_inputs(&program, seed + 1000, others, seed % 5 == 0);
    compare_run(&program, compiled, arrays, "miss");
    compare_run(&program, compiled, arrays, "hit");
    compare_run(&program, compiled, others, "hit with other numbers");
    CHECK_EQ(call.calls, 1);
    for (int i = 0; i < inputs; i++) mlx_array_free(arrays[i]), mlx_array_free(others[i]);
    mlx_closure_free(compiled);
}
#define check_program(...) CHECK_CALL(check_program, __VA_ARGS__)

static void test_short_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) check_program(seed, (int)(seed % 4), 3 + (int)(seed % 9));
}

static void test_longer_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed <= 260; seed++) check_program(seed, 1 + (int)(seed % 5), 12 + (int)(seed % 14));
}

static void test_deep_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 301; seed <= 312; seed++) check_program(seed, 1 + (int)(seed % 6), 60);
}

static void test_many_inputs(void **state)
{
    (void)state;
    for (uint64_t seed = 401; seed <= 412; seed++) check_program(seed, 10 + (int)(seed * 7 % 55), 40);
    for (uint64_t seed = 413; seed <= 418; seed++) check_program(seed, 64, 90);
}

/* ---- shapeless ----------------------------------------------------------------------------------------------------
 */

/* The same ranks, other sizes: base gets new dims, inputs keep their axes of size one or lose them. */
static void other_shapes(struct program *program, const struct program *original, uint64_t seed)
{
    uint64_t state = seed * 104729 + 7;
    *program = *original;
    for (int i = 0; i < program->base.ndim; i++)
        program->base.dims[i] = one_in(&state, 9) ? 0 : 1 + random_below(&state, program->base.ndim > 4 ? 3 : 9);
    for (int i = 0; i < program->input_count; i++) {
        struct shape *shape = &program->values[i].shape;
        int missing = program->base.ndim - shape->ndim;
        for (int k = 0; k < shape->ndim; k++) shape->dims[k] = one_in(&state, 4) ? 1 : program->base.dims[missing + k];
    }
}

static void check_shapeless(uint64_t seed)
{
    static struct program program, other;
    if (only_seed() && strtoull(only_seed(), NULL, 10) != seed) return;
    program_make(&program, seed, 1 + (int)(seed % 5), 4 + (int)(seed % 17), true);
    if (only_seed()) program_print(&program);
    struct traced_call call = {program_run, &program, program.output_count, 0};
    mlx_closure compiled = compile_call(&call, true);
    for (uint64_t k = 0; k < 4; k++) {
        mlx_array arrays[MAX_INPUTS];
        other = program;
        if (k) other_shapes(&other, &program, seed + 10 * k);
        make_inputs(&other, seed + k, arrays, k == 2);
        compare_run(&other, compiled, arrays, k ? "another shape" : "first shape");
        for (int i = 0; i < other.input_count; i++) mlx_array_free(arrays[i]);
    }
    CHECK_EQ(call.calls, 1);
    mlx_closure_free(compiled);
}

static void test_shapeless_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 501; seed <= 540; seed++) check_shapeless(seed);
}

/* The last test: whether the others were about everything they are for. */
static void test_every_kind_occurred(void **state)
{
    (void)state;
    if (only_seed()) return;
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (seen.dtypes[i] < 10) CHECK_FAIL("%s: only %d inputs", facts[i].name, seen.dtypes[i]);
    for (int i = 0; i <= 10; i++)
        if (seen.ranks[i] < 10) CHECK_FAIL("%d axes: only %d inputs", i, seen.ranks[i]);
    CHECK_TRUE(seen.empty >= 10 && seen.ones >= 10);
    CHECK_TRUE(seen.backwards >= 10 && seen.turned >= 10 && seen.spread >= 10);
    CHECK_GE(seen.broadcasts, 100);
    CHECK_EQ(seen.most_inputs, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_short_programs, set_up),     cmocka_unit_test_setup(test_longer_programs, set_up),
        cmocka_unit_test_setup(test_deep_programs, set_up),      cmocka_unit_test_setup(test_many_inputs, set_up),
        cmocka_unit_test_setup(test_shapeless_programs, set_up), cmocka_unit_test(test_every_kind_occurred),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
