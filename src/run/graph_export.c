/*
 * graph_export.c - see graph_export.h. A walk from the outputs lists the operations, inputs before what reads them, and
 * holds a reference to each node, so that nothing goes away while it is printed. It keeps its own stack.
 */
#include "run/graph_export.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "graph/deferred.h"
#include "run/eval.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct lookup {
    const struct kiln_namer *namer;
    const struct kiln_array *array;
};

static bool same_array(const void *context, uint32_t index)
{
    const struct lookup *lookup = context;
    return lookup->namer->entries[index].array == lookup->array;
}

static struct kiln_named_array *entry_of(struct kiln_namer *namer, struct kiln_array *array)
{
    const struct lookup lookup = {namer, array};
    uint32_t *slot = kiln__table_slot(&namer->table, kiln__hash(&array, sizeof array), same_array, &lookup);
    if (!slot) return NULL;
    if (*slot != KILN_TABLE_EMPTY) return &namer->entries[*slot];
    if (namer->count == namer->cap) {
        size_t cap = namer->cap ? 2 * namer->cap : 16;
        struct kiln_named_array *entries = reallocarray(namer->entries, cap, sizeof *entries);
        if (!entries) return NULL;
        namer->entries = entries;
        namer->cap = cap;
    }
    *slot = (uint32_t)namer->count;
    namer->entries[namer->count] = (struct kiln_named_array){kiln__array_ref(array), NULL};
    return &namer->entries[namer->count++];
}

void kiln__namer_release(struct kiln_namer *namer)
{
    for (size_t i = 0; i < namer->count; i++) {
        kiln__array_unref(namer->entries[i].array);
        free(namer->entries[i].name);
    }
    free(namer->entries);
    kiln__table_release(&namer->table);
    *namer = (struct kiln_namer){0};
}

bool kiln__namer_set(struct kiln_namer *namer, struct kiln_array *array, const char *name)
{
    struct kiln_named_array *entry = entry_of(namer, array);
    char *copy = entry ? strdup(name) : NULL;
    if (!copy) return false;
    free(entry->name);
    entry->name = copy;
    return true;
}

/* A to Z, AA to ZZ and so on. */
static void next_name(uint64_t number, char out[16])
{
    char reversed[16];
    int size = 0;
    for (number++; number; number = (number - 1) / 26) reversed[size++] = (char)('A' + (number - 1) % 26);
    for (int i = 0; i < size; i++) out[i] = reversed[size - 1 - i];
    out[size] = '\0';
}

