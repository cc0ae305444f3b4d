/*
 * row_layer_kernels.c - a layer along the last axis (ops/row_layer.h) as one kernel, derived from its formula.
 *
 * The formula is applied to placeholders: arrays with the dtypes and shapes of the operands, and without bytes. What it
 * makes are lazy arrays, which its expression holds in the order in which they were made; each of them is an
 * instruction of the group, or a constant. That needs no trace (src/trace): arrays are lazy anyway, so nothing of the
 * thread's state is touched, and evaluation may come here while the thread traces a function of the program's. The
 * order of the instructions, and so the text of the kernel, is that of the formula.
 *
 * Kernels are made once for each layer and dtypes, in a list that only grows and whose entries never change.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/gpu/gpu_schedule.h"
#include "ops/row_layer.h"
#include "run/kernels/launch.h"
#include "run/ops/operation.h"

_Static_assert((int)KILN_ROW_LAYER_LONGEST <= (int)KILN_GPU_MAX_ROW, "a GPU has a kernel for every layer");

enum { OPERANDS = 3, CONSTANTS = 4 };

/* Its dtypes: of x, weight and bias, KILN_DTYPE_COUNT where the call has none, and of the result. */
struct layer_dtypes {
    uint8_t operands[OPERANDS], result;
};

struct layer_kernels {
    struct layer_kernels *next;
    struct layer_dtypes dtypes;
    uint64_t constants[CONSTANTS]; /* bits; the formula's numbers, which come first, are of the call that made this */
    struct kiln_group_kernels kernels;
};

static _Atomic(struct layer_kernels *) known[KILN_OP_COUNT];

/* ---- from a formula to a group ----------------------------------------------------------------------------------- */

/* Placeholders take the place of the layer's arrays. On failure those that were made are there. */
static kiln_status make_placeholders(struct kiln_row_layer *layer, struct kiln_array *placeholders[OPERANDS],
                                     kiln_error *err)
{
    struct kiln_array **arrays[OPERANDS] = {&layer->x, &layer->weight, &layer->bias};
    kiln_status status = KILN_OK;
    for (int i = 0; i < OPERANDS && !status; i++) {
        const struct kiln_array *like = *arrays[i];
        if (like) status = kiln__array_new(like->dtype, like->ndim, like->dims, &placeholders[i], err);
        *arrays[i] = placeholders[i];
    }
    return status;
}

static const struct kiln_node *node_of(struct kiln_array *array)
{
    return atomic_load_explicit(&array->node, memory_order_relaxed);
}

/* Every value of the formula, by its number in the group: operands, constants, instructions. */
struct values {
    const struct kiln_array *list[OPERANDS + KILN_EXPRESSION_MAX];
    uint32_t count;
};

/* Casts are written out in formulas, so an expression holds every array that its steps read. */
static uint32_t number_of(const struct values *values, const struct kiln_array *array)
{
    uint32_t i = 0;
    while (i < values->count && values->list[i] != array) i++;
    assert(i < values->count);
    return i;
}

static bool allocate(struct kiln_group *group, size_t values)
{
    group->operand_dtypes = calloc(OPERANDS, sizeof *group->operand_dtypes);
    group->constant_dtypes = calloc(CONSTANTS, sizeof *group->constant_dtypes);
    group->instrs = calloc(values + 1, sizeof *group->instrs);
    group->outputs = calloc(1, sizeof *group->outputs);
    return group->operand_dtypes && group->constant_dtypes && group->instrs && group->outputs;
}

static void add_operands(struct kiln_group *group, struct values *values, struct kiln_array *const *placeholders)
{
    for (int i = 0; i < OPERANDS; i++) {
        if (!placeholders[i]) continue;
        group->operand_dtypes[group->operand_count++] = placeholders[i]->dtype;
        values->list[values->count++] = placeholders[i];
    }
}

static void add_constants(struct layer_kernels *mine, struct values *values, const struct kiln_expression *e)
{
    struct kiln_group *group = &mine->kernels.group;
    for (size_t i = 0; i < e->count; i++) {
        const struct kiln_array *array = e->held[i];
        if (node_of(e->held[i])) continue;
        assert(group->constant_count < CONSTANTS);
        memcpy(&mine->constants[group->constant_count], array->data, kiln__dtype_size(array->dtype));
        group->constant_dtypes[group->constant_count++] = array->dtype;
        values->list[values->count++] = array;
    }
}

static void add_instrs(struct kiln_group *group, struct values *values, const struct kiln_expression *e)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct kiln_node *node = node_of(e->held[i]);
        if (!node) continue;
        struct kiln_instr *instr = &group->instrs[group->instr_count++];
        *instr = (struct kiln_instr){.op = node->op, .dtype = e->held[i]->dtype};
        for (uint32_t k = 0; k < node->input_count; k++) instr->in[k] = number_of(values, node->inputs[k]);
        values->list[values->count++] = e->held[i];
    }
}

