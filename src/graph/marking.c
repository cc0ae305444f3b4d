/*
 * marking.c - see marking.h. The list holds a reference to every marked array, so no array is freed with a mark.
 */
#include "graph/marking.h"

#include <stdlib.h>

#include "base/process/callback.h"
#include "graph/tracing.h"

_Thread_local struct kiln_marking kiln__marking;

static _Atomic uint32_t last_id;

static uint32_t next_id(void)
{
    uint32_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    return id ? id : next_id();
}

/* A function that left its transform with longjmp() has ended it. What is on the list leaks: who holds it is unknown.
 */
bool kiln__marking_runs(void)
{
    if (__builtin_expect(kiln__marking.id == 0, 1)) return false;
    if (!kiln__frame_is_lost(kiln__marking.frame, kiln__frame())) return true;
    kiln__marking = (struct kiln_marking){0};
    return false;
}

kiln_status kiln__marking_begin(uintptr_t frame, struct kiln_marking_state *before, kiln_error *err)
{
    enum { DEEPEST = 1 << 12 };
    struct kiln_marking *marking = &kiln__marking;
    bool is_inside = kiln__marking_runs();
    if (marking->depth == DEEPEST)
        return kiln__fail(err, KILN_INVALID, "Transforms are nested more than %d deep.", DEEPEST);
    if (!is_inside) {
        marking->id = next_id();
        marking->frame = frame;
    }
    *before = (struct kiln_marking_state){marking->depth++, marking->paused};
    marking->paused = 0;
    return KILN_OK;
}

static void drop(struct kiln_marked *marked)
{
    atomic_store_explicit(&marked->array->mark, 0, memory_order_relaxed);
    if (marked->call && marked->result == 0) marked->call->free(marked->call);
    kiln__node_unref(marked->node);
    kiln__array_unref(marked->array);
}

/* The last ones first: an array is made after its inputs. */
void kiln__marking_end(struct kiln_marking_state before)
{
    struct kiln_marking *marking = &kiln__marking;
    marking->depth = before.depth;
    marking->paused = before.paused;
    if (before.depth) return;
    struct kiln_marking ended = *marking;
    *marking = (struct kiln_marking){0};
    while (ended.count) drop(&ended.list[--ended.count]);
    free(ended.list);
}

kiln_status kiln__mark(struct kiln_array *array, struct kiln_marked marked, kiln_error *err)
{
    struct kiln_marking *marking = &kiln__marking;
    if (marking->count == UINT32_MAX) return kiln__fail(err, KILN_INVALID, "too many operations for a transform");
    if (marking->count == marking->cap) {
        size_t cap = marking->cap ? marking->cap * 2 : 256;
        struct kiln_marked *list = realloc(marking->list, cap * sizeof *list);
        if (!list) return kiln__no_memory(err, "a transform");
        marking->list = list;
        marking->cap = cap;
    }
    if (array->trace) kiln__tracing.has_gradients = true;
    marked.array = kiln__array_ref(array);
    atomic_store_explicit(&array->mark, (uint64_t)marking->id << 32 | marking->count, memory_order_relaxed);
    marking->list[marking->count++] = marked;
    return KILN_OK;
}

kiln_status kiln__mark_result(struct kiln_array *array, struct kiln_node *node, kiln_error *err)
{
    bool depends = false;
    for (uint32_t i = 0; i < node->input_count && !depends; i++) depends = kiln__is_marked(node->inputs[i]);
    if (!depends) return KILN_OK;
    atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    kiln_status status = kiln__mark(array, (struct kiln_marked){.node = node}, err);
    if (status) kiln__node_unref(node);
    return status;
}

kiln_status kiln__identity(struct kiln_array *a, struct kiln_array **out, kiln_error *err)
{
    int64_t axes[KILN_MAX_NDIM];
    for (int i = 0; i < a->ndim; i++) axes[i] = i;
    kiln__marking.paused++;
    kiln_status status = kiln__apply(KILN_OP_TRANSPOSE, &a, 1, axes, a->ndim, out, err);
    kiln__marking.paused--;
    return status;
}

kiln_status kiln__mark_as(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                          size_t attr_count, struct kiln_array *made, struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *array = NULL;
    struct kiln_node *node = NULL;
    kiln_status status = kiln__identity(made, &array, err);
    if (!status) status = kiln__node_new(op, inputs, count, attrs, attr_count, &node, err);
    if (!status) status = kiln__mark(array, (struct kiln_marked){.node = node}, err);
    if (status) {
        kiln__node_unref(node);
        kiln__array_unref(array);
        return status;
    }
    *out = array;
    return KILN_OK;
}
