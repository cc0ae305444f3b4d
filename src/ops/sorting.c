/*
 * sorting.c - see sorting.h.
 */
#include "ops/sorting.h"

#include "ops/reductions.h" /* kiln__plain_axis */
#include "ops/replay.h"

/* The array to sort and its axis: `a`, or all of its elements in a row. */
static struct kiln_array *prepare(struct kiln_expression *e, const char *name, struct kiln_array *a, const int *axis,
                                  int *plain)
{
    if (!a) {
        e->status = kiln__fail(e->err, KILN_INVALID, "[%s] input is empty.", name);
        return NULL;
    }
    if (!axis) {
        *plain = 0;
        return kiln__e_reshape(e, a, (int[]){-1}, 1);
    }
    e->status = kiln__plain_axis(name, *axis, a->ndim, plain, e->err);
    return e->status ? NULL : a;
}

kiln_status kiln__sort(enum kiln_op op, struct kiln_array *a, const int *axis, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int plain = 0;
    struct kiln_array *row = prepare(&e, kiln__ops[op].name, a, axis, &plain);
    return kiln__e_end(&e, kiln__e_apply(&e, op, &row, 1, (int64_t[]){plain}, 1), out);
}

/* A record about one array, a position, and an axis or all of it. */
static kiln_status record_position(enum kiln_deferred deferred, enum kiln_op op, struct kiln_array *a, int position,
                                   const int *axis, struct kiln_array **out, kiln_error *err)
{
    struct kiln_record record = kiln__record_begin(deferred);
    kiln__record_array(&record, a);
    kiln__record_number(&record, op);
    kiln__record_number(&record, position);
    kiln__record_numbers(&record, axis, axis != NULL);
    return kiln__record_end(&record, out, err);
}

kiln_status kiln__replay_partition(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axis[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    enum kiln_op op = (enum kiln_op)kiln__recorded_choice(record, KILN_OP_COUNT);
    if (op != KILN_OP_SORT && op != KILN_OP_ARGSORT) record->is_damaged = true, op = KILN_OP_SORT;
    int kth = (int)kiln__recorded_number(record);
    bool has_axis = kiln__recorded_numbers(record, axis);
    return kiln__partition(op, a, kth, has_axis ? axis : NULL, out, err);
}

kiln_status kiln__replay_topk(struct kiln_record *record, struct kiln_array **out, kiln_error *err)
{
    int axis[KILN_RECORD_NUMBERS];
    struct kiln_array *a = kiln__recorded_array(record);
    kiln__recorded_number(record);
    int k = (int)kiln__recorded_number(record);
    bool has_axis = kiln__recorded_numbers(record, axis);
    return kiln__topk(a, k, has_axis ? axis : NULL, out, err);
}

kiln_status kiln__partition(enum kiln_op op, struct kiln_array *a, int kth, const int *axis, struct kiln_array **out,
                            kiln_error *err)
{
    const char *name = op == KILN_OP_ARGSORT ? "argpartition" : "partition";
    struct kiln_expression e = {.err = err};
    int plain = 0;
    if (kiln__is_recorded(a)) return record_position(KILN_DEFERRED_PARTITION, op, a, kth, axis, out, err);
    struct kiln_array *row = prepare(&e, name, a, axis, &plain);
    if (row) {
        int n = row->dims[plain];
        if (kth < -n || kth >= n)
            e.status = kiln__fail(err, KILN_INVALID, "[%s] kth is %d; an axis of size %d has %d to %d.", name, kth, n,
                                  -n, n - 1);
    }
    return kiln__e_end(&e, kiln__e_apply(&e, op, &row, 1, (int64_t[]){plain}, 1), out);
}

kiln_status kiln__topk(struct kiln_array *a, int k, const int *axis, struct kiln_array **out, kiln_error *err)
{
    struct kiln_expression e = {.err = err};
    int plain = 0, n = 0;
    if (kiln__is_recorded(a)) return record_position(KILN_DEFERRED_TOPK, KILN_OP_SORT, a, k, axis, out, err);
    struct kiln_array *row = prepare(&e, "topk", a, axis, &plain);
    if (row) {
        n = row->dims[plain];
        if (k < 0 || k > n)
            e.status = kiln__fail(err, KILN_INVALID, "[topk] k is %d; an axis of size %d has 0 to %d.", k, n, n);
    }
    struct kiln_array *sorted = kiln__e_apply(&e, KILN_OP_SORT, &row, 1, (int64_t[]){plain}, 1);
    int first = e.status ? 0 : n - k;
    struct kiln_array *largest = kiln__e_cut(&e, sorted, plain, first, n, 1); /* rows again: it is no view to callers */
    return kiln__e_end(&e, kiln__e_unary(&e, KILN_OP_CONTIGUOUS, largest), out);
}
