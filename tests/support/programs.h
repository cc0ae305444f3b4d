/*
 * programs.h - random functions of arrays: made from a seed, replayed as often as one likes.
 *
 * A program is a list of steps; each reads earlier values and makes one. Every shape in it can be broadcast to the
 * program's base shape, so any two values can meet. Shapes and dtypes follow the rules of scalar.h, not the library.
 * Element-wise steps are drawn from all rows of ops.def.
 */
#ifndef KILN_TESTS_SUPPORT_PROGRAMS_H
#define KILN_TESTS_SUPPORT_PROGRAMS_H

#include "support/arrays.h"
#include "support/elementwise.h"

enum { MAX_STEPS = 96, MAX_VALUES = MAX_INPUTS + MAX_STEPS };

struct step;
typedef int step_function(const struct step *step, const mlx_array *values, mlx_array *out);

struct step {
    step_function *run;
    const char *name;
    const struct operation *op;
    int in[3], in_count;
    int axis;
    bool keep;
    mlx_dtype dtype;
    struct shape shape; /* what is broadcast or reshaped to */
    struct scalar constant;
};

struct value {
    mlx_dtype dtype;
    struct shape shape;
};

struct program {
    uint64_t seed, state;
    bool elementwise; /* no other steps */
    struct shape base;
    int input_count, value_count, step_count, output_count;
    struct value values[MAX_VALUES]; /* the inputs, then what the steps make */
    struct step steps[MAX_STEPS];
    int outputs[MAX_OUTPUTS];
};

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

static int run_operation(const struct step *step, const mlx_array *values, mlx_array *out)
{
    const struct operation *op = step->op;
    return op->unary ? op->unary(out, values[step->in[0]], stream)
                     : op->binary(out, values[step->in[0]], values[step->in[1]], stream);
}

static int run_where(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_where(out, values[step->in[0]], values[step->in[1]], values[step->in[2]], stream);
}

static int run_cast(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_astype(out, values[step->in[0]], step->dtype, stream);
}

static int run_constant(const struct step *step, const mlx_array *values, mlx_array *out)
{
    char bytes[8];
    (void)values;
    scalar_store(bytes, step->constant);
    return mlx_array_set_data(out, bytes, step->shape.dims, 0, step->dtype);
}

static int run_sum(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_sum_axis(out, values[step->in[0]], step->axis, step->keep, stream);
}

/* Backwards along one axis, or with `keep` only its first element. */
static int run_slice(const struct step *step, const mlx_array *values, mlx_array *out)
{
    int start[MAX_RANK], stop[MAX_RANK], strides[MAX_RANK];
    struct shape shape = shape_of(values[step->in[0]]);
    size_t count = (size_t)shape.ndim;
    for (int i = 0; i < shape.ndim; i++) start[i] = 0, stop[i] = shape.dims[i], strides[i] = 1;
    if (step->keep)
        stop[step->axis] = 1;
    else
        start[step->axis] = shape.dims[step->axis] - 1, stop[step->axis] = -shape.dims[step->axis] - 1,
        strides[step->axis] = -1;
    return mlx_slice(out, values[step->in[0]], start, count, stop, count, strides, count, stream);
}

static int run_expand(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_expand_dims(out, values[step->in[0]], 0, stream);
}

static int run_squeeze(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_squeeze_axis(out, values[step->in[0]], 0, stream);
}

static int run_broadcast(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_broadcast_to(out, values[step->in[0]], step->shape.dims, (size_t)step->shape.ndim, stream);
}

/* Flat and back again. */
static int run_refold(const struct step *step, const mlx_array *values, mlx_array *out)
{
    const int flat[1] = {shape_size(&step->shape)};
    int code = mlx_reshape(out, values[step->in[0]], flat, 1, stream);
    return code ? code : mlx_reshape(out, *out, step->shape.dims, (size_t)step->shape.ndim, stream);
}

