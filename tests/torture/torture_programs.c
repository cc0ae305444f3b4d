/*
 * torture_programs.c - random programs of array operations, computed in ways that share no storage and in ways that
 * share all they can; every way gives the same bits.
 *
 * Step by step, with every handle kept and every value evaluated, nothing can be reused: that gives what is expected.
 * Then the program runs lazily with handles dropped as early as they can be, and compiled with inputs that nobody else
 * holds, that somebody holds, that are donated, and that are views of something. Most axes of a program have one size,
 * and inputs lack axes, because storage fits where sizes coincide. A value that is still held must be what it was,
 * whatever was computed meanwhile; so held values and inputs are compared as well.
 *
 * A round is many programs. One that fails is printed with its seed; --attack NAME --seed N --here repeats its round,
 * and KILN_TEST_PROGRAM=N its program alone.
 */
#include "kiln/compile.h"
#include "support/steps.h"

#include <unistd.h>

enum { MAX_INPUTS = 4, MAX_STEPS = 14, MAX_VALUES = MAX_INPUTS + MAX_STEPS, MAX_OUTPUTS = 4 };

enum { PROGRAMS = 1000, USUAL_PROGRAMS = 100, GPU_PROGRAMS = 60, FAILURES_SHOWN = 3, TRIES = 10 };

struct expected {
    mlx_dtype dtype;
    int ndim, shape[MAX_AXES + 2];
    size_t size, item;
    unsigned char *bytes; /* packed */
};

struct program {
    uint64_t seed;
    mlx_stream stream;
    const struct kind *wanted; /* tried for some time, before others, in every step until there is one */
    bool has_rare;             /* steps of every kind */
    int n, input_count, step_count, output_count;
    struct step steps[MAX_STEPS];
    int outputs[MAX_OUTPUTS], last_use[MAX_VALUES];
    bool is_output[MAX_VALUES];
    struct expected values[MAX_VALUES]; /* the inputs, then what steps make */
};

static struct {
    long programs, compared, wrong, wrong_programs;
    uint64_t last_wrong; /* seed of the program that was wrong last */
    long steps[KINDS];
} tally;

static long refusals;

static void count_refusal(const char *text, void *data)
{
    (void)data;
    refusals++;
    if (getenv("KILN_TEST_REFUSALS")) fprintf(stderr, "%s\n", text);
}

/* ---- reading and comparing ------------------------------------------------------------------------------------------
 */

/* All NaNs are one: which it is, is open while a value is computed. */
static bool is_same_element(mlx_dtype dtype, const unsigned char *a, const unsigned char *b, size_t item)
{
    uint16_t half[2];
    float single[4];
    double twofold[2];
    if (!memcmp(a, b, item)) return true;
    switch (dtype) {
    case MLX_FLOAT16:
    case MLX_BFLOAT16:
        memcpy(&half[0], a, 2), memcpy(&half[1], b, 2);
        return (half[0] & 0x7fff) > (dtype == MLX_FLOAT16 ? 0x7c00 : 0x7f80) &&
               (half[1] & 0x7fff) > (dtype == MLX_FLOAT16 ? 0x7c00 : 0x7f80);
    case MLX_FLOAT32:
        memcpy(&single[0], a, 4), memcpy(&single[1], b, 4);
        return single[0] != single[0] && single[1] != single[1];
    case MLX_FLOAT64:
        memcpy(&twofold[0], a, 8), memcpy(&twofold[1], b, 8);
        return twofold[0] != twofold[0] && twofold[1] != twofold[1];
    case MLX_COMPLEX64:
        return is_same_element(MLX_FLOAT32, a, b, 4) && is_same_element(MLX_FLOAT32, a + 4, b + 4, 4);
    default:
        return false;
    }
}

