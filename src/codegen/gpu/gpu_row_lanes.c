/*
 * gpu_row_lanes.c - elements of a row into lanes, and lanes into a chunk's total, with the bits of group.h's order.
 *
 * Where the order shows (gpu_lanes.h), thread l of the first 16 has lane l, and threads l and l + 16 have elements of
 * it, the latter those that come later. Of a span the first 16 threads add theirs; the lanes go across, and the other
 * 16 add theirs; the lanes come back. Every thread adds twice and one of the two is of use: cheaper than to hand over
 * every element.
 *
 * Where it does not, each of the 32 threads combines what it has, and they meet at the end of the chunk. A quick total
 * that is a zero is asked for again, in order: `is_exact`.
 */
#include <stdio.h>

#include "codegen/gpu/gpu_rows.h"

#define PRINT(...) kiln__buffer_printf(rows->p->text, __VA_ARGS__)

static bool is_ordered(const struct kiln_rows *rows, const struct kiln_reducer *r)
{
    return rows->is_exact || kiln__lane_order(r) == KILN_LANES_ORDERED;
}

/* to = from, combined with the entries of all elements in turn. */
static void print_chain(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t index, struct kiln_name from,
                        const struct kiln_name *to, const char *stem, char (*passes)[24], int count)
{
    for (int k = 0; k < count; k++) {
        struct kiln_name next = k == count - 1 ? *to : kiln__name(stem, index, passes[k]);
        kiln__lane_combine_quickly(rows->p, r, next.text, from.text, kiln__name("e", index, passes[k]).text);
        from = next;
    }
}

/* One element of each thread is handed over as it is. */
static void print_ordered(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t i, const char *tag,
                          char (*passes)[24], int count)
{
    struct kiln_name lane = kiln__name("lane", i, tag), next = kiln__name("lane.next", i, tag),
                     low = kiln__name("low", i, tag), across = kiln__name("across", i, tag),
                     high = kiln__name("high", i, tag);
    print_chain(rows, r, i, lane, &low, "low", passes, count);
    if (count == 1) {
        kiln__lane_across(rows->p, r, across.text, kiln__name("e", i, passes[0]).text);
        kiln__reduce_combine(r, next.text, low.text, across.text, 0);
        return;
    }
    kiln__lane_across(rows->p, r, across.text, low.text);
    print_chain(rows, r, i, across, &high, "high", passes, count);
    kiln__lane_across(rows->p, r, next.text, high.text);
}

void kiln__row_print_accumulation(struct kiln_rows *rows, const char *tag, char (*passes)[24], int count)
{
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lane = kiln__name("lane", i, tag), next = kiln__name("lane.next", i, tag);
        if (is_ordered(rows, &r))
            print_ordered(rows, &r, i, tag, passes, count);
        else
            print_chain(rows, &r, i, lane, &next, "low", passes, count);
    }
}

static void print_ordered_rest(struct kiln_rows *rows, struct kiln_reducer *r, uint32_t i, const char *tag)
{
    char is[KILN_IR_NAME], is_other[KILN_IR_NAME];
    struct kiln_name entry = kiln__name("entry", i, tag), lane = kiln__name("rest", i, tag),
                     own = kiln__name("own", i, tag), one = kiln__name("one", i, tag),
                     other = kiln__name("other", i, tag), both = kiln__name("both", i, tag);
    snprintf(is, sizeof is, "%%r.is%s", tag);
    snprintf(is_other, sizeof is_other, "%%r.other%s", tag);
    kiln__lane_down(rows->p, r, other.text, entry.text, KILN_ROW_LANES);
    kiln__reduce_combine(r, own.text, lane.text, entry.text, 0);
    kiln__lane_select(r, one.text, is, own.text, lane.text);
    kiln__reduce_combine(r, both.text, one.text, other.text, 0);
    kiln__lane_select(r, kiln__name("rest.next", i, tag).text, is_other, both.text, one.text);
}

