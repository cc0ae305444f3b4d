/*
 * function_file.c - see function_file.h: what a file holds, how it is made from traces, and how it is applied.
 *
 * A function is recorded as by a plain trace, where every attribute is worked out. If it is shapeless, or has an
 * operation that only its record can apply again (attention, for one), as by a shapeless one (graph/deferred.h).
 */
#include "run/function/function_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "graph/rules.h"
#include "run/eval.h"

const char kiln__function_magic[8] = "KILNFUNC";

bool kiln__function_has_op(enum kiln_op op)
{
#define KILN_OPERATION(ID, name, arity, kind, dtypes, shape, run, gpu)                                                 \
    [KILN_OP_##ID] = {KILN_OP_##kind == KILN_OP_SOURCE, kiln__shape_##shape},
    static const struct {
        bool is_source;
        kiln_op_rule *shape;
    } facts[KILN_OP_COUNT] = {
#include "graph/ops.def"
    };
    return op == KILN_OP_DEFERRED || (!facts[op].is_source && facts[op].shape != kiln__shape_none);
}

uint32_t kiln__function_numbering(void)
{
    struct kiln_sha256 sha;
    struct kiln_digest digest;
    uint32_t number;
    kiln__sha256_init(&sha);
    for (int i = 0; i < KILN_OP_COUNT; i++) kiln__sha256_update(&sha, kiln__ops[i].name, strlen(kiln__ops[i].name) + 1);
    kiln__sha256_final(&sha, &digest);
    memcpy(&number, digest.bytes, sizeof number);
    return number;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static void release_exported(struct kiln_exported *exported)
{
    kiln__tape_free(exported->tape);
    for (size_t i = 0; exported->names && i < exported->named; i++) free(exported->names[i]);
    free(exported->names);
}

void kiln__function_release(struct kiln_function_file *file)
{
    for (size_t i = 0; i < file->count; i++) release_exported(&file->functions[i]);
    free(file->functions);
    *file = (struct kiln_function_file){0};
}

void kiln__function_drop_last(struct kiln_function_file *file)
{
    release_exported(&file->functions[--file->count]);
}

static const struct kiln_value *find_foreign(const struct kiln_tape *tape)
{
    for (uint32_t i = 0; i < tape->count; i++)
        if (tape->values[i].kind == KILN_VALUE_NODE && !kiln__function_has_op((enum kiln_op)tape->values[i].op))
            return &tape->values[i];
    return NULL;
}

static kiln_status record(kiln_callback callback, void *payload, const struct kiln_inputs *inputs, bool is_shapeless,
                          struct kiln_tape **out, kiln_error *err)
{
    struct kiln_traced function = {
        .callback = callback, .payload = payload, .shapeless = is_shapeless, .may_use_its_call = true};
    if (kiln__trace_running())
        return kiln__fail(err, KILN_INVALID, "[export_function] a function can't be exported while another is traced");
    kiln_status status = kiln__trace_function(&function, inputs->arrays, inputs->listed + inputs->named, out, err);
    if (status || is_shapeless || !find_foreign(*out)) return status;
    kiln__tape_free(*out);
    *out = NULL;
    function.shapeless = true;
    return kiln__trace_function(&function, inputs->arrays, inputs->listed + inputs->named, out, err);
}

static kiln_status check_tape(const struct kiln_tape *tape, kiln_error *err)
{
    const struct kiln_value *foreign = find_foreign(tape);
    kiln_status status = KILN_OK;
    if (foreign)
        return kiln__fail(err, KILN_INVALID, "[export_function] the operation %s has no form in a file",
                          kiln__ops[foreign->op].name);
    for (uint32_t i = 0; i < tape->count && !status; i++)
        if (tape->values[i].kind == KILN_VALUE_CONSTANT) status = kiln__eval(&tape->values[i].array, 1, err);
    return status;
}

static bool copy_names(struct kiln_exported *exported, const struct kiln_inputs *inputs)
{
    exported->names = calloc(inputs->named + 1, sizeof *exported->names);
    if (!exported->names) return false;
    for (; exported->named < inputs->named; exported->named++)
        if (!(exported->names[exported->named] = strdup(inputs->names[exported->named]))) return false;
    return true;
}

static bool has_names(const struct kiln_exported *exported, const struct kiln_inputs *inputs)
{
    if (exported->listed != inputs->listed || exported->named != inputs->named) return false;
    size_t i = 0;
    while (i < exported->named && !strcmp(exported->names[i], inputs->names[i])) i++;
    return i == exported->named;
}

static bool takes(const struct kiln_exported *exported, struct kiln_array *const *arrays)
{
    for (size_t i = 0; i < exported->listed + exported->named; i++) {
        const struct kiln_value *value = &exported->tape->values[i];
        if (value->dtype != arrays[i]->dtype || value->ndim != arrays[i]->ndim) return false;
        if (!exported->is_shapeless && value->ndim &&
            memcmp(value->dims, arrays[i]->dims, value->ndim * sizeof *value->dims) != 0)
            return false;
    }
    return true;
}

kiln_status kiln__function_add(struct kiln_function_file *file, kiln_callback callback, void *payload,
                               const struct kiln_inputs *inputs, bool is_shapeless, kiln_error *err)
{
    struct kiln_exported made = {.is_shapeless = is_shapeless, .listed = inputs->listed};
    for (size_t i = 0; i < file->count; i++)
        if (has_names(&file->functions[i], inputs) && takes(&file->functions[i], inputs->arrays))
            return kiln__fail(err, KILN_INVALID,
                              "[export_function] a function that takes these inputs was exported "
                              "before");
    struct kiln_exported *longer = reallocarray(file->functions, file->count + 1, sizeof *longer);
    if (!longer) return kiln__no_memory(err, "a function");
    file->functions = longer;
    kiln_status status = record(callback, payload, inputs, is_shapeless, &made.tape, err);
    if (!status) status = check_tape(made.tape, err);
    if (!status && !copy_names(&made, inputs)) status = kiln__no_memory(err, "a function");
    if (status)
        release_exported(&made);
    else
        longer[file->count++] = made;
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* Names are another way to give what is listed, where the function has no names at all. */
static bool takes_as_listed(const struct kiln_exported *exported, const struct kiln_inputs *inputs)
{
    return exported->named == 0 && exported->listed == inputs->listed + inputs->named;
}

static const struct kiln_exported *find(const struct kiln_function_file *file, const struct kiln_inputs *inputs)
{
    for (int as_listed = 0; as_listed < 2; as_listed++)
        for (size_t i = 0; i < file->count; i++) {
            const struct kiln_exported *exported = &file->functions[i];
            bool fits = as_listed ? takes_as_listed(exported, inputs) : has_names(exported, inputs);
            if (fits && takes(exported, inputs->arrays)) return exported;
        }
    return NULL;
}

static void print_input(struct kiln_buffer *text, size_t i, const char *name, int dtype, size_t ndim, const int *dims)
{
    char shape[KILN_SHAPE_TEXT];
    kiln__buffer_printf(text, "%s%s%s%s %s", i ? ", " : "(", name ? name : "", name ? "=" : "",
                        kiln__dtypes[dtype].name, kiln__shape_text(dims, ndim, shape));
}

static kiln_status refuse(const struct kiln_function_file *file, const struct kiln_inputs *inputs, kiln_error *err)
{
    struct kiln_buffer text = {0};
    kiln__buffer_printf(&text, "[import_function] no function of the file takes ");
    for (size_t i = 0; i < inputs->listed + inputs->named; i++)
        print_input(&text, i, i < inputs->listed ? NULL : inputs->names[i - inputs->listed], inputs->arrays[i]->dtype,
                    inputs->arrays[i]->ndim, inputs->arrays[i]->dims);
    kiln__buffer_printf(&text, "%s; there are", inputs->listed + inputs->named ? ")" : "no inputs");
    for (size_t k = 0; k < file->count && text.size < 800; k++) {
        const struct kiln_exported *exported = &file->functions[k];
        kiln__buffer_printf(&text, "%s%s", k ? ", " : " ", exported->listed + exported->named ? "" : "(");
        for (size_t i = 0; i < exported->listed + exported->named; i++) {
            const struct kiln_value *value = &exported->tape->values[i];
            print_input(&text, i, i < exported->listed ? NULL : exported->names[i - exported->listed], value->dtype,
                        value->ndim, value->dims);
        }
        kiln__buffer_printf(&text, ")%s", exported->is_shapeless ? " of any sizes" : "");
    }
    kiln__fail(err, KILN_INVALID, "%s",
               text.failed ? "[import_function] no function of the file takes these inputs" : (const char *)text.data);
    kiln__buffer_release(&text);
    return KILN_INVALID;
}

kiln_status kiln__function_apply(const struct kiln_function_file *file, const struct kiln_inputs *inputs,
                                 struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    const struct kiln_exported *exported = find(file, inputs);
    if (!exported) return refuse(file, inputs, err);
    return kiln__tape_apply(exported->tape, inputs->arrays, inputs->listed + inputs->named, outputs, output_count, err);
}
