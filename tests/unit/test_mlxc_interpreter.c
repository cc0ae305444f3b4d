/*
 * test_mlxc_interpreter.c - random graphs against an interpreter that computes one element after the other.
 *
 * The interpreter is plain C and shares nothing with the library: each kind of step below says how it is made, how the
 * library is asked for it, and what it means. What is exact is compared exactly. Where an operation is allowed a few
 * ulps, its result is also an output of the graph: it is checked against the interpreter's operands, and the
 * interpreter goes on with the library's value, so that errors do not add up. Seeds are fixed; KILN_TEST_SEED=n runs
 * one and prints it.
 */
#include "support/arrays.h"

enum { INPUTS = 4, STEPS = 24, VALUES = INPUTS + STEPS, LARGEST = 600, LONGEST = 8, LANES = 16 };

struct value {
    mlx_dtype dtype;
    struct shape shape;
};

struct step {
    const struct step_kind *kind;
    int in[3], axis;
    bool keepdims;
    int which;                                         /* of the operations or reductions */
    int start[MAX_RANK], stop[MAX_RANK], by[MAX_RANK]; /* slice; start: the order of a transpose too */
    int picks[LONGEST], pick_count;                    /* take */
    struct value result;
};

struct graph {
    uint64_t seed, state;
    int input_count, step_count, output_count;
    struct value values[VALUES]; /* inputs, then one for each step */
    struct step steps[STEPS];
    int outputs[MAX_OUTPUTS];
};

static const struct value *input_of(const struct graph *graph, const struct step *step, int i)
{
    return &graph->values[step->in[i]];
}

/* A value to begin a step with: most often a recent one. */
static int pick(struct graph *graph)
{
    int count = graph->input_count + graph->step_count, recent = count < 5 ? count : 5;
    return one_in(&graph->state, 3) ? random_below(&graph->state, count)
                                    : count - 1 - random_below(&graph->state, recent);
}

static bool can_broadcast(const struct shape *a, const struct shape *b)
{
    for (int i = 1; i <= a->ndim && i <= b->ndim; i++) {
        int m = a->dims[a->ndim - i], n = b->dims[b->ndim - i];
        if (m != n && m != 1 && n != 1) return false;
    }
    return true;
}

/* ---- element-wise -------------------------------------------------------------------------------------------------
 */

static bool is_rounded(const struct operation *op, mlx_dtype operand)
{
    return is_function(op, operand) || (operand == MLX_COMPLEX64 && op->exact == exact_abs);
}

static mlx_dtype operands_of(const struct graph *graph, const struct step *step)
{
    return operand_dtype(&operations[step->which], input_of(graph, step, 0)->dtype, input_of(graph, step, 1)->dtype);
}

static bool make_elementwise(struct graph *graph, struct step *step)
{
    step->which = random_below(&graph->state, OPERATION_COUNT);
    const struct operation *op = &operations[step->which];
    step->in[0] = pick(graph), step->in[1] = op->binary ? pick(graph) : step->in[0];
    const struct shape *a = &input_of(graph, step, 0)->shape, *b = &input_of(graph, step, 1)->shape;
    mlx_dtype operand = operands_of(graph, step);
    if (!can_broadcast(a, b) || !is_accepted(op, operand)) return false;
    if (is_rounded(op, operand)) {
        if (graph->output_count == MAX_OUTPUTS - 1) return false; /* the last is for the result */
        graph->outputs[graph->output_count++] = graph->input_count + graph->step_count;
    }
    step->result = (struct value){result_dtype(op, operand), broadcast(a, b)};
    return true;
}

static int call_elementwise(const struct step *step, const mlx_array *values, mlx_array *res)
{
    const struct operation *op = &operations[step->which];
    return op->unary ? op->unary(res, values[step->in[0]], stream)
                     : op->binary(res, values[step->in[0]], values[step->in[1]], stream);
}

/* Operand i of element `at` of the result, in its own dtype. */
static struct scalar operand(const struct step *step, const struct numbers *values, int i, int at)
{
    int index[MAX_RANK];
    unravel(at, &step->result.shape, index);
    const struct numbers *in = &values[step->in[i]];
    return get(in, ravel(index, step->result.shape.ndim, &in->shape));
}

