/*
 * sort.c - sort and argsort along an axis: stable, NaN last.
 *
 * Rows are sorted by their keys (sort_keys.h), which have one order for all dtypes: short rows by insertion, long ones
 * by counting, a byte of the key at a time from the lowest, which keeps equal keys in their order.
 */
#include <stdlib.h>
#include <string.h>

#include "run/ops/axis.h"
#include "run/ops/merge.h"
#include "run/ops/operation.h"
#include "run/ops/sort_keys.h"

enum { INSERTION_MAX = 48, DIGITS = 256 };

struct entry {
    uint64_t key;
    uint32_t position;
};

struct sorter {
    const struct kiln_array *in;
    struct kiln_array *out;
    struct kiln_axis from, to;
    bool positions; /* argsort */
    atomic_bool failed;
};

static void sort_by_insertion(struct entry *entries, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        struct entry entry = entries[i];
        int64_t to = i;
        for (; to > 0 && entries[to - 1].key > entry.key; to--) entries[to] = entries[to - 1];
        entries[to] = entry;
    }
}

/* One pass: entries in order of one byte of their keys; false when all have the same one and nothing moved. */
static bool sort_by_byte(const struct entry *from, struct entry *to, int64_t n, unsigned shift)
{
    int64_t starts[DIGITS] = {0}, next = 0;
    for (int64_t i = 0; i < n; i++) starts[from[i].key >> shift & 255]++;
    if (starts[from[0].key >> shift & 255] == n) return false;
    for (int digit = 0; digit < DIGITS; digit++) {
        int64_t count = starts[digit];
        starts[digit] = next;
        next += count;
    }
    for (int64_t i = 0; i < n; i++) to[starts[from[i].key >> shift & 255]++] = from[i];
    return true;
}

/* The sorted entries: `entries` or `spare`. */
static struct entry *sort_entries(struct entry *entries, struct entry *spare, int64_t n, size_t key_bytes)
{
    if (n <= INSERTION_MAX) {
        sort_by_insertion(entries, n);
        return entries;
    }
    for (unsigned shift = 0; shift < 8 * key_bytes; shift += 8) {
        if (!sort_by_byte(entries, spare, n, shift)) continue;
        struct entry *sorted = spare;
        spare = entries;
        entries = sorted;
    }
    return entries;
}

static void sort_row(const struct sorter *sorter, int64_t row, uint64_t *keys, struct entry *entries)
{
    const struct kiln_array *in = sorter->in;
    const char *from = in->data + kiln__axis_offset(&sorter->from, row);
    char *to = sorter->out->data + kiln__axis_offset(&sorter->to, row);
    int64_t n = sorter->from.n, item = (int64_t)kiln__dtype_size(in->dtype);
    kiln_merge *copy = kiln__merge(KILN_MERGE_SET, in->dtype);
    kiln__order_keys[in->dtype](from, sorter->from.stride, n, keys);
    for (int64_t i = 0; i < n; i++) entries[i] = (struct entry){keys[i], (uint32_t)i};
    entries = sort_entries(entries, entries + n, n, (size_t)item);
    for (int64_t i = 0; i < n; i++, to += sorter->to.stride) {
        if (sorter->positions)
            memcpy(to, &entries[i].position, sizeof entries[i].position);
        else
            copy(to, item, from + entries[i].position * sorter->from.stride, item, 1);
    }
}

static void sort_rows(void *ctx, int64_t first, int64_t end)
{
    struct sorter *sorter = ctx;
    size_t n = (size_t)sorter->from.n;
    uint64_t *keys = malloc(n * sizeof *keys);
    struct entry *entries = malloc(2 * n * sizeof *entries);
    if (!keys || !entries) atomic_store_explicit(&sorter->failed, true, memory_order_relaxed);
    for (int64_t row = first; keys && entries && row < end; row++) sort_row(sorter, row, keys, entries);
    free(keys);
    free(entries);
}

kiln_status kiln__run_sort(const struct kiln_node *node, struct kiln_array *out, kiln_error *err)
{
    struct sorter sorter = {.in = node->inputs[0], .out = out, .positions = node->op == KILN_OP_ARGSORT};
    kiln_status status = kiln__output_alloc(out, err);
    if (status != KILN_OK || out->size == 0) return status;
    kiln__axis_init(&sorter.from, sorter.in, (size_t)node->attrs[0]);
    kiln__axis_init(&sorter.to, out, (size_t)node->attrs[0]);
    kiln__rows_run(sort_rows, &sorter, sorter.from.rows, out->size);
    return atomic_load(&sorter.failed) ? kiln__no_memory(err, "sorting") : KILN_OK;
}
