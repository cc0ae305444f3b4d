/*
 * gradient_replay.c - derivatives in shapeless traces. How a gradient is computed depends on sizes: which axes were
 * broadcast, how many elements were averaged. So the derivative of an operation is recorded as a deferred operation
 * (graph/deferred.h), and for sizes at hand it is replayed: the operation is applied, or replayed, and differentiated
 * by its rule.
 *
 * gradient: arrays are the operation's inputs and the cotangent; numbers the input that is meant, the operation and its
 * attributes. tangent: arrays are the inputs and the tangents; numbers how many tangents and of which inputs, then the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "ops/creation.h"
#include "ops/replay.h"
#include "transform/grad/differentiate.h"
#include "transform/grad/gradient_rules.h"

/* ---- recording ----------------------------------------------------------------------------------------------------
 */

static kiln_status end_record(struct kiln_record *record, const struct kiln_step *step,
                              struct kiln_array *const *others, size_t count, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array **arrays = malloc((step->count + count) * sizeof *arrays);
    if (!arrays) return kiln__no_memory(err, "a derivative");
    memcpy(arrays, step->inputs, step->count * sizeof *arrays);
    memcpy(arrays + step->count, others, count * sizeof *arrays);
    kiln__record_arrays(record, arrays, step->count + count);
    kiln__record_number(record, step->op);
    for (uint32_t i = 0; i < step->attr_count; i++) kiln__record_number(record, step->attrs[i]);
    kiln_status status = kiln__record_end(record, out, err);
    free(arrays);
    return status;
}

kiln_status kiln__record_gradient(const struct kiln_step *step, uint32_t k, struct kiln_array *cotangent,
                                  struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_GRADIENT);
    kiln__record_number(&record, k);
    return end_record(&record, step, &cotangent, 1, out, err);
}

kiln_status kiln__record_tangent(const struct kiln_step *step, struct kiln_array *const *tangents,
                                 struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(KILN_DEFERRED_TANGENT);
    struct kiln_array *given[KILN_RECORD_NUMBERS];
    int positions[KILN_RECORD_NUMBERS];
    size_t count = 0;
    for (uint32_t k = 0; k < step->count; k++) {
        if (!tangents[k]) continue;
        if (count == KILN_RECORD_NUMBERS)
            return kiln__fail(err, KILN_INVALID, "[jvp] %s has more than %d inputs; a shapeless trace takes no more.",
                              kiln__ops[step->op].name, KILN_RECORD_NUMBERS);
        positions[count] = (int)k;
        given[count++] = tangents[k];
    }
    kiln__record_numbers(&record, positions, count);
    return end_record(&record, step, given, count, out, err);
}

/* ---- replaying ----------------------------------------------------------------------------------------------------
 */

struct operation {
    enum kiln_op op;
    const int64_t *attrs;
    size_t attr_count;
};

/* A kiln_callback; the payload is the operation. */
static kiln_status apply(void *payload, struct kiln_array *const *inputs, size_t count, struct kiln_array ***outputs,
                         size_t *output_count, kiln_error *err)
{
    const struct operation *operation = payload;
    struct kiln_array **list = calloc(1, sizeof *list);
    if (!list) return kiln__no_memory(err, "a derivative");
    kiln_status status =
        operation->op == KILN_OP_DEFERRED
            ? kiln__deferred_replay(inputs, count, operation->attrs, operation->attr_count, list, err)
            : kiln__apply(operation->op, inputs, count, operation->attrs, operation->attr_count, list, err);
    if (status) {
        free(list);
        return status;
    }
    *outputs = list;
    *output_count = 1;
    return KILN_OK;
}

/* The operation is behind what was read before. */
static struct operation read_operation(struct kiln_record *record)
{
    struct operation operation = {.op = (enum kiln_op)kiln__recorded_number(record)};
    operation.attrs = record->numbers + record->next_number;
    operation.attr_count = record->number_count - record->next_number;
    return operation;
}

/* Applies the operation to variables for the inputs with these numbers. */
static kiln_status begin(const char *name, struct operation *operation, struct kiln_array_list inputs,
                         const int *positions, size_t count, struct kiln_differentiation *d, kiln_error *err)
{
    bool *is_variable = calloc(inputs.count + 1, sizeof *is_variable);
    if (!is_variable) return kiln__no_memory(err, "a derivative");
    for (size_t i = 0; i < count; i++) is_variable[positions[i]] = true;
    kiln_status status =
        kiln__differentiate(name, (struct kiln_array_function){apply, operation}, inputs, is_variable, d, err);
    free(is_variable);
    return status;
}

static kiln_status end(struct kiln_differentiation *d, kiln_status status, struct kiln_array *like,
                       struct kiln_array **out, kiln_error *err)
{
    if (!status && !*out) status = kiln__zeros_like(like, out, err);
    kiln__differentiate_end(d);
    return status;
}

static kiln_status replay_gradient(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_differentiation d;
    const int k = (int)kiln__recorded_number(record);
    struct operation operation = read_operation(record);
    const struct kiln_array_list inputs = {(struct kiln_array **)(uintptr_t)record->arrays, record->array_count - 1};
    struct kiln_array *cotangent = record->arrays[inputs.count], *made = NULL;
    kiln_status status = begin("vjp", &operation, inputs, &k, 1, &d, err);
    if (status) return status;
    status = kiln__pull_back(d.first, 1, d.outputs, &cotangent, &made, err);
    status = end(&d, status, inputs.arrays[k], &made, err);
    if (!status) *out = made;
    return status;
}

static kiln_status replay_tangent(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    struct kiln_differentiation d;
    int positions[KILN_RECORD_NUMBERS];
    size_t count = kiln__recorded_numbers(record, positions);
    struct operation operation = read_operation(record);
    const struct kiln_array_list inputs = {(struct kiln_array **)(uintptr_t)record->arrays,
                                           record->array_count - count};
    struct kiln_array *made = NULL;
    kiln_status status = begin("jvp", &operation, inputs, positions, count, &d, err);
    if (status) return status;
    status = kiln__push_forward(d.first, count, d.outputs, record->arrays + inputs.count, &made, err);
    status = end(&d, status, d.outputs.arrays[0], &made, err);
    if (!status) *out = made;
    return status;
}

__attribute__((constructor)) static void install(void)
{
    kiln__gradient_replayer = replay_gradient;
    kiln__tangent_replayer = replay_tangent;
}