const char *kiln__namer_get(struct kiln_namer *namer, struct kiln_array *array)
{
    struct kiln_named_array *entry = entry_of(namer, array);
    char name[16];
    if (!entry) return NULL;
    if (entry->name) return entry->name;
    next_name(namer->next, name);
    entry->name = strdup(name);
    if (entry->name) namer->next++;
    return entry->name;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* An array that the walk met; `node` is a reference, NULL for an input. */
struct step {
    struct kiln_array *array;
    struct kiln_node *node;
    uint32_t next_input;
};

struct walk {
    struct step *steps; /* done, inputs before what reads them */
    size_t count, cap;
    struct step *stack;
    size_t depth, stack_cap;
    struct kiln_namer met; /* as a set */
};

static bool append(struct step **list, size_t *count, size_t *cap, struct step step)
{
    if (*count == *cap) {
        size_t more = *cap ? 2 * *cap : 64;
        struct step *longer = reallocarray(*list, more, sizeof *longer);
        if (!longer) return false;
        *list = longer;
        *cap = more;
    }
    (*list)[(*count)++] = step;
    return true;
}

static bool push(struct walk *walk, struct kiln_array *array)
{
    size_t before = walk->met.count;
    if (!entry_of(&walk->met, array)) return false;
    if (walk->met.count == before) return true; /* met before */
    struct step step = {array, kiln__eval_node(array), 0};
    if (append(&walk->stack, &walk->depth, &walk->stack_cap, step)) return true;
    if (step.node) kiln__node_unref(step.node);
    return false;
}

/* The input of a load is what is read (run/io/source.h), not an array of anybody's. */
static uint32_t shown_inputs(const struct kiln_node *node)
{
    return node->op == KILN_OP_LOAD ? 0 : node->input_count;
}

static bool walk_from(struct walk *walk, struct kiln_array *output)
{
    if (!push(walk, output)) return false;
    while (walk->depth) {
        struct step *top = &walk->stack[walk->depth - 1];
        if (top->node && top->next_input < shown_inputs(top->node)) {
            if (!push(walk, top->node->inputs[top->next_input++])) return false;
        } else {
            if (!append(&walk->steps, &walk->count, &walk->cap, *top)) return false;
            walk->depth--;
        }
    }
    return true;
}

static void release(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        if (walk->steps[i].node) kiln__node_unref(walk->steps[i].node);
    for (size_t i = 0; i < walk->depth; i++)
        if (walk->stack[i].node) kiln__node_unref(walk->stack[i].node);
    free(walk->steps);
    free(walk->stack);
    kiln__namer_release(&walk->met);
}

typedef void print_steps(struct kiln_namer *namer, const struct walk *walk, struct kiln_array *const *outputs,
                         size_t count, struct kiln_buffer *text);

static kiln_status print(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                         struct kiln_buffer *text, print_steps *print_all, kiln_error *err)
{
    struct walk walk = {0};
    bool done = true;
    for (size_t i = 0; i < count && done; i++) done = walk_from(&walk, outputs[i]);
    for (size_t i = 0; i < walk.count && done; i++) done = kiln__namer_get(namer, walk.steps[i].array);
    if (done) print_all(namer, &walk, outputs, count, text);
    release(&walk);
    return done && !text->failed ? KILN_OK : kiln__no_memory(err, "the text of a graph");
}

static void print_escaped(struct kiln_buffer *text, const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c == '"' || *c == '\\')
            kiln__buffer_printf(text, "\\%c", *c);
        else if (*c == '\n')
            kiln__buffer_printf(text, "\\n");
        else if (*c < ' ' || *c == 127)
            kiln__buffer_printf(text, "?");
        else
            kiln__buffer_append(text, c, 1);
}

static const char *op_name(const struct kiln_node *node)
{
    return kiln__operation_name((enum kiln_op)node->op, node->attrs);
}