/* Both joined along an axis, then its last part, which is the second. */
static int run_join(const struct step *step, const mlx_array *values, mlx_array *out)
{
    int start[MAX_RANK], stop[MAX_RANK], strides[MAX_RANK];
    size_t count = (size_t)step->shape.ndim;
    const mlx_array both[2] = {values[step->in[0]], values[step->in[1]]};
    mlx_vector_array joined = mlx_vector_array_new_data(both, 2);
    int code = mlx_concatenate_axis(out, joined, step->axis, stream);
    for (int i = 0; i < step->shape.ndim; i++) start[i] = 0, stop[i] = step->shape.dims[i], strides[i] = 1;
    start[step->axis] = stop[step->axis], stop[step->axis] *= 2;
    mlx_vector_array_free(joined);
    return code ? code : mlx_slice(out, *out, start, count, stop, count, strides, count, stream);
}

/* Turned, squared, turned back. */
static int run_turn(const struct step *step, const mlx_array *values, mlx_array *out)
{
    int code = mlx_transpose(out, values[step->in[0]], stream);
    if (!code) code = mlx_square(out, *out, stream);
    return code ? code : mlx_transpose(out, *out, stream);
}

static int run_tile(const struct step *step, const mlx_array *values, mlx_array *out)
{
    int times[MAX_RANK];
    struct shape shape = shape_of(values[step->in[0]]);
    for (int i = 0; i < shape.ndim; i++) times[i] = shape.dims[i] ? step->shape.dims[i] / shape.dims[i] : 1;
    return mlx_tile(out, values[step->in[0]], times, (size_t)shape.ndim, stream);
}

static int run_norm(const struct step *step, const mlx_array *values, mlx_array *out)
{
    return mlx_fast_rms_norm(out, values[step->in[0]], mlx_array_empty, 1e-6f, stream);
}

/* ---- making -------------------------------------------------------------------------------------------------------
 */

/* Mostly what was made last, so that programs are deep. */
static inline int pick(struct program *program)
{
    int recent = program->value_count < 6 ? program->value_count : 6;
    if (one_in(&program->state, 4)) return random_below(&program->state, program->value_count);
    return program->value_count - 1 - random_below(&program->state, recent);
}

static inline void add_step(struct program *program, struct step step, mlx_dtype dtype, struct shape shape)
{
    program->steps[program->step_count++] = step;
    program->values[program->value_count++] = (struct value){dtype, shape};
}

static inline bool add_operation(struct program *program)
{
    const struct operation *op = &elementwise_rows[random_below(&program->state, ELEMENTWISE_COUNT)];
    int a = pick(program), b = pick(program);
    const struct value *va = &program->values[a], *vb = &program->values[b];
    mlx_dtype operand = operand_dtype(op, va->dtype, vb->dtype);
    if (!is_accepted(op, operand)) return false;
    struct step step = {.run = run_operation, .name = op->name, .op = op, .in = {a, b}, .in_count = op->unary ? 1 : 2};
    add_step(program, step, result_dtype(op, operand), op->unary ? va->shape : broadcast(&va->shape, &vb->shape));
    return true;
}

static inline bool add_where(struct program *program)
{
    int c = pick(program), a = pick(program), b = pick(program);
    struct shape shape = broadcast(&program->values[a].shape, &program->values[b].shape);
    struct step step = {.run = run_where, .name = "where", .in = {c, a, b}, .in_count = 3};
    add_step(program, step, promoted(program->values[a].dtype, program->values[b].dtype),
             broadcast(&shape, &program->values[c].shape));
    return true;
}

static inline bool add_cast(struct program *program)
{
    int a = pick(program);
    mlx_dtype dtype = (mlx_dtype)random_below(&program->state, DTYPE_COUNT);
    add_step(program, (struct step){.run = run_cast, .name = "astype", .in = {a}, .in_count = 1, .dtype = dtype}, dtype,
             program->values[a].shape);
    return true;
}

static inline bool add_constant(struct program *program)
{
    static const double special[] = {1.0 / 3, -0.0, 16777217, NAN, 0.0, 1.0, -1.0, 2.0, INFINITY, 0.1, 1e-40};
    mlx_dtype dtype = (mlx_dtype)random_below(&program->state, DTYPE_COUNT);
    struct scalar value = make_double(special[random_below(&program->state, sizeof special / sizeof *special)]);
    struct step step = {.run = run_constant, .name = "constant", .dtype = dtype, .constant = scalar_cast(value, dtype)};
    add_step(program, step, dtype, (struct shape){0, {0}});
    return true;
}