static void work_elementwise(const struct graph *graph, const struct step *step, const struct numbers *values,
                             struct numbers *out)
{
    const struct operation *op = &operations[step->which];
    mlx_dtype dtype = operands_of(graph, step);
    for (int i = 0; i < out->size; i++) {
        struct scalar a = scalar_cast(operand(step, values, 0, i), dtype);
        struct scalar b = scalar_cast(operand(step, values, 1, i), dtype);
        if (!is_rounded(op, dtype))
            put(out, i, op->exact(a, b));
        else if (!result_is_right(op, a, b, get(out, i))) /* `out` holds the library's */
            CHECK_FAIL("seed %llu: %s of %s: element %d of %.17g and %.17g is %.17g", (unsigned long long)graph->seed,
                       op->name, facts[dtype].name, i, to_double(a), to_double(b), to_double(get(out, i)));
    }
}

/* ---- where and casts ----------------------------------------------------------------------------------------------
 */

static bool make_where(struct graph *graph, struct step *step)
{
    for (int i = 0; i < 3; i++) step->in[i] = pick(graph);
    const struct value *c = input_of(graph, step, 0), *a = input_of(graph, step, 1), *b = input_of(graph, step, 2);
    if (!can_broadcast(&a->shape, &b->shape)) return false;
    struct shape both = broadcast(&a->shape, &b->shape);
    if (!can_broadcast(&both, &c->shape)) return false;
    step->result = (struct value){promoted(a->dtype, b->dtype), broadcast(&both, &c->shape)};
    return true;
}

static int call_where(const struct step *step, const mlx_array *values, mlx_array *res)
{
    return mlx_where(res, values[step->in[0]], values[step->in[1]], values[step->in[2]], stream);
}

static void work_where(const struct graph *graph, const struct step *step, const struct numbers *values,
                       struct numbers *out)
{
    (void)graph;
    for (int i = 0; i < out->size; i++) {
        int chosen_one = is_nonzero(operand(step, values, 0, i)) ? 1 : 2;
        put(out, i, scalar_cast(operand(step, values, chosen_one, i), out->dtype));
    }
}

static bool make_cast(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = (struct value){(mlx_dtype)random_below(&graph->state, DTYPE_COUNT), input_of(graph, step, 0)->shape};
    return true;
}

static int call_cast(const struct step *step, const mlx_array *values, mlx_array *res)
{
    return mlx_astype(res, values[step->in[0]], step->result.dtype, stream);
}

static void work_cast(const struct graph *graph, const struct step *step, const struct numbers *values,
                      struct numbers *out)
{
    (void)graph;
    for (int i = 0; i < out->size; i++) put(out, i, scalar_cast(operand(step, values, 0, i), out->dtype));
}

/* ---- moves: element i of the result is an element of the input ----------------------------------------------------
 */

/* Like the first input, with axes of size one made longer and at times a new one in front. */
static bool make_broadcast(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = *input_of(graph, step, 0);
    struct shape *shape = &step->result.shape;
    if (shape->ndim < 5 && one_in(&graph->state, 2)) {
        memmove(shape->dims + 1, shape->dims, (size_t)shape->ndim * sizeof *shape->dims);
        shape->dims[0] = 1 + random_below(&graph->state, 3), shape->ndim++;
    }
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] == 1) shape->dims[i] = 1 + random_below(&graph->state, 4);
    return true;
}

static int call_broadcast(const struct step *step, const mlx_array *values, mlx_array *res)
{
    const struct shape *shape = &step->result.shape;
    return mlx_broadcast_to(res, values[step->in[0]], shape->dims, (size_t)shape->ndim, stream);
}

static bool make_slice(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = *input_of(graph, step, 0);
    struct shape *shape = &step->result.shape;
    for (int i = 0; i < shape->ndim; i++) {
        int n = shape->dims[i], first = random_below(&graph->state, n), by = 1 + random_below(&graph->state, 3);
        bool back = one_in(&graph->state, 3);
        int reachable = (back ? first : n - 1 - first) / by + 1, count = 1 + random_below(&graph->state, reachable);
        int end = back ? first - (count - 1) * by - 1 : first + (count - 1) * by + 1;
        step->start[i] = one_in(&graph->state, 2) ? first : first - n; /* from the end is the same */
        step->by[i] = back ? -by : by;
        step->stop[i] = end < 0 ? -n - 1 : end;
        shape->dims[i] = count;
    }
    return true;
}