static void read_value(mlx_array array, struct expected *out, mlx_stream stream)
{
    mlx_array packed = mlx_array_new();
    int code = mlx_contiguous(&packed, array, false, stream) || mlx_array_eval(packed);
    TORTURE_REQUIRE(!code, "a value can't be read");
    *out = (struct expected){.dtype = mlx_array_dtype(array), .ndim = axes_of(array)};
    memcpy(out->shape, mlx_array_shape(array), (size_t)out->ndim * sizeof *out->shape);
    out->size = mlx_array_size(array), out->item = mlx_array_itemsize(array);
    out->bytes = malloc(out->size * out->item + 1);
    if (out->size) memcpy(out->bytes, mlx_array_data_uint8(packed), out->size * out->item);
    mlx_array_free(packed);
}

/* The first element that differs; -1: none does. -2: they are of another dtype or shape. */
static long find_difference(const struct expected *got, const struct expected *want)
{
    if (got->dtype != want->dtype || got->ndim != want->ndim ||
        memcmp(got->shape, want->shape, (size_t)got->ndim * sizeof *got->shape))
        return -2;
    for (size_t i = 0; i < want->size; i++)
        if (!is_same_element(want->dtype, got->bytes + i * got->item, want->bytes + i * want->item, want->item))
            return (long)i;
    return -1;
}

/* ---- for people -----------------------------------------------------------------------------------------------------
 */

static const char *const dtype_names[] = {"bool",  "uint8", "uint16",  "uint32",  "uint64",  "int8",     "int16",
                                          "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"};

static void print_type(const struct expected *value)
{
    fprintf(stderr, "%s [", dtype_names[value->dtype]);
    for (int i = 0; i < value->ndim; i++) fprintf(stderr, "%s%d", i ? "," : "", value->shape[i]);
    fprintf(stderr, "]");
}

static void print_program(const struct program *program)
{
    fprintf(stderr, "program %llu, sizes of %d:\n", (unsigned long long)program->seed, program->n);
    for (int i = 0; i < program->input_count + program->step_count; i++) {
        const struct step *step = i < program->input_count ? NULL : &program->steps[i - program->input_count];
        fprintf(stderr, "  v%d = %s", i, step ? step->kind->name : "input");
        for (int k = 0; step && k < step->kind->arity; k++) fprintf(stderr, "%sv%d", k ? ", " : "(", step->in[k]);
        for (int k = 0; step && k < step->number_count; k++) fprintf(stderr, "%s%d", k ? " " : "; ", step->numbers[k]);
        fprintf(stderr, "%s: ", step ? ")" : "");
        print_type(&program->values[i]);
        fprintf(stderr, "%s\n", program->is_output[i] ? ", output" : "");
    }
}

static void print_element(const struct expected *value, long at)
{
    float number;
    const unsigned char *bytes = value->bytes + (size_t)at * value->item;
    for (size_t i = value->item; i-- > 0;) fprintf(stderr, "%02x", bytes[i]);
    if (value->dtype == MLX_FLOAT32) memcpy(&number, bytes, 4), fprintf(stderr, " (%g)", (double)number);
}

/* A program is printed once, and so is the first way in which it was wrong. */
static void report(const struct program *program, const char *way, int value, const struct expected *got, long at)
{
    tally.wrong++;
    if (tally.last_wrong == program->seed) return;
    tally.last_wrong = program->seed;
    if (tally.wrong_programs++ >= FAILURES_SHOWN) return;
    print_program(program);
    fprintf(stderr, "%s: v%d ", way, value);
    if (at < 0) {
        fprintf(stderr, "is ");
        print_type(got);
    } else {
        fprintf(stderr, "differs at element %ld: ", at);
        print_element(got, at);
        fprintf(stderr, ", step by step it is ");
        print_element(&program->values[value], at);
    }
    fprintf(stderr, "\n");
}

static void compare(const struct program *program, const char *way, int value, mlx_array array)
{
    struct expected got;
    read_value(array, &got, program->stream);
    long at = find_difference(&got, &program->values[value]);
    tally.compared++;
    if (at != -1) report(program, way, value, &got, at);
    free(got.bytes);
}

