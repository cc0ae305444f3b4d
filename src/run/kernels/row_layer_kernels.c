/*
 * row_layer_kernels.c - a layer along the last axis (ops/row_layer.h) as one kernel.
 *
 * A recipe lists the operations of the layer's formula, in its order; it is the same as in ops/reductions.c,
 * ops/layers.c and ops/compose.c, which are compared with it by tests, bit for bit. For given dtypes it becomes a
 * group, once: a list for each layer, which only grows, and whose entries never change.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/gpu/gpu_schedule.h"
#include "ops/row_layer.h"
#include "run/kernels/launch.h"
#include "run/ops/operation.h"

_Static_assert((int)KILN_ROW_LAYER_LONGEST <= (int)KILN_GPU_MAX_ROW, "a GPU has a kernel for every layer");

/* ---- recipes ---------------------------------------------------------------------------------------------------- */

/* What a step reads: the number of an earlier step, or one of these. */
enum { MAX_STEPS = 16, X = MAX_STEPS, WEIGHT, BIAS, LENGTH, ONE_PART, EPSILON, INFINITE, VALUES, NOTHING = VALUES };
enum { OPERANDS = LENGTH - X, CONSTANTS = VALUES - LENGTH };

/* What dtype it gives: that of the result, float32 or, for a float64, float64; float32; bool. */
enum step_dtype { RESULT, WIDE, SINGLE, TRUTH };

/*
 * A cast to what its input is, is no step. Neither is one whose last input is a row that the call does not have: it
 * gives its first input, or nothing if that is its only one.
 */
struct row_step {
    uint8_t op, dtype, in[3];
};

/* clang-format off: a step for each line */
static const struct row_step softmax[] = {
    [0] = {KILN_OP_CAST, WIDE, {X}},   [1] = {KILN_OP_MAX, WIDE, {0}}, [2] = {KILN_OP_SUBTRACT, WIDE, {0, 1}},
    [3] = {KILN_OP_EXP, WIDE, {2}},    [4] = {KILN_OP_SUM, WIDE, {3}}, [5] = {KILN_OP_DIVIDE, WIDE, {3, 4}},
    [6] = {KILN_OP_CAST, RESULT, {5}},
};

static const struct row_step logsumexp[] = {
    [0] = {KILN_OP_CAST, WIDE, {X}},
    [1] = {KILN_OP_MAX, WIDE, {0}},
    [2] = {KILN_OP_SUBTRACT, WIDE, {0, 1}},
    [3] = {KILN_OP_EXP, WIDE, {2}},
    [4] = {KILN_OP_SUM, WIDE, {3}},
    [5] = {KILN_OP_LOG, WIDE, {4}},
    [6] = {KILN_OP_ADD, WIDE, {5, 1}},
    [7] = {KILN_OP_ABS, WIDE, {1}},
    [8] = {KILN_OP_EQUAL, TRUTH, {7, INFINITE}},
    [9] = {KILN_OP_SELECT, WIDE, {8, 1, 6}},
    [10] = {KILN_OP_CAST, RESULT, {9}},
};

static const struct row_step rms_norm[] = {
    [0] = {KILN_OP_CAST, SINGLE, {X}},         [1] = {KILN_OP_MULTIPLY, SINGLE, {0, 0}},
    [2] = {KILN_OP_SUM, SINGLE, {1}},          [3] = {KILN_OP_MULTIPLY, SINGLE, {2, ONE_PART}},
    [4] = {KILN_OP_ADD, SINGLE, {3, EPSILON}}, [5] = {KILN_OP_RSQRT, SINGLE, {4}},
    [6] = {KILN_OP_MULTIPLY, SINGLE, {0, 5}},  [7] = {KILN_OP_CAST, RESULT, {6}},
    [8] = {KILN_OP_CAST, RESULT, {WEIGHT}},    [9] = {KILN_OP_MULTIPLY, RESULT, {7, 8}},
};

static const struct row_step layer_norm[] = {
    [0] = {KILN_OP_CAST, WIDE, {X}},           [1] = {KILN_OP_SUM, WIDE, {0}},
    [2] = {KILN_OP_DIVIDE, WIDE, {1, LENGTH}}, [3] = {KILN_OP_SUBTRACT, WIDE, {0, 2}},
    [4] = {KILN_OP_SQUARE, WIDE, {3}},         [5] = {KILN_OP_SUM, WIDE, {4}},
    [6] = {KILN_OP_DIVIDE, WIDE, {5, LENGTH}}, [7] = {KILN_OP_ADD, WIDE, {6, EPSILON}},
    [8] = {KILN_OP_RSQRT, WIDE, {7}},          [9] = {KILN_OP_MULTIPLY, WIDE, {3, 8}},
    [10] = {KILN_OP_CAST, WIDE, {WEIGHT}},     [11] = {KILN_OP_MULTIPLY, WIDE, {9, 10}},
    [12] = {KILN_OP_CAST, WIDE, {BIAS}},       [13] = {KILN_OP_ADD, WIDE, {11, 12}},
    [14] = {KILN_OP_CAST, RESULT, {13}},
};
/* clang-format on */