static int call_slice(const struct step *step, const mlx_array *values, mlx_array *res)
{
    size_t count = (size_t)step->result.shape.ndim;
    return mlx_slice(res, values[step->in[0]], step->start, count, step->stop, count, step->by, count, stream);
}

static void move_slice(const struct step *step, const struct shape *in, int *index)
{
    for (int i = 0; i < in->ndim; i++) {
        int first = step->start[i] < 0 ? step->start[i] + in->dims[i] : step->start[i];
        index[i] = first + index[i] * step->by[i];
    }
}

static bool make_transpose(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = *input_of(graph, step, 0);
    struct shape *shape = &step->result.shape, from = *shape;
    for (int i = 0; i < shape->ndim; i++) {
        int j = random_below(&graph->state, i + 1);
        step->start[i] = step->start[j], step->start[j] = i;
    }
    for (int i = 0; i < shape->ndim; i++) shape->dims[i] = from.dims[step->start[i]];
    return true;
}

static int call_transpose(const struct step *step, const mlx_array *values, mlx_array *res)
{
    return mlx_transpose_axes(res, values[step->in[0]], step->start, (size_t)step->result.shape.ndim, stream);
}

static void move_transpose(const struct step *step, const struct shape *in, int *index)
{
    int from[MAX_RANK];
    for (int i = 0; i < in->ndim; i++) from[step->start[i]] = index[i];
    memcpy(index, from, (size_t)in->ndim * sizeof *index);
}

static bool make_take(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = *input_of(graph, step, 0);
    struct shape *shape = &step->result.shape;
    if (!shape->ndim) return false;
    step->axis = random_below(&graph->state, shape->ndim);
    step->pick_count = 1 + random_below(&graph->state, LONGEST);
    int n = shape->dims[step->axis];
    for (int i = 0; i < step->pick_count; i++) step->picks[i] = random_below(&graph->state, 2 * n) - n;
    shape->dims[step->axis] = step->pick_count;
    return true;
}

static int call_take(const struct step *step, const mlx_array *values, mlx_array *res)
{
    mlx_array indices = mlx_array_new_data(step->picks, &step->pick_count, 1, MLX_INT32);
    int code = mlx_take_axis(res, values[step->in[0]], indices, step->axis, stream);
    mlx_array_free(indices);
    return code;
}

static void move_take(const struct step *step, const struct shape *in, int *index)
{
    int at = step->picks[index[step->axis]];
    index[step->axis] = at < 0 ? at + in->dims[step->axis] : at;
}

/* All elements in order, in a shape that is put together from the prime factors of their number. */
static bool make_reshape(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    step->result = *input_of(graph, step, 0);
    int rest = shape_size(&step->result.shape), ndim = 1 + random_below(&graph->state, 4);
    struct shape *shape = &step->result.shape;
    for (int i = 0; i < ndim; i++) shape->dims[i] = 1;
    shape->ndim = ndim;
    for (int factor = 2; rest > 1; factor++)
        for (; rest % factor == 0; rest /= factor) shape->dims[random_below(&graph->state, ndim)] *= factor;
    return true;
}

static int call_reshape(const struct step *step, const mlx_array *values, mlx_array *res)
{
    const struct shape *shape = &step->result.shape;
    return mlx_reshape(res, values[step->in[0]], shape->dims, (size_t)shape->ndim, stream);
}

static void work_reshape(const struct graph *graph, const struct step *step, const struct numbers *values,
                         struct numbers *out)
{
    (void)graph;
    for (int i = 0; i < out->size; i++) put(out, i, get(&values[step->in[0]], i));
}

/* ---- concatenate --------------------------------------------------------------------------------------------------
 */

static bool make_join(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph), step->in[1] = pick(graph);
    const struct value *a = input_of(graph, step, 0), *b = input_of(graph, step, 1);
    if (!a->shape.ndim || a->shape.ndim != b->shape.ndim) return false;
    step->axis = random_below(&graph->state, a->shape.ndim);
    for (int i = 0; i < a->shape.ndim; i++)
        if (i != step->axis && a->shape.dims[i] != b->shape.dims[i]) return false;
    step->result = (struct value){promoted(a->dtype, b->dtype), a->shape};
    step->result.shape.dims[step->axis] += b->shape.dims[step->axis];
    return true;
}