/* ---- inputs ---------------------------------------------------------------------------------------------------------
 */

/* One to three axes, most of them of `n`, some of one element, seldom of another size. */
static void choose_input(uint64_t *state, const struct program *program, struct expected *out)
{
    static const mlx_dtype dtypes[] = {MLX_INT32,   MLX_UINT8,   MLX_BOOL,    MLX_FLOAT16, MLX_BFLOAT16, MLX_FLOAT32,
                                       MLX_FLOAT32, MLX_FLOAT32, MLX_FLOAT32, MLX_FLOAT32, MLX_FLOAT32,  MLX_FLOAT32};
    static const int ranks[] = {1, 1, 1, 2, 2, 2, 2, 3, 3, 0};
    out->dtype = dtypes[torture_below(state, program->has_rare ? 6 : sizeof dtypes / sizeof *dtypes)];
    out->ndim = ranks[torture_below(state, sizeof ranks / sizeof *ranks)];
    if (program->n > 16 && out->ndim > 2) out->ndim = 2;
    out->size = 1;
    for (int i = 0; i < out->ndim; i++) {
        uint64_t way = torture_below(state, 16);
        out->shape[i] = way == 0 ? 1 : way == 1 ? 2 + (int)torture_below(state, 4) : program->n;
        out->size *= (size_t)out->shape[i];
    }
}

/* Whole and broken numbers around zero, seldom one that is none. */
static float random_number(uint64_t *state)
{
    static const float special[] = {0, -0.0f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""), 1e-30f, 1e30f};
    uint64_t way = torture_below(state, 64);
    if (way < 2) return special[torture_below(state, sizeof special / sizeof *special)];
    return (float)((int)torture_below(state, 129) - 64) / 16;
}

/* As float32, then in the dtype that is wanted; `shape` may be that of the input, turned. */
static mlx_array from_numbers(const float *numbers, const int *shape, int ndim, mlx_dtype dtype, mlx_stream stream)
{
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    int code = mlx_astype(&out, plain, dtype, stream) || mlx_array_eval(out);
    TORTURE_REQUIRE(!code, "an input can't be made");
    mlx_array_free(plain);
    return out;
}

enum way_of_input { READY, LAZY, TURNED, MIDDLE, WAYS_OF_INPUT };

/* A result that is not there yet, and that nobody but its readers will hold. */
static mlx_array make_lazy(mlx_array ready, mlx_stream stream)
{
    mlx_array yes = mlx_array_new_bool(true), out = mlx_array_new();
    int code = mlx_where(&out, yes, ready, ready, stream);
    TORTURE_REQUIRE(!code, "an input can't be copied");
    mlx_array_free(yes), mlx_array_free(ready);
    return out;
}

/* The transpose of what lies turned. */
static mlx_array make_turned(mlx_array ready, mlx_stream stream)
{
    mlx_array out = mlx_array_new();
    int code = mlx_transpose(&out, ready, stream) || mlx_contiguous(&out, out, false, stream) ||
               mlx_transpose(&out, out, stream);
    TORTURE_REQUIRE(!code, "an input can't be turned");
    mlx_array_free(ready);
    return out;
}

/* The middle of something larger. */
static mlx_array make_middle(mlx_array ready, mlx_stream stream)
{
    int start[MAX_AXES], stop[MAX_AXES], stride[MAX_AXES], count = axes_of(ready);
    mlx_array zero = mlx_array_new_float(0), out = mlx_array_new();
    for (int i = 0; i < count; i++) start[i] = 1, stop[i] = 1 + size_of(ready, i), stride[i] = 1;
    int code = mlx_pad_symmetric(&out, ready, 1, zero, "constant", stream) ||
               mlx_slice(&out, out, start, (size_t)count, stop, (size_t)count, stride, (size_t)count, stream);
    TORTURE_REQUIRE(!code, "an input can't be cut out");
    mlx_array_free(zero), mlx_array_free(ready);
    return out;
}