struct recipe {
    const struct row_step *steps;
    uint8_t count, constants; /* constants: their dtype */
};

/* ---- a recipe for given dtypes ---------------------------------------------------------------------------------- */

/* Its dtypes: of x, weight and bias, KILN_DTYPE_COUNT where the call has none, and of the result. */
struct layer_dtypes {
    uint8_t operands[OPERANDS], result;
};

struct layer_kernels {
    struct layer_kernels *next;
    struct layer_dtypes dtypes;
    uint8_t constants[CONSTANTS]; /* what each constant of the group is: LENGTH and so on */
    struct kiln_group_kernels kernels;
};

/* A layer, and what it was asked for so far. */
static struct layer {
    const struct recipe recipe;
    _Atomic(struct layer_kernels *) known;
} layers[KILN_OP_COUNT] = {
#define RECIPE(steps, constants) {{steps, sizeof(steps) / sizeof *(steps), constants}, NULL}
    [KILN_OP_SOFTMAX] = RECIPE(softmax, WIDE),
    [KILN_OP_LOGSUMEXP] = RECIPE(logsumexp, WIDE),
    [KILN_OP_RMS_NORM] = RECIPE(rms_norm, SINGLE),
    [KILN_OP_LAYER_NORM] = RECIPE(layer_norm, WIDE),
};

static enum kiln_dtype step_dtype(const struct layer_dtypes *dtypes, uint8_t which)
{
    switch (which) {
    case RESULT:
        return dtypes->result;
    case WIDE:
        return dtypes->result == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    case SINGLE:
        return KILN_FLOAT32;
    default:
        return KILN_BOOL;
    }
}

/* Which step or value stands for each one, now that the dtypes are known, and what has which number in the group. */
struct writer {
    const struct layer_dtypes *dtypes;
    struct kiln_group *group;
    uint8_t stands_for[VALUES + 1], dtype_of[VALUES + 1];
    uint32_t numbers[VALUES + 1];
    uint8_t kept[MAX_STEPS]; /* steps, in the order of instructions */
};

static uint8_t stands_for(const struct writer *writer, const struct row_step *step, int input)
{
    return writer->stands_for[step->in[input]];
}

static void find_steps(struct writer *writer, const struct recipe *recipe)
{
    for (uint8_t i = 0; i < recipe->count; i++) {
        const struct row_step *step = &recipe->steps[i];
        uint8_t first = stands_for(writer, step, 0), last = stands_for(writer, step, kiln__ops[step->op].arity - 1);
        writer->dtype_of[i] = (uint8_t)step_dtype(writer->dtypes, step->dtype);
        bool is_idle = step->op == KILN_OP_CAST && writer->dtype_of[first] == writer->dtype_of[i];
        writer->stands_for[i] = last == NOTHING || is_idle ? first : i;
        if (writer->stands_for[i] == i) writer->kept[writer->group->instr_count++] = i;
    }
}

static bool is_read(const struct writer *writer, const struct recipe *recipe, uint8_t value)
{
    for (uint32_t i = 0; i < writer->group->instr_count; i++) {
        const struct row_step *step = &recipe->steps[writer->kept[i]];
        for (int k = 0; k < kiln__ops[step->op].arity; k++)
            if (stands_for(writer, step, k) == value) return true;
    }
    return false;
}

static void number_values(struct writer *writer, const struct recipe *recipe, uint8_t *constants)
{
    struct kiln_group *group = writer->group;
    uint32_t next = 0;
    for (uint8_t i = X; i < LENGTH; i++) {
        if (writer->stands_for[i] == NOTHING) continue;
        group->operand_dtypes[group->operand_count++] = writer->dtype_of[i];
        writer->numbers[i] = next++;
    }
    for (uint8_t i = LENGTH; i < VALUES; i++) {
        if (!is_read(writer, recipe, i)) continue;
        constants[group->constant_count] = i;
        group->constant_dtypes[group->constant_count++] = writer->dtype_of[i];
        writer->numbers[i] = next++;
    }
    for (uint32_t i = 0; i < group->instr_count; i++) writer->numbers[writer->kept[i]] = next++;
}

static void write_group(struct writer *writer, const struct recipe *recipe)
{
    struct kiln_group *group = writer->group;
    for (uint32_t i = 0; i < group->instr_count; i++) {
        const struct row_step *step = &recipe->steps[writer->kept[i]];
        group->instrs[i] = (struct kiln_instr){.op = step->op, .dtype = writer->dtype_of[writer->kept[i]]};
        for (int k = 0; k < kiln__ops[step->op].arity; k++)
            group->instrs[i].in[k] = writer->numbers[stands_for(writer, step, k)];
    }
    group->output_count = 1;
    group->outputs[0] = writer->numbers[writer->stands_for[recipe->count - 1]];
}

