/*
 * row_layer.c - see row_layer.h. Which shapes take a kernel with rows is decided here, for traces and outside of them.
 */
#include "ops/row_layer.h"

#include <string.h>

#include "graph/default_device.h"
#include "graph/marking.h"
#include "graph/rules.h"

enum {
    ROW_MIN = 32, /* elements of a row; the kernel of a reduction is faster on many shorter rows, */
    FEW_ELEMENTS =
        1 << 10,          /* unless there are at most so many elements, where the number of steps dominates: on a CPU */
    FEW_ON_GPU = 1 << 20, /* and on a GPU, where each step is a launch */
    LONG_ROW = 64 << 10,  /* elements of a row; a reduction shares a longer row between threads or blocks, */
    ENOUGH_ROWS = 32      /* a kernel with rows does not, so it needs at least so many of them */
};

static bool has_at_most(int64_t limit, const int *dims, size_t ndim)
{
    int64_t count = 1;
    for (size_t i = 0; i < ndim && count <= limit; i++) count *= dims[i];
    return count <= limit;
}

bool kiln__rows_pay(const int *dims, size_t ndim, uint32_t device_index)
{
    int length = ndim ? dims[ndim - 1] : 0;
    return length >= ROW_MIN || (length > 1 && has_at_most(device_index ? FEW_ON_GPU : FEW_ELEMENTS, dims, ndim));
}

static bool is_traced(const struct kiln_array *array)
{
    return array && array->trace;
}

bool kiln__row_layer_fits(const struct kiln_row_layer *layer)
{
    const struct kiln_array *x = layer->x;
    if (is_traced(x) || is_traced(layer->weight) || is_traced(layer->bias)) return false;
    if (x->size == 0 || !kiln__rows_pay(x->dims, x->ndim, kiln__current_device_index())) return false;
    int length = x->dims[x->ndim - 1];
    return length <= LONG_ROW || (length <= KILN_ROW_LAYER_LONGEST && x->size / length >= ENOUGH_ROWS);
}

static size_t fill_attrs(const struct kiln_row_layer *layer, int64_t attrs[2])
{
    uint32_t bits;
    if (!kiln__row_formulas[layer->op]->numbers) return 0;
    memcpy(&bits, &layer->eps, sizeof bits);
    attrs[0] = bits;
    attrs[1] = (layer->weight ? KILN_ROW_LAYER_WEIGHT : 0) | (layer->bias ? KILN_ROW_LAYER_BIAS : 0);
    return 2;
}

static size_t fill_inputs(const struct kiln_row_layer *layer, struct kiln_array *inputs[3])
{
    size_t count = 0;
    inputs[count++] = layer->x;
    if (layer->weight) inputs[count++] = layer->weight;
    if (layer->bias) inputs[count++] = layer->bias;
    return count;
}

static kiln_status make_node(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err)
{
    const struct kiln_array *x = layer->x;
    struct kiln_array *inputs[3];
    int64_t attrs[2];
    struct kiln_call call = {.op = layer->op, .inputs = inputs, .attrs = attrs};
    struct kiln_result result = {.as_they_are = true, .dtype = layer->dtype, .ndim = x->ndim};
    call.count = fill_inputs(layer, inputs);
    call.attr_count = fill_attrs(layer, attrs);
    memcpy(result.dims, x->dims, x->ndim * sizeof *x->dims);
    if (layer->op == KILN_OP_LOGSUMEXP) {
        result.dims[x->ndim - 1] = 1;
        result.ndim -= !layer->keepdims;
    }
    return kiln__apply_result(&call, &result, out, err);
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

const struct kiln_row_formula *const kiln__row_formulas[KILN_OP_COUNT] = {
#define KILN_LAYER(ID, name, arity) [KILN_OP_##ID] = &kiln__formula_##name,
#include "graph/ops.def"
};

struct kiln_array *kiln__e_row_formula(struct kiln_expression *e, const struct kiln_row_layer *layer)
{
    const struct kiln_row_formula *formula = kiln__row_formulas[layer->op];
    double numbers[KILN_ROW_NUMBERS] = {0};
    if (formula->numbers) formula->numbers(layer->x->dims[layer->x->ndim - 1], layer->eps, numbers);
    return formula->apply(e, layer, numbers);
}

static kiln_status apply_formula(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    return kiln__e_end(&e, kiln__e_row_formula(&e, layer), out);
}

/* Where gradients are asked for it is marked as one operation, however it is computed: its gradient is one too. */
static kiln_status make_marked(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *made = NULL, *inputs[3];
    int64_t attrs[2];
    kiln__marking.paused++;
    kiln_status status = kiln__row_layer(layer, &made, err);
    kiln__marking.paused--;
    if (status) return status;
    size_t count = fill_inputs(layer, inputs);
    status = kiln__mark_as(layer->op, inputs, count, attrs, fill_attrs(layer, attrs), made, out, err);
    kiln__array_unref(made);
    return status;
}

kiln_status kiln__row_layer(const struct kiln_row_layer *layer, struct kiln_array **out, kiln_error *err)
{
    if (kiln__is_marked(layer->x) || kiln__is_marked(layer->weight) || kiln__is_marked(layer->bias))
        return make_marked(layer, out, err);
    return kiln__row_layer_fits(layer) ? make_node(layer, out, err) : apply_formula(layer, out, err);
}