static mlx_array make_input(const struct program *program, int index, enum way_of_input way)
{
    const struct expected *value = &program->values[index];
    uint64_t state = program->seed * 31 + (uint64_t)index;
    float *numbers = malloc((value->size + 1) * sizeof *numbers);
    for (size_t i = 0; i < value->size; i++) numbers[i] = random_number(&state);
    mlx_array out = from_numbers(numbers, value->shape, value->ndim, value->dtype, program->stream);
    free(numbers);
    if (way == LAZY) return make_lazy(out, program->stream);
    if (way == TURNED) return make_turned(out, program->stream);
    if (way == MIDDLE && value->ndim) return make_middle(out, program->stream);
    return out;
}

/* ---- step by step: what is expected ---------------------------------------------------------------------------------
 */

/* Mostly one that nobody has read yet, so that little of a program is dead; else any. */
static int pick(uint64_t *state, const struct program *program, int count)
{
    int value = (int)torture_below(state, (uint64_t)count);
    for (int tries = 0; tries < 4 && program->last_use[value]; tries++)
        value = (int)torture_below(state, (uint64_t)count);
    return value;
}

/* First mostly what was made last. Of a pair mostly two of other ranks, so that one is repeated. */
static void choose_operands(uint64_t *state, const struct program *program, const mlx_array *values, int count,
                            struct step *step, mlx_array *in)
{
    for (int i = 0; i < 3; i++) step->in[i] = pick(state, program, count);
    if (torture_below(state, 3)) step->in[0] = count - 1;
    for (int tries = 0; tries < 3 && axes_of(values[step->in[0]]) == axes_of(values[step->in[1]]); tries++)
        step->in[1] = pick(state, program, count);
    for (int i = 0; i < 3; i++) in[i] = values[step->in[i]];
}

static bool is_too_large(mlx_array array)
{
    return axes_of(array) > MAX_AXES || mlx_array_size(array) > MAX_ELEMENTS;
}

static bool try_step(uint64_t *state, const struct program *program, const struct kind *kind, const mlx_array *values,
                     int count, struct step *step, mlx_array *out)
{
    mlx_array in[3];
    *step =
        (struct step){.kind = kind ? kind : random_kind(state, program->has_rare), .seed = torture_next(state) >> 1};
    choose_operands(state, program, values, count, step, in);
    const struct choice choice = {.state = state, .n = program->n, .in = in};
    if (step->kind->choose && !step->kind->choose(&choice, step)) return false;
    if (step->kind->run(step, in, out, program->stream) || is_too_large(*out)) return false;
    return !mlx_array_eval(*out);
}

static void add_step(uint64_t *state, struct program *program, mlx_array *values)
{
    int count = program->input_count + program->step_count;
    struct step *step = &program->steps[program->step_count];
    mlx_array out = mlx_array_new();
    for (int tries = 0;; tries++) {
        const struct kind *kind = tries < TRIES ? program->wanted : NULL;
        if (try_step(state, program, kind, values, count, step, &out)) break;
        mlx_array_free(out), out = mlx_array_new();
    }
    if (step->kind == program->wanted) program->wanted = NULL;
    values[count] = out;
    read_value(out, &program->values[count], program->stream);
    for (int i = 0; i < step->kind->arity; i++) program->last_use[step->in[i]] = count;
    tally.steps[step->kind - kinds]++;
    program->step_count++;
}

static void choose_outputs(uint64_t *state, struct program *program)
{
    int count = program->input_count + program->step_count;
    int wanted = 1 + (int)torture_below(state, MAX_OUTPUTS);
    for (int i = 0; i < wanted; i++) {
        int value = i ? program->input_count + (int)torture_below(state, (uint64_t)program->step_count) : count - 1;
        if (program->is_output[value]) continue;
        program->is_output[value] = true;
        program->outputs[program->output_count++] = value;
    }
}