static inline bool add_sum(struct program *program)
{
    int a = pick(program);
    const struct value *value = &program->values[a];
    if (!value->shape.ndim) return false;
    struct step step = {.run = run_sum, .name = "sum", .in = {a}, .in_count = 1, .keep = one_in(&program->state, 2)};
    step.axis = step.keep ? random_below(&program->state, value->shape.ndim)
                          : 0; /* without its first axis a shape still fits */
    struct shape shape = {0, {0}};
    for (int i = 0; i < value->shape.ndim; i++)
        if (i != step.axis || step.keep) shape.dims[shape.ndim++] = i == step.axis ? 1 : value->shape.dims[i];
    mlx_dtype dtype = facts[value->dtype].kind >= IS_FLOAT || facts[value->dtype].size == 8 ? value->dtype
                      : facts[value->dtype].kind == IS_UNSIGNED                             ? MLX_UINT32
                                                                                            : MLX_INT32;
    add_step(program, step, dtype, shape);
    return true;
}

static inline bool add_slice(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    if (!value.shape.ndim) return false;
    struct step step = {
        .run = run_slice, .name = "slice", .in = {a}, .in_count = 1, .keep = one_in(&program->state, 3)};
    step.axis = random_below(&program->state, value.shape.ndim);
    if (step.keep && !value.shape.dims[step.axis]) return false;
    if (step.keep) value.shape.dims[step.axis] = 1;
    add_step(program, step, value.dtype, value.shape);
    return true;
}

static inline bool add_expand(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    if (value.shape.ndim >= program->base.ndim) return false;
    memmove(value.shape.dims + 1, value.shape.dims, (size_t)value.shape.ndim * sizeof(int));
    value.shape.dims[0] = 1, value.shape.ndim++;
    add_step(program, (struct step){.run = run_expand, .name = "expand_dims", .in = {a}, .in_count = 1}, value.dtype,
             value.shape);
    return true;
}

static inline bool add_squeeze(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    if (!value.shape.ndim || value.shape.dims[0] != 1) return false;
    value.shape.ndim--;
    memmove(value.shape.dims, value.shape.dims + 1, (size_t)value.shape.ndim * sizeof(int));
    add_step(program, (struct step){.run = run_squeeze, .name = "squeeze", .in = {a}, .in_count = 1}, value.dtype,
             value.shape);
    return true;
}

static inline bool add_broadcast(struct program *program)
{
    int a = pick(program);
    struct step step = {.run = run_broadcast, .name = "broadcast_to", .in = {a}, .in_count = 1, .shape = program->base};
    add_step(program, step, program->values[a].dtype, program->base);
    return true;
}

static inline bool add_refold(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    struct step step = {.run = run_refold, .name = "reshape", .in = {a}, .in_count = 1, .shape = value.shape};
    add_step(program, step, value.dtype, value.shape);
    return true;
}

static inline bool add_join(struct program *program)
{
    int a = pick(program), b = pick(program);
    struct value va = program->values[a], vb = program->values[b];
    if (!va.shape.ndim || !same_shapes(&va.shape, &vb.shape)) return false;
    struct step step = {.run = run_join, .name = "concatenate", .in = {a, b}, .in_count = 2, .shape = va.shape};
    step.axis = random_below(&program->state, va.shape.ndim);
    add_step(program, step, promoted(va.dtype, vb.dtype), va.shape);
    return true;
}

static inline bool add_turn(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    add_step(program, (struct step){.run = run_turn, .name = "transpose", .in = {a}, .in_count = 1}, value.dtype,
             value.shape);
    return true;
}

static inline bool add_tile(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    int missing = program->base.ndim - value.shape.ndim;
    for (int i = 0; i < value.shape.ndim; i++)
        if (value.shape.dims[i] == 1) value.shape.dims[i] = program->base.dims[missing + i];
    struct step step = {.run = run_tile, .name = "tile", .in = {a}, .in_count = 1, .shape = value.shape};
    add_step(program, step, value.dtype, value.shape);
    return true;
}

static inline bool add_norm(struct program *program)
{
    int a = pick(program);
    struct value value = program->values[a];
    if (!value.shape.ndim || facts[value.dtype].kind != IS_FLOAT) return false;
    add_step(program, (struct step){.run = run_norm, .name = "rms_norm", .in = {a}, .in_count = 1}, value.dtype,
             value.shape);
    return true;
}