static bool fill_group(struct kiln_group *group, const struct recipe *recipe, const struct layer_dtypes *dtypes,
                       uint8_t *constants)
{
    struct writer writer = {.dtypes = dtypes, .group = group};
    uint8_t constants_dtype = (uint8_t)step_dtype(dtypes, recipe->constants);
    group->operand_dtypes = calloc(OPERANDS, sizeof *group->operand_dtypes);
    group->constant_dtypes = calloc(CONSTANTS, sizeof *group->constant_dtypes);
    group->instrs = calloc(MAX_STEPS, sizeof *group->instrs);
    group->outputs = calloc(1, sizeof *group->outputs);
    if (!group->operand_dtypes || !group->constant_dtypes || !group->instrs || !group->outputs) return false;
    for (uint8_t i = X; i <= NOTHING; i++) {
        bool is_operand = i < LENGTH;
        writer.dtype_of[i] = is_operand ? dtypes->operands[i - X] : constants_dtype;
        writer.stands_for[i] = is_operand && writer.dtype_of[i] == KILN_DTYPE_COUNT ? NOTHING : i;
    }
    find_steps(&writer, recipe);
    number_values(&writer, recipe, constants);
    write_group(&writer, recipe);
    return true;
}

/* ---- kernels, made once ----------------------------------------------------------------------------------------- */

static struct layer_kernels *find(struct layer_kernels *list, const struct layer_dtypes *dtypes)
{
    while (list && memcmp(&list->dtypes, dtypes, sizeof *dtypes) != 0) list = list->next;
    return list;
}

static void free_kernels(struct layer_kernels *kernels)
{
    kiln__group_kernels_release(&kernels->kernels);
    free(kernels);
}

/* Makes `mine` the head of the list, or frees it when an equal one got there first. */
static struct layer_kernels *publish(struct layer *layer, struct layer_kernels *mine)
{
    struct layer_kernels *head = atomic_load_explicit(&layer->known, memory_order_acquire);
    do {
        struct layer_kernels *other = find(head, &mine->dtypes);
        if (other) {
            free_kernels(mine);
            return other;
        }
        mine->next = head;
    } while (
        !atomic_compare_exchange_weak_explicit(&layer->known, &head, mine, memory_order_acq_rel, memory_order_acquire));
    return mine;
}

static kiln_status get_kernels(enum kiln_op op, const struct layer_dtypes *dtypes, struct layer_kernels **out,
                               kiln_error *err)
{
    struct layer *layer = &layers[op];
    *out = find(atomic_load_explicit(&layer->known, memory_order_acquire), dtypes);
    if (*out) return KILN_OK;
    struct layer_kernels *mine = calloc(1, sizeof *mine);
    if (!mine) return kiln__no_memory(err, "the kernels of an operation");
    mine->dtypes = *dtypes;
    if (!fill_group(&mine->kernels.group, &layer->recipe, dtypes, mine->constants)) {
        free_kernels(mine);
        return kiln__no_memory(err, "the kernels of an operation");
    }
    strncpy(mine->kernels.name, kiln__ops[op].name, sizeof mine->kernels.name - 1);
    *out = publish(layer, mine);
    return KILN_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static bool has_row(const struct kiln_node *node, int64_t row)
{
    return node->attr_count == 2 && node->attrs[1] & row;
}

static struct layer_dtypes dtypes_of(const struct kiln_node *node, const struct kiln_array *out)
{
    bool has_weight = has_row(node, KILN_ROW_LAYER_WEIGHT), has_bias = has_row(node, KILN_ROW_LAYER_BIAS);
    uint8_t weight = has_weight ? node->inputs[1]->dtype : KILN_DTYPE_COUNT;
    uint8_t bias = has_bias ? node->inputs[1 + has_weight]->dtype : KILN_DTYPE_COUNT;
    return (struct layer_dtypes){{node->inputs[0]->dtype, weight, bias}, out->dtype};
}

static double constant_value(uint8_t constant, int length, float eps)
{
    switch (constant) {
    case LENGTH:
        return length;
    case ONE_PART:
        return 1.0f / (float)length;
    case EPSILON:
        return eps;
    default:
        return (double)INFINITY;
    }
}

/* Constants are float32 or float64. */
static uint64_t constant_bits(enum kiln_dtype dtype, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    if (dtype == KILN_FLOAT64)
        memcpy(&bits, &value, sizeof value);
    else
        memcpy(&bits, &single, sizeof single);
    return bits;
}

kiln_status kiln__run_row_layer(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    const struct kiln_array *x = node->inputs[0];
    struct layer_kernels *layer;
    struct layer_dtypes dtypes = dtypes_of(node, out);
    uint64_t constants[CONSTANTS];
    float eps = 0;
    kiln_status status = get_kernels(node->op, &dtypes, &layer, err);
    if (!status) status = kiln__output_alloc(out, err);
    if (status) return status;
    if (node->attr_count) memcpy(&eps, &(uint32_t){(uint32_t)node->attrs[0]}, sizeof eps);
    const struct kiln_group *group = &layer->kernels.group;
    for (uint32_t i = 0; i < group->constant_count; i++)
        constants[i] =
            constant_bits(group->constant_dtypes[i], constant_value(layer->constants[i], x->dims[x->ndim - 1], eps));
    return kiln__launch_rows(&layer->kernels, x->dims, x->ndim, node->inputs, constants, &out, err);
}