/* On a GPU a block has four rows, which the emulator computes side by side: storage shows from the fifth on. */
static int choose_size(uint64_t *state, bool on_gpu)
{
    static const int sizes[] = {2, 2, 3, 3, 4, 4, 4, 5, 7, 8, 8, 16, 17, 33, 64, 100, 256},
                     more[] = {2, 3, 4, 5, 5, 7, 8, 16};
    return on_gpu ? more[torture_below(state, sizeof more / sizeof *more)]
                  : sizes[torture_below(state, sizeof sizes / sizeof *sizes)];
}

static void make_program(struct program *program, uint64_t seed, mlx_stream stream, bool on_gpu)
{
    uint64_t state = seed;
    mlx_array values[MAX_VALUES];
    memset(program, 0, sizeof *program);
    program->seed = seed;
    program->stream = stream;
    program->n = choose_size(&state, on_gpu);
    program->wanted = &kinds[seed % KINDS];
    program->has_rare = program->wanted->is_rare && torture_below(&state, 2);
    program->input_count = 1 + (int)torture_below(&state, MAX_INPUTS);
    for (int i = 0; i < program->input_count; i++) {
        choose_input(&state, program, &program->values[i]);
        values[i] = make_input(program, i, READY);
        read_value(values[i], &program->values[i], stream);
    }
    for (int steps = 2 + (int)torture_below(&state, MAX_STEPS - 2); steps > 0; steps--)
        add_step(&state, program, values);
    choose_outputs(&state, program);
    for (int i = 0; i < program->input_count + program->step_count; i++) mlx_array_free(values[i]);
}

static void release_program(struct program *program)
{
    for (int i = 0; i < program->input_count + program->step_count; i++) free(program->values[i].bytes);
}

/* ---- lazily ---------------------------------------------------------------------------------------------------------
 */

static void drop(mlx_array *array)
{
    if (array->ctx) mlx_array_free(*array);
    *array = mlx_array_empty;
}

/* Runs all steps; of the values only outputs stay, and those that are `held`. */
static int run_steps(const struct program *program, mlx_array *values, const bool *held, uint64_t *state)
{
    int code = 0;
    for (int i = 0; i < program->step_count && !code; i++) {
        const struct step *step = &program->steps[i];
        int made = program->input_count + i;
        mlx_array in[3] = {mlx_array_empty, mlx_array_empty, mlx_array_empty};
        for (int k = 0; k < step->kind->arity; k++) in[k] = values[step->in[k]];
        values[made] = mlx_array_new();
        code = step->kind->run(step, in, &values[made], program->stream);
        if (state && !code && torture_below(state, 8) == 0) code = mlx_array_eval(values[made]);
        for (int k = 0; k <= made; k++)
            if (program->last_use[k] <= made && !program->is_output[k] && !held[k]) drop(&values[k]);
    }
    return code;
}

/* At once, one after the other, or in the background. */
static int evaluate(const mlx_array *arrays, int count, uint64_t *state)
{
    uint64_t way = torture_below(state, 3);
    int code = 0;
    mlx_vector_array all = mlx_vector_array_new_data(arrays, (size_t)count);
    if (way < 2) code = way ? mlx_eval(all) : mlx_async_eval(all);
    mlx_vector_array_free(all);
    for (int i = 0; i < count && !code; i++) code = mlx_array_eval(arrays[i]);
    return code;
}

