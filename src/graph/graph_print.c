/*
 * graph_print.c - see graph_print.h. The walk keeps its own stack, so that a chain of a million operations can be
 * printed. A line is printed when all inputs of its operation have names, so every name is defined before it is used.
 */
#include "graph/graph_print.h"

#include <stdlib.h>

#include "graph/deferred.h"

struct name {
    const struct kiln_array *array; /* NULL: a free slot */
    char letter;
    size_t number;
};

struct frame {
    const struct kiln_array *array;
    uint32_t next_input;
};

struct printer {
    struct kiln_buffer *text;
    struct name *names; /* open addressing, a power of two, at most half full */
    size_t name_count, name_cap;
    struct frame *stack;
    size_t depth, stack_cap;
    size_t constants, values;
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static struct name *find_name(struct name *names, size_t cap, const struct kiln_array *array)
{
    size_t i = (size_t)(((uintptr_t)array >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (cap - 1);
    while (names[i].array && names[i].array != array) i = (i + 1) & (cap - 1);
    return &names[i];
}

static bool grow_names(struct printer *printer)
{
    size_t cap = printer->name_cap ? 2 * printer->name_cap : 64;
    struct name *names = calloc(cap, sizeof *names);
    if (!names) return false;
    for (size_t i = 0; i < printer->name_cap; i++)
        if (printer->names[i].array) *find_name(names, cap, printer->names[i].array) = printer->names[i];
    free(printer->names);
    printer->names = names;
    printer->name_cap = cap;
    return true;
}

static bool has_name(const struct printer *printer, const struct kiln_array *array)
{
    return printer->name_cap && find_name(printer->names, printer->name_cap, array)->array;
}

static bool set_name(struct printer *printer, const struct kiln_array *array, char letter, size_t number)
{
    if (2 * printer->name_count >= printer->name_cap && !grow_names(printer)) return false;
    *find_name(printer->names, printer->name_cap, array) = (struct name){array, letter, number};
    printer->name_count++;
    return true;
}

static void print_name(struct printer *printer, const struct kiln_array *array)
{
    const struct name *name = find_name(printer->names, printer->name_cap, array);
    kiln__buffer_printf(printer->text, "%c%zu", name->letter, name->number);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void print_type(struct printer *printer, const struct kiln_array *array)
{
    char shape[KILN_SHAPE_TEXT];
    print_name(printer, array);
    kiln__buffer_printf(printer->text, ": %s%s", kiln__dtypes[array->dtype].name,
                        kiln__shape_text(array->dims, array->ndim, shape));
}

/* The exact bits of a constant of one element; of a larger one only its type. */
static bool print_constant(struct printer *printer, const struct kiln_array *array)
{
    if (!set_name(printer, array, 'c', printer->constants++)) return false;
    print_type(printer, array);
    if (array->size == 1 && array->data) {
        kiln__buffer_printf(printer->text, " = 0x");
        for (size_t i = kiln__dtype_size((enum kiln_dtype)array->dtype); i-- > 0;)
            kiln__buffer_printf(printer->text, "%02x", (unsigned char)array->data[i]);
    }
    kiln__buffer_printf(printer->text, "\n");
    return true;
}

static void print_attrs(struct printer *printer, const struct kiln_node *node)
{
    if (node->attr_count == 0) return;
    kiln__buffer_printf(printer->text, " [");
    for (size_t i = 0; i < node->attr_count; i++)
        kiln__buffer_printf(printer->text, i ? ", %lld" : "%lld", (long long)node->attrs[i]);
    kiln__buffer_printf(printer->text, "]");
}

static bool print_operation(struct printer *printer, const struct kiln_array *array, const struct kiln_node *node)
{
    if (!set_name(printer, array, 'v', printer->values++)) return false;
    print_type(printer, array);
    kiln__buffer_printf(printer->text, " = %s(", kiln__operation_name(node->op, node->attrs));
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (i) kiln__buffer_printf(printer->text, ", ");
        print_name(printer, node->inputs[i]);
    }
    kiln__buffer_printf(printer->text, ")");
    print_attrs(printer, node);
    kiln__buffer_printf(printer->text, "\n");
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool push(struct printer *printer, const struct kiln_array *array)
{
    if (printer->depth == printer->stack_cap) {
        size_t cap = printer->stack_cap ? 2 * printer->stack_cap : 64;
        struct frame *stack = realloc(printer->stack, cap * sizeof *stack);
        if (!stack) return false;
        printer->stack = stack;
        printer->stack_cap = cap;
    }
    printer->stack[printer->depth++] = (struct frame){array, 0};
    return true;
}

/* One step: down to the next input, or, when all have names, print the array on top and leave it. */
static bool step(struct printer *printer)
{
    struct frame *top = &printer->stack[printer->depth - 1];
    const struct kiln_array *array = top->array;
    const struct kiln_node *node = atomic_load_explicit(&array->node, memory_order_acquire);
    if (!has_name(printer, array)) {
        if (node && top->next_input < node->input_count) return push(printer, node->inputs[top->next_input++]);
        bool done = node ? print_operation(printer, array, node) : print_constant(printer, array);
        if (!done) return false;
    }
    printer->depth--;
    return true;
}

static bool print_inputs(struct printer *printer, struct kiln_array *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (has_name(printer, inputs[i])) continue; /* the same array twice has its first name */
        if (!set_name(printer, inputs[i], 'a', i)) return false;
        print_type(printer, inputs[i]);
        kiln__buffer_printf(printer->text, "\n");
    }
    return true;
}

static bool print_outputs(struct printer *printer, struct kiln_array *const *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!push(printer, outputs[i])) return false;
        while (printer->depth)
            if (!step(printer)) return false;
    }
    kiln__buffer_printf(printer->text, "return");
    for (size_t i = 0; i < count; i++) {
        kiln__buffer_printf(printer->text, i ? ", " : " ");
        print_name(printer, outputs[i]);
    }
    kiln__buffer_printf(printer->text, "\n");
    return true;
}

kiln_status kiln__graph_print(struct kiln_array *const *inputs, size_t input_count, struct kiln_array *const *outputs,
                              size_t output_count, struct kiln_buffer *text, kiln_error *err)
{
    struct printer printer = {.text = text};
    bool done = print_inputs(&printer, inputs, input_count) && print_outputs(&printer, outputs, output_count);
    free(printer.names);
    free(printer.stack);
    return done && !text->failed ? KILN_OK : kiln__no_memory(err, "the text of a graph");
}