typedef bool step_maker(struct program *program);

/* The first row is for element-wise programs too. */
static step_maker *const makers[] = {
    add_operation, add_operation, add_operation, add_operation, add_operation, add_operation, add_where,
    add_cast,      add_constant,  add_sum,       add_slice,     add_expand,    add_squeeze,   add_broadcast,
    add_refold,    add_join,      add_turn,      add_tile,      add_norm,
};
enum { ELEMENTWISE_MAKERS = 9, MAKERS = sizeof makers / sizeof *makers };

/* Some last axes of `base`, some of them of size one. */
static inline struct shape shape_within(uint64_t *state, const struct shape *base)
{
    int dropped = one_in(state, 2) ? 0 : random_below(state, base->ndim + 1);
    struct shape shape = {base->ndim - dropped, {0}};
    for (int i = 0; i < shape.ndim; i++) shape.dims[i] = one_in(state, 5) ? 1 : base->dims[dropped + i];
    return shape;
}

static inline struct shape random_shape(uint64_t *state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 16, 33};
    struct shape shape = {random_below(state, 11), {0}};
    for (int i = 0, size = 1; i < shape.ndim; i++) {
        shape.dims[i] = one_in(state, 60) ? 0 : sizes[random_below(state, shape.ndim > 4 ? 3 : 8)];
        if (size * shape.dims[i] > 3000) shape.dims[i] = 1;
        size *= shape.dims[i] ? shape.dims[i] : 1;
    }
    return shape;
}

static inline void program_make(struct program *program, uint64_t seed, int inputs, int steps, bool elementwise)
{
    memset(program, 0, sizeof *program);
    program->seed = seed;
    program->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    program->elementwise = elementwise;
    program->base = random_shape(&program->state);
    program->input_count = inputs;
    mlx_dtype favourite = (mlx_dtype)random_below(&program->state, DTYPE_COUNT);
    for (int i = 0; i < inputs; i++) {
        mlx_dtype dtype =
            one_in(&program->state, 3) ? (mlx_dtype)random_below(&program->state, DTYPE_COUNT) : favourite;
        program->values[program->value_count++] = (struct value){dtype, shape_within(&program->state, &program->base)};
    }
    if (!inputs) add_constant(program); /* something to begin with */
    while (program->step_count < steps)
        makers[random_below(&program->state, elementwise ? ELEMENTWISE_MAKERS : MAKERS)](program);
    program->outputs[program->output_count++] = program->value_count - 1;
    while (one_in(&program->state, 2) && program->output_count < 6)
        program->outputs[program->output_count++] = random_below(&program->state, program->value_count);
}

/* An array_function. */
static int program_run(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct program *program = context;
    mlx_array values[MAX_VALUES] = {{0}};
    int code = 0;
    for (int i = 0; i < input_count; i++) values[i] = inputs[i];
    for (int i = 0; i < program->step_count && !code; i++)
        code = program->steps[i].run(&program->steps[i], values, &values[input_count + i]);
    for (int i = 0; i < program->output_count && !code; i++)
        code = mlx_array_set(&outputs[i], values[program->outputs[i]]);
    for (int i = input_count; i < program->value_count; i++) mlx_array_free(values[i]);
    return code;
}

static inline void program_print(const struct program *program)
{
    fprintf(stderr, "program %llu\n", (unsigned long long)program->seed);
    for (int i = 0; i < program->value_count; i++) {
        const struct value *value = &program->values[i];
        fprintf(stderr, "  v%d: %s (", i, facts[value->dtype].name);
        for (int k = 0; k < value->shape.ndim; k++) fprintf(stderr, "%s%d", k ? "," : "", value->shape.dims[k]);
        fprintf(stderr, ")");
        if (i >= program->input_count) {
            const struct step *step = &program->steps[i - program->input_count];
            fprintf(stderr, " = %s", step->name);
            for (int k = 0; k < step->in_count; k++) fprintf(stderr, " v%d", step->in[k]);
        }
        fprintf(stderr, "\n");
    }
    fprintf(stderr, "  outputs:");
    for (int i = 0; i < program->output_count; i++) fprintf(stderr, " v%d", program->outputs[i]);
    fprintf(stderr, "\n");
}

#endif