static void run_lazily(const struct program *program, uint64_t seed)
{
    uint64_t state = seed;
    mlx_array values[MAX_VALUES] = {{0}}, outputs[MAX_OUTPUTS];
    bool held[MAX_VALUES] = {false};
    for (int i = 0; i < program->input_count; i++)
        values[i] = make_input(program, i, (enum way_of_input)torture_below(&state, WAYS_OF_INPUT));
    for (int i = 0; i < program->input_count + program->step_count; i++) held[i] = torture_below(&state, 6) == 0;
    int code = run_steps(program, values, held, torture_below(&state, 2) ? &state : NULL);
    for (int i = 0; i < program->output_count; i++) outputs[i] = values[program->outputs[i]];
    if (!code) code = evaluate(outputs, program->output_count, &state);
    TORTURE_REQUIRE(!code, "program %llu fails lazily", (unsigned long long)program->seed);
    for (int i = 0; i < program->input_count + program->step_count; i++) {
        if (values[i].ctx) compare(program, "lazily", i, values[i]);
        drop(&values[i]);
    }
}

/* ---- compiled -------------------------------------------------------------------------------------------------------
 */

static int body(mlx_vector_array *out, const mlx_vector_array in, void *payload)
{
    const struct program *program = payload;
    const bool held[MAX_VALUES] = {false};
    mlx_array values[MAX_VALUES] = {{0}}, outputs[MAX_OUTPUTS];
    int code = 0;
    for (int i = 0; i < program->input_count; i++) code |= mlx_vector_array_get(&values[i], in, (size_t)i);
    if (!code) code = run_steps(program, values, held, NULL);
    for (int i = 0; i < program->output_count; i++) outputs[i] = values[program->outputs[i]];
    if (!code) code = mlx_vector_array_set_data(out, outputs, (size_t)program->output_count);
    for (int i = 0; i < program->input_count + program->step_count; i++) drop(&values[i]);
    return code;
}

static void call(const struct program *program, mlx_closure compiled, const char *how, bool hold, uint64_t *state)
{
    mlx_array inputs[MAX_INPUTS], outputs[MAX_OUTPUTS] = {{0}};
    for (int i = 0; i < program->input_count; i++)
        inputs[i] = make_input(
            program, i, hold ? READY : (enum way_of_input)(LAZY + torture_below(state, 2) * torture_below(state, 3)));
    mlx_vector_array in = mlx_vector_array_new_data(inputs, (size_t)program->input_count), out = mlx_vector_array_new();
    for (int i = 0; i < program->input_count && !hold; i++) drop(&inputs[i]);
    int code = mlx_closure_apply(&out, compiled, in);
    mlx_vector_array_free(in);
    for (int i = 0; i < program->output_count && !code; i++) code = mlx_vector_array_get(&outputs[i], out, (size_t)i);
    mlx_vector_array_free(out);
    if (!code) code = evaluate(outputs, program->output_count, state);
    TORTURE_REQUIRE(!code, "program %llu fails compiled", (unsigned long long)program->seed);
    for (int i = 0; i < program->output_count; i++) {
        compare(program, how, program->outputs[i], outputs[i]);
        drop(&outputs[i]);
    }
    for (int i = 0; i < program->input_count && hold; i++) {
        compare(program, how, i, inputs[i]);
        drop(&inputs[i]);
    }
}

/* Some inputs are donated, and some of those are referred to by another handle; all that is still there is compared. */
static void donate(const struct program *program, mlx_closure compiled, const char *how, uint64_t *state)
{
    mlx_array inputs[MAX_INPUTS], others[MAX_INPUTS] = {{0}}, outputs[MAX_OUTPUTS] = {{0}};
    bool is_donated[MAX_INPUTS];
    mlx_vector_array out = mlx_vector_array_new();
    for (int i = 0; i < program->input_count; i++) {
        inputs[i] = make_input(program, i, (enum way_of_input)torture_below(state, WAYS_OF_INPUT));
        is_donated[i] = torture_below(state, 3);
        if (torture_below(state, 4) == 0) mlx_array_set(&others[i], inputs[i]);
    }
    int code = kiln_call_donating(&out, compiled, inputs, (size_t)program->input_count, is_donated);
    for (int i = 0; i < program->output_count && !code; i++) code = mlx_vector_array_get(&outputs[i], out, (size_t)i);
    mlx_vector_array_free(out);
    if (!code) code = evaluate(outputs, program->output_count, state);
    TORTURE_REQUIRE(!code, "program %llu fails compiled", (unsigned long long)program->seed);
    for (int i = 0; i < program->output_count; i++) {
        compare(program, how, program->outputs[i], outputs[i]);
        drop(&outputs[i]);
    }
    for (int i = 0; i < program->input_count; i++) {
        if (!is_donated[i]) compare(program, how, i, inputs[i]);
        if (others[i].ctx) compare(program, how, i, others[i]);
        drop(&inputs[i]), drop(&others[i]);
    }
}