/* A call of a compiled function makes several arrays, and is printed with the first that was met. */
static bool is_first_of_node(const struct walk *walk, size_t at)
{
    const struct kiln_node *node = walk->steps[at].node;
    for (size_t i = 0; node->op == KILN_OP_PLAN && i < at; i++)
        if (walk->steps[i].node == node) return false;
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void print_array(struct kiln_namer *namer, struct kiln_array *array, bool is_first, struct kiln_buffer *text)
{
    char shape[KILN_SHAPE_TEXT];
    kiln__buffer_printf(text, is_first ? " " : ", ");
    print_escaped(text, kiln__namer_get(namer, array));
    kiln__buffer_printf(text, " (%s, %s)", kiln__dtypes[array->dtype].name,
                        kiln__shape_text(array->dims, array->ndim, shape));
}

static void print_operation(struct kiln_namer *namer, const struct walk *walk, size_t at, struct kiln_buffer *text)
{
    const struct kiln_node *node = walk->steps[at].node;
    bool is_first = true;
    kiln__buffer_printf(text, "%s", op_name(node));
    for (uint32_t i = 0; i < shown_inputs(node); i++) print_array(namer, node->inputs[i], i == 0, text);
    kiln__buffer_printf(text, " ->");
    for (size_t i = at; i < walk->count; i++) {
        if (walk->steps[i].node != node) continue;
        print_array(namer, walk->steps[i].array, is_first, text);
        is_first = false;
        if (node->op != KILN_OP_PLAN) break;
    }
    kiln__buffer_printf(text, "\n");
}

static void print_lines(struct kiln_namer *namer, const struct walk *walk, struct kiln_array *const *outputs,
                        size_t count, struct kiln_buffer *text)
{
    bool is_first = true;
    kiln__buffer_printf(text, "Inputs:");
    for (size_t i = 0; i < walk->count; i++) {
        if (walk->steps[i].node) continue;
        print_array(namer, walk->steps[i].array, is_first, text);
        is_first = false;
    }
    kiln__buffer_printf(text, "\n");
    for (size_t i = 0; i < walk->count; i++)
        if (walk->steps[i].node && is_first_of_node(walk, i)) print_operation(namer, walk, i, text);
    kiln__buffer_printf(text, "Outputs:");
    for (size_t i = 0; i < count; i++) print_array(namer, outputs[i], i == 0, text);
    kiln__buffer_printf(text, "\n");
}

kiln_status kiln__graph_lines(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                              struct kiln_buffer *text, kiln_error *err)
{
    return print(namer, outputs, count, text, print_lines, err);
}

/* ---- dot --------------------------------------------------------------------------------------------------------- */

/* Names may be equal, so a box is known by the order in which its array was met. */
static unsigned number_of(const struct walk *walk, const struct kiln_array *array)
{
    const struct lookup lookup = {&walk->met, array};
    return kiln__table_find(&walk->met.table, kiln__hash(&array, sizeof array), same_array, &lookup);
}

static bool is_among(const struct kiln_array *array, struct kiln_array *const *list, size_t count)
{
    size_t i = 0;
    while (i < count && list[i] != array) i++;
    return i < count;
}

static void print_ellipse(struct kiln_namer *namer, const struct walk *walk, const struct step *step, bool is_output,
                          struct kiln_buffer *text)
{
    kiln__buffer_printf(text, "{ %sa%u [label=\"",
                        is_output    ? "rank=sink; "
                        : step->node ? ""
                                     : "rank=source; ",
                        number_of(walk, step->array));
    print_escaped(text, kiln__namer_get(namer, step->array));
    kiln__buffer_printf(text, "\"]; }\n");
}

static void print_rectangle(const struct walk *walk, size_t at, struct kiln_buffer *text)
{
    const struct kiln_node *node = walk->steps[at].node;
    kiln__buffer_printf(text, "{ n%zu [label=\"%s\", shape=rectangle]; }\n", at, op_name(node));
    for (uint32_t i = 0; i < shown_inputs(node); i++)
        kiln__buffer_printf(text, "a%u -> n%zu\n", number_of(walk, node->inputs[i]), at);
    for (size_t i = at; i < walk->count; i++) {
        if (walk->steps[i].node != node) continue;
        kiln__buffer_printf(text, "n%zu -> a%u\n", at, number_of(walk, walk->steps[i].array));
        if (node->op != KILN_OP_PLAN) break;
    }
}

static void print_dot(struct kiln_namer *namer, const struct walk *walk, struct kiln_array *const *outputs,
                      size_t count, struct kiln_buffer *text)
{
    kiln__buffer_printf(text, "digraph {\n");
    for (size_t i = 0; i < walk->count; i++)
        print_ellipse(namer, walk, &walk->steps[i], is_among(walk->steps[i].array, outputs, count), text);
    for (size_t i = 0; i < walk->count; i++)
        if (walk->steps[i].node && is_first_of_node(walk, i)) print_rectangle(walk, i, text);
    kiln__buffer_printf(text, "}\n");
}

kiln_status kiln__graph_dot(struct kiln_namer *namer, struct kiln_array *const *outputs, size_t count,
                            struct kiln_buffer *text, kiln_error *err)
{
    return print(namer, outputs, count, text, print_dot, err);
}
