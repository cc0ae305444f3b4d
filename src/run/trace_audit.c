/*
 * trace_audit.c - see trace_audit.h. Texts of all functions share one lock: audits are rare.
 */
#include "run/trace_audit.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/process/fork.h"
#include "graph/deferred.h"
#include "key/explain.h"

struct kiln_trace_text {
    struct kiln_trace_text *next;
    const struct kiln_plan *plan;
    struct kiln_buffer text;
};

KILN_LEAF_LOCK(lock); /* guards all lists */

/* ---- printing ------------------------------------------------------------------------------------------------- */

static void print_constant(const struct kiln_value *value, struct kiln_buffer *out)
{
    struct kiln_array *array = value->array;
    const char *data = NULL;
    if (!kiln__array_is_ready(array) || !array->row_contiguous || kiln__array_host(array, &data, NULL) || !data) {
        kiln__buffer_printf(out, " captured");
        return;
    }
    size_t size = (size_t)array->size * kiln__dtype_size(value->dtype);
    if (array->size != 1) {
        kiln__buffer_printf(out, " captured, hash %016llx", (unsigned long long)kiln__hash(data, size));
        return;
    }
    kiln__buffer_printf(out, " = 0x");
    for (size_t i = size; i-- > 0;) kiln__buffer_printf(out, "%02x", ((const unsigned char *)data)[i]);
}

static void print_value(const struct kiln_value *value, uint32_t index, bool shapeless, struct kiln_buffer *out)
{
    kiln__buffer_printf(out, "%%%u: dtype %u", index, value->dtype);
    for (uint32_t i = 0; i < value->ndim && !shapeless; i++)
        kiln__buffer_printf(out, "%s%d", i ? "x" : " ", value->dims[i]);
    if (value->kind == KILN_VALUE_CONSTANT) print_constant(value, out);
    if (value->kind == KILN_VALUE_INPUT) kiln__buffer_printf(out, " input");
    if (value->kind == KILN_VALUE_NODE) {
        kiln__buffer_printf(out, " = %s", kiln__operation_name(value->op, value->attrs));
        for (uint32_t i = 0; i < value->input_count; i++)
            kiln__buffer_printf(out, "%s%%%u", i ? ", " : " ", value->inputs[i]);
        for (uint32_t i = 0; i < value->attr_count; i++)
            kiln__buffer_printf(out, "%s%lld", i ? ", " : " [", (long long)value->attrs[i]);
        if (value->attr_count) kiln__buffer_printf(out, "]");
    }
    kiln__buffer_printf(out, "\n");
}

void kiln__tape_print(const struct kiln_tape *tape, bool shapeless, struct kiln_buffer *out)
{
    for (uint32_t i = 0; i < tape->count; i++) print_value(&tape->values[i], i, shapeless, out);
    kiln__buffer_printf(out, "return");
    for (uint32_t i = 0; i < tape->output_count; i++) kiln__buffer_printf(out, " %%%u", tape->outputs[i]);
    kiln__buffer_printf(out, "\n");
}

/* ---- texts of a function -------------------------------------------------------------------------------------- */

static struct kiln_trace_text *find(const struct kiln_trace_texts *texts, const struct kiln_plan *plan)
{
    struct kiln_trace_text *text = texts->first;
    while (text && text->plan != plan) text = text->next;
    return text;
}

void kiln__trace_text_keep(struct kiln_trace_texts *texts, const struct kiln_plan *plan, struct kiln_buffer *text)
{
    pthread_mutex_lock(&lock);
    struct kiln_trace_text *known = find(texts, plan);
    if (!known && (known = calloc(1, sizeof *known))) {
        known->next = texts->first;
        known->plan = plan;
        texts->first = known;
    }
    if (known) {
        kiln__buffer_release(&known->text);
        known->text = *text;
        memset(text, 0, sizeof *text);
    }
    pthread_mutex_unlock(&lock);
}

void kiln__trace_text_compare(struct kiln_trace_texts *texts, const struct kiln_plan *plan,
                              const struct kiln_buffer *text, struct kiln_buffer *difference)
{
    pthread_mutex_lock(&lock);
    const struct kiln_trace_text *known = find(texts, plan);
    if (known && !known->text.failed && !text->failed)
        kiln__explain_lines((kiln_bytes){known->text.data, known->text.size}, (kiln_bytes){text->data, text->size},
                            difference);
    pthread_mutex_unlock(&lock);
}

void kiln__trace_texts_release(struct kiln_trace_texts *texts)
{
    for (struct kiln_trace_text *text = texts->first, *next; text; text = next) {
        next = text->next;
        kiln__buffer_release(&text->text);
        free(text);
    }
    texts->first = NULL;
}