static int call_join(const struct step *step, const mlx_array *values, mlx_array *res)
{
    mlx_array both[2] = {values[step->in[0]], values[step->in[1]]};
    mlx_vector_array list = mlx_vector_array_new_data(both, 2);
    int code = mlx_concatenate_axis(res, list, step->axis, stream);
    mlx_vector_array_free(list);
    return code;
}

static void work_join(const struct graph *graph, const struct step *step, const struct numbers *values,
                      struct numbers *out)
{
    int index[MAX_RANK], first = input_of(graph, step, 0)->shape.dims[step->axis];
    for (int i = 0; i < out->size; i++) {
        unravel(i, &out->shape, index);
        bool second = index[step->axis] >= first;
        if (second) index[step->axis] -= first;
        const struct numbers *in = &values[step->in[second]];
        put(out, i, scalar_cast(get(in, ravel(index, in->shape.ndim, &in->shape)), out->dtype));
    }
}

/* ---- reductions: 16 lanes, element i in lane i mod 16, lanes combined in pairs; rows have less than a chunk -------
 */

static const struct reduction {
    int (*call)(mlx_array *res, const mlx_array a, int axis, bool keepdims, const mlx_stream s);
    exact_function *combine;
    int start; /* -1: the lowest, 1: the highest number */
} reductions[] = {
    {mlx_sum_axis, exact_add, 0},
    {mlx_max_axis, exact_maximum, -1},
    {mlx_min_axis, exact_minimum, 1},
};

static struct scalar start_of(int start, mlx_dtype dtype)
{
    if (!start) return scalar_cast(make_bool(false), dtype);
    struct scalar x = dtype == MLX_BOOL ? make_bool(start > 0) : scalar_cast(make_double(start * INFINITY), dtype);
    if (dtype == MLX_COMPLEX64) x.imaginary = x.f;
    return x;
}

static bool make_reduction(struct graph *graph, struct step *step)
{
    step->in[0] = pick(graph);
    const struct value *in = input_of(graph, step, 0);
    if (!in->shape.ndim) return false;
    step->which = random_below(&graph->state, 3), step->keepdims = one_in(&graph->state, 2);
    step->axis = random_below(&graph->state, in->shape.ndim);
    bool widens = step->which == 0 && facts[in->dtype].kind <= IS_SIGNED && facts[in->dtype].size < 4;
    step->result.dtype = !widens ? in->dtype : facts[in->dtype].kind == IS_UNSIGNED ? MLX_UINT32 : MLX_INT32;
    for (int i = 0; i < in->shape.ndim; i++)
        if (i != step->axis || step->keepdims)
            step->result.shape.dims[step->result.shape.ndim++] = i == step->axis ? 1 : in->shape.dims[i];
    return true;
}

static int call_reduction(const struct step *step, const mlx_array *values, mlx_array *res)
{
    return reductions[step->which].call(res, values[step->in[0]], step->axis, step->keepdims, stream);
}

static struct scalar reduce_row(const struct reduction *how, const struct numbers *in, int first, int by, int n,
                                mlx_dtype dtype)
{
    struct scalar lanes[LANES];
    mlx_dtype lane = facts[dtype].size == 2 && facts[dtype].kind == IS_FLOAT ? MLX_FLOAT32 : dtype;
    for (int k = 0; k < LANES; k++) lanes[k] = start_of(how->start, lane);
    for (int i = 0; i < n; i++)
        lanes[i % LANES] = how->combine(lanes[i % LANES], scalar_cast(get(in, first + i * by), lane));
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lanes[k] = how->combine(lanes[k], lanes[k + half]);
    return scalar_cast(lanes[0], dtype);
}

static void work_reduction(const struct graph *graph, const struct step *step, const struct numbers *values,
                           struct numbers *out)
{
    const struct numbers *in = &values[step->in[0]];
    int n = in->shape.dims[step->axis], inner = 1;
    (void)graph;
    for (int i = step->axis + 1; i < in->shape.ndim; i++) inner *= in->shape.dims[i];
    for (int i = 0; i < out->size; i++) {
        int first = i / inner * n * inner + i % inner;
        put(out, i, reduce_row(&reductions[step->which], in, first, inner, n, out->dtype));
    }
}