static void run_compiled(struct program *program, uint64_t seed)
{
    uint64_t state = seed;
    mlx_closure plain = mlx_closure_new_func_payload(body, program, NULL), compiled = mlx_closure_new();
    TORTURE_REQUIRE(!mlx_compile(&compiled, plain, false), "program %llu", (unsigned long long)program->seed);
    call(program, compiled, "compiled, inputs of nobody else's", false, &state);
    call(program, compiled, "compiled, inputs that are held", true, &state);
    call(program, compiled, "compiled, inputs of nobody else's, again", false, &state);
    donate(program, compiled, "compiled, inputs that are donated", &state);
    donate(program, compiled, "compiled, inputs that are donated, again", &state);
    mlx_closure_free(compiled), mlx_closure_free(plain);
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------
 */

static void check_program(uint64_t seed, mlx_stream stream, bool on_gpu)
{
    static struct program program;
    make_program(&program, seed, stream, on_gpu);
    if (getenv("KILN_TEST_PROGRAM")) print_program(&program);
    tally.programs++;
    run_lazily(&program, seed ^ 1);
    run_lazily(&program, seed ^ 2);
    run_compiled(&program, seed ^ 3);
    release_program(&program);
}

/* Has every kind of step occurred? Else nothing was said about it. */
static void check_coverage(void)
{
    for (int i = 0; i < KINDS; i++) TORTURE_REQUIRE(tally.steps[i], "no program has a step %s", kinds[i].name);
}

static int run_programs(uint64_t seed, int count, mlx_stream stream, bool on_gpu)
{
    const char *only = getenv("KILN_TEST_PROGRAM");
    check_kinds();
    mlx_set_error_handler(count_refusal, NULL, NULL);
    if (only)
        check_program(strtoull(only, NULL, 10), stream, on_gpu);
    else
        for (int i = 0; i < count; i++) check_program(seed * 1000003 + (uint64_t)i, stream, on_gpu);
    fprintf(stderr, "%ld programs, %ld values compared, %ld wrong, in %ld programs\n", tally.programs, tally.compared,
            tally.wrong, tally.wrong_programs);
    if (!only && count == PROGRAMS) check_coverage();
    mlx_stream_free(stream);
    return tally.wrong != 0;
}

/* Most of the time goes to compiling: few programs with kernels as they are usually compiled, many with quick ones. */
static int round_on_cpu(uint64_t seed)
{
    bool is_usual = seed % 3 == 0;
    if (!is_usual) setenv("KILN_OPT_LEVEL", "0", 1);
    return run_programs(seed, is_usual ? USUAL_PROGRAMS : PROGRAMS, mlx_default_cpu_stream_new(), false);
}

static int round_on_gpu(uint64_t seed)
{
    setenv("KILN_OPT_LEVEL", "0", 1);
    return run_programs(seed, GPU_PROGRAMS, mlx_default_gpu_stream_new(), true);
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {"programs_on_cpu", round_on_cpu, 120, 0},
        {"programs_on_gpu", round_on_gpu, 120, 0},
    };
    torture_use_emulated_driver(argv);
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
