/*
 * marking.h - which arrays depend on the variables of a function that is being differentiated, and how they were made.
 *
 * A transform (transform/grad) calls a function on variables. While it runs on a thread, every array that an operation
 * makes from a marked one is marked too, and noted on a list: the array and its node. So the node outlives the array's
 * evaluation, and the transform can go through the list backwards, in the order in which the arrays were made. Marks do
 * not change what is computed; a trace that runs at the same time is not concerned.
 *
 * Transforms nest, with one list for all of them, which is dropped when the outermost one ends. A mark is the number of
 * the outermost transform and an index into its list, so it means nothing on other threads and after the end.
 */
#ifndef KILN_GRAPH_MARKING_H
#define KILN_GRAPH_MARKING_H

#include "graph/node.h"

/* A call of a function that has rules of its own, which makes several arrays: its owner puts this first. */
struct kiln_marked_call {
    void (*free)(struct kiln_marked_call *call);
    struct kiln_array **inputs; /* references */
    size_t input_count, output_count;
};

struct kiln_marked {
    struct kiln_array *array;      /* a reference */
    struct kiln_node *node;        /* how it was made; NULL: a result of stop_gradient, or of `call` */
    struct kiln_marked_call *call; /* owned by the entry of its first result; results follow each other */
    uint32_t result;               /* which one of `call` it is */
};

struct kiln_marking {
    uint32_t id; /* 0: no transform runs */
    uint32_t depth, paused;
    uintptr_t frame; /* of the outermost transform: see base/process/callback.h */
    struct kiln_marked *list;
    size_t count, cap;
};

extern _Thread_local struct kiln_marking kiln__marking;

static inline bool kiln__is_marked(const struct kiln_array *array) /* NULL is fine */
{
    if (__builtin_expect(kiln__marking.id == 0, 1) || kiln__marking.paused || !array) return false;
    return atomic_load_explicit(&array->mark, memory_order_relaxed) >> 32 == kiln__marking.id;
}

/* Of a marked array: its place in the list. */
static inline size_t kiln__mark_index(const struct kiln_array *array)
{
    return (uint32_t)atomic_load_explicit(&array->mark, memory_order_relaxed);
}

bool kiln__marking_runs(void); /* a transform, on this thread; forgets one that was left by a jump */
/* Begins a transform, in which marking is not paused; *before is for its end, which also ends those inside of it that
 * were left by a jump. */
struct kiln_marking_state {
    uint32_t depth, paused;
};
kiln_status kiln__marking_begin(uintptr_t frame, struct kiln_marking_state *before, kiln_error *err);
void kiln__marking_end(struct kiln_marking_state before);

/* Puts `array` on the list and marks it; `marked` has the rest, whose references pass to the list unless this fails. */
kiln_status kiln__mark(struct kiln_array *array, struct kiln_marked marked, kiln_error *err);
/* For graph/node.c: the result of an operation, if one of its inputs is marked. */
kiln_status kiln__mark_result(struct kiln_array *array, struct kiln_node *node, kiln_error *err);

/* A view of all of `a`: another array with the same elements, which simplify drops. It is never marked by itself. */
kiln_status kiln__identity(struct kiln_array *a, struct kiln_array **out, kiln_error *err);

/*
 * `made` was computed from `inputs` while marking was paused: *out is an array with the same elements, marked as the
 * result of one operation `op` with these inputs and attributes, whatever it was computed by.
 */
kiln_status kiln__mark_as(enum kiln_op op, struct kiln_array *const *inputs, size_t count, const int64_t *attrs,
                          size_t attr_count, struct kiln_array *made, struct kiln_array **out, kiln_error *err);

#endif