/* ---- kinds of steps -----------------------------------------------------------------------------------------------
 */

static const struct step_kind {
    const char *name;
    bool (*make)(struct graph *graph, struct step *step); /* false: not from these values */
    int (*call)(const struct step *step, const mlx_array *values, mlx_array *res);
    void (*move)(const struct step *step, const struct shape *in, int *index); /* a move that is no broadcast */
    void (*work)(const struct graph *graph, const struct step *step, const struct numbers *values, struct numbers *out);
} kinds[] = {
    {"element-wise", make_elementwise, call_elementwise, NULL, work_elementwise},
    {"element-wise", make_elementwise, call_elementwise, NULL, work_elementwise},
    {"element-wise", make_elementwise, call_elementwise, NULL, work_elementwise},
    {"element-wise", make_elementwise, call_elementwise, NULL, work_elementwise},
    {"where", make_where, call_where, NULL, work_where},
    {"astype", make_cast, call_cast, NULL, work_cast},
    {"broadcast_to", make_broadcast, call_broadcast, NULL, work_cast},
    {"slice", make_slice, call_slice, move_slice, NULL},
    {"transpose", make_transpose, call_transpose, move_transpose, NULL},
    {"take", make_take, call_take, move_take, NULL},
    {"reshape", make_reshape, call_reshape, NULL, work_reshape},
    {"concatenate", make_join, call_join, NULL, work_join},
    {"reduction", make_reduction, call_reduction, NULL, work_reduction},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void work_move(const struct step *step, const struct numbers *in, struct numbers *out)
{
    int index[MAX_RANK];
    for (int i = 0; i < out->size; i++) {
        unravel(i, &out->shape, index);
        step->kind->move(step, &in->shape, index);
        put(out, i, get(in, ravel(index, in->shape.ndim, &in->shape)));
    }
}

/* ---- graphs -------------------------------------------------------------------------------------------------------
 */

static struct shape small_shape(uint64_t *state)
{
    struct shape shape = {random_below(state, 5), {0}};
    for (int i = 0; i < shape.ndim; i++) shape.dims[i] = one_in(state, 4) ? 1 : 2 + random_below(state, 3);
    return shape;
}

static bool add_step(struct graph *graph)
{
    struct step *step = &graph->steps[graph->step_count];
    memset(step, 0, sizeof *step);
    step->kind = &kinds[random_below(&graph->state, KINDS)];
    int outputs = graph->output_count;
    if (!step->kind->make(graph, step)) return false;
    if (shape_size(&step->result.shape) > LARGEST || step->result.shape.ndim > 6) {
        graph->output_count = outputs;
        return false;
    }
    graph->values[graph->input_count + graph->step_count++] = step->result;
    return true;
}

static void make_graph(struct graph *graph, uint64_t seed, int steps)
{
    memset(graph, 0, sizeof *graph);
    graph->seed = seed, graph->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 5;
    graph->input_count = 1 + random_below(&graph->state, INPUTS);
    struct shape base = small_shape(&graph->state);
    for (int i = 0; i < graph->input_count; i++) {
        graph->values[i].dtype = (mlx_dtype)random_below(&graph->state, DTYPE_COUNT);
        graph->values[i].shape = one_in(&graph->state, 3) ? small_shape(&graph->state) : base;
    }
    while (graph->step_count < steps) add_step(graph);
    graph->outputs[graph->output_count++] = graph->input_count + steps - 1;
    while (graph->output_count < MAX_OUTPUTS && one_in(&graph->state, 2))
        graph->outputs[graph->output_count++] = random_below(&graph->state, graph->input_count + steps);
}

static void print_graph(const struct graph *graph)
{
    for (int i = 0; i < graph->input_count + graph->step_count; i++) {
        const struct step *step = i < graph->input_count ? NULL : &graph->steps[i - graph->input_count];
        fprintf(stderr, "v%d: %s (", i, facts[graph->values[i].dtype].name);
        for (int k = 0; k < graph->values[i].shape.ndim; k++) fprintf(stderr, " %d", graph->values[i].shape.dims[k]);
        fprintf(stderr, " ) %s %s", step ? step->kind->name : "input",
                step && step->kind->make == make_elementwise ? operations[step->which].name : "");
        if (step)
            fprintf(stderr, " v%d v%d v%d axis %d which %d", step->in[0], step->in[1], step->in[2], step->axis,
                    step->which);
        fprintf(stderr, "\n");
    }
}

/* An array_function. */
static int run_graph(const mlx_array *inputs, int input_count, mlx_array *outputs, const void *context)
{
    const struct graph *graph = context;
    mlx_array values[VALUES] = {{0}};
    int code = 0, count = input_count + graph->step_count;
    for (int i = 0; i < input_count; i++) values[i] = inputs[i];
    for (int i = 0; i < graph->step_count && !code; i++)
        code = graph->steps[i].kind->call(&graph->steps[i], values, &values[input_count + i]);
    for (int i = 0; i < graph->output_count && !code; i++) code = mlx_array_set(&outputs[i], values[graph->outputs[i]]);
    for (int i = input_count; i < count; i++) mlx_array_free(values[i]);
    return code;
}

/* ---- checking -----------------------------------------------------------------------------------------------------
 */

/* Fills values[] after the inputs; got[] is the library's. */
static void interpret(const struct graph *graph, struct numbers *values, const struct numbers *got)
{
    for (int i = 0; i < graph->step_count; i++) {
        const struct step *step = &graph->steps[i];
        int value = graph->input_count + i;
        values[value] = numbers_new(step->result.dtype, &step->result.shape);
        for (int k = 0; k < graph->output_count; k++) /* for what may differ by some ulps */
            if (graph->outputs[k] == value)
                memcpy(values[value].data, got[k].data, (size_t)(got[k].size * facts[got[k].dtype].size));
        if (step->kind->move)
            work_move(step, &values[step->in[0]], &values[value]);
        else
            step->kind->work(graph, step, values, &values[value]);
    }
}

/* The library's dtypes and shapes are the interpreter's: before anything is copied. */
static void check_shapes(const struct graph *graph, const struct numbers *got)
{
    for (int k = 0; k < graph->output_count; k++) {
        const struct value *want = &graph->values[graph->outputs[k]];
        if (got[k].dtype != want->dtype || !same_shapes(&got[k].shape, &want->shape))
            CHECK_FAIL("seed %llu: v%d is %s of rank %d, expected %s of rank %d", (unsigned long long)graph->seed,
                       graph->outputs[k], facts[got[k].dtype].name, got[k].shape.ndim, facts[want->dtype].name,
                       want->shape.ndim);
    }
}

static struct scalar some_value(mlx_dtype dtype, uint64_t *state)
{
    return one_in(state, 2) ? random_value(dtype, state) : small_value(dtype, state);
}

static void check_graph(uint64_t seed, int steps)
{
    static struct graph graph;
    const char *only = getenv("KILN_TEST_SEED");
    struct numbers values[VALUES] = {{0}}, got[MAX_OUTPUTS];
    mlx_array inputs[INPUTS];
    char what[80];
    if (only && strtoull(only, NULL, 10) != seed) return;
    make_graph(&graph, seed, steps);
    if (only) print_graph(&graph);
    for (int i = 0; i < graph.input_count; i++) {
        values[i] = numbers_filled(graph.values[i].dtype, &graph.values[i].shape, some_value, &graph.state);
        inputs[i] = make_array(&values[i], (enum layout)random_below(&graph.state, LAYOUT_COUNT));
    }
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    run_both_ways(run_graph, &graph, inputs, graph.input_count, got, graph.output_count, 2, what);
    check_shapes(&graph, got);
    interpret(&graph, values, got);
    for (int k = 0; k < graph.output_count; k++) {
        snprintf(what, sizeof what, "seed %llu, v%d", (unsigned long long)seed, graph.outputs[k]);
        expect_same_values(&got[k], &values[graph.outputs[k]], what);
        numbers_free(&got[k]);
    }
    for (int i = 0; i < graph.input_count; i++) mlx_array_free(inputs[i]);
    for (int i = 0; i < graph.input_count + graph.step_count; i++) numbers_free(&values[i]);
}
#define check_graph(...) CHECK_CALL(check_graph, __VA_ARGS__)

static void test_short_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) check_graph(seed, 1 + (int)(seed % 8));
}

static void test_long_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 201; seed <= 260; seed++) check_graph(seed, 10 + (int)(seed % (STEPS - 9)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_short_graphs, set_up),
        cmocka_unit_test_setup(test_long_graphs, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