static kiln_status fill_group(struct layer_kernels *mine, struct kiln_array *const *placeholders,
                              const struct kiln_expression *e, const struct kiln_array *result, kiln_error *err)
{
    struct kiln_group *group = &mine->kernels.group;
    struct values values = {.count = 0};
    if (!allocate(group, e->count)) return kiln__no_memory(err, "the kernels of an operation");
    add_operands(group, &values, placeholders);
    add_constants(mine, &values, e);
    add_instrs(group, &values, e);
    group->output_count = 1;
    group->outputs[0] = number_of(&values, result);
    return KILN_OK;
}

static kiln_status derive_group(struct layer_kernels *mine, struct kiln_row_layer layer, kiln_error *err)
{
    struct kiln_array *placeholders[OPERANDS] = {NULL}, *result = NULL;
    struct kiln_expression e = {.err = err};
    kiln_status status = make_placeholders(&layer, placeholders, err);
    if (!status) result = kiln__e_row_formula(&e, &layer);
    if (!status) status = e.status;
    if (!status) status = fill_group(mine, placeholders, &e, result, err);
    for (size_t i = 0; i < e.count; i++) kiln__array_unref(e.held[i]);
    for (int i = 0; i < OPERANDS; i++) kiln__array_unref(placeholders[i]);
    return status;
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
static struct layer_kernels *publish(enum kiln_op op, struct layer_kernels *mine)
{
    struct layer_kernels *head = atomic_load_explicit(&known[op], memory_order_acquire);
    do {
        struct layer_kernels *other = find(head, &mine->dtypes);
        if (other) {
            free_kernels(mine);
            return other;
        }
        mine->next = head;
    } while (
        !atomic_compare_exchange_weak_explicit(&known[op], &head, mine, memory_order_acq_rel, memory_order_acquire));
    return mine;
}

static struct layer_dtypes dtypes_of(const struct kiln_row_layer *layer)
{
    uint8_t weight = layer->weight ? layer->weight->dtype : KILN_DTYPE_COUNT;
    uint8_t bias = layer->bias ? layer->bias->dtype : KILN_DTYPE_COUNT;
    return (struct layer_dtypes){{layer->x->dtype, weight, bias}, (uint8_t)layer->dtype};
}

static kiln_status get_kernels(const struct kiln_row_layer *layer, struct layer_kernels **out, kiln_error *err)
{
    struct layer_dtypes dtypes = dtypes_of(layer);
    *out = find(atomic_load_explicit(&known[layer->op], memory_order_acquire), &dtypes);
    if (*out) return KILN_OK;
    struct layer_kernels *mine = calloc(1, sizeof *mine);
    if (!mine) return kiln__no_memory(err, "the kernels of an operation");
    mine->dtypes = dtypes;
    strncpy(mine->kernels.name, kiln__ops[layer->op].name, sizeof mine->kernels.name - 1);
    kiln_status status = derive_group(mine, *layer, err);
    if (status)
        free_kernels(mine);
    else
        *out = publish(layer->op, mine);
    return status;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static bool has_row(const struct kiln_node *node, int64_t row)
{
    return node->attr_count == 2 && node->attrs[1] & row;
}

static struct kiln_row_layer layer_of(const struct kiln_node *node, const struct kiln_array *out)
{
    bool has_weight = has_row(node, KILN_ROW_LAYER_WEIGHT), has_bias = has_row(node, KILN_ROW_LAYER_BIAS);
    struct kiln_row_layer layer = {.op = node->op,
                                   .x = node->inputs[0],
                                   .weight = has_weight ? node->inputs[1] : NULL,
                                   .bias = has_bias ? node->inputs[1 + has_weight] : NULL,
                                   .dtype = out->dtype};
    if (node->attr_count) memcpy(&layer.eps, &(uint32_t){(uint32_t)node->attrs[0]}, sizeof layer.eps);
    return layer;
}

/* Numbers are float32 or float64. */
static uint64_t number_bits(enum kiln_dtype dtype, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    if (dtype == KILN_FLOAT64)
        memcpy(&bits, &value, sizeof value);
    else
        memcpy(&bits, &single, sizeof single);
    return bits;
}

/* The formula's constants, with the numbers of this call. */
static void fill_constants(const struct kiln_row_layer *layer, const struct layer_kernels *kernels,
                           uint64_t out[CONSTANTS])
{
    const struct kiln_row_formula *formula = kiln__row_formulas[layer->op];
    double numbers[KILN_ROW_NUMBERS];
    memcpy(out, kernels->constants, sizeof kernels->constants);
    if (!formula->numbers) return;
    formula->numbers(layer->x->dims[layer->x->ndim - 1], layer->eps, numbers);
    for (int i = 0; i < KILN_ROW_NUMBERS; i++)
        out[i] = number_bits(kernels->kernels.group.constant_dtypes[i], numbers[i]);
}

kiln_status kiln__run_row_layer(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct kiln_row_layer layer = layer_of(node, out);
    struct layer_kernels *kernels;
    uint64_t constants[CONSTANTS];
    kiln_status status = get_kernels(&layer, &kernels, err);
    if (!status) status = kiln__output_alloc(out, err);
    if (status) return status;
    fill_constants(&layer, kernels, constants);
    return kiln__launch_rows(&kernels->kernels, layer.x->dims, layer.x->ndim, node->inputs, constants, &out, err);
}