/* An element past the end is the start, which changes nothing where the order does not show. */
void kiln__row_print_rest_accumulation(struct kiln_rows *rows, const char *tag)
{
    char from[KILN_IR_NAME], value[KILN_IR_NAME];
    snprintf(from, sizeof from, "rest%s", tag);
    snprintf(value, sizeof value, "value%s", tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        kiln__lane_phi(&r, kiln__name("entry", i, tag).text, kiln__name("e", i, rows->p->pass).text, value, NULL, from);
    }
    PRINT("  %%r.far%1$s = add nuw nsw i32 %%r.at%1$s, %2$d\n  %%r.other%1$s = icmp ult i32 %%r.far%1$s, %%count%3$s\n",
          tag, KILN_ROW_LANES, rows->tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        if (is_ordered(rows, &r))
            print_ordered_rest(rows, &r, i, tag);
        else
            kiln__lane_combine_quickly(rows->p, &r, kiln__name("rest.next", i, tag).text,
                                       kiln__name("rest", i, tag).text, kiln__name("entry", i, tag).text);
    }
}

void kiln__row_print_totals(struct kiln_rows *rows, const char *suffix)
{
    struct kiln_printer *p = rows->p;
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name lanes = kiln__name("all", i, suffix), total = kiln__name("chunk", i, suffix),
                         across = kiln__name("far", i, suffix), both = kiln__name("met.all", i, suffix);
        if (is_ordered(rows, &r)) {
            kiln__lane_total(p, &r, total.text, lanes.text, kiln__lane_combine);
        } else {
            kiln__lane_across(p, &r, across.text, lanes.text);
            kiln__lane_combine_quickly(p, &r, both.text, lanes.text, across.text);
            kiln__lane_total(p, &r, total.text, both.text, kiln__lane_combine_quickly);
        }
        kiln__lane_first(p, &r, kiln__name("whole", i, suffix).text, total.text);
    }
}

static bool is_quick(const struct kiln_rows *rows, uint32_t index)
{
    struct kiln_reducer r = kiln__stages_reducer(&rows->stages, index);
    return kiln__lane_order(&r) == KILN_LANES_QUICK;
}

bool kiln__row_has_quick(const struct kiln_rows *rows)
{
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++)
        if (is_quick(rows, i)) return true;
    return false;
}

void kiln__row_print_zero(struct kiln_rows *rows)
{
    struct kiln_name before = {"false"};
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        if (!is_quick(rows, i)) continue;
        struct kiln_name zero = kiln__name("zero", i, rows->tag), any = kiln__name("zeros", i, rows->tag);
        PRINT("  %s = fcmp oeq float %s, 0.0\n  %s = or i1 %s, %s\n", zero.text, kiln__name("whole", i, rows->tag).text,
              any.text, before.text, zero.text);
        before = any;
    }
    PRINT("  %%is.zero%s = or i1 %s, false\n", rows->tag, before.text);
}

/* Where there is one chunk, its total is the lane of the next level. */
void kiln__row_print_carry(struct kiln_rows *rows)
{
    char mine[24], exact[24], from[24], from_exact[24];
    snprintf(mine, sizeof mine, "%%is.mine%.12s", rows->tag);
    snprintf(exact, sizeof exact, "%.12sz", rows->tag);
    snprintf(from, sizeof from, "chunk.end%.12s", rows->tag);
    snprintf(from_exact, sizeof from_exact, "exact.end%.12s", rows->tag);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name whole = kiln__name("whole", i, rows->tag);
        kiln__lane_phi(&r, kiln__name("sum", i, rows->tag).text, whole.text, from,
                       is_quick(rows, i) ? kiln__name("whole", i, exact).text : whole.text,
                       kiln__row_has_quick(rows) ? from_exact : NULL);
    }
    PRINT("  %%c.lane%1$s = and i32 %%c%1$s, %2$d\n  %%is.mine%1$s = icmp eq i32 %%c.lane%1$s, %%lane\n", rows->tag,
          KILN_ROW_LANES - 1);
    for (uint32_t i = 0; kiln__rows_find_reduction(rows, &i); i++) {
        struct kiln_reducer r = kiln__stages_reducer(&rows->stages, i);
        struct kiln_name whole = kiln__name("sum", i, rows->tag), up = kiln__name("up", i, rows->tag),
                         more = kiln__name("up.more", i, rows->tag), sum = kiln__name("up.sum", i, rows->tag);
        kiln__reduce_combine(&r, more.text, up.text, whole.text, 0);
        kiln__lane_select(&r, sum.text, "%is.single", whole.text, more.text);
        kiln__lane_select(&r, kiln__name("up.next", i, rows->tag).text, mine, sum.text, up.text);
    }
}
